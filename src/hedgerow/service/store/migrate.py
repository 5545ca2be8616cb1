"""Bringing the tables of a store to the revision that this version knows."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from hedgerow.errors import StoreError
from hedgerow.service.store.database import Database
from hedgerow.service.store.schema import METADATA, VERSION_TABLE
from hedgerow.version import __version__

LOCATION: Final = "hedgerow.service:migrations"
"""Where the revisions are: inside the installed package."""

_ONE_AT_A_TIME = threading.Lock()  # Alembic keeps what it works on in its modules


def migrate(database: Database) -> None:
    """Make the tables, or carry them forward; all of it in one transaction, by one process at a time.

    Raises:
        StoreError: A newer version made them, or the database holds tables of others by these names.
    """
    with _ONE_AT_A_TIME, database.preparing() as connection:
        config = Config()
        config.set_main_option("script_location", LOCATION)
        script = ScriptDirectory.from_config(config)
        found = current(connection)
        _check(database.place, found, {revision.revision for revision in script.walk_revisions()}, connection)
        if found != script.get_heads():
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def current(connection: Connection) -> Sequence[str]:
    """The revision of the tables; none in a new database.

    Example:
        >>> from sqlalchemy import create_engine
        >>> with create_engine("sqlite://").connect() as connection:
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
            f"{place}: there are tables of something else by the names {', '.join(sorted(others))}",
            remedy="give the store a database of its own",
        )
