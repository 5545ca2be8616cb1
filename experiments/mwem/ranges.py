"""Figure 2 of the MWEM paper: squared errors of range queries drawn at random, beside the SVD bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from experiments.datasets import DataSets
from experiments.experiment import Cell, Claim, Drawing, Experiment, Measured, Size, Tolerance, seed_of
from experiments.mwem import ranges_findings as findings
from experiments.mwem.oracle import ROUNDS
from experiments.mwem.published import as_proven, as_published
from experiments.mwem.ranges_findings import (
    AUTOMATIC,
    AVERAGED,
    BOUND,
    CHOSEN,
    ERROR,
    LAPLACE,
    LISTING,
    OWN,
    PAPER_BOUND,
    PROVEN,
    TIGHT_BOUND,
    UNIFORM,
)
from experiments.results import Results
from hedgerow.algorithms.independent import IndependentNoise, noisy_answers
from hedgerow.algorithms.mwem import MWEM
from hedgerow.algorithms.yardsticks import Calibration, noise_variance, svd_bound
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.models import Histogram
from hedgerow.privacy import ApproxDP, PureDP, SeededNoise, exact_answers, exact_total
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release

EPSILONS = (0.0125, 0.025, 0.05, 0.1)
TABLES = {
    "capital-loss": ("adult", ("capital-loss",)),
    "age x hours": ("adult", ("age", "hours-per-week")),
    "recency x frequency": ("transfusion", ("Recency", "Frequency")),
    "monetary": ("transfusion", ("Monetary",)),
}
"""Data by their name in the drawings: the file and its columns."""

QUERIES = {Size.FULL: (250, 500, 1000, 2000), Size.QUICK: (125, 500), Size.TINY: (4, 8)}
AGAINST_EPSILON = {Size.FULL: 2000, Size.QUICK: 500, Size.TINY: 8}
"""At how many queries errors are drawn against epsilon, with all mechanisms and both bounds."""

REPETITIONS = {Size.FULL: 5, Size.QUICK: 1, Size.TINY: 1}
MOST_ROUNDS = {PROVEN: 256, LISTING: 64, AVERAGED: 64, OWN: 64}
"""T is 1, 2, 4 and so on up to these, and at most the number of queries; the best is looked for among them."""

_AGAINST_EPSILON_ONLY = (AVERAGED, OWN, TIGHT_BOUND)
_NEIGHBOURS = Neighbours.REPLACE


class Setting(NamedTuple):
    """The setting that all mechanisms of one repetition have in common.

    Attributes:
        table: The records.
        workload: The queries that were drawn.
        cell: Cell of the grid.
    """

    table: Table
    workload: Workload
    cell: Cell

    def seed(self, epsilon: float, rounds: int) -> int:
        """Seed of the noise of one run."""
        return seed_of(RangeQueries.name, {**self.cell, "epsilon": epsilon, ROUNDS: rounds})

    def run(self, algorithm: MWEM | IndependentNoise, epsilon: float, rounds: int = 0) -> Release:
        """Run an algorithm with a pure budget."""
        budget, noise = PureDP(epsilon, _NEIGHBOURS), SeededNoise(self.seed(epsilon, rounds))
        return algorithm.run(self.table, self.workload, budget, noise=noise)

    def error(self, answers: Floats) -> float:
        """Mean over the queries of the squared error, in squared counts."""
        return float(np.mean(np.square(answers - exact_answers(self.table, self.workload))))


class RangeQueries(Experiment):
    """Four tables of one or two attributes; ranges and products of two ranges, drawn again in each repetition."""

    name: ClassVar[str] = "mwem-figure-2"
    title: ClassVar[str] = "MWEM on range queries, and the SVD bound"
    source: ClassVar[str] = "M. Hardt, K. Ligett, F. McSherry 2012, Figure 2"
    grid: ClassVar[tuple[str, ...]] = ("data", "queries", "mechanism", "repetition")
    within: ClassVar[tuple[str, ...]] = ("epsilon", ROUNDS)
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        ERROR: Tolerance(relative=0.5),
        BOUND: Tolerance(relative=1e-4),
        CHOSEN: Tolerance(),
    }

    def cells(self, size: Size) -> Sequence[Cell]:
        """One for each mechanism; all epsilons and numbers of rounds are in it."""
        return [
            {"data": data, "queries": queries, "mechanism": mechanism, "repetition": repetition}
            for repetition in range(1, REPETITIONS[size] + 1)
            for data in TABLES
            for queries in QUERIES[size]
            for mechanism in _MECHANISMS
            if queries == AGAINST_EPSILON[size] or mechanism not in _AGAINST_EPSILON_ONLY
        ]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Errors at every epsilon; by numbers of rounds, where these are chosen by hand."""
        return _MECHANISMS[str(cell["mechanism"])](setting_of(cell, data))

    def claims(self, found: Results) -> list[Claim]:
        """The paper's, for each table; and what the error of MWEM does as queries become more."""
        return findings.claims(found)

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Errors against epsilon, and against the number of queries."""
        return findings.drawings(found)


def setting_of(cell: Cell, data: DataSets) -> Setting:
    """The records and the queries of a cell; the same queries for all mechanisms of a repetition.

    Args:
        cell: Cell of the grid of `RangeQueries`.
        data: The public data sets.
    """
    name, columns = TABLES[str(cell["data"])]
    drawn = {key: cell[key] for key in ("data", "queries", "repetition")}
    seed = seed_of(f"{RangeQueries.name}: queries", drawn)
    workload = Workload.ranges(data.domain(name, columns), columns, int(cell["queries"]), seed)
    return Setting(data.table(name, columns), workload, cell)


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4 and so on.

    Args:
        most: None is larger.

    Example:
        >>> powers_of_two(9)
        [1, 2, 4, 8]
    """
    return [1 << power for power in range(most.bit_length())]


