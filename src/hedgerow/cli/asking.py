"""The columns of a draft, one by one on a terminal: each is kept, described anew, or left out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import typer

from hedgerow.errors import DomainError

_COLUMN = re.compile(r'  (?:- )?("(?:[^"\\]|\\.)*")(?:: (\{.*\}))?')
_HELP = "Enter keeps it; 'ignore' leaves the column out; or write another entry, as in {}"
_EXAMPLE = '{"min": 0, "max": 120} or {"values": ["F", "M"], "other": true}'


@dataclass(frozen=True)
class _Column:
    """A column of a draft.

    Attributes:
        name: Its name, in quotes.
        entry: Its entry; None where it stays out.
        comments: Lines above it.
    """

    name: str
    entry: str | None
    comments: tuple[str, ...]

    @property
    def is_doubtful(self) -> bool:
        """Whether the draft says that its entry may be wrong, or has none."""
        from hedgerow.data import IN_DOUBT

        return self.entry is None or any(line.startswith(f"  # {IN_DOUBT}") for line in self.comments)

    @property
    def lines(self) -> list[str]:
        """Its lines in a draft."""
        return [*self.comments, f"  - {self.name}" if self.entry is None else f"  {self.name}: {self.entry}"]


def with_answers(draft: str) -> str:
    """Go through the columns of a draft that are in doubt or stay out, and take in what a person says of each.

    What the draft asks of a column stands above its entry. The other columns follow if the person wants. In the end a
    person may say that everything in it is public knowledge; then it is no draft any more.

    Args:
        draft: The text of a draft.

    Returns:
        The text with other entries.
    """
    from hedgerow.data import STAY_OUT

    lines = draft.split("\n")
    start = lines.index("attributes:") + 1
    end = next(place for place in range(start, len(lines)) if lines[place].startswith("# The data cannot"))
    columns = _columns(lines[start:end])
    doubtful = [column.name for column in columns if column.is_doubtful]
    others = [column.name for column in columns if not column.is_doubtful]
    typer.echo(f"{len(columns)} columns, {len(doubtful)} of them in doubt. {_HELP.format(_EXAMPLE)}", err=True)
    answered = {column.name: _answered(column) for column in columns if column.is_doubtful}
    if others and typer.confirm(f"\nGo through the others too: {', '.join(others)}?", err=True):
        answered |= {column.name: _answered(column) for column in columns if not column.is_doubtful}
    columns = [answered.get(column.name, column) for column in columns]
    taken = [line for column in columns if column.entry is not None for line in column.lines]
    left = [line for column in columns if column.entry is None for line in column.lines]
    head = lines[:start]
    if typer.confirm("Is all that the file says public knowledge now, whoever is in the table?", err=True):
        head.remove("draft: true")
    return "\n".join([*head, *taken, *(["", STAY_OUT, "ignore:", *left] if left else []), "", *lines[end:]])


def _columns(lines: Sequence[str]) -> list[_Column]:
    columns, comments = list[_Column](), list[str]()
    for line in lines:
        if found := _COLUMN.fullmatch(line):
            columns.append(_Column(found[1], found[2], tuple(comments)))
        comments = [*comments, line] if line.startswith("  #") else []
    return columns


def _answered(column: _Column) -> _Column:
    """The column as a person wants it; what is not in doubt any more has no comment."""
    from hedgerow.domain import attribute_of, parsed_text

    question = " ".join(line.strip().lstrip("# ") for line in column.comments)
    while True:
        typer.echo(f"\n{column.name}: {column.entry or 'stays out'}\n  {question}", err=True)
        answer: str = typer.prompt("  ", default="", show_default=False, prompt_suffix="> ", err=True).strip()
        if not answer:
            return column
        if answer == "ignore":
            return replace(column, entry=None)
        try:
            content = parsed_text(answer)
            attribute_of(parsed_text(column.name), content)
            return _Column(column.name, json.dumps(content, ensure_ascii=False), ())
        except DomainError as error:
            typer.echo(f"  {error}", err=True)
