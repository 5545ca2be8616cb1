"""Queries that can be measured in one go, a linear query or all cells of one marginal, and noisy measurements of them.

A linear query assigns a public value q(x) to every cell x of the domain and asks for the sum of q over the
records. Its values depend on the attributes of its *scope* only and lie in ``[low, high]``. Values are whole
numbers, or whole multiples of ``2**-LATTICE_BITS`` (a public rounding of the query), so that exact answers
are exact in floating point and noise can be drawn on integers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core.code_set import CodeSet
from hedgerow.queries.core.sensitivity import Neighbours, Sensitivity, of_marginal, of_query
from hedgerow.queries.core.text import condition

LATTICE_BITS = 20
"""Values of explicit queries are rounded to multiples of ``2**-LATTICE_BITS``."""


@runtime_checkable
class Tables(Protocol):
    """Anything that yields marginal tables in counts: records in memory (private), or a hypothesis (public)."""

    @property
    def domain(self) -> Domain:
        """The domain of the records."""
        ...

    @property
    def cheap_cells(self) -> int:
        """Largest table, in cells, that this object gives at little cost; a public number."""
        ...

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """One table per clique, of shape ``domain.shape_of(clique)``, in counts."""
        ...

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts."""
        ...


@runtime_checkable
class AnswersParities(Protocol):
    """Tables that answer any number of parities in one go, without a table for each."""

    def parities(self, scopes: Sequence[Clique] | Ints) -> Floats:
        """Sums over the records of the product of 1 - 2 code over the attributes of each set, in counts.

        Args:
            scopes: Sets of binary attributes by name; or shape ``(sets, longest)``, positions in the domain,
                increasing, then -1 to fill up.

        Returns:
            Shape ``(sets,)``.
        """
        ...


class Measurable(ABC):
    """A query or group of queries that one noisy measurement answers.

    Attributes:
        domain: The domain that the scope refers to.
        scope: The attributes that the answer depends on, in domain order.
    """

    domain: Domain
    scope: Clique

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of values in the answer."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest contribution of one record to one value."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The query in words, as the release parses it and the report shows it."""

    @abstractmethod
    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Sensitivity of the answer in counts (theory.md section 0)."""

    @abstractmethod
    def of_table(self, table: Floats) -> Floats:
        """The answer from the marginal table of the scope.

        Args:
            table: Counts, shape ``domain.shape_of(scope)``.

        Returns:
            Counts, shape ``(size,)``.
        """

    def on(self, tables: Tables) -> Floats:
        """The answer of a source of tables, in counts, shape ``(size,)``."""
        return self.of_table(tables.marginals([self.scope])[0])


@final
@dataclass(frozen=True)
class Marginal(Measurable):
    """All cells of the marginal of a clique, as one group.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> Marginal(domain, ("b", "a")).scope
        ('a', 'b')
    """

    bounds: ClassVar = (0.0, 1.0)

    domain: Domain = field(repr=False)
    scope: Clique

    def __post_init__(self) -> None:
        """Put the scope in domain order."""
        object.__setattr__(self, "scope", self.domain.clique(self.scope))
        if not self.scope:
            raise QueryError("a marginal needs at least one attribute")

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.domain.project(self.scope).size

    @property
    def text(self) -> str:
        """Attribute names joined by ``*``."""
        return " * ".join(self.scope)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Sensitivity of all cells together (theory.md section 0)."""
        return of_marginal(neighbours)

    def of_table(self, table: Floats) -> Floats:
        """The table itself, flat."""
        return np.asarray(table, dtype=np.float64).reshape(-1)


class LinearQuery(Measurable):
    """One linear query: a sum of public values over the records."""

    size: ClassVar = 1

    @property
    def held(self) -> int:
        """Number of values that are kept with the query; 0 unless it is given value by value."""
        return 0

    @abstractmethod
    def values(self) -> Floats:
        """The query over the cells of the scope, shape ``domain.shape_of(scope)``."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Sensitivity of one value in ``bounds`` (theory.md section 0)."""
        return of_query(*self.bounds, neighbours)

    def of_table(self, table: Floats) -> Floats:
        """Sum of ``values() * table``, shape ``(1,)``."""
        return np.array([float(np.vdot(self.values(), table))])


