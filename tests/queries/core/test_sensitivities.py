"""Sensitivities of every family, by brute force over all neighbouring tables (theory.md section 9, exact test 2).

Universes of at most 6 cells, tables of at most 5 records, every relation. After a filter, the neighbours are whole
tables of 5 records before it, each of which passes or not, whatever else it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Derived, Domain, IntegerRange
from hedgerow.queries import (
    Boxes,
    Cells,
    Conjunction,
    Conjunctions,
    Explicit,
    ExplicitMatrix,
    Family,
    LinearQuery,
    Marginal,
    Marginals,
    Neighbours,
    Parities,
    Persons,
    Relation,
    Weight,
    Workload,
    of_query,
)
from tests.privacy.persons import countings, multisets
from tests.reference.dense_tables import DenseTables

WIDE = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1)))
BITS = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
NESTED = Domain(
    (IntegerRange("a", 0, 2), IntegerRange("b", 0, 1)),
    (
        Derived(IntegerRange("a.2", 0, 1), ("a",), [0, 0, 1]),
        Derived(IntegerRange("both", 0, 1), ("a", "b"), [[0, 1], [1, 1], [0, 1]]),
    ),
)
FAMILIES: dict[str, Family] = {
    "marginals": Marginals(WIDE, [("a",), ("b",), ("a", "b")]),
    "levels": Marginals(NESTED, [("a.2",), ("b", "a.2"), ("both",), ("a", "both")]),
    "cells of levels": Cells(NESTED, [("a.2", "both")]),
    "conditions on levels": Conjunctions(NESTED, [Conjunction.where(NESTED, {"both": [1], "a.2": [0]})]),
    "cells": Cells(WIDE, [("a",), ("a", "b")]),
    "parities": Parities(BITS, [("a",), ("a", "b")]),
    "boxes": Boxes.ranges(WIDE, ["a", "b"]),
    "prefixes": Boxes.prefixes(WIDE, "a"),
    "conjunctions": Conjunctions(WIDE, [Conjunction.where(WIDE, {"a": [0, 2]}), Conjunction(WIDE, (), ())]),
    "explicit": ExplicitMatrix(WIDE, ["a", "b"], [[0, 1, 0, 1, 0.5, 0.25], [-1, 1, 1, -1, 0, 0], [-3, 2, 0, 0, 0, 2]]),
    "explicit on one attribute": ExplicitMatrix(WIDE, ["a"], [[-2, -1, -3], [4, 4, 5]]),
}
SEVERAL = tuple(
    each.between(persons)
    for persons in (Persons("id", 2), Persons(None, 1, Weight("w", 3)), Persons("id", 2, Weight("w", 2)))
    for each in Neighbours.OF_RECORDS
)
CASES = [(name, neighbours) for name in FAMILIES for neighbours in (*Neighbours.OF_RECORDS, *SEVERAL)]


@cache
def tables(domain: Domain) -> dict[tuple[int, ...], Floats]:
    """Every table of at most 5 records, by the sorted numbers of its cells."""
    found = {}
    for n in range(6):
        for records in combinations_with_replacement(range(domain.size), n):
            cells = np.bincount(np.array(records, dtype=int), minlength=domain.size)
            found[records] = cells.astype(np.float64).reshape(domain.shape)
    return found


def before_a_filter(domain: Domain) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """What passes a filter of two whole tables of 5 records that differ in one; None is a record that does not pass."""
    for records in tables(domain):
        whole: tuple[int | None, ...] = (*records, *[None] * (5 - len(records)))
        for i in range(5):
            for other in (None, *range(domain.size)):
                replaced = (*whole[:i], other, *whole[i + 1 :])
                yield records, tuple(sorted(cell for cell in replaced if cell is not None))


def by_person(domain: Domain, neighbours: Neighbours) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Tables of up to 2 records of others, with the records of one person, or of another, or without."""
    replaced = neighbours.relation is not Relation.ADD_REMOVE
    persons = countings(domain.size, neighbours)
    for rest in multisets(domain.size, min(2, 5 - neighbours.records), 0):
        for one in persons:
            for other in persons if replaced else [()]:
                yield tuple(sorted((*rest, *one))), tuple(sorted((*rest, *other)))


