"""The recipe of a model: the weight of every cell in one array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from hedgerow import Domain
from hedgerow.extending import (
    Clique,
    Codes,
    Conjunction,
    Floats,
    LinearQuery,
    Model,
    Potentials,
    SamplingMethod,
)


class PlainArray(Model):
    """A hypothesis as one array of log-weights, without any optimisation."""

    def __init__(self, domain: Domain, total: float, log_weights: Floats | None = None) -> None:
        super().__init__(domain, total)
        self._logs = np.zeros(domain.shape) if log_weights is None else log_weights.copy()

    @property
    def cheap_cells(self) -> int:
        return self.domain.size

    def _marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        return [self._counts().sum(axis=self._beside(clique)) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        return np.array([float(query.of_table(self.marginals([query.scope])[0])[0]) for query in queries])

    def _update(self, query: LinearQuery, step: float) -> None:
        self.reweigh(query.scope, step * query.values().reshape(self.domain.shape_of(query.scope)))

    def _reweigh(self, clique: Clique, table: Floats) -> None:
        self._logs = self._logs + np.expand_dims(table, self._beside(clique))

    def reset(self) -> None:
        self._logs = np.zeros(self.domain.shape)

    def copy(self) -> Self:
        return type(self)(self.domain, self.total, self._logs)

    def potentials(self) -> Potentials:
        """The state, so that releases can hold the model; it comes back as one of hedgerow's own models."""
        return Potentials({self.domain.names: self._logs})

    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        shares = (self._counts() / self.total).ravel()
        if method is SamplingMethod.SYSTEMATIC:
            edges = np.round(np.cumsum(shares) * n + draw.random() - 0.5).clip(0, n).astype(np.int64)
            cells = np.repeat(np.arange(shares.size), np.diff(np.append(edges[:-1], n), prepend=0).clip(0))
        else:
            cells = draw.choice(shares.size, size=n, p=shares)
        codes = np.stack(np.unravel_index(draw.permutation(cells), self.domain.shape), axis=1)
        yield codes.astype(np.uint32)

    def _counts(self) -> Floats:
        weights = np.exp(self._logs - self._logs.max())
        return weights * (self.total / weights.sum())

    def _beside(self, clique: Clique) -> tuple[int, ...]:
        return tuple(axis for axis, name in enumerate(self.domain.names) if name not in clique)
