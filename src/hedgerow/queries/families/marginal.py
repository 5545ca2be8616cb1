"""Families of marginals: as whole tables, or cell by cell."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations, islice, product
from typing import ClassVar, Self

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, CodeSet, Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core import Conjunction, Family, Marginal, Measurable, clique_list, query_scope
from hedgerow.queries.core.family import distinct_cliques
from hedgerow.queries.core.sensitivity import Neighbours, of_marginal

MAX_QUERIES = 2**28
"""A family with more answers than this is refused: the answers alone would need 2 GiB."""

MOST_MARGINALS = 2**22
"""A family of more marginals is refused: their names alone would need a GiB, and a run more than 10."""


def cliques_of_order(
    domain: Domain, order: int, largest: int | None = None, *, levels: bool = False
) -> tuple[Clique, ...]:
    """All sets of exactly ``order`` attributes.

    Args:
        domain: The domain.
        order: Number of attributes.
        largest: Leave out sets whose marginals have more cells than this.
        levels: Whether each set comes with every mix of levels of its attributes.

    Raises:
        QueryError: The order is not between 1 and the number of attributes, there are too many sets, or every marginal
            has more cells.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 1, size) for name, size in zip("abcd", (2, 2, 5, 9)))
        >>> len(cliques_of_order(domain, 2)), cliques_of_order(domain, 2, largest=10)
        (6, (('a', 'b'), ('a', 'c'), ('b', 'c')))
    """
    if not 1 <= order <= len(domain):
        raise QueryError(
            f"there are no marginals of {order} attributes: the domain has {len(domain)}",
            remedy=f"give a number from 1 to {len(domain)}" if len(domain) > 1 else "give 1",
        )
    _check_number(_count(domain, order, largest, levels=levels), f" of {order} attributes")
    if largest is None:
        every = combinations(domain.names, order)
        return tuple(with_levels(domain, every)) if levels else tuple(every)
    cliques = tuple(_small_cliques(domain, order, largest, levels=levels))
    if not cliques:
        least = math.prod(sorted(_least_sizes(domain, domain.names, levels=levels))[:order])
        text = f"every marginal of {order} attribute{'s' if order > 1 else ''} has more than {largest:,} cells"
        raise QueryError(text, remedy=f"the smallest has {least:,}; allow more, or ask for fewer attributes")
    return cliques


def cliques_of_target(domain: Domain, target: str) -> tuple[Clique, ...]:
    """The tables that a model which predicts one attribute from the others needs.

    These are all pairs that hold it, all triples of at most 100,000 cells, and tables of four and more attributes of at
    most 64 cells: those of an order as long as they are at most 4,000 tables with those before.

    Args:
        domain: The domain.
        target: The attribute that is predicted.

    Raises:
        QueryError: There is no other attribute.

    Example:
        >>> from hedgerow import IntegerRange
        >>> cliques_of_target(Domain(IntegerRange(name, 0, 1) for name in "abc"), "b")
        (('a', 'b'), ('b', 'c'), ('a', 'b', 'c'))
    """
    others = [name for name in domain.names if name != target]
    if not others:
        raise QueryError(f"nothing predicts {target!r}: the domain has no other attribute", remedy="ask 'marginals:1'")
    cliques: list[Clique] = [(name,) for name in others]
    for order in range(2, len(others) + 1):
        largest = _TRIPLE_CELLS if order == 2 else _TARGET_CELLS
        left = _TARGET_TABLES - len(cliques)
        larger = list(islice(_small_cliques(domain, order, largest // domain[target].size, names=others), left + 1))
        if not 0 < len(larger) <= left:
            break
        cliques += larger
    return distinct_cliques(domain, ((*clique, target) for clique in cliques))


def _check_number(count: int, which: str = "") -> None:
    if count > MOST_MARGINALS:
        text = f"there are {count:,} marginals{which}, and at most {MOST_MARGINALS:,} may be asked for"
        raise QueryError(text, remedy=_FEWER)


def with_levels(domain: Domain, cliques: Iterable[Clique]) -> Iterator[Clique]:
    """Each clique with every mix of levels of its attributes, their own values first; none twice.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> list(with_levels(domain, [("age",), ("sex", "age")]))
        [('age',), ('age.10',), ('sex', 'age'), ('sex', 'age.10')]
    """
    levels: dict[str, Clique] = {}
    distinct: dict[Clique, None] = {}
    for clique in cliques:
        for name in clique:
            if name not in levels:
                levels[name] = _levels(domain, name, levels=True)
        for mix in product(*(levels[name] for name in clique)):
            scope = query_scope(domain, mix)
            if scope not in distinct:
                distinct[scope] = None
                yield scope


def _levels(domain: Domain, name: str, levels: bool) -> Clique:
    """An attribute or level, and where wanted the levels that are coarser."""
    if not levels:
        return (name,)
    coarser = (function for function in domain.derived if len(function.sources) == 1 and not function.column)
    return name, *(each.name for each in coarser if each.name != name and domain.lookup(name, each.name) is not None)


def _count(domain: Domain, order: int, largest: int | None = None, *, levels: bool) -> int:
    """Number of sets of so many attributes, with every mix of their levels if wanted, of at most so many cells."""
    if largest is None and not levels:
        return math.comb(len(domain), order)
    numbers: list[Counter[int]] = [Counter({1: 1}), *(Counter() for _ in range(order))]  # by attributes, then cells
    for name in domain.names:
        sizes = domain.shape_of(_levels(domain, name, levels)) if largest else [1] * len(_levels(domain, name, levels))
        for more, fewer in zip(reversed(numbers[1:]), reversed(numbers[:-1]), strict=True):
            for (cells, number), size in product(fewer.items(), sizes):
                if largest is None or cells * size <= largest:
                    more[cells * size] += number
    return numbers[order].total()


def _least_sizes(domain: Domain, names: Sequence[str], *, levels: bool) -> list[int]:
    """Values of each of these attributes; of its coarsest level, if levels are wanted."""
    return [min(domain.shape_of(_levels(domain, name, levels))) for name in names]


def _small_cliques(
    domain: Domain, order: int, largest: int, *, levels: bool = False, names: Sequence[str] | None = None
) -> Iterator[Clique]:
    """The sets, of all attributes or of some, of at most so many cells; no others are looked through."""
    names = domain.names if names is None else names
    sizes = _least_sizes(domain, names, levels=levels)
    least = min(sizes)

    def grown(clique: Clique, cells: int, start: int) -> Iterator[Clique]:
        left = order - len(clique)
        if not left:
            yield clique
            return
        for place in range(start, len(names) - left + 1):
            if cells * sizes[place] * least ** (left - 1) <= largest:
                yield from grown((*clique, names[place]), cells * sizes[place], place + 1)

    cliques = grown((), 1, 0)
    if not levels:
        return cliques
    return (clique for clique in with_levels(domain, cliques) if domain.cells(clique) <= largest)


def _next_size(domain: Domain, order: int, largest: int, *, levels: bool = False) -> int:
    """Cells of the smallest marginal that has more than ``largest``; there is one."""
    every: Iterable[Clique] = combinations(domain.names, order)
    sizes = (domain.cells(clique) for clique in (with_levels(domain, every) if levels else every))
    return min(size for size in sizes if size > largest)


def _roundest(low: int, high: int) -> int:
    """The number in ``[low, high)`` that ends in the most zeros; the smallest of these."""
    units: list[int] = [10**zeros for zeros in range(len(str(high)))]
    return next(bound for unit in reversed(units) if (bound := -(-low // unit) * unit) < high)


_RECOGNISED = 100_000
"""Largest number of sets of attributes that are searched to write marginals as all small ones of an order."""
_TRIPLE_CELLS, _TARGET_CELLS, _TARGET_TABLES = 100_000, 64, 4_000
"""Cells of the largest triple, and of the largest table of more attributes, for a target; and the number of tables."""
_LISTED = 8
"""Largest number of marginals that are written by name."""
_FEWER = (
    "ask for marginals of fewer attributes, or leave large ones out, as in 'marginals:2<=10000', or name the ones that "
    "matter, as in 'marginals:sex*age'"
)


@dataclass(frozen=True)
class _CliqueFamily(Family):
    """Tables of cliques, one after the other, each in row-major order.

    Attributes:
        cells_of: The cliques of attributes, levels and other derived ones, in domain order, each once.
    """

    tabular = conjunctive = True
    step: ClassVar = 1.0

    domain: Domain = field(repr=False)
    cells_of: tuple[Clique, ...]

    def __init__(self, domain: Domain, cliques: Iterable[Iterable[str]]) -> None:
        """Check the cliques.

        Args:
            domain: The domain.
            cliques: Sets of attributes, each once.

        Raises:
            QueryError: A clique is empty or there twice, there is none, or there are too many cells.
            DomainError: A name is not an attribute.
        """
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "cells_of", distinct_cliques(domain, cliques))
        _check_number(len(self.cells_of))
        if self.n_queries > MAX_QUERIES:
            wide = sorted(domain, key=lambda attribute: -attribute.size)[:3]
            sizes = ", ".join(f"{attribute.name!r} ({attribute.size:,})" for attribute in wide)
            remedy = f"{_FEWER}; or put the values of wide attributes into bins (widest: {sizes})"
            if wide[0].size > MAX_QUERIES:
                remedy += f"; or ask for ranges and conditions, as in 'ranges:{wide[0].name}:2000:0'"
            raise QueryError(
                f"the marginals have {self.n_queries:,} cells together, and at most {MAX_QUERIES:,} may be asked for",
                remedy=remedy,
            )

    @classmethod
    def of_order(cls, domain: Domain, order: int, largest: int | None = None, *, levels: bool = False) -> Self:
        """The family over all sets of exactly ``order`` attributes: see ``cliques_of_order``."""
        return cls(domain, cliques_of_order(domain, order, largest, levels=levels))

    @classmethod
    def at_levels(cls, domain: Domain, cliques: Iterable[Iterable[str]]) -> Self:
        """The family over cliques, each with every mix of levels of its attributes.

        Example:
            >>> from hedgerow import IntegerRange
            >>> Marginals.at_levels(Domain((IntegerRange("age", 0, 99),)), [("age",)]).scopes
            (('age',), ('age.10',))
        """
        return cls(domain, with_levels(domain, distinct_cliques(domain, cliques)))

    @cached_property
    def n_queries(self) -> int:
        """Number of cells of all marginals together."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> list[int]:
        """Number of cells of each marginal."""
        return [self.domain.cells(clique) for clique in self.cells_of]

    @property
    def scopes(self) -> tuple[Clique, ...]:
        """The cliques."""
        return self.cells_of

    @cached_property
    def _arguments(self) -> str:
        order, n = len(self.cells_of[0]), len(self.cells_of)
        derived = {name for name in {clique[-1] for clique in self.cells_of} if self.domain.function(name) is not None}
        plain = tuple(clique for clique in self.cells_of if clique[-1] not in derived)
        levels, end = (True, " @levels") if derived else (False, "")
        mixed = not levels or self.cells_of == tuple(islice(with_levels(self.domain, plain), n + 1))
        of_order = math.comb(len(self.domain), order)
        if mixed and len(plain) == of_order and plain == cliques_of_order(self.domain, order):
            return f"{order}{end}"
        if _LISTED < n <= _count(self.domain, order, levels=levels) <= _RECOGNISED:
            largest = max(self.sizes)
            if self.cells_of == tuple(_small_cliques(self.domain, order, largest, levels=levels)):
                return f"{order}<={_roundest(largest, _next_size(self.domain, order, largest, levels=levels))}{end}"
        return f"{clique_list(plain)}{end}" if mixed else clique_list(self.cells_of)

    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        """The cliques themselves."""
        return self.cells_of

    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        """The tables, flat, one after the other."""
        return np.concatenate([np.asarray(table, dtype=np.float64).reshape(-1) for table in tables])


