"""Conditions on records: sets of codes, comparisons of three-valued truth, trees of these, and their SQL.

`code_set` holds sets of codes, `comparison` the truth of one comparison, `tree` conditions, `parser` reads them from
SQL (cut by `sql_tokens`), `simple` says where they are true, `text` writes sets of codes as conditions. It may import
attributes and domains, `engines` and what is below.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
