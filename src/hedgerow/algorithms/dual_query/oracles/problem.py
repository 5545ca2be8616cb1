"""The best-response problem: which record satisfies the largest weight of conjunctions? Everything here is public.

DualQuery's record player (theory.md section 5) maximises the mean of sampled queries over the records of the domain.
The complement of a conjunction is 1 less the conjunction, so its weight is negative.

The searches work on the problem *reduced*: whole weights, and classes of codes that the conjunctions cannot tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.algorithms.dual_query.oracles.conjunctions import NEVER, ConjunctionTable, Literals, Pieces, starts_of
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.queries import Conjunction
from hedgerow.system import Seed

if TYPE_CHECKING:
    from hedgerow.algorithms.dual_query.oracles.kernels import Clauses

WHOLE_BITS = 50
"""Weights that are not whole are rounded so that their absolute values sum to at most ``2**WHOLE_BITS`` units."""


def kernels() -> Any:
    """Import the compiled kernels where they are first used: that takes a second."""
    from hedgerow.algorithms.dual_query.oracles import kernels as compiled

    return compiled


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
    """A search for a record of large value. It sees public numbers only; a bad answer costs accuracy, never privacy."""

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """Find a record of large value.

        Args:
            problem: The problem.
            seed: Breaks ties and picks codes that the conjunctions do not tell apart.
        """


@dataclass(frozen=True, eq=False)
class Reduced:
    """A best-response problem with whole weights over classes of codes, without conjunctions that always or never hold.

    Codes that satisfy the same literals are one class. An attribute that no conjunction mentions has one class.

    Attributes:
        clauses: The conjunctions as arrays over classes.
        sizes: Number of classes of each attribute, shape ``(d,)``.
        unit: Weight of one unit of a whole weight.
        constant: Constant of the problem and the conjunctions that always hold, together.
        slack: Largest error of a sum of whole weights, in units; 0 where the weights are whole.
        pieces: Runs of codes that no conjunction of the table tells apart.
        label: Class of each piece, all attributes one after the other.
    """

    clauses: Clauses
    sizes: Ints
    unit: float
    constant: float
    slack: float
    pieces: Pieces = field(repr=False)
    label: Ints = field(repr=False)

    def encode(self, codes: Ints) -> Ints:
        """The spots of a record, one per attribute: its classes, numbered through all attributes."""
        places = self.pieces.first[:-1] + self.pieces.holding(codes)
        return np.asarray(self.clauses.offset[:-1] + self.label[places], dtype=np.int64)

    def decode(self, spots: Ints, rng: np.random.Generator) -> Ints:
        """One code per attribute, uniformly among those of its class: the rule for what no conjunction tells apart."""
        codes = np.empty(self.sizes.size, dtype=np.int64)
        for a, label in enumerate(spots - self.clauses.offset[:-1]):
            start, end = self.pieces.first[a : a + 2]
            alike = start + np.flatnonzero(self.label[start:end] == label)
            ends = np.cumsum(self.pieces.sizes[alike])
            drawn = rng.integers(ends[-1])
            piece = ends.searchsorted(drawn, side="right")
            codes[a] = self.pieces.low[alike[piece]] + drawn - (ends[piece] - self.pieces.sizes[alike[piece]])
        return codes

    def whole_value(self, spots: Ints) -> int:
        """Sum of the whole weights of the clauses that hold."""
        c = self.clauses
        literals = Literals(c.literal_attribute, c.literal_start, c.literal_spots)
        return int(c.weight[literals.rows_met(c.start, c.literal, spots)].sum())

    def bound(self, whole: int, value: float) -> float:
        """A bound on the value of every record.

        Args:
            whole: A bound on the sum of whole weights.
            value: Value of the best record known.
        """
        return max(value, math.fsum([self.constant, self.unit * whole, self.unit * self.slack]))


class BestResponseProblem:
    """Maximise ``constant + (sum of the weights of the conjunctions that hold)`` over the records of a domain.

    Attributes:
        domain: The domain.
        constant: Added to every value.
        table: The different conjunctions.
        weights: Total weight of each row of the table, shape ``(rows,)``.

    Example:
        >>> from hedgerow import IntegerRange
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
        table = conjunctions
        if not isinstance(table, ConjunctionTable):
            table = ConjunctionTable.of(domain, table)
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
            raise ConfigError("not a record of the domain", remedy="pass one existing code per attribute")
        return math.fsum([self.constant, *self.weights[self.table.holds(record.astype(np.int64))].tolist()])

    @cached_property
    def reduced(self) -> Reduced:
        """The same problem in whole weights, over classes of codes that it cannot tell apart."""
        table, weights = self.table, self.weights
        length = np.diff(table.start)
        always = math.fsum([self.constant, *weights[length == 0].tolist()])
        rows = np.flatnonzero((weights != 0.0) & (length > 0))
        whole, unit = _whole(weights[rows])
        slack = float(np.abs(weights[rows] / unit - whole).sum())
        members, start = _gather(table.start, table.members, rows[whole != 0])
        used, literal = np.unique(members, return_inverse=True)
        clauses, label = _over_classes(table, used, literal.astype(np.int64), start, whole[whole != 0])
        return Reduced(clauses, np.diff(clauses.offset), unit, always, slack, table.pieces, label)


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


def _over_classes(
    table: ConjunctionTable, used: Ints, literal: Ints, start: Ints, weight: Ints
) -> tuple[Clauses, Ints]:
    """Clauses over classes of codes, and the class of each piece of codes."""
    literals, first = table.literals, table.pieces.first
    attribute = literals.attribute[used]
    places, place_start = _gather(literals.start, literals.places, used)
    label, sizes = kernels().split_classes(first, attribute, place_start, places)
    offset = starts_of(sizes)
    owner = np.repeat(np.arange(used.size), np.diff(place_start))
    numbers = owner * offset[-1] + offset[attribute[owner]] + label[first[attribute[owner]] + places]
    owner, spots = np.divmod(np.unique(numbers), offset[-1])
    literal_start = starts_of(np.bincount(owner, minlength=used.size))
    entry_spots, entry_start = _gather(literal_start, spots, literal)
    clauses = kernels().Clauses(
        offset=offset,
        attribute=np.repeat(np.arange(sizes.size), sizes),
        weight=weight,
        start=start,
        clause=np.repeat(np.arange(weight.size), np.diff(start)),
        literal=literal,
        literal_attribute=attribute,
        literal_start=literal_start,
        literal_spots=spots,
        spot_start=starts_of(np.bincount(entry_spots, minlength=int(offset[-1]))),
        spot_entries=np.repeat(np.arange(literal.size), np.diff(entry_start))[np.argsort(entry_spots, kind="stable")],
    )
    return clauses, label


def _whole(weights: Floats) -> tuple[Ints, float]:
    """Whole multiples, without a common factor, of a unit; whole weights and binary fractions are not rounded."""
    exponent = math.frexp(float(np.abs(weights).sum()))[1] - WHOLE_BITS
    whole = np.round(np.ldexp(weights, -exponent)).astype(np.int64)
    factor = max(1, int(np.gcd.reduce(whole)))
    return whole // factor, math.ldexp(float(factor), exponent)


def _gather(start: Ints, values: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The values of some rows end to end, and where each row now begins."""
    length = start[rows + 1] - start[rows]
    new = starts_of(length)
    index = np.arange(new[-1]) - np.repeat(new[:-1] - start[rows], length)
    return values[index], new
