"""The recipe of a model: the weight of every cell in one array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, final

import numpy as np

from hedgerow import Domain, errors
from hedgerow.extending import (
    Clique,
    Codes,
    Conjunction,
    Floats,
    LinearQuery,
    Potentials,
    SamplingMethod,
    Seed,
    generator,
)


@final
class PlainArray:
    """A hypothesis as one array of log-weights; a `Model` without any optimisation."""

    def __init__(self, domain: Domain, total: float, log_weights: Floats | None = None) -> None:
        self.domain = domain
        self.total = total
        self._logs = np.zeros(domain.shape) if log_weights is None else log_weights.copy()

    @property
    def cheap_cells(self) -> int:
        return self.domain.size

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        return [self._counts().sum(axis=self._beside(clique)) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        return np.array([float(query.of_table(self.marginals([query.scope])[0])[0]) for query in queries])

    def update(self, query: LinearQuery, step: float) -> None:
        self.reweigh(query.scope, step * query.values().reshape(self.domain.shape_of(query.scope)))

    def reweigh(self, clique: Clique, log_factors: Floats) -> None:
        beside = self._beside(clique)
        if np.shape(log_factors) != self.domain.shape_of(clique):
            raise errors.QueryError(f"a table over {clique} has the shape {self.domain.shape_of(clique)}")
        if not np.isfinite(log_factors).all():
            raise errors.ConfigError("the factors of an update must be finite")
        self._logs = self._logs + np.expand_dims(log_factors, beside)

    def reset(self) -> None:
        self._logs = np.zeros(self.domain.shape)

    def copy(self) -> Self:
        return type(self)(self.domain, self.total, self._logs)

    def potentials(self) -> Potentials:
        """The state, so that releases can hold the model; it comes back as one of hedgerow's own models."""
        return Potentials({self.domain.names: self._logs})

    def sample(self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC) -> Codes:
        rng = generator(seed)
        shares = (self._counts() / self.total).ravel()
        if SamplingMethod(method) is SamplingMethod.SYSTEMATIC:
            edges = np.round(np.cumsum(shares) * n + rng.random() - 0.5).clip(0, n).astype(np.int64)
            cells = np.repeat(np.arange(shares.size), np.diff(np.append(edges[:-1], n), prepend=0).clip(0))
        else:
            cells = rng.choice(shares.size, size=n, p=shares)
        codes = np.stack(np.unravel_index(rng.permutation(cells), self.domain.shape), axis=1)
        return codes.astype(np.uint32)

    def sample_blocks(
        self, n: int, seed: Seed = None, method: SamplingMethod | str = SamplingMethod.SYSTEMATIC
    ) -> Iterator[Codes]:
        yield self.sample(n, seed, method)

    def _counts(self) -> Floats:
        weights = np.exp(self._logs - self._logs.max())
        return weights * (self.total / weights.sum())

    def _beside(self, clique: Clique) -> tuple[int, ...]:
        if tuple(self.domain.clique(clique)) != tuple(clique):
            raise errors.QueryError(f"the clique {clique} is not in the order of the domain")
        return tuple(axis for axis, name in enumerate(self.domain.names) if name not in clique)
