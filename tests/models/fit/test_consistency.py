"""Averages of overlapping marginals: against least squares, and what they leave alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Constraint, Domain, IntegerRange
from hedgerow.models import consistent
from hedgerow.models.fit import consistency
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind, Parity
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
    """Answers of the table of real numbers that fits all noisy answers best."""
    blocks, values = [], []
    for each in known:
        size = each.target.size
        indices = np.arange(size).reshape(domain.shape_of(each.target.scope))
        cell = over_domain(domain, each.target.scope, indices).reshape(-1)
        block = np.zeros((size, domain.size))
        block[cell, np.arange(domain.size)] = 1.0
        blocks.append(block)
        values.append(each.values / TOTAL)
    weights = np.concatenate([np.full(each.target.size, 1.0 / each.std) for each in known])
    table = np.linalg.lstsq(np.vstack(blocks) * weights[:, None], np.concatenate(values) * weights, rcond=None)[0]
    return [block @ table for block in blocks]


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
        np.testing.assert_allclose(shared, [shared[0]] * len(shared), atol=1e-13)


def test_what_nothing_else_measures_stays() -> None:
    domain = domain_of(2, 3, 4, 2)
    known = measured(domain, [("x0", "x1")], [2.0])
    cell = Conjunction.where(domain, {"x0": [1], "x1": [0]})
    known.append(Measurement(cell, np.array([12.0]), NoiseKind.GAUSSIAN, 0.1))
    known.append(Measurement(Parity(domain, ("x0", "x3")), np.array([-7.0]), NoiseKind.GAUSSIAN, 0.1))
    for found, each in zip(consistent(known, TOTAL), known, strict=True):
        assert np.array_equal(found, each.values / TOTAL)
    assert consistent([], TOTAL) == []


def test_tables_that_share_nothing_else_measure_the_number_of_records() -> None:
    domain = domain_of(2, 3, 4, 2)
    known = measured(domain, [("x0", "x1"), ("x2", "x3")], [2.0, 5.0])
    sums = [found.sum() for found in consistent(known, TOTAL)]
    weights = np.array([1.0 / (each.values.size * each.std**2) for each in known])
    expected = weights @ [each.values.sum() / TOTAL for each in known] / weights.sum()
    np.testing.assert_allclose(sums, expected, rtol=1e-12)


def test_wide_marginals_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistency, "_WIDEST", 1)
    known = measured(DOMAIN, [("x0",), ("x0", "x1"), ("x0",)], [1.0, 2.0, 3.0])
    first, wide, last = consistent(known, TOTAL)
    assert np.array_equal(wide, known[1].values / TOTAL)
    np.testing.assert_allclose(first, last)


def test_answers_without_noise_decide() -> None:
    known = measured(DOMAIN, [("x1",), ("x1", "x2")], [0.0, 3.0])
    exact, corrected = consistent(known, TOTAL)
    np.testing.assert_allclose(exact, known[0].values / TOTAL, atol=1e-15)
    sums = corrected.reshape(3, 4).sum(axis=1)
    np.testing.assert_allclose(sums, exact, atol=1e-12)


def test_noisy_answers_are_not_changed() -> None:
    known = measured(DOMAIN, PAIRS, [3.0] * len(PAIRS))
    before = [each.values.copy() for each in known]
    consistent(known, TOTAL)
    assert all(np.array_equal(each.values, old) for each, old in zip(known, before, strict=True))


CHILDREN = Constraint("no income before 5", ("age", "income"), [[0] * 5 + [1] * 15, [0, 1, 1]], [[1, 0], [1, 1]])
LEVELED = Domain([IntegerRange("age", 0, 19), IntegerRange("income", 0, 2), IntegerRange("sex", 0, 1)], (), [CHILDREN])


def test_impossible_cells_lose_their_noise_even_where_marginals_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [Measurement(Marginal(LEVELED, ("age", "income")), np.full(60, 5.0), NoiseKind.GAUSSIAN, 3.0)]
    (narrow,) = consistent(known, TOTAL)
    monkeypatch.setattr(consistency, "_WIDEST", 1)
    (wide,) = consistent(known, TOTAL)
    possible = np.ones((20, 3), dtype=bool)
    possible[:5, 1:] = False
    assert np.array_equal(wide.reshape(20, 3), np.where(possible, 5.0 / TOTAL, 0.0))
    np.testing.assert_allclose(narrow.reshape(20, 3), np.where(possible, 1.0 / 50.0, 0.0), atol=1e-15)
    assert np.array_equal(known[0].values, np.full(60, 5.0))


def test_levels_are_averaged_with_what_they_are_levels_of() -> None:
    plain = Domain([IntegerRange("age", 0, 19), IntegerRange("sex", 0, 1), IntegerRange("c", 0, 1)])
    rng = np.random.default_rng(6)
    scopes: list[Clique] = [("sex", "age.5"), ("age", "sex"), ("c",), ("c",)]
    known = [
        Measurement(target, rng.normal(10.0, 5.0, math.prod(plain.shape_of(target.scope))), NoiseKind.GAUSSIAN, 5.0)
        for target in (Marginal(plain, scope) for scope in scopes)
    ]
    coarse, fine, *rest = consistent(known, TOTAL)
    np.testing.assert_allclose(fine.reshape(4, 5, 2).sum(axis=1), coarse.reshape(2, 4).T, atol=1e-14)
    for found, expected in zip(rest, consistent(known[2:], TOTAL), strict=True):
        assert np.array_equal(found, expected)
    assert not np.array_equal(rest[0], known[2].values / TOTAL)


def test_marginals_are_averaged_with_uneven_ones_that_they_only_reach_through_others() -> None:
    scopes: list[Clique] = [("age", "income"), ("income", "sex"), ("sex",)]
    rng = np.random.default_rng(7)
    known = [
        Measurement(target, rng.normal(10.0, 5.0, target.size), NoiseKind.GAUSSIAN, 5.0)
        for target in (Marginal(LEVELED, scope) for scope in scopes)
    ]
    pair, other, alone = consistent(known, TOTAL)
    np.testing.assert_allclose(pair.reshape(20, 3).sum(axis=0), other.reshape(3, 2).sum(axis=1), atol=1e-14)
    np.testing.assert_allclose(other.reshape(3, 2).sum(axis=0), alone, atol=1e-14)
