"""Offline private multiplicative weights with early termination (theory.md section 3).

A. Nikolov (scribe: Mertz), "CSC2419 Lecture 6 - February 28, 2017", after M. Hardt and G. Rothblum, "A Multiplicative
Weights Mechanism for Privacy-Preserving Data Analysis", FOCS 2010. In every round: select the query that the
hypothesis answers worst, by the exponential mechanism; measure it with Laplace noise; if the noisy answer is within
``2 alpha`` of the hypothesis, stop; else take one step of fixed length towards it. With enough records every answer is
within ``4 alpha`` then, or within ``alpha`` if all L rounds pass without a stop. The errata of theory.md are followed.
Departures:

- queries with other ranges than [0, 1] are scaled to it, each by its own bounds;
- under "add-remove" the number of records is measured, and the promise allows for its noise (see the module
  `promise`);
- ``step="sharp"`` takes steps of ``4 alpha`` instead of ``alpha / 2``, which needs eight times fewer rounds;
- ``calibration="auto"`` is pure composition for pure budgets and zCDP for the others, which gives less noise than the
  source's advanced composition (``"advanced"``);
- noise is discrete Laplace noise, at its own charge;
- a share of the budget buys a noisy estimate of the final error (``error_share``), so that a report predicts honestly.
"""

import math
from dataclasses import dataclass, field
from typing import cast

from hedgerow.algorithms.offline_pmw.parameters import (
    OfflinePMWSettings,
    Setting,
    alpha_of,
    round_charge,
    round_epsilon,
    step_length,
)
from hedgerow.algorithms.offline_pmw.promise import Chooser, Scale, make_plan
from hedgerow.algorithms.shared import Algorithm, Outline, ProgressCallback, check_domain, number_of_records, tell
from hedgerow.algorithms.shared.algorithm import make_release
from hedgerow.algorithms.shared.fixed_steps import composition_of, with_fixed_steps
from hedgerow.domain import possible_records
from hedgerow.errors import ConfigError
from hedgerow.models import Footprint, hypothesis_for
from hedgerow.privacy import Budget, Composition, Curator, Regime
from hedgerow.queries import LinearQuery, Measurement, Neighbours, NoiseKind, Workload
from hedgerow.release import Release


