"""Gaussian differential privacy: its conversion, its costs and its filter, against the laws themselves."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import mpmath
import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from hypothesis import given, settings, strategies as st
from scipy.special import softmax
from scipy.stats import norm

import hedgerow.privacy.budgets.gaussian as gaussian_module
from hedgerow.errors import ConfigError
from hedgerow.privacy import epsilon_of, epsilon_of_half_square, epsilon_of_mu, half_square, mu_of, pure_gdp, rho_of
from hedgerow.privacy.budgets.gaussian import bounded_range_gdp, delta_of_mu, discrete_gdp, sigma_of_discrete_gdp
from hedgerow.privacy.budgets.normal import tail
from tests.examples import examples
from tests.privacy.mutants import Mutant, killed
from tests.reference.privacy_profiles import discrete_gaussian, of_normals, product, steps, within


def mu_of_cost(cost: float) -> float:
    return math.sqrt(2.0 * cost)


# ---- the conversion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [-45, -30, -1, -1e-9, 0, 1e-20, 0.3, 1, 5, 12.5, 37, 45])
def test_tails_are_right_in_fifty_digits(x: float) -> None:
    with mpmath.workdps(300):
        exact = mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2
        assert abs(mpmath.mpf(str(tail(Decimal(x)))) / exact - 1) < mpmath.mpf(10) ** -50


@pytest.mark.parametrize(("mu", "epsilon"), list(itertools.product([0.02, 0.25, 1.0, 3.0], [0.0, 0.1, 1.0, 6.0])))
def test_delta_is_the_integral_of_what_one_density_has_beyond_the_other(mu: float, epsilon: float) -> None:
    with mpmath.workdps(30):
        near = epsilon / mu - mu / 2
        beyond = mpmath.quad(
            lambda x: mpmath.npdf(near + x) * -mpmath.expm1(-mpmath.mpf(mu) * x),
            [x / max(1.0, near) for x in (0, 0.5, 1, 2, 3, 5, 8, 12, 20, 40, 80)],
        )
        assert float(delta_of_mu(mu, epsilon)) == pytest.approx(float(beyond), rel=1e-9, abs=1e-300)


@settings(max_examples=examples(100))
@given(st.floats(0.01, 5.0), st.floats(0.0, 20.0))
def test_delta_is_that_of_dp_accounting(mu: float, epsilon: float) -> None:
    theirs = float(GaussianPrivacyLoss(1.0 / mu).get_delta_for_epsilon(epsilon))
    assert float(delta_of_mu(mu, epsilon)) == pytest.approx(theirs, rel=1e-9, abs=1e-15)


@settings(max_examples=examples(30))
@given(st.floats(-3.0, 1.3), st.floats(-12.0, -0.5))
def test_epsilon_and_mu_are_the_conservative_endpoints(log_mu: float, log_delta: float) -> None:
    mu, delta = 10.0**log_mu, 10.0**log_delta
    epsilon = epsilon_of_mu(mu, delta)
    assert delta_of_mu(mu, epsilon) <= Decimal(delta)
    if epsilon > 0.0:
        assert delta_of_mu(mu, math.nextafter(epsilon, 0.0)) > Decimal(delta)
        back = mu_of(epsilon, delta)
        assert delta_of_mu(back, epsilon) <= Decimal(delta) < delta_of_mu(math.nextafter(back, math.inf), epsilon)
        assert back == pytest.approx(mu, rel=1e-12)


@settings(max_examples=examples(30))
@given(st.floats(-3.0, 1.0), st.floats(-12.0, -0.5))
def test_gaussian_noise_is_never_worse_than_its_rho(log_mu: float, log_delta: float) -> None:
    mu, delta = 10.0**log_mu, 10.0**log_delta
    assert epsilon_of_mu(mu, delta) <= epsilon_of(mu * mu / 2.0, delta)


@pytest.mark.parametrize(("delta", "zcdp", "gdp"), [(1e-9, 5.7787, 5.4953), (3.6e-6, 4.2662, 3.9554)])
def test_the_noise_that_is_saved(delta: float, zcdp: float, gdp: float) -> None:
    assert 1.0 / math.sqrt(2.0 * rho_of(1.0, delta)) == pytest.approx(zcdp, abs=1e-4)
    assert 1.0 / mu_of(1.0, delta) == pytest.approx(gdp, abs=1e-4)


def test_extremes() -> None:
    assert epsilon_of_half_square(0.0, 1e-9) == 0.0
    assert epsilon_of_mu(1e-9, 0.1) == 0.0
    assert 0.0 < mu_of(1.0, 1e-300) < mu_of(1.0, 1e-9)
    assert mu_of(1e-6, 1e-9) < 1e-5
    assert 1e3 < epsilon_of_mu(60.0, 1e-9) < 60.0**2
    assert delta_of_mu(200.0, 1.0) == 1
    for mu in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ConfigError, match="mu"):
            delta_of_mu(mu, 1.0)
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(ConfigError, match="between 0 and 1"):
            epsilon_of_mu(1.0, delta)
    with pytest.raises(ConfigError, match="epsilon"):
        mu_of(0.0, 0.1)


@given(st.floats(1e-9, 1e9))
def test_half_a_square_is_rounded_down(mu: float) -> None:
    exact = Decimal(mu) ** 2 / 2
    assert exact * (1 - Decimal(2) ** -51) < Decimal(half_square(mu)) < exact


# ---- discrete Gaussian noise -----------------------------------------------------------------------------------------


def the_bound_holds_every_step() -> None:
    """Theorem 12.1: no step between the normal quantiles of the noise is longer than the mu that is charged for 1."""
    for sigma in (0.2, 0.5, 0.5774, 0.58, 0.6, 0.8, 1.0, 1.7, 3.0, 8.0):
        charged = mu_of_cost(discrete_gdp(1.0, sigma))
        found = list(steps(sigma, int(30 * sigma) + 25))
        assert max(found) <= charged
        assert sigma < 1.0 or max(found) >= charged * (1.0 - 0.004 / sigma**4)  # and it gives little away


def no_small_shift_of_vectors_shows_more() -> None:
    """All shifts of one, two and three values, by enumeration of every outcome, at every epsilon of a grid."""
    for sigma, size in itertools.product((0.45, 0.7, 1.0, 1.6), (1, 2, 3)):
        reach = math.ceil(8.6 * sigma) + 3
        law = discrete_gaussian(sigma, 0, reach)
        for shifts in itertools.combinations_with_replacement((-1, 0, 1, 2), size):
            l2 = math.sqrt(sum(shift**2 for shift in shifts))
            if l2 > 0.0:
                moved = [discrete_gaussian(sigma, shift, reach) for shift in shifts]
                assert within(product([law] * size), product(moved), mu_of_cost(discrete_gdp(l2, sigma)))


def test_every_step() -> None:
    the_bound_holds_every_step()


def test_small_vectors() -> None:
    no_small_shift_of_vectors_shows_more()


@pytest.mark.parametrize("sigma", [1.0, 1.6, 2.5])
def test_discrete_noise_is_not_as_good_as_the_continuous_noise_of_its_sigma(sigma: float) -> None:
    reach = math.ceil(9 * sigma) + 3
    laws = [discrete_gaussian(sigma, shift, reach) for shift in (0, 1)]
    assert not within(*laws, 1.0 / sigma)
    assert within(*laws, mu_of_cost(discrete_gdp(1.0, sigma)))


@given(st.floats(1e-3, 1e3), st.floats(1e-6, 1e3))
def test_the_least_sigma_for_a_cost(l2: float, amount: float) -> None:
    sigma = sigma_of_discrete_gdp(l2, amount)
    assert discrete_gdp(l2, sigma) <= amount * (1.0 + 2.0**-46)
    assert discrete_gdp(l2, sigma * (1.0 - 1e-2)) > amount


def continuous_cost(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "discrete_gdp", lambda l2, sigma: (l2 / sigma) ** 2 / 2.0)


def half_of_the_lattice(patch: pytest.MonkeyPatch) -> None:
    """1 + 1 / (24 sigma^2), the factor of mu, taken for that of its square."""
    patch.setitem(globals(), "discrete_gdp", lambda l2, sigma: (l2 / sigma) ** 2 / 2.0 * (1 + 1 / (24 * sigma**2)))


def narrow_noise_at_the_cost_of_wide_noise(patch: pytest.MonkeyPatch) -> None:
    kept = discrete_gdp
    patch.setitem(
        globals(), "discrete_gdp", lambda l2, sigma: kept(l2, sigma) if sigma > 0.6 else (l2 / sigma) ** 2 / 2.0
    )


# ---- other mechanisms ------------------------------------------------------------------------------------------------

EPSILONS = (1e-3, 0.1, 0.5, 1.0, 3.0, 8.0)


def pure_costs_are_those_of_randomised_response() -> None:
    for epsilon in EPSILONS:
        law = np.array([1.0, math.exp(epsilon)]) / (1.0 + math.exp(epsilon))
        mu = mu_of_cost(pure_gdp(epsilon))
        assert within(law, law[::-1], mu)
        # attained: the test that errs as often either way is as good as for normal laws
        assert norm.cdf(-mu / 2) == pytest.approx(law[0], rel=1e-12)


def every_pair_of_bounded_range_is_within_its_cost() -> None:
    """Two outcomes whose log-ratios are epsilon apart, wherever these lie (theory.md section 12)."""
    for epsilon in EPSILONS:
        mu = mu_of_cost(bounded_range_gdp(epsilon))
        for t in np.linspace(0.02, 0.98, 49) * epsilon:
            p = math.expm1(epsilon - t) / math.expm1(epsilon)
            q = p * math.exp(t)
            one, other = np.array([p, 1.0 - p]), np.array([q, 1.0 - q])
            assert within(one, other, mu)
            assert norm.ppf(q) - norm.ppf(p) <= mu * (1.0 + 1e-9)


def exponential_mechanisms_are_within_their_cost() -> None:
    generator = np.random.default_rng(8)
    for epsilon in EPSILONS:
        for _ in range(40):
            scores = generator.normal(0.0, 3.0, 6)
            moved = scores + generator.choice([-1.0, 1.0], 6)
            one, other = (softmax(epsilon / 2.0 * each) for each in (scores, moved))
            assert within(one, other, mu_of_cost(bounded_range_gdp(epsilon)))


def test_pure_costs() -> None:
    pure_costs_are_those_of_randomised_response()


def test_bounded_range() -> None:
    every_pair_of_bounded_range_is_within_its_cost()
    exponential_mechanisms_are_within_their_cost()


def test_a_selection_costs_half_as_much_again_as_under_zcdp() -> None:
    assert bounded_range_gdp(1e-3) / (1e-6 / 8) == pytest.approx(math.pi / 2, rel=1e-6)


# ---- the filter ------------------------------------------------------------------------------------------------------


def spending_by_what_was_seen(limit: float, shares: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Three looks under one limit: noise, then randomised response or noise, then noise for all that is left.

    Which comes second, and how much is spent on it, depends on what came out first.
    """
    laws = []
    for bit in (0, 1):
        first = sigma_of_discrete_gdp(1.0, limit / 4.0)
        reach = math.ceil(7.5 * first) + 2
        outcomes = []
        for place, mass in zip(range(-reach, reach + 1), discrete_gaussian(first, bit, reach), strict=True):
            second = shares[place > 0] * 0.75 * limit
            if place % 2:
                epsilon = gaussian_module.epsilon_of_pure_gdp(second)
                answer = np.array([1.0, math.exp(epsilon)]) / (1.0 + math.exp(epsilon))
                then = answer[:: 1 if bit else -1]
            else:
                width = sigma_of_discrete_gdp(1.0, second)
                then = discrete_gaussian(width, bit, math.ceil(7.5 * width) + 2)
            last = sigma_of_discrete_gdp(1.0, 0.75 * limit - second)
            rest = discrete_gaussian(last, bit, math.ceil(7.5 * last) + 2)
            outcomes.append(mass * np.outer(then, rest).ravel())
        laws.append(np.concatenate(outcomes))
    return laws[0], laws[1]


