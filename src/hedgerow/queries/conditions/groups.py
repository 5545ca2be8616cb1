"""Groups of records, counted together: what GROUP BY asks for, and the sums over each group that go with it.

A group is found by the canonical form of its query, which is the same however the query was written.
"""

import hashlib
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, CodeSet, Domain, places_in, spread_over
from hedgerow.errors import QueryError
from hedgerow.quantities import human
from hedgerow.queries.core import Conjunction, Explicit, LinearQuery, Marginal, Measurable, Parity, query_scope
from hedgerow.queries.core.blocks import Blocks
from hedgerow.queries.families import MAX_CELLS

_COMPARED_CELLS = 1 << 16
"""Parities over more cells are told apart by their attributes alone."""


def canonical(query: LinearQuery) -> LinearQuery:
    """The same query over as few attributes as it depends on; a conjunction wherever it is one.

    A condition that no record meets becomes one without codes on the first attribute. A query that is the same for
    all records has no attribute left. A query of a class that is not ours becomes an explicit one, as sessions can save
    it; values are copied, so that it cannot change behind a session's back.

    Args:
        query: Any linear query.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> canonical(Conjunction.where(domain, {"a": [0, 1], "b": [2]})).text
        'b = 2'
        >>> canonical(Explicit.of(domain, ["a", "b"], [[0, 0, 1], [0, 0, 1]])).text
        'b = 2'
    """
    if isinstance(query, Conjunction):
        return _conjunction(query)
    if isinstance(query, Parity):
        return query if query.scope else Conjunction(query.domain, (), ())  # the parity of no attribute is 1
    return _explicit(query)


def query_key(query: Measurable) -> Hashable:
    """A key that two queries in canonical form over the same attributes share if and only if they have the same values.

    A condition on a level and the same condition on its attribute are queries of their own. Groups of counts have keys
    that no query has.

    Args:
        query: A query that ``canonical`` returned, a marginal, or blocks.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> query_key(canonical(Explicit.of(domain, ["a"], [0, 1]))) == query_key(Conjunction.where(domain, {"a": [1]}))
        True
    """
    if isinstance(query, Conjunction):
        return query.scope, query.codes
    if isinstance(query, Marginal):
        return "marginal", query.scope, None if query.within is None else query_key(query.within)
    if isinstance(query, Blocks):
        return "blocks", query.scope, _digest(query.places)
    if isinstance(query, Parity) and query.domain.cells(query.scope) > _COMPARED_CELLS:
        return "parity", query.scope
    if not isinstance(query, LinearQuery):
        raise TypeError(f"a {type(query).__name__} is neither a query nor a group of counts")
    return query.scope, _digest(query.values() + 0.0)  # + 0.0: no negative zeros


