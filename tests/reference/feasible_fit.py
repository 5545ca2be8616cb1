"""Slow, obvious fits: each step changes the log-weight of every record that can exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.models import Phase, marginal_step, query_step
from hedgerow.queries import LinearQuery, Measurable, Measurement
from tests.reference.feasible_model import FeasibleModel


def fit(model: FeasibleModel, known: Sequence[Measurement], phases: Iterable[Phase], order: Sequence[int]) -> None:
    """Take all steps of some phases, each sweep in the same order of the measurements."""
    ends = np.cumsum([measured.values.size for measured in known])
    for phase in phases:
        targets = [values.copy() for values in np.split(phase.targets, ends[:-1])]
        for share in phase.shares:
            for i in order:
                after = step(model, known[i].target, targets[i], share * phase.rates[i], phase.kind)
                if phase.kind == "joint":
                    targets[i] = after


def step(model: FeasibleModel, target: Measurable, wanted: Floats, rate: float, kind: str) -> Floats:
    """Take one step; returns the answers of a joint one after it, and what was wanted of what is known."""
    cells = model.cells_of(target.scope)
    size = int(np.prod(model.domain.shape_of(target.scope)))
    p = model.masses / model.total
    if isinstance(target, LinearQuery):
        return _query(model, target.values().reshape(-1)[cells], p, wanted, rate, kind)
    mu, possible = np.bincount(cells, weights=p, minlength=size), np.bincount(cells, minlength=size) > 0
    factors = np.zeros(size)
    if kind == "explicit":
        factors[possible] = rate * (wanted - mu)[possible]
    else:
        factors[possible] = marginal_step(mu[possible], wanted[possible], rate)
    model.logs = model.logs + factors[cells]
    after = mu * np.exp(factors)
    return np.where(possible, after / after.sum(), wanted)


def _query(model: FeasibleModel, q: Floats, p: Floats, wanted: Floats, rate: float, kind: str) -> Floats:
    values, which = np.unique(q, return_inverse=True)
    if len(values) == 1:
        return wanted
    if kind == "explicit":
        moved = rate * (float(wanted[0]) - float(p @ q))
    else:
        moved = query_step(values, np.bincount(which, weights=p), float(wanted[0]), rate)
    model.logs = model.logs + moved * q
    return wanted - moved / rate
