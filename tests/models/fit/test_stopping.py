"""Fits that stop where their estimated error is least: the estimate, the path, and what it is good for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.models import Histogram, Markov, Model, Proximal, refit
from hedgerow.models.fit import stopping
from hedgerow.models.fit.stopping import LENGTHS, LONGER, Path, signs, stopped
from hedgerow.queries import Marginal, Measurement, NoiseKind, Parity
from tests.models.strategies import domain_of
from tests.privacy.mutants import Mutant, killed

ADAPTED = Proximal(adapted=True)


def noisy(domain: Domain, table: Floats, scope: tuple[str, ...], sigma: float, rng: np.random.Generator) -> Measurement:
    others = tuple(axis for axis, name in enumerate(domain.names) if name not in scope)
    values = table.sum(axis=others).reshape(-1)
    return Measurement(Marginal(domain, scope), values + rng.normal(0, sigma, values.size), NoiseKind.GAUSSIAN, sigma)


def projected(y: Floats) -> Floats:
    """The nearest distribution."""
    falling = np.sort(y)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, y.size + 1)
    return np.maximum(y - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def step(model: Model, measurements: Sequence[Measurement], so_far: float, length: float) -> None:
    """A fit anew of each length, instead of one that goes on."""
    refit(model, measurements, Proximal(c=0.6 * length))


def drawn(noise: str, scale: float, size: int, rng: np.random.Generator) -> Floats:
    return rng.laplace(0, scale, size) if noise == "laplace" else rng.normal(0, scale, size)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("length", [2.0, 8.0])
def test_the_estimate_is_right_on_average(noise: str, length: float) -> None:
    """Its mean over 100 draws is the squared error of 100 answers, within 5 standard errors and a small bias."""
    rng, size, scale, total = np.random.default_rng(6), 100, 3.0, 1e4
    domain = domain_of(size)
    target = Marginal(domain, ("x0",))
    truth = total * rng.dirichlet(np.full(size, 0.3))
    model, differences = Histogram(domain, total), []
    for _ in range(100):
        values = truth + drawn(noise, scale, size, rng)
        measured = Measurement(target, values, NoiseKind(noise), scale)
        path = Path(model.copy(), [measured], [measured], step)
        found = [path.reach(each) for each in (1.0, length)][-1]
        error = np.sum((found.answers - truth / measured.std) ** 2)
        differences.append(found.error - size - error)
    spare = 5 * np.std(differences) / np.sqrt(100)
    assert spare < 20.0
    bias = 5.0 if noise == "gaussian" else 15.0  # the noise is taken for the residual of a short fit
    assert abs(np.mean(differences)) < spare + bias


def test_the_sum_of_derivatives_is_that_of_differences() -> None:
    rng, domain, total = np.random.default_rng(3), domain_of(6), 100.0
    target, values = Marginal(domain, ("x0",)), 100.0 * rng.dirichlet(np.full(6, 2.0))

    def answers(moved: Floats) -> Floats:
        model = Histogram(domain, total)
        step(model, [Measurement(target, moved, NoiseKind.GAUSSIAN, 2.0)], 0.0, 0.5)
        return model.marginals([("x0",)])[0]

    known = [Measurement(target, values, NoiseKind.GAUSSIAN, 2.0)]
    found = Path(Histogram(domain, total), known, known, step).reach(0.5)
    residual = np.sum((values - answers(values)) ** 2) / 4.0
    moves = 0.6 * signs(6)
    trace = np.sum((answers(values + moves) - answers(values)) / moves)
    assert found.error == pytest.approx(residual + 2.0 * trace, rel=1e-9)


@pytest.mark.parametrize("shape", ["smooth", "sparse", "spike"])
def test_a_whole_histogram_is_fitted_as_well_as_it_is_projected(shape: str) -> None:
    rng, total, size = np.random.default_rng(7), 1e5, 1000
    table = np.exp(-0.5 * ((np.arange(size) - 300.0) / 90.0) ** 2)
    if shape != "smooth":
        table = np.where(rng.random(size) < 0.02, rng.exponential(1.0, size), 0.0)
    if shape == "spike":
        table[123] = 50.0 * table.sum()
    table *= total / table.sum()
    domain = domain_of(size)
    measured = noisy(domain, table, ("x0",), 10.0, rng)
    errors = []
    for rule in (ADAPTED, Proximal()):
        model = Histogram(domain, total)
        refit(model, [measured], rule)
        errors.append(np.linalg.norm(model.marginals([("x0",)])[0] - table))
    reference = np.linalg.norm(total * projected(measured.values / total) - table)
    assert errors[0] < 1.03 * reference
    assert errors[0] < errors[1]


@pytest.mark.parametrize("sigma", [5.0, 100.0])
def test_overlapping_marginals_are_fitted_no_worse(sigma: float) -> None:
    rng, domain, total = np.random.default_rng(8), domain_of(4, 6, 3, 5), 2e4
    truth = Histogram(domain, total)
    for pair in itertools.combinations(domain.names, 2):
        truth.reweigh(pair, rng.normal(0, 1, domain.shape_of(pair)))
    table = truth.marginals([domain.names])[0]
    errors: list[list[float]] = [[], []]
    for _ in range(6):
        known = [noisy(domain, table, pair, sigma, rng) for pair in itertools.combinations(domain.names, 2)]
        for found, rule in zip(errors, (ADAPTED, Proximal()), strict=True):
            model = Markov(domain, total)
            refit(model, known, rule)
            found.append(float(np.linalg.norm(model.marginals([domain.names])[0] - table)))
    assert np.mean(errors[0]) < 1.01 * np.mean(errors[1])


def test_a_fit_that_ends_elsewhere_is_the_path_up_to_there() -> None:
    """Each point of the path is one step, of all measurements together, from the one before."""
    rng, domain, total = np.random.default_rng(9), domain_of(30, 3, 4), 1e4
    table = total * rng.dirichlet(np.full(360, 0.1)).reshape(30, 3, 4)
    known = [noisy(domain, table, scope, 5.0, rng) for scope in (("x0", "x1"), ("x2",), ("x2",))]
    models = Histogram(domain, total), Markov(domain, total)
    for model in models:
        refit(model, known, ADAPTED)
    for found, expected in zip(models[1].marginals([domain.names]), models[0].marginals([domain.names]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6 * total)
    usual = Histogram(domain, total)
    refit(usual, known, Proximal())
    assert np.abs(usual.marginals([domain.names])[0] - expected).max() > 1.0


@pytest.mark.parametrize("make", [Histogram, Markov])
def test_where_noise_is_all_there_is_less_of_it_is_taken_in(make: Callable[[Domain, float], Model]) -> None:
    rng, domain, total = np.random.default_rng(1), domain_of(40), 1000.0
    values = 25.0 + rng.normal(0, 30.0, 40)
    measured = Measurement(Marginal(domain, ("x0",)), values, NoiseKind.GAUSSIAN, 30.0)
    off = []
    for rule in (ADAPTED, Proximal()):
        model = make(domain, total)
        refit(model, [measured], rule)
        off.append(np.abs(model.marginals([("x0",)])[0] - 25.0).sum())
    assert off[0] < 0.6 * off[1]


def test_exact_answers_are_no_reason_to_stop() -> None:
    domain = domain_of(3, 4)
    exact = Measurement(Marginal(domain, ("x0",)), np.array([50.0, 50.0, 0.0]), NoiseKind.GAUSSIAN, 0.0)
    model = Histogram(domain, 100.0)
    assert stopped(model, [exact], partial(step)) == 1.0
    refit(model, [exact], ADAPTED)
    np.testing.assert_allclose(model.marginals([("x0",)])[0], [50.0, 50.0, 0.0], atol=1e-6)


def test_parities_are_fitted_by_going_on() -> None:
    """Little noise on parities of few attributes: the answers are met."""
    rng, domain, total = np.random.default_rng(2), domain_of(2, 2, 2, 2), 1e5
    truth = Histogram(domain, total, rng.dirichlet(np.full(16, 0.3)).reshape(2, 2, 2, 2))
    targets = [Parity(domain, scope) for k in (1, 2, 3) for scope in itertools.combinations(domain.names, k)]
    known = [Measurement(each, each.on(truth) + rng.normal(0, 2.0), NoiseKind.GAUSSIAN, 2.0) for each in targets]
    errors = []
    for rule in (Proximal(), ADAPTED):
        model = Histogram(domain, total)
        refit(model, known, rule)
        errors.append(np.mean([abs(float(each.on(model)[0] - each.on(truth)[0])) for each in targets]))
    assert errors[1] < 1.02 * errors[0]
    assert errors[1] < 3.0


def test_lengths_end_with_the_usual_one() -> None:
    assert LENGTHS[-1] == 1.0
    assert all(a < b for a, b in itertools.pairwise((*LENGTHS, *LONGER)))


def test_longer_fits_are_tried_while_the_estimate_falls() -> None:
    """Both fits of a path go through the lengths in order, and one beyond the best."""
    domain, tried = domain_of(20), list[float]()
    values = 1e5 * np.random.default_rng(0).dirichlet(np.full(20, 0.3))

    def counted(model: Model, measurements: Sequence[Measurement], so_far: float, length: float) -> None:
        tried.append(length)
        step(model, measurements, so_far, length)

    for sigma in (1.0, 100.0, 3e4):
        tried.clear()
        known = [Measurement(Marginal(domain, ("x0",)), values, NoiseKind.GAUSSIAN, sigma)]
        best = stopped(Histogram(domain, 1e5), known, counted)
        every = [*LENGTHS, *LONGER]
        assert tried[::2] == tried[1::2] == every[: len(tried) // 2]
        assert tried[-1] == every[max(len(LENGTHS), every.index(best) + 1)] or best < 1.0
        assert best > 1.0 or sigma > 1.0


def changed_path(patch: pytest.MonkeyPatch, change: Callable[[Any], None]) -> None:
    """Paths that begin otherwise."""
    begin = Path.__init__

    def beginning(self: Any, *given: Any) -> None:
        begin(self, *given)
        change(self)

    patch.setattr(Path, "__init__", beginning)


def half_the_derivatives(patch: pytest.MonkeyPatch) -> None:
    """Differences are divided by twice the moves."""
    changed_path(patch, lambda path: setattr(path, "_moves", 2.0 * path._moves))


def errors_in_counts(patch: pytest.MonkeyPatch) -> None:
    """Residuals and noise have different units."""
    changed_path(patch, lambda path: setattr(path, "_stds", np.ones_like(path._stds)))


def never_longer(patch: pytest.MonkeyPatch) -> None:
    """The usual length is the longest."""
    patch.setattr(stopping, "LONGER", ())


def never_shorter(patch: pytest.MonkeyPatch) -> None:
    """The usual length is the shortest."""
    patch.setattr(stopping, "LENGTHS", (1.0,))


def derivatives_left_out(patch: pytest.MonkeyPatch) -> None:
    """The residual alone is taken for the error, so that every fit goes on to its end."""
    changed_path(patch, lambda path: setattr(path, "_moves", 1e12 * path._moves))


DERIVATIVES = test_the_sum_of_derivatives_is_that_of_differences
NOISE_ALONE = partial(test_where_noise_is_all_there_is_less_of_it_is_taken_in, Histogram)
MUTANTS = (
    Mutant("derivatives of a fit halved", half_the_derivatives, DERIVATIVES),
    Mutant("errors of a fit in counts", errors_in_counts, DERIVATIVES),
    Mutant("fits that are never shorter", never_shorter, NOISE_ALONE),
    Mutant("fits that take the residual for the error", derivatives_left_out, NOISE_ALONE),
    Mutant("fits that are never longer", never_longer,
           partial(test_a_whole_histogram_is_fitted_as_well_as_it_is_projected, "spike")),
)  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
