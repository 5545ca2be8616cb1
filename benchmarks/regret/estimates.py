"""What competitors are made of: noise of a share of the budget, projections, and estimated tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import Domain
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique
from hedgerow.queries import Conjunction

TOTAL_SHARE = 0.02
"""Share of the budget that the number of records costs where nothing else tells it, as in our own mechanisms."""


@dataclass(frozen=True)
class Noise:
    """Noise that an amount of the budget buys for a table of counts, one of whose cells a record changes by one.

    Attributes:
        kind: Laplace noise pays in epsilon, Gaussian noise in rho.
        amount: The amount, positive.
        rng: Source of the draws.

    Example:
        >>> Noise("gaussian", 0.5, np.random.default_rng(0)).share(0.25).variance
        4.0
    """

    kind: Literal["laplace", "gaussian"]
    amount: float
    rng: np.random.Generator

    def share(self, part: float) -> Noise:
        """The noise that a part of the amount buys."""
        return replace(self, amount=part * self.amount)

    @property
    def variance(self) -> float:
        """Variance of each count."""
        return 2.0 / self.amount**2 if self.kind == "laplace" else 0.5 / self.amount

    def added(self, exact: Floats) -> Floats:
        """Counts with noise."""
        drawn = self.rng.laplace if self.kind == "laplace" else self.rng.normal
        scale = 1.0 / self.amount if self.kind == "laplace" else math.sqrt(self.variance)
        return np.asarray(exact + drawn(0.0, scale, np.shape(exact)))

    def number(self, n: int) -> tuple[float, Noise]:
        """The noisy number of records, at least 1, and what is left of the budget."""
        return max(1.0, float(self.share(TOTAL_SHARE).added(np.array(float(n))))), self.share(1.0 - TOTAL_SHARE)


def on_simplex(values: Floats, masses: Floats | float) -> Floats:
    """The nearest numbers that are not negative and have given sums along the last axis.

    Args:
        values: Any numbers, shape ``(..., size)``; -inf stays 0.
        masses: Sums, not negative, shape ``(...)``.

    Example:
        >>> on_simplex(np.array([3.0, 1.0, -1.0]), 2.0)
        array([2., 0., 0.])
    """
    falling = -np.sort(-values, axis=-1)
    ranks = np.arange(1, values.shape[-1] + 1)
    wanted = np.asarray(masses)[..., None]
    with np.errstate(invalid="ignore"):
        cuts = (np.cumsum(falling, axis=-1) - wanted) / ranks
    kept = np.maximum(1, (falling > cuts).sum(axis=-1))[..., None]
    return np.asarray(np.maximum(values - np.take_along_axis(cuts, kept - 1, axis=-1), 0.0))


@dataclass(frozen=True)
class Known:
    """Estimated tables, each on its own, that answer what they determine; fits the protocol ``Tables``.

    Attributes:
        domain: Domain of the records.
        tables: Tables in counts by clique; they may disagree on what they share.
        signed: Parities in counts by clique.
        cheap_cells: No table is made unless it is asked for.
    """

    domain: Domain
    tables: Mapping[Clique, Floats]
    signed: Mapping[Clique, float]
    cheap_cells: int = 0

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """The tables of cliques: as they are known, or summed from one that holds more attributes."""
        return [self._table(clique) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``."""
        return np.array([float(query.of_table(self._table(query.scope))[0]) for query in queries])

    def parities(self, scopes: Sequence[Clique] | NDArray[np.integer]) -> Floats:
        """The known parities of sets, by name or by position."""
        if isinstance(scopes, np.ndarray):
            scopes = [self._named(row) for row in scopes]
        return np.array([self.signed[tuple(scope)] for scope in scopes])

    def _named(self, row: Ints) -> Clique:
        return tuple(self.domain.names[place] for place in row if place >= 0)

    def _table(self, clique: Clique) -> Floats:
        if clique in self.tables:
            return self.tables[clique]
        wider = next(scope for scope in self.tables if set(clique) <= set(scope))
        outside = tuple(axis for axis, name in enumerate(wider) if name not in clique)
        return np.asarray(self.tables[wider].sum(axis=outside))
