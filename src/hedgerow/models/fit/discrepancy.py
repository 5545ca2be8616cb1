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
from typing import cast

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.models.core import Model
from hedgerow.models.core.steps import can_be, query_step, value_masses
from hedgerow.queries import Conjunction, LinearQuery, Measurement, answered

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
    factors = np.ones(len(measurements))
    single = [i for i, m in enumerate(measurements) if isinstance(m.target, LinearQuery) and m.std > 0.0]
    answers = answered([measurements[i].target for i in single], model)
    for i, answer in zip(single, answers, strict=True):
        missing = _missing(model, measurements[i], float(answer[0]) / model.total)
        factors[i] = max(_LEAST, 1.0 + missing / lengths[i]) if missing else 1.0
    return factors


def _missing(model: Model, measured: Measurement, answer: float) -> float:
    """The length that a fit is short of; 0 where noise explains its distance from what the answer can be."""
    query = cast("LinearQuery", measured.target)
    sigma, (low, high) = measured.std / model.total, query.bounds
    y = min(max(float(measured.values[0]) / model.total, low), high)
    residual = y - answer
    if abs(residual) <= _EXPLAINED * sigma:
        return 0.0
    cells = can_be(query)
    if isinstance(query, Conjunction) and cells is None:
        masses = np.array([0.0, 1.0]), np.array([1.0 - answer, answer])
    else:
        masses = value_masses(query, model.marginals([query.scope])[0].reshape(-1) / model.total, cells)
    return abs(query_step(*masses, y - math.copysign(sigma, residual), _TO_THE_END)) / sigma
