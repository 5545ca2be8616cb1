"""Queries that can be measured in one go, a linear query or all cells of one marginal, and noisy measurements of them.

A linear query assigns a public value q(x) to every cell x of the domain and asks for the sum of q over the
records. Its values depend on the attributes of its *scope* only, levels and other derived ones among them, and lie
in ``[low, high]``. Values are whole numbers, or whole multiples of ``2**-LATTICE_BITS`` (a public rounding of the
query), so that exact answers are exact in floating point and noise can be drawn on integers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, CodeSet, Domain, places_in
from hedgerow.domain.conditions import condition
from hedgerow.errors import QueryError
from hedgerow.queries.core.noise import NoiseKind
from hedgerow.queries.core.scope import carrier, pulled_back, query_scope
from hedgerow.queries.core.sensitivity import Neighbours, Sensitivity, of_marginal, of_query

LATTICE_BITS = 20
"""Values of explicit queries are rounded to multiples of ``2**-LATTICE_BITS``."""


@runtime_checkable
class Tables(Protocol):
    """Anything that yields marginal tables in counts: records in memory (private), or a hypothesis (public)."""

    @property
    def domain(self) -> Domain:
        """The domain of the records."""

    @property
    def cheap_cells(self) -> int:
        """Largest table, in cells, that this object gives at little cost; a public number."""

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """One table per clique of attributes and derived ones, of shape ``domain.shape_of(clique)``, in counts."""

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts."""


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


