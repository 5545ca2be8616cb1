"""Bringing a hypothesis in line with noisy measurements.

``refit`` holds the two rules and runs them on any model; ``newton`` fits parities to the optimum, ``consistency``
averages overlapping marginals first, ``grouping`` finds measurements that are stepped together. Imports all forms of a
hypothesis, ``tree_fit`` and ``core``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
