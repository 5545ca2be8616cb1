"""Tables of counts, sums, means and quantiles by group, from answers to counting questions.

Whoever answers counting questions with intervals, a session or a release, answers statements through `select`. All
counts of the groups are one question; the rest are weighted counts with weights in [0, 1], so that a record moves each
of them by at most 1:

- **Sum.** In a release one question. Else let a column have numbers in [a, b], N records of the group hold one, and Q
  be the sum of ``(x - a) / (b - a)`` over them. The sum is ``a N + (b - a) Q``, and its interval that of the two
  together, each of which may miss with half the risk. Of a record in a bin x is known up to the ends of the bin: the
  lower end of Q is that of the sum over the lower ends of bins, the upper end that of the sum over the upper ends, and
  each may miss with half of Q's risk.
- **Mean, share of records that meet a condition, ratio of two sums.** In a release the set of all t for which the
  interval of ``top - t bottom``, one question, holds 0 (`ratios`). A session pays for each question: its mean is
  ``a + (b - a) Q / N``, and the ends are those of the ratio, likewise.
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import pyarrow as pa

from hedgerow.arrays import Floats
from hedgerow.domain import Domain, Ordered
from hedgerow.errors import QueryError
from hedgerow.queries import (
    Aggregate,
    Groups,
    LinearQuery,
    Neighbours,
    Selection,
    columns_of,
    parse_select,
)
from hedgerow.release.answer import NOTHING, check_confidence, each_of, left_uncounted
from hedgerow.release.column_sums import places_told
from hedgerow.release.correlations import QUESTIONS, Correlation
from hedgerow.release.group_numbers import (
    SHARE_OF_SLACK,
    SPREADS,
    CountAnswerer,
    GroupNumbers,
    Later,
    Statement,
    steps,
)
from hedgerow.release.numbers import Estimate, Numbers
from hedgerow.release.quotients import Quotient
from hedgerow.release.ratios import ratio_set
from hedgerow.release.release import MOST_TOGETHER, Release

MOST_QUESTIONS = 2_000
"""Questions that one statement may lead to, all counts of its groups being one of them."""


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


def check_selection(selection: Selection, most: int = MOST_QUESTIONS, *, of_data: bool = False) -> int:
    """Refuse a statement that leads to too many questions, or to one that is too large, before any is asked.

    Args:
        selection: The statement.
        most: Questions that it may lead to.
        of_data: Whether the questions may go to the data, which answer neither correlations nor ratios.

    Returns:
        The most questions that it leads to; all counts of its groups are one.

    Raises:
        QueryError: It is refused.

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
    for kind, name in (("correlation", "CORR"), ("ratio", "a ratio of sums")) if of_data else ():
        if any(column.kind == kind for column in selection.columns):
            raise QueryError(f"{name} is not answered from the data", remedy="make a release, and ask it")
    for column in selection.columns:
        selection.groups.scope_with(*column.about)
    asked = 1 + sum(rows * _questions(domain, column) for column in selection.columns)
    if asked > most:
        raise QueryError(
            f"the statement leads to {asked:,} questions, and at most {most:,} are asked",
            remedy="group by fewer or coarser columns, or ask for fewer quantiles",
        )
    return asked


def _questions(domain: Domain, column: Aggregate) -> int:
    if column.kind == "count":
        return 0
    if column.kind == "correlation":
        return QUESTIONS
    if column.kind in ("share", "ratio"):
        return 1 if column.kind == "share" else 2
    attribute = domain[column.name]
    missing = int(attribute.size > attribute.ordinary)
    if column.kind == "quantile" or not isinstance(attribute, Ordered):
        return missing + 3 * steps(attribute.ordinary)
    return missing + (1 + Numbers.of(attribute).wide) * (2 if column.kind in SPREADS else 1)


def select(
    selection: Selection, asked: CountAnswerer, confidence: float, neighbours: Neighbours | None = None
) -> Selected:
    """Answer a statement.

    Args:
        selection: The statement.
        asked: The one who answers its questions.
        confidence: Confidence of each interval on its own.
        neighbours: The relation, which names the persons and weights of the table.

    Raises:
        QueryError: It leads to too many questions.
        ConfigError: The confidence is not between 0 and 1.
    """
    check_selection(selection, of_data=True)
    found = _answered(selection, asked, confidence, None)
    if neighbours is None or found.covers == NOTHING:
        return found
    return replace(found, covers=found.covers + left_uncounted(neighbours))


def _answered(
    selection: Selection, asked: CountAnswerer, confidence: float, release: Release | None, *, joint: bool = False
) -> Selected:
    check_selection(selection)
    joint = joint or selection.is_chosen  # else the intervals of rows that came out high would hold less often
    number = selection.groups.size * len(selection.columns) if joint else 1
    risk = check_confidence(each_of(confidence, number))
    selecting = _Selecting(selection, asked, risk, release)
    rows = [[selecting.cell(row, column) for column in selection.columns] for row in range(selection.groups.size)]
    cells = tuple(tuple(cell() for cell in row) for row in rows)
    headings = tuple(column.heading for column in selection.columns)
    held = f"{100 * confidence:.6g}% confidence {f'for all {number:,} together' if joint else 'each'}"
    covers = _covers(selection, cells, held, release)
    if release is not None and covers != NOTHING:
        covers += release.left_uncounted
    told = _in_order(selection, cells)
    labels = tuple(selection.groups.labels[row] for row in told)
    cells = tuple(cells[row] for row in told)
    return Selected(selection.names, headings, labels, cells, dict(selecting.sources), confidence, covers)


