"""Yardsticks: what the mechanisms are compared with, and the theory behind them; nothing here is private.

`multiplicative_weights` is the algorithm without privacy, `game` the zero-sum game that it plays, and `matrix_bound` a
lower bound on the error of every matrix mechanism, from singular values: those in `spectrum` (over `product_rows`,
queries as products over the attributes) or, with derived attributes or constraints, in `listed_cells`. May import
``algorithms.shared`` and everything below it, but no mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
