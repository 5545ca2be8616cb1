"""Steps of sessions as rows: what is new is written, and put together again from wherever a reader stands."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, bindparam, case, insert, literal, select, update

from hedgerow.algorithms.online_pmw import START, Finding, Mark, Step
from hedgerow.errors import BudgetError, DamagedStoreError, NotThereError, OutdatedError
from hedgerow.privacy import Event, budget_from_dict
from hedgerow.service.store.entries import Hold, Point, Progress
from hedgerow.service.store.leases import FENCE
from hedgerow.service.store.repository import Writing
from hedgerow.service.store.schema import DATA_SETS, EVENTS, FINDINGS, HOLDS, MODELS, OPENINGS, SESSIONS, to_json
from hedgerow.system import link, start_of

_HELD = (HOLDS.c.charge, HOLDS.c.purpose, HOLDS.c.person)
LEDGER = "ledger"
"""The kind of chain that a data set's events are."""

CHANGED_REMEDY = (
    "find out who writes to the store; then restore a whole copy of it, and start with hedgerow serve --accept-store"
)
"""Remedy if the rows of a chain were changed."""

SESSION = (
    select(SESSIONS, *_HELD)
    .outerjoin(HOLDS, HOLDS.c.data_set == SESSIONS.c.data_set)
    .where(SESSIONS.c.data_set == bindparam("of"))
)
"""The row of a session, with what is held for it."""


def session_of(connection: Connection, asked: Mapping[str, int], wanted: Select[Any] = SESSION) -> Row[Any]:
    """The row of a session, with what is held for it.

    Args:
        connection: Connection of a transaction that sees one state of the database.
        asked: The number of the data set, as ``of``, and what else the query takes.
        wanted: `SESSION`, or a query with more columns.

    Raises:
        NotThereError: There is no such data set.
    """
    row: Row[Any] | None = connection.execute(wanted, asked).first()
    if row is None:
        raise NotThereError("there is no such data set", remedy="see the list of data sets")
    return row


def _from(table: Table, *names: str) -> Any:
    columns = [table.c[name] for name in names]
    wanted = select(*columns).where(table.c.data_set == bindparam("of"), table.c.number >= bindparam("first"))
    return wanted.order_by(table.c.number)


_EVENTS = _from(EVENTS, "body", "link")
_FINDINGS = _from(FINDINGS, "measured", "body", "vector")
_HEAD = update(SESSIONS).where(SESSIONS.c.data_set == bindparam("of")).values(head=bindparam("now_head"))
_OPENING = select(OPENINGS.c.body).where(OPENINGS.c.data_set == bindparam("of"))
_MODEL = select(MODELS.c.body).where(MODELS.c.data_set == bindparam("of"))


@cache
def _advancing(*, state: bool, opening: bool, fenced: bool) -> Any:
    """The statement for steps with a state, and with an opening, or without; and under a lease."""
    kept = ("data_set", "version", "status", "events", "findings", "head")
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
        .where(*([FENCE] if fenced else []))
        .values(values)
        .returning(*(SESSIONS.c[name] for name in kept))
    )


def advance(writing: Writing, data_set: int, version: int, step: Step) -> Row[Any]:
    """Take the session's row, if it is of a version, and write what of a step stands in it.

    Args:
        writing: The transaction.
        data_set: Number of the data set.
        version: Version that the session must have; it is one more afterwards.
        step: Step that will be written.

    Returns:
        Number, version, status and counts, as they are after the step, and the head of the ledger as it was before.

    Raises:
        OutdatedError: The session is of another version, or the lease was lost under which this is written.
    """
    fence = writing.fence(data_set)
    values: dict[str, Any] = {"of": data_set, "after": version, **(fence or {})}
    values |= {"n_events": len(step.events), "n_findings": len(step.findings)}
    if step.state is not None:
        values["new_state"] = dict(step.state)
    statement = _advancing(state=step.state is not None, opening=step.opening is not None, fenced=fence is not None)
    row: Row[Any] | None = writing.connection.execute(statement, values).first()
    if row is None:
        raise _outdated()
    writing.ledgers[data_set] = Point(row.events - len(step.events), row.head, row.version)
    return row


def check_version(writing: Writing, data_set: int, version: int) -> None:
    """Take the session's row, if it is of a version, and leave it as it is.

    Raises:
        OutdatedError: See `advance`.
    """
    fence = writing.fence(data_set)
    wanted = select(SESSIONS.c.version).where(SESSIONS.c.data_set == data_set, SESSIONS.c.version == version)
    wanted = wanted.where(*([] if fence is None else [FENCE])).with_for_update(of=SESSIONS)
    if writing.connection.execute(wanted, dict(fence or {})).first() is None:
        raise _outdated()


def _outdated() -> OutdatedError:
    return OutdatedError("another process has changed the data set", remedy="read its progress and try again")


