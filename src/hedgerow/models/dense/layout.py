"""The order of the cells of a domain in memory, and the places of small tables and slices in it.

Axes are sorted by size, the largest last, and the cells are seen as blocks of rows: the last axes form a row that
is long enough for vector instructions, the middle axes a block that stays in the cache, the first axes the blocks.

A small table over levels has rows for the codes of the levels of first and middle axes; inside a row it is over codes
of attributes, and so is one over functions of several attributes.

Slices are kept one after the other in a few arrays, as compiled passes take them: a session steps along the same
conditions again and again, and making a slice takes longer than passing over it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, CodeSet, Domain, spread_over, summed
from hedgerow.models.core.terms import Key
from hedgerow.models.trees import JunctionTree
from hedgerow.queries import Conjunction, attribute_codes

if TYPE_CHECKING:
    from hedgerow.models.dense.kernels import Packed

KEPT = 2**22
"""Numbers that are kept; where there are more, all are forgotten before the next slice is made."""


@dataclass(frozen=True, eq=False)
class Slice:
    """Cells of a conjunction: ``outer[i] + stride * k`` for ``k < count``, or ``outer[i] + gather[k]``."""

    outer: Ints
    stride: int
    count: int
    gather: Ints


class _Row:
    """Numbers to which more are added; what was added never changes, so that a view of it stays true."""

    def __init__(self, *first: int) -> None:
        self._room = np.array(first or (0,), dtype=np.int64)
        self.size = len(first)

    def add(self, numbers: Ints) -> None:
        end = self.size + len(numbers)
        if end > self._room.size:
            room = np.empty(max(end, 2 * self._room.size), dtype=np.int64)
            room[: self.size] = self._room[: self.size]
            self._room = room
        self._room[self.size : end] = numbers
        self.size = end

    @property
    def held(self) -> Ints:
        return self._room[: self.size]


class Places:
    """The slices of conjunctions that were asked for; threads may share it.

    Example:
        >>> kept, made = Places(), Slice(np.array([4, 8]), 1, 2, np.zeros(0, dtype=np.int64))
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> query = Conjunction.where(Domain((IntegerRange("a", 0, 1),)), {"a": [1]})
        >>> packed, numbers = kept.packed([query, query], lambda query: made)
        >>> packed[:4], numbers
        ((array([4, 8]), array([0, 2]), array([1]), array([2])), array([0, 0]))
    """

    def __init__(self, kept: int = KEPT) -> None:
        """Start without any.

        Args:
            kept: See ``KEPT``.
        """
        self._kept = kept
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._outer, self._outer_start = _Row(), _Row(0)
        self._stride, self._count = _Row(), _Row()
        self._gather, self._gather_start = _Row(), _Row(0)

    def packed(self, queries: Sequence[Conjunction], slice_of: Callable[[Conjunction], Slice]) -> tuple[Packed, Ints]:
        """Slices as compiled passes take them.

        Args:
            queries: Conjunctions.
            slice_of: Makes the slice of one that is not kept.

        Returns:
            All slices that are kept, and the number of each conjunction's, shape ``(len(queries),)``.
        """
        keys = [(query.scope, query.codes) for query in queries]
        with self._lock:
            if self._outer.size + self._gather.size > self._kept and not self._numbers.keys() >= set(keys):
                self._forget()
            numbers = [
                self._numbers[key] if key in self._numbers else self._add(key, slice_of(query))
                for key, query in zip(keys, queries, strict=True)
            ]
            outer, stride, count, gather = self._outer.held, self._stride.held, self._count.held, self._gather.held
            packed = outer, self._outer_start.held, stride, count, gather, self._gather_start.held
        return packed, np.array(numbers, dtype=np.int64)

    def _add(self, key: Key, place: Slice) -> int:
        self._outer.add(place.outer)
        self._gather.add(place.gather)
        for row, number in (
            (self._outer_start, self._outer.size),
            (self._stride, place.stride),
            (self._count, place.count),
            (self._gather_start, self._gather.size),
        ):
            row.add(np.array([number]))
        self._numbers[key] = len(self._numbers)
        return self._numbers[key]


if TYPE_CHECKING:
    from hedgerow.models.dense.kernels import Packed

ROW_CELLS = 1024
BLOCK_CELLS = 2**16
_GATHER = 64
_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Frame:
    """Positions of a small table's cells in the rows.

    Attributes:
        clique: Variables of the table.
        carriers: Variables of the rows, which determine those of the clique: the same where these are attributes.
        axes: Axes of the carriers in the order of the layout.
        to_layout: Transposition of the carriers from domain order to layout order.
        from_layout: The transposition back.
        sizes: Codes of the carriers, in layout order.
        narrow: Whether no carrier is inside a row.
        rows: Rows of the small table.
        inner: For each axis of a row its size if it is among the carriers, else 1.
        block: Part of the row number from the block, shape ``(blocks,)``.
        row: Part of the row number from the row inside the block, shape ``(rows of a block,)``.
    """

    clique: Clique
    carriers: Clique
    axes: tuple[int, ...]
    to_layout: tuple[int, ...]
    from_layout: tuple[int, ...]
    sizes: tuple[int, ...]
    narrow: bool
    rows: int
    inner: tuple[int, ...]
    block: Ints
    row: Ints


@dataclass(frozen=True, eq=False)
class Ruled:
    """Cells that one constraint allows.

    Attributes:
        allowed: Whether records may be there, shape ``(rows, width)``, or ``(rows, 1)`` if it says nothing inside rows;
            a row for each combination of the classes that it is about.
        open: Rows in which all are allowed, shape ``(rows,)``.
        block: Part of the row number from the block, shape ``(blocks,)``.
        row: Part of the row number from the row inside the block, shape ``(rows of a block,)``.
    """

    allowed: Bools
    open: Bools
    block: Ints
    row: Ints


def _outer_sum(parts: Sequence[Ints]) -> Ints:
    return reduce(lambda a, b: np.add.outer(a, b).reshape(-1), parts, np.zeros(1, dtype=np.int64))


def _extend(sizes: Sequence[int], start: int, limit: int) -> int:
    """Smallest ``k <= start`` such that the sizes from k to the start multiply to at most the limit."""
    cells = 1
    while start > 0 and cells * sizes[start - 1] <= limit:
        start -= 1
        cells *= sizes[start]
    return start


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
        self._slices = Places()

    def in_domain_order(self, cells: Floats) -> Floats:
        """The cells as a view of shape ``domain.shape``."""
        return cells.reshape(self.shape).transpose([self.position[axis] for axis in range(len(self.shape))])

    def frame(self, clique: Clique) -> Frame:
        """Positions of the cells of a clique's table in the rows; kept for the next time."""
        kept = self._frames.get(clique)
        if kept is None:
            kept = self._frames[clique] = self._make_frame(clique)
        return kept

    def _make_frame(self, clique: Clique) -> Frame:
        carriers = self._carriers(clique)
        positions = [self._axis(name) for name in carriers]
        to_layout = tuple(sorted(range(len(positions)), key=positions.__getitem__))
        ordered = [carriers[i] for i in to_layout]
        outer = [name for name in ordered if self._axis(name) < self._first_inner]
        inside = set(positions)
        inner = tuple(self.shape[i] if i in inside else 1 for i in range(self._first_inner, len(self.shape)))
        return Frame(
            clique=clique,
            carriers=carriers,
            axes=tuple(positions[i] for i in to_layout),
            to_layout=to_layout,
            from_layout=tuple(to_layout.index(i) for i in range(len(to_layout))),
            sizes=self.domain.shape_of(ordered),
            narrow=len(outer) == len(ordered),
            rows=self.domain.cells(outer),
            inner=inner,
            block=self._places(outer, 0, self._first_row),
            row=self._places(outer, self._first_row, self._first_inner),
        )

    def base(self, clique: Clique) -> Clique:
        """The attributes that a clique is made from."""
        plain = all(axis < len(self.shape) for axis in self.domain.axes(clique))
        return clique if plain else self.domain.base(clique)

    def _axis(self, name: str) -> int:
        """The sorted axis of an attribute, or of the one that a level is of."""
        function = self.domain.function(name)
        return self.position[self.domain.index(name if function is None else function.sources[0])]

    def _carriers(self, clique: Clique) -> Clique:
        """Variables that the table of a clique is made from: levels of axes outside of rows, else attributes."""
        if self.base(clique) == clique:
            return clique
        carriers: set[str] = set()
        for name in clique:
            base = self.domain.base((name,))
            carriers.update((name,) if len(base) == 1 and self._axis(name) < self._first_inner else base)
        return self.domain.reduced(carriers)

    def _places(self, names: Sequence[str], first: int, stop: int) -> Ints:
        """The part that some axes have in the cell of a table of attributes and levels, for each cell of these axes."""
        parts = [np.zeros(self.shape[axis], dtype=np.int64) for axis in range(first, stop)]
        cells = 1
        for name in reversed(names):
            axis = self._axis(name)
            if first <= axis < stop:
                function = self.domain.function(name)
                codes = np.arange(self.shape[axis]) if function is None else function.codes
                parts[axis - first] += codes * np.int64(cells)
            cells *= self.domain[name].size
        return _outer_sum(parts)

    @cached_property
    def tree(self) -> JunctionTree:
        """One clique of all attributes; the cells of a fit over it are in the order of the layout."""
        return JunctionTree(self.domain, (self.domain.names,), ())

    @cached_property
    def zeros(self) -> tuple[Ruled, ...]:
        """The cells that each constraint allows."""
        return tuple(self._ruled(*zero) for zero in self.domain.zeros)

    def _ruled(self, clique: Clique, allowed: Bools) -> Ruled:
        to_layout = sorted(range(len(clique)), key=lambda i: self._axis(clique[i]))
        ordered = [clique[i] for i in to_layout]
        outer = [name for name in ordered if self._axis(name) < self._first_inner]
        rows = self.domain.cells(outer)
        table = np.ascontiguousarray(allowed.transpose(to_layout)).reshape(rows, -1)
        inside = self._places(ordered[len(outer) :], self._first_inner, len(self.shape))
        return Ruled(
            allowed=table if table.shape[1] == 1 else np.ascontiguousarray(table[:, inside]),
            open=np.asarray(table.all(axis=1)),
            block=self._places(outer, 0, self._first_row),
            row=self._places(outer, self._first_row, self._first_inner),
        )

    def may_hold(self, place: Slice) -> bool:
        """Whether constraints allow any cell of a slice."""
        inner = place.gather if place.gather.size else np.arange(place.count) * place.stride
        step = max(1, BLOCK_CELLS // max(1, inner.size))
        return any(
            self._allowed((place.outer[first : first + step, None] + inner).reshape(-1)).any()
            for first in range(0, place.outer.size, step)
        )

    def _allowed(self, cells: Ints) -> Bools:
        """Whether all constraints allow each cell, by its place in memory."""
        blocks, rows, inside = np.unravel_index(cells, self.rows_shape)
        allowed = np.ones(cells.size, dtype=np.bool_)
        for rule in self.zeros:
            narrow = rule.allowed.shape[1] == 1
            allowed &= rule.allowed[rule.block[blocks] + rule.row[rows], 0 if narrow else inside]
        return allowed

    def spread(self, frame: Frame, table: Floats) -> Floats:
        """A table of a clique as rows, shape ``(frame.rows, width)``, or ``(frame.rows, 1)`` if narrow."""
        if frame.carriers != frame.clique:
            spread_cells = spread_over(self.domain, table, frame.clique, frame.carriers)
            table = np.broadcast_to(spread_cells, self.domain.shape_of(frame.carriers))
        ordered = table.transpose(frame.to_layout)
        if frame.narrow:
            return np.ascontiguousarray(ordered).reshape(frame.rows, 1)
        shaped = ordered.reshape(frame.rows, *frame.inner)
        full = np.broadcast_to(shaped, (frame.rows, *self.shape[self._first_inner :]))
        return np.ascontiguousarray(full).reshape(frame.rows, self.rows_shape[2])

    def gathered(self, frame: Frame, sums: Floats) -> Floats:
        """The table of the clique, in domain order, from sums over rows."""
        if not frame.narrow:
            free = tuple(i + 1 for i, size in enumerate(frame.inner) if size == 1)
            sums = sums.reshape(frame.rows, *self.shape[self._first_inner :]).sum(axis=free)
        table = sums.reshape(frame.sizes).transpose(frame.from_layout)
        if frame.carriers == frame.clique:
            return table.copy()
        return summed(self.domain, table, frame.carriers, frame.clique).copy()

    def packed(self, queries: Sequence[Conjunction]) -> tuple[Packed, Ints]:
        """Slices of conjunctions as compiled passes take them, kept for the next time; see `Places.packed`."""
        return self._slices.packed(queries, self.slice_of)

    def slice_of(self, query: Conjunction) -> Slice:
        """Positions of the cells of a conjunction."""
        chosen_of, others = attribute_codes(self.domain, query)
        start, runs = 0, list[_Run]()
        if others:
            runs.append((0, 0, self._cells_of_functions(chosen_of, others)))
            if not runs[0][2].size:
                return Slice(_NONE, 1, 0, _NONE)
        codes = {self.position[self.domain.index(name)]: chosen for name, chosen in chosen_of.items()}
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

    def _cells_of_functions(self, codes: dict[str, CodeSet], others: Mapping[str, CodeSet]) -> Ints:
        """Places of the cells over the attributes of some functions of several where these lie in given sets.

        ``codes`` may hold sets for these attributes, which are taken into account and become the first code alone.
        """
        base = self.domain.base(others)
        holds = np.ones(self.domain.shape_of(base), dtype=np.bool_)
        for name, chosen in others.items():
            holds &= chosen.holds(self.domain.codes_in(name, base))
        strides = [self._strides[self.position[axis]] for axis in self.domain.axes(base)]
        for axis, name in enumerate(base):
            if name in codes:
                within = codes[name].holds(np.arange(holds.shape[axis]))
                holds &= within.reshape([-1 if i == axis else 1 for i in range(len(base))])
            codes[name] = CodeSet((0, 1))
        cells = np.zeros(int(holds.sum()), dtype=np.int64)
        for places, stride in zip(np.nonzero(holds), strides, strict=True):
            cells += places * stride
        return np.sort(cells)


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
