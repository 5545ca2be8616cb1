"""The columns of a table that are read: those of the domain, and the columns of counts, weights and persons."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from hedgerow.data.options import ReadOptions, Violations
from hedgerow.data.reading.readers import Reader
from hedgerow.domain import Attribute, Domain, IntegerRange, Measure, Span, measure_of
from hedgerow.errors import ColumnError, ConfigError, UndeclaredColumnError
from hedgerow.queries import Persons

COUNT_NAMES = ("count", "counts", "n", "freq", "frequency")
"""Usual names of a column that says how many records a row stands for."""
WEIGHT_NAMES = ("weight", "weights", "pwgtp", "wgtp", "perwt", "hhwt")
"""Usual names of a column that says how often each record counts."""


@dataclass(frozen=True)
class Coding:
    """The columns that are read, and how they become codes; public.

    Attributes:
        domain: The columns that are read, in order; derived columns, which follow from these, are read and checked.
        options: How the table is read.
    """

    domain: Domain
    options: ReadOptions = field(default_factory=ReadOptions)

    @property
    def violations(self) -> Violations:
        """Whether rows that break a rule of the domain are an error, or are left out; the former if it has none."""
        return self.options.violations if self.domain.has_rules else "refuse"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are read, those of counts, weights and persons last."""
        measured = {span.length for span in self.spans if not span.column}
        attributes = (name for name in self.attributes if name not in measured)
        return (*dict.fromkeys((*attributes, *self.options.apart)),)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Durations that are measured between two columns; codes say how long they are."""
        return () if self.options.coded else self.domain.spans

    @property
    def measures(self) -> dict[Span, Measure]:
        """The exact columns of each span."""
        return {span: measure_of(span, self.domain[span.start], self.domain[span.length]) for span in self.spans}

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The attribute that the cells of each column are read as: of records, derived columns, then ends of spans."""
        declared = (*self.domain, *(derived_column.attribute for derived_column in self.domain.derived_columns))
        if self.options.coded:
            return {attribute.name: IntegerRange(attribute.name, 0, attribute.size - 1) for attribute in declared}
        ends = {span.end: measure.end for span, measure in self.measures.items()}
        return {attribute.name: attribute for attribute in declared} | ends


def select_columns(reader: Reader, domain: Domain, options: ReadOptions | None = None) -> Coding:
    """Choose the columns to be read, and check them against the columns that are there.

    Args:
        reader: The table; no row is read.
        domain: The declared attributes.
        options: How the table is read; by default every column is an attribute.

    Raises:
        ColumnError: A column is missing, there twice, or neither declared nor to be ignored.
        DomainError: A wanted column is not in the domain.
        ConfigError: Rows that stand for several records are to be those of a person, or weighted.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.data.reading.readers import open_table
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)])
        >>> select_columns(open_table(pa.table({"b": [1], "c": [2]})), domain, ReadOptions(columns=["b"])).domain.names
        ('b',)
    """
    file, names = reader.file, reader.names
    options = options or ReadOptions()
    columns, count_column = options.columns, options.count_column
    wanted = domain if columns is None else domain.of_columns([columns] if isinstance(columns, str) else columns)
    coding = Coding(wanted, options)
    needed = coding.columns
    if options.persons is not None:
        _check_persons(options.persons, coding, file)
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
            near = difflib.get_close_matches(name, names, 1)
            if near:
                remedy = f"did you mean {near[0]!r}? Rename the column, or the attribute in the domain"
            else:
                remedy = (
                    f"name it in the first row of the table, or select other columns; there are: {', '.join(names)}"
                )
            raise ColumnError("the table has no such column", file=file, column=name, remedy=remedy)
    extra = [name for name in names if name not in needed and name not in domain.ignored]
    if extra and columns is None and options.extra_columns == "error":
        _refuse_extra(file, extra, count_column)
    return coding


def _check_persons(persons: Persons, coding: Coding, file: str) -> None:
    if coding.options.count_column is not None:
        raise ConfigError(
            "rows that stand for several records cannot be bounded by person, and have no weights",
            remedy="write one row for each record, or leave the column of counts out",
        )
    weight = persons.weight
    attributes = () if coding.domain.names == (weight and weight.column,) else (*coding.attributes,)
    if weight is not None and weight.column in (*attributes, persons.column):
        raise ColumnError(
            "it is the column of weights, and an attribute of the domain or what tells persons apart at once",
            file=file,
            column=weight.column,
            remedy="take it out of the domain, or name another column of weights",
        )
    if persons.column in coding.attributes:
        raise ColumnError(
            "it tells persons apart and is an attribute of the domain at once",
            file=file,
            column=persons.column,
            remedy="take it out of the domain: who a record belongs to is not released",
        )


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


def _refuse_extra(file: str, extra: Sequence[str], count_column: str | None) -> NoReturn:
    message = "the domain does not declare it"
    if len(extra) > 1:
        message += f" (nor {', '.join(map(repr, extra[1:]))})"
    remedy = "declare it or list it under 'ignore', select the columns to read, or pass extra_columns='ignore'"
    counts = count_column is None and extra[0].lower() in COUNT_NAMES
    if counts:
        remedy = f"if it says how many records a row stands for, pass count_column={extra[0]!r}; else {remedy}"
    weights = extra[0].lower() in WEIGHT_NAMES
    if weights:
        pair = f"weight={extra[0]!r} and largest_weight"
        remedy = f"if it says how often each record counts, pass {pair}; else {remedy}"
    error = UndeclaredColumnError(message, file=file, column=extra[0], remedy=remedy)
    error.looks_like_counts, error.looks_like_weights = counts, weights
    raise error
