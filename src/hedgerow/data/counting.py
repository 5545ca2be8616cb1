"""Exact marginals and conjunctions of records, in a few compiled passes for all of them.

The attributes of the wanted marginals are covered by blocks (``covering.py``), the blocks' histograms are counted tile
by tile (``kernels.py``), and each histogram is summed down to its marginals.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.covering import Block, covering_blocks
from hedgerow.data.encoding import Codes
from hedgerow.domain import Clique, Domain
from hedgerow.errors import MarginalTooLargeError
from hedgerow.memory import available_bytes
from hedgerow.queries.partial_sums import shared_marginals
from hedgerow.queries.query import Conjunction, Floats

Ints = NDArray[np.int64]

BLOCK_CELLS = 1 << 14
"""Cells of a block: 64 KiB of counters, next to a core's fastest cache.

Increments cost 0.4 ns there, 0.9 ns for blocks of 2**16 and 1.2 ns for blocks of 2**18, which are hardly fewer.
"""

CHEAP_CELLS = 1 << 20
"""A table of so many cells is still counted quickly."""

_SMALLEST_BLOCK = 1 << 12
"""Also for few records blocks may have so many cells."""

_NARROW_CELLS = 1 << 16
"""Positions in blocks of fewer cells fit into two bytes."""

_PASS_CELLS = 1 << 22
"""Cells that are counted in one pass over the records; bounds the memory."""

_CHUNK_ROWS = 1 << 16
"""Records that go through all blocks together: 1 MB of codes if there are 15 attributes."""

_TILE_ROWS = 1 << 13
_ROWS_PER_THREAD = 1 << 16
_QUERIES_PER_PASS = 1 << 10


@final
@dataclass(frozen=True)
class _Records:
    """Columns of codes, and how often each row counts (empty: once)."""

    columns: Sequence[Codes]
    weights: Ints

    @property
    def n_rows(self) -> int:
        return len(self.columns[0])

    def tiles(self, start: int, stop: int, axes: Sequence[int], dtype: type[np.signedinteger[Any]]) -> Iterator[Any]:
        """Codes of some attributes as one matrix (attributes, rows), with the weights, tile by tile."""
        matrix = np.empty((len(axes), _TILE_ROWS), dtype=dtype)
        for low in range(start, stop, _TILE_ROWS):
            high = min(stop, low + _TILE_ROWS)
            for row, axis in enumerate(axes):
                matrix[row, : high - low] = self.columns[axis][low:high]
            yield matrix[:, : high - low], self.weights[low:high]

    def chunks(self, start: int, stop: int, axes: Sequence[int]) -> Iterator[tuple[NDArray[Any], Ints]]:
        """Codes of some attributes as one matrix (attributes, rows) of their type, with the weights, piece by piece."""
        dtype = np.result_type(np.uint8, *[self.columns[axis] for axis in axes])
        for low in range(start, stop, _CHUNK_ROWS):
            high = min(stop, low + _CHUNK_ROWS)
            codes = np.empty((len(axes), high - low), dtype=dtype)
            for row, axis in enumerate(axes):
                codes[row] = self.columns[axis][low:high]
            yield codes, self.weights[low:high]


def count_marginals(
    domain: Domain, columns: Sequence[Codes], weights: Ints | None, cliques: Sequence[Clique]
) -> list[Floats]:
    """Exact marginals.

    Args:
        domain: The domain of the records.
        columns: One array of codes per attribute.
        weights: How often each row counts, or None for once each.
        cliques: What is wanted, each in the order of the domain.

    Returns:
        One table per clique, of shape ``domain.shape_of(clique)``, in counts.

    Raises:
        MarginalTooLargeError: A table does not fit into memory.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)])
        >>> columns = [np.array([0, 1, 1], dtype=np.uint8), np.array([2, 0, 0], dtype=np.uint8)]
        >>> count_marginals(domain, columns, None, [("a", "b")])
        [array([[0., 0., 1.],
               [2., 0., 0.]])]
    """
    records = _Records(columns, np.empty(0, dtype=np.int64) if weights is None else weights)
    # Few records: the sums over cells cost more than the passes over the records, so the blocks are smaller.
    largest = min(BLOCK_CELLS, max(_SMALLEST_BLOCK, records.n_rows))
    blocks = covering_blocks(domain, cliques, largest)
    _check_memory(domain, cliques, blocks)
    found: list[Floats] = [np.empty(0)] * len(cliques)
    for part in _passes(blocks):
        for block, histogram in zip(part, _histograms(domain, records, part), strict=True):
            wanted = [cliques[i] for i in block.cliques]
            for i, marginal in zip(block.cliques, _summed(domain, block, histogram, wanted), strict=True):
                found[i] = marginal
    return found


def count_conjunctions(
    domain: Domain, columns: Sequence[Codes], weights: Ints | None, queries: Sequence[Conjunction]
) -> Floats:
    """Exact sums over the records that satisfy each query.

    Queries over few cells are sums of a marginal's cells, the others are counted record by record.

    Args:
        domain: The domain of the records.
        columns: One array of codes per attribute.
        weights: How often each row counts, or None for once each.
        queries: Over attributes of the domain.

    Returns:
        Shape ``(len(queries),)``, in counts.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 9)])
        >>> column = np.array([1, 5, 9], dtype=np.uint8)
        >>> count_conjunctions(domain, [column], None, [Conjunction.where(domain, {"a": range(5, 10)})])
        array([2.])
    """
    answers = np.zeros(len(queries))
    by_scope: dict[Clique, list[int]] = {}
    for i, query in enumerate(queries):
        by_scope.setdefault(query.scope, []).append(i)
    small = [scope for scope in by_scope if _size(domain, scope) <= CHEAP_CELLS]
    for scope, table in zip(small, count_marginals(domain, columns, weights, small), strict=True):
        for i in by_scope.pop(scope):
            answers[i] = queries[i].of_table(table)[0]
    rest = [i for group in by_scope.values() for i in group]
    records = _Records(columns, np.empty(0, dtype=np.int64) if weights is None else weights)
    for first in range(0, len(rest), _QUERIES_PER_PASS):
        part = rest[first : first + _QUERIES_PER_PASS]
        answers[part] = _conditions(domain, records, [queries[i] for i in part])
    return answers


def _check_memory(domain: Domain, cliques: Sequence[Clique], blocks: Sequence[Block]) -> None:
    results = 8 * sum(_size(domain, clique) for clique in cliques)
    largest = max(blocks, key=lambda block: block.cells, default=None)
    if largest is None:
        return
    required = results + 8 * 3 * max(largest.cells, _PASS_CELLS)
    if largest.cells > _PASS_CELLS and required > available_bytes():
        raise MarginalTooLargeError(
            attributes=tuple(domain.names[axis] for axis in largest.axes),
            cells=largest.cells,
            required_bytes=required,
            available_bytes=available_bytes(),
        )


def _passes(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Cut the blocks into runs of bounded size, and of narrow or of wide blocks."""
    part: list[Block] = []
    for block in blocks:
        wide = block.cells >= _NARROW_CELLS
        cells = sum(one.cells for one in part) + block.cells
        if part and (cells > _PASS_CELLS or wide != (part[-1].cells >= _NARROW_CELLS)):
            yield part
            part = []
        part.append(block)
    if part:
        yield part


