"""Single queries, the base of families, sensitivities, and names as workload texts hold them.

`query` defines marginals, linear queries and noisy measurements of them, `family` what every family of queries answers,
`sensitivity` the neighbouring relations. It may import `domain` and what is below, and no other part of `queries`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
