"""Densities inside bins that follow the bins beside them.

Inside a bin the density of values is a straight line whose mean is the density of the bin, so no count changes. Its
slope is the one between the middles of the bins on both sides, held to twice the smaller of the two slopes to its
neighbours and to 0 where these differ in sign, so that the lines go up and down where the bins do (the monotonized
central limiter of van Leer, 1977), and held to what keeps the density positive. A bin at an end, or beside a bin of one
number (a declared point), follows its one neighbour; a bin without neighbours is flat.

A tilt is a slope without a unit: at a part ``u`` of the bin the density is ``1 + tilt (2 u - 1)``.
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain.attribute import Binned, ends_of


def tilts_of(attribute: Binned, counts: Floats) -> Floats:
    """The tilts of all bins.

    Args:
        attribute: The bins.
        counts: Public counts or shares of its codes, shape ``(attribute.size,)``; negative ones count as 0.

    Returns:
        Tilts from -1 to 1, shape ``(attribute.ordinary,)``.

    Example:
        >>> tilts_of(Binned("x", (0, 1, 2, 3)), np.array([1.0, 2.0, 3.0])).tolist()
        [0.5, 0.25, 0.16666666666666666]
    """
    low, high = ends_of(attribute)
    high = high + attribute.whole
    widths, masses = high - low, np.maximum(counts[: attribute.ordinary], 0.0)
    densities, middles = masses / widths, (low + high) / 2.0
    slopes = np.full(attribute.ordinary + 1, np.nan)  # between neighbours; none across the ends and points
    slopes[1:-1] = np.diff(densities) / np.diff(middles)
    alone = (widths == 1.0) & attribute.whole
    slopes[:-1][alone] = slopes[1:][alone] = np.nan
    left = np.where(np.isnan(slopes[:-1]), slopes[1:], slopes[:-1])
    right = np.where(np.isnan(slopes[1:]), slopes[:-1], slopes[1:])
    least = np.minimum(2.0 * np.minimum(np.abs(left), np.abs(right)), np.abs(left + right) / 2.0)
    limited = np.where(np.sign(left) == np.sign(right), np.sign(left) * least, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        tilts = limited * widths / (2.0 * densities)
    return np.asarray(np.clip(np.nan_to_num(tilts, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0))


def leaning(parts: Floats, tilts: Floats) -> Floats:
    """Parts of bins at which the distribution of a tilt reaches uniform draws: its inverse.

    Args:
        parts: Draws from 0 to 1.
        tilts: A tilt for each.

    Example:
        >>> leaning(np.array([0.0, 0.25, 0.25]), np.array([1.0, 1.0, 0.0])).tolist()
        [0.0, 0.5, 0.25]
    """
    up = 1.0 - tilts
    below = up + np.sqrt(up * up + 4.0 * tilts * parts)
    return np.asarray(np.minimum(2.0 * parts / np.where(below > 0.0, below, 1.0), np.nextafter(1.0, 0.0)))
