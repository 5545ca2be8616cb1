"""Sums of where in their bins the records of a column lie: what sums and means need beside the counts of the bins."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import BinCells, Binned, Clique, Domain, IntegerRange, bin_cells, ends_of, with_bin_cells
from hedgerow.errors import QueryError
from hedgerow.queries.core.query import LATTICE_BITS, Measurable
from hedgerow.queries.core.sensitivity import Neighbours, Sensitivity, of_query

_MOST_CELLS = 1 << 24
"""Most cells of the table that sums are read off."""


@dataclass(frozen=True, eq=False)
class Positions(Measurable):
    """For each bin of a column the sum of the positions of its records, as one group (theory.md section 14.1).

    A position goes from -1/2 at the smallest number of the bin to 1/2 at the largest. It is rounded to the middle of a
    cell, so that the exact sums follow from the counts of a table that is read with a bin for each cell (`counted`). A
    column whose numbers are told one by one is one bin. Of squares 1/8 is taken off, so that they go from -1/8 to 1/8.

    Attributes:
        scope: The name of the column, and of those by whose values the sums are, in domain order.
        column: The column with bins; the only one of the scope unless given.
        beside: Columns that the table is read with, beside those with bins; those of the scope unless given.
        squares: Whether the sums are of the squares of positions.

    Raises:
        QueryError: The column has no numbers, or one of the others has bins, or there are too many groups.

    Example:
        >>> from hedgerow.domain import Binned
        >>> target = Positions(Domain([Binned("hours", [0, 2, 6], whole=True)]), ("hours",))
        >>> target.size, target.sums(np.array([0.0, 5.0, 3.0, 0.0, 0.0, 0.0, 1.0])) / 2**20
        (2, array([ 2.5, -1. ]))
    """

    domain: Domain = field(repr=False)
    scope: Clique
    column: str = ""
    beside: Clique = field(default=(), repr=False)
    squares: bool = False

    def __post_init__(self) -> None:
        """Check the columns."""
        object.__setattr__(self, "scope", self.domain.clique(self.scope))
        object.__setattr__(self, "column", self.column or self.scope[0])
        object.__setattr__(self, "beside", self.beside or self._others)
        counted = self.counted
        measured = {name for span in self.domain.spans for name in (span.length, span.start, span.end)}
        if counted is None or self.column in measured or not (self.whole or self.column in bin_cells(self.domain)):
            raise QueryError(f"{self.column!r} is no column of numbers whose positions are measured")
        if wrong := [name for name in self._others if name not in counted or counted[name] != self.domain[name]]:
            raise QueryError(
                f"{wrong[0]!r} is no column to group positions by", remedy="name columns without bins, and no levels"
            )
        if math.prod(counted.shape_of(self.scope)) > _MOST_CELLS:
            raise QueryError(
                f"{self.text!r} would be read off a table of more than {_MOST_CELLS:,} cells",
                remedy="group by fewer columns, or by columns with fewer values",
            )

    @property
    def _others(self) -> Clique:
        """The columns by whose values the sums are."""
        return tuple(name for name in self.scope if name != self.column)

    @property
    def whole(self) -> bool:
        """Whether the column's numbers are told one by one, so that all of them are one bin."""
        column = self.domain[self.column]
        return isinstance(column, IntegerRange) or (isinstance(column, Binned) and not np.less(*ends_of(column)).any())

    @cached_property
    def counted(self) -> Domain | None:
        """The columns with bins, with a bin for each cell: the domain of the table whose counts tell the sums."""
        return with_bin_cells(self.domain, frozenset([*self.beside, self.column]))

    @cached_property
    def cells(self) -> BinCells:
        """The cells of the column."""
        column = self.domain[self.column]
        if self.whole and isinstance(column, Binned | IntegerRange):
            return BinCells.of_numbers(column)
        return bin_cells(self.domain)[self.column]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bins of the column, and of codes of the others, in the order of the scope."""
        sizes = zip(self.scope, self.domain.shape_of(self.scope), strict=True)
        return tuple(len(self.cells.half) if name == self.column else size for name, size in sizes)

    @property
    def size(self) -> int:
        """Number of sums."""
        return math.prod(self.shape)

    @property
    def text(self) -> str:
        """The columns, in words."""
        of = "squares of positions" if self.squares else "positions"
        return f"{of} in the bins of {' * '.join(self.scope)}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the most that one record adds to a sum."""
        return (-0.125, 0.125) if self.squares else (-0.5, 0.5)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """That of one query with values within `bounds`: a record is in one bin."""
        return of_query(*self.bounds, neighbours)

    def of_table(self, table: Floats) -> Floats:
        """Counts of the bins do not tell it.

        Raises:
            QueryError: Always.
        """
        raise QueryError(f"{self.text!r} does not follow from the counts of the bins", remedy="measure it")

    def sums(self, counts: Floats) -> Ints:
        """The exact sums from the counts of the cells, in units of ``2**-LATTICE_BITS``.

        Args:
            counts: Whole numbers, shape ``counted.shape_of(scope)``.

        Returns:
            Shape ``(size,)``: at most half the number of records each, which 64 bits hold.
        """
        positions = self.cells.positions
        values = np.square(positions) - 0.125 if self.squares else positions
        units = np.rint(values * 2.0**LATTICE_BITS).astype(np.int64)
        axis = self.scope.index(self.column)
        table = np.moveaxis(np.rint(counts).astype(np.int64), axis, 0)[: len(units)]
        sums = np.zeros((len(self.cells.half), *table.shape[1:]), dtype=np.int64)
        np.add.at(sums, self.cells.bins, units.reshape(-1, *[1] * (table.ndim - 1)) * table)
        return np.moveaxis(sums, 0, axis).reshape(-1)
