"""Weights of records by which they have the noisy tables that were measured, in coarse cells.

A fit is smoother than the data: it stops before it follows the noise, and knows no negative counts. So what is computed
from its records is biased, and replicates of the fit do not show it, for the hypothesis that they start from is as
smooth. Noisy tables are unbiased. Their sums over many cells have little noise, so records are weighed until they have
those: each variable in a few groups of about as many records, each pair of variables that was measured in the table of
their groups (calibration; J.-C. Deville and C.-E. Saerndal, "Calibration Estimators in Survey Sampling", JASA 87, 1992,
by raking). Inside the groups of a number the fit decides, and pulls its mean; so records are tilted until they have the
noisy sums of its numbers too, over all records and in each group of another variable. All of it is a function of noisy
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Attribute, Clique, Domain, Ordered, ends_of, possible_cells
from hedgerow.models import Codes, cells_of
from hedgerow.queries import Marginal, Measurement
from hedgerow.release.release import Release

_GROUPS = 4
"""Groups of a variable."""
_LARGEST = 1 << 16
"""Codes of the largest attribute that has groups though it was not measured."""
_SWEEPS = 20
"""Sweeps over all tables: where columns are nearly functions of each other, 4 leave a third of a standard error."""
_MOST_NOISE = 1.0
"""Variance of a noisy sum of numbers, beside that of a sample of as many records, up to which it is met."""
_TINY = 1e-300
_STEEPEST = 0.1, 10.0
"""Least and largest factor of one tilt."""


@dataclass(frozen=True, eq=False)
class Tilt:
    """Sums of the numbers of a variable that records are to have, got inside its groups, whose counts stay.

    Attributes:
        sums: The sums over the records in each group of another variable, or over all records.
        numbers: The number of each code; 0 of one that has none.
        groups: The group of each code.

    Example:
        >>> tilt = Tilt(np.array([0.5]), np.array([-0.5, 0.0, 0.5]), np.array([0, 0, 0]))
        >>> tilt.step(np.array([4.0, 4.0, 4.0])).tolist()
        [0.875, 1.0, 1.125]
    """

    sums: Floats
    numbers: Floats
    groups: Ints

    def __len__(self) -> int:
        """The number of cells: codes times groups of the other variable."""
        return len(self.numbers) * len(self.sums)

    def step(self, held: Floats) -> Floats:
        """The factors of the cells by which records get the sums, ``1 + d (number - mean of the group)``.

        Args:
            held: What records weigh in each cell.
        """
        table = held.reshape(len(self.numbers), len(self.sums))
        counts, sums = np.zeros((2, int(self.groups.max()) + 1, len(self.sums)))
        np.add.at(counts, self.groups, table)
        np.add.at(sums, self.groups, self.numbers[:, None] * table)
        means = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0.0)
        apart = self.numbers[:, None] - means[self.groups]
        spread = (table * apart**2).sum(axis=0)
        missing = self.sums - sums.sum(axis=0)
        slope = np.divide(missing, spread, out=np.zeros_like(spread), where=spread > _TINY)
        return np.asarray(np.clip(1.0 + slope * apart, *_STEEPEST)).reshape(-1)


def raked(
    weights: Floats, places: Sequence[Ints], wanted: Sequence[Floats | Tilt], total: float, sweeps: int
) -> tuple[Floats, list[Floats]]:
    """Weights that have some tables, in turn (W. E. Deming and F. F. Stephan, Annals of Mathematical Statistics, 1940).

    Args:
        weights: Weights of records, shape ``(n,)``.
        places: The cell of each record in each table.
        wanted: Each table, flat; negative counts count as 0. Cells without a record are passed over. Or a tilt.
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
    positive = [each if isinstance(each, Tilt) else np.maximum(each, 0.0) for each in wanted]
    for _ in range(sweeps):
        for place, table, factor in zip(places, positive, factors, strict=True):
            held = np.bincount(place, weights, len(table)).astype(np.float64, copy=False)
            if isinstance(table, Tilt):
                step = table.step(held)
            else:
                step = np.divide(table * (total / table.sum()), held, out=np.ones(len(held)), where=held > 0.0)
            np.multiply(factor, step, out=factor)
            weights = weights * step[place]
    return weights * (total / weights.sum()), factors


Margin = tuple[Clique, str]
"""A table of groups of some variables; with a name that variable by its codes, of which there is a tilt."""


