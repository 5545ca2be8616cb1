"""The curator: the one gate between the private table and everything else.

Every method goes the same way, in this order: check the public arguments; build the mechanism, which fixes
sensitivity, scale and charge together; charge the ledger, which refuses before anything is touched; only then read
the exact answer; hand it to the noise source; return noisy values. A failure after the charge never refunds it. Only
where reading is a pass over a table that may be far away, which can fail, is the pass made before the charge that the
budget covers: counts that no one has seen are not a release.
Everything that an algorithm computes from what it gets here is post-processing of the events in the ledger.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Never, TypeVar

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.data import CountSource, LabelSource, PreparedSource, RuledSource
from hedgerow.domain import Categorical, Clique, Domain
from hedgerow.errors import BudgetError, ConfigError, QueryError
from hedgerow.privacy.budgets import (
    Budget,
    Regime,
    Subsampled,
    budget_for,
    budget_of_filtered,
    budget_of_persons,
    secret_sample,
)
from hedgerow.privacy.exact import (
    GRID,
    EqualUnits,
    EqualWidths,
    Run,
    database_sensitivity,
    eligible_places,
    public_databases,
    quantile_scores,
    quantile_sensitivity,
)
from hedgerow.privacy.exact.lattice import LARGEST_MASS, check_exact, check_mass, exact_answers, exact_units
from hedgerow.privacy.exact.scores import database_scores, grid_differences, grid_errors, public_answers, public_offsets
from hedgerow.privacy.ledger import (
    PUBLIC,
    BestDatabase,
    ErrorFigure,
    Event,
    Figure,
    FrequentLabels,
    Ledger,
    LedgerView,
    PaidNoise,
    QuantileCuts,
    QueryDraws,
    Question,
    RecordCount,
    ThresholdTests,
    WorstCandidate,
)
from hedgerow.privacy.mechanisms import (
    ExponentialMechanism,
    IndependentDraws,
    Law,
    Mechanism,
    SparseVector,
    ThresholdedCounts,
    selection_by,
)
from hedgerow.privacy.mechanisms.additive_noise import GaussianNoise, LaplaceNoise, additive_noise
from hedgerow.privacy.randomness import NoiseSource, OpenDPNoise
from hedgerow.privacy.shared_noise import batches, noise_of
from hedgerow.privacy.watch import Watch, WatchState
from hedgerow.privacy.workload_error import NoisyError, WorkloadError
from hedgerow.quantities import spent_of
from hedgerow.queries import Marginal, Measurable, Measurement, Neighbours, NoiseKind, Positions, Workload

T = TypeVar("T")


class Curator:
    """Answers questions about the private table with noise, and keeps the books.

    Args:
        source: The private counts.
        budget: The amount that may be spent, and the neighbouring relation. Where a filter chose the records, and
            neighbours replace one, how many records passed is private, and the curator's own budget says so.
        noise: Source of the noise; OpenDP's secure samplers by default. No other makes a release private.
        events: Events that were charged to this budget already: the ledger of an interrupted session.
        moments: Noisy answers that some of these events paid for, which a hypothesis is fitted to beside tables.

    Raises:
        DataError: The table holds more than 2^31 records.
        ConfigError: The budget is for a sample, and the source cannot be sampled or has another number of records.
        BudgetError: The events do not fit into the budget, or are of another neighbouring relation.

    Example:
        >>> from hedgerow import IntegerRange, PureDP, SeededNoise, Table
        >>> from hedgerow.queries.core.query import Marginal
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> curator = Curator(Table(domain, [np.array([0, 1, 1])]), PureDP(1.0), noise=SeededNoise(0))
        >>> measurement = curator.measure(Marginal(domain, ("a",)), charge=0.5)
        >>> measurement.values.shape, round(measurement.scale, 6), round(curator.ledger.remaining, 6)
        ((2,), 2.0, 0.5)
    """

    def __init__(
        self,
        source: CountSource,
        budget: Budget,
        *,
        noise: NoiseSource | None = None,
        events: Sequence[Event] = (),
        moments: Sequence[Measurement] = (),
    ) -> None:
        """Open the books; nothing is read but the size of the table, to check that answers will be exact."""
        budget = budget_for(budget, source)
        if any(event.neighbours != budget.neighbours.value for event in events):
            raise BudgetError(
                f"an event was not charged between tables that are neighbours by {budget.neighbours}",
                remedy="start again under this relation; what was spent under the other one stays spent",
            )
        check_mass(source.total() * budget.neighbours.grain)
        ledger = Ledger.of(budget, events)
        paid = PaidNoise(OpenDPNoise() if noise is None else noise, ledger)
        if isinstance(budget, Subsampled):
            if events:  # the sample that they were spent on is not known any more
                message = "the events were charged for another sample, which is not known any more"
                raise BudgetError(message, remedy="start with an empty ledger")
            source = secret_sample(source, budget, paid.random_bytes)
        self.__noise = paid
        self.__source = source
        self.__exact: list[tuple[Workload, Floats]] = []
        self.__units: list[tuple[Workload, EqualUnits]] = []
        self.__ledger = ledger
        self.__watching = False
        self.__budget = budget
        self.__moments = tuple(moments)

    @property
    def domain(self) -> Domain:
        """The domain of the private table."""
        return self.__source.domain

    @property
    def budget(self) -> Budget:
        """The budget: amount, unit and neighbouring relation."""
        return self.__budget

    @property
    def regime(self) -> Regime:
        """Regime of the charges: pure epsilon, zCDP or GDP."""
        return self.__budget.regime

    @property
    def neighbours(self) -> Neighbours:
        """The neighbouring relation: tables that the guarantee makes indistinguishable."""
        return self.__budget.neighbours

    @property
    def moments(self) -> tuple[Measurement, ...]:
        """Public: what was measured of the moments of columns before, as queries over counts."""
        return self.__moments

    @property
    def ledger(self) -> LedgerView:
        """Everything that was charged so far; read-only."""
        return self.__ledger.view()

    @property
    def secure(self) -> bool:
        """Whether the noise protects: it comes from OpenDP's samplers, fed by the operating system."""
        return self.__noise.secure

    @property
    def noise_source(self) -> str:
        """Full name of the class that draws the noise, for provenance."""
        return self.__noise.name

    @property
    def violations(self) -> str:
        """Whether records that broke a rule of the domain were refused, or left out ("drop"); for provenance."""
        return self.__source.violations if isinstance(self.__source, RuledSource) else "refuse"

    def total(self, charge: float) -> float:
        """Number of records: exact and free where it is public, under "replace" without a filter; else noisy.

        Args:
            charge: Cost of the noisy total, at most; not used where it is public.

        Returns:
            At least 1 (theory.md section 0); below 2^31, as no table passes that.

        Raises:
            BudgetExceededError: The budget does not cover it.
        """
        if self.neighbours.public_total:
            unit, relation = self.__budget.unit, self.neighbours.value
            self.__ledger.charge(Event("total", PUBLIC, RecordCount(), 0.0, 0.0, 0.0, unit, relation))
            return float(max(1, self.__source.total()))
        most = float(self.neighbours.records)
        noise = self._noise(most, self.neighbours.grain, charge)
        event = self._event("total", RecordCount(), noise)
        self.__noise.pay(event)
        noisy = self._perturb(np.array([self.__source.total()], dtype=np.int64), event, noise.step)
        return min(max(1.0, float(noisy[0])), LARGEST_MASS - 1.0)

    def noise_for(
        self, target: Measurable, charge: float, kind: NoiseKind | None = None
    ) -> LaplaceNoise | GaussianNoise:
        """The noise that `measure` would add; public, nothing is charged.

        Args:
            target: Query or marginal.
            charge: The amount to be spent, as the budget counts.
            kind: Laplace by default in pure budgets, Gaussian in others.

        Raises:
            ConfigError: The charge is not positive, or the kind of noise does not fit the budget.
            QueryError: The target is over another domain or its sensitivity is 0.
        """
        self._check_measured(target)
        return noise_of(target, self.__budget, charge, kind)

    def measure(
        self, target: Measurable, charge: float, *, kind: NoiseKind | None = None, label: str = "measure"
    ) -> Measurement:
        """Noisy answer of a query, or of all cells of a marginal.

        Args:
            target: Query or marginal to measure.
            charge: The amount to be spent, as the budget counts.
            kind: Shape of the noise; Laplace by default in pure budgets, Gaussian in others.
            label: Purpose, as the ledger shows it.

        Returns:
            Values in counts, not clipped.

        Raises:
            BudgetExceededError: The budget does not cover it; nothing was touched.
            ConfigError: See `noise_for`.
            QueryError: See `noise_for`.
        """
        return self.measure_all([(target, charge)], kind=kind, label=label)[0]

    def measure_all(
        self, steps: Sequence[tuple[Measurable, float]], *, kind: NoiseKind | None = None, label: str = "measure"
    ) -> list[Measurement]:
        """Noisy answers of queries and marginals chosen beforehand; parities under "replace" share noise and an event.

        Args:
            steps: Queries or marginals with the amounts to be spent on them, as the budget counts.
            kind: See `measure`.
            label: See `measure`.

        Returns:
            The results of `measure` in turn, all charged before any is read; parities with the noise of `batches`.

        Raises:
            BudgetExceededError: The budget does not cover them all; nothing was touched.
            ConfigError: See `noise_for`.
            QueryError: See `noise_for`.
        """
        self._check_whole()
        targets = [target for target, _ in steps]
        for target in targets:
            self._check_measured(target)
        made = batches(steps, self.__budget, kind)
        sizes = [[targets[place].size for place in batch.places] for batch in made]
        events = [
            self._event(label, batch.question, batch.noise, sum(each)) for batch, each in zip(made, sizes, strict=True)
        ]
        exact = self._charged(lambda: exact_units(targets, self.__source), *events)
        units = [
            np.concatenate([exact[place] for place in b.places]) if len(b.places) > 1 else exact[b.places[0]]
            for b in made
        ]
        noisy = self.__noise.added_to_all(units, events, [batch.noise.step for batch in made])[::-1]
        del exact, units
        found = dict[int, Measurement]()
        for batch, each in zip(made, sizes, strict=True):
            values = noisy.pop().astype(np.float64)
            values *= batch.noise.step
            counts = np.split(values, np.cumsum(each)[:-1])
            for place, noise, answer in zip(batch.places, batch.noises, counts, strict=True):
                found[place] = Measurement(targets[place], answer, noise.kind, noise.scale)
        return [found[place] for place in range(len(targets))]

    def select(
        self,
        workload: Workload,
        answers: Floats,
        charge: float,
        *,
        eligible: Bools | None = None,
        offsets: Floats | None = None,
        law: Law = "exponential",
        label: str = "select",
    ) -> int:
        """Choose a candidate on which the hypothesis errs much.

        The score of candidate k is ``weight_k * (error_k - offset_k) / l1_k`` with its L1 error in counts and its L1
        sensitivity (`scores` says how that is made exact); it is chosen with probability proportional to
        ``exp(epsilon score / (2 Delta))`` among the eligible ones, Delta being the largest sensitivity of their
        scores. Candidates that are not eligible are left out before the draw: the law is the renormalised one and no
        draw is ever repeated. Among very many candidates the choice is one draw by integer arithmetic, whose slack is
        part of the charge (`selection`).

        Args:
            workload: The candidates.
            answers: Answers of the hypothesis in counts, shape ``(n_queries,)``; public.
            charge: The amount to be spent, as the budget counts.
            eligible: Public mask, shape ``(n_candidates,)``; all by default.
            offsets: Public counts to subtract from the errors (expected noise), shape ``(n_candidates,)``.
            law: ``"exponential"``, or ``"permute-and-flip"`` in pure budgets.
            label: Purpose, as the ledger shows it.

        Returns:
            Number of the chosen candidate.

        Raises:
            BudgetExceededError: The budget does not cover it; nothing was touched.
            QueryError: No candidate is eligible, or an array does not fit the workload.
            ConfigError: The charge is not positive or the law does not fit the budget.
        """
        self._check_whole()
        self._check_workload(workload)
        places = eligible_places(workload, eligible)
        units = _once(self.__units, workload, lambda: EqualUnits.of(workload, self.neighbours))
        public, offset = public_answers(workload, answers), public_offsets(workload, offsets)
        mechanism = selection_by(law, self.regime, charge, units.largest(places), len(places))
        event = self._event(label, WorstCandidate(len(places)), mechanism)
        scores = grid_errors(workload, self._charged(lambda: self._exact_answers(workload), event), public, places)
        scores -= offset.take(places) if isinstance(offset, np.ndarray) else offset
        scores *= units.multipliers.take(places)
        return int(places[self.__noise.choice(scores, event)])

    def cut(
        self, name: str, runs: Sequence[Run], charge: float, *, apart: Sequence[int] = (), label: str = "learn"
    ) -> list[int]:
        """Cut disjoint runs of cells of an ordered attribute near quantiles, by the exponential mechanism.

        All runs together cost what one does, as one record is in one of them (theory.md section 14).

        Args:
            name: Name of the attribute.
            runs: The runs, in order and disjoint; public.
            charge: The amount to be spent on all of them, as the budget counts.
            apart: Codes of cells whose records are not looked at; public.
            label: Purpose, as the ledger shows it.

        Returns:
            For each run the code of the first cell on the right of its cut.

        Raises:
            BudgetExceededError: The budget does not cover it; nothing was touched.
            QueryError: The runs are not disjoint, are too large, or leave nothing to be cut; or the attribute has no
                order.
            ConfigError: The charge is not positive.
        """
        self._check_whole()
        attribute, target = self.domain[name], Marginal(self.domain, (name,))
        if isinstance(attribute, Categorical):
            raise QueryError(f"{name!r} has no order, and no quantiles", remedy="name a column of numbers or dates")
        self._check_grain("quantiles are cut")
        unit = quantile_sensitivity(runs, attribute.ordinary)
        sensitivity = unit * target.sensitivity(self.neighbours).l1
        mechanism = ExponentialMechanism.for_charge(self.regime, charge, sensitivity)
        event = self._event(label, QuantileCuts(name), mechanism, len(runs))
        (counts,) = self._charged(lambda: exact_units([target], self.__source), event)
        counts[list(apart)] = 0  # which moves no score more than before
        chosen = self.__noise.choices([quantile_scores(counts, run, unit) for run in runs], event)
        return [run.low + 1 + place for run, place in zip(runs, chosen, strict=True)]

    def labels(
        self, name: str, source: LabelSource, charge: float, *, delta: float, at_most: int, label: str = "learn"
    ) -> list[str]:
        """The labels of a column that many records have: those whose noisy count passes a threshold.

        Noise is added to the count of each label that occurs, and only to these (theory.md section 16). A label that
        few records have is told with a small probability; one that only one person has, with at most delta.

        Args:
            name: Name of a column of listed values.
            source: Labels of the column and their counts, in the same table as the curator's.
            charge: The amount to be spent, as the budget counts.
            delta: Largest probability that a label gives a person away.
            at_most: Largest number of labels; those with the largest noisy counts are kept.
            label: Purpose, as the ledger shows it.

        Returns:
            The labels, in order.

        Raises:
            BudgetExceededError: The budget does not cover the charge, or keeps no such delta for thresholds; nothing
                was touched.
            QueryError: The column has no listed values.
            ConfigError: The charge or delta is not positive, or the source bounds other persons, or was filtered
                otherwise.
        """
        self._check_whole()
        if not isinstance(self.domain[name], Categorical):
            raise QueryError(f"{name!r} has no labels", remedy="name a column of listed values")
        self._check_grain("labels are learnt")
        within = budget_of_persons(self.__budget, source.persons)
        if (budget_of_filtered(within) if source.filtered else within) != self.__budget:
            raise ConfigError(
                "the labels are of a table with other persons, or with a filter",
                remedy="read them as the table of the curator was read",
            )
        sensitivity = Marginal(self.domain, (name,)).sensitivity(self.neighbours)
        mechanism = ThresholdedCounts.for_charge(
            self.regime,
            charge,
            delta=delta,
            l1=sensitivity.l1,
            l2=sensitivity.l2,
            records=self.neighbours.records,
        )
        event = self._event(label, FrequentLabels(name), mechanism)
        self.__noise.pay(event)
        labels, counts = source.counts(name)
        places, noisy = self.__noise.told(counts, event)
        first = places[np.lexsort((places, -noisy))][:at_most]
        return [labels[place] for place in sorted(first.tolist())]

    def draw(self, workload: Workload, answers: Floats, scale: float, size: int, *, label: str = "draw") -> Ints:
        """Independent draws of queries that the hypothesis answers too low, from the workload and all complements.

        With K queries, index k below K stands for query k and K + k for its complement, ``low + high - q``. The score
        of query k is ``(q_k(B) - answer_k) / width_k``, that of its complement the negative, in counts; each draw is an
        exponential mechanism of its own, with probability proportional to ``exp(score / scale)`` (theory.md section 5).

        Args:
            workload: Every candidate must be one query (``Workload.by_query``).
            answers: Answers of the hypothesis in counts, shape ``(n_queries,)``; public.
            scale: Units of score over which probabilities change by a factor of e.
            size: Number of draws.
            label: Purpose, as the ledger shows it.

        Returns:
            Indices below 2 K, shape ``(size,)``.

        Raises:
            BudgetExceededError: The budget does not cover it; nothing was touched.
            QueryError: A candidate is a whole marginal, or an array does not fit the workload.
            ConfigError: The scale cannot be drawn, or no draw is asked for.
        """
        self._check_workload(workload)
        units = EqualWidths.of(workload, self.neighbours)
        public = public_answers(workload, answers)
        mechanism = IndependentDraws(scale, float(units.sensitivities.max()), size)
        event = self._event(label, QueryDraws(workload.n_queries), mechanism, size)
        exact = self._charged(lambda: self._exact_answers(workload), event)
        scores = units.multipliers * grid_differences(exact, public)
        return self.__noise.draws(np.concatenate([scores, -scores]), event)

    def watch(self, mechanism: SparseVector, *, label: str = "watch") -> Watch:
        """Start a sparse vector: a noisy threshold that values can be tested against.

        Args:
            mechanism: Noise, charge, and number of times that a value may pass.
            label: Purpose, as the ledger shows it.

        Returns:
            The watch. Its tests cost nothing more.

        Raises:
            BudgetExceededError: The budget does not cover it; nothing was drawn.
        """
        self._check_whole()
        event = self._watch_event(mechanism, label)
        self.__noise.pay(event)
        self.__watching = True
        return self._watch(WatchState(mechanism, self.__noise.threshold(event), mechanism.fires), event)

    def resume_watch(self, state: WatchState, *, label: str = "watch") -> Watch:
        """Continue the newest watch of an interrupted session; the ledger must hold it.

        It can be resumed once, and not where it was started: two watches with one threshold noise would fire twice as
        often as was paid for.

        Args:
            state: The state of the watch, from `Watch.state`.
            label: The label that it was started with.

        Raises:
            BudgetError: The newest watch in the ledger is another one, or runs already.
        """
        if self.__watching:
            raise BudgetError("the newest watch of this curator is running already", remedy="continue that one")
        watches = [event for event in self.__ledger.events if event.mechanism == state.mechanism.name]
        if not watches or watches[-1] != self._watch_event(state.mechanism, label):
            raise BudgetError("the ledger does not hold this watch", remedy="restore it together with its ledger")
        self.__watching = True
        self.__noise.resume(watches[-1])
        return self._watch(state, watches[-1])

    def _watch(self, state: WatchState, event: Event) -> Watch:
        def exact(target: Measurable) -> Ints:
            self._check_domain(target.domain)
            self._check_scopes([target.scope])
            return exact_units([target], self.__source)[0]

        return Watch(state, self.neighbours, exact, lambda margin: self.__noise.exceeds(margin, event))

    def _watch_event(self, mechanism: SparseVector, label: str) -> Event:
        return self._event(label, ThresholdTests(), mechanism, mechanism.fires)

    def select_database(
        self, workload: Workload, answers: Floats, charge: float, *, label: str = "select database"
    ) -> int:
        """Choose a database that answers its worst query well, by the exponential mechanism (theory.md section 8).

        The score of database y is minus its largest absolute error over the queries, in counts; one record moves it by
        at most the largest sensitivity of a query (`databases` says why, exactly).

        Args:
            workload: Every candidate must be one query (``Workload.by_query``); weights are not looked at.
            answers: Answers of the databases in counts, shape ``(n_databases, n_queries)``; public.
            charge: The amount to be spent, as the budget counts.
            label: Purpose, as the ledger shows it.

        Returns:
            Number of the chosen database.

        Raises:
            BudgetExceededError: The budget does not cover it; nothing was touched.
            QueryError: A candidate is a whole marginal, or the answers do not fit the workload.
            ConfigError: The charge is not positive.
        """
        self._check_whole()
        self._check_workload(workload)
        public = public_databases(workload, answers)
        sensitivity = database_sensitivity(workload, self.neighbours)
        mechanism = selection_by("exponential", self.regime, charge, sensitivity, len(public))
        event = self._event(label, BestDatabase(len(public)), mechanism)
        exact = self._charged(lambda: self._exact_answers(workload), event)
        return self.__noise.choice(database_scores(exact, public), event)

    def workload_error(
        self, workload: Workload, answers: Floats, charge: float, *, label: str = "error"
    ) -> WorkloadError:
        """Noisy mean and noisy maximum, over the candidates, of L1 error divided by the L1 sensitivity of one record.

        Each costs half of the charge, for a sensitivity of one unit, or m for a person with m records, and a step of
        the grid more (theory.md section 13.2).

        Args:
            workload: The candidates.
            answers: Answers of the hypothesis in counts, shape ``(n_queries,)``; public.
            charge: The amount for both figures together.
            label: Purpose, as the ledger shows it.

        Raises:
            BudgetExceededError: The budget does not cover it; nothing was drawn.
        """
        found, noise, unit = self._error_figures(workload, answers, charge, ("mean", "largest"), label)
        mean, largest = found
        return WorkloadError(mean, largest, noise, noise, workload.n_candidates, unit)

    def error_of(self, workload: Workload, answers: Floats, charge: float, *, label: str = "error") -> NoisyError:
        """Noisy L1 error of the only candidate of a workload, divided by the L1 sensitivity of one record.

        Sensitivity and rounding are those of `workload_error`, whose mean it is, for the whole charge.

        Args:
            workload: The candidate.
            answers: Answers of the hypothesis in counts, shape ``(n_queries,)``; public.
            charge: The amount to be spent, as the budget counts.
            label: Purpose, as the ledger shows it.

        Raises:
            BudgetExceededError: The budget does not cover it; nothing was drawn.
            QueryError: There are several candidates.
        """
        if workload.n_candidates != 1:
            raise QueryError(f"the error of one candidate is asked for, and there are {workload.n_candidates:,}")
        (found,), noise, unit = self._error_figures(workload, answers, charge, ("mean",), label)
        return NoisyError(found, noise, 1.0 if unit is None else unit)

    @contextmanager
    def setting_aside(self, charge: float) -> Iterator[None]:
        """Keep a part of the budget for what comes behind the block: inside it, so much less can be charged.

        Args:
            charge: The amount, as the budget counts.

        Raises:
            BudgetExceededError: So much is not left.
        """
        self.__ledger.set_aside(charge)
        try:
            yield
        finally:
            self.__ledger.set_aside(0.0)

    def _error_figures(
        self, workload: Workload, answers: Floats, charge: float, figures: Sequence[Figure], label: str
    ) -> tuple[list[float], LaplaceNoise | GaussianNoise, float | None]:
        """Noisy figures of the errors, each for its part of the charge; their noise; and the unit."""
        self._check_whole()
        self._check_workload(workload)
        units = EqualUnits.of(workload, self.neighbours, weighted=False)
        public = public_answers(workload, answers)
        noise = self._noise(self.neighbours.records + GRID, GRID, charge / len(figures))
        events = [self._event(label, ErrorFigure(figure, workload.n_candidates), noise) for figure in figures]
        answers_there = self._charged(lambda: self._exact_answers(workload), *events)
        errors = units.multipliers * grid_errors(workload, answers_there, public)
        exact = {"mean": math.fsum(errors.tolist()) / len(errors), "largest": float(errors.max())}
        found = []
        for figure, event in zip(figures, events, strict=True):
            steps = np.floor(np.array([exact[figure]]) / GRID).astype(np.int64)
            found.append(float(self._perturb(steps, event, noise.step)[0]))
        return found, noise, units.unit

    def _charged(self, exact: Callable[[], T], *events: Event) -> T:
        """Charge, and only then read; but make a pass that may fail first, if the budget covers what it is for."""
        if isinstance(self.__source, PreparedSource) and self.__ledger.covers(*(event.charge for event in events)):
            exact()  # the source keeps what it counted
        self.__noise.pay(*events)
        return exact()

    def _exact_answers(self, workload: Workload) -> Floats:
        """Exact answers of the whole workload, computed once. Private."""
        return _once(self.__exact, workload, lambda: exact_answers(workload, self.__source, self.neighbours.grain))

    def _noise(self, most: float, step: float, charge: float) -> LaplaceNoise | GaussianNoise:
        """The noise of one number that a record or person moves by so much at most."""
        return additive_noise(self.regime, charge, l1=most, l2=most, step=step, kind=None)

    def _event(self, label: str, question: Question, mechanism: Mechanism, values: int = 1) -> Event:
        """The event for one use of a mechanism."""
        return Event(
            label=label,
            mechanism=mechanism.name,
            question=question,
            sensitivity=mechanism.sensitivity,
            scale=mechanism.scale,
            charge=mechanism.charge(self.regime),
            unit=self.__budget.unit,
            neighbours=self.neighbours.value,
            values=values,
            threshold_scale=_threshold_of(mechanism),
            bound=getattr(mechanism, "bound", None) if self.regime is Regime.ZCDP else None,
        )

    def _perturb(self, units: Ints, event: Event, step: float) -> Floats:
        """Noisy values in counts from exact lattice units, by the noise that was charged."""
        return self.__noise.added_to(units, event, step).astype(np.float64) * step

    def _check_whole(self) -> None:
        if isinstance(self.__budget, Subsampled):
            raise ConfigError(
                "noisy answers and choices of a sample are not those of the table",
                remedy="use a budget for a sample with DualQuery alone",
            )

    def _check_grain(self, what: str) -> None:
        """Refuse what is computed from whole counts alone."""
        if self.neighbours.grain != 1.0:
            raise ConfigError(f"{what} from whole counts, and weights are fractions", remedy="list bins and values")

    def _check_measured(self, target: Measurable) -> None:
        """Refuse what is over another domain, over variables for models, or the same in all tables."""
        self._check_domain(target.counted if isinstance(target, Positions) else target.domain)
        self._check_scopes([target.scope])
        if not target.sensitivity(self.neighbours).l1 > 0:
            raise QueryError(f"{target.text!r} does not depend on any record; its answer is public")

    def _check_domain(self, domain: Domain | None) -> None:
        if domain != self.domain:
            raise QueryError("the query and the private table are over different domains")

    def _check_scopes(self, scopes: Iterable[Clique]) -> None:
        """Refuse variables that are for models alone."""
        hidden = set(self.domain.hidden_names)
        for scope in scopes if hidden else ():
            if not hidden.isdisjoint(scope):
                raise QueryError(f"{' * '.join(scope)} is not over attributes", remedy="name attributes or levels")

    def _check_workload(self, workload: Workload) -> None:
        self._check_domain(workload.domain)
        for family in workload.families if self.domain.grains else ():
            self._check_scopes(family.scopes)
        check_exact(workload, self.neighbours.grain)

    def __repr__(self) -> str:
        """Public facts only."""
        ledger = self.__ledger
        return f"<Curator, {spent_of(ledger.spent, ledger.limit, ledger.unit)} spent>"

    def __reduce_ex__(self, protocol: object) -> Never:
        """Refuse to be copied or written: both would double the budget or carry exact answers away."""
        raise TypeError("a curator cannot be copied or pickled: it holds exact answers and a budget to be spent once")


def _threshold_of(mechanism: Mechanism) -> float:
    """The scale of a threshold's noise, or the threshold itself, as an event holds it."""
    match mechanism:
        case SparseVector():
            return mechanism.threshold_scale
        case ThresholdedCounts():
            return float(mechanism.threshold)
    return 0.0


def _once(known: list[tuple[Workload, T]], workload: Workload, make: Callable[[], T]) -> T:
    """The result for a workload, made when it is first asked for."""
    for each, made in known:
        if each is workload:
            return made
    known.append((workload, make()))
    return known[-1][1]
