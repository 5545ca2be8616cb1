"""From zCDP to (epsilon, delta) and back, by the tight conversion of theory.md section 0.

A rho-zCDP mechanism is (epsilon, delta(epsilon))-differentially private with (Canonne, Kamath, Steinke 2020)

    ln delta(epsilon) = inf over alpha > 1 of (alpha - 1)(alpha rho - epsilon) + alpha ln(1 - 1/alpha) - ln(alpha - 1).

The expression is convex in alpha: its derivative is (2 alpha - 1) rho - epsilon + ln(1 - 1/alpha), which
increases. Every alpha gives a valid bound, so a minimum found inexactly errs to the safe side, and the terms'
rounding is added on top. Everything is in ln delta: a delta of 1e-300 is as good as one of 0.1.
"""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache

from hedgerow.errors import ConfigError
from hedgerow.quantities import at_most

_ROUNDING = 2.0**-48
"""Share of the terms' size that is added to ln delta for their rounding."""
_CLOSELY = Context(prec=60)
_SMALLEST = 1e-6
"""From here on a factor is written out; its distance from 1 would be lost among zeros."""


def log_delta(rho: float, epsilon: float) -> float:
    """Natural logarithm of the smallest known delta with which rho-zCDP is (epsilon, delta)-DP.

    Args:
        rho: The amount to convert, at least 0.
        epsilon: Epsilon of the guarantee, at least 0.

    Returns:
        At most 0; minus infinity for ``rho = 0``.

    Example:
        >>> round(math.exp(log_delta(1 / 32, 0.688002455)), 9)
        0.001
    """
    if not (math.isfinite(rho) and rho >= 0.0 and math.isfinite(epsilon) and epsilon >= 0.0):
        raise ConfigError(f"rho {rho} and epsilon {epsilon} must be finite and not negative")
    if rho == 0.0:
        return -math.inf
    excess = _best_order(rho, epsilon)
    order = 1.0 + excess
    terms = (excess * order * rho, -excess * epsilon, -order * math.log1p(1.0 / excess), -math.log(excess))
    return min(0.0, math.fsum(terms) + _ROUNDING * math.fsum(map(abs, terms)))


def _best_order(rho: float, epsilon: float) -> float:
    """Find alpha - 1 at the minimum, by bisection of the derivative in ln(alpha - 1)."""

    def slope(excess: float) -> float:
        return (2.0 * excess + 1.0) * rho - epsilon - math.log1p(1.0 / excess)

    low, high = -600.0, 600.0
    for _ in range(64):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(math.exp(middle)) < 0.0 else (low, middle)
    return math.exp(0.5 * (low + high))


def delta_of(rho: float, epsilon: float) -> float:
    """Smallest known delta with which rho-zCDP is (epsilon, delta)-DP; see `log_delta`.

    Example:
        >>> delta_of(0.0, 1.0)
        0.0
    """
    return math.exp(log_delta(rho, epsilon))


@lru_cache(maxsize=256)
def epsilon_of(rho: float, delta: float) -> float:
    """Smallest known epsilon with which rho-zCDP is (epsilon, delta)-DP, rounded up.

    Raises:
        ConfigError: rho is negative or delta is not between 0 and 1.

    Example:
        >>> f"{epsilon_of(1 / 32, 1e-3):.9f}"
        '0.688002455'
    """
    target = math.log(check_delta(delta))
    near = rho + 2.0 * math.sqrt(max(rho, 0.0) * -target)
    return least(lambda epsilon: log_delta(rho, epsilon) <= target, near)


@lru_cache(maxsize=256)
def rho_of(epsilon: float, delta: float) -> float:
    """Largest rho that the conversion turns into (epsilon, delta)-DP, rounded down.

    Raises:
        ConfigError: epsilon is not positive or delta is not between 0 and 1.

    Example:
        >>> f"{rho_of(1.0, 1e-6):.6f}"
        '0.024356'
    """
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise ConfigError(f"epsilon must be a positive number, not {epsilon}")
    target = math.log(check_delta(delta))
    return largest(lambda rho: log_delta(rho, epsilon) <= target, epsilon)


def in_words(epsilon: float) -> str:
    """The factor by which probabilities may change, ``e^epsilon``, rounded up as sentences show it: never as 1.

    Example:
        >>> in_words(1.0), in_words(1e-4), in_words(20.0)
        ('2.719', '1.00011', 'e^20')
    """
    if not _SMALLEST <= epsilon < 20.0:
        return f"e^{at_most(epsilon)}"
    factor = _CLOSELY.exp(Decimal(epsilon)).next_plus(_CLOSELY)  # what it gives is rounded to the nearest
    digits = max(4, 2 - (factor - 1).adjusted())  # two digits of what it is above 1
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).plus(factor)):.{digits}g}"


def check_delta(delta: float) -> float:
    """The delta itself, if it is one.

    Raises:
        ConfigError: It is not between 0 and 1.

    Example:
        >>> check_delta(1e-9)
        1e-09
    """
    if not 0.0 < delta < 1.0:
        raise ConfigError(f"delta must lie between 0 and 1, not {delta}", remedy="give a delta well below 1 / records")
    return delta


def least(condition: Callable[[float], bool], near: float) -> float:
    """The least number from 0 on with which a condition holds that holds for all larger ones; doubled until it does.

    Example:
        >>> least(lambda x: x >= 3.0, 1.0), least(lambda x: True, 1.0)
        (3.0, 0.0)
    """
    if condition(0.0):
        return 0.0
    while not condition(near):
        near *= 2.0
    return boundary(condition, fails=0.0, holds=near)


def largest(condition: Callable[[float], bool], near: float) -> float:
    """The largest number with which a condition holds that holds for all smaller ones; doubled until it does not.

    Example:
        >>> largest(lambda x: x <= 3.0, 1.0)
        3.0
    """
    while condition(near):
        near *= 2.0
    return boundary(condition, fails=near, holds=0.0)


def boundary(condition: Callable[[float], bool], *, fails: float, holds: float) -> float:
    """Bisect to neighbouring floats; return the end at which the condition holds.

    Example:
        >>> boundary(lambda x: x * x >= 2.0, fails=1.0, holds=2.0)
        1.4142135623730951
    """
    while True:
        middle = 0.5 * (fails + holds)
        if middle in (fails, holds):
            return holds
        fails, holds = (fails, middle) if condition(middle) else (middle, holds)
