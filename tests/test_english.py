"""The rule for short texts: none begins with a preposition or a relative word.

The first line of a docstring, the texts of arguments, attributes, errors and results, and the help of an option say
what a thing is or does: "Name of the mechanism" and "Number of rounds", not "Of the mechanism" and "How many rounds".
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

import hedgerow
from hedgerow.cli.app import app

SOURCES = Path(hedgerow.__file__).parent
RELATIVE = re.compile(r"(Of|Whose|What|That|Which|How|Who|Where|As)\b")
SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):")
ENTRY = re.compile(r"    \*{0,2}[\w.]+: (.*)")
LABELS = ("help", "description", "summary", "title")


def texts(docstring: str) -> Iterator[str]:
    """Give the first line, the texts of the entries, and what is returned."""
    yield docstring.partition("\n")[0]
    section, fresh = "", False
    for line in docstring.splitlines():
        if heading := SECTION.fullmatch(line):
            section, fresh = heading[1], True
        elif line and not line.startswith(" "):
            section = ""
        elif section in ("Returns", "Yields"):
            yield line.strip() if fresh else ""
            fresh = False
        elif section and (entry := ENTRY.fullmatch(line)):
            yield entry[1]


def short_texts(source: str) -> Iterator[tuple[int, str]]:
    """Give the short texts of a module with their lines: those of docstrings, and labels given by keyword."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as docstring)):
                yield from ((node.lineno, text) for text in texts(inspect.cleandoc(docstring)))
            case ast.keyword(arg=name, value=value) if name in LABELS:
                parts = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
                yield node.value.lineno, str(parts[0]) if parts else ""
            case _:
                pass


def helps(command: Any, path: str = "hedgerow") -> Iterator[tuple[str, str]]:
    """Give the help texts of a command's options and arguments, and of the commands below it."""
    yield from ((f"{path} {each.name}", getattr(each, "help", None) or "") for each in command.params)
    for name, below in getattr(command, "commands", {}).items():
        yield from helps(below, f"{path} {name}")


def test_no_text_of_the_sources_begins_with_a_relative_word() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}: {text}"
        for path in sorted(SOURCES.rglob("*.py"))
        for line, text in short_texts(path.read_text(encoding="utf-8"))
        if RELATIVE.match(text)
    ]
    assert not found, "\n".join(found)


def test_no_help_of_the_command_line_begins_with_a_relative_word() -> None:
    found = [f"{place}: {text}" for place, text in helps(typer.main.get_command(app)) if RELATIVE.match(text)]
    assert not found, "\n".join(found)


def test_the_rule_finds_what_it_forbids() -> None:
    source = '''
def f(name):
    """How many.

    Args:
        name: Of the mechanism.

    Returns:
        What is left.
        As many lines as there are.
    """

field(help="Whose budget it is", other="Of no interest")
LIMIT = 3
"""Where it ends."""
'''
    found = {text for _, text in short_texts(source) if RELATIVE.match(text)}
    assert found == {"How many.", "Of the mechanism.", "What is left.", "Whose budget it is", "Where it ends."}
