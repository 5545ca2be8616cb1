"""Contingency tables of binary attributes, released by their parities: what figures 3 and 4 of MWEM have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb

from experiments.experiment import Cell, Measured, seed_of
from experiments.mwem.floors import floor_of
from experiments.mwem.oracle import ORACLE, ROUNDS
from experiments.mwem.published import as_proven, as_published
from hedgerow.algorithms.independent import FourierMeasurement
from hedgerow.algorithms.mwem import MWEM
from hedgerow.algorithms.shared import Algorithm
from hedgerow.data import Table
from hedgerow.privacy import PureDP, SeededNoise, exact_total, relative_entropy
from hedgerow.queries import Neighbours, Parity, Workload

DIVERGENCE = "relative entropy [nats]"
FLOOR = "least relative entropy [nats]"
GAP = "largest difference of a marginal"
MEASURED = "parities measured"
ORDER = "order"

FOURIER = "fourier (every parity)"
AUTOMATIC = "mwem (automatic T)"
BY_HAND = f"mwem ({ORACLE})"
PROVEN = f"mwem (as proven, {ORACLE})"
PROVEN_AUTOMATIC = "mwem (as proven, automatic T)"
PUBLISHED = f"mwem (as published, {ORACLE})"
HISTOGRAM = f"mwem (histogram, {ORACLE})"
HISTOGRAM_AUTOMATIC = "mwem (histogram, automatic T)"
FLOORS = "most entropy (no noise)"
WITHOUT_HAND = (AUTOMATIC, PROVEN_AUTOMATIC, HISTOGRAM_AUTOMATIC, FOURIER)

ORDERS = (0, 1, 2, 3)
WORST = 10.0
"""Nats; what is further off counts as this. The uniform distribution is nearer to every table by half or more."""
MOST_SWEPT = 30
"""Rounds of the listing, at most: 100 sweeps after each of T rounds take time that grows with T squared."""


@dataclass(frozen=True)
class Released:
    """A table that is released by its parities.

    Attributes:
        table: The records.
        workload: The parities.
    """

    table: Table
    workload: Workload

    def measured(self, name: str, cell: Cell) -> Iterator[Measured]:
        """The error of the mechanism of a cell, or the least error of any.

        Args:
            name: Name of the experiment.
            cell: With ``mechanism``, ``epsilon`` and ``rounds``; the noise depends on all of it.
        """
        if cell["mechanism"] == FLOORS:
            yield from self._floors()
            return
        release = self.configured(cell).run(
            self.table, self.workload, _budget(cell), noise=SeededNoise(seed_of(name, cell))
        )
        yield Measured(DIVERGENCE, min(WORST, relative_entropy(self.table, release.model)))
        if str(cell["mechanism"]) not in _BY_ROUNDS:
            yield Measured(MEASURED, sum(isinstance(each.target, Parity) for each in release.measurements))

    def configured(self, cell: Cell) -> Algorithm:
        """The mechanism of a cell; a function of public quantities.

        Args:
            cell: With ``mechanism``, ``epsilon`` and ``rounds``.
        """
        mechanism = str(cell["mechanism"])
        if mechanism in _BY_ROUNDS:
            return _BY_ROUNDS[mechanism](int(cell[ROUNDS]))
        return self._swept(cell) if mechanism == HISTOGRAM_AUTOMATIC else _WITHOUT_HAND[mechanism]

    def _swept(self, cell: Cell) -> MWEM:
        """The listing with automatic rounds, as far as they can be waited for."""
        automatic = replace(with_histogram(1), rounds="auto")
        plan = automatic.plan(self.workload, _budget(cell), exact_total(self.table))  # public under "replace"
        return with_histogram(min(MOST_SWEPT, plan.rounds))

    def _floors(self) -> Iterator[Measured]:
        for order in ORDERS:
            floor = floor_of(self.table, order)
            yield Measured(FLOOR, floor.relative_entropy, {ORDER: order})
            yield Measured(GAP, floor.gap, {ORDER: order})


def with_histogram(rounds: int) -> MWEM:
    """The listing of the paper, from a noisy histogram that costs a tenth of the budget.

    Example:
        >>> with_histogram(4).initial
        'histogram'
    """
    return replace(as_published(rounds), initial="histogram")


_BY_ROUNDS: dict[str, Callable[[int], MWEM]] = {
    BY_HAND: MWEM,
    PROVEN: as_proven,
    PUBLISHED: as_published,
    HISTOGRAM: with_histogram,
}

_WITHOUT_HAND: dict[str, Algorithm] = {
    AUTOMATIC: MWEM(),
    PROVEN_AUTOMATIC: replace(as_proven(1), rounds="auto"),
    FOURIER: FourierMeasurement(error_share=0.0),
}


def parities_of(attributes: int, order: int) -> int:
    """Number of sets of 1 to so many of the attributes.

    Example:
        >>> parities_of(6, 3)
        41
    """
    return sum(comb(attributes, size) for size in range(1, order + 1))


def runs_of(
    epsilons: Sequence[float], mechanisms: Sequence[str], rounds: Mapping[str, Sequence[int]]
) -> Iterator[Cell]:
    """Mechanism, epsilon and rounds of all runs that are repeated.

    Args:
        epsilons: Budgets.
        mechanisms: Those without a T that is chosen by hand; their rounds are 0.
        rounds: Numbers of rounds that are tried by hand, by mechanism.
    """
    tried = {**dict.fromkeys(mechanisms, (0,)), **rounds}
    for mechanism, numbers in tried.items():
        for epsilon in epsilons:
            for number in numbers:
                yield {"mechanism": mechanism, "epsilon": epsilon, ROUNDS: number}


FLOORS_RUN: Cell = {"mechanism": FLOORS, "epsilon": 0.0, ROUNDS: 0}
"""Has no budget: the 0 means nothing."""


def _budget(cell: Cell) -> PureDP:
    return PureDP(float(cell["epsilon"]), Neighbours.REPLACE)
