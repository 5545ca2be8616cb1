"""How far the hash chains of a store have come, and whether its rows are those that were written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, select

from hedgerow.errors import DamagedStoreError, NotThereError
from hedgerow.service.store.entries import Point
from hedgerow.service.store.lists import ENTRIES
from hedgerow.service.store.part import AUDIT_LOG, Part, audited, public_entry
from hedgerow.service.store.schema import AUDIT, CHAINS, DATA_SETS, SESSIONS
from hedgerow.service.store.steps import CHANGED_REMEDY, LEDGER, SESSION, checked_events
from hedgerow.system import head_of, link, start_of

_AT_A_TIME = 1000


class Chains(Part):
    """Links of ledgers and of the audit log."""

    def points(self) -> dict[str, Point]:
        """How far the ledgers of all data sets are, by name; nothing is checked."""
        columns = (DATA_SETS.c.name, SESSIONS.c.events, SESSIONS.c.head, SESSIONS.c.version)
        with self._database.reading() as connection:
            rows = connection.execute(select(*columns).join_from(DATA_SETS, SESSIONS)).all()
        return {row.name: Point(row.events, row.head, row.version) for row in rows}

    def audit_point(self) -> Point:
        """How far the audit log is; nothing is checked."""
        with self._database.reading() as connection:
            row = connection.execute(select(CHAINS).where(CHAINS.c.name == AUDIT_LOG)).one()
        return Point(row.last, row.head)

    def ledger_link(self, data_set: int, count: int) -> str:
        """The link that a ledger has after some events, made anew from them.

        Args:
            data_set: Number of the data set.
            count: How many events, from the first.

        Raises:
            NotThereError: There is no such data set.
            DamagedStoreError: The events are not those that were written.
        """
        with self._database.reading() as connection:
            session = connection.execute(SESSION, {"of": data_set}).first()
            if session is None:
                raise NotThereError("there is no such data set", remedy="see the list of data sets")
            events = checked_events(connection, session)
        return head_of(start_of(LEDGER, session.fixed), (event.to_dict() for event in events[:count]))

    def check_audit(self) -> None:
        """See whether the audit log is as it was written.

        Raises:
            DamagedStoreError: An entry was changed, left out or moved.
        """
        self.audit_link(0)

    def audit_link(self, number: int) -> str | None:
        """The link that the audit log has at an entry, made anew; all of the log is checked.

        Args:
            number: The entry's number; 0 for before the first.

        Returns:
            None if there is no such entry.

        Raises:
            DamagedStoreError: An entry was changed, left out or moved after it was written.
        """
        head, last = start_of(AUDIT_LOG, {}), 0
        found = head if number == 0 else None
        with self._database.reading() as connection:
            told = connection.execute(select(CHAINS).where(CHAINS.c.name == AUDIT_LOG)).first()
            for last, at, person, action, subject, details, linked in _entries(connection):
                head = link(head, public_entry(at, person, action, subject, details))
                if head != linked:
                    raise DamagedStoreError(
                        f"the audit log was changed after it was written: entry {last} is not the one that was written",
                        remedy=CHANGED_REMEDY,
                    )
                found = head if last == number else found
        if told is None or (told.last, told.head) != (last, head):
            raise DamagedStoreError(
                "the audit log was changed after it was written: entries are missing at its end", remedy=CHANGED_REMEDY
            )
        return found

    def note_acceptance(self, details: dict[str, object]) -> None:
        """Note in the audit log that a store was gone on with although its anchor knows another one.

        Args:
            details: What was expected, and what was done.
        """
        with self._writing() as writing:
            audited(writing, None, "accept store", "store", details)


def _entries(connection: Connection) -> Iterator[Any]:
    """The audit log, oldest entry first; never all of it in memory."""
    last = 0
    while rows := connection.execute(ENTRIES.where(AUDIT.c.id > last).order_by(AUDIT.c.id).limit(_AT_A_TIME)).all():
        yield from rows
        last = rows[-1].id
