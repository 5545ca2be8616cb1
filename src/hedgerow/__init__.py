"""Differentially private query release and synthetic data with multiplicative weights.

Public names are loaded when they are first used, so that ``import hedgerow`` is quick.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
