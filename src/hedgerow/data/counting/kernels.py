"""Compiled counting of codes; nothing but kernels.

Codes are arrays (attributes, rows). Blocks are given flat: block b uses the attributes
``members[starts[b]:starts[b + 1]]`` with the strides beside them, and its histogram starts at ``offsets[b]``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bytes, Floats, Ints, Places
from hedgerow.system import inlined, kernel

_TILE = 1 << 12
"""Records whose cells are found before they are counted."""


@inlined()
def _find(codes: NDArray[Any], members: Ints, strides: NDArray[Any], low: int, cell: NDArray[Any]) -> None:
    """Positions of the cells of some records, two attributes at a time."""
    high = low + cell.size
    cell[:] = 0
    for k in range(0, len(members) - 1, 2):
        one, other = codes[members[k], low:high], codes[members[k + 1], low:high]
        stride, other_stride = strides[k], strides[k + 1]
        for r in range(cell.size):
            cell[r] += one[r] * stride + other[r] * other_stride
    if len(members) % 2:
        one, stride = codes[members[-1], low:high], strides[-1]
        for r in range(cell.size):
            cell[r] += one[r] * stride


@kernel()
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

    Positions of cells are of the type of the strides: narrow ones are computed many at a time. Counters of two bytes
    take half of a core's first cache, where there are so few records that none runs over.
    """
    n_rows = codes.shape[1]
    cells = np.empty(_TILE, strides.dtype)
    short = np.zeros(n_rows // 2 if len(weights) == 0 and n_rows < 2**16 else 0, np.uint16)
    for b in range(len(starts) - 1):
        own = slice(starts[b], starts[b + 1])
        histogram = out[offsets[b] : offsets[b + 1]]
        counters = short[: histogram.size]
        for low in range(0, n_rows, _TILE):
            cell = cells[: min(n_rows - low, _TILE)]
            _find(codes, members[own], strides[own], low, cell)
            if counters.size == histogram.size:
                for r in range(cell.size):
                    counters[cell[r]] += np.uint16(1)
            elif len(weights) == 0:
                for r in range(cell.size):
                    histogram[cell[r]] += 1
            else:
                for r in range(cell.size):
                    histogram[cell[r]] += weights[low + r]
        if counters.size == histogram.size:
            for c in range(counters.size):
                histogram[c] += counters[c]
                counters[c] = 0


@kernel()
def add_marginal(table: NDArray[Any], shape: Ints, strides: Ints, out: Floats) -> None:
    """Add the cells of a flat table of at least one axis to a marginal; axes that it does not keep have stride 0."""
    n_axes = len(shape)
    position = np.empty(n_axes, np.int64)
    for k in range(n_axes):
        position[k] = 0
    target = 0
    for low in range(0, table.size, shape[-1]):
        row = table[low : low + shape[-1]]
        if strides[-1] == 0:
            total = 0
            for cell in row:
                total += cell
            out[target] += total
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


@kernel()
def count_conditions(
    tile: NDArray[Any],
    weights: Ints,
    starts: Ints,
    members: Ints,
    runs: Places,
    tables: Ints,
    allowed: Bytes,
    out: Ints,
) -> None:
    """Add the records of a tile that satisfy each query.

    Query q asks of attribute ``members[k]``, for k from ``starts[q]``, that its code c lies in
    ``runs[k, 0] <= c < runs[k, 1]``; or, where ``runs[k, 0]`` is negative, that it has ``allowed[tables[k] + c]``.
    """
    rows = tile.shape[1]
    holds = np.empty(rows, np.uint8)
    for q in range(len(starts) - 1):
        holds[:] = 1
        for k in range(starts[q], starts[q + 1]):
            codes = tile[members[k]]
            low, stop = runs[k, 0], runs[k, 1]
            if low >= 0:
                for r in range(rows):
                    holds[r] &= np.uint8(low <= codes[r]) & np.uint8(codes[r] < stop)
            else:
                table = allowed[tables[k] :]
                for r in range(rows):
                    holds[r] &= table[codes[r]]
        count = 0
        if len(weights) == 0:
            for r in range(rows):
                count += holds[r]
        else:
            for r in range(rows):
                count += holds[r] * weights[r]
        out[q] += count
