"""What mechanisms cost, by formulas of their own: fractions where it is rational, intervals of 300 bits where not.

Nothing here is taken from ``privacy/charging.py``, nor from the mechanisms: names, sensitivities and scales come in, as
a ledger's events hold them, and exact bounds come out (theory.md section 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
from mpmath import iv

SLACK = Fraction(1, 2**38)
"""What rounded weights may add to the loss of one draw (``privacy/draws.py`` proves it)."""
ADDITIVE = ("discrete Laplace", "discrete Gaussian")
MU = "mu^2/2"
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
    bound: str | None = None,
) -> Cost:
    """What one use of a mechanism costs, in the unit of a ledger.

    Args:
        mechanism: Its name in ledgers.
        unit: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``.
        sensitivity: As in the event; for a pair of tables how far their values really are apart will do as well.
        scale: As in the event.
        values: Draws of independent draws, fires of a sparse vector; of no account otherwise.
        threshold_scale: Of a sparse vector.
        bound: As in the event: ``"renyi"`` for a sparse vector in rho that is charged by its tests, ``"exact"`` for a
            bounded range, ``"halves"`` for Laplace noise on two values that move, ``"parities"`` on values that move by
            2 each at most.
    """
    moved, wide = Fraction(sensitivity), Fraction(scale)
    mechanism = mechanism.removesuffix(" above a threshold")  # which costs a delta beside
    if mechanism == "discrete Gaussian":
        assert unit != "epsilon", "Gaussian noise has no pure epsilon"
        return of_gaussian(moved**2, wide, unit)
    if mechanism == "discrete Laplace":
        parts = {None: Fraction(1), "halves": Fraction(2), "parities": max(Fraction(1), moved / 2)}[bound]
        each = of_pure(moved / wide / parts, unit)
        return Cost(parts * each.low, parts * each.high)
    if mechanism == "sparse vector":
        return _of_sparse_vector(moved, Fraction(threshold_scale), wide, values, unit if bound is None else bound)
    if mechanism == "permute-and-flip":
        assert unit == "epsilon", "permute-and-flip has no bounded range"
        return _rational(2 * moved / wide)
    if mechanism == "exponential mechanism":
        return _of_range(2 * moved / wide, unit, bound)
    assert mechanism in DRAWS, f"there is no mechanism {mechanism!r}"
    one = _of_range(2 * moved / wide + SLACK, unit, bound)
    return Cost(values * one.low, values * one.high)


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
        bound=getattr(event, "bound", None),
    )


def _of_sparse_vector(moved: Fraction, secret: Fraction, wide: Fraction, fires: int, unit: str) -> Cost:
    """In the unit, by its epsilon; or in rho, by its tests: with one lattice step of 2^-10 counts more."""
    if unit != "renyi":
        return of_pure(moved / secret + 2 * fires * moved / wide, unit)
    steps = Fraction(math.ceil(moved * 1024) + 1, 1024)
    return _rational(steps**2 * max(3 / (2 * secret) ** 2, fires / wide**2))


def _rational(exact: Fraction) -> Cost:
    return Cost(exact, exact)


def _of_range(epsilon: Fraction, unit: str, bound: str | None) -> Cost:
    """The exponential mechanism: log-weights move within an interval of length epsilon."""
    if unit == MU:
        return pure_mu(epsilon / 2)
    if unit == "rho" and bound == "exact":
        return entropy_of_range(epsilon)
    return _rational(epsilon if unit == "epsilon" else epsilon**2 / 8)


def of_pure(epsilon: Fraction, unit: str) -> Cost:
    """A mechanism of pure epsilon: epsilon, or ``epsilon tanh(epsilon / 2)``."""
    if unit == MU:
        return pure_mu(epsilon)
    return _rational(epsilon) if unit == "epsilon" else pure_rho(epsilon)


@cache
def entropy_of_range(epsilon: Fraction) -> Cost:
    """The largest relative entropy of two laws whose log-ratio lies in an interval: ``v - 1 - ln v`` between fractions.

    v is ``epsilon / (1 - exp(-epsilon))``; digits enough for all that cancels.
    """
    before, iv.prec = iv.prec, 300 + 4 * max(0, -_exponent(epsilon)) + max(0, _exponent(epsilon))
    try:
        wide = iv.mpf(epsilon.numerator) / iv.mpf(epsilon.denominator)
        v = wide / (1 - iv.exp(-wide))
        low, high = (_fraction(end) for end in (v - 1 - iv.log(v))._mpi_)
    finally:
        iv.prec = before
    return Cost(low, high)


@cache
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


_FAR = 700
"""Beyond this epsilon the closed-form bound is what is charged."""


@cache
def pure_mu(epsilon: Fraction) -> Cost:
    """``2 z^2`` with ``Phi(z) = 1 / (1 + exp(-epsilon))``, by root finding on mpmath's erf; or its bound far out."""
    with mpmath.workdps(60 + 7 * max(0, -_exponent(epsilon)) // 10 + 400 * (epsilon > 50)):
        if epsilon > _FAR:
            exact = 4 * (epsilon - Fraction(69, 100))
            return Cost(exact * (1 - _NOTHING), exact * (1 - Fraction(1, 2**50)))
        # erf(z / sqrt 2) = tanh(epsilon / 2), erfc where that is nearly 1
        half = mpmath.mpf(epsilon.numerator) / epsilon.denominator / 2
        share = mpmath.tanh(half)
        z = mpmath.sqrt(2) * mpmath.erfinv(share) if epsilon < 50 else _far_quantile(1 / (1 + mpmath.exp(2 * half)))
        found = _fraction((2 * z * z)._mpf_)
    return Cost(found * (1 - _NOTHING), found * (1 + _NOTHING))


_NOTHING = Fraction(1, 2**130)


def _far_quantile(tail: Any) -> Any:
    """The point above which so little of a normal distribution is."""
    start = mpmath.sqrt(-2 * mpmath.log(tail))
    return mpmath.findroot(lambda z: mpmath.log(mpmath.erfc(z / mpmath.sqrt(2)) / 2) - mpmath.log(tail), start)


@cache
def of_gaussian(squared: Fraction, sigma: Fraction, unit: str) -> Cost:
    """Discrete Gaussian noise, at the square of a distance s: ``s^2 / (2 sigma^2)`` in rho.

    In mu^2 / 2 it is ``3 s^2 (1 - sqrt(1 - 1 / (3 sigma^2)))``, and below sigma = 0.58 four times the rho.
    """
    if unit == "rho" or sigma < Fraction(0.58):
        return _rational(squared / sigma**2 / 2 * (1 if unit == "rho" else 4))
    with mpmath.workdps(100 + abs(_exponent(sigma))):
        square = sigma**2
        root = mpmath.sqrt(1 - mpmath.mpf(square.denominator) / (3 * square.numerator))
        step = _fraction((3 * (1 - root))._mpf_) * squared
    return Cost(step * (1 - _NOTHING), step * (1 + _NOTHING))


def _exponent(number: Fraction) -> int:
    return number.numerator.bit_length() - number.denominator.bit_length()


def _fraction(end: tuple[int, int, int, int]) -> Fraction:
    """An end of an interval: sign, mantissa, exponent, number of bits."""
    sign, mantissa, exponent, _ = end
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
