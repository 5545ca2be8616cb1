"""Sums of the cells of a table over public blocks, however uneven: one group of disjoint queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.queries.core.query import Measurable
from hedgerow.queries.core.scope import query_scope
from hedgerow.queries.core.sensitivity import Neighbours, Sensitivity, of_marginal


@dataclass(frozen=True, eq=False)
class Blocks(Measurable):
    """Numbers of records in public blocks of cells, as one group.

    Each cell is in exactly one block, so a record counts in one of them, as in a marginal: together they cost what a
    single marginal costs. The blocks may follow from earlier noisy answers, never from the records.

    Attributes:
        places: The block of each cell of the scope, shape ``domain.shape_of(scope)``; every number from 0 to the
            largest occurs.
        about: The records that the blocks tell apart, in words; by default the names of the scope.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 5),))
        >>> blocks = Blocks(domain, ("age",), np.array([0, 0, 0, 1, 2, 2]))
        >>> print(blocks.size, blocks.text, blocks.of_table(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])))
        3 age in 3 blocks [ 6.  4. 11.]
    """

    bounds: ClassVar = (0.0, 1.0)

    domain: Domain = field(repr=False)
    scope: Clique
    places: Ints = field(repr=False)
    about: str = ""

    def __post_init__(self) -> None:
        """Check the blocks.

        Raises:
            QueryError: There is not one for each cell of the scope, in domain order, or a number is skipped.
        """
        if not self.scope or self.scope != query_scope(self.domain, self.scope):
            raise QueryError("blocks need a scope in domain order", remedy="name the attributes of a marginal")
        places = np.asarray(self.places, dtype=np.int64)
        if places.shape != self.domain.shape_of(self.scope):
            raise QueryError(
                f"there are blocks for {places.size:,} cells, and {' * '.join(self.scope)} has "
                f"{self.domain.cells(self.scope):,}"
            )
        if places.min() < 0 or places.max() >= places.size or not np.bincount(places.reshape(-1)).all():
            raise QueryError("a block without a cell, or a cell without a block", remedy="number blocks from 0 on")
        object.__setattr__(self, "places", places)

    @property
    def size(self) -> int:
        """Number of blocks."""
        return int(self.places.max()) + 1

    @property
    def text(self) -> str:
        """The records that they tell apart, by default attribute names joined by ``*``, and the number of blocks."""
        return f"{self.about or ' * '.join(self.scope)} in {self.size} blocks"

    @property
    def held(self) -> int:
        """Number of cells."""
        return self.places.size

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """Sensitivity of all blocks together: that of a marginal (theory.md section 0)."""
        return of_marginal(neighbours)

    def of_table(self, table: Floats) -> Floats:
        """The sums of the table over the blocks."""
        sums = np.bincount(self.places.reshape(-1), np.asarray(table, dtype=np.float64).reshape(-1))
        return np.asarray(sums, dtype=np.float64)

    def to_table(self, values: Floats) -> Floats:
        """The number of its block for each cell.

        Args:
            values: Shape ``(size,)``.

        Returns:
            Shape ``domain.shape_of(scope)``.
        """
        return np.asarray(values[self.places], dtype=np.float64)
