"""Regrets from runs: a table, a summary of each half, and a drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
        runs: Errors by strategy and seed.
        unfinished: States of the strategies that did not finish, by strategy.
        seconds: Mean CPU time of the automatic settings, that of compilations in the first run of a process included.
    """

    cell: Cell
    runs: Mapping[str, Mapping[int, float]]
    unfinished: Mapping[str, str]
    seconds: float = math.nan

    @cached_property
    def errors(self) -> Mapping[str, float]:
        """Mean errors over the seeds, by strategy."""
        return {name: fmean(each.values()) for name, each in self.runs.items()}

    @cached_property
    def spreads(self) -> Mapping[str, float]:
        """Standard errors of these means, as shares of them, by strategy; NaN for a single seed."""
        return {name: _spread([*each.values()]) for name, each in self.runs.items()}

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

    @property
    def without_luck(self) -> float:
        """The same against the strategy that is best on all other seeds, seed by seed.

        The smallest of many noisy means is a lucky one, so that ``value`` is too large in expectation. Here a seed's
        errors do not decide what they are compared with; where seeds are few that is not always the best strategy, so
        that this is too small if anything. NaN where nothing has two seeds.
        """
        if AUTO not in self.runs:
            return math.inf
        ours, best = [], []
        for seed, error in self.runs[AUTO].items():
            others = {
                name: fmean(found)
                for name, each in self.runs.items()
                if seed in each and (found := [value for other, value in each.items() if other != seed])
            }
            if others:
                ours.append(error)
                best.append(self.runs[min(others, key=others.__getitem__)][seed])
        return fmean(ours) / fmean(best) if any(best) else math.nan


def regrets_of(cells: Iterable[Cell], runs: Mapping[Key, Run]) -> list[Regret]:
    """The regrets of the cells on which anything was run.

    A strategy counts where all its runs were done: what was stopped with any seed is not the best.
    """
    by_cell: dict[str, dict[str, dict[int, Run]]] = {}
    for (key, strategy, seed), run in runs.items():
        by_cell.setdefault(key, {}).setdefault(strategy, {})[seed] = run
    found = []
    for cell in cells:
        strategies = by_cell.get(cell.key, {})
        stopped = {s: x.state for s, r in strategies.items() for x in r.values() if x.state != "done"}
        done = {s: {k: run.error for k, run in r.items()} for s, r in strategies.items() if s not in stopped}
        if done:
            seconds = fmean(run.seconds for run in strategies.get(AUTO, {0: Run("refused")}).values())
            found.append(Regret(cell, done, stopped, seconds))
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
        without_luck: The same against strategies that other seeds find best, of cells with several seeds.
        worst: Cell with the largest regret.
        unfinished: Cells on which the automatic settings did not finish.
    """

    cells: int
    mean: float
    without_luck: float
    worst: Regret
    unfinished: Sequence[Regret]


def summary_of(regrets: Iterable[Regret]) -> Summary | None:
    """The summary of some regrets; None where there are none."""
    listed = list(regrets)
    finished = [each for each in listed if math.isfinite(each.value)]
    if not finished:
        return None
    mean = _geometric(each.value for each in finished)
    several = [value for each in finished if (value := each.without_luck) > 0.0]
    worst = max(finished, key=lambda each: each.value)
    return Summary(
        len(finished),
        mean,
        _geometric(several) if several else math.nan,
        worst,
        [each for each in listed if math.isinf(each.value)],
    )


def _geometric(values: Iterable[float]) -> float:
    return math.exp(fmean(map(math.log, values)))


def show(regrets: Sequence[Regret], console: Console) -> None:
    """Print the cells, the largest regrets first, half by half, and the summaries."""
    for half in HALVES:
        here = sorted((each for each in regrets if each.cell.half == half), key=lambda each: -each.value)
        columns = ("cell", "regret", "±", "without luck", "auto", "s", "best", "by", "did not finish")
        table = Table(*columns, title=f"{half} half", title_justify="left")
        for each in here:
            auto = f"{each.errors[AUTO]:.3g}" if AUTO in each.errors else each.unfinished.get(AUTO, "not run")
            stopped = ", ".join(f"{name} ({state})" for name, state in each.unfinished.items())
            error = f"{each.errors[each.best]:.3g}"
            table.add_row(
                each.cell.key,
                f"{each.value:.2f}",
                f"{each.spread:.2f}",
                f"{each.without_luck:.2f}",
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
    mean = f"{found.mean:.3f} ({found.without_luck:.3f} without luck)"
    return f"{found.cells} cells, geometric mean {mean}, worst {worst}{lacking}"


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
