"""Public tables of domain files: mappings, rows, or CSV files beside them."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hedgerow.domain.attribute import Value, value_text
from hedgerow.domain.entries.yaml_text import plain_value
from hedgerow.errors import DomainError

Row = tuple[str, ...]


def read_table(path: str, folder: Path | None, what: str) -> tuple[Row, list[Row]]:
    """Header and rows of a CSV file.

    Args:
        path: The file, relative to the folder.
        folder: Folder of the domain file; None for content that came without one, which names no files.
        what: Beginning of the errors.

    Raises:
        DomainError: The file may not be named or cannot be read, or a row has another number of cells than the header.
    """
    if folder is None:
        raise DomainError(f"{what}: {path!r} names a file", remedy="only a domain file may; give the table itself")
    try:
        with (folder / path).open(encoding="utf-8-sig", newline="") as file:
            lines = [tuple(cell.strip() for cell in row) for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no CSV in UTF-8"
        raise DomainError(
            f"{what}: {path!r} cannot be read ({reason})", remedy="check the path and the file"
        ) from error
    uneven = next((number for number, row in enumerate(lines) if len(row) != len(lines[0])), None)
    if len(lines) < 2 or uneven is not None:
        where = f"line {uneven + 1} of {path!r} has another number of cells" if uneven else f"{path!r} has no rows"
        raise DomainError(f"{what}: {where}", remedy="give a header, and one row for each value")
    return lines[0], lines[1:]


def rows_of(table: object, names: Sequence[str], folder: Path | None, what: str) -> list[tuple[Row, Value]]:
    """Texts of the sources, and the value of what they determine, from a table.

    Args:
        table: A mapping of values, for one source; rows with all values; or the path of a CSV file with these columns.
        names: Names of the sources, then of what they determine.
        folder: Folder of the domain file, if there is one.
        what: Beginning of the errors.

    Raises:
        DomainError: The table has none of these forms.

    Example:
        >>> rows_of({"a": 1, "b": 2}, ["area", "density"], None, "density")
        [(('a',), 1), (('b',), 2)]
    """
    rows: list[Sequence[Any]]
    if isinstance(table, str):
        header, lines = read_table(table, folder, what)
        absent = [name for name in names if name not in header]
        if absent:
            raise DomainError(
                f"{what}: {table!r} has no column {absent[0]!r}", remedy=f"name its columns {', '.join(names)}"
            )
        places = [header.index(name) for name in names]
        rows = [[*(line[place] for place in places[:-1]), plain_value(line[places[-1]])] for line in lines]
    elif isinstance(table, Mapping) and len(names) == 2:
        rows = [[key, value] for key, value in table.items()]
    elif isinstance(table, list) and all(isinstance(row, list) and len(row) == len(names) for row in table):
        rows = table
    else:
        raise DomainError(
            f"{what}: 'table' is none that gives {names[-1]!r} for {', '.join(names[:-1])}",
            remedy="give the path of a CSV file with these columns, rows of their values, or (for one) a mapping",
        )
    for row in rows:
        if not all(isinstance(cell, str | int | float) for cell in row):
            raise DomainError(f"{what}: the table holds {row!r}", remedy="give texts, numbers, true or false")
    return [(tuple(value_text(cell) for cell in row[:-1]), row[-1]) for row in rows]
