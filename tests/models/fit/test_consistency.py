"""Averages of overlapping marginals: against least squares, and what they leave alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain.domain import Clique, Domain
from hedgerow.models.fit import consistency
from hedgerow.models.fit.consistency import consistent
from hedgerow.queries.core.query import Conjunction, Marginal, Measurement, NoiseKind, Parity
from tests.models.strategies import domain_of
from tests.reference.dense_model import over_domain

TOTAL = 200.0
DOMAIN = domain_of(2, 3, 4, 2, 5)


def measured(domain: Domain, scopes: Sequence[Clique], scales: Sequence[float], seed: int = 1) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    cells = rng.dirichlet(np.full(domain.size, 0.3)).reshape(domain.shape) * TOTAL
    found = []
    for index, (scope, scale) in enumerate(zip(scopes, scales, strict=True)):
        target = Marginal(domain, scope)
        exact = cells.sum(axis=tuple(i for i, name in enumerate(domain.names) if name not in target.scope))
        noise = NoiseKind.LAPLACE if index % 2 else NoiseKind.GAUSSIAN
        found.append(Measurement(target, exact.reshape(-1) + rng.normal(0.0, scale, exact.size), noise, scale))
    return found


def least_squares(domain: Domain, known: Sequence[Measurement]) -> list[Floats]:
    """Answers of the table of real numbers that fits all noisy answers best, sums of tables apart."""
    blocks, values = [], []
    for each in known:
        size = each.target.size
        indices = np.arange(size).reshape(domain.shape_of(each.target.scope))
        cell = over_domain(domain, each.target.scope, indices).reshape(-1)
        block = np.zeros((size, domain.size))
        block[cell, np.arange(domain.size)] = 1.0
        blocks.append(block - block.mean(axis=0))
        values.append(each.values / TOTAL - each.values.mean() / TOTAL)
    weights = np.concatenate([np.full(each.target.size, 1.0 / each.std) for each in known])
    table = np.linalg.lstsq(np.vstack(blocks) * weights[:, None], np.concatenate(values) * weights, rcond=None)[0]
    return [block @ table + each.values.mean() / TOTAL for block, each in zip(blocks, known, strict=True)]


PAIRS = list(itertools.combinations(DOMAIN.names, 2))
MEASURED: dict[str, list[Clique]] = {
    "pairs": PAIRS,
    "triples": list(itertools.combinations(DOMAIN.names, 3)),
    "nested": [("x0",), ("x1",), ("x0", "x1"), ("x0", "x1", "x2"), ("x1",), ("x2", "x1")],
    "the same again": [("x1", "x4"), ("x1", "x4"), ("x1", "x4")],
    "all": [("x2",), *PAIRS[::2], ("x0", "x2", "x3", "x4"), ("x1", "x2", "x4")],
}


@pytest.mark.parametrize("scopes", MEASURED.values(), ids=MEASURED)
def test_averages_are_the_least_squares_estimate(scopes: list[Clique]) -> None:
    known = measured(DOMAIN, scopes, np.linspace(1.0, 4.0, len(scopes)).tolist())
    for found, expected in zip(consistent(known, TOTAL), least_squares(DOMAIN, known), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_averages_agree_on_what_they_share() -> None:
    known = measured(DOMAIN, PAIRS, [3.0] * len(PAIRS))
    tables = {
        each.target.scope: found.reshape(DOMAIN.shape_of(each.target.scope))
        for each, found in zip(known, consistent(known, TOTAL), strict=True)
    }
    for name in DOMAIN.names:
        shared = [table.sum(axis=1 - scope.index(name)) for scope, table in tables.items() if name in scope]
        centred = [marginal - marginal.mean() for marginal in shared]
        np.testing.assert_allclose(centred, [centred[0]] * len(centred), atol=1e-13)


def test_what_nothing_else_measures_stays() -> None:
    domain = domain_of(2, 3, 4, 2)
    known = measured(domain, [("x0", "x1"), ("x2", "x3")], [2.0, 5.0])
    cell = Conjunction.where(domain, {"x0": [1], "x1": [0]})
    known.append(Measurement(cell, np.array([12.0]), NoiseKind.GAUSSIAN, 0.1))
    known.append(Measurement(Parity(domain, ("x0", "x3")), np.array([-7.0]), NoiseKind.GAUSSIAN, 0.1))
    for found, each in zip(consistent(known, TOTAL), known, strict=True):
        assert np.array_equal(found, each.values / TOTAL)
    assert consistent([], TOTAL) == []


def test_wide_marginals_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistency, "_WIDEST", 1)
    known = measured(DOMAIN, [("x0",), ("x0", "x1"), ("x0",)], [1.0, 2.0, 3.0])
    first, wide, last = consistent(known, TOTAL)
    assert np.array_equal(wide, known[1].values / TOTAL)
    np.testing.assert_allclose(first - first.mean(), last - last.mean())


def test_answers_without_noise_decide() -> None:
    known = measured(DOMAIN, [("x1",), ("x1", "x2")], [0.0, 3.0])
    exact, corrected = consistent(known, TOTAL)
    np.testing.assert_allclose(exact, known[0].values / TOTAL, atol=1e-15)
    sums = corrected.reshape(3, 4).sum(axis=1)
    np.testing.assert_allclose(sums - sums.mean(), exact - exact.mean(), atol=1e-15)


def test_noisy_answers_are_not_changed() -> None:
    known = measured(DOMAIN, PAIRS, [3.0] * len(PAIRS))
    before = [each.values.copy() for each in known]
    consistent(known, TOTAL)
    assert all(np.array_equal(each.values, old) for each, old in zip(known, before, strict=True))
