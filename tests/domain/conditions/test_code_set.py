"""Sets of codes: every operation against Python's sets, and nothing that costs what a set holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Binned, Categorical, CodeSet, Domain, IntegerRange, condition
from hedgerow.errors import QueryError
from hedgerow.queries import Conjunction, canonical, parse_predicate, query_key

HUGE = Domain(
    (IntegerRange("ip", -5, 2**32 - 6, missing="?"), IntegerRange("far", 0, 2**62), Categorical("sex", ("F", "M")))
)

code_sets = st.frozensets(st.integers(0, 20))


@given(code_sets, code_sets)
def test_operations_equal_those_of_python_sets(one: frozenset[int], other: frozenset[int]) -> None:
    first, second = CodeSet.of(one), CodeSet.of(other)
    assert list(first) == sorted(one)
    assert len(first) == len(one)
    assert set(first & second) == one & other
    assert set(first | second) == one | other
    assert set(first.without(second)) == one - other
    assert [first[i] for i in range(-len(first), len(first))] == 2 * sorted(one)
    assert (first == second) == (one == other)
    assert first != second or hash(first) == hash(second)
    assert [code in first for code in range(-1, 22)] == [code in one for code in range(-1, 22)]


@given(code_sets)
def test_arrays_and_files_hold_the_same_codes(codes: frozenset[int]) -> None:
    found = CodeSet.of(codes)
    mask = np.isin(np.arange(22), sorted(codes))
    assert CodeSet.where(mask) == found
    assert CodeSet.from_json(found.to_json()) == found
    assert CodeSet.from_json(sorted(codes)) == found
    assert np.asarray(found).tolist() == sorted(codes)
    assert np.asarray(found, dtype=np.uint8).dtype == np.uint8
    for kind in (np.uint8, np.int64, np.uint64):
        assert found.holds(np.arange(22, dtype=kind).reshape(2, 11)).tolist() == mask.reshape(2, 11).tolist()
    assert [code for run in found.runs for code in run] == sorted(codes)
    assert found[1:] == CodeSet.of(sorted(codes)[1:])


@pytest.mark.parametrize("cuts", [(1,), (3, 3), (4, 2), (0, 2, 2, 5)])
def test_cuts_out_of_order_are_refused(cuts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="order"):
        CodeSet(cuts)


@pytest.mark.parametrize("value", [[2, 1], [1, 1], {"cuts": [3]}, {"runs": []}, 5, ["x"]])
def test_other_values_in_files_are_refused(value: object) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        CodeSet.from_json(value)  # type: ignore[arg-type]


def test_a_code_beyond_the_end_is_refused() -> None:
    with pytest.raises(IndexError, match="place 2"):
        CodeSet.of([4, 8])[2]


# Attributes of 2**32 values and more: these tests run out of memory where codes are listed


@pytest.mark.parametrize(
    ("text", "cuts"),
    [
        ("ip between 0 and 2147483647", (5, 2**31 + 5)),
        ("ip < 0 or ip >= 4294967000", (0, 5, 4294967005, 2**32)),
        ("not ip between 10 and 20", (0, 15, 26, 2**32)),
        ("ip != 7", (0, 12, 13, 2**32)),
        ("ip is null or ip < 0", (0, 5, 2**32, 2**32 + 1)),
        ("ip is not null", (0, 2**32)),
        ("ip < 1e20", (0, 2**32)),
        ("ip > 4294967290", ()),
        ("ip >= 0.5 and ip < 1.5", (6, 7)),
    ],
)
def test_conditions_on_huge_attributes_are_a_few_runs(text: str, cuts: tuple[int, ...]) -> None:
    query = parse_predicate(text, HUGE)
    assert isinstance(query, Conjunction)
    assert query.codes[0].cuts == cuts
    if cuts:
        assert parse_predicate(query.text, HUGE) == query


def test_whole_numbers_beyond_the_precision_of_floats_are_compared_exactly() -> None:
    query = parse_predicate("far > 4611686018427387902", HUGE)
    assert isinstance(query, Conjunction)
    assert query.codes[0].cuts == (2**62 - 1, 2**62 + 1)


def test_huge_sets_are_equal_however_they_were_made() -> None:
    one = Conjunction.where(HUGE, {"ip": range(5, 2**31), "sex": [1, 0]})
    other = Conjunction(HUGE, ("ip", "sex"), (CodeSet((5, 2**31)), (0, 1)))  # type: ignore[arg-type]
    assert one == other
    assert hash(one) == hash(other)
    shorter = Conjunction.where(HUGE, {"ip": range(5, 2**31)})
    assert canonical(one) == shorter
    assert query_key(canonical(one)) == query_key(shorter)
    assert canonical(Conjunction.where(HUGE, {"ip": range(2**32 + 1)})) == Conjunction(HUGE, (), ())


def test_codes_beyond_a_huge_attribute_are_refused() -> None:
    with pytest.raises(QueryError, match="0 to 4294967296"):
        Conjunction.where(HUGE, {"ip": range(2**32 + 2)})


@given(st.frozensets(st.integers(0, 300), min_size=1, max_size=300))
def test_texts_of_many_runs_are_read_back(codes: frozenset[int]) -> None:
    domain = Domain((IntegerRange("a", -3, 296, missing="?"), Binned("b", range(301), other="else")))
    for name in ("a", "b"):
        query = Conjunction.where(domain, {name: codes})
        assert query.text == condition(domain[name], sorted(codes))
        assert parse_predicate(query.text, domain) == query


def test_a_column_without_any_label_has_conditions_in_words() -> None:
    """A column whose labels were learnt may have none that is frequent enough."""
    domain = Domain([Categorical("job", (), missing="?", other="rest")])
    texts = [Conjunction.where(domain, {"job": codes}).text for codes in ([0], [1], [0, 1])]
    assert texts == ["job = '?'", "job = 'rest'", "job in ('?', 'rest')"]
    assert [parse_predicate(text, domain).codes[0].runs for text in texts[:2]] == [(range(1),), (range(1, 2),)]
