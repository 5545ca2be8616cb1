"""Guesses about one person: against laws that can be written down, and never below them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, Subsampled, membership_guess
from tests.privacy.mutants import Mutant, killed

AMOUNTS = [1e-3, 0.1, 1.0, 3.0, 20.0]


def best_guess(one: np.ndarray, other: np.ndarray) -> float:
    """Probability of guessing rightly which of two laws, equally likely, an outcome comes from."""
    return float(np.maximum(one, other).sum()) / 2.0


@pytest.mark.parametrize("epsilon", AMOUNTS)
def test_randomised_response_reaches_the_bound_of_pure_privacy(epsilon: float) -> None:
    honest = 1.0 / (1.0 + math.exp(-epsilon))
    guess = best_guess(np.array([honest, 1.0 - honest]), np.array([1.0 - honest, honest]))
    assert membership_guess(PureDP(epsilon)) == pytest.approx(guess, rel=1e-12)


@pytest.mark.parametrize("mu", AMOUNTS)
def test_normal_noise_reaches_the_bound_of_gdp(mu: float) -> None:
    assert membership_guess(GDP(mu)) == pytest.approx(special.ndtr(mu / 2.0), rel=1e-9)


def gaussians_of_zcdp_are_guessed_no_better() -> None:
    """Normal noise of rho-zCDP has a difference of means of ``sqrt(2 rho)`` standard deviations."""
    for rho in AMOUNTS:
        bound = membership_guess(ZCDP(rho))
        assert special.ndtr(math.sqrt(rho / 2.0)) <= bound <= 1.0
        assert bound <= 0.5 + 0.5 * math.sqrt(rho / 2.0) + 2.0**-47  # rounded up


def test_gaussians_of_zcdp_are_guessed_no_better() -> None:
    gaussians_of_zcdp_are_guessed_no_better()


def test_a_randomised_response_to_a_secret_sample_is_guessed_as_the_share_says() -> None:
    budget = Subsampled(PureDP(2.0, "replace"), sampled=3, population=10)
    honest = 1.0 / (1.0 + math.exp(-2.0))
    with_, without = np.array([honest, 1.0 - honest]), np.array([1.0 - honest, honest])
    guess = best_guess(0.3 * with_ + 0.7 * without, without)
    assert membership_guess(budget) == pytest.approx(guess, rel=1e-12)


@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-9), ApproxDP(1.0, 1e-9, "replace"), ApproxDP(4.0, 1e-5)])
def test_a_guess_follows_how_a_budget_is_counted(budget: ApproxDP) -> None:
    counted: Budget = {"rho": ZCDP, "mu^2/2": lambda limit: GDP(math.sqrt(2.0 * limit))}[budget.unit](budget.limit)
    assert membership_guess(budget) == pytest.approx(membership_guess(counted))
    assert 0.5 < membership_guess(budget) < 0.5 + 0.5 * math.tanh(budget.epsilon / 2.0)


MUTANTS = [
    Mutant(
        "guesses about zCDP take half of rho",
        lambda patched: patched.setattr(
            "hedgerow.privacy.budgets.guessing._distance", lambda budget: math.sqrt(budget.limit) / 4.0
        ),
        gaussians_of_zcdp_are_guessed_no_better,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
