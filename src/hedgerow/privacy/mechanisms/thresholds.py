"""Counts above a threshold: labels of a column that nobody listed, chosen by how many records have them.

Noise is added to the count of each label that at least one record has, and a label is told if its noisy count is at
least the threshold. Labels that both of two neighbouring tables have are told as in any noisy marginal. A label that
only one of them has gives that table away if it is told, so that must hardly ever happen: with probability delta at
most. Of the m records of one person some are on labels that nobody else has, k_1, k_2, ... of them with
``sum k_i <= m``. The probability that one of these labels is told is at most ``sum Pr(Z >= T - k_i)``. The tail of Z at
whole numbers from 0 on is convex, so for thresholds of at least m the sum is largest at an end: all records on one
label, or each on its own,

    delta = max(Pr(Z >= T - m), m Pr(Z >= T - 1))

(theory.md section 16). The mechanism is delta-approximately what the noisy marginal is (Bun and Steinke 2016,
definition 8.1); deltas add up.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import ABOVE, Regime
from hedgerow.privacy.mechanisms.additive_noise import GaussianNoise, LaplaceNoise, additive_noise

_ABOVE = " above a threshold"
_FAR = 40.0
"""Beyond so many sigmas the terms of a Gaussian tail are smaller than the smallest number."""
_SUMMED = 1.0 + 2.0**-30
"""More than the rounding of a sum of 2^20 floats."""
_SMALLEST = 1e-300
_WITHIN = 1.0 - 2.0**-20
"""Room for an auditor who rounds otherwise."""
_WIDEST = 1 << 10
"""Largest sigma whose tail is summed up; the tail of a larger one is bounded by a continuous one."""


def tail_of(noise: LaplaceNoise | GaussianNoise, least: int) -> float:
    """The probability that noise on whole counts is at least so large, rounded up.

    Args:
        noise: The noise, in steps of one count.
        least: A whole number from 0 on.

    Example:
        >>> round(tail_of(LaplaceNoise(1.0), 1), 9), round(tail_of(GaussianNoise(1.0), 1), 9)
        (0.268941422, 0.300528861)
    """
    if isinstance(noise, LaplaceNoise):
        rate = 1.0 / noise.scale
        return _probability(math.exp(-least * rate) / (1.0 + math.exp(-rate)) * ABOVE * _SUMMED)
    return _probability(_gaussian_tail(noise.sigma, least) * _SUMMED)


def _probability(tail: float) -> float:
    """At most 1, and never 0: what is too small for a float is rounded up as well."""
    return min(1.0, max(_SMALLEST, tail))


@lru_cache(maxsize=4096)
def _gaussian_tail(sigma: float, least: int) -> float:
    if sigma > _WIDEST:  # Canonne, Kamath and Steinke 2020, proposition 25: Pr(Z >= m) <= Pr(N >= m - 1)
        return 0.5 * math.erfc((least - 1.0) / sigma / math.sqrt(2.0))
    last = least + math.ceil(_FAR * sigma) + 1
    above = math.fsum(math.exp(-0.5 * (k / sigma) ** 2) for k in range(least, last))
    return above / (1.0 + 2.0 * _positive_mass(sigma))


@lru_cache(maxsize=64)
def _positive_mass(sigma: float) -> float:
    return math.fsum(math.exp(-0.5 * (k / sigma) ** 2) for k in range(1, math.ceil(_FAR * sigma) + 2))


@dataclass(frozen=True)
class ThresholdedCounts:
    """Noisy counts of the labels that records have, of which those above a threshold are told.

    Attributes:
        noise: The noise on each count, in steps of one; its sensitivity is that of the column's marginal.
        threshold: The smallest noisy count that is told.

    Example:
        >>> told = ThresholdedCounts.for_charge(Regime.ZCDP, 0.005, delta=5e-10, l1=1.0, l2=1.0, records=1)
        >>> round(told.scale, 6), told.threshold, told.delta(1) <= 5e-10
        (10.0, 63, True)
    """

    noise: LaplaceNoise | GaussianNoise
    threshold: int

    def __post_init__(self) -> None:
        """Check the threshold.

        Raises:
            ConfigError: It is no whole number from 1 on, or the noise is not in steps of one count.
        """
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int) or self.threshold < 1:
            raise ConfigError(f"a threshold of counts is a whole number from 1 on, not {self.threshold!r}")
        if self.noise.step != 1.0:
            raise ConfigError("noise of counts of labels is drawn in steps of one")

    @property
    def name(self) -> str:
        """Name of the mechanism, for the ledger."""
        return f"{self.noise.name}{_ABOVE}"

    @property
    def sensitivity(self) -> float:
        """L1 (Laplace) or L2 (Gaussian) sensitivity of the counts of all labels."""
        return self.noise.sensitivity

    @property
    def scale(self) -> float:
        """Scale of the noise, in counts."""
        return self.noise.scale

    def charge(self, regime: Regime) -> float:
        """Cost in the unit of the regime, rounded up, beside `delta`."""
        return self.noise.charge(regime)

    def delta(self, records: int) -> float:
        """The probability, rounded up, that a label is told that only one of two neighbouring tables has.

        Args:
            records: Number of records that one person counts for at most.
        """
        if self.threshold < records:
            return 1.0
        alone = records * tail_of(self.noise, self.threshold - 1)
        return min(1.0, max(tail_of(self.noise, self.threshold - records), alone))

    @classmethod
    def for_charge(cls, regime: Regime, amount: float, *, delta: float, l1: float, l2: float, records: int) -> Self:
        """The least noise that costs at most the amount, and the lowest threshold that costs at most delta.

        Args:
            regime: Unit of the amount.
            amount: The charge.
            delta: Largest probability that a label gives a table away.
            l1: L1 sensitivity of the column's marginal.
            l2: L2 sensitivity of it.
            records: Number of records that one person counts for at most.

        Raises:
            ConfigError: The charge or delta is not positive, or the charge is so small that the noise cannot be drawn.
        """
        if not records * _SMALLEST / _WITHIN**2 < delta < 1.0:
            raise ConfigError(
                f"the delta of a threshold lies between 0 and 1, not {delta!r}", remedy="give one such as 1e-9"
            )
        noise = additive_noise(regime, amount, l1=l1, l2=l2, step=1.0, kind=None)
        low, high = records - 1, 2 * records
        delta *= _WITHIN
        while cls(noise, high).delta(records) > delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if cls(noise, middle).delta(records) <= delta else (middle, high)
        return cls(noise, high)


THRESHOLDED = {ThresholdedCounts(noise, 1).name: type(noise) for noise in (LaplaceNoise(1.0), GaussianNoise(1.0))}
"""The kind of noise below each name."""
