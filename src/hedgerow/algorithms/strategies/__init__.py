"""Strategies whose noise does not depend on the data: exact errors in closed form, and the best division of a budget.

`choice` lists the strategies for a workload (`strategies`), each a `strategy` of some `sub_strategy`: measurements with
shares of the budget. `division` finds the shares; `components` (marginals and parities) and `trees` (levels) know the
variances of the best linear unbiased estimate. Functions of the domain, the workload and the budget alone. May import
``algorithms.shared`` and everything below it, but no mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
