"""The column of counts of a contingency table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.arrays import Ints
from hedgerow.data.reading.encoding import Encoder, Fault, encoder
from hedgerow.data.reading.faults import SHOWN_ROWS
from hedgerow.domain import IntegerRange
from hedgerow.errors import CountColumnError

LARGEST_TOTAL = 2**53
"""Up to this number of records every count is exact as float64."""

_FAULTS = {
    Fault.MISSING: "an empty cell",
    Fault.NOT_WHOLE: "a count that is not a whole number",
    Fault.NOT_A_NUMBER: "a count that is not a number",
    Fault.OUT_OF_RANGE: "a count that is negative or beyond 2**53",
}


class Weights:
    """Reads counts batch by batch.

    Example:
        >>> weights = Weights("t.csv", "count")
        >>> weights.read(pa.array(["2", "3.0"]), first_row=1)
        array([2, 3])
        >>> weights.finish()
    """

    def __init__(self, file: str, column: str) -> None:
        """Start with no rows."""
        self._file = file
        self.column = column
        self._encoder: Encoder = encoder(IntegerRange(column, 0, LARGEST_TOTAL))
        self._total = 0
        self._rows: dict[Fault, list[int]] = {}
        self._n_rows: dict[Fault, int] = {}

    def read(self, column: pa.Array[Any], first_row: int) -> Ints:
        """The counts of a batch; what is wrong with them is noted."""
        counts = self._encoder.codes(column)
        large = counts.max(initial=0) > LARGEST_TOTAL // max(1, counts.size)
        self._total += int(counts.sum(dtype=object) if large else counts.sum())
        for fault in Fault if len(counts) and counts.min() < 0 else ():
            rows = np.flatnonzero(counts == fault)
            if not rows.size:
                continue
            shown = self._rows.setdefault(fault, [])
            shown.extend(int(row) + first_row for row in rows[: SHOWN_ROWS - len(shown)])
            self._n_rows[fault] = self._n_rows.get(fault, 0) + int(rows.size)
        return counts

    def add(self, other: Weights) -> None:
        """Add the counts of another part of the table, whose rows have no numbers in the whole."""
        self._total += other._total
        self._rows = {fault: [] for fault in {**self._rows, **other._rows}}
        for fault, rows in other._n_rows.items():
            self._n_rows[fault] = self._n_rows.get(fault, 0) + rows

    @property
    def is_faulty(self) -> bool:
        """Whether a count, or their sum, was wrong so far."""
        return bool(self._n_rows) or self._total > LARGEST_TOTAL

    def finish(self, *, may_be_empty: bool = False) -> None:
        """Look at the counts of all batches.

        Args:
            may_be_empty: Whether their sum may be 0.

        Raises:
            CountColumnError: One is empty, not whole or negative, or their sum is 0 or beyond 2**53.
        """
        for fault, message in _FAULTS.items():
            if self._n_rows.get(fault):
                raise CountColumnError(
                    message,
                    file=self._file,
                    column=self.column,
                    rows=self._rows[fault],
                    n_rows=self._n_rows[fault],
                    remedy="give whole numbers of at least 0, or name another column of counts",
                )
        if not (0 if may_be_empty else 1) <= self._total <= LARGEST_TOTAL:
            raise CountColumnError(
                "the counts sum to 0" if self._total == 0 else "the sum of the counts is beyond 2**53",
                file=self._file,
                column=self.column,
                remedy="check that this is the column of counts",
            )
