"""What a run may ask of a table, where that is fixed beforehand, and the delta that it has at an epsilon.

A `Composition` is so many selections, so many pure mechanisms, and an amount of Gaussian noise, in any order and chosen
as the run goes on. The largest delta that an analyst can make of it follows from a recursion over one number, the
privacy loss so far (theory.md section 20): Gaussian noise comes first, pure mechanisms behave as randomised response,
and each selection is the worst of all two-point laws, chosen with the loss at hand.

**Rounding.** The value of what is left, as a function of ``y = e^-loss``, is convex and falls from 1. It is kept by
numbers on a lattice, between which chords lie above it; the worst two-point law of a function made of chords is found
exactly. Tails end in chords too. What floating point may lose, below 2^-36 of a step, is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.charging import ABOVE, pure_rho, square_range_rho

MOST_STEPS = 128
"""Most selections, and most pure mechanisms: the largest composition is found in some 20 ms for 40, and 30 for 128."""
_UP = 1.0 + 2.0**-36
_DEEP, _SPARE, _HIGH = 1e-5, 2.0, 8.0
"""Where the lattice ends: these choose how close the bound is, and not whether it is one."""
_ENOUGH = 5e-4
"""Share of an amount within which the largest one is found."""


@dataclass(frozen=True)
class Composition:
    """Mechanisms that a budget pays for, in any order; a ledger refuses all others.

    Attributes:
        limit: The rho that their charges may add up to.
        gaussian: The ``mu^2 / 2`` that Gaussian noise may add up to, as GDP counts it.
        selections: Number of draws of the exponential mechanism.
        selection_epsilon: Largest epsilon of each: its log-probabilities move within an interval of this length.
        pure: Number of other mechanisms that have an epsilon, such as Laplace noise.
        pure_epsilon: Largest epsilon of each.

    Example:
        >>> plan = Composition(0.02, gaussian=0.01, selections=10, selection_epsilon=0.09)
        >>> 0.0 < Composition(0.02, gaussian=0.02).delta(1.0) < plan.delta(1.0) < 1e-7
        True
    """

    limit: float
    gaussian: float
    selections: int = 0
    selection_epsilon: float = 0.0
    pure: int = 0
    pure_epsilon: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: One is out of its range, or the mechanisms cost less than the limit.
        """
        counts = ((self.selections, self.selection_epsilon), (self.pure, self.pure_epsilon))
        for count, epsilon in counts:
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_STEPS:
                raise ConfigError(f"a fixed composition has 0 to {MOST_STEPS} steps of a kind, not {count!r}")
            if not 0.0 <= epsilon < 100.0 or (count > 0) != (epsilon > 0.0):
                raise ConfigError(f"{count} steps of a fixed composition cannot have an epsilon of {epsilon!r}")
        if not 0.0 <= self.gaussian < 1e4 or not self.limit > 0.0:
            raise ConfigError("the amounts of a fixed composition are not negative, and its limit is positive")
        steps = self.selections * square_range_rho(self.selection_epsilon) + self.pure * pure_rho(self.pure_epsilon)
        if self.limit > (self.gaussian + steps) * ABOVE:
            raise ConfigError("a fixed composition cannot spend more than its mechanisms cost")

    def delta(self, epsilon: float) -> float:
        """A delta with which all of it is (epsilon, delta)-DP, rounded up.

        Args:
            epsilon: Above 0.
        """
        return _delta(self, epsilon)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of(cls, value: Composition | Mapping[str, Any]) -> Composition:
        """The composition itself, or what `to_dict` made of it.

        Raises:
            ConfigError: It is something else.
        """
        if isinstance(value, Composition):
            return value
        try:
            return cls(**value)
        except TypeError:
            raise ConfigError(f"{value!r} is no fixed composition") from None


