"""Gaussian and zero-concentrated differential privacy by formulas of the auditor's own: costs, and (epsilon, delta).

The normal distribution comes from the alternating series of its integral,

    Phi(x) - 1/2 = (x - x^3 / (2 * 3) + x^5 / (2^2 2! 5) - x^7 / (2^3 3! 7) + ...) / sqrt(2 pi),

in decimal arithmetic with digits enough for all that cancels; what its rounding could amount to is added.
(`hedgerow.privacy` adds up another series, none of whose terms cancel.) Costs are mu^2 / 2; docs/theory.md section 12
has the proofs.

The epsilon of a rho is found by a form of the tight conversion of the auditor's own. A rho-zCDP mechanism is (epsilon,
delta)-differentially private for every order alpha > 1 with (Canonne, Kamath and Steinke 2020, proposition 12, solved
for epsilon)

    epsilon = alpha rho + ln((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1).

Any order gives a valid epsilon; the smallest is looked for in decimal arithmetic of 50 digits, and what its rounding
could amount to is added. (`hedgerow.privacy` bisects the logarithm of delta as a function of epsilon in place of this.)
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from hedgerow.audit.exact import Bounds

_DIGITS = 60
_ROUNDING = Decimal(10) ** -42
"""Share of a result that is added for rounding, which is below 10^-50 of it."""
_FAR, _FARTHEST = 700, 45
"""The loss, and the quantile, from which on bounds in closed form are as good."""
_NEAR = Fraction(1, 10**12)
"""The loss below which the tangent at 0 is as good."""
_NARROWEST = Fraction(0.58)
"""The sigma below which four times the cost of noise without a lattice is charged."""
_STEPS = 150
"""Halvings, after which an interval is known to 45 digits."""


@lru_cache(maxsize=4096)
def cost_of_pure(loss: Fraction) -> Bounds:
    """Bounds on the cost of any mechanism whose log-probabilities move by at most so much.

    It is ``2 z^2`` with ``Phi(z) = 1 / (1 + exp(-loss))``: what randomised response costs.

    Example:
        >>> f"{float(cost_of_pure(Fraction(1)).high):.12f}"
        '0.758955595371'
    """
    if loss > _FAR:  # 1 - Phi(z) <= exp(-z^2 / 2) / 2
        return Bounds.of(4 * (loss - Fraction(69, 100)))
    with localcontext(_context(float(2 * loss) ** 0.5)):
        x, slope = _decimal(loss), (2 * _pi()).sqrt() / 4
        if loss < _NEAR:
            highest = 2 * (slope * x) ** 2
            return Bounds(Fraction(highest * (1 - x)), Fraction(highest * (1 + _ROUNDING)))
        wanted = 1 / (1 + x.exp())
        z = _root(lambda z: _tail(z) - wanted, Decimal(0), min(slope * x, (2 * x).sqrt() + 1))
        return Bounds(Fraction(2 * z * z * (1 - _ROUNDING)), Fraction(2 * z * z * (1 + _ROUNDING)))


def cost_of_noise(sensitivity: Fraction, sigma: Fraction) -> Bounds:
    """Bounds on the cost of discrete Gaussian noise on whole numbers.

    Args:
        sensitivity: L2 sensitivity, in counts.
        sigma: Parameter of the noise, in counts.

    Example:
        >>> f"{float(cost_of_noise(Fraction(1), Fraction(1)).high):.9f}"
        '0.550510257'
    """
    squared, rest = (sensitivity / sigma) ** 2, 1 - 1 / (3 * sigma**2)
    if sigma < _NARROWEST:
        return Bounds.of(2 * squared)
    low, high = (_square_root(rest, rounding) for rounding in (ROUND_FLOOR, ROUND_CEILING))
    return Bounds(squared / (1 + high), squared / (1 + low))


def _square_root(number: Fraction, rounding: str) -> Fraction:
    """Its root, rounded that way: of a quotient that was, and which the library rounds to the nearest."""
    context = Context(prec=_DIGITS, rounding=rounding)
    root = context.sqrt(context.divide(Decimal(number.numerator), Decimal(number.denominator)))
    return Fraction(context.next_minus(root) if rounding == ROUND_FLOOR and root else context.next_plus(root))


@lru_cache(maxsize=256)
def epsilon_of_half_square(amount: Fraction, delta: Fraction) -> Fraction:
    """An epsilon with which mu-GDP is (epsilon, delta)-differentially private, rounded up.

    Args:
        amount: ``mu^2 / 2``, at least 0.
        delta: The delta to convert it at, between 0 and 1.

    Raises:
        ValueError: A number is out of its range.

    Example:
        >>> f"{float(epsilon_of_half_square(Fraction(1, 32), Fraction(1, 10**6))):.9f}"
        '1.060701862'
    """
    if amount < 0 or not 0 < delta < 1:
        raise ValueError("mu must not be negative, and delta must lie between 0 and 1")
    if amount == 0:
        return Fraction(0)
    with localcontext(_context(0.0)):
        mu, target = (2 * _decimal(amount)).sqrt() * (1 + _ROUNDING), _decimal(delta)
        if _delta(mu, Decimal(0)) <= target:
            return Fraction(0)
        enough = mu
        while _delta(mu, enough) > target:
            enough *= 2
        root = _root(lambda epsilon: _delta(mu, epsilon) - target, Decimal(0), enough)
        return Fraction(root * (1 + _ROUNDING))


def _delta(mu: Decimal, epsilon: Decimal) -> Decimal:
    """``Q(epsilon / mu - mu / 2) - e^epsilon Q(epsilon / mu + mu / 2)``, or a little more."""
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > _FARTHEST:
        return (-near * near / 2).exp()
    if near < -_FARTHEST:
        return Decimal(1)
    with localcontext(_context(min(float(far), _FARTHEST))):
        if far > _FARTHEST:  # Q(x) >= 2 phi(x) / (x + sqrt(x^2 + 4))
            beyond = 2 * (-near * near / 2).exp() / (2 * _pi()).sqrt() / (far + (far * far + 4).sqrt())
        else:
            beyond = epsilon.exp() * _tail(far)
        return _tail(near) * (1 + _ROUNDING) - beyond


def _tail(x: Decimal) -> Decimal:
    """The probability that a standard normal number is above x."""
    with localcontext(_context(float(x))) as context:
        power, total, n, half = x, x, 0, x * x / 2
        least = Decimal(10) ** -context.prec
        while abs(power) > least or n < half:
            n += 1
            power *= -half / n
            total += power / (2 * n + 1)
        return Decimal("0.5") - total / (2 * _pi()).sqrt()


def _root(excess: Callable[[Decimal], Decimal], low: Decimal, high: Decimal) -> Decimal:
    """The place where a decreasing function is not above 0 any more, from above."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _context(x: float) -> Context:
    """Digits enough for a tail at x by sums that cancel: its own, and those of the largest term."""
    return Context(prec=_DIGITS + int(0.44 * x * x) + 10, Emax=MAX_EMAX, Emin=MIN_EMIN)