@final
@dataclass(frozen=True)
class Conjunction(LinearQuery):
    """Number of records whose attributes all lie in given sets of codes: a cell, a box, or a SQL condition.

    Attributes:
        codes: The codes that count, one set per attribute of the scope; sorted lists of codes become sets.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> Conjunction.where(domain, {"b": [2, 1], "a": [0]}).values()
        array([[0., 1., 1.],
               [0., 0., 0.]])
    """

    bounds: ClassVar = (0.0, 1.0)

    domain: Domain = field(repr=False)
    scope: Clique
    codes: tuple[CodeSet, ...]

    def __post_init__(self) -> None:
        """Check that the codes exist and are sorted."""
        if any(not isinstance(codes, CodeSet) for codes in self.codes):
            object.__setattr__(self, "codes", tuple(map(self._of_list, self.codes)))
        if self.scope != self.domain.clique(self.scope) or len(self.codes) != len(self.scope):
            raise QueryError("a conjunction needs one set of codes for each attribute of its scope, in domain order")
        for name, codes in zip(self.scope, self.codes, strict=True):
            size = self.domain[name].size
            if codes.cuts and not (codes.cuts[0] >= 0 and codes.cuts[-1] <= size):
                raise QueryError(f"attribute {name!r} has the codes 0 to {size - 1}")

    @staticmethod
    def _of_list(codes: Sequence[int]) -> CodeSet:
        found = CodeSet.of(codes)
        if not isinstance(codes, CodeSet) and list(codes) != list(found):
            raise QueryError("the codes of a conjunction must be sorted, each once", remedy="use Conjunction.where")
        return found

    @classmethod
    def where(cls, domain: Domain, codes: Mapping[str, Iterable[int]]) -> Conjunction:
        """Build from ``{attribute: codes}`` in any order; a ``range`` may hold any number of codes.

        Raises:
            QueryError: A code does not exist.
            DomainError: An attribute does not exist.
        """
        scope = domain.clique(codes)
        return cls(domain, scope, tuple(CodeSet.of(codes[name]) for name in scope))

    @property
    def text(self) -> str:
        """The condition in SQL; ``true`` for the number of records."""
        parts = zip(self.scope, self.codes, strict=True)
        return " and ".join(condition(self.domain[name], codes) for name, codes in parts) or "true"

    def values(self) -> Floats:
        """1 where every attribute lies in its set, else 0."""
        table = np.zeros(self.domain.shape_of(self.scope))
        table[np.ix_(*(np.asarray(codes, dtype=np.intp) for codes in self.codes))] = 1.0
        return table

    def of_table(self, table: Floats) -> Floats:
        """Sum over the selected sub-table; nothing of the table's size is allocated twice."""
        part = np.asarray(table, dtype=np.float64)
        for axis, codes in enumerate(self.codes):
            part = part.sum(axis=axis, keepdims=True) if len(codes) == part.shape[axis] else _take(part, codes, axis)
        return np.array([float(part.sum())])

    def on(self, tables: Tables) -> Floats:
        """The answer without a table of the scope, which may be large."""
        return tables.conjunctions([self])


def _take(table: Floats, codes: CodeSet, axis: int) -> Floats:
    if len(codes.cuts) == 2:
        return table[(slice(None),) * axis + (slice(*codes.cuts),)]
    return table.take(np.asarray(codes, dtype=np.intp), axis=axis)


