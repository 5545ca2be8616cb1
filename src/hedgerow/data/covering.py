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
        >>> from hedgerow.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abc")
        >>> [block.axes for block in covering_blocks(domain, [("a", "b"), ("b", "c"), ("a",)], 100)]
        [(0, 1), (1, 2)]
    """
    sizes = np.array(domain.shape, dtype=np.float64)
    member = np.zeros((len(cliques), len(domain)), dtype=bool)
    for i, clique in enumerate(cliques):
        member[i, list(domain.axes(clique))] = True
    cells = np.where(member, sizes, 1.0).prod(axis=1)
    left = np.argsort(-cells, kind="stable")
    blocks = []
    while left.size:
        block = member[left[0]].copy()
        if cells[left[0]] <= largest:
            _grow(block, member[left], sizes, largest)
        inside = ~(member[left] & ~block).any(axis=1)
        axes = tuple(int(axis) for axis in np.flatnonzero(block))
        blocks.append(Block(axes, math.prod(domain.shape[axis] for axis in axes), tuple(int(i) for i in left[inside])))
        left = left[~inside]
    return blocks


def _grow(block: NDArray[np.bool_], member: NDArray[np.bool_], sizes: NDArray[np.float64], largest: int) -> None:
    """Take attributes in, in place."""
    while True:
        outside = member & ~block
        lacking = outside.sum(axis=1)
        # A clique counts the more, the fewer attributes it lacks.
        nearness = np.where(lacking > 0, 8.0**-lacking, 0.0)
        gain = (nearness @ outside) / np.log(sizes)
        gain[block | (sizes * sizes[block].prod() > largest)] = 0.0
        best = int(gain.argmax())
        if gain[best] <= 0:
            return
        block[best] = True
