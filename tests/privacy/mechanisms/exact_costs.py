"""What mechanisms cost, by formulas of their own: fractions where it is rational, intervals of 300 bits where not.

Nothing here is taken from ``privacy/charging.py``, nor from the mechanisms: names, sensitivities and scales come in, as
a ledger's events hold them, and exact bounds come out (theory.md section 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mpmath import iv

SLACK = Fraction(1, 2**38)
"""What rounded weights may add to the loss of one draw (``privacy/draws.py`` proves it)."""
ADDITIVE = ("discrete Laplace", "discrete Gaussian")
DRAWS = ("exponential mechanism, one draw", "exponential mechanism, independent draws")


@dataclass(frozen=True)
class Cost:
    """Bounds on a cost, equal where it is rational."""

    low: Fraction
    high: Fraction

    def covered_by(self, charge: float) -> bool:
        """Whether a charge is at least the cost, in exact arithmetic."""
        return Fraction(charge) >= self.high

    def nearly(self, charge: float) -> bool:
        """Whether a charge is above the cost by at most 2^-40 of it."""
        return Fraction(charge) <= self.low * (1 + Fraction(1, 2**40))


def cost(
    mechanism: str,
    unit: str,
    *,
    sensitivity: float | Fraction,
    scale: float | Fraction,
    values: int = 1,
    threshold_scale: float | Fraction = 0,
) -> Cost:
    """What one use of a mechanism costs, in the unit of a ledger.

    Args:
        mechanism: Its name in ledgers.
        unit: ``"epsilon"`` or ``"rho"``.
        sensitivity: As in the event; for a pair of tables how far their values really are apart will do as well.
        scale: As in the event.
        values: Draws of independent draws, fires of a sparse vector; of no account otherwise.
        threshold_scale: Of a sparse vector.
    """
    moved, wide = Fraction(sensitivity), Fraction(scale)
    if mechanism == "discrete Gaussian":
        assert unit == "rho", "Gaussian noise has no pure epsilon"
        return _rational((moved / wide) ** 2 / 2)
    if mechanism == "discrete Laplace":
        return _of_pure(moved / wide, unit)
    if mechanism == "sparse vector":
        return _of_pure(moved / Fraction(threshold_scale) + 2 * values * moved / wide, unit)
    if mechanism == "permute-and-flip":
        assert unit == "epsilon", "permute-and-flip has no bounded range"
        return _rational(2 * moved / wide)
    if mechanism == "exponential mechanism":
        return _rational(_of_range(2 * moved / wide, unit))
    assert mechanism in DRAWS, f"there is no mechanism {mechanism!r}"
    return _rational(values * _of_range(2 * moved / wide + SLACK, unit))


def cost_of(event: Any, threshold_scale: float | None = None) -> Cost:
    """What an event of a ledger costs, at its own sensitivity and scale.

    Args:
        event: Of a ledger.
        threshold_scale: Of a sparse vector; by default what the event says.
    """
    secret = getattr(event, "threshold_scale", 0.0) if threshold_scale is None else threshold_scale
    return cost(
        event.mechanism,
        event.unit,
        sensitivity=event.sensitivity,
        scale=event.scale,
        values=event.values,
        threshold_scale=secret,
    )


def _rational(exact: Fraction) -> Cost:
    return Cost(exact, exact)


def _of_range(epsilon: Fraction, unit: str) -> Fraction:
    """The exponential mechanism: log-weights move within an interval of length epsilon."""
    return epsilon if unit == "epsilon" else epsilon**2 / 8


def _of_pure(epsilon: Fraction, unit: str) -> Cost:
    """A mechanism of pure epsilon: epsilon, or ``epsilon tanh(epsilon / 2)``."""
    return _rational(epsilon) if unit == "epsilon" else pure_rho(epsilon)


def pure_rho(epsilon: Fraction) -> Cost:
    """``epsilon tanh(epsilon / 2)``, which is ``epsilon (1 - 2 / (exp(epsilon) + 1))``, between two fractions."""
    before, iv.prec = iv.prec, 300 + 2 * max(0, -_exponent(epsilon)) + max(0, _exponent(epsilon))
    try:
        wide = iv.mpf(epsilon.numerator) / iv.mpf(epsilon.denominator)
        rho = wide * (1 - 2 / (iv.exp(wide) + 1))
        low, high = (_fraction(end) for end in rho._mpi_)
    finally:
        iv.prec = before
    return Cost(low, high)


def _exponent(number: Fraction) -> int:
    return number.numerator.bit_length() - number.denominator.bit_length()


def _fraction(end: tuple[int, int, int, int]) -> Fraction:
    """An end of an interval: sign, mantissa, exponent, number of bits."""
    sign, mantissa, exponent, _ = end
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
