"""Sampling: exact numbers of records, bounds per cell, and the right law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from hedgerow.errors import ConfigError
from hedgerow.models import Empirical, Histogram, Model, SamplingMethod, batches, positions
from hedgerow.models.core import records as sampling
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


@given(st.integers(1, 200), st.integers(1, 60), st.integers(0, 99))
def test_positions_are_even_in_every_block_and_in_all(n: int, rows: int, seed: int) -> None:
    blocks = list(positions(n, rows, SamplingMethod.SYSTEMATIC, np.random.default_rng(seed)))
    assert max(block.size for block in blocks) <= rows
    for block in blocks:
        assert block[0] >= 0.0
        assert block[-1] < 1.0
        steps = np.diff(block) * n / len(blocks)
        assert np.isclose(steps, 1.0).sum() >= len(steps) - 1  # the circle closes once
        assert (steps < 2.0).all()
    assert np.allclose(np.diff(np.sort(np.concatenate(blocks))), 1 / n)


def test_every_block_has_uniform_positions() -> None:
    """4,000 seeded runs of 7 positions in 3 blocks; the share below 0.3 is within 6 standard errors in each block."""
    runs = [list(positions(7, 3, SamplingMethod.SYSTEMATIC, np.random.default_rng(seed))) for seed in range(4000)]
    for k in range(3):
        shares = np.array([(run[k] < 0.3).mean() for run in runs])
        assert abs(shares.mean() - 0.3) < 6 * shares.std() / 4000**0.5


@pytest.mark.parametrize("method", ["systematic", "independent"])
@pytest.mark.parametrize("kind", ["histogram", "records"])
def test_blocks_together_are_the_sample(kind: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_MOST_ROWS", 7)
    domain = domain_of(3, 4)
    base = np.exp(np.random.default_rng(0).normal(0, 1, domain.shape))
    model: Model = Histogram(domain, 1.0, base)
    if kind == "records":
        model = Empirical(domain, 1.0, np.argwhere(base), np.log(base.reshape(-1)))
    blocks = list(model.sample_blocks(100, 5, method))
    assert sum(map(len, blocks)) == 100
    assert max(map(len, blocks)) <= 7
    codes = np.concatenate(blocks)
    assert np.array_equal(codes, model.sample(100, 5, method))
    counts = np.bincount(np.ravel_multi_index(tuple(codes.T.astype(int)), domain.shape), minlength=12)
    if method == "systematic":
        assert np.abs(counts - 100 * model.marginals([domain.names])[0].reshape(-1)).max() < 1.0 + 1e-9


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 12))
def test_batches_hold_the_same_records(sizes: list[int], rows: int) -> None:
    codes = np.arange(2 * sum(sizes), dtype=np.uint8).reshape(-1, 2)
    found = list(batches(np.split(codes, np.cumsum(sizes)[:-1]) if sizes else [], rows))
    assert [len(batch) for batch in found[:-1]] == [rows] * (len(found) - 1)
    assert np.array_equal(np.concatenate([*found, codes[:0]]), codes)
    assert all(0 < len(batch) <= rows for batch in found)


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
