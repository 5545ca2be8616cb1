"""Ctrl-C without noise: one message of ours, and none from libraries that were cut off half-way."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """After the first Ctrl-C, drop what Python would print about errors in finalizers.

    A compiler that is interrupted while it makes an object fails once more when the half-made object is removed; Python
    can only print that. Before a Ctrl-C nothing is dropped.
    """
    printing = sys.unraisablehook

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        sys.unraisablehook = lambda _: None
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if sys.exc_info()[0] is None:
            sys.unraisablehook = printing
