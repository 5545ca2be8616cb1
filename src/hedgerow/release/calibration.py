"""Weights of records by which they have the noisy tables that were measured, in coarse cells.

A fit is smoother than the data: it stops before it follows the noise, and knows no negative counts. So what is computed
from its records is biased, and replicates of the fit do not show it, for the hypothesis that they start from is as
smooth. Noisy tables are unbiased. Their sums over many cells have little noise, so records are weighed until they have
those: each variable in a few groups of about as many records, each pair of variables that was measured in the table of
their groups (calibration; J.-C. Deville and C.-E. Saerndal, "Calibration Estimators in Survey Sampling", JASA 87, 1992,
by raking). All of it is a function of noisy values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain, possible_cells
from hedgerow.models import Codes, cells_of
from hedgerow.queries import Marginal, Measurement
from hedgerow.release.release import Release

_GROUPS = 4
"""Groups of a variable."""
_LARGEST = 1 << 16
"""Codes of the largest attribute that has groups though it was not measured."""
_SWEEPS = 4
_TINY = 1e-300


def raked(
    weights: Floats, places: Sequence[Ints], wanted: Sequence[Floats], total: float, sweeps: int
) -> tuple[Floats, list[Floats]]:
    """Weights that have some tables, in turn (W. E. Deming and F. F. Stephan, Annals of Mathematical Statistics, 1940).

    Args:
        weights: Weights of records, shape ``(n,)``.
        places: The cell of each record in each table.
        wanted: Each table, flat; negative counts count as 0. Cells without a record are passed over.
        total: The sum of all weights.
        sweeps: Number of times that each table is taken.

    Returns:
        The weights, and for each table the factors of its cells.

    Example:
        >>> weights, (factors,) = raked(np.ones(3), [np.array([0, 1, 1])], [np.array([6.0, 2.0])], 8.0, 1)
        >>> weights.tolist(), factors.tolist()
        ([6.0, 1.0, 1.0], [6.0, 1.0])
    """
    factors = [np.ones(len(table)) for table in wanted]
    positive = [np.maximum(table, 0.0) for table in wanted]
    for _ in range(sweeps):
        for place, table, factor in zip(places, positive, factors, strict=True):
            held = np.bincount(place, weights, len(table))
            step = np.divide(table * (total / table.sum()), held, out=np.ones(len(held)), where=held > 0.0)
            np.multiply(factor, step, out=factor)
            weights = weights * step[place]
    return weights * (total / weights.sum()), factors


@dataclass(frozen=True, eq=False)
class Coarse:
    """Variables in groups of about as many records, and what was measured of them.

    Attributes:
        domain: The domain.
        groups: The group of each code of each variable.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 5) for name in "ab")
        >>> table = hedgerow.Table(domain, [np.arange(900) % 6, np.arange(900) // 150])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(9.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> coarse = Coarse.of(release)
        >>> coarse.groups["a"].tolist(), coarse.tables(release.measurements, 900.0)["a", "b"].shape
        ([0, 1, 1, 2, 3, 3], (4, 4))
    """

    domain: Domain
    groups: dict[str, Ints]

    @classmethod
    def of(cls, release: Release) -> Coarse:
        """The groups of variables by the counts of the hypothesis."""
        measured = (name for each in _whole(release.measurements) for name in each.target.scope)
        small = (attribute.name for attribute in release.domain if attribute.size <= _LARGEST)
        names = dict.fromkeys([*measured, *small])
        tables = release.model.marginals([(name,) for name in names])
        return cls(release.domain, {name: _grouped(table) for name, table in zip(names, tables, strict=True)})

    def tables(self, measurements: Sequence[Measurement], total: float) -> dict[Clique, Floats]:
        """Unbiased tables of groups, of all pairs of variables that were measured together, else of single ones.

        Tables with more noise than a sample of as many records has are left out. One that was measured several times is
        averaged by inverse variances, and so is what tables have in common.

        Args:
            measurements: Noisy answers; those of whole tables are used.
            total: Number of records, in counts.
        """
        sums, precisions = dict[Clique, Floats](), dict[Clique, float]()
        for measured in _whole(measurements):
            scope, shape = measured.target.scope, self.domain.shape_of(measured.target.scope)
            if not self.groups.keys() >= {*scope}:  # a whole run chose a level that the release did not
                continue
            possible = possible_cells(self.domain, scope) if self.domain.constraints else None
            table = measured.values.reshape(shape) * (1.0 if possible is None else possible)
            for pair in combinations(range(len(scope)), min(2, len(scope))):
                names = tuple(scope[axis] for axis in pair)
                coarse = self._summed(table.sum(axis=tuple(set(range(len(scope))) - {*pair})), names)
                precision = coarse.size / (measured.std**2 * table.size) if measured.std else 1e12
                sums[names] = sums.get(names, 0.0) + precision * coarse
                precisions[names] = precisions.get(names, 0.0) + precision
        found = {names: table / precisions[names] for names, table in sums.items()}
        kept = {names for names, table in found.items() if 1.0 / precisions[names] <= total / table.size}
        return self._agreed({names: table for names, table in found.items() if names in kept}, precisions, total)

    def _summed(self, table: Floats, names: Clique) -> Floats:
        for axis, name in enumerate(names):
            groups = self.groups[name]
            summed = np.zeros((groups.max() + 1, *np.moveaxis(table, axis, 0).shape[1:]))
            np.add.at(summed, groups, np.moveaxis(table, axis, 0))
            table = np.moveaxis(summed, 0, axis)
        return table

    @staticmethod
    def _agreed(
        tables: Mapping[Clique, Floats], precisions: Mapping[Clique, float], total: float
    ) -> dict[Clique, Floats]:
        """Tables that agree in the counts of single variables: the averages of all of them."""
        means, weights = dict[str, Floats](), dict[str, float]()
        for names, table in tables.items():
            for axis, name in enumerate(names):
                margin = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
                weight = precisions[names] / margin.shape[1]
                means[name] = means.get(name, 0.0) + weight * margin.sum(axis=1)
                weights[name] = weights.get(name, 0.0) + weight
        agreed = {}
        for names, table in tables.items():
            moved = table + (total - table.sum()) / table.size
            for axis, name in enumerate(names):
                mean = means[name] / weights[name]
                margin = np.moveaxis(moved, axis, 0).reshape(len(mean), -1)
                step = (mean + (total - mean.sum()) / len(mean) - margin.sum(axis=1)) / margin.shape[1]
                moved = moved + step.reshape([-1 if place == axis else 1 for place in range(table.ndim)])
            agreed[names] = moved
        return agreed

    def places(self, codes: Ints, scopes: Sequence[Clique]) -> list[Ints]:
        """The cell of each record in tables of groups.

        Args:
            codes: Records, shape ``(n, len(domain))``.
            scopes: The variables of each table.
        """
        names = list(dict.fromkeys(name for scope in scopes for name in scope))
        small: Codes = codes.astype(np.uint32)
        variables = dict(zip(names, cells_of(self.domain, small, [(name,) for name in names]), strict=True))
        shapes = {name: int(self.groups[name].max()) + 1 for name in names}
        grouped = {name: self.groups[name][codes] for name, codes in variables.items()}
        return [
            np.ravel_multi_index([grouped[name] for name in scope], [shapes[name] for name in scope])
            for scope in scopes
        ]

    def calibrated(self, codes: Ints, weights: Floats, release: Release) -> tuple[Floats, dict[Clique, Floats]]:
        """Weights of records that have the tables of a release, and the factors of their cells.

        Args:
            codes: Records, shape ``(n, len(domain))``.
            weights: Their weights before, shape ``(n,)``.
            release: A release with the measurements.
        """
        tables = self.tables(release.measurements, release.total)
        wanted = [table.reshape(-1) for table in tables.values()]
        found, factors = raked(weights, self.places(codes, list(tables)), wanted, release.total, _SWEEPS)
        return found, dict(zip(tables, factors, strict=True))

    def factor(self, codes: Ints, factors: Mapping[Clique, Floats]) -> Floats:
        """The product of the factors of the cells of each record, shape ``(n,)``."""
        product = np.ones(len(codes))
        for place, factor in zip(self.places(codes, list(factors)), factors.values(), strict=True):
            product *= factor[place]
        return product


def _whole(measurements: Sequence[Measurement]) -> list[Measurement]:
    return [each for each in measurements if isinstance(each.target, Marginal) and each.target.within is None]


def _grouped(table: Floats) -> Ints:
    """The group of each code; codes are in order, and groups of about as many records."""
    if len(table) <= _GROUPS:
        return np.arange(len(table))
    middles = (np.cumsum(table) - table / 2.0) / table.sum()
    return np.unique(np.minimum((_GROUPS * middles).astype(np.int64), _GROUPS - 1), return_inverse=True)[1].reshape(-1)
