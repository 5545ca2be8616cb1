"""Newton's method for parities: the optimum, its equations, and what it refuses."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import minimize

import hedgerow.models.fit.refit as refit_module
from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram, Markov, Newton, Proximal, refit, solvable, solve_positive
from hedgerow.models.fit import newton
from hedgerow.queries import Marginal, Measurement, NoiseKind, Parity, walsh_hadamard
from tests.models.strategies import domain_of
from tests.privacy.mutants import Mutant, killed
from tests.reference.dense_model import over_domain

TOTAL = 500.0
MIXED = domain_of(2, 3, 2, 2, 2, 5)
"""Binary attributes among others; the last one is never measured."""


def parities(
    domain: Domain, sigma: float, *, order: int = 2, seed: int = 1, noise: str = "gaussian"
) -> list[Measurement]:
    """Noisy answers of a random table to all parities of up to ``order`` attributes, each with its own noise."""
    rng = np.random.default_rng(seed)
    names = [name for name in domain.names if domain[name].size == 2]
    model = Histogram(domain, TOTAL, rng.exponential(size=domain.shape) ** 2)
    found = []
    for size in range(1, order + 1):
        for scope in itertools.combinations(names, size):
            target = Parity(domain, scope)
            scale = sigma * rng.uniform(0.5, 2.0)
            value = target.of_table(model.marginals([scope])[0]) + rng.normal(0.0, scale)
            found.append(Measurement(target, value, NoiseKind(noise), scale))
    return found


def rows(domain: Domain, measurements: Sequence[Measurement]) -> Floats:
    """Values of the parities on all cells, shape ``(measurements, cells)``."""
    targets = [measured.target for measured in measurements]
    return np.array([over_domain(domain, each.scope, each.values()).reshape(-1) for each in targets])  # type: ignore[attr-defined]


def cells_of(model: Histogram) -> Floats:
    return model.marginals([model.domain.names])[0].reshape(-1) / model.total


def softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize(("sigma", "fall"), [(1.0, 1.0), (20.0, 0.3), (300.0, 1.0)])
def test_one_step_is_the_optimum_of_the_ridge(sigma: float, fall: float, noise: str) -> None:
    """Against a quasi-Newton method of scipy on the function itself, over all cells."""
    known = parities(MIXED, sigma, noise=noise)
    values = rows(MIXED, known)
    targets = np.clip([measured.values[0] / TOTAL for measured in known], -1, 1)
    orders = [len(measured.target.scope) for measured in known]
    lengths = 0.7 * fall ** (np.array(orders) - 1.0) / np.array([measured.std / TOTAL for measured in known])

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        logits = multipliers @ values
        p = softmax(logits)
        value = np.log(np.exp(logits - logits.max()).mean()) + logits.max()
        value += 0.5 * float((multipliers**2 / lengths).sum()) - float(multipliers @ targets)
        return value, values @ p - targets + multipliers / lengths

    best = minimize(dual, np.zeros(len(known)), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
    model = Histogram(MIXED, TOTAL)
    Newton(c=0.7, fall=fall, steps=1).fit(model, known)
    np.testing.assert_allclose(cells_of(model), softmax(best.x @ values), rtol=1e-4, atol=1e-8)
    found = multipliers_of(model, known)
    assert dual(found)[0] <= best.fun + 1e-12
    assert np.abs(dual(found)[1]).max() < 1e-9


def multipliers_of(model: Histogram, known: Sequence[Measurement]) -> Floats:
    """The factor of each parity in the saved state."""
    tables = model.potentials().tables
    assert set(tables) == {measured.target.scope for measured in known}
    found = []
    for measured in known:
        table = tables[measured.target.scope]
        found.append(float(table.reshape(-1)[0]))
        np.testing.assert_allclose(table, found[-1] * measured.target.values())  # type: ignore[attr-defined]
    return np.array(found)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_every_step_solves_its_equations(steps: int) -> None:
    """After it, answers and noisy answers differ by what the multipliers moved, divided by the length."""
    known = parities(MIXED, 10.0, order=3)
    values = rows(MIXED, known)
    targets = np.clip([measured.values[0] / TOTAL for measured in known], -1, 1)
    lengths = np.array([measured.std / TOTAL for measured in known]) ** -1 / steps
    before = np.zeros(len(known))
    for taken in range(1, steps + 1):
        model = Histogram(MIXED, TOTAL)
        # So many of the steps are a fit of so many steps whose length is the sum of theirs.
        Newton(c=taken / steps, steps=taken).fit(model, known)
        after = multipliers_of(model, known)
        answers = values @ cells_of(model)
        np.testing.assert_allclose(after - before, lengths * (targets - answers), atol=1e-6 * lengths.min())
        assert np.abs(answers - targets + (after - before) / lengths).max() < 1e-9
        before = after


def test_the_transform_holds_all_covariances() -> None:
    domain = domain_of(2, 2, 2, 2)
    p = np.random.default_rng(3).dirichlet(np.ones(16))
    places = np.array([1, 2, 3, 7, 8, 12, 15])
    parity = np.array([[(-1.0) ** bin(place & x).count("1") for x in range(16)] for place in places])
    expected = (parity * p) @ parity.T - np.outer(parity @ p, parity @ p)
    np.testing.assert_allclose(newton.covariances(walsh_hadamard(p), places), expected, atol=1e-14)
    assert domain.size == p.size


def test_a_base_is_respected() -> None:
    """Its zeros stay, and the conditional distribution of what was not measured."""
    base = np.random.default_rng(5).exponential(size=MIXED.shape)
    base[1, :, 0] = 0.0
    model = Histogram(MIXED, TOTAL, base)
    known = [measured for measured in parities(MIXED, 5.0) if set(measured.target.scope) <= {"x0", "x2"}]
    Newton().fit(model, known)
    cells = cells_of(model).reshape(MIXED.shape)
    assert (cells[base == 0.0] == 0.0).all()
    for first, third in ((0, 0), (0, 1), (1, 1)):
        ratio = (cells / np.where(base > 0.0, base, 1.0))[first, :, third]
        np.testing.assert_allclose(ratio, ratio.flat[0], rtol=1e-12)
    assert not np.allclose(cells, base / base.sum(), rtol=0.1)


def test_repeated_answers_count_as_their_weighted_mean() -> None:
    domain = domain_of(2, 2)
    pair = Parity(domain, ("x0", "x1"))
    scales, values = [3.0, 6.0, 2.0], [100.0, 160.0, 130.0]
    known = [Measurement(pair, np.array([v]), NoiseKind.GAUSSIAN, s) for v, s in zip(values, scales, strict=True)]
    weights = np.array(scales) ** -2.0
    mean = Measurement(pair, np.array([weights @ values / weights.sum()]), NoiseKind.GAUSSIAN, weights.sum() ** -0.5)
    models = [Histogram(domain, TOTAL) for _ in range(2)]
    Newton().fit(models[0], known)
    Newton().fit(models[1], [mean])
    np.testing.assert_allclose(cells_of(models[0]), cells_of(models[1]), rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.0, 1e-9, 1.0, 1e9])
@pytest.mark.parametrize("total", [1.0, 60.0, 1e12])
def test_answers_that_no_table_has_leave_a_finite_model(sigma: float, total: float) -> None:
    domain = domain_of(2, 2, 2)
    values = {("x0",): 60.0, ("x1",): 60.0, ("x0", "x1"): -60.0, ("x2",): 1e12, ("x0", "x2"): -1e12, (): 3.0}
    known = [Measurement(Parity(domain, s), np.array([v]), NoiseKind.GAUSSIAN, sigma) for s, v in values.items()]
    model = Histogram(domain, total)
    Newton().fit(model, known)
    cells = cells_of(model)
    assert np.isfinite(cells).all()
    assert (cells >= 0.0).all()
    assert cells.sum() == pytest.approx(1.0)
    assert all(np.isfinite(table).all() for table in model.potentials().tables.values())


def test_feasible_answers_without_noise_are_met() -> None:
    known = [Measurement(m.target, m.values, NoiseKind.GAUSSIAN, 0.0) for m in parities(MIXED, 1e-12)]
    model = Histogram(MIXED, TOTAL)
    Newton().fit(model, known)
    wanted = [measured.values[0] / TOTAL for measured in known]
    np.testing.assert_allclose(rows(MIXED, known) @ cells_of(model), wanted, atol=1e-6)


def test_what_it_cannot_solve_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    known = parities(MIXED, 1.0)
    marginal = Measurement(Marginal(MIXED, ("x0",)), np.array([300.0, 200.0]), NoiseKind.GAUSSIAN, 1.0)
    before = Histogram(MIXED, TOTAL)
    before.reweigh(("x0",), np.array([0.0, 1.0]))
    kept = cells_of(before)
    for model, wrong in ((before, [*known, marginal]), (Markov(MIXED, TOTAL), known)):
        with pytest.raises(ConfigError, match="parities"):
            Newton().fit(model, wrong)
    assert np.array_equal(cells_of(before), kept)
    assert solvable(known)
    monkeypatch.setattr(newton, "LARGEST_TRANSFORM", 4)
    assert not solvable(known[:3])


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 50.0])
def test_many_parities_are_fitted_as_few_are(sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations that are too many to be solved are approached, and the steps end at the same hypothesis."""
    bits = domain_of(*[2] * 6)
    known = parities(bits, sigma, seed=4)
    solved, approached = Histogram(bits, TOTAL), Histogram(bits, TOTAL)
    Newton().fit(solved, known)
    monkeypatch.setattr(newton, "MOST_SOLVED", 3)
    monkeypatch.setattr("hedgerow.models.dense.solve_positive", None)
    Newton().fit(approached, known)
    np.testing.assert_allclose(cells_of(approached), cells_of(solved), atol=1e-8)


