"""Noise on many tables, best linear unbiased estimates in closed form, and the optimal division of a Gaussian budget.

Any table over a set S of attributes is a sum of parts, one for each subset A: what the table of A says beyond the
tables of its subsets, ``(I - J/d) M_A`` along every axis, spread evenly over the rest of S. Parts of different A are
orthogonal, so equal and independent noise on the cells of tables is independent noise on parts: the best linear
unbiased estimate of a part is the average of what the tables say of it, weighted by inverse variances.

Measuring parts instead of tables costs ``prod (1 - 1/d)`` of the squared sensitivity, and the shares of a zCDP budget
that minimise a weighted sum of variances have a closed form (Xiao, He, Zhang and Kifer, "An Optimal and Scalable Matrix
Mechanism for Noisy Marginals under Convex Loss Functions", NeurIPS 2023: ResidualPlanner). For binary attributes a part
is a parity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from scipy.sparse import coo_array, csr_array

from benchmarks.regret.estimates import TOTAL_SHARE, Known, Noise, on_simplex
from hedgerow import Domain, Table, Workload
from hedgerow.arrays import Floats
from hedgerow.domain import Clique
from hedgerow.queries import Parities

_REWEIGHTED = 30
"""Rounds of reweighting; the loss moves by less than 0.1 % after ten."""


def subsets(clique: Clique) -> Iterable[Clique]:
    """All subsets, in the order of the clique."""
    return chain.from_iterable(combinations(clique, size) for size in range(len(clique) + 1))


def _volume(domain: Domain, names: Iterable[str]) -> float:
    return float(math.prod(domain[name].size for name in names))


def part(table: Floats, clique: Clique, inner: Clique) -> Floats:
    """What a table says about a subset of its attributes beyond all smaller subsets.

    Args:
        table: Over the clique.
        clique: Attributes of the axes.
        inner: The subset.

    Example:
        >>> part(np.array([[3.0, 1.0], [0.0, 0.0]]), ("a", "b"), ("a",))
        array([ 2., -2.])
    """
    found = table.sum(axis=tuple(axis for axis, name in enumerate(clique) if name not in inner))
    for axis in range(np.ndim(found)):
        found = found - found.mean(axis=axis, keepdims=True)
    return np.asarray(found)


def put_together(domain: Domain, clique: Clique, parts: Mapping[Clique, Floats]) -> Floats:
    """The table over a clique, from its parts; those that are not known are zero."""
    found = np.zeros(domain.shape_of(clique))
    for inner in subsets(clique):
        if inner in parts:
            rest = [name for name in clique if name not in inner]
            shape = [domain[name].size if name in inner else 1 for name in clique]
            found += parts[inner].reshape(shape) / _volume(domain, rest)
    return found


# The same noise on every cell of some tables


def averaged(
    domain: Domain, cliques: Sequence[Clique], tables: Sequence[Floats], variances: Sequence[float]
) -> dict[Clique, Floats]:
    """Best linear unbiased estimates of all parts, from tables with independent noise.

    Args:
        domain: Domain of the attributes.
        cliques: Attributes of each table.
        tables: Noisy counts.
        variances: Variance of each count of a table, per table.
    """
    sums: dict[Clique, Floats] = {}
    weights: dict[Clique, float] = {}
    for clique, table, variance in zip(cliques, tables, variances, strict=True):
        for inner in subsets(clique):
            weight = 1.0 / (variance * _volume(domain, (name for name in clique if name not in inner)))
            sums[inner] = sums.get(inner, 0.0) + weight * part(table, clique, inner)
            weights[inner] = weights.get(inner, 0.0) + weight
    return {inner: total / weights[inner] for inner, total in sums.items()}


def per_candidate(table: Table, workload: Workload, noise: Noise, *, projected: bool = True) -> tuple[Known, float]:
    """Noise on every table that the workload asks about, with equal shares; parities are measured one by one.

    Args:
        table: The records.
        workload: The queries; ranges and conditions are answered from the table of their attributes.
        noise: Noise of the whole budget.
        projected: Whether tables are made non-negative, with the noisy number of records as their sum.

    Returns:
        The estimates, and the number of records.
    """
    domain, scopes = table.domain, list(workload.scopes)
    if all(isinstance(family, Parities) for family in workload.families):
        total, noise = noise.number(table.total())
        exact = {scope: part(each, scope, scope) for scope, each in zip(scopes, table.marginals(scopes), strict=True)}
        noisy = noise.share(1.0 / len(scopes)).added(np.array([_parity(each) for each in exact.values()]))
        return Known(domain, {}, dict(zip(scopes, noisy.tolist(), strict=True))), total
    number, rest = noise.share(TOTAL_SHARE), noise.share(1.0 - TOTAL_SHARE)
    each = rest.share(1.0 / len(scopes))
    tables = [number.added(np.array(float(table.total()))), *map(each.added, table.marginals(scopes))]
    variances = [number.variance, *[each.variance] * len(scopes)]
    return _answered(domain, workload, averaged(domain, [(), *scopes], tables, variances), projected=projected)


def _parity(found: Floats) -> float:
    """The parity in a part of binary attributes: its first cell times their number; all are equal up to sign."""
    return float(found.reshape(-1)[0] * found.size)


def _answered(
    domain: Domain, workload: Workload, parts: Mapping[Clique, Floats], *, projected: bool, total: float | None = None
) -> tuple[Known, float]:
    total = max(1.0, float(parts[()])) if total is None else total
    scopes = {scope for family in workload.families if not isinstance(family, Parities) for scope in family.scopes}
    tables = {scope: put_together(domain, scope, parts) for scope in scopes}
    if projected:
        tables = {scope: on_simplex(each.reshape(-1), total).reshape(each.shape) for scope, each in tables.items()}
    signed = {
        scope: _parity(parts[scope])
        for family in workload.families
        if isinstance(family, Parities)
        for scope in family.scopes
    }
    return Known(domain, tables, signed), total


# Parts with noise of their own


@dataclass(frozen=True)
class Layout:
    """The parts that tables and parities are made of.

    Attributes:
        parts: Sets of attributes.
        costs: Squared sensitivity of each part: the share of a cell that is left after centring.
        spreads: Variance of a cell of each table, or of each parity, per variance of the noise in each part, shape
            ``(tables, parts)``, sparse.
    """

    parts: list[Clique]
    costs: Floats
    spreads: csr_array

    @classmethod
    def of(cls, domain: Domain, tables: Sequence[Clique], parities: Sequence[Clique] = ()) -> Layout:
        """The parts of tables, then of parities."""
        places: dict[Clique, int] = {}
        rows, columns, values = [], [], []
        for row, clique in enumerate(tables):
            for inner in subsets(clique):
                rows.append(row)
                columns.append(places.setdefault(inner, len(places)))
                values.append(_cost(domain, inner) / _volume(domain, (n for n in clique if n not in inner)) ** 2)
        for row, clique in enumerate(parities, len(tables)):
            rows.append(row)
            columns.append(places.setdefault(clique, len(places)))
            values.append(_volume(domain, clique))
        spreads = coo_array((values, (rows, columns)), (len(tables) + len(parities), len(places)))
        return cls(list(places), np.array([_cost(domain, inner) for inner in places]), spreads.tocsr())

    def variances(self, noise: Floats) -> Floats:
        """Variance of a cell of each table, and of each parity.

        Args:
            noise: Variance of the noise that is added to a table before its part is taken, per part.
        """
        return np.asarray(self.spreads @ noise)

    def least_squares(self, weights: Floats, rho: float) -> Floats:
        """Noise of the parts that minimises a weighted sum of variances under a zCDP budget.

        Args:
            weights: Positive weight of each table and parity.
            rho: The budget; noise of variance v in a part of cost c spends ``c / (2 v)``.
        """
        wanted = np.asarray(self.spreads.T @ weights)
        return np.asarray(np.sqrt(self.costs / wanted) * np.sqrt(self.costs * wanted).sum() / (2.0 * rho))

    def least_absolute(self, slopes: Floats, rho: float) -> Floats:
        """The same for a weighted sum of standard deviations, by reweighting the squares.

        Args:
            slopes: Positive weight of the deviation of each table and parity.
            rho: The budget.
        """
        weights = slopes
        for _ in range(_REWEIGHTED):
            weights = slopes / np.sqrt(self.variances(self.least_squares(weights, rho)))
        return self.least_squares(weights, rho)


def _cost(domain: Domain, inner: Clique) -> float:
    return math.prod(1.0 - 1.0 / domain[name].size for name in inner)


def _wanted(workload: Workload) -> tuple[dict[Clique, float], list[Clique]]:
    """Tables with the fall of the workload's error per deviation of a cell, and parities.

    The error of a whole table is half its cells times that of one, that of a single query that of a sum of half of
    them.
    """
    slopes: dict[Clique, float] = {}
    parities: list[Clique] = []
    for family in workload.families:
        counts = np.bincount(family.scope_of, minlength=len(family.scopes)).tolist()
        if isinstance(family, Parities):
            parities += family.scopes
            continue
        for scope, number in zip(family.scopes, counts, strict=True):
            half = 0.5 * _volume(workload.domain, scope)
            slopes[scope] = slopes.get(scope, 0.0) + (half if family.whole else number * math.sqrt(half))
    return slopes, parities


def residual_basis(table: Table, workload: Workload, noise: Noise) -> tuple[Known, float]:
    """Measure every part once with its optimal share of a zCDP budget, and project the tables put together.

    Args:
        table: The records.
        workload: The queries; ranges and conditions are answered from the table of their attributes.
        noise: Gaussian noise of the whole budget.

    Returns:
        The estimates, and the number of records.
    """
    domain = table.domain
    slopes, parities = _wanted(workload)
    total = None
    if not slopes:  # no part says the number of records
        total, noise = noise.number(table.total())
    layout = Layout.of(domain, list(slopes), parities)
    variances = layout.least_absolute(np.array([*slopes.values(), *np.ones(len(parities))]), noise.amount)
    named = [inner for inner in layout.parts if inner]
    exact: dict[Clique, Floats] = {
        (): np.array(float(table.total())),
        **dict(zip(named, table.marginals(named), strict=True)),
    }
    parts = {
        inner: part(exact[inner] + noise.rng.normal(0.0, math.sqrt(variance), exact[inner].shape), inner, inner)
        for inner, variance in zip(layout.parts, variances.tolist(), strict=True)
    }
    return _answered(domain, workload, parts, projected=True, total=total)
