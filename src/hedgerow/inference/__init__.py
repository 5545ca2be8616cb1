"""Inference from a release: regressions, tests and differences, with intervals that know of the noise of privacy.

`fitting` makes designs of formulas and fits them, `regression` estimates coefficients from replicates, `moments` from
measured sums, and `association` tests whether two columns are independent. All of it is post-processing. May import
`simulation` and everything below it; never `data`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
