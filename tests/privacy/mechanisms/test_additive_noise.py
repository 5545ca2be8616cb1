"""Charges against the laws themselves, summed over the lattice."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import logsumexp

from hedgerow.errors import ConfigError
from hedgerow.privacy import (
    AdditiveNoise,
    ExponentialMechanism,
    GaussianNoise,
    LaplaceNoise,
    PermuteAndFlip,
    Regime,
    bounded_range_rho,
    laplace_reach,
    laplace_scale,
    pure_rho,
)
from tests.privacy.mutants import Mutant, killed
from tests.privacy.randomness.laws import gaussian_log_pmf, laplace_log_pmf

ORDERS = (1.0001, 1.01, 1.1, 1.5, 2.0, 3.0, 8.0, 32.0, 128.0)
amounts = st.floats(1e-8, 50)


def renyi(first: np.ndarray, second: np.ndarray, order: float) -> float:
    """Renyi divergence of log-laws over the same support."""
    return float(logsumexp(order * first - (order - 1) * second)) / (order - 1)


def lattice(width: float, shift: int) -> np.ndarray:
    reach = math.ceil(width) + abs(shift)
    return np.arange(-reach, reach + 1)


@pytest.mark.parametrize(("scale", "shift"), list(product([0.3, 1.0, 2.7, 20.0], [1, 2, 5])))
def test_discrete_laplace_charges_hold_for_every_order(scale: float, shift: int) -> None:
    support = lattice(scale * 800, shift)  # so wide that the tail's share is below 1e-12 at order 128
    first, second = laplace_log_pmf(support, scale), laplace_log_pmf(support - shift, scale)
    noise = LaplaceNoise(scale, l1=float(shift))
    assert np.abs(first - second).max() <= noise.charge(Regime.PURE) + 1e-12
    assert np.abs(first - second).max() == pytest.approx(noise.charge(Regime.PURE), rel=1e-12)
    for order in ORDERS:
        assert renyi(first, second, order) <= order * noise.charge(Regime.ZCDP) + 1e-9


def test_the_discrete_laplace_charge_is_attained_and_the_continuous_one_is_too_small() -> None:
    support = lattice(800, 1)
    first, second = laplace_log_pmf(support, 1.0), laplace_log_pmf(support - 1, 1.0)
    kl = float(np.exp(first) @ (first - second))
    assert kl == pytest.approx(LaplaceNoise(1.0).charge(Regime.ZCDP), rel=1e-9) == pytest.approx(math.tanh(0.5))
    assert kl > 1.0 + math.exp(-1.0) - 1.0


@pytest.mark.parametrize(("sigma", "shift"), list(product([0.4, 1.0, 3.3, 20.0], [1, 2, 5])))
def test_discrete_gaussian_charges_hold_for_every_order(sigma: float, shift: int) -> None:
    rho = GaussianNoise(sigma, l2=float(shift)).charge(Regime.ZCDP)
    for order in ORDERS:
        support = lattice(order * shift + 45 * sigma, shift)
        first, second = gaussian_log_pmf(support, sigma), gaussian_log_pmf(support - shift, sigma)
        assert renyi(first, second, order) <= order * rho * (1 + 1e-9) + 1e-9
    assert rho == pytest.approx(shift**2 / (2 * sigma**2), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0])
def test_bounded_range_rho_covers_the_worst_pair_of_laws(epsilon: float) -> None:
    """Two-point laws with log-ratios in [t - epsilon, t] are extreme (theory.md section 0)."""
    worst = 0.0
    for t in np.linspace(1e-3, epsilon - 1e-3, 60):
        p = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))  # under P': e^t p + e^(t-eps) (1-p) = 1
        second = np.log([p, 1 - p])
        first = second + np.array([t, t - epsilon])
        for order in ORDERS:
            worst = max(worst, renyi(first, second, order) / order)
    assert worst <= bounded_range_rho(epsilon) + 1e-12
    u = epsilon / math.expm1(epsilon)
    assert worst <= u - 1 - math.log(u) + 1e-9
    assert worst >= 0.9 * (u - 1 - math.log(u))
    assert bounded_range_rho(epsilon) < pure_rho(epsilon) <= epsilon**2 / 2


@given(amounts, st.floats(1e-3, 1e3), st.sampled_from(Regime))
def test_mechanisms_never_cost_more_than_the_amount_and_use_nearly_all(
    amount: float, sensitivity: float, regime: Regime
) -> None:
    made = [
        ExponentialMechanism.for_charge(regime, amount, sensitivity),
        LaplaceNoise.for_charge(regime, amount, sensitivity),
        PermuteAndFlip.for_charge(Regime.PURE, amount, sensitivity)
        if regime is Regime.PURE
        else GaussianNoise.for_charge(regime, amount, sensitivity),
    ]
    for mechanism in made:
        cost = mechanism.charge(regime)
        assert amount * (1 - 1e-12) <= cost <= amount * (1 - 2.0**-46)
        assert mechanism.sensitivity == sensitivity


@given(st.floats(0.01, 10), st.integers(1, 200), st.floats(0.05, 0.95), st.sampled_from(Regime))
def test_parts_of_a_budget_fit_into_it_without_tolerance(
    limit: float, rounds: int, share: float, regime: Regime
) -> None:
    selection = ExponentialMechanism.for_charge(regime, share * limit / rounds)
    noise = LaplaceNoise.for_charge(regime, (1 - share) * limit / rounds)
    charges = [selection.charge(regime), noise.charge(regime)] * rounds
    assert math.fsum(charges) < limit
    assert math.fsum(charges) == pytest.approx(limit, rel=1e-12)


def test_closed_forms_of_one_round_of_mwem() -> None:
    """Equal shares: epsilon_s = epsilon / (2T), scale 2T / epsilon; in zCDP 2 sqrt(rho / T), sqrt(T / rho)."""
    rounds, budget = 10, 1.0
    half = budget / (2 * rounds)
    assert ExponentialMechanism.for_charge(Regime.PURE, half).epsilon == pytest.approx(budget / (2 * rounds))
    assert LaplaceNoise.for_charge(Regime.PURE, half).scale == pytest.approx(2 * rounds / budget)
    selected = ExponentialMechanism.for_charge(Regime.ZCDP, half).epsilon
    assert 1.0 < selected / (2 * math.sqrt(budget / rounds)) < 1.005  # the least rho, a little below epsilon^2 / 8
    assert GaussianNoise.for_charge(Regime.ZCDP, half).sigma == pytest.approx(math.sqrt(rounds / budget))
    assert ExponentialMechanism.for_charge(Regime.PURE, 0.5, 2.0).scale == pytest.approx(2 * 2.0 / 0.5)


def law_of(noise: AdditiveNoise) -> tuple[np.ndarray, np.ndarray]:
    units = noise.scale / noise.step
    support = np.arange(-math.ceil(60 * units) - 2, math.ceil(60 * units) + 3)
    log_pmf = laplace_log_pmf if isinstance(noise, LaplaceNoise) else gaussian_log_pmf
    return support, np.exp(log_pmf(support, units))


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 2.7, 31.9, 32.1, 400.0])
@pytest.mark.parametrize("step", [1.0, 2.0**-10])
@pytest.mark.parametrize("make", [LaplaceNoise, GaussianNoise])
def test_moments_and_quantiles_are_those_of_the_law(make: type[AdditiveNoise], scale: float, step: float) -> None:
    noise = make(scale * step, 1.0, step)  # type: ignore[call-arg]
    support, mass = law_of(noise)
    magnitude = np.abs(support) * step
    assert noise.expected_abs == pytest.approx(float(mass @ magnitude), rel=1e-7, abs=1e-12)
    assert noise.std == pytest.approx(math.sqrt(float(mass @ magnitude**2)), rel=1e-7, abs=1e-12)
    for confidence, values in ((0.5, 1), (0.95, 1), (0.999, 1), (0.95, 40)):
        reach = noise.quantile(confidence, values)
        assert float(mass[magnitude <= reach + 1e-9].sum()) ** values >= confidence - 1e-9
        if reach > 0:
            slack = 0.0 if make is LaplaceNoise or scale < 32 else 1.0
            tighter = magnitude <= reach - (1.0 + slack) * step + 1e-9
            assert float(mass[tighter].sum()) ** values <= confidence + 1e-9


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5])
def test_senseless_confidences_are_refused(confidence: float) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        LaplaceNoise(1.0).quantile(confidence)
    with pytest.raises(ConfigError, match="at least one"):
        GaussianNoise(1.0).quantile(0.5, values=0)


def test_vanishing_noise() -> None:
    assert LaplaceNoise(1e-6).expected_abs == LaplaceNoise(1e-6).std == LaplaceNoise(1e-6).quantile(0.99) == 0.0
    assert GaussianNoise(1e-6).expected_abs == GaussianNoise(1e-6).quantile(0.99) == 0.0


def test_mechanisms_are_refused_outside_their_regime() -> None:
    with pytest.raises(ConfigError, match="no pure epsilon"):
        GaussianNoise.for_charge(Regime.PURE, 0.1)
    with pytest.raises(ConfigError, match="no pure epsilon"):
        GaussianNoise(1.0).charge(Regime.PURE)
    with pytest.raises(ConfigError, match="permute-and-flip"):
        PermuteAndFlip.for_charge(Regime.ZCDP, 0.1)
    with pytest.raises(ConfigError, match="permute-and-flip"):
        PermuteAndFlip(1.0).charge(Regime.ZCDP)


@pytest.mark.parametrize("amount", [0.0, -1.0, math.inf, math.nan])
def test_senseless_amounts_are_refused(amount: float) -> None:
    with pytest.raises(ConfigError, match="positive finite"):
        ExponentialMechanism.for_charge(Regime.PURE, amount)


@pytest.mark.parametrize(("scale", "sensitivity"), [(0.0, 1.0), (math.inf, 1.0), (2.0**61, 1.0), (1.0, 0.0)])
def test_senseless_scales_and_sensitivities_are_refused(scale: float, sensitivity: float) -> None:
    for make in (ExponentialMechanism, PermuteAndFlip, LaplaceNoise, GaussianNoise):
        with pytest.raises(ConfigError):
            make(scale, sensitivity)


def test_names_for_the_ledger() -> None:
    names = [
        made.name for made in (ExponentialMechanism(1.0), PermuteAndFlip(1.0), LaplaceNoise(1.0), GaussianNoise(1.0))
    ]
    assert names == ["exponential mechanism", "permute-and-flip", "discrete Laplace", "discrete Gaussian"]


def tails_are_bounded() -> None:
    """Exact tails of discrete Laplace noise in whole counts, halves and 2^-10 counts, at the places where they jump."""
    for scale in (0.2, 0.5, 1.0, 3.0, 10.0, 1e3):
        for risk in (0.3, 0.05, 1e-4, 1e-9):
            reach, same = laplace_reach(scale, risk), laplace_scale(laplace_reach(scale, risk), risk)
            assert same == pytest.approx(scale, rel=1e-6)
            for step in (1.0, 0.5, 2.0**-10):
                base = math.exp(-step / scale)
                beyond = math.floor(reach * (1.0 + 1e-12) / step) + 1
                assert 2.0 * base**beyond / (1.0 + base) <= risk * (1.0 + 1e-9)
    for reach in (0.999999, 4.999999, 40.999999):  # just below a whole count: the next one is as far away as it can be
        for risk in (0.3, 0.05, 1e-4):
            base = math.exp(-1.0 / laplace_scale(reach, risk))
            exact = 2.0 * base ** (math.floor(reach) + 1) / (1.0 + base)
            assert 0.99 * risk <= exact <= risk * (1.0 + 1e-9)


def test_tails_of_discrete_noise_are_bounded() -> None:
    tails_are_bounded()


def test_a_tail_of_continuous_noise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(patch: pytest.MonkeyPatch) -> None:
        patch.setitem(globals(), "laplace_scale", lambda reach, risk: reach / math.log(1.0 / risk))
        patch.setitem(globals(), "laplace_reach", lambda scale, risk: scale * math.log(1.0 / risk))

    killed(Mutant("tails of continuous Laplace noise", planted, tails_are_bounded), monkeypatch)
