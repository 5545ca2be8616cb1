"""Holds: what a look at the data can cost, written down before it, and what becomes of that when the process dies.

The order that a session's guarantee rests on when processes die, in a file as on the server: the most that a look at
the data can cost is written down as a *hold*, to outlast the process, before the look; its outcome and what was really
charged are written after it, which ends the hold; then answers leave. A hold whose process is gone is forfeited: it
becomes an event of the ledger, although perhaps nothing was looked at, and the sparse vector counts it as a test that
fired. So even a death whose likelihood depends on what the test said tells nothing that was not paid for.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from hedgerow.algorithms.online_pmw.rules import Rules
from hedgerow.errors import ConfigError
from hedgerow.privacy import Budget, Event, InterruptedDraw, Purpose, additive_noise

Holding = Callable[["Hold"], None]
"""Writes down what is held, to outlast the process."""

LOST = "lost"
"""Label of the event that a forfeited hold becomes."""


@dataclass(frozen=True)
class Hold:
    """The most that something which is about to look at the data can cost.

    Attributes:
        charge: Amount that is held, in the unit of the budget.
        purpose: ``"opening"``, the number of records with which a session begins, or ``"question"``.

    Example:
        >>> from hedgerow import PureDP
        >>> print(Hold(0.02, "opening").lost(PureDP(1.0)))
        lost: the most that an interrupted opening can have cost by discrete Laplace, scale 50, 0.02 epsilon
    """

    charge: float
    purpose: Purpose

    def __post_init__(self) -> None:
        """Check both.

        Raises:
            ConfigError: The charge is not a positive finite number, or the purpose is unknown.
        """
        if isinstance(self.charge, bool) or not 0.0 < self.charge < math.inf:
            raise ConfigError(f"a hold must be positive and finite, not {self.charge!r}")
        if self.purpose not in get_args(Purpose):
            raise ConfigError(f"a hold is for an opening or a question, not for {self.purpose!r}")

    def lost(self, budget: Budget, rules: Rules | None = None) -> Event:
        """The event that it becomes when its process is gone, at its full charge.

        Its mechanism is the one that the hold was made for: a noisy count.

        Args:
            budget: The session's budget.
            rules: The session's rules, which know the noise of answers; None if it had not begun.
        """
        kind = rules.answer_kind if rules is not None and self.purpose == "question" else None
        most = float(budget.neighbours.records)
        noise = additive_noise(budget.regime, self.charge, l1=most, l2=most, step=1.0, kind=kind)
        return Event(
            label=LOST,
            mechanism=noise.name,
            question=InterruptedDraw(self.purpose),
            sensitivity=noise.sensitivity,
            scale=noise.scale,
            charge=self.charge,
            unit=budget.unit,
            neighbours=budget.neighbours.value,
        )
