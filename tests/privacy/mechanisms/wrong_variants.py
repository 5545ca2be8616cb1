"""Sparse vectors as they were published, right and wrong, as fixtures: an audit that accepts all of them is no audit.

Lyu, Su and Li ("Understanding the sparse vector technique", 2017) compare six; their numbers are in the names. The
others are mixtures of right rules that are not right together, and the lecture's version with the same noise on
queries and threshold (theory.md section 4). Values are counts, one record moves each by 1, epsilon is 1.

Each comes with a story: questions, and answers, on which it loses the most between a table and the one where a record
moved from the first cell to the second. "Quiet" questions ask for the second cell, far above the level, and are
answered no; "loud" ones for the first cell, far below the level, and are answered yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.privacy import NoiseSource
from tests.privacy.randomness.laws import laplace_log_pmf
from tests.privacy.replay import Output, ReplayNoise
from tests.privacy.tables import DenseCounts, binary

CERTAIN = 1e-3
"""A scale at which discrete Laplace noise is 0, but for a probability of exp(-1000)."""

HERE, THERE = (5, 5), (4, 6)


@dataclass(frozen=True)
class Question:
    """Whether the count of a cell reaches a level, and what was told: no, yes, or the tested value."""

    cell: int
    level: int
    told: bool | int


QUIET, LOUD = Question(1, -55, False), Question(0, 545, True)


class ValueReplay(ReplayNoise):
    """Replays also tests that tell the very value that they compared."""

    def tested(self, value: int, threshold: int, scale: float) -> int | None:
        """The value with noise if that reaches the threshold, which includes a secret; None if it does not."""
        told = self._next("tested", scale)
        if told is False:
            self._tested(value - threshold, scale, False)
            return None
        noisy = int(told)  # type: ignore[arg-type]
        self._parts.append(float(laplace_log_pmf(noisy - value, scale)))
        self._tested(noisy - threshold, CERTAIN, True)
        return noisy


@dataclass(frozen=True)
class Variant:
    """One published rule.

    Attributes:
        name: Authors, and what is wrong.
        threshold_scale: Of the noise of the threshold.
        test_scale: Of the noise of the tested values.
        story: Where it loses most.
        loss: How much that is, in units of the claimed epsilon of 1; None: the longer the story, the more.
        fires: How many answers of yes it stops after; None: never.
        redraws: Whether there is a new threshold after each yes.
        tells_value: Whether a yes comes with the value that was compared.
    """

    name: str
    threshold_scale: float
    test_scale: float
    story: tuple[Question, ...]
    loss: float | None
    fires: int | None
    redraws: bool = False
    tells_value: bool = False

    def __str__(self) -> str:
        return self.name

    def run(self, source: DenseCounts, noise: NoiseSource) -> None:
        """Ask the questions of the story."""
        cells = [int(count) for count in source.marginals([("a",)])[0]]
        secret, fires = noise.secret(self.threshold_scale), 0
        for question in self.story:
            if fires == self.fires:
                return
            if self._passes(cells[question.cell], question.level + secret, noise):
                fires += 1
                if self.redraws and fires != self.fires:
                    secret = noise.secret(self.threshold_scale)

    def _passes(self, value: int, threshold: int, noise: NoiseSource) -> bool:
        if not self.tells_value:
            return noise.exceeds(value - threshold, self.test_scale)
        assert isinstance(noise, ValueReplay)
        return noise.tested(value, threshold, self.test_scale) is not None

    def transcript(self) -> tuple[Output, ...]:
        """What the story tells."""
        secret = Output("secret", self.threshold_scale, None)
        outputs, fires = [secret], 0
        for question in self.story:
            if fires == self.fires:
                break
            outputs.append(Output("tested" if self.tells_value else "exceeds", self.test_scale, question.told))
            fires += question.told is not False
            if question.told is not False and self.redraws and fires != self.fires:
                outputs.append(secret)
        return tuple(outputs)


def loss(variant: Variant) -> float:
    """Exact privacy loss of the story."""
    logs = []
    for histogram in (HERE, THERE):
        noise = ValueReplay(variant.transcript())
        variant.run(DenseCounts(binary(1), histogram), noise)
        assert noise.finished
        logs.append(noise.log_probability)
    return logs[0] - logs[1]


def story(fires: int, *, epochs: int = 1, quiet: int = 40) -> tuple[Question, ...]:
    """Epochs of many quiet questions and some loud ones."""
    return (*[QUIET] * quiet, *[LOUD] * fires) * epochs


NUMBERS: Sequence[Question] = [Question(1, -55, False)] * 40 + [Question(0, 0, 5)]
KNIFE_EDGE = (Question(1, 0, False), Question(0, -1, True))

RIGHT = (
    Variant("1 Lyu, Su and Li", 2.0, 12.0, story(3), 1.0, fires=3),
    Variant("2 Dwork and Roth, new threshold after each yes", 6.0, 12.0, story(1, epochs=3), 1.0, 3, redraws=True),
    Variant("one threshold at the scales of three epochs, charged as three", 6.0, 12.0, story(3), 2 / 3, fires=3),
)
WRONG = (
    Variant("3 lecture notes: tells the tested value", 2.0, 2.0, tuple(NUMBERS), None, fires=1, tells_value=True),
    Variant("4 Lee and Clifton: tests not scaled with fires", 4.0, 4 / 3, story(3), (1 + 6 * 3) / 4, fires=3),
    Variant("5 Stoddard, Chen and Machanavajjhala: no noise on tests", 2.0, CERTAIN, KNIFE_EDGE, None, fires=None),
    Variant("6 Chen, Xiao, Zhang and Xu: no end", 2.0, 2.0, story(20), 20.5, fires=None),
    Variant("Lap(1/epsilon) on queries and threshold", 1.0, 1.0, story(1), 3.0, fires=1),
    Variant("one threshold at the scales of one epoch, three fires", 2.0, 4.0, story(3), 2.0, fires=3),
    Variant("new threshold after each yes, charged for one", 2.0, 12.0, story(1, epochs=3), 2.0, 3, redraws=True),
    Variant("1 without its end", 2.0, 12.0, story(20), 0.5 + 20 / 6, fires=None),
    Variant("1 without noise on the threshold", CERTAIN, 12.0, story(3), None, fires=3),
)
