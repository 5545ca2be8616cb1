"""Ratios of two sums, by the sets of all ratios that their noise allows (theory.md section 14.2; E. C. Fieller 1954).

The ratio of two sums is t if and only if ``top - t bottom`` is 0. That is one linear question for each t, so its
interval needs no division: the t whose intervals hold 0 are a set that holds the ratio with the confidence of each.
Nothing of the risk is dealt out to the bottom, and nothing is asked of it: where it may be 0, the set is all but an
interval, or all numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hedgerow.release.evidence import Evidence
from hedgerow.release.numbers import Estimate

Bound = Callable[[float, float], tuple[float, float, Evidence] | None]
"""The interval of ``x top - y bottom``, with x >= 0, at the risk of the ratio, and its evidence of least variance; None
where nothing tells it."""
_WIDER = 16.0
"""How many times as far from the guess an edge is looked for next, before all angles are searched."""
_NEAR = 0.002
"""An end is told up to this part of its distance from the estimate, outward."""


@dataclass(frozen=True)
class RatioSet:
    """The ratios that measurements allow.

    Attributes:
        low: The lower end; the start of the upper ray, if that is above the other end.
        high: The upper end; that of the lower ray.

    Example:
        >>> sets = RatioSet(2.0, 5.0), RatioSet(0.4, -3.0), RatioSet(0.4, 0.2)
        >>> tuple(each.within(0.0, 1.0) for each in sets)
        ((0.0, 1.0), (0.4, 1.0), (0.0, 1.0))
    """

    low: float
    high: float

    def within(self, least: float, most: float) -> tuple[float, float]:
        """The set in a range: two rays stay two where the range has no end, and are the whole range where it has.

        Where nothing of the set lies in the range, noise was larger than intervals allow for, and the range is all that
        is known.

        Args:
            least: Lower end of the range.
            most: Upper end.
        """
        if self.misses(least, most):
            return least, most
        if self.low <= self.high:
            return max(self.low, least), min(self.high, most)
        below, above = self.high >= least, self.low <= most
        if below == above:
            bounded = math.isfinite(least) and math.isfinite(most)
            return (self.low, self.high) if below and not bounded else (least, most)
        return (least, self.high) if below else (self.low, most)

    def misses(self, least: float, most: float) -> bool:
        """Whether nothing of the set lies in a range."""
        return self.low <= self.high and (self.low > most or self.high < least)

    def estimate(self, value: float, centre: float, unit: float, bounds: tuple[float, float]) -> Estimate:
        """The set with a number in it.

        Args:
            value: The number; the nearest one of the set is told, or the centre where the set says nothing.
            centre: Where ratios count from: the number of the hypothesis.
            unit: What they count in, above 0.
            bounds: The range in which the number is known to be.

        Returns:
            Ends that are infinite are None. Where the lower end is above the upper, the numbers between them are out.
        """
        known = (bounds[0] - centre) / unit, (bounds[1] - centre) / unit
        low, high = (centre + unit * end for end in self.within(*known))
        if self.misses(*known):
            value = centre
        if low <= high:
            value = min(max(value, low), high)
        elif high < value < low:
            value = low if low - value < value - high else high
        return Estimate(value, *(end if math.isfinite(end) else None for end in (low, high)))


def ratio_set(bound: Bound) -> RatioSet | None:
    """All ratios t for which the interval of ``top - t bottom`` holds 0.

    Directions (x, y) stand for t = y / x, so that no t is too large. If half-widths are norms of (x, y), as those of
    normal noise are, the directions that are excluded are one cone, and its two edges are searched.

    Args:
        bound: The intervals.

    Returns:
        The set, its ends no nearer to each other than they are; None where nothing tells the sums.

    Example:
        >>> from hedgerow.release.noise_sums import Noises
        >>> def bound(x: float, y: float) -> tuple[float, float, Evidence]:
        ...     told = Evidence.of_noises(30.0 * x - 60.0 * y, Noises(25.0 * (x**2 + y**2)), "measurement of a, b")
        ...     return *told.ends(0.05), told
        >>> found = ratio_set(bound)
        >>> round(found.low, 2), round(found.high, 2)
        (0.33, 0.7)
    """
    probes = [bound(1.0, 0.0), bound(0.0, 1.0), bound(math.sqrt(0.5), math.sqrt(0.5))]
    told = [each for each in probes if each is not None]
    if len(told) < len(probes):
        return None
    (top, first), (bottom, second), (_, both) = (((low + high) / 2.0, (high - low) / 2.0) for low, high, _ in told)
    bottom = -bottom
    cross = both**2 - (first**2 + second**2) / 2.0
    # an excess above 0 at (x, y): the square of the middle less that of the half-width
    excess = np.array([[top**2 - first**2, -top * bottom - cross], [-top * bottom - cross, bottom**2 - second**2]])
    values, vectors = np.linalg.eigh(excess)
    circle = _Circle(bound, inside=math.atan2(top, bottom) if bottom or top else 0.0)
    outside = math.atan2(vectors[1, 1], vectors[0, 1])
    if bottom**2 > second**2:
        outside = math.pi / 2.0  # the bottom is not 0
    if values[1] <= 0.0 or circle.margin(outside) <= 0.0 or not circle.settled():
        return RatioSet(-math.inf, math.inf)
    spread = math.atan2(math.sqrt(values[1]), math.sqrt(max(-values[0], 0.0)))  # of the cone around its axis
    axis = math.atan2(vectors[1, 1], vectors[0, 1])
    high, low = circle.edge(outside, axis - spread, -1.0), circle.edge(outside, axis + spread, 1.0)
    return RatioSet(math.tan(low), math.tan(high))


class _Circle:
    """Directions by their angle, whose tangent is the ratio; a half turn is the same ratio.

    Args:
        bound: The intervals.
        inside: The angle of the estimate.
    """

    def __init__(self, bound: Bound, inside: float) -> None:
        self._bound = bound
        self.inside = inside

    def margin(self, angle: float) -> float:
        """How far 0 is from the interval; below 0 inside."""
        low, high = self._middle_out(angle)
        return max(low, -high)

    def settled(self) -> bool:
        """Whether the estimate is allowed; it is moved to where intervals are about 0, if several disagree."""
        from scipy.optimize import brentq  # scipy.optimize is slow to import

        if self.margin(self.inside) <= 0.0:
            return True
        ends = self.inside - 1.5, self.inside + 1.5
        if sum(self._middle_out(ends[0])) * sum(self._middle_out(ends[1])) >= 0.0:
            return False
        self.inside = float(brentq(lambda angle: sum(self._middle_out(angle)), *ends, xtol=1e-9))
        return self.margin(self.inside) <= 0.0

    def edge(self, outside: float, guess: float, side: float) -> float:
        """An excluded angle next to the allowed ones, on one side of those that are excluded.

        Args:
            outside: An angle that is excluded.
            guess: Where the edge should be.
            side: 1 for the upper edge of what is excluded, -1 for the lower.
        """
        from scipy.optimize import brentq  # scipy.optimize is slow to import

        inside = self.inside + math.pi * math.ceil((outside - self.inside) / math.pi - (side < 0.0))
        guess += math.pi * round(((outside + inside) / 2.0 - guess) / math.pi)
        near = _NEAR * min(max(abs(guess - inside), 1e-12), 0.1)
        for reach in (near, _WIDER * near):
            for place in (guess - side * reach, guess + side * reach):
                if side * (place - outside) > 0.0 > side * (place - inside):
                    outside, inside = (place, inside) if self.margin(place) > 0.0 else (outside, place)
            if abs(inside - outside) <= 2.0 * reach:
                break
        if abs(inside - outside) <= 2.0001 * near:
            return outside
        return float(brentq(self.margin, outside, inside, xtol=near, rtol=1e-12)) - side * near

    def _middle_out(self, angle: float) -> tuple[float, float]:
        x, y = math.cos(angle), math.sin(angle)
        x = x if abs(x) > 1e-12 else 0.0
        found = self._bound(abs(x), y if x >= 0.0 else -y)
        low, high = (-math.inf, math.inf) if found is None else found[:2]
        return (low, high) if x >= 0.0 else (-high, -low)
