"""Gaussian differential privacy: its conversion, what other mechanisms cost in it, and discrete noise (theory.md 12).

Two laws are mu-GDP if telling them apart is no easier than telling N(0, 1) from N(mu, 1) (Dong, Roth and Su 2022). Then
they are (epsilon, delta(epsilon))-differentially private for every epsilon, with Q the tail of the normal distribution:

    delta(epsilon) = Q(epsilon / mu - mu / 2) - e^epsilon Q(epsilon / mu + mu / 2).

**The unit.** Squares of mu add up. What is added here is ``mu^2 / 2``: the rho of the Gaussian noise that has this mu.

**Rounding.** Tails come from decimal arithmetic (`normal`), errors are added on the safe side, and the results are
rounded to floats in the safe direction.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.conversion import check_delta, largest, least
from hedgerow.privacy.budgets.normal import DIGITS, FARTHEST, context_for, density, tail

_ERROR = Decimal(10) ** (4 - DIGITS)
"""Share of a tail that is added for the rounding of it and of what it is multiplied by."""
_MOST, _LEAST = 700.0, 1e-9
"""Epsilons beyond these are charged by bounds in closed form, which are close there."""
_SLOPE = math.sqrt(2.0 * math.pi) / 4.0
"""Slope at 0 of the quantile that belongs to log-odds: it is concave, so that its tangent is above it."""
_NARROWEST = 0.58
"""The sigma in lattice units from which on the better bound for discrete noise is used; it holds from sqrt(1 / 3)."""
_STRONGEST, _STRONG, _JUST_WIDER = 11.9, 5.42, 0.5801
"""Squares of a step between quantiles: a sigma follows from the first on and up to the second, and is fixed between."""
_ABOVE = 1.0 + 2.0**-48
"""Charges in floating point are raised by more than the error of their computation."""


def delta_of_mu(mu: float, epsilon: float) -> Decimal:
    """The smallest delta with which mu-GDP is (epsilon, delta)-DP, rounded up.

    Args:
        mu: Above 0.
        epsilon: At least 0.

    Example:
        >>> f"{delta_of_mu(1.0, 1.0):.12f}"
        '0.126936737507'
    """
    if not (0.0 < mu < math.inf and 0.0 <= epsilon < math.inf):
        raise ConfigError(f"mu {mu} and epsilon {epsilon} must be finite, and not negative")
    with localcontext(context_for(FARTHEST)):
        m, e = Decimal(mu), Decimal(epsilon)
        near, far = e / m - m / 2, e / m + m / 2
    if near < -FARTHEST:
        return Decimal(1)
    with localcontext(context_for(float(min(max(abs(near), abs(far)), Decimal(FARTHEST))))):
        if near > FARTHEST:
            return (-near * near / 2).exp()  # twice the tail, and more
        above = tail(near)
        # beyond, by a bound on Mills' ratio: Q(x) >= 2 phi(x) / (x + sqrt(x^2 + 4))
        below = e.exp() * tail(far) if far <= FARTHEST else 2 * density(near) / (far + (far * far + 4).sqrt())
        return min(Decimal(1), above - below + above * _ERROR)


@lru_cache(maxsize=256)
def epsilon_of_mu(mu: float, delta: float) -> float:
    """The smallest epsilon with which mu-GDP is (epsilon, delta)-DP, rounded up.

    Raises:
        ConfigError: mu is not positive or delta is not between 0 and 1.

    Example:
        >>> f"{epsilon_of_mu(0.25, 1e-6):.9f}"
        '1.060701862'
    """
    target = Decimal(check_delta(delta))
    return least(lambda epsilon: delta_of_mu(mu, epsilon) <= target, mu * (mu + 1.0))


@lru_cache(maxsize=256)
def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu that is (epsilon, delta)-DP, rounded down.

    Raises:
        ConfigError: epsilon is not positive or delta is not between 0 and 1.

    Example:
        >>> f"{mu_of(1.0, 1e-6):.9f}"
        '0.236704381'
    """
    if not 0.0 < epsilon < math.inf:
        raise ConfigError(f"epsilon must be a positive number, not {epsilon}")
    target = Decimal(check_delta(delta))
    return largest(lambda mu: delta_of_mu(mu, epsilon) <= target, min(1.0, epsilon))


def half_square(mu: float) -> float:
    """``mu^2 / 2``, rounded down: the limit that a mu gives.

    Example:
        >>> 0.499 < half_square(1.0) < 0.5
        True
    """
    return math.nextafter(mu * mu / 2.0, 0.0)


def mu_of_half_square(amount: float) -> float:
    """The mu of an amount ``mu^2 / 2``, rounded up.

    Example:
        >>> mu_of_half_square(0.5), mu_of_half_square(1.0) ** 2 >= 2.0
        (1.0, True)
    """
    mu = math.sqrt(2.0 * amount)
    return mu if Fraction(mu) ** 2 >= 2 * Fraction(amount) else math.nextafter(mu, math.inf)


