"""What an algorithm tells its caller after every round: public values only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from hedgerow.models import Model


@final
@dataclass(frozen=True)
class RoundReport:
    """A finished round, as the release will show it too; nothing in it is exact.

    Attributes:
        round: Number of the round, from 1.
        rounds: Number of rounds planned; None where noisy values decide when to stop.
        spent: What the ledger holds after the round.
        limit: What it may hold.
        unit: ``"epsilon"`` or ``"rho"``.
        chosen: Text of the candidate that was measured.
        residual: Noisy answer minus the hypothesis' answer before the round, L1 over its cells, in counts.
        hypothesis: What answers the workload after the round, as public as the release; None where the algorithm shows
            none. The run goes on with this very object: ask it at once, and change nothing.

    Example:
        >>> RoundReport(1, 4, 0.25, 1.0, "epsilon", "sex * age", 120.0).share_spent
        0.25
    """

    round: int
    rounds: int | None
    spent: float
    limit: float
    unit: str
    chosen: str
    residual: float
    hypothesis: Model | None = field(default=None, repr=False, compare=False)

    @property
    def share_spent(self) -> float:
        """Share of the budget that is spent."""
        return self.spent / self.limit


ProgressCallback = Callable[[RoundReport], None]
"""Called after every round, in the thread that runs the algorithm."""
