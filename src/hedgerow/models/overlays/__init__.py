"""Answers that no junction tree holds: consistent tables of what was measured, over a tree for everything else.

``limits`` says which tables are held. ``projection`` brings components (``fit/residual_basis.py``) to the nearest
tables without negative counts, ``overlay`` is the model, ``holding`` says what a tree below it should hold, ``shared``
what all pairs have in common, ``estimate`` makes one from measurements, and ``moves`` gives its records the tables.
Imports ``fit``, ``trees`` and ``core``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
