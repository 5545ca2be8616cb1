"""Longer steps for marginals that a fit held back: the estimate of the error, and what it is good for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain.domain import Domain
from hedgerow.models.core.steps import marginal_step
from hedgerow.models.dense.histogram import Histogram
from hedgerow.models.fit.refit import refit
from hedgerow.models.fit.rules import Proximal
from hedgerow.models.fit.stretching import StretchedFit, stretches
from hedgerow.models.trees.markov import Markov
from hedgerow.queries.core.query import Conjunction, Marginal, Measurement, NoiseKind
from tests.models.strategies import domain_of

ADAPTED = Proximal(adapted=True)


def after(mu: Floats, y: Floats, lengths: list[float]) -> Floats:
    p = mu / mu.sum()
    for dt in lengths:
        p = p * np.exp(marginal_step(p, y, dt))
        p /= p.sum()
    return p


LENGTHS = [[0.5], [3.0, 17.0], [20.0, 40.0, 800.0]]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_the_estimate_is_steins(lengths: list[float]) -> None:
    """Squared residuals and the divergence, by differences; the normalisation takes less than 1 off its trace."""
    rng = np.random.default_rng(5)
    mu, sigma, h = rng.dirichlet(np.full(7, 2.0)), 0.02, 1e-6
    y = mu + rng.normal(0, sigma, 7)
    fit = StretchedFit.of(3.0 * mu, y, np.array(lengths))
    assert fit is not None
    np.testing.assert_allclose(fit.p, after(mu, y, lengths), atol=1e-10)
    divergence = 0.0
    for i in range(7):
        moved = h * (np.arange(7) == i)
        divergence += (after(mu, y + moved, lengths) - after(mu, y - moved, lengths))[i] / (2 * h)
    assert divergence < fit.trace < divergence + 1
    residuals = np.sum((y - fit.p) ** 2) / sigma**2
    assert fit.error(y, sigma) == pytest.approx(residuals + 2 * fit.trace)


def test_the_estimate_is_right_on_average() -> None:
    """The mean over 4,000 draws is between the error and 2 more, with 5 standard errors of 0.2 to spare."""
    rng = np.random.default_rng(6)
    truth, sigma = rng.dirichlet(np.full(40, 0.5)), 0.01
    mu, lengths = np.full(40, 1.0 / 40), np.array([20.0, 40.0])
    differences = []
    for _ in range(4000):
        y = truth + rng.normal(0, sigma, 40)
        fit = StretchedFit.of(mu, y, lengths)
        assert fit is not None
        differences.append(fit.error(y, sigma) - 40 - np.sum((fit.p - truth) ** 2) / sigma**2)
    spare = 5 * np.std(differences) / np.sqrt(4000)
    assert spare < 1.2
    assert -spare < np.mean(differences) < 2 + spare


def noisy(domain: Domain, table: Floats, scope: tuple[str, ...], sigma: float, rng: np.random.Generator) -> Measurement:
    others = tuple(axis for axis, name in enumerate(domain.names) if name not in scope)
    values = table.sum(axis=others).reshape(-1)
    return Measurement(Marginal(domain, scope), values + rng.normal(0, sigma, values.size), NoiseKind.GAUSSIAN, sigma)


def projected(y: Floats) -> Floats:
    """The nearest distribution."""
    falling = np.sort(y)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, y.size + 1)
    return np.maximum(y - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


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


def test_forms_of_a_hypothesis_agree() -> None:
    rng, domain, total = np.random.default_rng(9), domain_of(30, 3, 4), 1e4
    table = total * rng.dirichlet(np.full(360, 0.1)).reshape(30, 3, 4)
    known = [noisy(domain, table, scope, 5.0, rng) for scope in (("x0", "x1"), ("x2",), ("x2",))]
    models = Histogram(domain, total), Markov(domain, total)
    for model in models:
        refit(model, known, Proximal())
    factors = [stretches(model, known, lambda alike, stretch: ADAPTED.steps(alike, total, stretch)) for model in models]
    assert factors[0] == factors[1]
    assert max(factors[0]) > 1.0
    for model in models:
        refit(model, known, ADAPTED)
    for found, expected in zip(models[1].marginals([domain.names]), models[0].marginals([domain.names]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6 * total)


def test_without_anything_to_stretch_the_fit_is_the_same() -> None:
    """Single queries, exact answers, and noise alone."""
    domain, total = domain_of(3, 4), 100.0
    known = [
        Measurement(Conjunction.where(domain, {"x0": [1]}), np.array([70.0]), NoiseKind.GAUSSIAN, 2.0),
        Measurement(Marginal(domain, ("x1",)), np.array([25.0, 26.0, 24.0, 25.0]), NoiseKind.GAUSSIAN, 30.0),
    ]
    for make in (Histogram, Markov):
        plain, adapted = make(domain, total), make(domain, total)
        refit(plain, known, Proximal())
        refit(adapted, known, ADAPTED)
        np.testing.assert_allclose(*(each.marginals([domain.names])[0] for each in (plain, adapted)), atol=1e-12)
    exact = Measurement(Marginal(domain, ("x0",)), np.array([50.0, 50.0, 0.0]), NoiseKind.GAUSSIAN, 0.0)
    model = Histogram(domain, total)
    refit(model, [exact], ADAPTED)
    assert stretches(model, [exact], lambda alike, stretch: ADAPTED.steps(alike, total, stretch)) == [1.0]
