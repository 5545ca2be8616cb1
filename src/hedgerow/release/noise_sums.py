"""Weighted sums of independent noises, Laplace and Gaussian: a bound on how far they are from 0.

The noise of a measurement is discrete Laplace or Gaussian on a lattice. Its sums are bounded through the continuous law
of the same scale, whose moment generating function dominates the discrete one (for Laplace: ``(cosh(1/b) - 1) /
(cosh(1/b) - cosh(s)) <= 1 / (1 - b^2 s^2)``; for Gaussian: Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for
Differential Privacy", Corollary 17), and half a lattice step is added for the jumps of the discrete tail. The tests
compare with the exact discrete law.

The tail of a continuous sum follows from its characteristic function ``phi``, the product of
``1 / (1 + b^2 w^2 u^2)`` over its Laplace noises and of ``exp(-sigma^2 w^2 u^2 / 2)`` over the Gaussian ones,

    P(|S| > t) = 1 - (2 / pi) * integral over u from 0 on of sin(u t) / u * phi(u),

by the trapezoidal rule in steps of h, which errs by at most ``P(|S| > 2 pi / h - t)`` (J. Gil-Pelaez 1951; J. Abate, W.
Whitt, "The Fourier-series method for inverting transforms of probability distributions", 1992).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from hedgerow.arrays import Floats, Ints
from hedgerow.queries import NoiseKind

_NORMAL_BEYOND = 100_000
_ERROR = 1e-4
"""Share of a risk that the tail of a sum may be off by, in each of two ways; the bound allows for both."""
_MOST_STEPS = 1 << 14
"""Steps of the rule; sums that need more have one Laplace noise that is far larger than the rest."""
_MOST_WORK = 1 << 22
"""Steps times noises of different size."""


@dataclass(frozen=True)
class Noises:
    """A weighted sum of independent noises.

    Attributes:
        variance: Variance of the sum of its Gaussian noises, in squared counts.
        sizes: Scales of its Laplace noises times their weights, each once.
        copies: How often each of these is there.
        slack: Half of the largest step of the lattice, times its weight.

    Example:
        >>> laplace = Noises.of(NoiseKind.LAPLACE, 1.0, np.ones(2))
        >>> both = Noises.of(NoiseKind.GAUSSIAN, 3.0, np.ones(4)).with_all([laplace])
        >>> round(both.std, 3), round(both.bound(0.05), 1)
        (6.325, 12.9)
    """

    variance: float = 0.0
    sizes: Floats = field(default_factory=lambda: np.zeros(0))
    copies: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    slack: float = 0.0

    @classmethod
    def of(cls, kind: NoiseKind, scale: float, weights: Floats, *, copies: int = 1, step: float = 1.0) -> Noises:
        """The noise of one measurement.

        Args:
            kind: Shape of the noise.
            scale: In counts: b of Laplace noise, sigma of Gaussian noise.
            weights: Factors of the noises, any shape; zeros do not matter.
            copies: Number of times that each weight occurs.
            step: Lattice of the noise, in counts.
        """
        sizes = np.abs(weights[weights != 0.0])
        if not sizes.size or scale == 0.0:
            return cls()
        slack = 0.5 * step * float(sizes.max())
        if kind is NoiseKind.GAUSSIAN:
            return cls(copies * scale**2 * float(sizes @ sizes), slack=slack)
        distinct, numbers = np.unique(sizes, return_counts=True)
        return cls(0.0, scale * distinct, copies * numbers, slack)

    def with_all(self, others: Iterable[Noises]) -> Noises:
        """The sum with further noises, which are independent of it."""
        return Noises.all_of([self, *others])

    @classmethod
    def all_of(cls, every: Sequence[Noises]) -> Noises:
        """The sum of independent noises.

        Args:
            every: The noises; none for no noise.
        """
        if len(every) == 1:
            return every[0]
        variance, slack = sum(each.variance for each in every), max((each.slack for each in every), default=0.0)
        laplace = [each for each in every if each.sizes.size]
        if not laplace:
            return cls(variance, slack=slack)
        sizes, copies = (np.concatenate(each) for each in zip(*((n.sizes, n.copies) for n in laplace), strict=True))
        return cls(variance, sizes, copies, slack)

    def times(self, factor: float) -> Noises:
        """The sum times a number that is not negative."""
        size = float(factor)
        return Noises(self.variance * size**2, self.sizes * size, self.copies, self.slack * size)

    def over(self, weights: Floats) -> Noises:
        """The weighted sum of independent copies of it.

        Args:
            weights: Factors of the copies, any shape; zeros do not matter.
        """
        factors = np.abs(weights[weights != 0.0])
        variance, most = self.variance * float(factors @ factors), float(factors.max(initial=0.0))
        if not self.sizes.size:
            return Noises(variance, slack=self.slack * most)
        distinct, numbers = np.unique(factors, return_counts=True)
        sizes, copies = np.multiply.outer(self.sizes, distinct), np.multiply.outer(self.copies, numbers)
        return Noises(variance, sizes.reshape(-1), copies.reshape(-1), self.slack * most)

    @property
    def std(self) -> float:
        """Standard deviation of the sum, in counts."""
        return math.sqrt(self.variance + 2.0 * float(self.copies @ self.sizes**2))

    def bound(self, risk: float) -> float:
        """A bound t with ``P(|S| > t) <= risk``, for the lattice's sum too.

        Args:
            risk: Probability that the bound may fail, ``0 < risk < 1``.
        """
        if not self.sizes.size:
            return -float(special.ndtri(risk / 2.0)) * math.sqrt(self.variance) + self.slack
        if not self.variance and self.sizes.min() == self.sizes.max():
            return float(self.sizes[0]) * laplace_sum_quantile(int(self.copies.sum()), risk) + self.slack
        inverted = self._inverted(risk)
        return (self._chernoff(risk) if inverted is None else inverted) + self.slack

    def _inverted(self, risk: float) -> float | None:
        """The quantile by the characteristic function; None where that takes too many steps."""
        most = self._chernoff(risk)
        step = 2.0 * math.pi / (most + self._chernoff(_ERROR * risk))
        n_steps = self._steps(step, 0.5 * math.pi * _ERROR * risk)
        if n_steps is None:
            return None
        places = np.arange(1, n_steps + 1)
        phi = self._characteristic(np.asarray(step * places, dtype=np.float64))
        factors, wanted = phi / places, (1.0 - 2.0 * _ERROR) * risk

        def tail(t: float) -> tuple[float, float]:
            angles = (step * t) * places
            off = 1.0 - (step * t + 2.0 * float(np.sin(angles) @ factors)) / math.pi - wanted
            return off, -step * (1.0 + 2.0 * float(np.cos(angles) @ phi)) / math.pi

        normal = min(-float(special.ndtri(wanted / 2.0)) * self.std, most)
        return _zero(tail, normal, 0.0, most, 1e-6 * most) * (1.0 + 1e-6)

    def _steps(self, step: float, error: float) -> int | None:
        """Steps after which the rest of the rule's sum is below an error; None for too many."""
        largest = float(self.sizes.max())
        steps = 64
        while steps <= _MOST_STEPS and steps * self.sizes.size <= _MOST_WORK:
            end = step * steps
            decay = 1.0 + 1.0 / (largest * end) ** 2  # from here on the largest noise alone falls with the square
            if 0.5 * decay * float(self._characteristic(np.array([end], dtype=np.float64))[0]) <= error:
                return steps
            steps *= 2
        return None

    def _characteristic(self, places: Floats) -> Floats:
        """The characteristic function at some places."""
        logs = np.log1p(np.square(np.outer(places, self.sizes))) @ self.copies
        return np.asarray(np.exp(-0.5 * self.variance * np.square(places) - logs))

    def _chernoff(self, risk: float) -> float:
        """The least of ``(log E exp(rate S) + log(2 / risk)) / rate`` over rates, where its slope is 0."""
        sizes, copies, log_risk = self.sizes, self.copies, math.log(2.0 / risk)
        pole = 1.0 / float(sizes.max())

        def slope(rate: float) -> tuple[float, float]:
            squares = np.square(rate * sizes)
            left = 1.0 - squares
            logs = float(copies @ np.log1p(-squares))
            first = 2.0 * float(copies @ (squares / left))
            second = 2.0 * float(copies @ (squares * (1.0 + squares) / np.square(left)))
            return 0.5 * self.variance * rate**2 + first + logs - log_risk, self.variance * rate + second / rate

        ends = 1e-6 * pole, pole * (1.0 - 1e-9)
        rate = min(math.sqrt(2.0 * log_risk) / self.std, 0.9 * pole)
        rate = _zero(slope, rate, *ends, 1e-7 * pole)
        logs = -float(copies @ np.log1p(-np.square(rate * sizes)))
        return (0.5 * self.variance * rate**2 + logs + log_risk) / rate