@dataclass(frozen=True, init=False)
class Marginals(_CliqueFamily):
    """Marginals, each of them one candidate.

    Example:
        >>> from hedgerow import IntegerRange
        >>> family = Marginals(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2))), [("a",), ("b", "a")])
        >>> family.n_candidates, family.n_queries, family.candidate(1).text
        (2, 8, 'a * b')
    """

    kind = "marginals"
    whole = True
    spread: ClassVar = 0.5
    forms: ClassVar = {
        "marginals": "'marginals:2', 'marginals:3<=10000' (of at most 10,000 cells), 'marginals:sex*age,race' or "
        "'marginals:2 @levels'",
        "means": "'means:income by sex*race, age'",
        "sums": "'sums:income by sex*race, age'",
        "moments": "'moments:income by sex, age'",
        "correlations": "'correlations:age, hours, income'",
        "target": "'target:income'",
        "regression": "'regression: hours ~ age + C(race)'",
        "logistic": "'logistic: income ~ age + sex'",
    }

    @property
    def n_candidates(self) -> int:
        """Number of marginals."""
        return len(self.cells_of)

    @cached_property
    def lengths(self) -> Ints:
        """Number of cells of each marginal."""
        return np.array(self.sizes, dtype=np.int64)

    @property
    def spec(self) -> str:
        """``marginals:2``, ``marginals:3<=10000`` (at most so many cells), ``target:income``, or the cliques by name.

        After those by order or name ``@levels`` says that each comes with every mix of levels.
        """
        return f"marginals:{self._arguments}" if self.target is None else f"target:{clique_list([(self.target,)])}"

    @cached_property
    def target(self) -> str | None:
        """The attribute whose tables these are, if they are many; see `cliques_of_target`."""
        if len(self.cells_of) <= _LISTED:
            return None
        common = set(self.cells_of[0]).intersection(*self.cells_of) & set(self.domain.names)
        return next((name for name in common if self.cells_of == cliques_of_target(self.domain, name)), None)

    def candidate(self, index: int) -> Measurable:
        """One marginal."""
        self.check_index(index)
        return Marginal(self.domain, self.cells_of[index])

    def by_query(self) -> Cells:
        """The cells of the same marginals."""
        return Cells(self.domain, self.cells_of)

    def sensitivities(self, neighbours: Neighbours) -> Floats:
        """L1 sensitivity of all cells of a marginal together, and of its score (theory.md section 0)."""
        return np.full(self.n_candidates, of_marginal(neighbours).l1)


