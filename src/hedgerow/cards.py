"""Objects as notebooks show them: a small table of HTML, in the colours of the page around it, light or dark.

Every text is escaped, and nothing outside the page is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

MOST_ROWS = 40
"""Rows that a card shows; a last one says how many more there are."""

_CELL = "text-align:left;padding:.2em .8em .2em 0;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.35)"


class Drawing(str):
    """The text of an SVG drawing, which notebooks show as the drawing.

    Example:
        >>> Drawing('<?xml version="1.0"?> <svg></svg>')._repr_svg_()
        '<svg></svg>'
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        """The drawing, without what stands before it in a file of its own."""
        return self[self.index("<svg") :]


def card(
    title: str,
    facts: Iterable[tuple[str, str]] = (),
    headings: Sequence[str] = (),
    rows: Iterable[Sequence[str]] = (),
    *,
    more: int = 0,
) -> str:
    """A title, facts below it, and a table.

    Args:
        title: The first line.
        facts: Pairs of a word and a text.
        headings: Headings of the table; none for no table.
        rows: Cells of its rows; no more than `MOST_ROWS` are looked at.
        more: Number of rows that are left out.

    Example:
        >>> "<b>a &lt; b</b>" in card("a < b", [("budget", "1 epsilon")])
        True
    """
    pieces = [f"<b>{escape(title)}</b>", *(f"{escape(word)}: {escape(text)}" for word, text in facts)]
    if headings:
        lines = [_line("th", headings), *(_line("td", row) for row in islice(rows, MOST_ROWS))]
        pieces.append(f'<table style="border-collapse:collapse;margin:.4em 0">{"".join(lines)}</table>')
    if more > 0:
        pieces.append(f"and {more:,} more")
    return f'<div style="max-width:60em">{"".join(f"<div>{piece}</div>" for piece in pieces)}</div>'


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag} style={_CELL!r}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