@pytest.mark.parametrize("make", [lambda: Newton(c=0.0), lambda: Newton(c=float("inf")), lambda: Newton(fall=0.0),
                                  lambda: Newton(steps=0), lambda: Newton(iterations=0),
                                  lambda: Newton(tolerance=0.0)])  # fmt: skip
def test_rules_out_of_range_are_refused(make: object) -> None:
    with pytest.raises(ConfigError):
        make()  # type: ignore[operator]


def test_proximal_fits_of_parities_alone_are_solved_exactly() -> None:
    known = parities(MIXED, 5.0)
    models = [Histogram(MIXED, TOTAL) for _ in range(2)]
    models[0].reweigh(("x1",), np.array([0.0, 1.0, 2.0]))
    refit(models[0], known, Proximal(c=0.3))
    Newton(c=0.375, fall=1.0 / 3.0).fit(models[1], known)
    np.testing.assert_allclose(cells_of(models[0]), cells_of(models[1]), rtol=1e-9)


def test_a_parity_that_is_far_off_is_fitted_for_longer() -> None:
    """A column that is the parity of three others, which parities of fewer attributes do not show."""
    domain = domain_of(*(2,) * 6)
    rng = np.random.default_rng(4)
    odd = domain.names[:4]
    found = [
        Measurement(
            Parity(domain, scope), np.array([TOTAL * (scope == odd) + rng.normal(0.0, 20.0)]), NoiseKind.GAUSSIAN, 20.0
        )
        for size in range(1, 5)
        for scope in itertools.combinations(domain.names, size)
    ]
    fits = {}
    for adapted in (False, True):
        model = Histogram(domain, TOTAL)
        refit(model, found, Proximal(adapted=adapted))
        fits[adapted] = np.array([float(m.target.of_table(model.marginals([m.target.scope])[0])[0]) for m in found])
    place = next(i for i, measured in enumerate(found) if measured.target.scope == odd)
    answers = np.array([float(measured.values[0]) for measured in found])
    assert answers[place] - fits[False][place] > 80.0
    assert abs(answers[place] - fits[True][place]) <= 80.0
    others = np.arange(len(found)) != place
    assert np.square(fits[True][others]).mean() <= 1.02 * np.square(fits[False][others]).mean()


