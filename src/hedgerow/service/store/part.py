"""The base of the store's parts: transactions that extend hash chains, records from rows, entries of the audit log."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar, final

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from hedgerow.service.store.anchor import Anchor
from hedgerow.service.store.database import Database, Insert
from hedgerow.service.store.entries import Point
from hedgerow.service.store.schema import AUDIT, CHAINS, DATA_SETS, GRANTS, PEOPLE
from hedgerow.system import link

_Record = TypeVar("_Record")

Reached = Callable[[str], None]
"""Called at named steps of a session's commits, also inside transactions, before they are committed."""

AUDIT_LOG = "audit"
"""Name of the chain of the audit log."""

_HEAD = select(CHAINS.c.head).where(CHAINS.c.name == AUDIT_LOG).with_for_update()
_ENTRY = insert(AUDIT).returning(AUDIT.c.id)
_MOVED = update(CHAINS).where(CHAINS.c.name == AUDIT_LOG).values(last=bindparam("now_last"), head=bindparam("now_head"))
_NAME_OF_PERSON = select(PEOPLE.c.name).where(PEOPLE.c.id == bindparam("person"))


def nowhere(_step: str) -> None:
    """Ignore a step; a harness that kills the process at one of them gives its own function."""


@final
@dataclass
class Writing:
    """A writing transaction, and the points to which it extends hash chains.

    Attributes:
        connection: The transaction's connection.
        ledgers: Ledgers of data sets, by the numbers of these.
        audit: The audit log; None if it does not move.
    """

    connection: Connection
    ledgers: dict[int, Point] = field(default_factory=dict)
    audit: Point | None = None


class Part:
    """A part of the store's methods.

    Args:
        database: Database of the tables.
        reached: See `Reached`.
        anchor: File that follows the hash chains outside the store, or None.
        quota: Bytes that the questions of a person about a data set may add, unless a custodian said otherwise.
    """

    def __init__(self, database: Database, reached: Reached, *, anchor: Anchor | None, quota: int) -> None:
        """Open no connection yet."""
        self._database = database
        self._reached = reached
        self._anchor = anchor
        self.quota = quota
        self._known: dict[int, str] = {}

    @cached_property
    def _more(self) -> Insert:
        """The statement that adds to what people have used; made once: that takes as long as its execution."""
        grants = self._database.insert(GRANTS)
        more = {name: GRANTS.c[name] + grants.excluded[name] for name in ("asked", "spent", "stored")}
        return grants.on_conflict_do_update(index_elements=[GRANTS.c.data_set, GRANTS.c.person], set_=more)

    @contextmanager
    def _writing(self) -> Iterator[Writing]:
        """Begin a transaction that may extend hash chains; when this ends, the anchor covers it.

        Raises:
            StoreError: See `Database.writing`; or the anchor cannot be written, and what was committed must not leave.
        """
        with self._database.writing() as connection:
            writing = Writing(connection)
            yield writing
        if self._anchor is not None and (writing.ledgers or writing.audit is not None):
            self._reached("uncovered")
            ledgers = {self._name(number): point for number, point in writing.ledgers.items()}
            self._anchor.cover(ledgers, writing.audit)

    def _name(self, data_set: int) -> str:
        """Name of an existing data set; names never change."""
        if data_set not in self._known:
            with self._database.reading() as connection:
                wanted = select(DATA_SETS.c.name).where(DATA_SETS.c.id == data_set)
                self._known[data_set] = connection.execute(wanted).scalar_one()
        return self._known[data_set]


def record_of(kind: type[_Record], row: RowMapping, **more: Any) -> _Record:
    """A frozen record from the columns of a row that are called like its fields.

    Args:
        kind: Class of the record.
        row: The row.
        **more: Fields that the row does not hold, or not in this form.
    """
    names = {each.name for each in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: row[name] for name in names & row.keys()} | more)


def now() -> datetime:
    """The time in UTC.

    Example:
        >>> str(now().tzinfo)
        'UTC'
    """
    return datetime.now(UTC)


def audited(
    writing: Writing, person: int | None, action: str, subject: str, details: Mapping[str, Any] | None = None
) -> None:
    """Note in a transaction who did something; this comes last in it, as others wait for it to end.

    Args:
        writing: The transaction.
        person: Number of the person; None for the server itself.
        action: Name of the action.
        subject: Object of the action.
        details: Further public values.
    """
    connection = writing.connection
    at, told = now(), dict(details or {})
    name = None if person is None else connection.scalar(_NAME_OF_PERSON, {"person": person})
    head = link(connection.execute(_HEAD).scalar_one(), public_entry(at, name, action, subject, told))
    row = {"at": at, "person": person, "action": action, "subject": subject, "details": told, "link": head}
    number = connection.scalar(_ENTRY, row)
    connection.execute(_MOVED, {"now_last": number, "now_head": head})
    writing.audit = Point(int(number or 0), head)


def public_entry(
    at: datetime, person: str | None, action: str, subject: str, details: Mapping[str, Any]
) -> dict[str, Any]:
    """An entry of the audit log as in its hash chain and in the API.

    Args:
        at: Time of the action.
        person: Name of the person; None for the server itself.
        action: Name of the action.
        subject: Object of the action.
        details: Further public values.

    Example:
        >>> public_entry(datetime(2030, 1, 1, tzinfo=UTC), "ada", "close", "adult", {})["at"]
        '2030-01-01T00:00:00Z'
    """
    moment = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return {"at": moment, "person": person, "action": action, "subject": subject, "details": dict(details)}
