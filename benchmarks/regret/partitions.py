"""Strategies that look for what is even in a histogram: a partition in the manner of DAWA, and adaptive grids.

C. Li, M. Hay, G. Miklau, Y. Wang, "A Data- and Workload-Aware Algorithm for Range Queries Under Differential Privacy",
VLDB 2014 (DAWA); W. Qardaji, W. Yang, N. Li, "Differentially Private Grids for Geospatial Data", ICDE 2013 (AG).
Buckets here are nodes of a binary tree, where DAWA allows more intervals.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from benchmarks.regret.estimates import Noise, on_simplex
from benchmarks.regret.trees import hb
from hedgerow.arrays import Floats, Ints

_PARTITION_SHARE = 0.25
"""DAWA's share for finding the partition."""
_FEW = 32
"""Buckets up to which each is measured alone; more are measured by a tree."""


def buckets(exact: Floats, search: Noise, scale: float) -> Ints:
    """First cells of the buckets of a private partition: nodes of a binary tree with the smallest sum of costs.

    The cost of a bucket is its deviation from even, a sum of absolute differences that a record changes by at most 2,
    plus the noise of measuring it. A record is in one node of each level above the cells, whose deviations together
    move by at most 2 per level: all get Laplace noise for that, and what follows is post-processing. (The authors' code
    has noise for one bucket alone; its argument does not cover noisy costs that are cut off at zero.)

    Args:
        exact: Exact counts.
        search: Laplace noise of the share for the partition.
        scale: Expected absolute noise of one measured bucket.
    """
    height = max(1, math.ceil(math.log2(len(exact))))
    cells = np.full(2**height, np.nan)
    cells[: len(exact)] = exact
    each = search.share(1.0 / (2.0 * height))
    best, cuts = np.full(2**height, scale), [np.zeros(2**height, dtype=bool)]
    for level in range(1, height + 1):
        blocks = cells.reshape(-1, 2**level)
        there = np.isfinite(blocks)
        number = there.sum(axis=1)
        mean = np.divide(np.where(there, blocks, 0.0).sum(axis=1), number, out=np.zeros(len(blocks)), where=number > 0)
        deviation = np.where(there, np.abs(blocks - mean[:, None]), 0.0).sum(axis=1)
        whole = np.maximum(each.added(deviation), 0.0) + scale
        halves = best.reshape(-1, 2).sum(axis=1)
        cuts.append(halves < whole)
        best = np.minimum(whole, halves)
    starts: list[int] = []
    todo = [(height, 0)]
    while todo:
        level, place = todo.pop()
        if cuts[level][place]:
            todo += [(level - 1, 2 * place + 1), (level - 1, 2 * place)]
        elif place << level < len(exact):
            starts.append(place << level)
    return np.array(sorted(starts))


def dawa_like(exact: Floats, noise: Noise) -> tuple[Floats, float]:
    """Find even buckets, measure them, and spread each evenly over its cells.

    Args:
        exact: Exact counts, shape ``(size,)``.
        noise: Laplace noise of the whole budget.

    Returns:
        Estimated counts, not negative, and the number of records.
    """
    total, noise = noise.number(int(exact.sum()))
    search, measure = noise.share(_PARTITION_SHARE), noise.share(1.0 - _PARTITION_SHARE)
    starts = buckets(exact, search, 1.0 / measure.amount)
    sums = np.add.reduceat(exact, starts)
    found = measure.added(sums) if len(sums) <= _FEW else hb(sums, measure)[0]
    lengths = np.diff([*starts, len(exact)])
    return np.repeat(on_simplex(found, total) / lengths, lengths), total


# Two attributes


_COARSE, _FINE = 10.0, 5.0
"""Constants of uniform grids and of the second level of adaptive ones in the paper."""


def edges_of(size: int, parts: int) -> Ints:
    """Edges of at most some number of nearly equal parts of the codes.

    Example:
        >>> edges_of(10, 3).tolist()
        [0, 3, 7, 10]
    """
    return np.unique(np.linspace(0, size, min(size, max(1, parts)) + 1).round().astype(int))


def adaptive_grid(exact: Floats, noise: Noise) -> tuple[Floats, float]:
    """A coarse grid, each of whose cells is cut again by its noisy count; half of the budget each, averaged.

    Args:
        exact: Exact counts, shape ``(rows, columns)``.
        noise: Noise of the whole budget.

    Returns:
        Estimated counts, not negative, and the number of records.
    """
    total, noise = noise.number(int(exact.sum()))
    first = second = noise.share(0.5)
    precision = math.sqrt(2.0 / noise.variance)  # epsilon, for Laplace noise
    side = max(10, math.ceil(0.25 * math.sqrt(total * precision / _COARSE)))
    rows, columns = (edges_of(size, side) for size in exact.shape)
    found = np.zeros_like(exact, dtype=np.float64)
    for top, bottom in pairwise(rows):
        for left, right in pairwise(columns):
            block = exact[top:bottom, left:right]
            found[top:bottom, left:right] = _cell(block, first, second, precision)
    return on_simplex(found.reshape(-1), total).reshape(exact.shape), total


def _cell(block: Floats, first: Noise, second: Noise, precision: float) -> Floats:
    """A cell of the coarse grid: its count, the counts of its parts, both averaged, and parts spread evenly."""
    count = float(first.added(block.sum()))
    side = math.ceil(math.sqrt(max(count, 0.0) * 0.5 * precision / _FINE))
    rows, columns = (edges_of(size, side) for size in block.shape)
    sums = np.add.reduceat(np.add.reduceat(block, rows[:-1], axis=0), columns[:-1], axis=1)
    noisy = second.added(sums)
    inner = sums.size * second.variance
    share = inner / (inner + first.variance)
    noisy += (share * count + (1.0 - share) * noisy.sum() - noisy.sum()) / sums.size
    areas = np.outer(np.diff(rows), np.diff(columns))
    return np.repeat(np.repeat(noisy / areas, np.diff(rows), axis=0), np.diff(columns), axis=1)