@dataclass(frozen=True)
class OfflinePMW(OfflinePMWSettings, Algorithm):
    """Configuration of offline private multiplicative weights; holds no data, for any number of runs.

    The workload is used query by query, also in the release; all queries count the same. The provenance of the release
    says what was chosen, whether the promise holds, and how many updates were made.

    Attributes:
        alpha: Error aimed at, as a fraction; ``"auto"`` takes the smallest for which the promise holds.
        rounds: L, the most rounds; alpha follows from it. Only one of ``alpha`` and ``rounds`` may be set.
        beta: Probability that the promise may fail.
        step: ``"source"`` (eta = alpha / 2) or ``"sharp"`` (eta = 4 alpha, eight times fewer rounds).
        calibration: ``"auto"``, or ``"advanced"`` for the source's advanced composition: (epsilon, delta) budgets with
            epsilon up to 1. The ledger charges what that costs in zCDP, which is less than the budget.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP, Workload
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abcd"), 2)
        >>> plan = OfflinePMW(alpha=0.1, step="sharp").plan(workload, PureDP(1.0), total=200_000)
        >>> plan.facts["rounds"], plan.facts["promised"], round(plan.facts["records_required"])
        (138, True, 69143)
        >>> OfflinePMW(alpha=0.1, rounds=20)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: alpha = 0.1 and rounds = 20 cannot both be set: each follows from the other
          Remedy: leave one of them out
    """

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload, the regime or the memory does not allow, before anything is read or spent.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget.

        Raises:
            ConfigError: See `check_options`.
            ModelTooLargeError: No hypothesis that all queries could correct fits into memory. The promise speaks of all
                of them, so none is left out of the selection.
        """
        self.check_options(workload, regime)
        Footprint.of_workload(workload.by_query()).check()

    def check_options(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload or the regime does not allow, however much memory there is.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget.

        Raises:
            ConfigError: Families with different weights; a constant query; too few rounds for the domain; an advanced
                calibration of a pure budget.
        """
        if len(set(workload.weights)) > 1:
            raise ConfigError(
                "the promise of offline PMW is the same for all queries; families cannot have different weights",
                remedy="leave the weights out, or use MWEM",
            )
        if self.calibration == "advanced" and regime is Regime.PURE:
            raise ConfigError(
                "the advanced calibration needs an (epsilon, delta) budget", remedy="give a delta, or use 'auto'"
            )
        Scale.of(workload.by_query(), Neighbours.REPLACE)
        if self.rounds is not None:
            alpha_of(self.rounds, possible_records(workload.domain), self.step)

    def warnings(self, workload: Workload) -> tuple[str, ...]:
        """That a run which stops early leaves what further rounds would have cost.

        Args:
            workload: Queries that the release should answer well.
        """
        return (
            "pmw keeps a charge for every round that its promise may need, and stops as soon as a noisy answer is "
            "within it: what is left then buys nothing, and mwem would have spent it",
        )

    def accounted(self, workload: Workload, budget: Budget) -> Budget:
        """An (epsilon, delta) in zCDP with the steps of a given number of rounds fixed, if they cost less so."""
        rounds = self.rounds
        if rounds is None or self.calibration != "auto":
            return budget

        def made(plain: Budget, limit: float) -> Composition:
            charges = self.charges(limit, plain)
            epsilon = round_epsilon(self.calibration, plain, charges.rounds, rounds)
            selection = round_charge(plain.regime, epsilon).selection
            return composition_of(
                plain, limit, charges, (), selections=rounds, selection=selection, pure=rounds, pure_epsilon=epsilon
            )

        return with_fixed_steps(budget, made)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """Run with a curator that the caller made, and whose ledger the caller can read whatever happens.

        Args:
            curator: Curator before the private table; its whole remaining budget may be spent.
            workload: Queries that the release should answer well.
            progress: Callback, called after every round.
        """
        check_domain(curator, workload)
        self.check(workload, curator.regime)
        single = workload.by_query()
        scale = Scale.of(single, curator.neighbours)
        charges = self.charges(curator.ledger.remaining, curator.budget)
        total = number_of_records(curator, charges.total)
        setting = Chooser(self, scale, curator.budget, charges, total).choose()
        run = _Run(curator, single, setting, step_length(setting.alpha, self.step), progress)
        updates = run.rounds()
        outcome = {"chosen": setting.to_dict(), "updates": updates, "stopped": updates < setting.rounds}
        return make_release(
            curator,
            single,
            run.model,
            name="OfflinePMW",
            parameters={**self.parameters(), **outcome},
            measurements=run.measurements,
            error_charge=charges.error,
        )

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        """Plan a run: memory, charges and promise. Reads nothing and spends nothing.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            total: A public guess of the number of records.

        Raises:
            ConfigError: The configuration does not fit the budget or the workload.
        """
        self.check_options(workload, budget.regime)
        budget = self.accounted(workload, budget)
        single = workload.by_query()
        charges = self.charges(budget.limit, budget)
        setting = Chooser(self, Scale.of(single, budget.neighbours), budget, charges, max(1.0, total)).choose()
        return make_plan(setting, charges, budget, Footprint.of_workload(single), single)


@dataclass(eq=False)
class _Run:
    """A run in progress, from the uniform hypothesis on. It sees the private table through the curator alone."""

    curator: Curator
    workload: Workload
    setting: Setting
    eta: float
    progress: ProgressCallback | None
    measurements: list[Measurement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = hypothesis_for(self.workload, self.setting.total)

    def rounds(self) -> int:
        """All rounds; gives the number of updates, which is that of rounds unless the last one stopped."""
        for done in range(self.setting.rounds):
            query, residual = self._look()
            if abs(residual) <= 2.0 * self.setting.alpha:
                return done
            self.model.update(query, math.copysign(self.eta, residual) / _width(query))
        return self.setting.rounds

    def _look(self) -> tuple[LinearQuery, float]:
        """Select and measure: the query, and noisy answer minus the hypothesis' as a fraction of its width."""
        charge, answers = self.setting.charge, self.workload.answers(self.model)
        chosen = self.curator.select(self.workload, answers, charge.selection)
        query = cast("LinearQuery", self.workload.candidate(chosen))
        measured = self.curator.measure(query, charge.measurement, kind=NoiseKind.LAPLACE)
        self.measurements.append(measured)
        residual = float(measured.values[0] - answers[chosen])
        tell(self.progress, self.curator, query.text, abs(residual), number=len(self.measurements), of=None)
        return query, residual / (self.model.total * _width(query))


def _width(query: LinearQuery) -> float:
    low, high = query.bounds
    return high - low
