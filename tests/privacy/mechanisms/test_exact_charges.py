"""Every charge is at least the exact cost at the scale that the sampler receives: in fractions, at any scale."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from hedgerow.privacy import (
    GRID,
    SLACK,
    AdditiveNoise,
    ExponentialMechanism,
    GaussianNoise,
    IndependentDraws,
    LaplaceNoise,
    Mechanism,
    PermuteAndFlip,
    Regime,
    SparseVector,
)
from tests.privacy.mechanisms import exact_costs
from tests.privacy.mechanisms.charge_mutants import MUTANTS, charge_covers_the_cost, every_charge_covers_its_cost
from tests.privacy.mechanisms.exact_costs import cost, pure_rho
from tests.privacy.mutants import Mutant, killed

regimes = st.sampled_from(Regime)
steps = st.sampled_from([1.0, GRID, 2.0**-20])
scales = st.one_of(
    st.floats(2.0**-20, 2.0**20),
    st.floats(2.0**-60, 2.0**39),
    st.sampled_from([2.0**-60, 0.1, 1 / 3, 1.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0), 2.0**39]),
)
sensitivities = st.one_of(
    st.sampled_from([1.0, 2.0, 2.0**0.5, 1 / 3, GRID, 1.4 * GRID, 2.0**31]), st.floats(2.0**-30, 2.0**31)
)
amounts = st.one_of(st.floats(1e-9, 100.0), st.sampled_from([1e-12, 1 / 3, 0.1, 1.0, 700.0, 1e4]))


def fits(mechanism: Mechanism, regime: Regime) -> bool:
    if isinstance(mechanism, GaussianNoise):
        return regime is not Regime.PURE
    return regime is Regime.PURE or not isinstance(mechanism, PermuteAndFlip)


@given(scales, sensitivities, steps, regimes, st.integers(1, 10**6))
def test_charges_at_any_scale(scale: float, sensitivity: float, step: float, regime: Regime, many: int) -> None:
    made: list[Mechanism] = [
        LaplaceNoise(scale, sensitivity, step),
        GaussianNoise(scale, sensitivity, step),
        ExponentialMechanism(scale, sensitivity),
        PermuteAndFlip(scale, sensitivity),
        LaplaceNoise(scale, sensitivity, step, "halves"),
        LaplaceNoise(scale, sensitivity, step, "parities"),
        ExponentialMechanism(scale, sensitivity, "exact"),
        IndependentDraws(scale, sensitivity, many, "exact"),
        IndependentDraws(scale, sensitivity, 1),
        IndependentDraws(scale, sensitivity, many),
        SparseVector(scale, scale / 3, sensitivity, many),
        SparseVector(scale / 7, scale, sensitivity),
    ]
    for mechanism in made:
        if fits(mechanism, regime):
            charge_covers_the_cost(mechanism, regime)


@given(amounts, sensitivities, steps, regimes, st.integers(1, 50))
def test_charges_of_what_an_amount_buys(
    amount: float, sensitivity: float, step: float, regime: Regime, fires: int
) -> None:
    assume(sensitivity / amount < 2.0**39)
    made: list[Mechanism] = [
        LaplaceNoise.for_charge(regime, amount, sensitivity, step),
        LaplaceNoise.for_charge(regime, amount, sensitivity, step, "halves"),
        LaplaceNoise.for_charge(regime, amount, 5.0 * sensitivity, step, "parities"),
        ExponentialMechanism.for_charge(regime, amount, sensitivity),
        SparseVector.for_charge(regime, amount, sensitivity, fires),
    ]
    made += [IndependentDraws.for_charge(regime, amount, sensitivity)] if amount > 1e-9 else []
    if regime is Regime.PURE:
        made.append(PermuteAndFlip.for_charge(regime, amount, sensitivity))
    else:
        made.append(GaussianNoise.for_charge(regime, amount, sensitivity, step))
    for mechanism in made:
        charge_covers_the_cost(mechanism, regime)
        assert Fraction(mechanism.charge(regime)) < Fraction(amount)


@given(scales, steps)
def test_the_sampler_receives_the_scale_exactly(scale: float, step: float) -> None:
    noise: AdditiveNoise
    for noise in (LaplaceNoise(scale, 1.0, step), GaussianNoise(scale, 1.0, step)):
        assert Fraction(noise.units) * Fraction(step) == Fraction(noise.scale)


@pytest.mark.slow
def test_every_charge_at_many_scales() -> None:
    every_charge_covers_its_cost()


def test_the_slack_of_draws_is_what_was_proved() -> None:
    assert Fraction(SLACK) == exact_costs.SLACK


@pytest.mark.parametrize("epsilon", [1e-18, 1e-6, 0.3, 1.0, 40.0, 1e5])
def test_intervals_are_narrow_and_hold_what_floats_compute(epsilon: float) -> None:
    found = pure_rho(Fraction(epsilon))
    assert 0 < found.high - found.low < found.low / 2**200
    assert float(found.low) == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-14)


@pytest.mark.parametrize("scale", [0.7, 3.0, 19.0])
def test_pure_costs_are_the_largest_loss_of_the_law(scale: float) -> None:
    """Of randomised response, which has two outcomes, and no more loss than epsilon: rho is its mean loss."""
    epsilon = 1.0 / scale
    p = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    mean = p * epsilon - (1.0 - p) * epsilon
    found = cost("discrete Laplace", "rho", sensitivity=1.0, scale=scale)
    assert float(found.high) == pytest.approx(mean, rel=1e-12)
    losses = np.abs(np.arange(-50, 50)) - np.abs(np.arange(-50, 50) - 1)
    pure = cost("discrete Laplace", "epsilon", sensitivity=1.0, scale=scale)
    assert float(pure.high) == pytest.approx(np.abs(losses).max() / scale, rel=1e-12)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
