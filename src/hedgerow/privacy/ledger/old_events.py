"""Events as the first format of files and stores had them, brought up to date where they are read.

Two things were missing. The scale of a sparse vector's threshold noise stood in words alone, to six digits: it is
computed from the charge, and compared with the words. And charges of two kinds named no mechanism, that of an earlier
release as one sum and that of a hold that was lost: they become additive noise that costs as much, and say so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hedgerow.errors import BudgetError
from hedgerow.privacy.budgets import TOLERANCE, epsilon_of_pure_rho
from hedgerow.privacy.mechanisms import SPARSE_VECTOR, GaussianNoise, LaplaceNoise

_NAMELESS = ("earlier release", "interrupted")
_THRESHOLD = re.compile(r"with noise of scale ([-+.e\d]+), up to")
_AGREE = 1e-4
"""How far the scale in words, of six digits, may be from the one that follows from the charge, relatively."""
_MORE = 1.0 + TOLERANCE
"""Scales are made a little larger, so that what they cost does not pass the charge by rounding."""


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
        name, scale = LaplaceNoise(1.0).name, 1.0 / charge
    else:
        name, scale = GaussianNoise(1.0).name, math.sqrt(0.5 / charge)
    target = f"{event['target']} (noise that costs as much)"
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