@lru_cache(maxsize=1)
def _pi() -> Decimal:
    """Euler: ``20 arctan(1/7) + 8 arctan(3/79)``, to a thousand digits."""
    with localcontext(Context(prec=1010)):
        return 20 * _arctan(Decimal(1) / 7) + 8 * _arctan(Decimal(3) / 79)


def _arctan(x: Decimal) -> Decimal:
    power, total, odd = x, Decimal(0), 1
    while abs(power) > Decimal(10) ** -1012:
        total += power / odd
        power, odd = -power * x * x, odd + 2
    return total


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


_EXACTLY = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN)
_ROUNDING_OF_TERMS = Decimal(10) ** -40
"""Share of the terms that is added for their rounding, which is below 10^-48 of them."""

_THIRDS = 160
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
        for _ in range(_THIRDS):
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
    return sum(terms, Decimal(0)) + (1 + sum(map(abs, terms), Decimal(0))) * _ROUNDING_OF_TERMS


def amplified(epsilon: Fraction, share: Fraction) -> Fraction:
    """``ln(1 + share (e^epsilon - 1))``, rounded up: what a secret sample of that share makes of epsilon.

    Balle, Barthe and Gaboardi (2018), for samples without replacement.

    Example:
        >>> round(float(amplified(Fraction(1), Fraction(1, 2))), 6)
        0.620115
    """
    with localcontext(_EXACTLY):
        growth = _decimal(epsilon).exp() - 1
        return Fraction((1 + _decimal(share) * growth).ln() * (1 + _ROUNDING_OF_TERMS) + _ROUNDING_OF_TERMS)
