"""Bringing a hypothesis in line with noisy measurements.

``rules`` holds the two rules, ``refit`` runs them on any model; ``newton`` fits parities to the optimum, and ``nested``
tables over levels of one attribute;
``consistency`` averages overlapping marginals first, in the ``residual_basis``, with ``agreement`` where blocks of
levels are uneven;
``stopping`` tells when a fit is long enough, and
``discrepancy`` which single queries are still held back too much.
Imports all forms of a hypothesis, ``tree_fit`` and ``core``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
