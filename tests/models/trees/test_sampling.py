"""Records from junction trees: how many of each, and that they follow the hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram, Markov, SamplingMethod
from hedgerow.models.core import records as sampling
from hedgerow.models.trees import sampling as tree_sampling
from tests.models.strategies import domain_of

METHODS = ["systematic", "independent"]


def skewed(domain: Domain, seed: int = 0) -> Markov:
    """A chain of pairs, and the last attribute free."""
    rng = np.random.default_rng(seed)
    model = Markov(domain, 1.0)
    for pair in zip(domain.names[:-2], domain.names[1:-1], strict=True):
        model.reweigh(pair, rng.normal(0.0, 1.5, domain.shape_of(pair)))
    return model


def counts(codes: np.ndarray, domain: Domain) -> Floats:
    flat = np.ravel_multi_index(tuple(codes.T.astype(np.int64)), domain.shape)
    return np.bincount(flat, minlength=domain.size).reshape(domain.shape).astype(np.float64)


@pytest.mark.parametrize("method", METHODS)
def test_all_cells_come_in_their_proportions(method: str) -> None:
    """Pearson's statistic over 120 cells, 200,000 records: above 210 with probability 6e-7 for independent draws."""
    domain = domain_of(2, 3, 4, 5)
    model = skewed(domain)
    expected = 200_000 * model.marginals([domain.names])[0]
    found = counts(model.sample(200_000, seed=4, method=method), domain)
    assert float(((found - expected) ** 2 / expected).sum()) < 210.0


def test_systematic_records_are_within_one_of_their_conditional_expectations() -> None:
    domain = domain_of(3, 4, 5, 2)
    model = skewed(domain, seed=1)
    codes = model.sample(5000, seed=7)
    pair, other = model.marginals([("x0", "x1"), ("x1", "x2")])
    first = counts(codes, domain).sum(axis=(2, 3))
    assert np.abs(first - 5000 * pair).max() < 1.0
    given = first.sum(axis=0)
    conditional = other / other.sum(axis=1, keepdims=True)
    assert np.abs(counts(codes, domain).sum(axis=(0, 3)) - given[:, None] * conditional).max() < 1.0
    assert np.bincount(codes[:, 3]).tolist() == [2500, 2500]


def test_systematic_records_have_less_error_than_independent_ones() -> None:
    domain = domain_of(4, 5, 4, 5, 3)
    model = skewed(domain, seed=2)
    pairs = list(zip(domain.names[:-2], domain.names[1:-1], strict=True))
    errors = {}
    for method in METHODS:
        codes = model.sample(4000, seed=3, method=method)
        table = counts(codes, domain)
        errors[method] = sum(
            float(np.abs(table.sum(axis=tuple(set(range(5)) - set(domain.axes(pair)))) / 4000 - exact).sum())
            for pair, exact in zip(pairs, model.marginals(pairs), strict=True)
        )
    assert errors["systematic"] < 0.7 * errors["independent"]


@pytest.mark.parametrize("method", METHODS)
def test_cells_of_no_weight_are_never_drawn(method: str) -> None:
    domain = domain_of(3, 3, 3)
    model = Markov(domain, 1.0)
    barred = np.where(np.eye(3) == 1.0, 0.0, -5000.0)
    model.reweigh(("x0", "x1"), barred)
    model.reweigh(("x1", "x2"), barred)
    model.reweigh(("x2",), np.array([-4000.0, 0.0, 1.0]))
    codes = model.sample(1000, seed=1, method=method)
    assert (codes[:, 0] == codes[:, 1]).all()
    assert (codes[:, 1] == codes[:, 2]).all()
    assert set(codes[:, 0].tolist()) == {1, 2}


@pytest.mark.parametrize("method", METHODS)
def test_neighbouring_records_are_not_alike(method: str) -> None:
    """The order is random: the correlation of the codes of one record and the next is within 5 standard deviations."""
    domain = domain_of(2, 2, 2)
    codes = skewed(domain).sample(10_000, seed=2, method=method)
    for column in codes.T.astype(np.float64):
        assert abs(np.corrcoef(column[1:], column[:-1])[0, 1]) < 0.05


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ConfigError):
        skewed(domain_of(2, 2, 2)).sample(-1)


