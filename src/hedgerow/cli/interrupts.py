"""Ctrl-C and polite kills: one message of ours, and none from libraries that were cut off half-way."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, and afterwards drop what Python would print about errors in finalizers.

    A compiler that is interrupted while it makes an object fails once more when the half-made object is removed; Python
    can only print that. Before that nothing is dropped.
    """
    printing = sys.unraisablehook

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        sys.unraisablehook = lambda _: None
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if sys.exc_info()[0] is None:
            sys.unraisablehook = printing
