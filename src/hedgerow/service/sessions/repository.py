"""A session that lives in the store: the copy in memory is discarded whenever the two could differ.

The guarantee rests on the order of commits when processes die (see ``algorithms/online_pmw/hold.py``): the most that a
look at the data can cost is committed as a *hold* before it, and its outcome after it.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace

from hedgerow.algorithms.online_pmw import hold as online_hold
from hedgerow.algorithms.online_pmw.journal import Mark, Step, Transcript, step_since
from hedgerow.algorithms.online_pmw.online_pmw import OnlinePMW
from hedgerow.algorithms.online_pmw.session import OnlineSession
from hedgerow.algorithms.online_pmw.start import earlier_events
from hedgerow.domain import Domain
from hedgerow.errors import ConflictError, OutdatedError, StoreError, TableError
from hedgerow.models import may_be_dense
from hedgerow.privacy import Curator, Ledger, NoiseSource, budget_from_dict
from hedgerow.release import Release
from hedgerow.service.sessions.first import MOST_TREE_CELLS, MOST_WARM_CELLS, first_part, first_release, most_of_opening
from hedgerow.service.sessions.series import unit_of
from hedgerow.service.sessions.tables import PrivateTable, no_records
from hedgerow.service.store import DataSet, GivenAnswer, Hold, Reached, Store, nowhere, question_digest

_TRIES = 4
"""Attempts at a commit while the store is busy."""
_ROOM = 1 << 18
"""Bytes that a commit takes beside the tables of a hypothesis."""


@dataclass(frozen=True)
class _Opened:
    """The step that an opening led to, and the version that it continues: it is paid for, and not committed yet."""

    version: int
    step: Step


class SessionRepository:
    """The session of one data set, as the store has it. For one thread, but for `given`.

    Args:
        data_set: The registered data set.
        domain: Its attributes.
        store: Store of the session.
        read: Reads the private table.
        warm: Reads the earlier release that the session starts from, if it does.
        first: Share of the budget for a first release, from which the session starts if there is no earlier one.
        noise: Source of noise; None for the secure one.
        wait: Seconds to wait for other processes.
        reached: Called at named steps.

    Attributes:
        data_set: Number of the data set.
        store: The store.
        reached: Called at named steps.
        changes: Number of times that the store knew more than this repository wrote; 1 from the start.
    """

    def __init__(
        self,
        data_set: DataSet,
        domain: Domain,
        store: Store,
        read: Callable[[], PrivateTable],
        *,
        warm: Callable[[], Release | None] = lambda: None,
        first: float = 0.0,
        noise: NoiseSource | None = None,
        wait: float = 5.0,
        reached: Reached = nowhere,
    ) -> None:
        """Read nothing before it is needed."""
        self.data_set = data_set.id
        self._unit = unit_of(data_set.registration)
        self._promised_too_much = data_set.registration.promised_too_much
        self._domain = domain
        self._budget = budget_from_dict(data_set.registration.budget)
        self._config = OnlinePMW.from_dict(data_set.registration.config)
        self.store = store
        self._read = read
        self._warm = warm
        self._first = first
        self._noise = noise
        self._wait = wait
        self.reached = reached
        self._source: PrivateTable | None = None
        self._opened: _Opened | None = None
        self.changes = 0
        self.forget()

    def forget(self) -> None:
        """Discard what is in memory, but for the private table and an opening that is paid for: the store counts."""
        self._transcript = Transcript(self._domain)
        self._session: OnlineSession | None = None
        self._version = -1
        self._status = ""

    def leave(self) -> None:
        """Discard the private table too: another server works for the data set."""
        self.forget()
        self._source = None

    @property
    def is_closed(self) -> bool:
        """Whether the data set was closed: the data are not looked at any more."""
        return self._status in ("closed", "discarded")

    @property
    def mark(self) -> Mark:
        """Position that the store has reached."""
        return self._transcript.mark

    def alone(self) -> AbstractContextManager[None]:
        """Keep all other processes and threads away from the data set.

        Raises:
            ElsewhereError: Another server works for it.
            StoreBusyError: Another one holds it for longer than the waiting time.
        """
        return self.store.alone(self.data_set, self._unit, wait=self._wait)

    def current(self) -> OnlineSession:
        """The session as it is now. To be called alone.

        Raises:
            OutdatedError: Another process committed nevertheless.
            StoreError: The store cannot be read or written.
            DataError, TableError: The private table cannot be read, or has changed.
            ConflictError: The data set was closed before its session had begun, or its opening failed, or it is one of
                the first version that told how many rows pass its filter.
        """
        if self._promised_too_much:
            raise ConflictError(
                "the number of rows that pass the filter of this data set was treated as public, and is private",
                remedy="its custodian may close it and register it again",
            )
        self._catch_up()
        if not self._transcript.begun:
            self._begin()
        if self._session is None:
            self._session = self._transcript.session(self._table(), noise=self._noise)
        return self._session

    def retry(self, person: int) -> None:
        """Let an opening that failed be tried again, by the next look at the session. To be called alone.

        Args:
            person: Number of the custodian who wants it.

        Raises:
            ConflictError: The session has begun, or is closed.
            StoreError: The store cannot be read or written.
        """
        self._catch_up()
        if self._transcript.begun or self._status != "opening":
            self._version = self.store.reopen(self.data_set, self._version, by=person)
            self._status = "opening"

    def discard(self, person: int | None) -> None:
        """Discard the data set, unless it is open; what is held is lost. To be called alone.

        Args:
            person: Number of the custodian who wants it.

        Raises:
            ConflictError: It is open.
            StoreError: The store cannot be read or written.
        """
        self._opened = None
        self._catch_up()
        self.store.discard(self.data_set, self._version, by=person)

    def _catch_up(self) -> None:
        """Read what others committed, and settle what is held: by its outcome if that is here, else it is lost."""
        if not self._transcript.begun:
            self.forget()  # attempts to begin have no mark of their own
        progress = self.store.progress(self.data_set, self._transcript.mark)
        if progress.version != self._version:
            self._session = None
            self.changes += 1
            self._transcript.add(progress.step or Step())
            self._version, self._status = progress.version, progress.status
        if self._opened is not None and self._opened.version == progress.version:
            self._commit(self._opened)
        elif progress.hold is not None:
            self._opened = None
            self._forfeit(progress.hold)

    def given(self, questions: Sequence[str], person: int, statement: str, confidence: float) -> dict[int, GivenAnswer]:
        """Answers that a person was given and that last, by the position of the question. For any thread.

        Args:
            questions: Conditions in canonical form.
            person: Number of the person.
            statement: The SQL statement that leads to them; empty if they are asked by themselves.
            confidence: Confidence of each interval.

        Returns:
            The answers as they would be given now: with what is spent by now.

        Raises:
            StoreError: The store cannot be read.
        """
        digests = [question_digest(each, statement, confidence) for each in questions]
        known = self.store.given(self.data_set, person, digests)
        if not known:
            return {}
        step = self.store.shares(self.data_set, person).progress.step
        told = {} if step is None or step.state is None else step.state.get("summary", {})
        left = {name: told[name] for name in ("spent", "updates_left") if name in told}
        return {
            at: replace(found, source="public" if found.source == "public" else "cache", charged=0.0, **left)
            for at, digest in enumerate(digests)
            if (found := known.get(digest)) is not None
        }

    def hold(self, charge: float, person: int, step: Step | None) -> None:
        """Commit the most that a question can cost, and the epoch that was opened for it.

        Args:
            charge: The most that it can cost, without the epoch.
            person: Number of the person who asks.
            step: The epoch, or None if one was running.

        Raises:
            OutdatedError: Another process committed; the session in memory must be forgotten.
            StoreError: Nothing was committed; the session in memory must be forgotten.
        """
        told = step if step is None or self._session is None else _summarised(step, self._session)
        self._version = self.store.hold(self.data_set, self._version, Hold(charge, "question", person), told)
        self.reached("held")
        if step is not None:
            self._transcript.follow(step)

    def keep(self, session: OnlineSession, answers: Sequence[GivenAnswer]) -> Sequence[GivenAnswer]:
        """Commit what was learnt, what it cost, and the answers; tried again while the store is busy.

        Returns:
            The answers as they are in the store.

        Raises:
            OutdatedError: Another process committed; the session in memory must be forgotten.
            StoreError: It is unknown whether it was committed; the session in memory must be forgotten.
        """
        step = step_since(session, self._transcript.mark)
        kept = self._settle(_summarised(step, session), answers)
        self._transcript.follow(step)
        return kept

    # Inside

    def _settle(self, step: Step, answers: Sequence[GivenAnswer]) -> Sequence[GivenAnswer]:
        for left in reversed(range(_TRIES)):
            try:
                settled = self.store.settle(self.data_set, self._version, step, answers)
            except OutdatedError:
                raise
            except StoreError:
                if not left:
                    raise
                time.sleep(0.1)
            else:
                break
        self._version = settled.version
        return settled.answers

    def _table(self) -> PrivateTable:
        if self.is_closed:
            self._source = None
            return no_records(self._domain, self._budget.neighbours.persons)
        if self._source is None:
            try:
                self._source = self._read()
            except OSError as error:
                raise TableError("the private table cannot be read now", remedy="tell its custodian") from error
        return self._source

    def _forfeit(self, hold: Hold) -> None:
        rules = self._transcript.rules
        fired = self._transcript.state_after_a_fire() if hold.purpose == "question" else None
        step = Step(events=(hold.lost(self._budget, rules),), state=fired)
        self._transcript.follow(step)  # if the commit fails, all of this is forgotten
        if self._transcript.begun:
            self._session = self._transcript.session(self._table(), noise=self._noise)
            step = replace(step, state={**(fired or {}), "summary": self._session.summary()})
        price = hold.charge if rules is None else rules.price(self._budget.regime)
        self._version = self.store.forfeit(self.data_set, self._version, step, price)
        if self._status == "opening":
            self._status = "failed"

    def _begin(self) -> None:
        """Begin the session: what the number of records and a first release can cost is held first."""
        if self.is_closed:
            raise ConflictError("the data set was closed before it was opened", remedy="register it again")
        if self._status == "failed":
            raise ConflictError(
                "this data set could not be opened, and what that cost is lost",
                remedy="its custodian may try once more (POST /v1/datasets/NAME/open), or discard it (DELETE)",
            )
        self._table()  # first: a table that cannot be read costs nothing
        before = self._version
        try:
            session = self._look()
        except Exception:
            if self._version != before:  # something is held: all see at once that it is lost
                with suppress(StoreError):
                    self._catch_up()
            raise
        self.reached("looked")
        step = _summarised(step_since(session, self._transcript.mark, first=True), session)
        self._opened = _Opened(self._version, step)
        self._commit(self._opened)

    def _look(self) -> OnlineSession:
        """Look at the data for a session; what that can cost is held first."""
        warm = self._warm()
        hold: online_hold.Holding = self._hold_opening
        if warm is None and self._first:
            warm, hold = self._first_release(), _held_already
        earlier = () if warm is None else earlier_events(warm, self._budget, self._domain)
        events = (*self._transcript.events, *earlier)
        curator = Curator(self._table(), self._budget, noise=self._noise, events=events)
        return self._config.start_with(curator, warm=warm, hold=hold)

    def _commit(self, opened: _Opened) -> None:
        """Commit an opening. If that fails it is kept, and only this is tried again: it is paid for.

        Raises:
            OutdatedError: Another process committed meanwhile.
            StoreError: It is unknown whether it was committed.
        """
        try:
            self._settle(opened.step, [])
        except OutdatedError:
            self._opened = None
            raise
        except StoreError as error:
            error.remedy = f"{error.remedy}; what the opening learnt is kept until then, and costs nothing more"
            raise
        self._opened = None
        self._transcript.follow(opened.step)
        self._status = "open"

    def _first_release(self) -> Release:
        """Learn marginals before the session begins; what both can cost together is held first."""
        left = Ledger.of(self._budget, self._transcript.events).remaining
        most = most_of_opening(self._config, self._budget, self._first, left)
        self._hold_opening(online_hold.Hold(most, "opening"))
        part = first_part(self._budget, self._first, left)
        found = first_release(Curator(self._table(), part, noise=self._noise))
        self.reached("learnt")
        return found

    def _hold_opening(self, opening: online_hold.Hold) -> None:
        hold = Hold(opening.charge, opening.purpose, None)
        cells = min(self._domain.size, MOST_WARM_CELLS if may_be_dense(self._domain) else MOST_TREE_CELLS)
        self.store.make_room(self.data_set, self._version, 8 * cells * bool(self._first) + _ROOM)
        self._version = self.store.hold(self.data_set, self._version, hold, None)
        self.reached("held")


def _held_already(_: online_hold.Hold) -> None:
    """The number of records is part of what was held."""


def _summarised(step: Step, session: OnlineSession) -> Step:
    """Add the public summary of the session after a step to its state."""
    return replace(step, state={**(step.state or {}), "summary": session.summary()})
