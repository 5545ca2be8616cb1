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
from hedgerow.queries.core.sensitivity import Neighbours, Relation, Sensitivity, of_query

_MOST_CELLS = 1 << 24
"""Most cells of the table that sums are read off."""
_MOST_PAIRS = 1 << 22
"""Most cells of a pair of columns that products are read off."""
_ROUNDED = 1.0 + 2.0**-LATTICE_BITS
"""Factor of what two rounded numbers move by."""


@dataclass(frozen=True, eq=False)
class Positions(Measurable):
    """For each bin of a column the sum of the positions of its records, as one group (theory.md section 14.1).

    A position u goes from -1/2 at the smallest number of the bin to 1/2 at the largest. It is rounded to the middle of
    a cell, so that the exact sums follow from the counts of a table that is read with a bin for each cell (`counted`).
    Of the whole column, taken as one bin, the sums of u and of ``2 u^2 - 1/2`` are told: one record moves both together
    by no more than the first alone, in the L2 norm.

    Attributes:
        scope: The name of the column, and of those by whose values the sums are, or levels of them, in domain order.
        column: The column of numbers; the only one of the scope unless given.
        beside: Columns that the table is read with, beside those with bins; those of the scope unless given.
        whole: Whether the whole column is one bin.
        other: A second column: the only sum is that of the products of both positions in their whole columns.

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
    whole: bool = False
    other: str = ""

    def __post_init__(self) -> None:
        """Check the columns."""
        object.__setattr__(self, "scope", self.domain.clique(self.scope))
        object.__setattr__(self, "column", self.column or self.scope[0])
        object.__setattr__(self, "beside", self.beside or self._others)
        counted = self.counted
        measured = {name for span in self.domain.spans for name in (span.length, span.start, span.end)}
        cells = bin_cells(self.domain)
        numbers = [name for name in (self.column, self.other) if name]
        singly = {name for name in numbers if (self.whole or self.other) and self._singly(name)}
        unknown = [name for name in numbers if name in measured or not (name in cells or name in singly)]
        if counted is None or unknown:
            raise QueryError(f"{[*unknown, *numbers][0]!r} is no column of numbers whose positions are measured")
        if wrong := [
            name
            for name in self._others
            if name not in counted.all_names
            or counted[name] != self.domain[name]
            or name in self.domain.coarser(self.column)
        ]:
            raise QueryError(
                f"{wrong[0]!r} is no column to group positions by",
                remedy="name columns without bins, or levels of them, but none of the column itself",
            )
        if counted.cells(self.scope) > (_MOST_PAIRS if self.other else _MOST_CELLS):
            raise QueryError(
                f"{self.text!r} would be read off a table of more than {_MOST_CELLS:,} cells",
                remedy="group by fewer columns, or by columns with fewer values",
            )

    @property
    def _others(self) -> Clique:
        """The columns by whose values the sums are."""
        return tuple(name for name in self.scope if name not in (self.column, self.other))

    def _singly(self, name: str) -> bool:
        """Whether a column's numbers are told one by one."""
        column = self.domain[name]
        return isinstance(column, IntegerRange) or (isinstance(column, Binned) and not np.less(*ends_of(column)).any())

    @cached_property
    def counted(self) -> Domain | None:
        """The columns with bins, with a bin for each cell: the domain of the table whose counts tell the sums."""
        return with_bin_cells(self.domain, frozenset([*self.beside, *filter(None, (self.column, self.other))]))

    @cached_property
    def cells(self) -> BinCells:
        """The cells of the column."""
        return self._cells_of(self.column)

    def _cells_of(self, name: str) -> BinCells:
        column = self.domain[name]
        if (self.whole or self.other) and isinstance(column, Binned | IntegerRange):
            return BinCells.of_numbers(column, bin_cells(self.domain).get(name))
        return bin_cells(self.domain)[name]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of sums of each group, and of codes of the other columns, in the order of the scope."""
        sizes = zip(self.scope, self.domain.shape_of(self.scope), strict=True)
        if self.other:
            return (1, 1)
        sums = 2 if self.whole else len(self.cells.half)
        return tuple(sums if name == self.column else size for name, size in sizes)

    @property
    def size(self) -> int:
        """Number of sums."""
        return math.prod(self.shape)

    @property
    def form(self) -> str:
        """``"positions"`` in bins, ``"moments"`` or ``"products"``."""
        return "products" if self.other else "moments" if self.whole else "positions"

    @property
    def text(self) -> str:
        """The columns, in words."""
        names = " * ".join(self.scope)
        return f"positions in the bins of {names}" if self.form == "positions" else f"{self.form} of {names}"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the most that one record adds to a sum."""
        return (-0.25, 0.25) if self.other else (-0.5, 0.5)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """That of one query with values in [-1/2, 1/2]: a record is in one bin.

        In the L1 norm both sums of a whole column move by up to 5/8. A part of 2^-20 allows for rounding.
        """
        alone = of_query(*self.bounds, neighbours)
        if not self.whole:
            return alone
        both = 2.0 if neighbours.step is not Relation.ADD_REMOVE else 1.0
        l1 = 0.625 * both * neighbours.records
        return Sensitivity(l1 * _ROUNDED, alone.l2 * _ROUNDED)

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
        if self.other:
            first, second = (self._cells_of(name).positions for name in self.scope)
            weights = np.rint(np.multiply.outer(first, second) * 2.0**LATTICE_BITS).astype(np.int64)
            return np.array([(weights * np.rint(counts[: len(first), : len(second)]).astype(np.int64)).sum()])
        values = [positions, 2.0 * np.square(positions) - 0.5] if self.whole else [positions]
        axis = self.scope.index(self.column)
        table = np.moveaxis(np.rint(counts).astype(np.int64), axis, 0)[: len(positions)]
        sums = np.zeros((len(values), 1 if self.whole else len(self.cells.half), *table.shape[1:]), dtype=np.int64)
        for place, each in enumerate(values):
            units = np.rint(each * 2.0**LATTICE_BITS).astype(np.int64)
            np.add.at(sums[place], self.cells.bins, units.reshape(-1, *[1] * (table.ndim - 1)) * table)
        return np.moveaxis(sums.reshape(-1, *table.shape[1:]), 0, axis).reshape(-1)
