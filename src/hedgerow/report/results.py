"""The uses of a release in a statistician's words: the first part of its report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from hedgerow.domain import Categorical, caveats_in_words
from hedgerow.privacy import membership_guess
from hedgerow.quantities import at_most
from hedgerow.queries import Relation
from hedgerow.release import (
    MOST_LISTED,
    Association,
    ColumnSummary,
    Estimate,
    Knowledge,
    Release,
    associations,
    column_summaries,
    pair_knowledge,
    release_warnings,
    survey_size,
)

MOST_COLUMNS = 60
"""Columns that the page tells about one by one."""
MOST_ASSOCIATIONS = 12
MOST_OF_MATRIX = 40
"""Columns whose pairs are drawn."""

_KNOWN = {
    Knowledge.MEASURED: ("was measured", "were measured"),
    Knowledge.PART: (
        "was measured in part (at a coarser level, or by single questions)",
        "were measured in part (at a coarser level, or by single questions)",
    ),
    Knowledge.IMPLIED: (
        "follows from others, and may be wrong where the data hold more than those say",
        "follow from others, and may be wrong where the data hold more than those say",
    ),
    Knowledge.UNKNOWN: (
        "is unknown: the release takes its columns for independent, whatever the truth is",
        "are unknown: the release takes their columns for independent, whatever the truth is",
    ),
}
"""Clauses about one pair and about several."""


@dataclass(frozen=True)
class Results:
    """The results of a release, all from noisy values and public facts.

    Attributes:
        release: The release.
        confidence: Confidence of its intervals, each by itself.

    Example:
        >>> Results.share(0.0314), Results.share(0.96), Results.people(3412.0)
        ('3.14%', '96%', '3,400')
    """

    release: Release
    confidence: float

    @staticmethod
    def share(value: float) -> str:
        """A share in percent, with three digits."""
        return f"{100.0 * value:.3g}%"

    @staticmethod
    def people(value: float) -> str:
        """A number of people, with two digits."""
        return f"{float(f'{value:.2g}'):,.0f}"

    @cached_property
    def columns(self) -> list[ColumnSummary]:
        """Summaries of the first columns."""
        listed = [a.name for a in self.release.domain.attributes[:MOST_COLUMNS] if a.size <= MOST_LISTED]
        return column_summaries(self.release, listed, self.confidence)

    @cached_property
    def knowledge(self) -> dict[tuple[str, str], Knowledge]:
        """Origin of what is known about each pair; empty where nothing was measured but the number of records."""
        return pair_knowledge(self.release) if self.release.measurements else {}

    @cached_property
    def strongest(self) -> list[Association]:
        """The strongest associations."""
        return associations(self.release, self.confidence)[:MOST_ASSOCIATIONS] if self.knowledge else []

    @cached_property
    def survey(self) -> str:
        """The error of the workload as a survey of so many people; empty where none was estimated."""
        size = survey_size(self.release, self.confidence)
        if size is None:
            return ""
        low, high = map(self.people, size)
        people = low if low == high else f"{low} to {high}"
        unit = "people" if self.release.budget.neighbours.unfiltered.persons is None else "records"
        return (
            f"Tables of the workload are about as accurate as those of a random sample of {people} of the "
            f"{self.people(self.release.total)} {unit}."
        )

    @cached_property
    def pairs(self) -> list[str]:
        """Clauses about the pairs of columns, one for each kind of knowledge."""
        counts = Counter(self.knowledge.values())
        return [f"{counts[kind]:,} {_KNOWN[kind][counts[kind] > 1]}" for kind in Knowledge if counts[kind]]

    @cached_property
    def noisy(self) -> list[str]:
        """Names of the columns that are noise for the most part."""
        return [column.attribute.name for column in self.columns if column.noisy]

    @cached_property
    def warnings(self) -> list[str]:
        """Warnings about columns, and shares at the end of their intervals."""
        ends = []
        for column in self.columns:
            share = column.share
            if share.low is not None and share.high is not None and share.value in (share.low, share.high):
                ends.append(column.attribute.name)
        listed = release_warnings(self.release)
        if ends:
            listed.append(
                f"{', '.join(ends)}: the share of the most frequent value lies at the end of its "
                "interval, where the hypothesis and a measurement disagree; an interval misses more often there"
            )
        return listed

    @property
    def guess(self) -> str:
        """The guarantee as odds."""
        release = self.release
        odds = (
            "who knows all records but one person's, and gives even odds to two candidates for that one"
            if release.budget.neighbours.relation is Relation.REPLACE
            else "who knows the whole table but for one person, and gives even odds to this person being in it"
        )
        right = f"{at_most(100.0 * membership_guess(release.budget), 3)}%"
        sentence = (
            f"Take someone {odds}. Whatever they compute from this release, their guess is right with a probability "
            f"of at most {right}; without the release it is 50%."
        )
        sentence += caveats_in_words(release.domain)
        return sentence if release.provenance.secure else f"{release.provenance.stamp}. With secure noise: {sentence}"

    def interval(self, column: ColumnSummary, estimate: Estimate) -> str:
        """The interval of a number of a column; empty where there is none."""
        low, high = column.ends(estimate)
        if not low:
            return ""
        return low if low == high else f"{low} to {high}"

    def interval_of_share(self, estimate: Estimate) -> str:
        """The interval of a share; empty where there is none."""
        if estimate.low is None or estimate.high is None:
            return ""
        return f"{self.share(estimate.low)} to {self.share(estimate.high)}"

    def values_beyond_noise(self, column: ColumnSummary) -> str:
        """The number of a column's values that are there beyond noise, and their share of the records."""
        if not column.measured:
            return "not measured"
        if column.told is None or column.certain is None:
            return "too many values to say"
        return f"{column.told:,} of {column.attribute.size:,}, with {self.share(column.certain)} of the records"

    @property
    def numeric(self) -> list[ColumnSummary]:
        """Columns with numbers, dates or other values in order."""
        return [column for column in self.columns if not isinstance(column.attribute, Categorical)]
