"""Spans: durations between two dates or times of a record.

Records hold the earlier date and the duration, and no later date: it is the sum of the two. So what is written keeps
``end = start + duration`` and the bounds of the duration exactly, whatever bins the two have; and a model knows the
duration itself, which a table over two dates would hold with one cell for each pair of days.

While a table is read the duration is measured between the exact cells of both columns, in each record alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hedgerow.arrays import Bools


@dataclass(frozen=True)
class Span:
    """A duration, and the two columns that it lies between.

    Attributes:
        length: The duration: an attribute of records.
        start: The column that it begins at: an attribute too, of days or times.
        end: The column that it ends at: one of the data, and of what is written, but no attribute.
        column: Whether the data have a column of the duration too. It is checked while reading and written.
    """

    length: str
    start: str
    end: str
    column: bool = False

    @property
    def text(self) -> str:
        """The rule that its columns follow."""
        return f"{self.start} + {self.length} = {self.end}"

    @property
    def measured(self) -> str:
        """Name of the duration as it is measured, where the data have a column of it too."""
        return f"{self.end} - {self.start}"

    @property
    def columns(self) -> tuple[str, str]:
        """Names of the codes that have to agree where the data have a column of the duration."""
        return self.length, self.measured

    def holds(self, codes: Mapping[str, NDArray[Any]]) -> Bools:
        """Whether rows keep the rule.

        Args:
            codes: Codes of the rows, by the names of ``columns``.
        """
        equal: Bools = codes[self.length] == codes[self.measured]
        return equal
