"""Conditions as linear queries, read from SQL (`predicate`, `select_statement`) or JSON (`json_predicate`).

Both are read into the trees of `domain.conditions`; `canonical` brings equal queries into one form. It may import
`queries.core`, `queries.families`, `domain` and what is below.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
