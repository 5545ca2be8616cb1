"""The order of the cells of a domain in memory, and the places of small tables and slices in it.

Axes are sorted by size, the largest last, and the cells are seen as blocks of rows: the last axes form a row that
is long enough for vector instructions, the middle axes a block that stays in the cache, the first axes the blocks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.queries import Conjunction

if TYPE_CHECKING:
    from hedgerow.models.dense.kernels import Packed

ROW_CELLS = 1024
BLOCK_CELLS = 2**16
_GATHER = 64
_NONE = np.zeros(0, dtype=np.int64)


@final
@dataclass(frozen=True, eq=False)
class Frame:
    """Positions of a small table's cells in the rows.

    Attributes:
        axes: Axes of the clique in the order of the layout.
        to_layout: Transposition from domain order to layout order.
        from_layout: The transposition back.
        sizes: Codes of those axes.
        narrow: Whether no axis of the clique is inside a row.
        rows: Rows of the small table.
        inner: For each axis of a row its size if it is in the clique, else 1.
        block: Part of the row number from the block, shape ``(blocks,)``.
        row: Part of the row number from the row inside the block, shape ``(rows of a block,)``.
    """

    axes: tuple[int, ...]
    to_layout: tuple[int, ...]
    from_layout: tuple[int, ...]
    sizes: tuple[int, ...]
    narrow: bool
    rows: int
    inner: tuple[int, ...]
    block: Ints
    row: Ints


@final
@dataclass(frozen=True, eq=False)
class Slice:
    """Cells of a conjunction: ``outer[i] + stride * k`` for ``k < count``, or ``outer[i] + gather[k]``."""

    outer: Ints
    stride: int
    count: int
    gather: Ints


def _outer_sum(parts: Sequence[Ints]) -> Ints:
    return reduce(lambda a, b: np.add.outer(a, b).reshape(-1), parts, np.zeros(1, dtype=np.int64))


def _extend(sizes: Sequence[int], start: int, limit: int) -> int:
    """Smallest ``k <= start`` such that the sizes from k to the start multiply to at most the limit."""
    cells = 1
    while start > 0 and cells * sizes[start - 1] <= limit:
        start -= 1
        cells *= sizes[start]
    return start


@final
class RowLayout:
    """The order of the cells of one domain.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> layout = RowLayout(Domain((IntegerRange("a", 0, 9), IntegerRange("b", 0, 1))))
        >>> layout.order, layout.shape
        ((1, 0), (2, 10))
    """

    def __init__(self, domain: Domain) -> None:
        """Sort the axes and cut them into blocks, rows of a block and cells of a row."""
        self.domain = domain
        self.order = tuple(sorted(range(len(domain)), key=lambda axis: domain.shape[axis]))
        self.position = {axis: i for i, axis in enumerate(self.order)}
        self.shape = tuple(domain.shape[axis] for axis in self.order)
        last = len(self.shape) - 1
        self._first_inner = min(last, _extend(self.shape, len(self.shape), ROW_CELLS))
        width = math.prod(self.shape[self._first_inner :])
        self._first_row = _extend(self.shape, self._first_inner, BLOCK_CELLS // width)
        self.rows_shape = (
            math.prod(self.shape[: self._first_row]),
            math.prod(self.shape[self._first_row : self._first_inner]),
            width,
        )
        self.block_shape = self.shape[: self._first_row]
        self._strides = tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))
        self._frames: dict[Clique, Frame] = {}

    def axes(self, clique: Clique) -> tuple[int, ...]:
        """Positions of the attributes of a clique among the sorted axes, in the order of the clique."""
        return tuple(self.position[axis] for axis in self.domain.axes(clique))

    def in_domain_order(self, cells: Floats) -> Floats:
        """The cells as a view of shape ``domain.shape``."""
        return cells.reshape(self.shape).transpose([self.position[axis] for axis in range(len(self.shape))])

    def frame(self, clique: Clique) -> Frame:
        """Positions of the cells of a clique's table in the rows; kept for the next time."""
        found = self._frames.get(clique)
        if found is None:
            found = self._frames[clique] = self._make_frame(clique)
        return found

    def _make_frame(self, clique: Clique) -> Frame:
        positions = self.axes(clique)
        to_layout = tuple(sorted(range(len(positions)), key=lambda i: positions[i]))
        axes = tuple(positions[i] for i in to_layout)
        strides: dict[int, int] = {}
        rows = 1
        for axis in reversed([axis for axis in axes if axis < self._first_inner]):
            strides[axis] = rows
            rows *= self.shape[axis]

        def offsets(first: int, stop: int) -> Ints:
            return _outer_sum([np.arange(self.shape[i]) * strides.get(i, 0) for i in range(first, stop)])

        inner = range(self._first_inner, len(self.shape))
        return Frame(
            axes=axes,
            to_layout=to_layout,
            from_layout=tuple(to_layout.index(i) for i in range(len(to_layout))),
            sizes=tuple(self.shape[i] for i in axes),
            narrow=all(i not in axes for i in inner),
            rows=rows,
            inner=tuple(self.shape[i] if i in axes else 1 for i in inner),
            block=offsets(0, self._first_row),
            row=offsets(self._first_row, self._first_inner),
        )

    def spread(self, frame: Frame, table: Floats) -> Floats:
        """A table of a clique as rows, shape ``(frame.rows, width)``, or ``(frame.rows, 1)`` if narrow."""
        ordered = table.transpose(frame.to_layout)
        if frame.narrow:
            return np.ascontiguousarray(ordered).reshape(frame.rows, 1)
        shaped = ordered.reshape(frame.rows, *frame.inner)
        full = np.broadcast_to(shaped, (frame.rows, *self.shape[self._first_inner :]))
        return np.ascontiguousarray(full).reshape(frame.rows, self.rows_shape[2])

    def spread_cells(self, clique: Clique) -> int:
        """Size of a table of a clique as ``spread`` makes it."""
        axes = self.axes(clique)
        rows = math.prod(self.shape[axis] for axis in axes if axis < self._first_inner)
        return rows * (self.rows_shape[2] if any(axis >= self._first_inner for axis in axes) else 1)

    def empty_sums(self, frame: Frame) -> Floats:
        """Zeros to add rows into."""
        return np.zeros((frame.rows, 1 if frame.narrow else self.rows_shape[2]))

    def gathered(self, frame: Frame, sums: Floats) -> Floats:
        """The table of the clique, in domain order, from sums over rows."""
        if not frame.narrow:
            free = tuple(i + 1 for i, size in enumerate(frame.inner) if size == 1)
            sums = sums.reshape(frame.rows, *self.shape[self._first_inner :]).sum(axis=free)
        return sums.reshape(frame.sizes).transpose(frame.from_layout).copy()

    def slice_of(self, query: Conjunction) -> Slice:
        """Positions of the cells of a conjunction."""
        codes = dict(zip(self.axes(query.scope), query.codes, strict=True))
        start, runs = 0, []
        for axis, (size, stride) in enumerate(zip(self.shape, self._strides, strict=True)):
            chosen = codes.get(axis)
            if chosen is None:
                runs.append((stride, size, _NONE))
            elif not chosen:
                return Slice(_NONE, 1, 0, _NONE)
            elif chosen[-1] - chosen[0] + 1 == len(chosen):
                start += chosen[0] * stride
                runs.append((stride, len(chosen), _NONE))
            else:
                runs.append((stride, 0, np.array(chosen, dtype=np.int64) * stride))
        return _packed(start, _merged(runs))


