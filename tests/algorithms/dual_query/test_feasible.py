"""Best responses on domains with derived attributes and constraints, against all records that can exist."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow import DualQuery
from hedgerow.algorithms import (
    BestResponseProblem,
    BruteForce,
    MixedInteger,
    Oracle,
    Response,
    TabuSearch,
    check_queries,
    sampled_problem,
)
from hedgerow.algorithms.dual_query import boxes
from hedgerow.algorithms.dual_query.best_response import FeasibleOracle
from hedgerow.algorithms.dual_query.boxes import check_boxes, forbidden, over_attributes
from hedgerow.arrays import Ints
from hedgerow.domain import Constraint, Derived, Domain, IntegerRange, listed_records
from hedgerow.errors import ConfigError, ModelTooLargeError
from hedgerow.models import Empirical, values_at
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import Conjunction, Explicit, Workload
from tests.algorithms.dual_query.test_best_response import scaled_sum
from tests.algorithms.shared.whole_runs import ModelCounts
from tests.models.strategies import leveled_cliques, leveled_conjunctions, leveled_domains

ORACLES = [BruteForce(), TabuSearch(restarts=2, patience=50), MixedInteger(seconds=5.0)]


def every_record(domain: Domain) -> Ints:
    return np.indices(domain.shape).reshape(len(domain), -1).T


def holds(domain: Domain, record: Ints) -> bool:
    return all(rule.holds([record[axis] for axis in domain.axes(rule.scope)]) for rule in domain.constraints)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Workload, Ints]:
    """Single queries over attributes and derived ones, and some of them drawn."""
    domain = draw(leveled_domains(largest=4, longest=4))
    conditions = [each for each in draw(st.lists(leveled_conjunctions(domain), min_size=1, max_size=4)) if each.scope]
    workload = Workload.parse(f"cells:{'*'.join(draw(leveled_cliques(domain)) or domain.names[:1])}", domain)
    if conditions:
        workload += Workload.conjunctions(domain, conditions)
    scope = draw(leveled_cliques(domain)) or domain.names[-1:]
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    cells = int(np.prod(domain.shape_of(scope)))
    if cells > 1:
        rows = rng.normal(size=(2, cells))
        workload += Workload.explicit(domain, scope, rows)
    lows, highs = workload.limits
    usable = np.flatnonzero(highs > lows)
    size = int(rng.integers(1, 25))
    return workload, rng.choice(usable, size) + workload.n_queries * rng.integers(2, size=size)


@given(st.data())
def test_conditions_are_disjoint_unions_of_boxes_of_attributes(data: st.DataObject) -> None:
    domain = data.draw(leveled_domains())
    query = data.draw(leveled_conjunctions(domain))
    parts = list(over_attributes(query))
    assert all(set(part.scope) <= set(domain.names) for part in parts)
    records = every_record(domain)
    total = sum((values_at(part, records) for part in parts), np.zeros(len(records)))
    assert np.array_equal(total, values_at(query, records))


@given(leveled_domains())
def test_a_record_is_in_a_forbidden_box_for_each_constraint_that_it_breaks(domain: Domain) -> None:
    records = every_record(domain)
    found = sum((values_at(box, records) for box in forbidden(domain)), np.zeros(len(records)))
    broken = [~rule.holds([records[:, axis] for axis in domain.axes(rule.scope)]) for rule in domain.constraints]
    assert np.array_equal(found, np.sum(broken, axis=0) if broken else np.zeros(len(records)))


@given(problems())
def test_values_are_those_of_the_queries_and_below_0_where_no_record_is(problem: tuple[Workload, Ints]) -> None:
    workload, drawn = problem
    records = every_record(workload.domain)
    values = np.array([sampled_problem(workload, drawn).value(record) for record in records[:200]])
    kept = np.array([holds(workload.domain, record) for record in records[:200]])
    np.testing.assert_allclose(values[kept], scaled_sum(workload, drawn, records[:200][kept]), rtol=1e-9, atol=1e-9)
    assert (values[kept] > -1e-9).all()
    assert (values[~kept] <= -1.0 + 1e-9).all()


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda each: type(each).__name__)
@given(problem=problems(), seed=st.integers(0, 100))
def test_best_responses_can_exist(oracle: Oracle, problem: tuple[Workload, Ints], seed: int) -> None:
    workload, drawn = problem
    domain = workload.domain
    found = FeasibleOracle(oracle, domain).best(sampled_problem(workload, drawn), np.random.default_rng(seed))
    best = scaled_sum(workload, drawn, listed_records(domain)).max()
    assert holds(domain, found.codes)
    assert found.value == pytest.approx(scaled_sum(workload, drawn, found.codes[None])[0], abs=1e-9)
    if found.bound is not None:
        assert found.bound >= best - 1e-6
    if found.proved:
        assert found.value == pytest.approx(best, rel=1e-5, abs=1e-5)
    if isinstance(oracle, BruteForce):
        assert found.proved


class Stubborn:
    """Always the same record, which breaks a rule, and a bound."""

    def best(self, problem: BestResponseProblem, seed: Any = None) -> Response:
        codes = np.zeros(len(problem.domain), dtype=np.int64)
        return Response(codes, problem.value(codes), bound=100.0)


def all_alike(attributes: int, size: int = 3) -> Domain:
    """Each attribute has the value of the one before it, and not 0: a change of one attribute is never allowed."""
    names = [f"x{i}" for i in range(attributes)]
    rules = [
        Constraint(f"{a} = {b}", (a, b), [range(size)] * 2, np.diag([False] + [True] * (size - 1)))
        for a, b in pairwise(names)
    ]
    return Domain([IntegerRange(name, 0, size - 1) for name in names], (), rules)


@pytest.mark.parametrize("attributes", [4, 60])
def test_where_an_oracle_finds_nothing_that_can_exist_records_that_can_are_searched_from(attributes: int) -> None:
    domain = all_alike(attributes)
    workload = Workload.marginals(domain, 1, whole=False)
    drawn = np.arange(0, workload.n_queries, 3) + 2  # all ask for the value 2
    problem = sampled_problem(workload, drawn)
    for oracle in (Stubborn(), TabuSearch(restarts=1, patience=1)):
        found = FeasibleOracle(oracle, domain).best(problem, np.random.default_rng(0))
        assert holds(domain, found.codes)
        assert found.value == attributes
    assert FeasibleOracle(Stubborn(), domain).best(problem, np.random.default_rng(0)).bound == 100.0


def test_a_search_from_records_is_worth_what_the_best_of_them_is() -> None:
    domain = all_alike(5)
    problem = sampled_problem(Workload.marginals(domain, 1, whole=False), np.arange(0, 15, 3) + 2)
    found = TabuSearch(patience=1).improved(problem, [[1] * 5, [2] * 5, [1] * 5], seed=1)
    assert (found.value, found.codes.tolist()) == (5.0, [2] * 5)


def test_runs_with_an_oracle_that_knows_no_rules_release_records_that_can_exist() -> None:
    domain = all_alike(3)
    source = Empirical(domain, 100.0, [[1] * 3, [2] * 3, [2] * 3, [2] * 3])
    config = DualQuery(rounds=12, samples=40, oracle=Stubborn(), seed=0)
    workload = Workload.marginals(domain, 2)
    release = config.run(ModelCounts(source), workload, PureDP(50.0), noise=SeededNoise(0))
    assert set(map(tuple, release.model.sample(100, seed=0).tolist())) == {(1, 1, 1), (2, 2, 2)}


def test_rules_of_too_many_boxes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = all_alike(3)
    workload = Workload.marginals(domain, 1)
    forbidden.cache_clear()
    monkeypatch.setattr(boxes, "MOST_BOXES", 5)
    with pytest.raises(ConfigError, match="rule out more than 5") as caught:
        check_queries(workload)
    assert caught.value.remedy
    monkeypatch.setattr(boxes, "MOST_BOXES", 6)
    check_queries(workload)
    both = Derived(IntegerRange("both", 0, 1), ("x0", "x1", "x2"), np.arange(27).reshape(3, 3, 3) % 2)
    derived = Domain(domain.attributes, (both,))
    with pytest.raises(ConfigError, match="come down to 9 conditions") as caught:
        check_queries(Workload.marginals(derived, cliques=[("both",)]))
    assert caught.value.remedy
    check_boxes(derived, ("x0", "x1"))
    forbidden.cache_clear()


def test_rules_that_hang_together_too_much_are_refused_before_anything_is_spent() -> None:
    names = [f"x{i}" for i in range(40)]
    full = np.ones((10, 10), dtype=bool)
    full[3, 7] = full[5, 5] = full[5, 6] = False
    classes = [np.arange(10)] * 2
    pairs = combinations(names, 2)
    rules = [Constraint(f"{a}, {b}", (a, b), classes, np.roll(full, i)) for i, (a, b) in enumerate(pairs)]
    domain = Domain([IntegerRange(name, 0, 9) for name in names], (), rules)
    with pytest.raises(ModelTooLargeError):
        check_queries(Workload.marginals(domain, 1))


def test_cells_given_by_value_over_levels_cost_as_many_conjunctions_as_there_are_cells() -> None:
    """A level of 1,000 codes with ten values makes ten conjunctions, not 1,000."""
    domain = Domain((IntegerRange("a", 0, 999),))
    level = domain.derived[-1].name
    values = np.arange(domain[level].size, dtype=np.float64)
    query = Explicit.of(domain, (level,), values)
    problem = sampled_problem(Workload.explicit(domain, (level,), [query.values()]), np.array([0]))
    assert len(problem.table) == domain[level].size - 1


def test_nothing_changes_where_there_is_nothing_to_translate() -> None:
    domain = Domain(IntegerRange(name, 0, 2) for name in "ab")
    query = Conjunction.where(domain, {"a": [1], "b": [0, 2]})
    assert list(over_attributes(query)) == [query]
    assert forbidden(domain) == ()
