"""Learning a domain: what is not public about it is released under the budget, before a mechanism runs.

`learning` learns edges of bins as quantiles, and values as labels that many records have.
May import ``algorithms.shared`` and everything below it, but no mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
