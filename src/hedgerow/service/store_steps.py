"""Steps of sessions as rows: what is new is written, and put together again from wherever a reader stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Table, bindparam, case, insert, literal, select, update

from hedgerow.algorithms.online_journal import START, Finding, Mark, Step
from hedgerow.errors import OutdatedError
from hedgerow.privacy.ledger import Event
from hedgerow.service.schema import EVENTS, FINDINGS, HOLDS, MODELS, OPENINGS, SESSIONS

_HELD = (HOLDS.c.charge, HOLDS.c.purpose, HOLDS.c.person)
SESSION = (
    select(SESSIONS, *_HELD)
    .outerjoin(HOLDS, HOLDS.c.data_set == SESSIONS.c.data_set)
    .where(SESSIONS.c.data_set == bindparam("of"))
)
"""The row of a session, with what is held for it."""


def _from(table: Table, *names: str) -> Any:
    columns = [table.c[name] for name in names]
    wanted = select(*columns).where(table.c.data_set == bindparam("of"), table.c.number >= bindparam("first"))
    return wanted.order_by(table.c.number)


_EVENTS = _from(EVENTS, "body")
_FINDINGS = _from(FINDINGS, "measured", "body", "vector")
_OPENING = select(OPENINGS.c.body).where(OPENINGS.c.data_set == bindparam("of"))
_MODEL = select(MODELS.c.body).where(MODELS.c.data_set == bindparam("of"))


@cache
def _advancing(*, state: bool, opening: bool) -> Any:
    """The statement for steps with a state, and with an opening, or without."""
    values: dict[str, Any] = {
        "version": SESSIONS.c.version + 1,
        "events": SESSIONS.c.events + bindparam("n_events"),
        "findings": SESSIONS.c.findings + bindparam("n_findings"),
    }
    if state:
        values["state"] = bindparam("new_state", type_=SESSIONS.c.state.type)
    if opening:
        values["status"] = case((SESSIONS.c.status == "opening", literal("open")), else_=SESSIONS.c.status)
    return (
        update(SESSIONS)
        .where(SESSIONS.c.data_set == bindparam("of"), SESSIONS.c.version == bindparam("after"))
        .values(values)
        .returning(SESSIONS.c.data_set, SESSIONS.c.status, SESSIONS.c.events, SESSIONS.c.findings)
    )


def advance(connection: Connection, data_set: int, version: int, step: Step) -> Row[Any]:
    """Take the session's row, if it is of a version, and write what of a step stands in it.

    Args:
        connection: Of a transaction.
        data_set: Number of the data set.
        version: That must be the session's; it is one more then.
        step: What will be written.

    Returns:
        Number, status and counts, as they are after the step.

    Raises:
        OutdatedError: The session is of another version.
    """
    values: dict[str, Any] = {"of": data_set, "after": version}
    values |= {"n_events": len(step.events), "n_findings": len(step.findings)}
    if step.state is not None:
        values["new_state"] = dict(step.state)
    statement = _advancing(state=step.state is not None, opening=step.opening is not None)
    row: Row[Any] | None = connection.execute(statement, values).first()
    if row is None:
        raise OutdatedError("another process has gone on with the data set", remedy="read its progress and try again")
    return row


def write_rows(connection: Connection, session: Row[Any], step: Step, person: int | None, at: datetime) -> None:
    """Write the parts of a step that are rows of their own and never change.

    Args:
        connection: Of the transaction in which `advance` was called.
        session: What that gave back.
        step: What is written.
        person: Who caused its events.
        at: When, in UTC.
    """
    if step.opening is not None:
        connection.execute(insert(OPENINGS), {"data_set": session.data_set, "body": dict(step.opening)})
    if step.events:
        connection.execute(insert(EVENTS), _event_rows(session, step.events, person, at))
    if step.findings:
        connection.execute(insert(FINDINGS), _finding_rows(session, step.findings))


def step_since(connection: Connection, session: Row[Any], mark: Mark) -> Step:
    """All steps since a mark as one.

    Args:
        connection: Of the transaction in which the session was read.
        session: A row of `SESSION`.
        mark: What is known.
    """
    known = {"of": session.data_set}
    all_of_it = mark == START
    events = _rows(connection, _EVENTS, known, mark.events, session.events)
    findings = [
        Finding(row.body["entry"], row.measured, row.body["value"], bytes(row.vector))
        for row in _rows(connection, _FINDINGS, known, mark.findings, session.findings)
    ]
    changed = all_of_it or any(finding.measured for finding in findings)
    model = connection.scalar(_MODEL, known) if changed else None
    return Step(
        opening=connection.scalar(_OPENING, known) if all_of_it else None,
        state=session.state,
        events=tuple(Event.from_dict(row.body) for row in events),
        findings=tuple(findings),
        model=None if model is None else bytes(model),
    )


def _rows(connection: Connection, wanted: Any, known: dict[str, int], first: int, count: int) -> Sequence[Row[Any]]:
    """From a number on; nothing is asked where the session's row says that there are no more."""
    return connection.execute(wanted, {**known, "first": first}).all() if first < count else ()


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
