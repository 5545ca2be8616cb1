"""Summaries of columns: means, quartiles, common values, how much of them is noise, and warnings about bins.

Everything follows from the hypothesis and from the noise of what was measured. The intervals are for the numbers of
the private table:

- **Mean and quartiles.** Those of ``SELECT AVG(x), QUANTILE(x, 0.25) ...``: see ``selection``.
- **Shares.** Two counts, whose intervals ``answer`` derives, one divided by the other.
- **The most frequent value.** Noise takes part in its choice, and in that of the values that are told to be there: the
  intervals of the counts of all values hold at once, each of which may miss with an equal part of the risk.

Members of a bin may lie anywhere in it; see ``numbers``.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Attribute, Binned, Categorical, IntegerRange, Ordered
from hedgerow.quantities import outward
from hedgerow.queries import Aggregate, Conjunction, Groups, Selection
from hedgerow.release.answer import Answer, check_confidence
from hedgerow.release.numbers import Estimate, Numbers
from hedgerow.release.release import Release
from hedgerow.release.selection import select_from

QUARTILES = (0.25, 0.5, 0.75)
MOST_LISTED = 1 << 20
"""The counts of a column of more values are not listed, but asked for range by range."""
MOST_VALUES = 1000
"""A column of more values is not looked at value by value."""
_SHARE_OF_COUNT = 0.05
"""Share of the risk of a share's interval that goes to the number that is divided by."""

_ROUNDING = 1e-6
"""Parts of a step that are rounding, by far: an end this near to a step is shown as that step."""
_LEFT = 0.5
"""Share of the budget whose remaining is worth a word."""
_MISPLACED, _CONFIDENCE = 0.25, 0.95
"""Share of the records in wrong cells that is worth a word, and the confidence that there are as many."""
_NEARLY_ALL = 0.95
"""Share of the records beyond which a bin says next to nothing."""
_MANY = 0.5
"""Share of the records with the other value that is worth a word."""


@dataclass(frozen=True)
class ColumnSummary:
    """The summary of one column of a release.

    Attributes:
        attribute: The column.
        mean: Mean of its numbers, in steps of its scale if it has one; None for a column without order.
        quartiles: The first quartile, the median and the third quartile, likewise; empty for a column without order.
        common: Code of its most frequent value.
        share: Share of the records that hold it.
        told: Number of its values whose true count is above 0 by their interval, all of them at once; None where there
            are too many values to look at one by one.
        certain: Share of the hypothesis' records that hold one of these; None likewise.
        measured: Whether a measurement tells the counts of its values.
        apart: What the synthetic records have beyond the interval of the table: "mean", "share" or both.

    Example:
        >>> import hedgerow
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("age", 0, 9),))
        >>> table = hedgerow.Table(domain, [np.arange(5000) % 10])
        >>> mechanism, budget = hedgerow.MWEM(rounds=1), hedgerow.PureDP(1.0)
        >>> workload = hedgerow.Workload.marginals(domain, 1)
        >>> release = mechanism.run(table, workload, budget, noise=hedgerow.SeededNoise(0))
        >>> age = column_summaries(release)[0]
        >>> age.mean.low < 4.5 < age.mean.high, age.text(age.quartiles[1].value), age.told
        (True, '5', 10)
    """

    attribute: Attribute
    mean: Estimate | None
    quartiles: tuple[Estimate, ...]
    common: int
    share: Estimate
    told: int | None
    certain: float | None
    measured: bool
    apart: tuple[str, ...] = ()

    @property
    def noisy(self) -> bool:
        """Whether most records hold values that noise alone could have put there."""
        return not self.measured or (self.certain is not None and self.certain < 0.5)

    def text(self, number: float) -> str:
        """A number of the column as text, on its scale if it has one.

        Args:
            number: The number, in steps of the scale.
        """
        attribute = self.attribute
        if attribute.scale is not None:
            return attribute.scale.text(round(number))
        return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"

    def ends(self, estimate: Estimate) -> tuple[str, str]:
        """The ends of an interval as texts, rounded outward; empty where there is none.

        Args:
            estimate: A number of the column, in steps of the scale.
        """
        attribute = self.attribute
        if estimate.low is None or estimate.high is None:
            return "", ""
        if attribute.scale is not None:
            low, high = math.floor(estimate.low + _ROUNDING), math.ceil(estimate.high - _ROUNDING)
            return attribute.scale.text(low), attribute.scale.text(high)
        return outward(estimate.low, estimate.high, max(abs(estimate.low), abs(estimate.high)) >= 10_000)


def column_summaries(
    release: Release, names: Iterable[str] | None = None, confidence: float = 0.95
) -> list[ColumnSummary]:
    """Summaries of the columns of a release; they cost no budget.

    Args:
        release: The release.
        names: Names of attributes; by default all of them that have at most a million values.
        confidence: Probability, over the noise of the run, with which each interval by itself covers the number of the
            private table.

    Returns:
        One summary for each attribute.

    Raises:
        DomainError: There is no attribute of a name.
        ConfigError: The confidence is not between 0 and 1.
    """
    check_confidence(confidence)
    listed = [attribute.name for attribute in release.domain.attributes if attribute.size <= MOST_LISTED]
    attributes = [release.domain[name] for name in (listed if names is None else names)]
    tables = release.hypothesis.marginals([(attribute.name,) for attribute in attributes])
    return [_summary(release, a, table, confidence) for a, table in zip(attributes, tables, strict=True)]


