"""From zCDP, and GDP, to (epsilon, delta); for zCDP by a form of the tight conversion of the auditor's own.

A rho-zCDP mechanism is (epsilon, delta)-differentially private for every order alpha > 1 with (Canonne, Kamath and
Steinke 2020, proposition 12, solved for epsilon)

    epsilon = alpha rho + ln((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1).

Any order gives a valid epsilon; the smallest is looked for in decimal arithmetic of 50 digits, and what its rounding
could amount to is added. (`hedgerow.privacy` bisects the logarithm of delta as a function of epsilon in place of this.)
"""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from hedgerow.audit.gaussian import epsilon_of_half_square

_EXACTLY = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN)
_ROUNDING = Decimal(10) ** -40
"""Share of the terms that is added for their rounding, which is below 10^-48 of them."""

_STEPS = 160
"""Each takes a third off the interval in which the best order lies; after them it is known to 26 digits."""

_SPAN = 60


@lru_cache(maxsize=256)
def epsilon_of_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon with which rho-zCDP is (epsilon, delta)-differentially private, rounded up.

    Args:
        rho: The amount to convert, at least 0.
        delta: The delta to convert it at, between 0 and 1.

    Raises:
        ValueError: A number is out of its range.

    Example:
        >>> f"{float(epsilon_of_rho(Fraction(1, 32), Fraction(1, 1000))):.9f}"
        '0.688002455'
    """
    if rho < 0 or not 0 < delta < 1:
        raise ValueError("rho must not be negative, and delta must lie between 0 and 1")
    if rho == 0:
        return Fraction(0)
    with localcontext(_EXACTLY):
        amount, log_delta = _decimal(rho), _decimal(delta).ln()
        middle = (-log_delta / amount).ln() / 2  # near the best order: about 1 + sqrt(ln(1 / delta) / rho)
        low, high = middle - _SPAN, middle + _SPAN
        for _ in range(_STEPS):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            if _epsilon_at(left, amount, log_delta) <= _epsilon_at(right, amount, log_delta):
                high = right
            else:
                low = left
        return max(Fraction(0), Fraction(_epsilon_at((low + high) / 2, amount, log_delta)))


def epsilon_of(amount: Fraction, unit: str, delta: Fraction) -> Fraction:
    """An epsilon for an amount in rho or in mu^2 / 2, rounded up.

    Args:
        amount: The amount to convert, at least 0.
        unit: ``"rho"`` or ``"mu^2/2"``.
        delta: The delta to convert it at, between 0 and 1.

    Raises:
        ValueError: A number is out of its range.

    Example:
        >>> [f"{float(epsilon_of(Fraction(1, 32), unit, Fraction(1, 1000))):.6f}" for unit in ("rho", "mu^2/2")]
        ['0.688002', '0.592007']
    """
    return epsilon_of_half_square(amount, delta) if unit == "mu^2/2" else epsilon_of_rho(amount, delta)


def _epsilon_at(log_excess: Decimal, rho: Decimal, log_delta: Decimal) -> Decimal:
    """The epsilon of one order, ``1 + exp(log_excess)``, rounded up; in the context of 50 digits."""
    excess = log_excess.exp()
    order = 1 + excess
    log_order = order.ln()
    terms = (order * rho, log_excess, -log_order, -log_delta / excess, -log_order / excess)
    return sum(terms, Decimal(0)) + (1 + sum(map(abs, terms), Decimal(0))) * _ROUNDING


def amplified(epsilon: Fraction, share: Fraction) -> Fraction:
    """``ln(1 + share (e^epsilon - 1))``, rounded up: what a secret sample of that share makes of epsilon.

    Balle, Barthe and Gaboardi (2018), for samples without replacement.

    Example:
        >>> round(float(amplified(Fraction(1), Fraction(1, 2))), 6)
        0.620115
    """
    with localcontext(_EXACTLY):
        growth = _decimal(epsilon).exp() - 1
        return Fraction((1 + _decimal(share) * growth).ln() * (1 + _ROUNDING) + _ROUNDING)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
