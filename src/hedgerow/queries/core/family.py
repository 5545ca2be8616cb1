"""The base of families: many linear queries that are answered together.

A family yields its answers from a few tables, asked for in one go, and turns single queries into objects only
when one is asked for by its number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core.query import Measurable, Tables
from hedgerow.queries.core.scope import query_scope
from hedgerow.queries.core.sensitivity import Neighbours, of_query

Arrays = Mapping[str, NDArray[Any]]


class Family(ABC):
    """An ordered set of linear queries, cut into candidates that are selected and measured in one go.

    Attributes:
        domain: The domain of the queries.
        kind: Name of the family in stored workloads.
        forms: The words that its texts begin with, each with an example for error messages.
        whole: Whether a candidate is a whole marginal.
        tabular: Whether the answers are all cells of the marginals of `scopes`.
        conjunctive: Whether every query is a conjunction, or a marginal, whose cells are.
        ordered: Whether the queries are ranges of ordered values, which marginals over levels answer with few sums.
    """

    domain: Domain
    kind: ClassVar[str] = ""
    forms: ClassVar[Mapping[str, str]] = {}
    whole: ClassVar[bool] = False
    tabular: ClassVar[bool] = False
    conjunctive: ClassVar[bool] = False
    ordered: ClassVar[bool] = False

    def _set(self, **values: object) -> None:
        """Set fields where a frozen family is made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_text(cls, text: str, domain: Domain) -> Family:
        """Read the family from its text, as `spec` writes it; families from outside the package override it.

        Args:
            text: The whole text of the family, as in ``"prefixes:age"``, without its weight.
            domain: The domain.

        Raises:
            QueryError: The text is not understood.
        """
        raise QueryError(f"families of the kind {cls.kind!r} have no text", remedy="build the family in Python")

    def to_stored(self) -> tuple[dict[str, Any], Arrays]:
        """The family as values that JSON holds, with its `kind`, and arrays; here as its text, which must parse."""
        return {"kind": "text", "text": self.spec}, {}

    @classmethod
    def from_stored(cls, values: Mapping[str, Any], arrays: Arrays, domain: Domain) -> Family:
        """Read what `to_stored` gave; families that override one override both.

        Args:
            values: The values, perhaps through JSON.
            arrays: The arrays, under the same names.
            domain: The domain.

        Raises:
            KeyError, TypeError, ValueError, QueryError: These are not the values of such a family.
        """
        raise QueryError(f"families of the kind {cls.kind!r} are stored as text")

    @property
    @abstractmethod
    def n_queries(self) -> int:
        """Number of answers."""

    @property
    def n_candidates(self) -> int:
        """Number of groups of answers that can be selected; here each answer is one."""
        return self.n_queries

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest contribution of one record to one answer."""
        return 0.0, 1.0

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Smallest and largest contribution of one record to each answer, each of shape ``(n_queries,)``."""
        low, high = self.bounds
        return np.full(self.n_queries, low), np.full(self.n_queries, high)

    @property
    def step(self) -> float:
        """Counts per lattice unit: every exact answer is a whole multiple of it; 1, or a power of two from 2^-20.

        A family that does not say so is refused wherever exact answers meet noise: a sum of fractions that rounds can
        differ between neighbouring tables by more than the sensitivity. Say 1 if every query takes whole values; for
        fractions override `exact` too.

        Raises:
            QueryError: The family does not say.
        """
        raise QueryError(
            f"{self.spec!r} does not say how its answers are formed without rounding",
            remedy="give the family a step, or take families and queries of hedgerow, as Workload.explicit",
        )

    def exact(self, answers: Floats, tables: Sequence[Floats]) -> Floats:
        """The answers without any rounding, from exact whole counts; here for queries with whole values.

        Args:
            answers: Result of `evaluate` or `answers`, in counts, shape ``(n_queries,)``.
            tables: The marginal tables that `evaluate` was given, whole numbers; none after `answers`.

        Returns:
            Whole multiples of `step`, shape ``(n_queries,)``.
        """
        return np.rint(answers)

    @property
    def signed(self) -> bool:
        """Whether queries of this family may take negative values."""
        return self.bounds[0] < 0.0

    @property
    def spread(self) -> float | Floats:
        """Total variation distance of a marginal per L1 noise of measuring it, or a query of its scope.

        One number, or one for each candidate. Only automatic and annealed rounds of MWEM look at it. Queries that
        overlap, as ranges, conditions and parities do, have 4: selection follows their noise sooner, as was measured.

        Raises:
            QueryError: The family does not say.
        """
        raise QueryError(
            f"{self.spec!r} does not say how far noise in its answers moves marginals",
            remedy="give the family a spread (4.0 where queries overlap), or give MWEM a number of rounds",
        )

    def by_query(self) -> Family:
        """The same queries, each of them a candidate of its own."""
        return self

    @property
    def lengths(self) -> Ints:
        """Number of consecutive answers of each candidate, shape ``(n_candidates,)``."""
        return np.ones(self.n_candidates, dtype=np.int64)

    @property
    @abstractmethod
    def scopes(self) -> tuple[Clique, ...]:
        """Sets of attributes that the queries depend on, each once."""

    @property
    def scope_of(self) -> Ints:
        """Position in ``scopes`` of the attributes of each candidate, shape ``(n_candidates,)``.

        Here: all have the same, or each has its own.
        """
        each = self.n_candidates == len(self.scopes)
        return np.arange(self.n_candidates) if each else np.zeros(self.n_candidates, dtype=np.int64)

    @property
    def scope_axes(self) -> Ints:
        """``scopes`` as positions among the variables of the domain, shape ``(scopes, longest)``, filled up with -1."""
        return filled_axes(map(self.domain.axes, self.scopes))

    @property
    @abstractmethod
    def spec(self) -> str:
        """The short text of the family (see ``Workload.parse``)."""

    @abstractmethod
    def candidate(self, index: int) -> Measurable:
        """The candidate at a position.

        Args:
            index: ``0 <= index < n_candidates``.

        Raises:
            QueryError: There is no such candidate.
        """

    def sensitivities(self, neighbours: Neighbours) -> Floats:
        """L1 sensitivity of each candidate in counts, shape ``(n_candidates,)`` (theory.md section 0).

        Here: as if one record could move all answers of a candidate at once, each as far as its bounds allow.
        """
        return np.asarray(of_query(*self.bounds, neighbours).l1 * self.lengths, dtype=np.float64)

    @abstractmethod
    def cliques(self, cheap_cells: int) -> tuple[Clique, ...]:
        """The tables that ``evaluate`` needs.

        Args:
            cheap_cells: Largest table, in cells, that costs little to get.
        """

    @abstractmethod
    def evaluate(self, cliques: Sequence[Clique], tables: Sequence[Floats]) -> Floats:
        """The answers from tables.

        Args:
            cliques: Result of ``cliques``.
            tables: Their marginal tables in counts.

        Returns:
            Counts, shape ``(n_queries,)``.
        """

    def wanted(self, tables: Tables) -> tuple[Clique, ...]:
        """The marginal tables to ask for; none where ``answers`` does without."""
        return self.cliques(tables.cheap_cells)

    def answers(self, tables: Tables) -> Floats:
        """All answers, in the order of the family.

        Args:
            tables: Source of the marginal tables.

        Returns:
            Counts, shape ``(n_queries,)``.
        """
        cliques = self.wanted(tables)
        return self.evaluate(cliques, tables.marginals(cliques))

    def check_index(self, index: int) -> None:
        """Check the number of a candidate.

        Raises:
            QueryError: There is no such candidate.
        """
        if not 0 <= index < self.n_candidates:
            raise QueryError(
                f"there is no candidate {index} in {self.spec!r}", remedy=f"give 0 to {self.n_candidates - 1}"
            )


