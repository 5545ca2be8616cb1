"""Averages over levels and impossible cells: against generalised least squares over all records that can exist."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Constraint, Derived, Domain, IntegerRange, possible_cells
from hedgerow.models import agreed
from hedgerow.models.fit import agreement
from tests.reference.feasible_records import design, random_domain


def least_squares(
    domain: Domain, scopes: Sequence[Clique], tables: Sequence[Floats], variances: Sequence[Floats]
) -> list[Floats]:
    """Marginals of the numbers for each record that fit all tables best and sum to 1."""
    blocks = [design(domain, scope) for scope in scopes]
    rows, values, noise = (
        np.vstack(blocks),
        np.concatenate([t.reshape(-1) for t in tables]),
        np.concatenate([v.reshape(-1) for v in variances]),
    )
    known = noise > 0.0
    count = rows.shape[1]
    free = np.linalg.svd(np.ones((1, count)))[2][1:].T
    weights = 1.0 / np.sqrt(noise[known])
    matrix = (rows[known] @ free) * weights[:, None]
    missing = (values[known] - rows[known] @ np.full(count, 1.0 / count)) * weights
    numbers = 1.0 / count + free @ np.linalg.lstsq(matrix, missing, rcond=1e-12)[0]
    return [(block @ numbers).reshape(table.shape) for block, table in zip(blocks, tables, strict=True)]


def noisy(
    domain: Domain, scopes: Sequence[Clique], rng: np.random.Generator
) -> tuple[list[Floats], list[Floats], list[Floats]]:
    """Exact tables, noisy ones and variances."""
    numbers = rng.dirichlet(np.full(design(domain, domain.names).shape[1], 0.3))
    exact, tables, variances = [], [], []
    for scope in scopes:
        possible = possible_cells(domain, scope)
        assert possible is not None
        deviation = rng.uniform(0.5, 4.0)
        exact.append((design(domain, scope) @ numbers).reshape(possible.shape))
        variances.append(np.where(possible, deviation**2, 0.0))
        tables.append(exact[-1] + rng.normal(size=possible.shape) * np.sqrt(variances[-1]))
    return exact, tables, variances


def nested_levels(rng: np.random.Generator, attribute: IntegerRange, count: int) -> list[Derived]:
    """Uneven ones, each a function of the one before."""
    found, codes = list[Derived](), np.arange(attribute.size)
    for number in range(count):
        joined = rng.integers(0, max(2, (int(codes.max()) + 1) // 2), int(codes.max()) + 1)
        codes = joined[codes]
        found.append(Derived(IntegerRange(f"{attribute.name}.{number}", 0, attribute.size), (attribute.name,), codes))
    return found


@pytest.mark.parametrize("seed", range(10))
def test_levels_of_one_attribute_are_solved_in_two_passes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "_projected", None)
    rng = np.random.default_rng(seed)
    attributes = [IntegerRange("x", 0, int(rng.integers(10, 60))), IntegerRange("y", 0, 2)]
    levels = nested_levels(rng, attributes[0], 4)
    rules = []
    if seed % 2:
        allowed = rng.random((attributes[0].size, 3)) < 0.7
        rules.append(Constraint("", ("x", "y"), [np.arange(attributes[0].size), np.arange(3)], allowed))
    domain = Domain(attributes, levels, rules)
    scopes: list[Clique] = [*((each.name,) for each in levels), ("x",), ("x", "y"), ("x",), ("x", "y")]
    _, tables, variances = noisy(domain, scopes, rng)
    for found, expected in zip(
        agreed(domain, scopes, tables, variances), least_squares(domain, scopes, tables, variances), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_mixes_of_levels_are_the_least_squares_estimate(seed: int) -> None:
    rng = np.random.default_rng(seed)
    attributes = [IntegerRange(name, 0, int(rng.integers(3, 8))) for name in "abc"]
    domain = Domain(attributes, [level for each in attributes for level in nested_levels(rng, each, 2)])
    names = [*domain.names, *(each.name for each in domain.derived)]
    drawn = [rng.choice(names, size=rng.integers(1, 4), replace=False).tolist() for _ in range(8)]
    scopes = [domain.reduced(each) for each in drawn]
    _, tables, variances = noisy(domain, scopes, rng)
    for found, expected in zip(
        agreed(domain, scopes, tables, variances), least_squares(domain, scopes, tables, variances), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_with_impossible_cells_averages_are_unbiased_and_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = random_domain(rng, [3, 4, 3, 5], levels=4, constraints=3)
    names = [*domain.names, *(each.name for each in domain.derived)]
    scopes = [domain.reduced(rng.choice(names, size=rng.integers(1, 4), replace=False).tolist()) for _ in range(6)]
    exact, tables, variances = noisy(domain, scopes, rng)
    for found, expected in zip(agreed(domain, scopes, exact, variances), exact, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)  # weights of what estimates a number sum to 1
    once = agreed(domain, scopes, tables, variances)
    for found, again, variance in zip(once, agreed(domain, scopes, once, variances), variances, strict=True):
        np.testing.assert_allclose(found, again, atol=1e-10)
        assert found.sum() == pytest.approx(1.0, abs=1e-10)
        assert not found[variance == 0.0].any()


def test_one_sweep_is_exact_where_blocks_are_even(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "_STEPS", 1)
    rng = np.random.default_rng(4)
    halves = [Derived(IntegerRange(f"{name}.2", 0, 2), (name,), [0, 0, 1, 1, 2, 2]) for name in "abc"]
    domain = Domain([IntegerRange(name, 0, 5) for name in "abc"], halves)
    scopes: list[Clique] = [("a", "b"), ("b", "c"), ("a.2", "c.2"), ("a", "c.2"), ("b.2", "c"), ("a.2", "b.2", "c.2")]
    scopes = [domain.clique(each) for each in scopes]
    _, tables, variances = noisy(domain, scopes, rng)
    for found, expected in zip(
        agreed(domain, scopes, tables, variances), least_squares(domain, scopes, tables, variances), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_answers_without_noise_decide() -> None:
    domain = Domain([IntegerRange("age", 0, 19)])
    known = np.array([0.1, 0.2, 0.3, 0.4])
    coarse, fine = agreed(domain, [("age.5",), ("age",)], [known, np.zeros(20)], [np.full(4, 1e-24), np.ones(20)])
    np.testing.assert_allclose(coarse, known, atol=1e-9)
    np.testing.assert_allclose(fine, np.repeat(known, 5) / 5.0, atol=1e-9)
