"""Families of queries that are answered together: marginals, parities, boxes, conditions and explicit matrices.

`registry` lists them by the names that workload texts and files use; `partial_sums` computes many marginals of one
table. It may import `queries.core`, `domain` and what is below.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
