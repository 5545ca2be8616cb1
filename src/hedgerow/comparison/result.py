"""The result of a comparison: errors of all runs, their averages, tables and drawings. NOT PRIVATE."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hedgerow.cards import MOST_ROWS, Drawing, card
from hedgerow.comparison.journal import COLUMNS, budget_fields, rows_of, text_of
from hedgerow.comparison.outcome import BOUND, METRICS, RMSE, Outcome, Setting, amount_of, measure_named
from hedgerow.system import replacing

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.privacy import Budget

CONFIDENCE = 0.95
"""Confidence of the intervals for averages over the runs."""

RAW_SUFFIX = " (raw answers)"
"""Added to the name of a mechanism for its noisy answers as they were bought, beside the model fitted to them."""

_NUMBERS = ("records", "epsilon", "delta", "rho", "repeat", "value", "seconds")


@dataclass(frozen=True)
class Summary:
    """One error of one mechanism under one budget, averaged over its runs.

    Attributes:
        mechanism: Its name; of noisy answers as they were bought, with "raw" added.
        budget: Budget of each run.
        metric: One of `METRICS`.
        runs: Number of runs; 0 where it could not run.
        mean: Their average; not a number where it could not run.
        low: Lower end of a 95% interval for the average that runs without end would have, by Student's law on the
            scale of logarithms, so that it is positive; with a single run the mean.
        high: Upper end.
        seconds: Average time of a run.
        reason: Reason why it could not run.
    """

    mechanism: str
    budget: Budget
    metric: str
    runs: int
    mean: float
    low: float
    high: float
    seconds: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Exact errors of several mechanisms on one table; not private.

    Attributes:
        label: ``"not private"``; to be shown wherever the figures are.
        setting: The setting that all runs share.
        outcomes: One outcome for each run.
        references: Errors of guesses that need no mechanism, by name and metric.
        bounds: For every budget the root mean square error, as a share of the records, that no matrix mechanism goes
            below; empty where that is not known. It rests on the exact number of records, and on nothing else private.

    Example:
        >>> from hedgerow import PureDP
        >>> setting = Setting("marginals:2", 1000, "epsilon, add-remove", None, "total variation distance")
        >>> errors = [{"mean": m, "largest": 2 * m, "rmse": m / 2} for m in (0.02, 0.04)]
        >>> runs = [Outcome("mwem", PureDP(1.0), i + 1, found, 0.5) for i, found in enumerate(errors)]
        >>> [summary.mean for summary in Comparison(setting, tuple(runs), {}).summaries]
        [0.03, 0.06, 0.015]
    """

    label: ClassVar[str] = "not private"
    setting: Setting
    outcomes: tuple[Outcome, ...]
    references: Mapping[str, Mapping[str, float]]
    bounds: Mapping[Budget, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The setting in one line; no figure."""
        return f"Comparison(not private: {', '.join(self.series)}; {self.setting.workload}; {len(self.outcomes)} runs)"

    def _repr_html_(self) -> str:
        """Averages over the runs, for notebooks, labelled as they must be."""
        summaries = self.summaries
        rows = [(s.mechanism, f"{amount_of(s.budget):.4g}", s.metric, f"{s.mean:.4g}", s.reason) for s in summaries]
        headings = ("mechanism", "budget", "error", "mean", "remark")
        return card(f"NOT PRIVATE: {self.setting.workload}", (), headings, rows, more=len(summaries) - MOST_ROWS)

    @property
    def budgets(self) -> list[Budget]:
        """The budgets, from the smallest to the largest."""
        return sorted({outcome.budget for outcome in self.outcomes}, key=amount_of)

    @property
    def series(self) -> list[str]:
        """Names of the mechanisms that ran, raw answers beside what was fitted to them."""
        return list(dict.fromkeys(summary.mechanism for summary in self.summaries if summary.runs))

    @cached_property
    def summaries(self) -> list[Summary]:
        """Averages over the runs, by mechanism, budget and metric; a single entry for what could not run."""
        names = list(dict.fromkeys(outcome.mechanism for outcome in self.outcomes))
        return [row for name in names for budget in self.budgets for row in self._summarised(name, budget)]

    def _summarised(self, name: str, budget: Budget) -> list[Summary]:
        runs = [outcome for outcome in self.outcomes if (outcome.mechanism, outcome.budget) == (name, budget)]
        models = [(run.errors, run.seconds) for run in runs if run.ran]
        raw = [(run.raw, run.seconds) for run in runs if run.raw is not None]
        if models:
            return [*_averages(name, budget, models), *_averages(f"{name}{RAW_SUFFIX}", budget, raw)]
        reason = runs[0].reason if runs else "not run yet"
        return [Summary(name, budget, metric, 0, math.nan, math.nan, math.nan, 0.0, reason) for metric in METRICS[:1]]

    def to_arrow(self) -> pa.Table:
        """One row per mechanism, budget, run, kind of answer and metric, as in the CSV file."""
        import pyarrow as pa

        kinds = {True: pa.float64(), False: pa.string()}
        schema = pa.schema([pa.field(name, kinds[name in _NUMBERS]) for name in COLUMNS])
        rows: list[dict[str, Any]] = [{name: row.get(name, "") for name in COLUMNS} for row in self._rows()]
        for row in rows:
            row |= {name: float(row[name]) if row[name] else None for name in _NUMBERS}
        return pa.Table.from_pylist(rows, schema=schema)

    def summary(self) -> pa.Table:
        """One row per mechanism, budget and metric: average over the runs, its interval, number of runs, seconds.

        Guesses that need no run, and the bound of matrix mechanisms, stand at the end, in parentheses, with no runs.
        """
        import pyarrow as pa

        return pa.Table.from_pylist(self._summary_rows())

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows of `to_arrow`.

        Raises:
            OSError: The file cannot be written.
        """
        _write(path, text_of(self._rows()))

    def write_summary(self, path: str | os.PathLike[str]) -> None:
        """Write the rows of `summary` as CSV.

        Raises:
            OSError: The file cannot be written.
        """
        rows = self._summary_rows()
        _write(path, text_of(rows, rows[0]))

    def plot(self, purpose: Literal["file", "page"] = "file") -> Drawing:
        """Error against budget as SVG, on logarithmic axes; notebooks show it.

        Args:
            purpose: ``"file"`` for a file of its own, ``"page"`` for a place in an HTML page.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ConfigError: No mechanism could run, so that there is nothing to draw.
        """
        from hedgerow.comparison import drawing_of

        return Drawing(drawing_of(self, purpose))

    def write_plot(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing of `plot` as an SVG file.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ConfigError: No mechanism could run.
            OSError: The file cannot be written.
        """
        _write(path, self.plot())

    def write_page(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML page with the drawing and the table.

        Raises:
            MissingExtraError: jinja2 or matplotlib is not installed.
            ConfigError: No mechanism could run.
            OSError: The file cannot be written.
        """
        from hedgerow.comparison import page_of

        _write(path, page_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Setting and averages for JSON, with the label."""
        rows = self._summary_rows()
        for row in rows:
            row |= {name: float(row[name]) if row[name] else None for name in ("epsilon", "delta", "rho")}
            row["budget"] = json.loads(row["budget"])
        return {"label": self.label, **asdict(self.setting), "averages": rows}

    def _rows(self) -> list[dict[str, str]]:
        return [row for outcome in self.outcomes for row in rows_of(outcome, self.setting)]

    def _summary_rows(self) -> list[dict[str, Any]]:
        """Averages over the runs; then what needs no run: guesses, and the bound of matrix mechanisms."""
        nan = math.nan
        guesses = [
            Summary(f"({name})", budget, metric, 0, errors[metric], errors[metric], errors[metric], nan)
            for name, errors in self.references.items()
            for budget in self.budgets
            for metric in METRICS
        ]
        bounds = [Summary(f"({BOUND})", budget, RMSE, 0, b, b, b, nan) for budget, b in self.bounds.items()]
        return [
            {
                "label": self.label,
                "mechanism": summary.mechanism,
                **budget_fields(summary.budget),
                "metric": summary.metric,
                "measure": measure_named(self.setting, summary.metric),
                "runs": summary.runs,
                "average": summary.mean,
                "low": summary.low,
                "high": summary.high,
                "confidence": CONFIDENCE,
                "seconds": summary.seconds,
                "reason": summary.reason,
                "budget": json.dumps(summary.budget.to_dict()),
            }
            for summary in (*self.summaries, *guesses, *bounds)
        ]


def _write(path: str | os.PathLike[str], text: str) -> None:
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _averages(name: str, budget: Budget, runs: Sequence[tuple[Mapping[str, float], float]]) -> list[Summary]:
    if not runs:
        return []
    seconds = math.fsum(time for _, time in runs) / len(runs)
    averages = ((metric, [errors[metric] for errors, _ in runs]) for metric in METRICS)
    return [Summary(name, budget, metric, len(runs), *interval(values), seconds) for metric, values in averages]


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Average of positive numbers, with the ends of a 95% interval for their expectation.

    The interval is ``mean * exp(+-t s / mean)``, with s the standard error of the mean and t Student's quantile: the
    usual one, carried to the logarithm, so that it is positive.

    Example:
        >>> [round(end, 4) for end in interval([0.02, 0.03, 0.04])]
        [0.03, 0.0131, 0.0687]
        >>> interval([0.02])
        (0.02, 0.02, 0.02)
    """
    mean = math.fsum(values) / len(values)
    if len(values) == 1 or mean == 0.0:
        return mean, mean, mean
    from scipy.stats import t

    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    reach = float(t.ppf(0.5 + CONFIDENCE / 2.0, len(values) - 1)) * math.sqrt(variance / len(values)) / mean
    return mean, mean * math.exp(-reach), mean * math.exp(min(reach, 700.0))
