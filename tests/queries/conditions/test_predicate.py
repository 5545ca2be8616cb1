"""SQL conditions: their meaning against SQLite, their text, and what is refused."""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Attribute, Binned, Categorical, CodeSet, Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.queries import Conjunction, Explicit, parse_predicate
from tests.queries.strategies import conjunctions, domains

PEOPLE = Domain(
    (
        Categorical("sex", ("Female", "Male"), missing="?"),
        IntegerRange("age", 17, 90),
        Categorical("marital-status", ("Never married", "Divorced", 'it\'s "odd"'), other="other"),
        Binned("hours", (0, 20, 40, 100), whole=True, missing="unknown"),
        Binned("income", (0, 1.5, 3)),
        Categorical("order", (1, 2.5, 3)),
        Categorical("hours per week", (True, False)),
    )
)
ORACLE = Domain(
    (
        Categorical("sex", ("f", "it's", "x"), missing="?"),
        IntegerRange("age", -2, 2, missing="none"),
        Categorical("rank", (1, 2.5, 7)),
    )
)


@st.composite
def atoms(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(ORACLE.names))
    text = st.sampled_from(["'f'", "'it''s'", "'x'"])
    exact = {"sex": text, "age": st.integers(-2, 2).map(str), "rank": st.sampled_from(["1", "2.5", "7"])}[name]
    number = st.sampled_from(["-3", "-2", "0", "0.5", "1", "2.5", "1e1", "7"])
    left, right = f'"{name}"', draw(exact)
    forms = [f"{left} {draw(st.sampled_from(['=', '!=', '<>']))} {right}", f"{right} = {left}"]
    listed = ", ".join(draw(st.lists(exact, min_size=1, max_size=3)))
    forms += [f"{left} in ({listed})", f"{left} not in ({listed})"]
    if name != "rank":
        forms += [f"{left} is null", f"{left} is not null"]
    if name != "sex":
        sign = draw(st.sampled_from(["<", "<=", ">", ">="]))
        low, high = draw(number), draw(number)
        forms += [f"{left} {sign} {low}", f"{low} {sign} {left}", f"{left} between {low} and {high}"]
        forms += [f"{left} not between {low} and {high}"]
    return draw(st.sampled_from(forms))


CONDITIONS = st.recursive(
    atoms(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
        inner.map(lambda text: f"not ({text})"),
    ),
    max_leaves=5,
)


@given(CONDITIONS)
def test_a_condition_means_what_it_means_in_sql(text: str) -> None:
    query = parse_predicate(text, ORACLE)
    axes = [axis for axis, name in enumerate(ORACLE.names) if name in query.scope]
    found = {
        record
        for record in product(*(range(size) for size in ORACLE.shape))
        if query.values()[tuple(record[axis] for axis in axes)] == 1
    }
    assert found == _by_sqlite(text)
    assert parse_predicate(query.text, ORACLE).values().tolist() == query.values().tolist()


def _by_sqlite(text: str) -> set[tuple[int, ...]]:
    values = [[*ORACLE["sex"].labels[:3], None], [-2, -1, 0, 1, 2, None], [1, 2.5, 7]]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table t (sex, age, rank, i, j, k)")
        rows = product(*(enumerate(column) for column in values))
        database.executemany(
            "insert into t values (?, ?, ?, ?, ?, ?)", [(a, b, c, i, j, k) for (i, a), (j, b), (k, c) in rows]
        )
        found = set(database.execute(f"select i, j, k from t where {text}"))
    database.close()
    return found


@given(st.data())
def test_the_text_of_a_conjunction_reads_back(data: st.DataObject) -> None:
    domain = data.draw(domains())
    query = data.draw(conjunctions(domain))
    parsed = parse_predicate(query.text, domain)
    assert parsed == query or (not query.scope and parsed == Conjunction(domain, (), ()))


