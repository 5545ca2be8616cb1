"""Figure 3 of the MWEM paper: three small contingency tables, by relative entropy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from experiments.datasets import DataSets
from experiments.experiment import REPETITION, Cell, Claim, Drawing, Experiment, Measured, Size, Tolerance
from experiments.mwem import tables_findings as findings
from experiments.mwem.contingency import (
    BY_HAND,
    DIVERGENCE,
    FLOOR,
    FLOORS_RUN,
    HISTOGRAM,
    MEASURED,
    ORDER,
    PROVEN,
    PUBLISHED,
    WITHOUT_HAND,
    Released,
    parities_of,
    runs_of,
)
from experiments.mwem.oracle import ROUNDS
from experiments.results import Results
from hedgerow.queries import Workload

ATTRIBUTES = {"mildew": 6, "rochdale": 8, "czech": 6}
TABLES = {Size.FULL: tuple(ATTRIBUTES), Size.QUICK: tuple(ATTRIBUTES), Size.TINY: ("mildew",)}
EPSILONS = {Size.FULL: (0.1, 0.3, 1.0, 3.0, 10.0, 30.0), Size.QUICK: (0.1, 1.0, 10.0), Size.TINY: (0.3, 3.0)}
"""Beyond what anyone should spend, so that the curves are seen to meet the floors."""
REPETITIONS = {Size.FULL: 8, Size.QUICK: 3, Size.TINY: 1}
TS = {Size.FULL: (1, 2, 4, 8, 16), Size.QUICK: (2, 8), Size.TINY: (2, 4)}
"""Numbers of rounds tried by hand; with one step a round also more, and those of the package also with all parities."""
LARGEST = 3
"""Attributes of a parity, at most."""


class ContingencyTables(Experiment):
    """Mildew, Rochdale and Czech, released by their parities of up to three attributes."""

    name: ClassVar[str] = "mwem-figure-3"
    title: ClassVar[str] = "MWEM on contingency tables"
    source: ClassVar[str] = "M. Hardt, K. Ligett, F. McSherry 2012, figure 3"
    grid: ClassVar[tuple[str, ...]] = ("data", "mechanism", "epsilon", ROUNDS, "repetition")
    within: ClassVar[tuple[str, ...]] = (ORDER,)
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        DIVERGENCE: Tolerance(relative=0.25),
        FLOOR: Tolerance(relative=1e-4),
        MEASURED: Tolerance(),
    }

    def cells(self, size: Size) -> Sequence[Cell]:
        """Every table, mechanism and epsilon, with every T that is tried by hand; the floors once."""
        return [
            {"data": data, **run, REPETITION: repetition}
            for repetition in range(1, REPETITIONS[size] + 1)
            for data in TABLES[size]
            for run in _runs(size, data, first=repetition == 1)
        ]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Relative entropy of the table to the hypothesis."""
        name = str(cell["data"])
        workload = Workload.parities(data.domain(name), LARGEST)
        return Released(data.table(name), workload).measured(self.name, cell)

    def claims(self, found: Results) -> list[Claim]:
        """The paper's, for each table; and what the floors say."""
        return findings.claims(found)

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Relative entropy against epsilon, with the T of the paper, and with the automatic one."""
        return findings.drawings(found)


def _runs(size: Size, data: str, *, first: bool) -> Iterator[Cell]:
    if first:
        yield FLOORS_RUN
    most, by_hand = parities_of(ATTRIBUTES[data], LARGEST), TS[size]
    more = tuple(2 * by_hand[-1] << power for power in range(2))
    rounds = {BY_HAND: (*by_hand, more[0], most), PROVEN: (*by_hand, *more), PUBLISHED: by_hand, HISTOGRAM: by_hand}
    yield from runs_of(EPSILONS[size], WITHOUT_HAND, rounds)
