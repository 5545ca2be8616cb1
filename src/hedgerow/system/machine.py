"""The cores and the memory of this machine that may be used, and work that is divided among the cores."""

import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

_ROOT = Path("/")

T = TypeVar("T")


def usable_cores() -> int:
    """Number of cores that this process may run on; all of the machine where the system does not say.

    Example:
        >>> usable_cores() >= 1
        True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_WORKER = "hedgerow-part"
"""Beginning of the names of the threads that `in_slices` keeps."""


def in_slices(on_slice: Callable[[int, int], T], length: int, threads: int) -> list[T]:
    """Work on consecutive parts of a range, in one thread each, and return the results.

    The first part is done by the thread that calls, the others by threads that are kept: to start one takes as long as
    a pass over a million cells.

    Args:
        on_slice: Called with the start and the end of a part; releases the interpreter's lock while it works.
        length: Length of the range.
        threads: Number of threads; with one, no other is asked.

    Example:
        >>> in_slices(lambda start, stop: (start, stop), 10, 3)
        [(0, 3), (3, 6), (6, 10)]
    """
    threads = max(1, threads)
    cuts = [length * i // threads for i in range(threads + 1)]
    if threads == 1 or threading.current_thread().name.startswith(_WORKER):  # one that waits for others blocks them
        return [on_slice(start, stop) for start, stop in pairwise(cuts)]
    others = [_workers().submit(on_slice, start, stop) for start, stop in pairwise(cuts[1:])]
    try:
        first = on_slice(0, cuts[1])
    finally:  # whatever happens, nobody works on when this is over
        wait(others)
    return [first, *(each.result() for each in others)]


@cache
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, usable_cores() - 1), _WORKER)


if hasattr(os, "register_at_fork"):  # the threads stay in the parent
    os.register_at_fork(after_in_child=_workers.cache_clear)


Tasks = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""Maps a function over items, as the built-in ``map`` does."""
_TASKS = ContextVar[Tasks]("tasks", default=map)


def each_done(task: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
    """The results of independent tasks, in order: made here, or by the workers of `done_by`.

    Args:
        task: A function of a module, which holds no data.
        items: What it is called with, one by one; where workers make the results, items can be pickled.

    Example:
        >>> list(each_done(abs, [-3, 2]))
        [3, 2]
    """
    return _TASKS.get()(task, items)


@contextmanager
def done_by(tasks: Tasks | None) -> Iterator[None]:
    """Have the tasks of `each_done` made by other workers within a context; None leaves it as it is."""
    token = None if tasks is None else _TASKS.set(tasks)
    try:
        yield
    finally:
        if token is not None:
            _TASKS.reset(token)


def ahead(items: Iterator[T]) -> Generator[T]:
    """Yield items while another thread makes the next one; at the end the iterator is closed.

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
    """Close a generator, and what it holds open, whatever happens to its user."""
    try:
        yield
    finally:
        if isinstance(items, Generator):
            items.close()


def available_bytes(root: Path = _ROOT) -> int:
    """Memory that may be allocated without swapping: the least of what the system and the control groups leave.

    Args:
        root: Folder in which ``proc`` and ``sys`` are mounted.

    Example:
        >>> available_bytes() > 0
        True
    """
    kibibytes = _number(root / "proc/meminfo", "MemAvailable:")
    known = [None if kibibytes is None else kibibytes * 1024, *map(_group_available, _group_folders(root))]
    limits = [limit for limit in known if limit is not None]
    if not limits and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    return min(limits, default=2**62)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _number(path: Path, word: str = "") -> int | None:
    """The number with which a file begins, or the one after a word at the beginning of a line."""
    match = re.search(rf"^{re.escape(word)}\s*(\d+)\b", _text(path), re.MULTILINE)
    return int(match[1]) if match else None


def _group_folders(root: Path) -> list[Path]:
    """Folders of the control groups that hold this process, with their ancestors (version 2, then version 1)."""
    folders: list[Path] = []
    for line in [*_text(root / "proc/self/cgroup").splitlines(), "0::/", "0:memory:/"]:
        _, controllers, name = line.split(":", 2)
        if controllers in ("", "memory"):
            top = root / "sys/fs/cgroup" / controllers
            inside = top / name.lstrip("/")
            folders += [folder for folder in (inside, *inside.parents) if folder.is_relative_to(top)]
    return list(dict.fromkeys(folders))


def _group_available(folder: Path) -> int | None:
    for limit_file, usage_file, cache_key in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, usage = _number(folder / limit_file), _number(folder / usage_file)
        if limit is not None and usage is not None:
            cache = _number(folder / "memory.stat", cache_key) or 0  # the system takes it back when memory runs short
            return max(0, limit - usage + cache)
    return None


_REFERENCE = 0.6e-3
"""Seconds of the work of `slowness` on the machine where rates were measured."""


@cache
def slowness() -> float:
    """The time that this machine takes for a few milliseconds of work, over that where rates were measured.

    Example:
        >>> 0.0 < slowness() < 1e3
        True
    """

    def work() -> float:
        start = time.process_time()
        sum(number * number for number in range(20_000))
        return time.process_time() - start

    return min(work() for _ in range(10)) / _REFERENCE
