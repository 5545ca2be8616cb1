"""Online multiplicative weights as its source teaches it, WITHOUT a limit on the updates: to count what its rule does.

A research loop for `threshold.py`, about a rule that is wrong. It reads exact answers and protects no one; the
mechanism is `hedgerow.OnlinePMW(variant="4a")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.algorithms.online_pmw import Rules
from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.models import Histogram
from hedgerow.queries import Conjunction
from hedgerow.system import generator


@dataclass(frozen=True)
class Numbers:
    """The numbers of the loop, in fractions of the records.

    Attributes:
        threshold: T.
        secret: sigma_1, scale of the Laplace noise of T; tests have twice that.
        answer: sigma_2, scale of the Laplace noise of answers.
        step: eta.
        updates: c, after which the mechanism would stop looking at the data; the loop goes on.
    """

    threshold: float
    secret: float
    answer: float
    step: float
    updates: int

    @classmethod
    def of(cls, rules: Rules, records: float, threshold: float) -> Numbers:
        """Those of variant 4a with a threshold of one's own.

        Args:
            rules: In counts.
            records: n.
            threshold: T, a fraction.

        Example:
            >>> from hedgerow.algorithms.online_pmw.rules import Stream
            >>> from hedgerow.algorithms.online_pmw.parameters import two_sided_rules
            >>> from hedgerow import PureDP
            >>> rules = two_sided_rules(Stream(1e8, 2.8, 1000), PureDP(1.0), 1.0, alpha=0.3)
            >>> Numbers.of(rules, 1e8, 0.6).updates
            124
        """
        answer = 1.0 / rules.answer_charge
        return cls(threshold, rules.watch.threshold_scale / records, answer / records, float(rules.step), rules.updates)


@dataclass(frozen=True, eq=False)
class Course:
    """The course of one loop.

    Attributes:
        fired: Whether each question fired, shape ``(questions,)``, had the loop no limit.
        answers: Answers of the mechanism, which after c fires answers from its hypothesis alone; fractions, same shape.
    """

    fired: np.ndarray[tuple[int], np.dtype[np.bool_]]
    answers: Floats


def source_loop(domain: Domain, questions: Sequence[Conjunction], exact: Floats, by: Numbers, seed: int) -> Course:
    """Ask one after another.

    Args:
        domain: Domain of the hypothesis, which starts uniform.
        questions: Fixed beforehand.
        exact: Their exact answers, fractions, shape ``(len(questions),)``.
        by: Thresholds, noises and step.
        seed: Seed of the noise.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> asked = [Conjunction.where(domain, {"a": [1]})] * 3
        >>> source_loop(domain, asked, np.full(3, 0.9), Numbers(0.3, 1e-6, 1e-6, 0.5, 9), seed=0).fired.tolist()
        [True, False, False]
    """
    loop = _Loop(domain, by, generator(seed))
    fired, answers = np.zeros(len(questions), dtype=np.bool_), np.zeros(len(questions))
    alone = np.empty(0)
    for i, question in enumerate(questions):
        fired[i], answers[i] = loop.ask(question, float(exact[i]))
        if fired[i] and loop.fires == by.updates:
            alone = loop.model.conjunctions(questions[i + 1 :])
    answers[len(questions) - len(alone) :] = alone
    return Course(fired, answers)


class _Loop:
    """Algorithm 4a of theory.md section 4, steps 1 to 3."""

    def __init__(self, domain: Domain, by: Numbers, draw: np.random.Generator) -> None:
        self.model = Histogram(domain, 1.0)
        self.fires = 0
        self._by, self._draw = by, draw
        self._start_epoch()

    def _start_epoch(self) -> None:
        self._level = self._by.threshold + self._draw.laplace(scale=self._by.secret)

    def ask(self, question: Conjunction, exact: float) -> tuple[bool, float]:
        value = float(self.model.conjunctions([question])[0])
        if not (self._passes(exact - value) or self._passes(value - exact)):
            return False, value
        answer = exact + self._draw.laplace(scale=self._by.answer)
        self.model.update(question, self._by.step if answer > value else -self._by.step)
        self.fires += 1
        self._start_epoch()
        return True, answer

    def _passes(self, error: float) -> bool:
        return error + self._draw.laplace(scale=2.0 * self._by.secret) >= self._level