@pytest.mark.parametrize(
    ("text", "name", "codes"),
    [
        ("sex = '?'", "sex", [2]),
        ("sex != '?'", "sex", [0, 1]),
        ("sex in ('Male', '?')", "sex", [1, 2]),
        ("sex is null", "sex", [2]),
        ("not sex = 'Male'", "sex", [0]),
        ("sex <> 'Male' and sex is not null", "sex", [0]),
        ("'Male' = sex", "sex", [1]),
        ("sex in ()", "sex", []),
        ("marital-status = 'Divorced'", "marital-status", [1]),
        ("marital-status != 'Divorced'", "marital-status", [0, 2, 3]),
        ("\"marital-status\" = 'it''s \"odd\"'", "marital-status", [2]),
        ("marital-status = 'other'", "marital-status", [3]),
        ("age = '17' or age = 18.0", "age", [0, 1]),
        ("AGE < 18".replace("AGE", "age"), "age", [0]),
        ("age < 1", "age", []),
        ("hours < 40", "hours", [0, 1]),
        ("hours <= 39", "hours", [0, 1]),
        ("hours > 19.5 and hours <= 100", "hours", [1, 2]),
        ("hours between 20 and 39", "hours", [1]),
        ("hours = '[20, 40)' or hours is null", "hours", [1, 3]),
        ("not hours < 40", "hours", [2]),
        ("income >= 1.5", "income", [1]),
        ("income = '[0, 1.5)'", "income", [0]),
        ("order >= 2.5", "order", [1, 2]),
        ("order = 1", "order", [0]),
        ("order in (1.0, '2.50')", "order", [0, 1]),
        ('"hours per week" = true', "hours per week", [0]),
    ],
)
def test_one_attribute(text: str, name: str, codes: list[int]) -> None:
    assert parse_predicate(text, PEOPLE) == Conjunction.where(PEOPLE, {name: codes})


def test_conditions_on_one_attribute_are_joined() -> None:
    query = parse_predicate("(age >= 30 and (sex = 'Male' and age <= 40)) and not (age = 35 or age = 34)", PEOPLE)
    assert query.text == "sex = 'Male' and age in ('30', '31', '32', '33', '36', '37', '38', '39', '40')"


@pytest.mark.parametrize(
    ("text", "total"), [("", 74.0), ("  ", 74.0), ("true", 74.0), ("not false", 74.0), ("false", 0)]
)
def test_constants(text: str, total: float) -> None:
    query = parse_predicate(text, PEOPLE)
    assert query.scope == ()
    assert query.of_table(np.array(74.0)).tolist() == [total]


def test_or_over_several_attributes_is_an_explicit_query() -> None:
    query = parse_predicate("age < 18\n or  sex = 'Male'", PEOPLE)
    assert isinstance(query, Explicit)
    assert query.scope == ("sex", "age")
    assert query.bounds == (0, 1)
    assert query.text == "age < 18 or sex = 'Male'"
    assert query.values().sum() == 74 + 2
    assert parse_predicate("true or sex = 'Male'", PEOPLE).values().all()
    assert not parse_predicate("false and sex = 'Male'", PEOPLE).values().any()


def test_long_lists_are_read() -> None:
    text = " or ".join(f"age = {17 + i % 74}" for i in range(3000))
    assert parse_predicate(text, PEOPLE).values().all()


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("not " * 10_000 + "age = 17", [0]),
        ("not " * 10_001 + "age = 17", range(1, 74)),
        ("(" * 50 + "age = 17" + ")" * 50, [0]),
        ("not (" * 50 + "age = 17" + ")" * 50, [0]),
        (" and ".join(f"age != {17 + i % 74}" for i in range(1, 10_000, 2)), range(0, 74, 2)),
        (f"age in ({', '.join(str(17 + i % 74) for i in range(0, 10_000, 2))})", range(0, 74, 2)),
    ],
)
def test_long_and_deep_conditions_are_read(text: str, codes: Sequence[int]) -> None:
    assert parse_predicate(text, PEOPLE) == Conjunction.where(PEOPLE, {"age": codes})


@pytest.mark.slow
def test_what_has_no_end_is_refused() -> None:
    for text in ("age" + ".a" * 9000, "age" + "::int" * 9000, "age = " + "- " * 9000, "[" * 9000, "case when " * 2000):
        with pytest.raises(QueryError) as caught:
            parse_predicate(text, PEOPLE)
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("age<18\n or  sex = 'Male'", "age < 18 or sex = 'Male'"),
        ("((age < 18) or (not (not sex = 'Male')))", "age < 18 or sex = 'Male'"),
        (
            "not (age < 18 or 'Male' = sex) or order in (1, '2.5')",
            "not (age < 18 or sex = 'Male') or order in (1, '2.5')",
        ),
        ("marital-status = 'Divorced' or hours per week = true or age > + 20", None),
        ('"hours per week" = true or 30 > age', '"hours per week" = True or age < 30'),
        ("sex is not null or age between 20 and 30.0", "not sex is null or age between 20 and 30.0"),
        ("age = 17 or (sex = 'Male' or age = 20) and false", "age = 17 or ((sex = 'Male' or age = 20) and false)"),
    ],
)
def test_an_explicit_query_says_what_was_asked(text: str, written: str | None) -> None:
    if written is None:
        with pytest.raises(QueryError):
            parse_predicate(text, PEOPLE)
        return
    query = parse_predicate(text, PEOPLE)
    assert query.text == written
    again = parse_predicate(written, PEOPLE)
    assert (again.text, again.scope) == (written, query.scope)
    assert np.array_equal(again.values(), query.values())


