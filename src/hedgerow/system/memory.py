"""How much memory may be used, as the operating system and its control groups see it."""

from __future__ import annotations

import os
from pathlib import Path

_ROOT = Path("/")


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _mem_available(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def _group_folders(root: Path) -> list[Path]:
    """Folders of the control groups that hold this process, with their ancestors (version 2, then version 1)."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    folders: list[Path] = []
    for line in [*lines, "0::/", "0:memory:/"]:
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
            return max(0, limit - usage + _cache(folder / "memory.stat", cache_key))
    return None


def _cache(path: Path, key: str) -> int:
    """Bytes of file cache that the system takes back when memory runs short."""
    try:
        fields = dict(line.split() for line in path.read_text(encoding="ascii").splitlines())
        return int(fields.get(key, 0))
    except (OSError, ValueError):
        return 0


def available_bytes(root: Path = _ROOT) -> int:
    """Memory that may be allocated without swapping: the least of what the system and the control groups leave.

    Args:
        root: Where ``proc`` and ``sys`` are mounted.

    Example:
        >>> available_bytes() > 0
        True
    """
    known = [_mem_available(root), *(_group_available(folder) for folder in _group_folders(root))]
    limits = [limit for limit in known if limit is not None]
    if not limits and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    return min(limits, default=2**62)