def test_a_hundred_thousand_records_of_fourteen_attributes() -> None:
    model = skewed(domain_of(85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42))
    assert model.sample(100_000, 1).shape == (100_000, 14)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five records at a time, or a sixteenth of the counts."""
    monkeypatch.setattr(sampling, "_MOST_ROWS", 5)


@pytest.mark.usefixtures("small_blocks")
def test_counts_hold_over_all_blocks_and_in_each() -> None:
    domain = domain_of(3, 4, 5, 2)
    model = skewed(domain, seed=1)
    blocks = list(model.sample_blocks(1003, seed=7))
    assert [len(block) for block in blocks[:-1]] == [5] * (len(blocks) - 1)
    assert len(blocks) == 201
    codes = np.concatenate(blocks)
    assert np.array_equal(codes, model.sample(1003, seed=7))
    pair, other = model.marginals([("x0", "x1"), ("x1", "x2")])
    first = counts(codes, domain).sum(axis=(2, 3))
    assert np.abs(first - 1003 * pair).max() < 1.0
    conditional = first.sum(axis=0)[:, None] * other / other.sum(axis=1, keepdims=True)
    assert np.abs(counts(codes, domain).sum(axis=(0, 3)) - conditional).max() < 1.0
    assert abs(int(codes[:, 3].sum()) - 501.5) == 0.5
    left, rows = first, 1003
    for block in blocks:  # what a block takes is even over what the blocks before it left
        given = counts(block, domain).sum(axis=(2, 3))
        assert np.abs(given - len(block) / rows * left).max() < 1.0
        left, rows = left - given, rows - len(block)


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("method", METHODS)
def test_every_single_record_has_the_law_of_the_model(method: str) -> None:
    """4,000 seeded samples of 7 records in two blocks; shares within 6 standard errors, but for about 1e-6."""
    domain = domain_of(2, 3, 2, 2)
    model = Markov(domain, 1.0)
    rng = np.random.default_rng(5)
    for pair in (("x0", "x1"), ("x1", "x2")):
        model.reweigh(pair, rng.normal(0.0, 0.7, domain.shape_of(pair)))
    law = model.marginals([domain.names])[0].reshape(-1)
    runs = np.array([model.sample(7, seed, method) for seed in range(4000)]).astype(np.int64)
    flat = np.ravel_multi_index(tuple(np.moveaxis(runs, -1, 0)), domain.shape)
    for place in range(7):
        shares = np.bincount(flat[:, place], minlength=domain.size) / 4000
        assert (np.abs(shares - law) < 6 * np.sqrt(law * (1 - law) / 4000)).all()


@pytest.mark.parametrize("method", METHODS)
def test_blocks_do_not_change_when_the_model_does(method: str) -> None:
    domain = domain_of(2, 3, 2)
    model = skewed(domain)
    expected = model.sample(50, seed=3, method=method)
    blocks = model.sample_blocks(50, seed=3, method=method)
    model.reweigh(("x0", "x1"), np.full((2, 3), 1.0) * np.arange(3))
    assert np.array_equal(np.concatenate(list(blocks)), expected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 1])
def test_no_record_and_a_single_one(n: int, method: str) -> None:
    domain = domain_of(3, 2, 2**40, 2)
    model = Markov(domain, 1.0)
    model.reweigh(("x0", "x3"), np.zeros((3, 2)))
    assert model.sample(n, seed=1, method=method).shape == (n, 4)


def test_attributes_of_very_many_codes_are_spread_evenly() -> None:
    domain = domain_of(2**32, 2, 2**62)
    for method in METHODS:
        codes = Markov(domain, 1.0).sample(1000, seed=1, method=method)
        assert codes.dtype == np.uint64
        for column, size in ((codes[:, 0], 2**32), (codes[:, 2], 2**62)):
            tenths = np.bincount((column // np.uint64(size // 10 + 1)).astype(np.int64), minlength=10)
            assert abs(tenths - 100).max() <= (1 if method == "systematic" else 6 * 10)
            assert len(np.unique(column)) == 1000
        assert not (np.sort(codes[:, 0]) == codes[:, 0]).all()


def test_codes_of_a_wide_attribute_are_exact_on_average_over_all_offsets() -> None:
    class Fixed:
        """Draws a given offset, and leaves the order as it is."""

        def __init__(self, offset: int) -> None:
            self.offset = offset

        def integers(self, *_: Any, **__: Any) -> int:
            return self.offset

        def permutation(self, count: int) -> np.ndarray:
            return np.arange(count)

    for size in (3, 7, 20):
        codes = np.empty((1, 6), dtype=np.uint8)
        found = np.zeros(size)
        for offset in range(size):
            draw: Any = Fixed(offset)
            tree_sampling._Wide(domain_of(size), "x0", draw, SamplingMethod.SYSTEMATIC).fill(codes)
            found += np.bincount(codes[0], minlength=size)
        assert (found == 6.0).all()


def test_more_records_than_memory_holds_are_refused_at_once() -> None:
    for method in METHODS:
        with pytest.raises(ConfigError, match="GiB") as caught:
            skewed(domain_of(2, 2, 2)).sample(2**40, method=method)
        assert "write_records" in caught.value.remedy
    with pytest.raises(ConfigError, match="cannot be drawn"):
        skewed(domain_of(2, 2, 2)).sample_blocks(2**40 + 1)


def test_the_first_blocks_of_a_great_many_records_come_at_once() -> None:
    for model in (skewed(domain_of(2, 3, 2)), Histogram(domain_of(2, 3), 1.0)):
        blocks = model.sample_blocks(2**40, seed=1)
        assert len({next(blocks).tobytes() for _ in range(3)}) == 3


def test_a_separator_of_several_attributes() -> None:
    """Two cliques that share two attributes, the first of them not first in either; all given counts within one."""
    domain = domain_of(3, 2, 4, 3)
    model = Markov(domain, 1.0)
    rng = np.random.default_rng(1)
    for scope in (("x0", "x1", "x3"), ("x1", "x2", "x3")):
        model.reweigh(scope, rng.normal(0.0, 1.0, domain.shape_of(scope)))
    table = counts(model.sample(3000, seed=2), domain)
    first, second = model.marginals([("x0", "x1", "x3"), ("x1", "x2", "x3")])
    assert np.abs(table.sum(axis=2) - 3000 * first).max() < 1.0
    given = table.sum(axis=(0, 2))[:, None, :] * second / second.sum(axis=1, keepdims=True)
    assert np.abs(table.sum(axis=0) - given).max() < 1.0
