from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import log_ndtr

from hedgerow.errors import ConfigError
from hedgerow.privacy import epsilon_of, rho_of
from hedgerow.privacy.budgets.conversion import delta_of, log_delta

RHOS = (1e-6, 1e-3, 1 / 32, 0.3, 2.0, 40.0)
DELTAS = (1e-12, 1e-6, 1e-3, 0.1)


def test_the_vectors_of_the_theory() -> None:
    assert epsilon_of(1 / 32, 1e-3) == pytest.approx(0.688002455, abs=5e-10)
    assert rho_of(1.0, 1e-6) == pytest.approx(0.024356, abs=5e-7)
    closed_form = (math.sqrt(math.log(1e6) + 1.0) - math.sqrt(math.log(1e6))) ** 2  # rho + 2 sqrt(rho ln(1/delta)) = 1
    assert closed_form == pytest.approx(0.017469, abs=5e-7)
    assert rho_of(1.0, 1e-6) > closed_form


def reference_log_delta(rho: float, epsilon: float) -> float:
    """The infimum by brute force over a fine grid of orders."""
    excess = np.exp(np.linspace(-12, 12, 400_001))
    order = 1.0 + excess
    exponent = excess * (order * rho - epsilon) - order * np.log1p(1 / excess) - np.log(excess)
    return float(min(0.0, exponent.min()))


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("factor", [0.5, 2.0, 10.0])
def test_log_delta_is_the_infimum_over_orders(rho: float, factor: float) -> None:
    epsilon = factor * (rho + math.sqrt(rho))
    assert log_delta(rho, epsilon) == pytest.approx(reference_log_delta(rho, epsilon), rel=1e-6, abs=1e-6)
    assert log_delta(rho, epsilon) <= reference_log_delta(rho, epsilon) + 1e-9


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_agrees_with_dp_accounting(rho: float, delta: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the library warns on import of its own dependencies
        from dp_accounting import rdp

    ours = epsilon_of(rho, delta)
    excess = np.exp(np.linspace(-9, 14, 4001))
    theirs, _ = rdp.compute_epsilon(1.0 + excess, (1.0 + excess) * rho, delta)
    assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-9)
    assert ours <= theirs * (1 + 1e-9) + 1e-12


@pytest.mark.many(quick=6)
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_is_never_below_the_exact_curve_of_gaussian_noise(rho: float, delta: float) -> None:
    mu, epsilon = math.sqrt(2 * rho), epsilon_of(rho, delta)
    log_first, log_second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    exact = math.exp(log_first) - math.exp(log_second)
    assert exact <= delta * (1 + 1e-9)


@given(st.floats(1e-4, 50), st.floats(-700, -0.05))
def test_rho_is_the_conservative_endpoint(epsilon: float, log_of_delta: float) -> None:
    delta = math.exp(log_of_delta)
    rho = rho_of(epsilon, delta)
    assert log_delta(rho, epsilon) <= math.log(delta)
    assert log_delta(math.nextafter(rho, math.inf), epsilon) > math.log(delta)
    assert epsilon_of(rho, delta) <= epsilon + 1e-12 * (epsilon + rho)  # the curve is flat where delta is large
    assert epsilon_of(rho * (1 + 1e-6), delta) > epsilon


def test_extremes() -> None:
    assert log_delta(0.0, 0.5) == -math.inf
    assert delta_of(10.0, 0.0) <= 1.0
    assert epsilon_of(1e-12, 0.5) == 0.0
    assert 0.0 < rho_of(1.0, 1e-300) < rho_of(1.0, 1e-30) < rho_of(1.0, 1e-3)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_a_delta_outside_0_and_1_is_refused(delta: float) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        epsilon_of(0.1, delta)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        rho_of(0.1, delta)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_a_senseless_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(ConfigError, match="epsilon"):
        rho_of(epsilon, 1e-6)
    with pytest.raises(ConfigError, match="rho"):
        log_delta(-1.0, 0.5)
