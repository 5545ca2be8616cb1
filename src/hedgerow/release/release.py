"""Release: what a run makes public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from hedgerow.release.provenance import Provenance

if TYPE_CHECKING:
    from hedgerow.domain import Domain
    from hedgerow.models.model import Model
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.curator import WorkloadError
    from hedgerow.privacy.ledger import Event
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.workload import Workload


@final
@dataclass(frozen=True, eq=False)
class Release:
    """The public outcome of a run: everything in it is a function of noisy values and public parameters.

    Attributes:
        model: The hypothesis, with mass ``total``.
        workload: What the run was asked to get right.
        budget: What it was allowed to spend, and against which neighbours.
        events: What it spent, in order.
        measurements: Its noisy answers, in order.
        error: The noisy estimate of the workload's error, if a share of the budget was given to it.
        total: Number of records, noisy under add-remove, in counts.
        provenance: How it came about.
    """

    model: Model
    workload: Workload
    budget: Budget
    events: tuple[Event, ...]
    measurements: tuple[Measurement, ...]
    error: WorkloadError | None
    total: float
    provenance: Provenance

    @property
    def domain(self) -> Domain:
        """The public domain."""
        return self.workload.domain
