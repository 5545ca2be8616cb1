"""An evaluation for people: a table of the main figures, one column for each file, and a page with drawings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.evaluation.measures import ANY
from hedgerow.report import dots_plot, exact_page, matrix_plot, samples_plot

if TYPE_CHECKING:
    from hedgerow.domain import Scale
    from hedgerow.evaluation.evaluation import Evaluation
    from hedgerow.evaluation.finding import Finding
    from hedgerow.evaluation.tables import Curve
NOT_PRIVATE = "NOT PRIVATE: these are exact figures of the real table. Do not publish them if it is private."
_WORST = 15
"""Pairs that are listed, those farthest off first."""
_DRAWN = 40
"""Columns that are drawn, those farthest off first."""


def title_of(evaluation: Evaluation) -> str:
    """The title of the summary."""
    return f"NOT PRIVATE: synthetic records beside the {evaluation.real_records:,} of {evaluation.real}"


def headings_of(evaluation: Evaluation) -> list[str]:
    """Headings of the summary: the measure, the synthetic files."""
    return ["measure", *evaluation.files]


def rows_of(evaluation: Evaluation) -> list[list[str]]:
    """The main figures, one row each; those of real records in parentheses."""
    rows = [["records", *(f"{evaluation.records[file]:,}" for file in evaluation.files)]]
    scores, shares = _by_subject(evaluation, "score"), _by_subject(evaluation, "subsample")
    for family, curve in evaluation.curves.items():
        rows.append([f"k-marginal score, {family}", *_cells(evaluation, scores[family], _score)])
        rows.append(["  as close as", *_cells(evaluation, shares[family], partial(sample_text, curve=curve))])
    for measure in ("difference of correlations", "pMSE", "pMSE ratio", "AUC", "accuracy", "exact matches"):
        text = _percent if measure == "exact matches" else _three
        for subject, findings in _by_subject(evaluation, measure).items():
            rows.append([f"{measure}, {subject}", *_cells(evaluation, findings, text)])
    if impossible := _by_subject(evaluation, "impossible records").get(ANY):
        rows.append(["impossible records", *_cells(evaluation, impossible, _percent)])
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


def _by_subject(evaluation: Evaluation, measure: str) -> dict[str, dict[str, Finding]]:
    """The figures of a measure by subject and file."""
    by_subject: dict[str, dict[str, Finding]] = {}
    for finding in evaluation.of(measure):
        by_subject.setdefault(finding.subject, {})[finding.file] = finding
    return by_subject


def _cells(evaluation: Evaluation, findings: Mapping[str, Finding], text: Callable[[float], str]) -> list[str]:
    """One cell for each file: its figure, and that of real records in parentheses."""
    cells = []
    for file in evaluation.files:
        finding = findings.get(file)
        real = "" if finding is None or math.isnan(finding.real) else f" ({text(finding.real)})"
        cells.append("" if finding is None else f"{text(finding.value)}{real}")
    return cells


def _score(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0f}"


def _three(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}" if abs(value) >= 100 else f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _on_scale(value: float, scale: Scale | None) -> str:
    """A number, as a date or a time where numbers count steps of a scale."""
    return "-" if math.isnan(value) else f"{value:,.6g}" if scale is None else scale.text(round(value))


def verdicts_of(evaluation: Evaluation) -> list[tuple[str, dict[str, str]]]:
    """A verdict in words for each file, the closest first, and the three or four figures behind it.

    Args:
        evaluation: The evaluation; the widest tables that it looked at decide.
    """
    family, curve = list(evaluation.curves.items())[-1]
    scores, shares = (_by_subject(evaluation, measure)[family] for measure in ("score", "subsample"))
    impossible = _by_subject(evaluation, "impossible records").get(ANY, {})
    copies = next(iter(_by_subject(evaluation, "exact matches").values()), {})
    verdicts = []
    for file in sorted(evaluation.files, key=lambda file: -scores[file].value):
        sample = sample_text(shares[file].value, curve)
        text = f"{file} is as close to the real table as {sample} of its records, by the {family} score"
        facts = {f"{family} score, of 1000": _score(scores[file].value), "as close as": sample}
        for name, findings in (("impossible records", impossible), ("exact copies of real records", copies)):
            if file in findings:
                real = findings[file].real
                beside = "" if math.isnan(real) else f" (real: {_percent(real)})"
                facts[name] = f"{_percent(findings[file].value)}{beside}"
        if file in impossible and impossible[file].value > 0.0:
            text += f"; {_percent(impossible[file].value)} of its records are impossible"
        verdicts.append((f"{text}.", facts))
    return verdicts


def page_of(evaluation: Evaluation) -> str:
    """The HTML page; see `Evaluation.write_page`."""
    facts = {
        "real table": evaluation.real,
        "records": f"{evaluation.real_records:,}",
        "columns": str(len(evaluation.columns)),
        "synthetic files": str(len(evaluation.files)),
    }
    impossible = _by_subject(evaluation, "impossible records")
    return exact_page(
        "evaluation.html",
        "Synthetic records beside the real ones",
        facts,
        evaluation.notes,
        verdicts=verdicts_of(evaluation),
        files=list(evaluation.files),
        rows=rows_of(evaluation),
        samples=_samples(evaluation),
        columns=_columns(evaluation),
        pairs=_pairs(evaluation) if "2-way" in evaluation.curves else None,
        subgroups=_subgroups(evaluation),
        quantiles=_quantiles(evaluation),
        impossible=[[rule, *_cells(evaluation, findings, _percent)] for rule, findings in impossible.items()],
    )


def _samples(evaluation: Evaluation) -> str:
    """The scores of samples and of the files, drawn."""
    shares, scores = _by_subject(evaluation, "subsample"), _by_subject(evaluation, "score")
    lines: dict[str, list[tuple[float, float]]] = {}
    dots: dict[str, dict[str, tuple[float, float]]] = {}
    for family, curve in evaluation.curves.items():
        lines[family] = [*zip(curve.fractions, curve.scores, strict=True), (1.0, 1000.0)]
        dots[family] = {}
        for file in evaluation.files:
            share = shares[family][file].value
            left = curve.fractions[0] if math.isnan(share) else share
            dots[family][file] = left, scores[family][file].value
    return samples_plot(lines, dots)


def _columns(evaluation: Evaluation) -> dict[str, Any]:
    """The table of columns, those farthest off first, and these drawn."""
    measures = {
        "alone": _by_subject(evaluation, "total variation, 1-way"),
        "in pairs": _by_subject(evaluation, "total variation, pairs with"),
        "numbers": _by_subject(evaluation, "difference of distributions"),
    }
    alone = measures["alone"]
    worst = sorted(evaluation.columns, key=lambda name: -max(finding.value for finding in alone[name].values()))
    rows = []
    for name in worst:
        findings = [of.get(name, {}).get(file) for of in measures.values() for file in evaluation.files]
        rows.append([name, *("-" if finding is None else _three(finding.value) for finding in findings)])
    drawn = worst[:_DRAWN]
    values = {file: [alone[name][file].value for name in drawn] for file in evaluation.files}
    headings = ["column", *(f"{measure}, {file}" for measure in measures for file in evaluation.files)]
    return {"headings": headings, "rows": rows, "drawing": dots_plot(drawn, values, "total variation distance")}


def _pairs(evaluation: Evaluation) -> dict[str, Any]:
    """The table of pairs that are farthest off, and all pairs of each file drawn."""
    pairs = _by_subject(evaluation, "total variation, 2-way")
    worst_of = {pair: max(finding.value for finding in findings.values()) for pair, findings in pairs.items()}
    places = {name: place for place, name in enumerate(evaluation.columns)}
    drawings = []
    for file in evaluation.files:
        distances = np.full((len(places), len(places)), np.nan)
        for finding in evaluation.of("total variation, 2-way", file):
            one, other = (places[name] for name in finding.columns)
            distances[one, other] = distances[other, one] = finding.value
        darkest = max(worst_of.values()) or 1.0
        drawings.append(matrix_plot(evaluation.columns, distances, file, "total variation distance of pairs", darkest))
    worst = sorted(pairs, key=lambda pair: -worst_of[pair])[:_WORST]
    return {"rows": [[pair, *_cells(evaluation, pairs[pair], _three)] for pair in worst], "drawings": drawings}


def _subgroups(evaluation: Evaluation) -> dict[str, Any] | None:
    """The table of subgroups, and their scores drawn; None where there are none."""
    shares, files = _by_subject(evaluation, "share of the records"), evaluation.files
    scores = _by_subject(evaluation, "score of the subgroup")
    if not scores:
        return None
    rows = [
        [subject, *_cells(evaluation, shares[subject], _percent), *_cells(evaluation, scores[subject], _score)]
        for subject in scores
    ]
    headings = ["subgroup", *(f"share, {file}" for file in files), *(f"score, {file}" for file in files)]
    values = {file: [of[file].value for of in scores.values()] for file in files}
    return {"headings": headings, "rows": rows, "drawing": dots_plot(list(scores), values, "score")}


def _quantiles(evaluation: Evaluation) -> list[list[str]]:
    """The table of quantiles, each on the scale of its column."""
    rows = []
    for subject, findings in _by_subject(evaluation, "quantile").items():
        scale = evaluation.scales.get(next(iter(findings.values())).columns[0])
        rows.append([subject, *_cells(evaluation, findings, partial(_on_scale, scale=scale))])
    return rows
