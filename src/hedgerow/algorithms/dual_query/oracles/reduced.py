"""A best-response problem reduced to what matters: whole weights, and classes of codes that it cannot tell apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.algorithms.dual_query.oracles.conjunctions import ConjunctionTable, Literals, Pieces, holding
from hedgerow.arrays import Floats, Ints

if TYPE_CHECKING:
    from hedgerow.algorithms.dual_query.oracles.kernels import Clauses

WHOLE_BITS = 50
"""Weights that are not whole are rounded so that their absolute values sum to at most ``2**WHOLE_BITS`` units."""


def kernels() -> Any:
    """The compiled kernels, imported where they are first used: that takes a second."""
    from hedgerow.algorithms.dual_query.oracles import kernels as compiled

    return compiled


@final
@dataclass(frozen=True, eq=False)
class Reduced:
    """A best-response problem with whole weights over classes of codes; what is always or never so is gone.

    Codes that satisfy the same literals are one class. An attribute that no conjunction mentions has one class.

    Attributes:
        clauses: The conjunctions as arrays over classes.
        sizes: Number of classes of each attribute, shape ``(d,)``.
        unit: What one unit of a whole weight is worth.
        constant: Constant of the problem and the conjunctions that always hold, together.
        slack: How far a sum of whole weights may be from the sum of weights, in units; 0 where weights are whole.
        pieces: Codes that no conjunction of the table tells apart.
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
        return int(c.weight[holding(literals, c.start, c.literal, spots)].sum())

    def bound(self, whole: int, value: float) -> float:
        """A bound on the value of every record.

        Args:
            whole: A bound on the sum of whole weights.
            value: Of the best record known.
        """
        return max(value, math.fsum([self.constant, self.unit * whole, self.unit * self.slack]))


def reduce(table: ConjunctionTable, weights: Floats, constant: float) -> Reduced:
    """Drop what does not matter, make the weights whole and group the codes.

    Args:
        table: The conjunctions.
        weights: One per row of the table.
        constant: Added to every value.
    """
    length = np.diff(table.start)
    always = math.fsum([constant, *weights[length == 0].tolist()])
    rows = np.flatnonzero((weights != 0.0) & (length > 0))
    whole, unit = _whole(weights[rows])
    slack = float(np.abs(weights[rows] / unit - whole).sum())
    members, start = _gather(table.start, table.members, rows[whole != 0])
    used, literal = np.unique(members, return_inverse=True)
    clauses, label = _over_classes(table, used, literal.astype(np.int64), start, whole[whole != 0])
    return Reduced(clauses, np.diff(clauses.offset), unit, always, slack, table.pieces, label)


def _over_classes(
    table: ConjunctionTable, used: Ints, literal: Ints, start: Ints, weight: Ints
) -> tuple[Clauses, Ints]:
    """Clauses over classes of codes, and the class of each piece of codes."""
    literals, first = table.literals, table.pieces.first
    attribute = literals.attribute[used]
    places, place_start = _gather(literals.start, literals.places, used)
    label, sizes = kernels().split_classes(first, attribute, place_start, places)
    offset = _starts(sizes)
    owner = np.repeat(np.arange(used.size), np.diff(place_start))
    numbers = owner * offset[-1] + offset[attribute[owner]] + label[first[attribute[owner]] + places]
    owner, spots = np.divmod(np.unique(numbers), offset[-1])
    literal_start = _starts(np.bincount(owner, minlength=used.size))
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
        spot_start=_starts(np.bincount(entry_spots, minlength=int(offset[-1]))),
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
    new = _starts(length)
    index = np.arange(new[-1]) - np.repeat(new[:-1] - start[rows], length)
    return values[index], new


def _starts(length: Ints) -> Ints:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(length, dtype=np.int64)])
