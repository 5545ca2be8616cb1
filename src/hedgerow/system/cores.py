"""How many cores may be used, and work that is divided among them."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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


def ahead(items: Iterator[T]) -> Generator[T]:
    """Items, of which the next one is made in another thread while one is used; at the end the iterator is closed.

    Example:
        >>> list(ahead(iter(range(3))))
        [0, 1, 2]
    """
    end = object()
    with _closed(items), ThreadPoolExecutor(1) as pool:
        future = pool.submit(next, items, end)
        while (item := future.result()) is not end:
            future = pool.submit(next, items, end)
            yield item  # type: ignore[misc]  # it is not the end


@contextmanager
def _closed(items: Iterator[object]) -> Iterator[None]:
    """Close a generator, and what it holds open, whatever happens to those who use it."""
    try:
        yield
    finally:
        if isinstance(items, Generator):
            items.close()
