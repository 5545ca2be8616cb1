"""Whether a ledger pays for the noisy answers that stand beside it in a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from hedgerow.errors import BudgetError
from hedgerow.privacy.ledger import Event
from hedgerow.privacy.mechanisms import GAUSSIAN, LAPLACE
from hedgerow.queries.measurement import Measurement, NoiseKind
from hedgerow.queries.sensitivity import Neighbours

_Noise = tuple[str, float, int]
"""Mechanism, scale and number of values."""
_NAMES = {NoiseKind.LAPLACE: LAPLACE, NoiseKind.GAUSSIAN: GAUSSIAN}
_LESS = 1.0 - 2.0**-40
"""Sensitivities that another machine computed may differ in a last bit."""


def check_answers_paid(events: Sequence[Event], measurements: Iterable[Measurement], neighbours: Neighbours) -> None:
    """Refuse noisy answers without an event each that charges their noise, at the sensitivity of what was measured.

    What is in a file together must fit together: else events could be left out, or made cheap, one by one. Choices
    leave no values behind that could be compared with their events.

    Args:
        events: The ledger's events.
        measurements: What was measured.
        neighbours: The relation that the guarantee refers to.

    Raises:
        BudgetError: A measurement has no such event.

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
    for noise, wanted in needed.items():
        found = sorted(paid[noise], reverse=True)
        if len(found) < len(wanted) or any(a < b for a, b in zip(found, sorted(wanted, reverse=True), strict=False)):
            raise BudgetError(f"the ledger does not pay for all noisy answers by {noise[0]} of scale {noise[1]:.6g}")
