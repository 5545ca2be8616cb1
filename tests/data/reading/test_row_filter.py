"""Row filters: what looks at one row passes as its columns are named, and all else is refused."""

from __future__ import annotations

import pytest

from hedgerow.data.reading.row_filter import row_filter
from hedgerow.errors import ColumnError, QueryError

NAMES = ["age", "region", "user", "a.b", 'the "x" `y` %s {z}']
DIALECTS = ["duckdb", "postgres", "spark"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    [
        *(
            "lower(region) = 'north'",
            "abs(age) > 3",
            "coalesce(age, 1) = 1",
            "trim(region) = 'x'",
            "length(region) = 3",
        ),
        *("age::mine = 1", "'people'::regclass is null", "age::int[] = 1", "age::json is null", "age::enum('a') = 'a'"),
        *("people.age > 3", "main.people.age > 3", "region in age", "age in ()", "age = any([1, 2])", "age in [1] [1]"),
        *(
            "region collate nocase = 'a'",
            "region like 'a!%' escape '!'",
            "columns(*) > 3",
            "* > 3",
            "age = ?",
            "age = $1",
        ),
        *("age = current_date", "case when age = 1 then true end", "age = (values (1))", "age > 1 limit 3", "(age, 1)"),
    ],
)
def test_what_is_not_known_to_look_at_one_row_is_refused(text: str, dialect: str) -> None:
    with pytest.raises(QueryError):
        row_filter(text, "t", NAMES, dialect=dialect)


@pytest.mark.parametrize("name", ["rowid", "ctid", "filename", "tableoid", "_metadata", "current_user"])
def test_columns_that_engines_add_are_no_columns(name: str) -> None:
    with pytest.raises((ColumnError, QueryError)):
        row_filter(f"{name} = 'x'", "t", NAMES)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_are_quoted_and_nothing_of_a_comment_remains(dialect: str) -> None:
    quote = "`" if dialect == "spark" else '"'
    found = row_filter("user = 'x' /* */ -- */ or age < 3 /*", "t", NAMES, dialect=dialect)
    assert found == f"{quote}user{quote} = 'x'"  # without quotes PostgreSQL takes it for the name of who asks
    assert row_filter('"a.b" = 1', "t", NAMES, dialect=dialect) == f"{quote}a.b{quote} = 1"


@pytest.mark.parametrize("text", ["age > 'now'", "age > '  Today 12:00'", "age::date = 'yesterday'::date"])
def test_the_clock_of_a_server_is_no_constant(text: str) -> None:
    with pytest.raises(QueryError, match="time of the query"):
        row_filter(text, "t", NAMES, dialect="postgres")


@pytest.mark.parametrize("text", ["age < -3", "(age) < (-3)", "age between -5 and -1", "not age in (-1, 2)"])
def test_texts_meet_numbers_as_numbers_whatever_their_sign(text: str) -> None:
    assert "TRY_CAST(NULLIF(\"age\", '') AS DOUBLE)" in row_filter(text, "t", NAMES, texts=NAMES)
