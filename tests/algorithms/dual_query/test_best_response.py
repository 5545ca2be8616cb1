"""Sampled queries as weighted conjunctions, against sums over the sampled queries one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.algorithms import check_queries, sampled_problem
from hedgerow.algorithms.dual_query.best_response import LARGEST_SCOPE
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, QueryError
from hedgerow.models import values_at
from hedgerow.queries import LinearQuery, Workload
from tests.queries.strategies import workloads


def scaled_sum(workload: Workload, drawn: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Slow and obvious: every drawn query, or one less it."""
    total = np.zeros(len(codes))
    for index in drawn.tolist():
        query = workload.candidate(index % workload.n_queries)
        assert isinstance(query, LinearQuery)
        low, high = query.bounds
        value = (values_at(query, codes) - low) / (high - low)
        total += value if index < workload.n_queries else 1.0 - value
    return total


@given(workloads(3).map(Workload.by_query), st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_values_are_sums_of_the_scaled_queries(workload: Workload, seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    lows, highs = workload.limits
    usable = np.flatnonzero(highs > lows)
    drawn = rng.choice(usable, size) + workload.n_queries * rng.integers(2, size=size)
    codes = np.stack([rng.integers(each, size=5) for each in workload.domain.shape], axis=1)
    problem = sampled_problem(workload, drawn)
    expected = scaled_sum(workload, drawn, codes)
    np.testing.assert_allclose([problem.value(record) for record in codes], expected, rtol=1e-9, atol=1e-9)


def test_a_query_and_its_complement_cancel() -> None:
    workload = Workload.parse("cells:a*b", Domain(IntegerRange(name, 0, 2) for name in "ab"))
    problem = sampled_problem(workload, np.array([4, 4 + 9]))
    assert problem.constant == 1.0
    assert len(problem.table) == 0


def test_parities_become_cells_of_positive_weight() -> None:
    workload = Workload.parities(Domain(IntegerRange(name, 0, 1) for name in "abc"), 3)
    index = workload.n_queries - 1
    even, odd = (sampled_problem(workload, np.array([drawn])) for drawn in (index, index + workload.n_queries))
    assert (even.constant, len(even.table), odd.constant, len(odd.table)) == (0.0, 4, 0.0, 4)
    assert (even.weights == 1.0).all()
    assert (odd.weights == 1.0).all()
    assert (even.value([0, 1, 1]), odd.value([0, 1, 1])) == (1.0, 0.0)


def test_what_is_no_single_query_is_refused() -> None:
    workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2)
    with pytest.raises(QueryError, match="by_query"):
        sampled_problem(workload, np.array([0]))
    for index in (-1, 8):
        with pytest.raises(QueryError, match="drawn index"):
            sampled_problem(workload.by_query(), np.array([index]))


def test_queries_over_many_cells_are_refused() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(14))
    check_queries(Workload.parities(domain, cliques=[domain.names[:12]]) + Workload.marginals(domain, 14, whole=False))
    with pytest.raises(ConfigError, match="8,192 cells"):
        check_queries(Workload.parities(domain, cliques=[domain.names[:13]]))
    assert LARGEST_SCOPE == 2**12