def adaptive_looks_stay_within_the_sum_of_squares() -> None:
    for limit in (0.3, 1.0):
        for shares in ((0.1, 0.9), (0.9, 0.1), (0.5, 0.5)):
            assert within(*spending_by_what_was_seen(limit, shares), mu_of_cost(limit) * (1.0 + 1e-9))


def test_adaptive_looks() -> None:
    adaptive_looks_stay_within_the_sum_of_squares()


def test_the_sum_of_squares_is_not_too_much() -> None:
    """The same looks are not within nine tenths of mu."""
    assert not within(*spending_by_what_was_seen(1.0, (0.1, 0.9)), 0.9 * mu_of_cost(1.0))


def sums_in_place_of_squares(patch: pytest.MonkeyPatch) -> None:
    """A filter that lets mus of 1.2 times as much through."""
    kept = sigma_of_discrete_gdp
    patch.setitem(globals(), "sigma_of_discrete_gdp", lambda l2, amount: kept(l2, 1.2**2 * amount))


def a_quarter_for_a_range(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(globals(), "bounded_range_gdp", lambda epsilon: epsilon**2 / 8)


def pure_as_continuous_noise(patch: pytest.MonkeyPatch) -> None:
    """The rho of randomised response, which is the mu^2 / 2 of no more than zCDP."""
    patch.setitem(globals(), "pure_gdp", lambda epsilon: epsilon * math.tanh(epsilon / 2))


MUTANTS = (
    Mutant("discrete noise as continuous", continuous_cost, the_bound_holds_every_step),
    Mutant("discrete noise as continuous, in vectors", continuous_cost, no_small_shift_of_vectors_shows_more),
    Mutant("half of what the lattice costs", half_of_the_lattice, the_bound_holds_every_step),
    Mutant("narrow noise too cheap", narrow_noise_at_the_cost_of_wide_noise, the_bound_holds_every_step),
    Mutant("epsilon^2 / 8 of a range in GDP", a_quarter_for_a_range, every_pair_of_bounded_range_is_within_its_cost),
    Mutant("a rho for the cost in GDP", pure_as_continuous_noise, pure_costs_are_those_of_randomised_response),
    Mutant("a filter that lets too much through", sums_in_place_of_squares,
           adaptive_looks_stay_within_the_sum_of_squares),
)  # fmt: skip


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_the_reference_curve_is_the_conversion() -> None:
    """Two ways to the same curve, so that neither is taken for granted."""
    for mu in (0.1, 1.0, 2.5):
        ours = [float(delta_of_mu(mu, epsilon)) for epsilon in (0.0, 0.5, 1.0, 2.0)]
        assert np.allclose(ours, of_normals(mu, np.array([0.0, 0.5, 1.0, 2.0])), rtol=1e-9, atol=1e-15)
