"""The base of repositories: transactions that extend hash chains, records from rows, entries of the audit log."""

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from hedgerow.service.store.anchor import Anchor
from hedgerow.service.store.database import Database, Insert
from hedgerow.service.store.entries import Point
from hedgerow.service.store.schema import AUDIT, CHAINS, DATA_SETS, GRANTS, PEOPLE, SESSIONS
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


@dataclass
class Writing:
    """A writing transaction, and the points to which it extends hash chains.

    Attributes:
        connection: The transaction's connection.
        ledgers: Ledgers of data sets, by the numbers of these.
        audit: The audit log; None if it does not move.
        fence: The condition of a commit about a data set; see `Database.fence`.
    """

    connection: Connection
    fence: Callable[[int], Mapping[str, Any] | None]
    ledgers: dict[int, Point] = field(default_factory=dict)
    audit: Point | None = None


class Unchanged:
    """Readings from a database, for as long as a stamp of it stays the same; for all threads.

    Args:
        stamp: Tells the stamp: what changes the readings changes it.
        is_here: Whether that waits for no other process.
        most: Number of readings that are kept.

    Example:
        >>> stamps, found = [1, 1, 2], iter("abc")
        >>> kept = Unchanged(lambda: stamps.pop(0), is_here=True)
        >>> [kept.read("key", lambda: next(found)) for _ in range(3)]
        ['a', 'a', 'b']
    """

    def __init__(self, stamp: Callable[[], Hashable], *, is_here: bool, most: int = 4096) -> None:
        """Know nothing yet."""
        self._stamp = stamp
        self._is_here = is_here
        self._most = most
        self._kept: dict[Hashable, tuple[Hashable, Any]] = {}

    def read(self, key: Hashable, read: Callable[[], _Record]) -> _Record:
        """The reading that ``read`` finds, or found under the same key while the stamp was the same.

        Raises:
            StoreError: It cannot be read.
        """
        stamp = self._stamp()  # first: what is committed meanwhile makes it old
        kept = self._kept.get(key)
        if kept is not None and kept[0] == stamp:
            known: _Record = kept[1]
            return known
        found = read()
        if found is not None:  # else anyone could fill the memory with what is not there
            if len(self._kept) >= self._most:
                self._kept.clear()
            self._kept[key] = stamp, found
        return found

    def at_hand(self, key: Hashable) -> Any:
        """The reading under a key, if that still holds, and nothing has to be waited for to know it; else None."""
        kept = self._kept.get(key) if self._is_here else None
        return kept[1] if kept is not None and kept[0] == self._stamp() else None


class Repository:
    """A repository: the base of the store's methods.

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
        self._unchanged = Unchanged(database.stamp, is_here=database.is_here)
        self._unaudited = Unchanged(database.audit_stamp, is_here=database.is_here)

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
            writing = Writing(connection, self._database.fence)
            yield writing
        if self._anchor is not None and (writing.ledgers or writing.audit is not None):
            self._reached("uncovered")
            ledgers = {self._name(number): point for number, point in writing.ledgers.items()}
            self._anchor.cover(ledgers, writing.audit)

    def _leave(self, connection: Connection, data_set: int) -> None:
        """Let the anchor cover a data set as a transaction sees it: the commit of what was read may have failed to.

        Raises:
            StoreError: The anchor cannot be read or written: what was read must not leave.
        """
        if self._anchor is not None:
            wanted = select(DATA_SETS.c.name, SESSIONS.c.events, SESSIONS.c.head, SESSIONS.c.version)
            row = connection.execute(wanted.join(SESSIONS).where(DATA_SETS.c.id == data_set)).one()
            self._anchor.reach(row.name, Point(row.events, row.head, row.version))

    def _name(self, data_set: int) -> str:
        """Name of an existing data set; names never change, but for those of discarded ones."""
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


def queued(writing: Writing) -> None:
    """Wait until no one else is in a transaction that audits, and let no one in before this one ends.

    Args:
        writing: The transaction, which holds no other lock yet.
    """
    writing.connection.execute(_HEAD)


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
