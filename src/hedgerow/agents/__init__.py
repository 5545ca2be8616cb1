"""Agents that ask: the tools of the Model Context Protocol, over a server's data sets or over releases.

A thin layer over `hedgerow.client` and `hedgerow.release`: neither answers nor charges anything itself.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
