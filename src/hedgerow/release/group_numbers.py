"""Sums, means, variances and quantiles of the numbers of a column in one group, from counting questions.

`selection` says how each follows from the answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import Protocol

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Ordered
from hedgerow.queries import Groups, LinearQuery, Selection
from hedgerow.release.column_sums import ColumnSums
from hedgerow.release.evidence import Evidence
from hedgerow.release.numbers import Estimate, Numbers
from hedgerow.release.quotients import Summands
from hedgerow.release.ratios import Bound, ratio_set
from hedgerow.release.release import Release

Later = Callable[[], Estimate]
"""A number whose questions were asked: its value is the hypothesis' when all questions of its statement were."""
MOST_CUTS = 128
"""Places at which the distribution of a release's column is looked at for a quantile: ages and hours one by one."""
_SHARE_OF_COUNT = 0.05
"""Share of the risk of a release's mean that goes to the number that is divided by, which is known far better."""
SHARE_OF_SLACK = 0.01
"""Share of the risk of a ratio that goes to the number of records, by which rounding is bounded."""
_SHARE_OF_CELLS = 0.02
"""Share of the risk of a sum that goes to how far numbers are from the middles of the cells of their bins."""
SPREADS = ("variance", "deviation")
_LATTICE = 2.0**-20
"""Bound on the rounding of the weights of a query."""
_ROUNDING = 1e-12
"""Shares of a count below which differences are rounding."""


class CountAnswerer(Protocol):
    """Anything that answers counting questions."""

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        """The answer of one query, and its source."""
        ...

    def guess(self, query: LinearQuery) -> float:
        """The answer of the hypothesis alone, which is consistent with its other answers; it costs nothing."""
        ...

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        """The counts of all groups, and their source."""
        ...


class Statement:
    """One statement while it is answered."""

    def __init__(self, selection: Selection, asked: CountAnswerer, risk: float, release: Release | None) -> None:
        """Begin with no question asked."""
        self.groups: Groups = selection.groups
        self.columns = selection.columns
        self.asked = asked
        self.risk = risk
        self.release = release
        self.sources: Counter[str] = Counter()
        self._counts: list[Estimate] = []

    def count(self, row: int) -> Estimate:
        """The number of records of a group, with the risk that sums need; all groups are asked for together."""
        if not self._counts:
            alone = self.release is not None or all(column.kind == "count" for column in self.columns)
            risk = self.risk if alone else 0.5 * self.risk
            if self.groups.names:
                self._counts, source = self.asked.counts(self.groups, 1.0 - risk)
                self.sources[source] += 1
            else:
                self._counts = [self.weighted(self.groups.cell(0), risk)]
        return self._counts[row]

    def weighted(self, query: LinearQuery, risk: float) -> Estimate:
        """The answer of one question, which may miss with a probability."""
        estimate, source = self.asked.count(query, 1.0 - risk)
        self.sources[source] += 1
        return estimate

    def share(self, row: int, condition: LinearQuery) -> Estimate:
        """The share of the records of a group that meet a condition.

        A session asks for both numbers, each of which may miss with half the risk; of a release it is a ratio.

        Args:
            row: Number of the group.
            condition: The condition.
        """
        values, release = condition.values(), self.release
        held_of, all_of = (
            self.groups.weighted(row, condition.scope, each, condition.text) for each in (values, np.ones_like(values))
        )
        if release is None:
            records, held = self.count(row), self.weighted(held_of, 0.5 * self.risk)
            value = min(held.value / max(records.value, 1.0), 1.0)
            if None in (records.low, records.high, held.low, held.high):
                return Estimate(value, None, None)
            low, high = _low(held) / max(_high(records), 1.0), _ratio(_high(held), _low(records))
            return _within(value, low, high, (0.0, 1.0))
        size = max(self.asked.guess(all_of), 1e-300)
        centre = self.asked.guess(held_of) / size
        self.sources["release"] += 1
        both = release.combinations(held_of, all_of)
        bound = cache(lambda x, y: both.bound((x, -x * centre - y), None, self.risk))
        allowed, exact = ratio_set(bound), bound(1.0, 0.0)
        if allowed is None or exact is None:
            return Estimate(centre, None, None)
        return allowed.estimate(centre + exact[2].corrected(0.0) / max(size, 1.0), centre, 1.0, (0.0, 1.0))

    def holding(self, row: int, name: str, attribute: Ordered, share: float = 0.5) -> Estimate:
        """The number of records of a group that hold a number, with a share of the risk."""
        if attribute.size > attribute.ordinary:
            query = self.groups.sum(row, name, _all_of(attribute), f"{name} is a number")
        elif self.release is not None:
            query = self.groups.cell(row)
        else:
            return self.count(row)
        return self.weighted(query, share * self.risk)


