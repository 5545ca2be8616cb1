"""Whether a ledger pays for what stands beside it in a file, and holds no more than the budget there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hedgerow.errors import BudgetError
from hedgerow.privacy.budgets import Budget
from hedgerow.privacy.ledger.ledger import Event, Ledger
from hedgerow.privacy.mechanisms import GAUSSIAN, LAPLACE
from hedgerow.privacy.workload_error import WorkloadError
from hedgerow.queries import Measurement, Neighbours, NoiseKind

_Noise = tuple[str, float, int]
"""Mechanism, scale and number of values."""
_NAMES = {NoiseKind.LAPLACE: LAPLACE, NoiseKind.GAUSSIAN: GAUSSIAN}
_LESS, _MORE = 1.0 - 2.0**-40, 1.0 + 2.0**-40
"""Sensitivities and limits that another machine computed may differ in a last bit."""


def check_limit(ledger: Ledger, budget: Budget) -> None:
    """Refuse a ledger that may hold more than a budget.

    Raises:
        BudgetError: Its limit is larger, or in another unit.

    Example:
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> check_limit(Ledger(1.0, "epsilon"), PureDP(1.0))
    """
    if ledger.unit != budget.unit or ledger.limit > budget.limit * _MORE:
        raise BudgetError(f"the ledger may hold {ledger.limit:.6g} {ledger.unit}, the budget is another one")


def check_answers_paid(
    events: Sequence[Event],
    measurements: Iterable[Measurement],
    neighbours: Neighbours,
    error: WorkloadError | None = None,
) -> None:
    """Refuse noisy answers without an event each that charges their noise, at the sensitivity of what was measured.

    What is in a file together must fit together: else events could be left out, or made cheap, one by one. Choices
    leave no values behind that could be compared with their events.

    Args:
        events: The ledger's events.
        measurements: What was measured.
        neighbours: The relation that the guarantee refers to.
        error: The noisy error of the workload, if there is one: two values that one record moves by 1 each.

    Raises:
        BudgetError: One of them has no such event.

    Example:
        >>> check_answers_paid([], [], Neighbours.REPLACE)
    """
    paid, needed = defaultdict[_Noise, list[float]](list), defaultdict[_Noise, list[float]](list)
    for event in events:
        if event.neighbours == neighbours.value:
            paid[event.mechanism, event.scale, event.values].append(event.sensitivity)
    for measured in measurements:
        kind, sensitivity = measured.noise, measured.target.sensitivity(neighbours)
        least = sensitivity.l1 if kind is NoiseKind.LAPLACE else sensitivity.l2
        needed[_NAMES[kind], measured.scale, measured.target.size].append(least * _LESS)
    for noise in () if error is None else (error.mean_noise, error.maximum_noise):
        needed[noise.name, noise.scale, 1].append(1.0)
    for told, wanted in needed.items():
        found = sorted(paid[told], reverse=True)
        if len(found) < len(wanted) or any(a < b for a, b in zip(found, sorted(wanted, reverse=True), strict=False)):
            raise BudgetError(f"the ledger does not pay for all noisy answers by {told[0]} of scale {told[1]:.6g}")
