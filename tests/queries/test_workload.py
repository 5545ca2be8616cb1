"""Workloads and their families: answers, candidates and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.data import Table
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange
from hedgerow.errors import DomainError, QueryError
from hedgerow.queries import (
    Boxes,
    Cells,
    Conjunction,
    Conjunctions,
    ExplicitMatrix,
    Marginal,
    Marginals,
    Parities,
    Workload,
    workload as workload_module,
)
from tests.queries.strategies import workloads
from tests.reference import evaluator
from tests.reference.dense_tables import DenseTables

BITS = Domain(IntegerRange(name, 0, 1) for name in "abcdefg")
PEOPLE = Domain((Categorical("sex", ("F", "M"), missing="?"), IntegerRange("age", 17, 30), IntegerRange("hours", 1, 9)))


@given(workloads() | workloads(levels=True), st.integers(0, 99), st.sampled_from([0, 4, 2**20]))
def test_answers_are_those_of_the_plain_evaluator(workload: Workload, seed: int, cheap_cells: int) -> None:
    table = DenseTables.random(workload.domain, 1000, seed)
    uneven = table.cells + np.random.default_rng(seed).random(table.cells.shape)
    tables = DenseTables(workload.domain, uneven, cheap_cells)
    answers = workload.answers(tables)
    assert answers.shape == (workload.n_queries,)
    np.testing.assert_allclose(answers, evaluator.answers(workload, tables), rtol=0, atol=1e-10)


@given(workloads() | workloads(levels=True), st.integers(0, 99), st.floats(0.0, 1.0))
def test_answers_that_are_looked_at_are_those_of_all(workload: Workload, seed: int, share: float) -> None:
    tables = DenseTables.random(workload.domain, 500, seed)
    looked_at = np.random.default_rng(seed).random(workload.n_candidates) < share
    mine = np.repeat(looked_at, workload.lengths)
    some, answers = workload.answers(tables, looked_at=looked_at), workload.answers(tables)
    assert some.shape == answers.shape
    np.testing.assert_allclose(some[mine], answers[mine], rtol=0, atol=1e-9)


def test_tables_of_candidates_that_are_not_looked_at_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = Workload.parse("marginals:a*b,b*c; marginals:a*b", BITS)
    asked: list[tuple[str, ...]] = []
    tables = DenseTables.random(BITS, 100, 1)
    of_tables = tables.marginals
    monkeypatch.setattr(type(tables), "marginals", lambda _, cliques: asked.extend(cliques) or of_tables(cliques))
    answers = workload.answers(tables, looked_at=np.array([False, False, True]))
    assert asked == [("a", "b")]
    assert not answers[4:8].any()


@given(workloads() | workloads(levels=True), st.integers(0, 99))
def test_a_candidate_answers_its_slice(workload: Workload, seed: int) -> None:
    tables = DenseTables.random(workload.domain, 500, seed)
    answers = workload.answers(tables)
    assert workload.starts.shape == workload.lengths.shape == workload.candidate_weights.shape
    for k, (start, length) in enumerate(zip(workload.starts, workload.lengths, strict=True)):
        target = workload.candidate(k)
        assert target.size == length
        assert target.scope in workload.scopes
        low, high = workload.families[workload.family_of(k)].bounds
        assert low <= target.bounds[0] <= target.bounds[1] <= high
        found = target.of_table(tables.marginals([target.scope])[0])
        np.testing.assert_allclose(found, answers[start : start + length], rtol=0, atol=1e-9)
    assert workload.lengths.sum() == workload.n_queries


@given(workloads(), st.integers(0, 99))
def test_candidate_errors_sum_over_the_answers_of_each(workload: Workload, seed: int) -> None:
    differences = np.random.default_rng(seed).normal(size=workload.n_queries)
    expected = [
        np.abs(differences[start : start + length]).sum()
        for start, length in zip(workload.starts, workload.lengths, strict=True)
    ]
    np.testing.assert_allclose(workload.candidate_errors(differences), expected, atol=1e-12)


@pytest.mark.parametrize("cores", [2, 3, 64])
@given(workloads(), st.integers(0, 99))
def test_cores_do_not_change_a_bit_of_the_errors(cores: int, workload: Workload, seed: int) -> None:
    differences = np.random.default_rng(seed).normal(size=workload.n_queries)
    alone = workload.candidate_errors(differences)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload_module, "_MANY", 0)
        patch.setattr(workload_module, "usable_cores", lambda: cores)
        assert workload.candidate_errors(differences).tobytes() == alone.tobytes()


@pytest.mark.parametrize("cheap_cells", [0, 2**7])
@pytest.mark.parametrize("order", [1, 3, 7])
def test_parities_by_one_wide_and_by_many_small_transforms(cheap_cells: int, order: int) -> None:
    workload = Workload.parities(BITS, order)
    tables = DenseTables(BITS, np.random.default_rng(0).random(BITS.shape), cheap_cells)
    np.testing.assert_allclose(workload.answers(tables), evaluator.answers(workload, tables), rtol=0, atol=1e-10)


def test_parities_ask_for_one_wide_table_only_where_it_is_cheap() -> None:
    (family,) = Workload.parities(BITS, 2).families
    assert family.cliques(2**7) == (BITS.names,)
    assert len(family.cliques(2**6)) == 21
    assert Parities(BITS, [("a", "b")]).cliques(2**7) == (("a", "b"),)


def test_a_parity_of_many_attributes_is_transformed_on_its_own() -> None:
    domain = Domain(IntegerRange(f"a{i}", 0, 1) for i in range(12))
    workload = Workload.parities(domain, cliques=[domain.names, ("a0", "a3")])
    tables = DenseTables(domain, np.random.default_rng(0).random(domain.shape), 0)
    np.testing.assert_allclose(workload.answers(tables), evaluator.answers(workload, tables), rtol=0, atol=1e-10)


def test_tables_of_all_families_are_asked_for_in_one_call() -> None:
    calls = []

    class Counting(DenseTables):
        def marginals(self, cliques):  # type: ignore[no-untyped-def]
            calls.append(list(cliques))
            return super().marginals(cliques)

    workload = Workload.marginals(BITS, 2) + Workload.marginals(BITS, cliques=[("a", "b"), ("a",)], whole=False)
    workload.answers(Counting(BITS, np.ones(BITS.shape)))
    assert len(calls) == 1
    assert len(calls[0]) == 22


@given(workloads(), st.integers(0, 99))
def test_a_family_answers_on_its_own(workload: Workload, seed: int) -> None:
    tables = DenseTables.random(workload.domain, 100, seed)
    apart = [family.answers(tables) for family in workload.families]
    np.testing.assert_array_equal(np.concatenate(apart), workload.answers(tables))


def test_a_million_candidates_are_arrays() -> None:
    domain = Domain(IntegerRange(name, 0, 99) for name in "abc")
    workload = Workload.marginals(domain, 3, whole=False) + Workload.ranges(domain, ["a", "b"], 1000, 1)
    assert workload.n_candidates == 1_001_000
    assert workload.candidate(999_999).text == "a = 99 and b = 99 and c = 99"
    answers = workload.answers(DenseTables(domain, np.ones(domain.shape)))
    assert workload.candidate_errors(answers).shape == workload.candidate_weights.shape == (1_001_000,)


def test_a_workload_covers_the_marginals_inside_its_own() -> None:
    workload = Workload.marginals(BITS, cliques=[("a", "b")]) + Workload.marginals(BITS, cliques=["c"], whole=False)
    assert workload.covers(("b",))
    assert workload.covers(("b", "a"))
    assert workload.covers("c")
    assert not workload.covers(("a", "c"))
    assert not Workload.parities(BITS, 2).covers(("a",))


def test_ranges_leave_the_missing_and_the_other_value_out() -> None:
    domain = Domain((IntegerRange("age", 0, 3, missing="?", other="other"),))
    tables = DenseTables(domain, np.array([1.0, 2, 3, 4, 100, 1000]))
    assert Workload.prefixes(domain, "age").answers(tables).tolist() == [1, 3, 6, 10]


def test_all_ranges_are_there_once() -> None:
    (family,) = Workload.ranges(PEOPLE, ["hours", "age"]).families
    assert isinstance(family, Boxes)
    assert family.n_queries == (14 * 15 // 2) * (9 * 10 // 2)
    assert len(np.unique(np.hstack([family.lows, family.highs]), axis=0)) == family.n_queries


def test_random_ranges_are_uniform_over_all_ranges_and_repeat_with_their_seed() -> None:
    # 15 ranges, 30,000 draws: chi-square with 14 degrees of freedom exceeds 56 with probability 6e-7.
    domain = Domain((IntegerRange("a", 0, 4),))
    family = Boxes.ranges(domain, ["a"], 30_000, seed=5)
    _, counts = np.unique(np.hstack([family.lows, family.highs]), axis=0, return_counts=True)
    assert len(counts) == 15
    assert ((counts - 2000) ** 2 / 2000).sum() < 56
    assert family == Boxes.ranges(domain, ["a"], 30_000, seed=5)
    assert family != Boxes.ranges(domain, ["a"], 30_000, seed=6)


def test_bounds_of_boxes_follow_the_order_in_which_attributes_are_named() -> None:
    family = Boxes(PEOPLE, ["hours", "age"], [[0, 1]], [[2, 5]])
    assert family.clique == ("age", "hours")
    assert family.candidate(0).text == "age between 18 and 22 and hours between 1 and 3"


def test_weights_are_those_of_the_families() -> None:
    workload = Workload.prefixes(PEOPLE, "hours").weighted(0.25) + Workload.marginals(PEOPLE, 3)
    assert workload.candidate_weights.tolist() == [0.25] * 9 + [1.0]
    assert workload.family_of(9) == 1
    assert workload.candidate(9) == Marginal(PEOPLE, PEOPLE.names)


def test_conditions_are_given_as_text_or_as_objects() -> None:
    query = Conjunction.where(PEOPLE, {"age": range(3)})
    assert Workload.conjunctions(PEOPLE, [query]) == Workload.conjunctions(PEOPLE, ["age <= 19"])


def test_workloads_compare_by_what_they_ask() -> None:
    def mixed(value: float) -> Workload:
        explicit = Workload.explicit(PEOPLE, ["sex"], [[0, 1, value]])
        return explicit + Workload.conjunctions(PEOPLE, ["age < 20"]) + Workload.prefixes(PEOPLE, "age")

    assert mixed(0.5) == mixed(0.5)
    assert hash(mixed(0.5)) == hash(mixed(0.5))
    assert mixed(0.5) != mixed(0.25)
    assert ExplicitMatrix(PEOPLE, ["sex"], [[0, 1, 0]]) != Boxes.prefixes(PEOPLE, "age")
    assert Boxes.prefixes(PEOPLE, "age") != ExplicitMatrix(PEOPLE, ["sex"], [[0, 1, 0]])


REFUSED = {
    "no family": lambda: Workload([]),
    "two domains": lambda: Workload.marginals(BITS, 1) + Workload.marginals(PEOPLE, 1),
    "a weight too many": lambda: Workload(Workload.marginals(BITS, 1).families, [1, 1]),
    "a negative weight": lambda: Workload.marginals(BITS, 1).weighted(-1),
    "an infinite weight": lambda: Workload.marginals(BITS, 1).weighted(float("inf")),
    "order and cliques": lambda: Workload.marginals(BITS, 1, cliques=["a"]),
    "neither": lambda: Workload.marginals(BITS),
    "order 0": lambda: Workload.marginals(BITS, 0),
    "order too high": lambda: Workload.marginals(BITS, 8),
    "parities of order 0": lambda: Workload.parities(BITS, 0),
    "no clique": lambda: Marginals(BITS, []),
    "an empty clique": lambda: Marginals(BITS, [()]),
    "a clique twice": lambda: Cells(BITS, [("a", "b"), ("b", "a")]),
    "too many cells": lambda: Workload.marginals(Domain(IntegerRange(n, 1, 1000) for n in "abc"), 3),
    "too many cliques": lambda: Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(80)), 40),
    "too many parities": lambda: Workload.parities(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(80)), 40),
    "a parity of three values": lambda: Parities(PEOPLE, [("sex",)]),
    "boxes of fractions": lambda: Boxes(PEOPLE, ["age"], [[0.5]], [[1]]),
    "boxes of a wrong shape": lambda: Boxes(PEOPLE, ["age"], [[0, 1]], [[1, 1]]),
    "no boxes": lambda: Boxes(PEOPLE, ["age"], np.zeros((0, 1), int), np.zeros((0, 1), int)),
    "a box of a missing value": lambda: Boxes(PEOPLE, ["sex"], [[0]], [[2]]),
    "an empty box": lambda: Boxes(PEOPLE, ["age"], [[3]], [[2]]),
    "an attribute twice in a box": lambda: Boxes(PEOPLE, ["age", "age"], [[0, 0]], [[1, 1]]),
    "an attribute twice in a range": lambda: Boxes.ranges(PEOPLE, ["age", "age"]),
    "too many ranges": lambda: Workload.ranges(Domain(IntegerRange(n, 1, 99) for n in "ab"), "ab"),
    "no ranges": lambda: Workload.ranges(PEOPLE, ["age"], 0),
    "no conjunction": lambda: Conjunctions(PEOPLE, []),
    "a conjunction of another domain": lambda: Conjunctions(PEOPLE, [Conjunction.where(BITS, {"a": [0]})]),
    "a disjunction": lambda: Workload.conjunctions(PEOPLE, ["age < 20 or sex = 'F'"]),
    "a matrix of a wrong shape": lambda: Workload.explicit(PEOPLE, ["sex"], [[1, 2]]),
    "an infinite value": lambda: Workload.explicit(PEOPLE, ["sex"], [[1, 2, np.inf]]),
    "a name too many": lambda: Workload.explicit(PEOPLE, ["sex"], [[1, 2, 3]], ["one", "two"]),
    "a large explicit scope": lambda: Workload.explicit(Domain(IntegerRange(n, 1, 1100) for n in "ab"), "ab", [[1]]),
    "an explicit query of nothing": lambda: Workload.explicit(PEOPLE, [], [[1]]),
    "a candidate that is not there": lambda: Workload.marginals(BITS, 1).candidate(7),
    "a candidate of a family": lambda: Boxes.prefixes(PEOPLE, "age").candidate(-1),
    "tables of another domain": lambda: Workload.marginals(BITS, 1).answers(DenseTables.random(PEOPLE, 1, 0)),
    "conjunctions from tables": lambda: Conjunctions(PEOPLE, [Conjunction(PEOPLE, (), ())]).evaluate((), ()),
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
def test_what_makes_no_sense_is_refused(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(QueryError):
        make()


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(DomainError, match="there is no attribute 'z'"):
        Workload.marginals(BITS, cliques=[("a", "z")])


def test_too_many_ranges_say_how_to_draw_some() -> None:
    domain = Domain((IntegerRange("a", 1, 99), Binned("b", range(100))))
    with pytest.raises(QueryError, match="'ranges:a,b:2000:0'"):
        Workload.ranges(domain, ["a", "b"])


# Boxes over too many cells for a table


HUGE = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23, missing="?")))


def test_boxes_over_huge_attributes_are_answered_as_conditions() -> None:
    for names in (["ip"], ["hour", "ip"]):
        workload = Workload.ranges(HUGE, names, 40, seed=3)
        family = workload.families[0]
        conditions = Workload.conjunctions(HUGE, [family.candidate(i) for i in range(40)])  # type: ignore[misc]
        rng = np.random.default_rng(4)
        table = Table(HUGE, [rng.integers(0, 2**32, 300), rng.integers(0, 25, 300)], None)
        found = workload.answers(table)
        assert found.tolist() == conditions.answers(table).tolist()
        assert 0 < found.sum() < 40 * 300
        assert Workload.parse(workload.spec, HUGE) == workload


def test_all_prefixes_of_a_huge_attribute_are_refused_with_a_way_out() -> None:
    with pytest.raises(QueryError, match="list those that matter as conditions") as refusal:
        Workload.prefixes(HUGE, "ip")
    assert "ranges:ip:2000:0" in str(refusal.value)
    with pytest.raises(QueryError, match="list those that matter as conditions"):
        Workload.ranges(HUGE, ["ip"])


@pytest.mark.parametrize("shaped", [False, True])
def test_answers_are_never_an_array_that_the_source_keeps(monkeypatch: pytest.MonkeyPatch, shaped: bool) -> None:
    domain = Domain((IntegerRange("a", 0, 3),))
    kept = np.arange(4.0)
    tables = DenseTables(domain, kept)
    monkeypatch.setattr(DenseTables, "marginals", lambda self, cliques: [self.cells for _ in cliques])
    monkeypatch.setattr(Marginals, "evaluate", lambda self, cliques, seen: seen[0].reshape(-1) if shaped else seen[0])
    found = Workload.marginals(domain, 1).answers(tables)
    assert found.tolist() == [0.0, 1.0, 2.0, 3.0]
    found += 1.0
    assert kept.tolist() == [0.0, 1.0, 2.0, 3.0]
