"""Predicted errors of fixed measurements, as a plan tells them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from hedgerow.algorithms.shared import Line, says_nothing
from hedgerow.algorithms.strategies.choice import strategies
from hedgerow.algorithms.strategies.strategy import Strategy
from hedgerow.algorithms.strategies.tables import forget_energies
from hedgerow.errors import ConfigError, QueryError
from hedgerow.privacy import Budget, Subsampled
from hedgerow.queries import Workload

MOST_PREDICTED = 2**22
"""Most tables and single queries whose errors are predicted: as many tables as a workload can have."""

_MANY = 2**12
"""Candidates of a workload whose strategies are kept: a plan and a run ask for the same ones several times."""


def predicted(
    workload: Workload, budget: Budget, charge: float | None = None, total: float = math.inf
) -> list[Strategy]:
    """The strategies for a plan, the best first; none for huge workloads, families that say too little, and samples.

    Args:
        workload: Queries that should be answered well.
        budget: Budget of the run.
        charge: See `strategies`.
        total: See `strategies`.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 9) for name in "ab"), 1)
        >>> [each.name for each in predicted(workload, PureDP(1.0))]
        ['marginals', 'cells']
    """
    if isinstance(budget, Subsampled):  # it counts a part of the records alone
        return []
    if sum(len(each.scopes) if each.tabular else each.n_candidates for each in workload.families) > MOST_PREDICTED:
        return []
    find = _kept if workload.n_candidates > _MANY else _predicted
    return list(find(workload, budget, charge, total))


def _predicted(workload: Workload, budget: Budget, charge: float | None, total: float) -> Sequence[Strategy]:
    try:
        return strategies(workload, budget, charge, total=total)
    except (ConfigError, QueryError):  # noise too wide to be drawn, or a family that says too little
        return ()


_kept = lru_cache(maxsize=6)(_predicted)


def forget_predicted() -> None:
    """Let go of the strategies that are kept, and of what they were made from."""
    _kept.cache_clear()
    forget_energies()


def prediction_lines(found: Sequence[Strategy], total: float) -> list[Line]:
    """Lines of a plan: the errors of fixed measurements, the best first.

    Args:
        found: See `predicted`.
        total: A public guess of the number of records.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 9) for name in "ab"), 1)
        >>> for word, sentence in prediction_lines(predicted(workload, PureDP(1.0)), total=1000.0):
        ...     print(word or "-", sentence)
        fixed if nothing is selected: mean and largest error of an unbiased estimate, as a share of the records
        - marginals 0.0109 and 0.0109 (2 measurements): the best of these
        - cells 0.0171 and 0.0171 (1 measurement)
    """
    lines: list[Line] = []
    for each in found:
        number = f"{each.n_measurements:,} measurement{'' if each.n_measurements == 1 else 's'}"
        errors = f"{each.mean_error / total:.3g} and {each.largest_error / total:.3g}"
        best = ": the best of these" if not lines and len(found) > 1 else ""
        lines.append(("", f"{each.name} {errors} ({number}){best}{says_nothing(each.mean_error, total)}"))
    intro = "if nothing is selected: mean and largest error of an unbiased estimate, as a share of the records"
    return [("fixed", intro), *lines] if lines else []
