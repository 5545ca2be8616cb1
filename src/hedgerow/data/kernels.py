"""Compiled counting over a tile of codes; nothing but kernels.

A tile is an int32 or int64 array (attributes, rows). Blocks are given flat: block b uses the attributes
``members[starts[b]:starts[b + 1]]`` with the strides beside them, and its histogram starts at ``offsets[b]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def count_tile(
    tile: NDArray[Any], weights: Ints, starts: Ints, members: Ints, strides: NDArray[Any], offsets: Ints, out: Ints
) -> None:
    """Add the records of a tile to the histograms of all blocks; no weights mean 1 each."""
    rows = tile.shape[1]
    cell = np.empty(rows, tile.dtype)
    for b in range(len(starts) - 1):
        cell[:] = 0
        for k in range(starts[b], starts[b + 1]):
            codes = tile[members[k]]
            stride = strides[k]
            for r in range(rows):
                cell[r] += codes[r] * stride
        histogram = out[offsets[b] : offsets[b + 1]]
        if len(weights) == 0:
            for r in range(rows):
                histogram[cell[r]] += 1
        else:
            for r in range(rows):
                histogram[cell[r]] += weights[r]


@njit(cache=True, nogil=True)
def count_conditions(
    tile: NDArray[Any],
    weights: Ints,
    starts: Ints,
    members: Ints,
    tables: Ints,
    allowed: NDArray[np.uint8],
    out: Ints,
) -> None:
    """Add the records of a tile that satisfy each query.

    Query q asks of attribute ``members[k]``, for k from ``starts[q]``, that its code c has ``allowed[tables[k] + c]``.
    """
    rows = tile.shape[1]
    holds = np.empty(rows, np.uint8)
    for q in range(len(starts) - 1):
        holds[:] = 1
        for k in range(starts[q], starts[q + 1]):
            codes = tile[members[k]]
            table = allowed[tables[k] :]
            for r in range(rows):
                holds[r] &= table[codes[r]]
        found = 0
        if len(weights) == 0:
            for r in range(rows):
                found += holds[r]
        else:
            for r in range(rows):
                found += holds[r] * weights[r]
        out[q] += found
