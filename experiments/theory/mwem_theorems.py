"""The error theorems of MWEM as the paper prints them (Hardt, Ligett and McSherry 2012), in counts.

`hedgerow.algorithms.shared.bound_of` gives the same bounds at a chosen failure probability.
"""

from __future__ import annotations

import math

from hedgerow.algorithms.shared import Task, hypothesis_error


def theorem_2_3(task: Task, epsilon: float, rounds: int, c: float = 1.0) -> tuple[float, float]:
    """Theorem 2.3 as printed, for sensitivity 1 and half of epsilon for selection.

    Returns:
        ``2 n sqrt(ln|D| / T) + (6 c + 4) T ln|Q| / epsilon`` in counts, and the probability
        ``1 - 2 T / |Q|**c`` with which it holds (0 where the theorem says nothing).

    Example:
        >>> error, probability = theorem_2_3(Task(total=10_000, cells=2**16, candidates=560), epsilon=1.0, rounds=8)
        >>> round(error, 1), round(probability, 4)
        (24054.4, 0.9714)
    """
    error = hypothesis_error(task, rounds) + (6 * c + 4) * rounds * math.log(task.candidates) / epsilon
    return error, max(0.0, 1.0 - 2.0 * rounds * task.candidates ** (-c))


def corollary_2_5(task: Task, epsilon: float) -> tuple[int, float]:
    """Rounds and error that balance theorem 2.3 with c = 1 (before T is rounded to a whole number).

    Example:
        >>> corollary_2_5(Task(total=10_000, cells=2**16, candidates=560), epsilon=1.0)[0]
        65
    """
    log_cells, log_queries = math.log(task.cells), max(math.log(task.candidates), math.log(2.0))
    rounds = (task.total * epsilon * math.sqrt(log_cells) / (10.0 * log_queries)) ** (2.0 / 3.0)
    error = 3.0 * 10.0 ** (1.0 / 3.0) * task.total ** (2.0 / 3.0) * (log_cells * log_queries / epsilon) ** (1.0 / 3.0)
    return max(1, round(rounds)), error
