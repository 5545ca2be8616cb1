"""Budgets: the amount that may be spent, its unit, and the tables that it is about.

`limits` holds the kinds and the neighbouring relation, `subsampling` budgets for a secret sample, `budget` either,
`regime` the currencies of charges. `charging` has the formulas for charges and their rounding, `conversion` the way
from zCDP to (epsilon, delta) and back, `gaussian` both for Gaussian differential privacy, with the normal distribution
of `normal`. Of privacy it may import randomness alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
