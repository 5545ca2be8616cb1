"""Exact answers as integers (`lattice`), and exact scores of candidates (`scores`). Private: for the curator alone.

What is computed here is exact in 64-bit numbers, so that sensitivities hold exactly and not up to rounding. Of privacy
it may import budgets and randomness.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
