"""The only module that makes numpy generators: for sampling from public models, tests and experiments.

No noise that protects privacy is drawn from them, except by the seeded noise source, which says so.
"""

import numpy as np

Seed = int | np.random.Generator | None


def generator(seed: Seed = None) -> np.random.Generator:
    """A generator: fresh from the operating system (None), seeded (a number), or the one given.

    Example:
        >>> int(generator(7).integers(100)) == int(generator(7).integers(100))
        True
    """
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


def numbered(seed: int, number: int) -> np.random.Generator:
    """One of many practically independent generators, for work in parts.

    Args:
        seed: Seed of all parts, at least 0.
        number: Number of the part, at least 0.

    Example:
        >>> first, second = numbered(7, 0), numbered(7, 1)
        >>> int(first.integers(2**62)) == int(second.integers(2**62))
        False
    """
    return np.random.default_rng((seed, number))
