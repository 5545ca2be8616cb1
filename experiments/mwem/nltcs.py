"""Figure 4 of the MWEM paper: the survey of 16 binary attributes, by all parities of up to two and up to three."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from experiments.datasets import DataSets
from experiments.experiment import REPETITION, Cell, Claim, Drawing, Experiment, Measured, Size, Tolerance
from experiments.mwem import nltcs_findings as findings
from experiments.mwem.contingency import (
    AUTOMATIC,
    BY_HAND,
    DIVERGENCE,
    FLOOR,
    FLOORS_RUN,
    FOURIER,
    HISTOGRAM,
    MEASURED,
    ORDER,
    PROVEN,
    PROVEN_AUTOMATIC,
    Released,
    parities_of,
    runs_of,
)
from experiments.mwem.nltcs_findings import PARITIES
from experiments.mwem.oracle import ROUNDS
from experiments.results import Results
from hedgerow.queries import Workload

DATA = "nltcs"
ATTRIBUTES = {Size.FULL: 16, Size.QUICK: 16, Size.TINY: 6}
"""The first ones of the survey."""
EPSILONS = {
    Size.FULL: (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
    Size.QUICK: (0.03, 0.3, 3.0, 30.0),
    Size.TINY: (0.3, 3.0),
}
"""From where nothing is learned to beyond what anyone should spend, so that curves are seen to cross."""
REPETITIONS = {Size.FULL: 5, Size.QUICK: 1, Size.TINY: 1}
TS = {Size.FULL: (10, 20, 30), Size.QUICK: (10, 20), Size.TINY: (2, 4)}
MORE = {Size.FULL: (80,), Size.QUICK: (80,), Size.TINY: (8,)}
MANY = {Size.FULL: (160, 320), Size.QUICK: (160,), Size.TINY: (16,)}
"""Only without the 100 sweeps after each round, which take time that grows with T squared; and with one step each."""


class Survey(Experiment):
    """The National Long Term Care Survey, released by its parities of up to two, or up to three, attributes."""

    name: ClassVar[str] = "mwem-figure-4"
    title: ClassVar[str] = "MWEM on a survey of 16 attributes"
    source: ClassVar[str] = "M. Hardt, K. Ligett, F. McSherry 2012, figure 4"
    grid: ClassVar[tuple[str, ...]] = ("attributes", "parities", "mechanism", "epsilon", ROUNDS, "repetition")
    within: ClassVar[tuple[str, ...]] = (ORDER,)
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        DIVERGENCE: Tolerance(relative=0.15),
        FLOOR: Tolerance(relative=1e-4),
        MEASURED: Tolerance(),
    }

    def cells(self, size: Size) -> Sequence[Cell]:
        """Both sets of parities, every mechanism and epsilon, with every T that is tried by hand; the floors once."""
        return [
            {"attributes": ATTRIBUTES[size], "parities": parities, **run, REPETITION: repetition}
            for repetition in range(1, REPETITIONS[size] + 1)
            for parities, order in PARITIES.items()
            for run in _runs(size, order, first=repetition == 1)
        ]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Relative entropy of the table to the hypothesis."""
        names = data.domain(DATA).names[: int(cell["attributes"])]
        workload = Workload.parities(data.domain(DATA, names), PARITIES[str(cell["parities"])])
        return Released(data.table(DATA, names), workload).measured(self.name, cell)

    def claims(self, found: Results) -> list[Claim]:
        """Where curves cross, and what the floors say."""
        return findings.claims(found)

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Relative entropy against epsilon; both sets of parities; numbers of rounds."""
        return findings.drawings(found)


def _runs(size: Size, order: int, *, first: bool) -> Iterator[Cell]:
    if first and order == max(PARITIES.values()):  # they are those of the table, whatever is released
        yield FLOORS_RUN
    few, every = TS[size], parities_of(ATTRIBUTES[size], order)
    more = (*few, *(rounds for rounds in MORE[size] if rounds < every))
    rounds = {BY_HAND: (*more, every), PROVEN: (*more, *MANY[size]), HISTOGRAM: few}
    yield from runs_of(EPSILONS[size], (AUTOMATIC, PROVEN_AUTOMATIC, FOURIER), rounds)