class Measurable(ABC):
    """A query or group of queries that one noisy measurement answers.

    Attributes:
        domain: The domain that the scope refers to.
        scope: The attributes that the answer depends on, in domain order; none of them is determined by the others.
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

    @property
    def held(self) -> int:
        """Number of values that are kept with it; 0 unless it is given cell by cell."""
        return 0

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


@dataclass(frozen=True)
class Marginal(Measurable):
    """All cells of the marginal of a clique, as one group; or those of them where a condition holds.

    The cells of a finer level inside some values of a coarser one are disjoint, so a record is in at most one of them,
    whichever values these are: measured together they cost what a single marginal costs.

    Attributes:
        within: A condition that the cells tell: on attributes of the scope, or on coarser levels of them. None for all
            cells.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> Marginal(domain, ("age", "sex")).scope
        ('sex', 'age')
        >>> children = Marginal(domain, ("age",), Conjunction.where(domain, {"age.10": [2, 7]}))
        >>> print(children.size, children.text)
        20 age where "age.10" in ('[20, 30)', '[70, 80)')
    """

    bounds: ClassVar = (0.0, 1.0)

    domain: Domain = field(repr=False)
    scope: Clique
    within: Conjunction | None = None

    def __post_init__(self) -> None:
        """Put the scope in domain order, and check the condition."""
        object.__setattr__(self, "scope", query_scope(self.domain, self.scope))
        if not self.scope:
            raise QueryError("a marginal needs at least one attribute")
        if self.within is None:
            return
        if self.within.domain != self.domain:
            raise QueryError(f"the condition {self.within.text!r} is over another domain")
        if any(carrier(self.domain, self.scope, name) is None for name in self.within.scope):
            raise QueryError(
                f"the cells of {' * '.join(self.scope)} do not tell where {self.within.text} holds",
                remedy="give a condition on these attributes, or on coarser levels of them",
            )
        if not self.size:
            raise QueryError(f"no cell of {self.text} is left", remedy="give a condition that can hold")

    @cached_property
    def _kept(self) -> Mapping[str, CodeSet]:
        """The codes that the cells have, of attributes of the scope where these are not all."""
        code_sets: dict[str, CodeSet] = {}
        if self.within is not None:
            for name, codes in zip(self.within.scope, self.within.codes, strict=True):
                finer = carrier(self.domain, self.scope, name) or name
                kept = pulled_back(self.domain, codes, name, finer)
                code_sets[finer] = code_sets[finer] & kept if finer in code_sets else kept
        return code_sets

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each attribute of the scope that the cells have."""
        sizes = zip(self.scope, self.domain.shape_of(self.scope), strict=True)
        return tuple(len(self._kept[name]) if name in self._kept else size for name, size in sizes)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @property
    def text(self) -> str:
        """Attribute names joined by ``*``, and the condition."""
        names = " * ".join(self.scope)
        return names if self.within is None else f"{names} where {self.within.text}"

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Sensitivity of all cells together (theory.md section 0)."""
        return of_marginal(neighbours)

    def of_table(self, table: Floats) -> Floats:
        """The cells of the table, flat."""
        part = np.asarray(table, dtype=np.float64)
        for name, codes in self._kept.items():
            part = _take(part, codes, self.scope.index(name))
        return part.reshape(-1)

    def to_table(self, values: Floats) -> Floats:
        """A number for each cell as a table of the whole scope, 0 at cells that are left out.

        Args:
            values: Shape ``(size,)``.

        Returns:
            Shape ``domain.shape_of(scope)``.
        """
        if self.within is None:
            return values.reshape(self.shape)
        table = np.zeros(self.domain.shape_of(self.scope))
        codes = (self._kept.get(name, range(size)) for name, size in zip(self.scope, table.shape, strict=True))
        table[np.ix_(*(np.asarray(code, dtype=np.intp) for code in codes))] = values.reshape(self.shape)
        return table

    @property
    def cells(self) -> Iterator[Conjunction]:
        """The cells one by one, as conjunctions."""
        codes = [self._kept.get(name, range(self.domain[name].size)) for name in self.scope]
        for cell in product(*codes):
            yield Conjunction(self.domain, self.scope, tuple(CodeSet((code, code + 1)) for code in cell))


class LinearQuery(Measurable):
    """One linear query: a sum of public values over the records."""

    size: ClassVar = 1

    @abstractmethod
    def values(self) -> Floats:
        """The query over the cells of the scope, shape ``domain.shape_of(scope)``."""

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Sensitivity of one value in ``bounds`` (theory.md section 0)."""
        return of_query(*self.bounds, neighbours)

    def of_table(self, table: Floats) -> Floats:
        """Sum of ``values() * table``, shape ``(1,)``."""
        return np.array([float(np.vdot(self.values(), table))])


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
        if self.scope != query_scope(self.domain, self.scope) or len(self.codes) != len(self.scope):
            raise QueryError(
                "a conjunction needs one set of codes for each attribute of its scope, in domain order, and none for "
                "those that the others determine",
                remedy="use Conjunction.where",
            )
        for name, codes in zip(self.scope, self.codes, strict=True):
            size = self.domain[name].size
            if codes.cuts and not (codes.cuts[0] >= 0 and codes.cuts[-1] <= size):
                raise QueryError(f"attribute {name!r} has the codes 0 to {size - 1}")

    @staticmethod
    def _of_list(codes: Sequence[int]) -> CodeSet:
        code_set = CodeSet.of(codes)
        if not isinstance(codes, CodeSet) and list(codes) != list(code_set):
            raise QueryError("the codes of a conjunction must be sorted, each once", remedy="use Conjunction.where")
        return code_set

    @classmethod
    def where(cls, domain: Domain, codes: Mapping[str, Iterable[int]]) -> Conjunction:
        """Build from ``{attribute: codes}`` in any order; a ``range`` may hold any number of codes.

        A condition on a level of an attribute that is named too becomes one on that attribute.

        Raises:
            QueryError: A code does not exist, or other attributes determine a derived one only together.
            DomainError: An attribute does not exist.

        Example:
            >>> from hedgerow import Domain, IntegerRange
            >>> domain = Domain((IntegerRange("age", 0, 99),))
            >>> Conjunction.where(domain, {"age.10": [2]}).text
            '"age.10" between 20 and 29'
            >>> Conjunction.where(domain, {"age.10": [2], "age": range(25)}).text
            'age between 20 and 24'
        """
        scope = query_scope(domain, codes)
        if len(scope) == len(codes):
            return cls(domain, scope, tuple(CodeSet.of(codes[name]) for name in scope))
        sets = {name: CodeSet.of(codes[name]) for name in scope}
        for name in codes.keys() - sets.keys():
            finer = carrier(domain, scope, name)
            if finer is None:
                raise QueryError(
                    f"{name!r} follows from {', '.join(scope)} only together, so a conjunction cannot name all of them",
                    remedy="give the condition as text, which becomes a query of its own",
                )
            cls(domain, (name,), (CodeSet.of(codes[name]),))  # the codes exist
            sets[finer] &= pulled_back(domain, CodeSet.of(codes[name]), name, finer)
        return cls(domain, scope, tuple(sets.values()))

    @cached_property
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


