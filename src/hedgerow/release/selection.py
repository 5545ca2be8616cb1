"""Tables of counts, sums, means and quantiles by group, from answers to counting questions.

Whoever answers counting questions with intervals, a session or a release, answers statements through `select`. All
counts of the groups are one question; the rest are weighted counts with weights in [0, 1], so that a record moves each
of them by at most 1:

- **Sum.** Let a column have numbers in [a, b], N records of the group hold one, and Q be the sum of
  ``(x - a) / (b - a)`` over them. The sum is ``a N + (b - a) Q``, and its interval that of the two together, each of
  which may miss with half the risk. Of a record in a bin x is known up to the ends of the bin: the lower end of Q is
  that of the sum over the lower ends of bins, the upper end that of the sum over the upper ends, and each may miss with
  half of Q's risk.
- **Mean.** ``c + (b - a) Q / N``, Q with c in place of a; the ends are those of the ratio, likewise. A session has to
  ask with weights that are the same each time, so c is a. Answers of a release are free: c is the mean of its own
  hypothesis, so that the error of N hardly matters, and N may miss with a twentieth of the risk.
- **Variance.** ``(b - a)^2 (s + R / N - (Q / N)^2)``, R being the sum of ``((x - c) / (b - a))^2 - s``: Q may miss
  with a quarter of the risk that N leaves, R with the rest. The deviation is its root. A session takes s = 0. A release
  takes the variance of its own hypothesis, so that the error of N hardly matters, and Q may miss with a twentieth.
- **Correlation.** From a release alone; see `correlations`.
- **Value.** A release tells Q and R as its hypothesis has them, corrected by what was measured of them
  (`Evidence.corrected`); the number follows as above.
- **Quantile q.** The first number t with ``P(t) >= q N``, P(t) being the number of records at or below t. Both ends are
  searched by halving: t lies below the lower end if the intervals of P(t) and N leave ``P(t) >= q N`` impossible, and
  from the upper end on it is certain. N may miss with half the risk, and each P(t) that is looked at with an equal part
  of the rest. In a release D(t) = P(t) - q N is one question, and free: ``D(t) >= 0 > D(t - 1)`` at the quantile, so of
  the t on a public grid those are left whose intervals allow both. Two intervals decide, each with half the risk.

Beside sums, means or quantiles a session's counts of the groups have half the risk too: they are asked for once. Other
values are the hypothesis' own when all questions were asked, moved into their intervals.

The numbers of a column are bounded because its domain is. The value of a column in bins counts them where the records
of a release have their mean, in a session at the middle of their bin (see ``numbers``).
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Floats
from hedgerow.domain import Domain, Ordered
from hedgerow.errors import QueryError
from hedgerow.queries import (
    Aggregate,
    Groups,
    LinearQuery,
    Selection,
    columns_of,
    parse_select,
)
from hedgerow.release.answer import NOTHING, check_confidence, each_of, left_uncounted
from hedgerow.release.column_sums import ColumnSums, places_told
from hedgerow.release.correlations import QUESTIONS, Correlation
from hedgerow.release.evidence import Evidence
from hedgerow.release.numbers import Estimate, Numbers
from hedgerow.release.release import MOST_TOGETHER, Release

Later = Callable[[], Estimate]
"""A number whose questions were asked: its value is the hypothesis' when all questions of its statement were."""
MOST_QUESTIONS = 2_000
"""Questions that one statement may lead to, all counts of its groups being one of them."""
MOST_CUTS = 128
"""Places at which the distribution of a release's column is looked at for a quantile: ages and hours one by one."""
_SHARE_OF_COUNT = 0.05
"""Share of the risk of a release's mean that goes to the number that is divided by, which is known far better."""
_SHARE_OF_CELLS = 0.02
"""Share of the risk of a sum that goes to how far numbers are from the middles of the cells of their bins."""
_SPREADS = ("variance", "deviation")
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


