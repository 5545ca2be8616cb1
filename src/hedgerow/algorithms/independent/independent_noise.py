"""Independent noise on every answer: the baseline of every other algorithm (theory.md section 8).

C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating Noise to Sensitivity in Private Data Analysis", TCC 2006
(Laplace), and its zCDP form with Gaussian noise (M. Bun, T. Steinke, "Concentrated Differential Privacy", TCC 2016).
Each of m candidates is measured once, with the m-th part of the budget: Laplace noise of scale m Delta / epsilon in
counts, or Gaussian noise of ``sigma = Delta sqrt(m / (2 rho))``. Nothing is selected. The noisy answers are then made
consistent and non-negative by the fit that MWEM uses, so that comparisons with it differ in the measurements alone;
where no hypothesis holds them all, the model is an `Overlay` of consistent tables. `noisy_answers` gives them as they
were bought. The bound that a plan states is the quantile of m independent noises, a
little below the theorem's ``(m Delta / epsilon) ln(m / beta)``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hedgerow.algorithms.shared import Algorithm, Learner, ProgressCallback, concluded, make_release, measured_together
from hedgerow.algorithms.shared.algorithm import check_domain, check_made_by, number_of_records
from hedgerow.algorithms.shared.bounds import BETA
from hedgerow.algorithms.shared.checks import check_choice, check_noise, check_shares, noise_kind
from hedgerow.algorithms.shared.plans import (
    Charges,
    Outline,
    charges_line,
    noise_of_total,
    process_bytes,
    says_nothing,
)
from hedgerow.algorithms.strategies import Strategy, strategies, with_least_error, with_least_noise
from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError
from hedgerow.models import Footprint, Model, Proximal, Refit, hypothesis, hypothesis_for
from hedgerow.privacy import Budget, Curator, Regime, noises_of
from hedgerow.queries import Measurable, Measurement, Neighbours, NoiseKind, Parities, Relation, Workload
from hedgerow.release import Release

_REFIT = Proximal(adapted=True)

Unit = Literal["candidate", "query"]
Shares = Literal["equal", "best"]

Retelling = Callable[[Domain, Sequence[Measurement], float], Sequence[Measurement]]
"""Says what measurements say in another way, given the domain and the number of records."""


@dataclass(frozen=True)
class IndependentNoise(Algorithm):
    """Configuration of the Laplace and Gaussian baselines; holds no data and can be used for any number of runs.

    Every candidate gets the same share of the budget, whatever its weight in the workload, as published; or the budget
    is divided for the least error of the workload, among whatever tells most about it.

    Attributes:
        noise: Shape of the noise; Laplace for pure budgets and Gaussian for zCDP unless given.
        fit: Fit of the hypothesis to the noisy answers; None leaves it uniform, so that the release holds the
            noisy answers and nothing else, and no error is estimated.
        by: Unit that is measured in one go: a ``"candidate"`` of the workload (a whole marginal, whose cells share one
            charge because a record is in one of them), or each single ``"query"`` on its own, as the theorem does.
        shares: Shares of the budget: ``"equal"`` ones for all candidates, as in the papers; or the ``"best"`` division
            among marginals, levels, parities or cells (theory.md section 13), whatever the unit.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.Categorical("sex", ("F", "M")), hedgerow.IntegerRange("age", 0, 2)))
        >>> table = hedgerow.read_table(pa.table({"sex": ["F", "M"] * 400, "age": [0, 1, 2, 2] * 200}), domain)
        >>> workload = hedgerow.Workload.marginals(domain, order=2)
        >>> release = IndependentNoise().run(table, workload, hedgerow.PureDP(0.1), noise=hedgerow.SeededNoise(0))
        >>> noisy_answers(release)
        array([171., -63., 171.,  17., 184., 207.])
    """

    noise: NoiseKind | None = None
    fit: Refit | None = _REFIT
    by: Unit = "candidate"
    shares: Shares = "equal"
    total_share: float = 0.02
    error_share: float = 0.03

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: A number is out of its range, or a name is unknown.
        """
        if self.noise is not None:
            object.__setattr__(self, "noise", noise_kind(self.noise))
        check_choice("by", self.by, Unit)
        check_choice("shares", self.shares, Shares)
        check_shares(self.total_share, self.error_share)

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the regime or the memory does not allow, before anything is read or spent.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget.

        Raises:
            ConfigError: Gaussian noise under pure differential privacy; or the best division of noise that is not the
                usual one of the regime.
            ModelTooLargeError: The hypothesis does not fit into memory.
        """
        check_noise(self.noise, regime)
        self._check_division(regime)
        self.footprint(self.measured(workload)).check()

    def accounted(self, workload: Workload, budget: Budget) -> Budget:
        """An (epsilon, delta) in zCDP or in GDP, whichever needs less Gaussian noise: GDP, unless noise is narrow.

        With the best division of any noise it is counted as pure where Laplace noise then errs less.
        """
        if self.shares == "best" and self.noise is None:
            return with_least_error(budget, workload, lambda _: True)
        return with_least_noise(budget, self.noise, self.measured(workload).n_candidates)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """Run with a curator that the caller made, and spend its whole remaining budget.

        Args:
            curator: Curator before the private table.
            workload: Queries that the release should answer well.
            progress: Callback, called after every measurement.
        """
        check_domain(curator, workload)
        self.check(workload, curator.regime)
        measured = self.measured(workload)
        if self.shares == "equal":
            return run_steps(self, self, curator, measured, workload, progress=progress)
        charges = self.charges(curator.ledger.remaining, curator.neighbours)
        best = self.best(workload, curator.budget, charges.rounds)
        self.footprint(best.tables).check()
        steps = list(best.steps_without_total)
        return run_steps(self, self, curator, best.tables, workload, steps=steps, progress=progress)

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        """Plan a run: memory, charges and promise. Reads nothing and spends nothing.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            total: A public guess of the number of records, which no bound should pass.

        Example:
            >>> from hedgerow import Domain, IntegerRange, PureDP
            >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
            >>> facts = IndependentNoise(by="query", error_share=0.0).plan(workload, PureDP(1.0, "replace"), 1).facts
            >>> facts["measured"], round(facts["scale"], 6), facts["bound"]
            (27, 27.0, 169.0)
        """
        check_noise(self.noise, budget.regime)
        measured, budget = self.measured(workload), self.accounted(workload, budget)
        self._check_division(budget.regime)
        if self.shares == "equal":
            return plan_equal_shares(self, measured, budget, total)
        charges = self.charges(budget.limit, budget.neighbours)
        best = self.best(workload, budget, charges.rounds)
        return _plan_best(best, charges, self.footprint(best.tables), total)

    def best(self, workload: Workload, budget: Budget, amount: float) -> Strategy:
        """The strategy with the least error of the workload.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            amount: Charge of all measurements together.
        """
        return strategies(workload, budget, amount)[0]

    def _check_division(self, regime: Regime) -> None:
        usual = NoiseKind.LAPLACE if regime is Regime.PURE else NoiseKind.GAUSSIAN
        if self.shares == "best" and self.noise not in (None, usual):
            remedy = f"leave the noise out, which takes {usual.value} noise, or take equal shares"
            raise ConfigError(f"no best division is known for {self.noise} noise under {regime.value}", remedy=remedy)

    def measured(self, workload: Workload) -> Workload:
        """The workload whose candidates are measured."""
        return workload.by_query() if self.by == "query" else workload

    def footprint(self, measured: Workload) -> Footprint:
        """The memory of the hypothesis of a run; where nothing is fitted it stays uniform.

        Args:
            measured: Workload whose candidates are measured.

        Example:
            >>> from hedgerow import Domain, IntegerRange
            >>> workload = Workload.marginals(Domain(IntegerRange(f"x{i}", 0, 9) for i in range(20)), 2)
            >>> IndependentNoise(fit=None).footprint(workload).tree_cells
            0
            >>> IndependentNoise().footprint(workload).words
            'consistent tables of 19,000 cells over junction trees of up to 65,536 cells; the domain has about 10^20'
        """
        if self.fit is None:
            return Footprint.of(measured.domain, ())
        return Footprint.of_fit(measured) if isinstance(self.fit, Proximal) else Footprint.of_workload(measured)

    def charges(self, amount: float, neighbours: Neighbours) -> Charges:
        """Divide an amount of the budget.

        Args:
            amount: epsilon or rho.
            neighbours: Relation of the budget.
        """
        error = self.error_share if self.fit is not None else 0.0  # a hypothesis that was never fitted promises nothing
        return Charges.split(amount, neighbours, total=self.total_share, error=error)


def noisy_answers(release: Release) -> Floats:
    """The answers of the workload as they were measured: neither consistent nor clipped, may be negative.

    Args:
        release: Made by `IndependentNoise`.

    Returns:
        Counts, shape ``(n_queries,)``, in the order of the release's workload.

    Raises:
        ConfigError: The release was made otherwise.
    """
    check_made_by(release, "IndependentNoise")
    if release.provenance.parameters.get("shares", "equal") != "equal":
        raise ConfigError(
            "with the best division a release holds other measurements than the workload's",
            remedy="take equal shares, or workload.answers(release.model)",
        )
    return np.concatenate([measured.values for measured in release.measurements])


def run_steps(
    config: IndependentNoise,
    algorithm: Algorithm,
    curator: Curator,
    measured: Workload,
    workload: Workload,
    *,
    steps: Sequence[tuple[Measurable, float]] | None = None,
    fitted: Retelling | None = None,
    progress: ProgressCallback | None = None,
) -> Release:
    """Measure what has been planned, fit a hypothesis, and make the release.

    Args:
        config: Noise, fit and shares.
        algorithm: Configuration that the release names.
        curator: Curator whose whole remaining budget is spent.
        measured: Workload that the hypothesis has room for.
        workload: Queries that the release should answer well.
        steps: Targets, with the charge of each; all candidates of ``measured`` with equal charges unless given.
        fitted: Function of the domain, the measurements and the number of records that gives what the hypothesis is
            fitted to; the measurements themselves unless given.
        progress: Callback, called after every measurement.

    Raises:
        QueryError: A query depends on no record; nothing was spent.
    """
    charges = config.charges(curator.ledger.remaining, curator.neighbours)
    if steps is None:
        each = charges.rounds / measured.n_candidates
        steps = [(measured.candidate(index), each) for index in range(measured.n_candidates)]
    for target, charge in steps:  # all that could be refused is refused before anything is spent
        curator.noise_for(target, charge, config.noise)
    total = number_of_records(curator, charges.total)
    over_tables = config.footprint(measured).table_cells > 0
    unfitted = config.fit is None or over_tables
    learner = Learner(hypothesis(workload.domain, total) if unfitted else hypothesis_for(measured, total))
    model: Model = learner.model
    learner.measurements.extend(measured_together(steps, curator, config.noise, model, progress))
    if config.fit is not None:
        retold = None if fitted is None or over_tables else fitted(workload.domain, learner.measurements, total)
        model = concluded(learner, config.fit, retold, curator.moments)
    return make_release(
        curator,
        workload,
        model,
        name=type(algorithm).__name__,
        parameters=algorithm.parameters(),
        measurements=learner.measurements,
        error_charge=charges.error,
    )


def plan_equal_shares(
    config: IndependentNoise, measured: Workload, budget: Budget, total: float, *, cells: bool = False
) -> Outline:
    """The plan of `run_steps` with equal charges.

    Args:
        config: Noise, fit and shares.
        measured: Workload whose candidates would be measured.
        budget: Budget of the run.
        total: A public guess of the number of records.
        cells: Whether the bound is on cells made of the measured values and of the number of records, measured with the
            same charge: averages of these with signs.
    """
    charges = config.charges(budget.limit, budget.neighbours)
    each, values = charges.rounds / measured.n_candidates, measured.n_queries
    different = [(target, each) for target in _different(measured, budget)]
    noises = list(dict.fromkeys(noises_of(different, budget, config.noise)))
    of_total = noise_of_total(budget, each) if cells else None
    bounded = noises if of_total is None else [*noises, of_total]
    bound = max(noise.quantile(1.0 - BETA, values + cells) for noise in bounded)
    what = "no cell made of the coefficients" if cells else "no measured value"
    sentence = f"{what} errs by more than {bound:,.0f} counts, except with probability {BETA:.3g}"
    loudest = max(noises, key=lambda noise: noise.expected_abs)
    footprint = config.footprint(measured)
    text = (
        ("rounds", f"{measured.n_candidates:,} measurements, each {each:.4g} {budget.unit}"),
        charges_line(budget.limit, budget.unit, charges.shares("measurements")),
        ("noise", f"about {loudest.expected_abs:,.1f} counts on each of {values:,} measured values"),
        ("bound", f"{sentence}{says_nothing(bound, total)}"),
        ("", "of the hypothesis fitted to them no theorem speaks; the release estimates its error"),
    )
    facts = {
        "measured": measured.n_candidates,
        "values": values,
        "charge": each,
        "unit": budget.unit,
        "noise": loudest.kind.value,
        "scale": max(noise.scale for noise in noises),
        "bound": bound,
        "failure": BETA,
        "charges": {"total": charges.total, "measurements": charges.rounds, "error": charges.error},
    }
    number, required = measured.n_candidates, footprint.required_bytes
    process = process_bytes(measured.domain, total, required, measured=number, values=values, queries=number)
    return Outline.of(required, footprint.words, text, facts, process=process)


def _plan_best(best: Strategy, charges: Charges, held: Footprint, total: float) -> Outline:
    """The plan of the best division: errors that are expected, where quantiles of equal noises would mean little."""
    unit, limit = best.goal.budget.unit, best.goal.budget.limit
    mean, largest = best.mean_error, best.largest_error
    text = (
        ("rounds", f"{best.n_measurements:,} measurements ({best.name}), with the best division of the budget"),
        charges_line(limit, unit, charges.shares("measurements")),
        ("noise", f"mean and largest expected error of a candidate {mean:,.1f} and {largest:,.1f} counts, unbiased"),
        ("bound", f"none{says_nothing(mean, total)}; the release estimates its error"),
    )
    facts = {**best.to_dict(), "unit": unit, "charges": {"total": charges.total, "measurements": charges.rounds}}
    asked, required = best.goal.workload, held.required_bytes
    process = process_bytes(
        asked.domain,
        total,
        required,
        measured=best.n_measurements,
        values=best.tables.n_queries,
        queries=asked.n_candidates,
    )
    return Outline.of(required, held.words, text, facts, process=process)


def _different(measured: Workload, budget: Budget) -> list[Measurable]:
    """One candidate of each family and sensitivity: all others have the same noise; all parities that share it."""
    families = [measured.family_of(index) for index in range(measured.n_candidates)]
    shared = budget.neighbours.step is not Relation.ADD_REMOVE
    parities = [
        index if shared and isinstance(measured.families[family], Parities) else -1
        for index, family in enumerate(families)
    ]
    keys = zip(families, parities, measured.sensitivities(budget.neighbours).tolist(), strict=True)
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    return [measured.candidate(index) for index in sorted(first.values())]
