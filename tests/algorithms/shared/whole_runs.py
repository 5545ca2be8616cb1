"""What tests of whole runs share: recorded ones and their exact losses, and every transcript that there can be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from hedgerow.algorithms import Algorithm
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique
from hedgerow.models import Model, choice
from hedgerow.privacy import Budget
from hedgerow.queries import Conjunction, Neighbours, Workload
from hedgerow.release import Release
from tests.privacy.replay import Output, ReplayNoise, Run, log_likelihood, record
from tests.privacy.tables import DenseCounts, neighbours_of


def run_of(config: Algorithm, workload: Workload, budget: Budget) -> Run:
    return lambda source, noise: config.run(source, workload, budget, noise=noise)


def tables(workload: Workload) -> Iterator[DenseCounts]:
    """All records alike, one record, and a spread; small enough that every record matters."""
    cells = workload.domain.size
    yield DenseCounts(workload.domain, [5] + [0] * (cells - 1))
    yield DenseCounts(workload.domain, [0] * (cells - 1) + [1])
    yield DenseCounts(workload.domain, np.arange(cells) % 3)


def losses(config: Algorithm, workload: Workload, budget: Budget, seeds: range) -> Iterator[float]:
    """Exact privacy losses of recorded transcripts, for all neighbours of some tables."""
    run = run_of(config, workload, budget)
    for source in tables(workload):
        for seed in seeds:
            transcript = record(run, source, seed)
            here = log_likelihood(run, source, transcript)
            for neighbour in neighbours_of(source, budget.neighbours):
                yield here - log_likelihood(run, neighbour, transcript)


class Pending(Exception):
    """An unscripted draw, with every output it may have."""

    def __init__(self, options: list[Output]) -> None:
        self.options = options


class BranchingNoise:
    """Returns the outputs of a script; at its end stops the run and says what could come next.

    Noise beyond 9 scales (Laplace) or 7 sigma (Gaussian) is left out.
    """

    secure = False

    def __init__(self, script: tuple[Output, ...]) -> None:
        self._left = list(script)

    def laplace(self, values: Ints, scale: float) -> Ints:
        return np.asarray(self._next("laplace", scale, _around(values, 9 * scale)))

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        return np.asarray(self._next("gaussian", sigma, _around(values, 7 * sigma)))

    def choose(self, scores: Floats, scale: float) -> int:
        return int(self._next("choose", scale, list(range(len(scores)))))

    def _next(self, draw: str, scale: float, values: list[Any]) -> Any:
        if not self._left:
            raise Pending([Output(draw, scale, value) for value in values])
        return self._left.pop(0).value


def _around(values: Ints, reach: float) -> list[Ints]:
    width = math.ceil(reach)
    return [values + shift for shift in range(-width, width + 1)]


def every_transcript(run: Run, source: DenseCounts, script: tuple[Output, ...] = ()) -> Iterator[tuple[Output, ...]]:
    """All transcripts of a run, but for what `BranchingNoise` leaves out."""
    try:
        run(source, BranchingNoise(script))  # type: ignore[arg-type]
    except Pending as pending:
        for output in pending.options:
            yield from every_transcript(run, source, (*script, output))
    else:
        yield script


def public_part(release: Release) -> np.ndarray:
    """What a release shows, as numbers: the hypothesis, the total, the charges and what was measured."""
    cells = release.model.marginals([release.domain.names])[0].reshape(-1)
    values = [measured.values for measured in release.measurements]
    charges = [event.charge for event in release.events]
    return np.concatenate([cells, [release.total], charges, *values])


def losses_stay_below_the_charge(run: Run, source: DenseCounts, relation: Neighbours, seeds: int) -> None:
    """On every neighbour the same transcript gives the same release, at a loss of at most what the ledger says."""
    for seed in range(seeds):
        transcript = record(run, source, seed)
        here = ReplayNoise(transcript)
        release: Any = run(source, here)
        assert release.spent <= release.budget.limit * (1.0 + 1e-9)
        for neighbour in neighbours_of(source, relation):
            there = ReplayNoise(transcript)
            shown: Any = run(neighbour, there)
            assert np.array_equal(public_part(shown), public_part(release))
            assert there.finished
            assert abs(here.log_probability - there.log_probability) <= release.spent + 1e-9


def exactly(self: Any) -> Any:
    """The exact answers, which no algorithm can reach; planted bugs do."""
    return self.curator._exact_answers(self.workload)


class ModelCounts:
    """A table over a domain of any size: the answers of a model, in whole counts."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.domain = model.domain
        self.cheap_cells = model.cheap_cells
        self.filtered = False

    def total(self) -> int:
        return round(self.model.total)

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        return [np.rint(table) for table in self.model.marginals(cliques)]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        return np.rint(self.model.conjunctions(queries))


def without_histograms(patch: pytest.MonkeyPatch) -> None:
    """Every domain counts as too large for a histogram."""
    patch.setattr(choice, "SMALL_CELLS", 0)
    patch.setattr(choice, "LARGEST_DENSE", 0)
