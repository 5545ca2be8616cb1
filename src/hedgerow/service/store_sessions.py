"""The life of a session in the store: held, settled, forfeited, each in one transaction that names its version.

Of two processes that go on from the same version one writes, and the other is told that it is outdated: an UPDATE of
the session's row comes first in every transaction, and it finds the version or it does not.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, final

from sqlalchemy import Connection, Row, Select, case, delete, insert, literal, select, update

from hedgerow.algorithms.online_journal import Finding, Mark, Step
from hedgerow.errors import ConflictError, NotThereError, OutdatedError
from hedgerow.privacy.ledger import Event
from hedgerow.service.entries import GivenAnswer, Hold, Progress
from hedgerow.service.schema import ANSWERS, EVENTS, FINDINGS, GRANTS, HOLDS, MODELS, OPENINGS, SESSIONS
from hedgerow.service.store_part import Part, now

ROW_OF_ANSWER = ("person", "request", "position", "id", "at")
"""What of an answer has a column of its own; the rest is in its body."""

_NOTHING = Step()

_SESSION = select(SESSIONS, HOLDS.c.charge, HOLDS.c.purpose, HOLDS.c.person).outerjoin(
    HOLDS, HOLDS.c.data_set == SESSIONS.c.data_set
)


@final
@dataclass(frozen=True)
class Settled:
    """What a commit left.

    Attributes:
        version: Of the session now.
        answers: As they stand in the store, in the order given, with number and time.
    """

    version: int
    answers: tuple[GivenAnswer, ...]


class Sessions(Part):
    """How sessions go on."""

    def alone(self, data_set: int, *, wait: float) -> AbstractContextManager[None]:
        """Keep other threads and processes away from a data set; ends with the process, however it ends.

        Raises:
            StoreBusyError: Another one is at it for longer than ``wait`` seconds.
        """
        return self._database.alone(data_set, wait=wait)

    def progress(self, data_set: int, since: Mark | None = None) -> Progress:
        """How far a session has come, from one state of the database.

        Args:
            data_set: Its number.
            since: What of it is known; None if nothing is.

        Returns:
            Events and findings from the mark on, and the state; the opening for one who knows nothing; the model for
            one who knows nothing and whenever there is a new noisy answer.

        Raises:
            NotThereError: There is no such data set.
        """
        mark = since or Mark()
        with self._database.reading() as connection:
            row = connection.execute(_SESSION.where(SESSIONS.c.data_set == data_set)).first()
            if row is None:
                raise NotThereError("there is no such data set", remedy="see the list of data sets")
            step = _step_since(connection, row, mark)
        hold = None if row.charge is None else Hold(row.charge, row.purpose, row.person)
        return Progress(row.version, row.status, hold, None if step == _NOTHING else step)

    def hold(self, data_set: int, version: int, hold: Hold, step: Step | None = None) -> int:
        """Commit what something can cost, before it looks at the data.

        Args:
            data_set: Number of the data set.
            version: That this goes on from.
            hold: The most that it can cost.
            step: What became new before: an epoch that was opened.

        Returns:
            The version after it.

        Raises:
            OutdatedError: Another process has gone on; nothing is written.
            ConflictError: The data set is closed, or a hold is there that was not settled; nothing is written.
        """
        at = now()
        with self._database.writing() as connection:
            session = _advance(connection, data_set, version, step or _NOTHING)
            if session.status == "closed":
                raise ConflictError("the data set is closed: its data are not looked at any more")
            row = {"data_set": data_set, "at": at, **dataclasses.asdict(hold)}
            statement = self._database.insert(HOLDS).on_conflict_do_nothing().returning(HOLDS.c.data_set)
            if connection.scalar(statement, row) is None:
                raise ConflictError("what was held for the data set before is not settled", remedy="forfeit it first")
            if step is not None:
                self._write(connection, session, step, hold.person, at)
                self._reached("step written")
            self._reached("hold written")
        return version + 1

    def settle(self, data_set: int, version: int, step: Step | None, answers: Sequence[GivenAnswer] = ()) -> Settled:
        """Commit what came out: what is new, the answers, and that nothing is held any more.

        Args:
            data_set: Number of the data set.
            version: That this goes on from.
            step: What became new, if anything did.
            answers: What will be given; without numbers and times.

        Raises:
            OutdatedError: Another process has gone on; nothing is written, and the answers must not be given.
            ConflictError: A question of a repeated request is answered already; nothing is written.
        """
        at = now()
        with self._database.writing() as connection:
            session = _advance(connection, data_set, version, step or _NOTHING)
            held = connection.scalar(_released(data_set))
            if step is not None:
                person = next((answer.person for answer in answers if answer.charged > 0.0), held)
                self._write(connection, session, step, person, at)
            self._reached("step written")
            given = _given(connection, data_set, answers, at)
            self._count(connection, data_set, answers)
            self._reached("answers written")
        return Settled(version + 1, given)

    def forfeit(self, data_set: int, version: int, step: Step) -> int:
        """Make a step of a hold whose process is gone: what it may have spent is spent.

        Args:
            data_set: Number of the data set.
            version: That this goes on from.
            step: The event that the ledger gets, and the state after it.

        Returns:
            The version after it.

        Raises:
            OutdatedError: Another process has gone on; nothing is written.
            ConflictError: Nothing is held; nothing is written.
        """
        with self._database.writing() as connection:
            session = _advance(connection, data_set, version, step)
            held = connection.execute(_released(data_set)).first()
            if held is None:
                raise ConflictError("nothing is held for the data set")
            self._write(connection, session, step, held.person, now())
            self._reached("forfeit written")
        return version + 1

    def _write(self, connection: Connection, session: Row[Any], step: Step, person: int | None, at: datetime) -> None:
        """The parts of a step that have rows of their own; `_advance` wrote the others."""
        number = session.data_set
        if step.opening is not None:
            connection.execute(insert(OPENINGS), {"data_set": number, "body": dict(step.opening)})
        if step.events:
            connection.execute(insert(EVENTS), _event_rows(session, step.events, person, at))
        if step.findings:
            connection.execute(insert(FINDINGS), _finding_rows(session, step.findings))
        if step.model is not None:
            row = {"data_set": number, "body": step.model}
            statement = self._database.insert(MODELS)
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=[MODELS.c.data_set], set_={"body": statement.excluded.body}
                ),
                row,
            )

    def _count(self, connection: Connection, data_set: int, answers: Sequence[GivenAnswer]) -> None:
        """Add the answers to what their people have asked and spent."""
        charges = defaultdict(list)
        for answer in answers:
            charges[answer.person].append(answer.charged)
        if not charges:
            return
        statement = self._database.insert(GRANTS)
        more = {name: GRANTS.c[name] + statement.excluded[name] for name in ("asked", "spent")}
        rows = [
            {"data_set": data_set, "person": person, "asked": len(charged), "spent": math.fsum(charged)}
            for person, charged in sorted(charges.items())
        ]
        connection.execute(
            statement.on_conflict_do_update(index_elements=[GRANTS.c.data_set, GRANTS.c.person], set_=more), rows
        )


def _advance(connection: Connection, data_set: int, version: int, step: Step) -> Row[Any]:
    """Take the session's row, if it is of the version; its status and counts are as they are after the step."""
    values: dict[str, Any] = {
        "version": SESSIONS.c.version + 1,
        "events": SESSIONS.c.events + len(step.events),
        "findings": SESSIONS.c.findings + len(step.findings),
    }
    if step.state is not None:
        values["state"] = dict(step.state)
    if step.opening is not None:
        values["status"] = case((SESSIONS.c.status == "opening", literal("open")), else_=SESSIONS.c.status)
    row = connection.execute(
        update(SESSIONS)
        .where(SESSIONS.c.data_set == data_set, SESSIONS.c.version == version)
        .values(values)
        .returning(SESSIONS.c.data_set, SESSIONS.c.status, SESSIONS.c.events, SESSIONS.c.findings)
    ).first()
    if row is None:
        raise OutdatedError("another process has gone on with the data set", remedy="read its progress and try again")
    return row


