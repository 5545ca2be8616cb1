"""Tables of every kind as batches of codes, and clear errors about cells that fit no code.

`places` finds the reader of an address; `readers` opens files and data frames, `databases` tables of DuckDB and
PostgreSQL, `row_filter` checks SQL conditions. `columns` chooses what is read, `faults` gathers what was wrong with
cells and `rules` with records, and `batches` is one pass over a table. It imports `source`, and no other part of data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
