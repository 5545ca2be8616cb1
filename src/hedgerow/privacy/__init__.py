"""The only room that reads exact answers: everything that leaves it is noisy and was charged first.

The `Curator` is the gate between the private table and all algorithms; `evaluation` is the other reader of exact
answers, and everything from there is labelled "not private". Below the curator stand, from the top: the `register` of a
table (charges of all its releases), the `ledger` (charges of one release, and the noise that they pay for), running
sparse vectors (`watch`), the `mechanisms`, the `exact` arithmetic of answers and scores, the `budgets`, and the sources
of `randomness`. This room may import data, queries, domain and system; algorithms reach the data through it alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
