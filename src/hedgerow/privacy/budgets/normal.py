"""The tail of the normal distribution in decimal arithmetic, as good as exact.

With phi the density, 1/2 - Q(x) = phi(x) (x + x^3/3 + x^5/(3 * 5) + ...). All terms have one sign, so none cancels, and
what is left out is at most a geometric series. The context has 60 digits more than the tail has zeros after its point;
a few thousand operations lose four of them. `DIGITS` of each value are therefore right, with room to spare, and so is
its rounding to a float. Nothing here depends on the machine.
"""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext, localcontext
from functools import lru_cache
from math import ceil

DIGITS = 50
"""Leading digits of a tail that are right."""
FARTHEST = 45
"""The largest absolute number that a tail is computed for: at 45 it is about 1e-442."""
_SPARE = 60
_TWO = Decimal(2)


def context_for(x: float) -> Context:
    """Digits enough for a tail at x, and for differences of a few.

    Example:
        >>> context_for(0.0).prec, context_for(10.0).prec
        (61, 83)
    """
    return Context(prec=_SPARE + 1 + ceil(0.22 * x * x), Emax=MAX_EMAX, Emin=MIN_EMIN)


def density(x: Decimal) -> Decimal:
    """The density ``exp(-x^2 / 2) / sqrt(2 pi)``, in the context of the caller.

    Example:
        >>> f"{density(Decimal(0)):.12f}"
        '0.398942280401'
    """
    return (-x * x / _TWO).exp() / (_TWO * _circle(getcontext().prec)).sqrt()


def tail(x: Decimal) -> Decimal:
    """``Q(x)``, the probability that a standard normal number is above x, right in `DIGITS` digits.

    Args:
        x: At most `FARTHEST` in absolute value.

    Example:
        >>> f"{tail(Decimal(10)):.12e}", f"{tail(Decimal(-1)):.12f}"
        ('7.619853024161e-24', '0.841344746069')
    """
    with localcontext(context_for(float(x))):
        term, total, odd, square = x, x, 1, x * x
        least = Decimal(10) ** -(_SPARE + ceil(0.22 * float(square)))
        while odd < square or abs(term) > least * abs(total):
            odd += 2
            term = term * square / odd
            total += term
        return Decimal("0.5") - density(x) * total


@lru_cache(maxsize=64)
def _circle(digits: int) -> Decimal:
    """Pi to so many digits, by Machin's formula."""
    with localcontext(Context(prec=digits + 10)):
        return 16 * _arctangent_of_inverse(5) - 4 * _arctangent_of_inverse(239)


def _arctangent_of_inverse(number: int) -> Decimal:
    """``arctan(1 / number)`` in the context of the caller."""
    power, total, odd = Decimal(1) / number, Decimal(0), 1
    while total + power / odd != total:
        total += power / odd if odd % 4 == 1 else -power / odd
        power, odd = power / (number * number), odd + 2
    return total
