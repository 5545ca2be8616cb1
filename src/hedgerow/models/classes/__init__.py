"""A hypothesis over classes of values, for conditions on attributes of any size.

``value_classes`` is the model: a product over junction trees whose codes are classes; ``answers`` are its tables and
sums over boxes. Imports ``core`` and ``trees``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
