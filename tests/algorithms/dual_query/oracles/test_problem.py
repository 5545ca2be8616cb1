from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

from hedgerow.algorithms import BestResponseProblem, BruteForce, ConjunctionTable
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, QueryError
from hedgerow.queries import Conjunction, Parity
from tests.algorithms.dual_query.oracles.contract import seeds
from tests.algorithms.dual_query.oracles.instances import Instance, domain_of, random_instance

DOMAIN = domain_of(2, 3)
CELL = Conjunction.where(DOMAIN, {"x0": [1], "x1": [2]})


@given(seeds)
def test_value_of_every_record(seed: int) -> None:
    instance = random_instance(seed)
    problem = instance.problem
    records = itertools.product(*map(range, instance.domain.shape))
    scale = 1.0 + sum(map(abs, instance.weights))
    for record, value in zip(records, instance.values(), strict=True):
        assert problem.value(record) == pytest.approx(value, abs=1e-12 * scale)


@given(seeds)
def test_reduced_problem_has_the_same_values(seed: int) -> None:
    instance = random_instance(seed)
    problem, reduced = instance.problem, instance.problem.reduced
    scale = 1.0 + sum(map(abs, instance.weights))
    for record in itertools.product(*map(range, instance.domain.shape)):
        whole = reduced.whole_value(reduced.encode(np.array(record)))
        assert reduced.constant + reduced.unit * whole == pytest.approx(problem.value(record), abs=1e-12 * scale)


@given(seeds)
def test_codes_of_a_class_cannot_be_told_apart_and_others_can(seed: int) -> None:
    instance = random_instance(seed)
    used = [c for c, w in zip(instance.conjunctions, merged(instance), strict=True) if w != 0.0 and all(c.codes)]
    reduced = instance.problem.reduced
    for a, attribute in enumerate(instance.domain):
        sets = [codes for c in used for name, codes in zip(c.scope, c.codes, strict=True) if name == attribute.name]
        alike = {code: frozenset(i for i, each in enumerate(sets) if code in each) for code in range(attribute.size)}
        records = np.zeros((attribute.size, len(instance.domain)), dtype=np.int64)
        records[:, a] = np.arange(attribute.size)
        label = [reduced.encode(record)[a] for record in records]
        for one, other in itertools.product(range(attribute.size), repeat=2):
            assert (label[one] == label[other]) == (alike[one] == alike[other])


def merged(instance: Instance) -> list[float]:
    """For each conjunction, the total weight of those that say the same."""

    def says(c: Conjunction) -> object:
        parts = zip(c.scope, c.codes, strict=True)
        return [(name, codes) for name, codes in parts if len(codes) < instance.domain[name].size]

    pairs = list(zip(instance.conjunctions, instance.weights, strict=True))
    return [sum(w for other, w in pairs if says(other) == says(c)) for c in instance.conjunctions]


@given(seeds)
def test_decoding_keeps_the_class(seed: int) -> None:
    reduced = random_instance(seed).problem.reduced
    rng = np.random.default_rng(seed)
    spots = reduced.clauses.offset[:-1] + rng.integers(reduced.sizes)
    assert reduced.encode(reduced.decode(spots, rng)).tolist() == spots.tolist()


@pytest.mark.parametrize(
    ("weights", "whole", "unit"),
    [
        ([3.0, -2.0], [3, -2], 1.0),
        ([6.0, -4.0], [3, -2], 2.0),
        ([0.75, -0.5], [3, -2], 0.25),
        ([1e15, -1.0], None, 1.0),
    ],
)
def test_binary_fractions_become_whole_without_rounding(
    weights: list[float], whole: list[int] | None, unit: float
) -> None:
    other = Conjunction.where(DOMAIN, {"x0": [0]})
    reduced = BestResponseProblem(DOMAIN, [CELL, other], weights).reduced
    assert (reduced.unit, reduced.slack) == (unit, 0.0)
    assert reduced.clauses.weight.tolist() == (whole or weights)


def test_bound_covers_the_rounding_of_weights() -> None:
    other = Conjunction.where(DOMAIN, {"x1": [2]})
    problem = BestResponseProblem(DOMAIN, [CELL, other], [1e20, 1.0])
    reduced = problem.reduced
    assert 1.0 <= reduced.slack * reduced.unit <= 2e20 * 2.0**-49
    assert reduced.bound(int(reduced.clauses.weight.sum()), 0.0) >= problem.value([1, 2])


