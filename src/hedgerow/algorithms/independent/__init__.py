"""Independent noise on everything that is asked, and a hypothesis fitted to it: what any other mechanism has to beat.

`independent_noise` measures every candidate of a workload once, with equal shares of the budget; `fourier` does the
same with the Fourier coefficients of binary attributes. May import ``algorithms.shared`` and everything below it, but
no other mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
