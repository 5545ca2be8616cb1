"""Mechanisms rebuilt from the numbers of a ledger's events, so that no one has to believe a charge.

An event names its mechanism and gives sensitivity, scale and number of values. That is all that the charge follows
from, so it is computed again whenever an event is made or read: a charge below what the mechanism costs is refused.

**Events of the first format** of files and stores are brought up to date where they are read. Two things were missing.
The scale of a sparse vector's threshold noise stood in words alone, to six digits: it is computed from the charge, and
compared with the words. And charges of two kinds named no mechanism, that of an earlier release as one sum and that of
a hold that was lost: they become additive noise that costs as much, and say so.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from hedgerow.errors import BudgetError, ConfigError
from hedgerow.privacy.budgets import TOLERANCE, Regime, epsilon_of_pure_rho
from hedgerow.privacy.mechanisms import selection
from hedgerow.privacy.mechanisms.additive_noise import AdditiveNoise, GaussianNoise, LaplaceNoise
from hedgerow.privacy.mechanisms.sparse_vector import SPARSE_VECTOR, SparseVector
from hedgerow.privacy.mechanisms.thresholds import THRESHOLDED, ThresholdedCounts

Mechanism = AdditiveNoise | selection.Selection | SparseVector | ThresholdedCounts

LAPLACE, GAUSSIAN = LaplaceNoise(1.0).name, GaussianNoise(1.0).name

_ADDITIVE: dict[str, type[LaplaceNoise] | type[GaussianNoise]] = {LAPLACE: LaplaceNoise, GAUSSIAN: GaussianNoise}

_SHORT = 1.0 - 2.0**-51
"""Half of what charges are raised by: logarithms of another machine may differ in a last bit, no charge is too low."""

_NAMELESS = ("earlier release", "interrupted")
COSTS_AS_MUCH = "(noise that costs as much)"
"""End of the targets of events of format 1 that named no mechanism."""
_THRESHOLD = re.compile(r"with noise of scale ([-+.e\d]+), up to")
_AGREE = 1e-4
"""Largest relative difference between the scale in words, of six digits, and the one that follows from the charge."""
_MORE = 1.0 + TOLERANCE
"""Scales are made a little larger, so that what they cost does not pass the charge by rounding."""


def mechanism_of(
    name: str, *, sensitivity: float, scale: float, values: int = 1, threshold_scale: float = 0.0
) -> Mechanism:
    """The mechanism that an event of the ledger describes.

    Args:
        name: Name of the mechanism, as the ledger has it.
        sensitivity: Sensitivity in counts, or in units of score.
        scale: Scale in the same unit; for a sparse vector, that of its tests.
        values: Number of values that were released: draws, or fires of a sparse vector.
        threshold_scale: Scale of a sparse vector's threshold noise, or the threshold of counts that are told.

    Raises:
        BudgetError: There is no such mechanism, or it cannot have these numbers.

    Example:
        >>> mechanism_of("discrete Laplace", sensitivity=1.0, scale=4.0).charge(Regime.PURE) >= 0.25
        True
    """
    try:
        match name:
            case _ if name in _ADDITIVE:
                return _ADDITIVE[name](scale, sensitivity)
            case selection.EXPONENTIAL:
                return selection.ExponentialMechanism(scale, sensitivity)
            case selection.PERMUTE_AND_FLIP:
                return selection.PermuteAndFlip(scale, sensitivity)
            case selection.ONE_DRAW | selection.DRAWS:
                return selection.IndependentDraws(scale, sensitivity, values)
            case _ if name == SPARSE_VECTOR:
                return SparseVector(threshold_scale, scale, sensitivity, values)
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
        if regime is Regime.PURE:
            raise BudgetError(f"a {mechanism.name} has no pure epsilon") from error
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


def upgraded(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event of the first format as one of today; one that is of today's is not changed.

    Args:
        event: Values from JSON.

    Raises:
        BudgetError: It does not say what it was.
        KeyError, TypeError, ValueError: It was no event.

    Example:
        >>> old = {"label": "lost", "mechanism": "interrupted", "target": "an answer", "sensitivity": 0.0, "scale": 0.0,
        ...        "charge": 0.5, "unit": "epsilon", "neighbours": "replace", "values": 1}
        >>> new = upgraded(old)
        >>> new["mechanism"], round(new["scale"], 9), new["charge"], new["target"]
        ('discrete Laplace', 2.0, 0.5, 'an answer (noise that costs as much)')
    """
    if "threshold_scale" in event:
        return dict(event)
    told = {**event, "threshold_scale": 0.0}
    if event["mechanism"] in _NAMELESS:
        return told | _as_noise(event)
    if event["mechanism"] == SPARSE_VECTOR:
        return told | {"threshold_scale": _threshold_scale(event)}
    return told


def _as_noise(event: Mapping[str, Any]) -> dict[str, Any]:
    """Noise of sensitivity 1 that costs as much as an event which names no mechanism."""
    charge = float(event["charge"])
    if not 0.0 < charge < math.inf:
        raise BudgetError("only public numbers are free of charge")
    if event["unit"] == "epsilon":
        name, scale = LAPLACE, 1.0 / charge
    else:
        name, scale = GAUSSIAN, math.sqrt(0.5 / charge)
    target = f"{event['target']} {COSTS_AS_MUCH}"
    return {"mechanism": name, "sensitivity": 1.0, "scale": scale * _MORE, "target": target}


def _threshold_scale(event: Mapping[str, Any]) -> float:
    """The scale of a sparse vector's threshold noise: what its charge leaves beside the tests."""
    charge, sensitivity = float(event["charge"]), float(event["sensitivity"])
    epsilon = charge if event["unit"] == "epsilon" else epsilon_of_pure_rho(charge)
    rest = epsilon - 2.0 * int(event["values"]) * sensitivity / float(event["scale"])
    said = _THRESHOLD.search(str(event["target"]))
    if said is None or not rest > 0.0 or not math.isclose(sensitivity / rest, float(said[1]), rel_tol=_AGREE):
        raise BudgetError("the charge of a sparse vector is not that of the noise that it names")
    return sensitivity / rest * _MORE
