"""Many conjunctions as a few arrays: the literals that exist, and those that each conjunction asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Bools, Ints
from hedgerow.domain import CodeSet, Domain
from hedgerow.errors import QueryError
from hedgerow.queries import Conjunction

NEVER = -1
"""Position of a conjunction that no record satisfies."""


@dataclass(frozen=True, eq=False)
class Literals:
    """Conditions "this attribute has one of these places", each of them once and none of them always true.

    Attributes:
        attribute: Position of the attribute in the domain, shape ``(L,)``.
        start: First position of the places of each literal, shape ``(L + 1,)``.
        places: The places of all literals, sorted within each: pieces of codes, or classes of these.
    """

    attribute: Ints
    start: Ints
    places: Ints

    def met(self, record: Ints) -> Bools:
        """Mark the literals that a record satisfies, shape ``(L,)``."""
        owner = np.repeat(np.arange(self.attribute.size), np.diff(self.start))
        hits = self.places == record[self.attribute[owner]]
        return np.bincount(owner[hits], minlength=self.attribute.size) > 0

    def rows_met(self, start: Ints, members: Ints, record: Ints) -> Bools:
        """Mark the rows of literals that a record satisfies, given the place of each attribute; shape ``(rows,)``."""
        broken = ~self.met(record)[members]
        misses = np.concatenate([[0], np.cumsum(broken)])
        return np.asarray(misses[start[1:]] == misses[start[:-1]], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Pieces:
    """The codes of each attribute, cut wherever a literal begins or ends: a few pieces, however many codes there are.

    Attributes:
        first: First piece of each attribute when all are numbered through, shape ``(d + 1,)``.
        low: First code of each piece.
        sizes: Number of codes of each piece.

    Example:
        >>> pieces = Pieces.of([10, 4], [{3, 7}, set()])
        >>> pieces.first.tolist(), pieces.low.tolist(), pieces.sizes.tolist()
        ([0, 3, 4], [0, 3, 7, 0], [3, 4, 3, 4])
        >>> pieces.holding(np.array([5, 2])).tolist()
        [1, 0]
    """

    first: Ints
    low: Ints
    sizes: Ints

    @classmethod
    def of(cls, shape: Sequence[int], cuts: Sequence[set[int]]) -> Pieces:
        """Cut the codes of each attribute."""
        ends = [sorted({0, size} | places) for size, places in zip(shape, cuts, strict=True)]
        low = np.array([place for axis_ends in ends for place in axis_ends[:-1]], dtype=np.int64)
        sizes = np.array([b - a for axis_ends in ends for a, b in pairwise(axis_ends)], dtype=np.int64)
        return cls(starts_of([len(axis_ends) - 1 for axis_ends in ends]), low, sizes)

    def holding(self, record: Ints) -> Ints:
        """The piece of each code of a record, numbered within its attribute."""
        parts = zip(pairwise(self.first.tolist()), record, strict=True)
        found = [self.low[start:end].searchsorted(code, side="right") - 1 for (start, end), code in parts]
        return np.array(found, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ConjunctionTable:
    """Conjunctions over one domain, equal ones merged; made once where many problems draw on the same queries.

    Attributes:
        domain: The domain.
        position: Row of each given conjunction among the different ones, or ``NEVER``.
        pieces: Runs of codes that no literal tells apart.
        literals: The literals of all rows, over pieces.
        start: First position of the literals of each row, shape ``(rows + 1,)``.
        members: The literals of all rows; their attributes increase within a row.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> both = Conjunction.where(domain, {"a": [1], "b": [0]})
        >>> without_b = Conjunction.where(domain, {"a": [1], "b": [0, 1, 2]})
        >>> table = ConjunctionTable.of(domain, [both, without_b, both])
        >>> table.position.tolist(), np.diff(table.start).tolist()
        ([0, 1, 0], [2, 1])
    """

    domain: Domain
    position: Ints
    pieces: Pieces
    literals: Literals
    start: Ints
    members: Ints

    @classmethod
    def of(cls, domain: Domain, conjunctions: Sequence[Conjunction]) -> ConjunctionTable:
        """Collect literals and rows; literals that hold for every code are dropped.

        Raises:
            QueryError: One is not a conjunction, or is over another domain.
        """
        sizes = dict(zip(domain.names, domain.shape, strict=True))
        literals: dict[tuple[str, CodeSet], int] = {}
        rows: dict[tuple[int, ...], int] = {}
        position = np.empty(len(conjunctions), dtype=np.int64)
        for i, conjunction in enumerate(conjunctions):
            _check(domain, conjunction)
            parts = [part for part in zip(conjunction.scope, conjunction.codes, strict=True) if _says(part, sizes)]
            if all(codes for _, codes in parts):
                row = tuple([literals.setdefault(part, len(literals)) for part in parts])
                position[i] = rows.setdefault(row, len(rows))
            else:
                position[i] = NEVER
        attribute = np.array([domain.index(name) for name, _ in literals], dtype=np.int64)
        pieces, places = _cut(domain, literals)
        return cls(domain, position, pieces, Literals(attribute, *_flat(places)), *_flat(list(rows)))

    def __len__(self) -> int:
        """Number of conjunctions given."""
        return self.position.size

    def holds(self, record: Ints) -> Bools:
        """Mark the rows that a record satisfies, shape ``(rows,)``."""
        return self.literals.rows_met(self.start, self.members, self.pieces.holding(record))


def _check(domain: Domain, conjunction: object) -> None:
    if not isinstance(conjunction, Conjunction):
        raise QueryError(
            f"a best response is to conjunctions; this is a {type(conjunction).__name__}",
            remedy="take the cells of marginals, boxes or conditions",
        )
    if conjunction.domain is not domain and conjunction.domain != domain:
        raise QueryError(
            f"the conjunction {conjunction.text!r} is over another domain", remedy="build it over the problem's domain"
        )


def _cut(domain: Domain, literals: Iterable[tuple[str, CodeSet]]) -> tuple[Pieces, list[list[int]]]:
    """The pieces that literals cut codes into, and those of each literal."""
    cuts: dict[str, set[int]] = {name: set() for name in domain.names}
    for name, codes in literals:
        cuts[name].update(codes.cuts)
    number = {name: {cut: i for i, cut in enumerate(sorted({0} | places))} for name, places in cuts.items()}
    places = [
        [piece for run in codes.runs for piece in range(number[name][run.start], number[name][run.stop])]
        for name, codes in literals
    ]
    return Pieces.of(domain.shape, [cuts[name] for name in domain.names]), places


def _says(part: tuple[str, CodeSet], sizes: dict[str, int]) -> bool:
    """Whether a literal excludes a code."""
    name, codes = part
    return len(codes) < sizes[name]


def starts_of(lengths: ArrayLike) -> Ints:
    """Positions where parts of given lengths begin when they are put end to end, and the end of the last."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Starts and values of lists put end to end."""
    start = starts_of([len(listed_values) for listed_values in lists])
    return start, np.fromiter(
        (value for listed_values in lists for value in listed_values), dtype=np.int64, count=int(start[-1])
    )
