"""The life of a session in the store: held, settled, forfeited, each in one transaction that names its version.

Of two processes that go on from the same version one writes, and the other is told that it is outdated: an UPDATE of
the session's row comes first in every transaction, and it finds the version or it does not.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, final

from sqlalchemy import Connection, Row, bindparam, delete, insert

from hedgerow.algorithms.online_pmw import START, Mark, Step
from hedgerow.errors import ConflictError, NotThereError
from hedgerow.service.store.database import Database
from hedgerow.service.store.entries import GivenAnswer, Hold, Progress
from hedgerow.service.store.grants import Grants
from hedgerow.service.store.part import Reached, Writing, now
from hedgerow.service.store.schema import ANSWERS, HOLDS, MODELS
from hedgerow.service.store.steps import SESSION, advance, size_of, step_since, write_rows

if TYPE_CHECKING:
    from hedgerow.service.store.anchor import Anchor

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


class Sessions(Grants):
    """How sessions go on. Statements are made once: that takes as long as their execution."""

    def __init__(self, database: Database, reached: Reached, *, anchor: Anchor | None, quota: int) -> None:
        """Open no connection yet."""
        super().__init__(database, reached, anchor=anchor, quota=quota)
        models = database.insert(MODELS)
        self._hold = database.insert(HOLDS).on_conflict_do_nothing().returning(HOLDS.c.data_set)
        self._model = models.on_conflict_do_update(
            index_elements=[MODELS.c.data_set], set_={"body": models.excluded.body}
        )

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
            row = {"data_set": data_set, "at": at, **vars(hold)}
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
    return tuple(dataclasses.replace(answer, id=number, at=at) for answer, number in zip(answers, numbers, strict=True))


def _answer_row(data_set: int, answer: GivenAnswer, at: datetime) -> dict[str, Any]:
    row = dict(vars(answer))
    columns = {name: row.pop(name) for name in ROW_OF_ANSWER}
    del columns["id"]
    return {**columns, "data_set": data_set, "at": at, "body": row}
