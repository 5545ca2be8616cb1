"""The log-factors of all updates of a model, added up per scope."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import final

from hedgerow.arrays import Floats
from hedgerow.domain import Clique
from hedgerow.models.core.model import Potentials
from hedgerow.queries import CodeSet, Conjunction

Key = tuple[Clique, tuple[CodeSet, ...]]
"""Scope and codes of a conjunction; quicker to look up than the query with its domain."""


@final
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
        """Start with none."""
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
