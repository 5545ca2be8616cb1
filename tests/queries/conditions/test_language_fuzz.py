"""Whatever is asked is a query or is refused, and means what it means in SQL.

The same checks run with few examples here and with many in the audits. Meaning is compared with DuckDB, which evaluates
the condition over a table that holds every cell of a small domain once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.domain import Binned, Categorical, Domain, IntegerRange
from hedgerow.domain.attribute import Value
from hedgerow.engines import quoted
from hedgerow.errors import QueryError
from hedgerow.queries import (
    LinearQuery,
    canonical,
    parse_count,
    parse_json_predicate,
    parse_predicate,
    query_key,
)
from tests.examples import examples

if TYPE_CHECKING:
    import duckdb

DOMAIN = Domain(
    (
        Categorical("marital-status", ("f", "it's", "x -- y"), missing="?", other="other"),
        IntegerRange("age", -2, 2, missing="none"),
        Categorical("order", (1, 2.5, 7)),
        Binned("größe", (-1, 0.5, 2, 10)),
        Categorical('say "so"', (True, False), missing="?"),
    )
)
RECORDS: dict[str, list[Value | None]] = {
    "marital-status": ["f", "it's", "x -- y", None, "anything else"],
    "age": [-2, -1, 0, 1, 2, None],
    "order": [1.0, 2.5, 7.0],
    "größe": [0.0, 0.5, 10.0],
    'say "so"': [True, False, None],
}
"""A value for each code."""

EQUALS: dict[str, list[Value]] = {
    "marital-status": ["f", "it's", "x -- y"],
    "age": [-2, -1, 0, 1, 2, "1", 2.0],
    "order": [1, 2.5, 7, 7.0],
    'say "so"': [True, False],
}
LIMITS: dict[str, list[int | float]] = {
    "age": [-(10**20), -2, -0.5, 0, 1, 2, 1e3],
    "order": [0, 1, 2.5, 3.25, 7],
    "größe": [-3, -1, 0.5, 2, 10.5],
}

FEW = settings(max_examples=examples(150))
MANY = settings(max_examples=examples(5_000))


# Whatever is asked is a query or is refused


def check_outcome(read: Callable[[], LinearQuery]) -> None:
    try:
        query = read()
    except QueryError as error:
        refused = error
        assert 0 < len(str(refused)) < 2000, refused
        assert refused.remedy, refused
    else:
        check_reads_back(query)


def check_reads_back(query: LinearQuery) -> None:
    assert query.values().shape == DOMAIN.shape_of(query.scope)
    again = parse_predicate(query.text, DOMAIN)
    assert query_key(canonical(again)) == query_key(canonical(query))
    assert parse_predicate(again.text, DOMAIN).text == again.text


WORDS = (
    *("age", "order", "marital-status", '"größe"', '"say ""so"""', "größe", "sex", "t", "t.age", "t2", "x"),
    *("'f'", "'it''s'", "'?'", "''", "'", '"', "0", "1", "-1", "2.5", ".5", "1e400", "9" * 400, "0x1F", "1_000"),
    *("and", "or", "not", "in", "between", "is", "null", "true", "false", "=", "!=", "<>", "<", "<=", ">", ">=", "=="),
    *(
        "(",
        ")",
        ",",
        ";",
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "::",
        ".",
        ":",
        "?",
        "@",
        "$",
        "$$",
        "#",
        "&&",
        "!",
        "~",
        "\\",
    ),
    *(
        "[",
        "]",
        "{",
        "}",
        "{{",
        "{%",
        "--",
        "/*",
        "*/",
        "`",
        "\n",
        "\t",
        "\0",
        "\u00a0",
        "\u200b",
        "\ufeff",
        "é",
        "\ud800",
    ),
    *(
        "select",
        "count",
        "count(*)",
        "COUNT (*)",
        "from",
        "where",
        "SELECT COUNT(*) FROM t WHERE",
        "as",
        "n",
        "distinct",
    ),
    *(
        "group by",
        "having",
        "order by",
        "limit",
        "union",
        "join",
        "on",
        "with",
        "case when",
        "then",
        "end",
        "cast(",
        "like",
    ),
    *(
        "exists",
        "interval",
        "array",
        "date",
        "set",
        "drop table t",
        "call x",
        "show",
        "execute",
        "over",
        "lateral",
        "values",
    ),
)
SOUPS = st.lists(st.sampled_from(WORDS), max_size=14).flatmap(
    lambda words: st.sampled_from(["", " ", "  "]).map(lambda gap: gap.join(words))
)
VALID = (
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) AS n FROM \"t\" WHERE age BETWEEN -1 AND 2 AND NOT (order = 1 OR marital-status IN ('f', '?'));",
    'select count(*) from t where "größe" >= 0.5 and "say ""so""" is not null or age != 0 and true',
    "select count(*) from t where not not ('f' = marital-status or (age > -1 and age <= 2)) and order not in (1, 2.5)",
)


