"""Output of the commands: results on standard output, the rest on standard error; progress, errors, Ctrl-C."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from hedgerow.errors import HedgerowError
from hedgerow.quantities import spent_of

if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from types import FrameType

    from rich.progress import ProgressColumn
    from rich.text import Text

    from hedgerow.algorithms.shared import ProgressCallback, RoundReport
    from hedgerow.comparison import Progress as RunsCallback


WIDE = 160
"""Columns of a table that goes into a file or a pipe."""
FAILED = 1
INTERRUPTED = 130
"""Exit codes."""
_AGAIN = 0.05
"""Seconds after which an interrupt that could not be raised is sent once more."""


@dataclass
class Output:
    """Output of a command, as ``--quiet`` and ``--json`` say.

    Attributes:
        quiet: Nothing is printed but errors and warnings, and the result of ``--json``.
        as_json: The result is one JSON object on standard output, and nothing else goes there.
        facts: Added to the JSON object of a failed command, such as what was spent.

    Example:
        >>> output = Output(as_json=True)
        >>> output.say("for people")
        >>> output.result({"answer": 42, "bound": float("inf")})
        {
         "answer": 42,
         "bound": null
        }
    """

    quiet: bool = False
    as_json: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    out: Console = field(default_factory=lambda: Console(highlight=False, soft_wrap=True))
    err: Console = field(default_factory=lambda: Console(stderr=True, highlight=False, soft_wrap=True))

    @property
    def shows_progress(self) -> bool:
        """Whether someone looks at a terminal."""
        return not self.quiet and self.err.is_terminal

    @property
    def _for_people(self) -> bool:
        return not (self.quiet or self.as_json)

    def result(self, values: Mapping[str, Any]) -> None:
        """Print the result of ``--json``; nothing without it."""
        if self.as_json:
            sys.stdout.write(json.dumps(_plain(values), indent=1, allow_nan=False) + "\n")
            sys.stdout.flush()

    def say(self, text: str = "") -> None:
        """Print a line of the result for people; nothing under ``--quiet`` or ``--json``."""
        if self._for_people:
            self.out.print(escape(text))

    def tell(self, sentences: str) -> None:
        """Print sentences of the result for people; a terminal breaks them between words."""
        if self._for_people:
            self.out.print(escape(sentences), soft_wrap=not self.out.is_terminal)

    def say_files(self, files: Mapping[str, object]) -> dict[str, str]:
        """Print where files are for people, and return the same for programs.

        Args:
            files: Paths by what the files hold; None for a file that was not asked for.
        """
        paths = {name: str(path) for name, path in files.items() if path is not None}
        for name, path in paths.items():
            self.say(f"{name:8} {path}")
        return paths

    def table(
        self,
        headings: Collection[str],
        rows: Iterable[Iterable[str | Text]],
        *,
        right: Collection[str] = (),
        title: str | None = None,
    ) -> None:
        """Print a table for people; nothing under ``--quiet`` or ``--json``.

        Args:
            headings: Names of the columns.
            rows: Cells of each row.
            right: Headings of the columns that are aligned to the right.
            title: Printed above the table.
        """
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        titled = None if title is None else escape(title)
        table = Table(title=titled, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
        for heading in headings:
            table.add_column(escape(heading), justify="right" if heading in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(escape(cell) if isinstance(cell, str) else cell for cell in row))
        self._print_wide(table)

    def panel(self, markup: str, title: str) -> None:
        """Print a frame around lines in rich's markup for people; nothing under ``--quiet`` or ``--json``."""
        from rich.panel import Panel

        self._print_wide(Panel.fit(markup, title=title, padding=(1, 2)))

    def _print_wide(self, shown: Any) -> None:
        if self._for_people:
            Console(highlight=False, width=None if self.out.is_terminal else WIDE).print(shown)

    def note(self, text: str) -> None:
        """Print a remark on standard error; nothing under ``--quiet``."""
        if not self.quiet:
            self.err.print(escape(text))

    def warn(self, text: str) -> None:
        """Print a warning on standard error, always."""
        self.err.print(f"[bold yellow]{escape(text)}[/]")

    def fail(self, error: HedgerowError) -> None:
        """Print an error: what is wrong and what helps."""
        self.err.print(f"[bold red]error:[/] {escape(error.message)}")
        if error.remedy:
            self.err.print(f"[bold]remedy:[/] {escape(error.remedy)}")
        described = {"type": type(error).__name__, "message": error.message, "remedy": error.remedy}
        self.result({"error": described, **self.facts})

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn Hedgerow's errors, those of the system and Ctrl-C into a message and an exit code; bugs stay visible."""
        try:
            yield
        except HedgerowError as error:
            self.fail(error)
            raise typer.Exit(FAILED) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            self.fail(HedgerowError(f"{error.filename or 'the system'}: {error.strerror or error}"))
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            self.err.print("[bold red]interrupted[/]")
            self.result({"error": {"type": "Interrupted", "message": "interrupted", "remedy": ""}, **self.facts})
            raise typer.Exit(INTERRUPTED) from error

    @contextmanager
    def warning_if_it_stops(
        self, told: Callable[[], tuple[dict[str, Any], str] | None], cause: type[BaseException] = BaseException
    ) -> Iterator[None]:
        """If the body fails or is interrupted, say what remains of it, and let the failure pass.

        Args:
            told: Returns facts for the JSON object and the warning, or None; called after a failure only.
            cause: The failures that are told.
        """
        try:
            yield
        except cause:
            if found := told():
                self.facts |= found[0]
                self.warn(found[1])
            raise

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """Show that something takes a while: on a terminal until it ends, elsewhere as a plain line."""
        if self.shows_progress:
            with self.err.status(escape(text)):
                yield
        else:
            self.note(text)
            yield


