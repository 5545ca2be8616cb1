"""A fit to counts that goes on from the last one when one more count is known.

The fits of ``rules.py`` start again with each new answer, and take tens of sweeps over all of them. Here the
hypothesis is the p that minimises, with the initial hypothesis mu and noisy answers y of standard deviation sigma,

    KL(p || mu) + sum over counts q of h((y - q(p)) / sigma),

that is ``p ~ mu exp(sum s q)`` with steps s that are ``SHORTEST`` times the residual in units of the noise, and as much
more as leaves no residual larger than ``FARTHEST`` of them. It is the distribution of largest entropy with bounds on
the residuals (Dudik, Phillips and Schapire, "Maximum entropy density estimation with generalized regularization and an
application to species distribution modeling", JMLR 2007), rounded where steps are short, and the same whatever the
order of the answers. The steps so far say how much longer that of each count is now, as in iteratively reweighted least
squares; joint steps from the last p lead to the next, and only counts that the newest answer moved need any.

Everything is a function of noisy answers, so it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.models.answering import Answering
from hedgerow.models.core import Model
from hedgerow.models.dense import Histogram
from hedgerow.models.fit.rules import Resumed
from hedgerow.models.trees import Markov
from hedgerow.queries import Conjunction, Measurement

SHORTEST = 2.0
"""Length c of a step relative to the noise (docs/measurements.md)."""
FARTHEST = 0.7
"""Largest distance from an answer that longer steps leave, in standard deviations."""
CLOSE = 0.2
"""Distance from the optimum, in standard deviations, at which a count needs no step."""
ROUNDS = 2
"""Number of times that the lengths are taken anew: those of the newest answer are not known at first."""
SWEEPS = 4
"""Joint steps of each round."""


def can_resume(measurements: Sequence[Measurement]) -> bool:
    """Whether all measurements are noisy counts, each of another condition: then their steps are known apart."""
    counts = [m.target for m in measurements if isinstance(m.target, Conjunction) and m.std > 0.0]
    return len({(count.scope, count.codes) for count in counts}) == len(measurements)


def go_on(
    model: Model, measurements: Sequence[Measurement], take: Callable[[Sequence[Measurement], Resumed], None]
) -> None:
    """Go on to the fit to all measurements, from that to all but the last.

    Args:
        model: The hypothesis, changed in place.
        measurements: Counts that ``can_resume``.
        take: Takes the steps of a rule towards some measurements.
    """
    counts = [measurement.target for measurement in measurements if isinstance(measurement.target, Conjunction)]
    values = np.clip([float(measurement.values[0]) / model.total for measurement in measurements], 0.0, 1.0)
    sigmas = np.array([measurement.std for measurement in measurements]) / model.total
    moved = np.zeros(len(counts), dtype=np.bool_)
    for _ in range(ROUNDS):
        state = model.updates() if isinstance(model, Markov) else cast("Histogram", model).potentials()
        known = {(query.scope, query.codes): step for query, step in state.steps.items()}
        taken = np.array([known.get((count.scope, count.codes), 0.0) for count in counts])
        lengths: Floats = np.maximum(SHORTEST, np.abs(taken) / FARTHEST) / sigmas
        goals = values - taken / lengths
        left = goals - Answering(model).values(counts) / model.total
        off = np.abs(left) > CLOSE * sigmas
        if not off.any():
            return
        moved |= off  # what others moved may move these back
        towards = {id(measurements[i]): (float(goals[i]), float(lengths[i])) for i in np.flatnonzero(moved).tolist()}
        take([measurement for measurement in measurements if id(measurement) in towards], Resumed(towards, SWEEPS))
