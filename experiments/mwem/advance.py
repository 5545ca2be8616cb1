"""Cuboids to measure, chosen in advance and without the data, so that the worst noise in any cuboid is small.

B. Ding, M. Winslett, J. Han, Z. Li, "Differentially Private Data Cubes: Optimizing Noise Sources and Consistency",
SIGMOD 2011 (BMax): s cuboids are measured with Laplace noise of a scale proportional to s, every cuboid is summed from
the one of them that needs the fewest summands, and the greedy cover with the smallest worst variance is taken. Their
later step, which makes the cuboids consistent, is left out. What noise does is known without looking at any data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations

import numpy as np

from hedgerow.arrays import Bools, Floats

_CLOSE = 1.01
"""The search for the smallest worst variance ends once it is known up to this factor."""


@dataclass(frozen=True)
class Advance:
    """Cuboids to measure, and the sums that give the others.

    Attributes:
        measured: Positions of the attributes of each measured cuboid.
        summands: Number of measured cells that make up one cell of each cuboid, those of few attributes first.
    """

    measured: tuple[frozenset[int], ...]
    summands: Floats

    def expected_errors(self, epsilon: float, l1: float) -> Floats:
        """Expected absolute error of a cell of every cuboid, in counts, shape ``(cuboids,)``.

        Args:
            epsilon: The whole budget, of pure differential privacy.
            l1: Sensitivity of one marginal.
        """
        scale = len(self.measured) * l1 / epsilon
        return np.array([scale * expected_sum(int(number)) for number in self.summands])


def expected_sum(number: int) -> float:
    """Expected absolute value of the sum of so many independent Laplace variables of scale 1.

    Example:
        >>> round(expected_sum(1), 9), round(expected_sum(2), 9)
        (1.0, 1.5)
    """
    return 2.0 / math.sqrt(math.pi) * math.exp(math.lgamma(number + 0.5) - math.lgamma(number))


@lru_cache(maxsize=4)
def chosen_in_advance(shape: tuple[int, ...]) -> Advance:
    """The cuboids that are measured for all cuboids of a cube.

    Args:
        shape: Number of values of each attribute.

    Example:
        >>> plan = chosen_in_advance((2, 2))
        >>> [sorted(each) for each in plan.measured], plan.summands.tolist()
        ([[0, 1]], [2.0, 2.0, 1.0])
    """
    axes = range(len(shape))
    cuboids = [frozenset(each) for each in chain.from_iterable(combinations(axes, k + 1) for k in axes)]
    summands = _summands(cuboids, shape)
    low, high = 1.0, float(summands[-1].max())  # of the squared number of cuboids times the summands: all from one
    best: tuple[int, ...] = (len(cuboids) - 1,)
    while high > _CLOSE * low:
        middle = math.sqrt(low * high)
        found = _cover(summands, middle)
        low, high, best = (middle, high, best) if found is None else (low, middle, found)
    return Advance(tuple(cuboids[place] for place in best), summands[list(best)].min(axis=0))


def _summands(cuboids: Sequence[frozenset[int]], shape: Sequence[int]) -> Floats:
    """Cells of the row's cuboid that make up a cell of the column's; infinite where it has not all its attributes."""

    def of(finer: frozenset[int], coarser: frozenset[int]) -> float:
        return math.prod(shape[axis] for axis in finer - coarser) if coarser <= finer else math.inf

    return np.array([[of(finer, coarser) for coarser in cuboids] for finer in cuboids], dtype=np.float64)


def _cover(summands: Floats, worst: float) -> tuple[int, ...] | None:
    """The fewest cuboids that, greedily chosen, keep s squared times the summands within a limit; None if none do."""
    most = min(len(summands), math.isqrt(int(worst)))
    covers = (_greedy(summands * number**2 <= worst, number) for number in range(1, most + 1))
    return next((cover for cover in covers if cover is not None), None)


def _greedy(covered: Bools, number: int) -> tuple[int, ...] | None:
    """At most so many rows that together hold all columns, the row with the most new ones first."""
    left = np.ones(covered.shape[1], dtype=np.bool_)
    chosen: list[int] = []
    while left.any() and len(chosen) < number:
        chosen.append(int((covered & left).sum(axis=1).argmax()))
        left &= ~covered[chosen[-1]]
    return None if left.any() else tuple(chosen)
