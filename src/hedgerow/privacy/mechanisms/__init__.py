"""Mechanisms: sensitivity, scale of the noise and charge in one frozen object each, so that none can be forgotten.

`additive_noise` is for measurements, `selection` for choices, `sparse_vector` for tests against a noisy threshold,
`thresholds` for labels that nobody listed;
`events` rebuilds a mechanism from an event of the ledger, to recompute its cost. It may import exact, budgets and
randomness.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
