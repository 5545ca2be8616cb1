"""An evaluation for people: a table of the main figures, one column for each file, and a page with drawings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.evaluation.measures import ANY

if TYPE_CHECKING:
    from hedgerow.domain import Scale
    from hedgerow.evaluation.evaluation import Evaluation
    from hedgerow.evaluation.finding import Finding
    from hedgerow.evaluation.tables import Curve
    from hedgerow.report import Section

NOT_PRIVATE = "NOT PRIVATE: these are exact figures of the real table. Do not publish them if it is private."
_WORST = 15
"""Tables that are listed, those farthest off first."""


def title_of(found: Evaluation) -> str:
    """The title of the summary."""
    return f"NOT PRIVATE: synthetic records beside the {found.real_records:,} of {found.real}"


def headings_of(found: Evaluation) -> list[str]:
    """Headings of the summary: the measure, the synthetic files."""
    return ["measure", *found.files]


def rows_of(found: Evaluation) -> list[list[str]]:
    """The main figures, one row each; those of real records in parentheses."""
    rows = [["records", *(f"{found.records[file]:,}" for file in found.files)]]
    for family, curve in found.curves.items():
        rows.append([f"k-marginal score, {family}", *_figures(found, "score", family, _score)])
        rows.append(["  as close as", *_figures(found, "subsample", family, partial(sample_text, curve=curve))])
    shown: tuple[tuple[str, Callable[[float], str]], ...] = (
        ("difference of correlations", _three),
        ("pMSE", _three),
        ("pMSE ratio", _three),
        ("AUC", _three),
        ("accuracy", _three),
        ("exact matches", _percent),
    )
    for measure, text in shown:
        for subject in dict.fromkeys(finding.subject for finding in found.of(measure)):
            rows.append([f"{measure}, {subject}", *_figures(found, measure, subject, text)])
    if found.of("impossible records"):
        rows.append(["impossible records", *_figures(found, "impossible records", ANY, _percent)])
    return rows


def sample_text(share: float, curve: Curve) -> str:
    """A share of the real records in words.

    Example:
        >>> from hedgerow.evaluation.tables import Curve
        >>> curve = Curve((0.01, 0.1), (700.0, 850.0))
        >>> sample_text(0.1234, curve), sample_text(float("nan"), curve)
        ('a 12 % sample', 'less than a 1 % sample')
    """
    if math.isnan(share):
        return f"less than a {100 * curve.fractions[0]:.2g} % sample"
    return f"a {100 * share:.2g} % sample" if share < 0.995 else "the whole table"


def _figures(found: Evaluation, measure: str, subject: str, text: Callable[[float], str]) -> list[str]:
    of_file = {finding.file: finding for finding in found.of(measure) if finding.subject == subject}
    return [_cell(of_file[file], text) if file in of_file else "" for file in found.files]


def _cell(each: Finding, text: Callable[[float], str]) -> str:
    real = "" if math.isnan(each.real) else f" ({text(each.real)})"
    return f"{text(each.value)}{real}"


def _score(value: float) -> str:
    return f"{value:.0f}"


def _three(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}" if abs(value) >= 100 else f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:,.6g}"


def page_of(found: Evaluation) -> str:
    """The HTML page; see `Evaluation.write_page`."""
    from hedgerow.report import render_evaluation

    facts = {
        "real table": found.real,
        "records": f"{found.real_records:,}",
        "columns": str(len(found.columns)),
        "synthetic files": str(len(found.files)),
    }
    return render_evaluation(
        title="Synthetic records beside the real ones", facts=facts, notes=found.notes, sections=list(_sections(found))
    )


def _sections(found: Evaluation) -> Iterator[Section]:
    from hedgerow.report import Section

    yield Section(
        "In short",
        "Scores run from 0 to 1000: 1000 less a thousand times the mean total variation distance of all tables of one, "
        "two or three columns, numbers in bins of equally many real records. A random sample of so many of the real "
        "records scores as much. Figures of real records are in parentheses.",
        headings_of(found),
        rows_of(found),
    )
    yield from _curve_section(found)
    yield from _column_section(found)
    yield from _pair_section(found)
    yield from _groups_section(found)
    yield from _quantile_section(found)
    yield from _rules_section(found)


def _curve_section(found: Evaluation) -> Iterator[Section]:
    from hedgerow.report import Section, samples_plot

    shares, scores = _by_subject(found, "subsample"), _by_subject(found, "score")
    curves = {
        name: [*zip(curve.fractions, curve.scores, strict=True), (1.0, 1000.0)] for name, curve in found.curves.items()
    }
    dots = {
        name: {file: (_least(shares[name][file], found.curves[name]), scores[name][file]) for file in found.files}
        for name in curves
    }
    yield Section(
        "As close as which sample",
        "The line has the scores of random samples of the real table; a file stands where a sample scores as much, and "
        "at the left end where even the smallest sample scores more.",
        drawings=[samples_plot(curves, dots)],
    )


def _least(share: float, curve: Curve) -> float:
    return curve.fractions[0] if math.isnan(share) else share


def _column_section(found: Evaluation) -> Iterator[Section]:
    from hedgerow.report import Section, dots_plot

    measures = ("total variation, 1-way", "total variation, pairs with", "difference of distributions")
    by_name = {measure: _by_subject(found, measure) for measure in measures}
    alone = by_name[measures[0]]
    worst = sorted(found.columns, key=lambda name: -max(alone[name].values()))
    headings = ["column", *(f"{what}, {file}" for what in ("alone", "in pairs", "numbers") for file in found.files)]
    rows = [
        [name, *(_three(by_name[m].get(name, {}).get(file, math.nan)) for m in measures for file in found.files)]
        for name in worst
    ]
    drawn = worst[:40]
    values = {file: [alone[name][file] for name in drawn] for file in found.files}
    yield Section(
        "Columns",
        "Total variation distance of each column alone, its mean over the pairs that the column is in, and for numbers "
        "the largest difference of the distribution functions. 0 is equal, 1 has nothing in common.",
        headings,
        rows,
        [dots_plot(drawn, values, "total variation distance")],
    )


def _by_subject(found: Evaluation, measure: str) -> dict[str, dict[str, float]]:
    by_subject: dict[str, dict[str, float]] = {}
    for finding in found.of(measure):
        by_subject.setdefault(finding.subject, {})[finding.file] = finding.value
    return by_subject


def _pair_section(found: Evaluation) -> Iterator[Section]:
    from hedgerow.report import Section, matrix_plot

    if "2-way" not in found.curves:
        return
    places = {name: place for place, name in enumerate(found.columns)}
    drawings = []
    darkest = max(finding.value for finding in found.of("total variation, 2-way")) or 1.0
    for file in found.files:
        cells = np.full((len(found.columns), len(found.columns)), np.nan)
        for finding in found.of("total variation, 2-way", file):
            one, other = (places[name] for name in finding.columns)
            cells[one, other] = cells[other, one] = finding.value
        drawings.append(matrix_plot(found.columns, cells, file, "total variation distance of pairs", darkest))
    pairs: dict[tuple[str, ...], dict[str, float]] = {}
    for finding in found.of("total variation, 2-way"):
        pairs.setdefault(finding.columns, {})[finding.file] = finding.value
    worst = sorted(pairs, key=lambda pair: -max(pairs[pair].values()))[:_WORST]
    rows = [[" x ".join(pair), *(_three(pairs[pair][file]) for file in found.files)] for pair in worst]
    yield Section(
        "Pairs of columns",
        "Darker is farther off; the pairs that are farthest off are listed.",
        ["pair", *found.files],
        rows,
        drawings,
    )


def _groups_section(found: Evaluation) -> Iterator[Section]:
    from hedgerow.report import Section, dots_plot

    scores = _by_subject(found, "score of the subgroup")
    if not scores:
        return
    subjects = list(scores)
    rows = [
        [
            subject,
            *_figures(found, "share of the records", subject, _percent),
            *_figures(found, "score of the subgroup", subject, _score_or_none),
        ]
        for subject in subjects
    ]
    yield Section(
        "Subgroups",
        "Share of the records that each subgroup has, the real table's in parentheses, and the score over pairs of the "
        "other columns inside it.",
        ["subgroup", *(f"share, {file}" for file in found.files), *(f"score, {file}" for file in found.files)],
        rows,
        [dots_plot(subjects, {file: [scores[subject][file] for subject in subjects] for file in found.files}, "score")],
    )


def _score_or_none(value: float) -> str:
    return "-" if math.isnan(value) else _score(value)


def _quantile_section(found: Evaluation) -> Iterator[Section]:
    from hedgerow.report import Section

    subjects = {finding.subject: finding.columns[0] for finding in found.of("quantile")}
    rows = [
        [subject, *_figures(found, "quantile", subject, _number_on(found.scales.get(column)))]
        for subject, column in subjects.items()
    ]
    if rows:
        yield Section(
            "Quantiles of numbers",
            "The smallest number that at least the share of the numbers does not pass; the real one in parentheses.",
            ["quantile", *found.files],
            rows,
        )


def _number_on(scale: Scale | None) -> Callable[[float], str]:
    """Function that shows numbers: as dates and times where they count steps of a scale."""
    if scale is None:
        return _number
    return lambda value: "-" if math.isnan(value) else scale.text(round(value))


def _rules_section(found: Evaluation) -> Iterator[Section]:
    from hedgerow.report import Section

    measure = "impossible records"
    subjects = [finding.subject for finding in found.of(measure, found.files[0])]
    rows = [[subject, *_figures(found, measure, subject, _percent)] for subject in subjects]
    if rows:
        text = "Share of the records that break each rule of the domain; the real table's in parentheses."
        yield Section("Impossible records", text, ["rule", *found.files], rows)