def test_parities_of_more_attributes_are_fitted_more_loosely() -> None:
    """Fixed seeds: what attributes alone imply is nearly all there is, and the noise of triples is kept out."""
    bits, sigma = domain_of(*[2] * 6), 40.0
    looser, alike = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        alone = [np.array([share, 1.0 - share]) for share in rng.uniform(0.1, 0.9, 6)]
        exact = functools.reduce(np.multiply.outer, alone) * np.exp(rng.normal(0.0, 0.1, bits.shape))
        truth = Histogram(bits, TOTAL, exact)
        known = []
        for size in (1, 2, 3):
            for scope in itertools.combinations(bits.names, size):
                noisy = Parity(bits, scope).on(truth) + rng.normal(0.0, sigma, 1)
                known.append(Measurement(Parity(bits, scope), noisy, NoiseKind.GAUSSIAN, sigma))
        fits = [Histogram(bits, TOTAL) for _ in range(2)]
        refit(fits[0], known, Proximal())
        Newton(c=1.25 * Proximal().c).fit(fits[1], known)
        for found, fit in zip((looser, alike), fits, strict=True):
            found.append(np.mean([abs(each.target.on(fit) - each.target.on(truth)) for each in known]))
    assert np.mean(looser) < 0.9 * np.mean(alike)


@pytest.mark.parametrize("size", [1, 2, 7, 60])
def test_equations_are_solved(size: int) -> None:
    rng = np.random.default_rng(size)
    rows = rng.normal(size=(size, 2 * size))
    matrix, right = rows @ rows.T, rng.normal(size=size)
    found = right.copy()
    assert solve_positive(matrix.copy(), found)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9)
    matrix[-1, -1] = -1.0
    assert not solve_positive(matrix, right)


LOOSER = test_parities_of_more_attributes_are_fitted_more_loosely
MUTANTS = (
    Mutant("parities of all orders fitted alike", lambda patch: patch.setattr(refit_module, "_FALL", 1.0), LOOSER),
    Mutant("parities of one attribute fitted as loosely as triples",
           lambda patch: (patch.setattr(refit_module, "_FALL", 1.0), patch.setattr(refit_module, "_PARITIES", 0.14)),
           LOOSER),
    Mutant("parities that are far off stay so", lambda patch: patch.setattr(newton, "_FAR", 1e9),
           test_a_parity_that_is_far_off_is_fitted_for_longer),
)  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
