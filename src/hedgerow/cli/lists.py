"""Options that list something: names of columns, their types and bounds, and the lines of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

from hedgerow.engines import quoted
from hedgerow.errors import ConfigError

_QUOTED = re.compile(r"""\s*"((?:[^"]|"")+)"\s*""")
_LISTED = re.compile(rf"""(?:{_QUOTED.pattern}|\s*([^",][^,]*?|)\s*)(?:,|$)""")


def split_names(text: str | None) -> list[str] | None:
    """Names separated by commas; one that holds a comma or a quote, or begins or ends with a blank, is quoted.

    Raises:
        typer.BadParameter: A quote is not closed, or something follows it.

    Example:
        >>> split_names('age, sex, "birth, region"')
        ['age', 'sex', 'birth, region']
    """
    if text is None:
        return None
    names, place = list[str](), 0
    while place < len(text):
        field = _LISTED.match(text, place)
        if field is None:
            raise typer.BadParameter(f'{text[place:]!r} is no list of names, as in: age,"birth, region",sex')
        names.append((field[1] or "").replace('""', '"') or field[2] or "")
        place = field.end()
    return [name for name in names if name]


def joined_names(names: Iterable[str]) -> str:
    """The list of names that `split_names` reads, for messages.

    Example:
        >>> joined_names(["age", "birth region", "birth, region"])
        'age,birth region,"birth, region"'
    """
    return ",".join(quoted(name) if re.search(r'[",]|^\s|\s$', name) else name for name in names)


def split_types(types: Sequence[str]) -> dict[str, str]:
    """The type of each column that ``--types`` names.

    Example:
        >>> split_types(["age=int,note=text", "born=date:%d.%m.%Y"])
        {'age': 'int', 'note': 'text', 'born': 'date:%d.%m.%Y'}
    """
    known: dict[str, str] = {}
    for text in types:
        for part in re.split(r",(?=[^,]*=)", text):
            name, equals, kind = part.partition("=")
            if not (equals and name.strip() and kind.strip()):
                raise typer.BadParameter(f"--types {text!r} is not NAME=TYPE, as in age=int,note=text")
            known[name.strip()] = kind.strip()
    return known


def split_bounds(bounds: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The smallest and the largest value of each column that ``--bounds`` names, as texts.

    Example:
        >>> split_bounds(["age=0..120", '" x=1"=2..3'])
        {'age': ('0', '120'), ' x=1': ('2', '3')}
    """
    known: dict[str, tuple[str, str]] = {}
    for text in bounds:
        written, equals, ends = text.rpartition("=")
        low, dots, high = ends.partition("..")
        if not (equals and dots and written.strip() and low.strip() and high.strip()):
            raise typer.BadParameter(f"--bounds {text!r} is not NAME=LOW..HIGH, as in age=0..120")
        field = _QUOTED.fullmatch(written)
        name = written.strip() if field is None else field[1].replace('""', '"')
        known[name] = low.strip(), high.strip()
    return known


def listed_lines(option: str, path: Path | None) -> list[str]:
    """The lines of a text file but the empty ones and comments; none without a file.

    Args:
        option: The option that names it.
        path: The file.

    Raises:
        ConfigError: It is no text, or cannot be read.
    """
    if path is None:
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{option}: {path} is not a text in UTF-8", remedy="one question per line") from error
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
