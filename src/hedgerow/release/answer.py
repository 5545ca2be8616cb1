"""Answers with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Answer:
    """An answer from a release.

    Attributes:
        value: The model's answer, in counts.
        low: Lower end of the interval for the true count, or None where nothing was measured that gives one.
        high: Upper end, likewise.
        covers: What the interval covers and where it comes from, in words.
    """

    value: float
    low: float | None
    high: float | None
    covers: str
