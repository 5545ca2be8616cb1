"""Conditions as JSON: what each form means, and errors that say where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hedgerow.domain import MAX_DEPTH
from hedgerow.errors import QueryError
from hedgerow.queries import Conjunction, Explicit, parse_json_predicate, parse_predicate
from hedgerow.queries.conditions.json_predicate import MAX_PARTS
from tests.queries.conditions.test_predicate import PEOPLE

MALE = {"attribute": "sex", "op": "=", "value": "Male"}
YOUNG = {"attribute": "age", "op": "<", "value": 30}


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        (None, ""),
        ({}, ""),
        ({"and": []}, ""),
        ({"and": [{}, {}]}, ""),
        (MALE, "sex = 'Male'"),
        ({"and": [MALE]}, "sex = 'Male'"),
        ({"or": [MALE]}, "sex = 'Male'"),
        ({"not": MALE}, "sex != 'Male'"),
        ({"not": {"not": MALE}}, "sex = 'Male'"),
        ({"and": [MALE, YOUNG]}, "sex = 'Male' and age < 30"),
        ({"and": [MALE, {"and": [YOUNG, {**YOUNG, "op": ">", "value": 28.0}]}]}, "sex = 'Male' and age = 29"),
        ({"attribute": "age", "op": "!=", "value": 17}, "age != 17"),
        ({"attribute": "age", "op": "<=", "value": 17.5}, "age <= 17.5"),
        ({"attribute": "age", "op": ">", "value": "88"}, "age > 88"),
        ({"attribute": "age", "op": ">", "value": -(10**300)}, "true and age <= 90"),
        ({"attribute": "age", "between": [20, 30]}, "age between 20 and 30"),
        ({"attribute": "age", "in": [20, "30", 40.0]}, "age in (20, 30, 40)"),
        ({"attribute": "age", "in": []}, "age in ()"),
        ({"attribute": "sex", "missing": True}, "sex is null"),
        ({"attribute": "sex", "missing": False}, "sex is not null"),
        ({"attribute": "sex", "op": "=", "value": "?"}, "sex = '?'"),
        ({"attribute": "marital-status", "op": "=", "value": 'it\'s "odd"'}, "marital-status = 'it''s \"odd\"'"),
        ({"attribute": "hours", "op": "=", "value": "[20, 40)"}, "hours between 20 and 39"),
        ({"attribute": "order", "in": [1, 2.5]}, "order <= 2.5"),
        ({"attribute": "hours per week", "op": "=", "value": True}, '"hours per week" = true'),
        ({"attribute": "hours per week", "in": [False]}, '"hours per week" = false'),
    ],
)  # fmt: skip
def test_what_each_form_means(value: Any, condition: str) -> None:
    assert parse_json_predicate(json.loads(json.dumps(value)), PEOPLE) == parse_predicate(condition, PEOPLE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"or": [MALE, YOUNG]}, "sex = 'Male' or age < 30"),
        ({"not": {"and": [MALE, {"not": YOUNG}]}}, "not (sex = 'Male' and not age < 30)"),
        ({"or": [{"and": [MALE, YOUNG]}, YOUNG, {"or": []}]}, "(sex = 'Male' and age < 30) or age < 30 or false"),
        (
            {
                "or": [
                    {"attribute": "hours per week", "op": "=", "value": True},
                    {"attribute": "order", "between": [1, 2.5]},
                ]
            },
            '"hours per week" = True or order between 1 and 2.5',
        ),
        (
            {"or": [{"attribute": "sex", "missing": False}, {"attribute": "age", "in": [17, "18"]}]},
            "not sex is null or age in (17, '18')",
        ),
    ],
)
def test_an_explicit_query_says_in_sql_what_was_asked(value: Any, text: str) -> None:
    query = parse_json_predicate(value, PEOPLE)
    assert isinstance(query, Explicit)
    assert query.text == text
    again = parse_predicate(text, PEOPLE)
    assert again.text == text
    assert again.scope == query.scope
    assert (again.values() == query.values()).all()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "predicate: a condition is expected, not a number"),
        ("age = 17", "predicate: a condition is expected, not a text"),
        (False, "predicate: a condition is expected, not true or false"),
        ([MALE], "predicate: a condition is expected, not a list"),
        ({"and": MALE}, "predicate.and: a list is expected, not an object"),
        ({"and": [MALE, None]}, "predicate.and[1]: a condition is expected, not null"),
        ({"not": [MALE]}, "predicate.not: a condition is expected, not a list"),
        ({"xor": [MALE]}, "predicate: the key 'xor' is unknown"),
        ({**MALE, "note": ""}, "predicate: the key 'note' is unknown"),
        ({**MALE, "and": []}, "predicate: the key 'attribute' does not go with 'and'"),
        ({"and": [], "or": []}, "predicate: the key 'or' does not go with 'and'"),
        ({**MALE, "in": ["Male"]}, "predicate: the key 'in' does not go with 'op'"),
        ({"attribute": "age"}, "predicate: there is nothing to test"),
        ({"value": 3}, "predicate: there is nothing to test"),
        ({"op": "=", "value": 3}, "predicate: the key 'attribute' is missing"),
        ({"or": [{}, {"attribute": "age", "op": "="}]}, "predicate.or[1]: the key 'value' is missing"),
        ({**MALE, "attribute": "sx"}, "predicate.attribute: there is no attribute 'sx'"),
        ({**MALE, "attribute": 3}, "predicate.attribute: a name is expected, not a number"),
        ({"not": {**MALE, "op": "=="}}, "predicate.not.op: '==' is none of =, !=, <, <=, >, >="),
        ({**MALE, "op": ["="]}, "predicate.op: a list is none of"),
        ({**MALE, "value": None}, "predicate.value: a text, a number, true or false is expected, not null"),
        ({**MALE, "value": {}}, "predicate.value: a text, a number, true or false is expected, not an object"),
        ({**YOUNG, "value": float("nan")}, "predicate.value: nan is not a finite number"),
        ({**YOUNG, "value": float("-inf")}, "predicate.value: -inf is not a finite number"),
        ({**YOUNG, "value": 10**5000}, "predicate.value: the number is too large"),
        ({**YOUNG, "value": 2**1024}, "predicate.value: the number is too large"),
        ({**MALE, "value": "male"}, "predicate: attribute 'sex' has no value 'male'"),
        ({**MALE, "op": "<"}, "predicate: the values of attribute 'sex' have no order"),
        ({**YOUNG, "value": "old"}, "predicate: attribute 'age' holds numbers, and 'old' is not a number"),
        ({"attribute": "hours", "op": "<", "value": 30}, "predicate: 30 cuts the bin [20, 40)"),
        ({"attribute": "age", "missing": True}, "predicate: attribute 'age' declares no missing value"),
        ({"attribute": "sex", "missing": 1}, "predicate.missing: true or false is expected, not a number"),
        ({"attribute": "age", "between": [1]}, "predicate.between: two values are expected, and there are 1"),
        ({"attribute": "age", "between": [1, [2]]}, "predicate.between[1]: a text, a number"),
        ({"attribute": "age", "between": "17"}, "predicate.between: a list is expected, not a text"),
        ({"attribute": "age", "in": 17}, "predicate.in: a list is expected, not a number"),
        ({"attribute": "age", "in": [17, 3]}, "predicate: attribute 'age' has no value 3"),
        ({3: 4}, "predicate: the key '3' is unknown"),
    ],
)  # fmt: skip
def test_errors_say_where_and_what_is_supported(value: Any, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_json_predicate(value, PEOPLE)
    assert message in caught.value.message
    assert caught.value.remedy


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = MALE
    for level in range(depth):
        value = {"not": value} if level % 2 else {"and": [value, YOUNG]}
    return value


def test_deep_predicates() -> None:
    assert parse_json_predicate(nested(MAX_DEPTH), PEOPLE).bounds == (0, 1)
    for depth in (MAX_DEPTH + 1, 50_000):
        with pytest.raises(QueryError, match="nested more than 50 deep"):
            parse_json_predicate(nested(depth), PEOPLE)


def test_large_predicates() -> None:
    listed = [17 + i % 74 for i in range(0, 2 * MAX_PARTS, 2)]
    few = {"attribute": "age", "in": listed[: MAX_PARTS - 1]}
    assert parse_json_predicate(few, PEOPLE) == Conjunction.where(PEOPLE, {"age": range(0, 74, 2)})
    for value in ({"attribute": "age", "in": listed}, {"and": [MALE] * MAX_PARTS}, {"or": [{"and": [{}] * 99}] * 99}):
        with pytest.raises(QueryError, match="more than 5,000 conditions and values"):
            parse_json_predicate(value, PEOPLE)
