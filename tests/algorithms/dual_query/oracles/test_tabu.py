from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given

from hedgerow.algorithms.dual_query.oracles import BestResponseProblem, BruteForce, TabuSearch, kernels
from hedgerow.errors import ConfigError
from hedgerow.queries import Conjunction
from tests.algorithms.dual_query.oracles.contract import seeds
from tests.algorithms.dual_query.oracles.instances import Instance, cells, domain_of, random_instance


@given(seeds)
def test_a_greedy_start_is_worth_the_mean(seed: int) -> None:
    instance = random_instance(seed)
    reduced = instance.problem.reduced
    spots = np.empty(reduced.sizes.size, dtype=np.int64)
    kernels.greedy(reduced.clauses, np.array([seed], dtype=np.uint64), spots)
    value = instance.problem.value(reduced.decode(spots, np.random.default_rng(seed)))
    # Over classes, which are uniform in a start, not over codes.
    values = [
        reduced.constant + reduced.unit * reduced.whole_value(reduced.clauses.offset[:-1] + np.array(classes))
        for classes in np.ndindex(*reduced.sizes.tolist())
    ]
    assert value >= np.mean(values) - 1e-12 * (1.0 + sum(map(abs, instance.weights)))


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [2, 9])
def test_the_value_that_the_search_keeps_is_that_of_its_record(width: int, size: int) -> None:
    rng = np.random.default_rng(width)
    domain = domain_of(*[size] * 20)
    points = cells(rng, domain, 200, width)
    boxes = [
        Conjunction.where(domain, {name: {*codes, int(rng.integers(size))} for name, codes in pairs})
        for pairs in (zip(cell.scope, cell.codes, strict=True) for cell in points)
    ]
    problem = BestResponseProblem(domain, points + boxes, rng.integers(-3, 4, 400))
    clauses = problem.reduced.clauses
    best = np.empty(20, dtype=np.int64)
    for seed in range(5):
        value = kernels.search(clauses, 3, 100, 3, np.array([seed], dtype=np.uint64), best)
        assert value == problem.reduced.whole_value(best)


def test_a_planted_record_is_found() -> None:
    rng = np.random.default_rng(0)
    domain = domain_of(*[4] * 200)
    planted = rng.integers(4, size=200).tolist()
    scopes = [rng.choice(200, 3, replace=False).tolist() for _ in range(2000)]
    wanted = [Conjunction.where(domain, {f"x{a}": [planted[a]] for a in scope}) for scope in scopes]
    noise = cells(rng, domain, 2000)
    problem = BestResponseProblem(domain, wanted + noise, np.ones(4000))
    assert TabuSearch().best(problem, 0).value >= 2000.0


def test_small_optima_are_found() -> None:
    domain = domain_of(*[2] * 12)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        problem = BestResponseProblem(domain, cells(rng, domain, 150), rng.integers(-2, 3, 150))
        assert TabuSearch().best(problem, seed).value == BruteForce().best(problem, seed).value


def test_more_starts_are_never_worse() -> None:
    rng = np.random.default_rng(4)
    domain = domain_of(*[6] * 30)
    problem = BestResponseProblem(domain, cells(rng, domain, 800), rng.integers(-1, 2, 800))
    values = [TabuSearch(restarts, patience=20).best(problem, 1).value for restarts in (1, 2, 4, 16)]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_tabu_leaves_local_optima() -> None:
    """Both bits must change for the better record, and each alone loses: only a forbidden return gets there."""
    domain = domain_of(2, 2)
    table = [Conjunction.where(domain, {"x0": [a], "x1": [b]}) for a in range(2) for b in range(2)]
    clauses = Instance(domain, table, [2.0, 0.0, 1.0, 3.0]).problem.reduced.clauses
    best = np.empty(2, dtype=np.int64)
    spots = np.array([0, 2], dtype=np.int64)
    value = kernels.climb(clauses, 5, 1, np.zeros(1, dtype=np.uint64), spots, best)
    assert (value, best.tolist()) == (3, [1, 3])


@pytest.mark.parametrize("field", ["restarts", "patience", "tenure"])
def test_numbers_are_at_least_one(field: str) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        TabuSearch(**{field: 0})


@pytest.mark.slow
def test_the_hash_seed_does_not_matter() -> None:
    program = """if True:
        import numpy as np
        from hedgerow.algorithms.dual_query.oracles import BestResponseProblem, TabuSearch
        from hedgerow.domain.attribute import IntegerRange
        from hedgerow.domain.domain import Domain
        from hedgerow.queries.core.query import Conjunction
        domain = Domain(IntegerRange(name, 0, 3) for name in ("anna", "bert", "cora", "dora", "emil"))
        cells = [Conjunction.where(domain, {a: [i % 4], b: [i % 3]}) for i, a in enumerate(domain.names)
                 for b in domain.names if a != b]
        print(TabuSearch(restarts=1, patience=1).best(BestResponseProblem(domain, cells, np.ones(20)), 5).codes)
    """
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(answers) == 1