def _plain(value: Any) -> Any:
    """Replace numbers that JSON does not have, infinities and NaN, by null."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Progress bars


@contextmanager
def showing_progress(output: Output) -> Iterator[ProgressCallback | None]:
    """Give a callback that draws rounds, spent budget and time left, or None where no one looks."""
    from rich.progress import TextColumn, TimeRemainingColumn

    chosen = TextColumn("{task.fields[chosen]}", markup=False)
    columns = (TextColumn("{task.fields[spent]}"), TimeRemainingColumn(), chosen)
    with _drawing(output, "round", *columns, spent="counting", chosen="") as update:

        def advance(report: RoundReport) -> None:
            spent = spent_of(report.spent, report.limit, report.unit, 4)
            chosen = "last fit" if report.round == report.rounds else report.chosen[:40]
            update(completed=report.round, total=expected_rounds(report), spent=spent, chosen=chosen)

        yield advance if output.shows_progress else None


def expected_rounds(report: RoundReport) -> int:
    """Number of rounds; where noisy answers decide, if those to come spend as much each as those before, on average."""
    if report.rounds is not None:
        return report.rounds
    return max(report.round, round(report.round / report.share_spent)) if report.share_spent > 0.0 else report.round


@contextmanager
def showing_runs(output: Output) -> Iterator[RunsCallback | None]:
    """Give a callback that draws how many runs are over and what runs now, or None where no one looks."""
    with showing_steps(output, "run") as update:
        yield (lambda step: update(step.done, step.runs, step.text)) if output.shows_progress else None


@contextmanager
def showing_steps(output: Output, counted: str, note: str = "running") -> Iterator[Callable[[int, int, str], None]]:
    """Give a callback that draws how many steps of how many are over and what runs now.

    Args:
        output: Output of the command.
        counted: Name of a step.
        note: Printed where no one looks; the callback does nothing there.
    """
    from rich.progress import TextColumn, TimeRemainingColumn

    columns = (TimeRemainingColumn(), TextColumn("{task.fields[now]}", markup=False))
    with _drawing(output, counted, *columns, note=note, now="reading") as update:
        yield lambda done, total, now: update(completed=done, total=total, now=now)


@contextmanager
def showing_counting(output: Output) -> Iterator[Callable[[float], None]]:
    """Give a callback that draws what part of a table is counted; how many rows that are is private."""
    from rich.progress import TimeRemainingColumn

    with _drawing(output, "counting", TimeRemainingColumn(), note="counting the table", counts=False) as update:
        yield lambda part: update(completed=part, total=1.0)


@contextmanager
def showing_records(output: Output) -> Iterator[Callable[[int, int], None] | None]:
    """Give a callback that draws how many records are written of how many, or None where no one looks."""
    from rich.progress import TimeRemainingColumn

    with _drawing(output, "record", TimeRemainingColumn(), note="drawing records") as update:
        yield (lambda done, wanted: update(completed=done, total=wanted)) if output.shows_progress else None


@contextmanager
def _drawing(
    output: Output, counted: str, *columns: ProgressColumn, note: str = "running", counts: bool = True, **fields: Any
) -> Iterator[Callable[..., None]]:
    """Draw a bar, and give what changes it; only a note where no one looks."""
    if not output.shows_progress:
        output.note(note)
        yield lambda **_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    number = (MofNCompleteColumn(),) if counts else ()
    first = (SpinnerColumn(), TextColumn(counted), *number, BarColumn(bar_width=None))
    with Progress(*first, *columns, console=output.err, transient=True) as bar:
        yield partial(bar.update, bar.add_task("", total=None, **fields))


# Interrupts


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, and afterwards drop what Python would print about errors in finalizers.

    A compiler that is interrupted while it makes an object fails once more when the half-made object is removed; Python
    can only print that. Before an interrupt nothing is dropped. An interrupt that itself falls into a finalizer or a
    callback, where Python cannot raise it, is sent again; so is one that falls into what compiled code calls while it
    hands on an array, for numba does not look whether that failed: it goes on with what is not there.
    """
    printing = sys.unraisablehook

    def interrupt(_signal: int, frame: FrameType | None) -> None:
        sys.unraisablehook = _after_an_interrupt
        if _is_called_by_compiled_code(frame):
            _interrupt_again()
        else:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if sys.exc_info()[0] is None:
            sys.unraisablehook = printing


def _after_an_interrupt(dropped: UnraisableHookArgs) -> None:
    if issubclass(dropped.exc_type, KeyboardInterrupt):
        _interrupt_again()


def _is_called_by_compiled_code(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_name != "_numba_unpickle":
        frame = frame.f_back
    return frame is not None


def _interrupt_again() -> None:
    threading.Timer(_AGAIN, os.kill, (os.getpid(), signal.SIGINT)).start()
