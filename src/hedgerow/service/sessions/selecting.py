"""Statements: the questions that they lead to, each of them one of the person's questions."""

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from hedgerow.queries import Groups, LinearQuery
from hedgerow.release import Estimate, estimates
from hedgerow.service.sessions.group import Question
from hedgerow.service.sessions.worker import SessionWorker
from hedgerow.service.store import GivenAnswer


@dataclass
class StatementAnswers:
    """A person's way to a worker, as one who answers counting questions.

    The questions follow from the statement and from earlier answers alone, so that a request that is sent again asks
    the same ones, in the same order, and gets the answers that it was given.

    Attributes:
        worker: The worker.
        statement: The statement.
        person: Number of the person.
        request: Number of the request with an idempotency key, or None.
        asked: Number of questions so far.
        charged: Cost to the person's share of the budget so far.
    """

    worker: SessionWorker
    statement: str
    _: KW_ONLY
    person: int
    request: int | None
    asked: int = field(default=0, init=False)
    charged: float = field(default=0.0, init=False)

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        """The answer of one query, and its source."""
        found = self._answer(query, confidence)
        return Estimate(found.value, found.low, found.high), found.source

    def guess(self, query: LinearQuery) -> float:
        """The hypothesis' own answer."""
        return self.worker.look_at(lambda session: session.guess(query))

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        """The counts of all groups, and their source."""
        found = self._answer(groups.target, confidence)
        told = found.groups or {}
        value, low, high = (None if told[name] is None else np.array(told[name]) for name in ("value", "low", "high"))
        return estimates(np.zeros(0) if value is None else value, low, high)[: groups.size], found.source

    def _answer(self, question: Question, confidence: float) -> GivenAnswer:
        (found,) = self.worker.ask(
            [question],
            person=self.person,
            request=self.request,
            confidence=confidence,
            first=self.asked,
            statement=self.statement,
        )
        self.asked += 1
        self.charged += found.charged
        return found
