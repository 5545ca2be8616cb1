"""Hypotheses: distributions over the domain, built from noisy answers alone, and so public.

``choice`` picks the form that costs least and says what it takes; ``answering`` gives many answers from one state.
``dense`` holds every cell, ``trees`` products over junction trees, ``classes`` products over classes of values,
``records`` weighted records; ``core`` is what they share. ``fit`` brings a hypothesis in line with measurements, with
``tree_fit`` for trees. Imports ``queries``, ``domain`` and ``system``; never ``data`` or ``privacy``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
