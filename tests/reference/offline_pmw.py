"""Offline PMW as the lecture states it (with the errata of theory.md section 3), in plain Python: slow and obvious.

Everything is a fraction: the hypothesis is a list of probabilities, one per cell; a query is the list of its values in
[0, 1]; the exact answers are computed once, outside. Selection and noise are drawn outside too, by the callables given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One round: the hypothesis before it, the query, its noisy answer, and whether the hypothesis was updated."""

    before: list[float]
    query: int
    noisy: float
    updated: bool


def inner(query: Sequence[float], hypothesis: Sequence[float]) -> float:
    return sum(value * weight for value, weight in zip(query, hypothesis, strict=True))


def offline_pmw(
    answers: Sequence[float],
    queries: Sequence[Sequence[float]],
    rounds: int,
    alpha: float,
    eta: float,
    select: Callable[[list[float]], int],
    measure: Callable[[int], float],
) -> tuple[list[float], list[Step]]:
    """The hypothesis that is released, and every round.

    Args:
        answers: The exact answers.
        queries: Their values.
        rounds: L.
        alpha: The error aimed at.
        eta: Length of a step.
        select: Gets the absolute error of every query; gives the number of one.
        measure: Gets the number of a query; gives its noisy answer.
    """
    cells = len(queries[0])
    hypothesis, steps = [1.0 / cells] * cells, []
    for _ in range(rounds):
        chosen = select([abs(a - inner(q, hypothesis)) for a, q in zip(answers, queries, strict=True)])
        query, noisy = queries[chosen], measure(chosen)
        answer = inner(query, hypothesis)
        stops = abs(noisy - answer) <= 2 * alpha
        steps.append(Step(hypothesis, chosen, noisy, updated=not stops))
        if stops:
            break
        if noisy < answer:
            weights = [p * math.exp(-eta * q) for p, q in zip(hypothesis, query, strict=True)]
        else:
            weights = [p * math.exp(-eta * (1.0 - q)) for p, q in zip(hypothesis, query, strict=True)]
        hypothesis = [weight / sum(weights) for weight in weights]
    return hypothesis, steps
