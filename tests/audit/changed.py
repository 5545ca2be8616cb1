"""Releases as an adversary changes them: the content is edited, and every checksum and the head computed anew."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hedgerow.system import head_of, start_of

Change = Callable[[dict[str, Any]], None]


def chained(ledger: dict[str, Any]) -> None:
    """Give a ledger the head that its events lead to."""
    limits = {name: ledger[name] for name in ("limit", "unit", "thresholds") if ledger.get(name)}
    ledger["head"] = head_of(start_of("ledger", limits), ledger["events"])


def rewritten(path: Path, change: Change, *, chain: bool = True, version: int | None = None) -> Path:
    """A copy of a release or session, its content changed and its checksum right again.

    Args:
        path: The file.
        change: Changes the content in place.
        chain: Whether the head is computed anew, too.
        version: Of the format that the copy claims.
    """
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (name,) = (name for name in parts if name.endswith(".json"))
    head = json.loads(parts[name])
    change(head["content"])
    if chain:
        chained(head["content"]["ledger"])
    head["version"] = head["version"] if version is None else version
    parts[name] = json.dumps(head).encode()
    target = path.with_name(f"changed-{path.name}")
    with zipfile.ZipFile(target, "w") as archive:
        for each, content in parts.items():
            archive.writestr(each, content)
        archive.comment = b"hedgerow release sha256=" + hashlib.sha256(parts[name]).hexdigest().encode()
    return target
