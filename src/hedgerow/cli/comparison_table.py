"""How a comparison is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from hedgerow.cli.console import Output
    from hedgerow.comparison import Comparison


def print_comparison(output: Output, comparison: Comparison) -> None:
    """Print mean and largest errors, one row per mechanism and one column per budget, and the reasons of failures.

    Args:
        output: Where to.
        comparison: What was found.
    """
    from hedgerow.comparison import headings_of, notes_of, rows_of, title_of

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings_of(comparison)):
        table.add_column(escape(heading), justify="right" if place else "left")
    for row in rows_of(comparison):
        table.add_row(*map(escape, row))
    output.tell(title_of(comparison))
    output.table(table)
    for note in notes_of(comparison):
        output.tell(note)
