"""What databases say of failures, as errors of ours: with a remedy, without SQL, parameters and passwords."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError, StatementError, TimeoutError

from hedgerow.errors import ConflictError, HedgerowError, NotThereError, StoreBusyError, StoreError, raise_alone

Failure = tuple[type[StoreError], str, str]
"""A kind of error, what is wrong, and what can be done about it."""

_FULL: Failure = (StoreError, "there is no room left for the store", "make room on its disk, then try again")
_BUSY: Failure = (StoreBusyError, "another process is writing to the store for too long", "try again in a moment")
_READ_ONLY: Failure = (
    StoreError,
    "the store may not be written",
    "let the server's user write to the database, and to its folder if it is a file",
)
_DAMAGED: Failure = (
    StoreError,
    "the store is damaged",
    "check its disk. An older copy of the store does not know what was spent since: read it, but do not ask from it",
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
        "give the path of a file in a folder that is there and that the server's user may write to",
    ),
    sqlite3.SQLITE_NOTADB: (
        StoreError,
        "the file is not a database of SQLite",
        "give another path; a new database is made where there is no file",
    ),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_IOERR: (
        StoreError,
        "the disk of the store fails, or there is no room left on it",
        "make room on the disk, or check it, then try again",
    ),
}
"""By SQLite's primary result code."""

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
    "28P01": (StoreError, "the database refuses this password", "check user, password and pg_hba.conf"),
    "XX001": _DAMAGED,
}
"""By SQLSTATE."""

_GONE: Failure = (
    StoreError,
    "the database cannot be reached",
    "see whether it runs and is reached from here (psql with the same address), then try again",
)
_OTHER: Failure = (StoreError, "the store failed", "see the log of the database; its own message is withheld here")

_TAKEN = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, "23505"}
_MISSING = {sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, "23503"}


@contextmanager
def told(place: str) -> Iterator[None]:
    """Raise an error of ours, alone, in place of what a database or SQLAlchemy raises.

    Args:
        place: The store, as messages may show it.

    Raises:
        StoreBusyError: It is locked for too long, or all connections are taken.
        StoreError: It fails otherwise.
        ConflictError: What should be unique is there already.
        NotThereError: A row refers to one that is not there.

    Example:
        >>> from sqlalchemy import create_engine, text
        >>> with told("my store"), create_engine("sqlite://").connect() as connection:
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
    """What to raise in its place.

    Example:
        >>> print(translated(TimeoutError("a secret"), "my store"))
        my store: all connections to the database are taken for too long
          Remedy: try again in a moment
    """
    if isinstance(error, IntegrityError) and _code(error) in _TAKEN:
        return ConflictError("it is there already", remedy="take another name, or read what is there")
    if isinstance(error, IntegrityError) and _code(error) in _MISSING:
        return NotThereError("it is about a person, a data set or a request that is not there")
    if isinstance(error, StatementError) and isinstance(error.orig, HedgerowError):
        return error.orig
    kind, message, remedy = _failure(error)
    return kind(message, remedy=remedy, place=place)


def _failure(error: SQLAlchemyError) -> Failure:
    if isinstance(error, TimeoutError):
        return StoreBusyError, "all connections to the database are taken for too long", "try again in a moment"
    code = _code(error)
    if isinstance(code, int):
        return _SQLITE.get(code & 0xFF, _OTHER)
    if code is not None:
        return _POSTGRESQL.get(code, _GONE if code[:2] in {"08", "57"} else _FULL if code[:2] == "53" else _OTHER)
    gone = isinstance(error, DBAPIError) and isinstance(error.orig, psycopg.OperationalError)
    return _GONE if gone else _OTHER


def _code(error: SQLAlchemyError) -> int | str | None:
    """SQLite's extended result code, or PostgreSQL's SQLSTATE; None where nothing was heard of the server."""
    original = getattr(error, "orig", None)
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorcode", None)
    return original.sqlstate if isinstance(original, psycopg.Error) else None