@st.composite
def mutants(draw: st.DrawFn) -> str:
    """A valid statement after some cuts, doublings, exchanges and insertions."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        first, second = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        middle = text[first:second]
        new = draw(st.sampled_from([middle * 2, "", middle[::-1], middle.swapcase(), f"({middle})", "insert", "end"]))
        if new == "insert":
            new = middle + draw(st.sampled_from(WORDS))
        text = text[:first] + new + ("" if new == "end" else text[second:])
    return text


def check_text(text: str) -> None:
    for read in (
        lambda: parse_count(text, DOMAIN, "t"),
        lambda: parse_count(f"SELECT COUNT(*) FROM t WHERE {text}", DOMAIN, "t"),
        lambda: parse_predicate(text, DOMAIN),
    ):
        check_outcome(read)


TEXTS = st.one_of(SOUPS, mutants(), st.text(max_size=60))
KEYS = ("and", "or", "not", "attribute", "op", "value", "between", "in", "missing", "Not", "")
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.integers(10**300, 10**330),
    st.sampled_from([*DOMAIN.names, "=", "!=", "<", ">=", "f", "?", 0, 1, -1, 2.5, True]),
)  # fmt: skip


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    joins = st.sampled_from(["and", "or"]).flatmap(
        lambda word: st.lists(inner, max_size=4).map(lambda parts: {word: parts})
    )
    names, signs = st.sampled_from(DOMAIN.names), st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in"])
    return st.one_of(
        joins,
        inner.map(lambda part: {"not": part}),
        st.fixed_dictionaries({"attribute": names, "op": signs, "value": SCALARS}),
        st.fixed_dictionaries({"attribute": names, "between": st.lists(SCALARS, max_size=3)}),
        st.fixed_dictionaries({"attribute": names, "in": st.lists(SCALARS, max_size=3)}),
        st.fixed_dictionaries({"attribute": names, "missing": st.booleans()}),
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
        st.lists(inner, max_size=3),
    )


VALUES = st.recursive(SCALARS, _objects, max_leaves=12)


def check_value(value: object) -> None:
    check_outcome(lambda: parse_json_predicate(value, DOMAIN))


# A condition means what it means in SQL


@dataclass(frozen=True)
class Asked:
    """A condition in three languages."""

    sql: str
    ours: str
    json: dict[str, Any]


def literal(value: Value) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


@st.composite
def leaves(draw: st.DrawFn) -> Asked:
    name = draw(st.sampled_from(DOMAIN.names))
    bare = name if draw(st.booleans()) and name != 'say "so"' else quoted(name)
    forms = ["equal", "in"] * (name in EQUALS) + ["limit"] * (name in LIMITS)
    forms += ["between"] * (name in LIMITS and name in EQUALS)
    forms += ["missing"] * (DOMAIN[name].missing is not None)
    form = draw(st.sampled_from(forms))
    negated = draw(st.sampled_from(["", "not "]))
    if form == "missing":
        return Asked(
            f"{quoted(name)} is {negated}null",
            f"{bare} IS {negated.upper()}NULL",
            {"attribute": name, "missing": not negated},
        )
    if form in {"equal", "limit"}:
        signs = ["=", "!="] if form == "equal" else ["<", ">="] if name == "größe" else ["<", "<=", ">", ">="]
        sign, value = draw(st.sampled_from(signs)), draw(st.sampled_from((EQUALS if form == "equal" else LIMITS)[name]))
        text = f"{sign} {literal(value)}"
        return Asked(f"{quoted(name)} {text}", f"{bare}{text}", {"attribute": name, "op": sign, "value": value})
    if form == "between":
        low, high = draw(st.sampled_from(LIMITS[name])), draw(st.sampled_from(LIMITS[name]))
        text, value = f"{negated}between {literal(low)} and {literal(high)}", [low, high]
    else:
        value = draw(st.lists(st.sampled_from(EQUALS[name]), min_size=1, max_size=3))
        text = f"{negated}in ({', '.join(map(literal, value))})"
    asked = {"attribute": name, form: value}
    return Asked(f"{quoted(name)} {text}", f"{bare} {text}", {"not": asked} if negated else asked)


def joined(word: str, parts: list[Asked]) -> Asked:
    return Asked(
        f" {word} ".join(f"({part.sql})" for part in parts),
        f" {word.upper()}\n".join(f"( {part.ours})" for part in parts),
        {word: [part.json for part in parts]},
    )


CONDITIONS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=1, max_size=3)).map(lambda t: joined(*t)),
        inner.map(lambda part: Asked(f"not ({part.sql})", f"NOT ({part.ours})", {"not": part.json})),
    ),
    max_leaves=6,
)


@cache
def cells() -> duckdb.DuckDBPyConnection:
    """A table that holds a record for every cell, and the codes of its cell."""
    import duckdb

    database = duckdb.connect()
    kinds = ("varchar", "integer", "double", "double", "boolean")
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in zip(DOMAIN.names, kinds, strict=True))
    database.execute(f"create table cells ({columns}, {', '.join(f'c{i} integer' for i in range(len(DOMAIN)))})")
    rows = [
        [*(value for _, value in cell), *(code for code, _ in cell)]
        for cell in product(*(enumerate(RECORDS[name]) for name in DOMAIN.names))
    ]
    database.executemany(f"insert into cells values ({', '.join('?' * (2 * len(DOMAIN)))})", rows)
    return database


@pytest.fixture(scope="module", autouse=True)
def _closing() -> Iterator[None]:
    yield
    cells().close()
    cells.cache_clear()


def found_by_duckdb(condition: str) -> set[tuple[int, ...]]:
    codes = ", ".join(f"c{i}" for i in range(len(DOMAIN)))
    return set(cells().execute(f"select {codes} from cells where {condition}").fetchall())


def found_by(query: LinearQuery) -> set[tuple[int, ...]]:
    axes = DOMAIN.axes(query.scope)
    values = np.expand_dims(query.values(), tuple(axis for axis in range(len(DOMAIN)) if axis not in axes))
    return set(zip(*(axis.tolist() for axis in np.nonzero(np.broadcast_to(values, DOMAIN.shape))), strict=True))


def check_meaning(asked: Asked) -> None:
    query = parse_predicate(asked.ours, DOMAIN)
    differing = found_by(query) ^ found_by_duckdb(asked.sql)
    assert not differing, sorted(differing)[:5]  # a comparison of whole sets would be explained for minutes
    key = query_key(canonical(query))
    by_json = parse_json_predicate(asked.json, DOMAIN)
    for same in (
        by_json,
        parse_predicate(by_json.text, DOMAIN),
        parse_predicate(asked.sql, DOMAIN),
        parse_count(f"SELECT COUNT(*) FROM cells WHERE {asked.ours};", DOMAIN, "cells"),
        parse_count(f'SELECT COUNT(*) FROM "the cells" WHERE {query.text}', DOMAIN, "the cells"),
        parse_count(f"SELECT COUNT(*) FROM cells WHERE {canonical(by_json).text}", DOMAIN, "cells"),
    ):
        assert query_key(canonical(same)) == key


def test_a_text_is_read_or_refused() -> None:
    FEW(given(TEXTS)(check_text))()


def test_a_value_is_read_or_refused() -> None:
    FEW(given(VALUES)(check_value))()


def test_a_condition_means_what_it_means_in_sql() -> None:
    FEW(given(CONDITIONS)(check_meaning))()


@pytest.mark.audit
def test_many_texts_are_read_or_refused() -> None:
    MANY(given(TEXTS)(check_text))()


@pytest.mark.audit
def test_many_values_are_read_or_refused() -> None:
    MANY(given(VALUES)(check_value))()


@pytest.mark.audit
def test_many_conditions_mean_what_they_mean_in_sql() -> None:
    MANY(given(CONDITIONS)(check_meaning))()


def test_the_checks_notice_what_is_wrong() -> None:
    with pytest.raises(AssertionError):
        check_meaning(Asked("age = 1", "age = 1 or age is null", {"attribute": "age", "op": "=", "value": 1}))
    with pytest.raises(AssertionError):
        check_meaning(Asked("age = 1", "age = 1", {"attribute": "age", "op": "!=", "value": 1}))
    with pytest.raises(ZeroDivisionError):
        check_outcome(lambda: parse_predicate(str(1 // 0), DOMAIN))
