"""One figure of an evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Finding:
    """One figure about a synthetic file; not private.

    Attributes:
        label: ``"not private"``; to be shown wherever the figure is.
        file: Name of the synthetic file.
        measure: Name of the measure, one of those that `evaluate` lists.
        subject: Columns, table, rule or model that the figure is about, in words.
        value: The figure; NaN where there is none.
        real: The same of real records, where it has a meaning; else NaN.
        columns: The columns of a table, or the one of a quantile; none for other figures.

    Example:
        >>> Finding("a.csv", "score", "2-way", 950.0).to_dict()["value"]
        950.0
    """

    label: ClassVar[str] = "not private"
    file: str
    measure: str
    subject: str
    value: float
    real: float = math.nan
    columns: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON and CSV: a figure that is not there, or is infinite, is None."""
        value, real = (number if math.isfinite(number) else None for number in (self.value, self.real))
        return {
            "label": self.label,
            "file": self.file,
            "measure": self.measure,
            "subject": self.subject,
            "value": value,
            "real": real,
        }

    def __repr__(self) -> str:
        """The figure, with the label."""
        return f"Finding({self.label}: {self.measure}, {self.subject}, {self.file}: {self.value:.6g})"
