"""The recipe of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow import Proximal, Workload
from hedgerow.extending import (
    Algorithm,
    Budget,
    Curator,
    Footprint,
    Marginal,
    Outline,
    ProgressCallback,
    Regime,
    Release,
    RoundReport,
    check_domain,
    check_shares,
    hypothesis_for,
    make_release,
    number_of_records,
    refit,
)


@dataclass(frozen=True)
class Singles(Algorithm):
    """measures every attribute alone and takes them as independent: a yardstick.

    Attributes:
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
    """

    total_share: float = 0.1

    def __post_init__(self) -> None:
        check_shares(self.total_share, 0.0)

    def check(self, workload: Workload, regime: Regime) -> None:
        Footprint.of_workload(_measured(workload)).check()

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        check_domain(curator, workload)
        self.check(workload, curator.regime)
        singles = _measured(workload)
        total = number_of_records(curator, self.total_share * curator.ledger.remaining)
        each = curator.ledger.remaining * (1.0 - 1e-12) / singles.n_candidates
        measurements = []
        for name in workload.domain.names:
            measurements.append(curator.measure(Marginal(workload.domain, (name,)), each))
            if progress is not None:
                spent = curator.ledger
                report = RoundReport(
                    len(measurements), singles.n_candidates, spent.spent, spent.limit, spent.unit, name, 0.0
                )
                progress(report)
        model = hypothesis_for(singles, total)
        refit(model, measurements, Proximal())
        return make_release(
            curator, workload, model, name="Singles", parameters=self.parameters(), measurements=measurements
        )

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        rounds = len(workload.domain)
        return Outline((("rounds", f"{rounds}, each {budget.limit / rounds:.4g} {budget.unit}"),), {"rounds": rounds})


def _measured(workload: Workload) -> Workload:
    return Workload.marginals(workload.domain, 1)
