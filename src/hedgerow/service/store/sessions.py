"""The life of a session in the store: held, settled, forfeited, each in one transaction that names its version.

Of two processes that go on from the same version one writes, and the other is told that it is outdated: an UPDATE of
the session's row comes first in every transaction, and it finds the version or it does not.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, final

from sqlalchemy import Connection, Row, RowMapping, Select, bindparam, delete, insert, select, update
from sqlalchemy.sql.dml import ReturningInsert

from hedgerow.algorithms.online_pmw import START, Mark, Step
from hedgerow.errors import ConflictError, NotThereError
from hedgerow.service.store.database import Insert
from hedgerow.service.store.entries import DataSet, GivenAnswer, Hold, Point, Progress, Registration
from hedgerow.service.store.part import Part, Writing, audited, now, record_of
from hedgerow.service.store.schema import ANSWERS, DATA_SETS, HOLDS, MODELS, SESSIONS
from hedgerow.service.store.steps import LEDGER, advance, fixed_of, session_of, size_of, step_since, write_rows
from hedgerow.system import start_of

ROW_OF_ANSWER = ("person", "request", "position", "id", "at")
"""What of an answer has a column of its own; the rest is in its body."""

_DATA_SETS = select(DATA_SETS, SESSIONS.c.status, SESSIONS.c.version).join(SESSIONS)
_NOTHING = Step()

_GIVE = insert(ANSWERS).returning(ANSWERS.c.id, sort_by_parameter_order=True)
_RELEASE = delete(HOLDS).where(HOLDS.c.data_set == bindparam("of")).returning(HOLDS.c.person, HOLDS.c.charge)


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
    """Data sets, and how their sessions go on."""

    def register(self, new: Registration, *, by: int | None) -> DataSet:
        """Add a data set whose session has not begun.

        Args:
            new: What its custodian said.
            by: Number of the person who does it; None for the server itself.

        Raises:
            ConflictError: There is one of this name.
            ConfigError: The budget is none.
        """
        at, fixed = now(), fixed_of(new.budget)
        head = start_of(LEDGER, fixed)
        row = {"name": new.name, "registration": asdict(new), "created": at}
        statement = self._database.insert(DATA_SETS).on_conflict_do_nothing().returning(DATA_SETS.c.id)
        with self._writing() as writing:
            number = writing.connection.scalar(statement, row)
            if number is None:
                raise ConflictError(f"there is a data set named {new.name!r} already", remedy="take another name")
            session = {"data_set": number, "version": 0, "status": "opening", "events": 0, "findings": 0}
            writing.connection.execute(insert(SESSIONS), {**session, "fixed": fixed, "head": head})
            writing.ledgers[number] = Point(0, head)
            audited(writing, by, "register", new.name, {"budget": dict(new.budget)})
            self._reached("registration written")
        return DataSet(number, new, "opening", 0, at, None)

    def data_sets(self) -> list[DataSet]:
        """All of them, by name."""
        with self._database.reading() as connection:
            return [_data_set(row) for row in connection.execute(_DATA_SETS.order_by(DATA_SETS.c.name)).mappings()]

    def data_set(self, name: str) -> DataSet:
        """One by name.

        Raises:
            NotThereError: There is none of this name.
        """
        return self._found(_DATA_SETS.where(DATA_SETS.c.name == name))

    def close_data_set(self, id: int, *, by: int | None) -> DataSet:
        """Look at its data never again; whoever is at it now is outdated. Closing it twice changes nothing.

        Raises:
            NotThereError: There is none of this number.
        """
        closing = update(DATA_SETS).where(DATA_SETS.c.id == id, DATA_SETS.c.closed.is_(None)).values(closed=now())
        session = select(SESSIONS.c.version, SESSIONS.c.events, SESSIONS.c.head).where(SESSIONS.c.data_set == id)
        with self._writing() as writing:
            # In the order in which others lock: the session first.
            row = writing.connection.execute(session.with_for_update()).first()
            name = writing.connection.scalar(closing.returning(DATA_SETS.c.name))
            if row is not None and name is not None:
                closed = update(SESSIONS).where(SESSIONS.c.data_set == id)
                writing.connection.execute(closed.values(status="closed", version=row.version + 1))
                writing.ledgers[id] = Point(row.events, row.head, row.version + 1)
                audited(writing, by, "close", name)
        return self._found(_DATA_SETS.where(DATA_SETS.c.id == id))

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
        mark = since or START
        with self._database.reading() as connection:
            row = session_of(connection, data_set)
            step = step_since(connection, row, mark)
        hold = None if row.charge is None else Hold(row.charge, row.purpose, row.person)
        return Progress(row.version, row.status, hold, None if step == _NOTHING else step, row.fixed, row.head)

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
        with self._writing() as writing:
            session = advance(writing, data_set, version, step or _NOTHING)
            if session.status == "closed":
                raise ConflictError("the data set is closed: its data are not looked at any more")
            row = {"data_set": data_set, "at": at, **asdict(hold)}
            if writing.connection.scalar(self._hold, row) is None:
                raise ConflictError("what was held for the data set before is not settled", remedy="forfeit it first")
            if step is not None:
                sizes = self._write(writing, session, step, hold.person, at)
                self._count(writing.connection, data_set, [_Used(hold.person, stored=sum(sizes))])
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
        """Make a step of a hold whose process is gone: what it may have spent is spent, of the person's share too.

        Else whoever finds a question that fails after the hold could spend what belongs to others.

        Args:
            data_set: Number of the data set.
            version: That this goes on from.
            step: The event that the ledger gets, and the state after it.
            price: What the person's share pays: that of a correction, which takes a part of the sparse vector too.

        Returns:
            The version after it.

        Raises:
            OutdatedError: Another process has gone on; nothing is written.
            ConflictError: Nothing is held; nothing is written.
        """
        with self._writing() as writing:
            session = advance(writing, data_set, version, step)
            held = writing.connection.execute(_RELEASE, {"of": data_set}).first()
            if held is None:
                raise ConflictError("nothing is held for the data set")
            sizes = self._write(writing, session, step, held.person, now())
            lost = _Used(held.person, spent=price, stored=sum(sizes))
            self._count(writing.connection, data_set, [lost])
            self._reached("forfeit written")
        return version + 1

    def _write(self, writing: Writing, session: Row[Any], step: Step, person: int | None, at: datetime) -> list[int]:
        """The parts of a step that `advance` did not write; bytes of the events, and of each finding."""
        if step.model is not None:
            writing.connection.execute(self._model, {"data_set": session.data_set, "body": step.model})
        return write_rows(writing, session, step, person, at)

    def _count(self, connection: Connection, data_set: int, used: Sequence[_Used]) -> None:
        """Add to what people have asked, spent and stored; what nobody asked for counts for nobody."""
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


@final
@dataclass(frozen=True)
class _Used:
    """What a person has used."""

    person: int | None
    asked: int = 0
    spent: float = 0.0
    stored: int = 0


def _found(sizes: Sequence[int], person: int | None, answers: Sequence[GivenAnswer]) -> list[_Used]:
    """Whose the bytes of a step are: of its events, and of each finding; these came from tested questions in order."""
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
    return {**columns, "data_set": data_set, "at": at, "body": row}


def _data_set(row: RowMapping) -> DataSet:
    return record_of(DataSet, row, registration=Registration(**row["registration"]))
