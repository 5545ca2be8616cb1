"""Statements: the questions that they lead to, each of them one of the person's questions."""

import numpy as np

from hedgerow.queries import Groups, LinearQuery
from hedgerow.release import Estimate, estimates
from hedgerow.service.sessions.group import Question
from hedgerow.service.sessions.worker import SessionWorker
from hedgerow.service.store import GivenAnswer


class StatementAnswers:
    """A person's way to a worker, as one who answers counting questions.

    The questions follow from the statement and from earlier answers alone, so that a request that is sent again asks
    the same ones, in the same order, and gets the answers that it was given.

    Args:
        worker: The worker.
        statement: The statement.
        person: Number of the person.
        request: Number of the request with an idempotency key, or None.

    Attributes:
        charged: Cost to the person's share of the budget so far.
    """

    def __init__(self, worker: SessionWorker, statement: str, *, person: int, request: int | None) -> None:
        """Ask nothing yet."""
        self._worker = worker
        self._statement = statement
        self._person = person
        self._request = request
        self._asked = 0
        self.charged = 0.0

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        """The answer of one query, and its source."""
        found = self._answer(query, confidence)
        return Estimate(found.value, found.low, found.high), found.source

    def guess(self, query: LinearQuery) -> float:
        """The hypothesis' own answer."""
        return self._worker.look_at(lambda session: session.guess(query))

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        """The counts of all groups, and their source."""
        found = self._answer(groups.target, confidence)
        told = found.groups or {}
        value, low, high = (None if told[name] is None else np.array(told[name]) for name in ("value", "low", "high"))
        return estimates(np.zeros(0) if value is None else value, low, high)[: groups.size], found.source

    def _answer(self, question: Question, confidence: float) -> GivenAnswer:
        (found,) = self._worker.ask(
            [question],
            person=self._person,
            request=self._request,
            confidence=confidence,
            first=self._asked,
            statement=self._statement,
        )
        self._asked += 1
        self.charged += found.charged
        return found