def largest_composition(
    epsilon: float, delta: float, start: float, made: Callable[[float], Composition]
) -> Composition | None:
    """The largest composition of a family that is (epsilon, delta)-DP, within 5e-4 of its limit.

    Args:
        epsilon: Of the promise.
        delta: Of the promise.
        start: A limit that is surely small enough: the rho of the promise.
        made: The composition with a limit.

    Returns:
        None where even the first is too large.
    """

    def excess(limit: float) -> float:
        return math.log(max(made(limit).delta(epsilon), 1e-320) / delta)

    low, high = start, 1.12 * start
    below, above = excess(low), excess(high)
    if below > 0.0:
        return None
    while above <= 0.0:
        low, below, high = high, above, 1.2 * high
        above = excess(high)
    left = math.log(high / low)
    while left > _ENOUGH:
        slope = (above - below) / math.log(high / low)
        guess = low * math.exp(-below / slope) * (1.0 - 0.3 * _ENOUGH)
        guess = min(max(guess, low * (1.0 + 0.1 * _ENOUGH)), high / (1.0 + 0.1 * _ENOUGH))
        if (found := excess(guess)) > 0.0:
            high, above, left = guess, found, math.log(guess / low)
        else:
            low, below, left = guess, found, -found / slope
    return made(low)


@lru_cache(maxsize=512)
def _delta(plan: Composition, epsilon: float) -> float:
    spread = 0.5 * plan.selection_epsilon * math.sqrt(plan.selections)
    if plan.selections == 0:
        losses = np.array([epsilon - 1.0, epsilon])
        values = np.zeros(2)
    else:
        losses, values = _after_selections(epsilon, plan.selections, plan.selection_epsilon, spread)
    mu = math.sqrt(2.0 * plan.gaussian)
    total = 0.0
    for before, chance in _pure_losses(plan.pure, plan.pure_epsilon):
        total += chance * _expected(losses, values, before, mu)
    return min(1.0, total * _UP**2)


def _parts(selections: int) -> int:
    """Lattice steps in the range of a selection: what chords add is about 1 / (2 parts^2) of its share of rho."""
    return max(4, min(16, round(12.0 * math.pow(40.0 / selections, 0.75))))


def _after_selections(epsilon: float, count: int, spanned: float, spread: float) -> tuple[Floats, Floats]:
    """Values of what is left before the selections, at losses on a lattice through epsilon."""
    parts = _parts(count)
    step = spanned / parts
    deep = min(count * spanned, spread * (math.sqrt(-2.0 * math.log(_DEEP * 1e-9)) + _SPARE) + 2.0 * spanned)
    below, above = math.ceil(deep / step), math.ceil(min(count * spanned, _HIGH * spread + 2.0 * spanned) / step)
    places = np.arange(-below, above + 1)
    values = np.maximum(0.0, -np.expm1(-step * places))
    worst = _WorstLaw(spanned, parts, values.size)
    for _ in range(count):
        values = worst.of(values)
    return np.asarray(epsilon + step * places), values


