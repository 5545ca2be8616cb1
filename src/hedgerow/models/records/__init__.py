"""A hypothesis that is spread over a few records.

``empirical`` is the model, and where its records stand in tables and conditions. Imports ``core``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
