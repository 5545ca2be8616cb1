"""The store: everything that the server must still know after a restart; opening it brings its tables up to date."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Hashable, Sequence
from pathlib import Path
from typing import Final, Self

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, delete, insert, inspect, select

from hedgerow.errors import StoreError
from hedgerow.service.store.anchor import Anchor
from hedgerow.service.store.database import Database
from hedgerow.service.store.lists import Lists
from hedgerow.service.store.people import QUOTA, People
from hedgerow.service.store.postgresql import PostgreSQLDatabase
from hedgerow.service.store.repository import Reached, audited, nowhere
from hedgerow.service.store.schema import DATA_SETS, METADATA, PEOPLE, VERSION_TABLE
from hedgerow.service.store.sessions import Sessions
from hedgerow.service.store.sqlite import SQLiteDatabase
from hedgerow.version import __version__

_SQLITE = "sqlite:///"
_AT_A_TIME = 100
"""Rows that are copied at once: models and findings are large."""


class Store(People, Sessions, Lists):
    """People, data sets, sessions, answers and who did what, in one database; safe for threads and processes.

    When a method returns, what it wrote is on the disk; when it raises, nothing of it is there. One case is in between:
    if a connection to PostgreSQL breaks during a commit, `StoreError` is raised, and only reading tells the outcome.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = Store.open(f"{folder}/store.db")
        ...     _ = store.add_person("ada", "custodian", by=None)
        ...     [person.name for person in store.people()], [entry.action for entry in store.audit()]
        ...     store.close()
        (['ada'], ['add person'])
    """

    @classmethod
    def open(
        cls,
        address: str | os.PathLike[str],
        *,
        wait: float = 5.0,
        reached: Reached = nowhere,
        anchor: Anchor | None = None,
        quota: int = QUOTA,
        as_it_is: bool = False,
    ) -> Self:
        """Open a store; its tables are made, or upgraded from an earlier version.

        Args:
            address: ``sqlite:///path``, a path, or ``postgresql://user@host/database``.
            wait: Seconds to wait for others' transactions.
            reached: Called at named steps inside transactions, before they are committed.
            anchor: File outside the store that follows every commit; see `hold_to`, which compares the two.
            quota: Bytes that the questions of a person about a data set may add, unless a custodian said otherwise.
            as_it_is: Refuse an earlier version, which a server may be using, in place of upgrading it.

        Raises:
            StoreError: It cannot be opened, or a newer version made it.
        """
        database = _database(os.fspath(address), wait)
        try:
            migrate(database, only_check=as_it_is)
        except BaseException:
            database.close()
            raise
        return cls(database, reached, anchor=anchor, quota=quota)

    def rehearse(self) -> None:
        """Check that what a question needs can be written: the database, which keeps nothing of it, and the anchor.

        Raises:
            StoreError: The database does not answer, may not be written or is full; or the anchor cannot be written.
        """
        self._database.rehearse()
        if self._anchor is not None:
            self._anchor.cover({}, None)

    def size(self) -> int:
        """Bytes that the store takes on the disk."""
        return self._database.size()

    def copy_to(self, target: Store, *, closing: Collection[str] | None = None) -> int:
        """Copy everything into an empty store, as it is at one moment, in one transaction.

        Args:
            target: The store; of either kind.
            closing: Names of data sets that are closed permanently there, which its audit log notes; None for a copy
                that is the same to the last entry.

        Returns:
            Number of rows.

        Raises:
            StoreError: The other store is not empty, or one of them fails.
        """
        number = 0
        with self._database.reading() as reading, target._writing() as writing:
            into = writing.connection
            self._database.unhurried(reading)
            target._database.unhurried(into)
            if any(into.execute(select(table).limit(1)).first() for table in (PEOPLE, DATA_SETS)):
                raise StoreError("the store is not empty", remedy="give the address of a new one")
            for table in METADATA.sorted_tables:
                into.execute(delete(table))  # what a new store begins with
                rows = reading.execution_options(yield_per=_AT_A_TIME).execute(select(table)).mappings()
                for some in rows.partitions():
                    into.execute(insert(table), [dict(row) for row in some])
                    number += len(some)
            target._database.number_on(into)
            if closing is not None:
                for name, id in into.execute(select(DATA_SETS.c.name, DATA_SETS.c.id)).all():
                    if name in closing:
                        target.close_within(writing, id, by=None)
                audited(writing, None, "restore store", "store", {"closed": sorted(closing)})
        return number

    @property
    def is_here(self) -> bool:
        """Whether a `stamp` is told without asking another process."""
        return self._database.is_here

    def stamp(self) -> Hashable:
        """A value that changes whenever anything is committed, by any process.

        Raises:
            StoreError: The database does not answer.
        """
        return self._database.stamp()

    def close(self) -> None:
        """Close its connections."""
        self._database.close()


def _database(address: str, wait: float) -> Database:
    scheme, mark, _ = address.partition(":")
    if mark and scheme.lower() in {"postgresql", "postgres"}:
        return PostgreSQLDatabase(f"postgresql{address[len(scheme) :]}", wait)
    path = address.removeprefix(_SQLITE)
    if not path or path == ":memory:" or "://" in path:
        raise StoreError(
            "the address of the store names neither a file nor a PostgreSQL database",
            remedy="write sqlite:///folder/file.db, or a path, or postgresql://user@host/database",
        )
    return SQLiteDatabase(Path(path), wait)


LOCATION: Final = "hedgerow.service:migrations"
"""Place of the revisions: inside the installed package."""

_ONE_AT_A_TIME = threading.Lock()  # Alembic keeps what it works on in its modules


def upgrade(address: str, *, dry_run: bool, wait: float = 5.0) -> list[str]:
    """Bring the tables of a store up to date.

    Args:
        address: See `Store.open`.
        dry_run: Whether all is taken back at the end.
        wait: Seconds to wait for others' transactions.

    Returns:
        The steps, in words.

    Raises:
        StoreError: See `migrate`.
    """
    database = _database(address, wait)
    try:
        return migrate(database, dry_run=dry_run)
    finally:
        database.close()


def migrate(database: Database, *, only_check: bool = False, dry_run: bool = False) -> list[str]:
    """Make the tables, or upgrade them, in one transaction, by one process at a time.

    Args:
        database: Their database.
        only_check: Make and upgrade nothing.
        dry_run: Take all of it back at the end.

    Returns:
        The steps, in words.

    Raises:
        StoreError: A newer version made them, or the database holds other tables by these names; or they are of an
            earlier version, and nothing is to be upgraded.
    """
    with _ONE_AT_A_TIME, database.preparing() as connection:
        config = Config()
        config.set_main_option("script_location", LOCATION)
        script = ScriptDirectory.from_config(config)
        found = current(connection)
        _check(database.place, found, {revision.revision for revision in script.walk_revisions()}, connection)
        steps = script.iterate_revisions("heads", tuple(found) or "base")
        pending = [each for each in steps if each.revision not in found]
        if pending and only_check:
            raise StoreError(
                f"{database.place}: an earlier version of hedgerow made this store, or none did",
                remedy="start the server of this version once: that carries the store forward",
            )
        if pending:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
        if dry_run:
            connection.rollback()
    return [f"{each.revision}: {(each.doc or '').partition(chr(10))[0]}" for each in reversed(pending)]


def current(connection: Connection) -> Sequence[str]:
    """The revision of the tables; none in a new database.

    Example:
        >>> from sqlalchemy import NullPool, create_engine
        >>> with create_engine("sqlite://", poolclass=NullPool).connect() as connection:
        ...     current(connection)
        []
    """
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return list(context.get_current_heads())


def _check(place: str, found: Sequence[str], known: set[str], connection: Connection) -> None:
    if not known.issuperset(found):
        raise StoreError(
            f"{place}: a newer version of hedgerow made this store; this is {__version__}",
            remedy="install a newer hedgerow",
        )
    others = METADATA.tables.keys() & set(inspect(connection).get_table_names()) if not found else ()
    if others:
        raise StoreError(
            f"{place}: other software has tables named {', '.join(sorted(others))} there",
            remedy="give the store a database of its own",
        )
