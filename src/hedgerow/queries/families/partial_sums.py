"""Many marginals of one dense table by shared partial sums.

The wanted marginals are cut into groups, each group is summed from a partial sum that still holds all its
attributes, and so on down; passes over the large table are what costs. The plan depends on shapes only and is
kept for the next call. Sets of axes are bit masks here: bit a stands for axis a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import and_, or_
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.domain import Clique

Number = TypeVar("Number", np.float64, np.int64)


def shared_marginals(table: NDArray[Number], axes: Sequence[str], cliques: Sequence[Clique]) -> list[NDArray[Number]]:
    """Marginals of a table, the same as one sum for each of them up to the order of the additions.

    Args:
        table: The cells, one axis per name; float64, or int64 for exact counts.
        axes: Names of the axes.
        cliques: Names to keep, each clique in the order of ``axes``; a clique may come twice.

    Returns:
        One new array per clique. Beside them a partial sum is held only while another is made from it.

    Raises:
        KeyError: A name is not that of an axis.

    Example:
        >>> shared_marginals(np.arange(6).reshape(2, 3), ("a", "b"), [("a",), ("b",)])
        [array([ 3, 12]), array([3, 5, 7])]
    """
    bit = {name: 1 << axis for axis, name in enumerate(axes)}
    size = dict(zip(axes, table.shape, strict=True))
    masks = [sum(bit[name] for name in clique) for clique in cliques]
    whole = (1 << table.ndim) - 1
    dense = np.ascontiguousarray(table)
    tables = {whole: dense}
    given = {whole}
    for part in _plan(table.shape, whole, frozenset(masks) - {whole}):
        _fill(part, dense, tables)
    results: list[NDArray[Number]] = []
    for mask, clique in zip(masks, cliques, strict=True):
        marginal = tables[mask].reshape([size[name] for name in clique])
        results.append(marginal.copy() if mask in given else marginal)
        given.add(mask)
    return results


@dataclass(frozen=True)
class _Sum:
    """A partial sum.

    Attributes:
        axes: The axes that it keeps.
        cuts: Steps that make it from its parent: shapes ``(left, summed, right)``, one after the other.
        wanted: Whether it is a marginal that was asked for.
        parts: The partial sums that are made from it.
    """

    axes: int
    cuts: tuple[tuple[int, int, int], ...]
    wanted: bool
    parts: tuple[_Sum, ...]


@lru_cache(maxsize=64)
def _plan(shape: tuple[int, ...], have: int, wanted: frozenset[int]) -> tuple[_Sum, ...]:
    """Plan greedily: sum out the largest axis that some marginals lack, for all of these; then plan the others."""
    return tuple(_parts(shape, have, sorted(wanted)))


def _parts(shape: tuple[int, ...], have: int, wanted: list[int]) -> list[_Sum]:
    parts = []
    while wanted:
        common = reduce(and_, wanted)
        free = [axis for axis in range(len(shape)) if have & ~common & 1 << axis]
        largest = max(free, key=lambda axis: (shape[axis], -axis))
        group = [mask for mask in wanted if not mask & 1 << largest]
        keep = reduce(or_, group)
        below = _parts(shape, keep, [mask for mask in group if mask != keep])
        parts.append(_Sum(keep, tuple(_cuts(shape, have, keep)), keep in group, tuple(below)))
        wanted = [mask for mask in wanted if mask & 1 << largest]
    return parts


def _cuts(shape: tuple[int, ...], have: int, keep: int) -> list[tuple[int, int, int]]:
    """Runs of neighbouring axes to sum out, the one with most cells first."""
    axes = [axis for axis in range(len(shape)) if have & 1 << axis]
    cuts = []
    while len(axes) > keep.bit_count():
        runs: list[list[int]] = [[]]
        for axis in axes:
            if keep & 1 << axis:
                runs.append([])
            else:
                runs[-1].append(axis)
        run = max(runs, key=lambda run: math.prod(shape[axis] for axis in run) if run else 0)
        start = axes.index(run[0])
        sides = axes[:start], run, axes[start + len(run) :]
        left, summed, right = (math.prod(shape[axis] for axis in side) for side in sides)
        cuts.append((left, summed, right))
        axes = sides[0] + sides[2]
    return cuts


def _fill(part: _Sum, parent: NDArray[Number], found: dict[int, NDArray[Number]]) -> None:
    """Make a partial sum and everything below it."""
    values = parent
    for cut in part.cuts:
        values = _sum_axis(values, *cut)
    if part.wanted:
        found[part.axes] = values
    for below in part.parts:
        _fill(below, values, found)


def _sum_axis(table: NDArray[Number], left: int, summed: int, right: int) -> NDArray[Number]:
    """Sum the middle of three axes, flat.

    As fast as matrix products with ones on most shapes, and it never waits for a second thread.
    """
    values = table.reshape(left, summed, right)
    sums: NDArray[Number] = np.add.reduce(values[0], axis=0) if left == 1 else np.einsum("abc->ac", values)
    return sums.reshape(-1)
