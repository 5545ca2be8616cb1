"""Offline private multiplicative weights: MWEM's rounds, stopped as soon as a promised error is reached.

`parameters` holds the settings and what one round costs, `promise` the accuracy theorem, the choice of alpha and the
plan, and `offline_pmw` the public class and its run. May import ``algorithms.shared`` and everything below it, but no
other mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
