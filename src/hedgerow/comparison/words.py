"""A comparison as a table of short texts, for a terminal and for a page."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from hedgerow.comparison.outcome import LARGEST, MEAN, amount_text

if TYPE_CHECKING:
    from hedgerow.comparison.result import Comparison, Summary


def title_of(comparison: Comparison) -> str:
    """What the figures of the table are."""
    setting = comparison.setting
    return (
        f"NOT PRIVATE: {setting.measure}, mean (largest) over {setting.workload}, "
        f"{setting.records:,} records, average of {runs_text(comparison)}"
    )


def runs_text(comparison: Comparison) -> str:
    """How many runs an average is of."""
    runs = {each.runs for each in comparison.summaries if each.runs} or {0}
    few, most = min(runs), max(runs)
    return f"{few} to {most} runs" if few < most else f"{most} run{'' if most == 1 else 's'}"


def headings_of(comparison: Comparison) -> list[str]:
    """Of the columns: the mechanism, every budget, the time."""
    return ["mechanism", *(amount_text(budget) for budget in comparison.budgets), "seconds a run"]


def rows_of(comparison: Comparison) -> list[list[str]]:
    """One row for every mechanism, and one for every guess that needs none."""
    found = {(each.mechanism, each.budget, each.metric): each for each in comparison.summaries}
    rows = []
    for name in dict.fromkeys(each.mechanism for each in comparison.summaries):
        pairs = [(found.get((name, b, MEAN)), found.get((name, b, LARGEST))) for b in comparison.budgets]
        times = [each.seconds for each, _ in pairs if each is not None and each.runs]
        rows.append([name, *(_cell(*pair) for pair in pairs), _seconds(times)])
    for name, errors in comparison.references.items():
        guess = f"{significant(errors[MEAN])} ({significant(errors[LARGEST], 2)})"
        rows.append([f"({name})", *[guess] * len(comparison.budgets), ""])
    return rows


def notes_of(comparison: Comparison) -> list[str]:
    """Why some mechanisms could not run, each reason once."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in comparison.summaries:
        if not each.runs:
            reasons.setdefault((each.mechanism, each.reason), []).append(amount_text(each.budget))
    return [f"{name} did not run with {', '.join(where)}: {reason}" for (name, reason), where in reasons.items()]


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits and no exponent.

    Example:
        >>> significant(0.0000456), significant(0.1), significant(12.0, 2)
        ('0.0000456', '0.100', '12')
    """
    return f"{Decimal(f'{value:.{digits - 1}e}'):f}"


def _cell(mean: Summary | None, largest: Summary | None) -> str:
    if mean is None or largest is None or not mean.runs:
        return "-"
    return f"{significant(mean.mean)} ({significant(largest.mean, 2)})"


def _seconds(times: list[float]) -> str:
    return f"{sum(times) / len(times):.2f}" if times else "-"