def _all_of(attribute: Ordered) -> Floats:
    """The weight 1 of every number."""
    return (np.arange(attribute.size) < attribute.ordinary).astype(np.float64)


def _padded(weights: Floats, attribute: Ordered) -> Floats:
    """Weights of the numbers of a column, and 0 for its other codes."""
    return np.pad(weights, (0, attribute.size - len(weights)))


class GroupNumbers:
    """The numbers of a column in one group.

    Values are the hypothesis' own, which are consistent with each other, moved into the intervals.
    """

    def __init__(self, of: Statement, row: int, name: str, attribute: Ordered) -> None:
        """Take the numbers of the column."""
        self.of = of
        self.row = row
        self.name = name
        self.attribute = attribute
        self.numbers = Numbers.of(attribute, of.release)
        self.first, self.last = float(self.numbers.low[0]), float(self.numbers.high[-1])
        self.span = self.numbers.span

    def sum(self) -> Later:
        """The sum: of a release from one question, if measurements tell it; else from Q and N, see `selection`."""
        if self.of.release is not None and (found := self._told_sum(self.of.release)) is not None:
            return lambda: found
        records, least, most, shown = self._parts(self.first, 0.5)

        def told() -> Estimate:
            value = self.model_sum if shown is None else self.first * records.value + self.span * shown
            if records.low is None or records.high is None or least is None or most is None:
                return Estimate(value, None, None)
            lows = [self.first * each for each in (records.low, records.high)]
            return _within(value, min(lows) + self.span * least, max(lows) + self.span * most, self._possible(records))

        return told

    def _told_sum(self, release: Release) -> Estimate | None:
        """The sum with the interval of one question; None where tables, positions and moments do not tell it."""
        centre = self.model_mean
        bound, moves = self._bounds(release, centre)
        told = bound(1.0, -centre / self.scale)
        if told is None:
            return None
        low, high, evidence = told
        value = evidence.corrected(self.model_sum / self.scale) if moves else self.model_sum / self.scale
        known = self._possible(self._holding)
        return _within(value * self.scale, low * self.scale, high * self.scale, known)

    @cached_property
    def _holding(self) -> Estimate:
        """The number of records that hold a number, with the risk of slacks."""
        return self.of.holding(self.row, self.name, self.attribute, SHARE_OF_SLACK)

    def _possible(self, records: Estimate) -> tuple[float, float]:
        """The least and the largest sum of so many numbers."""
        if records.low is None or records.high is None:
            return -math.inf, math.inf
        counts = records.low, records.high
        return min(self.first * each for each in counts), max(self.last * each for each in counts)

    def mean(self) -> Later:
        """The mean: of a release by the set of all that are allowed, of a session from Q and N."""
        if self.of.release is not None and (found := self._allowed_mean(self.of.release)) is not None:
            return lambda: found
        centre = self.first if self.of.release is None else self.model_mean
        records, least, most, shown = self._parts(centre, 0.5 if self.of.release is None else _SHARE_OF_COUNT)

        def told() -> Estimate:
            value = self.model_mean if shown is None else centre + self.span * shown / max(records.value, 1.0)
            if records.low is None or records.high is None or least is None or most is None:
                return Estimate(value, None, None)
            low = centre + self.span * _ratio(least, records.low if least < 0.0 else max(records.high, 1.0))
            high = centre + self.span * _ratio(most, records.low if most > 0.0 else max(records.high, 1.0))
            return _within(value, low, high, (self.first, self.last))

        return told

    def _allowed_mean(self, release: Release) -> Estimate | None:
        """The mean with the set that tables, positions and moments allow; None where they tell nothing of it."""
        centre = self.model_mean
        bound, moves = self._bounds(release, centre)
        top = bound(1.0, 0.0)
        allowed = None if top is None else ratio_set(bound)
        if allowed is None or top is None:
            return None
        moved = top[2].corrected(0.0) / max(self._holding.value, 1.0) if moves else 0.0
        return allowed.estimate(centre + self.scale * moved, centre, self.scale, (self.first, self.last))

    def _bounds(self, release: Release, centre: float) -> tuple[Bound, bool]:
        """Intervals of x times the sum of what numbers are away from a centre, in spans, less y for each.

        The second says whether the evidence moves the hypothesis' number: not where bins alone are known.
        """
        found = self._told(release, "", centre=centre)
        apart, risk = self._apart(found, 1, centre, (1.0 - SHARE_OF_SLACK) * self.of.risk)
        ends = [(each - centre) / self.scale for each in (self.numbers.low, self.numbers.high)]
        tables = [] if found else ends if self.numbers.wide else ends[:1]
        each_of = [self._sum_of(each, "", centre) for each in (*tables, np.ones(self.attribute.ordinary))]
        alone = release.combinations(*each_of)

        @cache
        def bound(x: float, y: float) -> tuple[float, float, Evidence] | None:
            if found is not None:
                told = [found.ends(risk, x, y)]
            else:
                factors = [[x * (at == own) for at in range(len(tables))] for own in range(len(tables))]
                told = [alone.bound((*each, -y), None, risk / len(tables)) for each in factors]
            first, last = told[0], told[-1]
            if first is None or last is None:
                return None
            slack = x * (apart + _LATTICE * (self._holding.high or 0.0))
            return first[0] - slack, last[1] + slack, first[2]

        return bound, found is not None or not self.numbers.wide

    def summands(self, release: Release) -> Summands:
        """What a record adds to the sum over the column, in spans.

        Args:
            release: The release.
        """
        found = self._told(release, "")
        low, high, beside, apart = self.numbers.low / self.scale, self.numbers.high / self.scale, None, 0.0
        if found is not None:
            found = replace(found, records=None)  # the noisy count of records has a part in one sum at most
            low, beside = found.best()
            high, apart = low, float(found.apart.max(initial=0.0))
        return Summands(self.name, _padded(low, self.attribute), _padded(high, self.attribute), beside, apart)

    def quantile(self, share: float) -> Later:
        """The quantile; see the head of this module."""
        ends = self._searched(share) if self.of.release is None else self._allowed(share, self.of.release)

        def told() -> Estimate:
            wanted, place = self._place(share)
            below = self.of.asked.guess(self._at_most(place - 1)) if place else 0.0
            here = max(self.of.asked.guess(self._at_most(place)) - below, 1e-300)
            value = self.numbers.inside(place, (wanted - below) / here)
            if ends is None:
                return Estimate(value, None, None)
            low, high = float(self.numbers.low[ends[0]]), float(self.numbers.high[ends[1]])
            return _within(value, low, high, (self.first, self.last))

        return told

    def _place(self, share: float) -> tuple[float, int]:
        """The hypothesis' number of records that the quantile reaches, and its code."""
        wanted = share * self.model_records * (1.0 - _ROUNDING)
        last = self.attribute.ordinary - 1
        return wanted, _first(0, last, lambda code: self.of.asked.guess(self._at_most(code)) >= wanted)

    def _allowed(self, share: float, release: Release) -> tuple[int, int] | None:
        """The first and the last code that the intervals of a release allow; None where there are none."""
        ordinary, slack = self.attribute.ordinary, _LATTICE * max(1.0, release.total)
        size = -(-ordinary // MOST_CUTS)
        cuts = [*range(size - 1, ordinary - 1, size), ordinary - 1]
        weights = np.where(np.arange(ordinary) <= np.array(cuts[:-1])[:, None], 1.0 - share, -share)
        texts = [f"{self.name} is at most {self.numbers.high[cut]:g}, less {share:g}" for cut in cuts[:-1]]
        parts = (_padded(each, self.attribute) for each in weights)
        queries = [self.of.groups.sum(self.row, self.name, *each) for each in zip(parts, texts, strict=True)]
        together, risk = release.combinations(*queries), 0.5 * self.of.risk
        lows, highs = [-math.inf], list[float]()
        for query, factors in zip(queries, np.eye(len(queries)), strict=True):
            told = together.bound(factors, None, risk)
            bound = self.of.weighted(query, risk) if told is None else Estimate(0.0, told[0], told[1])
            if bound.low is None or bound.high is None:
                return None
            lows, highs = [*lows, bound.low - slack], [*highs, bound.high + slack]
        possible = np.flatnonzero((np.array([*highs, math.inf]) >= 0.0) & (np.array(lows) < 0.0)).tolist()
        first, last = (possible[0], possible[-1]) if possible else [self._place(share)[1] // size] * 2
        return cuts[first - 1] + 1 if first else 0, cuts[last]

    def _searched(self, share: float) -> tuple[int, int] | None:
        """The first and the last code that a session's answers allow; None if counts have no intervals any more.

        Both searches begin with all codes, so that the places where a search could go wrong depend on the table alone
        (theory.md section 17).
        """
        records = self.of.holding(self.row, self.name, self.attribute)
        if records.low is None or records.high is None:
            return None
        fewest, most, last = records.low, records.high, self.attribute.ordinary - 1
        risk = 0.25 * self.of.risk / steps(last + 1)
        seen: dict[int, Estimate] = {}

        def at_most(code: int) -> Estimate:
            if code not in seen:
                seen[code] = self.of.weighted(self._at_most(code), risk)
            return seen[code]

        lower = _first(0, last, lambda code: _high(at_most(code)) >= share * fewest)
        upper = _first(0, last, lambda code: _low(at_most(code)) >= share * most)
        return None if any(each.low is None for each in seen.values()) else (lower, upper)

    def _parts(self, centre: float, share: float) -> tuple[Estimate, float | None, float | None, float | None]:
        """N, with a share of the risk, and the ends of Q, with the rest, and its value."""
        records = self.of.holding(self.row, self.name, self.attribute, share)
        return records, *self._ends(1, centre, records, (1.0 - share) * self.of.risk)

    def _ends(
        self, power: int, centre: float, records: Estimate, risk: float, offset: float = 0.0
    ) -> tuple[float | None, float | None, float | None]:
        """The ends of the sum of a power of what numbers are away from a centre, less an offset each, and its value.

        Without measured positions, or moments, the members of bins lie anywhere. The value is None where the
        hypothesis alone has one.
        """
        slack = power * _LATTICE * (records.high or 0.0)
        measured = self._measured(power, centre, risk, offset)
        if measured is not None and records.high is not None:
            return measured[0] - slack, measured[1] + slack, measured[2].corrected(self._guess(power, centre, offset))
        wide = self.numbers.wide
        share = risk / 2.0 if wide else risk
        low, high = (self.numbers.low - centre) / self.scale, (self.numbers.high - centre) / self.scale
        if power == 2:
            near = np.maximum(np.maximum(low, -high), 0.0)
            low, high = np.square(near) - offset, np.square(np.maximum(-low, high)) - offset
        of = ("the lower end of ", "the upper end of ") if wide else ("", "")
        first, last = (self._sum_of(*each, centre, power) for each in zip((low, high), of, strict=True))
        lower = self.of.weighted(first, share)
        upper = self.of.weighted(last, share) if wide else lower
        if lower.low is None or upper.high is None or records.high is None:
            return None, None, None
        alone = wide or self.of.release is None
        return lower.low - slack, upper.high + slack, None if alone else lower.value

    def _guess(self, power: int, centre: float, offset: float) -> float:
        """The hypothesis' own sum of a power of what numbers are away from a centre, less an offset each."""
        away = (self.model_mean - centre) / self.scale
        each = away if power == 1 else self._spread / self.scale**2 + away**2 - offset
        return each * self.model_records

    def _measured(self, power: int, centre: float, risk: float, offset: float) -> tuple[float, float, Evidence] | None:
        """The ends of the same from measured positions and moments, and from the tables that help; see `column_sums`.

        The third is the evidence of least variance.

        Positions count from the middles of cells: how far records may be from these is a sum over the bins that has a
        small part of the risk.
        """
        if self.of.release is None:
            return None
        found = self._told(self.of.release, "the middle of ", power, centre, offset)
        if found is None:
            return None
        apart, risk = self._apart(found, power, centre, risk)
        ends = found.ends(risk)
        return None if ends is None else (ends[0] - apart, ends[1] + apart, ends[2])

    def _told(
        self, release: Release, of: str, power: int = 1, centre: float = 0.0, offset: float = 0.0
    ) -> ColumnSums | None:
        """What positions and moments tell of the sum of a power of what numbers are away from a centre."""
        cell, query = self.of.groups.cell(self.row), partial(self._sum_of, of=of, centre=centre, power=power)
        return ColumnSums.of(release, self.name, cell, query, power=power, centre=centre, offset=offset)

    def _apart(self, found: ColumnSums | None, power: int, centre: float, risk: float) -> tuple[float, float]:
        """How far a sum may be from that of the middles of cells, and what is left of the risk."""
        if found is None or not found.apart.any():
            return 0.0, risk
        query = self._sum_of(found.apart, "cells of ", centre, power)
        return _high(self.of.weighted(query, _SHARE_OF_CELLS * risk)), (1.0 - _SHARE_OF_CELLS) * risk

    @property
    def scale(self) -> float:
        """What positions count in: the span, or 1 of a column of one number."""
        return self.span or 1.0

    def variance(self, *, root: bool) -> Later:
        """The variance of the records, or its root; see the head of this module."""
        free = self.of.release is not None
        centre, share, of_mean = (
            (self.model_mean, _SHARE_OF_COUNT, _SHARE_OF_COUNT) if free else (self.first, 0.5, 0.25)
        )
        offset = self._spread / self.scale**2 if free else 0.0
        records = self.of.holding(self.row, self.name, self.attribute, share)
        risk = (1.0 - share) * self.of.risk
        least, most, moved = self._ends(1, centre, records, of_mean * risk)
        smallest, largest, squares = self._ends(2, centre, records, (1.0 - of_mean) * risk, offset)

        def told() -> Estimate:
            value = self._spread
            if moved is not None and squares is not None:
                each = max(records.value, 1.0)
                value = self.span**2 * max(offset + squares / each - (moved / each) ** 2, 0.0)
            found = Estimate(value, None, None)
            ends = (records.low, records.high, least, most, smallest, largest)
            if None not in ends:
                fewest, many, low, high, small, large = (float(end or 0.0) for end in ends)
                many = max(many, 1.0)
                furthest = _ratio(max(-low, high, 0.0), fewest) ** 2
                nearest = _ratio(max(low, -high, 0.0), many) ** 2
                lower = offset + _ratio(small, fewest if small < 0.0 else many) - furthest
                upper = offset + _ratio(large, fewest if large > 0.0 else many) - nearest
                known = 0.0, 0.25 * self.span**2  # of numbers in an interval of this length
                found = _within(value, self.span**2 * lower, self.span**2 * upper, known)
            return found.root() if root else found

        return told

    @cached_property
    def _spread(self) -> float:
        """The hypothesis' own variance."""
        away = (self.numbers.at - self.first) / self.scale
        inside = np.square((self.numbers.high - self.numbers.low) / self.scale) / 12.0
        squares = self.of.asked.guess(self._sum_of(np.square(away) + inside, "", self.first, 2))
        mean = (self.model_mean - self.first) / self.scale
        return self.span**2 * max(0.0, squares / max(self.model_records, 1e-300) - mean**2)

    @cached_property
    def model_mean(self) -> float:
        """The hypothesis' own mean."""
        away = (self.numbers.at - self.first) / self.scale
        moved = self.of.asked.guess(self._sum_of(away, "", self.first))
        return self.first + self.span * min(max(moved / max(self.model_records, 1e-300), 0.0), 1.0)

    @property
    def model_sum(self) -> float:
        """The hypothesis' own sum."""
        return self.model_mean * self.model_records

    @cached_property
    def model_records(self) -> float:
        """The hypothesis' number of records of the group that hold a number."""
        text = f"{self.name} is a number"
        return self.of.asked.guess(self.of.groups.sum(self.row, self.name, _all_of(self.attribute), text))

    def _sum_of(self, weights: Floats, of: str, centre: float, power: int = 1) -> LinearQuery:
        """The sum of weights of numbers, which are powers of what these are away from a centre, in spans."""
        text = f"sum of ({of}{self.name} - {centre:g}) / {self.span:g}{' squared' if power == 2 else ''}"
        return self.of.groups.sum(self.row, self.name, _padded(weights, self.attribute), text)

    def _at_most(self, code: int) -> LinearQuery:
        text = f"{self.name} is at most {self.numbers.high[code]:g}"
        return self.of.groups.sum(self.row, self.name, np.arange(self.attribute.size) <= code, text)


def steps(size: int) -> int:
    """Questions of a search by halving."""
    return max(1, math.ceil(math.log2(max(2, size))))


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first place where a condition holds that, once true, stays so; the last one if it does nowhere."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _ratio(part: float, whole: float) -> float:
    """A ratio; of what cannot be divided, one that is beyond all numbers on its side."""
    return part / whole if whole > 0.0 else math.copysign(math.inf, part)


def _low(found: Estimate) -> float:
    return -math.inf if found.low is None else found.low


def _high(found: Estimate) -> float:
    return math.inf if found.high is None else found.high


def _within(value: float, low: float, high: float, known: tuple[float, float]) -> Estimate:
    """A number in its interval, as far as that lies where the number is known to be; else in all of this range."""
    low, high = max(min(low, high), known[0]), min(max(low, high), known[1])
    if low > high:
        low, high = known
    return Estimate(min(max(value, low), high), low, high)
