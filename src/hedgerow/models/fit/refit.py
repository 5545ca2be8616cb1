"""Bring a hypothesis in line with all measurements so far.

Measurements are noisy and never fitted exactly: what counts is the total length of the steps relative to the noise.
Everything here is a function of noisy answers, so it costs no privacy. Step sizes are in fractions of the total.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, groupby
from typing import ClassVar, final

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.models.classes import ValueClasses
from hedgerow.models.core import Model
from hedgerow.models.core.steps import CELL_RATES, Kind, Phase, Run, Step, explicit, implicit, joint, query_rate, runs
from hedgerow.models.dense import Histogram
from hedgerow.models.fit.consistency import consistent
from hedgerow.models.fit.grouping import Group, grouped
from hedgerow.models.fit.newton import Newton, solvable
from hedgerow.models.tree_fit import TreeFit
from hedgerow.models.trees import Beliefs, Markov
from hedgerow.queries import LinearQuery, Measurement

_FIRST_STEP = 4.0
_LONGEST = 1e12
_PARITIES = 2.0
"""Parities are fitted best with longer steps (docs/measurements.md)."""


@final
@dataclass(frozen=True)
class Sweeps:
    """The paper's rule: go through all measurements many times, one multiplicative-weights step each.

    Theory.md sections 1 and 2; the step is taken from the hypothesis as it is.

    Attributes:
        sweeps: Number of times to go through all measurements.
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

    anew: ClassVar[bool] = False
    """Starts from the model as it is, and keeps the order of the measurements."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.sweeps < 1 or self.step not in ("source", "sharp"):
            raise ConfigError(f"{self} cannot be run", remedy="sweeps >= 1, step 'source' or 'sharp'")

    def phases(self, measurements: Sequence[Measurement], total: float) -> list[Phase]:
        """The steps, in fractions of the total."""
        targets = np.concatenate([measured.values for measured in measurements]) / total
        rates = np.array([self._rate(measured) for measured in measurements])
        near = _clipped(targets, measurements) if self.clip else targets
        return [Phase("explicit", near, rates, np.ones(self.sweeps))]

    def longest(self, measurements: Sequence[Measurement], total: float) -> float:
        """Fits with the same number share their sweeps."""
        return 0.0

    def _rate(self, measured: Measurement) -> float:
        if not isinstance(measured.target, LinearQuery):
            return CELL_RATES[self.step]
        return query_rate(measured.target.bounds, self.step)


@final
@dataclass(frozen=True)
class Proximal:
    """Implicit steps of growing length, stopped early: faster and more accurate than sweeps of small steps.

    Starts from the initial hypothesis. The steps of a measurement add up to ``t = c / sigma``, where sigma is the
    standard deviation of its noise as a fraction: precise measurements are fitted closely, noisy ones loosely. The last
    step is repeated until the measurements agree on it, which removes the bias towards the one visited last. Marginals
    that overlap are averaged first (`consistency.py`).

    Attributes:
        c: Length of the fit relative to the noise; 0.5 to 1 all work well.
        growth: Ratio of the steps of two consecutive sweeps.
        polish: Number of times the last step is repeated.

    Example:
        >>> Proximal().quick()
        Proximal(c=0.6, growth=4.0, polish=2)
    """

    c: float = 0.6
    growth: float = 1.5
    polish: int = 16

    anew: ClassVar[bool] = True
    """Starts from the initial hypothesis; measurements of the same attributes are stepped one after the other."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (0.0 < self.c < math.inf and 1.0 < self.growth <= 1e6 and self.polish >= 0):
            raise ConfigError(f"{self} cannot be run", remedy="c > 0, growth > 1 and polish >= 0")

    def quick(self) -> Proximal:
        """The same with fewer sweeps, for the fits between rounds."""
        return replace(self, growth=max(self.growth, 4.0), polish=min(self.polish, 2))

    def phases(self, measurements: Sequence[Measurement], total: float) -> list[Phase]:
        """The steps, in fractions of the total."""
        targets = np.concatenate(consistent(measurements, total))
        lengths = np.array([self._length(measured, total) for measured in measurements])
        *shares, last = self._shares(lengths.max())
        return [
            Phase("implicit", targets, lengths, np.array(shares)),
            Phase("joint", targets, last * lengths, np.ones(1 + self.polish)),
        ]

    def longest(self, measurements: Sequence[Measurement], total: float) -> float:
        """Fits with the same number share their sweeps."""
        return max(self._length(measured, total) for measured in measurements)

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


@final
@dataclass(frozen=True, eq=False)
class _Source:
    """The measurements that a part was fitted to, and the rule."""

    rule: Refit
    measurements: Sequence[Measurement]


