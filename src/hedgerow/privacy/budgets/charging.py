"""Costs of mechanisms, and the rounding of charges.

**Rounding.** The scale of a mechanism is the number that the sampler receives, exactly. Charges are computed from it
in floating point and then raised by 2^-50 of themselves, which is more than the error of the computation.
``for_charge`` aims at 2^-45 below the amount, so that parts of a budget which were computed by a handful of float
divisions always fit into it (see `Ledger`).

`bounded_range_rho` rests on the bounded range of the exponential mechanism, which permute-and-flip and noisy maxima do
not have; epsilon + exp(-epsilon) - 1 belongs to continuous Laplace noise and is too small for the discrete
one, whose loss at unit shift is that of randomised response (theory.md section 0).
"""

import math
from functools import lru_cache

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.conversion import boundary

ABOVE = 1.0 + 2.0**-50
BELOW = 1.0 - 2.0**-45
TOLERANCE = 2.0**-40
"""Relative error within which numbers that another machine computed, such as logarithms, are taken for the same."""
_BOUNDED_RANGE = 8.0
"""Log-probabilities within an interval of length epsilon have a Renyi divergence of at most alpha epsilon^2 / 8."""
_SERIES_TO, _TERMS, _FAR = 3.0, 24, 700.0
"""Half of the range up to which the cost of a bounded range is summed up, and so many terms, the rest below 2^-60; and
the range from which on what exp adds is nothing."""
_LARGEST_SCALE = 2.0**60
"""In lattice units: noise beyond it would mostly saturate 64-bit integers."""


def square_range_rho(epsilon: float) -> float:
    """``epsilon^2 / 8``: what the exponential mechanism's law was charged before, and at least `bounded_range_rho`.

    Example:
        >>> square_range_rho(2.0)
        0.5
    """
    return epsilon * epsilon / _BOUNDED_RANGE


def bounded_range_rho(epsilon: float) -> float:
    """The least rho of log-probabilities that move within an interval of length epsilon (theory.md section 0).

    ``y coth y - 1 + ln(sinh y / y)`` with ``y = epsilon / 2``: the largest relative entropy. For small y both are sums
    of positive terms, so that nothing cancels.

    Example:
        >>> [round(bounded_range_rho(epsilon) / square_range_rho(epsilon), 4) for epsilon in (0.1, 1.0, 2.0, 3.0)]
        [0.9999, 0.9864, 0.9489, 0.8956]
    """
    y = epsilon / 2.0
    if y > _SERIES_TO:
        left = math.exp(-min(epsilon, _FAR))
        return epsilon - 1.0 - math.log(epsilon) + math.log1p(-left) + epsilon * left / (1.0 - left)
    square, term, sinh, cosh = y * y, 1.0, [0.0], [0.0]
    for k in range(1, _TERMS):
        term *= square / (2 * k * (2 * k + 1))
        sinh.append(term)
        cosh.append(2 * k * term)
    more = math.fsum(sinh)  # sinh y / y - 1
    return math.fsum(cosh) / (1.0 + more) + math.log1p(more)


@lru_cache(maxsize=4096)
def epsilon_of_bounded_range(rho: float) -> float:
    """The largest epsilon that costs at most rho: the inverse of `bounded_range_rho`, rounded down.

    Example:
        >>> round(epsilon_of_bounded_range(0.5), 5), epsilon_of_bounded_range(1e-12) >= 8e-12**0.5
        (2.05597, True)
    """
    low, high = math.sqrt(_BOUNDED_RANGE * rho) * BELOW, 2.0 * math.sqrt(_BOUNDED_RANGE * rho) + 2.0 * rho
    return boundary(lambda epsilon: bounded_range_rho(epsilon) <= rho, fails=high, holds=low)


def pure_rho(epsilon: float) -> float:
    """The rho of any epsilon-DP mechanism: ``epsilon tanh(epsilon / 2)``, attained by randomised response.

    Example:
        >>> round(pure_rho(1.0), 6)
        0.462117
    """
    return epsilon * math.tanh(epsilon / 2.0)


def epsilon_of_pure_rho(rho: float) -> float:
    """The largest epsilon that costs at most rho: the inverse of `pure_rho`, rounded down.

    Example:
        >>> round(epsilon_of_pure_rho(0.462117), 5)
        1.0
    """
    enough = max(math.sqrt(2.0 * rho), rho) * 2.0
    return boundary(lambda epsilon: pure_rho(epsilon) <= rho, fails=enough, holds=0.0)


def check_amount(amount: float) -> float:
    """The amount itself, if it can be a charge.

    Raises:
        ConfigError: It is not positive and finite.

    Example:
        >>> check_amount(0.5)
        0.5
    """
    if not (math.isfinite(amount) and amount > 0.0):
        raise ConfigError(f"a charge must be a positive finite number, not {amount!r}", remedy="give each step a share")
    return float(amount)


def check_scale(scale: float, sensitivity: float, step: float) -> None:
    """Refuse what no sampler can draw.

    Args:
        scale: Scale of the noise, in counts.
        sensitivity: Sensitivity, in counts.
        step: Counts per lattice unit.

    Raises:
        ConfigError: A number is not positive and finite, or the scale is beyond what 64-bit integers hold.

    Example:
        >>> check_scale(2.0, 1.0, 1.0)
    """
    if not (math.isfinite(sensitivity) and sensitivity > 0.0):
        raise ConfigError(f"the sensitivity must be positive and finite, not {sensitivity}")
    if not (math.isfinite(scale) and 0.0 < scale <= _LARGEST_SCALE * step):
        raise ConfigError(
            f"a noise scale of {scale:.6g} counts cannot be drawn",
            remedy="spend more on each step: fewer rounds, or a larger budget",
        )
