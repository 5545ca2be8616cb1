"""One run of MWEM: the state between rounds.

Everything in here is a function of public parameters and of what the curator returned; the privacy proof is
"post-processing of the ledger" (theory.md section 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.algorithms.algorithm import check_domain, make_release, number_of_records
from hedgerow.algorithms.averaging import Averager
from hedgerow.algorithms.mwem_rounds import first_rounds, planned_rounds
from hedgerow.algorithms.progress import ProgressCallback, RoundReport
from hedgerow.algorithms.schedule import Charges, RoundCharge, expected_noise, round_charge
from hedgerow.algorithms.steps import answer_of, clipped, take_step
from hedgerow.models.histogram import Histogram
from hedgerow.models.refit import Proximal, refit
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.query import Floats, Marginal
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.mwem import MWEM
    from hedgerow.privacy.curator import Curator
    from hedgerow.release import Release

Bools = NDArray[np.bool_]


def run_session(config: MWEM, curator: Curator, workload: Workload, progress: ProgressCallback | None) -> Release:
    """Run MWEM to its end and make the release.

    Raises:
        ConfigError: The configuration does not fit the budget or the workload.
        ModelTooLargeError: The hypothesis does not fit into memory; nothing was spent.
    """
    check_domain(curator, workload)
    config.check(workload, curator.budget.regime)
    session = Session(config, curator, workload, progress)
    session.start()
    session.run_rounds()
    return session.finish()


def copies_of(config: MWEM) -> int:
    """Arrays over all cells that a run holds at once: the hypothesis, and its base, an average or room for tables.

    Example:
        >>> from hedgerow.algorithms.mwem import MWEM
        >>> copies_of(MWEM())
        2
    """
    return 2 + (config.output == "average") + 2 * (config.initial == "histogram")


@final
class Session:
    """A run in progress."""

    def __init__(self, config: MWEM, curator: Curator, workload: Workload, progress: ProgressCallback | None) -> None:
        """Divide the budget; nothing is spent yet."""
        self.config = config
        self.curator = curator
        self.workload = workload
        self.progress = progress
        self.charges = Charges.split(
            curator.ledger.remaining,
            curator.neighbours,
            total=config.total_share,
            initial=config.spent_initially,
            error=config.error_share,
        )
        self.measurements: list[Measurement] = []
        self.fitted: list[Measurement] = []
        self.finest = np.zeros(workload.n_candidates)
        self.told = 0
        self.rounds: int | None = None

    def start(self) -> None:
        """Learn the number of records and make A_0."""
        self.total = number_of_records(self.curator, self.charges.total)
        self.model = Histogram(self.workload.domain, self.total, base=self._histogram())
        self.averager = Averager(self.model) if self.config.output == "average" else None
        if self.config.initial == "one-way":
            self._measure_one_way()

    def _histogram(self) -> Floats | None:
        """The noisy histogram, clipped at 0 and mixed with the uniform one: MW can never revive a zero."""
        if self.config.initial != "histogram":
            return None
        everything = Marginal(self.workload.domain, self.workload.domain.names)
        measured = self.curator.measure(everything, self.charges.initial, kind=self.config.noise, label="histogram")
        self.measurements.append(measured)
        cells = np.maximum(measured.values, 0.0).reshape(self.workload.domain.shape)
        gamma = self.config.uniform_share if cells.sum() > 0 else 1.0
        shares = cells / max(cells.sum(), 1.0)
        return np.asarray(self.total * ((1.0 - gamma) * shares + gamma / cells.size))

    def _measure_one_way(self) -> None:
        domain = self.workload.domain
        names = domain.clique(name for scope in self.workload.scopes for name in scope)
        for name in names:
            target = Marginal(domain, (name,))
            before = answer_of(self.model, target)
            charge = self.charges.initial / len(names)
            self._learn(self.curator.measure(target, charge, kind=self.config.noise), before, lazy=name != names[-1])

    def run_rounds(self) -> None:
        """All rounds: a planned number, or as many as the noisy answers ask for."""
        self.rounds = planned_rounds(self.config, self.workload, self.curator.budget, self.charges.rounds, self.total)
        if self.rounds is None:
            self._run_adaptive(self.charges.rounds, first_rounds(self.workload))
            return
        charge = round_charge(self.config, self.workload, self.charges.rounds, self.rounds)
        for index in range(self.rounds):
            if charge.selection > 0.0:
                self._round(charge)
            else:  # every candidate is measured, in the order of the workload
                self._look(index, charge)

    def _run_adaptive(self, left: float, start: int) -> None:
        """Doubling: once a noisy answer shows no more than noise, later rounds get twice the charge.

        The last round takes what is left, so that the budget is spent exactly. All decisions are functions of noisy
        values; the ledger refuses whatever would pass the limit (theory.md section 2, variation 4).
        """
        amount = left / start
        while left > 0.0:
            spend = left if left < 2.0 * amount else amount
            charge = RoundCharge.split(spend, self.config.selection_share)
            if spend < left and not (self.config.repeats or self._fresh(charge).any()):
                amount *= 2.0
                continue
            progressed = self._round(charge)
            left = 0.0 if spend == left else left - spend
            amount = amount if progressed else 2.0 * amount

    def _fresh(self, charge: RoundCharge) -> Bools:
        """Candidates that were not yet measured with a charge as large; public."""
        return np.asarray(self.finest < charge.measurement * (1.0 - 1e-9))

    def _eligible(self, charge: RoundCharge) -> Bools:
        """Those, or all where repeats are allowed or a last round finds none."""
        fresh = self._fresh(charge)
        return np.ones_like(fresh) if self.config.repeats or not fresh.any() else fresh

    def _round(self, charge: RoundCharge) -> bool:
        """Select, measure, update. Returns whether the noisy answer lay further off than noise would."""
        config = self.config
        chosen = self.curator.select(
            self.workload,
            self.workload.answers(self.model),
            charge.selection,
            eligible=self._eligible(charge),
            offsets=self._offsets(charge.measurement),
            law=config.law,
        )
        return self._look(chosen, charge)

    def _offsets(self, charge: float) -> Floats | None:
        if not self.config.offsets:
            return None
        return expected_noise(self.workload, self.curator.budget, charge, self.config.noise)

    def _look(self, chosen: int, charge: RoundCharge) -> bool:
        """Measure a candidate and update."""
        target = self.workload.candidate(chosen)
        if self.averager is not None:
            self.averager.add(self.model)
        before = answer_of(self.model, target)
        measured = self.curator.measure(target, charge.measurement, kind=self.config.noise)
        self.finest[chosen] = max(self.finest[chosen], charge.measurement)
        self._learn(measured, before, lazy=charge.selection == 0.0)
        residual = float(np.abs(measured.values - before).sum())
        self._tell(target.text, residual)
        expected = self.curator.noise_for(target, charge.measurement, self.config.noise).expected_abs
        return residual > target.size * expected

    def _learn(self, measured: Measurement, before: Floats, *, lazy: bool) -> None:
        """Move the hypothesis. ``before`` is its answer, in counts.

        Where no later choice looks at the hypothesis (``lazy``), fits that start afresh are left to the end.
        """
        self.measurements.append(measured)
        config = self.config
        self.fitted.append(measured)
        rule = config.refit_between
        if rule is None:
            answers = clipped(measured.values, measured.target, self.total) if config.clip else measured.values
            take_step(self.model, measured.target, answers - before, config.step)
        elif not (lazy and isinstance(rule, Proximal) and config.output == "last"):
            refit(self.model, self.fitted, rule)

    def _tell(self, chosen: str, residual: float) -> None:
        self.told += 1
        if self.progress is not None:
            ledger = self.curator.ledger
            self.progress(
                RoundReport(self.told, self.rounds, ledger.spent, ledger.limit, ledger.unit, chosen, residual)
            )

    def finish(self) -> Release:
        """Fit once more, estimate the error, and put the release together."""
        if self.averager is not None:
            self.model = self.averager.result()
        elif isinstance(self.config.refit, Proximal):
            refit(self.model, self.fitted, self.config.refit)
        return make_release(
            self.curator,
            self.workload,
            self.model,
            name="MWEM",
            parameters=self.config.parameters(),
            measurements=self.measurements,
            error_charge=self.charges.error,
        )
