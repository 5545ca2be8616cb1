"""A session that lives in a file, written in the order that outlasts the death of a process.

The order is the server's (``hold.py``): what a look at the data can cost is in the file, as a hold, before the
look; what came out and what it really cost are in the file before an answer leaves. Questions that are asked together
share a hold until a test fires; the hold of the next look is then written in one step with what the fire brought. The
file is written once before the first look, once more for each fire that another look follows, and once at the end.

A file that names a hold was left by a process that is gone, as the file is locked for as long as one is at it.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from hedgerow.algorithms.online_pmw.answer import Asking, OnlineAnswer, OnlineGroups
from hedgerow.algorithms.online_pmw.hold import Hold
from hedgerow.algorithms.online_pmw.session import OnlineSession, restore_session
from hedgerow.algorithms.online_pmw.settings import OnlineSettings
from hedgerow.algorithms.online_pmw.start import Opening, check_source, open_session
from hedgerow.algorithms.online_pmw.state import KIND, explaining, held_in, write_session
from hedgerow.domain import Domain, domain_from_mapping, domain_to_mapping
from hedgerow.errors import MarginalTooLargeError, SessionError
from hedgerow.privacy import Budget, Event, Ledger, NoiseSource, Register, before_a_run, warn_of_weakness
from hedgerow.privacy.budgets import budget_from_dict
from hedgerow.queries import Blocks, LinearQuery, Marginal, Selection
from hedgerow.release import Container, Release, Selected, check_confidence, select
from hedgerow.system import alone_with, remove_leftovers

Asked = TypeVar("Asked", bound=str | LinearQuery | Marginal | Blocks)
Answered = TypeVar("Answered", OnlineAnswer, OnlineGroups)


class SessionFile:
    """A session of `OnlinePMW` in a file of its own, for as long as a ``with`` block lasts.

    Whatever kills the process, the file then says at least what was spent: a question that was under way is forfeited
    by anyone who continues, at the most that it can have cost. An error in the middle of a question is no different.

    The file is secret, as that of `OnlineSession.save`. Not for several threads at once.

    Args:
        path: The file; its folder must exist.
        reached: Called at named steps of the order; a harness that kills the process at one of them gives its own.

    Attributes:
        forfeited: The holds of a process that is gone, or of a question that failed, as the events that they became in
            the file's ledger.

    Example:
        >>> import hedgerow, tempfile
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 3)))
        >>> people = pa.table({"a": [0, 1, 1, 1] * 5_000, "b": [0, 1, 2, 2] * 5_000})
        >>> table = hedgerow.read_table(people, domain)
        >>> online = hedgerow.OnlinePMW(updates=5, threshold=0.05)
        >>> folder = tempfile.TemporaryDirectory()
        >>> with SessionFile(f"{folder.name}/people.session") as kept:
        ...     kept.start(online, table, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(1))
        ...     kept.ask("a = 1").source
        'data'
        >>> with SessionFile(f"{folder.name}/people.session") as kept:
        ...     kept.restore(table, noise=hedgerow.SeededNoise(2))
        ...     [answer.source for answer in kept.ask_all(["a = 1", "a = 0"])], kept.summary()["updates_left"]
        (['cache', 'hypothesis'], 4)
        >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str], *, reached: Callable[[str], None] = lambda _: None) -> None:
        """Read nothing yet."""
        self._path = Path(path)
        self._reached = reached
        self._lock: ExitStack | None = None
        self._session: OnlineSession | None = None
        self._table: tuple[Any, NoiseSource | None] | None = None
        self._held = False
        self._lost: tuple[Event, ...] = ()
        self.forfeited: tuple[Event, ...] = ()

    def __enter__(self) -> Self:
        """Keep all other processes from going on with the session.

        Raises:
            SessionError: Another one is at it, or the folder does not exist or cannot be written to.
        """
        with ExitStack() as locking:
            try:
                is_alone = locking.enter_context(alone_with(self._path))
                if is_alone:
                    remove_leftovers(self._path)  # each holds a secret
            except OSError as error:
                raise SessionError(
                    f"{self._path}: the session cannot be opened: {error.strerror or error}",
                    remedy="name a file in a folder that exists and can be written to",
                ) from error
            if not is_alone:
                raise SessionError(
                    f"{self._path}: another process is using this session", remedy="wait until it is done"
                )
            self._lock = locking.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let others continue with it."""
        self._session = self._table = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # Beginning and going on

    @property
    def is_new(self) -> bool:
        """Whether there is no such file yet."""
        return not self._path.exists()

    def start(
        self,
        config: OnlineSettings,
        source: Any,  # a CountSource; that name lives in data/, which algorithms do not import
        budget: Budget,
        *,
        noise: NoiseSource | None = None,
        warm: Release | None = None,
        notes: Mapping[str, Any] | None = None,
        register: Register | None = None,
        name: str = "",
    ) -> None:
        """Start a session; what the number of records costs is in the file before it is bought.

        A session whose process died before it had begun is started again, out of what is left of its budget.

        Args:
            config: The configuration, an `OnlinePMW`.
            source: The private table, as ``read_table`` gives it.
            budget: The budget of the session, and with it the relation between neighbouring tables.
            noise: Source of noise; the secure one unless given. A seeded source makes the answers not private.
            warm: An earlier release of the *same* table, to start from; what it spent is charged to the budget.
            notes: Values to find again in `notes`, which JSON can hold.
            register: Register of the table; see `OnlinePMW.start`. A session that is started again is charged once.
            name: Name of the session in the register.

        Raises:
            SessionError: There is a session in the file already, or one that was to begin with another domain or
                budget, or the file cannot be written.
            ConfigError: See `OnlinePMW.start`.
            ModelTooLargeError: The hypothesis does not fit into memory; nothing was spent.
            RegisterExceededError: The register does not cover the budget; nothing was spent.
            RegisterError: The register cannot be read or written; nothing was spent.

        Warns:
            UnregisteredWarning: See `OnlinePMW.start`.
            WeakGuaranteeWarning: See `OnlinePMW.start`.
        """
        self._check_locked()
        within, earlier = check_source(config, source, budget, warm)
        before = None if self.is_new else self._interrupted(source.domain, within)
        told, lost = ({}, ()) if before is None else (dict(before.notes), before.lost)
        if register is None or not register.knows(told):
            entry = before_a_run(
                source, budget, noise, register, kind="session", name=name, counts_earlier=warm is not None
            )
            told = {} if register is None or entry is None else register.note(entry)
        self._lost = lost
        opening = Opening(config, within, source.domain, warm is not None, {**told, **(notes or {})}, lost)
        session = open_session(opening, source, earlier, noise=noise, warm=warm, hold=self._open)
        self._reached("looked")
        self._settle(session)
        self._session, self._table = session, (source, noise)
        warn_of_weakness(session.budget, float(session.summary()["total"]), noise)

    def restore(self, source: Any, *, noise: NoiseSource | None = None) -> None:
        """Continue with the session in the file; start it again if its process died before it had begun.

        Args:
            source: The private table, which must be the same as before; only its domain can be checked.
            noise: Source of noise; the secure one unless given.

        Raises:
            SessionError: There is no such file, it may not be read, the table has another domain, or the session was
                to start from an earlier release, and did not come to it: give that to `start`.
            DamagedSessionError: It is not a session, is truncated, or was changed.
            ModelTooLargeError: Its hypothesis does not fit into memory now.
        """
        self._check_locked()
        opening = self.opening()
        if opening is None:
            self._session, self._table = None, (source, noise)
            self._running()
        elif opening.warm:
            raise SessionError(
                f"{self._path}: the session was to start from an earlier release, and was interrupted",
                remedy="name that release again",
            )
        else:
            self.start(opening.config, source, opening.budget, noise=noise, notes=opening.notes)

    def opening(self) -> Opening | None:
        """The beginning of the session, if its process died before it had begun.

        Raises:
            SessionError: There is no such file, or it may not be read.
            DamagedSessionError: It is not a session, is truncated, or was changed.
        """
        with explaining(self._path):
            container = Container.open(self._path, KIND)
            content = container.content
            hold = held_in(content)
            if hold is None or hold.purpose == "question":
                return None
            budget = budget_from_dict(content["budget"])
            ledger = Ledger.from_dict(content["ledger"])
            return Opening(
                config=OnlineSettings.from_dict(content["config"]),
                budget=budget,
                domain=domain_from_mapping(content["domain"]),
                warm=bool(content["warm"]),
                notes=dict(content["notes"]),
                lost=(*ledger.events, hold.lost(budget)),
            )

    # Questions

    def ask(self, query: str | LinearQuery, confidence: float = 0.95) -> OnlineAnswer:
        """Answer a query; see `OnlineSession.ask`. The file knows what it cost before it is answered.

        Raises:
            SessionError: The file cannot be written; the answer is lost, and paid for.
            QueryError, ConfigError: See `OnlineSession.ask`.
        """
        return self.ask_all([query], confidence)[0]

    def ask_all(self, queries: Iterable[str | LinearQuery], confidence: float = 0.95) -> list[OnlineAnswer]:
        """Answer many queries in their order; see `OnlineSession.ask_all`. The file is written once for each fire.

        Raises:
            SessionError: The file cannot be written; answers since the last correction are lost, and paid for.
            QueryError, ConfigError: See `OnlineSession.ask_all`.
        """
        check_confidence(confidence)
        session, listed = self._running(), list(queries)
        for query in listed:
            session.looks(query)  # refuses what is not understood, before anything is looked at
        answers: list[OnlineAnswer] = []
        try:
            while len(answers) < len(listed) and session.is_open:
                answers.append(self._answer(session, session.ask, listed[len(answers)], confidence))
            with self._keeping_if_refused(session):
                answers += session.ask_all(listed[len(answers) :], confidence)
            self._reached("looked")
            self._settle(session)
        except BaseException:  # what is in memory may be half of a correction: the file alone says what was
            self._session = None
            raise
        return answers

    def select(self, statement: str | Selection, confidence: float = 0.95) -> Selected:
        """Answer a statement; see `OnlineSession.select`. The file knows what it cost before it is answered.

        Raises:
            SessionError: The file cannot be written; answers since the last correction are lost, and paid for.
            QueryError, ConfigError: See `OnlineSession.select`.
        """
        check_confidence(confidence)
        session = self._running()
        read = session.read(statement)
        before = session.spent
        ask, ask_groups = (
            partial(self._answer, session, session.ask),
            partial(self._answer, session, session.ask_groups),
        )
        asking = Asking(ask, ask_groups, session.guess)
        try:
            selected = select(read, asking, confidence, session.budget.neighbours)
            self._reached("looked")
            self._settle(session)
        except BaseException:  # what is in memory may be half of a correction: the file alone says what was
            self._session = None
            raise
        return replace(selected, charged=session.spent - before)

    # What is known of the session

    @property
    def config(self) -> OnlineSettings:
        """The configuration."""
        return self._running().config

    @property
    def budget(self) -> Budget:
        """The budget of the session."""
        return self._running().budget

    @property
    def notes(self) -> dict[str, Any]:
        """Values that were noted; changes are written with the next answers."""
        return self._running().notes

    def summary(self) -> dict[str, Any]:
        """The session as plain values that JSON can hold; all public."""
        return self._running().summary()

    def release(self) -> Release:
        """The hypothesis as it is now, as a release; see `OnlineSession.release`."""
        return self._running().release()

    # Inside

    def _answer(
        self, session: OnlineSession, ask: Callable[[Asked, float], Answered], question: Asked, confidence: float
    ) -> Answered:
        """One question, with a hold in the file if it looks at the data."""
        before = session.spent
        if session.is_open and session.looks(question):
            self._hold(session)
        with self._keeping_if_refused(session):
            answer = ask(question, confidence)
        if answer.source == "data":
            self._held = False  # its hold is used up; the next write has what it brought
            self._reached("fired")
        return replace(answer, charged=session.spent - before)  # with the epoch that was opened for it

    @contextmanager
    def _keeping_if_refused(self, session: OnlineSession) -> Iterator[None]:
        """Write down what was found out before a question that is refused for what is public, before any look."""
        tested = session.tested
        try:
            yield
        except MarginalTooLargeError:
            if session.tested == tested:  # else in the middle of a test or of a correction
                self._settle(session)
            raise

    def _hold(self, session: OnlineSession) -> None:
        """Write to the file the most that the next look can cost, with the epoch that is opened for it."""
        if self._held:
            return
        session.prepare()
        self._reached("prepared")
        self._write(session, Hold(session.rules.answer_charge, "question"))
        self._reached("held")

    def _open(self, opening: Opening, hold: Hold) -> None:
        """Write to the file the most that the number of records can cost."""
        budget = opening.budget
        content = {
            "warning": "",
            "hold": asdict(hold),
            "notes": opening.notes,
            "config": opening.config.parameters(),
            "budget": budget.to_dict(),
            "domain": domain_to_mapping(opening.domain),
            "ledger": Ledger.of(budget, opening.lost).to_dict(),
            "warm": opening.warm,
        }
        self._reached("prepared")
        write_session(self._path, content, {})
        self._reached("held")

    def _settle(self, session: OnlineSession) -> None:
        """Write to the file what was found out and what it cost; nothing is held any more."""
        self._write(session, None)
        self._reached("settled")

    def _write(self, session: OnlineSession, hold: Hold | None) -> None:
        session.save(self._path, hold=hold)
        self._held = hold is not None
        self.forfeited, self._lost = (*self.forfeited, *self._lost), ()

    def _running(self) -> OnlineSession:
        """The session; put together again from the file if a question failed."""
        self._check_locked()
        if self._table is None and self._session is None:
            raise SessionError(f"{self._path}: the session is not open", remedy="start or restore it first")
        if self._session is None and self._table is not None:
            self._session, lost = restore_session(self._path, *self._table)
            self._lost, self._held = () if lost is None else (lost,), False
        return cast("OnlineSession", self._session)

    def _interrupted(self, domain: Domain, budget: Budget) -> Opening:
        """The beginning that is to be made again, about the same table and out of the same budget."""
        opening = self.opening()
        if opening is None:
            raise SessionError(f"{self._path}: there is a session already", remedy="restore it")
        if (opening.domain, opening.budget) != (domain, budget):
            raise SessionError(
                f"{self._path}: the session was started with another domain or budget", remedy="name the same ones"
            )
        return opening

    def _check_locked(self) -> None:
        if self._lock is None:
            raise SessionError(
                f"{self._path}: the session file is not locked against other processes",
                remedy="use the file in a 'with' block",
            )