def distinct_cliques(domain: Domain, cliques: Iterable[Iterable[str]]) -> tuple[Clique, ...]:
    """Scopes in domain order, checked to be non-empty and different.

    Raises:
        QueryError: A clique is empty or there twice, once attributes that others determine are left out; or there is
            none.
        DomainError: A name is not an attribute.

    Example:
        >>> from hedgerow import IntegerRange
        >>> distinct_cliques(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2))), [("b", "a"), ("a",)])
        (('a', 'b'), ('a',))
    """
    distinct: dict[Clique, None] = {}
    for names in cliques:
        clique = query_scope(domain, names)
        if not clique:
            raise QueryError("a clique needs at least one attribute", remedy="name the attributes, as in 'sex*age'")
        if clique in distinct:
            raise QueryError(f"the clique {'*'.join(clique)} is there twice", remedy="name each clique once")
        distinct[clique] = None
    if not distinct:
        raise QueryError("a family needs at least one clique", remedy="name some, as in 'marginals:sex*age'")
    return tuple(distinct)


def filled_axes(sets: Iterable[Sequence[int]]) -> Ints:
    """Sets of attributes as one array, filled up with -1.

    Args:
        sets: Positions in a domain.

    Example:
        >>> filled_axes([(0,), (0, 2)])
        array([[ 0, -1],
               [ 0,  2]])
    """
    listed = list(sets)
    lengths = np.fromiter(map(len, listed), dtype=np.int64, count=len(listed))
    axes = np.full((len(listed), lengths.max(initial=0)), -1, dtype=np.int64)
    axes[np.arange(axes.shape[1]) < lengths[:, None]] = list(chain.from_iterable(listed))
    return axes
