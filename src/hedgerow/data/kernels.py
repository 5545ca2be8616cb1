"""Compiled counting of codes; nothing but kernels.

Codes are arrays (attributes, rows). Blocks are given flat: block b uses the attributes
``members[starts[b]:starts[b + 1]]`` with the strides beside them, and its histogram starts at ``offsets[b]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


_TILE = 1 << 12
"""Records whose cells are found before they are counted."""


@njit(cache=True, nogil=True)
def count_blocks(
    codes: NDArray[Any],
    weights: Ints,
    starts: Ints,
    members: Ints,
    strides: NDArray[Any],
    offsets: Ints,
    out: NDArray[Any],
) -> None:
    """Add records to the histograms of all blocks; no weights mean 1 each.

    Positions of cells are of the type of the strides: narrow ones are computed many at a time.
    """
    n_rows = codes.shape[1]
    cells = np.empty(_TILE, strides.dtype)
    for b in range(len(starts) - 1):
        histogram = out[offsets[b] : offsets[b + 1]]
        for low in range(0, n_rows, _TILE):
            high = min(n_rows, low + _TILE)
            cell = cells[: high - low]
            cell[:] = 0
            for k in range(starts[b], starts[b + 1]):
                own = codes[members[k], low:high]
                stride = strides[k]
                for r in range(cell.size):
                    cell[r] += own[r] * stride
            if len(weights) == 0:
                for r in range(cell.size):
                    histogram[cell[r]] += 1
            else:
                for r in range(cell.size):
                    histogram[cell[r]] += weights[low + r]


@njit(cache=True, nogil=True)
def add_marginal(table: NDArray[Any], shape: Ints, strides: Ints, out: NDArray[np.float64]) -> None:
    """Add the cells of a flat table of at least one axis to a marginal; axes that it does not keep have stride 0."""
    n_axes = len(shape)
    position = np.zeros(n_axes, np.int64)
    target = 0
    for low in range(0, table.size, shape[-1]):
        row = table[low : low + shape[-1]]
        if strides[-1] == 0:
            out[target] += row.sum()
        else:
            for j in range(row.size):
                out[target + j * strides[-1]] += row[j]
        for k in range(n_axes - 2, -1, -1):
            position[k] += 1
            target += strides[k]
            if position[k] < shape[k]:
                break
            target -= strides[k] * shape[k]
            position[k] = 0


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
