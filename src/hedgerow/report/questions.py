"""The questions that a release can answer, each with the width of its interval, and those that it cannot.

Widths follow from the noise of what was measured, and from the numbers of the release: nothing else is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hedgerow.privacy import membership_guess
from hedgerow.quantities import at_most
from hedgerow.queries import Conjunction
from hedgerow.release import ColumnSummary, Estimate, Knowledge, Release
from hedgerow.report.plots import shortened

MOST_WIDTHS = 400
"""Pairs whose widths are looked at; beyond, every second, third ... stands for all."""
_NAMED = 6
"""Columns that are named in one answer."""


@dataclass(frozen=True)
class Question:
    """A kind of question about the private table.

    Attributes:
        text: The question.
        example: One of its kind, about columns of the release; may be empty.
        answer: Half the width of its interval, or why it has none.
        answered: Whether the release answers it.
    """

    text: str
    example: str
    answer: str
    answered: bool


def questions_of(
    release: Release,
    columns: Sequence[ColumnSummary],
    knowledge: Mapping[tuple[str, str], Knowledge],
    confidence: float,
) -> list[Question]:
    """The kinds of questions that a release answers, and those that it does not.

    Args:
        release: The release.
        columns: Summaries of its columns.
        knowledge: What it knows of each pair of columns; empty where nothing was measured.
        confidence: Confidence of each interval.
    """
    pairs = [pair for pair, known in knowledge.items() if known is Knowledge.MEASURED]
    cells = {
        pair: width
        for pair in _some(pairs)
        if (width := release.half_width(_cell(release, pair), confidence)) is not None
    }
    asked = [_records(release, confidence), *_one_column(release, columns, confidence)]
    if cells:
        low, high = min(cells.values()), max(cells.values())
        of = f"; {len(pairs):,} of the {len(knowledge):,} pairs of columns were measured"
        asked.append(
            _can("How many have given values in two columns?", _example(release, pairs[0]), _span(low, high) + of)
        )
    asked += _numbers(columns)
    widths = list(cells.values()) or [
        width
        for each in columns
        if (width := release.half_width(_cell(release, (each.attribute.name,)), confidence)) is not None
    ]
    return [*asked, *_unanswered(release, columns, knowledge, min(widths, default=None))]


def _unanswered(
    release: Release,
    columns: Sequence[ColumnSummary],
    knowledge: Mapping[tuple[str, str], Knowledge],
    noise: float | None,
) -> list[Question]:
    """What a release cannot tell, and why."""
    out = [
        Question(
            "Is a given person in the table?",
            "",
            f"A guess is right at most {at_most(100.0 * membership_guess(release.budget), 3)}% of the time",
            False,
        )
    ]
    if noise is not None:
        text = f"How large is a group of fewer than about {_records_text(noise)} records?"
        out.append(Question(text, "", "Noise alone can look like such a group", False))
    for kind, answer in _NOT_MEASURED.items():
        found = [pair for pair, known in knowledge.items() if known is kind]
        if found:
            many = f"{len(found):,} {'pair' if len(found) == 1 else 'pairs'}"
            text = f"How do two columns go together that were {_WORDS[kind]}?"
            out.append(Question(text, f"{' and '.join(found[0])}", f"{many}: {answer}", False))
    noisy = [each.attribute.name for each in columns if each.noisy]
    if noisy:
        text = "Which values are rare or frequent in a column that is mostly noise?"
        out.append(Question(text, "", f"Noise for the most part: {_listed(noisy, len(noisy))}", False))
    return out


_WORDS = {
    Knowledge.PART: "measured in part",
    Knowledge.IMPLIED: "not measured together",
    Knowledge.UNKNOWN: "not connected by any measurement",
}
_NOT_MEASURED = {
    Knowledge.PART: "a coarser level or single questions were measured, and finer detail is a guess",
    Knowledge.IMPLIED: "what the release says follows from other pairs, and may be wrong",
    Knowledge.UNKNOWN: "the release takes them for independent, whatever the truth is",
}


def _can(text: str, example: str, answer: str) -> Question:
    return Question(text, example, answer, True)


def _records(release: Release, confidence: float) -> Question:
    found = release.bound(Conjunction.where(release.domain, {}), release.total, confidence)
    if found.low is None or found.high is None:
        return Question("How many records are there?", "", "It was not measured", False)
    half = (found.high - found.low) / 2.0
    return _can(
        "How many records are there?",
        "",
        f"\u00b1{_records_text(half)} records" if half else "exact: the number is public",
    )


def _one_column(release: Release, columns: Sequence[ColumnSummary], confidence: float) -> list[Question]:
    """Counts of single values, in the columns that were measured."""
    names = [each.attribute.name for each in columns if each.measured]
    widths = {
        name: width for name in names if (width := release.half_width(_cell(release, (name,)), confidence)) is not None
    }
    if not widths:
        return []
    answer = f"{_span(min(widths.values()), max(widths.values()))}; {len(widths)} of {len(columns)} columns"
    return [_can("How many have a given value in one column?", _example(release, (next(iter(widths)),)), answer)]


def _numbers(columns: Sequence[ColumnSummary]) -> list[Question]:
    """Means and medians of columns of numbers, as far as they have an interval."""
    asked = []
    for what, chosen in (
        ("mean", [(each, each.mean) for each in columns if each.mean is not None]),
        ("median", [(each, each.quartiles[1]) for each in columns if each.quartiles]),
    ):
        known = [text for column, number in chosen if (text := _within(column, number))]
        if known:
            asked.append(_can(f"What is the {what} of a column of numbers?", "", _listed(known, _NAMED)))
    return asked


def _within(column: ColumnSummary, number: Estimate) -> str:
    """A column and its interval; dates and times have no half-width, so both ends are shown."""
    low, high = column.ends(number)
    return f"{column.attribute.name} {low if low == high else f'{low} to {high}'}" if low else ""


def _cell(release: Release, names: Sequence[str]) -> Conjunction:
    """The cell of the middle codes, which stands for all."""
    return Conjunction.where(release.domain, {name: [release.domain[name].size // 2] for name in names})


def _example(release: Release, names: Sequence[str]) -> str:
    return shortened(_cell(release, names).text, 60)


def _some(pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    return pairs[:: -(-len(pairs) // MOST_WIDTHS)] if pairs else pairs


def _span(low: float, high: float) -> str:
    ends = dict.fromkeys(f"\u00b1{_records_text(end)}" for end in (low, high))
    return f"{' to '.join(ends)} records"


def _records_text(value: float) -> str:
    """A number of records with two digits, rounded up."""
    return f"{float(at_most(value, 2)):,.6g}"


def _listed(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return "; ".join(names[:most]) + (f"; and {more} more" if more > 0 else "")
