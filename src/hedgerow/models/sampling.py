"""Records from the weights of all cells: exactly as many as asked for, millions per second."""

from __future__ import annotations

import numpy as np

from hedgerow.errors import ConfigError
from hedgerow.models.cells import kernels
from hedgerow.models.layout import Layout
from hedgerow.models.model import Codes, SamplingMethod
from hedgerow.queries.query import Floats
from hedgerow.randomness import Seed, generator

_BLOCK = 1024


def sample_cells(
    weights: Floats, layout: Layout, n: int, seed: Seed = None, method: SamplingMethod = SamplingMethod.SYSTEMATIC
) -> Codes:
    """Draw records from weights.

    Systematic: n equally spaced positions on the cumulative sum of the cells, moved by one random offset, so that each
    cell gets its expected number of records rounded up or down. Independent: n uniform positions.

    Args:
        weights: Non-negative, one per cell in the order of the layout, in any unit.
        layout: The order of the cells.
        n: Number of records.
        seed: None for fresh randomness.
        method: Which of the two.

    Returns:
        Codes in random order, shape ``(n, attributes)``, columns in the order of the domain.

    Raises:
        ConfigError: n is negative.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> from hedgerow.domain import Domain
        >>> layout = Layout(Domain((IntegerRange("a", 0, 1),)))
        >>> sorted(sample_cells(np.array([3.0, 1.0]), layout, 4, seed=1)[:, 0].tolist())
        [0, 0, 0, 1]
    """
    if n < 0:
        raise ConfigError(f"{n} records cannot be drawn", remedy="ask for 0 or more")
    draw = generator(seed)
    starts = _cumulative(weights)
    found = np.empty(n, dtype=np.int64)
    kernels().cells_at(weights, starts, _BLOCK, positions(n, method, draw) * starts[-1], found)
    draw.shuffle(found)
    return decode(found, layout)


def decode(found: np.ndarray[tuple[int], np.dtype[np.int64]], layout: Layout) -> Codes:
    """Codes of flat cells in the order of a layout, shape ``(len(found), attributes)``, columns in domain order."""
    codes: Codes = np.empty((len(found), len(layout.shape)), dtype=np.min_scalar_type(max(layout.shape) - 1))
    kernels().decode(found, np.array(layout.shape), np.array(layout.order), codes)
    return codes


def _cumulative(weights: Floats) -> Floats:
    """Sum of all cells before each block of ``_BLOCK`` cells, then of all cells."""
    blocks = np.add.reduceat(weights, np.arange(0, weights.size, _BLOCK))
    return np.concatenate([np.zeros(1), np.cumsum(blocks)])


def positions(n: int, method: SamplingMethod, draw: np.random.Generator) -> Floats:
    """Increasing positions in [0, 1), at which records are read off a cumulative sum.

    Args:
        n: Number of positions.
        method: Equally spaced with one random offset, or independent.
        draw: Source of randomness.

    Example:
        >>> positions(2, SamplingMethod.SYSTEMATIC, generator(0)).round(3).tolist()
        [0.318, 0.818]
    """
    if method is SamplingMethod.SYSTEMATIC:
        return np.minimum((np.arange(n) + draw.random()) / max(n, 1), np.nextafter(1.0, 0.0))
    gaps = np.cumsum(draw.standard_exponential(n + 1))  # Ordered uniform numbers are normalised sums of exponentials.
    return np.asarray(gaps[:n] / gaps[n])