@dataclass(frozen=True)
class Selected:
    """The answer of a statement.

    Attributes:
        names: The columns of GROUP BY.
        headings: Names of the aggregates.
        labels: Values of the groups, one tuple for each row.
        cells: The aggregates with their intervals, one tuple for each row.
        sources: Number of questions that each source answered; all counts of the groups are one question.
        confidence: Probability of each interval to cover the truth.
        covers: What each interval holds, in words.
        charged: Charge to the ledger for all of it; 0 for a release.

    Example:
        >>> found = Selected(("sex",), ("n",), (("F",),), ((Estimate(3.0, 1.0, 5.0),),), {"data": 1}, 0.95, "the count")
        >>> found.to_dicts()
        [{'sex': 'F', 'n': 3.0, 'n low': 1.0, 'n high': 5.0}]
    """

    names: tuple[str, ...]
    headings: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    cells: tuple[tuple[Estimate, ...], ...]
    sources: Mapping[str, int]
    confidence: float
    covers: str
    charged: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: each aggregate with the ends of its interval."""
        return columns_of(self.names, self.headings)

    @property
    def rows(self) -> list[tuple[str | float | None, ...]]:
        """The rows, in the order of `columns`."""
        cells = ([end for cell in row for end in (cell.value, cell.low, cell.high)] for row in self.cells)
        return [(*labels, *row) for labels, row in zip(self.labels, cells, strict=True)]

    def to_dicts(self) -> list[dict[str, str | float | None]]:
        """The rows as mappings from columns to values."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table.

        Example:
            >>> Selected((), ("n",), ((),), ((Estimate(3.0, None, None),),), {}, 0.95, "").to_arrow().column_names
            ['n', 'n low', 'n high']
        """
        kinds = [pa.string()] * len(self.names) + [pa.float64()] * (3 * len(self.headings))
        columns = list(zip(*self.rows, strict=True))
        arrays = [pa.array(column, type=kind) for column, kind in zip(columns, kinds, strict=True)]
        return pa.table(arrays, names=list(self.columns))


def check_selection(selection: Selection, most: int = MOST_QUESTIONS) -> None:
    """Refuse a statement that leads to too many questions, or to one that is too large, before any is asked.

    Args:
        selection: The statement.
        most: Questions that it may lead to.

    Raises:
        QueryError: It does.

    Example:
        >>> from hedgerow import IntegerRange
        >>> from hedgerow.queries import parse_select
        >>> domain = Domain((IntegerRange("a", 0, 4095), IntegerRange("b", 0, 199)))
        >>> check_selection(parse_select("SELECT b, MEDIAN(a) FROM t GROUP BY b", domain))
        Traceback (most recent call last):
        hedgerow.errors.QueryError: the statement leads to 7,201 questions, and at most 2,000 are asked
          Remedy: group by fewer or coarser columns, or ask for fewer quantiles
    """
    domain, rows = selection.groups.domain, selection.groups.size
    for column in selection.columns:
        if column.name:
            selection.groups.scope_with(column.name, column.other)
    asked = 1 + sum(rows * _questions(domain, column) for column in selection.columns)
    if asked > most:
        raise QueryError(
            f"the statement leads to {asked:,} questions, and at most {most:,} are asked",
            remedy="group by fewer or coarser columns, or ask for fewer quantiles",
        )


def _questions(domain: Domain, column: Aggregate) -> int:
    if column.kind == "count":
        return 0
    if column.kind == "correlation":
        return QUESTIONS
    attribute = domain[column.name]
    missing = int(attribute.size > attribute.ordinary)
    if column.kind == "quantile" or not isinstance(attribute, Ordered):
        return missing + 3 * _steps(attribute.ordinary)
    return missing + (1 + Numbers.of(attribute).wide) * (2 if column.kind in _SPREADS else 1)


def select(selection: Selection, asked: CountAnswerer, confidence: float) -> Selected:
    """Answer a statement.

    Args:
        selection: The statement.
        asked: The one who answers its questions.
        confidence: Confidence of each interval on its own.

    Raises:
        QueryError: It leads to too many questions.
        ConfigError: The confidence is not between 0 and 1.
    """
    if any(column.kind == "correlation" for column in selection.columns):
        raise QueryError("CORR is not answered from the data", remedy="make a release, and ask it")
    return _answered(selection, asked, confidence, None)


def _answered(
    selection: Selection, asked: CountAnswerer, confidence: float, release: Release | None, *, joint: bool = False
) -> Selected:
    check_selection(selection)
    number = selection.groups.size * len(selection.columns) if joint else 1
    risk = check_confidence(each_of(confidence, number))
    selecting = _Selecting(selection, asked, risk, release)
    rows = [[selecting.cell(row, column) for column in selection.columns] for row in range(selection.groups.size)]
    cells = tuple(tuple(cell() for cell in row) for row in rows)
    headings = tuple(column.heading for column in selection.columns)
    held = f"{100 * confidence:.6g}% confidence {f'for all {number:,} together' if joint else 'each'}"
    covers = _covers(selection, cells, held, release)
    if release is not None and covers != NOTHING:
        covers += left_uncounted(release.budget.neighbours)
    return Selected(
        selection.groups.names, headings, selection.groups.labels, cells, dict(selecting.sources), confidence, covers
    )


def _power(column: Aggregate) -> int:
    return 2 if column.kind in _SPREADS else 1


def _covers(selection: Selection, cells: tuple[tuple[Estimate, ...], ...], held: str, release: Release | None) -> str:
    """What the intervals of a statement hold, what they leave out, and the columns whose bins make them wide."""
    if all(cell.low is None for row in cells for cell in row):
        return NOTHING
    domain = selection.groups.domain
    attributes = [
        domain[name] for name in dict.fromkeys(filter(None, (n for c in selection.columns for n in (c.name, c.other))))
    ]
    said = [f"the number of the private table as it was counted, with {held}"]
    if outside := [each.name for each in attributes if each.other_code is not None]:
        said.append(f"values of {', '.join(outside)} beyond the bounds are left out")
    loose = {
        name
        for column in selection.columns
        for name in (column.name, column.other)
        if release is None
        or column.kind in ("quantile", "correlation")
        or (column.name and not places_told(release, column.name, selection.groups.cell(0), _power(column)))
    }
    of_bins = [each for each in attributes if isinstance(each, Ordered) and Numbers.of(each).wide]
    if wide := [each.name for each in of_bins if each.name in loose]:
        said.append(
            f"of {', '.join(wide)} bins are known, and no places in them: the intervals hold wherever in the bins the "
            "values lie. Narrower bins where most records are would make them narrower"
        )
    return "; ".join(said)


class _Release:
    """A release as one who answers counting questions."""

    def __init__(self, release: Release, selection: Selection) -> None:
        self._release = release
        few = selection.groups.size * len(selection.columns) <= MOST_TOGETHER
        self._together = few and all(column.kind != "quantile" for column in selection.columns)

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        answer = self._release.answer(query, confidence, together=self._together)
        return Estimate(answer.value, answer.low, answer.high), "release"

    def guess(self, query: LinearQuery) -> float:
        return self._release.value(query)

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        return [self.count(groups.cell(row), confidence)[0] for row in range(groups.size)], "release"


def select_from(
    release: Release, statement: str | Selection, confidence: float = 0.95, *, joint: bool = False
) -> Selected:
    """Answer a statement from a release: counts by groups, sums, means and quantiles. It costs no budget.

    Args:
        release: The release.
        statement: ``SELECT ... FROM table [WHERE ...] [GROUP BY ...]`` (see ``parse_select``), about a table of any
            name; or what was read from one.
        confidence: Confidence of each interval on its own, or of all of them.
        joint: Whether all intervals of the table hold together with the confidence, as they should where somebody
            publishes the table, or looks for its largest number.

    Raises:
        QueryError: The statement is not supported (the error names what is), or leads to too many questions.
        ConfigError: The confidence is not between 0 and 1.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain((hedgerow.Categorical("sex", ("F", "M")), hedgerow.IntegerRange("age", 0, 9)))
        >>> table = hedgerow.Table(domain, [np.arange(5000) % 2, np.arange(5000) % 10])
        >>> mechanism, workload = hedgerow.MWEM(rounds=1), hedgerow.Workload.marginals(domain, 2)
        >>> release = mechanism.run(table, workload, hedgerow.PureDP(5.0), noise=hedgerow.SeededNoise(0))
        >>> found = select_from(release, "SELECT sex, AVG(age) FROM people GROUP BY sex")
        >>> [(row["sex"], round(row["AVG(age)"], 1)) for row in found.to_dicts()]
        [('F', 4.0), ('M', 5.0)]
    """
    read = parse_select(statement, release.domain) if isinstance(statement, str) else statement
    return _answered(read, _Release(release, read), confidence, release, joint=joint)


class _Selecting:
    """One statement while it is answered."""

    def __init__(self, selection: Selection, asked: CountAnswerer, risk: float, release: Release | None) -> None:
        self.groups: Groups = selection.groups
        self.columns = selection.columns
        self.asked = asked
        self.risk = risk
        self.release = release
        self.sources: Counter[str] = Counter()
        self._counts: list[Estimate] = []

    def cell(self, row: int, column: Aggregate) -> Later:
        if column.kind == "count":
            count = self._count(row)
            return lambda: count
        attribute = self.groups.domain[column.name]
        if not isinstance(attribute, Ordered):
            raise QueryError(f"{column.name!r} has no numbers", remedy="name a numeric column")
        if column.kind == "correlation" and self.release is not None:
            pair = Correlation.of(self.release, self.groups, row, (column.name, column.other))
            return partial(pair.estimate, self.weighted, self.risk)
        number = _Column(self, row, column.name, attribute)
        if column.kind == "quantile":
            return number.quantile(column.share)
        if column.kind in _SPREADS:
            return number.variance(root=column.kind == "deviation")
        return number.mean() if column.kind == "mean" else number.sum()

    def _count(self, row: int) -> Estimate:
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
        estimate, source = self.asked.count(query, 1.0 - risk)
        self.sources[source] += 1
        return estimate

    def holding(self, row: int, name: str, attribute: Ordered, share: float = 0.5) -> Estimate:
        """The number of records of a group that hold a number, with a share of the risk."""
        if attribute.size > attribute.ordinary:
            query = self.groups.sum(row, name, _all_of(attribute), f"{name} is a number")
        elif self.release is not None:
            query = self.groups.cell(row)
        else:
            return self._count(row)
        return self.weighted(query, share * self.risk)


def _all_of(attribute: Ordered) -> Floats:
    """The weight 1 of every number."""
    return (np.arange(attribute.size) < attribute.ordinary).astype(np.float64)


def _padded(weights: Floats, attribute: Ordered) -> Floats:
    """Weights of the numbers of a column, and 0 for its other codes."""
    return np.pad(weights, (0, attribute.size - len(weights)))


class _Column:
    """The numbers of a column in one group.

    Values are the hypothesis' own, which are consistent with each other, moved into the intervals.
    """

    def __init__(self, of: _Selecting, row: int, name: str, attribute: Ordered) -> None:
        self.of = of
        self.row = row
        self.name = name
        self.attribute = attribute
        self.numbers = Numbers.of(attribute, of.release)
        self.first, self.last = float(self.numbers.low[0]), float(self.numbers.high[-1])
        self.span = self.numbers.span

    def sum(self) -> Later:
        records, least, most, shown = self._parts(self.first, 0.5)

        def told() -> Estimate:
            value = self._value * self._all if shown is None else self.first * records.value + self.span * shown
            if records.low is None or records.high is None or least is None or most is None:
                return Estimate(value, None, None)
            lows, highs = ([end * count for count in (records.low, records.high)] for end in (self.first, self.last))
            return _within(
                value, min(lows) + self.span * max(0.0, least), min(max(lows) + self.span * most, max(highs))
            )

        return told

    def mean(self) -> Later:
        free = self.of.release is not None
        centre = self._value if free else self.first
        records, least, most, shown = self._parts(centre, _SHARE_OF_COUNT if free else 0.5)

        def told() -> Estimate:
            value = self._value if shown is None else centre + self.span * shown / max(records.value, 1.0)
            if records.low is None or records.high is None or least is None or most is None:
                return Estimate(value, None, None)
            low = centre + self.span * _ratio(least, records.low if least < 0.0 else max(records.high, 1.0))
            high = centre + self.span * _ratio(most, records.low if most > 0.0 else max(records.high, 1.0))
            return _within(value, max(low, self.first), min(high, self.last))

        return told

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
            return _within(value, float(self.numbers.low[ends[0]]), float(self.numbers.high[ends[1]]))

        return told

    def _place(self, share: float) -> tuple[float, int]:
        """The hypothesis' number of records that the quantile reaches, and its code."""
        wanted = share * self._all * (1.0 - _ROUNDING)
        last = self.attribute.ordinary - 1
        return wanted, _first(0, last, lambda code: self.of.asked.guess(self._at_most(code)) >= wanted)

    def _allowed(self, share: float, release: Release) -> tuple[int, int] | None:
        """The first and the last code that the intervals of a release allow; None where there are none."""
        ordinary, slack = self.attribute.ordinary, _LATTICE * max(1.0, release.total)
        size = -(-ordinary // MOST_CUTS)
        cuts = [*range(size - 1, ordinary - 1, size), ordinary - 1]
        lows, highs = [-math.inf], list[float]()
        for cut in cuts[:-1]:
            weights = np.zeros(self.attribute.size)
            weights[:ordinary] = np.where(np.arange(ordinary) <= cut, 1.0 - share, -share)
            text = f"{self.name} is at most {self.numbers.high[cut]:g}, less {share:g}"
            query, risk = self.of.groups.sum(self.row, self.name, weights, text), 0.5 * self.of.risk
            told = release.bound_with(query, None, risk)
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
        risk = 0.25 * self.of.risk / _steps(last + 1)
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
        low, high = (self.numbers.low - centre) / self._scale, (self.numbers.high - centre) / self._scale
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
        away = (self._value - centre) / self._scale
        each = away if power == 1 else self._spread / self._scale**2 + away**2 - offset
        return each * self._all

    def _measured(self, power: int, centre: float, risk: float, offset: float) -> tuple[float, float, Evidence] | None:
        """The ends of the same from measured positions and moments, and from the tables that help; see `column_sums`.

        The third is the evidence of least variance.

        Positions count from the middles of cells: how far records may be from these is a sum over the bins that has a
        small part of the risk.
        """
        if self.of.release is None:
            return None
        cell = self.of.groups.cell(self.row)
        found = ColumnSums.of(self.of.release, self.name, cell, power=power, centre=centre, offset=offset)
        if found is None:
            return None
        apart = 0.0
        if found.apart.any():
            query = self._sum_of(found.apart, "cells of ", centre, power)
            apart, risk = _high(self.of.weighted(query, _SHARE_OF_CELLS * risk)), (1.0 - _SHARE_OF_CELLS) * risk
        ends = found.ends(lambda weights: self._sum_of(weights, "the middle of ", centre, power), risk)
        return None if ends is None else (ends[0] - apart, ends[1] + apart, ends[2])

    @property
    def _scale(self) -> float:
        return self.span or 1.0

    def variance(self, *, root: bool) -> Later:
        """The variance of the records, or its root; see the head of this module."""
        free = self.of.release is not None
        centre, share, of_mean = (self._value, _SHARE_OF_COUNT, _SHARE_OF_COUNT) if free else (self.first, 0.5, 0.25)
        offset = self._spread / self._scale**2 if free else 0.0
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
                upper = min(upper, 0.25)  # of numbers in an interval of length 1
                found = _within(value, self.span**2 * max(lower, 0.0), self.span**2 * max(upper, 0.0))
            return found.root() if root else found

        return told

    @cached_property
    def _spread(self) -> float:
        """The hypothesis' own variance."""
        away = (self.numbers.at - self.first) / self._scale
        inside = np.square((self.numbers.high - self.numbers.low) / self._scale) / 12.0
        squares = self.of.asked.guess(self._sum_of(np.square(away) + inside, "", self.first, 2))
        mean = (self._value - self.first) / self._scale
        return self.span**2 * max(0.0, squares / max(self._all, 1e-300) - mean**2)

    @cached_property
    def _value(self) -> float:
        """The hypothesis' own mean."""
        away = (self.numbers.at - self.first) / self._scale
        moved = self.of.asked.guess(self._sum_of(away, "", self.first))
        return self.first + self.span * min(max(moved / max(self._all, 1e-300), 0.0), 1.0)

    @cached_property
    def _all(self) -> float:
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


def _steps(size: int) -> int:
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


def _within(value: float, low: float, high: float) -> Estimate:
    low, high = min(low, high), max(low, high)
    return Estimate(min(max(value, low), high), low, high)


def estimates(values: Floats, low: Floats | None, high: Floats | None) -> list[Estimate]:
    """Arrays of values and ends as a list.

    Example:
        >>> estimates(np.array([3.0]), None, None)
        [Estimate(value=3.0, low=None, high=None)]
    """
    if low is None or high is None:
        return [Estimate(value, None, None) for value in values.tolist()]
    ends: Sequence[Sequence[float]] = [values.tolist(), low.tolist(), high.tolist()]
    return [Estimate(*each) for each in zip(*ends, strict=True)]
