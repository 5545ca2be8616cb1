"""Tables of cliques in one flat array, and how small tables meet them: what the compiled sweeps walk over.

The axes of every table are in the order of their sizes, the longest last, so that passes over a clique have long rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.models.beliefs import Beliefs
from hedgerow.models.tree_walk import Walk
from hedgerow.queries.query import Floats, LinearQuery, Measurable, Parity

Number = TypeVar("Number", np.int64, np.float64)
Ints = NDArray[np.int64]
Shape = tuple[int, ...]
Arrays = tuple[Floats, Ints, Ints, Ints, Ints, Floats, Floats, Ints, Ints, Floats, Floats]
"""Cells, nodes, views, pool, tables, old, ratio, ops, steps, values and room, as ``tree_kernels.sweep_trees`` says."""

_ONE_ROW = 128
"""Cliques of so few cells are one row with an index map."""
_ROW = 32
"""Cells that a row of a larger clique has at least."""
_WIDE, _NARROW, _PATTERN = range(3)
"""Kinds of views, as in ``tree_kernels.py``."""


@lru_cache(maxsize=4096)
def axis_order(shape: Shape) -> tuple[int, ...]:
    """The axes of a table as they are laid out, the longest last.

    Example:
        >>> axis_order((5, 2, 5, 3))
        (1, 3, 0, 2)
    """
    return tuple(sorted(range(len(shape)), key=shape.__getitem__))


class _Column(Generic[Number]):
    """Pieces of one flat array in the making."""

    def __init__(self) -> None:
        self.size = 0
        self.pieces: list[NDArray[Number]] = []

    def put(self, piece: NDArray[Number]) -> int:
        """Where it starts."""
        start = self.size
        self.size += piece.size
        self.pieces.append(piece)
        return start


@final
class Layout:
    """The arrays of a fit in the making; ``tree_kernels.sweep_trees`` says what each of them means."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._sizes: list[int] = []
        self._nodes: list[tuple[int, int, int]] = []
        self._cells: list[tuple[int, Floats]] = []
        self._tables: list[tuple[int, int]] = []
        self._old: list[tuple[int, Floats]] = []
        self._views: list[Sequence[int]] = []
        self._ops: list[Sequence[int]] = []
        self._steps: list[Sequence[int]] = []
        self._pool: _Column[np.int64] = _Column()
        self._pool.put(np.zeros(1, dtype=np.int64))
        self._values: _Column[np.float64] = _Column()
        self._values.put(np.zeros(1))
        self._known: dict[tuple[Shape, Shape], int] = {}
        self._classes: dict[object, tuple[int, int, int]] = {}
        self._step_of: dict[int, Sequence[int]] = {}
        self._ends = [0, 0]
        self._room = 1

    def place(self, index: int, target: Measurable, start: int) -> bool:
        """Say where the targets of a measurement start.

        Args:
            index: Of the measurement.
            target: What was measured.
            start: Of its targets among those of all measurements.

        Returns:
            Whether it can be fitted: a query with one value only has the same answer always.
        """
        classes = self._classes_of(target) if isinstance(target, LinearQuery) else (0, 0, 0)
        self._step_of[index] = (index, start, *classes)
        return classes[0] != 1

    def add(self, part: Beliefs, walk: Walk) -> None:
        """Put a part and the walk around it after those that are there."""
        tree, first, before = part.tree, len(self._tables), walk.visits[-1].table
        nodes: dict[int, tuple[int, Shape, dict[str, int]]] = {}
        summed: dict[int, int] = {}
        for visit in walk.visits:
            if visit.node not in nodes:
                nodes[visit.node] = self._add_node(part, visit.node)
            node, shape, axes = nodes[visit.node]
            into, out = (
                self._view(shape, tuple(sorted([axes[name] for name in walk.tables[table]])))
                for table in (before, visit.table)
            )
            start = len(self._steps)
            self._steps += [self._step_of[index] for index in visit.members]
            self._ops.append((node, into, first + before, out, first + visit.table, start, len(self._steps)))
            before = visit.table
            summed[before] = visit.node
        for table, scope in enumerate(walk.tables):
            start, size = self._ends[1], math.prod(tree.domain.shape_of(scope))
            self._tables.append((start, size))
            self._ends[1] += size
            self._room = max(self._room, size)
            if not part.uniform:
                self._old.append((start, _probabilities(part.sums(summed[table], scope))))

    def arrays(self) -> Arrays:
        """All of them."""
        old = _filled([size for _, size in self._tables], self._old)
        return (
            _filled([rows * width for _, rows, width in self._nodes], self._cells),
            _integers(self._nodes, 3),
            _integers(self._views, 5),
            np.concatenate(self._pool.pieces),
            _integers(self._tables, 2),
            old,
            np.ones(old.size),
            _integers(self._ops, 7),
            _integers(self._steps, 5),
            np.concatenate(self._values.pieces),
            np.empty((4, self._room)),
        )

    def _add_node(self, part: Beliefs, node: int) -> tuple[int, Shape, dict[str, int]]:
        clique, shape = part.tree.cliques[node], part.tree.shapes[node]
        order = axis_order(shape)
        ordered = tuple([shape[axis] for axis in order])
        start, size = self._ends[0], math.prod(shape)
        width = math.prod(ordered[_leading(ordered) :])
        self._nodes.append((start, size // width, width))
        self._ends[0] += size
        if not part.uniform:
            self._cells.append((start, _probabilities(part.sums(node, clique))))
        return len(self._nodes) - 1, ordered, {clique[axis]: place for place, axis in enumerate(order)}

    def _view(self, shape: Shape, kept: Shape) -> int:
        """How a clique meets a table over some of its axes."""
        known = self._known.get((shape, kept))
        if known is None:
            known = self._known[shape, kept] = len(self._views)
            self._views.append(self._new_view(shape, kept))
        return known

    def _new_view(self, shape: Shape, kept: Shape) -> tuple[int, int, int, int, int]:
        leading = _leading(shape)
        width = math.prod(shape[leading:])
        rows = self._pool.put(_index(shape[:leading], [axis for axis in kept if axis < leading]))
        pattern = _index(shape[leading:], [axis - leading for axis in kept if axis >= leading])
        leads = math.prod(shape[axis] for axis in kept if axis < leading)
        tail = int(pattern[-1]) + 1
        if leading and tail in (1, width):
            return _NARROW if tail == 1 else _WIDE, rows, 0, leads, tail
        self._room = max(self._room, leads * width)
        return _PATTERN, rows, self._pool.put(pattern), leads, tail

    def _classes_of(self, query: LinearQuery) -> tuple[int, int, int]:
        """Number of values of a query, where the class of each cell stands, and the values."""
        shape = query.domain.shape_of(query.scope)
        key: object = (Parity, shape) if isinstance(query, Parity) else (shape, getattr(query, "codes", query))
        known = self._classes.get(key)
        if known is None:
            values, classes = np.unique(query.values().transpose(axis_order(shape)), return_inverse=True)
            known = len(values), self._pool.put(classes.reshape(-1)), self._values.put(values)
            self._classes[key] = known
            self._room = max(self._room, 2 * len(values))
        return known


def _leading(shape: Shape) -> int:
    """How many axes count rows; the others are the cells of a row."""
    if math.prod(shape) <= _ONE_ROW:
        return 0
    leading, width = len(shape), 1
    while width < _ROW:
        leading -= 1
        width *= shape[leading]
    return leading


def _index(shape: Shape, kept: Sequence[int]) -> Ints:
    """For each cell the cell of the table of some axes, in increasing order, flat."""
    index = np.zeros(shape, dtype=np.int64)
    stride = 1
    for axis in reversed(kept):
        index += stride * np.arange(shape[axis]).reshape([-1 if other == axis else 1 for other in range(len(shape))])
        stride *= shape[axis]
    return index.reshape(-1)


def _probabilities(sums: Floats) -> Floats:
    """In the order of the layout, summing to 1."""
    return np.asarray(sums.transpose(axis_order(sums.shape)).reshape(-1) / sums.sum(), dtype=np.float64)


def _filled(sizes: Sequence[int], pieces: Sequence[tuple[int, Floats]]) -> Floats:
    """Tables of such sizes: uniform, but for those that are given with their places."""
    counts = np.array(sizes, dtype=np.int64)
    made = np.repeat(1.0 / counts, counts)
    for start, piece in pieces:
        made[start : start + piece.size] = piece
    return made


def _integers(rows: Sequence[Sequence[int]], columns: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(-1, columns)
