"""Ranges of one attribute from counts at its levels, and boxes of two: variances in closed form, however uneven.

The counts at all levels are a tree of sums. Given the true count of a node, those of its children are known to err by
what their own noise and that of all below says (Hay, Rastogi, Miklau and Suciu, "Boosting the Accuracy of
Differentially Private Histograms Through Consistency", VLDB 2010): with U_c the variance of child c from its subtree
alone, and B the sum of them, the errors of the children have the covariance ``diag(U) - U U' / B``, and the node hands
``1 / (x + B^-1)`` up, x being the precision of its own measurement. A range covers all of most nodes that it meets. At
each level it covers a part of at most two: for each of these, ``reach`` is how far the answer follows an error in
the count of the node, ``left`` the variance that is left once that count is known.

Boxes of two attributes, measured as the marginals over all mixes of their levels with precisions ``x_i y_j``: the
matrix of what is known is a Kronecker product, so the variance of a box is the product of those of its two ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain

_TINY = 1e-100
"""Imaginary step of the derivatives: without cancellation, they are exact to rounding."""

Numbers = NDArray[Any]
"""Real, or complex for derivatives."""


@dataclass(frozen=True, eq=False)
class LevelTree:
    """Variances of ranges from counts at the levels of an attribute; fits the protocol `Estimate`.

    Attributes:
        firsts: For each level, the coarsest one included, the first child of each node of the next one; the node that
            is next to the coarsest level holds everything.
        size: Nodes of the finest level.
        lows: Smallest node of each range, inclusive, shape ``(ranges,)``.
        highs: Largest node of each range, inclusive.
        public_total: Whether the number of records is public.

    Example:
        >>> tree = LevelTree((np.array([0, 2]), np.array([0])), 4, np.array([0, 1]), np.array([1, 2]), False)
        >>> tree.variances(np.array([1.0, 1.0])).round(6)  # four cells, and two sums of two
        array([0.666667, 1.333333])
    """

    firsts: tuple[Ints, ...]
    size: int
    lows: Ints
    highs: Ints
    public_total: bool

    @classmethod
    def of(cls, domain: Domain, levels: Sequence[str], lows: Ints, highs: Ints, *, public_total: bool) -> LevelTree:
        """The tree of some levels.

        Args:
            domain: The domain.
            levels: An attribute, or a level of it, and coarser ones, finest first: see `tree_levels`.
            lows: Smallest codes of ranges of the finest, inclusive.
            highs: Largest codes, inclusive.
            public_total: Whether the number of records is public.
        """
        firsts = []
        for fine, coarse in pairwise(levels):
            codes = domain.lookup(fine, coarse)
            firsts.append(np.searchsorted(np.asarray(codes), np.arange(domain[coarse].size)))
        return cls((*firsts, np.zeros(1, dtype=np.int64)), domain[levels[0]].size, lows, highs, public_total)

    def taken(self, ranges: Ints) -> LevelTree:
        """The same tree for some of the ranges."""
        return replace(self, lows=self.lows[ranges], highs=self.highs[ranges])

    def variances(self, inverse_variances: Floats) -> Floats:
        """Variance of each range in squared counts.

        Args:
            inverse_variances: 1 over the variance of one count of each level, finest first; above 0 for the finest.
        """
        return np.maximum(np.asarray(self._variances(inverse_variances), dtype=np.float64), 0.0)

    def variances_and_slopes(self, inverse_variances: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """The variances, and a function from weights of these to their derivatives by the precisions, with sign -1."""
        return self.variances(inverse_variances), partial(complex_slopes, self._variances, inverse_variances)

    def _variances(self, precisions: Numbers) -> Numbers:
        ends: tuple[Ints, ...] = (self.lows, self.highs)
        reach = [np.ones(len(self.lows), dtype=precisions.dtype) for _ in ends]
        left = np.zeros_like(reach[0])
        known = np.full(self.size, 1.0 / precisions[0])
        for level, firsts in enumerate(self.firsts):
            below = np.add.reduceat(known, firsts)
            places = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, len(known))))
            sums = np.concatenate([np.zeros(1, dtype=known.dtype), np.cumsum(known)])
            above = tuple(places[end] for end in ends)
            apart = above[0] != above[1]
            one = ends[0] == ends[1]
            # Children strictly inside the range: up to the end of its own node, or up to the other end.
            stops = np.where(apart, np.append(firsts, len(known))[above[0] + 1], ends[1])
            starts = np.where(apart, firsts[above[1]], stops)
            first = sums[np.maximum(stops, ends[0] + 1)] - sums[ends[0] + 1]
            last = np.where(apart, sums[ends[1]] - sums[starts], 0.0)
            both = np.where(apart | one, 0.0, known[ends[1]])
            moved, spread = [], []
            for power in (1, 2):
                lower = reach[0] ** power * known[ends[0]] + first + reach[1] ** power * both
                upper = np.where(apart, reach[1] ** power * known[ends[1]] + last, 0.0)
                moved.append((lower, upper))
            for side in (0, 1):
                total = below[above[side]]
                spread.append(moved[1][side] - moved[0][side] ** 2 / total)
                reach[side] = moved[0][side] / total
            left = left + spread[0] + spread[1]
            reach[1] = np.where(apart, reach[1], reach[0])
            ends = above
            if level + 1 < len(self.firsts):
                known = 1.0 / (precisions[level + 1] + 1.0 / below)
        return left if self.public_total else left + reach[0] ** 2 * below[0]


@dataclass(frozen=True, eq=False)
class LevelProduct:
    """Variances of boxes of two attributes, where every mix of their levels is measured.

    Attributes:
        rows: Tree of the first attribute, with the ranges of each box.
        columns: Tree of the second, with as many ranges.
    """

    rows: LevelTree
    columns: LevelTree

    def variances(self, inverse_variances: Floats) -> Floats:
        """Variance of each box in squared counts.

        Args:
            inverse_variances: 1 over the variance of one count of each mix of levels, the second attribute's levels
                running fastest: a product of a factor for each.
        """
        grid = inverse_variances.reshape(len(self.rows.firsts), len(self.columns.firsts))
        return self.rows.variances(grid.sum(axis=1)) * self.columns.variances(grid.sum(axis=0) / grid.sum())


def complex_slopes(variances: Callable[[Numbers], Numbers], precisions: Floats, weights: Floats) -> Floats:
    """Derivatives by the precisions of the weighted sum of variances, with sign -1.

    Args:
        variances: The variances as a function of the precisions, which takes complex numbers too.
        precisions: Where, shape ``(n,)``.
        weights: Weights of the variances.

    Returns:
        Shape ``(n,)``.

    Example:
        >>> complex_slopes(lambda precisions: 1.0 / precisions, np.array([2.0]), np.ones(1))
        array([0.25])
    """
    moved = precisions + 1j * _TINY * np.eye(len(precisions))
    return np.array([-(weights @ variances(row).imag) / _TINY for row in moved])


def tree_levels(domain: Domain, name: str) -> Clique:
    """A variable and those of its levels that are nested in each other and keep the order of its codes, finest first.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> tree_levels(Domain((IntegerRange("income", 0, 4095),)), "income")
        ('income', 'income.16', 'income.256')
    """
    names = [name]
    for level in sorted(domain.coarser(name), key=lambda each: -domain[each].size):
        codes, size = domain.lookup(names[-1], level), domain[level].size
        if codes is None or not 1 < size < domain[names[-1]].size:
            continue
        if codes[0] == 0 and codes[-1] == size - 1 and np.isin(np.diff(codes), (0, 1)).all():
            names.append(level)  # in order, and no value of the level stands for nothing
    return tuple(names)