@dataclass(frozen=True, eq=False)
class Coarse:
    """Variables in groups of about as many records, and what was measured of them.

    Attributes:
        domain: The domain.
        groups: The group of each code of each variable.
        numbers: The numbers of those of which groups hold several, in spans, with a mean of 0 over the codes.
        spreads: The sums of their squares over the records of the hypothesis, about the mean.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain(hedgerow.IntegerRange(name, 0, 5) for name in "ab")
        >>> table = hedgerow.Table(domain, [np.arange(900) % 6, np.arange(900) // 150])
        >>> workload, budget = hedgerow.Workload.marginals(domain, 2), hedgerow.PureDP(9.0)
        >>> release = hedgerow.MWEM().run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> coarse = Coarse.of(release)
        >>> coarse.groups["a"].tolist(), coarse.tables(release.measurements, 900.0)["a", "b"].shape
        ([0, 1, 1, 2, 3, 3], (4, 4))
        >>> {margin: len(tilt) for margin, tilt in coarse.tilts(release.measurements).items()}
        {(('a',), 'a'): 6, (('b',), 'b'): 6, (('a', 'b'), 'a'): 24, (('a', 'b'), 'b'): 24}
    """

    domain: Domain
    groups: dict[str, Ints]
    numbers: dict[str, Floats]
    spreads: dict[str, float]

    @classmethod
    def of(cls, release: Release) -> Coarse:
        """The groups of variables by the counts of the hypothesis."""
        domain = release.domain
        measured = (name for each in _whole(release.measurements) for name in each.target.scope)
        small = (attribute.name for attribute in domain if attribute.size <= _LARGEST)
        names = dict.fromkeys([*measured, *small])
        tables = dict(zip(names, release.model.marginals([(name,) for name in names]), strict=True))
        groups = {name: _grouped(table) for name, table in tables.items()}
        several = (name for name in names if groups[name].max() + 1 < len(groups[name]))
        numbers = {name: each for name in several if (each := _numbered(domain[name])).any()}
        spreads = {
            name: float(tables[name] @ each**2 - (tables[name] @ each) ** 2 / tables[name].sum())
            for name, each in numbers.items()
        }
        return cls(domain, groups, numbers, spreads)

    def tables(self, measurements: Sequence[Measurement], total: float) -> dict[Clique, Floats]:
        """Unbiased tables of groups, of all pairs of variables that were measured together, else of single ones.

        Tables with more noise than a sample of as many records has are left out; a variable that is in no pair then has
        a table of its own. One that was measured several times is averaged by inverse variances. Pairs have the counts
        of single variables that all measurements tell.

        Args:
            measurements: Noisy answers; those of whole tables are used.
            total: Number of records, in counts.
        """
        sums, precisions = dict[Clique, Floats](), dict[Clique, float]()
        for names, table, variance in self._parts(measurements):
            coarse = self._summed(table, names)
            precision = coarse.size / (variance * table.size)
            sums[names] = sums.get(names, 0.0) + precision * coarse
            precisions[names] = precisions.get(names, 0.0) + precision
        found = {names: table / precisions[names] for names, table in sums.items()}
        kept = [names for names, table in found.items() if 1.0 / precisions[names] <= total / table.size]
        paired = {name for names in kept if len(names) > 1 for name in names}
        return self._agreed(found, [names for names in kept if len(names) > 1 or names[0] not in paired], total)

    def tilts(self, measurements: Sequence[Measurement]) -> dict[Margin, Tilt]:
        """Unbiased sums of numbers over all records, and in the groups of each other variable.

        Those with more noise than a sample of as many records has are left out. One that was measured several times is
        averaged by inverse variances, and so is the sum over all records.

        Args:
            measurements: Noisy answers; those of whole tables are used.
        """
        sums, precisions = dict[Margin, Floats](), dict[Margin, float]()
        for names, table, variance in self._parts(measurements):
            for axis, name in enumerate(names):
                if name not in self.numbers:
                    continue
                numbers, others = self.numbers[name], names[:axis] + names[axis + 1 :]
                by_group = self._summed(np.tensordot(numbers, table, (0, axis)), others).reshape(-1)
                precision = len(numbers) / (variance * float(numbers @ numbers) * table.size)  # of the whole sum
                margin = names, name
                sums[margin] = sums.get(margin, 0.0) + precision * by_group
                precisions[margin] = precisions.get(margin, 0.0) + precision
        means = {margin: each / precisions[margin] for margin, each in sums.items()}
        tilts = dict[Margin, Tilt]()
        for margin in sorted(means, key=lambda margin: len(margin[0])):
            scope, name = margin
            if 1.0 / precisions[margin] <= _MOST_NOISE * self.spreads[name]:
                codes = np.ones(1)
                for other in {*scope} - {name}:
                    codes = np.bincount(self.groups[other]).astype(np.float64)
                moved = means[margin] + (means[(name,), name] - means[margin].sum()) * codes / codes.sum()
                has_number = np.arange(len(self.numbers[name])) < self.domain[name].ordinary
                groups = np.where(has_number, self.groups[name], self.groups[name].max() + 1)
                tilts[margin] = Tilt(moved, self.numbers[name], groups)
        return tilts

    def _parts(self, measurements: Sequence[Measurement]) -> Iterator[tuple[Clique, Floats, float]]:
        """What each measured table tells of each of its variables and pairs, once, and the variance of a cell."""
        for measured in _whole(measurements):
            scope, shape = measured.target.scope, self.domain.shape_of(measured.target.scope)
            if not self.groups.keys() >= {*scope}:  # a whole run chose a level that the release did not
                continue
            possible = possible_cells(self.domain, scope) if self.domain.constraints else None
            table = measured.values.reshape(shape) * (1.0 if possible is None else possible)
            places = range(len(scope))
            for part in (*combinations(places, 1), *combinations(places, 2)):
                found = table.sum(axis=tuple({*places} - {*part}))
                variance = max(measured.std**2, 1e-12) * table.size / found.size
                yield tuple(scope[axis] for axis in part), found, variance

    def _summed(self, table: Floats, names: Clique) -> Floats:
        for axis, name in enumerate(names):
            groups = self.groups[name]
            summed = np.zeros((groups.max() + 1, *np.moveaxis(table, axis, 0).shape[1:]))
            np.add.at(summed, groups, np.moveaxis(table, axis, 0))
            table = np.moveaxis(summed, 0, axis)
        return table

    @staticmethod
    def _agreed(found: Mapping[Clique, Floats], kept: Sequence[Clique], total: float) -> dict[Clique, Floats]:
        """Some of the tables, with the counts of single variables and the total."""
        agreed = dict[Clique, Floats]()
        for names in kept:
            moved = found[names] + (total - found[names].sum()) / found[names].size
            for axis, name in enumerate(names):
                mean = found[name,]
                margin = np.moveaxis(moved, axis, 0).reshape(len(mean), -1)
                step = (mean + (total - mean.sum()) / len(mean) - margin.sum(axis=1)) / margin.shape[1]
                moved = moved + step.reshape([-1 if place == axis else 1 for place in range(moved.ndim)])
            agreed[names] = moved
        return agreed

    def places(self, codes: Ints, margins: Sequence[Margin]) -> list[Ints]:
        """The cell of each record in tables of groups.

        Args:
            codes: Records, shape ``(n, len(domain))``.
            margins: The variables of each table.
        """
        names = list(dict.fromkeys(name for scope, _ in margins for name in scope))
        small: Codes = codes.astype(np.uint32)
        variables = dict(zip(names, cells_of(self.domain, small, [(name,) for name in names]), strict=True))
        grouped = {name: self.groups[name][codes] for name, codes in variables.items()}

        def places(scope: Clique, number: str) -> Ints:
            others = [name for name in scope if name != number]
            of, shape = [grouped[name] for name in others], [int(self.groups[name].max()) + 1 for name in others]
            if number:
                of, shape = [variables[number], *of], [len(self.groups[number]), *shape]
            return np.asarray(np.ravel_multi_index(of, shape))

        return [places(*margin) for margin in margins]

    def wanted(self, measurements: Sequence[Measurement], total: float) -> dict[Margin, Floats | Tilt]:
        """The tables, flat, and the sums that records are weighed to have.

        Args:
            measurements: Noisy answers; those of whole tables are used.
            total: Number of records, in counts.
        """
        tables = self.tables(measurements, total)
        return {(names, ""): table.reshape(-1) for names, table in tables.items()} | self.tilts(measurements)

    def moved(
        self, codes: Ints, weights: Floats, new: Mapping[Margin, Floats | Tilt], old: Mapping[Margin, Floats | Tilt]
    ) -> dict[Margin, Floats | Tilt]:
        """The tables and sums of weighted records, moved by the difference of others.

        Args:
            codes: Records, shape ``(n, len(domain))``.
            weights: Their weights, shape ``(n,)``.
            new: Tables and sums.
            old: What is taken off; those that are in both are used.
        """
        margins = [margin for margin in new if margin in old]
        found = dict[Margin, Floats | Tilt]()
        for margin, place in zip(margins, self.places(codes, margins), strict=True):
            one, other = new[margin], old[margin]
            held = np.bincount(place, weights, len(one)).astype(np.float64, copy=False)
            if isinstance(one, Tilt) and isinstance(other, Tilt):
                sums = one.numbers @ held.reshape(len(one.numbers), len(one.sums))
                found[margin] = replace(one, sums=sums + one.sums - other.sums)
            elif not (isinstance(one, Tilt) or isinstance(other, Tilt)):
                found[margin] = held + one - other
        return found

    def calibrated(
        self, codes: Ints, weights: Floats, wanted: Mapping[Margin, Floats | Tilt], total: float
    ) -> tuple[Floats, dict[Margin, Floats]]:
        """Weights of records that have tables and sums, and the factors of their cells.

        Args:
            codes: Records, shape ``(n, len(domain))``.
            weights: Their weights before, shape ``(n,)``.
            wanted: The tables and sums.
            total: Number of records, in counts.
        """
        found, factors = raked(weights, self.places(codes, list(wanted)), [*wanted.values()], total, _SWEEPS)
        return found, dict(zip(wanted, factors, strict=True))

    def factor(self, codes: Ints, factors: Mapping[Margin, Floats]) -> Floats:
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


def _numbered(attribute: Attribute) -> Floats:
    """The numbers of codes in spans, with a mean of 0; 0 of codes that have none, and of labels."""
    found = np.zeros(attribute.size)
    if isinstance(attribute, Ordered):
        middles = np.add(*ends_of(attribute)) / 2.0
        found[: len(middles)] = (middles - middles.mean()) / max(float(np.ptp(middles)), _TINY)
    return found
