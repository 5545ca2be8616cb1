"""Adapters to other software: OpenDP's measurements, SDV's synthesizers.

Each is a thin layer over `Synthesizer`, and keeps its promise: the domain is public, and never read off the data.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
