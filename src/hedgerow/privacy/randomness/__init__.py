"""Sources of noise: the secure one, and a seeded one for tests and experiments (`source`).

`draws` holds the integer arithmetic of many draws from one softmax. It imports no other part of privacy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
