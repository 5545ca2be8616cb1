"""Correlations of two columns of numbers, with a proved interval (theory.md section 14.1).

Let a and b be the numbers in units in which the hypothesis has mean 0 and variance 1, and r its correlation. Write C, A
and B for the means of ab, a^2 and b^2 over the records, x and y for ``A - mean(a)^2`` and ``B - mean(b)^2``, and P for
the mean of ``ab - r (a^2 + b^2) / 2``. Then

    rho = (C - mean(a) mean(b)) / sqrt(x y),   C = r (A + B) / 2 + P,
    (A + B) / 2 - sqrt(x y) = (sqrt(x) - sqrt(y))^2 / 2 + (mean(a)^2 + mean(b)^2) / 2.

So P alone moves rho in the first order, and has most of the risk; the rest moves it by squares and products of what is
small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, Ordered, bin_cells
from hedgerow.errors import QueryError
from hedgerow.privacy import step_of
from hedgerow.queries import Groups, LinearQuery, Measurement, Positions
from hedgerow.release.column_sums import ColumnSums, moments_of
from hedgerow.release.evidence import Evidence
from hedgerow.release.noise_sums import Noises
from hedgerow.release.numbers import Estimate, Numbers
from hedgerow.release.release import Release

Asked = Callable[[LinearQuery, float], Estimate]
"""Answers a question with an interval that may miss with a probability."""
_Ends = tuple[float, float]
_Table = tuple[Floats, Floats]
QUESTIONS = 11
"""Questions that a correlation leads to, at most."""
_SHARE_OF_REST = 0.04
"""Share of the risk that each of the five other sums has."""
_LATTICE = 2.0**-20
"""Bound on the rounding of the weights of a query."""
_SMALLEST = 1e-12
"""Variance, in squared spans, below which a column is constant."""


@dataclass(frozen=True)
class Correlation:
    """The correlation of two columns in a group.

    Attributes:
        release: The release.
        groups: The groups.
        row: Number of the group.
        names: The columns, in domain order.
        value: The correlation of the hypothesis.
        centres: Its means.
        units: Its standard deviations; not a number where a column is constant.
        numbers: The numbers of the columns.
    """

    release: Release
    groups: Groups
    row: int
    names: Clique
    value: float
    centres: tuple[float, ...]
    units: tuple[float, ...]
    numbers: tuple[Numbers, ...]

    @classmethod
    def of(cls, release: Release, groups: Groups, row: int, names: tuple[str, str]) -> Correlation:
        """Prepare what is asked for.

        Args:
            release: The release.
            groups: The groups.
            row: Number of the group.
            names: The columns.

        Raises:
            QueryError: One of them has no numbers.
        """
        domain = release.domain
        clique = domain.clique(names)
        columns = [each for each in (domain[name] for name in clique) if isinstance(each, Ordered)]
        if len(columns) < len(names):
            raise QueryError(f"one of {' and '.join(names)} has no numbers", remedy="name numeric columns")
        both = tuple(Numbers.of(each, release) for each in columns)
        whole = groups.weighted(row, clique, _padded(np.ones([len(each.at) for each in both]), domain, clique))
        records = max(release.value(whole), 1e-300)

        def mean(first: Floats, second: Floats) -> float:
            query = groups.weighted(row, clique, _padded(np.multiply.outer(first, second), domain, clique))
            return release.value(query) / records

        x, y = ((each.at - each.low[0]) / (each.span or 1.0) for each in both)
        ones = np.ones(len(x)), np.ones(len(y))
        means = mean(x, ones[1]), mean(ones[0], y)
        x, y = x - means[0], y - means[1]
        variances = mean(np.square(x), ones[1]), mean(ones[0], np.square(y))
        value = mean(x, y) / math.sqrt(variances[0] * variances[1]) if min(variances) > _SMALLEST else 0.0
        spans = [each.span or 1.0 for each in both]
        centres = tuple(float(each.low[0]) + m * span for each, m, span in zip(both, means, spans, strict=True))
        units = tuple(
            span * math.sqrt(each) if each > _SMALLEST else math.nan
            for each, span in zip(variances, spans, strict=True)
        )
        return cls(release, groups, row, clique, min(max(value, -1.0), 1.0), centres, units, both)

    def estimate(self, asked: Asked, risk: float) -> Estimate:
        """The correlation with its interval.

        Args:
            asked: Answers a question with an interval that may miss with a probability.
            risk: Probability that the interval may miss.
        """
        if not all(map(math.isfinite, self.units)):
            return Estimate(self.value, -1.0, 1.0)
        r, share = self.value, _SHARE_OF_REST * risk
        ends = [
            ((each.low - centre) / unit, (each.high - centre) / unit)
            for each, centre, unit in zip(self.numbers, self.centres, self.units, strict=True)
        ]
        (a, a_high), (b, b_high) = (ends[0][0][:, None], ends[0][1][:, None]), ends[1]
        count = self._sum(asked, (np.ones((a.size, b.size)),) * 2, share)
        if count is None:
            return Estimate(r, None, None)
        fewest, most = count[0], max(count[1], 1.0)
        unknown = Estimate(r, -1.0, 1.0)
        if fewest <= 0.0:
            return unknown

        def mean(ends: _Ends) -> _Ends:
            low, high = ends[0] - _LATTICE * most, ends[1] + _LATTICE * most
            return low / (fewest if low < 0.0 else most), high / (fewest if high > 0.0 else most)

        means: dict[int, list[_Ends]] = {}
        for power, axis in ((2, 0), (2, 1), (1, 0), (1, 1)):  # no further question where a square may be none
            part = self._alone(asked, axis, power, ends[axis], most=most, risk=share)
            if part is None:
                return Estimate(r, None, None)
            means.setdefault(power, []).append(mean(part))
            if power == 2 and 1.0 + means[2][-1][0] <= 0.0:
                return unknown
        corners = [a * b, a * b_high, a_high * b, a_high * b_high]
        halves = [(x + y) * (r / 2.0) for x, y in zip(_squares(a, a_high), _squares(b, b_high), strict=True)]
        main = np.minimum.reduce(corners) - np.maximum(*halves), np.maximum.reduce(corners) - np.minimum(*halves)
        rest = (1.0 - 5.0 * _SHARE_OF_REST) * risk
        products = self._products(main[0] if np.array_equal(*main) else None, most, rest)
        products = self._sum(asked, main, rest) if products is None else products
        return Estimate(r, None, None) if products is None else _interval(r, means[1], means[2], mean(products))

    @property
    def _every(self) -> bool:
        """Whether every record has numbers in both columns."""
        sizes = self.release.domain.shape_of(self.names)
        return all(size == len(each.at) for size, each in zip(sizes, self.numbers, strict=True))

    def _alone(
        self, asked: Asked, axis: int, power: int, ends: _Table, *, most: float, risk: float
    ) -> tuple[float, float] | None:
        """The ends of the sum of a, or of a^2 - 1, of one column: from moments where these tell it."""
        name, scale = self.names[axis], (self.numbers[axis].span / self.units[axis]) ** power
        if self._every:
            cell, centre, offset = self.groups.cell(self.row), self.centres[axis], 1.0 / scale if power == 2 else 0.0
            query = partial(self.groups.sum, self.row, name)
            found = ColumnSums.of(self.release, name, cell, query, power=power, centre=centre, offset=offset)
            told = found and found.ends(risk)
            if found and told:
                apart = float(found.apart.max()) * most
                return scale * (told[0] - apart), scale * (told[1] + apart)
        low, high = ends if power == 1 else (each - 1.0 for each in _squares(*ends))
        ones = np.ones(len(self.numbers[1 - axis].at))
        tables = [np.multiply.outer(each, ones) if axis == 0 else np.multiply.outer(ones, each) for each in (low, high)]
        return self._sum(asked, (tables[0], tables[1]), risk)

    def _products(self, singly: Floats | None, most: float, risk: float) -> tuple[float, float] | None:
        """The ends of P from measured products and moments of all records, and tables; None without products.

        With the scale k of a column, the position u of a number in it and d that of the mean, ``a = k (u - d)``.
        """
        products = next((m for m in self.release.positions if m.target.scope == self.names and _is_products(m)), None)
        if products is None or self.release.domain.population or not self._every or self.groups.cell(self.row).scope:
            return None
        (k, m), r = ([each.span / unit for each, unit in zip(self.numbers, self.units, strict=True)]), self.value
        d, e = (
            (centre - (each.low[0] + each.high[-1]) / 2.0) / (each.span or 1.0)
            for each, centre in zip(self.numbers, self.centres, strict=True)
        )
        first = moments_of(self.release, self.names[0], np.array([-k * m * e + r * k**2 * d, -r * k**2 / 4.0]))
        second = moments_of(self.release, self.names[1], np.array([-k * m * d + r * m**2 * e, -r * m**2 / 4.0]))
        if first is None or second is None:
            return None
        told = Evidence.of_noises(
            k * m * float(products.values[0]),
            Noises.of(products.noise, products.scale, np.array([k * m]), step=step_of(products.target)),
            f"measurement of {products.target.text}",
        )
        rest = k * m * d * e - r / 2.0 * (k**2 * (0.25 + d**2) + m**2 * (0.25 + e**2))
        shape = tuple(len(each.at) for each in self.numbers)
        found = ColumnSums(
            self.release, None if singly is None else singly.reshape(-1), None, told.plus(first).plus(second), rest,
            self.release.record_count, lambda each: self.groups.weighted(self.row, self.names, each.reshape(shape)),
            np.zeros(math.prod(shape)),
        )  # fmt: skip
        ends = found.ends(risk)
        cells = [bin_cells(self.release.domain).get(name) for name in self.names]
        f, g = (
            0.0 if cell is None else float(cell.half.max()) * each.unit / each.span
            for cell, each in zip(cells, self.numbers, strict=True)
        )
        apart = k * m * (f * (0.5 + abs(e)) + g * (0.5 + abs(d)) + f * g)
        apart += abs(r) / 2.0 * sum(z**2 * (2.0 * h * (0.5 + abs(c)) + h**2) for z, h, c in ((k, f, d), (m, g, e)))
        return None if ends is None else (ends[0] - apart * most, ends[1] + apart * most)

    def _sum(self, asked: Asked, tables: tuple[Floats, Floats], risk: float) -> tuple[float, float] | None:
        """The ends of a sum over the records with numbers in both columns, whose summands lie between two tables."""
        told = tables[:1] if np.array_equal(tables[0], tables[1]) else tables
        padded = [_padded(each, self.release.domain, self.names) for each in told]
        text = f"sum over pairs of {' and '.join(self.names)}"
        found = [asked(self.groups.weighted(self.row, self.names, each, text), risk / len(told)) for each in padded]
        first, last = found[0].low, found[-1].high
        return None if first is None or last is None else (first, last)


def _interval(r: float, means: list[_Ends], squares: list[_Ends], main: _Ends) -> Estimate:
    """The interval of the correlation from those of the means of a and b, of their squares less 1, and of P / N."""
    furthest = [max(-low, high) ** 2 for low, high in means]
    least = [max(1.0 + low - most, 0.0) for (low, _), most in zip(squares, furthest, strict=True)]
    largest = [max(1.0 + high, 0.0) for _, high in squares]
    if min(least) <= 0.0:
        return Estimate(r, -1.0, 1.0)
    roots = [(math.sqrt(low), math.sqrt(high)) for low, high in zip(least, largest, strict=True)]
    lost = sum(furthest) / 2.0 + max(roots[0][1] - roots[1][0], roots[1][1] - roots[0][0]) ** 2 / 2.0
    product, (smallest, most) = math.sqrt(furthest[0] * furthest[1]), (a * b for a, b in zip(*roots, strict=True))
    low = min(r * lost, 0.0) + main[0] - product
    high = max(r * lost, 0.0) + main[1] + product
    low, high = low / (smallest if low < 0.0 else most), high / (smallest if high > 0.0 else most)
    low, high = max(r + float(low), -1.0), min(r + float(high), 1.0)
    return Estimate(min(max(r, low), high), min(low, high), max(low, high))


def _is_products(measured: Measurement) -> bool:
    return isinstance(measured.target, Positions) and bool(measured.target.other)


def _squares(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The least and the largest squares of numbers between two ends."""
    near = np.maximum(np.maximum(low, -high), 0.0)
    return np.square(near), np.square(np.maximum(-low, high))


def _padded(weights: Floats, domain: Domain, names: Clique) -> Floats:
    """Weights of pairs of numbers, and 0 where a column has none."""
    sizes = zip(domain.shape_of(names), weights.shape, strict=True)
    return np.pad(weights, [(0, size - own) for size, own in sizes])
