"""The base of both kinds of database: transactions, locks, and failures as errors of ours.

Those errors have a remedy, and no SQL, parameters or passwords.
"""

import os
import re
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, Table, insert
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError, StatementError, TimeoutError

from hedgerow.errors import (
    ConflictError,
    HedgerowError,
    NotThereError,
    StoreBusyError,
    StoreError,
    raise_alone,
)
from hedgerow.service.store.leases import Leases
from hedgerow.service.store.schema import SECRETS
from hedgerow.system import alone_with

ROOM = 2**20
"""Bytes of a rehearsal."""

Insert = postgresql.Insert | sqlite.Insert
"""An INSERT that may say what happens if the row is there."""


class Database(ABC):
    """The operations that the store needs from a database.

    Args:
        place: Address to show in messages: without user, password and options.
        reads: Gives connections whose transactions see one state of the database.
        writes: Gives connections for transactions that write.
        wait: Seconds to wait for others' transactions.

    Attributes:
        place: Address to show in messages.
        wait: Seconds to wait for others' transactions.
        is_here: Whether a `stamp` is told without asking another process.
        leases: Leases of the data sets; None if there are no servers to divide them.
    """

    is_here: bool
    leases: Leases | None = None

    def __init__(self, place: str, reads: Engine, writes: Engine, wait: float) -> None:
        """Open no connection yet."""
        self.place = place
        self.wait = wait
        self._reads = reads
        self._writes = writes

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database.

        Raises:
            StoreError: See `translating`.
        """
        with translating(self.place), self._reads.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on the disk when this ends, or leaves nothing behind.

        If the connection breaks while it is committed, `StoreError` is raised although it may be there.

        Raises:
            StoreError: See `translating`.
        """
        with translating(self.place), self._turn(), self._writes.begin() as connection:
            yield connection

    def insert(self, table: Table) -> Insert:
        """An INSERT in the dialect of this database."""
        return postgresql.insert(table) if self._writes.dialect.name == "postgresql" else sqlite.insert(table)

    @abstractmethod
    def alone(self, number: int, unit: str, *, wait: float) -> AbstractContextManager[None]:
        """Keep other threads and processes away from a data set; ends with the process, however it ends.

        Args:
            number: Number of the data set.
            unit: Data sets that one server works for together.
            wait: Seconds to wait.

        Raises:
            ElsewhereError: Another server works for it.
            StoreBusyError: Another thread or process holds it for longer.
        """

    def fence(self, number: int) -> Mapping[str, Any] | None:
        """Values of the condition that commits about a data set have; None if there is none."""
        return None if self.leases is None else self.leases.fence(number)

    @abstractmethod
    def stamp(self) -> Hashable:
        """A value that changes whenever anything is committed, by any process: what was read at it still holds.

        Raises:
            StoreError: See `translating`.
        """

    @abstractmethod
    def audit_stamp(self) -> Hashable:
        """A value that changes with every entry of the audit log.

        Raises:
            StoreError: See `translating`.
        """

    @abstractmethod
    def preparing(self) -> AbstractContextManager[Connection]:
        """A writing transaction for the tables themselves; one process at a time can be in it."""

    def keep_room(self) -> None:  # noqa: B027 - most databases give a transaction the room of rows that it replaces
        """Make sure that rows may be replaced in the room that committed ones take on the disk.

        Raises:
            StoreError: See `translating`.
        """

    def unhurried(self, connection: Connection) -> None:  # noqa: B027 - SQLite has no such limit
        """Let a transaction wait between two statements for as long as it likes."""

    def number_on(self, connection: Connection) -> None:  # noqa: B027 - SQLite numbers from the largest there is
        """Let rows be numbered from the largest number on, after rows with numbers were written.

        Args:
            connection: The transaction that wrote them.
        """

    def busy(self) -> StoreBusyError:
        """The error for a lock that is not free in time."""
        return StoreBusyError(
            "another process has held the lock for too long", remedy="try again in a moment", place=self.place
        )

    def rehearse(self) -> None:
        """Write a mebibyte, and take it back.

        Raises:
            StoreError: It may not be written, or has no room; see `translating`.
        """
        with translating(self.place), self._turn(), self._writes.begin() as connection:
            connection.execute(insert(SECRETS), {"name": "rehearsal", "value": os.urandom(ROOM)})
            connection.rollback()

    @abstractmethod
    def size(self) -> int:
        """Bytes that it takes on the disk.

        Raises:
            StoreError: See `translating`.
        """

    def close(self) -> None:
        """Close idle connections."""
        self._writes.dispose()

    def _turn(self) -> AbstractContextManager[object]:
        """A lock to take before a transaction that writes."""
        return nullcontext()


Failure = tuple[type[StoreError], str, str]
"""A kind of error, what is wrong, and what can be done about it."""

_FULL: Failure = (StoreError, "the disk of the store is full", "make room on it, then try again")
_BUSY: Failure = (StoreBusyError, "another process has been writing to the store for too long", "try again in a moment")
_READ_ONLY: Failure = (
    StoreError,
    "the store is read-only",
    "let the server's user write to the database, and to its folder if it is a file",
)
_DAMAGED: Failure = (
    StoreError,
    "the store is damaged",
    "check its disk. An older copy of the store does not know what was spent since: read it, but do not ask it",
)

