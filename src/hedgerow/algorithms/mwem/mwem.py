"""MWEM: multiplicative weights with the exponential mechanism (theory.md section 2).

M. Hardt, K. Ligett, F. McSherry, "A Simple and Practical Algorithm for Differentially Private Data Release", NIPS 2012.
In every round: select the candidate that the hypothesis answers worst, by the exponential mechanism; measure it with
noise; move the hypothesis by multiplicative weights. Departures, each an option whose other value is the paper's way:

- measured candidates are masked out of the selection (``repeats``), and the expected noise of measuring a candidate is
  taken off its score (``offsets``);
- after each measurement the hypothesis is fitted to *all* measurements so far (``refit``; the published listing makes
  100 sweeps, ours stops where the noise would be fitted);
- the last hypothesis is returned (``output``), the theorem speaks of the average;
- the number of records is measured under "add-remove", where the paper takes it as known, unless known totals tell it;
- known totals of the domain are met exactly by the hypothesis, and tables that they tell are not measured
  (theory.md section 22);
- where there are as many rounds as candidates nothing is left to select, and no budget is spent on it; ranges of one
  table are answered from tables that are chosen beforehand, by variances in closed form (`strategies/grids.py`);
- a prior of public tables, or an earlier release, may be what the hypothesis starts from (``prior``; the paper starts
  uniform);
- a share of the budget buys a noisy estimate of the final error (``error_share``), so that a report predicts honestly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.algorithms.mwem.plan import Plan, check_drawable, make_plan
from hedgerow.algorithms.mwem.run import MWEMRun
from hedgerow.algorithms.mwem.settings import MWEMSettings, candidates_of, last_refit, limit_of, not_known
from hedgerow.algorithms.mwem.strategy_choice import (
    accounted,
    expected_error,
    held_at_once,
    may_be_fixed,
    with_higher_orders,
)
from hedgerow.algorithms.shared import (
    Algorithm,
    Learner,
    ProgressCallback,
    check_composition,
    check_domain,
    check_noise,
    concluded,
)
from hedgerow.algorithms.shared.learning import averaged_total
from hedgerow.algorithms.strategies.candidates import check_answers
from hedgerow.errors import ConfigError
from hedgerow.models import (
    Hypothesis,
    Model,
    Proximal,
    check_fits,
    hypothesis,
    wants_classes,
)
from hedgerow.privacy import LARGEST_MASS, Budget, Curator, Regime
from hedgerow.quantities import human
from hedgerow.queries import Measurement, Workload
from hedgerow.release import Release, fitted_to

LARGEST_START = 1 << 20
"""Cells of the largest domain that may start from a noisy histogram."""


@dataclass(frozen=True)
class MWEM(MWEMSettings, Algorithm):
    """Configuration of MWEM; holds no data and can be used for any number of runs.

    The *hypothesis* is the model of the data that MWEM keeps and improves round by round; the last one is released.

    Attributes:
        rounds: A number; ``"bound"`` (the theorem's bound is smallest); ``"adaptive"`` (the charge of a round doubles
            when a noisy answer shows no progress, until all is spent); ``"annealed"`` (the same after noisy marginals
            of single attributes, and the tables that queries are read off, with all tables below them, are measured;
            those of more than two attributes only where they are not mostly noise);
            or ``"auto"``: for one table or its ranges, tables over levels of their attributes; else a fixed strategy
            with its best division of the budget, or annealed rounds where their predicted error is smaller. An
            (epsilon, delta) budget is counted in the regime with the least predicted error then. All of it follows
            from public and noisy numbers, which the release states.
        selection_share: Share of a round's charge that goes to selection; None means a tenth in annealed rounds, else
            half.
        step: ``"source"`` (eta = r / 2n) or ``"sharp"`` (eta = 4 r / w**2 n); used where ``refit`` is None.
        output: The last hypothesis, or the average of A_0 ... A_(T-1).
        refit: Fit of the hypothesis to all measurements after each round; None takes one step towards the newest.
        quick_fits: Whether proximal fits between rounds are done with fewer sweeps; the last one never is.
        initial: Start of the hypothesis: uniform; a noisy histogram of all cells (small domains); or uniform,
            fitted to noisy marginals of single attributes.
        initial_share: Share of the budget that ``initial`` may spend, unless uniform.
        uniform_share: gamma, the part of the uniform distribution in a histogram start.
        clip: Whether noisy answers are moved into the possible range before a step; used where ``refit`` is None
            (``Sweeps`` has its own).
        repeats: Whether a candidate may be measured more than once.
        law: Law of the selection; permute-and-flip needs a pure budget.
        noise: Shape of the noise; Laplace for pure budgets and Gaussian for zCDP unless given.
        offsets: Whether the expected noise of a measurement is taken off a candidate's score.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.
        largest_tree: For domains too large for a histogram: cells that the cliques of the junction trees may
            have. Candidates beyond that are left out; while the budget is being spent the limit grows with the share
            that is spent.
        prior: Public tables, or an earlier release, that the hypothesis starts from as far as noisy answers bear them
            out; see `Prior`.
        optimize_for: What automatic rounds make as good as they can: ``"records"`` that are drawn from the release, by
            their predicted error, or its ``"answers"`` alone. Both are better by far than what was not measured; they
            differ where no tree holds what is measured, and its records cannot be moved towards it.
        higher_orders: Whether all marginals of three attributes join the workload, and of four, as far as their
            predicted error is at most 1 % of the records and a histogram of 2**22 cells holds the domain.
        search_share: Most that a search for interactions may spend, as a share of what rounds would have: a few looks
            at sets of three to six attributes, each of which measures what the hypothesis answers worst. Looks that
            could not find an effect of a quarter of the records are not made; what none of them spends goes to the
            estimate of the error, or to rounds. 0 leaves the search out.

    Example:
        >>> MWEM(rounds=10, refit=None, output="average").step
        'source'
        >>> MWEM(rounds=0)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: MWEM needs at least one round, not 0
          Remedy: give a number from 1, 'auto', 'annealed', 'bound' or 'adaptive'
    """

    takes_known = True

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload, the regime or the memory does not allow, before anything is read or spent.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget.

        Raises:
            ConfigError: See `check_options`; or marginals of single attributes fill ``largest_tree``.
            ModelTooLargeError: The hypothesis does not fit into memory, or into ``largest_tree``.
            MarginalTooLargeError: The answers of the workload do not fit into memory.
        """
        self.check_options(workload, regime)
        workload = not_known(workload)
        candidates = candidates_of(self, workload)
        check_answers([workload] if candidates is workload else [workload, candidates])
        limit = limit_of(self, workload)
        if self.needs_histogram or not limit.binds:
            check_fits(workload.domain, self.copies, averaged=self.output == "average")
        if limit.binds:
            limit.check(self.measured_alone(workload))
        if may_be_fixed(self, workload) and (held := held_at_once(self, workload)).table_cells:
            held.check()

    def check_options(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload or the regime does not allow, however much memory there is.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget.

        Raises:
            ConfigError: More rounds than candidates; a histogram of a large domain; permute-and-flip under zCDP;
                Gaussian noise under pure differential privacy; a prior that does not fit the domain.
        """
        most = workload.n_candidates
        if isinstance(self.rounds, int) and self.rounds > most and not self.repeats:
            raise ConfigError(
                f"{self.rounds} rounds are too many: the workload has {most} candidates and each is measured once",
                remedy=f"ask for at most {most} rounds, or allow repeats (in Python: MWEM(..., repeats=True))",
            )
        if self.initial == "histogram" and workload.domain.size > LARGEST_START:
            raise ConfigError(
                f"a noisy histogram of {human(workload.domain.size)} cells would be noise alone",
                remedy=f"start uniform or one-way; a histogram is for up to {LARGEST_START:,} cells",
            )
        if self.law == "permute-and-flip" and regime is not Regime.PURE:
            raise ConfigError(
                "permute-and-flip has no zCDP charge of its own", remedy="use law='exponential', or a PureDP budget"
            )
        check_noise(self.noise, regime)
        if self.prior is not None:
            self.prior.check(workload.domain)
            if wants_classes(workload):
                message = "a prior is about values, not about classes of very many"
                raise ConfigError(message, remedy="leave the prior out")

    def check_budget(self, workload: Workload, budget: Budget) -> None:
        """Refuse what `check` does, and budgets that are too small for the noise of a run to be drawn."""
        self.check(workload, budget.regime)
        check_drawable(self, not_known(workload), budget, budget.limit)

    def accounted(self, workload: Workload, budget: Budget) -> Budget:
        """An (epsilon, delta) in the regime with the least predicted error, if rounds are automatic."""
        return accounted(self, not_known(workload), budget)

    def asked(self, workload: Workload, budget: Budget, total: float) -> Workload:
        """The queries of a run, with the marginals that join by `higher_orders`."""
        return with_higher_orders(self, workload, budget, self._rounds_charge(workload, budget), total)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """Run with a curator that the caller made, and whose ledger the caller can read whatever happens.

        Args:
            curator: Curator before the private table; its whole remaining budget is spent.
            workload: Queries that the release should answer well.
            progress: Callback, called after every round.
        """
        check_domain(curator, workload)
        self.check(workload, curator.regime)
        check_composition(self, workload, curator.budget)
        check_drawable(self, not_known(workload), curator.budget, curator.ledger.remaining)
        return MWEMRun(self, curator, workload, progress).run()

    def refitted(
        self, release: Release, measurements: Sequence[Measurement], total: float, moments: Sequence[Measurement] = ()
    ) -> Model | None:
        """The hypothesis of other values of the measurements, for proximal fits of the last hypothesis without a prior.

        Args:
            release: A release of this configuration.
            measurements: Its measurements with other values.
            total: Noisy number of records that belongs to them, in counts.
            moments: Its moments with other values, see `moments_of`.
        """
        rule = last_refit(self, not_known(release.workload))
        if not isinstance(rule, Proximal) or self.needs_histogram or self.prior is not None:
            return None
        fitted = fitted_to(release, measurements)
        if release.counted is not None:
            total = averaged_total(total, release.count_noises[-1].std, fitted)
        before = release.model
        learner = Learner(before.copy() if isinstance(before, Hypothesis) else hypothesis(before.domain, total))
        learner.model.rescale(min(total, (1.0 - 1e-6) * LARGEST_MASS))
        learner.measurements = fitted
        return concluded(learner, rule, moments=moments, largest_tree=self.largest_tree)

    def plan(self, workload: Workload, budget: Budget, total: float) -> Plan:
        """Plan a run: memory, charges and promise. Reads nothing and spends nothing.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            total: A public guess of the number of records.

        Raises:
            ConfigError: The configuration does not fit the budget or the workload.
            CandidatesTooLargeError: Nothing of the workload may be measured.
        """
        self.check_options(workload, budget.regime)
        counted = self.accounted(workload, budget)
        workload = not_known(workload)
        check_drawable(self, workload, counted, counted.limit)
        return make_plan(self, self.asked(workload, counted, total), counted, total)

    def expected_error(self, workload: Workload, budget: Budget, total: float) -> float | None:
        """The mean error that a run should have, by a formula fitted to a few tables, as a share of the records.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            total: A public guess of the number of records.

        Returns:
            Total variation distance for a marginal, absolute error for a single query; None where there is no formula:
            noisy values decide the number of rounds.
        """
        left, counted = not_known(workload), self.accounted(workload, budget)
        return expected_error(self, left, counted, self._rounds_charge(left, counted), total)

    def _rounds_charge(self, workload: Workload, budget: Budget) -> float:
        """The charge of all measurements together, in the unit of the budget."""
        return self.charges(budget.limit, budget.neighbours, workload.domain).rounds
