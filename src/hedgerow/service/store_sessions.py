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

from sqlalchemy import Connection, Row, bindparam, delete, insert

from hedgerow.algorithms.online_journal import START, Mark, Step
from hedgerow.errors import ConflictError, NotThereError
from hedgerow.service.database import Database
from hedgerow.service.entries import GivenAnswer, Hold, Progress
from hedgerow.service.schema import ANSWERS, GRANTS, HOLDS, MODELS
from hedgerow.service.store_part import Part, Reached, now
from hedgerow.service.store_steps import SESSION, advance, step_since, write_rows

ROW_OF_ANSWER = ("person", "request", "position", "id", "at")
"""What of an answer has a column of its own; the rest is in its body."""

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
    """How sessions go on. Statements are made once: that takes as long as their execution."""

    def __init__(self, database: Database, reached: Reached) -> None:
        """Open no connection yet."""
        super().__init__(database, reached)
        models, grants = database.insert(MODELS), database.insert(GRANTS)
        more = {name: GRANTS.c[name] + grants.excluded[name] for name in ("asked", "spent")}
        self._hold = database.insert(HOLDS).on_conflict_do_nothing().returning(HOLDS.c.data_set)
        self._model = models.on_conflict_do_update(
            index_elements=[MODELS.c.data_set], set_={"body": models.excluded.body}
        )
        self._more = grants.on_conflict_do_update(index_elements=[GRANTS.c.data_set, GRANTS.c.person], set_=more)

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
            row = connection.execute(SESSION, {"of": data_set}).first()
            if row is None:
                raise NotThereError("there is no such data set", remedy="see the list of data sets")
            step = step_since(connection, row, mark)
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
            session = advance(connection, data_set, version, step or _NOTHING)
            if session.status == "closed":
                raise ConflictError("the data set is closed: its data are not looked at any more")
            row = {"data_set": data_set, "at": at, **vars(hold)}
            if connection.scalar(self._hold, row) is None:
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
            session = advance(connection, data_set, version, step or _NOTHING)
            held = connection.scalar(_RELEASE, {"of": data_set})
            if step is not None:
                person = next((answer.person for answer in answers if answer.charged > 0.0), held)
                self._write(connection, session, step, person, at)
            self._reached("step written")
            given = _given(connection, data_set, answers, at)
            self._count(connection, data_set, answers)
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
        with self._database.writing() as connection:
            session = advance(connection, data_set, version, step)
            held = connection.execute(_RELEASE, {"of": data_set}).first()
            if held is None:
                raise ConflictError("nothing is held for the data set")
            self._write(connection, session, step, held.person, now())
            if held.person is not None:
                lost = {"data_set": data_set, "person": held.person, "asked": 0, "spent": price}
                connection.execute(self._more, lost)
            self._reached("forfeit written")
        return version + 1

    def _write(self, connection: Connection, session: Row[Any], step: Step, person: int | None, at: datetime) -> None:
        """The parts of a step that `advance` did not write."""
        write_rows(connection, session, step, person, at)
        if step.model is not None:
            connection.execute(self._model, {"data_set": session.data_set, "body": step.model})

    def _count(self, connection: Connection, data_set: int, answers: Sequence[GivenAnswer]) -> None:
        """Add the answers to what their people have asked and spent."""
        charges = defaultdict(list)
        for answer in answers:
            charges[answer.person].append(answer.charged)
        if not charges:
            return
        rows = [
            {"data_set": data_set, "person": person, "asked": len(charged), "spent": math.fsum(charged)}
            for person, charged in sorted(charges.items())
        ]
        connection.execute(self._more, rows)


def _given(
    connection: Connection, data_set: int, answers: Sequence[GivenAnswer], at: datetime
) -> tuple[GivenAnswer, ...]:
    if not answers:
        return ()
    rows = [_answer_row(data_set, answer, at) for answer in answers]
    numbers = connection.execute(_GIVE, rows).scalars()
    return tuple(dataclasses.replace(answer, id=number, at=at) for answer, number in zip(answers, numbers, strict=True))


def _answer_row(data_set: int, answer: GivenAnswer, at: datetime) -> dict[str, Any]:
    row = dict(vars(answer))
    columns = {name: row.pop(name) for name in ROW_OF_ANSWER}
    del columns["id"]
    return {**columns, "data_set": data_set, "at": at, "body": row}