@final
@dataclass(frozen=True)
class Parity(LinearQuery):
    """Sum over the records of ``(-1) ** (sum of the codes of the scope)``, for attributes with two codes.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> Parity(domain, ("a", "b")).of_table(np.array([[5.0, 1.0], [2.0, 0.0]]))
        array([2.])
    """

    bounds: ClassVar = (-1.0, 1.0)

    domain: Domain = field(repr=False)
    scope: Clique

    def __post_init__(self) -> None:
        """Check that the attributes are binary."""
        object.__setattr__(self, "scope", self.domain.clique(self.scope))
        for name in self.scope:
            if self.domain[name].size != 2:
                raise QueryError(
                    f"a parity needs attributes with 2 codes; {name!r} has {self.domain[name].size}",
                    remedy="use marginals or cells for this attribute",
                )

    @property
    def text(self) -> str:
        """``parity(a, b)``."""
        return f"parity({', '.join(self.scope)})"

    def values(self) -> Floats:
        """1 where the codes have an even sum, else -1."""
        table = np.ones(())
        for _ in self.scope:
            table = np.multiply.outer(table, np.array([1.0, -1.0]))
        return np.asarray(table, dtype=np.float64)


@final
@dataclass(frozen=True, eq=False)
class Explicit(LinearQuery):
    """A query given by its values on the cells of a small scope.

    Attributes:
        name: Name of the query in tables and reports.
        vector: Values, rounded to multiples of ``2**-LATTICE_BITS``, shape ``domain.shape_of(scope)``.
        limits: Public bounds; those of the rounded values unless wider ones are given.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> query = Explicit.of(Domain((IntegerRange("a", 0, 2),)), ["a"], [0, 0.5, 2])
        >>> query.bounds, query.of_table(np.array([7.0, 4.0, 1.0]))
        ((0.0, 2.0), array([4.]))
    """

    domain: Domain = field(repr=False)
    scope: Clique
    name: str
    vector: Floats = field(repr=False)
    limits: tuple[float, float]

    @classmethod
    def of(cls, domain: Domain, scope: Iterable[str], vector: ArrayLike, name: str = "explicit") -> Explicit:
        """Round the values to the lattice and take their bounds.

        Args:
            domain: The domain.
            scope: Attributes, any order; the values are in domain order.
            vector: Values, shape ``shape_of(scope)`` or flat.
            name: Name of the query in tables and reports.

        Raises:
            QueryError: The number of values is wrong, or one is not finite or beyond a million.
        """
        clique = domain.clique(scope)
        shape = domain.shape_of(clique)
        given = np.asarray(vector, dtype=np.float64)
        if given.size != int(np.prod(shape)) or not np.isfinite(given).all() or np.abs(given).max(initial=0) > 1e6:
            raise QueryError(
                f"the query {name!r} needs {int(np.prod(shape))} finite values of at most a million, one per cell of "
                f"{' * '.join(clique)}",
                remedy="scale the query down, or give values for exactly the cells of its scope",
            )
        rounded = np.round(given.reshape(shape) * 2.0**LATTICE_BITS) / 2.0**LATTICE_BITS
        return cls(domain, clique, name, rounded, (float(rounded.min()), float(rounded.max())))

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self.limits

    @property
    def held(self) -> int:
        """Number of values."""
        return self.vector.size

    @property
    def text(self) -> str:
        """The name."""
        return self.name

    def values(self) -> Floats:
        """The rounded values."""
        return self.vector


class NoiseKind(StrEnum):
    """Shape of the noise of a measurement."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


@final
@dataclass(frozen=True, eq=False)
class Measurement:
    """Noisy values of a query or of a marginal, with the public scale of their noise.

    Attributes:
        target: The query or marginal that was measured.
        values: Noisy answers in counts, shape ``(target.size,)``; not clipped, may be negative.
        noise: Shape of the noise.
        scale: Scale in counts: b of Laplace noise, sigma of Gaussian noise.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> target = Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",))
        >>> Measurement(target, np.array([51.0, -2.0]), NoiseKind.GAUSSIAN, scale=3.0).std
        3.0
    """

    target: Measurable
    values: Floats = field(repr=False)
    noise: NoiseKind
    scale: float

    @property
    def std(self) -> float:
        """Standard deviation of the noise of one value, in counts."""
        return self.scale * 2.0**0.5 if self.noise is NoiseKind.LAPLACE else self.scale
