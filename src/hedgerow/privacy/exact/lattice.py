"""Exact answers as integers: whole numbers of ``step`` counts, so that noise is drawn on integers.

Marginals, conjunctions and parities have whole answers (step 1). Explicit queries have values that are whole multiples
of ``2^-20``; unless all of them are whole, so is the step. The sum over the records is then formed in integer
arithmetic, where a floating-point sum could differ between neighbouring tables by more than the sensitivity.
"""

import math
from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.data import PreparedSource
from hedgerow.errors import DataError, QueryError
from hedgerow.queries import LATTICE_BITS, Blocks, Family, Positions, Tables, WeightSum, Workload, answered
from hedgerow.queries.core.query import Conjunction, LinearQuery, Marginal, Measurable, Parity

LARGEST_MASS = 2**31
"""Records may not pass this, and answers that selections look at are cut to it: they stay exact in 64 bits."""

_SATURATION = 2**62
_WHOLE = Marginal | Blocks | Conjunction | Parity | WeightSum
"""What has whole answers, by its own method, from whole counts."""


def step_of(target: Measurable) -> float:
    """Counts per lattice unit of the answers of a query or marginal: 1 or ``2^-20``; public.

    Raises:
        QueryError: A value of the query is off the lattice or outside its bounds, so that its sensitivity would be
            wrong.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> step_of(Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",)))
        1.0
    """
    if isinstance(target, _WHOLE):
        return 1.0
    if isinstance(target, Positions):
        return 2.0**-LATTICE_BITS
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


def exact_units(targets: Sequence[Measurable], tables: Tables) -> list[Ints]:
    """Exact answers in lattice units, counted together. Private: for the curator alone.

    Args:
        targets: Queries or marginals.
        tables: The private counts, whole numbers.

    Returns:
        For each Ints, shape ``(target.size,)``: counts divided by ``step_of(target)``.
    """
    whole = [isinstance(target, _WHOLE) for target in targets]
    counted = answered([target for target, counts in zip(targets, whole, strict=True) if counts], tables)[::-1]
    scopes = list({target.scope: None for target, counts in zip(targets, whole, strict=True) if not counts})
    seen = dict(zip(scopes, tables.marginals(scopes) if scopes else (), strict=True))  # in one pass
    return [
        _whole_counts(counted.pop()) if counts else _weighed(target, seen[target.scope])
        for target, counts in zip(targets, whole, strict=True)
    ]


def _weighed(target: Measurable, table: Floats) -> Ints:
    """The answer of a query that weighs its cells, or sums of positions, from the table of its scope."""
    if isinstance(target, Positions):
        return target.sums(table)
    if not isinstance(target, LinearQuery):
        raise QueryError(f"{target.text!r} is neither a marginal nor a linear query")
    units = np.rint(target.values() / step_of(target)).astype(np.int64).reshape(-1)
    return np.array([_dot(units, _whole_counts(table).reshape(-1))], dtype=np.int64)


def _whole_counts(answers: Floats) -> Ints:
    found = np.empty(answers.shape, dtype=np.int64)
    return np.rint(answers, out=found, casting="unsafe")


def _dot(units: Ints, counts: Ints) -> int:
    """Their product, in two halves that cannot overflow, saturated (which moves no two answers further apart)."""
    high, low = units >> LATTICE_BITS, units & (2**LATTICE_BITS - 1)
    total = (int(high @ counts) << LATTICE_BITS) + int(low @ counts)
    return max(-_SATURATION, min(_SATURATION, total))


def exact_answers(workload: Workload, tables: Tables, grain: float = 1.0) -> Floats:
    """The exact answers of a workload in counts. Private: for the curator alone.

    How they are formed without rounding is a method of each family. They are moved into ``[-2^31, 2^31]``, which brings
    no two answers further apart: so scores stay exact, and nothing depends on whether an answer is that large.

    Args:
        workload: The workload; `check_exact` passed.
        tables: The private counts, whole numbers, ``check_mass`` passed.
        grain: What they are whole numbers of, a power of two.

    Returns:
        Shape ``(n_queries,)``.
    """
    prepare(tables, workload)  # one pass for all families
    parts = [family.exact(answers, seen) for family, answers, seen in workload.parts(tables)]
    exact = np.concatenate(parts) if len(parts) > 1 else parts.pop().copy()
    exact *= grain
    return np.clip(exact, -LARGEST_MASS, LARGEST_MASS, out=exact)


def check_exact(workload: Workload, grain: float = 1.0) -> None:
    """Refuse a workload with a family that does not say how its answers are formed without rounding.

    Args:
        workload: The workload; nothing is read.
        grain: What counts are whole numbers of.

    Raises:
        QueryError: It holds one; or one that takes fractions, of counts that are fractions.
    """
    for family in workload.families:
        if family.step * grain < 2.0**-LATTICE_BITS:
            raise QueryError(f"{family.spec!r} takes fractions, and so do weights", remedy="round the weights")
        check_step(family.step)
        if family.step < 1.0 and type(family).exact is Family.exact:
            raise QueryError(
                f"{family.spec!r} takes fractions, and does not say how they are summed without rounding",
                remedy="override exact() in the family",
            )


def check_step(step: float) -> None:
    """Refuse answers on a finer lattice than noise and scores are computed on.

    Raises:
        QueryError: The step is neither a power of two from ``2^-20`` to 1.

    Example:
        >>> check_step(2.0**-20)
    """
    if not (2.0**-LATTICE_BITS <= step <= 1.0 and math.frexp(step)[0] == 0.5):
        raise QueryError(
            f"answers in steps of {step!r} counts cannot be exact", remedy=f"give a power of two from 2^-{LATTICE_BITS}"
        )


def prepare(tables: Tables, workload: Workload) -> None:
    """Tell a source that is counted in passes what will be asked, so that one pass is enough; nothing is read.

    Args:
        tables: The private counts.
        workload: The questions to come; a workload over another domain is refused elsewhere.
    """
    if isinstance(tables, PreparedSource) and tables.domain == workload.domain:
        tables.prepare(workload)


def check_mass(total: float) -> None:
    """Refuse tables so large that answers would not be exact.

    Whether it refuses depends on the number of records, at a size of two billion.

    Raises:
        DataError: The total passes 2^31.

    Example:
        >>> check_mass(48_842)
    """
    if total > LARGEST_MASS:
        raise DataError("the table has more than 2^31 records", remedy="sample the table first")
