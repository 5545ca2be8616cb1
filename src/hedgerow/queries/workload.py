"""A workload: the queries that a release should answer well."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.cards import card
from hedgerow.domain import Clique, Domain, summed
from hedgerow.errors import QueryError
from hedgerow.queries.core import Conjunction, Family, Measurable, Neighbours, Tables
from hedgerow.queries.core.family import filled_axes
from hedgerow.queries.families import Boxes, Cells, Conjunctions, ExplicitMatrix, Marginals, Parities
from hedgerow.system import in_slices, usable_cores

_MANY = 2**17
"""Answers whose differences are divided among cores when they are added up: to wake a thread takes as long."""
_LONGEST = 100
"""Characters of a text that a representation shows."""


@dataclass(frozen=True)
class Workload:
    """An ordered collection of families of linear queries, each with a weight.

    Answers stand one after the other, family by family. They fall into *candidates*: what an algorithm selects and
    measures in one go, which is one query, or all cells of a marginal. Properties of candidates are arrays, so that
    there may be millions; ``candidate`` makes the object of one.

    Attributes:
        families: The families, in order.
        weights: Positive weight of an error in each family, relative to the others.

    Example:
        >>> from hedgerow import Categorical, IntegerRange
        >>> domain = Domain((Categorical("sex", ("F", "M")), IntegerRange("age", 17, 90)))
        >>> workload = Workload.marginals(domain, 2) + Workload.prefixes(domain, "age")
        >>> workload.spec, workload.n_queries, workload.n_candidates
        ('marginals:2; prefixes:age', 222, 75)
    """

    families: tuple[Family, ...]
    weights: tuple[float, ...]

    def __init__(self, families: Iterable[Family], weights: Iterable[float] | None = None) -> None:
        """Check that the families fit together.

        Args:
            families: At least one, all over the same domain.
            weights: Positive numbers, one per family; all 1 by default.

        Raises:
            QueryError: There is no family, the domains differ, or a weight is not positive.
        """
        listed = tuple(families)
        given = [1.0] * len(listed) if weights is None else weights
        object.__setattr__(self, "families", listed)
        object.__setattr__(self, "weights", tuple(float(weight) for weight in given))
        if not self.families:
            raise QueryError("a workload needs at least one family", remedy="for example 'marginals:2'")
        if any(family.domain != self.domain for family in self.families):
            raise QueryError("the families of a workload are over different domains", remedy="use one domain for all")
        if len(self.weights) != len(self.families) or not all(0 < w < math.inf for w in self.weights):
            raise QueryError(
                f"the weights {self.weights} do not fit {len(self.families)} families",
                remedy="give one positive number for each family",
            )

    def __repr__(self) -> str:
        """One line, which a long text is shortened for."""
        spec = self.spec if len(self.spec) <= _LONGEST else f"{self.spec[:_LONGEST]}..."
        return f"Workload({spec!r}, {self.n_queries:,} {'query' if self.n_queries == 1 else 'queries'})"

    def _repr_html_(self) -> str:
        """The families and the columns, for notebooks."""
        facts = [("queries", f"{self.n_queries:,}"), ("candidates", f"{self.n_candidates:,}")]
        return card(repr(self), facts) + self.domain.to_html()

    @property
    def domain(self) -> Domain:
        """The domain of all families."""
        return self.families[0].domain

    @cached_property
    def n_queries(self) -> int:
        """Number of answers."""
        return sum(family.n_queries for family in self.families)

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        return self._candidate_starts[-1]

    @cached_property
    def _candidate_starts(self) -> list[int]:
        return [0, *accumulate(family.n_candidates for family in self.families)]

    @cached_property
    def lengths(self) -> Ints:
        """Number of consecutive answers of each candidate, shape ``(n_candidates,)``."""
        return np.concatenate([family.lengths for family in self.families])

    @cached_property
    def starts(self) -> Ints:
        """Position of the first answer of each candidate, shape ``(n_candidates,)``."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Smallest and largest contribution of one record to each answer, each of shape ``(n_queries,)``."""
        lows, highs = zip(*(family.limits for family in self.families), strict=True)
        return np.concatenate(lows), np.concatenate(highs)

    @cached_property
    def candidate_weights(self) -> Floats:
        """Weight of each candidate, shape ``(n_candidates,)``."""
        return np.repeat(np.array(self.weights), [family.n_candidates for family in self.families])

    @cached_property
    def scopes(self) -> tuple[Clique, ...]:
        """Sets of attributes that the queries depend on, each once."""
        return tuple(dict.fromkeys(scope for family in self.families for scope in family.scopes))

    @cached_property
    def scope_axes(self) -> Ints:
        """``scopes`` as positions among the variables of the domain, shape ``(scopes, longest)``, filled up with -1."""
        return (
            self.families[0].scope_axes if len(self.families) == 1 else filled_axes(map(self.domain.axes, self.scopes))
        )

    @cached_property
    def scope_of(self) -> Ints:
        """Position in ``scopes`` of the attributes of each candidate, shape ``(n_candidates,)``."""
        if len(self.families) == 1:
            return self.families[0].scope_of
        place = {scope: index for index, scope in enumerate(self.scopes)}
        parts = []
        for family in self.families:
            places = np.array([place[scope] for scope in family.scopes], dtype=np.int64)
            parts.append(places[family.scope_of])
        return np.concatenate(parts)

    def family_of(self, candidate: int) -> int:
        """Position of the family of a candidate.

        Raises:
            QueryError: There is no such candidate.
        """
        if not 0 <= candidate < self.n_candidates:
            raise QueryError(f"there is no candidate {candidate}", remedy=f"give 0 to {self.n_candidates - 1}")
        return bisect_right(self._candidate_starts, candidate) - 1

    def candidate(self, index: int) -> Measurable:
        """The candidate at a position.

        Args:
            index: ``0 <= index < n_candidates``.

        Raises:
            QueryError: There is no such candidate.
        """
        which = self.family_of(index)
        return self.families[which].candidate(index - self._candidate_starts[which])

    def answers(self, tables: Tables, *, looked_at: Bools | None = None) -> Floats:
        """All answers; the tables of all families are asked for in one call.

        Args:
            tables: Source of the marginal tables, over the domain of the workload.
            looked_at: Candidates whose answers matter, shape ``(n_candidates,)``; all by default. Others may be 0.

        Returns:
            Counts, a new array of shape ``(n_queries,)``.

        Raises:
            QueryError: The tables are over another domain.
        """
        parts = [(answers, seen) for _, answers, seen in self.parts(tables, looked_at=looked_at)]
        answers, seen = parts[0]
        if len(parts) == 1 and seen and answers.flags.owndata and all(answers is not table for table in seen):
            return answers  # the family made it; a source may keep what it gave
        return np.concatenate([answers for answers, _ in parts])

    def parts(
        self, tables: Tables, *, looked_at: Bools | None = None
    ) -> Iterator[tuple[Family, Floats, Sequence[Floats]]]:
        """Each family with its answers and the tables that they were read from; no tables where it needed none.

        Args:
            tables: The same as for `answers`.
            looked_at: The same.

        Raises:
            QueryError: See `answers`.
        """
        if tables.domain != self.domain:
            raise QueryError("the workload and the tables are over different domains")
        wanted = [family.wanted(tables) for family in self.families]
        distinct = dict.fromkeys(clique for cliques in wanted for clique in cliques)
        unread = set[Clique]() if looked_at is None or looked_at.all() else self._unread(wanted, looked_at)
        tables_of = self._tables(tables, tuple(clique for clique in distinct if clique not in unread))
        tables_of.update((clique, np.broadcast_to(0.0, self.domain.shape_of(clique))) for clique in unread)
        for family, cliques in zip(self.families, wanted, strict=True):
            seen = [tables_of[clique] for clique in cliques]
            yield family, family.evaluate(cliques, seen) if cliques else family.answers(tables), seen

    def _unread(self, wanted: Sequence[Sequence[Clique]], looked_at: Bools) -> set[Clique]:
        """Tables that no candidate which matters is read off; of families with one table for each scope alone."""
        read, unread = set[Clique](), set[Clique]()
        for family, cliques, start in zip(self.families, wanted, self._candidate_starts, strict=False):
            if tuple(cliques) == family.scopes:
                mine = np.unique(family.scope_of[looked_at[start : start + family.n_candidates]]).tolist()
                unread.update(cliques)
                read.update(cliques[place] for place in mine)
            else:
                read.update(cliques)
        return unread - read

    def _tables(self, tables: Tables, cliques: Sequence[Clique]) -> dict[Clique, Floats]:
        """The tables of cliques; those over levels are summed up where that of their attributes is asked for too."""
        known, names = set(cliques), frozenset(self.domain.names)
        base = {clique: self.domain.base(clique) for clique in cliques if not names.issuperset(clique)}
        coarse = {clique: finer for clique, finer in base.items() if finer in known}
        asked = tuple(clique for clique in cliques if clique not in coarse)
        tables_of = dict(zip(asked, tables.marginals(asked), strict=True)) if asked else {}
        for clique, finer in coarse.items():
            tables_of[clique] = summed(self.domain, tables_of[finer], finer, clique)
        return tables_of

    def candidate_errors(self, differences: Floats) -> Floats:
        """L1 error of each candidate.

        Args:
            differences: Answers minus other answers, shape ``(n_queries,)``.

        Returns:
            Sums of absolute differences over the answers of each candidate, shape ``(n_candidates,)``.
        """
        if self.n_queries == self.n_candidates:
            return np.abs(differences)

        def errors(start: int, stop: int) -> Floats:
            """Errors of the candidates whose first answer is among some."""
            first, last = np.searchsorted(self.starts, (start, stop))
            if first == last:
                return np.zeros(0)
            starts = self.starts[first : last + 1]
            absolute = np.abs(differences[starts[0] : starts[-1] if last < self.n_candidates else None])
            return np.add.reduceat(absolute, starts[: last - first] - starts[0])

        return np.concatenate(in_slices(errors, self.n_queries, usable_cores() if self.n_queries >= _MANY else 1))

    def sensitivities(self, neighbours: Neighbours) -> Floats:
        """L1 sensitivity of each candidate in counts, and of its error (theory.md section 0).

        Returns:
            Shape ``(n_candidates,)``.
        """
        single = np.concatenate([family.sensitivities(neighbours.single) for family in self.families])
        return single * neighbours.records

    def by_query(self) -> Workload:
        """The same queries in the same order and with the same weights, each of them a candidate of its own.

        Example:
            >>> from hedgerow import IntegerRange
            >>> domain = Domain(IntegerRange(name, 0, 2) for name in "ab")
            >>> Workload.marginals(domain, 2).by_query().spec
            'cells:2'
        """
        return Workload([family.by_query() for family in self.families], self.weights)

    def covers(self, clique: Iterable[str]) -> bool:
        """Whether the answers hold all cells of the marginal of a clique, as they are or summed.

        Raises:
            DomainError: A name is not an attribute.
        """
        wanted = self.domain.reduced(clique)
        tables = (family for family in self.families if family.tabular)
        scopes = (scope for family in tables for scope in family.scopes)
        return any(all(self.domain.determines(scope, name) for name in wanted) for scope in scopes)

    def __add__(self, other: Workload) -> Workload:
        """The families of both, in order.

        Raises:
            QueryError: The domains differ.
        """
        return Workload(self.families + other.families, self.weights + other.weights)

    def weighted(self, weight: float) -> Workload:
        """The same families with every weight multiplied.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Workload.prefixes(Domain((IntegerRange("age", 17, 90),)), "age").weighted(0.5).spec
            'prefixes:age @ 0.5'
        """
        return Workload(self.families, [weight * each for each in self.weights])

    @classmethod
    def marginals(
        cls,
        domain: Domain,
        order: int | None = None,
        *,
        cliques: Iterable[Iterable[str]] | None = None,
        largest: int | None = None,
        whole: bool = True,
        levels: bool = False,
    ) -> Workload:
        """Marginals of all sets of ``order`` attributes, or of the cliques given.

        Args:
            domain: The domain.
            order: Number of attributes of each marginal.
            cliques: Sets of attributes, instead of an order.
            largest: With an order: leave out marginals of more cells than this.
            whole: Whether a candidate is a whole marginal, else a single cell.
            levels: Whether each comes with every mix of levels of its attributes.

        Raises:
            QueryError: Neither or both of order and cliques are given, or they do not fit the domain.
        """
        if largest is not None and order is None:
            raise QueryError("a largest number of cells needs an order", remedy="leave large cliques out of the list")
        family = Marginals if whole else Cells
        of_order = partial(family.of_order, domain, largest=largest, levels=levels)
        return cls((_family(order, cliques, of_order, partial(family.at_levels if levels else family, domain)),))

    @classmethod
    def parities(
        cls, domain: Domain, order: int | None = None, *, cliques: Iterable[Iterable[str]] | None = None
    ) -> Workload:
        """Parities of all sets of 1 to ``order`` binary attributes, or of the sets given.

        Raises:
            QueryError: Neither or both of order and cliques are given, or an attribute is not binary.
        """
        return cls((_family(order, cliques, partial(Parities.of_order, domain), partial(Parities, domain)),))

    @classmethod
    def prefixes(cls, domain: Domain, name: str) -> Workload:
        """All ranges of one attribute that start at its first value."""
        return cls((Boxes.prefixes(domain, name),))

    @classmethod
    def ranges(cls, domain: Domain, names: Iterable[str], count: int | None = None, seed: int = 0) -> Workload:
        """All ranges, or ``count`` random ones, of one attribute or (as boxes) of several: see ``Boxes.ranges``."""
        return cls((Boxes.ranges(domain, names, count, seed),))

    @classmethod
    def conjunctions(cls, domain: Domain, queries: Iterable[Conjunction | str]) -> Workload:
        """Conditions, as objects or as SQL text.

        Raises:
            QueryError: A text is not understood, or joins conditions on several attributes with "or".

        Example:
            >>> from hedgerow import IntegerRange
            >>> Workload.conjunctions(Domain((IntegerRange("age", 17, 90),)), ["age < 30"]).spec
            'where: age between 17 and 29'
        """
        from hedgerow.queries.conditions import parse_conjunction

        parsed = [query if isinstance(query, Conjunction) else parse_conjunction(query, domain) for query in queries]
        return cls((Conjunctions(domain, parsed),))

    @classmethod
    def explicit(
        cls, domain: Domain, scope: Iterable[str], matrix: ArrayLike, names: Sequence[str] | None = None
    ) -> Workload:
        """Queries given by their values on the cells of a scope: see ``ExplicitMatrix``."""
        return cls((ExplicitMatrix(domain, scope, matrix, names),))

    @classmethod
    def parse(cls, text: str, domain: Domain) -> Workload:
        """Read a workload from a short text.

        Families are joined by ``;`` (or ``+``); ``@ 0.5`` at the end of a family is its weight::

            marginals:2                       all marginals of exactly 2 attributes, each a candidate
            marginals:3<=10000                those of 3 attributes that have at most 10,000 cells
            marginals:sex*age,race            these marginals
            marginals:age.10*sex              one of a level
            marginals:2 @levels               all marginals of 2 attributes, at every mix of their levels
            cells:2                           the same, each cell a candidate
            parities:3                        all parities of 1 to 3 binary attributes
            prefixes:age                      all ranges of age that start at its first value
            ranges:age                        all ranges of age
            ranges:age,hours:2000:7           2000 random boxes in age and hours, drawn with seed 7
            where: sex = 'Male' and age < 30  a condition (several: joined by commas)
            means: income by sex*race, age    the tables that these means, or sums (``sums:``), follow from
            moments: income by sex, age       the same for variances
            correlations: age, hours, income  those of all their pairs
            target: income                    tables of pairs, triples and more with the column that models predict
            regression: hours ~ age + C(sex)  those that least squares follow from, and sums of products
            logistic: income ~ age + sex      those that log odds follow from, all together where they are small

        A name that holds blanks or one of ``" ' * , : ; @ +``, or that is a number or reads ``3<=100``, stands in
        double quotes.

        Args:
            text: The text.
            domain: The domain.

        Raises:
            QueryError: The text is not understood; the message says where and what is allowed there.

        Example:
            >>> from hedgerow import IntegerRange
            >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
            >>> Workload.parse("marginals:2 @ 0.5; parities:a*b,c", domain).n_queries
            14
        """
        from hedgerow.queries.workload_text import parse_workload

        return cls(*parse_workload(text, domain))

    @property
    def spec(self) -> str:
        """The short text. ``parse`` reads it back, unless a family is given by arrays (see ``workload_to_dict``)."""
        return "; ".join(
            family.spec if weight == 1 else f"{family.spec} @ {weight!r}"
            for family, weight in zip(self.families, self.weights, strict=True)
        )


def _family(
    order: int | None,
    cliques: Iterable[Iterable[str]] | None,
    of_order: Callable[[int], Family],
    named: Callable[[Iterable[Iterable[str]]], Family],
) -> Family:
    if order is not None and cliques is None:
        return of_order(order)
    if cliques is not None and order is None:
        return named(cliques)
    raise QueryError("a family of marginals or parities needs either an order or cliques", remedy="give one of them")
