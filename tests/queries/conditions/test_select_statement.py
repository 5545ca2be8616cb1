"""SELECT statements: what is understood, what is refused and what the refusal points to; groups and their counts."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.domain import Binned, Calendar, Categorical, Decimals, Domain, IntegerRange, domain_from_mapping
from hedgerow.errors import QueryError
from hedgerow.queries import MAX_LENGTH, Blocks, Groups, Marginal, is_select, parse_predicate, parse_select
from tests.privacy.tables import DenseCounts

PEOPLE = Domain(
    (
        Categorical("sex", ("Female", "Male"), missing="?"),
        IntegerRange("age", 17, 90),
        Categorical("marital-status", ("a", "b"), other="other"),
        Binned("hours", (0, 20, 40, 100), whole=True, missing="unknown"),
        IntegerRange("born", 1990, 2010, scale=Calendar("year")),
        IntegerRange("fever", 350, 420, scale=Decimals(Decimal("0.1"))),
        IntegerRange("count", 0, 3),
    )
)


@pytest.mark.parametrize(
    ("text", "names", "columns", "where"),
    [
        ("select sex, count(*) from t group by sex", ("sex",), ["COUNT(*)"], "true"),
        ("SELECT COUNT(*) AS n FROM t", (), ["n"], "true"),
        (
            "select marital-status, sex, avg(age), Sum(fever) as heat from t where age < 30 "
            "group  by sex, marital-status;",
            ("sex", "marital-status"),
            ["AVG(age)", "heat"],
            "age between 17 and 29",
        ),
        (
            "select median(age), quantile(hours, .25) from t where (sex = 'Male' or age > 40)",
            (),
            ["MEDIAN(age)", "QUANTILE(hours, 0.25)"],
            "sex = 'Male' or age > 40",
        ),
        ('select "age.9", count(*) from t group by "age.9"', ("age.9",), ["COUNT(*)"], "true"),
        ("select count, avg(count), count(*) from t group by count", ("count",), ["AVG(count)", "COUNT(*)"], "true"),
        ("select count(*) from t group by sex", ("sex",), ["COUNT(*)"], "true"),
    ],
)
def test_a_statement_is_groups_columns_and_a_condition(
    text: str, names: tuple[str, ...], columns: list[str], where: str
) -> None:
    found = parse_select(text, PEOPLE)
    assert found.groups.names == names
    assert [each.heading for each in found.columns] == columns
    assert found.groups.where.text == where
    assert is_select(text)


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("select count(distinct sex) from t", "COUNT(DISTINCT) is not supported", "GROUP BY"),
        ("select max(age) from t", "'MAX' is not supported", "QUANTILE"),
        ("select covar(age) from t", "'COVAR' is not supported", "supported are COUNT"),
        ("select avg(sex) from t", "AVG of 'sex', which has no numbers", "AVG(sex = '"),
        ("select count(*) n from t", "a name without AS is not supported", "COUNT(*) AS n"),
        ("select age > 20, count(*) from t", "a condition among the columns is not supported", "AVG(age < 40)"),
        ("select case when age > 20 then 1 end from t", "CASE is not supported", "level"),
        ("select distinct sex from t", "DISTINCT is not supported", "each with its count"),
        ("select sex, count(*) from t group by all", "ALL is not supported", "name the columns"),
        ("select count(*) from t union select 1", "UNION is not supported", "several statements"),
        ("select count(*) from t as u", "AS is not supported", "leave it out"),
        ("select sum(born) from t", "SUM of 'born', which holds dates or times", "levels"),
        ("select avg(height) from t", "there is no column 'height'", "there is"),
        ("select count(age) from t", "COUNT of anything but * is not supported", "supported are"),
        ("select quantile(age) from t", "a share does not follow", "supported are"),
        ("select quantile(age, 1.5) from t", "between 0 and 1, not '1.5'", "QUANTILE(age, 0.9)"),
        ("select quantile(age, .5.5) from t", "between 0 and 1, not '.5.5'", "QUANTILE(age, 0.9)"),
        ("select count(*), count(*) from t", "two columns of the answer are named 'COUNT(*)'", "by AS"),
        ("select sex, count(*) as sex from t group by sex", "two columns of the answer are named 'sex'", "by AS"),
        ('select avg(age) as n, avg(hours) as "n low" from t', "are named 'n low'", "by AS"),
        ("select quantile(age, x) from t", "a share between 0 and 1 is missing", "supported are"),
        ("select sex, count(*) from t", "'sex' is selected, and not in GROUP BY", "name it after GROUP BY"),
        ("select sex from t group by sex", "nothing is counted", "COUNT(*)"),
        ("select count(*) as n from t group by n", "GROUP BY n, which is no column", "supported are"),
        ("select sex as n, count(*) as n from t group by sex", "two columns of the answer are named 'n'", "by AS"),
        ("select count(*) from t group by sex having count(*) > 3", "HAVING is not supported", "leave out"),
        ("select count(*) from t group by sex order by age", "ORDER BY 'age', which is not in the answer", "select it"),
        ("select count(*) from t group by sex order by avg(age)", "ORDER BY AVG(age), which is not in", "select it"),
        ("select count(*) from t group by sex order by 2", "ORDER BY 2 is the place of no column", "supported are"),
        ("select count(*) from t group by sex order by", "a column is missing", "supported are"),
        ("select count(*) from t group by sex order by 1 limit", "LIMIT needs a number of rows", "LIMIT 10"),
        ("select count(*) from t group by sex order by 1 limit 0", "LIMIT needs a number of rows", "LIMIT 10"),
        ("select count(*) from t group by sex order by 1 limit 1.5", "LIMIT needs a number of rows", "LIMIT 10"),
        ("select count(*) from t group by sex order by 1 limit 3 offset 4", "OFFSET is not supported", "leave out"),
        ("select count(*) from t group by sex limit 3", "LIMIT is not supported", "ORDER BY"),
        ("select count(*) from t limit 3", "LIMIT is not supported", "ORDER BY"),
        ("select count(*) from t join u on 1 = 1", "JOIN is not supported", "the joined table"),
        ("select count(*) from t, u", "a second table is not supported", "supported are"),
        ("select count(*) from (select 1 from t)", "a subquery is not supported", "supported are"),
        ("select count(*) from t where group by sex", "there is no condition after WHERE", "supported are"),
        ("select count(*) from t where age in (select 17)", "SELECT is not supported", "supported are"),
        ("select count(*) from t group by", "a column is missing", "supported are"),
        ("select * from t", "'*' is not supported", "supported are"),
        ("select count(*) from t; drop table t", "a second statement (';') is not supported", "supported are"),
        (
            'select age, "age.9", count(*) from t group by age, "age.9"',
            "follows from the others",
            "one of its levels",
        ),
        ("select sex, count(*) from t group by sex, sex", "follows from the others", "each column once"),
        ("select sex, count(*) from t where age > 90 group by sex", "no record can meet the condition", "can hold"),
        ("select age, fever, count, count(*) from t group by age, fever, count", "there are 21,016 groups", "coarser"),
        ("select " + ", ".join(["count(*)"] * 21) + " from t", "at most 20 aggregates", "several statements"),
        ("select count(*) from t " + " " * MAX_LENGTH, "at most 20,000 are read", "parts of it"),
        ("delete from t", "DELETE is not supported", "supported are"),
    ],
)
def test_a_refusal_names_what_is_wrong_and_what_is_supported(text: str, message: str, remedy: str) -> None:
    with pytest.raises(QueryError) as refused:
        parse_select(text, PEOPLE, "t")
    assert message in refused.value.message
    assert remedy in refused.value.remedy


@pytest.mark.parametrize(
    ("text", "names", "order", "limit"),
    [
        ("select sex as gender, count(*) from t group by sex", ("gender",), (), None),
        ("select sex as gender, count(*) from t group by gender order by gender", ("gender",), ((0, False),), None),
        ("select sex as gender, count(*) from t group by 1 order by sex desc", ("gender",), ((0, True),), None),
        ("select count(*), sex from t group by sex order by 1 desc, 2 asc", ("sex",), ((1, True), (0, False)), None),
        ("select count(*) as n from t group by sex order by n limit 1;", ("sex",), ((1, False),), 1),
        ("select avg(age), count(*) from t group by sex order by COUNT(*) desc limit 2", ("sex",), ((2, True),), 2),
        ("select age as sex, avg(hours) as m from t group by age order by sex", ("sex",), ((0, False),), None),
        ("select avg(sex = 'Male') as m from t group by age order by AVG(sex='Male')", ("age",), ((1, False),), None),
        ("select count(*) from t where age > 20 order by 1", (), ((0, False),), None),
    ],
)
def test_groups_are_named_ordered_and_limited(
    text: str, names: tuple[str, ...], order: tuple[tuple[int, bool], ...], limit: int | None
) -> None:
    found = parse_select(text, PEOPLE, "t")
    assert (found.names, found.order, found.limit) == (names, order, limit)
    assert found.is_chosen == (limit is not None)


def test_a_limit_by_labels_chooses_nothing_by_its_answer() -> None:
    assert not parse_select("select sex, count(*) from t group by sex order by sex limit 1", PEOPLE).is_chosen


def test_a_table_is_named_where_there_are_several() -> None:
    assert parse_select("select count(*) from anything", PEOPLE).groups.size == 1
    with pytest.raises(QueryError, match="there is no table 'u' here"):
        parse_select("select count(*) from u", PEOPLE, "t")


SMALL = Domain(
    (IntegerRange("x", 0, 5), Categorical("g", ("p", "q", "r")), Binned("y", (0, 1, 3, 10), whole=True, missing="-"))
)
CONDITIONS = ("", "x > 2", "g = 'p'", "x = 1 or g = 'q'", "not y is null", "y >= 1 and x < 5", "\"x.2\" = '[2, 3]'")


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([("x",), ("g",), ("g", "x"), ("y", "g"), ("x", "y", "g")]),
    st.sampled_from(CONDITIONS[:6]),
    st.integers(0, 99),
)
def test_counts_of_groups_are_those_of_their_cells(names: tuple[str, ...], where: str, seed: int) -> None:
    histogram = np.random.default_rng(seed).integers(0, 9, SMALL.shape)
    source = DenseCounts(SMALL, histogram)
    groups = Groups(SMALL, names, parse_predicate(where, SMALL))
    counts = groups.target.on(source)
    holds = parse_predicate(where, SMALL)
    assert counts.sum() == histogram.sum()
    assert counts[: groups.size].sum() == holds.on(source)[0]
    assert isinstance(groups.target, Marginal if not where else Blocks)
    axes = {name: SMALL.names.index(name) for name in names}
    whole = np.broadcast_to(_table(where), SMALL.shape)
    for row, labels in enumerate(groups.labels):
        inside = whole.copy()
        for name, label in zip(names, labels, strict=True):
            code = list(SMALL[name].labels).index(label)
            inside &= np.indices(SMALL.shape)[axes[name]] == code
        assert counts[row] == histogram[inside].sum() == groups.cell(row).on(source)[0]
        weights = np.linspace(0.0, 1.0, SMALL["x"].size)
        spread = np.broadcast_to(weights[:, None, None], SMALL.shape)
        assert groups.sum(row, "x", weights).on(source)[0] == pytest.approx(
            (histogram * spread)[inside].sum(), abs=1e-3
        )


def _table(where: str) -> np.ndarray:
    query = parse_predicate(where, SMALL)
    places = [slice(None) if name in query.scope else None for name in SMALL.names]
    return query.values()[tuple(places)] > 0.0 if query.scope else np.ones((1, 1, 1), dtype=bool)


def test_a_count_without_groups_may_be_about_any_number_of_cells() -> None:
    wide = Domain(IntegerRange(name, 0, 9_999) for name in "abc")
    found = parse_select("SELECT COUNT(*) FROM t WHERE a < 5 AND b < 6 AND c < 7", wide)
    assert found.groups.cell(0).text == "a between 0 and 4 and b between 0 and 5 and c between 0 and 6"
    with pytest.raises(QueryError, match="cells of a, b, c"):
        parse_select("SELECT a, COUNT(*) FROM t WHERE b < 6 AND c < 7 GROUP BY a", wide)


def test_a_level_groups_and_conditions_follow_it_down() -> None:
    groups = Groups(PEOPLE, ("age.9",), parse_predicate("age < 25", PEOPLE))
    assert groups.labels == (("[17, 18)",), ("[18, 27)",))
    assert [groups.cell(row).text for row in range(2)] == ["age = 17", "age between 18 and 24"]


MIXED = domain_from_mapping(
    {
        "sex": ["F", "M"],
        "born": {"min": "1990-01-01", "max": "1999-12-31"},
        "age": {"min": 0, "max": 99},
    }
)
VISITS = domain_from_mapping(
    {
        "came": {"min": "2020-01-01", "max": "2022-12-31", "bins": "month"},
        "year": {"values": ["a", "b"]},
    }
)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("YEAR(came)", "came.year"),
        ('year("came")', "came.year"),
        ("EXTRACT(year FROM came)", "came.year"),
        ("date_trunc('quarter', came)", "came.quarter"),
        ("DATE_TRUNC('YEAR', came)", "came.year"),
    ],
)
def test_functions_of_dates_are_their_levels(text: str, level: str) -> None:
    found = parse_select(f"SELECT {text}, COUNT(*) FROM t WHERE year = 'a' GROUP BY {text}", VISITS)
    assert found.groups.names == (level,)
    value = "2021-Q2" if level == "came.quarter" else "2021"
    for where in (f"{text} = '{value}'", f"not ({text} <> '{value}')"):
        assert parse_predicate(where, VISITS).text == parse_predicate(f"{level} = '{value}'", VISITS).text


def test_dates_may_have_their_type_before_them() -> None:
    for where in ("born >= date '1995-01-01'", "born not in (DATE '1995-01-01', timestamp '1996-01-01')"):
        plain = where.replace("date ", "").replace("DATE ", "").replace("timestamp ", "")
        assert parse_predicate(where, MIXED).text == parse_predicate(plain, MIXED).text


def test_a_level_that_a_date_does_not_have_is_named() -> None:
    for text in ("date_trunc('month', came)", "date_trunc('century', came)"):
        with pytest.raises(QueryError, match="'came' has no level of") as caught:
            parse_predicate(f"{text} = '2021-02'", VISITS)
        assert "ask by came, came.quarter, came.year" in str(caught.value)
    for text in ("YEAR(came) + 1 = 2", "MONTH(came) = 2", "EXTRACT(MONTH FROM came) = 2", "YEAR('came') = 2"):
        with pytest.raises(QueryError, match=r"not (supported|understood)"):
            parse_predicate(text, VISITS)


def test_groups_are_named_by_their_places_too() -> None:
    found = parse_select("SELECT COUNT(*), sex, YEAR(born), AVG(age) FROM t GROUP BY 3, 2", MIXED)
    assert found.groups.names == ("born.year", "sex")
    for place in ("0", "1", "4", "5", "1.5", "99999999999999999999"):
        with pytest.raises(QueryError, match="no column"):
            parse_select(f"SELECT COUNT(*), sex, YEAR(born), AVG(age) FROM t GROUP BY {place}", MIXED)
