"""The anchor: a small file outside the store that records how far the store has come, so that an older one is noticed.

Before anything of a commit leaves, the anchor covers it. So a store may be newer than its anchor, after a crash between
the two, and is never older, unless someone restored a copy. Processes that share a store share the file: each takes
its lock, reads it, and replaces it by the later of what it says and what the process knows.

`restored` compares a store with its anchor.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hedgerow.errors import StoreBusyError, StoreError
from hedgerow.service.store.database import alone_within
from hedgerow.service.store.entries import Point
from hedgerow.system import replacing

_FORMAT = "hedgerow-anchor"
_VERSION = 1
_PLACE = "give a path in a folder of this machine that the server's user may write to, outside the store"
_FAULTS = (AttributeError, KeyError, TypeError, ValueError)


@dataclass(frozen=True)
class Anchored:
    """Contents of an anchor.

    Attributes:
        ledgers: Points of the data sets' ledgers, by name.
        audit: Point of the audit log.

    Example:
        >>> first = Anchored({"a": Point(1, "x", 4)}, Point(2, "p"))
        >>> first.and_later({"a": Point(1, "x", 3), "b": Point(0, "y", 0)}, Point(3, "q")).ledgers["a"].version
        4
    """

    ledgers: Mapping[str, Point] = field(default_factory=dict)
    audit: Point = field(default_factory=lambda: Point(0, ""))

    def and_later(self, ledgers: Mapping[str, Point], audit: Point | None) -> Anchored:
        """Add known points where they are later."""
        kept = dict(self.ledgers)
        for name, point in ledgers.items():
            if name not in kept or kept[name].version < point.version:
                kept[name] = point
        return Anchored(kept, self.audit if audit is None or audit.count < self.audit.count else audit)

    def to_dict(self) -> dict[str, Any]:
        """Turn it into JSON values."""
        ledgers = {name: asdict(point) for name, point in sorted(self.ledgers.items())}
        return {"format": _FORMAT, "version": _VERSION, "audit": asdict(self.audit), "data_sets": ledgers}

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Anchored:
        """Read what `to_dict` wrote.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: It was something else.
        """
        if (mapping["format"], mapping["version"]) != (_FORMAT, _VERSION):
            raise ValueError("the file is of another kind, or of a newer version")
        return cls({name: _point(each) for name, each in mapping["data_sets"].items()}, _point(mapping["audit"]))


def _point(mapping: Mapping[str, Any]) -> Point:
    return Point(int(mapping["count"]), str(mapping["head"]), int(mapping["version"]))


class Anchor:
    """The file; for all threads of a process, and for several processes.

    Args:
        path: The file; its folder must exist. Only its owner may read it.
        wait: Seconds to wait for other processes that write it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     anchor = Anchor(Path(folder, "anchor.json"))
        ...     before = anchor.read()
        ...     anchor.cover({"people": Point(3, "5d1f", 7)}, None)
        ...     before, anchor.read().ledgers["people"].count
        (None, 3)
    """

    def __init__(self, path: str | os.PathLike[str], wait: float = 5.0) -> None:
        """Read and write nothing yet."""
        self.path = Path(path)
        self._wait = wait
        self._door = threading.Lock()

    def read(self) -> Anchored | None:
        """Read the anchor; None if there is no file.

        Raises:
            StoreError: The file cannot be read, or is not an anchor.
        """
        try:
            return Anchored.from_dict(json.loads(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"the anchor {self.path} cannot be read: {error.strerror}", remedy=_PLACE) from None
        except _FAULTS:
            raise StoreError(
                f"{self.path} is not an anchor, or is damaged",
                remedy="give the file that the server wrote; without it an older copy of the store cannot be "
                "recognised (a new file begins with the store as it is)",
            ) from None

    def cover(self, ledgers: Mapping[str, Point], audit: Point | None) -> None:
        """Note the changes of a commit; they are on the disk when this returns.

        Args:
            ledgers: Points of the data sets' ledgers, by name.
            audit: Point of the audit log; None if that did not change.

        Raises:
            StoreError: It cannot be written: the results of the commit must not leave.
        """
        with self._alone():
            self._write((self.read() or Anchored()).and_later(ledgers, audit))

    def reach(self, name: str, point: Point) -> None:
        """Note a point of a data set's ledger, unless the file has it or a later one.

        Args:
            name: Name of the data set.
            point: The point.

        Raises:
            StoreError: The file cannot be read or written: what follows from the point must not leave.
        """
        known = (self.read() or Anchored()).ledgers.get(name)
        if known is None or known.version < point.version:
            self.cover({name: point}, None)

    def replace(self, anchored: Anchored) -> None:
        """Replace its contents, even by earlier points: for a store that was accepted explicitly.

        Raises:
            StoreError: It cannot be written.
        """
        with self._alone():
            self._write(anchored)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._door:
            try:
                with alone_within(self.path, self._wait, longest_pause=0.001) as alone:
                    if not alone:
                        raise StoreBusyError(
                            "another process has been writing the anchor for too long", remedy="try again in a moment"
                        )
                    yield
            except OSError as error:
                message = f"the anchor {self.path} cannot be written: {error.strerror}"
                raise StoreError(message, remedy=_PLACE) from None

    def _write(self, anchored: Anchored) -> None:
        with replacing(self.path, private=True) as beside:
            beside.write_text(json.dumps(anchored.to_dict(), indent=1) + "\n", encoding="utf-8")
