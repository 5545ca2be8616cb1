"""Charges that are a rounding too small, or a constant: found in exact arithmetic, where 2^-53 is seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri

import hedgerow.privacy.budgets.gaussian as gaussian_module
import hedgerow.privacy.budgets.regime as regime_module
import hedgerow.privacy.mechanisms.additive_noise as additive_module
import hedgerow.privacy.mechanisms.selection as selection_module
import hedgerow.privacy.mechanisms.sparse_vector as sparse_module
from hedgerow.privacy import (
    ExponentialMechanism,
    GaussianNoise,
    IndependentDraws,
    LaplaceNoise,
    Mechanism,
    PermuteAndFlip,
    Regime,
    Selection,
    SparseVector,
    bounded_range_rho,
    pure_rho,
)
from tests.privacy.mechanisms.exact_costs import cost
from tests.privacy.mutants import Mutant, Patch

SCALES = np.random.default_rng(14).lognormal(0.0, 4.0, 20).tolist()
SENSITIVITIES = (1.0, 2.0**0.5, 1 / 3)


def charge_covers_the_cost(mechanism: Mechanism, regime: Regime) -> None:
    """In exact arithmetic, and not by more than a little."""
    found = cost(
        mechanism.name,
        regime.unit,
        sensitivity=mechanism.sensitivity,
        scale=mechanism.scale,
        values=mechanism.fires if isinstance(mechanism, SparseVector) else getattr(mechanism, "draws", 1),
        threshold_scale=getattr(mechanism, "threshold_scale", 0.0),
        bound=getattr(mechanism, "bound", None) if regime is Regime.ZCDP else None,
    )
    charge = mechanism.charge(regime)
    assert found.covered_by(charge), mechanism
    assert found.nearly(charge), mechanism


def every_charge_covers_its_cost() -> None:
    """All mechanisms, at scales that are no round numbers."""
    for scale in SCALES:
        for sensitivity in SENSITIVITIES:
            for mechanism in (
                LaplaceNoise(scale, sensitivity),
                LaplaceNoise(scale, sensitivity, bound="halves"),
                LaplaceNoise(scale, 7.0 * sensitivity, bound="parities"),
                ExponentialMechanism(scale, sensitivity),
                ExponentialMechanism(scale, sensitivity, "exact"),
                IndependentDraws(scale, sensitivity, 1),
                IndependentDraws(scale, sensitivity, 7),
                IndependentDraws(scale, sensitivity, 7, "exact"),
                SparseVector(scale, 2.3 * scale, sensitivity, 3),
                SparseVector(scale, 2.3 * scale, sensitivity, 3, "renyi"),
                SparseVector(scale, 0.4 * scale, sensitivity, 3, "renyi"),
            ):
                for regime in Regime:
                    charge_covers_the_cost(mechanism, regime)
            charge_covers_the_cost(PermuteAndFlip(scale, sensitivity), Regime.PURE)
            for regime in (Regime.ZCDP, Regime.GDP):
                charge_covers_the_cost(GaussianNoise(scale, sensitivity), regime)


def not_rounded_up(module: object) -> Patch:
    """Charges as floating point rounds them: to the nearest number, which is as often below as above."""
    return lambda patch: patch.setattr(module, "ABOVE", 1.0)


def laplace_epsilon_not_rounded_up(patch: pytest.MonkeyPatch) -> None:
    """The epsilon alone; its rho still is."""
    patch.setattr(LaplaceNoise, "epsilon", property(lambda self: self.l1 / self.scale))


def selection_epsilon_not_rounded_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Selection, "epsilon", property(lambda self: 2.0 * self.sensitivity / self.scale))


def gaussian_rho_not_rounded_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(GaussianNoise, "charge", lambda self, regime: (self.l2 / self.sigma) ** 2 / 2.0)


def laplace_rho_not_rounded_up(patch: pytest.MonkeyPatch) -> None:
    exact = property(lambda self: self.l1 / self.scale)
    patch.setattr(LaplaceNoise, "epsilon", exact)
    patch.setattr(
        LaplaceNoise,
        "charge",
        lambda self, regime: self.epsilon * (1 + 2.0**-50) if regime is Regime.PURE else pure_rho(self.epsilon),
    )


def draws_without_their_slack(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(selection_module, "SLACK", 0.0)


def sparse_vector_epsilon_not_rounded_up(patch: pytest.MonkeyPatch) -> None:
    def epsilon(self: SparseVector) -> float:
        return self.sensitivity / self.threshold_scale + 2.0 * self.fires * self.sensitivity / self.test_scale

    patch.setattr(SparseVector, "epsilon", property(epsilon))


def bounded_range_a_hair_too_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(regime_module, "bounded_range_rho", lambda epsilon: bounded_range_rho(epsilon) * (1 - 2.0**-44))


def square_of_a_range_a_hair_too_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(selection_module, "square_range_rho", lambda epsilon: epsilon * epsilon / 8.0 * (1 - 2.0**-44))


def exact_bound_for_the_square(patch: pytest.MonkeyPatch) -> None:
    """Old events at the price of new ones."""
    patch.setattr(selection_module, "square_range_rho", bounded_range_rho)


def halves_as_quarters(patch: pytest.MonkeyPatch) -> None:
    """Four moves of a quarter in place of two of a half."""
    patch.setattr(
        LaplaceNoise,
        "charge",
        lambda self, regime: (
            4.0 * regime.of_pure(self.epsilon / 4.0)
            if regime is Regime.ZCDP and self.bound
            else regime.of_pure(self.epsilon)
        ),
    )


def many_draws_as_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        IndependentDraws,
        "charge",
        lambda self, regime: (
            self.epsilon if regime is Regime.PURE else bounded_range_rho(self.epsilon) * (1 + 2.0**-50)
        ),
    )


def gdp_in_floats(patch: pytest.MonkeyPatch) -> None:
    """The quantile of the C library's normal distribution, as it is."""
    patch.setattr(regime_module, "pure_gdp", lambda epsilon: 2.0 * float(ndtri(1.0 / (1.0 + math.exp(-epsilon)))) ** 2)


