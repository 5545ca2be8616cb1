"""What was answered, what the ledgers say, and who did what, in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping, Select, select

from hedgerow.privacy import Event
from hedgerow.service.store.entries import AuditEntry, GivenAnswer, LedgerEntry
from hedgerow.service.store.part import Part, audited
from hedgerow.service.store.schema import ANSWERS, AUDIT, EVENTS, PEOPLE
from hedgerow.service.store.sessions import ROW_OF_ANSWER

ABOUT_DATA_SETS = ("register", "close", "grant", "records")
"""Actions of the audit log whose subject is the name of a data set."""
ABOUT_TOKENS = ("add token", "revoke token")
"""Actions whose subject is the id of a token."""
ENTRIES = (
    select(AUDIT.c.id, AUDIT.c.at, PEOPLE.c.name, AUDIT.c.action, AUDIT.c.subject, AUDIT.c.details, AUDIT.c.link)
    .select_from(AUDIT)
    .outerjoin(PEOPLE)
)
"""The audit log with names of people; in no order yet."""


class Lists(Part):
    """Pages of rows, newest first; each page ends where the next begins."""

    def answered(self, request: int) -> dict[int, GivenAnswer]:
        """The answers of a request so far, by position."""
        with self._database.reading() as connection:
            rows = connection.execute(select(ANSWERS).where(ANSWERS.c.request == request)).mappings()
            return {row["position"]: _answer(row) for row in rows}

    def answers(
        self, data_set: int, *, person: int | None = None, before: int | None = None, limit: int = 100
    ) -> list[GivenAnswer]:
        """Answers about a data set, newest first.

        Args:
            data_set: Its number.
            person: Number of the person who was answered; None for everybody.
            before: Only answers with smaller numbers.
            limit: How many at most.
        """
        wanted = select(ANSWERS).where(ANSWERS.c.data_set == data_set)
        if person is not None:
            wanted = wanted.where(ANSWERS.c.person == person)
        with self._database.reading() as connection:
            return [_answer(row) for row in connection.execute(_page(wanted, ANSWERS.c.id, before, limit)).mappings()]

    def events(self, data_set: int, *, before: int | None = None, limit: int = 100) -> list[LedgerEntry]:
        """Events of a ledger, newest first.

        Args:
            data_set: Number of its data set.
            before: Only events with smaller numbers.
            limit: How many at most.
        """
        wanted = select(EVENTS.c.number, EVENTS.c.body, EVENTS.c.at, PEOPLE.c.name).outerjoin(PEOPLE)
        page = _page(wanted.where(EVENTS.c.data_set == data_set), EVENTS.c.number, before, limit)
        with self._database.reading() as connection:
            rows = connection.execute(page)
            return [LedgerEntry(number, Event.from_dict(body), at, name) for number, body, at, name in rows]

    def audit(
        self,
        *,
        before: int | None = None,
        limit: int = 100,
        data_sets: Sequence[str] | None = None,
        tokens: Sequence[str] | None = None,
    ) -> list[AuditEntry]:
        """What people did, newest first.

        Args:
            before: Only entries with smaller numbers.
            limit: How many at most.
            data_sets: Names of data sets; given with the tokens, only entries about these and those. None for all.
            tokens: Ids of tokens, or None.
        """
        wanted = ENTRIES
        if data_sets is not None:
            # An id may look like a name, and a name of a person like one of a data set: the action says which it is.
            of_data_sets = AUDIT.c.action.in_(ABOUT_DATA_SETS) & AUDIT.c.subject.in_(data_sets)
            of_tokens = AUDIT.c.action.in_(ABOUT_TOKENS) & AUDIT.c.subject.in_(tokens or ())
            wanted = wanted.where(of_data_sets | of_tokens)
        page = _page(wanted, AUDIT.c.id, before, limit)
        with self._database.reading() as connection:
            return [AuditEntry(*row) for row in connection.execute(page)]

    def note(self, person: int | None, action: str, subject: str, details: Mapping[str, Any] | None = None) -> None:
        """Note that somebody did something.

        Args:
            person: Number of the person; None for the server itself.
            action: What.
            subject: To what.
            details: More of it; public values.
        """
        with self._writing() as writing:
            audited(writing, person, action, subject, details)


def _page(wanted: Select[Any], number: Any, before: int | None, limit: int) -> Select[Any]:
    if before is not None:
        wanted = wanted.where(number < before)
    return wanted.order_by(number.desc()).limit(limit)


def _answer(row: RowMapping) -> GivenAnswer:
    return GivenAnswer(**{name: row[name] for name in ROW_OF_ANSWER}, **row["body"])
