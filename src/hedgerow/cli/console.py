"""What the commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from rich.console import Console
from rich.markup import escape

from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from rich.table import Table


WIDE = 160
"""Columns of a table that goes into a file or a pipe."""


@final
@dataclass
class Output:
    """Where a command prints, as ``--quiet`` and ``--json`` say.

    Attributes:
        quiet: Nothing is printed but errors and warnings, and the result of ``--json``.
        as_json: The result is one JSON object on standard output, and nothing else goes there.
        facts: What a failed command adds to its JSON object, such as what was spent.

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
        """Whether somebody looks at a terminal."""
        return not self.quiet and self.err.is_terminal

    def result(self, values: Mapping[str, Any]) -> None:
        """Print the result of ``--json``; nothing without it."""
        if self.as_json:
            sys.stdout.write(json.dumps(_plain(values), indent=1, allow_nan=False) + "\n")
            sys.stdout.flush()

    def say(self, text: str = "") -> None:
        """Print a line of the result for people; nothing under ``--quiet`` or ``--json``."""
        if not (self.quiet or self.as_json):
            self.out.print(escape(text))

    def tell(self, sentences: str) -> None:
        """Print sentences of the result for people; a terminal breaks them between words."""
        if not (self.quiet or self.as_json):
            self.out.print(escape(sentences), soft_wrap=not self.out.is_terminal)

    def table(self, table: Table) -> None:
        """Print a table for people; nothing under ``--quiet`` or ``--json``."""
        if not (self.quiet or self.as_json):
            width = None if self.out.is_terminal else WIDE
            Console(highlight=False, width=width).print(table)

    def panel(self, markup: str, title: str) -> None:
        """Print a frame around lines in rich's markup for people; nothing under ``--quiet`` or ``--json``."""
        if not (self.quiet or self.as_json):
            from rich.panel import Panel

            width = None if self.out.is_terminal else WIDE
            Console(highlight=False, width=width).print(Panel.fit(markup, title=title, padding=(1, 2)))

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
    def busy(self, text: str) -> Iterator[None]:
        """Show that something takes a while: on a terminal until it ends, elsewhere as a plain line."""
        if self.shows_progress:
            with self.err.status(escape(text)):
                yield
        else:
            self.note(text)
            yield


def _plain(value: Any) -> Any:
    """The value with null where JSON has no number for it: infinities, and what is not a number."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
