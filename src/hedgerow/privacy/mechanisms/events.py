"""What a ledger's event says it was, made anew from its numbers, so that nobody has to believe its charge.

An event names its mechanism and gives sensitivity, scale and number of values. That is all that the charge follows
from, so it is computed again whenever an event is made or read: a charge below what the mechanism costs is refused.
"""

from __future__ import annotations

from hedgerow.errors import BudgetError, ConfigError
from hedgerow.privacy.budgets import ABOVE, Regime, pure_rho
from hedgerow.privacy.mechanisms.additive_noise import AdditiveNoise, GaussianNoise, LaplaceNoise
from hedgerow.privacy.mechanisms.selection import (
    DRAWS,
    EXPONENTIAL,
    ONE_DRAW,
    PERMUTE_AND_FLIP,
    ExponentialMechanism,
    IndependentDraws,
    PermuteAndFlip,
    Selection,
)
from hedgerow.privacy.mechanisms.sparse_vector import SPARSE_VECTOR, SparseVector

Mechanism = AdditiveNoise | Selection | SparseVector

LAPLACE, GAUSSIAN = LaplaceNoise(1.0).name, GaussianNoise(1.0).name

_SHORT = 1.0 - 2.0**-51
"""Half of what charges are raised by: logarithms of another machine may differ in a last bit, no charge is too low."""


def mechanism_of(
    name: str, *, sensitivity: float, scale: float, values: int = 1, threshold_scale: float = 0.0
) -> Mechanism:
    """A mechanism from what an event of the ledger says of it.

    Args:
        name: What the mechanism calls itself.
        sensitivity: Sensitivity in counts, or in units of score.
        scale: Scale in the same unit; for a sparse vector, that of its tests.
        values: How many values were released: draws, or fires of a sparse vector.
        threshold_scale: Scale of a sparse vector's threshold noise, in counts.

    Raises:
        BudgetError: There is no such mechanism, or it cannot have these numbers.

    Example:
        >>> mechanism_of("discrete Laplace", sensitivity=1.0, scale=4.0).charge(Regime.PURE) >= 0.25
        True
    """
    try:
        match name:
            case _ if name == LAPLACE:
                return LaplaceNoise(scale, sensitivity)
            case _ if name == GAUSSIAN:
                return GaussianNoise(scale, sensitivity)
            case _ if name == EXPONENTIAL:
                return ExponentialMechanism(scale, sensitivity)
            case _ if name == PERMUTE_AND_FLIP:
                return PermuteAndFlip(scale, sensitivity)
            case _ if name in (ONE_DRAW, DRAWS):
                return IndependentDraws(scale, sensitivity, values)
            case _ if name == SPARSE_VECTOR:
                return SparseVector(threshold_scale, scale, sensitivity, values)
    except ConfigError as error:
        raise BudgetError(f"no {name} has sensitivity {sensitivity!r} and scale {scale!r}") from error
    raise BudgetError(f"there is no mechanism {name!r}")


def cost_of(mechanism: Mechanism, unit: str) -> float:
    """What a mechanism costs, rounded up.

    Args:
        mechanism: What was used.
        unit: ``"epsilon"`` or ``"rho"``; in rho any mechanism with a pure epsilon costs ``epsilon tanh(epsilon / 2)``,
            also where its kind is not offered under zCDP.

    Raises:
        BudgetError: It has no pure epsilon.

    Example:
        >>> round(cost_of(PermuteAndFlip(scale=2.0), "rho"), 6)
        0.462117
    """
    try:
        return mechanism.charge(Regime.PURE if unit == Regime.PURE.unit else Regime.ZCDP)
    except ConfigError as error:
        if unit == Regime.PURE.unit:
            raise BudgetError(f"a {mechanism.name} has no pure epsilon") from error
        return pure_rho(mechanism.charge(Regime.PURE)) * ABOVE


def check_charge(mechanism: Mechanism, charge: float, unit: str) -> None:
    """Refuse a charge that is less than what a mechanism costs.

    Args:
        mechanism: What was used.
        charge: What the ledger says that it cost.
        unit: ``"epsilon"`` or ``"rho"``.

    Raises:
        BudgetError: It costs more, or has no cost in this unit.

    Example:
        >>> check_charge(LaplaceNoise(4.0), 0.26, "epsilon")
        >>> check_charge(LaplaceNoise(4.0), 0.24, "epsilon")
        Traceback (most recent call last):
            ...
        hedgerow.errors.BudgetError: a discrete Laplace of sensitivity 1 and scale 4 costs 0.25 epsilon, not 0.24
    """
    cost = cost_of(mechanism, unit)
    if not charge >= cost * _SHORT:
        raise BudgetError(
            f"a {mechanism.name} of sensitivity {mechanism.sensitivity:.6g} and scale {mechanism.scale:.6g} costs "
            f"{cost:.6g} {unit}, not {charge:.6g}"
        )
