"""The columns of a table that are read: those of the domain, and the column of counts."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn, final, get_args

from hedgerow.data.reading.readers import Reader
from hedgerow.data.reading.rules import check_violations
from hedgerow.data.source import Violations
from hedgerow.domain import Attribute, Domain, IntegerRange
from hedgerow.errors import ColumnError, ConfigError, UndeclaredColumnError

ExtraColumns = Literal["error", "ignore"]

COUNT_NAMES = ("count", "counts", "weight", "weights", "n", "freq", "frequency")
"""Usual names of a column that says how often each row counts."""


@final
@dataclass(frozen=True)
class Coding:
    """The columns that are read, and how they become codes; public.

    Attributes:
        domain: The columns that are read, in order; derived columns, which follow from these, are read and checked.
        count_column: Column that says how many records a row stands for.
        coded: Whether the table holds codes already, in place of values.
        show_values: Whether errors may show offending values.
        violations: Whether rows that break a rule of the domain are an error, or are left out; the former if it has
            none.
    """

    domain: Domain
    count_column: str | None = None
    coded: bool = False
    show_values: bool = False
    violations: Violations = "refuse"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are read, that of the counts last."""
        return (*self.attributes, *([] if self.count_column is None else [self.count_column]))

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The attribute that the cells of each column are read as: those of records, then derived columns."""
        declared = (*self.domain, *(each.attribute for each in self.domain.derived_columns))
        if self.coded:
            return {each.name: IntegerRange(each.name, 0, each.size - 1) for each in declared}
        return {each.name: each for each in declared}


def select_columns(
    reader: Reader,
    domain: Domain,
    *,
    count_column: str | None = None,
    columns: Iterable[str] | None = None,
    extra_columns: ExtraColumns = "error",
    coded: bool = False,
    show_values: bool = False,
    violations: Violations = "refuse",
) -> Coding:
    """Choose the columns to be read, and check them against the columns that are there.

    Args:
        reader: The table; no row is read.
        domain: The declared attributes.
        count_column: The column of counts.
        columns: The columns wanted, in the wanted order; None for all of the domain. A text is one name.
        extra_columns: Whether a column that the domain does not declare is an error; with ``columns`` it is not.
        coded: Whether the table holds codes already, in place of values.
        show_values: Whether errors may show offending values.
        violations: Whether rows that break a rule of the domain are an error, or are left out.

    Raises:
        ColumnError: A column is missing, there twice, or neither declared nor to be ignored.
        DomainError: A wanted column is not in the domain.
        ConfigError: ``extra_columns`` or ``violations`` is neither of its values.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.data.reading.readers import open_table
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)])
        >>> select_columns(open_table(pa.table({"b": [1], "c": [2]})), domain, columns=["b"]).domain.names
        ('b',)
    """
    file, names = reader.file, reader.names
    if extra_columns not in get_args(ExtraColumns):
        raise ConfigError(f"extra_columns is {extra_columns!r}", remedy="give 'error' or 'ignore'")
    check_violations(violations)
    wanted = domain if columns is None else domain.of_columns([columns] if isinstance(columns, str) else columns)
    coding = Coding(wanted, count_column, coded, show_values, violations if wanted.has_rules else "refuse")
    needed = coding.columns
    if count_column is not None and count_column in coding.attributes:
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
    extra = [name for name in names if name not in needed and name not in domain.ignored]
    if extra and columns is None and extra_columns == "error":
        _refuse_extra(file, extra, count_column)
    return coding


def check_apart(where: str | None, count_column: str | None, file: str) -> None:
    """Refuse a filter that looks at the column of counts.

    A count is about all records of its row at once: one record more could let all of them pass.

    Args:
        where: The filter; None where there is none.
        count_column: Column that says how many records a row stands for; None where there is none.
        file: Name of the table in messages.

    Raises:
        ColumnError: It looks at it.
        QueryError: It cannot be parsed, or may look at more than one row.

    Example:
        >>> check_apart("age >= 18", "n", "people.csv")
        >>> check_apart("age >= 18 and n >= 10", "n", "people.csv")
        Traceback (most recent call last):
            ...
        hedgerow.errors.ColumnError: people.csv, column 'n': it counts records, and the filter looks at it...
    """
    if where is None or count_column is None:
        return
    from hedgerow.data.reading.row_filter import REMEDY, filtered_by

    if count_column.casefold() in map(str.casefold, filtered_by(where)):
        message = "it counts records, and the filter looks at it: one record could decide whether others pass"
        raise ColumnError(message, file=file, column=count_column, remedy=REMEDY)


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
    remedy = "declare it or list it under 'ignore', select the columns to read, or pass extra_columns='ignore'"
    counts = count_column is None and extra[0].lower() in COUNT_NAMES
    if counts:
        remedy = f"if it says how often each row counts, pass count_column={extra[0]!r}; else {remedy}"
    error = UndeclaredColumnError(message, file=file, column=extra[0], remedy=remedy)
    error.looks_like_counts = counts
    raise error
