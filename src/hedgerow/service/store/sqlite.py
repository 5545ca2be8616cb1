"""A store in an SQLite file: write-ahead log, every commit on the disk, readable by its owner alone."""

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, inspect
from sqlalchemy.exc import DBAPIError

from hedgerow.errors import StoreBusyError, StoreError
from hedgerow.service.store.database import ROOM, Database, alone_within, translating
from hedgerow.service.store.schema import LAST_AUDITED, VERSION_TABLE, to_json

_CONNECTIONS = 40  # as many as a server has threads that work for requests
_BEGIN = "hedgerow_begin"
_OLDEST = (3, 35)  # knows RETURNING


class SQLiteDatabase(Database):
    """One file, for the processes of one machine.

    Args:
        path: The file; it is made if it is not there, and only its owner may read it (mode 0600).
        wait: Seconds to wait for others' transactions.

    Raises:
        StoreError: It is a folder, or in none, or read-only; or SQLite is too old.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     database = SQLiteDatabase(Path(folder, "store.db"), 5.0)
        ...     database.size()
        ...     database.close()
        0
    """

    is_here = True

    def __init__(self, path: Path, wait: float) -> None:
        """Make the file."""
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreError(
                f"this Python has SQLite {sqlite3.sqlite_version}, and the store needs 3.35",
                remedy="use a newer SQLite, or PostgreSQL",
            )
        self._path = _made(path)
        self._writer = threading.Lock()
        self._watching = threading.Lock()
        self._watch: _Watch | None = None
        self._told: dict[str, tuple[int, Hashable]] = {}
        engine = create_engine(
            URL.create("sqlite", database=str(self._path)),
            connect_args={"timeout": wait, "check_same_thread": False},
            pool_size=_CONNECTIONS,
            pool_timeout=wait,
            json_serializer=to_json,
            hide_parameters=True,
        )
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
        self._bare = engine.execution_options(**{_BEGIN: ""})
        super().__init__(str(path), engine, engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"}), wait)

    @contextmanager
    def alone(self, number: int, unit: str, *, wait: float) -> Iterator[None]:
        """Lock a file beside the database."""
        with self._locked(str(number), wait):
            yield

    def stamp(self) -> Hashable:
        """The version of the data as a connection sees it that never writes: SQLite counts what the others commit."""
        return self._watched("PRAGMA data_version")

    def audit_stamp(self) -> Hashable:
        """Number of the log's last entry, by the same connection."""
        return self._watched(LAST_AUDITED)

    def _watched(self, statement: str) -> Hashable:
        """What a statement tells; threads that wait are told by one reading that began after they came."""
        came = time.monotonic_ns()
        with self._watching:
            began, told = self._told.get(statement, (0, None))
            if began > came:
                return told
            try:
                if self._watch is None:
                    self._watch = _Watch(self._path)
                began = time.monotonic_ns()
                self._told[statement] = began, self._watch.read(statement)
                return self._told[statement][1]
            except sqlite3.Error:  # then nothing that was read before is trusted
                self._end_watch()
                return object()

    def close(self) -> None:
        """Close idle connections."""
        super().close()
        with self._watching:
            self._end_watch()

    def _end_watch(self) -> None:
        self._told.clear()
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def rehearse(self) -> None:
        """Write a mebibyte, and take it back: beyond a few pages it goes into the write-ahead log, where room ends."""
        with translating(self.place), self._turn(), closing(sqlite3.connect(self._path, self.wait)) as alone:
            try:
                alone.execute("PRAGMA cache_size=8")
                alone.execute("INSERT INTO secrets VALUES ('rehearsal', randomblob(?))", (ROOM,))
                alone.rollback()
            except sqlite3.Error as error:
                raise DBAPIError(None, None, error) from None

    def size(self) -> int:
        """Bytes of the file and of its write-ahead log."""
        log = self._path.with_name(f"{self._path.name}-wal")
        return sum(each.stat().st_size for each in (self._path, log) if each.exists())

    def keep_room(self) -> None:
        """Copy the write-ahead log into the file: the log then begins again in the room that it takes already."""
        with translating(self.place), self._turn(), self._bare.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def preparing(self) -> Iterator[Connection]:
        """Switch to the write-ahead log, which others must not do meanwhile."""
        with self._locked("opening", self.wait):
            self._switch()
            with self.writing() as connection:
                yield connection

    @contextmanager
    def _locked(self, name: str, wait: float) -> Iterator[None]:
        with alone_within(f"{self._path}.{name}", wait) as alone:
            if not alone:
                raise self.busy()
            yield

    def _switch(self) -> None:
        with translating(self.place), self._bare.connect() as connection:
            names = inspect(connection).get_table_names()
            if names and VERSION_TABLE not in names:
                raise StoreError(
                    f"{self.place}: this database belongs to other software", remedy="give the path of a new file"
                )
            _close_to_others(self._path)
            mode = connection.exec_driver_sql("PRAGMA journal_mode=WAL").scalar()
        if mode != "wal":
            raise StoreError(
                f"{self.place}: SQLite cannot keep a write-ahead log here",
                remedy="put the store on a disk of this machine, or use PostgreSQL",
            )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Threads queue here: SQLite itself would let them sleep and try again."""
        if not self._writer.acquire(timeout=self.wait):
            raise StoreBusyError("too many writes are waiting", remedy="try again in a moment", place=self.place)
        try:
            yield
        finally:
            self._writer.release()


class _Watch:
    """A connection that never writes and never waits; what it counts is its own."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
        self._mark = object()
        self.close = self._connection.close

    def read(self, statement: str) -> Hashable:
        return self._mark, *self._connection.execute(statement).fetchone()


def _on_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver thinks they should
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _on_begin(connection: Connection) -> None:
    """Take the lock for writing at once: who reads first and then writes can be refused in the middle."""
    begin = connection.get_execution_options().get(_BEGIN, "BEGIN")
    if begin:
        connection.exec_driver_sql(begin)


def _made(path: Path) -> Path:
    """Make the file for its owner alone, and return its path with all links followed: links share its locks."""
    try:
        path = path.resolve()
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except (OSError, ValueError, RuntimeError) as error:  # a zero character; links that go round
        raise StoreError(
            f"{path}: the store cannot be opened: {getattr(error, 'strerror', None) or 'no file has such a path'}",
            remedy="give the path of a file in an existing folder that the server's user may write to",
        ) from error
    return path


def _close_to_others(path: Path) -> None:
    """Take others' rights to a store that was copied here, or made by hand; SQLite gives files beside it the same."""
    for each in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        try:
            if stat.S_IMODE(each.stat().st_mode) & 0o077:
                each.chmod(0o600)
        except FileNotFoundError:
            continue
        except OSError as error:
            remedy = "let the server's user own it, or take away the rights of others (chmod 600)"
            raise StoreError(f"{each}: users other than the server's may read the store", remedy=remedy) from error