def test_an_attribute_of_a_name_that_sql_uses() -> None:
    domain = Domain(IntegerRange(name, 0, 1) for name in ("select", "in", "class", "a.b", "3", 'q"'))
    for name in domain.names:
        query = Conjunction.where(domain, {name: [1]})
        assert parse_predicate(query.text, domain) == query
    assert parse_predicate("select = 1 and a.b = 0 and class = 1", domain).scope == ("select", "class", "a.b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sx = 'Male'", "no attribute 'sx'\n.*did you mean 'sex'"),
        ("Sex = 'Male'", "no attribute 'Sex'\n.*did you mean 'sex'"),
        ("sex = 'male'", "no value 'male'\n.*'Male'"),
        ("sex = Male", "'Male' stands where a value.*\n.*single quotes"),
        ("sex = null", "never true\n.*is null"),
        ("age is null", "declares no missing value"),
        ("sex < 'Male'", "have no order"),
        ("age < 'old'", "'old' is not a number"),
        ("age < 'nan'", "'nan' is not a number"),
        ("age = 12", "no value 12\n.*17 to 90"),
        ("age = 17.5", "no value 17.5"),
        ("hours <= 40", r"40 cuts the bin \[40, 100\].*\n.*: hours < 40, or hours <= 100;"),
        ("hours = 20", r"20 cuts the bin \[20, 40\).*\n.*: hours < 20, or hours < 40;.*: hours = '\[20, 40\)'"),
        ("income <= 1.5", r"1.5 cuts the bin \[1.5, 3\]"),
        ("age like '3%'", "not supported.*\n.*supported are"),
        ("age + 1 = 18", r"'\+' is not supported"),
        ("1 = 17", "'17' stands where an attribute is expected"),
        ("age = 17 + 1", r"'\+' is not supported"),
        ("age = sex", "two attributes cannot be compared"),
        ("sex", "not supported"),
        ("sex is true", "not supported"),
        ("age between symmetric 40 and 30", "not supported"),
        ("sex in (select 1)", "not supported"),
        ("(", "not understood"),
        ("sex = 'Male' group by age", "GROUP BY is not supported in a condition"),
        ("-- age = 17", "comments are not supported"),
        ("age = 17 -- or age = 18", "comments are not supported"),
        ("lower(sex) = 'male'", "the function 'lower' is not supported"),
        ("age = 17 union select 1", "UNION is not supported"),
        ("age =", "ends too early"),
        ("age 17", "not understood near '17'"),
        ("age = 17; age = 18", "a second statement"),
        ("sex = 'Male", "not understood"),
        ("(" * 5000 + "age = 17" + ")" * 5000, "nested more than 50 deep"),
    ],
)
def test_what_is_not_supported_is_refused_with_a_remedy(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=f"(?s){message}") as caught:
        parse_predicate(text, PEOPLE)
    assert caught.value.remedy


def test_or_over_many_cells_is_refused() -> None:
    domain = Domain(IntegerRange(name, 0, 1023) for name in "ab").merge(Domain((IntegerRange("c", 0, 1),)))
    with pytest.raises(QueryError, match="2,097,152 cells"):
        parse_predicate("a = 1 or b = 1 or c = 1", domain)


POINTS = np.linspace(-1, 31, 129)
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


