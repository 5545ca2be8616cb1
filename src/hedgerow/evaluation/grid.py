"""Cells that values are counted in: bins of numbers at quantiles of the real table, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Codes, Domain, IntegerRange, smallest_unsigned
from hedgerow.evaluation.columns import Column

BINS = 20
"""Bins of a column of numbers, as in NIST's k-marginal score."""
MOST_LABELS = 500
"""Labels of a column that are told apart, the most frequent ones of the real table first."""

REST = "other values"
MISSING = "missing"


@dataclass(frozen=True, eq=False)
class Axis:
    """The cells of a column.

    Attributes:
        column: The column.
        labels: Texts of the cells.
        cell_of: Cell of each place of the column.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.evaluation.columns import joined
        >>> axis = axis_of(joined("a", [pa.chunked_array([["x", "x", "y"]]), pa.chunked_array([["y", "z"]])]))
        >>> axis.labels, [axis.codes(table).tolist() for table in (0, 1)]
        (('x', 'y', 'z'), [[0, 0, 1], [1, 2]])
    """

    column: Column
    labels: tuple[str, ...]
    cell_of: Ints

    def codes(self, table: int) -> Codes:
        """Cells of the records of a table."""
        return self.cell_of.astype(smallest_unsigned(max(2, len(self.labels))))[self.column.places[table]]


def axis_of(column: Column, bins: int = BINS) -> Axis:
    """Cut a column into cells.

    Quantities are cut at quantiles of the real table, where it has more distinct numbers than bins; a number beyond the
    ends is in the bin at the end. They are not cut at the bins of a domain, which would flatter records that were made
    on these. Other values are cells of their own, those that the real table does not have too, up to `MOST_LABELS`.

    Args:
        column: The column.
        bins: Number of bins, at most.
    """
    own = np.ones(column.missing + 1, dtype=np.bool_)
    labels, cell_of = list[str](), np.zeros(column.missing + 1, dtype=np.int64)
    cuts = _cuts(column, bins) if column.numeric else None
    if cuts is not None:
        n_numbers = len(column.numbers)
        cell_of[:n_numbers] = np.searchsorted(cuts, column.numbers, side="right")
        own[:n_numbers] = False
        ends = [column.text(cut) for cut in cuts]
        labels = [f"< {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends))]
        labels.append(f"\u2265 {ends[-1]}")
    real, seen = column.counts(0), sum(column.counts(table) for table in range(len(column.places)))
    own[column.missing] = False
    listed = np.flatnonzero(own & (np.asarray(seen) > 0))
    listed = listed if column.numeric else listed[np.argsort(-real[listed], kind="stable")]
    kept = listed[:MOST_LABELS]
    cell_of[kept] = len(labels) + np.arange(len(kept))
    labels += [_text(column, int(place)) for place in kept]
    if len(listed) > len(kept):
        cell_of[listed[MOST_LABELS:]] = len(labels)
        labels.append(REST)
    if np.asarray(seen)[column.missing]:
        cell_of[column.missing] = len(labels)
        labels.append(MISSING)
    return Axis(column, tuple(labels), cell_of)


def _text(column: Column, place: int) -> str:
    n_numbers = len(column.numbers)
    return column.text(float(column.numbers[place])) if place < n_numbers else column.texts[place - n_numbers]


def _cuts(column: Column, bins: int) -> Floats | None:
    """Inner edges of bins; None where each number is a cell."""
    counts = column.counts(0)[: len(column.numbers)]
    held, counts = column.numbers[counts > 0], counts[counts > 0]
    if len(held) <= bins:
        return None
    ranks = np.cumsum(counts)
    cuts = held[np.searchsorted(ranks, ranks[-1] * np.arange(1, bins) / bins)]
    inner: Floats = np.unique(cuts[cuts > held[0]])
    return inner if len(inner) else held[1:2]  # nearly all have the smallest number


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of all columns, and the tables on them.

    Attributes:
        axes: Cells of each column.
    """

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, columns: Sequence[Column], bins: int = BINS) -> Grid:
        """Cut all columns."""
        return cls(tuple(axis_of(column, bins) for column in columns))

    @cached_property
    def domain(self) -> Domain:
        """The domain of the codes."""
        return Domain([IntegerRange(axis.column.name, 0, max(1, len(axis.labels) - 1)) for axis in self.axes])

    def codes(self, table: int) -> list[Codes]:
        """Codes of the records of a table, one array for each column."""
        return [axis.codes(table) for axis in self.axes]

    def merged(self) -> list[str]:
        """Columns whose rare labels are one cell."""
        return [axis.column.name for axis in self.axes if REST in axis.labels]
