"""Algorithms side by side on a table that needs no protection. NOT PRIVATE, and every result says so."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
