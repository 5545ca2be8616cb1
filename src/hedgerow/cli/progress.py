"""Progress bars: for rounds, the runs of a comparison, cells of an experiment, and records on their way into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from hedgerow.cli.console import Output

if TYPE_CHECKING:
    from experiments.runner import Progress as CellsCallback, Step as CellStep

    from hedgerow.algorithms.shared import ProgressCallback, RoundReport
    from hedgerow.comparison import Progress as RunsCallback, Step


@contextmanager
def showing_progress(output: Output) -> Iterator[ProgressCallback | None]:
    """Give a callback that draws rounds, spent budget and time left, or None where nobody looks."""
    chosen = TextColumn("{task.fields[chosen]}", markup=False)
    columns = (TextColumn("{task.fields[spent]}"), TimeRemainingColumn(), chosen)
    with _drawing(output, "round", *columns, spent="counting", chosen="") as update:

        def advance(report: RoundReport) -> None:
            spent = f"{report.spent:.4g} of {report.limit:.4g} {report.unit}"
            chosen = "last fit" if report.round == report.rounds else report.chosen[:40]
            update(completed=report.round, total=report.rounds, spent=spent, chosen=chosen)

        yield advance if output.shows_progress else None


@contextmanager
def showing_runs(output: Output) -> Iterator[RunsCallback | None]:
    """Give a callback that draws how many runs are over and what runs now, or None where nobody looks."""
    columns = (TimeRemainingColumn(), TextColumn("{task.fields[now]}", markup=False))
    with _drawing(output, "run", *columns, now="reading") as update:

        def advance(step: Step) -> None:
            update(completed=step.done, total=step.runs, now=step.text)

        yield advance if output.shows_progress else None


@contextmanager
def showing_cells(output: Output, name: str) -> Iterator[CellsCallback]:
    """Give a callback that draws how many cells of an experiment are over; it does nothing where nobody looks."""
    columns = (TimeRemainingColumn(), TextColumn("{task.fields[now]}", markup=False))
    with _drawing(output, name, *columns, note=f"running {name}", now="reading") as update:

        def advance(step: CellStep) -> None:
            update(completed=step.done, total=step.cells, now=step.text)

        yield advance


@contextmanager
def showing_counting(output: Output) -> Iterator[Callable[[float], None]]:
    """Give a callback that draws what part of a table is counted; how many rows that are is private."""
    with _drawing(output, "counting", TimeRemainingColumn(), note="counting the table", counts=False) as update:
        yield lambda part: update(completed=part, total=1.0)


@contextmanager
def showing_records(output: Output) -> Iterator[Callable[[int, int], None] | None]:
    """Give a callback that draws how many records are written of how many, or None where nobody looks."""
    with _drawing(output, "record", TimeRemainingColumn(), note="drawing records") as update:

        def advance(done: int, wanted: int) -> None:
            update(completed=done, total=wanted)

        yield advance if output.shows_progress else None


@contextmanager
def _drawing(
    output: Output, counted: str, *columns: ProgressColumn, note: str = "running", counts: bool = True, **fields: Any
) -> Iterator[Callable[..., None]]:
    """A bar, and what changes it; only a note where nobody looks."""
    if not output.shows_progress:
        output.note(note)
        yield lambda **_: None
        return
    number = (MofNCompleteColumn(),) if counts else ()
    first = (SpinnerColumn(), TextColumn(counted), *number, BarColumn(bar_width=None))
    with Progress(*first, *columns, console=output.err, transient=True) as bar:
        yield partial(bar.update, bar.add_task("", total=None, **fields))
