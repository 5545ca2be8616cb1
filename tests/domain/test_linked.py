"""The description of two linked tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hedgerow.domain import (
    Binned,
    Categorical,
    Children,
    Derived,
    Domain,
    IntegerRange,
    Linked,
    impossible,
    possible_cells,
)
from hedgerow.errors import DomainError

HOMES = Domain([IntegerRange("rooms", 1, 9)])
PEOPLE = Domain([IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)])


def linked(parents: Domain = HOMES, children: Domain = PEOPLE, **options: Any) -> Linked:
    return Linked.of(parents, children, **{"key": "home", "at_most": 3, **options})


def test_both_tables_are_found_again_in_the_joined_domain() -> None:
    area = Derived(IntegerRange("large", 0, 1), ("rooms",), [0] * 5 + [1] * 4, column=True)
    homes = Domain(HOMES.attributes, [area], [], ["rooms"])
    found = linked(homes)
    assert (found.parents, found.children, found.at_most) == (homes, PEOPLE, 3)
    assert found.counted.names == ("rooms", "children")
    assert found.joined.names == ("rooms", "children", "age", "sex")
    assert [each.name for each in found.joined.derived_columns] == ["large"]


def test_rules_between_the_tables_are_stated_beside_a_column_of_the_parents() -> None:
    both = Domain([*HOMES.attributes, *PEOPLE.attributes])
    rule = impossible(both, "rooms = 1 and age < 18")
    found = linked(children=Domain(both.attributes, [], [rule]))
    assert found.joined.constraints == (rule,)
    assert found.children == PEOPLE
    assert not found.counted.constraints


def test_rules_between_the_tables_may_name_columns_in_any_order() -> None:
    both = Domain([*PEOPLE.attributes, *HOMES.attributes])
    found = linked(children=Domain(both.attributes, [], [impossible(both, "age < 18 and rooms = 1")]))
    (rule,) = found.joined.constraints
    assert rule.scope == ("rooms", "age")
    assert rule.holds([[0, 0, 1], [17, 18, 17]]).tolist() == [False, True, True]


def test_rules_by_which_a_parent_can_have_no_child_are_refused() -> None:
    both = Domain([*HOMES.attributes, IntegerRange("sex", 0, 1)])
    rules = [impossible(both, f"rooms = 1 and sex = {sex}") for sex in (0, 1)]
    linked(children=Domain(both.attributes, [], rules[:1]))
    with pytest.raises(DomainError, match="some parents can have no child"):
        linked(children=Domain(both.attributes, [], rules))


def test_what_is_said_of_the_files_is_kept() -> None:
    homes = Domain(HOMES.attributes, ignored=["owner"], draft=True, trusted_types=True)
    found = linked(homes)
    assert (found.counted.draft, found.joined.draft) == (True, True)
    assert (found.counted.trusted_types, found.joined.trusted_types) == (True, True)
    assert found.counted.ignored == found.joined.ignored == ("owner",)
    assert linked(children=Domain(PEOPLE.attributes, draft=True)).joined.draft


def test_listed_values_order_children_as_they_are_listed() -> None:
    """Roles of a household: gaps are steps of the list, and children of one role follow each other at 0."""
    roles = Categorical("role", ["head", "spouse", "child"])
    found = linked(children=Domain([roles, *PEOPLE]), order="role")
    assert found.joined["gap"].labels == ("0", "1", "2", "none")
    assert "previous.role" not in found.joined.names
    assert found.gaps(np.array([-1, 0, 2])).tolist() == [3, 0, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at_most": 0}, "at most 0 children"),
        ({"at_most": True}, "at most True children"),
        ({"key": "rooms"}, "the key 'rooms' is declared"),
        ({"key": "age"}, "the key 'age' is declared"),
        ({"number": "age"}, "there is a column 'age' already"),
        ({"number": "home"}, "there is a column 'home' already"),
        ({"order": "rooms"}, "no column 'rooms' that is never missing"),
        ({"order": "Age"}, "did you mean 'age'"),
        ({"order": "who"}, "no column 'who' that is never missing"),
        ({"order": "sex", "children": Domain([Categorical("sex", "FM", other="?")])}, "no column 'sex' that is never"),
        ({"order": "t", "children": Domain([IntegerRange("t", 0, 9, missing="?")])}, "that is never missing"),
        ({"order": "age", "children": Domain([*PEOPLE, IntegerRange("gap", 0, 1)])}, "the column 'gap' has the name"),
        ({"second_order": ["sex"]}, "need an order of the children"),
        ({"order": "age", "second_order": ["age"]}, "no column 'age' beside their order"),
        ({"children": HOMES}, "the children have no column of their own"),
        ({"children": Domain([IntegerRange("rooms", 1, 8), IntegerRange("age", 0, 1)])}, "differs between"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        linked(**options)


def test_a_column_of_children_that_follows_from_their_parents_is_refused() -> None:
    both = [*HOMES.attributes, IntegerRange("age", 0, 1)]
    crowded = Derived(IntegerRange("twice", 0, 8), ("rooms",), list(range(9)), column=True)
    with pytest.raises(DomainError, match="'twice' is a function of their parents' columns"):
        linked(children=Domain(both, [crowded]))


def test_children_with_an_order_stand_beside_the_child_before() -> None:
    wards = Categorical("ward", ("icu", "none"), missing="?", other="else")
    visits = Domain([IntegerRange("day", 0, 729), wards, IntegerRange("stay", 0, 9, missing="unknown")])
    found = linked(children=visits, order="day")
    assert found.joined.names == ("rooms", "children", "previous.ward", "previous.stay", "gap", "day", "ward", "stay")
    assert (found.children, found.parents, found.counted.names) == (visits, HOMES, ("rooms", "children"))
    assert found.history == (("previous.ward", "ward"), ("previous.stay", "stay"))
    assert found.joined["previous.ward"].labels == ("icu", "none", "?", "else", "no child before")
    assert found.joined["previous.stay"].labels == (*visits["stay"].labels, "none")
    assert not found.between.constraints
    firsts = possible_cells(found.joined, ("previous.ward", "previous.stay"))
    assert firsts is not None
    assert firsts[:-1, :-1].all()
    assert firsts[:, -1].tolist() == [False] * 4 + [True]
    assert firsts[-1].tolist() == [False] * 11 + [True]


SECOND = Domain([IntegerRange("t", 0, 9), IntegerRange("ward", 0, 2), Categorical("stay", "ab", missing="?")])


def test_columns_of_the_second_order_are_known_of_two_children_before() -> None:
    found = linked(children=SECOND, order="t", second_order=["ward"])
    own = ("previous.ward", "previous.stay", "gap", "t", "ward", "stay")
    assert found.joined.names == ("rooms", "children", "previous.previous.ward", *own)
    assert found.history[0] == ("previous.previous.ward", "previous.ward")
    assert found.runs_of_three == (("previous.previous.ward", "previous.ward", "ward"),)
    assert (found.children, found.parents) == (SECOND, HOMES)
    possible = possible_cells(found.joined, ("previous.previous.ward", "previous.ward"))
    assert possible is not None
    assert possible.tolist() == [[True] * 3 + [False]] * 3 + [[True] * 4]  # the second child has one before it


def test_what_is_tentatively_of_the_second_order_is_settled_as_if_it_had_been_named() -> None:
    both = Domain([*HOMES.attributes, *SECOND.attributes])
    children = Domain(both.attributes, [], [impossible(both, "rooms = 1 and ward = 2")])
    found = linked(children=children, order="t", second_order=None)
    assert [runs[-1] for runs in found.runs_of_three] == ["ward", "stay"]
    for columns in ((), ("stay",), ("ward", "stay")):
        named = linked(children=children, order="t", second_order=columns)
        assert found.settled(columns) == named
        assert named.settled(()) is named
    assert linked(second_order=None) == linked()
    firsts = possible_cells(found.joined, ("previous.previous.ward", "previous.previous.stay"))
    assert firsts is not None
    assert firsts[-1].tolist() == [False] * 3 + [True]
    assert firsts[:, -1].tolist() == [False] * 3 + [True]


def test_gaps_are_steps_of_the_order_and_wide_ones_have_bins() -> None:
    few = linked(children=Domain([IntegerRange("t", 1, 8)]), order="t")
    assert few.joined["gap"] == IntegerRange("gap", 0, 7, missing="none")
    assert few.gaps(np.array([-1, 0, 7])).tolist() == [8, 0, 7]
    many = linked(children=Domain([IntegerRange("t", 0, 729)]), order="t")
    gap = many.joined["gap"]
    assert isinstance(gap, Binned)
    bounds = [gap.whole_bounds(code) for code in range(gap.ordinary)]
    assert bounds[:17] == [(each, each) for each in range(16)] + [(16, 19)]
    assert [low for low, _ in bounds[1:]] == [high + 1 for _, high in bounds[:-1]]
    assert bounds[-1][1] == 729
    assert all(high - low <= low / 4 for low, high in bounds[16:-1])
    steps = np.arange(-1, 730)
    codes = many.gaps(steps)
    assert codes[0] == gap.size - 1
    assert all(bounds[code][0] <= step <= bounds[code][1] for code, step in zip(codes[1:], steps[1:], strict=True))


JOBS = Domain([IntegerRange("hours", 1, 60)])


def tree(*more: Children, **options: Any) -> Linked:
    return linked(number="size", more=more, **options)


def test_tables_of_a_tree_stand_beside_all_above_them_but_not_beside_children_before() -> None:
    jobs = Children(JOBS, key="person", at_most=2, number="jobs", order="hours", above=1)
    cars = Children(Domain([IntegerRange("seats", 1, 9)]), key="home", at_most=5, number="cars")
    found = tree(jobs, cars, order="age")
    assert (found.parents, [each.children for each in found.links]) == (HOMES, [PEOPLE, JOBS, cars.domain])
    assert found.counted.names == ("rooms", "size", "cars")
    people, of_jobs, of_cars = found.links
    assert people.joined.names == ("rooms", "size", "cars", "previous.sex", "gap", "age", "sex", "jobs")
    assert people.known.names == ("rooms", "size", "cars", "age", "sex", "jobs") == of_jobs.counted.names
    assert of_jobs.joined.names == (*people.known.names, "gap", "hours")
    assert of_cars.joined.names == (*found.counted.names, "seats")
    assert found.bounds == (1, 3, 6, 5)
    assert tree(jobs, replace(cars, in_all=2), order="age").bounds == (1, 3, 6, 2)
    assert tree(jobs, replace(cars, in_all=9), order="age").bounds == (1, 3, 6, 5)
    assert [found.named(place) for place in range(4)] == ["home", "person", None, None]


def test_rules_may_reach_over_all_tables_above() -> None:
    all_of = Domain([*HOMES.attributes, *PEOPLE.attributes, *JOBS.attributes])
    rule = impossible(all_of, "rooms = 1 and age < 18 and hours > 20")
    jobs = Domain(all_of.attributes, [], [rule])
    (_, found) = tree(Children(jobs, key="person", at_most=2, number="jobs", above=1)).links
    assert found.joined.constraints == found.between.constraints == (rule,)
    assert found.children == JOBS
    none = [impossible(all_of, f"rooms = 1 and hours {sign} 20") for sign in ("<=", ">")]
    with pytest.raises(DomainError, match="some parents can have no child"):
        tree(Children(Domain(all_of.attributes, [], none), key="person", at_most=2, number="jobs", above=1))
    none = [impossible(all_of, "rooms = 1 and age < 18")]
    with pytest.raises(DomainError, match="the key 'person' is about the tables above it alone"):
        tree(Children(Domain(all_of.attributes, [], none), key="person", at_most=2, number="jobs", above=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"above": 2}, "the parents of table 2 are in table 2"),
        ({"above": -1}, "the parents of table 2 are in table -1"),
        ({"key": "home"}, "two tables are named by the same key"),
        ({"key": "age"}, "the key 'age' is declared"),
        ({"above": 0}, "name the records of table 0 by 'home' and by 'person'"),
        ({"number": "size"}, "there is a column 'size' already"),
        ({"number": "sex"}, "there is a column 'sex' already"),
        ({"at_most": 0}, "at most 0 children"),
        ({"in_all": 0}, "at most 0 children of one record of the root"),
        ({"in_all": 4, "order": "hours"}, "out of the middle of their order"),
        ({"domain": PEOPLE}, "no column of their own"),
        ({"second_order": ["hours"]}, "need an order"),
        ({"order": "age"}, "no column 'age' that is never missing"),
    ],
)
def test_what_does_not_make_a_tree_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        tree(Children(**{"domain": JOBS, "key": "person", "at_most": 2, "number": "jobs", "above": 1, **options}))
