"""The slow, obvious hypothesis: log-weights of all cells in one array."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.queries import LinearQuery


def over_domain(domain: Domain, clique: Clique, table: Floats) -> Floats:
    """A table of a clique, repeated over all cells."""
    shape = [attribute.size if attribute.name in clique else 1 for attribute in domain]
    return np.broadcast_to(np.asarray(table).reshape(shape), domain.shape)


class DenseModel:
    """Log-weights, normalised whenever an answer is asked for."""

    def __init__(self, domain: Domain, total: float, base: Floats | None = None) -> None:
        self.domain = domain
        self.total = total
        self.logs = np.zeros(domain.shape) if base is None else np.log(base)

    def update(self, query: LinearQuery, step: float) -> None:
        self.reweigh(query.scope, step * query.values())

    def reweigh(self, clique: Clique, log_factors: Floats) -> None:
        self.logs = self.logs + over_domain(self.domain, clique, log_factors)

    @property
    def cells(self) -> Floats:
        weights = np.exp(self.logs - self.logs.max())
        return self.total * weights / weights.sum()

    def marginal(self, clique: Clique) -> Floats:
        return self.cells.sum(axis=tuple(i for i, name in enumerate(self.domain.names) if name not in clique))

    def answer(self, query: LinearQuery) -> float:
        return float((self.cells * over_domain(self.domain, query.scope, query.values())).sum())
