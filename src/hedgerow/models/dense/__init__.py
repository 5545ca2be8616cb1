"""Every cell of the domain in one array.

``histogram`` is the model, ``cells`` its weights and the passes over them, ``layout`` the order of the cells in memory,
``places`` the cells of conditions that are kept, ``kernels`` the compiled passes. Imports ``core`` and rooms below
models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
