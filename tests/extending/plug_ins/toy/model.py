"""The recipe of a model: the weight of every cell in one array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, final

import numpy as np

from hedgerow import Domain
from hedgerow.extending import Clique, Codes, Conjunction, Floats, HasPotentials, Potentials, SamplingMethod


@final
class PlainArray(HasPotentials):
    """A hypothesis as one array of log-weights, without any optimisation.

    The base class checks what it is handed; the methods that begin with an underscore do the work.
    """

    def __init__(self, domain: Domain, total: float) -> None:
        super().__init__(domain, total)
        self._logs = np.zeros(domain.shape)

    @property
    def cheap_cells(self) -> int:
        return self.domain.size

    def _marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        return [self._counts().sum(axis=self._beside(clique)) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        tables = self.marginals([query.scope for query in queries])
        return np.array([float(query.of_table(table)[0]) for query, table in zip(queries, tables, strict=True)])

    def _step(self, query: Conjunction, step: float) -> None:
        self._reweigh(query.scope, step * query.values())

    def _reweigh(self, clique: Clique, table: Floats) -> None:
        shaped = np.reshape(table, self.domain.shape_of(clique))
        self._logs = self._logs + np.expand_dims(shaped, self._beside(clique))

    def reset(self) -> None:
        self._logs = np.zeros(self.domain.shape)

    def copy(self) -> Self:
        twin = type(self)(self.domain, self.total)
        twin._logs = self._logs
        return twin

    def potentials(self) -> Potentials:
        """The state, so that releases can hold the model; it comes back as one of hedgerow's own models."""
        return Potentials({self.domain.names: self._logs})

    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        shares = (self._counts() / self.total).ravel()
        if method is SamplingMethod.SYSTEMATIC:
            cells = np.searchsorted(np.cumsum(shares), (np.arange(n) + draw.random()) / n) if n else np.zeros(0, int)
        else:
            cells = draw.choice(shares.size, size=n, p=shares)
        cells = draw.permutation(np.minimum(cells, shares.size - 1))
        yield np.stack(np.unravel_index(cells, self.domain.shape), axis=1).astype(np.uint32)

    def _counts(self) -> Floats:
        weights = np.exp(self._logs - self._logs.max())
        return weights * (self.total / weights.sum())

    def _beside(self, clique: Clique) -> tuple[int, ...]:
        return tuple(axis for axis, name in enumerate(self.domain.names) if name not in clique)
