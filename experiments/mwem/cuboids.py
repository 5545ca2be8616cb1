"""Cuboids of a data cube (marginals of a table), and how far answers lie off in each of them. NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Clique, Domain
from hedgerow.models import runs_within
from hedgerow.privacy import exact_errors
from hedgerow.queries import Tables, Workload

_AT_ONCE = 1 << 22
"""Cells whose answers are held together; larger cuboids come one by one."""


@dataclass(frozen=True)
class Cuboids:
    """Some cuboids of a table, from the one with the fewest cells to the one with the most.

    Attributes:
        table: The records.
        cliques: The attributes of each cuboid.

    Example:
        >>> import hedgerow, pyarrow
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 1)))
        >>> table = hedgerow.read_table(pyarrow.table({"a": [0, 1, 1, 1], "b": [0, 1, 1, 1]}), domain)
        >>> cuboids = Cuboids.of_orders(table, (1, 2))
        >>> cuboids.errors(table).tolist(), cuboids.sizes.tolist()
        ([0.0, 0.0, 0.0], [2.0, 2.0, 4.0])
    """

    table: Table
    cliques: tuple[Clique, ...]

    @classmethod
    def of_orders(cls, table: Table, orders: Iterable[int]) -> Cuboids:
        """All cuboids of so many attributes."""
        every = chain.from_iterable(combinations(table.domain.names, order) for order in orders)
        return cls(table, tuple(sorted(every, key=lambda clique: cells_of(table.domain, clique))))

    @cached_property
    def sizes(self) -> Floats:
        """Cells of each cuboid, shape ``(cuboids,)``."""
        return np.array([cells_of(self.table.domain, clique) for clique in self.cliques], dtype=np.float64)

    def first(self, most: float) -> Workload:
        """The cuboids of at most so many cells, each a candidate; they are the first ones."""
        few = int(np.count_nonzero(self.sizes <= most))
        return Workload.marginals(self.table.domain, cliques=self.cliques[:few])

    def errors(self, tables: Tables) -> Floats:
        """Sum of the absolute errors of the cells of each cuboid, in counts, shape ``(cuboids,)``.

        Args:
            tables: Answers, in counts.
        """
        runs = runs_within([int(size) for size in self.sizes], _AT_ONCE)
        return np.concatenate([self._errors_of(self.cliques[run], tables) for run in runs])

    def _errors_of(self, cliques: tuple[Clique, ...], tables: Tables) -> Floats:
        asked = Workload.marginals(self.table.domain, cliques=cliques)
        return exact_errors(self.table, asked, asked.answers(tables)).errors


def cells_of(domain: Domain, clique: Clique) -> int:
    """Number of cells of a cuboid."""
    return math.prod(domain.shape_of(clique))
