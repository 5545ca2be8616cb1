"""Cells inside bins: fine enough to tell where in its bin a record lies.

The *position* of a number in its bin goes from -1/2 at the smallest number of the bin to 1/2 at the largest. Sums of
positions over the records of each bin are measured beside the counts of the bins (theory.md section 14.1), and tell
sums and means without a guess of what is inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain.attribute import Attribute, Binned, Ordered, closed, ends_of
from hedgerow.domain.domain import Domain

CELLS = 1 << 15
"""Most cells of all bins of a column together, unless there are more bins ..."""
_COLUMNS = 64
"""... and of all columns together so many times as many."""


@dataclass(frozen=True, eq=False)
class BinCells:
    """The cells of a column in bins.

    Attributes:
        column: The column with a bin for each cell.
        bins: The bin of each cell, shape ``(column.ordinary,)``.
        positions: The position in its bin of the middle of each cell, likewise.
        half: Half of the width of the widest cell of each bin, in numbers of the column: 0 where every number has a
            cell; shape ``(number of bins,)``.
    """

    column: Ordered
    bins: Ints
    positions: Floats
    half: Floats

    @classmethod
    def of(cls, column: Binned, cells: int = CELLS) -> BinCells:
        """Cut every bin into cells of about equal widths, of one number each where there are few numbers.

        Args:
            column: The column.
            cells: Most cells of all bins together, unless there are more bins.

        Example:
            >>> cells = BinCells.of(Binned("hours", [0, 2, 6], whole=True))
            >>> cells.column.edges, cells.bins.tolist()
            ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.5), [0, 0, 1, 1, 1, 1, 1])
            >>> cells.positions.tolist()
            [-0.5, 0.5, -0.5, -0.25, 0.0, 0.25, 0.5]
        """
        low, high = ends_of(column)
        most = max(1, cells // column.ordinary)
        edges, bins, positions, half = list[float](), list[int](), list[float](), list[float]()
        for code, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            width = last - first
            if column.whole:
                count = min(most, round(width) + 1)
                starts = first + np.floor(np.arange(count) * (width + 1.0) / count)
                ends = np.append(starts[1:] - 1.0, last)
            else:
                starts = first + np.arange(most) * (width / most)
                starts = starts[np.append(True, np.diff(starts) > 0.0) & (starts < last)]
                ends = np.append(starts[1:], last)
            middle = (starts + ends) / 2.0 - (first + last) / 2.0
            edges += starts.tolist()
            bins += [code] * len(starts)
            positions += (middle / width if width > 0.0 else np.zeros(len(starts))).tolist()
            half.append(float((ends - starts).max()) / 2.0)
        closing = closed([round(edge) for edge in edges], round(high[-1])) if column.whole else [*edges, high[-1]]
        finer = Binned(
            column.name, closing, whole=column.whole, scale=column.scale, missing=column.missing, other=column.other
        )
        return cls(finer, np.array(bins), np.array(positions), np.array(half))

    @classmethod
    def of_numbers(cls, column: Ordered, cells: BinCells | None = None) -> BinCells:
        """All numbers of a column as one bin.

        Args:
            column: The column.
            cells: The cells of its bins; None where its numbers are told one by one. `half` stays that of its bins.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> BinCells.of_numbers(IntegerRange("age", 0, 4)).positions.tolist()
            [-0.5, -0.25, 0.0, 0.25, 0.5]
            >>> hours = Binned("hours", [0, 2, 6], whole=True)
            >>> BinCells.of_numbers(hours, BinCells.of(hours)).positions.round(2).tolist()
            [-0.5, -0.33, -0.17, 0.0, 0.17, 0.33, 0.5]
        """
        low, high = ends_of(column)
        middle, width = (low[0] + high[-1]) / 2.0, high[-1] - low[0]
        numbers, finer, half = low, column, np.zeros(len(low))
        if cells is not None:
            numbers = ((low + high) / 2.0)[cells.bins] + cells.positions * (high - low)[cells.bins]
            finer, half = cells.column, cells.half
        positions = np.clip((numbers - middle) / (width or 1.0), -0.5, 0.5)
        return cls(finer, np.zeros(len(numbers), dtype=np.int64), positions, half)


@lru_cache(maxsize=4)
def bin_cells(domain: Domain) -> Mapping[str, BinCells]:
    """The cells of the columns that have bins of several numbers, by name.

    Columns that are measured from or to another one are left out.

    Args:
        domain: The domain.

    Example:
        >>> list(bin_cells(Domain([Binned("hours", [0, 2, 6], whole=True), Binned("code", [0, 1, 1.5], whole=True)])))
        ['hours']
    """
    apart = {name for span in domain.spans for name in (span.length, span.start, span.end)}
    columns = [each for each in domain if isinstance(each, Binned) and each.name not in apart]
    wide = [column for column in columns if bool(np.less(*ends_of(column)).any())]
    return {column.name: BinCells.of(column, CELLS * _COLUMNS // max(_COLUMNS, len(wide))) for column in wide}


@lru_cache(maxsize=4)
def with_bin_cells(domain: Domain, beside: frozenset[str] = frozenset()) -> Domain | None:
    """The columns of a domain that have bins of several numbers, with a bin for each cell; None if none is left.

    Columns that are measured from or to another one are left out.

    Args:
        domain: The domain.
        beside: Other columns that stay as they are.

    Example:
        >>> wide = Binned("hours", [0, 2, 6], whole=True)
        >>> with_bin_cells(Domain([wide])).shape
        (7,)
    """
    cells, ends = bin_cells(domain), {span.end for span in domain.spans}
    finer: list[Attribute] = []
    for column in domain:
        if column.name in cells:
            finer.append(cells[column.name].column)
        elif column.name in beside:
            finer.append(column)
    if not finer:
        return None
    rest = {*domain.all_names, *domain.ignored, *ends} - {column.name for column in finer}
    return Domain(
        finer,
        unleveled=[column.name for column in finer],
        ignored=sorted(rest),
        draft=domain.draft,
        trusted_types=domain.trusted_types,
        layout=domain.layout,
    )
