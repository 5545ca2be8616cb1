"""A comparison for people: a table of short texts, a drawing, and a page with both."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from hedgerow.comparison.outcome import (
    BOUND,
    LARGEST,
    MEAN,
    METRICS,
    RMSE,
    amount_name,
    amount_of,
    amount_text,
    measure_named,
)
from hedgerow.errors import ConfigError
from hedgerow.privacy import ApproxDP
from hedgerow.report import Panel, Point, curves_plot, exact_page, require_extra

if TYPE_CHECKING:
    from hedgerow.comparison.result import Comparison

_FEWEST_RUNS = 3
"""Intervals for the average of two runs are wider than anything they could be compared with."""

TITLES = {MEAN: "mean error", LARGEST: "largest error", RMSE: "root mean square error"}
"""Titles of the metrics."""


def title_of(comparison: Comparison) -> str:
    """The title of the table, which says what its figures are."""
    setting = comparison.setting
    return (
        f"NOT PRIVATE: {setting.measure}, mean (largest) over {setting.workload}, "
        f"{setting.records:,} records, average of {runs_text(comparison)}"
    )


def runs_text(comparison: Comparison) -> str:
    """Number of runs that an average is of, as text."""
    runs = {summary.runs for summary in comparison.summaries if summary.runs} or {0}
    few, most = min(runs), max(runs)
    return f"{few} to {most} runs" if few < most else f"{most} run{'' if most == 1 else 's'}"


def headings_of(comparison: Comparison) -> list[str]:
    """Headings of the columns: the mechanism, every budget, the time."""
    return ["mechanism", *(amount_text(budget) for budget in comparison.budgets), "seconds a run"]


def rows_of(comparison: Comparison) -> list[list[str]]:
    """One row for every mechanism, and one for every guess that needs none."""
    summary_of = {(summary.mechanism, summary.budget, summary.metric): summary for summary in comparison.summaries}
    rows = []
    for name in dict.fromkeys(summary.mechanism for summary in comparison.summaries):
        cells, times = [], []
        for budget in comparison.budgets:
            mean, largest = (summary_of.get((name, budget, metric)) for metric in (MEAN, LARGEST))
            if mean is None or largest is None or not mean.runs:
                cells.append("-")
                continue
            cells.append(f"{significant(mean.mean)} ({significant(largest.mean, 2)})")
            times.append(mean.seconds)
        rows.append([name, *cells, f"{sum(times) / len(times):.2f}" if times else "-"])
    for name, errors in comparison.references.items():
        guess = f"{significant(errors[MEAN])} ({significant(errors[LARGEST], 2)})"
        rows.append([f"({name})", *[guess] * len(comparison.budgets), ""])
    return rows


def notes_of(comparison: Comparison) -> list[str]:
    """The reasons why some mechanisms could not run, each once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for summary in comparison.summaries:
        if not summary.runs:
            reasons.setdefault((summary.mechanism, summary.reason), []).append(amount_text(summary.budget))
    return [f"{name} did not run with {', '.join(where)}: {reason}" for (name, reason), where in reasons.items()]


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits and no exponent.

    Example:
        >>> significant(0.0000456), significant(0.1), significant(12.0, 2)
        ('0.0000456', '0.100', '12')
    """
    return f"{Decimal(f'{value:.{digits - 1}e}'):f}"


def drawing_of(comparison: Comparison, purpose: Literal["file", "page"]) -> str:
    """The drawing; see `Comparison.plot`."""
    require_extra()
    if not comparison.series:
        raise ConfigError("no mechanism could run, so there is nothing to draw", remedy="read the reasons in the table")
    panels = [_panel(comparison, metric) for metric in METRICS if metric != RMSE or comparison.bounds]
    budget = comparison.budgets[0]
    delta = f" (delta = {budget.delta:g})" if isinstance(budget, ApproxDP) else ""
    most = max(summary.runs for summary in comparison.summaries)
    band = "band: 95% for the average of" if most >= _FEWEST_RUNS else "average of"
    return curves_plot(
        panels,
        along=f"privacy budget {amount_name(budget)}{delta}",
        runs=f"{band} {runs_text(comparison)}",
        purpose=purpose,
    )


def _panel(comparison: Comparison, metric: str) -> Panel:
    curves: dict[str, list[Point]] = {name: [] for name in comparison.series}
    for summary in comparison.summaries:
        if summary.runs and summary.metric == metric:
            few = summary.runs < _FEWEST_RUNS
            low, high = (summary.mean, summary.mean) if few else (summary.low, summary.high)
            curves[summary.mechanism].append(Point(amount_of(summary.budget), summary.mean, low, high))
    bounds = [
        Point(amount_of(budget), bound, bound, bound)
        for budget in comparison.budgets
        if (bound := comparison.bounds.get(budget)) is not None
    ]
    return Panel(
        TITLES[metric],
        measure_named(comparison.setting, metric),
        curves,
        {name: errors[metric] for name, errors in comparison.references.items()},
        {BOUND: bounds} if metric == RMSE else {},
    )


def page_of(comparison: Comparison) -> str:
    """The HTML page; see `Comparison.write_page`."""
    setting = comparison.setting
    noise = "secure" if setting.seed is None else f"seeded with {setting.seed}"
    return exact_page(
        "comparison.html",
        "Comparison of mechanisms",
        {"workload": setting.workload, "budgets": setting.kind, "noise": noise},
        drawing=drawing_of(comparison, "page"),
        bounded=bool(comparison.bounds),
        about=title_of(comparison),
        headings=headings_of(comparison),
        rows=rows_of(comparison),
        reasons=notes_of(comparison),
    )