def _summary(release: Release, attribute: Attribute, counts: Floats, confidence: float) -> ColumnSummary:
    common = int(np.argmax(counts))
    told = certain = None
    if attribute.size <= MOST_VALUES:
        risk = check_confidence(confidence) / attribute.size
        answers = [_count(release, attribute, code, counts, risk) for code in range(attribute.size)]
        sure = [code for code, answer in enumerate(answers) if answer.low is not None and answer.low > 0.0]
        told, certain = len(sure), float(counts[sure].sum()) / max(float(counts.sum()), 1e-300)
    mean: Estimate | None = None
    quartiles: tuple[Estimate, ...] = ()
    if isinstance(attribute, IntegerRange | Binned) and counts[: attribute.ordinary].sum() > 0.0:
        mean, *rest = _numbers(release, attribute, confidence)
        quartiles = tuple(rest)
    share = _share(release, attribute, common, counts, confidence)
    drawn = {"share": (share, float(counts[common]) / max(1.0, release.stands_for))}
    if mean is not None and isinstance(attribute, IntegerRange | Binned):
        numbers, held = Numbers.of(attribute, release), counts[: attribute.ordinary]
        drawn["mean"] = mean, float(numbers.at @ held) / float(held.sum()) / numbers.unit
    apart = tuple(name for name, (told_of, each) in drawn.items() if not _holds(told_of, each))
    return ColumnSummary(attribute, mean, quartiles, common, share, told, certain, share.low is not None, apart)


def _holds(estimate: Estimate, number: float) -> bool:
    """Whether an interval, if there is one, holds a number, but for rounding."""
    if estimate.low is None or estimate.high is None:
        return True
    slack = _ROUNDING * max(abs(estimate.low), abs(estimate.high))
    return estimate.low - slack <= number <= estimate.high + slack


def _share(release: Release, attribute: Attribute, code: int, counts: Floats, confidence: float) -> Estimate:
    risk = check_confidence(confidence)
    total = release.bound(Conjunction.where(release.domain, {}), release.total, 1.0 - _SHARE_OF_COUNT * risk)
    count = _count(release, attribute, code, counts, (1.0 - _SHARE_OF_COUNT) * risk / attribute.size)
    value = count.value / max(1.0, release.stands_for)
    if count.low is None or count.high is None or total.low is None or total.high is None:
        return Estimate(value, None, None)
    low, high = count.low / max(1.0, total.high), min(1.0, count.high / max(1.0, total.low))
    return Estimate(min(max(value, low), high), low, high)


def _count(release: Release, attribute: Attribute, code: int, counts: Floats, risk: float) -> Answer:
    query = Conjunction.where(release.domain, {attribute.name: [code]})
    return release.bound(query, float(counts[code]), 1.0 - risk)


def _numbers(release: Release, attribute: Ordered, confidence: float) -> list[Estimate]:
    """The mean and the quartiles of all numbers of a column, in steps."""
    groups = Groups(release.domain, (), Conjunction.where(release.domain, {}))
    quartiles = [Aggregate("quantile", attribute.name, share) for share in QUARTILES]
    wanted = Selection(groups, (Aggregate("mean", attribute.name), *quartiles), "")
    unit = Numbers.of(attribute).unit
    (row,) = select_from(release, wanted, confidence).cells
    return [estimate.over(unit) for estimate in row]


def release_warnings(release: Release) -> list[str]:
    """Sentences about what was left unspent, errors that leave little, and columns of hardly any information.

    Nearly all records share one bin of such a column, or many have the other value of it.

    Args:
        release: The release; only its hypothesis is looked at, so they cost no budget.
    """
    columns = [column for column in release.domain.columns if isinstance(column, Binned) or column.other is not None]
    tables = release.hypothesis.marginals([(column.name,) for column in columns]) if columns else []
    warnings = ((column.name, _warning(column, table)) for column, table in zip(columns, tables, strict=True))
    return [*_of_the_whole(release), *(f"{name}: {warning}" for name, warning in warnings if warning)]


def _of_the_whole(release: Release) -> Iterator[str]:
    """What the noisy error and the ledger say of the whole release."""
    left = 1.0 - release.spent / release.budget.limit
    if left > _LEFT:
        yield f"{left:.0%} of the budget is not spent: the mechanism stopped before, and the rest bought no accuracy"
    error, families = release.error, release.workload.families
    known = error is not None and (error.unit is not None or all(family.whole for family in families))
    if error is None or not known or not all(family.tabular for family in families):
        return
    low = (error.unit or 1.0) * error.mean_interval(_CONFIDENCE)[0] * release.workload.n_candidates
    tables = sum(len(family.scopes) for family in families)
    misplaced = 0.5 * low / (tables * release.total) if release.total > 0 else 0.0
    if misplaced > _MISPLACED:
        yield (
            f"by the estimated error at least {min(1.0, misplaced):.0%} of the records are in the wrong cell of an "
            "average table: spend more, ask for fewer or smaller tables, or take another mechanism"
        )


def _warning(attribute: Attribute, counts: Floats) -> str:
    total = float(counts.sum())
    if total <= 0:
        return ""
    if attribute.other_code is not None and counts[attribute.other_code] > _MANY * total:
        remedy = "list more values" if isinstance(attribute, Categorical) else "widen the bounds"
        if isinstance(attribute, Categorical) and attribute.learnt:
            remedy = (
                "few of its labels are in many records, so hardly anything was learnt of it; if it holds numbers or "
                "dates, give their bounds, and how they are written, in a domain file"
            )
        return f"by noisy counts most records have the value {attribute.other!r}; {remedy}"
    if not isinstance(attribute, Binned):
        return ""
    ordinary = counts[: attribute.ordinary]
    code = int(np.argmax(ordinary))
    single = attribute.whole and len(set(attribute.whole_bounds(code))) == 1
    if single or ordinary[code] <= _NEARLY_ALL * ordinary.sum():
        return ""
    return (
        f"by noisy counts one bin, {attribute.label(code)}, holds nearly all records, and numbers inside it were not "
        "told apart; cut it into more bins before you spend more"
    )
