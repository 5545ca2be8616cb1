from __future__ import annotations

import threading

import numpy as np
import pytest

from hedgerow.algorithms import BestResponseProblem, BruteForce, MixedInteger, TabuSearch
from hedgerow.errors import ConfigError
from hedgerow.queries import Conjunction
from tests.algorithms.dual_query.oracles.instances import cells, domain_of


def problem_of(n: int, size: int = 10, d: int = 14, seed: int = 0) -> BestResponseProblem:
    rng = np.random.default_rng(seed)
    domain = domain_of(*[size] * d)
    return BestResponseProblem(domain, cells(rng, domain, n), rng.choice([-1, 1], n))


def test_no_time_leaves_the_start_and_a_valid_bound() -> None:
    problem, threads = problem_of(400), threading.active_count()
    response = MixedInteger(seconds=0.0).best(problem, 3)
    assert response.codes.tolist() == TabuSearch().best(problem, 3).codes.tolist()
    assert not response.proved
    assert response.bound is not None
    assert response.value < response.bound <= problem.weights.clip(min=0).sum()
    assert threading.active_count() == threads


def test_a_start_that_is_best_is_kept() -> None:
    problem = problem_of(80)
    start = TabuSearch().best(problem, 2)
    response = MixedInteger(seconds=60.0).best(problem, 2)
    assert response.proved
    assert response.codes.tolist() == start.codes.tolist()
    assert response.bound == response.value == start.value


def test_a_better_record_is_proved_where_brute_force_cannot_go() -> None:
    problem = problem_of(100, size=2, d=100, seed=5)
    weak = TabuSearch(restarts=1, patience=1, tenure=1)
    with pytest.raises(ConfigError):
        BruteForce().best(problem)
    answer = MixedInteger(60.0, weak).best(problem, 0)
    assert answer.proved
    assert answer.bound == answer.value > weak.best(problem, 0).value


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_time_is_no_negative_number(seconds: float) -> None:
    with pytest.raises(ConfigError, match="seconds"):
        MixedInteger(seconds=seconds)


def test_brute_force_says_how_many_records_there_are() -> None:
    with pytest.raises(ConfigError, match="1,000,000,000 records apart; at most 1,048,576") as caught:
        BruteForce().best(problem_of(2000, size=10, d=9))
    assert "TabuSearch" in caught.value.remedy
    with pytest.raises(ConfigError, match="1 or more"):
        BruteForce(cells=0)


def test_brute_force_counts_only_what_is_told_apart() -> None:
    domain = domain_of(*[9] * 100)
    problem = BestResponseProblem(domain, [Conjunction.where(domain, {"x7": [1], "x50": [2, 3]})], [1.0])
    assert BruteForce(cells=4).best(problem).value == 1.0
    with pytest.raises(ConfigError, match="4 records apart"):
        BruteForce(cells=3).best(problem)


def test_brute_force_takes_the_first_of_the_best() -> None:
    domain = domain_of(3, 3)
    wanted = [Conjunction.where(domain, {"x0": [a], "x1": [b]}) for a, b in ((2, 0), (1, 2), (1, 1), (0, 0))]
    problem = BestResponseProblem(domain, wanted, [1.0, 1.0, 1.0, 0.5])
    assert BruteForce().best(problem).codes.tolist() == [1, 1]
