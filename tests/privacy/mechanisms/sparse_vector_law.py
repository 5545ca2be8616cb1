"""The exact law of a sparse vector on a lattice, in floats: Renyi divergences of all that it tells, for any stream.

Independent of ``hedgerow.privacy``: discrete Laplace noise of integer lattices, transcripts enumerated, the threshold's
noise summed over. A stream is a tree: what is asked may depend on all answers so far.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

Asked = Callable[[tuple[bool, ...]], tuple[int, int]]
"""Value minus threshold on the first table, and its move to the second, in lattice units; given the answers so far."""
ORDERS = (1.0001, 1.01, 1.3, 2.0, 3.5, 6.0, 12.0, 30.0, 100.0, 1000.0)


@dataclass(frozen=True)
class Law:
    """A run on a lattice: scales in its units, and the fires after which it ends."""

    threshold_scale: float
    test_scale: float
    fires: int

    def divergences(self, asked: Asked, tests: int, orders: Sequence[float] = ORDERS) -> np.ndarray:
        """Renyi divergences of the answers on the two tables, both ways; shape ``(2, orders)``."""
        reach = math.ceil(60 * self.threshold_scale)
        noise = np.arange(-reach, reach + 1)
        start = -np.abs(noise) / self.threshold_scale
        start -= logsumexp(start)
        here, there = [], []
        for answers, margins in self._transcripts(asked, tests):
            for told, side in ((here, 0), (there, 1)):
                logs = start.copy()
                for fired, margin in zip(answers, margins, strict=True):
                    logs += self.log(fired, margin[side] - noise)
                told.append(logsumexp(logs))
        one, two = np.array(here), np.array(there)
        assert abs(logsumexp(one)) < 1e-9
        assert abs(logsumexp(two)) < 1e-9
        return np.array(
            [[logsumexp(a * p + (1 - a) * q) / (a - 1) for a in orders] for p, q in ((one, two), (two, one))]
        )

    def _transcripts(self, asked: Asked, tests: int) -> Iterator[tuple[tuple[bool, ...], list[tuple[int, int]]]]:
        for answers in itertools.product((False, True), repeat=tests):
            ends = next((i + 1 for i in range(tests) if sum(answers[: i + 1]) == self.fires), tests)
            if any(answers[ends:]):
                continue  # the answers after the last fire are none
            asks = [asked(answers[:i]) for i in range(ends)]
            yield answers[:ends], [(margin, margin + move) for margin, move in asks]

    def log(self, fired: bool, margin: np.ndarray) -> np.ndarray:
        """ln Pr(margin + noise >= 0), or of the opposite."""
        steps = margin if fired else -margin - 1  # fires: noise >= -margin
        edge = math.log1p(math.exp(-1.0 / self.test_scale))
        low = steps / self.test_scale - edge  # Pr(noise <= k) for k <= 0, and of the mirror image
        high = np.log1p(-np.exp(-(np.maximum(steps, 0) + 1) / self.test_scale - edge))
        return np.where(steps <= 0, low, high)


def flat(asks: Sequence[tuple[int, int]]) -> Asked:
    """A stream that does not look at the answers."""
    return lambda answers: asks[len(answers)]


def tree(asks: Sequence[tuple[int, int]]) -> Asked:
    """One ask for each node of a binary tree, in the order of a heap."""
    return lambda answers: asks[int("1" + "".join("01"[answer] for answer in answers), 2) - 1]


def first_fire(law: Law, asks: Sequence[tuple[int, int]], orders: Sequence[float] = ORDERS) -> np.ndarray:
    """The divergences of a long stream with one fire: the time of it tells everything."""
    assert law.fires == 1
    reach = math.ceil(60 * law.threshold_scale)
    noise = np.arange(-reach, reach + 1)
    start = -np.abs(noise) / law.threshold_scale
    start -= logsumexp(start)
    sides = []
    for side in (0, 1):
        quiet, told = start.copy(), []
        for margin, move in asks:
            place = margin + side * move - noise
            told.append(logsumexp(quiet + law.log(True, place)))
            quiet = quiet + law.log(False, place)
        sides.append(np.array([*told, logsumexp(quiet)]))
    one, two = sides
    return np.array([[logsumexp(a * p + (1 - a) * q) / (a - 1) for a in orders] for p, q in ((one, two), (two, one))])
