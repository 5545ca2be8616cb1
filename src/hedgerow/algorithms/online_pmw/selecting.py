"""Statements that a session answers: the questions that they lead to, asked one by one."""

from collections.abc import Callable
from dataclasses import dataclass

from hedgerow.algorithms.online_pmw.answer import OnlineAnswer, OnlineGroups
from hedgerow.queries import Blocks, Groups, LinearQuery, Marginal
from hedgerow.release import Estimate, estimates


@dataclass(frozen=True)
class Asking:
    """A session, or what stands before it, as one who answers counting questions.

    Attributes:
        ask: Answers a query with a confidence.
        ask_groups: Answers the counts of a group.
        guesses: Gives the hypothesis' own answer of a query, which costs nothing.
    """

    ask: Callable[[LinearQuery, float], OnlineAnswer]
    ask_groups: Callable[[Marginal | Blocks, float], OnlineGroups]
    guesses: Callable[[LinearQuery], float]

    def count(self, query: LinearQuery, confidence: float) -> tuple[Estimate, str]:
        """The answer of one query, and its source."""
        answer = self.ask(query, confidence)
        return Estimate(answer.value, answer.low, answer.high), answer.source

    def guess(self, query: LinearQuery) -> float:
        """The hypothesis' own answer."""
        return self.guesses(query)

    def counts(self, groups: Groups, confidence: float) -> tuple[list[Estimate], str]:
        """The counts of all groups, and their source."""
        answer = self.ask_groups(groups.target, confidence)
        return estimates(answer.values, answer.low, answer.high)[: groups.size], answer.source