def test_a_table_serves_many_problems() -> None:
    table = ConjunctionTable.of(DOMAIN, [CELL, CELL, Conjunction.where(DOMAIN, {"x0": [0]})])
    first = BestResponseProblem(DOMAIN, table, [1, 2, 0])
    second = BestResponseProblem(DOMAIN, table, [0, 0, 4], constant=1.0)
    assert [first.value([1, 2]), first.value([0, 0])] == [3.0, 0.0]
    assert [second.value([1, 2]), second.value([0, 0])] == [1.0, 5.0]
    assert first.reduced.sizes.tolist() == [2, 2]
    assert second.reduced.sizes.tolist() == [2, 1]


def test_values_are_rounded_once() -> None:
    parts = [Conjunction.where(DOMAIN, {"x0": [1]}), Conjunction.where(DOMAIN, {"x1": [2]}), CELL]
    assert BestResponseProblem(DOMAIN, parts, [1e17, 1.0, -1e17]).value([1, 2]) == 1.0


def test_conjunctions_over_another_domain_are_refused() -> None:
    with pytest.raises(QueryError, match="another domain"):
        BestResponseProblem(domain_of(2, 4), [CELL], [1.0])
    with pytest.raises(ConfigError, match="different domains"):
        BestResponseProblem(domain_of(2, 4), ConjunctionTable.of(DOMAIN, [CELL]), [1.0])


def test_an_equal_domain_is_the_same_domain() -> None:
    assert BestResponseProblem(domain_of(2, 3), [CELL], [1.0]).value([1, 2]) == 1.0
    assert BestResponseProblem(domain_of(2, 3), ConjunctionTable.of(DOMAIN, [CELL]), [1.0]).value([1, 2]) == 1.0


def test_only_conjunctions_have_best_responses() -> None:
    with pytest.raises(QueryError, match="this is a Parity"):
        ConjunctionTable.of(domain_of(2, 2), [Parity(domain_of(2, 2), ("x0",))])  # type: ignore[list-item]


@pytest.mark.parametrize("weights", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0])
def test_one_weight_per_conjunction(weights: object) -> None:
    with pytest.raises(ConfigError, match="2 conjunctions need as many weights"):
        BestResponseProblem(DOMAIN, [CELL, CELL], weights)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "constant"),
    [([float("nan")], 0.0), ([float("inf")], 0.0), ([1.0], float("nan")), ([1.7e308], 1.7e308)],
)
def test_weights_are_finite(weights: list[float], constant: float) -> None:
    with pytest.raises(ConfigError, match="not finite"):
        BestResponseProblem(DOMAIN, [CELL], weights, constant)


@pytest.mark.parametrize("record", [[0], [0, 3], [-1, 0], [0.0, 1.0], [[0, 1]], [True, False]])
def test_what_is_no_record_is_refused(record: object) -> None:
    with pytest.raises(ConfigError, match="not a record"):
        BestResponseProblem(DOMAIN, [CELL], [1.0]).value(record)  # type: ignore[arg-type]


def test_codes_that_no_conjunction_tells_apart_are_pieces_however_many() -> None:
    """Ranges on 2**40 values: solved over a few pieces, and answered by a code drawn from the whole best class."""
    domain = Domain((IntegerRange("far", 0, 2**40 - 1), IntegerRange("near", 0, 2)))
    ranges = [(0, 2**39), (2**38, 2**39), (5, 2**38 + 2**30), (2**39, 2**40)]
    conjunctions = [Conjunction.where(domain, {"far": range(*ends), "near": [i % 2]}) for i, ends in enumerate(ranges)]
    problem = BestResponseProblem(domain, conjunctions, [2.0, 1.0, 2.0, 1.0])
    found = [BruteForce().best(problem, seed) for seed in range(40)]
    assert {response.value for response in found} == {4.0}
    codes = np.array([response.codes for response in found])
    assert (codes[:, 1] == 0).all()
    assert (codes[:, 0] >= 5).all()
    assert (codes[:, 0] < 2**38 + 2**30).all()
    assert np.unique(codes[:, 0] >> 34).size > 5
    for record in ([4, 0], [5, 0], [2**39, 1]):
        holds = [all(c in s for c, s in zip(record, q.codes, strict=True)) for q in conjunctions]
        assert problem.value(record) == sum(w for w, h in zip([2.0, 1.0, 2.0, 1.0], holds, strict=True) if h)