@given(
    st.sampled_from([Binned("x", (0, 0.5, 10, 30)), Binned("x", (0, 1, 10, 30), whole=True)]),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.sampled_from(["-1", "0", "0.5", "1", "9", "9.5", "10", "29", "30", "31"]),
)
def test_a_bin_counts_all_of_its_values_or_none(attribute: Attribute, sign: str, value: str) -> None:
    assert isinstance(attribute, Binned)
    points = [p for p in POINTS if 0 <= p <= 30 and (not attribute.whole or p.is_integer())]
    holds = [SIGNS[sign](p, float(value)) for p in points]
    bins = [min(int(np.searchsorted(attribute.edges, p, side="right")) - 1, 2) for p in points]
    sides = [{hold for hold, code in zip(holds, bins, strict=True) if code == i} for i in range(3)]
    domain = Domain((attribute,))
    if all(len(side) == 1 for side in sides):
        found = parse_predicate(f"x {sign} {value}", domain).values().tolist()
        assert found == [float(side == {True}) for side in sides]
    else:
        with pytest.raises(QueryError, match="cuts the bin"):
            parse_predicate(f"x {sign} {value}", domain)


ODD_WORDS = (
    "(",
    ")",
    ",",
    "+",
    ";",
    "::",
    "?",
    "@",
    "'",
    '"',
    "[",
    "{",
    "$",
    "\\",
    "--",
    "/*",
    "é",
    "%",
    "||",
    "cast(",
    ".",
)
SQL_WORDS = ("case", "when", "select", "from", "like", "update", "set", "with", "as", "interval", "exists")
GOOD_WORDS = ("sex", "age", "order", "'Male'", "17", "-1", "and", "or", "not", "in", "between", "is", "null", "=", "<")


@given(st.lists(st.sampled_from(ODD_WORDS + SQL_WORDS + GOOD_WORDS), max_size=8))
def test_whatever_is_written_is_read_or_refused(words: list[str]) -> None:
    try:
        query = parse_predicate(" ".join(words), PEOPLE)
    except QueryError:
        return
    assert query.values().shape == PEOPLE.shape_of(query.scope)


# ---- conditions are short --------------------------------------------------------------------------------------------


def many(missing: str | None, other: str | None) -> Domain:
    labels = [f"it's {number}" for number in range(30)]
    return Domain((Categorical("a b", labels, missing=missing, other=other), Categorical("sex", ("F", "M"))))


@pytest.mark.parametrize(("missing", "other"), [(None, None), ("?", None), (None, "rest"), ("?", "rest")])
def test_texts_of_sets_of_all_sizes_are_read_back_and_name_the_fewer(missing: str | None, other: str | None) -> None:
    domain, draw = many(missing, other), np.random.default_rng(5)
    size = domain["a b"].size
    sets = [np.sort(draw.choice(size, n, replace=False)).tolist() for n in range(1, size) for _ in range(8)]
    sets += [[code for code in range(size) if code != left] for left in range(size)]
    for codes in sets:
        query = Conjunction.where(domain, {"a b": codes})
        assert parse_predicate(query.text, domain) == query
        named = query.text.count("it''s") + query.text.count("'rest'")
        assert named <= max(8, size - len(codes))


def test_what_is_left_out_is_named_where_that_is_less() -> None:
    domain = many("?", "rest")
    texts = {
        "\"a b\" != 'it''s 3'": "\"a b\" != 'it''s 3'",
        "not \"a b\" in ('rest', 'it''s 3')": "\"a b\" not in ('it''s 3', 'rest')",
        "\"a b\" != 'it''s 3' or \"a b\" is null": "(\"a b\" != 'it''s 3' or \"a b\" = '?')",
        '"a b" is not null': '"a b" is not null',
        "\"a b\" = 'it''s 3'": "\"a b\" = 'it''s 3'",
        "sex != 'F'": "sex = 'M'",
    }
    for asked, told in texts.items():
        assert parse_predicate(asked, domain).text == told


@pytest.mark.slow
@pytest.mark.parametrize("missing", [None, "?"])
def test_ranges_of_listed_numbers_stay_ranges(missing: str | None) -> None:
    draw = np.random.default_rng(7)
    listed = [*(draw.permutation(400) - 100).tolist(), 0.5, -1e22, 1e-7]
    domain = Domain((Categorical("n", listed, missing=missing),))
    for text in ("n < 100", "n >= 20", "n between -30 and 40", "not n between -30 and 40", "n > -1e21", "n <= 0.5"):
        query = parse_predicate(text, domain)
        assert isinstance(query, Conjunction)
        assert len(query.text) < 90
        assert parse_predicate(query.text, domain) == query
    for _ in range(200):
        codes = CodeSet.where(draw.random(domain["n"].size) < draw.random())
        if codes:
            query = Conjunction.where(domain, {"n": codes})
            assert parse_predicate(query.text, domain) == query
