"""Fits of junction trees in compiled sweeps.

``fit`` runs a fit, ``layout`` lays tables out and plans the walk, ``axes`` finds how small tables depend on those of
cliques, ``hosts`` puts smaller tables beside large cliques; ``sweep_kernels``, ``walk_kernels``, ``view_kernels`` and
``omega_kernels`` are compiled. Imports ``core``, ``dense`` (kernels alone) and ``trees``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
