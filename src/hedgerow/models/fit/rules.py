"""The rules of a fit: which steps are taken towards the measurements, and how long they are.

Measurements are noisy and never fitted exactly: what counts is the total length of the steps relative to the noise.
Step sizes are in fractions of the total.

`Sweeps`, `Proximal` and `Stretched` start again with each new answer, and take tens of sweeps over all of them.
`Onward` and `Resumed` go on from the last fit when one more count is known. There the hypothesis is the p that
minimises, with the initial hypothesis mu and noisy answers y of standard deviation sigma,

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

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.models.answering import Answering
from hedgerow.models.core import Model
from hedgerow.models.core.steps import CELL_RATES, Phase, Step, query_rate
from hedgerow.models.dense import Histogram
from hedgerow.models.fit.consistency import consistent
from hedgerow.models.trees import Markov
from hedgerow.queries import Conjunction, LinearQuery, Measurement

_FIRST_STEP = 4.0
_LONGEST = 1e12


class _AsItIs:
    """A rule that goes on from the model as it is, and shares its sweeps with all that do."""

    anew: ClassVar[bool] = False
    """Starts from the model as it is, and keeps the order of the measurements."""

    def longest(self, measurements: Sequence[Measurement], total: float) -> float:
        """No lengths: all parts share their sweeps."""
        return 0.0


@dataclass(frozen=True)
class Sweeps(_AsItIs):
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

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.sweeps < 1 or self.step not in ("source", "sharp"):
            raise ConfigError(f"{self} cannot be run", remedy="sweeps >= 1, step 'source' or 'sharp'")

    def phases(self, measurements: Sequence[Measurement], total: float) -> list[Phase]:
        """The steps, in fractions of the total."""
        targets = np.concatenate([measured.values for measured in measurements]) / total
        rates = np.array(
            [
                query_rate(m.target.bounds, self.step) if isinstance(m.target, LinearQuery) else CELL_RATES[self.step]
                for m in measurements
            ]
        )
        near = _clipped(targets, measurements) if self.clip else targets
        return [Phase("explicit", near, rates, np.ones(self.sweeps))]


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
        adapted: Whether c is taken for a first guess: the fit is as long as its estimated error asks for
            (``stopping.py``), and longer for single queries that noise does not explain (``stopping.py``).

    Example:
        >>> Proximal(adapted=True).quick()
        Proximal(c=0.6, growth=4.0, polish=2, adapted=False)
    """

    c: float = 0.6
    growth: float = 1.5
    polish: int = 16
    adapted: bool = False

    anew: ClassVar[bool] = True
    """Starts from the initial hypothesis; measurements of the same attributes are stepped one after the other."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (0.0 < self.c < math.inf and 1.0 < self.growth <= 1e6 and self.polish >= 0):
            raise ConfigError(f"{self} cannot be run", remedy="c > 0, growth > 1 and polish >= 0")

    def quick(self) -> Proximal:
        """The same with fewer sweeps, for the fits between rounds."""
        return replace(self, growth=max(self.growth, 4.0), polish=min(self.polish, 2), adapted=False)

    def phases(self, measurements: Sequence[Measurement], total: float) -> list[Phase]:
        """The steps, in fractions of the total."""
        return self.phases_of(measurements, total, [1.0] * len(measurements))

    def phases_of(self, measurements: Sequence[Measurement], total: float, factors: Sequence[float]) -> list[Phase]:
        """The same with a factor for the length of each measurement."""
        targets = np.concatenate(consistent(measurements, total))
        lengths = np.array([self._length(measured, total) for measured in measurements]) * factors
        *shares, last = self._shares(lengths.max())
        return [
            Phase("implicit", targets, lengths, np.array(shares)),
            Phase("joint", targets, last * lengths, np.ones(1 + self.repeats(measurements))),
        ]

    def repeats(self, measurements: Sequence[Measurement]) -> int:
        """Number of times that the last step is repeated: one measurement alone agrees with itself at once."""
        return self.polish if len(measurements) > 1 else 0

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


@dataclass(frozen=True, eq=False)
class Stretched:
    """A rule with longer or shorter steps for some measurements.

    Attributes:
        factors: For each measurement the factor of its length, by identity.
    """

    rule: Proximal
    factors: Mapping[int, float]

    anew: ClassVar[bool] = True

    @property
    def c(self) -> float:
        """Length of the fit of measurements whose steps are not longer."""
        return self.rule.c

    def phases(self, measurements: Sequence[Measurement], total: float) -> list[Phase]:
        """The steps, in fractions of the total."""
        return self.rule.phases_of(measurements, total, [self.factors[id(measured)] for measured in measurements])

    def longest(self, measurements: Sequence[Measurement], total: float) -> float:
        """Fits with the same number share their sweeps."""
        return max(self.factors[id(m)] * self.rule.longest([m], total) for m in measurements)


@dataclass(frozen=True, eq=False)
class Onward(_AsItIs):
    """A fit that goes on from where a shorter one ended, in one step of all measurements together.

    Attributes:
        rule: The fit to arrive at.
        since: Length of the fit so far, as ``rule.c`` gives it.
    """

    rule: Proximal
    since: float

    @property
    def c(self) -> float:
        """Length of the step."""
        return self.rule.c - self.since

    def phases(self, measurements: Sequence[Measurement], total: float) -> list[Phase]:
        """The steps, in fractions of the total."""
        rule = self.rule
        lengths = [self.c / rule.c * rule.longest([measured], total) for measured in measurements]
        return [
            Phase(
                "joint",
                np.concatenate(consistent(measurements, total)),
                np.array(lengths),
                np.ones(1 + rule.repeats(measurements)),
            )
        ]


@dataclass(frozen=True, eq=False)
class Resumed(_AsItIs):
    """Joint steps towards counts, from the point that an earlier fit reached (``rules.py``).

    Attributes:
        towards: For each measurement, by identity, the answer less what its steps so far hold back, as a fraction; and
            the length of its steps.
        sweeps: Number of times that each step is taken.
    """

    towards: Mapping[int, tuple[float, float]]
    sweeps: int

    def phases(self, measurements: Sequence[Measurement], total: float) -> list[Phase]:
        """The steps, in fractions of the total."""
        goals, lengths = np.array([self.towards[id(measurement)] for measurement in measurements]).T
        return [Phase("joint", goals, lengths, np.ones(self.sweeps if len(measurements) > 1 else 1))]


Rule = Sweeps | Proximal | Stretched | Onward | Resumed


def _clipped(targets: Floats, measurements: Sequence[Measurement]) -> Floats:
    """Targets moved into the range that they have without noise."""
    bounds = np.array([measured.target.bounds for measured in measurements])
    low, high = np.repeat(bounds, [measured.values.size for measured in measurements], axis=0).T
    return np.clip(targets, low, high)


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
