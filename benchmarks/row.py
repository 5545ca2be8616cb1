"""One line of a benchmark's table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Our code against a reference, both in CPU seconds of the same run.

    Attributes:
        name: What was done.
        ours_seconds: CPU seconds of our code.
        reference_seconds: CPU seconds of the reference, extrapolated where the note says so.
        note: How the reference works.
        unit: Of both numbers, where they are not seconds.
    """

    name: str
    ours_seconds: float
    reference_seconds: float
    note: str = ""
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return self.reference_seconds / self.ours_seconds


def cpu_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Least CPU time of several runs, after one run that does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)
