"""Implicit steps satisfy their optimality equation, whatever the target and the length."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import (
    Histogram,
    Markov,
    Model,
    Proximal,
    Run,
    implicit,
    implicit_step,
    marginal_step,
    query_step,
    refit,
)
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind

lengths = st.floats(-6, 12).map(lambda exponent: 10.0**exponent)
seeds = st.integers(0, 10_000)


@given(seeds, st.integers(2, 400), lengths, st.floats(0.0, 5.0), st.floats(0.0, 30.0))
def test_a_marginal_step_satisfies_its_equation(seed: int, cells: int, dt: float, spread: float, skew: float) -> None:
    """``ln p - ln mu = dt (y - p) - constant`` where p is above the floor; p sums to 1."""
    rng = np.random.default_rng(seed)
    mu = np.exp(rng.normal(0, skew, cells))
    mu /= mu.sum()
    target = rng.dirichlet(np.ones(cells)) + spread * rng.normal(0, 1, cells)
    factors = marginal_step(mu, target, dt)
    p = mu * np.exp(factors)
    assert np.isfinite(factors).all()
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    above = p > 1e-25
    constant = factors[above] - dt * (target[above] - p[above])
    size = 1.0 + dt * np.abs(target).max() + np.abs(np.log(mu)).max()
    assert np.ptp(constant) <= 1e-8 * size


@given(seeds, st.integers(2, 50))
def test_a_very_long_step_projects_on_the_simplex(seed: int, cells: int) -> None:
    rng = np.random.default_rng(seed)
    target = rng.normal(0, 1, cells)
    p = np.exp(marginal_step(np.full(cells, 1.0 / cells), target, 1e12)) / cells
    ordered = np.sort(target)[::-1]
    shifts = (np.cumsum(ordered) - 1.0) / np.arange(1, cells + 1)
    shift = shifts[np.nonzero(ordered > shifts)[0][-1]]
    np.testing.assert_allclose(p, np.maximum(target - shift, 0.0), atol=1e-9)


def test_a_cell_of_mass_zero_stays_finite_and_can_rise() -> None:
    mu = np.array([1.0, 0.0, 0.0])
    factors = marginal_step(mu, np.array([0.2, 0.8, -3.0]), 1e6)
    assert np.isfinite(factors).all()
    assert factors[1] > 400.0


@given(seeds, st.integers(2, 6), lengths, st.floats(-3.0, 4.0))
def test_a_query_step_satisfies_its_equation(seed: int, k: int, dt: float, target: float) -> None:
    rng = np.random.default_rng(seed)
    values, masses = np.sort(rng.uniform(-2, 3, k)), rng.dirichlet(np.ones(k))
    step = query_step(values, masses, target, dt)
    exponent = step * values + np.log(np.maximum(masses, 1e-195))
    p = np.exp(exponent - exponent.max())
    p /= p.sum()
    answer = float(p @ values)
    gap, slope = step - dt * (target - answer), 1.0 + dt * float(p @ (values - answer) ** 2)
    if abs(step) * (values[-1] - values[0]) < 138.0:  # beyond, one step is bounded
        assert abs(gap) <= 1e-9 * slope * (1.0 + abs(step))  # how far the step is from the root, by Newton
    assert np.isfinite(step)


@given(st.floats(1e-12, 1 - 1e-12), st.floats(-2, 3), lengths)
def test_the_compiled_step_is_the_two_valued_one(mu: float, target: float, dt: float) -> None:
    step = implicit_step(mu, target, dt)
    other = query_step(np.array([0.0, 1.0]), np.array([1.0 - mu, mu]), target, dt)
    if abs(other) < 40:
        assert step == pytest.approx(other, rel=1e-6, abs=1e-9)
    assert np.isfinite(step)


@pytest.mark.many(quick=20)
@pytest.mark.parametrize("mu", [0.0, 1e-200, 1e-150, 1e-30, 0.5, 1.0 - 2.0**-53, 1.0])
@pytest.mark.parametrize("target", [-0.5, 0.0, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("dt", [1e-3, 1.0, 1e3, 1e9])
def test_a_compiled_step_never_turns_round(mu: float, target: float, dt: float) -> None:
    step = implicit_step(mu, target, dt)
    assert step * (target - mu) >= 0.0
    assert abs(step) <= 520.0


@pytest.mark.parametrize("make", [Histogram, Markov])
@pytest.mark.parametrize("adapted", [False, True])
def test_a_query_that_all_records_satisfy_stays_so(make: Callable[[Domain, float], Model], adapted: bool) -> None:
    """The number of records was 100 standard deviations too small, so the answer is more than all."""
    domain = Domain((IntegerRange("a", 0, 3),))
    query, total = Conjunction.where(domain, {"a": [0, 1]}), 1000.0
    table = Measurement(Marginal(domain, ("a",)), np.array([1000.0, 1000.0, -1e3, -1e3]), NoiseKind.GAUSSIAN, 10.0)
    known = [table, Measurement(query, np.array([2000.0]), NoiseKind.GAUSSIAN, 10.0)]
    model = make(domain, total)
    refit(model, known, Proximal(adapted=adapted))
    assert query.on(model)[0] == pytest.approx(total, rel=1e-6)
    implicit(model, Run([query], [np.array([2.0])], [1e6], [None]))
    assert query.on(model)[0] == pytest.approx(total, rel=1e-6)


def test_a_constant_query_moves_nothing() -> None:
    assert query_step(np.array([2.0]), np.array([1.0]), 5.0, 10.0) == 0.0
