"""Sums of where in their bins the records of a column lie: what sums and means need beside the counts of the bins."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import BinCells, Binned, Clique, Domain, with_bin_cells
from hedgerow.errors import QueryError
from hedgerow.queries.core.query import LATTICE_BITS, Measurable
from hedgerow.queries.core.sensitivity import Neighbours, Sensitivity, of_query


@dataclass(frozen=True, eq=False)
class Positions(Measurable):
    """For each bin of a column the sum of the positions of its records, as one group (theory.md section 14.1).

    A position goes from -1/2 at the smallest number of the bin to 1/2 at the largest. It is rounded to the middle of a
    cell, so that the exact sums follow from the counts of a table that is read with a bin for each cell (`counted`).

    Attributes:
        scope: The name of the column.

    Raises:
        QueryError: The column has no bins of several numbers.

    Example:
        >>> target = Positions(Domain([Binned("hours", [0, 2, 6], whole=True)]), ("hours",))
        >>> target.size, target.sums(np.array([0.0, 5.0, 3.0, 0.0, 0.0, 0.0, 1.0])) / 2**20
        (2, array([ 2.5, -1. ]))
    """

    bounds: ClassVar = (-0.5, 0.5)

    domain: Domain = field(repr=False)
    scope: Clique

    def __post_init__(self) -> None:
        """Check the column."""
        if len(self.scope) != 1 or self.counted is None or self.scope[0] not in self.counted:
            raise QueryError(f"{' * '.join(self.scope)} is no column with bins of several numbers")

    @cached_property
    def counted(self) -> Domain | None:
        """The columns with bins, with a bin for each cell: the domain of the table whose counts tell the sums."""
        return with_bin_cells(self.domain)

    @cached_property
    def cells(self) -> BinCells:
        """The cells of the column."""
        return BinCells.of(cast(Binned, self.domain[self.scope[0]]))

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.cells.half)

    @property
    def text(self) -> str:
        """The column, in words."""
        return f"positions in the bins of {self.scope[0]}"

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """That of one query with values in [-1/2, 1/2]: a record is in one bin."""
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
            counts: Whole numbers, shape ``(number of codes of the column with a bin for each cell,)``.

        Returns:
            Shape ``(size,)``: at most half the number of records each, which 64 bits hold.
        """
        units = np.rint(self.cells.positions * 2.0**LATTICE_BITS).astype(np.int64)
        sums = np.zeros(self.size, dtype=np.int64)
        np.add.at(sums, self.cells.bins, units * np.rint(counts[: len(units)]).astype(np.int64))
        return sums
