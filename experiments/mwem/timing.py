"""Times of a run of MWEM: counting the data apart from the rest, and round by round."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from hedgerow.algorithms.mwem import MWEM
from hedgerow.algorithms.shared import ProgressCallback, RoundReport
from hedgerow.arrays import Floats, Ints
from hedgerow.data import Table
from hedgerow.domain import Clique, Domain
from hedgerow.models import Markov, Model
from hedgerow.privacy import Budget, NoiseSource
from hedgerow.queries import Conjunction, Workload
from hedgerow.release import Release

Found = TypeVar("Found")


@dataclass
class Stopwatch:
    """A private table that keeps the CPU time of its answers, of all threads; nothing looks at these on their way.

    Attributes:
        table: The table that answers.
        seconds: Time that the answers took so far.
    """

    table: Table
    seconds: float = 0.0

    @property
    def domain(self) -> Domain:
        """The table's."""
        return self.table.domain

    @property
    def filtered(self) -> bool:
        """The table's."""
        return self.table.filtered

    @property
    def cheap_cells(self) -> int:
        """The table's."""
        return self.table.cheap_cells

    def total(self) -> int:
        """The table's."""
        return self.table.total()

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """The table's."""
        return self._timed(lambda: self.table.marginals(cliques))

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """The table's."""
        return self._timed(lambda: self.table.conjunctions(queries))

    def parities(self, scopes: Sequence[Clique] | Ints) -> Floats:
        """The table's."""
        return self._timed(lambda: self.table.parities(scopes))

    def _timed(self, work: Callable[[], Found]) -> Found:
        start = time.process_time()
        found = work()
        self.seconds += time.process_time() - start
        return found


@dataclass(frozen=True)
class TimedRun:
    """One run of MWEM, in CPU seconds of all threads.

    Attributes:
        release: The release of the run.
        seconds: All of it but for what is counted.
        counting: Counting the data, before the first round and in each.
        elapsed: All of it by the clock.
        ends: When each round ended, since the start and without counting.
    """

    release: Release
    seconds: float
    counting: float
    elapsed: float
    ends: Sequence[float]

    @property
    def cells(self) -> int:
        """Cells that the hypothesis holds."""
        return cells_of(self.release.model)

    @property
    def per_round(self) -> float:
        """Mean over the rounds; the last fit is spread over them."""
        return self.seconds / len(self.ends)

    @property
    def rounds(self) -> list[float]:
        """Seconds of each round; those of the first include what is done before it."""
        return [end - start for start, end in pairwise((0.0, *self.ends))]


def cells_of(model: Model) -> int:
    """Number of numbers that a hypothesis holds: cells of the cliques of its trees, or of the domain."""
    return model.cells if isinstance(model, Markov) else model.domain.size


def timed_run(
    table: Table,
    workload: Workload,
    config: MWEM,
    budget: Budget,
    *,
    noise: NoiseSource,
    look: ProgressCallback | None = None,
) -> TimedRun:
    """Run MWEM, and time it.

    Args:
        table: The private table.
        workload: The candidates.
        config: Configuration of the run.
        budget: Budget of the run.
        noise: Source of noise.
        look: Called after every round; what it takes is not told apart.
    """
    watch, ends = Stopwatch(table), list[float]()
    clock, start = time.perf_counter(), time.process_time()

    def note(report: RoundReport) -> None:
        ends.append(time.process_time() - start - watch.seconds)
        if look is not None:
            look(report)

    release = config.run(watch, workload, budget, noise=noise, progress=note)
    seconds = time.process_time() - start - watch.seconds
    return TimedRun(release, seconds, watch.seconds, time.perf_counter() - clock, ends)
