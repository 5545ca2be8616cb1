"""What all parts of the store share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, insert

from hedgerow.service.database import Database
from hedgerow.service.schema import AUDIT

Reached = Callable[[str], None]
"""Told at named steps of the order in which a session goes on, also inside transactions, before they are committed."""


def nowhere(_step: str) -> None:
    """What is called at these steps; a harness that kills the process at one of them gives its own."""


class Part:
    """Some of the store's methods.

    Args:
        database: Where the tables are.
        reached: See `Reached`.
    """

    def __init__(self, database: Database, reached: Reached) -> None:
        """Open no connection yet."""
        self._database = database
        self._reached = reached


def now() -> datetime:
    """The time in UTC.

    Example:
        >>> str(now().tzinfo)
        'UTC'
    """
    return datetime.now(UTC)


def audited(
    connection: Connection, person: int | None, action: str, subject: str, details: Mapping[str, Any] | None = None
) -> None:
    """Note in the transaction that does something who did it.

    Args:
        connection: Of the transaction.
        person: Who; None for the server itself.
        action: What.
        subject: To what.
        details: More of it; public values.
    """
    entry = {"at": now(), "person": person, "action": action, "subject": subject, "details": dict(details or {})}
    connection.execute(insert(AUDIT), entry)


def without(row: RowMapping, *names: str) -> dict[str, Any]:
    """A row's other columns."""
    return {name: value for name, value in row.items() if name not in names}
