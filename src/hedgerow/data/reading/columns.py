"""Which columns of a table are read: those of the domain, and the column of counts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Literal, NoReturn, get_args

from hedgerow.domain import Domain
from hedgerow.errors import ColumnError, ConfigError, UndeclaredColumnError

ExtraColumns = Literal["error", "ignore"]

COUNT_NAMES = ("count", "counts", "weight", "weights", "n", "freq", "frequency")
"""Usual names of a column that says how often each row counts."""


def select_columns(
    file: str,
    names: Sequence[str],
    domain: Domain,
    *,
    count_column: str | None,
    columns: Iterable[str] | None,
    extra_columns: ExtraColumns,
) -> Domain:
    """The domain of the columns to be read, checked against the columns that are there.

    Args:
        file: Name of the table in messages.
        names: Columns of the table.
        domain: What is declared.
        count_column: The column of counts.
        columns: The columns wanted, in the wanted order; None for all of the domain. A text is one name.
        extra_columns: Whether a column that the domain does not declare is an error; with ``columns`` it is not.

    Raises:
        ColumnError: A column is missing, there twice, or neither declared nor to be ignored.
        DomainError: A wanted column is not in the domain.
        ConfigError: ``extra_columns`` is neither of its values.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)])
        >>> select_columns("t.csv", ["b", "c"], domain, count_column=None, columns=["b"], extra_columns="error").names
        ('b',)
    """
    if extra_columns not in get_args(ExtraColumns):
        raise ConfigError(f"extra_columns is {extra_columns!r}", remedy="give 'error' or 'ignore'")
    wanted = domain if columns is None else domain.project([columns] if isinstance(columns, str) else columns)
    needed = [*wanted.names] if count_column is None else [*wanted.names, count_column]
    if count_column is not None and count_column in wanted:
        raise ColumnError(
            "it is the column of counts and an attribute of the domain at once",
            file=file,
            column=count_column,
            remedy="take it out of the domain, or name another column of counts",
        )
    for name in names:
        if names.count(name) > 1 and (columns is None or name in needed):
            raise ColumnError("it is there more than once", file=file, column=name, remedy="rename or delete one")
    for name in needed:
        if name not in names:
            _refuse_missing(file, name, names)
    extra = [name for name in names if name not in needed]
    if extra and columns is None and extra_columns == "error":
        _refuse_extra(file, extra, count_column)
    return wanted


def _refuse_missing(file: str, name: str, names: Sequence[str]) -> NoReturn:
    near = difflib.get_close_matches(name, names, 1)
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        remedy = "separate the columns with commas; the first line seems to use another separator"
    elif near:
        remedy = f"did you mean {near[0]!r}? Rename the column, or the attribute in the domain"
    else:
        remedy = f"name it in the first row of the table, or select other columns; there are: {', '.join(names)}"
    raise ColumnError("the table has no such column", file=file, column=name, remedy=remedy)


def _refuse_extra(file: str, extra: Sequence[str], count_column: str | None) -> NoReturn:
    message = "the domain does not declare it"
    if len(extra) > 1:
        message += f" (nor {', '.join(map(repr, extra[1:]))})"
    remedy = "declare it, select the columns to read, or pass extra_columns='ignore'"
    counts = count_column is None and extra[0].lower() in COUNT_NAMES
    if counts:
        remedy = f"if it says how often each row counts, pass count_column={extra[0]!r}; else {remedy}"
    error = UndeclaredColumnError(message, file=file, column=extra[0], remedy=remedy)
    error.looks_like_counts = counts
    raise error
