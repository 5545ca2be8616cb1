"""Families of conjunctions: conditions that name sets of codes, and boxes, answered by one summed-area table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, CodeSet, Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core import Arrays, Conjunction, Family, Measurable, Tables, in_workload
from hedgerow.queries.core.family import distinct_cliques
from hedgerow.queries.core.summed_area import Corner, joined_corners, summed_area
from hedgerow.system import generator

MAX_RANGES = 10**6
"""Largest number of ranges of a family."""

LARGEST_BOX_TABLE = 1 << 24
"""Cells of the largest table that boxes are answered from; beyond it, they are answered one by one."""


@dataclass(frozen=True)
class Conjunctions(Family):
    """Conditions over any attributes, each of them one candidate.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("age", 17, 90), IntegerRange("hours", 1, 99)))
        >>> family = Conjunctions(domain, [Conjunction.where(domain, {"age": range(14), "hours": [39]})])
        >>> family.spec
        'where: age between 17 and 30 and hours = 40'
    """

    kind = "where"
    conjunctive = True
    step: ClassVar = 1.0
    spread: ClassVar = 4.0
    forms: ClassVar = {"where": "\"where: sex = 'Male' and age < 30\""}

    domain: Domain = field(repr=False)
    queries: tuple[Conjunction, ...]

    def __init__(self, domain: Domain, queries: Iterable[Conjunction]) -> None:
        """Check that there are queries and that they are over the domain.

        Raises:
            QueryError: There is no query, or one is over another domain.
        """
        self._set(domain=domain, queries=tuple(queries))
        if not self.queries:
            raise QueryError("a family of conditions needs at least one", remedy="as in \"where: sex = 'Male'\"")
        for query in self.queries:
            if query.domain is not domain and query.domain != domain:
                raise QueryError(f"the condition {query.text!r} is over another domain")

    @property
    def n_queries(self) -> int:
        """Number of conditions."""
        return len(self.queries)

    @property
    def scopes(self) -> tuple[Clique, ...]:
        """Sets of attributes that the conditions name."""
        return tuple(dict.fromkeys(query.scope for query in self.queries))

    @cached_property
    def scope_of(self) -> Ints:
        """The attributes that each condition names."""
        place = {scope: index for index, scope in enumerate(self.scopes)}
        return np.array([place[query.scope] for query in self.queries], dtype=np.int64)

    @property
    def spec(self) -> str:
        """The conditions, joined by commas."""
        return f"where: {', '.join(query.text for query in self.queries)}"

    def candidate(self, index: int) -> Measurable:
        """One condition."""
        self.check_index(index)
        return self.queries[index]

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        """None: conditions are counted without tables."""
        return ()

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        """Raise: conditions are not answered from tables."""
        raise QueryError("conjunctions are not answered from marginal tables", remedy="call answers")

    def answers(self, tables: Tables) -> Floats:
        """All answers, in one call."""
        return tables.conjunctions(self.queries)


@dataclass(frozen=True, eq=False)
class Boxes(Family):
    """Numbers of records whose codes lie in ranges, one range for each attribute, or level, of a clique.

    Ranges run over ordinary codes, in their declared order: never over a missing or an other value.

    Attributes:
        clique: The attributes, in domain order.
        lows: Smallest codes, inclusive, shape ``(n_queries, len(clique))``.
        highs: Largest codes, inclusive, of the same shape.
        origin: The short text that makes these ranges, empty for ranges given by hand.

    Example:
        >>> from hedgerow import IntegerRange
        >>> family = Boxes(Domain((IntegerRange("age", 17, 90),)), ["age"], [[0]], [[13]])
        >>> family.candidate(0).text
        'age between 17 and 30'
    """

    kind = "boxes"
    conjunctive = ordered = True
    step: ClassVar = 1.0
    spread: ClassVar = 4.0
    forms: ClassVar = {
        "prefixes": "'prefixes:age'",
        "ranges": "'ranges:age' or 'ranges:age,hours:2000:7' (2000 random boxes, seed 7)",
    }

    domain: Domain = field(repr=False)
    clique: Clique
    lows: Ints = field(repr=False)
    highs: Ints = field(repr=False)
    origin: str = ""

    def __init__(
        self, domain: Domain, clique: Iterable[str], lows: ArrayLike, highs: ArrayLike, *, origin: str = ""
    ) -> None:
        """Check the bounds.

        Args:
            domain: The domain.
            clique: Attributes, each once; the columns of the bounds follow their order.
            lows: Whole numbers, shape ``(m, k)``.
            highs: Whole numbers of the same shape, not below ``lows``.
            origin: The short text that makes these ranges, if there is one.

        Raises:
            QueryError: A bound is not an ordinary code, a range is empty, or the shapes do not fit.
        """
        named = tuple(clique)
        (scope,) = distinct_cliques(domain, [named])
        if len(scope) != len(named):
            raise _named_twice("box", named)
        low, high = (_whole_numbers(bounds) for bounds in (lows, highs))
        if low.ndim != 2 or low.shape != high.shape or low.shape[1] != len(named) or not low.size:
            raise QueryError(
                f"boxes over {len(named)} attributes need two arrays of shape (m, {len(named)}); "
                f"their shapes are {low.shape} and {high.shape}"
            )
        order = [named.index(name) for name in scope]
        low, high = np.ascontiguousarray(low[:, order]), np.ascontiguousarray(high[:, order])
        limits = np.array([domain[name].ordinary for name in scope])
        if (low < 0).any() or (high >= limits).any() or (low > high).any():
            raise QueryError(
                f"the bounds of boxes over {'*'.join(scope)} are not ordinary codes in order",
                remedy=f"give 0 <= low <= high < {', '.join(map(str, limits.tolist()))}",
            )
        low.flags.writeable = high.flags.writeable = False
        self._set(domain=domain, clique=scope, lows=low, highs=high, origin=origin)

    @classmethod
    def prefixes(cls, domain: Domain, name: str) -> Boxes:
        """All ranges of one attribute that start at its first value.

        Raises:
            QueryError: There are more than ``MAX_RANGES``.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Boxes.prefixes(Domain((IntegerRange("age", 17, 90),)), "age").n_queries
            74
        """
        count, text = domain[name].ordinary, f"prefixes:{in_workload(name)}"
        if count > MAX_RANGES:
            raise _too_many(text, count, f"ranges:{in_workload(name)}:2000:0")
        highs = np.arange(count, dtype=np.int64)[:, None]
        return cls(domain, (name,), np.zeros_like(highs), highs, origin=text)

    @classmethod
    def ranges(cls, domain: Domain, names: Iterable[str], count: int | None = None, seed: int = 0) -> Boxes:
        """All ranges, or ``count`` ranges drawn uniformly; over several attributes products of ranges.

        A drawn range is uniform over all pairs ``low <= high`` of ordinary codes, independently for each
        attribute and each box; a box may come twice.

        Args:
            domain: The domain.
            names: Attributes, any order.
            count: Number of boxes to draw, or None for all.
            seed: Public seed of the draw.

        Raises:
            QueryError: There are more than ``MAX_RANGES`` ranges and no count is given, or the count is not positive.

        Example:
            >>> from hedgerow import IntegerRange
            >>> domain = Domain((IntegerRange("age", 17, 90), IntegerRange("hours", 1, 99)))
            >>> Boxes.ranges(domain, ["age"]).n_queries
            2775
            >>> Boxes.ranges(domain, ["hours", "age"], 2000, seed=7).spec
            'ranges:age,hours:2000:7'
        """
        named = tuple(names)
        (scope,) = distinct_cliques(domain, [named])
        if len(scope) != len(named):
            raise _named_twice("range", named)
        sizes = [domain[name].ordinary for name in scope]
        text = f"ranges:{','.join(in_workload(name) for name in scope)}"
        if count is None:
            return cls(domain, scope, *_all_ranges(sizes, text), origin=text)
        if not 1 <= count <= MAX_RANGES:
            raise QueryError(f"{count} ranges were asked for", remedy=f"ask for 1 to {MAX_RANGES:,}")
        return cls(domain, scope, *_drawn_ranges(sizes, count, seed), origin=f"{text}:{count}:{seed}")

    def __eq__(self, other: object) -> bool:
        """Whether the boxes are the same, in the same order."""
        if not isinstance(other, Boxes):
            return NotImplemented
        same = self.domain == other.domain and self.clique == other.clique and self.origin == other.origin
        return same and np.array_equal(self.lows, other.lows) and np.array_equal(self.highs, other.highs)

    def __hash__(self) -> int:
        """A hash of the attributes and the origin."""
        return hash((self.clique, self.origin, self.n_queries))

    @property
    def n_queries(self) -> int:
        """Number of boxes."""
        return len(self.lows)

    @property
    def scopes(self) -> tuple[Clique, ...]:
        """The one clique."""
        return (self.clique,)

    @property
    def spec(self) -> str:
        """The text that makes the ranges; a description that does not parse for ranges given by hand."""
        return self.origin or f"boxes given by hand over {'*'.join(self.clique)}"

    def to_stored(self) -> tuple[dict[str, Any], Arrays]:
        """The bounds, where there is no text that makes them."""
        if self.origin:
            return super().to_stored()
        return {"kind": self.kind, "clique": list(self.clique)}, {"lows": self.lows, "highs": self.highs}

    @classmethod
    def from_stored(cls, values: Mapping[str, Any], arrays: Arrays, domain: Domain) -> Boxes:
        """Read the bounds."""
        return cls(domain, values["clique"], arrays["lows"], arrays["highs"])

    def candidate(self, index: int) -> Measurable:
        """One box, as a conjunction."""
        self.check_index(index)
        bounds = zip(self.lows[index].tolist(), self.highs[index].tolist(), strict=True)
        return Conjunction(self.domain, self.clique, tuple(CodeSet((low, high + 1)) for low, high in bounds))

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        """The one clique; none where its table would be too large, and boxes are answered one by one."""
        return (self.clique,) if self.domain.cells(self.clique) <= LARGEST_BOX_TABLE else ()

    def answers(self, tables: Tables) -> Floats:
        """All answers from one table, or as conditions where that would be too large."""
        return super().answers(tables) if self.cliques(tables.cheap_cells) else tables.conjunctions(self._conditions)

    @cached_property
    def _conditions(self) -> list[Conjunction]:
        sides = np.stack([self.lows, self.highs + 1], axis=2).tolist()
        return [Conjunction(self.domain, self.clique, tuple(CodeSet((a, b)) for a, b in box)) for box in sides]

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        """Look up the corners of each box in the summed-area table."""
        table = tables[0][tuple(slice(0, self.domain[name].ordinary) for name in self.clique)]
        area = summed_area(table).reshape(-1)
        answers = np.zeros(self.n_queries)
        for places, weight in self._corners:
            answers += weight * area[places]
        return answers

    @cached_property
    def _corners(self) -> list[Corner]:
        sides = zip(self.lows.T, self.highs.T + 1, strict=True)
        shape = [self.domain[name].ordinary + 1 for name in self.clique]
        return joined_corners([[(low, -1.0), (end, 1.0)] for low, end in sides], shape)


def _named_twice(what: str, names: Clique) -> QueryError:
    if len(set(names)) < len(names):
        return QueryError(f"a {what} names an attribute twice", remedy="give one range for each attribute")
    return QueryError(
        f"a {what} over {', '.join(names)} names one that the others determine", remedy="name an attribute or its level"
    )


def _whole_numbers(bounds: ArrayLike) -> Ints:
    given = np.asarray(bounds)
    if given.dtype.kind not in "iu":
        raise QueryError("the bounds of boxes are codes: whole numbers", remedy="give an array of integers")
    return given.astype(np.int64)


def _all_ranges(sizes: Sequence[int], text: str) -> tuple[Ints, Ints]:
    total = math.prod(size * (size + 1) // 2 for size in sizes)
    if total > MAX_RANGES:
        raise _too_many(text, total, f"{text}:2000:0")
    ends = [np.triu_indices(size) for size in sizes]
    grid = np.indices([len(low) for low, _ in ends], dtype=np.int64).reshape(len(sizes), -1)
    lows = np.stack([low[index] for (low, _), index in zip(ends, grid, strict=True)], axis=1)
    highs = np.stack([high[index] for (_, high), index in zip(ends, grid, strict=True)], axis=1)
    return lows, highs


def _too_many(text: str, count: int, fewer: str) -> QueryError:
    return QueryError(
        f"{text!r} asks for all {count:,} ranges; at most {MAX_RANGES:,} are asked at once",
        remedy=f"draw some of them, as in {fewer!r}, or list those that matter as conditions, as in 'where: ...'",
    )


def _drawn_ranges(sizes: Sequence[int], count: int, seed: int) -> tuple[Ints, Ints]:
    """Uniform pairs ``low <= high``: of a square of ``size * (size + 1)`` cells one half is folded onto the other."""
    random = generator(seed)
    lows = np.empty((count, len(sizes)), dtype=np.int64)
    highs = np.empty_like(lows)
    for axis, size in enumerate(sizes):
        one = random.integers(size, size=count)
        two = random.integers(size + 1, size=count)
        below = two <= one
        lows[:, axis] = np.where(below, size - 1 - one, one)
        highs[:, axis] = np.where(below, size - 1 - two, two - 1)
    return lows, highs
