"""Data sets and their sessions in the store: each hold, settlement and forfeit is a transaction that names its version.

Of two processes that continue the same version one writes, and the other learns that it is outdated: an UPDATE of the
session's row comes first in every transaction, and it finds the version or it does not.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, Select, bindparam, delete, func, insert, select, update
from sqlalchemy.sql.dml import ReturningInsert

from hedgerow.algorithms.online_pmw import START, Mark, Step
from hedgerow.errors import ConflictError, NotThereError
from hedgerow.service.store.database import Insert
from hedgerow.service.store.entries import DataSet, GivenAnswer, Hold, Point, Progress, Registration
from hedgerow.service.store.leases import Leases
from hedgerow.service.store.repository import Repository, Writing, audited, now, queued, record_of
from hedgerow.service.store.schema import (
    ANSWERS,
    DATA_SETS,
    FINDINGS,
    HOLDS,
    MODELS,
    OPENINGS,
    PINS,
    REQUESTS,
    SESSIONS,
    question_digest,
)
from hedgerow.service.store.steps import (
    LEDGER,
    advance,
    check_version,
    fixed_of,
    progress_of,
    session_of,
    size_of,
    write_rows,
)
from hedgerow.system import start_of

ROW_OF_ANSWER = ("person", "request", "position", "id", "at")
"""Fields of an answer that have columns of their own; the rest is in its body."""

_ALL = select(DATA_SETS, SESSIONS.c.status, SESSIONS.c.version).join(SESSIONS)
_DATA_SETS = _ALL.where(SESSIONS.c.status != "discarded")
_NAMED_SO = func.max(SESSIONS.c.version)
_BEFORE = select(_NAMED_SO).join(DATA_SETS).where(DATA_SETS.c.registration["name"].as_string() == bindparam("name"))
_UNUSED = ("opening", "failed")
"""Statuses of data sets that no one was answered about."""
_NOTHING = Step()
_FORGOTTEN = (ANSWERS, REQUESTS, FINDINGS, OPENINGS, MODELS, PINS)
"""What is deleted with a data set, in this order: answers name requests."""

_GIVE = insert(ANSWERS).returning(ANSWERS.c.id, sort_by_parameter_order=True)
_FAILED = update(SESSIONS).where(SESSIONS.c.data_set == bindparam("of")).values(status="failed")
_RELEASE = delete(HOLDS).where(HOLDS.c.data_set == bindparam("of")).returning(HOLDS.c.person, HOLDS.c.charge)


@dataclass(frozen=True)
class Settled:
    """The result of a commit.

    Attributes:
        version: Version of the session now.
        answers: Answers as stored, in the order given, with number and time.
    """

    version: int
    answers: tuple[GivenAnswer, ...]


class Sessions(Repository):
    """Data sets and their sessions."""

    def register(
        self, new: Registration, *, by: int | None, fits: Callable[[list[DataSet]], object] = lambda _: None
    ) -> DataSet:
        """Add a data set whose session has not begun.

        Args:
            new: Description by its custodian.
            by: Number of the person who does it; None for the server itself.
            fits: Raises an error if it does not go with those that there are, and is given them: all that will be there
                when it is written, as nobody else registers meanwhile.

        Raises:
            ConflictError: There is a data set of this name.
            ConfigError: The budget is not one.
        """
        at, fixed = now(), fixed_of(new.budget)
        head = start_of(LEDGER, fixed)
        row = {"name": new.name, "registration": asdict(new), "created": at}
        statement = self._database.insert(DATA_SETS).on_conflict_do_nothing().returning(DATA_SETS.c.id)
        with self._writing() as writing:
            queued(writing)
            fits([_data_set(each) for each in writing.connection.execute(_DATA_SETS).mappings()])
            before = writing.connection.scalar(_BEFORE, {"name": new.name})
            version = 0 if before is None else before + 1  # an anchor follows names: their versions only grow
            number = writing.connection.scalar(statement, row)
            if number is None:
                raise ConflictError(f"there is a data set named {new.name!r} already", remedy="take another name")
            session = {"data_set": number, "version": version, "status": "opening", "events": 0, "findings": 0}
            writing.connection.execute(insert(SESSIONS), {**session, "fixed": fixed, "head": head})
            writing.ledgers[number] = Point(0, head, version)
            audited(writing, by, "register", new.name, {"budget": dict(new.budget)})
            self._reached("registration written")
        return DataSet(number, new, "opening", version, at, None)

    def data_sets(self) -> list[DataSet]:
        """All data sets, by name."""
        with self._database.reading() as connection:
            return [_data_set(row) for row in connection.execute(_DATA_SETS.order_by(DATA_SETS.c.name)).mappings()]

    def data_set(self, name: str) -> DataSet:
        """A data set by name.

        Raises:
            NotThereError: There is no data set of this name.
        """
        return self._found(_DATA_SETS.where(DATA_SETS.c.name == name))

    def registered(self, name: str) -> DataSet:
        """The same as at the last entry of the audit log: its status and its version may be older.

        Raises:
            NotThereError: There is no data set of this name.
        """
        return self._unaudited.read(("data set", name), lambda: self.data_set(name))

    def close_data_set(self, id: int, *, by: int | None) -> DataSet:
        """Close a data set permanently, so that its data are not looked at again; idempotent.

        A process that is answering questions about it is outdated then.

        Raises:
            NotThereError: There is no data set of this number.
        """
        with self._writing() as writing:
            self.close_within(writing, id, by=by)
        return self._found(_ALL.where(DATA_SETS.c.id == id))

    def close_within(self, writing: Writing, id: int, *, by: int | None) -> None:
        """The same, in a transaction that does more."""
        closing = update(DATA_SETS).where(DATA_SETS.c.id == id, DATA_SETS.c.closed.is_(None)).values(closed=now())
        session = select(SESSIONS.c.version, SESSIONS.c.events, SESSIONS.c.head).where(SESSIONS.c.data_set == id)
        # Lock in the same order as others: the session first.
        row = writing.connection.execute(session.with_for_update()).first()
        name = writing.connection.scalar(closing.returning(DATA_SETS.c.name))
        if row is not None and name is not None:
            closed = update(SESSIONS).where(SESSIONS.c.data_set == id)
            writing.connection.execute(closed.values(status="closed", version=row.version + 1))
            writing.ledgers[id] = Point(row.events, row.head, row.version + 1)
            audited(writing, by, "close", name)

    def reopen(self, id: int, version: int, *, by: int | None) -> int:
        """Let the session of a data set begin once more, after an opening that failed.

        Args:
            id: Number of the data set.
            version: Version that this continues.
            by: Number of the person who does it.

        Returns:
            The version after it.

        Raises:
            OutdatedError: Another process has committed meanwhile; nothing is written.
            ConflictError: No opening of it has failed; nothing is written.
        """
        name = self._name(id)
        with self._writing() as writing:
            self._shift(writing, id, version, ("failed",), "opening")
            audited(writing, by, "retry opening", name)
        return version + 1

    def discard(self, id: int, version: int, *, by: int | None) -> None:
        """Discard a data set, of which the ledger alone is kept.

        The name of one that no one was answered about is free again. One that is closed goes with its hypothesis, its
        answers and its requests; its name is not used again, as tokens that name it would open another table.

        Raises:
            OutdatedError: Another process has committed meanwhile; nothing is written.
            ConflictError: It is open, or something is held; nothing is written.
        """
        name = self._name(id)
        try:
            with self._writing() as writing:
                before = self._shift(writing, id, version, (*_UNUSED, "closed"), "discarded")
                kept = name if before == "closed" else f"{name} (discarded {id})"  # no name in a request has blanks
                renamed = update(DATA_SETS).where(DATA_SETS.c.id == id).values(name=kept, closed=now())
                writing.connection.execute(renamed)
                emptied = update(SESSIONS).where(SESSIONS.c.data_set == id).values(state=None, findings=0)
                for gone in (emptied, *(delete(each).where(each.c.data_set == id) for each in _FORGOTTEN)):
                    writing.connection.execute(gone)
                audited(writing, by, "discard", name, {"ledger": kept})
                self._reached("discard written")
                self._known[id] = kept  # the anchor follows it under this name
        except BaseException:
            self._known.pop(id, None)
            raise

    def _shift(self, writing: Writing, id: int, version: int, before: Sequence[str], after: str) -> str:
        """Give a session another status, with a version of its own; the status that it had."""
        session = advance(writing, id, version, _NOTHING)
        held = writing.connection.scalar(select(HOLDS.c.data_set).where(HOLDS.c.data_set == id))
        if session.status not in before or held is not None:
            raise ConflictError(f"the data set is {session.status}", remedy="see what GET /v1/datasets says of it")
        writing.connection.execute(update(SESSIONS).where(SESSIONS.c.data_set == id).values(status=after))
        return str(session.status)

    def _found(self, wanted: Select[tuple[object, ...]]) -> DataSet:
        with self._database.reading() as connection:
            row = connection.execute(wanted).mappings().first()
        if row is None:
            raise NotThereError("there is no such data set", remedy="see the list of data sets")
        return _data_set(row)

    # Sessions

    @cached_property
    def _hold(self) -> ReturningInsert[tuple[int]]:
        return self._database.insert(HOLDS).on_conflict_do_nothing().returning(HOLDS.c.data_set)

    @cached_property
    def _model(self) -> Insert:
        models = self._database.insert(MODELS)
        body = {"body": models.excluded.body}
        return models.on_conflict_do_update(index_elements=[MODELS.c.data_set], set_=body)

    def alone(self, data_set: int, unit: str = "", *, wait: float) -> AbstractContextManager[None]:
        """Keep other threads and processes away from a data set; ends with the process, however it ends.

        Args:
            data_set: Its number.
            unit: Name of the data sets that one server works for together; the number alone unless given.
            wait: Seconds to wait for others.

        Raises:
            ElsewhereError: Another server works for it.
            StoreBusyError: Another one holds it for longer than ``wait`` seconds.
        """
        return self._database.alone(data_set, unit or str(data_set), wait=wait)

    @property
    def leases(self) -> Leases | None:
        """Leases of the data sets; None if there are no servers to divide them."""
        return self._database.leases

    def progress(self, data_set: int, since: Mark | None = None) -> Progress:
        """Read the progress of a session, from one state of the database.

        Args:
            data_set: Its number.
            since: Mark of what is known already; None if nothing is.

        Returns:
            Events and findings from the mark on, and the state; the opening for one who knows nothing; the model for
            one who knows nothing and whenever there is a new noisy answer.

        Raises:
            NotThereError: There is no such data set.
        """
        with self._database.reading() as connection:
            return progress_of(connection, session_of(connection, {"of": data_set}), since or START)

    def make_room(self, data_set: int, version: int, n_bytes: int) -> None:
        """Make sure that the model of a session that has not begun can be written, by writing as much.

        Its commit then replaces what is written here. In SQLite that takes no more of the disk; in PostgreSQL it is a
        rehearsal, since replaced rows are cleared away later.

        Args:
            data_set: Number of the data set.
            version: Version of the session.
            n_bytes: Most bytes that will be written.

        Raises:
            OutdatedError: Another process has committed meanwhile, and the model may be its own; nothing is written.
            StoreError: There is no room.
        """
        with self._writing() as writing:  # random bytes: databases pack others
            check_version(writing, data_set, version)
            writing.connection.execute(self._model, {"data_set": data_set, "body": os.urandom(n_bytes)})
        self._database.keep_room()

    def hold(self, data_set: int, version: int, hold: Hold, step: Step | None = None) -> int:
        """Commit the most that a question can cost, before it looks at the data.

        Args:
            data_set: Number of the data set.
            version: Version that this continues.
            hold: The most that it can cost, and who asks.
            step: New events before it: an epoch that was opened.

        Returns:
            The version after it.

        Raises:
            OutdatedError: Another process has committed meanwhile; nothing is written.
            ConflictError: The data set is closed, or an earlier hold is not settled; nothing is written.
        """
        at = now()
        with self._writing() as writing:
            session = advance(writing, data_set, version, step or _NOTHING)
            if session.status not in ("opening", "open"):
                raise ConflictError(f"the data set is {session.status}: its data are not looked at")
            row = {"data_set": data_set, "at": at, **asdict(hold)}
            if writing.connection.scalar(self._hold, row) is None:
                raise ConflictError("an earlier hold of the data set is not settled", remedy="forfeit it first")
            if step is not None:
                sizes = self._write(writing, session, step, hold.person, at)
                self._count(writing.connection, data_set, [_Used(hold.person, stored=sum(sizes))])
                self._reached("step written")
            self._reached("hold written")
        return version + 1

    def settle(self, data_set: int, version: int, step: Step | None, answers: Sequence[GivenAnswer] = ()) -> Settled:
        """Commit an outcome: the new events and findings, the answers, and the end of the hold.

        Args:
            data_set: Number of the data set.
            version: Version that this continues.
            step: New events and findings, if there are any.
            answers: Answers to give, without numbers and times.

        Raises:
            OutdatedError: Another process has committed meanwhile; nothing is written, and no answer may be given.
            ConflictError: A question of a repeated request is answered already; nothing is written.
        """
        at = now()
        with self._writing() as writing:
            session = advance(writing, data_set, version, step or _NOTHING)
            held = writing.connection.scalar(_RELEASE, {"of": data_set})
            person = next((answer.person for answer in answers if answer.charged > 0.0), held)
            sizes = [0] if step is None else self._write(writing, session, step, person, at)
            self._reached("step written")
            rows = [_answer_row(data_set, answer, at) for answer in answers]
            given = _given(writing.connection, answers, rows, at)
            used = [_Used(each.person, 1, each.charged, size_of(row)) for each, row in zip(answers, rows, strict=True)]
            self._count(writing.connection, data_set, [*used, *_found(sizes, person, answers)])
            self._reached("answers written")
        return Settled(version + 1, given)

    def forfeit(self, data_set: int, version: int, step: Step, price: float) -> int:
        """Forfeit the hold of a process that is gone: what it may have spent is spent, of the person's share too.

        Otherwise a person who finds a question that fails after the hold could spend what belongs to others. An opening
        whose hold is lost has failed: it is not tried again unless a custodian says so, or each try would cost as much.

        Args:
            data_set: Number of the data set.
            version: Version that this continues.
            step: The event for the ledger, and the state after it.
            price: Charge to the person's share: the price of a correction, which includes part of the sparse vector.

        Returns:
            The version after it.

        Raises:
            OutdatedError: Another process has committed meanwhile; nothing is written.
            ConflictError: Nothing is held; nothing is written.
        """
        with self._writing() as writing:
            session = advance(writing, data_set, version, step)
            held = writing.connection.execute(_RELEASE, {"of": data_set}).first()
            if held is None:
                raise ConflictError("nothing is held for the data set")
            sizes = self._write(writing, session, step, held.person, now())
            if session.status == "opening":
                writing.connection.execute(_FAILED, {"of": data_set})
            lost = _Used(held.person, spent=price, stored=sum(sizes))
            self._count(writing.connection, data_set, [lost])
            self._reached("forfeit written")
        return version + 1

    def _write(self, writing: Writing, session: Row[Any], step: Step, person: int | None, at: datetime) -> list[int]:
        """Write the parts of a step that `advance` did not; returns the bytes of the events, and of each finding."""
        if step.model is not None:
            writing.connection.execute(self._model, {"data_set": session.data_set, "body": step.model})
        return write_rows(writing, session, step, person, at)

    def _count(self, connection: Connection, data_set: int, used: Sequence[_Used]) -> None:
        """Add to what people have asked, spent and stored; events that no one asked for count for no one."""
        shares = defaultdict(list)
        for each in used:
            if each.person is not None:
                shares[each.person].append(each)
        rows = [
            {
                "data_set": data_set,
                "person": person,
                "asked": sum(each.asked for each in share),
                "spent": math.fsum(each.spent for each in share),
                "stored": sum(each.stored for each in share),
            }
            for person, share in sorted(shares.items())
        ]
        if rows:
            connection.execute(self._more, rows)


@dataclass(frozen=True)
class _Used:
    """An addition to what a person has used."""

    person: int | None
    asked: int = 0
    spent: float = 0.0
    stored: int = 0


def _found(sizes: Sequence[int], person: int | None, answers: Sequence[GivenAnswer]) -> list[_Used]:
    """Attribute the bytes of a step to people: of its events, and of each finding, in the order of tested questions."""
    events, *findings = sizes
    tested = [answer.person for answer in answers if answer.source in ("hypothesis", "data")]
    owners = [*tested[: len(findings)], *[person] * (len(findings) - len(tested))]
    return [
        _Used(person, stored=events),
        *(_Used(owner, stored=size) for owner, size in zip(owners, findings, strict=True)),
    ]


def _given(
    connection: Connection, answers: Sequence[GivenAnswer], rows: Sequence[Mapping[str, Any]], at: datetime
) -> tuple[GivenAnswer, ...]:
    if not answers:
        return ()
    numbers = connection.execute(_GIVE, rows).scalars()
    return tuple(replace(answer, id=number, at=at) for answer, number in zip(answers, numbers, strict=True))


def _answer_row(data_set: int, answer: GivenAnswer, at: datetime) -> dict[str, Any]:
    row = asdict(answer)
    columns = {name: row.pop(name) for name in ROW_OF_ANSWER}
    del columns["id"]
    question = question_digest(answer.where, answer.statement, answer.confidence) if answer.lasts else None
    return {**columns, "data_set": data_set, "at": at, "body": row, "question": question}


def _data_set(row: RowMapping) -> DataSet:
    return record_of(DataSet, row, registration=Registration(**row["registration"]))
