"""The one place that makes numpy generators: for sampling from public models, tests and experiments.

Nothing that protects privacy is drawn from here, save by the seeded noise source, which says so.
"""

from __future__ import annotations

import numpy as np

Seed = int | np.random.Generator | None


def generator(seed: Seed = None) -> np.random.Generator:
    """A generator: fresh from the operating system (None), seeded (a number), or the one given.

    Example:
        >>> int(generator(7).integers(100)) == int(generator(7).integers(100))
        True
    """
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