def neighbouring(domain: Domain, neighbours: Neighbours) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of neighbouring tables, each pair once or twice."""
    if neighbours.persons is not None:
        yield from by_person(domain, neighbours)
        return
    if neighbours is Neighbours.REPLACE_FILTERED:
        yield from before_a_filter(domain)
        return
    for records in tables(domain):
        for i in range(len(records)):
            rest = records[:i] + records[i + 1 :]
            if neighbours is Neighbours.ADD_REMOVE:
                yield records, rest
            else:
                for cell in range(domain.size):
                    yield records, tuple(sorted((*rest, cell)))


def largest_changes(workload: Workload, neighbours: Neighbours, hypothesis: Floats) -> tuple[Floats, Floats, Floats]:
    """For each candidate the largest L1 and L2 change of its answers, and of its error against a hypothesis."""
    domain = workload.domain
    answers = {key: workload.answers(DenseTables(domain, cells)) for key, cells in tables(domain).items()}
    target = workload.answers(DenseTables(domain, hypothesis))
    l1, l2, score = np.zeros((3, workload.n_candidates))
    for one, two in neighbouring(domain, neighbours):
        change = answers[one] - answers[two]
        l1 = np.maximum(l1, workload.candidate_errors(change))
        l2 = np.maximum(l2, np.sqrt(np.add.reduceat(change**2, workload.starts)))
        errors = [workload.candidate_errors(target - answers[key]) for key in (one, two)]
        score = np.maximum(score, np.abs(errors[0] - errors[1]))
    return l1, l2, score


@pytest.mark.many(quick=4)
@pytest.mark.parametrize(("name", "neighbours"), CASES)
def test_sensitivities_are_the_largest_changes_over_all_neighbours(name: str, neighbours: Neighbours) -> None:
    workload = Workload([FAMILIES[name]])
    domain = workload.domain
    l1, l2, score = largest_changes(workload, neighbours, np.full(domain.shape, 5.0 / domain.size))
    claimed = workload.sensitivities(neighbours)
    assert (l1 <= claimed + 1e-12).all()
    assert (score <= claimed + 1e-12).all()
    for k in range(workload.n_candidates):
        target = workload.candidate(k)
        sensitivity = target.sensitivity(neighbours)
        assert sensitivity.l1 == claimed[k]
        assert l2[k] <= sensitivity.l2 + 1e-12
        if not _constant(target) and not _never_0(target, neighbours):
            assert l1[k] == pytest.approx(claimed[k], abs=1e-12)
            assert l2[k] == pytest.approx(sensitivity.l2, abs=1e-12)


def _constant(target: object) -> bool:
    """A query without both bounds among its values has a smaller sensitivity than the table says."""
    return isinstance(target, LinearQuery) and {target.values().min(), target.values().max()} != set(target.bounds)


def _never_0(target: object, neighbours: Neighbours) -> bool:
    """Persons who are replaced have a record each, which moves such a sum for all of them."""
    always = isinstance(target, LinearQuery) and not target.bounds[0] <= 0 <= target.bounds[1]
    return always and neighbours.persons is not None and neighbours.relation is Relation.REPLACE


@pytest.mark.many(quick=8)
@pytest.mark.parametrize("neighbours", [*Neighbours.OF_RECORDS, *SEVERAL])
@pytest.mark.parametrize("nodes", [[0], [0, 1]])
@pytest.mark.parametrize("scope", [("a",), ("a", "b")])
def test_children_of_any_nodes_cost_what_one_marginal_costs(
    scope: tuple[str, ...], nodes: list[int], neighbours: Neighbours
) -> None:
    target = Marginal(NESTED, scope, Conjunction.where(NESTED, {"a.2": nodes}))
    answers = {key: target.on(DenseTables(NESTED, cells)) for key, cells in tables(NESTED).items()}
    changes = np.array([answers[one] - answers[two] for one, two in neighbouring(NESTED, neighbours)])
    assert np.abs(changes).sum(axis=1).max() == target.sensitivity(neighbours).l1
    assert np.sqrt((changes**2).sum(axis=1)).max() == pytest.approx(target.sensitivity(neighbours).l2)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("neighbours", [*Neighbours.OF_RECORDS, *SEVERAL])
def test_scores_reach_their_sensitivity(neighbours: Neighbours) -> None:
    for family in (FAMILIES["marginals"], FAMILIES["cells"], FAMILIES["parities"]):
        workload = Workload([family])
        far = np.zeros(workload.domain.shape)
        far.reshape(-1)[0] = 50.0
        near = np.zeros(workload.domain.shape)
        reached = np.maximum(*(largest_changes(workload, neighbours, each)[2] for each in (far, near)))
        expected = workload.sensitivities(neighbours)
        assert (reached <= expected).all()
        assert reached.max() == expected.max()


@pytest.mark.parametrize(
    ("low", "high", "neighbours", "expected"),
    [
        (0, 1, Neighbours.ADD_REMOVE, 1),
        (0, 1, Neighbours.REPLACE, 1),
        (-1, 1, Neighbours.ADD_REMOVE, 1),
        (-1, 1, Neighbours.REPLACE, 2),
        (-3, 2, Neighbours.ADD_REMOVE, 3),
        (-3, 2, Neighbours.REPLACE, 5),
        (4, 5, Neighbours.ADD_REMOVE, 5),
        (4, 5, Neighbours.REPLACE, 1),
        (0, 1, Neighbours.REPLACE_FILTERED, 1),
        (-1, 1, Neighbours.REPLACE_FILTERED, 2),
        (-3, 2, Neighbours.REPLACE_FILTERED, 5),
        (4, 5, Neighbours.REPLACE_FILTERED, 5),
    ],
)
def test_one_query(low: float, high: float, neighbours: Neighbours, expected: float) -> None:
    assert of_query(low, high, neighbours).l1 == of_query(low, high, neighbours).l2 == expected


def test_rounding_an_explicit_query_is_part_of_the_query() -> None:
    query = Explicit.of(WIDE, ["a"], [0, 1 / 3, 1 + 1e-9])
    assert query.bounds == (0, 1)
    assert (query.values() * 2**20 == np.round(query.values() * 2**20)).all()