def _zero(
    function: Callable[[float], tuple[float, float]], start: float, low: float, high: float, near: float
) -> float:
    """A zero of a monotone function, by Newton's steps inside a bracket that each of them narrows.

    Args:
        function: Its value and derivative.
        start: A place between the ends.
        low: The lower end.
        high: The upper end.
        near: Length of a step at which to stop.
    """
    place = min(max(start, low), high)
    for _ in range(100):
        value, derivative = function(place)
        if value * derivative > 0.0:
            high = place
        else:
            low = place
        following = place - value / derivative if derivative else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - place) <= near:
            return following
        place = following
    return place


def laplace_sum_quantile(count: int, risk: float) -> float:
    """The t with ``P(|S| > t) = risk`` for a sum S of independent continuous Laplace variables of scale 1.

    Example:
        >>> abs(laplace_sum_quantile(1, 0.05) - math.log(20)) < 1e-9
        True
    """
    from scipy.optimize import brentq  # scipy.optimize is slow to import

    high = 2.0 * math.sqrt(2.0 * count * math.log(2.0 / risk)) + 4.0 * math.log(2.0 / risk)
    return float(brentq(lambda t: laplace_sum_tail(count, t) - risk, 0.0, high, xtol=1e-9))


def laplace_sum_tail(count: int, threshold: float) -> float:
    """``P(|S| > threshold)`` for a sum S of ``count`` independent continuous Laplace variables of scale 1.

    S is the difference of two waiting times for the ``count``-th event of two unit Poisson processes. When one
    of them ends, j events of the other have happened, j being negative binomial, and the rest of the waiting
    time is Gamma(count - j), because the process has no memory.

    Example:
        >>> round(laplace_sum_tail(1, math.log(20)), 6)
        0.05
    """
    if count > _NORMAL_BEYOND:  # Edgeworth: the excess kurtosis 3 / count moves the tail by less than 1e-4 of itself
        return float(2.0 * special.ndtr(-threshold / math.sqrt(2.0 * count)))
    done = np.arange(count)
    log_odds = special.gammaln(count + done) - special.gammaln(done + 1.0) - special.gammaln(count)
    odds = np.exp(log_odds - (count + done) * math.log(2.0))
    return float(2.0 * np.sum(odds * special.gammaincc(count - done, threshold)))
