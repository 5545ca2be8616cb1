"""One data set at work: the questions of many people, one group after the other."""

import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from hedgerow.algorithms.online_pmw import OnlineSession
from hedgerow.errors import OutdatedError, QueryError, StoreBusyError
from hedgerow.queries import LinearQuery, canonical
from hedgerow.service.sessions.group import PendingRequest, Question, answer_group, most_bytes
from hedgerow.service.sessions.repository import SessionRepository
from hedgerow.service.store import GivenAnswer, to_json

T = TypeVar("T")

_TRIES = 4
"""Retries after a version conflict."""


@dataclass(frozen=True)
class _Call:
    """A function to run between two groups, alone with the data set unless it needs nothing but memory."""

    run: Callable[[], object]
    alone: bool = True
    done: Future[object] = field(default_factory=Future)


class SessionWorker:
    """The only way to ask a data set in this process; a thread of its own does the work.

    Args:
        repository: SessionRepository of the data set.
        tick: Seconds; answers of groups that looked at the data leave after a multiple of it.
    """

    def __init__(self, repository: SessionRepository, *, tick: float = 0.01) -> None:
        """Start the thread."""
        self._repository = repository
        self._tick = tick
        self._inbox: queue.SimpleQueue[PendingRequest | _Call | None] = queue.SimpleQueue()
        self._waiting: list[PendingRequest] = []
        self._is_open = True
        self._is_closing = False
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="worker", daemon=True)
        self._thread.start()

    def ask(
        self,
        questions: Sequence[Question],
        *,
        person: int,
        request: int | None = None,
        confidence: float = 0.95,
        first: int = 0,
        statement: str = "",
    ) -> list[GivenAnswer]:
        """Answer questions in their order; blocks until all answers are committed.

        Without an idempotency key, one that the person was given a lasting answer to has it again: nothing is written,
        counted or waited for.

        Args:
            questions: Queries over the domain, or groups of counts that `OnlineSession.check_group` accepts.
            person: Number of the person who asks.
            request: Number of the request with an idempotency key; its earlier answers are given again.
            confidence: Confidence of each interval.
            first: Position of the first of them in the request.
            statement: The SQL statement that leads to them.

        Raises:
            NotAllowedError: The person's number of questions is used up; what was answered before stays.
            QuotaError: The person's share of the store is used up; what was answered before stays.
            DataError, TableError: The private table cannot be read, or does not fit its domain.
            StoreError: The store cannot be read or written; no answer was given.
        """
        asked = [canonical(each) if isinstance(each, LinearQuery) else each for each in questions]
        if request is None:
            given = self._repository.given([each.text for each in asked], person, statement, confidence)
            known = {first + at: replace(found, request=None, position=first + at) for at, found in given.items()}
        else:  # all of it is on record under its key
            known = self._repository.store.answered(request)
        sizes = [most_bytes(each) + len(to_json(statement)) for each in asked]
        waiting = PendingRequest(asked, person, request, confidence, sizes, first, statement, known)
        if waiting.open:
            self._put(waiting)
        else:
            waiting.leave()
        return waiting.done.result()

    def look_at(self, run: Callable[[OnlineSession], T]) -> T:
        """Run a function on the session as it is, between two groups; it must not ask.

        Raises:
            DataError, TableError, StoreError: As `ask`.
        """
        return self.manage(lambda repository: run(repository.current()))

    def manage(self, run: Callable[[SessionRepository], T]) -> T:
        """Run a function on the repository, alone, between two groups; it must not ask.

        Raises:
            ConflictError, DataError, TableError, StoreError: As the function does.
        """
        call = _Call(lambda: run(self._repository))
        self._put(call)
        return cast("T", call.done.result())

    def leave(self) -> None:
        """Let another server work for the data set: nothing of it stays in memory."""
        with suppress(StoreBusyError):  # this one is being stopped
            self._put(_Call(self._repository.leave, alone=False))

    @property
    def waiting(self) -> int:
        """Requests that wait, about."""
        return self._inbox.qsize() + len(self._waiting)

    def close(self) -> None:
        """Finish what has begun, and end the thread."""
        with self._door:
            self._is_closing = True
            self._inbox.put(None)
        self._thread.join()

    def _put(self, item: PendingRequest | _Call) -> None:
        with self._door:  # what is put in after the end would never be answered
            if self._is_closing:
                raise StoreBusyError("this server is being stopped", remedy="try again in a moment")
            self._inbox.put(item)

    # The thread

    def _work(self) -> None:
        while self._is_open or self._waiting:
            self._take_in()
            if self._waiting:
                self._group()

    def _take_in(self) -> None:
        """Take all that has arrived; wait for it if there is nothing to do."""
        blocking = not self._waiting
        while True:
            try:
                item = self._inbox.get(block=blocking)
            except queue.Empty:
                return
            blocking = False
            if item is None:
                self._is_open = False
            elif isinstance(item, _Call):
                self._call(item)
            else:
                self._waiting.append(item)

    def _call(self, call: _Call) -> None:
        try:
            with self._repository.alone() if call.alone else nullcontext():
                try:
                    found = call.run()
                except QueryError as refused:  # what was asked for, not the session, is at fault
                    call.done.set_exception(refused)
                    return
        except BaseException as error:  # noqa: BLE001 - handed on to the waiting caller; the thread must continue
            self._repository.forget()
            call.done.set_exception(error)
        else:
            call.done.set_result(found)

    def _group(self) -> None:
        """Answer some of what is waiting; requests with all answers, or an error, leave."""
        begun = time.monotonic()
        try:
            looked = self._answered()
        except BaseException as error:  # noqa: BLE001 - handed on to all waiting callers; the thread must continue
            self._repository.forget()
            for each in self._waiting:
                each.failure = error
            self._rest(begun)  # it may have failed after a look
        else:
            self._repository.reached("committed")
            if looked:
                self._rest(begun)
        for each in self._waiting:
            if not each.open:
                each.leave()
        self._waiting = [each for each in self._waiting if each.open]

    def _answered(self) -> bool:
        """One group; whether the data were looked at."""
        for _ in range(_TRIES - 1):
            try:
                with self._repository.alone():
                    return answer_group(self._repository, self._waiting)
            except OutdatedError:
                self._repository.forget()
        with self._repository.alone():
            return answer_group(self._repository, self._waiting)

    def _rest(self, begun: float) -> None:
        """Wait for the next tick: an outside clock should not show how long the data were looked at."""
        if self._tick > 0.0:
            passed = time.monotonic() - begun
            time.sleep(math.ceil(passed / self._tick) * self._tick - passed)
