"""Numbers of a column: what the members of a bin may be, and where in their bin they count.

A release knows how many records a bin holds, and nothing of where in the bin they lie. So an interval for a sum, a mean
or a quantile lets every member lie anywhere between the ends of its bin, and a number that is no interval counts the
members where synthetic records have their mean.
"""

import math
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Binned, Decimals, Ordered, ends_of
from hedgerow.domain.tilts import leaning
from hedgerow.release.release import Release


@dataclass(frozen=True)
class Estimate:
    """A number that a release tells, with its interval.

    Attributes:
        value: The number of the hypothesis.
        low: Lower end of the interval for the number of the private table, or None where nothing was measured, or the
            interval has no end. Above the upper end, in a ratio of sums, all numbers but those between are possible.
        high: Upper end, likewise.

    Example:
        >>> Estimate(38.6, 38.2, 38.9).halved
        0.35
    """

    value: float
    low: float | None
    high: float | None

    @property
    def halved(self) -> float | None:
        """Half the width of the interval; None where that has no width."""
        return (
            None
            if self.low is None or self.high is None or self.low > self.high
            else round((self.high - self.low) / 2.0, 12)
        )

    def root(self) -> "Estimate":
        """The square roots of the number and its interval, all of which are not negative."""
        ends = (None if end is None else math.sqrt(end) for end in (self.low, self.high))
        return Estimate(math.sqrt(self.value), *ends)

    def over(self, unit: float) -> "Estimate":
        """The number and its interval in another unit.

        Args:
            unit: The unit, above 0.
        """
        ends = (None if end is None else end / unit for end in (self.low, self.high))
        return Estimate(self.value / unit, *ends)


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers that the ordinary codes of a column stand for, in its own unit.

    Attributes:
        low: The smallest number that a record of each code may hold.
        high: The largest.
        at: The number that it counts at where one is needed.
        unit: Length of a step of the column's scale; 1 without one.
        whole: Whether the numbers are whole steps.
        tilts: Tilts of the densities inside the bins of a release; None for even ones.

    Example:
        >>> from hedgerow.domain import Binned
        >>> hours = Numbers.of(Binned("hours", [0, 20, 40, 100], whole=True))
        >>> hours.low.tolist(), hours.high.tolist(), hours.at.tolist(), hours.wide
        ([0.0, 20.0, 40.0], [19.0, 39.0, 100.0], [9.5, 29.5, 70.0], True)
    """

    low: Floats
    high: Floats
    at: Floats
    unit: float
    whole: bool
    tilts: Floats | None = None

    @classmethod
    def of(cls, attribute: Ordered, release: Release | None = None) -> "Numbers":
        """The numbers of a column.

        Args:
            attribute: The column.
            release: The release whose synthetic records say where in a bin its members count; without one in the
                middle.
        """
        low, high = ends_of(attribute)
        unit = float(attribute.scale.step) if isinstance(attribute.scale, Decimals) else 1.0
        at = (low + high) / 2.0
        if release is not None and attribute.name in release.mean_positions:
            at = at + release.mean_positions[attribute.name] * (high - low)
        whole = not isinstance(attribute, Binned) or attribute.whole
        tilts = None if release is None else release.tilts.get(attribute.name)
        return cls(low * unit, high * unit, np.asarray(at * unit), unit, whole, tilts)

    @property
    def wide(self) -> bool:
        """Whether there is a code of several numbers."""
        return bool((self.low < self.high).any())

    @property
    def span(self) -> float:
        """The distance between the smallest and the largest number."""
        return float(self.high[-1] - self.low[0])

    def inside(self, code: int, part: float) -> float:
        """The number that a part of the records of a bin, from 0 to 1, lies below."""
        low, high = float(self.low[code]), float(self.high[code])
        part = min(max(part, 0.0), 1.0)
        if self.tilts is not None:
            part = float(leaning(np.array([part]), self.tilts[[code]])[0])
        number = low + part * (high - low)
        return self.unit * round(number / self.unit) if self.whole else number
