"""The tasks that mechanisms are compared on, and the error that they are compared by.

The error of a marginal is the total variation distance between the true and the synthetic table, each divided by its
own total; a task's figures are the mean and the maximum over its workload.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.acs import FOLDER as ACS, without_rules
from hedgerow.arrays import Floats
from hedgerow.data import Table, read_table
from hedgerow.domain import Clique, read_domain
from hedgerow.queries import Tables, Workload, cliques_of_order

DATA = Path(__file__).parents[2] / "examples" / "data"
LARGEST = 10_000
"""Cells of the largest marginal of W1."""
SIX = ("workclass", "marital-status", "relationship", "race", "sex", "income")
EIGHT = (*SIX[:2], "occupation", *SIX[2:5], "native-country", "income")


@dataclass(frozen=True)
class Task:
    """A table and the marginals that a release should answer well.

    Attributes:
        name: As in the figures.
        about: In words.
        table: The records.
        cliques: Of the marginals.
    """

    name: str
    about: str
    table: Table
    cliques: tuple[Clique, ...]

    @property
    def workload(self) -> Workload:
        """The marginals, each of them one candidate."""
        return Workload.marginals(self.table.domain, cliques=self.cliques)

    def distances(self, tables: Tables) -> Floats:
        """Total variation distance of each marginal of other tables from the true one."""
        pairs = zip(self.table.marginals(self.cliques), tables.marginals(self.cliques), strict=True)
        return np.array([0.5 * np.abs(true / true.sum() - other / other.sum()).sum() for true, other in pairs])

    def of_codes(self, codes: NDArray[np.integer]) -> Floats:
        """The same for records given by their codes, shape ``(n, attributes)``."""
        return self.distances(Table(self.table.domain, list(codes.T)))

    def resampled(self, seed: int) -> Floats:
        """The same for as many records, drawn from the true ones with replacement: sampling error alone."""
        table, rng = self.table, np.random.default_rng(seed)
        weights = np.ones(len(table.columns[0])) if table.weights is None else table.weights
        drawn = rng.multinomial(table.total(), weights / weights.sum())
        return self.distances(Table(table.domain, table.columns, drawn))

    def independent(self, seed: int) -> Floats:
        """The same for as many records whose attributes are drawn one by one from their true distributions."""
        ones = self.table.marginals([(name,) for name in self.table.domain.names])
        return self._drawn([one / one.sum() for one in ones], seed)

    def uniform(self, seed: int) -> Floats:
        """The same for as many uniform records."""
        return self._drawn([np.full(size, 1.0 / size) for size in self.table.domain.shape], seed)

    def _drawn(self, shares: Sequence[Floats], seed: int) -> Floats:
        rng, n = np.random.default_rng(seed), self.table.total()
        return self.of_codes(np.stack([rng.choice(len(share), n, p=share) for share in shares], axis=1))


def adult(columns: Sequence[str] | None = None) -> Table:
    """Adult's 14 attributes as mbi ships them, or some of them."""
    return read_table(DATA / "adult.csv", DATA / "adult14.domain.yaml", columns=columns, extra_columns="ignore")


def _w1() -> Task:
    table = adult()
    about = f"Adult, 14 attributes, 3-way marginals of at most {LARGEST:,} cells"
    return Task("W1", about, table, cliques_of_order(table.domain, 3, LARGEST))


def _pairs(name: str, columns: tuple[str, ...]) -> Task:
    table = adult(columns)
    about = f"Adult, {len(columns)} attributes, all 2-way marginals"
    return Task(name, about, table, tuple(combinations(table.domain.names, 2)))


def _w3() -> Task:
    table = read_table(DATA / "nltcs.csv", DATA / "nltcs.domain.json", count_column="count")
    return Task("W3", "NLTCS, all 3-way marginals", table, tuple(combinations(table.domain.names, 3)))


def _acs() -> Task:
    domain = without_rules(read_domain(ACS / "acs.domain.yaml"))
    about = "ACS Massachusetts, 24 columns without their rules, all 2-way marginals"
    return Task("ACS", about, read_table(ACS / "ma2019.csv", domain), tuple(combinations(domain.names, 2)))


TASKS: dict[str, Callable[[], Task]] = {
    "W1": _w1,
    "W2": lambda: _pairs("W2", EIGHT),
    "W2s": lambda: _pairs("W2s", SIX),
    "W3": _w3,
    "ACS": _acs,
}
"""What makes each task; reading a table takes a moment."""
