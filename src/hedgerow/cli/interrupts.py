"""Ctrl-C and polite kills: one message of ours, and none from libraries that were cut off half-way."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_AGAIN = 0.05
"""Seconds after which an interrupt that was swallowed is sent once more."""


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, and afterwards drop what Python would print about errors in finalizers.

    A compiler that is interrupted while it makes an object fails once more when the half-made object is removed; Python
    can only print that. Before an interrupt nothing is dropped. An interrupt that itself falls into a finalizer or a
    callback, where Python cannot raise it, is sent again.
    """
    printing = sys.unraisablehook

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        sys.unraisablehook = _after_an_interrupt
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if sys.exc_info()[0] is None:
            sys.unraisablehook = printing


def _after_an_interrupt(dropped: UnraisableHookArgs) -> None:
    if issubclass(dropped.exc_type, KeyboardInterrupt):
        threading.Timer(_AGAIN, os.kill, (os.getpid(), signal.SIGINT)).start()
