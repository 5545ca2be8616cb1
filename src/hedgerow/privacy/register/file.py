"""The file of a register: a small SQLite database, in which a charge is either there for good or was never made.

A transaction takes the lock for writing before it reads, so that two processes never add to the same sum. It is over
when it is on the disk, the removal of the journal included (``synchronous=EXTRA``): a power cut must not undo a
charge.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hedgerow.errors import DamagedRegisterError, HedgerowError, RegisterBusyError, RegisterError
from hedgerow.privacy.register.entries import FORMAT, Contents
from hedgerow.system import canonical_json, creating, link, start_of

_MARK = 0x48645267
"""Application id in the header of the SQLite file, which marks it as a register."""
_MAKE = (
    "BEGIN",
    f"PRAGMA application_id={_MARK}",
    f"PRAGMA user_version={FORMAT}",
    "CREATE TABLE register (fixed TEXT NOT NULL, head TEXT NOT NULL)",
    "CREATE TABLE entries (line INTEGER PRIMARY KEY, entry TEXT NOT NULL, link TEXT NOT NULL)",
)
_FAULTS = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH)
_AS_WRITTEN = "use the file as hedgerow wrote it; the budget of what was released stays spent"


class RegisterFile:
    """The file of one register. Nothing is kept open between calls.

    Args:
        path: Path of the file; links are followed.
        wait: Seconds to wait for other processes.
    """

    def __init__(self, path: Path, wait: float) -> None:
        """Open nothing."""
        self.path = path
        self._wait = wait

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.path.exists()

    def create(self, fixed: Mapping[str, Any]) -> None:
        """Make the file in one step, for no one but its owner; leave it as it is where there is one.

        Raises:
            RegisterError: It cannot be made.
        """
        try:
            with creating(self.path) as beside, closing(sqlite3.connect(beside, isolation_level=None)) as connection:
                for statement in _MAKE:
                    connection.execute(statement)
                first = (canonical_json(fixed), start_of("register", fixed))
                connection.execute("INSERT INTO register VALUES (?, ?)", first)
                connection.execute("COMMIT")
        except FileExistsError:  # another process was quicker
            return
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise self._error(
                f"the register cannot be made: {reason}", remedy="name a file in a folder of this disk"
            ) from error

    def read(self) -> Contents:
        """All that is in it, checked.

        Raises:
            RegisterError: It cannot be read; see its kinds.
        """
        with self._transaction("BEGIN") as connection:
            return self._contents(connection)

    @contextmanager
    def adding(self) -> Iterator[tuple[Contents, list[Mapping[str, Any]]]]:
        """Give what is in it, alone with it, and a list to put new entries into; they are kept if the body succeeds.

        Raises:
            RegisterError: It cannot be read or written; nothing was added.
        """
        with self._transaction("BEGIN IMMEDIATE") as connection:
            contents, new = self._contents(connection), list[Mapping[str, Any]]()
            yield contents, new
            head = contents.head
            for line, entry in enumerate(new, start=contents.length + 1):
                head = link(head, entry)
                connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (line, canonical_json(entry), head))
            connection.execute("UPDATE register SET head = ?", (head,))

    # Inside

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """One transaction; whatever ends the body by an error takes it back."""
        try:
            address = f"{self.path.absolute().as_uri()}?mode=rw"  # never makes a file
            with closing(sqlite3.connect(address, timeout=self._wait, isolation_level=None, uri=True)) as connection:
                connection.execute("PRAGMA synchronous=EXTRA")
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._told(error) from error

    def _contents(self, connection: sqlite3.Connection) -> Contents:
        (mark,), (version,) = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if mark != _MARK:
            raise self._damaged("it is not a register of hedgerow")
        if version != FORMAT:
            raise self._error("it was made by another version of hedgerow", remedy="use that version, or a newer one")
        try:
            ((fixed, head),) = connection.execute("SELECT fixed, head FROM register").fetchall()
            rows = connection.execute("SELECT entry, link FROM entries ORDER BY line").fetchall()
            contents = Contents.of(json.loads(fixed), [(json.loads(entry), linked) for entry, linked in rows])
        except (*_FAULTS, HedgerowError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise self._damaged(f"the register was changed, or is damaged ({reason})") from error
        if contents.head != head:
            raise self._damaged("the register was changed, or is damaged (its last entries are missing)")
        return contents

    def _told(self, error: sqlite3.Error) -> RegisterError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _BUSY:
            message = f"other processes were at the register for more than {self._wait:g} s; nothing was charged"
            return RegisterBusyError(message, place=str(self.path), remedy="try again")
        if code in _DAMAGED:
            return self._damaged(f"it is not a register of hedgerow, or damaged ({error})")
        if not self.exists():
            return self._error("there is no such register", remedy="name its limit to make one")
        return self._error(f"the register cannot be read or written: {error}", remedy="check the file and its folder")

    def _damaged(self, message: str) -> DamagedRegisterError:
        return DamagedRegisterError(message, place=str(self.path), remedy=_AS_WRITTEN)

    def _error(self, message: str, *, remedy: str) -> RegisterError:
        return RegisterError(message, place=str(self.path), remedy=remedy)