@dataclass(frozen=True)
class Parity(LinearQuery):
    """Sum over the records of ``(-1) ** (sum of the codes of the scope)``, for attributes with two codes.

    Derived attributes have no parities: name the attributes that they are made from.

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
            if self.domain.function(name) is not None:
                raise QueryError(
                    f"a parity is over attributes of the records; {name!r} is derived",
                    remedy="use marginals or cells for this attribute",
                )
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
    def of(cls, domain: Domain, scope: Iterable[str], vector: ArrayLike, name: str = "explicit") -> Self:
        """Round the values to the lattice and take their bounds.

        Args:
            domain: The domain.
            scope: Attributes, any order; the values are in domain order.
            vector: Values, shape ``shape_of(scope)`` or flat, also for attributes that the others determine.
            name: Name of the query in tables and reports.

        Raises:
            QueryError: The number of values is wrong, or one is not finite or beyond a million.
        """
        clique = domain.clique(scope)
        kept = query_scope(domain, clique)
        shape = domain.shape_of(clique)
        given = np.asarray(vector, dtype=np.float64)
        if given.size != int(np.prod(shape)) or not np.isfinite(given).all() or np.abs(given).max(initial=0) > 1e6:
            raise QueryError(
                f"the query {name!r} needs {int(np.prod(shape))} finite values of at most a million, one per cell of "
                f"{' * '.join(clique)}",
                remedy="scale the query down, or give values for exactly the cells of its scope",
            )
        rounded = np.round(given.reshape(shape) * 2.0**LATTICE_BITS) / 2.0**LATTICE_BITS
        if kept != clique:
            rounded = rounded.reshape(-1)[places_in(domain, kept, clique)]
        return cls(domain, kept, name, rounded, (float(rounded.min()), float(rounded.max())))

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


@dataclass(frozen=True, eq=False)
class Moment(Explicit):
    """A sum of powers of the numbers of a column, which a hypothesis is fitted to beside tables (theory.md 14.1).

    Attributes:
        column: The column; others of the scope say of which group.
        power: 1 for the numbers, 2 for their squares.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> Moment.about("a", Domain((IntegerRange("a", 0, 2),)), ["a"], [-0.5, 0.0, 0.5]).text
        'moments of a'
    """

    column: str = ""
    power: int = 1

    @classmethod
    def about(cls, column: str, domain: Domain, scope: Iterable[str], vector: ArrayLike, power: int = 1) -> Self:
        """The moment of a column; see `Explicit.of` for the others.

        Args:
            column: The column.
            domain: The domain.
            scope: The column, and those that say of which group.
            vector: Weights, shape ``shape_of(scope)`` or flat.
            power: 1 for the numbers, 2 for their squares.
        """
        return replace(cls.of(domain, scope, vector, f"moments of {column}"), column=column, power=power)


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

    @cached_property
    def parts(self) -> tuple[Measurement, ...]:
        """The measurement as hypotheses learn from it: the cells of a part of a marginal one by one; else itself."""
        target = self.target
        if not isinstance(target, Marginal) or target.within is None:
            return (self,)
        values = self.values.reshape(-1, 1)
        return tuple(replace(self, target=cell, values=value) for cell, value in zip(target.cells, values, strict=True))


def answered(targets: Sequence[Measurable], tables: Tables) -> list[Floats]:
    """The answers of queries and marginals, for which a source of tables is asked as seldom as possible.

    Args:
        targets: Queries and marginals.
        tables: Source of tables.

    Returns:
        For each what its ``on`` gives, in counts, shape ``(size,)``.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.models import Histogram
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> [each.tolist() for each in answered([Marginal(domain, ("a",)), Parity(domain, "ab")], Histogram(domain, 6))]
        [[3.0, 3.0], [0.0]]
    """
    answers: dict[int, Floats] = {}
    parities = {place: target.scope for place, target in enumerate(targets) if isinstance(target, Parity)}
    if parities and isinstance(tables, AnswersParities):
        answers.update(zip(parities, tables.parities(list(parities.values())).reshape(-1, 1), strict=True))
    conjunctions = {place: target for place, target in enumerate(targets) if isinstance(target, Conjunction)}
    if conjunctions:  # without tables of their scopes, which may be large
        answers.update(zip(conjunctions, tables.conjunctions(list(conjunctions.values())).reshape(-1, 1), strict=True))
    left = [place for place in range(len(targets)) if place not in answers]
    tables_left = tables.marginals([targets[place].scope for place in left]) if left else []
    answers.update((place, targets[place].of_table(table)) for place, table in zip(left, tables_left, strict=True))
    return [answers[place] for place in range(len(targets))]
