"""Covering designs: few blocks of attributes of bounded size, each wanted clique inside one of them.

One histogram per block is counted over the records; the marginals are sums of the histograms' cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, Domain


@final
@dataclass(frozen=True)
class Block:
    """Some attributes, and the wanted cliques that their table yields.

    Attributes:
        axes: Positions of the attributes, increasing.
        cells: Cells of their table.
        cliques: Positions of the cliques in the list that was asked for.
    """

    axes: tuple[int, ...]
    cells: int
    cliques: tuple[int, ...]


def covering_blocks(domain: Domain, cliques: Sequence[Clique], largest: int) -> list[Block]:
    """Blocks of at most ``largest`` cells that cover all cliques; a larger clique is a block of its own.

    Greedy: starting from the largest uncovered clique, take in the attribute that brings most cliques nearer to
    being covered, per factor by which it multiplies the cells, until none fits.

    Args:
        domain: The domain.
        cliques: What is wanted; the same clique may come twice.
        largest: Bound on the cells of a block.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abc")
        >>> [block.axes for block in covering_blocks(domain, [("a", "b"), ("b", "c"), ("a",)], 100)]
        [(0, 1), (1, 2)]
    """
    shape, axes_of = domain.shape, [domain.axes(clique) for clique in cliques]
    cells = np.array([math.prod([shape[axis] for axis in axes]) for axes in axes_of], dtype=np.float64)
    order = np.argsort(-cells, kind="stable")
    cover = _Cover(domain, [axes_of[i] for i in order.tolist()])
    blocks = []
    for first, clique in enumerate(order.tolist()):
        if cover.left[first]:
            block, inside = cover.take(first, largest if cells[clique] <= largest else 0)
            axes = tuple(np.flatnonzero(block).tolist())
            size = math.prod([shape[axis] for axis in axes])
            blocks.append(Block(axes, size, tuple(order[inside].tolist())))
    return blocks


class _Cover:
    """Which cliques are not covered yet, and how much each attribute would bring; kept up attribute by attribute.

    A clique counts 8^-(number of attributes that it lacks): powers of two, whose sums are exact.
    """

    def __init__(self, domain: Domain, axes_of: Sequence[tuple[int, ...]]) -> None:
        n, longest = len(axes_of), max(map(len, axes_of), default=0)
        self.left = np.ones(n, dtype=np.bool_)
        self._sizes = np.array(domain.shape, dtype=np.float64)
        self._lengths = np.array([len(axes) for axes in axes_of], dtype=np.int64)
        self._axes = np.full((n, longest), len(domain), dtype=np.int64)  # a short clique ends in an attribute too many
        self._axes[np.arange(longest) < self._lengths[:, None]] = [axis for axes in axes_of for axis in axes]
        self._holders = np.repeat(np.arange(n), longest)[np.argsort(self._axes.reshape(-1), kind="stable")]
        ends = np.cumsum(np.bincount(self._axes.reshape(-1), minlength=len(domain) + 1))
        self._starts = np.concatenate([[0], ends])
        self._nearness = np.concatenate([[0.0], 8.0 ** -np.arange(1.0, longest + 1)])
        self._gain = self._sums(np.arange(n), self._nearness[self._lengths])

    def take(self, first: int, largest: int) -> tuple[Bools, NDArray[np.intp]]:
        """Grow a block from a clique to at most so many cells; returns it and the cliques that it covers."""
        block = np.zeros(len(self._sizes), dtype=np.bool_)
        lacking, gain = self._lengths.copy(), self._gain.copy()
        for axis in self._axes[first, : self._lengths[first]].tolist():
            self._add(axis, block, lacking, gain)
        while (best := self._best(block, gain, largest)) is not None:
            self._add(best, block, lacking, gain)
        inside = np.flatnonzero(self.left & (lacking == 0))
        self.left[inside] = False
        self._gain -= self._sums(inside, self._nearness[self._lengths[inside]])
        return block, inside

    def _best(self, block: Bools, gain: Floats, largest: int) -> int | None:
        """The attribute that brings most per factor by which it multiplies the cells."""
        shares = gain[:-1] / np.log(self._sizes)
        shares[block | (self._sizes * self._sizes[block].prod() > largest)] = 0.0
        best = int(shares.argmax())
        return best if shares[best] > 0 else None

    def _add(self, axis: int, block: Bools, lacking: Ints, gain: Floats) -> None:
        block[axis] = True
        touched = self._holders[self._starts[axis] : self._starts[axis + 1]]
        touched = touched[self.left[touched]]
        before = self._nearness[lacking[touched]]
        lacking[touched] -= 1
        gain += self._sums(touched, self._nearness[lacking[touched]] - before)

    def _sums(self, cliques: NDArray[np.intp], values: Floats) -> Floats:
        """For each attribute the sum of the values of the cliques that hold it."""
        axes = self._axes[cliques]
        repeated = np.repeat(values, axes.shape[1])
        sums = np.bincount(axes.reshape(-1), weights=repeated, minlength=len(self._sizes) + 1)
        return np.asarray(sums, dtype=np.float64)  # counts, where there are no cliques