def gdp_not_rounded_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gaussian_module, "_ABOVE", 1.0)
    patch.setattr(regime_module, "pure_gdp", gaussian_module.pure_gdp.__wrapped__)


def discrete_gaussian_as_continuous(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(regime_module, "discrete_gdp", lambda l2, sigma: (l2 / sigma) ** 2 / 2.0 * (1 + 2.0**-48))


def discrete_gaussian_to_first_order(patch: pytest.MonkeyPatch) -> None:
    """1 + 1 / (12 sigma^2), which is below the bound by its next term."""
    patch.setattr(
        regime_module,
        "discrete_gdp",
        lambda l2, sigma: (l2 / sigma) ** 2 / 2.0 * (1 + 1 / (12 * sigma**2)) * (1 + 2.0**-48),
    )


def bounded_range_as_a_quarter_in_gdp(patch: pytest.MonkeyPatch) -> None:
    """The epsilon^2 / 8 of zCDP, charged in GDP."""
    patch.setattr(regime_module, "bounded_range_gdp", bounded_range_rho)


def pure_as_bounded_range_in_gdp(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(regime_module, "pure_gdp", gaussian_module.bounded_range_gdp)


MUTANTS = (
    Mutant("Laplace's epsilon is not rounded up", laplace_epsilon_not_rounded_up, every_charge_covers_its_cost),
    Mutant("Laplace's rho is not rounded up", laplace_rho_not_rounded_up, every_charge_covers_its_cost),
    Mutant("Gaussian rho is not rounded up", gaussian_rho_not_rounded_up, every_charge_covers_its_cost),
    Mutant("the epsilon of a selection is not rounded up", selection_epsilon_not_rounded_up,
           every_charge_covers_its_cost),
    Mutant("the epsilon of a sparse vector is not rounded up", sparse_vector_epsilon_not_rounded_up,
           every_charge_covers_its_cost),
    Mutant("no charge of additive noise is rounded up", not_rounded_up(additive_module), every_charge_covers_its_cost),
    Mutant("no charge of a selection is rounded up", not_rounded_up(selection_module), every_charge_covers_its_cost),
    Mutant("no charge of a sparse vector is rounded up", not_rounded_up(sparse_module), every_charge_covers_its_cost),
    Mutant("no charge in rho is rounded up", not_rounded_up(regime_module), every_charge_covers_its_cost),
    Mutant("a cost in GDP by quantiles in floats", gdp_in_floats, every_charge_covers_its_cost),
    Mutant("no cost in GDP is rounded up", gdp_not_rounded_up, every_charge_covers_its_cost),
    Mutant("discrete Gaussian noise as if it were continuous", discrete_gaussian_as_continuous,
           every_charge_covers_its_cost),
    Mutant("discrete Gaussian noise to first order", discrete_gaussian_to_first_order, every_charge_covers_its_cost),
    Mutant("a bounded range in GDP as in zCDP", bounded_range_as_a_quarter_in_gdp, every_charge_covers_its_cost),
    Mutant("any mechanism as one of bounded range", pure_as_bounded_range_in_gdp, every_charge_covers_its_cost),
    Mutant("draws without their slack", draws_without_their_slack, every_charge_covers_its_cost),
    Mutant("a bounded range 2^-44 too small", bounded_range_a_hair_too_small, every_charge_covers_its_cost),
    Mutant("epsilon^2 / 8 2^-44 too small", square_of_a_range_a_hair_too_small, every_charge_covers_its_cost),
    Mutant("the least bound for events without it", exact_bound_for_the_square, every_charge_covers_its_cost),
    Mutant("two cells that move as four", halves_as_quarters, every_charge_covers_its_cost),
    Mutant("many draws at the price of one, in fractions", many_draws_as_one, every_charge_covers_its_cost),
)  # fmt: skip
