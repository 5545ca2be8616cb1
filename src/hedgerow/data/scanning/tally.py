"""What a pass over records is to count, and what it counted: sums that those of other records can be added to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.data.counting import CHEAP_CELLS, check_memory
from hedgerow.data.table import Table
from hedgerow.domain import Clique, Domain
from hedgerow.queries import Conjunction, filled_axes

Scope = tuple[int, ...]
"""Positions of binary attributes in the domain."""


@final
class Wanted:
    """What a pass is to count: the questions of whoever takes this for the tables.

    Args:
        domain: Of the records.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)])
        >>> wanted = Wanted(domain)
        >>> from hedgerow.queries.workload import Workload
        >>> Workload.marginals(domain, 2).answers(wanted)
        array([0., 0., 0., 0., 0., 0.])
        >>> list(wanted.cliques)
        [('a', 'b')]
    """

    cheap_cells = CHEAP_CELLS

    def __init__(self, domain: Domain) -> None:
        """Want nothing."""
        self.domain = domain
        self.cliques: dict[Clique, None] = {}
        self.queries: dict[Conjunction, None] = {}
        self.scopes: dict[Scope, None] = {}

    def __bool__(self) -> bool:
        """Whether anything is wanted."""
        return bool(self.cliques or self.queries or self.scopes)

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Note marginals; the tables are empty.

        Raises:
            MarginalTooLargeError: They do not fit into memory.
        """
        check_memory(self.domain, [self.domain.axes(clique) for clique in cliques])
        self.cliques |= dict.fromkeys(cliques)
        return [np.zeros(self.domain.shape_of(clique)) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Note conjunctions; the sums are 0."""
        self.queries |= dict.fromkeys(queries)
        return np.zeros(len(queries))

    def parities(self, scopes: Sequence[Clique] | Ints) -> Floats:
        """Note parities; the sums are 0."""
        found = scopes_of(self.domain, scopes)
        self.scopes |= dict.fromkeys(found)
        return np.zeros(len(found))


@final
class Counts:
    """Exact counts of records (private), to which those of other records can be added.

    Args:
        wanted: What is counted.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1)])
        >>> wanted = Wanted(domain)
        >>> wanted.marginals([("a",)])
        [array([0., 0.])]
        >>> counts = Counts(wanted)
        >>> counts.count(Table(domain, [[0, 1, 1]]))
        >>> counts.count(Table(domain, [[1]]))
        >>> counts.total, counts.tables[("a",)]
        (4, array([1., 3.]))
    """

    def __init__(self, wanted: Wanted) -> None:
        """Begin with 0."""
        self.total = 0
        self.tables: dict[Clique, Floats] = {c: np.zeros(wanted.domain.shape_of(c)) for c in wanted.cliques}
        self.queries = list(wanted.queries)
        self.sums = np.zeros(len(self.queries))
        self.scopes = list(wanted.scopes)
        self.parities = np.zeros(len(self.scopes))
        self._axes = filled_axes(self.scopes)

    def count(self, table: Table) -> None:
        """Add the records of a table."""
        self.total += table.total()
        for clique, found in zip(self.tables, table.marginals(list(self.tables)), strict=True):
            self.tables[clique] += found
        if self.queries:
            self.sums += table.conjunctions(self.queries)
        if self.scopes:
            self.parities += table.parities(self._axes)

    def add(self, other: Counts) -> None:
        """Add counts of the same things over other records."""
        self.total += other.total
        for clique, table in other.tables.items():
            self.tables[clique] += table
        self.sums += other.sums
        self.parities += other.parities


def scopes_of(domain: Domain, scopes: Sequence[Clique] | Ints) -> list[Scope]:
    """Sets of attributes as positions in the domain.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)])
        >>> scopes_of(domain, [("b",)]), scopes_of(domain, np.array([[0, 1], [0, -1]]))
        ([(1,)], [(0, 1), (0,)])
    """
    if isinstance(scopes, np.ndarray):
        return [tuple(axis for axis in row if axis >= 0) for row in scopes.tolist()]
    return [tuple(domain.axes(scope)) for scope in scopes]
