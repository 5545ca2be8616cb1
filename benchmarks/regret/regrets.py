"""Regrets from runs: a table, a summary of each half, and a drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from rich.console import Console
from rich.table import Table

from benchmarks.regret.grid import Cell
from benchmarks.regret.running import Key, Run
from benchmarks.regret.strategies import AUTO
from benchmarks.regret.tables import Half

HALVES: tuple[Half, Half] = ("tuning", "reported")


@dataclass(frozen=True)
class Regret:
    """A cell with the errors of all strategies that finished.

    Attributes:
        cell: The cell.
        errors: Mean errors over the seeds, by strategy.
        spreads: Standard errors of these means, as shares of them, by strategy; NaN for a single seed.
        unfinished: States of the strategies that did not finish, by strategy.
        seconds: Mean CPU time of the automatic settings, that of compilations in the first run of a process included.
    """

    cell: Cell
    errors: Mapping[str, float]
    spreads: Mapping[str, float]
    unfinished: Mapping[str, str]
    seconds: float = math.nan

    @property
    def best(self) -> str:
        """The strategy with the smallest error."""
        return min(self.errors, key=lambda name: self.errors[name])

    @property
    def value(self) -> float:
        """Error of the automatic settings over the smallest; infinite where they did not finish."""
        return self.errors[AUTO] / self.errors[self.best] if AUTO in self.errors else math.inf

    @property
    def spread(self) -> float:
        """Standard error of the regret, from the spread of the errors over the seeds; 0 where nothing is better."""
        if self.best == AUTO:
            return 0.0
        return self.value * math.hypot(self.spreads.get(AUTO, math.nan), self.spreads[self.best])


def regrets_of(cells: Iterable[Cell], runs: Mapping[Key, Run]) -> list[Regret]:
    """The regrets of the cells on which anything was run.

    A strategy counts where all its runs were done: what was stopped with any seed is not the best.
    """
    by_cell: dict[str, dict[str, list[Run]]] = {}
    for (key, strategy, _), run in runs.items():
        by_cell.setdefault(key, {}).setdefault(strategy, []).append(run)
    found = []
    for cell in cells:
        strategies = by_cell.get(cell.key, {})
        done = {s: [run.error for run in r] for s, r in strategies.items() if all(x.state == "done" for x in r)}
        errors = {s: fmean(each) for s, each in done.items()}
        spreads = {s: _spread(each) for s, each in done.items()}
        stopped = {s: next(x.state for x in r if x.state != "done") for s, r in strategies.items() if s not in errors}
        if errors:
            seconds = fmean(run.seconds for run in strategies.get(AUTO, [Run("refused")]))
            found.append(Regret(cell, errors, spreads, stopped, seconds))
    return found


def _spread(errors: Sequence[float]) -> float:
    """The standard error of a mean as a share of it."""
    if len(errors) == 1 or not any(errors):
        return math.nan
    return stdev(errors) / math.sqrt(len(errors)) / fmean(errors)


@dataclass(frozen=True)
class Summary:
    """The regrets of one half.

    Attributes:
        cells: Number of cells on which the automatic settings finished.
        mean: Geometric mean of their regrets.
        worst: Cell with the largest regret.
        unfinished: Cells on which the automatic settings did not finish.
    """

    cells: int
    mean: float
    worst: Regret
    unfinished: Sequence[Regret]


def summary_of(regrets: Iterable[Regret]) -> Summary | None:
    """The summary of some regrets; None where there are none."""
    listed = list(regrets)
    finished = [each for each in listed if math.isfinite(each.value)]
    if not finished:
        return None
    mean = math.exp(fmean(math.log(each.value) for each in finished))
    worst = max(finished, key=lambda each: each.value)
    return Summary(len(finished), mean, worst, [each for each in listed if math.isinf(each.value)])


def show(regrets: Sequence[Regret], console: Console) -> None:
    """Print the cells, the largest regrets first, half by half, and the summaries."""
    for half in HALVES:
        here = sorted((each for each in regrets if each.cell.half == half), key=lambda each: -each.value)
        columns = ("cell", "regret", "±", "auto", "s", "best", "by", "did not finish")
        table = Table(*columns, title=f"{half} half", title_justify="left")
        for each in here:
            auto = f"{each.errors[AUTO]:.3g}" if AUTO in each.errors else each.unfinished.get(AUTO, "not run")
            stopped = ", ".join(f"{name} ({state})" for name, state in each.unfinished.items())
            error = f"{each.errors[each.best]:.3g}"
            table.add_row(
                each.cell.key,
                f"{each.value:.2f}",
                f"{each.spread:.2f}",
                auto,
                f"{each.seconds:.2g}",
                error,
                each.best,
                stopped,
            )
        console.print(table)
        found = summary_of(here)
        if found is not None:
            console.print(f"{half} half: {sentence(found)}")


def sentence(found: Summary) -> str:
    """A summary in words."""
    lacking = f"; did not finish on {len(found.unfinished)}" if found.unfinished else ""
    worst = f"{found.worst.value:.2f} on {found.worst.cell.key} ({found.worst.best})"
    return f"{found.cells} cells, geometric mean {found.mean:.3f}, worst {worst}{lacking}"


def drawing(regrets: Sequence[Regret]) -> str:
    """Regrets as dots on a logarithmic axis, one row for each kind of workload, as the text of an SVG file.

    Filled dots are the tuning half, hollow ones the reported half; a cross is a cell that was not finished.
    """
    from matplotlib.figure import Figure

    from hedgerow.report.plots import BAR, INK, NOISE, PAPER, drawing_style, svg_file_of

    kinds = list(dict.fromkeys(each.cell.kind for each in regrets))
    with drawing_style("regret"):
        figure = Figure(figsize=(7.2, 0.45 * len(kinds) + 1.3), layout="constrained")
        axes = figure.add_subplot()
        top = 1.2 * max((each.value for each in regrets if math.isfinite(each.value)), default=2.0)
        for half, colour, face, shift in (("tuning", BAR, BAR, -0.14), ("reported", NOISE, PAPER, 0.14)):
            here = [each for each in regrets if each.cell.half == half]
            done = [each for each in here if math.isfinite(each.value)]
            rows = [kinds.index(each.cell.kind) + shift for each in done]
            found = summary_of(here)
            figures = f": geometric mean {found.mean:.2f}, worst {found.worst.value:.2f}" if found else ""
            values = [each.value for each in done]
            axes.scatter(
                values,
                rows,
                s=22,
                color=colour,
                facecolors=face,
                linewidths=1.0,
                label=f"{half} half{figures}",
                zorder=3,
            )
            lost = [kinds.index(each.cell.kind) + shift for each in here if math.isinf(each.value)]
            axes.scatter([top] * len(lost), lost, s=26, color=colour, marker="x", zorder=3)
        for limit in (1.0, 1.3):
            axes.axvline(limit, color=INK, linewidth=0.8, linestyle="solid" if limit == 1.0 else (0, (4, 3)))
        axes.set(
            xscale="log", xlim=(0.95, 1.15 * top), xlabel="error of the automatic settings / smallest error of any"
        )
        ticks = [each for each in (1, 1.3, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if each <= 1.1 * top]
        axes.set_xticks(ticks, [f"{each:g}" for each in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(kinds)), kinds)
        axes.invert_yaxis()
        figure.legend(loc="outside lower left", ncols=2, fontsize=8.5)
        return svg_file_of(axes, f"Regrets of the automatic settings by kind of workload: {', '.join(kinds)}")
