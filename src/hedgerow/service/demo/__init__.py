"""A data set to try the server with: seven columns of Adult, which are public (see README.md in this folder)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
