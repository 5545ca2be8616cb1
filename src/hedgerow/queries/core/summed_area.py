"""Summed-area tables: the sum over a box of cells from the corners of the box."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats, Ints

Corner = tuple[Ints, Floats | float]
"""A place on an axis of a summed-area table for each of many sums, and their weights there."""


def summed_area(table: Floats) -> Floats:
    """The sums over all smaller codes, shape ``(size + 1, ...)``: place k of an axis is before code k.

    Example:
        >>> summed_area(np.array([1.0, 2.0, 4.0])).tolist()
        [0.0, 1.0, 3.0, 7.0]
    """
    area = np.zeros([size + 1 for size in table.shape])
    sums = area[tuple(slice(1, None) for _ in table.shape)] if table.ndim else area  # a view in either case
    sums[...] = table
    for axis in range(table.ndim):
        np.cumsum(sums, axis=axis, out=sums)
    return area


def joined_corners(corners: Sequence[Sequence[Corner]], shape: Sequence[int]) -> list[Corner]:
    """The corners of products: places in the flat table, with the products of the weights.

    Args:
        corners: For each axis the places whose weighted sum is that over a range of it.
        shape: Shape of the summed-area table.

    Example:
        >>> one = [(np.array([0]), -1.0), (np.array([2]), 1.0)]
        >>> [(places.tolist(), float(weight)) for places, weight in joined_corners([one, one], (3, 3))]
        [([0], 1.0), ([2], -1.0), ([6], -1.0), ([8], 1.0)]
    """
    joined: list[Corner] = [(np.zeros(1, dtype=np.int64), 1.0)]
    for axis, ends in enumerate(corners):
        stride = math.prod(shape[axis + 1 :])
        joined = [(at + stride * place, one * other) for at, one in joined for place, other in ends]
    return joined
