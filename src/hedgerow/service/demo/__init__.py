"""The demo: a public data set, Adult, and its registration. It may import the sessions and the store."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
