"""The appendix listing of the MWEM paper, written anew in plain Python: the slow, obvious reference.

Hardt, Ligett, McSherry 2012, appendix. The hypothesis and the data are lists with one number per cell; a query is a
Python function of a cell's number. In every round: score every query that was not measured yet, select one by the
exponential mechanism, measure it with Laplace noise, then run ``sweeps`` rounds of multiplicative weights over all
measurements. Selection and noise are drawn outside, by the callables given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Query = Callable[[int], float]


def evaluate(query: Query, histogram: Sequence[float]) -> float:
    return sum(query(cell) * count for cell, count in enumerate(histogram))


def multiplicative_weights(
    hypothesis: list[float], queries: Sequence[Query], measurements: dict[int, float], sweeps: int
) -> None:
    total = sum(hypothesis)
    for _ in range(sweeps):
        for index, measured in measurements.items():
            query = queries[index]
            error = measured - evaluate(query, hypothesis)
            for cell in range(len(hypothesis)):
                hypothesis[cell] *= math.exp(query(cell) * error / (2.0 * total))
            scale = total / sum(hypothesis)
            for cell in range(len(hypothesis)):
                hypothesis[cell] *= scale


def mwem(
    data: Sequence[float],
    queries: Sequence[Query],
    rounds: int,
    select: Callable[[list[float], list[bool]], int],
    measure: Callable[[float], float],
    sweeps: int = 100,
) -> tuple[list[float], list[float]]:
    """The last hypothesis, and the average of those before each round.

    Args:
        data: Counts of the private table, one per cell.
        queries: The workload.
        rounds: T.
        select: Gets the absolute error of every query and which are still unmeasured; gives the number of one.
        measure: Gets an exact answer; gives the noisy one.
        sweeps: How often to go through all measurements after each round.
    """
    total = sum(data)
    hypothesis = [total / len(data)] * len(data)
    average = [0.0] * len(data)
    measurements: dict[int, float] = {}
    for _ in range(rounds):
        for cell in range(len(data)):
            average[cell] += hypothesis[cell] / rounds
        errors = [abs(evaluate(query, hypothesis) - evaluate(query, data)) for query in queries]
        chosen = select(errors, [index not in measurements for index in range(len(queries))])
        measurements[chosen] = measure(evaluate(queries[chosen], data))
        multiplicative_weights(hypothesis, queries, measurements, sweeps)
    return hypothesis, average
