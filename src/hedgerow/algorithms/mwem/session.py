"""One run of MWEM: the state between rounds.

Everything in here is a function of public parameters and of what the curator returned; the privacy proof is
"post-processing of the ledger" (theory.md section 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.algorithms.mwem.candidates import Limit, attributes_of, closure
from hedgerow.algorithms.mwem.rounds import annealed_rounds, first_rounds, planned_rounds, round_charge
from hedgerow.algorithms.shared.algorithm import check_domain, make_release, number_of_records
from hedgerow.algorithms.shared.averaging import Averager
from hedgerow.algorithms.shared.charges import Charges, RoundCharge, expected_noise
from hedgerow.algorithms.shared.progress import ProgressCallback, RoundReport
from hedgerow.algorithms.shared.steps import clipped, take_step
from hedgerow.arrays import Bools, Floats
from hedgerow.models import Histogram, Hypothesis, Markov, Proximal, Refit, ValueClasses, hypothesis, refit, suited
from hedgerow.privacy import LARGEST_MASS
from hedgerow.queries import Marginal, Measurement, Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.mwem.mwem import MWEM
    from hedgerow.domain import Clique
    from hedgerow.privacy import Curator
    from hedgerow.release import Release


_SHARED_NOISE = 0.25
"""Part of the noise of a measurement that is left in a fit to many others, in annealed rounds."""
_GROWTH = 2.0
"""What the charge of a round is multiplied with once a measurement taught nothing."""


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
        self._choose_from(workload)
        self.noise_counted = 1.0
        self.told = 0
        self.rounds: int | None = None

    def _choose_from(self, candidates: Workload) -> None:
        self.candidates = candidates
        self.limit = Limit(candidates, self.config.largest_tree)
        self.finest = np.zeros(candidates.n_candidates)
        self.expected: tuple[float, Floats] | None = None

    def start(self) -> None:
        """Learn the number of records and make A_0."""
        self.total = number_of_records(self.curator, self.charges.total)
        domain = self.workload.domain
        self.averager = None
        if self.config.needs_histogram:
            self.model: Hypothesis = Histogram(domain, self.total, base=self._histogram())
            self.averager = Averager(self.model) if self.config.output == "average" else None
        else:
            self.model = hypothesis(domain, self.total, classes=self.limit.in_classes)
        if self.config.initial == "one-way":
            self._measure_one_way(self._names, self.charges.initial / len(self._names))

    @property
    def _names(self) -> Clique:
        """The attributes that the workload asks about."""
        return attributes_of(self.workload)

    @property
    def _narrow(self) -> Clique:
        """Those that are no marginal which may turn out too large."""
        most = self.config.largest_tree // max(1, len(self._names)) if self.limit.binds else self.workload.domain.size
        return tuple(name for name in self._names if self.workload.domain[name].size <= most)

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

    def _measure_one_way(self, names: Clique, charge: float) -> None:
        """Each of some attributes alone, with so much of the budget each."""
        for name in names:
            target = Marginal(self.workload.domain, (name,))
            before = target.on(self.model)
            self._learn(self.curator.measure(target, charge, kind=self.config.noise), before, lazy=name != names[-1])

    def run_rounds(self) -> None:
        """All rounds: a planned number, or as many as the noisy answers ask for."""
        self.rounds = planned_rounds(self.config, self.workload, self.curator.budget, self.charges.rounds, self.total)
        if self.rounds is not None:
            self._run_equal(self.rounds, round_charge(self.config, self.workload, self.charges.rounds, self.rounds))
        elif self.config.rounds == "adaptive":
            amount = self.charges.rounds / first_rounds(self.workload)
            self._run_doubling(self.charges.rounds, amount, self.config.selecting())
        else:
            self._run_annealed(self.charges.rounds)

    def _run_equal(self, rounds: int, charge: RoundCharge) -> None:
        for index in range(rounds):
            if charge.selection > 0.0:
                self._round(charge, self._eligible(charge))
            else:  # every candidate is measured, in the order of the workload
                self._look(index, charge)

    def _run_annealed(self, left: float) -> None:
        """Single attributes first, then marginals of the workload and of its marginals (`closure`).

        The charge of a round is small at first, and grows once a measurement teaches nothing at its noise. Single
        attributes may be selected and measured once more with the same charge: everything rests on them.
        """
        below, share = closure(self.workload), self.config.selecting(annealed=True)
        amount = left / annealed_rounds(self.workload)
        self.noise_counted = _SHARED_NOISE
        if below is not None:
            self._choose_from(below)
            charge, names = RoundCharge.split(amount, share).measurement, self._narrow
            self._measure_one_way(names, charge)
            left -= charge * len(names)
        self._run_doubling(left, amount, share)

    def _run_doubling(self, left: float, amount: float, share: float) -> None:
        """Once a noisy answer shows no more than noise, later rounds get more than this one.

        The last round takes what is left, so that the budget is spent exactly. All decisions are functions of noisy
        values; the ledger refuses whatever would pass the limit (theory.md section 2, variation 4).
        """
        while left > 0.0:
            spend = left if left < 2.0 * amount else amount
            charge = RoundCharge.split(spend, share)
            eligible = self._eligible(charge)
            if spend < left and not (self.config.repeats or (eligible & self._fresh(charge)).any()):
                amount *= _GROWTH
                continue
            progressed = self._round(charge, eligible)
            left = 0.0 if spend == left else left - spend
            amount = amount if progressed else _GROWTH * amount

    def _fresh(self, charge: RoundCharge) -> Bools:
        """Candidates that were not yet measured with a charge as large; public."""
        return np.asarray(self.finest < charge.measurement * (1.0 - 1e-9))

    def _eligible(self, charge: RoundCharge) -> Bools:
        """Those that do not make the hypothesis too large; all such where repeats are allowed or none is fresh.

        What was measured can be measured again: that leaves the hypothesis as large as it is.
        """
        ledger = self.curator.ledger
        scopes = [measured.target.scope for measured in self.fitted]
        trees = self.model.trees if isinstance(self.model, Markov) else None
        held = self.model.classes.items() if isinstance(self.model, ValueClasses) else ()
        classes = {name: each.count for name, each in held}
        spent = (ledger.spent + charge.selection + charge.measurement) / ledger.limit
        allowed = self.limit.allows(scopes, spent, trees, classes)
        if not allowed.any():
            allowed = self.limit.allows(scopes, 1.0, trees, classes)
        if not allowed.any():  # classes are counted as if any measurement told more of them apart
            allowed = self.finest > 0.0 if self.finest.any() else self.limit.allows([], 1.0)
        fresh = self._fresh(charge) & allowed
        return allowed if self.config.repeats or not fresh.any() else fresh

    def _round(self, charge: RoundCharge, eligible: Bools) -> bool:
        """Select, measure, update. Returns whether the noisy answer lay further off than noise would."""
        config = self.config
        chosen = self.curator.select(
            self.candidates,
            self.candidates.answers(self.model),
            charge.selection,
            eligible=eligible,
            offsets=self._offsets(charge.measurement),
            law=config.law,
        )
        return self._look(chosen, charge)

    def _offsets(self, charge: float) -> Floats | None:
        if not self.config.offsets:
            return None
        if self.expected is None or self.expected[0] != charge:  # mostly all rounds have the same
            noise = expected_noise(self.candidates, self.curator.budget, charge, self.config.noise)
            self.expected = charge, np.minimum(self.noise_counted * noise, LARGEST_MASS)
        return self.expected[1]

    def _look(self, chosen: int, charge: RoundCharge) -> bool:
        """Measure a candidate and update."""
        target = self.candidates.candidate(chosen)
        if self.averager is not None and isinstance(self.model, Histogram):
            self.averager.add(self.model)
        before = target.on(self.model)
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
            self._suit()
            answers = clipped(measured.values, measured.target, self.total) if config.clip else measured.values
            take_step(self.model, measured.target, answers - before, config.step)
        elif not (lazy and isinstance(rule, Proximal) and config.output == "last"):
            self._fit(rule)

    def _fit(self, rule: Refit) -> None:
        self._suit()
        refit(self.model, self.fitted, rule)

    def _suit(self) -> None:
        """Take the form of the hypothesis that costs less for what was measured."""
        if not self.config.needs_histogram:
            self.model = suited(self.model, [measured.target for measured in self.fitted])

    def _tell(self, chosen: str, residual: float) -> None:
        self.told += 1
        if self.progress is not None:
            ledger = self.curator.ledger
            spent = ledger.spent, ledger.limit, ledger.unit
            self.progress(RoundReport(self.told, self.rounds, *spent, chosen, residual, self.model))

    def finish(self) -> Release:
        """Fit once more, estimate the error, and put the release together."""
        if self.averager is not None:
            self.model = self.averager.result()
        elif isinstance(self.config.refit, Proximal):
            self._fit(self.config.refit)
        return make_release(
            self.curator,
            self.workload,
            self.model,
            name="MWEM",
            parameters=self.config.parameters(),
            measurements=self.measurements,
            error_charge=self.charges.error,
        )
