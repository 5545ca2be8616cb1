"""An analyst whose questions depend on the answers so far."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.online_pmw.adult import random_codes, random_condition
from hedgerow.algorithms.online_pmw import OnlineAnswer, OnlineSession
from hedgerow.domain import Domain
from hedgerow.queries import Conjunction
from hedgerow.system import generator

LARGE = 0.1
"""Answers of this share of the records are worth a closer look."""


@dataclass(frozen=True)
class Heard:
    """A question and its answer, in counts."""

    question: Conjunction
    answer: OnlineAnswer

    @property
    def corrected(self) -> bool:
        """Whether the data gave the answer."""
        return self.answer.source == "data"


class Analyst:
    """Asks for random conditions, and drills down where something was found.

    A question is a random condition with probability one half. Otherwise it is the condition at which the analyst
    stands, with one more condition on a random attribute that it does not name yet. The analyst stands at the last
    question whose answer was at least a tenth of the records, or was corrected by the data. No question is asked twice.

    Args:
        domain: Domain of the records.
        seed: Seed of all choices.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> analyst = Analyst(Domain(IntegerRange(name, 0, 4) for name in "abcde"), seed=0)
        >>> first = analyst.question()
        >>> analyst.hear(first, worth_a_look=True)
        >>> analyst.stand == first
        True
    """

    def __init__(self, domain: Domain, seed: int) -> None:
        """Nothing was asked yet."""
        self._domain = domain
        self._draw = generator(seed)
        self._asked: set[object] = set()
        self.stand: Conjunction | None = None

    def question(self) -> Conjunction:
        """The next one."""
        while True:
            question = self._idea()
            key = question.scope, question.codes
            if key not in self._asked:
                self._asked.add(key)
                return question

    def _idea(self) -> Conjunction:
        stand = self.stand
        if stand is None or len(stand.scope) == len(self._domain) or self._draw.random() < 0.5:
            return random_condition(self._domain, self._draw)
        name = str(self._draw.choice([name for name in self._domain.names if name not in stand.scope]))
        known = dict(zip(stand.scope, stand.codes, strict=True))
        return Conjunction.where(self._domain, {**known, name: random_codes(self._domain[name].size, self._draw)})

    def hear(self, question: Conjunction, *, worth_a_look: bool) -> None:
        """Learn of an answer.

        Args:
            question: The question that was asked.
            worth_a_look: Whether to stay there from now on.
        """
        if worth_a_look:
            self.stand = question

    def stream(self, session: OnlineSession, questions: int, records: float) -> list[Heard]:
        """Ask a session one question after another.

        Args:
            session: Who answers.
            questions: Number of questions.
            records: n, which is public.
        """
        heard: list[Heard] = []
        for _ in range(questions):
            question = self.question()
            heard.append(Heard(question, session.ask(question)))
            large = heard[-1].answer.value >= LARGE * records
            self.hear(question, worth_a_look=large or heard[-1].corrected)
        return heard
