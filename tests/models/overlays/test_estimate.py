"""Overlays from measurements: best linear unbiased, the nearest without negative counts, and better than noise."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, impossible
from hedgerow.errors import ModelTooLargeError
from hedgerow.models import Proximal, ResidualBasis, agreed, nearest, overlaid
from hedgerow.models.overlays import estimate, shared
from hedgerow.models.overlays.estimate import averaged
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind, Parity
from tests.models.strategies import domain_of
from tests.privacy.mutants import Mutant, killed
from tests.reference.locally_consistent import estimates, nearest_positive

SCOPES: list[tuple[Domain, list[Clique]]] = [
    (domain_of(2, 2, 2), [("x0", "x1"), ("x1", "x2"), ("x0", "x2")]),
    (domain_of(3, 2, 4), [("x0", "x1"), ("x1", "x2"), ("x0", "x2"), ("x2",)]),
    (domain_of(2, 3, 2, 2), [("x0", "x1", "x2"), ("x1", "x2", "x3"), ("x0", "x3"), ("x1",)]),
]


def noisy(domain: Domain, scopes: list[Clique], seed: int, scale: float = 12.0) -> list[Measurement]:
    """Tables of 100 skewed records, each with noise of its own scale."""
    rng = np.random.default_rng(seed)
    cells = rng.dirichlet(np.full(domain.size, 0.3)).reshape(domain.shape) * 100.0
    found = []
    for scope in scopes:
        std = float(rng.uniform(0.5, 1.5)) * scale
        table = cells.sum(axis=tuple(axis for axis, name in enumerate(domain.names) if name not in scope))
        values = (table + rng.normal(0.0, std, table.shape)).reshape(-1)
        found.append(Measurement(Marginal(domain, scope), values, NoiseKind.GAUSSIAN, std))
    return found


def flat(tables: list[Floats]) -> Floats:
    return np.concatenate([table.reshape(-1) for table in tables])


@pytest.mark.parametrize(("domain", "scopes"), SCOPES)
def test_averages_are_those_of_agreement_and_of_least_squares(domain: Domain, scopes: list[Clique]) -> None:
    measured = noisy(domain, scopes, 1)
    parts = ResidualBasis(domain, scopes)
    means, precisions = averaged(parts, measured, 100.0)
    found = flat(parts.tables(scopes, means))
    tables = [each.values.reshape(domain.shape_of(each.target.scope)) / 100.0 for each in measured]
    variances = [np.full(each.shape, measurement.std**2) for each, measurement in zip(tables, measured, strict=True)]
    np.testing.assert_allclose(found, flat(agreed(domain, scopes, tables, variances)), atol=1e-8)
    np.testing.assert_allclose(found, estimates(domain, scopes, measured, 100.0), atol=1e-8)
    assert (precisions[1:] > 0.0).all()


def test_averages_of_parities_and_tables_are_least_squares() -> None:
    domain, scopes = SCOPES[0]
    measured = noisy(domain, scopes[:2], 2)
    for scope, value in ((("x0",), 20.0), (("x0", "x2"), -15.0), (("x1",), 5.0), (("x0", "x2"), 3.0)):
        measured.append(Measurement(Parity(domain, scope), np.array([value]), NoiseKind.LAPLACE, 7.0))
    parts = ResidualBasis(domain, scopes)
    means, _ = averaged(parts, measured, 100.0)
    expected = estimates(domain, scopes, measured, 100.0)
    np.testing.assert_allclose(flat(parts.tables(scopes, means)), expected, atol=1e-8)


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("domain", "scopes"), SCOPES)
def test_the_nearest_tables_are_those_of_dense_projections(domain: Domain, scopes: list[Clique], seed: int) -> None:
    measured = noisy(domain, scopes, seed, scale=25.0)
    parts = ResidualBasis(domain, scopes)
    means, precisions = averaged(parts, measured, 100.0)
    stacks, inner = parts.stacks(parts.scopes), np.eye(1, parts.size)[0]
    found = nearest(stacks, means, precisions, inner, [None] * len(stacks), close=-1.0, steps=6000)
    weights = np.concatenate([np.full(each.values.size, each.std**-2.0) for each in measured])
    noise = np.concatenate([each.values for each in measured]) / 100.0
    expected = nearest_positive(domain, scopes, noise, weights / weights.mean())
    assert expected.min() > -1e-9
    assert flat(parts.tables(scopes, means)).min() < -0.01  # there is something to do
    np.testing.assert_allclose(flat(parts.tables(scopes, found)), expected, atol=1e-8)


def test_impossible_cells_vanish() -> None:
    free, scopes = SCOPES[1]
    domain = Domain(free.attributes, constraints=[impossible(free, "x0 = 0 and x1 = 1")])
    measured = noisy(domain, scopes, 3)
    parts = ResidualBasis(domain, scopes)
    means, precisions = averaged(parts, measured, 100.0)
    stacks = parts.stacks(parts.scopes)
    wrong = np.zeros((3, 2))
    wrong[0, 1] = 1.0
    possible = [np.stack([wrong.reshape(-1) == 0.0]) if s.shape == (3, 2) else None for s in stacks]
    inner = averaged(parts, [_uniform(domain, scope) for scope in scopes], 100.0)[0]
    found = nearest(stacks, means, precisions, inner, possible, close=-1.0, steps=20_000)
    weights = np.concatenate([np.full(each.values.size, each.std**-2.0) for each in measured])
    noise = np.concatenate([each.values for each in measured]) / 100.0
    zeros = np.concatenate(
        [wrong.reshape(-1) if scope == ("x0", "x1") else np.zeros(size) for scope, size in _sizes(domain, scopes)]
    )
    expected = nearest_positive(domain, scopes, noise, weights / weights.mean(), zeros)
    np.testing.assert_allclose(flat(parts.tables(scopes, found)), expected, atol=1e-7)
    model = overlaid(domain, 100.0, measured, Proximal())
    (table,) = model.marginals([("x0", "x1")])
    assert table[0, 1] == 0.0
    assert table.sum() == pytest.approx(100.0)


def _uniform(domain: Domain, scope: Clique) -> Measurement:
    """The table of all records that can be, each as often as others."""
    from tests.reference.feasible_model import FeasibleModel

    table = FeasibleModel(domain, 100.0).marginal(scope)
    return Measurement(Marginal(domain, scope), table.reshape(-1), NoiseKind.GAUSSIAN, 1.0)


def _sizes(domain: Domain, scopes: list[Clique]) -> list[tuple[Clique, int]]:
    return [(scope, int(np.prod(domain.shape_of(scope)))) for scope in scopes]


def test_without_noise_the_tables_come_back() -> None:
    domain, scopes = SCOPES[2]
    measured = noisy(domain, scopes, 4, scale=1e-9)
    model = overlaid(domain, 100.0, measured, Proximal())
    for each, table in zip(measured, model.marginals(scopes), strict=True):
        np.testing.assert_allclose(table.reshape(-1), each.values, atol=0.02)


def mixture(columns: int, records: int, seed: int) -> Floats:
    """Records of a few kinds of people, each with its own chances: no tree holds all pairs."""
    rng = np.random.default_rng(seed)
    chances = rng.beta(0.7, 0.7, (4, columns))
    return (rng.random((records, columns)) < chances[rng.integers(0, 4, records)]).astype(np.float64)


def pair_counts(codes: Floats) -> dict[tuple[int, int], Floats]:
    both = np.stack([1.0 - codes, codes])
    sums = np.einsum("ani,bnj->ijab", both, both)
    return {pair: sums[pair] for pair in combinations(range(codes.shape[1]), 2)}


@pytest.mark.parametrize("scale", [30.0, 300.0])
def test_all_pairs_of_many_columns_err_less_than_their_noise(scale: float) -> None:
    columns = 40
    domain, rng = domain_of(*[2] * columns), np.random.default_rng(5)
    exact = pair_counts(mixture(columns, 10_000, 6))
    measured = []
    for (i, j), table in exact.items():
        values = (table + rng.normal(0.0, scale, (2, 2))).reshape(-1)
        measured.append(Measurement(Marginal(domain, (f"x{i}", f"x{j}")), values, NoiseKind.GAUSSIAN, scale))
    model = overlaid(domain, 10_000.0, measured, Proximal())
    tables = model.marginals([each.target.scope for each in measured])
    truth = np.stack([*exact.values()]).reshape(-1, 4)
    error = np.abs(np.stack(tables).reshape(-1, 4) - truth).mean()
    noise = np.abs(np.stack([each.values for each in measured]) - truth).mean()
    assert error < 0.65 * noise
    of_tree = np.stack(model.tree.marginals([each.target.scope for each in measured])).reshape(-1, 4)
    assert error < 0.8 * np.abs(of_tree - truth).mean()


def test_other_queries_are_learnt_by_the_tree() -> None:
    domain, scopes = SCOPES[0]
    condition = Conjunction.where(domain, {"x0": [1], "x1": [1], "x2": [1]})
    measured = [*noisy(domain, scopes, 7), Measurement(condition, np.array([31.0]), NoiseKind.GAUSSIAN, 0.01)]
    model = overlaid(domain, 100.0, measured, Proximal())
    assert model.conjunctions([condition])[0] == pytest.approx(31.0, abs=0.5)


def test_tables_too_large_are_refused() -> None:
    domain = domain_of(*[1000] * 5)
    scopes = [(f"x{i}", f"x{i + 1}", f"x{i + 2}") for i in range(3)]
    nothing = np.broadcast_to(np.zeros(1), 10**9)
    measured = [Measurement(Marginal(domain, scope), nothing, NoiseKind.GAUSSIAN, 1.0) for scope in scopes]
    with pytest.raises(ModelTooLargeError):
        overlaid(domain, 100.0, measured, Proximal())


def tables_agree_and_nothing_is_negative() -> None:
    """Every attribute has the same noisy table wherever it is asked for, of the right sum, and none is below 0."""
    domain, scopes = SCOPES[1]
    for seed in range(3):
        model = overlaid(domain, 100.0, noisy(domain, scopes, seed, scale=25.0), Proximal())
        for scope, table in zip(scopes, model.marginals(scopes), strict=True):
            assert table.min() >= 0.0
            assert table.sum() == pytest.approx(100.0)
            for axis, name in enumerate(scope):
                others = tuple(place for place in range(len(scope)) if place != axis)
                np.testing.assert_allclose(table.sum(axis=others), model.marginals([(name,)])[0], atol=0.05)


def nothing_is_made_of_noise() -> None:
    """Independent columns stay so, as far as the tree and what pairs have in common go."""
    columns, scale = 30, 100.0
    domain, rng = domain_of(*[2] * columns), np.random.default_rng(8)
    pairs = [Marginal(domain, pair) for pair in combinations(domain.names, 2)]
    measured = [Measurement(pair, 2500.0 + rng.normal(0.0, scale, 4), NoiseKind.GAUSSIAN, scale) for pair in pairs]
    model = overlaid(domain, 10_000.0, measured, Proximal())
    off = [np.abs(table - 2500.0).sum() for table in model.marginals([pair.scope for pair in pairs])]
    assert np.mean(off) < 0.3 * 4 * 0.8 * scale


def noise_has_nothing_in_common() -> None:
    domain, rng = domain_of(*[2] * 30), np.random.default_rng(9)
    parts = ResidualBasis(domain, list(combinations(domain.names, 2)))
    noise = rng.normal(0.0, 1.0, parts.size)
    assert np.linalg.norm(shared.common(parts, noise, np.ones(parts.size))[0]) < 0.2 * np.linalg.norm(noise)


def nearest_left_out(patch: pytest.MonkeyPatch) -> None:
    """Counts below 0 are cut off where they are shown."""
    patch.setattr(estimate, "nearest", lambda stacks, middle, *_, **__: middle)


def noise_taken_for_scatter(patch: pytest.MonkeyPatch) -> None:
    """Parts are as far from what is expected as they seem."""
    patch.setattr(estimate, "_LEAST", 1e4)


def noise_in_common(patch: pytest.MonkeyPatch) -> None:
    """What pairs have in common is told from noise with a tenth of its deviation."""
    right = shared._standing_out
    patch.setattr(shared, "_standing_out", lambda matrix, edge: right(matrix, 0.1 * edge))


def variances_of_a_tenth(patch: pytest.MonkeyPatch) -> None:
    """Averages claim to be more precise than they are."""
    right = estimate.averaged

    def averages(*given: Any) -> tuple[Floats, Floats]:
        means, precisions = right(*given)
        return means, 100.0 * precisions

    patch.setattr(estimate, "averaged", averages)


MUTANTS = (
    Mutant("tables cut off instead of the nearest", nearest_left_out, tables_agree_and_nothing_is_negative),
    Mutant("tables that keep their noise", noise_taken_for_scatter, nothing_is_made_of_noise),
    Mutant("noise that pairs have in common", noise_in_common, noise_has_nothing_in_common),
    Mutant("averages that claim a tenth of their noise", variances_of_a_tenth, nothing_is_made_of_noise),
)  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
