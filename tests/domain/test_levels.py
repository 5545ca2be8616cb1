"""Levels: which values they put together, how they nest, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hedgerow.domain import (
    Attribute,
    Binned,
    Categorical,
    Derived,
    IntegerRange,
    calendar_level,
    edge_level,
    group_level,
    width_level,
)
from hedgerow.domain.levels import check_nested, parent_levels, prefix_level, table_levels
from hedgerow.errors import DomainError

AGE = IntegerRange("age", 0, 9, missing="?")
CODE = Categorical("code", ("A01", "A02", "B01"), missing="?", other="other")
INCOME = Binned("income", (-5, 0, 1, 10, 100), whole=True, missing="N")


def shown(level: Derived, attribute: Attribute) -> dict[str, str]:
    """The label of the level for each label of the attribute."""
    return {label: level.attribute.label(int(code)) for label, code in zip(attribute.labels, level.codes, strict=True)}


def test_groups() -> None:
    level = group_level(AGE, "age.stage", {"adult": ["5-8", 9], "child": ["0..4"]})
    assert level.attribute == Categorical("age.stage", ("adult", "child"), missing="?")
    assert shown(level, AGE) == {str(age): "child" if age < 5 else "adult" for age in range(10)} | {"?": "?"}
    level = group_level(CODE, "code.known", {"yes": ["A01", "A02", "B01"], "no": ["?", "other"]})
    assert level.attribute == Categorical("code.known", ("yes", "no"))
    assert shown(level, CODE) == {"A01": "yes", "A02": "yes", "B01": "yes", "?": "no", "other": "no"}
    negative = IntegerRange("t", -20, 5)
    assert group_level(negative, "t.l", {"cold": ["-20..-1"], "warm": ["0..5"]}).codes.tolist() == [0] * 20 + [1] * 6


def test_edges() -> None:
    level = edge_level(AGE, "age.stage", [0, 5, 9])
    assert shown(level, AGE) == {str(age): "[0, 5)" if age < 5 else "[5, 9]" for age in range(10)} | {"?": "?"}
    level = edge_level(INCOME, "income.part", [-5, 1, 100])
    assert level.attribute == Binned("income.part", (-5, 1, 100), whole=True, missing="N")
    assert level.codes.tolist() == [0, 0, 1, 1, 2]


def test_first_characters_and_dates() -> None:
    assert shown(prefix_level(CODE, 1), CODE) == {"A01": "A", "A02": "A", "B01": "B", "?": "?", "other": "other"}
    days = Categorical("day", ("2019-12-31", "2020-01-01", "2020-03-31", "2020-04-01"))
    assert calendar_level(days, "month").attribute.labels == ("2019-12", "2020-01", "2020-03", "2020-04")
    assert calendar_level(days, "quarter").codes.tolist() == [0, 1, 1, 2]
    assert calendar_level(days, "year").codes.tolist() == [0, 1, 1, 1]


def test_tables_of_parents() -> None:
    rows = [("B01", "B", "x"), ("A01", "A", "x"), ("A02", "A", "y")]
    fine, coarse = table_levels(CODE, ["code.letter", "code.part"], rows)
    assert shown(fine, CODE) == {"A01": "A", "A02": "A", "B01": "B", "?": "?", "other": "other"}
    assert shown(coarse, CODE) == {"A01": "x", "A02": "y", "B01": "x", "?": "?", "other": "other"}
    with pytest.raises(DomainError, match=r"'A01' and 'A02' are apart in it and together in the finer 'code\.letter'"):
        check_nested(CODE, [fine, coarse])


def test_parents_of_parents() -> None:
    pairs = [("A01", "A0"), ("A02", "A0"), ("B01", "B"), ("A0", "A"), ("A", ""), ("B", ""), ("unused", "C")]
    one, two = parent_levels(CODE, pairs)
    assert (one.name, two.name) == ("code.parent", "code.parent2")
    assert shown(one, CODE) == {"A01": "A0", "A02": "A0", "B01": "B", "?": "?", "other": "other"}
    assert shown(two, CODE) == {"A01": "A", "A02": "A", "B01": "B", "?": "?", "other": "other"}  # B stays as it is
    assert [level.name for level in parent_levels(CODE, [("A01", "all"), ("A02", "all"), ("B01", "all")])] == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: group_level(AGE, "l", {"a": ["0..4"], "b": ["6..9"]}),
            "the value '5' of 'age' has no parent",
        ),
        (
            lambda: group_level(AGE, "l", {"a": [0], "b": [1]}),
            "'2', '3', '4' and 5 more of 'age' have no",
        ),
        (lambda: group_level(AGE, "l", {"a": ["0..5"], "b": ["5..9"]}), "'5' has two parents, 'a' and 'b'"),
        (lambda: group_level(AGE, "l", {"a": ["0..5"], "b": ["6..10"]}), "'6..10' is no run of values of 'age'"),
        (lambda: group_level(AGE, "l", {"a": ["5..0"]}), "'5..0' is no run"),
        (lambda: group_level(CODE, "l", {"a": ["A03"]}), "'code' has no value 'A03'"),
        (lambda: group_level(AGE, "l", {"a": ["0..9"]}), "all values of 'age' are in 'a'"),
        (lambda: edge_level(AGE, "l", [0, 5, 8]), "leave out values of 'age', which go from 0 to 9"),
        (lambda: edge_level(INCOME, "l", [-5, 5, 100]), "the edge 5 cuts a bin of 'income'"),
        (lambda: edge_level(CODE, "l", [0, 1]), "have no order"),
        (lambda: width_level(CODE, 2), "has no order"),
        (lambda: prefix_level(AGE, 1), "does not list its values"),
        (lambda: prefix_level(CODE, 0), "0 characters"),
        (lambda: calendar_level(CODE, "year"), "'A01' is not a date"),
        (lambda: table_levels(CODE, ["l"], [("A01", "A"), ("A02", ""), ("B01", "B")]), "'A02' has no parent"),
        (lambda: table_levels(CODE, ["l"], [("A01", "A"), ("A01", "B")]), "'A01' has two parents, 'A' and 'B'"),
        (lambda: parent_levels(CODE, [("A01", "A"), ("A02", "A")]), "the value 'B01' of 'code' has no parent"),
        (lambda: parent_levels(CODE, [("A01", "A"), ("A01", "B")]), "'A01' has two parents, 'A' and 'B'"),
        (
            lambda: parent_levels(CODE, [("A01", "A"), ("A02", "A"), ("B01", "B"), ("A", "X"), ("X", "Y"), ("Y", "A")]),
            "the parents go in a circle: A < X < Y < A",
        ),
    ],
)
def test_levels_that_are_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(DomainError) as caught:
        make()
    assert words in caught.value.message
    assert caught.value.remedy


def test_ten_thousand_codes_in_a_long_chain_are_read_at_once() -> None:
    codes = Categorical("c", [str(i) for i in range(10_000)])
    levels = parent_levels(
        codes, [(str(i), f"g{i // 20}") for i in range(10_000)] + [(f"g{i}", f"h{i // 25}") for i in range(500)]
    )
    assert [np.unique(level.codes).size for level in levels] == [500, 20]
