"""The best-response problem: which record satisfies the largest weight of conjunctions? Everything here is public.

DualQuery's record player (theory.md section 5) maximises the mean of sampled queries over the records of the domain.
The complement of a conjunction is 1 less the conjunction, so its weight is negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.algorithms.dual_query.oracles.conjunctions import NEVER, ConjunctionTable
from hedgerow.algorithms.dual_query.oracles.reduced import Reduced, reduce
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.queries import Conjunction
from hedgerow.system import Seed


@final
@dataclass(frozen=True, eq=False)
class Response:
    """A record, what it is worth, and what is known about the optimum.

    Attributes:
        codes: One code per attribute, shape ``(d,)``.
        value: ``problem.value(codes)``.
        bound: A number that no record exceeds, or None.
        proved: Whether no record is worth more (up to the rounding of weights that are not whole).
    """

    codes: Ints
    value: float
    bound: float | None = None
    proved: bool = False


@runtime_checkable
class Oracle(Protocol):
    """Anything that finds a record of large value. It sees public numbers only; a bad answer costs accuracy."""

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """A record of large value.

        Args:
            problem: The problem.
            seed: Breaks ties and picks codes that the conjunctions do not tell apart.
        """
        ...


@final
class BestResponseProblem:
    """Maximise ``constant + (sum of the weights of the conjunctions that hold)`` over the records of a domain.

    Attributes:
        domain: The domain.
        constant: Added to every value.
        table: The different conjunctions.
        weights: The total weight of each of the table's rows, shape ``(rows,)``.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> first = Conjunction.where(domain, {"a": [1], "b": [0]})
        >>> second = Conjunction.where(domain, {"b": [0, 1]})
        >>> problem = BestResponseProblem(domain, [first, second, first], [1, -1, 1], constant=0.5)
        >>> problem.value([1, 0]), problem.value([1, 2])
        (1.5, 0.5)
    """

    domain: Domain
    constant: float
    table: ConjunctionTable
    weights: Floats

    def __init__(
        self,
        domain: Domain,
        conjunctions: Sequence[Conjunction] | ConjunctionTable,
        weights: ArrayLike,
        constant: float = 0.0,
    ) -> None:
        """Add up the weights of equal conjunctions.

        Args:
            domain: The domain.
            conjunctions: The conjunctions, or a table of them that was made once for many problems.
            weights: One weight of any sign per conjunction, 0 for those that play no part. Whole numbers (counts of
                sampled queries) give the sharpest bounds.
            constant: Added to every value.

        Raises:
            QueryError: A conjunction is over another domain.
            ConfigError: The table is over another domain, the numbers of conjunctions and of weights differ, or a
                weight, their sum or the constant is not finite.
        """
        table = (
            conjunctions if isinstance(conjunctions, ConjunctionTable) else ConjunctionTable.of(domain, conjunctions)
        )
        given = np.asarray(weights, dtype=np.float64)
        _check(domain, table, given, constant)
        possible = table.position != NEVER
        self.domain, self.constant, self.table = domain, float(constant), table
        total = np.bincount(table.position[possible], given[possible], minlength=table.start.size - 1)
        self.weights = np.asarray(total, dtype=np.float64)

    def value(self, codes: ArrayLike) -> float:
        """The value of one record, rounded once.

        Args:
            codes: One code per attribute, shape ``(d,)``.

        Raises:
            ConfigError: The codes are not those of a record of the domain.
        """
        record = np.asarray(codes)
        shape = np.array(self.domain.shape)
        if record.shape != shape.shape or record.dtype.kind not in "iu" or not ((record >= 0) & (record < shape)).all():
            raise ConfigError("this is no record of the domain", remedy="pass one existing code per attribute")
        return math.fsum([self.constant, *self.weights[self.table.holds(record.astype(np.int64))].tolist()])

    @cached_property
    def reduced(self) -> Reduced:
        """The same problem over classes of codes that it cannot tell apart."""
        return reduce(self.table, self.weights, self.constant)


def respond(
    problem: BestResponseProblem,
    incumbent: Response,
    spots: Ints | None,
    bound: int,
    *,
    rng: np.random.Generator,
    margin: int = 0,
) -> Response:
    """The better of two records, with a bound.

    Args:
        problem: The problem.
        incumbent: A record that another search found.
        spots: A record that a solver found, over classes of codes, if any.
        bound: A bound on the sum of whole weights.
        rng: Picks codes within classes.
        margin: How far the bound may be above the record, in whole weights, and still prove it.
    """
    reduced = problem.reduced
    best = incumbent
    if spots is not None:
        codes = reduced.decode(spots, rng)
        found = Response(codes, problem.value(codes))
        best = found if found.value > incumbent.value else incumbent
    proved = bound - reduced.whole_value(reduced.encode(best.codes)) <= margin
    return Response(best.codes, best.value, reduced.bound(bound, best.value), proved)


def _check(domain: Domain, table: ConjunctionTable, weights: Floats, constant: float) -> None:
    if table.domain is not domain and table.domain != domain:
        raise ConfigError(
            "the conjunctions and the problem are over different domains", remedy="use one domain for both"
        )
    if weights.shape != (len(table),):
        raise ConfigError(
            f"{len(table):,} conjunctions need as many weights; the weights have the shape {weights.shape}",
            remedy="give one weight per conjunction",
        )
    with np.errstate(over="ignore"):
        total = float(np.abs(weights).sum()) + abs(constant)
    if not math.isfinite(total):
        raise ConfigError("a weight, the sum of the weights or the constant is not finite", remedy="scale them down")
