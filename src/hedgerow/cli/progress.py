"""Progress bars: for the rounds of a run, and for the runs of a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from hedgerow.cli.console import Output

if TYPE_CHECKING:
    from hedgerow.algorithms.progress import ProgressCallback, RoundReport
    from hedgerow.comparison import Step
    from hedgerow.comparison.grid import Progress as RunsCallback


@contextmanager
def showing_progress(output: Output) -> Iterator[ProgressCallback | None]:
    """Give a callback that draws rounds, spent budget and time left, or None where nobody looks."""
    if not output.shows_progress:
        output.note("running")
        yield None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("round"),
        MofNCompleteColumn(),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[spent]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[chosen]}", markup=False),
    )
    with Progress(*columns, console=output.err, transient=True) as bar:
        task = bar.add_task("", total=None, spent="counting", chosen="")

        def advance(report: RoundReport) -> None:
            spent = f"{report.spent:.4g} of {report.limit:.4g} {report.unit}"
            chosen = "last fit" if report.round == report.rounds else report.chosen[:40]
            bar.update(task, completed=report.round, total=report.rounds, spent=spent, chosen=chosen)

        yield advance


@contextmanager
def showing_runs(output: Output) -> Iterator[RunsCallback | None]:
    """Give a callback that draws how many runs are over and what runs now, or None where nobody looks."""
    if not output.shows_progress:
        output.note("running")
        yield None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("run"),
        MofNCompleteColumn(),
        BarColumn(bar_width=None),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}", markup=False),
    )
    with Progress(*columns, console=output.err, transient=True) as bar:
        task = bar.add_task("", total=None, now="reading")

        def advance(step: Step) -> None:
            bar.update(task, completed=step.done, total=step.runs, now=step.text)

        yield advance
