"""Sums over the numbers of a column, from measured positions, moments and tables together (theory.md section 14.1).

A number v of a column with the middle m and the width w is ``m + w u``, u being its position in the whole column. So
what is asked for, (v - c) / w or its square less an offset, is ``alpha u + beta (2 u^2 - 1/2) + gamma``. Moments of the
column tell the first two summands, the number of records the third. Tables tell all of it where numbers are told one by
one; with the positions in bins they do for the first power. Both are unbiased, and their noises are independent, so of
all mixtures the one with the least variance is taken: a share k of alpha u + beta (2 u^2 - 1/2) comes from the moments,
the rest from the tables. k follows from public variances alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Ordered, bin_cells, spread_over
from hedgerow.privacy import step_of
from hedgerow.queries import Conjunction, LinearQuery, Measurement, Positions
from hedgerow.release.combinations import Combinations
from hedgerow.release.evidence import Evidence, seen_over
from hedgerow.release.noise_sums import Noises
from hedgerow.release.numbers import Numbers
from hedgerow.release.release import Release

_SHARES = (0.0, 0.5, 1.0)
"""Shares of the moments at which the variance is computed: a parabola goes through three points."""


def places_told(release: Release, name: str, cell: LinearQuery, power: int) -> bool:
    """Whether sums of a power of the numbers of a column are told by what was measured inside its bins.

    Args:
        release: The release.
        name: The column.
        cell: The group, or the condition.
        power: 1 or 2.
    """
    return any(bool(list(_found(release, name, cell, whole))) for whole in (True, False)[: 3 - power])


def moments_of(release: Release, name: str, factors: Floats) -> Evidence | None:
    """A sum of the moments of a column over all records, times factors; None if they were not measured.

    Args:
        release: The release.
        name: The column.
        factors: Those of the sums of u and of 2 u^2 - 1/2.
    """
    everyone = Conjunction.where(release.domain, {})
    return _averaged(_found(release, name, everyone, whole=True), factors)


def _found(release: Release, name: str, cell: LinearQuery, whole: bool) -> Iterator[tuple[Measurement, Floats]]:
    """Moments or positions of a column by others that tell who is in a group, with the part of each cell in it."""
    for each in () if release.domain.population else release.positions:  # sums of the weights that count alone
        target = each.target
        if not (isinstance(target, Positions) and target.whole is whole and target.column == name and not target.other):
            continue
        by = tuple(other for other in target.scope if other != name)
        seen = seen_over(cell, by)
        if seen is not None:
            shape = release.domain.shape_of(by)
            values = spread_over(release.domain, seen.values(), seen.scope, by) if by and seen.scope else np.ones(shape)
            yield each, np.broadcast_to(values, shape)


@dataclass(frozen=True)
class ColumnSums:
    """A sum over the numbers of a column, as far as it is told.

    Attributes:
        release: The release.
        singly: Weight of each code where all comes from tables; None where these do not tell it.
        inside: What positions in bins add to it there, if the column has such bins.
        moments: What moments tell of it, if they do.
        rest: The weight of each record where all comes from moments.
        records: The noisy number of records, if all of these count.
        query: The sum of weights of the codes over the group.
        apart: How far the numbers of each code may be from where they are taken to be.
    """

    release: Release
    singly: Floats | None
    inside: Evidence | None
    moments: Evidence | None
    rest: float
    records: Evidence | None
    query: Callable[[Floats], LinearQuery]
    apart: Floats

    @classmethod
    def of(
        cls,
        release: Release,
        name: str,
        cell: LinearQuery,
        query: Callable[[Floats], LinearQuery],
        *,
        power: int,
        centre: float,
        offset: float,
    ) -> ColumnSums | None:
        """What is told of the sum of a power of what numbers are away from a centre, in spans, less an offset each.

        Args:
            release: The release.
            name: The column.
            cell: The group.
            query: The sum of weights of the codes over the group.
            power: 1 or 2.
            centre: The centre.
            offset: The offset.

        Returns:
            None where nothing was measured of it but tables.
        """
        attribute = release.domain[name]
        if not isinstance(attribute, Ordered):
            return None
        numbers = Numbers.of(attribute)
        span = numbers.span or 1.0
        away = ((numbers.low[0] + numbers.high[-1]) / 2.0 - centre) / span
        linear, square, rest = (1.0, 0.0, away) if power == 1 else (2.0 * away, 0.5, away**2 + 0.25 - offset)
        moments = _averaged(_found(release, name, cell, whole=True), np.array([linear, square]))
        middles, widths = ((numbers.low + numbers.high) / 2.0 - centre) / span, (numbers.high - numbers.low) / span
        inside = _averaged(_found(release, name, cell, whole=False), widths) if power == 1 else None
        if moments is None and inside is None:
            return None
        told = inside is not None or not numbers.wide
        cells = bin_cells(release.domain).get(name)
        half = np.zeros(len(middles)) if cells is None else cells.half * numbers.unit / span
        every = not cell.scope and release.domain[name].size == len(numbers.low)
        records = release.record_count if every else None
        apart = half if power == 1 else half * (2.0 * np.abs(middles) + widths)
        singly = middles**power - offset if told else None
        return cls(release, singly, inside, moments, rest, records, query, apart)

    def ends(self, risk: float, x: float = 1.0, y: float = 0.0) -> tuple[float, float, Evidence] | None:
        """An interval for x times the sum less y for each record, but for how far numbers are from their places.

        Args:
            risk: Probability that the interval may miss.
            x: A factor from 0 on.
            y: Any number.

        Returns:
            The ends, and the evidence of least variance; None where no table tells what is needed of it.
        """
        counted, *others = self._factors(self._best(x, y), x, y)
        return self._tables.bound(counted, self._beside(others), risk)

    def best(self) -> tuple[Floats, Evidence | None]:
        """The weights that tables tell, and what is measured beside them, with the least variance."""
        (singly, each), *others = self._factors(self._best(1.0, 0.0), 1.0, 0.0)
        weights = np.full(len(self.apart), each)
        return weights if self.singly is None else singly * self.singly + weights, self._beside(others)

    @cached_property
    def _tables(self) -> Combinations:
        """The sum where all comes from tables, and the number of records."""
        ones = np.ones(len(self.apart))
        return self.release.combinations(self.query(ones if self.singly is None else self.singly), self.query(ones))

    def _factors(self, share: float, x: float, y: float) -> tuple[tuple[float, float], float, float, float]:
        """Factors of `_tables`, of positions, moments and the number of records, for a share of the moments."""
        counted = 0.0 if self.records is None else self.release.share_of_count
        rest = share * (x * self.rest - y)
        singly = 0.0 if self.singly is None else (1.0 - share) * x
        return (singly, rest * (1.0 - counted) - (1.0 - share) * y), (1.0 - share) * x, share * x, rest * counted

    @property
    def _others(self) -> tuple[Evidence | None, ...]:
        return self.inside, self.moments, self.records

    def _beside(self, factors: Iterable[float]) -> Evidence | None:
        """What is measured beside the tables, times factors, if anything is."""
        each = zip(self._others, factors, strict=True)
        parts = [evidence.times(factor) for evidence, factor in each if evidence is not None and factor]
        return reduce(Evidence.plus, parts) if parts else None

    @cached_property
    def _count_variance(self) -> float:
        """The least variance of the number of records by tables, those among them that do not tell the sum."""
        found = self._tables.variance((0.0, 1.0))
        return math.inf if found is None else found

    @cached_property
    def _variances(self) -> Floats:
        return np.array([0.0 if each is None else each.variance for each in self._others])

    def _best(self, x: float, y: float) -> float:
        """The share of the moments that makes the variance least."""
        if self.moments is None or self.singly is None or not x:
            return float(self.moments is not None and x != 0.0)
        covariances = self._tables.covariances
        if not len(covariances):
            return 1.0
        found = [self._factors(share, x, y) for share in _SHARES]
        counted, others = np.array([each for each, *_ in found]), np.square([others for _, *others in found])
        variances = np.einsum("si,rij,sj->sr", counted, covariances, counted).min(axis=1) + others @ self._variances
        first, middle, last = variances.tolist()
        weight = float(counted[-1, 1])
        alone = self._count_variance * weight**2 if weight else 0.0
        curvature = 2.0 * (first - 2.0 * middle + last)
        slope = -3.0 * first + 4.0 * middle - last
        share = float(np.clip(-slope / (2.0 * curvature), 0.0, 1.0)) if curvature > 0.0 else float(last < first)
        least = first + (slope + curvature * share) * share
        return 1.0 if alone + float(others[-1] @ self._variances) <= least else share


def _weighed(measured: Measurement, weights: Floats) -> Evidence:
    """The sum of noisy numbers times weights."""
    noises = Noises.of(measured.noise, measured.scale, weights, step=step_of(measured.target))
    value = float(weights.reshape(-1) @ measured.values)
    return Evidence.of_noises(value, noises, f"measurement of {measured.target.text}")


def _averaged(found: Iterable[tuple[Measurement, Floats]], factors: Floats) -> Evidence | None:
    """The same sum from several measurements, with inverse variances as weights; None without any."""
    pieces = []
    for measured, part in found:
        target = measured.target
        axis = target.scope.index(target.column) if isinstance(target, Positions) else 0
        pieces.append(_weighed(measured, np.moveaxis(np.multiply.outer(factors, part), 0, axis)))
    if not pieces:
        return None
    precisions = [1.0 / max(each.variance, 1e-300) for each in pieces]
    return reduce(Evidence.plus, (e.times(own / sum(precisions)) for e, own in zip(pieces, precisions, strict=True)))
