"""The slow, obvious hypothesis over records that can exist: they are listed, and each has a log-weight."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.queries import LinearQuery


def feasible_codes(domain: Domain) -> Ints:
    """All records that break no constraint, shape ``(records, len(domain))``, the last attribute fastest."""
    codes = np.indices(domain.shape).reshape(len(domain), -1).T
    for rule in domain.constraints:
        codes = codes[rule.holds([codes[:, domain.index(name)] for name in rule.scope])]
    return codes


class FeasibleModel:
    """Log-weights of listed records, normalised whenever an answer is asked for.

    Attributes:
        records: Codes, shape ``(records, len(domain))``.
        logs: Shape ``(records,)``.
    """

    def __init__(self, domain: Domain, total: float, base: Floats | None = None) -> None:
        self.domain = domain
        self.total = total
        self.records = feasible_codes(domain)
        self.logs = np.zeros(len(self.records)) if base is None else np.log(base[tuple(self.records.T)])
        self._cells: dict[Clique, Ints] = {}

    def column(self, name: str) -> Ints:
        """The code of a variable of each record."""
        for derived in (*self.domain.derived, *self.domain.grains, *(meet for meet, _ in self.domain.meets)):
            if derived.name == name:
                return derived.codes[tuple(self.records[:, self.domain.index(source)] for source in derived.sources)]
        return self.records[:, self.domain.names.index(name)]

    def cells_of(self, clique: Clique) -> Ints:
        """The cell of the flat table of a clique that each record is in."""
        if clique not in self._cells:
            found = np.zeros(len(self.records), dtype=np.int64)
            for name in clique:
                found = found * self.domain[name].size + self.column(name)
            self._cells[clique] = found
        return self._cells[clique]

    def update(self, query: LinearQuery, step: float) -> None:
        self.reweigh(query.scope, step * query.values())

    def reweigh(self, clique: Clique, log_factors: Floats) -> None:
        self.logs = self.logs + np.asarray(log_factors).reshape(-1)[self.cells_of(clique)]

    @property
    def masses(self) -> Floats:
        """Mass of each record, in counts."""
        weights = np.exp(self.logs - self.logs.max())
        return self.total * weights / weights.sum()

    @cached_property
    def feasible(self) -> np.ndarray:
        """Whether each cell of the domain can have a record, shape of the domain."""
        found = np.zeros(self.domain.shape, dtype=np.bool_)
        found[tuple(self.records.T)] = True
        return found

    def marginal(self, clique: Clique) -> Floats:
        shape = self.domain.shape_of(clique)
        sums = np.bincount(self.cells_of(clique), weights=self.masses, minlength=int(np.prod(shape)))
        return sums.reshape(shape)

    def answer(self, query: LinearQuery) -> float:
        return float((query.values() * self.marginal(query.scope)).sum())
