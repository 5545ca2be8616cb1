"""Mechanisms that say what they measure, and leave charges, fits, progress, plan and release to this module."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hedgerow.algorithms.shared.algorithm import (
    Algorithm,
    ProgressCallback,
    check_domain,
    make_release,
    number_of_records,
    tell,
)
from hedgerow.algorithms.shared.checks import check_shares
from hedgerow.algorithms.shared.learning import possible_values
from hedgerow.algorithms.shared.plans import Charges, Outline, charges_line, process_bytes
from hedgerow.models import Footprint, Model, Proximal, hypothesis_for, refit
from hedgerow.privacy import Budget, Curator, Regime
from hedgerow.queries import Measurement, Workload
from hedgerow.release import Release

_BELOW = 1.0 - 1e-12
"""Charges of many rounds are rounded: their sum must not pass the budget."""


@dataclass(frozen=True)
class MeasuringAlgorithm(Algorithm):
    """A mechanism that measures, and releases the model that fits all its measurements.

    A subclass is a frozen dataclass with one method, `measure`; its fields are its options.

    Attributes:
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.

    Example:
        MWEM in its simplest form: select what the model answers worst, measure it, update.

        >>> from hedgerow import Domain, IntegerRange, PureDP, SeededNoise, Table
        >>> @dataclass(frozen=True)
        ... class Greedy(MeasuringAlgorithm):
        ...     rounds: int = 3
        ...
        ...     def measure(self, curator, workload, model, charge):
        ...         half = charge / self.rounds / 2
        ...         for _ in range(self.rounds):
        ...             worst = curator.select(workload, workload.answers(model), half)
        ...             yield curator.measure(workload.candidate(worst), half)
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> table = Table(domain, [[0, 1] * 500] * 3)
        >>> release = Greedy().run(table, Workload.marginals(domain, 2), PureDP(5.0), noise=SeededNoise(0))
        >>> len(release.measurements), abs(release.answer("a = 1 and c = 0").value) < 30
        (3, True)
    """

    total_share: float = 0.02
    error_share: float = 0.03
    refits: ClassVar[bool] = True
    """Whether the model is fitted after each measurement, for `measure` to look at; else once, after the last."""

    def __post_init__(self) -> None:
        """Check the shares.

        Raises:
            ConfigError: A share is out of its range.
        """
        check_shares(self.total_share, self.error_share)

    @abstractmethod
    def measure(self, curator: Curator, workload: Workload, model: Model, charge: float) -> Iterable[Measurement]:
        """Choose and measure, one measurement at a time.

        Args:
            curator: Curator before the private table: ``select`` and ``measure`` name their charges.
            workload: Queries that the release should answer well.
            model: The model, fitted to all measurements before; uniform at first. Ask it, and change nothing.
            charge: Charge of all selections and measurements together, in the unit of the ledger.

        Returns:
            The measurements in turn.
        """

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse a workload whose model does not fit into memory.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget.

        Raises:
            ModelTooLargeError: The model does not fit.
        """
        Footprint.of_workload(workload).check()

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """Run with a curator that the caller made; see `Algorithm.run_with`."""
        check_domain(curator, workload)
        self.check(workload, curator.regime)
        charges = self._charges(curator.ledger.remaining, curator.budget)
        model = hypothesis_for(workload, number_of_records(curator, charges.total))
        measurements = list[Measurement]()
        for measurement in self.measure(curator, workload, model, _BELOW * charges.rounds):
            target = measurement.target
            off = np.abs(measurement.values - target.on(model))[possible_values(target)]
            measurements.append(measurement)
            if self.refits:
                refit(model, measurements, Proximal())
            number, shown = len(measurements), model if self.refits else None
            tell(progress, curator, target.text, float(off.sum()), number=number, of=None, model=shown)
        if not self.refits:
            refit(model, measurements, Proximal())
        return make_release(
            curator,
            workload,
            model,
            name=type(self).__name__,
            parameters=self.parameters(),
            measurements=measurements,
            error_charge=charges.error,
        )

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        """Memory and charges; what is measured, `measure` decides.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            total: A public guess of the number of records.
        """
        charges, held = self._charges(budget.limit, budget), Footprint.of_workload(workload)
        shares = charges.shares("measurements")
        facts = {"limit": budget.limit, "unit": budget.unit, "charges": shares}
        asked, text = workload.n_candidates, [charges_line(budget.limit, budget.unit, shares)]
        process = process_bytes(
            workload.domain, total, held.required_bytes, measured=asked, values=workload.n_queries, queries=asked
        )
        return Outline.of(held.required_bytes, held.words, text, facts, process=process)

    def _charges(self, amount: float, budget: Budget) -> Charges:
        return Charges.split(amount, budget.neighbours, total=self.total_share, error=self.error_share)
