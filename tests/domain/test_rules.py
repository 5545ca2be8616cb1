"""Rules, and what they rule out, against all records of small domains."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from hedgerow.domain import (
    Binned,
    Categorical,
    Constraint,
    Derived,
    Domain,
    IntegerRange,
    as_condition,
    check_domain,
    determines,
    domain_from_mapping,
    domain_to_mapping,
    feasible_cells,
    feasible_records,
    if_then,
    impossible,
)
from hedgerow.domain.rules import by_cases, check_feasible
from hedgerow.errors import DomainError
from tests.domain.strategies import conditions, feasible, records, rich_domains

PEOPLE = Domain(
    (IntegerRange("age", 0, 99), Categorical("marital", ("N", "1", "2")), Binned("income", (0, 1, 1000), missing="?")),
)


def holds(rule: Constraint, domain: Domain) -> list[bool]:
    rows = records(domain)
    kept = rule.holds([rows[:, domain.index(name)] for name in rule.scope])
    return [bool(each) for each in np.broadcast_to(kept, len(rows))]


@given(st.data())
def test_what_is_impossible_is_what_the_condition_is_true_of(data: st.DataObject) -> None:
    domain = data.draw(rich_domains(3))
    text, truth = data.draw(conditions(domain))
    assume(not all(truth))
    assert holds(impossible(domain, text), domain) == [each is not True for each in truth]


@given(st.data())
def test_what_follows_is_true_wherever_the_condition_is(data: st.DataObject) -> None:
    domain = data.draw(rich_domains(3))
    (one, first), (other, second) = data.draw(conditions(domain, 1)), data.draw(conditions(domain, 1))
    expected = [a is not True or b is True for a, b in zip(first, second, strict=True)]
    assume(any(expected))
    assert holds(if_then(domain, one, other), domain) == expected


@given(rich_domains(3))
def test_a_constraint_as_a_condition_rules_out_the_same(domain: Domain) -> None:
    for rule in domain.constraints:
        text = as_condition(domain, rule.scope, rule.classes, ~rule.allowed)
        assert impossible(domain, text, says=rule.text) == rule


@given(rich_domains())
def test_domains_are_read_back_from_what_is_written(domain: Domain) -> None:
    written = domain_to_mapping(domain)
    assert domain_from_mapping(json.loads(json.dumps(written))) == domain
    assert domain_to_mapping(domain_from_mapping(written)) == written


@given(rich_domains())
def test_values_that_no_record_has_and_rules_that_follow(domain: Domain) -> None:
    rows, left = records(domain), feasible(domain)
    found = check_domain(domain)
    assert found.feasible == left.sum() == feasible_records(domain)
    for name in domain.names:
        numbers = np.bincount(rows[left, domain.index(name)], minlength=domain[name].size)
        counted = feasible_cells(domain, (name,))
        assert counted is not None
        assert counted.tolist() == numbers.tolist()
        never = tuple(domain[name].label(code) for code in np.flatnonzero(numbers == 0))
        assert found.never.get(name, ()) == never
    for rule in domain.constraints:
        others = Domain(domain.attributes, (), [each for each in domain.constraints if each is not rule])
        assert (rule.text in found.implied) == (feasible(others).sum() == left.sum())


def test_classes_of_codes_are_joined_and_numbered_alike_however_they_were() -> None:
    ages = [2] * 15 + [0] * 50 + [1] * 35
    one = Constraint("r", ("age", "m"), [ages, [1, 0, 0]], [[True, True], [True, True], [False, True]])
    other = Constraint("r", ("age", "m"), [[0] * 15 + [1] * 85, [0, 1, 1]], [[True, False], [True, True]])
    assert one == other
    assert Constraint("r", ("age", "m"), [[0] * 9 + [1], [0, 1]], [[True, True], [False, False]]).scope == ("age",)


def test_levels_in_conditions_need_no_quotes_and_grains_are_unknown() -> None:
    rule = impossible(PEOPLE, "age.10 < 20 and marital <> 'N'")
    assert rule == impossible(PEOPLE, "age < 20 and \"marital\" in ('1', '2')", says=rule.text)
    domain = Domain(PEOPLE.attributes, (), [rule])
    assert "age/classes" in domain
    with pytest.raises(DomainError, match="no attribute 'age/classes'"):
        impossible(domain, '"age/classes" = 0')


def test_a_rule_over_many_values_costs_their_classes() -> None:
    domain = Domain([IntegerRange(name, 0, 999_999) for name in "ab"])
    rule = impossible(domain, "a < 10 and b between 5 and 7")
    assert rule.allowed.shape == (2, 2)
    assert feasible_records(Domain(domain.attributes, (), [rule])) == 10**12 - 30


def test_what_determines_another() -> None:
    domain = Domain((Categorical("region", ("s", "n")), IntegerRange("area", 0, 2), IntegerRange("sex", 0, 1)))
    rule = determines(domain, "region", Derived(Categorical("of", ("s", "n")), ("area",), [1, 0, 1]))
    assert rule.text == "area determines region"
    assert holds(rule, domain) == [(area == 1) == (region == 0) for region, area, _ in records(domain)]
    both = Derived(Categorical("of", ("s", "n")), ("area", "sex"), [[1, 0], [0, 0], [1, 1]])
    expected = [both.codes[area, sex] == region for region, area, sex in records(domain)]
    assert holds(determines(domain, "region", both), domain) == expected
    with pytest.raises(DomainError, match="does not give values of the attribute 'sex'"):
        determines(domain, "sex", both)


def test_cases_are_complete_and_disjoint() -> None:
    scope, codes = by_cases(
        PEOPLE, "group", ["age < 15", "marital = 'N' and age >= 15", "age >= 15 and marital <> 'N'"], "abc"
    )
    assert scope == ("age", "marital")
    assert codes[:15].tolist() == [[0, 0, 0]] * 15
    assert codes[15:].tolist() == [[1, 2, 2]] * 85
    with pytest.raises(DomainError, match="a record with age = '15' fits none of the cases"):
        by_cases(PEOPLE, "group", ["age < 15", "age > 15"], "ab")
    with pytest.raises(DomainError, match="a record with age = '15' fits 'a' and 'b'"):
        by_cases(PEOPLE, "group", ["age <= 15", "age >= 15"], "ab")
    with pytest.raises(DomainError, match=r"income = '\?' fits none"):  # unknown is not true
        by_cases(PEOPLE, "group", ["income < 1", "income >= 1"], "ab")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: impossible(PEOPLE, "agee < 15"), "'impossible: agee < 15': there is no attribute 'agee'"),
        (lambda: impossible(PEOPLE, "age < 15 and"), "ends too early"),
        (lambda: impossible(PEOPLE, "age >= 0"), "leaves no record"),
        (lambda: impossible(PEOPLE, "true"), "leaves no record"),
        (lambda: if_then(PEOPLE, "age < 15", "marital = 'X'"), "no value 'X'"),
        (lambda: impossible(Domain([IntegerRange("ip", 0, 2**32)]), "ip < 7"), "which has 4,294,967,297 values"),
    ],
)
def test_rules_that_are_refused(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(DomainError) as caught:
        make()
    assert words in caught.value.message or words in str(caught.value)
    assert caught.value.remedy


def test_too_many_combinations_are_refused_before_they_are_listed() -> None:
    domain = Domain([IntegerRange(name, 0, 99) for name in "abcd"])
    listed = " or ".join(f"({' and '.join(f'{name} = {i}' for name in 'abcd')})" for i in range(100))
    with pytest.raises(DomainError, match="spans 100,000,000 combinations"):
        impossible(domain, listed)


def test_rules_that_contradict_each_other_are_named_and_no_others() -> None:
    domain = Domain([IntegerRange(name, 0, 2) for name in "abc"])
    texts = ["a = 0 and b = 0", "c = 1", "a <> 0", "b <> 0", "c = 2 and a = 0"]
    rules = [impossible(domain, text) for text in texts]
    with pytest.raises(DomainError) as caught:
        check_feasible(Domain(domain.attributes, (), rules))
    named = [text for text in texts if repr(f"impossible: {text}") in caught.value.message]
    assert named == ["a = 0 and b = 0", "a <> 0", "b <> 0"]
    check_feasible(Domain(domain.attributes, (), rules[:3]))


def test_rules_that_hang_together_too_much_are_not_counted() -> None:
    domain = Domain([IntegerRange(f"x{i}", 0, 1) for i in range(24)])
    rules = [impossible(domain, f"x{i} = 1 and x{j} = 1") for i in range(24) for j in range(i)]
    tight = Domain(domain.attributes, (), rules)
    check_feasible(tight)
    found = check_domain(tight)
    assert (found.records, found.feasible, found.never, found.implied) == (2**24, None, {}, ())


@given(rich_domains(), st.randoms(use_true_random=False))
def test_selected_columns_keep_what_is_known_of_them_in_any_order(domain: Domain, rng: Random) -> None:
    names = rng.sample(domain.names, rng.randint(1, len(domain)))
    part = domain.project(names)
    for rule in domain.constraints:
        if set(rule.scope) <= set(names):
            [same] = [each for each in part.constraints if each.text == rule.text]
            codes = {name: records(domain)[:, domain.index(name)] for name in names}
            assert np.array_equal(
                same.holds([codes[name] for name in same.scope]), rule.holds([codes[name] for name in rule.scope])
            )
    for function in domain.declared:
        if set(function.sources) <= set(names):
            same_function = part.function(function.name)
            assert same_function is not None
            assert same_function.ordered(function.sources) == function
