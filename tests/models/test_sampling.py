"""Sampling: exact numbers of records, bounds per cell, and the right law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hedgerow.errors import ConfigError
from hedgerow.models.histogram import Histogram
from tests.models.strategies import domain_of


def skewed(*sizes: int, seed: int = 0, scale: float = 2.0) -> Histogram:
    domain = domain_of(*sizes)
    return Histogram(domain, 1.0, np.exp(np.random.default_rng(seed).normal(0, scale, domain.shape)))


def counted(model: Histogram, n: int, seed: int, method: str) -> np.ndarray:
    counts = np.zeros(model.domain.shape)
    np.add.at(counts, tuple(model.sample(n, seed, method).T), 1.0)
    return counts


@given(st.integers(0, 1000), st.integers(0, 20_000), st.floats(0.0, 100.0))
def test_systematic_counts_are_within_one_of_their_expectation(seed: int, n: int, scale: float) -> None:
    model = skewed(3, 50, 2, 20, seed=seed, scale=scale)
    counts = counted(model, n, seed, "systematic")
    expected = n * model.marginals([model.domain.names])[0]
    assert counts.sum() == n
    assert np.abs(counts - expected).max() < 1.0 + 1e-7


def test_systematic_counts_are_unbiased() -> None:
    """Mean of 4,000 seeded samples; every count is floor or ceiling, so 6 standard errors fail at 2e-9 each."""
    model = skewed(3, 4)
    p = model.marginals([model.domain.names])[0]
    runs = np.array([counted(model, 10, seed, "systematic") for seed in range(4000)])
    fraction = (10 * p) % 1.0
    error = np.sqrt(fraction * (1.0 - fraction) / 4000)
    assert (np.abs(runs.mean(axis=0) - 10 * p) <= 6.0 * error + 1e-12).all()


@pytest.mark.parametrize(("power", "passes"), [(1.0, True), (1.02, False)])
def test_independent_draws_have_the_law_of_the_model(power: float, passes: bool) -> None:
    """Chi-square at 1e-6, seeded; cells expecting fewer than 5 are put together. A slightly wrong law is rejected."""
    model = skewed(2, 30, 4, 30)
    n = 400_000
    p = model.marginals([model.domain.names])[0].reshape(-1) ** power
    expected = n * p / p.sum()
    counts = counted(model, n, 1, "independent").reshape(-1)
    few = expected < 5
    expected = np.append(expected[~few], expected[few].sum())
    counts = np.append(counts[~few], counts[few].sum())
    assert bool(stats.chisquare(counts, expected).pvalue > 1e-6) is passes


@pytest.mark.parametrize("method", ["systematic", "independent"])
def test_records_come_in_random_order(method: str) -> None:
    """The first half of the records looks like the second: chi-square at 1e-6, seeded."""
    codes = skewed(20, scale=0.1).sample(20_000, 5, method)[:, 0]
    halves = np.array([np.bincount(codes[:10_000], minlength=20), np.bincount(codes[10_000:], minlength=20)])
    assert stats.chi2_contingency(halves).pvalue > 1e-6


@pytest.mark.parametrize("method", ["systematic", "independent"])
def test_cells_of_weight_zero_are_never_drawn(method: str) -> None:
    domain = domain_of(3, 1000)
    base = np.zeros(domain.shape)
    base[1, ::7] = 1.0
    codes = Histogram(domain, 1.0, base).sample(5000, 2, method)
    assert set(codes[:, 0]) == {1}
    assert set(codes[:, 1] % 7) == {0}


def test_codes_have_the_smallest_type() -> None:
    assert Histogram(domain_of(2, 256), 1.0).sample(3, 1).dtype == np.uint8
    assert Histogram(domain_of(2, 257), 1.0).sample(3, 1).dtype == np.uint16


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(ConfigError):
        Histogram(domain_of(2), 1.0).sample(-1)
    with pytest.raises(ValueError, match="stratified"):
        Histogram(domain_of(2), 1.0).sample(1, 1, "stratified")


def test_a_million_records() -> None:
    assert len(skewed(16, 16, 16, 16).sample(1_000_000, 1)) == 1_000_000
