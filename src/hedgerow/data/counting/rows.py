"""Records in memory, piece by piece and over several cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.data.counting.variables import Column
from hedgerow.system import in_slices, usable_cores

PASS_CELLS = 1 << 22
"""Cells that are counted in one pass over the records; bounds the memory."""

_CHUNK_ROWS = (1 << 16) - 64
"""Records that go through all blocks together: 1 MB of codes if there are 15 attributes, and counters of two bytes."""

_TILE_ROWS = 1 << 13
_ROWS_PER_THREAD = 1 << 16


@dataclass(frozen=True)
class Records:
    """Rows of codes, some of which may count more than once.

    Attributes:
        columns: One array of codes per attribute.
        weights: Number of records of each row; empty for one each.

    Example:
        >>> records = Records.of([np.array([0, 1, 1], dtype=np.uint8)], None)
        >>> [codes.tolist() for codes, _ in records.pieces(0, 3, [0])]
        [[[0, 1, 1]]]
    """

    columns: Sequence[Column]
    weights: Ints

    @classmethod
    def of(cls, columns: Sequence[Column], weights: Ints | None) -> Records:
        """With None for no weights."""
        return cls(columns, np.empty(0, dtype=np.int64) if weights is None else weights)

    @property
    def n_rows(self) -> int:
        """Number of rows, whatever their weights."""
        return len(self.columns[0])

    def pieces(
        self, start: int, stop: int, axes: Sequence[int], dtype: type[np.signedinteger[Any]] | None = None
    ) -> Iterator[tuple[NDArray[Any], Ints]]:
        """Codes of some attributes as one matrix (attributes, rows), with the weights, piece by piece.

        Args:
            start: The first row.
            stop: The row behind the last one.
            axes: The attributes.
            dtype: Type of the matrix, whose pieces are small then; None for that of the codes.
        """
        kind = np.result_type(np.uint8, *[self.columns[axis].dtype for axis in axes]) if dtype is None else dtype
        rows = _CHUNK_ROWS if dtype is None else _TILE_ROWS
        for low in range(start, stop, rows):
            high = min(stop, low + rows)
            codes = np.empty((len(axes), high - low), dtype=kind)
            for row, axis in enumerate(axes):
                codes[row] = self.columns[axis][low:high]
            yield codes, self.weights[low:high]


def starts_of(lengths: Sequence[int]) -> Ints:
    """Start of each run, and the end of the last one.

    Example:
        >>> starts_of([2, 3])
        array([0, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def over_rows(count: Callable[[int, int], NDArray[Any]], n_rows: int, n_cells: int) -> NDArray[Any]:
    """Cut the rows among the cores and add up; a table of more cells than one pass has is counted once only.

    Args:
        count: Counts from a row on until another one, without holding the interpreter's lock.
        n_rows: Number of rows.
        n_cells: Number of cells of a result.

    Example:
        >>> over_rows(lambda start, stop: np.array([stop - start]), 10, 1)
        array([10])
    """
    threads = 1 if n_cells > PASS_CELLS else min(usable_cores(), n_rows // _ROWS_PER_THREAD)
    first, *others = in_slices(count, n_rows, threads)
    for other in others:
        first += other
    return first
