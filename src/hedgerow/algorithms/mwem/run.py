"""One run of MWEM: the state between rounds.

Everything here is a function of public parameters and of what the curator returned; the privacy proof is
"post-processing of the ledger" (theory.md section 2).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hedgerow.algorithms.mwem.interactions import Search, planned_search, target_of, with_search
from hedgerow.algorithms.mwem.opening import annealed_candidates, first_charges, small_tables
from hedgerow.algorithms.mwem.settings import (
    MWEMSettings,
    annealed_rounds,
    candidates_of,
    first_rounds,
    is_known,
    last_refit,
    least_of_parts,
    not_known,
    round_charge,
)
from hedgerow.algorithms.mwem.strategy_choice import (
    StrategyChoice,
    forget_strategies,
    grids_are_lost,
    schedule_of,
    with_higher_orders,
)
from hedgerow.algorithms.shared import (
    AnchoredLearner,
    Averager,
    Learner,
    ProgressCallback,
    RoundCharge,
    concluded,
    expected_noise,
    make_release,
    measured_together,
)
from hedgerow.algorithms.shared.algorithm import number_of_records, plain_parameters, tell
from hedgerow.algorithms.shared.learning import averaged_total, clipped, possible_values, take_step
from hedgerow.algorithms.strategies import cut_where_counts_are
from hedgerow.algorithms.strategies.candidates import Limit, attributes_of
from hedgerow.arrays import Bools, Floats
from hedgerow.domain import Clique, telling
from hedgerow.models import (
    LARGEST_TREE,
    Histogram,
    Hypothesis,
    Model,
    Overlay,
    Proximal,
    ValueClasses,
    check_raked,
    hypothesis,
    rake,
)
from hedgerow.privacy import LARGEST_MASS, Curator, RecordCount
from hedgerow.queries import Marginal, Measurable, Measurement, Workload
from hedgerow.release import Release

_SHARED_NOISE = 0.25
"""Part of the noise of a measurement that is left in a fit to many others, in annealed rounds."""

_GROWTH = 2.0
"""Factor by which the charge of a round grows once a measurement taught nothing, and falls once it taught very much."""

_VERY_MUCH = 4.0
"""Size of what a measurement showed, in units of its noise, above which a smaller charge would have shown it too."""

_SLOWEST = 2.0
"""Rounds that falling charges allow, as a multiple of what they would be otherwise."""

_FITS = 16
"""Most fits with a prior while a fixed strategy is measured."""

_PRIOR_PART = 64
"""The cells that a prior may fill are this part of the largest tree, so that there is room to correct it."""


class MWEMRun:
    """A run in progress."""

    def __init__(
        self, config: MWEMSettings, curator: Curator, workload: Workload, progress: ProgressCallback | None
    ) -> None:
        """Divide the budget; nothing is spent yet."""
        self.config = config
        self.curator = curator
        self.asked = workload
        self.workload = workload = not_known(workload)
        self.progress = progress
        self.charges = config.charges(curator.ledger.remaining, curator.neighbours, workload.domain)
        prior, room = config.prior, config.largest_tree // _PRIOR_PART
        self.factors: dict[Clique, Floats] = {} if prior is None else prior.factors(workload, room)
        self.bought: list[Measurement] = []
        self.selected = 0
        self.unfitted: dict[str, list[int]] = {}
        self._choose_from(candidates_of(config, workload))
        self.expected: tuple[float, Floats] | None = None
        self.noise_counted = 1.0
        self.n_measured = 0
        self.rounds: int | None = None
        self.decision: StrategyChoice | None = None
        self.search: Search | None = None
        self.found: dict[str, list[str]] = {}

    def _choose_from(self, candidates: Workload) -> None:
        """Take candidates, none of which was measured."""
        self.candidates = candidates
        self.limit = Limit(candidates, self.config.largest_tree)
        self.finest = np.zeros(candidates.n_candidates)
        self.untold: Bools | None = None
        if candidates.domain.known:
            told = np.array([is_known(candidates.domain, scope) for scope in candidates.scopes])
            self.untold = ~told[candidates.scope_of]

    def run(self) -> Release:
        """Run to the end and make the release.

        Raises:
            ModelTooLargeError: The hypothesis does not fit into memory; nothing was spent.
        """
        self.start()
        self.run_rounds()
        return self.finish()

    def start(self) -> None:
        """Learn the number of records and make A_0."""
        domain = self.workload.domain
        if domain.known:  # refused before anything is spent
            check_raked(hypothesis(domain, float(domain.known[0].total)), domain)
        if domain.population:
            people = domain.of_population
            check_raked(hypothesis(people, float(people.known[0].total)), people)
        self.total = number_of_records(self.curator, self.charges.total)
        budget, amount = self.curator.budget, self.charges.rounds
        asked = with_higher_orders(self.config, self.asked, budget, amount, self.total)
        if asked is not self.asked:
            self.asked, self.workload = asked, not_known(asked)
            self._choose_from(candidates_of(self.config, self.workload))
        self.averager = None
        self.learner: Learner | AnchoredLearner
        if self.config.needs_histogram:
            model = Histogram(domain, self.total, base=self._histogram())
            self.averager = Averager(model) if self.config.output == "average" else None
            self.learner = Learner(model, keeps_form=True)
        elif self.factors:
            least = min(2, max(map(len, self.candidates.scopes)))
            self.learner = AnchoredLearner(domain, self.total, self.factors, least=least)
        else:
            self.learner = Learner(hypothesis(domain, self.total, classes=self.limit.in_classes))
        if self.config.initial == "one-way":
            self._measure_one_way(self._names, [self.charges.initial / len(self._names)] * len(self._names))

    @property
    def model(self) -> Hypothesis:
        """The hypothesis as it is now."""
        return self.learner.model

    @property
    def _names(self) -> Clique:
        """The attributes that the workload asks about."""
        return attributes_of(self.workload)

    @property
    def _narrow(self) -> Clique:
        """Those attributes whose marginals cannot turn out too large."""
        most = self.config.largest_tree // max(1, len(self._names)) if self.limit.binds else self.workload.domain.size
        return tuple(name for name in self._names if self.workload.domain[name].size <= most)

    def _histogram(self) -> Floats | None:
        """The noisy histogram, clipped at 0, mixed with the uniform one of records that can be: MW revives no zero."""
        if self.config.initial != "histogram":
            return None
        everything = Marginal(self.workload.domain, self.workload.domain.names)
        measured = self.curator.measure(everything, self.charges.initial, kind=self.config.noise, label="histogram")
        self.bought.append(measured)
        possible = possible_values(everything)
        cells, flat = np.zeros(everything.size), np.zeros(everything.size)
        cells[possible] = np.maximum(measured.values, 0.0)[possible]
        gamma = self.config.uniform_share if cells.sum() > 0 else 1.0
        flat[possible] = gamma / cells[possible].size
        shares = cells / max(cells.sum(), 1.0)
        return np.asarray(self.total * ((1.0 - gamma) * shares + flat)).reshape(self.workload.domain.shape)

    def _measure_one_way(self, names: Clique, charges: Sequence[float]) -> None:
        """Measure attributes one by one."""
        for name, charge in zip(names, charges, strict=True):
            self._learn(Marginal(self.workload.domain, (name,)), charge, lazy=name != names[-1])

    def run_rounds(self) -> None:
        """Measurements chosen beforehand, or rounds: a planned number, or as many as the noisy answers ask for."""
        budget, amount = self.curator.budget, self.charges.rounds
        schedule = schedule_of(self.config, self.workload, budget, amount, self.total, factors=self.factors)
        measured = [target for target, _ in schedule.steps]
        self.search = planned_search(self.config, self.workload, budget, amount, self.total, measured=measured)
        self.charges, schedule = with_search(self.charges, schedule, self.search)
        self.decision, self.rounds = schedule.decision, schedule.rounds
        if schedule.steps:
            forget_strategies()
            self._run_steps(schedule.steps)
        elif self.rounds is not None:
            self._choose_from(candidates_of(self.config, self.workload, self.rounds))
            charge = round_charge(self.config, self.candidates, self.charges.rounds, self.rounds)
            for index in range(self.rounds):
                if charge.selection > 0.0:
                    self._round(charge, self._eligible(charge))
                else:  # every candidate is measured, in the order of the workload
                    self._look(index, charge)
        elif self.config.rounds == "adaptive":
            amount = self.charges.rounds / first_rounds(self.workload, annealed=False)
            self._run_doubling(self.charges.rounds, amount, self.config.selecting())
        else:
            self._run_annealed(self.charges.rounds)
        self._search()

    def _search(self) -> float:
        """Look for interactions as long as looks find some (theory.md section 2.3); once.

        Returns:
            What is left of the charge that was kept for it.
        """
        search, self.search, left = self.search, None, self.charges.search
        rule, learner = self.config.refit_between, self.learner
        if search is None or rule is None or (self.decision is not None and not self.decision.fits):
            return left
        candidates, charge = search.candidates, search.charge
        limit, fresh = Limit(candidates, self.config.largest_tree), np.ones(candidates.n_candidates, dtype=np.bool_)
        while left >= search.each and isinstance(learner, Learner):
            model = concluded(learner, rule, largest_tree=self.config.largest_tree)
            answers = search.answers(model)
            allowed = fresh if isinstance(model, Overlay) else fresh & limit.allows(learner.scopes, 1.0, learner.trees)
            if not allowed.any():
                break
            offsets = search.offsets(self.total)
            chosen = self.curator.select(
                candidates, answers, charge.selection, eligible=allowed, offsets=offsets, label="search"
            )
            target, fresh[chosen] = candidates.candidate(chosen), False
            found = self.curator.measure(target, charge.measurement, kind=self.config.noise)
            self.bought.append(found)
            learner.measurements.append(found)
            self.selected, self.n_measured = self.selected + 1, self.n_measured + 1
            left -= search.each
            first = int(candidates.starts[chosen])
            residual = float(np.abs(found.values - answers[first : first + target.size]).sum())
            tell(self.progress, self.curator, target.text, residual, number=self.n_measured, of=None, model=self.model)
            noise = self.curator.noise_for(target, charge.measurement, self.config.noise).expected_abs
            if not search.tells(residual, noise, chosen, self.total):
                if not self.unfitted:  # noise would loosen the fit of what else is measured
                    learner.measurements.pop()
                    self.unfitted = {"unfitted": [len(self.bought) - 1, len(self.bought)]}
                break
            self.found = {"found": [*self.found.get("found", []), target.text]}
        self.charges = replace(self.charges, search=max(0.0, left))
        return self.charges.search

    def _run_steps(self, steps: Sequence[tuple[Measurable, float]]) -> None:
        """Measure what was chosen beforehand; the hypothesis is fitted to all of it at the end.

        Of tables from coarse to fine cells that hold few records by the last ones are measured together.
        With a prior it is also fitted now and then: a prior is judged by what it foretold.
        """
        refit_every = math.ceil(len(steps) / _FITS) if isinstance(self.learner, AnchoredLearner) else len(steps) + 1
        min_block_count = 0.0 if isinstance(self.model, ValueClasses) else least_of_parts(self.config, self.workload)
        if min_block_count or refit_every <= len(steps) or not self._waits:
            for number, (target, charge) in enumerate(steps, 1):
                self._measure(self._cut(target, charge, min_block_count), charge, lazy=number % refit_every > 0)
            return
        found = measured_together(steps, self.curator, self.config.noise, self.model, self.progress)
        self.bought.extend(found)
        self.learner.measurements.extend(found)

    def _cut(self, target: Measurable, charge: float, min_block_count: float) -> Measurable:
        """The target, or blocks of its cells that hold so many times the noise by tables of the same attributes."""
        if not (min_block_count and isinstance(target, Marginal)):
            return target
        base = target.domain.base(target.scope)
        before = [each for each in self.learner.measurements if target.domain.base(each.target.scope) == base]
        least = min_block_count * self.curator.noise_for(target, charge, self.config.noise).expected_abs
        return cut_where_counts_are(target, before, self.total, least)

    def _run_annealed(self, left: float) -> None:
        """Measure single attributes first, then tables of the workload and tables below these (`closure`).

        The charge of a round is small at first, grows once a measurement teaches nothing at its noise, and falls where
        it taught very much. Single attributes may be selected and measured once more: everything rests on them.
        """
        config, workload, budget = self.config, self.workload, self.curator.budget
        self._choose_from(annealed_candidates(config, workload, budget, left, self.total))
        if config.largest_tree <= LARGEST_TREE:
            self.limit = self.limit.worth(budget, left, self.total)
        share = config.selecting(annealed=True)
        rounds = annealed_rounds(config, workload, budget, left, self.total)
        amount, least = left / rounds, left / (_SLOWEST * rounds)
        if self.limit.binds or all(family.ordered for family in workload.families):
            least = math.inf  # many small charges fill the trees
        self.noise_counted = _SHARED_NOISE
        if self.candidates is not workload:
            each = (1.0 - share) * amount
            names = tuple(name for name in self._narrow if not is_known(workload.domain, (name,)))
            first = first_charges(workload, budget, names, left, each=each, total=self.total, kind=config.noise)
            self._measure_one_way(names, first.tolist())
            left -= float(first.sum())
            left -= self._measure_small(left)
            if target_of(workload) is not None:  # which the rounds then know
                left += self._search()
                self.charges = replace(self.charges, search=0.0)
        self._run_doubling(left, amount, share, least)

    def _measure_small(self, left: float) -> float:
        """Measure small tables of the workload before rounds adapt, so that their answers have intervals.

        The hypothesis is not fitted to them: they hold more noise than its other tables, which loosens the fit.

        Args:
            left: Charge of everything that is still to be measured.

        Returns:
            What they cost.
        """
        steps = small_tables(self.workload, self.curator.budget, left, self.total, self.config.noise)
        first = len(self.bought)
        self.bought += measured_together(steps, self.curator, self.config.noise, self.model, self.progress)
        self.unfitted = {"unfitted": [first, len(self.bought)]} if steps else {}
        return math.fsum(charge for _, charge in steps)

    def _run_doubling(self, left: float, amount: float, share: float, least: float = math.inf) -> None:
        """Run rounds whose charge doubles as soon as a noisy answer shows no more than noise.

        The last round takes what is left, so that the budget is spent exactly. All decisions are functions of noisy
        values; the ledger refuses whatever would pass the limit (theory.md section 2, variation 4).

        Args:
            left: Charge of all rounds together.
            amount: Charge of the first.
            share: Part of a charge that selection takes.
            least: Charge that rounds fall to where answers show very much more than noise; else they never fall.
        """
        while left > 0.0:
            spend = left if left < 2.0 * amount else amount
            charge = RoundCharge.split(spend, share)
            eligible = self._eligible(charge)
            if spend < left and not (self.config.repeats or (eligible & self._fresh(charge)).any()):
                amount *= _GROWTH
                continue
            shown = self._round(charge, eligible)
            left = 0.0 if spend == left else left - spend
            if shown <= 1.0:
                amount *= _GROWTH
            elif shown > _VERY_MUCH:
                amount = min(amount, max(least, amount / _GROWTH))

    def _offsets(self, charge: float) -> Floats | None:
        if not self.config.offsets:
            return None
        if self.expected is None or self.expected[0] != charge:  # mostly all rounds have the same
            noise = expected_noise(self.candidates, self.curator.budget, charge, self.config.noise)
            self.expected = charge, np.minimum(self.noise_counted * noise, LARGEST_MASS)
        return self.expected[1]

    @property
    def _waits(self) -> bool:
        """Whether fits start afresh, so that measurements can wait for one fit to them all."""
        return isinstance(self.config.refit_between, Proximal) and self.config.output == "last"

    def _fresh(self, charge: RoundCharge) -> Bools:
        """Candidates that were not yet measured with a charge as large; public."""
        return np.asarray(self.finest < charge.measurement * (1.0 - 1e-9))

    def _eligible(self, charge: RoundCharge) -> Bools:
        """Candidates that do not make the hypothesis too large; all such where repeats are allowed or none is fresh.

        A candidate can be measured again: that leaves the hypothesis as large as it is.
        """
        ledger = self.curator.ledger
        scopes, trees = self.learner.scopes, self.learner.trees
        held = self.model.classes.items() if isinstance(self.model, ValueClasses) else ()
        classes = {name: each.count for name, each in held}
        spent = (ledger.spent + charge.selection + charge.measurement) / ledger.limit
        allowed = self.limit.allows(scopes, spent, trees, classes)
        if not allowed.any():
            allowed = self.limit.allows(scopes, 1.0, trees, classes)
        if not allowed.any():  # classes are counted as if any measurement told more of them apart
            allowed = self.finest > 0.0 if self.finest.any() else self.limit.allows([], 1.0)
        if self.untold is not None and (allowed & self.untold).any():
            allowed = allowed & self.untold
        fresh = self._fresh(charge) & allowed
        return allowed if self.config.repeats or not fresh.any() else fresh

    def _round(self, charge: RoundCharge, eligible: Bools) -> float:
        """Select, measure, update. Returns what the noisy answer showed, in units of its noise."""
        config = self.config
        chosen = self.curator.select(
            self.candidates,
            self.candidates.answers(self.model, looked_at=eligible),
            charge.selection,
            eligible=eligible,
            offsets=self._offsets(charge.measurement),
            law=config.law,
        )
        self.selected += 1
        return self._look(chosen, charge)

    def _look(self, chosen: int, charge: RoundCharge) -> float:
        """Measure a candidate and update. Returns what the noisy answer showed, in units of its expected noise."""
        if self.averager is not None and isinstance(self.model, Histogram):
            self.averager.add(self.model)
        showed = self._measure(self.candidates.candidate(chosen), charge.measurement, lazy=charge.selection == 0.0)
        self.finest[chosen] = max(self.finest[chosen], charge.measurement)
        return showed

    def _measure(self, target: Measurable, charge: float, *, lazy: bool) -> float:
        """Learn the answer and tell about it. Returns what it showed, in units of its expected noise."""
        residuals = np.abs(self._learn(target, charge, lazy=lazy))
        possible = residuals[possible_values(target)]
        residual = float(possible.sum())
        self.n_measured += 1
        tell(
            self.progress, self.curator, target.text, residual, number=self.n_measured, of=self.rounds, model=self.model
        )
        expected = self.curator.noise_for(target, charge, self.config.noise).expected_abs
        return residual / (possible.size * expected) if expected > 0.0 else math.inf

    def _learn(self, target: Measurable, charge: float, *, lazy: bool) -> Floats:
        """Measure and move the hypothesis. Returns noisy answer minus its answer before, in counts.

        Where no later choice looks at the hypothesis (``lazy``), fits that start afresh are left to the end.
        """
        config, learner, before = self.config, self.learner, target.on(self.model)
        measured = self.curator.measure(target, charge, kind=config.noise)
        self.bought.append(measured)
        learner.measurements.append(measured)
        rule = config.refit_between
        if rule is None:
            learner.suit()
            answers = clipped(measured.values, target, self.total) if config.clip else measured.values
            take_step(learner.model, target, answers - before, config.step)
        elif not (lazy and self._waits):
            learner.fit(rule)
        return measured.values - before

    def finish(self) -> Release:
        """Fit once more, estimate the error, and put the release together."""
        last, counted, stays = last_refit(self.config, self.workload), None, False
        model: Model = self.model if self.averager is None else self.averager.result()
        rule = last if self.averager is None and isinstance(last, Proximal) else None
        if rule is not None:
            counted, stays = self._recount(), self._stays_uniform()
        decided = {} if self.decision is None else {"decided": self.decision.to_dict()}
        learner, self.decision = self.learner, None  # its strategy fills memory where it measures very many tables
        if stays:
            self.unfitted = {"unfitted": [0, len(self.bought)]}
        elif rule is not None and isinstance(learner, Learner):
            model = concluded(learner, rule, moments=self.curator.moments, largest_tree=self.config.largest_tree)
        elif rule is not None and isinstance(learner, AnchoredLearner):
            learner.fit(rule, self.curator.moments)
            model = self.model
        if self.asked.domain.known and not isinstance(model, Overlay):
            rake(model, telling(self.asked.domain))
        return make_release(
            self.curator,
            self.asked,
            model,
            name="MWEM",
            parameters=plain_parameters(self.config)
            | decided
            | self.unfitted
            | self.found
            | {"selected": self.selected},
            measurements=self.bought,
            error_charge=self.charges.error + self.charges.search if self.charges.error else 0.0,
            counted=counted,
            secure=self.config.prior is None or self.config.prior.secure,
        )

    def _stays_uniform(self) -> bool:
        """Whether a fit to what was chosen beforehand would err more than the table that the hypothesis starts from."""
        if not self.rounds or self.selected:
            return False
        if self.decision is None:
            budget, amount = self.curator.budget, self.charges.rounds
            return grids_are_lost(self.config, self.workload, budget, amount, self.model.total)
        self.decision = self.decision.counted(self.config, self.model.total)
        return not self.decision.fits

    def _recount(self) -> float | None:
        """Average the noisy number of records with the sums of all noisy tables; returns it as it was, if it is one."""
        paid = (event for event in self.curator.ledger.events if isinstance(event.question, RecordCount))
        noises = [event.noise for event in paid if event.noise]
        if not noises or not noises[-1].std:  # noise that never moves a count leaves it exact
            return None
        total = averaged_total(self.total, noises[-1].std, self.learner.measurements)
        self.model.rescale(min(total, (1.0 - 1e-6) * LARGEST_MASS))
        return self.total
