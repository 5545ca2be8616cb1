"""When a fit stops: where going on would take in more noise than it takes out bias.

A fit goes along a path from the initial hypothesis towards noisy answers y, and both too short and too long ones err.
The sum of squared errors of the answers p on the way, in units of the noise sigma, is in expectation

    sum((y - p)**2 / sigma**2) + 2 * sum(k * dp / dy),    up to a constant,

with k = 1 for Gaussian noise (Stein, "Estimation of the Mean of a Multivariate Normal Distribution", Annals of
Statistics 9, 1981) and k = (1 + |noise| / b) / 2 for Laplace noise of scale b, as integration by parts with its density
shows: answers far out pull more. The noise is taken for the residual of a short fit, but for no more than the largest
of so many Laplace variables is expected to be. A second fit, to answers moved by
random signs, gives the sum of the derivatives (Ramani, Blu and Unser, "Monte-Carlo SURE", IEEE Transactions on Image
Processing 17, 2008); the signs are the same on the whole path, so that most of what they add by chance cancels.

The estimate of another length is better than that of the usual one by chance alone: the standard deviation of the
difference is about twice the distance of the two fits. Only what is better by more than `DEVIATIONS` of them counts.

All of this is a function of noisy answers and public numbers, so it costs no privacy.

Single queries that were left further from their noisy answers than noise explains are fitted for longer. A fit of
length ``t = c / sigma`` multiplies the records of a query by at most ``exp(t y)``. That is enough where the initial
hypothesis is roughly right. It is not where that gives a group next to nothing, as the uniform one does under
constraints: of 10^13 records that can exist, few may be children. A fit is too short as long as it is further from a
noisy answer than noise is (Morozov's discrepancy principle; Engl, Hanke and Neubauer, "Regularization of Inverse
Problems" (1996), section 4.3). All of this is a function of noisy answers and public numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.models.core import Model
from hedgerow.models.core.steps import can_be, query_step, value_masses
from hedgerow.queries import Conjunction, LinearQuery, Measurement, Moment, NoiseKind, Parity, answered

LENGTHS = (0.25, 0.5, 1.0)
"""Lengths that are always tried, in units of the usual one, which is the last."""
LONGER = (2.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0)
"""Lengths that are tried while going on lowers the estimate: far out, little depends on it."""
DEVIATIONS = 1.5
"""By how many standard deviations of their difference an estimate must be better than that of the usual length."""
LOUDEST = 1e6
"""Noise of answers that say nothing, in totals: they are fitted, but no error is estimated."""
MOVED = 0.3
"""By how much answers are moved, in standard deviations."""

Step = Callable[[Model, Sequence[Measurement], float, float], None]
"""Takes a hypothesis, measurements, the length of the fit so far and the length to reach; fits anew from length 0."""


def stopped(model: Model, measurements: Sequence[Measurement], step: Step) -> float:
    """Fit a hypothesis until the estimated error rises, and leave it where that was least.

    Args:
        model: The hypothesis; changed in place unless the usual length is best.
        measurements: Noisy answers; the errors of tables count, moments and parities beside them are fitted alone.
        step: Takes the steps of the fit.

    Returns:
        The best length, in units of the usual one; 1 where nothing is noisy.
    """
    tables = [measured for measured in measurements if not isinstance(measured.target, (Moment, Parity))]
    noisy = [measured for measured in tables if 0.0 < measured.std < LOUDEST * model.total]
    if not noisy:
        return 1.0
    path = Path(model.copy(), measurements, noisy, step)
    tried = [path.reach(length) for length in LENGTHS]
    usual, longer = tried[-1], iter(LONGER)
    while (best := min(tried, key=lambda each: each.score(usual))) is tried[-1] and (length := next(longer, 0.0)):
        tried = [best, path.reach(length)]
    if best.length != usual.length:
        best.model.take_the_place_of(model)
    return best.length


@dataclass(frozen=True, eq=False)
class Reached:
    """A point of a path.

    Attributes:
        length: Length of the fit, in units of the usual one.
        model: The hypothesis there.
        answers: Its answers to all that is noisy, in units of the noise.
        error: Stein's estimate of the sum of squared errors in units of the noise, up to a constant.
    """

    length: float
    model: Model
    answers: Floats
    error: float

    def score(self, usual: Reached) -> float:
        """The estimate, and by how much chance may have lowered it against the usual length."""
        return self.error + DEVIATIONS * 2.0 * float(np.linalg.norm(self.answers - usual.answers))


class Path:
    """Two fits side by side: to the measurements, and to the same with moved answers."""

    def __init__(
        self, model: Model, measurements: Sequence[Measurement], noisy: Sequence[Measurement], step: Step
    ) -> None:
        """Start with the hypothesis as it is; no step is taken.

        Args:
            model: The hypothesis, which the path keeps.
            measurements: All that is fitted.
            noisy: Those of them whose errors count; each has noise.
            step: Takes the steps of the fits.
        """
        self._step, self._length = step, 0.0
        self._fits = model, model.copy()
        self._noisy = noisy
        sizes = [measured.values.size for measured in self._noisy]
        self._stds = np.repeat([measured.std for measured in self._noisy], sizes)
        self._laplace = np.repeat([measured.noise is NoiseKind.LAPLACE for measured in self._noisy], sizes)
        self._moves = MOVED * signs(self._stds.size)
        self._values = np.concatenate([measured.values for measured in self._noisy]) / self._stds
        self._kernel = np.ones(self._values.size)
        moves = np.split(self._moves * self._stds, np.cumsum(sizes)[:-1])
        moved = {id(each): replace(each, values=each.values + by) for each, by in zip(noisy, moves, strict=True)}
        self._told = measurements, [moved.get(id(measurement), measurement) for measurement in measurements]

    def reach(self, length: float) -> Reached:
        """Go on to a length, longer than before, in units of the usual one."""
        for fit, told in zip(self._fits, self._told, strict=True):
            self._step(fit, told, self._length, length)
        self._length = length
        targets = [measured.target for measured in self._noisy]
        answers, others = (np.concatenate(answered(targets, fit)) / self._stds for fit in self._fits)
        residuals = self._values - answers
        if length <= LENGTHS[-1]:
            noise = np.minimum(2.0**0.5 * np.abs(residuals), 1.0 + np.log(residuals.size))
            self._kernel = np.where(self._laplace, 0.5 * (1.0 + noise), 1.0)
        trace = float(np.sum(self._kernel * (others - answers) / self._moves))
        return Reached(length, self._fits[0].copy(), answers, float(residuals @ residuals) + 2.0 * trace)


def signs(count: int) -> Floats:
    """Signs without a pattern, always the same (Steele, Lea and Flood's SplitMix64, OOPSLA 2014).

    Example:
        >>> signs(8).tolist()
        [1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0, 1.0]
    """
    mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.where(mixed >> np.uint64(63), 1.0, -1.0)


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
        Shape ``(measurements,)``; 1 for marginals and moments, for answers without noise, and where noise explains the
        distance.
    """
    factors = np.ones(len(measurements))
    single = [
        place
        for place, each in enumerate(measurements)
        if isinstance(each.target, LinearQuery) and not isinstance(each.target, Moment) and each.std > 0.0
    ]
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
