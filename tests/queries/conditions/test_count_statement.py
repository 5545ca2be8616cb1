"""Statements that count: what is understood, what is refused and by which name."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Binned, Categorical, Domain, IntegerRange
from hedgerow.engines import quoted
from hedgerow.errors import QueryError
from hedgerow.queries import (
    MAX_LENGTH,
    Conjunction,
    LinearQuery,
    canonical,
    parse_count,
    parse_predicate,
    query_key,
)
from tests.queries.strategies import conjunctions, domains

PEOPLE = Domain(
    (
        Categorical("sex", ("Female", "Male"), missing="?"),
        IntegerRange("age", 17, 90),
        Categorical("marital-status", ("Never married", 'it\'s -- "odd"; (x)'), other="other"),
        Binned("hours", (0, 20, 40, 100), whole=True, missing="unknown"),
        Categorical("order", (1, 2.5, 3)),
        IntegerRange("größe", 10**30, 10**30 + 9),
        Binned("income", (-1, 0.1, 1 / 3, 1e20)),
        Categorical("select from", (True, False)),
    )
)
ODD = "'it''s -- \"odd\"; (x)'"
TABLES = ("t", "adult", "adult-2024", "7", "select", "where", "a--b", "order", "under_score", "-", "t2")


def count_sql(query: LinearQuery, table: str) -> str:
    return f"SELECT COUNT(*) FROM {quoted(table)} WHERE {query.text}"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT COUNT(*) FROM adult", ""),
        ("select\n\tcount ( * )\r\n from ADULT ;", ""),
        ('Select Count(*) From "adult"', ""),
        ("select count(*) as n from adult", ""),
        ('select count(*) AS "the number" from "adult" where age = 17;', "age = 17"),
        ("select count(*)from adult where(age=17)", "age = 17"),
        (
            "SELECT COUNT(*) FROM adult WHERE age BETWEEN 20 AND 30 AND order IN (1)",
            "age between 20 and 30 and order = 1",
        ),
        (f"SELECT COUNT(*) FROM adult WHERE marital-status = {ODD}", f"marital-status = {ODD}"),
        ("SELECT COUNT(*) FROM adult WHERE order = 1 OR NOT order > 2.5 ;", "order <= 2.5"),
        ('SELECT COUNT(*) FROM adult WHERE "select from" = TRUE', '"select from" = true'),
        ("SELECT COUNT(*) FROM adult WHERE größe > 1e30", "größe > 1e30"),
        ("SELECT COUNT(*) FROM adult WHERE true", ""),
    ],
)
def test_a_count_is_the_query_of_its_condition(text: str, condition: str) -> None:
    found = parse_count(text, PEOPLE, "adult")
    assert query_key(canonical(found)) == query_key(canonical(parse_predicate(condition, PEOPLE)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "does not begin with SELECT"),
        ("  ;", "does not begin with SELECT"),
        ("age = 17", "does not begin with SELECT"),
        ("count(*)", "does not begin with SELECT"),
        ("(SELECT COUNT(*) FROM t)", "does not begin with SELECT"),
        ("select", "a column is missing"),
        ("select count", "there is no column 'count'"),
        ("select count(*", "COUNT( is not closed"),
        ("select * from t", "'*' is not supported"),
        ("select count(1) from t", "COUNT of anything but * is not supported"),
        ("select count(age) from t", "COUNT of anything but * is not supported"),
        ("select count(distinct sex) from t", "COUNT(DISTINCT) is not supported"),
        ("select distinct count(*) from t", "DISTINCT is not supported"),
        ("select all count(*) from t", "ALL is not supported"),
        ("select sum(age) from t", "SUM(age) is not supported"),
        ("select age, count(*) from t", "'age' is not supported"),
        ("select count(*), sum(age) from t", "SUM(age) is not supported"),
        ("select count(*), count(*) from t", "a second column is not supported"),
        ("select count(*) n from t", "a name without AS is not supported"),
        ("select count(*) as from t", "a name is missing after AS"),
        ("select count(*) + 1 from t", "'+' is not supported"),
        ("select count(*) over () from t", "OVER is not supported"),
        ("select count(*) filter (where age = 17) from t", "a name without AS is not supported"),
        ("select count(*)", "FROM does not follow the columns"),
        ("select count(*) into u from t", "INTO is not supported"),
        ("select count(*) from", "a table does not follow FROM"),
        ("select count(*) from u", "there is no table 'u' here"),
        ('select count(*) from "T"', "there is no table 'T' here"),
        ("select count(*) from main.t", "there is no table 'main.t' here"),
        ("select count(*) from 't.csv'", "a file in place of the table is not supported"),
        ("select count(*) from read_csv('x')", "there is no table 'read_csv' here"),
        ("select count(*) from (select 1)", "a subquery is not supported"),
        ("select count(*) from t, u", "a second table is not supported"),
        ("select count(*) from t u", "an alias of the table is not supported"),
        ("select count(*) from t as u", "AS is not supported"),
        ("select count(*) from t join u on 1 = 1", "JOIN is not supported"),
        ("select count(*) from t left join u", "LEFT is not supported"),
        ("select count(*) from t tablesample 10", "TABLESAMPLE is not supported"),
        ("select count(*) from t group by sex", "GROUP BY is not supported"),
        ("select count(*) from t limit 1", "LIMIT is not supported"),
        ("select count(*) from t union all select 1", "UNION is not supported"),
        ("select count(*) from t; drop table t", "a second statement (';') is not supported"),
        ("select count(*) from t;;", "a second statement (';') is not supported"),
        ("select count(*) from t where", "there is no condition after WHERE"),
        ("select count(*) from t where ;", "there is no condition after WHERE"),
        ("select count(*) from t where age = 17 group by sex", "GROUP BY is not supported"),
        ("select count(*) from t where age = 17 having count(*) > 1", "HAVING is not supported"),
        ("select count(*) from t where age = 17 order by age", "ORDER BY is not supported"),
        ("select count(*) from t where age = 17 limit 3 offset 4", "LIMIT is not supported"),
        ("select count(*) from t where age = 17 union select 1", "UNION is not supported"),
        ("select count(*) from t where age = 17 except select 1", "EXCEPT is not supported"),
        ("select count(*) from t where age = 17; drop table t", "a second statement (';') is not supported"),
        ("select count(*) from t where age = 17;;", "a second statement (';') is not supported"),
        ("select count(*) from t where age = 17 for update", "FOR is not supported"),
        ("select count(*) from t where exists (select 1)", "EXISTS is not supported"),
        ("select count(*) from t where age = (select max(age) from t)", "SELECT is not supported"),
        ("select count(*) from t where age in (select 17)", "SELECT is not supported"),
        ("select count(*) from t where sex like 'M%'", "LIKE is not supported"),
        ("select count(*) from t where case when age = 17 then true end", "CASE is not supported"),
        ("select count(*) from t where count(*) = 17", "the function 'count' is not supported"),
        ("select count(*) from t where age = 17)", "near ')'"),
        ("select count(*) from t where age = 17) or (age = 18", "near ')'"),
        ("select count(*) from t where t.age = 17", "there is no attribute 't.age'"),
        ("select count(*) from t where where age = 17", "WHERE is not supported"),
        ("select count(*) from t -- where age = 17", "comments are not supported"),
        ("select count(*) /* all */ from t", "comments are not supported"),
        ("select count(*) from t where age = 17 /* or age = 18 */", "comments are not supported"),
        ("with x as (select 1) select count(*) from t", "WITH is not supported"),
        ("explain select count(*) from t", "EXPLAIN is not supported"),
        ("delete from t", "DELETE is not supported"),
        ("drop table t", "DROP is not supported"),
        ("select count(*) from t where sex = 'Male", "a quote is not closed"),
    ],
)
def test_the_first_thing_that_is_not_supported_is_named(text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_count(text, PEOPLE, "t")
    assert message in caught.value.message
    assert caught.value.remedy


def test_a_refused_statement_is_answered_with_an_example_that_works() -> None:
    with pytest.raises(QueryError) as caught:
        parse_count("SELECT 1", PEOPLE, "adult-2024")
    example = caught.value.remedy.partition("as in: ")[2]
    assert parse_count(example, PEOPLE, "adult-2024") == Conjunction.where(PEOPLE, {"sex": [0]})


def test_a_very_long_statement_is_refused() -> None:
    listed = ", ".join(["17"] * 4000)
    text = f"SELECT COUNT(*) FROM t WHERE age IN ({listed})"
    assert parse_count(text[:1000].rpartition(",")[0] + ")", PEOPLE, "t") == Conjunction.where(PEOPLE, {"age": [0]})
    assert parse_count(f"SELECT COUNT(*) FROM t WHERE age = 17{' ' * (MAX_LENGTH - 37)}", PEOPLE, "t").scope == ("age",)
    with pytest.raises(QueryError, match="20,001 characters"):
        parse_count(f"SELECT COUNT(*) FROM t WHERE age = 17{' ' * (MAX_LENGTH - 36)}", PEOPLE, "t")


@given(st.data(), st.sampled_from(TABLES))
def test_a_conjunction_is_written_and_read(data: st.DataObject, table: str) -> None:
    domain = data.draw(domains())
    query = canonical(data.draw(conjunctions(domain)))
    assert parse_count(count_sql(query, table), domain, table) == query


@given(st.data(), st.sampled_from(TABLES))
def test_conditions_on_odd_names_and_values_are_written_and_read(data: st.DataObject, table: str) -> None:
    query = canonical(data.draw(conjunctions(PEOPLE)))
    assert parse_count(count_sql(query, table), PEOPLE, table) == query
    either = parse_predicate(f"({query.text}) or order = 3 and not sex = 'Male'", PEOPLE)
    again = parse_count(count_sql(either, table), PEOPLE, table)
    assert again.text == either.text
    key = query_key(canonical(either))
    assert query_key(canonical(again)) == key
    assert query_key(canonical(parse_count(count_sql(canonical(either), table), PEOPLE, table))) == key


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_any_name(table: str) -> None:
    whole = Conjunction(PEOPLE, (), ())
    text = count_sql(whole, table)
    assert parse_count(text, PEOPLE, table) == whole
    with pytest.raises(QueryError, match="there is no table"):
        parse_count(text, PEOPLE, f"{table}x")


def test_tables_with_signs_need_no_quotes() -> None:
    for table in ("adult-2024", "7", "-", "a-b-"):
        assert parse_count(f"select count(*) from {table} where age = 17", PEOPLE, table).scope == ("age",)
