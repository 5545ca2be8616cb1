"""Log-factors over small sets of attributes: checked, added up per scope, and grouped into parts.

A hypothesis is a product of exponentials of tables and steps. If every scope lies inside one part of the attributes and
the start is uniform, the hypothesis is the product of its parts (the factored form of theory.md section 2.1). A part is
much smaller than the whole, so steps are taken there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import lt

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, CodeSet, Domain
from hedgerow.errors import ConfigError, QueryError
from hedgerow.queries import Conjunction

Key = tuple[Clique, tuple[CodeSet, ...]]
"""Scope and codes of a conjunction; quicker to look up than the query with its domain."""


@dataclass(frozen=True, eq=False)
class Potentials:
    """The portable state of a hypothesis: log-weights as sums over small scopes.

    The weight of cell x is ``base(x) * exp(sum of tables at x + sum of steps of the conjunctions that hold at x)``.

    Attributes:
        tables: For each clique its table of log-factors, shape ``domain.shape_of(clique)``.
        steps: For each conjunction the log-factor of the cells where it holds.
        base: Positive weights of all cells, shape ``domain.shape``, in any unit; None means uniform.

    Example:
        >>> Potentials().base is None
        True
    """

    tables: Mapping[Clique, Floats] = field(default_factory=dict)
    steps: Mapping[Conjunction, float] = field(default_factory=dict)
    base: Floats | None = None

    @property
    def scopes(self) -> list[Clique]:
        """The scopes of all log-factors."""
        return [*self.tables, *(query.scope for query in self.steps)]


class Terms:
    """Sums of log-factors: a table for each clique, a number for each conjunction.

    Attributes:
        tables: For each clique its log-factors, shape of the clique.

    Example:
        >>> import numpy as np
        >>> terms = Terms()
        >>> for _ in range(2):
        ...     terms.add_table(("a",), np.array([0.0, 1.0]))
        >>> terms.potentials(None).tables["a",].tolist()
        [0.0, 2.0]
    """

    def __init__(self) -> None:
        """Start without any."""
        self.tables: dict[Clique, Floats] = {}
        self._steps: dict[Key, float] = {}
        self._queries: dict[Key, Conjunction] = {}

    def add_table(self, clique: Clique, table: Floats) -> None:
        """Add a table; it is copied."""
        if clique in self.tables:
            self.tables[clique] += table
        else:
            self.tables[clique] = table.copy()

    def add_step(self, query: Conjunction, step: float) -> None:
        """Add to the log-factor of the cells where a conjunction holds."""
        key = (query.scope, query.codes)
        self._queries.setdefault(key, query)
        self._steps[key] = self._steps.get(key, 0.0) + step

    def add(self, other: Potentials) -> None:
        """Add all log-factors of another model."""
        for clique, table in other.tables.items():
            self.add_table(clique, table)
        for query, step in other.steps.items():
            self.add_step(query, step)

    def drop(self, names: Collection[str]) -> None:
        """Take out the log-factors whose scope lies inside some attributes."""
        kept = frozenset(names)
        self.tables = {clique: table for clique, table in self.tables.items() if not kept.issuperset(clique)}
        self._steps = {key: step for key, step in self._steps.items() if not kept.issuperset(key[0])}
        self._queries = {key: self._queries[key] for key in self._steps}

    @property
    def scopes(self) -> list[Clique]:
        """The scopes of all log-factors."""
        return [*self.tables, *(scope for scope, _ in self._steps)]

    def steps(self) -> Iterator[tuple[Conjunction, float]]:
        """Conjunctions and their log-factors."""
        return ((self._queries[key], step) for key, step in self._steps.items())

    def in_tables(self, domain: Domain, largest: int) -> tuple[dict[Clique, Floats], list[tuple[Conjunction, float]]]:
        """The same sums with steps over small scopes as tables, which many steps over few scopes are quicker in.

        Args:
            domain: The domain of the conjunctions.
            largest: Most cells of a table that steps become.

        Returns:
            Log-factors of each clique, shape ``domain.shape_of(clique)``, and the steps that are left.
        """
        tables, left, made = dict(self.tables), list[tuple[Conjunction, float]](), set[Clique]()
        for query, step in self.steps():
            scope = query.scope
            if domain.cells(scope) > largest:
                left.append((query, step))
                continue
            if scope not in made:
                made.add(scope)
                tables[scope] = tables[scope].copy() if scope in tables else np.zeros(domain.shape_of(scope))
            tables[scope][np.ix_(*map(np.asarray, query.codes))] += step
        return tables, left

    def inside(self, names: Collection[str]) -> Potentials:
        """The log-factors whose scope lies inside some attributes."""
        kept = frozenset(names)
        tables = {clique: table for clique, table in self.tables.items() if kept.issuperset(clique)}
        return Potentials(tables, {query: step for query, step in self.steps() if kept.issuperset(query.scope)})

    def potentials(self, base: Floats | None) -> Potentials:
        """A copy of the state, with a base."""
        return Potentials({clique: table.copy() for clique, table in self.tables.items()}, dict(self.steps()), base)

    def copy(self) -> Terms:
        """Independent terms."""
        twin = Terms()
        twin.add(self.potentials(None))
        return twin


def components(domain: Domain, scopes: Iterable[Clique]) -> tuple[Clique, ...]:
    """The attributes of the scopes in groups, such that every scope lies inside one group.

    Args:
        domain: The domain, which gives the order of the groups and of their attributes.
        scopes: Attributes that belong together; empty ones say nothing.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcde")
        >>> components(domain, [("a", "d"), ("c",), ("d", "e")])
        (('a', 'd', 'e'), ('c',))
    """
    group: dict[str, set[str]] = {}
    for scope in scopes:
        if scope and not group.get(scope[0], set()).issuperset(scope):
            merged = set(scope).union(*(group.get(name, ()) for name in scope))
            group.update(dict.fromkeys(merged, merged))
    groups = {id(names): names for names in group.values()}
    return tuple(sorted((domain.clique(names) for names in groups.values()), key=domain.axes))


def check_step(step: float) -> None:
    """Refuse a step that is not finite.

    Raises:
        ConfigError: The step is not finite.

    Example:
        >>> check_step(-2.5)
    """
    if not math.isfinite(step):
        raise ConfigError(
            f"the step of an update is {step}", remedy="check the noisy answers that it was computed from"
        )


def check_clique(domain: Domain, clique: Clique) -> None:
    """Refuse attributes in another order than the domain's, or one twice.

    Raises:
        DomainError: An attribute does not exist.
        QueryError: The attributes are not in domain order.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> check_clique(Domain(IntegerRange(name, 0, 1) for name in "abc"), ("a", "c"))
    """
    places = domain.axes(clique)
    if not all(map(lt, places, places[1:])):
        raise QueryError(f"the clique {clique} is not in domain order", remedy="use domain.clique(names)")


def checked_table(domain: Domain, clique: Clique, log_factors: ArrayLike) -> Floats:
    """Log-factors over a clique as an array; not a copy where they are one already.

    Args:
        domain: The domain.
        clique: Attributes in domain order.
        log_factors: Finite, shape ``domain.shape_of(clique)``.

    Raises:
        DomainError: An attribute does not exist.
        QueryError: The clique is not in domain order, or the table does not have its shape.
        ConfigError: A log-factor is not finite.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> checked_table(Domain(IntegerRange(name, 0, 1) for name in "abc"), ("b",), [1, 2])
        array([1., 2.])
    """
    check_clique(domain, clique)
    table = np.asarray(log_factors, dtype=np.float64)
    if table.shape != domain.shape_of(clique):
        raise QueryError(f"a table of shape {table.shape} does not fit the clique {' * '.join(clique)}")
    if not np.isfinite(table).all():
        raise ConfigError("log-factors must be finite", remedy="check the noisy answers they were computed from")
    return table


def spread(table: Floats, scope: Clique, clique: Clique) -> Floats:
    """A table with an axis of size 1 for each attribute of the clique that is not in its scope.

    Example:
        >>> spread(np.zeros((2, 3)), ("a", "c"), ("a", "b", "c")).shape
        (2, 1, 3)
    """
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if name in scope else 1 for name in clique])
