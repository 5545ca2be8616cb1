"""How many cores may be used, and work that is divided among them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def usable_cores() -> int:
    """Cores that this process may run on; all of the machine where the system does not say.

    Example:
        >>> usable_cores() >= 1
        True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parts(part: Callable[[int, int], T], length: int, threads: int) -> list[T]:
    """Results for consecutive parts of a range, one thread each.

    Args:
        part: Works from one number on until another one, without holding the interpreter's lock.
        length: Of the range.
        threads: How many; with one, no thread is started.

    Example:
        >>> in_parts(lambda start, stop: (start, stop), 10, 3)
        [(0, 3), (3, 6), (6, 10)]
    """
    if threads <= 1:
        return [part(0, length)]
    cuts = [length * i // threads for i in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(part, cuts[:-1], cuts[1:]))
