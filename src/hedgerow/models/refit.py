"""Bring a hypothesis in line with all measurements so far.

Measurements are noisy and never fitted exactly: what counts is the total length of the steps relative to the noise.
Everything here is a function of noisy answers, so it costs no privacy. Step sizes are in fractions of the total.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np

from hedgerow.errors import ConfigError
from hedgerow.models.grouping import grouped
from hedgerow.models.histogram import Histogram
from hedgerow.models.model import Model
from hedgerow.models.steps import CELL_RATES, Run, Step, explicit, implicit, query_rate, runs, stable
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.query import Floats, LinearQuery

_FIRST_STEP = 4.0
_LONGEST = 1e12
_POLISH_STEP = 4.0


@final
@dataclass(frozen=True)
class Sweeps:
    """The paper's rule: go through all measurements many times, one multiplicative-weights step each.

    Theory.md sections 1 and 2; the step is taken from the hypothesis as it is.

    Attributes:
        sweeps: How often to go through all measurements.
        step: ``"source"`` (eta = r / 2) or ``"sharp"`` (eta = 4 r / w**2 for a query, 2 r for the cells of a marginal),
            with the residual r in fractions.
        clip: Whether noisy answers are moved into their possible range first, which bounds every step.

    Example:
        >>> Sweeps(sweeps=10).step
        'source'
    """

    sweeps: int = 100
    step: Step = "source"
    clip: bool = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.sweeps < 1 or self.step not in ("source", "sharp"):
            raise ConfigError(f"{self} cannot be run", remedy="sweeps >= 1, step 'source' or 'sharp'")

    def fit(self, model: Model, measurements: Sequence[Measurement]) -> None:
        """Take the steps, in the order of the measurements."""
        targets = [self._target(measured, model.total) for measured in measurements]
        rates = [self._rate(measured) for measured in measurements]
        plan = [
            (group, runs(measurements, targets, rates, group.members))
            for group in grouped(model, measurements, ordered=True)
        ]
        if len(plan) == 1 and len(plan[0][1]) == 1:
            plan[0][0].run(model, lambda marginal: explicit(marginal, plan[0][1][0], self.sweeps))
            return
        for _ in range(self.sweeps):
            for group, steps in plan:
                group.run(model, partial(_each, explicit, steps))

    def _target(self, measured: Measurement, total: float) -> Floats:
        fractions = measured.values / total
        return np.clip(fractions, *measured.target.bounds) if self.clip else fractions

    def _rate(self, measured: Measurement) -> float:
        if not isinstance(measured.target, LinearQuery):
            return CELL_RATES[self.step]
        return query_rate(measured.target.bounds, self.step)


@final
@dataclass(frozen=True)
class Proximal:
    """Implicit steps of growing length, stopped early: faster and more accurate than sweeps of small steps.

    Starts from the initial hypothesis. The steps of a measurement add up to ``t = c / sigma``, where sigma is the
    standard deviation of its noise as a fraction: precise measurements are fitted closely, noisy ones loosely. A few
    small explicit sweeps at the end remove the bias towards the measurement visited last.

    Attributes:
        c: Length of the fit relative to the noise; 0.3 to 0.8 all work well.
        growth: Ratio of the steps of two consecutive sweeps.
        polish: Number of explicit sweeps at the end.

    Example:
        >>> Proximal().quick()
        Proximal(c=0.5, growth=4.0, polish=2)
    """

    c: float = 0.5
    growth: float = 2.0
    polish: int = 8

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (0.0 < self.c < math.inf and 1.0 < self.growth <= 1e6 and self.polish >= 0):
            raise ConfigError(f"{self} cannot be run", remedy="c > 0, growth > 1 and polish >= 0")

    def quick(self) -> Proximal:
        """The same with fewer sweeps, for the fits between rounds."""
        return replace(self, growth=max(self.growth, 4.0), polish=min(self.polish, 2))

    def fit(self, model: Model, measurements: Sequence[Measurement]) -> None:
        """Reset the model and take the steps; measurements of the same attributes are stepped one after the other."""
        model.reset()
        targets = [measured.values / model.total for measured in measurements]
        lengths = [self._length(measured, model.total) for measured in measurements]
        groups = grouped(model, measurements, ordered=False)
        for share in self._shares(max(lengths, default=0.0)):
            rates = [share * length for length in lengths]
            for group in groups:
                group.run(model, partial(_each, implicit, runs(measurements, targets, rates, group.members)))
        near = [np.clip(t, *measured.target.bounds) for t, measured in zip(targets, measurements, strict=True)]
        rates = [_polish_rate(measured, length) for measured, length in zip(measurements, lengths, strict=True)]
        for _ in range(self.polish):
            for group in groups:
                group.run(model, partial(_each, stable, runs(measurements, near, rates, group.members)))

    def _length(self, measured: Measurement, total: float) -> float:
        sigma = measured.std / total
        return self.c / sigma if sigma * _LONGEST > self.c else _LONGEST

    def _shares(self, longest: float) -> Floats:
        """Parts of the whole length that each sweep takes; they sum to 1."""
        growth = self.growth
        sweeps = math.ceil(math.log1p(longest * (growth - 1.0) / _FIRST_STEP) / math.log(growth) - 1e-9)
        powers = growth ** -np.arange(max(1, sweeps), dtype=np.float64)[::-1]
        return np.asarray(powers / powers.sum())


Refit = Sweeps | Proximal


def refit(model: Model, measurements: Sequence[Measurement], rule: Refit) -> None:
    """Fit a model to noisy measurements, in place.

    Args:
        model: The hypothesis.
        measurements: What is known, over the domain of the model; all are used.
        rule: How. ``Sweeps`` goes on from the model as it is and keeps the order, ``Proximal`` resets it first.

    Raises:
        ConfigError: A measured value is not finite, or its noise has a negative scale.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> from hedgerow.domain import Domain
        >>> from hedgerow.queries.measurement import NoiseKind
        >>> from hedgerow.queries.query import Marginal
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> model = Histogram(domain, total=100)
        >>> noisy = Measurement(Marginal(domain, ("a",)), np.array([81.0, 21.0]), NoiseKind.GAUSSIAN, 1.0)
        >>> refit(model, [noisy], Proximal())
        >>> model.marginals([("a",)])[0].round()
        array([80., 20.])
    """
    for measured in measurements:
        if not (np.isfinite(measured.values).all() and measured.scale >= 0.0):
            raise ConfigError(f"the measurement of {measured.target.text} is not finite", remedy="measure it again")
    if not measurements:
        return
    scopes = [measured.target.scope for measured in measurements]
    parts = model.parts(scopes) if isinstance(model, Histogram) else []
    for part in parts:
        inside = [measured for measured in measurements if set(measured.target.scope) <= set(part.domain.names)]
        rule.fit(part, inside)
    if isinstance(model, Histogram) and parts:
        model.take_over(parts)
    else:
        rule.fit(model, list(measurements))


def _each(step: Callable[[Model, Run], None], steps: Sequence[Run], model: Model) -> None:
    for run in steps:
        step(model, run)


def _polish_rate(measured: Measurement, length: float) -> float:
    """Small, and never longer than what the noise allows in all."""
    low, high = measured.target.bounds
    return min(_POLISH_STEP / max(high - low, 1e-6) ** 2, length)