def refit(model: Model, measurements: Sequence[Measurement], rule: Refit) -> None:
    """Fit a model to noisy measurements, in place.

    Args:
        model: The hypothesis.
        measurements: Measurements over the domain of the model; all are used.
        rule: The rule of the fit. ``Sweeps`` starts from the model as it is and keeps the order, ``Proximal`` resets it
            first.

    Raises:
        ConfigError: A measured value is not finite, or its noise has a negative scale.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> model = Histogram(domain, total=100)
        >>> noisy = Measurement(Marginal(domain, ("a",)), np.array([81.0, 21.0]), NoiseKind.GAUSSIAN, 1.0)
        >>> refit(model, [noisy], Proximal())
        >>> model.marginals([("a",)])[0].round()
        array([80., 20.])
    """
    if not measurements:
        return
    every_value = np.concatenate([measured.values for measured in measurements])
    if not (np.isfinite(every_value).all() and all(measured.scale >= 0.0 for measured in measurements)):
        text = next(
            each.target.text for each in measurements if not (np.isfinite(each.values).all() and each.scale >= 0.0)
        )
        raise ConfigError(f"the measurement of {text} is not finite", remedy="measure it again")
    if isinstance(model, ValueClasses):
        if rule.anew:
            model.reset()
        inner, over_classes = model.over_classes(measurements)
        refit(inner, over_classes, rule)
        model.take_over(inner)
    elif isinstance(model, Markov):
        _refit_trees(model, measurements, rule)
    elif isinstance(model, Histogram) and (parts := model.parts([measured.target.scope for measured in measurements])):
        for part in parts:
            _run(part, [each for each in measurements if set(each.target.scope) <= set(part.domain.names)], rule)
        model.take_over(parts)
    else:
        _run(model, measurements, rule)


def _run(model: Model, measurements: Sequence[Measurement], rule: Refit) -> None:
    """Step by step, as every model can; parities alone by Newton's method."""
    if isinstance(rule, Proximal) and isinstance(model, Histogram) and solvable(measurements):
        Newton(_PARITIES * rule.c).fit(model, measurements)
        return
    if rule.anew:
        model.reset()
    if measurements:
        _take_steps(model, measurements, rule)


def _take_steps(model: Model, measurements: Sequence[Measurement], rule: Refit) -> None:
    groups = grouped(model, measurements, ordered=not rule.anew)
    ends = list(accumulate(measured.values.size for measured in measurements))
    for phase in rule.phases(measurements, model.total):
        targets = np.split(phase.targets, ends[:-1])
        for share, equal in groupby(phase.shares.tolist()):
            rates = (share * phase.rates).tolist()
            plan = [(group, runs(measurements, targets, rates, group.members)) for group in groups]
            _sweep(model, plan, phase.kind, sum(1 for _ in equal))


def _sweep(model: Model, plan: Sequence[tuple[Group, list[Run]]], kind: Kind, sweeps: int) -> None:
    group, steps = plan[0]
    if kind == "explicit" and len(plan) == len(steps) == 1:
        group.run(model, lambda marginal: explicit(marginal, steps[0], sweeps))
        return
    for _ in range(sweeps):
        for each, several in plan:
            each.run(model, partial(_each, _STEPS[kind], several))


def _refit_trees(model: Markov, measurements: Sequence[Measurement], rule: Refit) -> None:
    """Each part apart, and only those that were not fitted to the same measurements before."""
    known = [measured for measured in measurements if measured.target.scope]
    model.cover(measured.target.scope for measured in known)
    inside: dict[int, list[Measurement]] = {id(part): [] for part in model.forest}
    for measured in known:
        inside[id(model.part(measured.target.scope[0]))].append(measured)
    left = [(part, inside[id(part)]) for part in model.forest if not _is_fitted(part, inside[id(part)], rule)]
    if rule.anew:
        fresh = model.restart([part for part, _ in left])
        left = [(part, mine) for part, (_, mine) in zip(fresh, left, strict=True)]
    batches: dict[float, list[tuple[Beliefs, list[Measurement]]]] = {}
    for part, mine in left:
        if mine:
            batches.setdefault(rule.longest(mine, model.total), []).append((part, mine))
    for batch in batches.values():
        if not _fit_trees(model, batch, rule):
            for alone in batch:
                if len(batch) == 1 or not _fit_trees(model, [alone], rule):
                    _take_steps(model, alone[1], rule)
    for part, mine in left if rule.anew else ():
        model.part(part.tree.cliques[0][0]).source = _Source(rule, mine)


def _is_fitted(part: Beliefs, measurements: Sequence[Measurement], rule: Refit) -> bool:
    """Whether a fit that starts again would end where the part is."""
    before = part.source
    if not (rule.anew and isinstance(before, _Source) and before.rule == rule):
        return False
    return len(before.measurements) == len(measurements) and all(map(operator.is_, before.measurements, measurements))


def _fit_trees(model: Markov, batch: Sequence[tuple[Beliefs, list[Measurement]]], rule: Refit) -> bool:
    """Fit some parts in compiled sweeps, unless probabilities leave the range of floating point."""
    measurements = [measured for _, mine in batch for measured in mine]
    fit = TreeFit([part for part, _ in batch], measurements, ordered=not rule.anew)
    if not (all(fit.run(phase) for phase in rule.phases(measurements, model.total)) and fit.settle()):
        return False
    model.credit(fit.log_factors())
    return True


_STEPS: dict[Kind, Callable[[Model, Run], object]] = {"explicit": explicit, "implicit": implicit, "joint": joint}


def _each(step: Callable[[Model, Run], object], steps: Sequence[Run], model: Model) -> None:
    for run in steps:
        step(model, run)


def _clipped(targets: Floats, measurements: Sequence[Measurement]) -> Floats:
    """Targets moved into the range that they have without noise."""
    bounds = np.array([measured.target.bounds for measured in measurements])
    low, high = np.repeat(bounds, [measured.values.size for measured in measurements], axis=0).T
    return np.clip(targets, low, high)