_SQLITE: dict[int, Failure] = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: (
        StoreError,
        "the store cannot be opened",
        "give the path of a file in an existing folder that the server's user may write to",
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreError,
        "the file is not an SQLite database",
        "give another path; a new database is made if there is no file",
    ),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_IOERR: (
        StoreError,
        "the disk of the store fails, or is full",
        "make room on the disk, or check it, then try again",
    ),
}
"""Failures by SQLite's primary result code."""

_POSTGRESQL: dict[str, Failure] = {
    "55P03": _BUSY,
    "57014": _BUSY,
    "40001": _BUSY,
    "40P01": _BUSY,
    "53300": (StoreBusyError, "the database has too many connections", "try again, or let it have more connections"),
    "53100": _FULL,
    "25006": (StoreError, "the database may only be read", "give the address of the primary server"),
    "42501": (StoreError, "the database refuses this role", "grant it the right to make and write tables"),
    "3D000": (StoreError, "there is no such database", "create it, or check its name"),
    "28000": (StoreError, "the database refuses this role", "check user, password and pg_hba.conf"),
    "28P01": (StoreError, "the database refuses this user or password", "check user, password and pg_hba.conf"),
    "XX001": _DAMAGED,
}
"""Failures by SQLSTATE."""

_UNWELCOME = re.compile("authentication failed|no password supplied|no pg_hba.conf entry")
_GONE: Failure = (
    StoreError,
    "the database cannot be reached",
    "see whether it runs and is reached from here (psql with the same address), then try again",
)
_OTHER: Failure = (StoreError, "the store failed", "see the log of the database; its own message is withheld here")

_TAKEN = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, "23505"}
_MISSING = {sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, "23503"}


@contextmanager
def translating(place: str) -> Iterator[None]:
    """Raise an error of ours, alone, in place of one of the database or of SQLAlchemy.

    Args:
        place: The store, as messages may show it.

    Raises:
        StoreBusyError: It is locked for too long, or all connections are taken.
        StoreError: It fails otherwise.
        ConflictError: A row that must be unique exists already.
        NotThereError: A row refers to one that is not there.

    Example:
        >>> from sqlalchemy import NullPool, create_engine, text
        >>> with translating("my store"), create_engine("sqlite://", poolclass=NullPool).connect() as connection:
        ...     _ = connection.execute(text("SELECT secret FROM nothing"))
        Traceback (most recent call last):
            ...
        hedgerow.errors.StoreError: my store: the store failed
          Remedy: see the log of the database; its own message is withheld here
    """
    try:
        yield
    except SQLAlchemyError as error:
        raise_alone(translated(error, place))


def translated(error: SQLAlchemyError, place: str) -> HedgerowError:
    """The error to raise in place of a database's.

    Example:
        >>> print(translated(TimeoutError("a secret"), "my store"))
        my store: all connections to the database have been in use for too long
          Remedy: try again in a moment
    """
    if isinstance(error, IntegrityError) and _code(error) in _TAKEN:
        return ConflictError("it exists already", remedy="choose another name, or use the existing one")
    if isinstance(error, IntegrityError) and _code(error) in _MISSING:
        return NotThereError("it refers to a person, a data set or a request that does not exist")
    if isinstance(error, StatementError) and isinstance(error.orig, HedgerowError):
        return error.orig
    kind, message, remedy = _failure(error)
    return kind(message, remedy=remedy, place=place)


def _failure(error: SQLAlchemyError) -> Failure:
    if isinstance(error, TimeoutError):
        return StoreBusyError, "all connections to the database have been in use for too long", "try again in a moment"
    code = _code(error)
    if isinstance(code, int):
        return _SQLITE.get(code & 0xFF, _OTHER)
    if code is not None:
        return _POSTGRESQL.get(code, _GONE if code[:2] in {"08", "57"} else _FULL if code[:2] == "53" else _OTHER)
    if not (isinstance(error, DBAPIError) and isinstance(error.orig, psycopg.OperationalError)):
        return _OTHER
    # who is refused while connecting has no SQLSTATE from psycopg, and only the words of the server
    return _POSTGRESQL["28P01"] if _UNWELCOME.search(str(error.orig)) else _GONE


def _code(error: SQLAlchemyError) -> int | str | None:
    """SQLite's extended result code, or PostgreSQL's SQLSTATE; None where nothing was heard of the server."""
    original = getattr(error, "orig", None)
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorcode", None)
    return original.sqlstate if isinstance(original, psycopg.Error) else None


@contextmanager
def alone_within(path: str | os.PathLike[str], wait: float, *, longest_pause: float = 0.02) -> Iterator[bool]:
    """Lock a file against other processes, and wait while one of them has the lock.

    Args:
        path: The file; see `alone_with`.
        wait: Seconds to wait for others.
        longest_pause: Seconds between two attempts, at most.

    Yields:
        Whether it is locked.
    """
    end, pause = time.monotonic() + wait, 0.001
    while True:
        with alone_with(path) as alone:
            if alone or time.monotonic() >= end:
                yield alone
                return
        time.sleep(pause)
        pause = min(2 * pause, longest_pause)