def _released(data_set: int) -> Any:
    return delete(HOLDS).where(HOLDS.c.data_set == data_set).returning(HOLDS.c.person)


def _event_rows(session: Row[Any], events: Sequence[Event], person: int | None, at: datetime) -> list[dict[str, Any]]:
    first = session.events - len(events)
    return [
        {"data_set": session.data_set, "number": first + i, "body": event.to_dict(), "at": at, "person": person}
        for i, event in enumerate(events)
    ]


def _finding_rows(session: Row[Any], findings: Sequence[Finding]) -> list[dict[str, Any]]:
    first = session.findings - len(findings)
    return [
        {
            "data_set": session.data_set,
            "number": first + i,
            "measured": finding.measured,
            "body": {"entry": dict(finding.entry), "value": finding.value},
            "vector": finding.vector,
        }
        for i, finding in enumerate(findings)
    ]


def _given(
    connection: Connection, data_set: int, answers: Sequence[GivenAnswer], at: datetime
) -> tuple[GivenAnswer, ...]:
    if not answers:
        return ()
    rows = [_answer_row(data_set, answer, at) for answer in answers]
    statement = insert(ANSWERS).returning(ANSWERS.c.id, sort_by_parameter_order=True)
    numbers = connection.execute(statement, rows).scalars()
    return tuple(dataclasses.replace(answer, id=number, at=at) for answer, number in zip(answers, numbers, strict=True))


def _answer_row(data_set: int, answer: GivenAnswer, at: datetime) -> dict[str, Any]:
    row = dict(vars(answer))
    columns = {name: row.pop(name) for name in ROW_OF_ANSWER}
    del columns["id"]
    return {**columns, "data_set": data_set, "at": at, "body": row}


def _step_since(connection: Connection, session: Row[Any], mark: Mark) -> Step:
    number, all_of_it = session.data_set, mark == Mark()
    events = _from(EVENTS, number, mark.events)
    findings = [
        Finding(row.body["entry"], row.measured, row.body["value"], bytes(row.vector))
        for row in connection.execute(_from(FINDINGS, number, mark.findings))
    ]
    return Step(
        opening=connection.scalar(_body(OPENINGS, number)) if all_of_it else None,
        state=session.state,
        events=tuple(Event.from_dict(row.body) for row in connection.execute(events)),
        findings=tuple(findings),
        model=_model(connection, number) if all_of_it or any(finding.measured for finding in findings) else None,
    )


def _from(table: Any, data_set: int, first: int) -> Select[Any]:
    columns = (column for column in table.c if column.name not in {"data_set", "at", "person", "number"})
    return select(*columns).where(table.c.data_set == data_set, table.c.number >= first).order_by(table.c.number)


def _body(table: Any, data_set: int) -> Select[Any]:
    return select(table.c.body).where(table.c.data_set == data_set)


def _model(connection: Connection, data_set: int) -> bytes | None:
    found = connection.scalar(_body(MODELS, data_set))
    return None if found is None else bytes(found)
