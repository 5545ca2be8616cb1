"""Longer fits of single queries that were left further from their noisy answers than noise explains.

A fit of length ``t = c / sigma`` multiplies the records of a query by at most ``exp(t y)``. That is enough where the
initial hypothesis is roughly right. It is not where that gives a group next to nothing, as the uniform one does under
constraints: of 10^13 records that can exist, few may be children. A fit is too short as long as it is further from a
noisy answer than noise is (Morozov's discrepancy principle; Engl, Hanke and Neubauer, "Regularization of Inverse
Problems" (1996), section 4.3). All of this is a function of noisy answers and public numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.models.core import Model
from hedgerow.models.core.steps import can_be, query_step, value_masses
from hedgerow.queries import LinearQuery, Measurement

_EXPLAINED = 2.0
"""Distance from a noisy answer up to which noise explains it, in standard deviations."""
_LEAST = 4.0
"""Smallest factor: where queries overlap, what one of them alone would need is too little."""
_TO_THE_END = 1e12
"""Length of a step that ends at its target."""


def held_back(model: Model, measurements: Sequence[Measurement], lengths: Floats) -> Floats:
    """Factors for the lengths of the fits of single queries that need longer ones.

    A step of length dt towards y multiplies by ``exp(dt (y - p) q)``, where p is the answer after it. Added is the
    length of the step that would end one standard deviation from y, if the query were alone.

    Args:
        model: The hypothesis after the fit.
        measurements: The measurements that it was fitted to.
        lengths: Lengths of their fits, shape ``(measurements,)``.

    Returns:
        Shape ``(measurements,)``; 1 for marginals, for answers without noise, and where noise explains the distance.
    """
    found = np.ones(len(measurements))
    for i, measured in enumerate(measurements):
        if isinstance(measured.target, LinearQuery) and measured.std > 0.0:
            missing = _missing(model, measured.target, measured)
            found[i] = max(_LEAST, 1.0 + missing / lengths[i]) if missing else 1.0
    return found


def _missing(model: Model, query: LinearQuery, measured: Measurement) -> float:
    """The length that a fit is short of; 0 where noise explains its distance from what the answer can be."""
    sigma, (low, high) = measured.std / model.total, query.bounds
    y = min(max(float(measured.values[0]) / model.total, low), high)
    residual = y - float(query.on(model)[0]) / model.total
    if abs(residual) <= _EXPLAINED * sigma:
        return 0.0
    masses = value_masses(query, model.marginals([query.scope])[0].reshape(-1) / model.total, can_be(query))
    return abs(query_step(*masses, y - math.copysign(sigma, residual), _TO_THE_END)) / sigma
