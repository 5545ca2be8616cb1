"""Private records, and exact counts over them. Only the curator may count; others open a table and hand it on.

`source` says what the curator asks of a table; `reading` turns files, data frames and databases into codes, `counting`
counts codes in memory (`table`), and `scanning` counts tables that stay where they are, in passes. `draft` proposes a
domain file. This room may import queries, domain, engines and system.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