def _histograms(domain: Domain, records: _Records, blocks: Sequence[Block]) -> list[NDArray[Any]]:
    """The flat histogram of each block."""
    from hedgerow.data.kernels import count_blocks

    axes = sorted({axis for block in blocks for axis in block.axes})
    place = {axis: row for row, axis in enumerate(axes)}
    narrow = blocks[0].cells < _NARROW_CELLS
    members = np.array([place[axis] for block in blocks for axis in block.axes], dtype=np.int64)
    strides = np.array(
        [stride for block in blocks for stride in _strides(domain, block)], dtype=np.uint16 if narrow else np.int64
    )
    starts = _starts([len(block.axes) for block in blocks])
    offsets = _starts([block.cells for block in blocks])
    counter = np.int32 if not len(records.weights) and records.n_rows < 2**31 else np.int64

    def count(start: int, stop: int) -> NDArray[Any]:
        out = np.zeros(offsets[-1], dtype=counter)
        for codes, weights in records.chunks(start, stop, axes):
            count_blocks(codes, weights, starts, members, strides, offsets, out)
        return out

    total = _over_threads(count, records.n_rows, int(offsets[-1]))
    return [total[low:high] for low, high in pairwise(offsets)]


def _summed(domain: Domain, block: Block, histogram: NDArray[Any], cliques: Sequence[Clique]) -> Iterable[Floats]:
    """The marginals of a block; a plan of partial sums is worth its time for large ones only."""
    names = tuple(domain.names[axis] for axis in block.axes)
    if block.cells <= BLOCK_CELLS and block.axes:
        return [_marginal(domain, names, histogram, clique) for clique in cliques]
    return shared_marginals(histogram.astype(np.float64).reshape(domain.shape_of(names)), names, cliques)


