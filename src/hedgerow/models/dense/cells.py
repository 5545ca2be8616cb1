"""The weights of all cells of a domain, the compiled passes over them, and their sum, tracked.

Weights are in linear space and not normalised. ``moved`` bounds how far log-weights have moved apart since the last
rebuild; as long as it is at most ``LOG_RANGE`` no weight that matters has left the range of floating point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, summed
from hedgerow.models.core import KINDS, Codes, Kind, SamplingMethod, block_rows, code_type, positions, shuffle
from hedgerow.models.dense.layout import Frame, RowLayout
from hedgerow.queries import Conjunction, shared_marginals
from hedgerow.system import in_slices, usable_cores

LOG_RANGE = 250.0
"""Largest sum of ranges of log-factors between two rebuilds."""
LOG_FLUSH = -450.0
"""Cells below ``exp`` of this, relative to the largest, become 0 in a rebuild; so none ever turns subnormal."""
PARALLEL_CELLS = 2**19
"""Fewer cells are passed over by one thread."""
MASS_ERROR = 1e-12
"""Largest relative error of the tracked sum before it is taken again."""

_PASS_PER_CELL = 8
"""Cells that a pass goes over while one cell of a table over attributes is added up into one over levels."""
_SUMMED = 1024
"""Weights that are summed at once: the cell of a record is looked for in one block."""
_BATCH = 64
"""Conjunctions whose slices are made together where they are not all wanted at once."""
_MAX_THREADS = 8

T = TypeVar("T")


def kernels() -> Any:
    """The compiled kernels, imported where they are first used: that takes a second."""
    from hedgerow.models.dense import kernels as compiled

    return compiled


def _threads() -> int:
    return min(_MAX_THREADS, usable_cores())


class Weights:
    """Weights in the order of a layout; uninitialised until the first rebuild.

    Attributes:
        layout: Their order.
        weights: Shape ``layout.rows_shape``.
        mass: Their sum.
        possible: Number of cells that constraints allow, once ``clear`` has counted them.
        moved: Sum of the ranges of all log-factors since the last rebuild.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> cells = Weights(RowLayout(Domain((IntegerRange("a", 0, 3),))))
        >>> cells.rebuild(None, {}, [])
        >>> cells.mass
        4.0
    """

    def __init__(self, layout: RowLayout) -> None:
        """Allocate."""
        self.layout = layout
        self.weights = np.empty(layout.rows_shape)
        self.mass = 0.0
        self.possible = 0
        self.moved = 0.0
        self._error = 0.0

    @property
    def flat(self) -> Floats:
        """The weights as a vector."""
        return self.weights.reshape(-1)

    def copy(self) -> Weights:
        """Independent cells in the same state."""
        twin = object.__new__(Weights)
        twin.__dict__.update(self.__dict__)
        twin.weights = self.weights.copy()
        return twin

    def clear(self) -> None:
        """Set the weights of all cells that constraints allow to 1, and count them."""
        self.weights.fill(1.0)
        self.possible = sum(self._in_parts(self._ruled_out)) if self.layout.zeros else self.weights.size
        self.mass = float(self.possible)
        self.moved = 0.0
        self._error = 0.0

    def take(self, table: Floats, possible: int) -> None:
        """Become other weights; ``moved`` is infinite where some have vanished.

        Args:
            table: The weights, shape of the domain, in any unit.
            possible: Number of cells that records can have.
        """
        np.multiply(table, 1.0 / table.max(), out=self.layout.in_domain_order(self.weights))
        self.mass = float(self.weights.sum())
        least = float(self.weights.min())
        if least == 0.0 and np.count_nonzero(self.weights) == possible:
            least = float(self.weights[self.weights > 0.0].min())
        self.moved = -math.log(least) if least > 0.0 else math.inf
        self._error = 0.0

    # Sums and products over rows

    def marginal(self, clique: Clique) -> Floats:
        """Unscaled table of a clique; takes the mass again."""

        def run(sums: Floats, frame: Frame, start: int, stop: int) -> None:
            kernels().sum_rows(self.weights, sums, frame.block, frame.row, start, stop)

        return self._sum_rows(clique, run)

    def multiply(self, clique: Clique, factors: Floats, wanted: Clique) -> Floats:
        """Multiply by a table of a clique and return the unscaled table of another, in one pass."""
        scaled = self.layout.frame(clique)
        rows = self.layout.spread(scaled, factors)

        def run(sums: Floats, frame: Frame, start: int, stop: int) -> None:
            kernels().multiply_and_sum(
                self.weights, rows, scaled.block, scaled.row, sums, frame.block, frame.row, start, stop
            )

        return self._sum_rows(wanted, run)

    def _sum_rows(self, clique: Clique, run: Callable[[Floats, Frame, int, int], None]) -> Floats:
        frame = self.layout.frame(clique)

        def part(start: int, stop: int) -> Floats:
            sums = np.zeros((frame.rows, 1 if frame.narrow else self.weights.shape[2]))
            run(sums, frame, start, stop)
            return sums

        # Every thread has sums of its own; sums that are large beside the cells are made by one.
        wide = 8 * frame.rows * (1 if frame.narrow else self.weights.shape[2]) > self.weights.size
        first, *others = [part(0, self.weights.shape[0])] if wide else self._in_parts(part)
        for other in others:
            first += other
        table = self.layout.gathered(frame, first)
        self.mass = float(table.sum())
        self._error = 0.0
        return table

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Unscaled tables of many cliques, by shared partial sums of tables over attributes."""
        layout = self.layout
        counted = [layout.base(clique) for clique in cliques]
        direct = [clique != base and self._is_large(base) for clique, base in zip(cliques, counted, strict=True)]
        frames = [layout.frame(base) for base, apart in zip(counted, direct, strict=True) if not apart]
        names = tuple(layout.domain.names[axis] for axis in layout.order)
        wanted = [tuple(names[axis] for axis in frame.axes) for frame in frames]
        tables = shared_marginals(self.weights.reshape(layout.shape), names, wanted)
        shared = (table.transpose(frame.from_layout) for table, frame in zip(tables, frames, strict=True))
        return [
            self.marginal(clique) if apart else summed(layout.domain, next(shared), base, clique)
            for clique, base, apart in zip(cliques, counted, direct, strict=True)
        ]

    def _is_large(self, clique: Clique) -> bool:
        """Whether the cells of a table take longer to sum up than one more pass over all weights."""
        return _PASS_PER_CELL * self.layout.domain.cells(clique) > self.weights.size

    def records(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        """Draw records block by block; the weights are not to be changed meanwhile.

        Systematic: each cell gets its expected number of records rounded up or down; in each block it is less than two
        off.

        Args:
            n: Number of records.
            draw: Source of randomness.
            method: Systematic or independent.

        Yields:
            Codes in random order, columns in the order of the domain, each in one piece.
        """
        from hedgerow.models.core import sampling_kernels

        layout, sums = self.layout, np.add.reduceat(self.flat, np.arange(0, self.flat.size, _SUMMED))
        starts = np.concatenate([np.zeros(1), np.cumsum(sums)])
        for block in positions(n, block_rows(layout.domain, self.flat.size), method, draw):
            cells = np.empty(block.size, dtype=np.int64)
            kernels().cells_at(self.flat, starts, _SUMMED, block * starts[-1], cells)
            shuffle(cells, draw)
            columns: Codes = np.empty((len(layout.shape), block.size), dtype=code_type(layout.domain))
            sampling_kernels.unravel(cells, np.array(layout.order), np.array(layout.shape), columns)
            yield columns.T

    def _in_parts(self, part: Callable[[int, int], T]) -> list[T]:
        """Run over all blocks, by as many threads as there are processors if there are many cells."""
        blocks = self.weights.shape[0]
        return in_slices(part, blocks, min(_threads(), blocks) if self.weights.size >= PARALLEL_CELLS else 1)

    # Slices

    def slice_sums(self, queries: Sequence[Conjunction]) -> Floats:
        """Unscaled sums over the cells of some conjunctions, shape ``(len(queries),)``."""
        sums = np.empty(len(queries))
        for first in range(0, len(queries), _BATCH):
            some = slice(first, first + _BATCH)
            kernels().slice_sums(self.flat, *self.layout.packed(queries[some]), sums[some])
        return sums

    def slice_scale(self, query: Conjunction, step: float) -> None:
        """Multiply the cells of a conjunction by ``exp(step)``."""
        factor = math.exp(step)
        packed, (number,) = self.layout.packed([query])
        old = kernels().slice_scale(self.flat, packed, number, factor)
        self._error += 4.0 * np.finfo(np.float64).eps * (self.mass + factor * old)
        self.mass += (factor - 1.0) * old
        if not self._error <= MASS_ERROR * self.mass:
            self.marginal(())

    def sweep(
        self, queries: Sequence[Conjunction], targets: Floats, rates: Floats, kind: Kind, *, at: int, last: int
    ) -> tuple[int, Floats]:
        """Steps ``at`` to ``last`` of conjunctions, until a rebuild is due; joint ones change the targets.

        Returns:
            The next step, and the sums of the steps.
        """
        steps = np.zeros(len(queries))
        state, places = (self.mass, self._error, self.moved), self.layout.packed(queries)
        at, self.mass, self._error, self.moved = kernels().sweep(
            self.flat, *places, targets, rates, KINDS[kind], steps, state, LOG_RANGE, at, last
        )
        return at, steps

    # Rebuilding in log space

    def rebuild(
        self, base: Floats | None, tables: Mapping[Clique, Floats], steps: Sequence[tuple[Conjunction, float]]
    ) -> None:
        """Set the weights to ``base * exp(sum of the tables and steps)``, the largest to 1.

        Args:
            base: Shape of the weights, or None for uniform.
            tables: For each clique its log-factors.
            steps: Conjunctions and their log-factors.
        """
        if not tables and not steps:
            self._start(base)
            return
        layout = self.layout
        rows = [
            (frame, layout.spread(frame, table)) for clique, table in tables.items() if (frame := layout.frame(clique))
        ]

        def fill(start: int, stop: int) -> float:
            for b in range(start, stop):
                self._fill_block(b, base, rows)
            return float(self.weights[start:stop].max())

        highest = max(self._in_parts(fill))
        if steps:
            self._add_steps(self.flat, steps)
            highest = float(self.weights.max())

        def exponentiate(start: int, stop: int) -> float:
            return math.fsum(_exponentiate(block, highest) for block in self.weights[start:stop])

        self.mass = math.fsum(self._in_parts(exponentiate))
        self.moved = 0.0
        self._error = 0.0

    def _add_steps(self, cells: Floats, steps: Sequence[tuple[Conjunction, float]]) -> None:
        for first in range(0, len(steps), _BATCH):
            queries, values = zip(*steps[first : first + _BATCH], strict=True)
            kernels().slice_adds(cells, *self.layout.packed(queries), np.array(values))

    def _start(self, base: Floats | None) -> None:
        if base is None:
            self.clear()
            return
        scale = 1.0 / float(base.max())
        scale = scale if math.isfinite(scale) else 1.0
        np.multiply(base, scale, out=self.weights)
        self.weights[self.weights < math.exp(LOG_FLUSH)] = 0.0
        self.mass = float(self.weights.sum())
        self.moved = 0.0
        self._error = 0.0

    def _fill_block(self, b: int, base: Floats | None, rows: Sequence[tuple[Frame, Floats]]) -> None:
        block = self.weights[b]
        if base is None:
            block.fill(0.0)
            rule_out(self.layout, block, b, -math.inf)
        else:
            with np.errstate(divide="ignore"):  # a cell of weight 0 stays at 0
                np.log(base[b], out=block)
        for frame, table in rows:
            kernels().add_rows(block, table, frame.block[b], frame.row)

    def _ruled_out(self, start: int, stop: int) -> int:
        """Clear what constraints do not allow in some blocks, and count the cells that are left."""
        for b in range(start, stop):
            rule_out(self.layout, self.weights[b], b, 0.0)
        return int(np.count_nonzero(self.weights[start:stop]))


def rule_out(layout: RowLayout, block: Floats, b: int, value: float) -> None:
    """Set the cells of a block that constraints do not allow.

    Args:
        layout: The order of the cells.
        block: Block ``b`` of all cells, changed in place.
        b: Its number.
        value: Number to set.

    Example:
        >>> from hedgerow.domain import Constraint, Domain, IntegerRange
        >>> rule = Constraint("odd", ("a",), [[0, 1, 0]], [True, False])
        >>> block = np.ones((1, 3))
        >>> rule_out(RowLayout(Domain((IntegerRange("a", 0, 2),), (), (rule,))), block, 0, 0.0)
        >>> block
        array([[1., 0., 1.]])
    """
    for rule in layout.zeros:
        kernels().rule_out(block, rule.allowed, rule.open, rule.block[b] + rule.row, value)


def _exponentiate(block: Floats, highest: float) -> float:
    block -= highest
    block[block < LOG_FLUSH] = -np.inf
    np.exp(block, out=block)
    return float(block.sum())