def epsilon_of_half_square(amount: float, delta: float) -> float:
    """The smallest epsilon that an amount ``mu^2 / 2`` means at a delta, rounded up.

    Example:
        >>> epsilon_of_half_square(0.0, 1e-6), f"{epsilon_of_half_square(0.5, 1e-6):.6f}"
        (0.0, '4.886554')
    """
    if amount == 0.0:
        return 0.0
    return epsilon_of_mu(mu_of_half_square(amount), check_delta(delta))


@lru_cache(maxsize=1024)
def pure_gdp(epsilon: float) -> float:
    """``mu^2 / 2`` of any epsilon-DP mechanism, rounded up: ``mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon))``.

    Attained by randomised response (Dong, Roth and Su; theory.md section 12).

    Example:
        >>> round(pure_gdp(1.0), 6), round(pure_gdp(0.01) / 0.01**2, 4)
        (0.758956, 0.7854)
    """
    if epsilon > _MOST:  # Q(z) <= exp(-z^2 / 2) / 2
        return 4.0 * (epsilon - 0.69) * _ABOVE
    if epsilon < _LEAST:
        return 2.0 * (_SLOPE * epsilon) ** 2 * _ABOVE
    with localcontext(context_for(math.sqrt(2.0 * epsilon))):
        wanted = 1 / (1 + Decimal(epsilon).exp())
        z = Decimal(-NormalDist().inv_cdf(float(wanted)))
        for _ in range(3):  # Newton doubles the digits each time, from 7 of a float or more
            z += (tail(z) - wanted) / density(z)
        return float(2 * z * z) * _ABOVE


@lru_cache(maxsize=1024)
def epsilon_of_pure_gdp(amount: float) -> float:
    """The largest epsilon that costs at most so much: the inverse of `pure_gdp`, rounded to nearest or below.

    Example:
        >>> round(epsilon_of_pure_gdp(pure_gdp(1.0)), 9)
        1.0
    """
    z = math.sqrt(amount / 2.0)
    if z * z / 2.0 > _MOST:
        return amount / 4.0 + 0.69
    if z < _SLOPE * _LEAST:
        return z / _SLOPE
    with localcontext(context_for(z)):
        beyond = tail(Decimal(z))
        return min(_MOST, float(((1 - beyond) / beyond).ln()))


def bounded_range_gdp(epsilon: float) -> float:
    """``mu^2 / 2`` of the exponential mechanism: that of an ``epsilon / 2``-DP mechanism (theory.md section 12).

    Example:
        >>> round(bounded_range_gdp(0.01) / 0.01**2, 5)
        0.19635
    """
    return pure_gdp(epsilon / 2.0)


def epsilon_of_bounded_range_gdp(amount: float) -> float:
    """The epsilon of an exponential mechanism that costs so much: the inverse of `bounded_range_gdp`.

    Example:
        >>> round(epsilon_of_bounded_range_gdp(bounded_range_gdp(1.0)), 9)
        1.0
    """
    return 2.0 * epsilon_of_pure_gdp(amount)


def discrete_gdp(l2: float, sigma: float) -> float:
    """``mu^2 / 2`` of discrete Gaussian noise on whole numbers, rounded up (theory.md section 12).

    Independent of the number of values: with ``u = 1 / sigma^2`` it is ``l2^2 u / (1 + sqrt(1 - u / 3))``, where noise
    without a lattice costs ``l2^2 u / 2``; below ``sigma = 0.58`` four times the latter.

    Args:
        l2: L2 sensitivity, in lattice units.
        sigma: Parameter of the noise, in lattice units.

    Example:
        >>> [round(2.0 * sigma**2 * discrete_gdp(1.0, sigma), 5) for sigma in (0.5, 1.0, 5.0, 50.0)]
        [4.0, 1.10102, 1.00336, 1.00003]
    """
    ratio = l2 / sigma
    share = 2.0 if sigma < _NARROWEST else 1.0 / (1.0 + math.sqrt(1.0 - 1.0 / (3.0 * sigma * sigma)))
    return ratio * ratio * share * _ABOVE


def sigma_of_discrete_gdp(l2: float, amount: float) -> float:
    """The least sigma at which discrete Gaussian noise costs at most so much: the inverse of `discrete_gdp`.

    Example:
        >>> round(sigma_of_discrete_gdp(1.0, discrete_gdp(1.0, 2.5)), 9)
        2.5
    """
    q = 2.0 * amount / (l2 * l2)  # the square of the largest step between quantiles of the noise
    if q <= _STRONG:
        return 1.0 / math.sqrt(q * (1.0 - q / 12.0))
    return _JUST_WIDER if q < _STRONGEST else 2.0 / math.sqrt(q)
