"""Exact answers as integers: whole numbers of ``step`` counts, so that noise is drawn on integers.

Marginals, conjunctions and parities have whole answers (step 1). Explicit queries have values that are whole multiples
of ``2^-20``; unless all of them are whole, so is the step. The sum over the records is then formed in integer
arithmetic, where a floating-point sum could differ between neighbouring tables by more than the sensitivity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DataError, QueryError
from hedgerow.queries.query import LATTICE_BITS, Conjunction, Floats, LinearQuery, Marginal, Measurable, Parity, Tables

Integers = NDArray[np.int64]

LARGEST_MASS = 2**31
"""Records, and records times the largest value of a query, may not pass this: exact answers stay exact in 64 bits."""

_SATURATION = 2**62


def step_of(target: Measurable) -> float:
    """Counts per lattice unit of the answers of a query or marginal: 1 or ``2^-20``; public.

    Raises:
        QueryError: A value of the query is off the lattice or outside its bounds, so that its sensitivity would be
            wrong.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> step_of(Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",)))
        1.0
    """
    if isinstance(target, Marginal | Conjunction | Parity):
        return 1.0
    if not isinstance(target, LinearQuery):
        raise QueryError(f"{target.text!r} is neither a marginal nor a linear query")
    values = target.values()
    low, high = target.bounds
    within = bool((values >= low).all() and (values <= high).all()) and max(-low, high) <= LARGEST_MASS
    if not (within and _whole(values * 2.0**LATTICE_BITS)):
        raise QueryError(
            f"the values of {target.text!r} are outside their bounds, huge, or not multiples of 2^-{LATTICE_BITS}",
            remedy="build the query with Explicit.of, which rounds its values and takes their bounds",
        )
    return 1.0 if _whole(values) else 2.0**-LATTICE_BITS


def _whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all())


def exact_units(target: Measurable, tables: Tables) -> Integers:
    """The exact answer in lattice units. Private: for the curator alone.

    Args:
        target: Query or marginal.
        tables: The private counts, whole numbers.

    Returns:
        Integers, shape ``(target.size,)``: counts divided by ``step_of(target)``.
    """
    if isinstance(target, Conjunction):
        return np.rint(tables.conjunctions([target])).astype(np.int64)
    (table,) = tables.marginals([target.scope])
    if isinstance(target, Marginal | Parity):
        return np.rint(target.of_table(table)).astype(np.int64)
    if not isinstance(target, LinearQuery):
        raise QueryError(f"{target.text!r} is neither a marginal nor a linear query")
    units = np.rint(target.values() / step_of(target)).astype(np.int64).reshape(-1)
    return np.array([_dot(units, np.rint(table).astype(np.int64).reshape(-1))], dtype=np.int64)


def _dot(units: Integers, counts: Integers) -> int:
    """Their product, in two halves that cannot overflow, saturated (which moves no two answers further apart)."""
    high, low = units >> LATTICE_BITS, units & (2**LATTICE_BITS - 1)
    total = (int(high @ counts) << LATTICE_BITS) + int(low @ counts)
    return max(-_SATURATION, min(_SATURATION, total))


def check_mass(total: int, largest_value: float = 1.0) -> None:
    """Refuse tables so large that answers would not be exact.

    Whether it refuses depends on the number of records, at a size of two billion.

    Raises:
        DataError: ``total * largest_value`` passes 2^31.

    Example:
        >>> check_mass(48_842)
    """
    if total * max(1.0, largest_value) > LARGEST_MASS:
        raise DataError(
            f"so many records, with query values up to {largest_value:.6g}, pass the largest mass of 2^31",
            remedy="sample the table first, or scale the explicit queries down",
        )