def _in_order(selection: Selection, cells: tuple[tuple[Estimate, ...], ...]) -> list[int]:
    """The rows that are told, in their order: labels in the order of the domain, and what has no value last."""
    told, names = list(range(len(cells))), len(selection.names)
    for place, descends in reversed(selection.order):
        if place < names:
            key: list[float] = [float(code) for code in selection.groups.codes[place]]
        else:
            last = -math.inf if descends else math.inf
            key = [last if math.isnan(row[place - names].value) else row[place - names].value for row in cells]
        told.sort(key=key.__getitem__, reverse=descends)
    return told[: selection.limit]


def _power(column: Aggregate) -> int:
    return 2 if column.kind in SPREADS else 1


def _covers(selection: Selection, cells: tuple[tuple[Estimate, ...], ...], held: str, release: Release | None) -> str:
    """What the intervals of a statement hold, what they leave out, and the columns whose bins make them wide."""
    if all(cell.low is None for row in cells for cell in row):
        return NOTHING
    domain = selection.groups.domain
    attributes = [
        domain[name] for name in dict.fromkeys(filter(None, (n for c in selection.columns for n in (c.name, c.other))))
    ]
    counted = "the number of the private table as it was counted" if release is None else release.covered
    said = [f"{counted}, with {held}"]
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
        statement: ``SELECT ... FROM table ...`` (see ``parse_select``), about a table of any
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
        >>> import numpy as np
        >>> table = hedgerow.Table(domain, [np.arange(5000) % 2, np.arange(5000) % 10])
        >>> mechanism, workload = hedgerow.MWEM(rounds=1), hedgerow.Workload.marginals(domain, 2)
        >>> release = mechanism.run(table, workload, hedgerow.PureDP(5.0), noise=hedgerow.SeededNoise(0))
        >>> found = select_from(release, "SELECT sex, AVG(age) FROM people GROUP BY sex")
        >>> [(row["sex"], round(row["AVG(age)"], 1)) for row in found.to_dicts()]
        [('F', 4.0), ('M', 5.0)]
    """
    read = parse_select(statement, release.domain) if isinstance(statement, str) else statement
    return _answered(read, _Release(release, read), confidence, release, joint=joint)


class _Selecting(Statement):
    """One statement while it is answered, a cell after the other."""

    def cell(self, row: int, column: Aggregate) -> Later:
        if column.kind == "count" or column.condition is not None:
            found = self.count(row) if column.condition is None else self.share(row, column.condition)
            return lambda: found
        if column.kind == "correlation" and self.release is not None:
            pair = Correlation.of(self.release, self.groups, row, (column.name, column.other))
            return partial(pair.estimate, self.weighted, self.risk)
        number = self._numbers(row, column.name)
        if column.kind == "ratio" and self.release is not None:
            ratio = self._ratio(row, number, self._numbers(row, column.other), self.release)
            return lambda: ratio
        if column.kind in SPREADS:
            return number.variance(root=column.kind == "deviation")
        if column.kind == "mean":
            return number.mean()
        return number.quantile(column.share) if column.kind == "quantile" else number.sum()

    def _ratio(self, row: int, top: GroupNumbers, bottom: GroupNumbers, release: Release) -> Estimate:
        """The sum of one column divided by that of another."""
        records = self.weighted(self.groups.cell(row), SHARE_OF_SLACK * self.risk)
        first, second = (each.model_mean * each.model_records / each.scale for each in (top, bottom))
        centre, unit = first / second if second else 0.0, top.scale / bottom.scale
        if records.high is None:
            return Estimate(unit * centre, None, None)
        parts, risk = (top.summands(release), bottom.summands(release)), (1.0 - SHARE_OF_SLACK) * self.risk
        quotient = Quotient(release, self.groups, row, parts, records.high, risk)
        bound = cache(lambda x, y: quotient.bound(x, y + x * centre))
        allowed, exact = ratio_set(bound), bound(1.0, 0.0)
        if allowed is None or exact is None:
            return Estimate(unit * centre, None, None)
        moved = exact[2].corrected(0.0) / second if exact[2].noises and second else 0.0
        least = 0.0 if min(top.first, bottom.first) >= 0.0 else -math.inf
        return allowed.estimate(unit * (centre + moved), unit * centre, unit, (least, math.inf))

    def _numbers(self, row: int, name: str) -> GroupNumbers:
        attribute = self.groups.domain[name]
        if not isinstance(attribute, Ordered):
            raise QueryError(f"{name!r} has no numbers", remedy="name a numeric column")
        return GroupNumbers(self, row, name, attribute)


def estimates(values: Floats, low: Floats | None, high: Floats | None) -> list[Estimate]:
    """Arrays of values and ends as a list.

    Example:
        >>> import numpy as np
        >>> estimates(np.array([3.0]), None, None)
        [Estimate(value=3.0, low=None, high=None)]
    """
    if low is None or high is None:
        return [Estimate(value, None, None) for value in values.tolist()]
    ends: Sequence[Sequence[float]] = [values.tolist(), low.tolist(), high.tolist()]
    return [Estimate(*each) for each in zip(*ends, strict=True)]
