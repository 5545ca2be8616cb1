"""The columns of a draft, one by one on a terminal: each is kept, described anew, or left out."""

from __future__ import annotations

import json
import re

import typer

from hedgerow.errors import DomainError

_ENTRY = re.compile(r'  ("(?:[^"\\]|\\.)*"): (\{.*\})')
_HELP = "Enter keeps it; 'ignore' leaves the column out; or write another entry, as in {}"
_EXAMPLE = '{"min": 0, "max": 120} or {"values": ["F", "M"], "other": true}'


def with_answers(draft: str) -> str:
    """Go through the columns of a draft, and take in what a person says of each.

    What the draft asks of a column stands above its entry. In the end a person may say that everything in it is public
    knowledge; then it is no draft any more.

    Args:
        draft: The text of a draft.

    Returns:
        The text with other entries.
    """
    lines, ignored = draft.split("\n"), list[str]()
    count = sum(_ENTRY.fullmatch(line) is not None for line in lines)
    typer.echo(f"{count} columns. {_HELP.format(_EXAMPLE)}", err=True)
    asked, kept = list[str](), list[str]()
    for line in lines:
        found = _ENTRY.fullmatch(line)
        if found is None:
            asked = [*asked, line.strip().lstrip("# ")] if line.startswith("  #") else []
            kept.append(line)
            continue
        entry = _answer(found[1], found[2], " ".join(asked))
        if entry is None:
            ignored.append(f"  - {found[1]}")
            kept = kept[: len(kept) - len(asked)]
        else:
            kept.append(f"  {found[1]}: {entry}")
        asked = []
    if ignored and "ignore:" in kept:
        place = kept.index("ignore:") + 1
        kept[place:place] = ignored
    elif ignored:
        place = next((place for place, line in enumerate(kept) if line.startswith("# The data cannot")), len(kept))
        kept[place:place] = ["ignore:", *ignored, ""]
    if typer.confirm("Is all that the file says public knowledge now, whoever is in the table?", err=True):
        kept.remove("draft: true")
    return "\n".join(kept)


def _answer(name: str, entry: str, question: str) -> str | None:
    """The entry of a column that a person wants; None to leave the column out."""
    from hedgerow.domain import attribute_of, parsed_text

    while True:
        typer.echo(f"\n{name}: {entry}\n  {question}", err=True)
        answer: str = typer.prompt("  ", default="", show_default=False, prompt_suffix="> ", err=True).strip()
        if answer == "ignore":
            return None
        if not answer:
            return entry
        try:
            content = parsed_text(answer)
            attribute_of(parsed_text(name), content)
            return json.dumps(content, ensure_ascii=False)
        except DomainError as error:
            typer.echo(f"  {error}", err=True)