class _WorstLaw:
    """The largest mean of a value after one selection, over all laws of its loss within a range."""

    def __init__(self, spanned: float, parts: int, losses: int) -> None:
        """Probabilities of the two-point laws whose ends are on the lattice, and what chords through it are made of."""
        self._parts, self._losses = parts, losses
        step = spanned / parts
        self._most = math.exp(spanned)
        self._over = math.expm1(spanned)
        ups = np.asarray(step * np.arange(parts + 1), dtype=np.float64)
        self._shrinks, self._grows = np.exp(-ups)[:, None], np.exp(ups[:-1])[:, None]
        self._cell = -math.expm1(-step)
        self._chances = np.asarray(np.exp(ups) * np.expm1(np.maximum(spanned - ups, 0.0)) / self._over)[:, None]
        edges = np.exp(-step * np.arange(-parts, losses + parts))  # y, which is 1 at the first loss
        self._edges, self._widths = edges[:-1], np.diff(edges)
        self._lifts = self._most * np.exp(-step * np.arange(losses))
        self._first = np.ones(parts)

    def of(self, values: Floats) -> Floats:
        """Values before the selection; ``values`` are those after it, at losses a step apart."""
        n, parts = self._losses, self._parts
        top = 1.0 - (1.0 - values[-1]) * self._shrinks[1:, 0]  # on the chord to y = 0, where the value is 1
        padded = np.concatenate([self._first * values[0], values, top])
        low, high = _windows(padded, 0, parts + 1, n), _windows(padded, parts, parts + 1, n)
        best = (low + self._chances * (high - low)).max(axis=0)
        # Between two places of the lattice the mean is A + B u + C / u with u = e^-up and B, C <= 0: concave.
        slopes = (padded[1:] - padded[:-1]) / self._widths
        intercepts = padded[:-1] - slopes * self._edges
        b = self._lifts * (_windows(slopes, 0, parts, n) - _windows(slopes, parts, parts, n))
        c = _windows(intercepts, parts, parts, n) - _windows(intercepts, 0, parts, n)
        ones = np.ones_like(c)
        shrink = np.sqrt(np.divide(c, b, out=ones, where=(b > 0.0) & (c > 0.0)))
        shrink = np.minimum(np.maximum(shrink, self._shrinks[1:]), self._shrinks[:-1])
        weight = (shrink * self._grows - self._shrinks[1, 0]) / self._cell
        chance = (self._most - 1.0 / shrink) / self._over
        upper = high[1:] + weight * (high[:-1] - high[1:])
        lower = low[1:] + weight * (low[:-1] - low[1:])
        between = (lower + chance * (upper - lower)).max(axis=0)
        return np.maximum.accumulate(np.minimum(1.0, np.maximum(best, between) * _UP))


def _windows(values: Floats, first: int, rows: int, columns: int) -> Floats:
    """The matrix ``values[first + row + column]``, without a copy (`sliding_window_view`, which takes its time)."""
    return np.ndarray((rows, columns), values.dtype, values, first * values.itemsize, values.strides * 2)


def _pure_losses(count: int, epsilon: float) -> list[tuple[float, float]]:
    """Losses of so many randomised responses together, with their probabilities."""
    if count == 0:
        return [(0.0, 1.0)]
    yes = np.arange(count + 1.0)
    logs = gammaln(count + 1.0) - gammaln(yes + 1.0) - gammaln(count - yes + 1.0)
    chances = np.exp(logs - (count - yes) * epsilon - count * math.log1p(math.exp(-epsilon)))
    return list(zip(((2.0 * yes - count) * epsilon).tolist(), chances.tolist(), strict=True))


def _expected(losses: Floats, values: Floats, before: float, mu: float) -> float:
    """Mean of the chords through values after a loss and Gaussian noise; the last chord ends at y = 0, with value 1."""
    shrinks = np.exp(before - losses)  # y, as a multiple of that before the noise
    if mu == 0.0:
        return float(np.interp(1.0, [0.0, *shrinks[::-1]], [1.0, *values[::-1]]))
    ends = (losses - before) / mu
    mass, moved = _masses(ends - mu / 2.0), _masses(ends + mu / 2.0)  # of each cell, and the mean of y in it
    inner, inner_moved = mass[1:-1], moved[1:-1]
    upper = np.clip((inner_moved - shrinks[1:] * inner) / (shrinks[:-1] - shrinks[1:]), 0.0, inner)
    last = min(mass[-1], moved[-1] / shrinks[-1])
    body = float(upper @ values[:-1] + (inner - upper) @ values[1:])
    return float(mass[0] * values[0] + body + last * values[-1] + (mass[-1] - last))


def _masses(ends: Floats) -> Floats:
    """Normal masses of all cells between sorted ends, the outer ones included, each from the nearer tail."""
    below, above = ndtr(ends), ndtr(-ends)
    inner = np.where(ends[1:] > 0.0, above[:-1] - above[1:], below[1:] - below[:-1])
    return np.concatenate([below[:1], inner, above[-1:]])
