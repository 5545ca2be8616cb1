"""The SVD bound: against dense singular values, closed forms, strategies that must not pass it, and large domains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow import IndependentNoise, svd_bound
from hedgerow.algorithms import nuclear_norm
from hedgerow.algorithms.independent import noisy_answers
from hedgerow.algorithms.yardsticks import spectrum as spectrum_module
from hedgerow.algorithms.yardsticks.spectrum import _Core
from hedgerow.arrays import Floats
from hedgerow.domain import Categorical, Clique, Domain, IntegerRange
from hedgerow.errors import ConfigError, QueryError
from hedgerow.privacy import ZCDP, ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.queries import (
    Conjunction,
    Explicit,
    ExplicitMatrix,
    Family,
    LinearQuery,
    Measurable,
    Neighbours,
    Persons,
    Workload,
)
from tests.examples import examples
from tests.privacy.tables import DenseCounts, binary
from tests.queries.strategies import workloads

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def dense(workload: Workload, scope: Clique, *, weighted: bool) -> np.ndarray:
    """One row per query, one column per cell of some attributes."""
    domain = workload.domain.project(scope)
    weights = workload.by_query().candidate_weights if weighted else np.ones(workload.n_queries)
    rows = []
    for index, weight in enumerate(weights):
        query = workload.by_query().candidate(index)
        assert isinstance(query, LinearQuery)
        shape = [attribute.size if attribute.name in query.scope else 1 for attribute in domain]
        rows.append(weight * np.broadcast_to(query.values().reshape(shape), domain.shape).reshape(-1))
    return np.array(rows)


def used(workload: Workload) -> Clique:
    scope = workload.domain.clique(name for part in workload.scopes for name in part)
    return scope or workload.domain.names[:1]


def dense_bound(matrix: np.ndarray, neighbours: Neighbours) -> float:
    """Of the table in `matrix_bound`, with u = 1; after a filter that of "add-remove" holds too."""
    cells = matrix.shape[1]
    if neighbours is not REPLACE:
        return float(np.linalg.svd(matrix, compute_uv=False).sum()) ** 2 / cells
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    return 2.0 * float(np.linalg.svd(centred, compute_uv=False).sum()) ** 2 / (cells - 1)


# Against dense singular values


@settings(deadline=None)
@given(workloads(3), st.booleans(), st.sampled_from(Neighbours.OF_RECORDS))
def test_the_bound_is_that_of_dense_singular_values(workload: Workload, weighted: bool, neighbours: Neighbours) -> None:
    found = svd_bound(workload, ZCDP(0.5, neighbours), weighted=weighted)
    expected = dense_bound(dense(workload, used(workload), weighted=weighted), neighbours)
    assert found.total_squared == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert found.n_queries == workload.n_queries


@settings(deadline=None)
@given(workloads(3), st.booleans(), st.booleans())
def test_cells_and_queries_give_the_same(workload: Workload, weighted: bool, centred: bool) -> None:
    core = _Core.of(workload, weighted=weighted)
    sums = []
    for matrix in (core._operator(centred=centred), core._gram(centred=centred)):
        values = np.linalg.eigvalsh(matrix)
        sums.append(np.sqrt(np.clip(values, 0.0, None)).sum())
        assert values.min(initial=0.0) >= -1e-9 * max(1.0, values.max(initial=0.0))  # none of an empty workload
    assert sums[0] == pytest.approx(sums[1], rel=1e-5, abs=1e-5)


@settings(deadline=None, max_examples=examples(40))
@given(workloads(3), st.sampled_from(Neighbours.OF_RECORDS), st.sampled_from([2, 50, 10**9]))
def test_unused_attributes_change_nothing(workload: Workload, neighbours: Neighbours, size: int) -> None:
    wider = Domain((*workload.domain, IntegerRange("unused", 1, size)))
    moved = Workload([_moved(family, wider) for family in workload.families], workload.weights)
    budget = PureDP(0.3, neighbours)
    assert svd_bound(moved, budget).total_squared == pytest.approx(svd_bound(workload, budget).total_squared, rel=1e-9)


def _moved(family: Any, domain: Domain) -> Any:
    """The same family over a larger domain."""
    kind = type(family).__name__
    if kind in ("Marginals", "Cells", "Parities"):
        return type(family)(domain, family.scopes)
    if kind == "Boxes":
        return type(family)(domain, family.clique, family.lows, family.highs)
    if kind == "ExplicitMatrix":
        return type(family)(domain, family.scope, family.matrix)
    return type(family)(domain, [Conjunction(domain, query.scope, query.codes) for query in family.queries])


# Closed forms


@pytest.mark.parametrize("neighbours", Neighbours.OF_RECORDS)
def test_the_cells_of_one_marginal_are_best_measured_directly(neighbours: Neighbours) -> None:
    domain = Domain((IntegerRange("a", 0, 3), IntegerRange("b", 0, 4), IntegerRange("c", 0, 9)))
    bound = svd_bound(Workload.marginals(domain, cliques=[("a", "b")]), ZCDP(0.1, neighbours))
    # Add-remove: 20 cells with one unit of noise each. Replace: two units, for 19 of 20 directions.
    expected = 2.0 * 19.0 / 0.2 if neighbours is REPLACE else 20.0 / 0.2
    assert bound.total_squared == pytest.approx(expected)


@pytest.mark.parametrize(("order", "count"), [(1, 12), (2, 78), (3, 298)])
def test_parities_are_best_measured_directly(order: int, count: int) -> None:
    workload = Workload.parities(Domain(IntegerRange(f"x{i}", 0, 1) for i in range(12)), order)
    bound = svd_bound(workload, ZCDP(0.5))
    assert bound.total_squared == pytest.approx(count**2)  # every parity with sigma^2 = count
    assert bound.per_query_mse == pytest.approx(count)
    assert bound.rmse == pytest.approx(math.sqrt(count))


def test_marginals_of_a_huge_domain_follow_the_closed_form() -> None:
    # Eigenvalue of a set A: for each marginal above it one over its cells; (d - 1)^|A| functions each.
    d, attributes = 100, 15
    workload = Workload.marginals(Domain(IntegerRange(f"x{i}", 0, d - 1) for i in range(attributes)), 2)
    pairs = math.comb(attributes, 2)
    roots = (
        math.sqrt(pairs) / d
        + attributes * (d - 1) * math.sqrt(attributes - 1) / d
        + pairs * (d - 1) ** 2 / d
    )  # fmt: skip
    assert svd_bound(workload, ZCDP(0.5)).total_squared == pytest.approx(roots**2)


def test_prefixes_beside_marginals_of_a_huge_domain() -> None:
    domain = Domain((IntegerRange("age", 0, 59), *(IntegerRange(f"x{i}", 0, 9) for i in range(8))))
    alone = svd_bound(Workload.prefixes(domain, "age"), ZCDP(0.5)).total_squared
    lower = np.linalg.svd(np.tril(np.ones((60, 60))), compute_uv=False).sum() ** 2 / 60
    assert alone == pytest.approx(lower)
    together = svd_bound(Workload.prefixes(domain, "age") + Workload.marginals(domain, 2), ZCDP(0.5)).total_squared
    marginals = svd_bound(Workload.marginals(domain, 2), ZCDP(0.5)).total_squared
    assert marginals < together < (math.sqrt(alone) + math.sqrt(marginals)) ** 2


def test_random_boxes_over_many_cells_by_their_queries() -> None:
    domain = Domain((IntegerRange("age", 0, 73), IntegerRange("hours", 0, 98)))
    workload = Workload.ranges(domain, ["age", "hours"], 60, seed=3)
    for neighbours in Neighbours.OF_RECORDS:
        expected = dense_bound(dense(workload, domain.names, weighted=False), neighbours)
        assert svd_bound(workload, ZCDP(0.5, neighbours)).total_squared == pytest.approx(expected, rel=1e-6)


def test_many_boxes_over_few_cells_by_their_cells() -> None:
    domain = Domain((Categorical("a", range(9), missing="?"), IntegerRange("b", 0, 5)))
    workload = Workload.ranges(domain, ["a", "b"])
    assert workload.n_queries > domain.size
    expected = dense_bound(dense(workload, domain.names, weighted=False), ADD_REMOVE)
    assert svd_bound(workload, ZCDP(0.5)).total_squared == pytest.approx(expected, rel=1e-6)


def test_explicit_queries_over_overlapping_scopes_by_their_queries() -> None:
    domain = Domain((IntegerRange("a", 0, 30), IntegerRange("b", 0, 2), IntegerRange("c", 0, 40)))
    random = np.random.default_rng(0)
    workload = (
        Workload.explicit(domain, ["a", "b"], random.normal(size=(4, 93)))
        + Workload.explicit(domain, ["b", "c"], random.normal(size=(3, 123))).weighted(2.0)
        + Workload.explicit(domain, ["c"], random.normal(size=(2, 41)))
        + Workload.conjunctions(domain, ["a < 5 and c > 20", "b = 1"])
        + Workload.marginals(domain, cliques=[("b",)])
    )
    for weighted, neighbours in product((True, False), Neighbours.OF_RECORDS):
        expected = dense_bound(dense(workload, domain.names, weighted=weighted), neighbours)
        found = svd_bound(workload, ZCDP(0.5, neighbours), weighted=weighted)
        assert found.total_squared == pytest.approx(expected, rel=1e-6)


def test_the_number_of_records_alone() -> None:
    domain = Domain((IntegerRange("a", 0, 30),))
    workload = Workload.conjunctions(domain, [Conjunction(domain, (), ())])
    assert svd_bound(workload, ZCDP(0.5)).total_squared == pytest.approx(1.0)
    assert svd_bound(workload, ZCDP(0.5, "replace")).total_squared == 0.0


# No strategy does better


def strategy_error(queries: np.ndarray, strategy: np.ndarray, neighbours: Neighbours) -> float:
    """Total squared error of a matrix mechanism with u = 1."""
    columns = strategy.T
    added = max(float(np.linalg.norm(x)) for x in columns)
    replaced = max(float(np.linalg.norm(x - y)) for x in columns for y in columns)
    sensitivity = {ADD_REMOVE: added, REPLACE: replaced}.get(neighbours, max(added, replaced))
    if neighbours is REPLACE:
        mean = np.full((queries.shape[1],) * 2, 1.0 / queries.shape[1])
        queries, strategy = queries - queries @ mean, strategy - strategy @ mean
    return float((sensitivity * np.linalg.norm(queries @ np.linalg.pinv(strategy))) ** 2)


@settings(deadline=None, max_examples=examples(60))
@given(
    workloads(2),
    st.sampled_from(Neighbours.OF_RECORDS),
    st.integers(0, 2**31),
    st.sampled_from(["normal", "identity", "queries"]),
)
def test_no_strategy_passes_the_bound(workload: Workload, neighbours: Neighbours, seed: int, kind: str) -> None:
    queries = dense(workload, used(workload), weighted=False)
    cells = queries.shape[1]
    strategies = {
        "normal": np.random.default_rng(seed).normal(size=(cells + 2, cells)),
        "identity": np.eye(cells),
        "queries": np.concatenate([queries, 0.1 * np.eye(cells)]),
    }
    error = strategy_error(queries, strategies[kind], neighbours)
    assert error >= svd_bound(workload, ZCDP(0.5, neighbours)).total_squared * (1.0 - 1e-6) - 1e-6


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(
    "budget", [ZCDP(0.02, REPLACE), ZCDP(0.02), PureDP(0.5)], ids=["replace", "add-remove", "pure"]
)
def test_the_raw_baseline_does_not_pass_the_bound(budget: Budget) -> None:
    # Mean of 400 values of 48 (dependent) squares: within 10% but for a probability far below 1e-6.
    workload, source = Workload.marginals(binary(4), 3), DenseCounts(binary(4), np.arange(16))
    config = IndependentNoise(fit=None, total_share=1e-9)
    bound, exact = svd_bound(workload, budget), workload.answers(source)
    runs = [config.run(source, workload, budget, noise=SeededNoise(seed)) for seed in range(400)]
    measured = np.mean([((noisy_answers(release) - exact) ** 2).sum() for release in runs])
    assert measured > 0.9 * bound.total_squared
    assert bound.total_squared > 0.1 * measured  # and the bound says something


# Budgets


def test_the_variance_of_each_budget() -> None:
    workload = Workload.marginals(binary(1), 1)
    assert svd_bound(workload, ZCDP(0.25)).total_squared == pytest.approx(2.0 / 0.5)
    assert svd_bound(workload, PureDP(0.5)).total_squared == pytest.approx(2.0 * 2.0 / 0.25)
    approximate = ApproxDP(0.5, 1e-6)
    assert svd_bound(workload, approximate).total_squared == pytest.approx(2.0 / (2.0 * approximate.limit))
    paper = svd_bound(workload, approximate, calibration="paper")
    assert paper.total_squared == pytest.approx(2.0 * 2.0 * math.log(2e6) / 0.25)
    assert paper.total_squared > svd_bound(workload, approximate).total_squared


def test_the_bound_as_plain_values() -> None:
    found = svd_bound(Workload.marginals(binary(2), 2), ZCDP(0.5)).to_dict()
    assert found == {
        "total_squared": pytest.approx(4.0), "per_query_mse": pytest.approx(1.0), "rmse": pytest.approx(1.0),
        "n_queries": 4, "neighbours": "add-remove",
    }  # fmt: skip


def test_senseless_calibrations_are_refused() -> None:
    workload = Workload.marginals(binary(2), 1)
    with pytest.raises(ConfigError, match="ApproxDP"):
        svd_bound(workload, ZCDP(0.5), calibration="paper")
    with pytest.raises(ConfigError, match="unknown"):
        svd_bound(workload, ZCDP(0.5), calibration="gaussian")  # type: ignore[arg-type]


# Refusals


def test_too_many_queries_over_too_many_cells_are_refused() -> None:
    domain = Domain((IntegerRange("a", 0, 99), IntegerRange("b", 0, 99)))
    with pytest.raises(QueryError, match=r"5,000 queries over 10,000 cells of a \* b, .*\n.*4,096"):
        nuclear_norm(Workload.ranges(domain, ["a", "b"], 5000))


def test_too_many_sets_of_attributes_are_refused() -> None:
    wide = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(25))
    with pytest.raises(QueryError, match="sets of attributes"):
        nuclear_norm(Workload.marginals(wide, cliques=[wide.names[:23]]))


def test_an_attribute_that_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectrum_module, "_BLOCK", 2**8)
    domain = Domain((IntegerRange("a", 0, 9999),))
    with pytest.raises(QueryError, match="10,000 values"):
        nuclear_norm(Workload.ranges(domain, ["a"], 10))


# Families of one's own


@dataclass(frozen=True, eq=False)
class Own(Family):
    """A family that the library does not know."""

    domain: Domain
    inner: ExplicitMatrix
    n_queries: int = 2
    n_candidates: int = 2
    spec: str = "own"

    @property
    def scopes(self) -> tuple[Clique, ...]:
        return self.inner.scopes

    def candidate(self, index: int) -> Measurable:
        return Explicit.of(self.domain, self.inner.scope, self.inner.matrix[index])

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        return self.inner.cliques(cheap_cells)

    def evaluate(self, cliques: Any, tables: Any) -> Floats:
        return self.inner.evaluate(cliques, tables)


def test_families_of_ones_own_are_looked_at_query_by_query() -> None:
    domain = binary(2)
    inner = ExplicitMatrix(domain, ["a"], [[1.0, 2.0], [0.0, -1.0]])
    own, known = Workload([Own(domain, inner)]), Workload([inner])
    assert nuclear_norm(own) == pytest.approx(nuclear_norm(known))
    wide = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 9999)))
    large = ExplicitMatrix(wide, ["a", "b"], np.ones((2, 20_000)))
    with pytest.raises(QueryError, match="explicit values"):
        nuclear_norm(Workload([Own(wide, large)]))


@pytest.mark.parametrize(("relation", "factor"), [*zip(Neighbours.OF_RECORDS, (9.0, 4.0, 9.0), strict=True)])
def test_persons_with_m_records_multiply_the_bound_by_a_square(relation: Neighbours, factor: float) -> None:
    """Of m, or m - 1 where a person has a record in both tables."""
    workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abcd"), 2)
    found = svd_bound(workload, ZCDP(0.5, relation.between(Persons("id", 3))))
    assert found.total_squared == pytest.approx(factor * svd_bound(workload, ZCDP(0.5)).total_squared)