def pack(places: Sequence[Slice]) -> Packed:
    """Slices one after the other, as compiled sweeps take them.

    Example:
        >>> pack([Slice(np.array([4, 8]), 1, 2, np.zeros(0, dtype=np.int64))])[:4]
        (array([4, 8]), array([0, 2]), array([1]), array([2]))
    """
    return (
        np.concatenate([place.outer for place in places]),
        np.cumsum([0] + [place.outer.size for place in places]),
        np.array([place.stride for place in places]),
        np.array([place.count for place in places]),
        np.concatenate([place.gather for place in places]),
        np.cumsum([0] + [place.gather.size for place in places]),
    )


_Run = tuple[int, int, Ints]


def _merged(runs: list[_Run]) -> list[_Run]:
    """Join neighbouring runs that are one arithmetic progression together; drop runs of one cell."""
    kept: list[_Run] = []
    for run in runs:
        if run[1] == 1:
            continue
        if kept and run[1] and kept[-1][1] and kept[-1][0] == run[0] * run[1]:
            kept[-1] = (run[0], run[1] * kept[-1][1], _NONE)
        else:
            kept.append(run)
    return kept


def _offsets(run: _Run) -> Ints:
    return run[2] if run[2].size else np.arange(run[1], dtype=np.int64) * run[0]


def _packed(start: int, runs: list[_Run]) -> Slice:
    if not runs:
        return Slice(np.array([start], dtype=np.int64), 1, 1, _NONE)
    stride, count, _ = runs[-1]
    if count >= 16 or (count and len(runs) == 1):
        return Slice(start + _outer_sum([_offsets(run) for run in runs[:-1]]), stride, count, _NONE)
    inner: Ints = np.zeros(1, dtype=np.int64)
    while runs and inner.size < _GATHER:
        inner = _outer_sum([_offsets(runs[-1]), inner])
        runs = runs[:-1]
    return Slice(start + _outer_sum([_offsets(run) for run in runs]), 1, 0, inner)