def _marginal(domain: Domain, names: Clique, histogram: NDArray[Any], clique: Clique) -> Floats:
    from hedgerow.data.kernels import add_marginal

    table = np.zeros(domain.shape_of(clique))
    stride = dict(zip(clique, [step // table.itemsize for step in table.strides], strict=True))
    strides = np.array([stride.get(name, 0) for name in names], dtype=np.int64)
    add_marginal(histogram, np.array(domain.shape_of(names), dtype=np.int64), strides, table.reshape(-1))
    return table


def _conditions(domain: Domain, records: _Records, queries: Sequence[Conjunction]) -> Ints:
    """One compiled pass: for each attribute of a query, a table that says which codes count."""
    from hedgerow.data.kernels import count_conditions

    axes = sorted({axis for query in queries for axis in domain.axes(query.scope)})
    place = {axis: row for row, axis in enumerate(axes)}
    members = np.array([place[axis] for query in queries for axis in domain.axes(query.scope)], dtype=np.int64)
    starts = _starts([len(query.scope) for query in queries])
    tables = _starts([size for query in queries for size in domain.shape_of(query.scope)])
    allowed = np.zeros(tables[-1], dtype=np.uint8)
    chosen = [codes for query in queries for codes in query.codes]
    for table, codes in zip(tables[:-1], chosen, strict=True):
        allowed[table + np.asarray(codes, dtype=np.int64)] = 1

    def count(start: int, stop: int) -> Ints:
        out = np.zeros(len(queries), dtype=np.int64)
        for tile, weights in records.tiles(start, stop, axes, np.int32):
            count_conditions(tile, weights, starts, members, tables[:-1], allowed, out)
        return out

    return _over_threads(count, records.n_rows, len(queries))


def _size(domain: Domain, clique: Clique) -> int:
    return math.prod(domain.shape_of(clique))


def _strides(domain: Domain, block: Block) -> list[int]:
    strides = [1]
    for axis in reversed(block.axes[1:]):
        strides.append(strides[-1] * domain.shape[axis])
    return strides[::-1] if block.axes else []


def _starts(lengths: Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _over_threads(count: Callable[[int, int], NDArray[Any]], n_rows: int, n_cells: int) -> NDArray[Any]:
    """Cut the rows among the cores and add up; a table of more cells than one pass has is counted once only."""
    threads = min(len(os.sched_getaffinity(0)), n_rows // _ROWS_PER_THREAD)
    if threads < 2 or n_cells > _PASS_CELLS:
        return count(0, n_rows)
    cuts = [n_rows * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(count, cuts[:-1], cuts[1:]))
    for part in parts[1:]:
        parts[0] += part
    return parts[0]