def _digest(values: Floats | Ints) -> bytes:
    """In place of megabytes."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=32).digest()


def _conjunction(query: Conjunction) -> Conjunction:
    if not all(query.codes):
        return Conjunction(query.domain, query.domain.names[:1], (CodeSet(()),))
    if not any(codes.cuts[0] == 0 and len(codes.cuts) == 2 for codes in query.codes):
        return query  # no set starts at 0 without a gap, as all codes of an attribute do: quick to see
    sizes = query.domain.shape_of(query.scope)
    kept = [axis for axis, size in enumerate(sizes) if len(query.codes[axis]) < size]
    if len(kept) == len(sizes):
        return query
    scope = tuple(query.scope[axis] for axis in kept)
    return Conjunction(query.domain, scope, tuple(query.codes[axis] for axis in kept))


def _explicit(query: LinearQuery) -> LinearQuery:
    table = np.array(query.values(), dtype=np.float64)
    needed = [axis for axis in range(table.ndim) if not (table == table.take([0], axis=axis)).all()]
    index = tuple(slice(None) if axis in needed else 0 for axis in range(table.ndim))
    reduced, scope = np.asarray(table[index]), tuple(query.scope[axis] for axis in needed)
    if not table.any():
        return Conjunction(query.domain, query.domain.names[:1], (CodeSet(()),))
    codes = _product_of_sets(reduced)
    if codes is not None:
        return _conjunction(Conjunction(query.domain, scope, codes))
    return Explicit(query.domain, scope, query.text, reduced, query.bounds)


def _product_of_sets(table: Floats) -> tuple[CodeSet, ...] | None:
    """The codes of each axis, if the table is 1 where all axes have one of theirs and 0 elsewhere."""
    if not ((table == 0.0) | (table == 1.0)).all():
        return None
    axes = range(table.ndim)
    codes = tuple(CodeSet.where(table.any(axis=tuple(other for other in axes if other != axis))) for axis in axes)
    return codes if math.prod(map(len, codes)) == int(table.sum()) else None


MOST_GROUPS = 10_000
"""Counts that are answered together, at most."""
_MOST_KEPT = 4
"""Tables of members of groups that are kept."""
_MOST_TOGETHER = 1 << 25
"""Cells of all groups under a condition, at most: each is a query over all cells that the condition is about."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The records that meet a condition, by the values of some attributes or levels.

    Their counts are disjoint, so that all of them together cost what one marginal costs. Where a condition is given,
    the records that do not meet it are one group more, which is not told.

    Attributes:
        domain: The domain.
        names: Attributes and levels, in the order in which they were asked for; none for a single group.
        where: The condition.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("F", "M")), IntegerRange("age", 0, 99)))
        >>> groups = Groups(domain, ("age.10", "sex"), Conjunction.where(domain, {"age": range(15)}))
        >>> groups.labels, groups.target.size
        ((('[0, 10)', 'F'), ('[10, 20)', 'F'), ('[0, 10)', 'M'), ('[10, 20)', 'M')), 5)
        >>> groups.cell(3).text
        "sex = 'M' and age between 10 and 14"
    """

    domain: Domain
    names: Clique
    where: LinearQuery

    def __post_init__(self) -> None:
        """Check names and sizes.

        Raises:
            DomainError: There is no attribute of a name.
            QueryError: A name stands there twice or follows from the others, there are more than ``MOST_GROUPS``
                groups, the condition has too many cells with them, or none can meet it.
        """
        if len(set(self.names)) < len(self.names) or len(query_scope(self.domain, self.names)) < len(self.names):
            raise QueryError(
                f"one of {', '.join(self.names)} follows from the others",
                remedy="name each column once, and either a column or one of its levels",
            )
        if (count := self.domain.cells(self._clique)) > MOST_GROUPS:
            sizes = ", ".join(f"{name} ({self.domain[name].size:,})" for name in self.names)
            raise QueryError(
                f"there are {human(count)} groups of {sizes}, and at most {MOST_GROUPS:,} are answered together",
                remedy='name fewer columns, or coarser levels of them, as in GROUP BY "age.10"',
            )
        cells = self.domain.cells(self._scope) if self.names and self.where.scope else 0
        if cells * self.size > _MOST_TOGETHER:
            raise QueryError(
                f"there are {self.size:,} groups, and {human(cells)} cells of them and of what the condition is about: "
                f"{human(cells * self.size)} values, and at most {_MOST_TOGETHER:,} are answered together",
                remedy="name fewer columns, coarser levels of them, or leave the condition out",
            )
        if not self._found.size:
            raise QueryError("no record can meet the condition", remedy="give a condition that can hold")

    @cached_property
    def target(self) -> Marginal | Blocks:
        """The counts of all groups, as they are asked for together; the last one may be that of all other records.

        Raises:
            QueryError: There is only one group, which is a question of its own.
        """
        if not self.names:
            raise QueryError("one group is one count", remedy="ask for cell(0)")
        if not self.where.scope:
            return Marginal(self.domain, self._clique)
        places = np.searchsorted(self._found, self._place_of(self._scope))
        blocks = np.where(self._holds(self._scope), places, self._found.size)
        return Blocks(self.domain, self._scope, blocks, f"{' * '.join(self._clique)} where {self.where.text},")

    @property
    def size(self) -> int:
        """Number of groups that are told."""
        return int(self._found.size)

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The values that each group has, in the order of the names; groups in the order of the domain."""
        if not self.names:
            return ((),)
        of = (
            [self.domain[name].label(code) for code in axis] for name, axis in zip(self.names, self.codes, strict=True)
        )
        return tuple(zip(*of, strict=True))

    @cached_property
    def codes(self) -> list[list[int]]:
        """The codes of each name, in the order of the names: one of every group."""
        axes = np.unravel_index(self._found, self.domain.shape_of(self._clique)) if self.names else ()
        of = dict(zip(self._clique, axes, strict=True))
        return [of[name].tolist() for name in self.names]

    def cell(self, row: int) -> LinearQuery:
        """The count of one group, as a query by itself."""
        return self.sum(row, None, ()) if self.names else canonical(self.where)

    def sum(self, row: int, name: str | None, weights: ArrayLike, text: str = "") -> LinearQuery:
        """The sum over one group of public weights, one for each code of an attribute, as a query.

        Args:
            row: Number of the group.
            name: The attribute; None for the weight 1.
            weights: In [0, 1], shape ``(size of the attribute,)``.
            text: The weights in words.

        Raises:
            QueryError: The query would have more than a million cells.
        """
        return self.weighted(row, () if name is None else (name,), weights, text)

    def weighted(self, row: int, names: Clique, weights: ArrayLike, text: str = "") -> LinearQuery:
        """The sum over one group of public weights, one for each cell of a table, as a query.

        Args:
            row: Number of the group.
            names: The variables of the table, in domain order; none for the weight 1.
            weights: Of the table's shape.
            text: The weights in words.

        Raises:
            QueryError: The query would have more than a million cells.
        """
        scope = self.scope_with(*names)
        table = self._members(row, scope)
        if names:
            table = table * spread_over(self.domain, np.asarray(weights, dtype=np.float64), names, scope)
        return canonical(Explicit.of(self.domain, scope, table, self._text(row, text)))

    def _members(self, row: int, scope: Clique) -> Floats:
        """1 in the cells of a table whose records are in a group; kept, as many sums over one group follow each other.

        Args:
            row: Number of the group.
            scope: The attributes of the table.
        """
        if (row, scope) not in self._kept:
            holds = self._holds(scope)
            if self.names:
                holds = holds & (self._place_of(scope) == self._found[row])
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[row, scope] = holds.astype(np.float64)
        return self._kept[row, scope]

    @cached_property
    def _kept(self) -> dict[tuple[int, Clique], Floats]:
        return {}

    def scope_with(self, *names: str) -> Clique:
        """The attributes that a sum over a group depends on.

        Args:
            names: The variables that have the weights; empty names do not count.

        Raises:
            QueryError: They have more than a million cells together.
        """
        scope = query_scope(self.domain, (*self._scope, *filter(None, names)))
        _check_cells(self.domain, scope)
        return scope

    def _text(self, row: int, of: str) -> str:
        """A sum over a group in words: its weights, and the condition that the group's records meet."""
        if self.names and row not in self._texts:
            codes = np.unravel_index(int(self._found[row]), self.domain.shape_of(self._clique))
            named = {name: [int(code)] for name, code in zip(self._clique, codes, strict=True)}
            self._texts[row] = Conjunction.where(self.domain, named).text
        parts = [*([of] if of else []), *([self._texts[row]] if self.names else [])]
        parts += [f"({self.where.text})"] if self.where.scope else []
        return " and ".join(parts) or "true"

    @cached_property
    def _texts(self) -> dict[int, str]:
        return {}

    @property
    def _clique(self) -> Clique:
        return self.domain.clique(self.names)

    @cached_property
    def _scope(self) -> Clique:
        scope = query_scope(self.domain, (*self.names, *self.where.scope))
        _check_cells(self.domain, scope)
        return scope

    @cached_property
    def _found(self) -> Ints:
        """The groups that a record can be in, as cells of the table of the names."""
        if not self.names:
            can_hold = all(self.where.codes) if isinstance(self.where, Conjunction) else self.where.values().any()
            return np.zeros(int(can_hold), dtype=np.int64)
        if not self.where.scope:
            return np.arange(self.domain.cells(self._clique))
        return np.unique(self._place_of(self._scope)[self._holds(self._scope)])

    def _place_of(self, scope: Clique) -> Ints:
        return places_in(self.domain, scope, self._clique)

    def _holds(self, scope: Clique) -> Bools:
        """The cells of a table whose records meet the condition, and can be."""
        shape = self.domain.shape_of(scope)
        if not self.where.scope:
            return np.ones(shape, dtype=np.bool_)
        holds = spread_over(self.domain, self.where.values(), self.where.scope, scope) > 0.0
        return np.broadcast_to(holds & (self._place_of(scope) >= 0 if self.names else True), shape)


def _check_cells(domain: Domain, scope: Iterable[str]) -> None:
    names = tuple(scope)
    if (cells := domain.cells(names)) > MAX_CELLS:
        raise QueryError(
            f"the question is about {human(cells)} cells of {', '.join(names)}",
            remedy=f"at most {MAX_CELLS:,} are supported: name fewer columns, or coarser levels of them",
        )
