"""Mechanisms rebuilt from the numbers of a ledger's events, so that no one has to believe a charge.

An event names its mechanism and gives sensitivity, scale and number of values. That is all that the charge follows
from, so it is computed again whenever an event is made or read: a charge below what the mechanism costs is refused.
"""

from typing import Literal, cast

from hedgerow.errors import BudgetError, ConfigError
from hedgerow.privacy.budgets import Regime
from hedgerow.privacy.mechanisms import selection
from hedgerow.privacy.mechanisms.additive_noise import (
    HALVES,
    PARITIES,
    AdditiveNoise,
    Apart,
    GaussianNoise,
    LaplaceNoise,
)
from hedgerow.privacy.mechanisms.run_selection import RUN_SELECTION, RunSelection
from hedgerow.privacy.mechanisms.sparse_vector import RENYI, SPARSE_VECTOR, SparseVector
from hedgerow.privacy.mechanisms.thresholds import THRESHOLDED, ThresholdedCounts

Bound = Literal["renyi", "exact", "halves", "parities"]
Mechanism = AdditiveNoise | selection.Selection | SparseVector | ThresholdedCounts | RunSelection

LAPLACE, GAUSSIAN = LaplaceNoise(1.0).name, GaussianNoise(1.0).name

_ADDITIVE: dict[str, type[LaplaceNoise] | type[GaussianNoise]] = {LAPLACE: LaplaceNoise, GAUSSIAN: GaussianNoise}

BOUNDS: dict[Bound, tuple[str, ...]] = {
    RENYI: (SPARSE_VECTOR,),
    selection.EXACT: (selection.EXPONENTIAL, selection.ONE_DRAW, selection.DRAWS),
    HALVES: (LAPLACE,),
    PARITIES: (LAPLACE,),
}
"""Mechanisms that each bound on rho is one of."""

_SHORT = 1.0 - 2.0**-51
"""Half of what charges are raised by: logarithms of another machine may differ in a last bit, no charge is too low."""


def mechanism_of(  # noqa: PLR0911
    name: str,
    *,
    sensitivity: float,
    scale: float,
    values: int = 1,
    threshold_scale: float = 0.0,
    bound: Bound | None = None,
) -> Mechanism:
    """The mechanism that an event of the ledger describes.

    Args:
        name: Name of the mechanism, as the ledger has it.
        sensitivity: Sensitivity in counts, or in units of score.
        scale: Scale in the same unit; for a sparse vector, that of its tests.
        values: Number of values that were released: draws, or fires of a sparse vector.
        threshold_scale: Scale of a sparse vector's threshold noise, or the threshold of counts that are told.
        bound: Bound on its rho, where the mechanism has several; None for the oldest.

    Raises:
        BudgetError: There is no such mechanism, or it cannot have these numbers.

    Example:
        >>> mechanism_of("discrete Laplace", sensitivity=1.0, scale=4.0).charge(Regime.PURE) >= 0.25
        True
    """
    if bound is not None and name not in BOUNDS[bound]:
        raise BudgetError(f"there is no bound {bound!r} on the rho of a {name}")
    try:
        match name:
            case _ if name in _ADDITIVE:
                noise = _ADDITIVE[name](scale, sensitivity)
                return noise if bound is None else LaplaceNoise(scale, sensitivity, bound=cast("Apart", bound))
            case selection.EXPONENTIAL:
                return selection.ExponentialMechanism(scale, sensitivity, cast("selection.Exact | None", bound))
            case selection.PERMUTE_AND_FLIP:
                return selection.PermuteAndFlip(scale, sensitivity)
            case selection.ONE_DRAW | selection.DRAWS:
                return selection.IndependentDraws(scale, sensitivity, values, cast("selection.Exact | None", bound))
            case _ if name == SPARSE_VECTOR:
                return SparseVector(threshold_scale, scale, sensitivity, values, cast("Literal['renyi'] | None", bound))
            case _ if name == RUN_SELECTION:
                return RunSelection(sensitivity, scale)
            case _ if name in THRESHOLDED:
                whole = int(threshold_scale) if threshold_scale == int(threshold_scale) else 0
                return ThresholdedCounts(THRESHOLDED[name](scale, sensitivity), whole)
    except ConfigError as error:
        raise BudgetError(f"a {name} cannot have sensitivity {sensitivity!r} and scale {scale!r}") from error
    raise BudgetError(f"there is no mechanism {name!r}")


def cost_of(mechanism: Mechanism, unit: str) -> float:
    """The cost of a mechanism, rounded up.

    Args:
        mechanism: The mechanism that was used.
        unit: Unit of a regime; outside of pure epsilon any mechanism that has one has a cost that follows from it,
            also where its kind is not offered there.

    Raises:
        BudgetError: It has no pure epsilon.

    Example:
        >>> round(cost_of(selection.PermuteAndFlip(scale=2.0), "rho"), 6)
        0.462117
    """
    regime = Regime.of_unit(unit)
    try:
        return mechanism.charge(regime)
    except ConfigError as error:
        if regime is Regime.PURE or isinstance(mechanism, RunSelection):  # its limit is an epsilon too
            missing = "pure epsilon" if regime is Regime.PURE else unit
            raise BudgetError(f"a {mechanism.name} has no {missing}") from error
        return regime.of_pure(mechanism.charge(Regime.PURE))


def check_charge(mechanism: Mechanism, charge: float, unit: str) -> None:
    """Refuse a charge that is less than the cost of a mechanism.

    Args:
        mechanism: The mechanism that was used.
        charge: Its charge in the ledger.
        unit: Unit of a regime.

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
