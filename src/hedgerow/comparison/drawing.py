"""From the averages of a comparison to its drawing and its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hedgerow.comparison.journal import measure_named
from hedgerow.comparison.outcome import METRICS, RMSE, amount_of
from hedgerow.comparison.words import headings_of, notes_of, rows_of, runs_text, title_of
from hedgerow.errors import ConfigError
from hedgerow.privacy import ZCDP, ApproxDP

if TYPE_CHECKING:
    from hedgerow.comparison.outcome import Setting
    from hedgerow.comparison.result import Comparison
    from hedgerow.report import Panel, Point

_FEWEST_RUNS = 3
"""Intervals for the average of two runs are wider than anything they could be compared with."""

TITLES = {"mean": "mean error", "largest": "largest error", "rmse": "root mean square error"}
"""What the metrics are called."""


def drawing_of(comparison: Comparison, purpose: Literal["file", "page"]) -> str:
    """The drawing; see `Comparison.plot`."""
    from hedgerow.report import curves_plot, require_extra

    require_extra()
    if not comparison.series:
        raise ConfigError("no mechanism could run, so there is nothing to draw", remedy="read the reasons in the table")
    panels = [_panel(comparison, metric) for metric in METRICS if metric != RMSE or comparison.bounds]
    return curves_plot(panels, along=budget_label(comparison), runs=_runs(comparison), purpose=purpose)


def budget_label(comparison: Comparison) -> str:
    """What is along the horizontal axis: the amount, and delta if there is one."""
    budget = comparison.budgets[0]
    unit = "rho" if isinstance(budget, ZCDP) else "epsilon"
    delta = f" (delta = {budget.delta:g})" if isinstance(budget, ApproxDP) else ""
    return f"privacy budget {unit}{delta}"


def page_of(comparison: Comparison) -> str:
    """The HTML page; see `Comparison.write_page`."""
    from hedgerow.report import render_comparison

    setting = comparison.setting
    return render_comparison(
        drawing=drawing_of(comparison, "page"),
        title=title_of(comparison),
        headings=headings_of(comparison),
        rows=rows_of(comparison),
        notes=notes_of(comparison),
        facts={"workload": setting.workload, "budgets": setting.kind, "noise": _noise(setting)},
        bounded=bool(comparison.bounds),
    )


def _noise(setting: Setting) -> str:
    return "secure" if setting.seed is None else f"seeded with {setting.seed}"


def _runs(comparison: Comparison) -> str:
    most = max(each.runs for each in comparison.summaries)
    band = "band: 95% for the average of" if most >= _FEWEST_RUNS else "average of"
    return f"{band} {runs_text(comparison)}"


def _panel(comparison: Comparison, metric: str) -> Panel:
    from hedgerow.comparison.result import BOUND
    from hedgerow.report import Panel

    return Panel(
        TITLES[metric],
        measure_named(comparison.setting, metric),
        {name: _points(comparison, name, metric) for name in comparison.series},
        {name: errors[metric] for name, errors in comparison.references.items()},
        {BOUND: _bounds(comparison)} if metric == RMSE else {},
    )


def _bounds(comparison: Comparison) -> list[Point]:
    from hedgerow.report import Point

    asked = [budget for budget in comparison.budgets if budget in comparison.bounds]
    found = [(amount_of(budget), comparison.bounds[budget]) for budget in asked]
    return [Point(amount, bound, bound, bound) for amount, bound in found]


def _points(comparison: Comparison, name: str, metric: str) -> list[Point]:
    from hedgerow.report import Point

    found = [each for each in comparison.summaries if (each.mechanism, each.metric) == (name, metric) and each.runs]
    ends = [(each.low, each.high) if each.runs >= _FEWEST_RUNS else (each.mean, each.mean) for each in found]
    return [Point(amount_of(each.budget), each.mean, *pair) for each, pair in zip(found, ends, strict=True)]