def write_rows(writing: Writing, session: Row[Any], step: Step, person: int | None, at: datetime) -> list[int]:
    """Write the parts of a step that are rows of their own and never change, and take the ledger's chain further.

    Args:
        writing: The transaction in which `advance` was called.
        session: Row that it returned.
        step: Step to write.
        person: Number of the person who caused its events.
        at: Time, in UTC.

    Returns:
        Bytes that the events take together, and then those of each finding.
    """
    connection = writing.connection
    if step.opening is not None:
        connection.execute(insert(OPENINGS), {"data_set": session.data_set, "body": dict(step.opening)})
    events = _event_rows(session, step.events, person, at)
    if events:
        connection.execute(insert(EVENTS), events)
        writing.ledgers[session.data_set] = Point(session.events, events[-1]["link"], session.version)
        connection.execute(_HEAD, {"of": session.data_set, "now_head": events[-1]["link"]})
    findings = _finding_rows(session, step.findings)
    if findings:
        connection.execute(insert(FINDINGS), findings)
    return [sum(map(size_of, events)), *map(size_of, findings)]


def size_of(row: Mapping[str, Any]) -> int:
    """Bytes of what a row holds of a question: its body, and its vector if there is one.

    Example:
        >>> size_of({"body": {"a": 1}, "vector": b"123"})
        10
    """
    return len(to_json(row["body"])) + len(row.get("vector", b""))


def fixed_of(budget: Mapping[str, Any]) -> dict[str, Any]:
    """The start of a ledger's hash chain: its limit and its unit.

    Args:
        budget: Result of ``Budget.to_dict``.

    Raises:
        ConfigError: It is not a budget.

    Example:
        >>> fixed_of({"kind": "pure", "epsilon": 0.5, "neighbours": "replace"})
        {'limit': 0.5, 'unit': 'epsilon'}
    """
    found = budget_from_dict(budget)
    return {"limit": found.limit, "unit": found.unit}


def step_since(connection: Connection, session: Row[Any], mark: Mark) -> Step:
    """Read all steps since a mark as one step.

    Args:
        connection: Connection of the transaction in which the session was read.
        session: A row of `SESSION`.
        mark: Mark of what is known already.

    Raises:
        DamagedStoreError: The events are not those that were written.
    """
    known = {"of": session.data_set}
    all_of_it = mark == START
    looked = mark.events == 0 or mark.events < session.events
    events = checked_events(connection, session, mark.events) if looked else ()
    findings = [
        Finding(row.body["entry"], row.measured, row.body["value"], bytes(row.vector))
        for row in _rows(connection, _FINDINGS, known, mark.findings, session.findings)
    ]
    opening = connection.scalar(_OPENING, known) if all_of_it else None
    changed = opening is not None or any(finding.measured for finding in findings)
    model = connection.scalar(_MODEL, known) if changed else None
    return Step(
        opening=opening,
        state=session.state,
        events=tuple(events),
        findings=tuple(findings),
        model=None if model is None else bytes(model),
    )


ONLY_STATE = Mark(events=2**62, findings=2**62)
"""A mark that selects the state alone."""
_NOTHING = Step()


def progress_of(connection: Connection, row: Row[Any], mark: Mark) -> Progress:
    """Read the progress of a session since a mark.

    Args:
        connection: Connection of the transaction in which the session was read.
        row: A row of `SESSION`.
        mark: Mark of what is known already.

    Raises:
        DamagedStoreError: The events are not those that were written.
    """
    step = step_since(connection, row, mark)
    hold = None if row.charge is None else Hold(row.charge, row.purpose, row.person)
    return Progress(row.version, row.status, hold, None if step == _NOTHING else step, row.fixed, row.head)


def checked_events(connection: Connection, session: Row[Any], first: int = 0) -> list[Event]:
    """Events of a ledger from a number on, as they were written.

    Args:
        connection: Connection of the transaction in which the session was read.
        session: Its row.
        first: The number.

    Raises:
        DamagedStoreError: One was changed, left out or moved, or its charge is not what its mechanism costs.
    """
    rows = _rows(connection, _EVENTS, {"of": session.data_set}, max(0, first - 1), session.events)
    head = start_of(LEDGER, session.fixed) if first == 0 else rows[0].link if rows else ""
    found = []
    for number, row in enumerate(rows[min(first, 1) :], start=first):
        head = link(head, row.body)
        if head != row.link:
            raise _damaged(connection, session, f"event {number + 1} is not the one that was written")
        try:
            found.append(Event.from_dict(row.body))
        except BudgetError as error:
            raise _damaged(connection, session, f"event {number + 1} cannot be: {error.message}") from error
    if head != session.head or first + len(found) != session.events:
        raise _damaged(connection, session, "events are missing at its end")
    return found


def _damaged(connection: Connection, session: Row[Any], what: str) -> DamagedStoreError:
    name = connection.scalar(select(DATA_SETS.c.name).where(DATA_SETS.c.id == session.data_set))
    return DamagedStoreError(
        f"the ledger of the data set {name!r} was changed after it was written: {what}",
        remedy=CHANGED_REMEDY,
    )


def _rows(connection: Connection, wanted: Any, known: dict[str, int], first: int, count: int) -> Sequence[Row[Any]]:
    """Read rows from a number on; the database is not asked if the session's row says that there are none."""
    return connection.execute(wanted, {**known, "first": first}).all() if first < count else ()


def _event_rows(session: Row[Any], events: Sequence[Event], person: int | None, at: datetime) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    head = session.head
    for number, event in enumerate(events, start=session.events - len(events)):
        body = event.to_dict()
        head = link(head, body)
        row = {"data_set": session.data_set, "number": number, "body": body, "at": at, "person": person}
        rows.append({**row, "link": head})
    return rows


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
