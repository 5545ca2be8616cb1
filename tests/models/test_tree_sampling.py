"""Records from junction trees: how many of each, and that they follow the hypothesis."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.models.markov import Markov
from hedgerow.queries.query import Floats
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