def _by_hand(mechanism: str, configuration: Callable[[int], MWEM]) -> Callable[[Setting], Iterator[Measured]]:
    """Runs of MWEM with all numbers of rounds."""

    def errors(setting: Setting) -> Iterator[Measured]:
        most = min(MOST_ROUNDS[mechanism], setting.workload.n_queries)
        for epsilon in EPSILONS:
            for rounds in powers_of_two(most):
                release = setting.run(configuration(rounds), epsilon, rounds)
                error = setting.error(setting.workload.answers(release.model))
                yield Measured(ERROR, error, {"epsilon": epsilon, ROUNDS: rounds})

    return errors


def _averaged(rounds: int) -> MWEM:
    """The listing, but with the average of all hypotheses."""
    return replace(as_published(rounds), output="average")


def _automatic(setting: Setting) -> Iterator[Measured]:
    for epsilon in EPSILONS:
        release = setting.run(MWEM(), epsilon)
        error = setting.error(setting.workload.answers(release.model))
        yield Measured(ERROR, error, {"epsilon": epsilon})
        yield Measured(CHOSEN, len(release.measurements), {"epsilon": epsilon})


def _laplace(setting: Setting) -> Iterator[Measured]:
    for epsilon in EPSILONS:
        release = setting.run(IndependentNoise(fit=None, error_share=0.0), epsilon)
        yield Measured(ERROR, setting.error(noisy_answers(release)), {"epsilon": epsilon})


def _uniform(setting: Setting) -> Iterator[Measured]:
    model = Histogram(setting.workload.domain, exact_total(setting.table))
    error = setting.error(setting.workload.answers(model))
    return (Measured(ERROR, error, {"epsilon": epsilon}) for epsilon in EPSILONS)


def _bound(neighbours: Neighbours, calibration: Calibration) -> Callable[[Setting], Iterator[Measured]]:
    """The bound at delta = 1 / n; at all epsilons but the first from the noise that they stand for."""

    def errors(setting: Setting) -> Iterator[Measured]:
        delta = 1.0 / exact_total(setting.table)
        budgets = [ApproxDP(epsilon, delta, neighbours) for epsilon in EPSILONS]
        whole = svd_bound(setting.workload, budgets[0], calibration=calibration)
        for budget in budgets:
            variance = noise_variance(budget, calibration)
            yield Measured(BOUND, whole.per_query_mse * variance / whole.variance, {"epsilon": budget.epsilon})

    return errors


_MECHANISMS: dict[str, Callable[[Setting], Iterator[Measured]]] = {
    UNIFORM: _uniform,
    LAPLACE: _laplace,
    AUTOMATIC: _automatic,
    PROVEN: _by_hand(PROVEN, as_proven),
    LISTING: _by_hand(LISTING, as_published),
    AVERAGED: _by_hand(AVERAGED, _averaged),
    OWN: _by_hand(OWN, MWEM),
    PAPER_BOUND: _bound(Neighbours.ADD_REMOVE, "paper"),
    TIGHT_BOUND: _bound(_NEIGHBOURS, "zcdp"),
}
