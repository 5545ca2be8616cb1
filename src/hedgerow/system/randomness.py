"""The only module that makes numpy generators: for sampling from public models, tests and experiments.

No noise that protects privacy is drawn from them, except by the seeded noise source, which says so.
"""

import numpy as np

from hedgerow.errors import ConfigError

Seed = int | np.random.Generator | None


def generator(seed: Seed = None) -> np.random.Generator:
    """A generator: fresh from the operating system (None), seeded (a number), or the one given.

    Raises:
        ConfigError: The seed is something else, or negative.

    Example:
        >>> int(generator(7).integers(100)) == int(generator(7).integers(100))
        True
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return _seeded(seed)


def numbered(seed: int, number: int) -> np.random.Generator:
    """One of many practically independent generators, for work in parts.

    Args:
        seed: Seed of all parts, at least 0.
        number: Number of the part, at least 0.

    Raises:
        ConfigError: The seed is negative.

    Example:
        >>> first, second = numbered(7, 0), numbered(7, 1)
        >>> int(first.integers(2**62)) == int(second.integers(2**62))
        False
    """
    return _seeded((seed, number))


def _seeded(seed: int | tuple[int, int] | None) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        given = seed[0] if isinstance(seed, tuple) else seed
        raise ConfigError(
            f"a seed {given!r}", remedy="give a whole number from 0 on, or none for a fresh one"
        ) from None
