"""Answers, ledgers and the audit log in pages, and checks that the rows of their hash chains were not changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, Connection, RowMapping, Select, and_, bindparam, exists, func, literal, select

from hedgerow.algorithms.online_pmw import LOST, WATCH
from hedgerow.errors import DamagedStoreError
from hedgerow.privacy import Event
from hedgerow.service.store.entries import AuditEntry, Charge, GivenAnswer, LedgerEntry, Point, Shares
from hedgerow.service.store.repository import AUDIT_LOG, Repository, audited, public_entry, record_of
from hedgerow.service.store.schema import ANSWERS, AUDIT, CHAINS, DATA_SETS, EVENTS, GRANTS, PEOPLE, SESSIONS, Grant
from hedgerow.service.store.steps import (
    CHANGED_REMEDY,
    LEDGER,
    ONLY_STATE,
    SESSION,
    checked_events,
    progress_of,
    session_of,
)
from hedgerow.system import head_of, link, start_of

ABOUT_DATA_SETS = ("register", "retry opening", "discard", "close", "grant", "records")
"""Actions of the audit log whose subject is the name of a data set."""
ABOUT_TOKENS = ("add token", "revoke token")
"""Actions whose subject is the id of a token."""
_AT_A_TIME = 1000
_ENTRIES = (
    select(AUDIT.c.id, AUDIT.c.at, PEOPLE.c.name, AUDIT.c.action, AUDIT.c.subject, AUDIT.c.details, AUDIT.c.link)
    .select_from(AUDIT)
    .outerjoin(PEOPLE)
)
"""The audit log with names of people, unordered."""


_NOTHING_LEARNT = ("total", WATCH, LOST)
"""Labels of events that the hypothesis learns nothing from."""
_CHARGE = EVENTS.c.body["charge"].as_float()
_LABEL = EVENTS.c.body["label"].as_string()
_OF = bindparam("of", type_=EVENTS.c.data_set.type)
_MINE = {f"mine_{column.name}": column for column in GRANTS.c if column.name not in ("data_set", "person")}
_ASKED_FIRST = (
    select(EVENTS.c.number)
    .where(EVENTS.c.data_set == _OF, EVENTS.c.person.is_not(None))
    .order_by(EVENTS.c.number)
    .limit(1)
    .scalar_subquery()
)
_BEFORE = EVENTS.c.number < func.coalesce(_ASKED_FIRST, literal(2**62, BigInteger))
_EVERYONE = GRANTS.alias()
_SHARES = SESSION.add_columns(
    *(column.label(name) for name, column in _MINE.items()),
    select(func.sum(_EVERYONE.c.asked)).where(_EVERYONE.c.data_set == _OF).scalar_subquery().label("asked"),
    select(func.sum(_EVERYONE.c.spent)).where(_EVERYONE.c.data_set == _OF).scalar_subquery().label("paid"),
    select(func.sum(_CHARGE)).where(EVENTS.c.data_set == _OF, _BEFORE).scalar_subquery().label("opening"),
    exists().where(EVENTS.c.data_set == _OF, _LABEL.not_in(_NOTHING_LEARNT)).label("learnt"),
).outerjoin(GRANTS, and_(GRANTS.c.data_set == SESSIONS.c.data_set, GRANTS.c.person == bindparam("whom")))
"""A session, the limits of a person, questions and payments of everyone, the charges before anyone asked, and whether
anything was learnt."""
_CHARGES = (
    select(_LABEL, _CHARGE, EVENTS.c.at, EVENTS.c.person).where(EVENTS.c.data_set == _OF).order_by(EVENTS.c.number)
)


_GIVEN = (
    select(ANSWERS)
    .where(ANSWERS.c.data_set == _OF, ANSWERS.c.person == bindparam("whom"))
    .where(ANSWERS.c.question.in_(bindparam("questions", expanding=True)))
    .order_by(ANSWERS.c.id.desc())
)
"""The answers of a person to some questions: the first ones last."""


class Lists(Repository):
    """Pages of rows, newest first; each page ends where the next begins."""

    def answered(self, request: int) -> dict[int, GivenAnswer]:
        """The answers of a request so far, by position."""
        with self._database.reading() as connection:
            rows = connection.execute(select(ANSWERS).where(ANSWERS.c.request == request)).mappings().all()
            if rows:
                self._leave(connection, rows[0]["data_set"])
        return {row["position"]: _answer(row) for row in rows}

    def given(self, data_set: int, person: int, questions: Sequence[bytes]) -> dict[bytes, GivenAnswer]:
        """The first answers that a person was given to some questions, where these last.

        Args:
            data_set: Number of the data set.
            person: Number of the person.
            questions: Digests of the questions, from `question_digest`.
        """
        with self._database.reading() as connection:
            rows = connection.execute(_GIVEN, {"of": data_set, "whom": person, "questions": questions}).mappings()
            found = {bytes(row["question"]): _answer(row) for row in rows}
            if found:
                self._leave(connection, data_set)
        return found

    def answers(
        self, data_set: int, *, person: int | None = None, before: int | None = None, limit: int = 100
    ) -> list[GivenAnswer]:
        """Answers about a data set, newest first.

        Args:
            data_set: Its number.
            person: Number of the person who was answered; None for everyone.
            before: Only answers with smaller numbers.
            limit: Largest number of entries.
        """
        wanted = select(ANSWERS).where(ANSWERS.c.data_set == data_set)
        if person is not None:
            wanted = wanted.where(ANSWERS.c.person == person)
        with self._database.reading() as connection:
            rows = connection.execute(_page(wanted, ANSWERS.c.id, before, limit)).mappings().all()
            if rows:
                self._leave(connection, data_set)
        return [_answer(row) for row in rows]

    def events(self, data_set: int, *, before: int | None = None, limit: int = 100) -> list[LedgerEntry]:
        """Events of a ledger, newest first.

        Args:
            data_set: Number of its data set.
            before: Only events with smaller numbers.
            limit: Largest number of entries.
        """
        wanted = select(EVENTS.c.number, EVENTS.c.body, EVENTS.c.at, PEOPLE.c.name).outerjoin(PEOPLE)
        page = _page(wanted.where(EVENTS.c.data_set == data_set), EVENTS.c.number, before, limit)
        with self._database.reading() as connection:
            rows = connection.execute(page)
            return [LedgerEntry(number, Event.from_dict(body), at, name) for number, body, at, name in rows]

    def shares(self, data_set: int, person: int, *, charges: bool = False) -> Shares:
        """Read a session's state and what people have used of its data set, from one state of the store.

        Args:
            data_set: Its number.
            person: Number of the person whose limits are told.
            charges: Whether the charges of the ledger are read too.

        Raises:
            NotThereError: There is no such data set.
        """
        return self._unchanged.read(
            ("shares", data_set, person, charges), lambda: self._shares(data_set, person, charges=charges)
        )

    def _shares(self, data_set: int, person: int, *, charges: bool) -> Shares:
        with self._database.reading() as connection:
            row = session_of(connection, {"of": data_set, "whom": person}, _SHARES)
            told = row._asdict()
            progress = progress_of(connection, row, ONLY_STATE)
            events = connection.execute(_CHARGES, {"of": data_set}).all() if charges else ()
        if row.mine_asked is None:  # no limits, and nothing asked
            grant = Grant(person, None, None, 0, 0.0)
        else:
            grant = Grant(person, **{column.name: told[name] for name, column in _MINE.items()})
        sums = int(row.asked or 0), float(row.paid or 0.0), float(row.opening or 0.0)
        return Shares(progress, grant, *sums, bool(row.learnt), tuple(Charge(*event) for event in events))

    def audit(
        self,
        *,
        before: int | None = None,
        limit: int = 100,
        data_sets: Sequence[str] | None = None,
        tokens: Sequence[str] | None = None,
    ) -> list[AuditEntry]:
        """Entries of the audit log, newest first.

        Args:
            before: Only entries with smaller numbers.
            limit: Largest number of entries.
            data_sets: Names of data sets; given with the tokens, only entries about these and those. None for all.
            tokens: Ids of tokens, or None.
        """
        wanted = _ENTRIES
        if data_sets is not None:
            # An id may look like a name, and a name of a person like one of a data set: the action says which it is.
            of_data_sets = AUDIT.c.action.in_(ABOUT_DATA_SETS) & AUDIT.c.subject.in_(data_sets)
            of_tokens = AUDIT.c.action.in_(ABOUT_TOKENS) & AUDIT.c.subject.in_(tokens or ())
            wanted = wanted.where(of_data_sets | of_tokens)
        page = _page(wanted, AUDIT.c.id, before, limit)
        with self._database.reading() as connection:
            return [AuditEntry(*row) for row in connection.execute(page)]

    def whole_audit(self) -> Iterator[AuditEntry]:
        """The audit log, oldest entry first, as it is at one moment; nothing is checked, and never all in memory."""
        with self._database.reading() as connection:
            yield from (AuditEntry(*row) for row in _entries(connection))

    def note(self, person: int | None, action: str, subject: str, details: Mapping[str, Any] | None = None) -> None:
        """Add an entry to the audit log.

        Args:
            person: Number of the person; None for the server itself.
            action: Name of the action.
            subject: Object of the action.
            details: Further public values.
        """
        with self._writing() as writing:
            audited(writing, person, action, subject, details)

    # Hash chains

    def points(self) -> dict[str, Point]:
        """Points of all ledgers, by name of the data set; nothing is checked."""
        columns = (DATA_SETS.c.name, SESSIONS.c.events, SESSIONS.c.head, SESSIONS.c.version)
        with self._database.reading() as connection:
            rows = connection.execute(select(*columns).join_from(DATA_SETS, SESSIONS)).all()
        return {row.name: Point(row.events, row.head, row.version) for row in rows}

    def ledgers_of(self, name: str) -> dict[int, Point]:
        """Points of the ledgers that have, or had before they were discarded, a name; by the number of the data set.

        The one that has it now comes first; nothing is checked.
        """
        registered = DATA_SETS.c.registration["name"].as_string()
        columns = (DATA_SETS.c.id, SESSIONS.c.events, SESSIONS.c.head, SESSIONS.c.version)
        wanted = (
            select(*columns).join_from(DATA_SETS, SESSIONS).where((DATA_SETS.c.name == name) | (registered == name))
        )
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(DATA_SETS.c.id.desc())).all()
        return {row.id: Point(row.events, row.head, row.version) for row in rows}

    def audit_point(self) -> Point:
        """Point of the audit log; nothing is checked."""
        with self._database.reading() as connection:
            row = connection.execute(select(CHAINS).where(CHAINS.c.name == AUDIT_LOG)).one()
        return Point(row.last, row.head)

    def ledger_link(self, data_set: int, count: int) -> str:
        """Recompute the link of a ledger after some events.

        Args:
            data_set: Number of the data set.
            count: Number of events, from the first.

        Raises:
            NotThereError: There is no such data set.
            DamagedStoreError: The events are not those that were written.
        """
        with self._database.reading() as connection:
            session = session_of(connection, {"of": data_set})
            events = checked_events(connection, session)
        return head_of(start_of(LEDGER, session.fixed), (event.to_dict() for event in events[:count]))

    def check_audit(self) -> None:
        """Check that the audit log was not changed.

        Raises:
            DamagedStoreError: An entry was changed, left out or moved.
        """
        self.audit_link(0)

    def audit_link(self, number: int) -> str | None:
        """Recompute the link of the audit log at an entry; all of the log is checked.

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


def _page(wanted: Select[Any], number: Any, before: int | None, limit: int) -> Select[Any]:
    if before is not None:
        wanted = wanted.where(number < before)
    return wanted.order_by(number.desc()).limit(limit)


def _answer(row: RowMapping) -> GivenAnswer:
    return record_of(GivenAnswer, row, **row["body"])


def _entries(connection: Connection) -> Iterator[Any]:
    """The audit log, oldest entry first; never all of it in memory."""
    last = 0
    while rows := connection.execute(_ENTRIES.where(AUDIT.c.id > last).order_by(AUDIT.c.id).limit(_AT_A_TIME)).all():
        yield from rows
        last = rows[-1].id