@dataclass(frozen=True, init=False)
class Cells(_CliqueFamily):
    """Cells of marginals, each of them one candidate.

    Example:
        >>> from hedgerow import IntegerRange
        >>> family = Cells(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2))), [("a", "b")])
        >>> family.n_candidates, family.candidate(4).text
        (6, 'a = 1 and b = 1')
    """

    kind = "cells"
    forms: ClassVar = {"cells": "'cells:2', 'cells:3<=10000' or 'cells:sex*age,race'"}

    @property
    def spec(self) -> str:
        """``cells:2``, ``cells:3<=10000`` (of marginals of at most so many cells), or the cliques by name."""
        return f"cells:{self._arguments}"

    @cached_property
    def scope_of(self) -> Ints:
        """The clique of each cell."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def spread(self) -> Floats:
        """Half the number of cells of the marginal that a cell is in."""
        return np.repeat(0.5 * np.array(self.sizes), self.sizes)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(self.sizes)]

    def candidate(self, index: int) -> Measurable:
        """One cell, as a conjunction."""
        self.check_index(index)
        which = bisect_right(self._starts, index) - 1
        clique = self.cells_of[which]
        codes = np.unravel_index(index - self._starts[which], self.domain.shape_of(clique))
        return Conjunction(self.domain, clique, tuple(CodeSet((code, code + 1)) for code in map(int, codes)))
