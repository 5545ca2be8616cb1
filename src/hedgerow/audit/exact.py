"""Exact numbers: fractions, and rigorous bounds on the few functions that do not give fractions.

Every number of a file is a binary floating-point number and so a fraction. What is computed from it is a fraction too,
or lies between two of them, so that whether a charge covers a cost never depends on how something was rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

_DIGITS = 80
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN)
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN)
_CLOSE = Fraction(1, 10**12)
"""Below it bounds in closed form are known to 24 digits."""
_FAR = 1000
"""From here on exp(-x) is bounded by 10^-400 and not computed."""


def exact(value: Any) -> Fraction:
    """A number of a JSON text as the fraction that it is.

    Raises:
        TypeError: It is not a number.
        ValueError: It is infinite, or not a number.

    Example:
        >>> exact(0.1)
        Fraction(3602879701896397, 36028797018963968)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is not finite")
    return Fraction(value)


@dataclass(frozen=True)
class Bounds:
    """Two fractions that a positive number lies between.

    Attributes:
        low: It is at least this.
        high: It is at most this.

    Example:
        >>> Bounds.of(Fraction(1, 2)).times(Bounds(Fraction(1), Fraction(3)))
        Bounds(low=Fraction(1, 2), high=Fraction(3, 2))
    """

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, number: Fraction) -> Bounds:
        """Those of a number that is known exactly."""
        return cls(number, number)

    def times(self, other: Bounds) -> Bounds:
        """Bounds on the product of two numbers that are not negative."""
        return Bounds(self.low * other.low, self.high * other.high)


def exp_of_minus(x: Fraction) -> Bounds:
    """Bounds on ``exp(-x)`` for x from 0 on, 79 digits apart.

    Decimal arithmetic rounds its exponential correctly, so that the neighbours of what it gives are bounds.

    Example:
        >>> bounds = exp_of_minus(Fraction(1))
        >>> f"{float(bounds.low):.15f}", bounds.low < bounds.high
        ('0.367879441171442', True)
    """
    if x > _FAR:
        return Bounds(Fraction(0), Fraction(1, 10**400))
    numerator, denominator = Decimal(-x.numerator), Decimal(x.denominator)
    low = _DOWN.exp(_DOWN.divide(numerator, denominator)).next_minus(_DOWN)
    high = _UP.exp(_UP.divide(numerator, denominator)).next_plus(_UP)
    return Bounds(Fraction(low), min(Fraction(1), Fraction(high)))


def entropy_of_range(x: Fraction) -> Bounds:
    """Bounds on ``u - 1 - ln u``, ``u = x / (e^x - 1)``, for x above 0: about x^2 / 8, and x for large x.

    For small x its terms cancel; there it lies between ``x^2 / 8 (1 - x^2 / 72)`` and ``x^2 / 8``.

    Example:
        >>> f"{float(entropy_of_range(Fraction(1)).high):.15f}"
        '0.123301561482245'
    """
    square = x * x / 8
    if x < _CLOSE:
        return Bounds(square * (1 - x * x / 72), square)
    power = exp_of_minus(x)
    low, high = x * power.low / (1 - power.low), x * power.high / (1 - power.high)
    # -ln u = x - ln x + ln(1 - e^-x), and e^x as good as infinite gives bounds too
    logs = [_logarithm(x / (1 - power.high)), _logarithm(x / (1 - power.low))]
    return Bounds(low - 1 + x - max(each.high for each in logs), high - 1 + x - min(each.low for each in logs))


def price_of_runs(x: Fraction, tries: Fraction) -> Bounds:
    """Bounds on ``ln((1 + m e^x) / (m + e^x))``: what the first of several runs that passes costs beside one.

    Args:
        x: The epsilon of each run, above 0.
        tries: The number m, a whole one from 2 on.

    Raises:
        ValueError: They are out of their ranges.

    Example:
        >>> f"{float(price_of_runs(Fraction(1), Fraction(10)).high):.15f}"
        '0.795672039159546'
    """
    if not (x > 0 and tries >= 2 and tries.denominator == 1):
        raise ValueError("runs are selected with an epsilon above 0, among 2 or more in the mean")
    power = exp_of_minus(x)
    low, high = ((tries + each) / (tries * each + 1) for each in (power.high, power.low))
    return Bounds(_logarithm(low).low, _logarithm(high).high)


def _logarithm(x: Fraction) -> Bounds:
    """Bounds on ``ln x``, from logarithms of neighbours of x that are rounded correctly."""
    numerator, denominator = Decimal(x.numerator), Decimal(x.denominator)
    low = _DOWN.ln(_DOWN.divide(numerator, denominator)).next_minus(_DOWN)
    high = _UP.ln(_UP.divide(numerator, denominator)).next_plus(_UP)
    return Bounds(Fraction(low), Fraction(high))


def tanh_of_half(x: Fraction) -> Bounds:
    """Bounds on ``tanh(x / 2) = (1 - exp(-x)) / (1 + exp(-x))`` for x from 0 on.

    Example:
        >>> f"{float(tanh_of_half(Fraction(1)).high):.15f}"
        '0.462117157260010'
    """
    power = exp_of_minus(x)
    return Bounds((1 - power.high) / (1 + power.high), (1 - power.low) / (1 + power.low))
