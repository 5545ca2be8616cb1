"""Row filters: SQL conditions that people give, which look at one row at a time.

A filter that looks at other rows (a subquery, an average) would let one record decide whether others count, and the
sensitivity of every count would be wrong. So only what is known to look at one row, and to say the same every time, is
let through: operators, and casts to plain types. No function is: a database or a session can give a name of its own
meaning. What a view is made of, and what the operators of a PostgreSQL server do, is up to who made them.

The parser takes long to import, so this module is imported only where there is a filter.
"""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from hedgerow.errors import ColumnError, QueryError

REMEDY = "compare columns of one row with constants: age >= 18 and region in ('north', 'south')"

_TYPES = (
    *("TEXT", "VARCHAR", "CHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT"),
    *("FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMPNTZ"),
)
_CONDITIONS = (
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.In, exp.Between, exp.Is, exp.Like, exp.ILike, exp.Boolean),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
)
_ALLOWED = (
    *_CONDITIONS,
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod),
    *(exp.Cast, exp.DataType, exp.Tuple),
)
_CLOCK = re.compile(r"(?i)\s*(now|today|tomorrow|yesterday)\b")
"""Texts that PostgreSQL takes for a time of its own clock where a time is expected."""


def row_filter(
    text: str,
    file: str,
    names: Collection[str],
    *,
    texts: Collection[str] = (),
    dialect: str = "duckdb",
    numbers: Mapping[str, bool] = MappingProxyType({}),
) -> str:
    """A filter, checked, as the engine writes it.

    Args:
        text: A SQL condition on columns of the table, whether the domain declares them or not.
        file: Name of the table in messages.
        names: Its columns.
        texts: Columns that hold texts only, as those of CSV files: an empty text is an empty cell, and what is compared
            with a number is read as a number, if it can be.
        dialect: SQL dialect of the engine.
        numbers: Columns of numbers whose type one cell may have decided, and whether that is one of doubles or whole
            numbers. All are doubles to the filter, so that what it makes of one number does not depend on the others.

    Raises:
        QueryError: It cannot be parsed, or may look at more than one row.
        ColumnError: It names a column that is not there.

    Example:
        >>> print(row_filter("age >= 18 and not region in ('north')", "people.parquet", ["age", "region"]))
        "age" >= 18 AND NOT "region" IN ('north')
        >>> print(row_filter("age >= 18", "people.csv", ["age"], texts=["age"]))
        TRY_CAST(NULLIF("age", '') AS DOUBLE) >= 18
        >>> print(row_filter("cast(age as text) = '18.0'", "people.parquet", ["age"], numbers={"age": True}))
        CAST(CAST("age" AS DOUBLE) AS TEXT) = '18.0'
        >>> row_filter("age > (select avg(age) from people)", "people.csv", ["age"])
        Traceback (most recent call last):
            ...
        hedgerow.errors.QueryError: the filter holds a subquery, which may look at other rows...
    """
    parsed = _checked(text, dialect)
    for column in list(parsed.find_all(exp.Column)):
        if column.name not in names:
            message = "the filter names it, and the table has no such column"
            raise ColumnError(message, file=file, column=column.name, remedy=f"there are: {', '.join(names)}")
        if column.name in texts:
            known: exp.Expression = exp.Nullif(this=column.copy(), expression=exp.Literal.string(""))
            number = _meets_a_number(column)
            column.replace(exp.TryCast(this=known, to=exp.DataType.build("double")) if number else known)
        elif column.name in numbers:
            known = (
                column.copy() if numbers[column.name] else exp.Cast(this=column.copy(), to=exp.DataType.build("text"))
            )
            column.replace(exp.Cast(this=known, to=exp.DataType.build("double")))
    return str(parsed.sql(dialect=dialect, identify=True, comments=False))


def filtered_by(text: str) -> list[str]:
    """The columns that a filter, which was checked, looks at.

    Example:
        >>> filtered_by("age >= 18 and not region in ('north') and age < 65")
        ['age', 'region']
    """
    return list(dict.fromkeys(column.name for column in _checked(text, "duckdb").find_all(exp.Column)))


def _meets_a_number(column: exp.Expression) -> bool:
    """Whether it is compared with a number."""
    parent = column.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    if not isinstance(parent, exp.Predicate):
        return False
    sides = (_bare(side) for side in parent.iter_expressions())
    return any(isinstance(side, exp.Literal) and not side.is_string for side in sides)


def _bare(node: Any) -> Any:
    """Without its sign and parentheses."""
    return _bare(node.this) if isinstance(node, exp.Neg | exp.Paren) else node


def _checked(text: str, dialect: str) -> Any:
    """The parsed filter, if it looks at one row and is a condition."""
    try:
        parsed: Any = parse_one(text, dialect="duckdb")
    except SqlglotError as error:
        raise QueryError(f"the filter {text!r} is not a SQL condition", remedy=REMEDY) from error
    for node in parsed.walk():
        _check_node(node, dialect)
    if not isinstance(parsed, _CONDITIONS):
        raise QueryError(f"the filter {text!r} is not a condition", remedy=REMEDY)
    return parsed


def _check_node(node: exp.Expression, dialect: str) -> None:
    if not isinstance(node, _ALLOWED):
        raise QueryError(f"the filter holds {_words(node)}, which may look at other rows", remedy=REMEDY)
    if isinstance(node, exp.DataType) and (node.this.name not in _TYPES or node.expressions or node.args.get("nested")):
        raise QueryError(f"the filter holds a cast to {node.sql()}, which is not a plain type", remedy=REMEDY)
    if isinstance(node, exp.Column) and len(node.parts) > 1:
        raise QueryError(
            f"the filter names {node.sql()}, a column of some table",
            remedy="name the column alone; quote dots",
        )
    if isinstance(node, exp.In) and not node.expressions:
        raise QueryError("the filter holds IN without a list of values", remedy=REMEDY)
    if dialect == "postgres" and isinstance(node, exp.Literal) and node.is_string and _CLOCK.match(node.name):
        raise QueryError(f"the filter holds {node.name!r}, which can be the time of the query", remedy="write the date")


def _words(node: exp.Expression) -> str:
    if isinstance(node, exp.Query | exp.Subquery):
        return "a subquery"
    return f"{'the function ' if isinstance(node, exp.Func) else ''}{node.key.upper()}"
