"""Automatic rounds: a fixed strategy that is measured step by step, or rounds that adapt to noisy answers.

The choice compares predicted errors of the two: those of records, or of answers alone. It is a function of the domain,
the workload, the budget and the number of records, which is noisy and paid for before it is looked at, or public. The
error of a fixed strategy follows from its noise and from a guess of what tables are like (theory.md section 13). That
of adaptive rounds is a formula fitted to public tables.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from hedgerow.algorithms.mwem.settings import (
    MWEMSettings,
    OptimizeFor,
    candidates_of,
    first_rounds,
    formula_error,
    in_grids,
    is_annealed,
    is_known,
    limit_of,
    planned_rounds,
    round_charge,
)
from hedgerow.algorithms.shared import Line, RoundCharge, expected_noise
from hedgerow.algorithms.shared.fixed_steps import composition_of, dearest_noise, laplace_steps, with_fixed_steps
from hedgerow.algorithms.strategies import (
    Step,
    Strategy,
    are_tables,
    forget_predicted,
    grid_error,
    grid_steps,
    grids_tell,
    level_steps,
    predicted,
    table_steps,
    with_least_error,
    with_least_noise,
)
from hedgerow.algorithms.strategies.candidates import Limit, attributes_of, tables_of
from hedgerow.domain import Clique, Domain
from hedgerow.models import Footprint, Proximal, can_move, over_tables, scopes_over_tree
from hedgerow.privacy import ApproxDP, Budget, Composition, Regime
from hedgerow.queries import Marginal, Measurable, Neighbours, NoiseKind, Workload

UNIFORM = "records stay uniform, as a fit is expected to err more; what is measured gives answers intervals"
"""How a plan says that nothing is fitted."""

_FEW_TOLD = 4.0
"""Error of adaptive rounds for that of marginals which are measured beforehand, times the root of the attributes."""

_ADAPTED, _FALL = 0.1, 0.4
"""The same of rounds that no tree holds together, where a fixed strategy errs by all records; its power after that."""

_ONE_TABLE = ((1.0, 4.0), (10.0, 1.8), (math.inf, 1.25))
"""Factors by which one table of everything must be better than smaller ones, up to so many records a cell."""

_KEPT = 8
"""Strategies of which it is kept whether trees hold them: those of all regimes measure the same."""

_SMALL_ERROR = 0.01
"""Predicted mean error of all marginals of an order, as a share of the records, up to which they join unasked."""

_HIGHEST_ORDER = 4
"""Attributes of the largest marginals that join."""

_MOST_RAISED = 2_000
"""Marginals of an order that join at most."""

_LARGEST_RAISED = 2**22
"""Cells of the largest domain whose marginals of higher order join: a histogram holds it, and is fitted in seconds."""

_OF_TREE, _OF_MOVED = 0.6, 0.2
"""Sampling error of records from a tree, and of moved ones, for that of independent ones (theory.md section 19)."""


@dataclass(frozen=True, eq=False)
class StrategyChoice:
    """Predicted errors of a fixed strategy and of adaptive rounds; the smaller one is taken.

    Errors are means over the candidates of the workload, as shares of the records.

    Attributes:
        fixed: The best fixed strategy that the hypothesis can hold.
        total: Number of records (noisy), in counts.
        adaptive_error: Predicted error of the answers of adaptive rounds.
        fixed_drawing: Error that drawing as many records adds to those of the fixed strategy; None where records are
            moved towards few of its tables, so that no formula tells it.
        adaptive_drawing: The same for adaptive rounds.
        optimize_for: Whose errors are compared.
        fits: Whether a fit to the fixed strategy is expected to err less than the uniform table. If not, the hypothesis
            stays uniform, and the strategy is measured for the intervals of answers.
        by_levels: Steps through levels that are fitted from the top down, in place of the fixed strategy.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 3) for name in "abc"), 2)
        >>> found = choose_strategy(MWEM(), workload, PureDP(1.0), 0.95, 1000.0)
        >>> found.takes_fixed, found.fixed.name, found.fixed.n_measurements
        (True, 'cells', 1)
        >>> round(found.fixed_error, 4), round(found.fixed_records_error, 4)
        (0.0177, 0.0185)
    """

    fixed: Strategy
    total: float
    adaptive_error: float
    fixed_drawing: float | None
    adaptive_drawing: float
    optimize_for: OptimizeFor = "records"
    fits: bool = True
    by_levels: Sequence[Step] = ()

    @property
    def fixed_error(self) -> float:
        """Predicted error of the answers of the fixed strategy."""
        return self.fixed.mean_error / self.total

    @property
    def fixed_records_error(self) -> float | None:
        """Predicted error of as many records that are drawn from it; None where no formula tells it."""
        return None if self.fixed_drawing is None else math.hypot(self.fixed_error, self.fixed_drawing)

    @property
    def adaptive_records_error(self) -> float:
        """Predicted error of as many records that are drawn after adaptive rounds."""
        return math.hypot(self.adaptive_error, self.adaptive_drawing)

    @property
    def compared(self) -> tuple[float, float]:
        """Errors of the fixed strategy and of adaptive rounds; those of answers where none of records is predicted."""
        found = self.fixed_records_error
        if self.optimize_for == "answers" or found is None:
            return self.fixed_error, self.adaptive_error
        return found, self.adaptive_records_error

    def handicapped(self) -> float:
        """The error by which fixed strategies are compared: fits to one table of everything take noise for records."""
        answers = _handicapped(self.fixed, self.total) / self.total
        return math.hypot(answers, (self.fixed_drawing or 0.0) * (self.optimize_for == "records"))

    @property
    def takes_fixed(self) -> bool:
        """Whether the fixed strategy is measured; so it is where the hypothesis stays uniform."""
        fixed, adaptive = self.compared
        return fixed <= adaptive or not self.fits or bool(self.by_levels)

    def counted(self, config: MWEMSettings, total: float) -> StrategyChoice:
        """The same once the number of records is known better, from what was measured: whether to fit to that.

        Args:
            config: The configuration.
            total: Number of records (noisy), in counts.
        """
        if self.by_levels or not self.takes_fixed or config.prior is not None or not isinstance(config.refit, Proximal):
            return self
        return replace(self, fits=self.fixed.worth_a_fit(config.refit.c, max(1.0, total)))

    @property
    def taken(self) -> str:
        """Word for what is taken."""
        if self.by_levels:
            return "levels"
        return ("fixed" if self.fits else "uniform") if self.takes_fixed else "adaptive"

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is taken, and from which numbers; None for an infinite error, or one without a formula.

        Levels are taken without a comparison of errors: what they measure is named instead.
        """
        if self.by_levels:
            measured = [step.target.text for step in self.by_levels if step.target is not None]
            return {"taken": self.taken, "measured": measured, "total": self.total}
        errors = self.adaptive_error, self.adaptive_records_error
        adaptive, adaptive_records = (each if math.isfinite(each) else None for each in errors)
        return {
            "taken": self.taken,
            "optimize_for": self.optimize_for,
            "fixed": self.fixed.name,
            "fixed_measurements": self.fixed.n_measurements,
            "fixed_error": self.fixed_error,
            "fixed_records_error": self.fixed_records_error,
            "adaptive_error": adaptive,
            "adaptive_records_error": adaptive_records,
            "total": self.total,
        }

    def lines(self) -> list[Line]:
        """The decision as a plan tells it, and the errors that it rests on."""
        if self.by_levels:
            told = "the noise of each is below; the release estimates its own error"
            return [("decision", "tables of each level, fitted from the top down"), ("", told)]
        number = self.fixed.n_measurements
        measured = f"{self.fixed.name}, {number:,} measurement{'' if number == 1 else 's'}"
        taken = "fixed measurements" if self.takes_fixed else "adaptive rounds"
        decided = f"{taken}, by the predicted error of {self.optimize_for}"
        if self.taken == "uniform":
            decided = UNIFORM
        if math.isinf(self.adaptive_error):
            adaptive = "no candidate tells anything about another"
        else:
            adaptive = f"{_both(self.adaptive_error, self.adaptive_records_error)} if rounds adapt"
        errors = f"{_both(self.fixed_error, self.fixed_records_error)} if fixed ({measured}); {adaptive}"
        return [
            ("decision", decided),
            ("", f"mean error, as a share of the records: {errors}"),
        ]


def _both(answers: float, records: float | None) -> str:
    return f"answers {answers:.3g}, records {'not predicted' if records is None else f'{records:.3g}'}"


def sampling_error(workload: Workload, records: float) -> float:
    """The mean error that independent records add, for even cells: an upper bound, but for the normal approximation.

    ``sqrt((k - 1) / 2 pi n)`` for a marginal of k cells and n records, and ``w sqrt(1 / 2 pi n)`` for a query whose
    values lie in a range of the width w (theory.md section 19).

    Args:
        workload: The queries; their weights are those of the mean.
        records: Number of records.

    Returns:
        Total variation distance for a marginal, absolute error for a single query, as a share of the records.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "ab")
        >>> round(sampling_error(Workload.marginals(domain, 2), 1e5), 4)
        0.0126
    """
    each = [
        np.sqrt(family.lengths - 1.0) if family.whole else family.sensitivities(Neighbours.REPLACE)
        for family in workload.families
    ]
    mean = float(np.average(np.concatenate(each), weights=workload.candidate_weights))
    return mean / math.sqrt(2.0 * math.pi * records)


def choose_strategy(
    config: MWEMSettings,
    workload: Workload,
    budget: Budget,
    amount: float,
    total: float,
    *,
    factors: Collection[Clique] = (),
) -> StrategyChoice | None:
    """Decide between a fixed strategy and adaptive rounds.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: Charge of all measurements together.
        total: Number of records (noisy), in counts.
        factors: Scopes of the public factors of a prior; a plan leaves them out, which seldom matters.

    Returns:
        None where the configuration leaves no choice, or no fixed strategy can be run.
    """
    if not may_be_fixed(config, workload):
        return None
    records = max(1.0, float(total))
    found, unbiased = predicted(workload, budget, amount, records), predicted(workload, budget, amount)
    if not unbiased:
        return None
    adaptive = adaptive_error(config, found[0], unbiased, records)
    sampling, best = sampling_error(workload, records), None
    length = config.refit.c if isinstance(config.refit, Proximal) else 0.0
    drawing = _OF_TREE * sampling * (1.0 if limit_of(config, workload).binds else _rounded(workload.domain, records))
    for strategy in sorted(found, key=lambda each: _handicapped(each, records)):
        if best is not None and _handicapped(strategy, records) / records >= best.handicapped():  # so will records
            break
        if holds(config, strategy, factors):
            of_fixed: float | None = drawing
            if is_over_tree(config, strategy):
                of_fixed = _OF_MOVED * sampling if can_move(workload.domain, strategy.scopes) else None
            fits = config.prior is not None or strategy.worth_a_fit(length, records)  # a prior is no uniform table
            choice = StrategyChoice(strategy, records, adaptive, of_fixed, drawing, config.optimize_for, fits)
            best = choice if best is None else min(best, choice, key=StrategyChoice.handicapped)
    if best is not None and config.prior is None:
        steps = level_steps(workload, budget, amount, records)
        if (
            steps
            and limit_of(config, workload).binds
            and not _held_by_trees(workload.domain, workload.scopes, tuple(factors), config.largest_tree)
        ):
            steps = []
        best = replace(best, by_levels=steps, fits=best.fits or bool(steps))
    return best


def _rounded(domain: Domain, records: float) -> float:
    """What rounding the cells of a histogram to whole records leaves of the error of drawing from a tree."""
    return math.sqrt(min(1.0, domain.size / (2.0 * records)))


def grids_are_lost(config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float) -> bool:
    """Whether the hypothesis stays uniform where tables from coarse to fine are measured; see `choose_strategy`."""
    if config.prior is not None or not in_grids(config, workload):
        return False
    return not grids_tell(workload, budget, amount, max(1.0, total))


@dataclass(frozen=True, eq=False)
class Schedule:
    """The schedule of a run, as far as it is known once the number of records is.

    Attributes:
        decision: See `choose_strategy`.
        steps: Targets with their charges, measured in turn where nothing is selected; else empty.
        rounds: Number of measurements; None where noisy values decide.
    """

    decision: StrategyChoice | None
    steps: list[tuple[Measurable, float]]
    rounds: int | None


def schedule_of(
    config: MWEMSettings,
    workload: Workload,
    budget: Budget,
    amount: float,
    total: float,
    *,
    factors: Collection[Clique] = (),
) -> Schedule:
    """The schedule of a run: tables of grids, a fixed strategy, a number of equal rounds, or annealed ones.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: Charge of all measurements together.
        total: Number of records (noisy), in counts.
        factors: Scopes of the public factors of a prior.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> workload = Workload.prefixes(Domain((IntegerRange("age", 0, 99),)), "age")
        >>> schedule = schedule_of(MWEM(), workload, PureDP(1.0), 0.95, 1000.0)
        >>> schedule.decision, [target.text for target, _ in schedule.steps]
        (None, ['age.10', 'age'])
    """
    schedule = _schedule(config, workload, budget, amount, total, factors=factors)
    if not workload.domain.known:
        return schedule
    left = [(target, charge) for target, charge in schedule.steps if not is_known(workload.domain, target.scope)]
    if len(left) == len(schedule.steps) or not left:
        return schedule
    more = amount / math.fsum(charge for _, charge in left)
    steps = [(target, charge * more * _BELOW) for target, charge in left]
    return Schedule(schedule.decision, steps, len(steps))


_BELOW = 1.0 - 1e-12
"""Charges that are rounded must not pass the budget together."""


def _schedule(
    config: MWEMSettings,
    workload: Workload,
    budget: Budget,
    amount: float,
    total: float,
    *,
    factors: Collection[Clique],
) -> Schedule:
    """The schedule, tables that known totals tell among its steps."""
    if in_grids(config, workload):
        found = grid_steps(workload, budget, amount, total)
        steps = [(step.target, step.charge) for step in found if step.target is not None]
        return Schedule(None, steps, len(steps))
    decision = choose_strategy(config, workload, budget, amount, total, factors=factors)
    if decision is not None and decision.by_levels:
        steps = [(step.target, step.charge) for step in decision.by_levels if step.target is not None]
        return Schedule(decision, steps, len(steps))
    if decision is not None and decision.takes_fixed:
        steps = _beside_single_attributes(list(decision.fixed.steps_without_total), budget, total)
        return Schedule(decision, steps, len(steps))
    adapts = decision is not None and is_annealed(config, workload)
    return Schedule(decision, [], None if adapts else planned_rounds(config, workload, budget, amount, total))


def _beside_single_attributes(
    steps: list[tuple[Measurable, float]], budget: Budget, total: float
) -> list[tuple[Measurable, float]]:
    """The steps, more of them where one table is all that is measured and mostly noise."""
    target, charge = steps[0]
    if len(steps) > 1 or not isinstance(target, Marginal) or target.within is not None:
        return steps
    return [
        (step.target, step.charge) for step in table_steps(target, budget, charge, total) if step.target is not None
    ]


def expected_error(
    config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float
) -> float | None:
    """The mean error that is predicted for a run, as a share of the records.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        amount: Charge of all measurements together.
        total: A public guess of the number of records, or a noisy one.

    Returns:
        Total variation distance for a marginal, absolute error for a single query; None where there is no formula.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, ZCDP
        >>> workload = Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(10)), 3)
        >>> [round(expected_error(MWEM(), workload, ZCDP(rho), 0.95 * rho, 10_000.0), 4) for rho in (0.01, 0.1)]
        [0.0081, 0.0026]
    """
    schedule = schedule_of(config, workload, budget, amount, total)
    if schedule.decision is not None:
        if schedule.decision.by_levels:
            return None
        return schedule.decision.fixed_error if schedule.steps else schedule.decision.adaptive_error
    if schedule.steps:
        return grid_error(workload, budget, [Step(*step) for step in schedule.steps], max(1.0, total))
    if schedule.rounds is None:
        return None
    return formula_error(config, workload, budget, amount, total, rounds=schedule.rounds)


def with_higher_orders(
    config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float
) -> Workload:
    """The queries of a run: with `MWEM.higher_orders`, all marginals of three attributes too, and of four.

    Those of an order join as long as the error that is predicted for them is small; all of it follows from public and
    noisy numbers.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        amount: Charge of all measurements together.
        total: A public guess of the number of records, or a noisy one.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> pairs = Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(10)), 2)
        >>> config = MWEM(higher_orders=True)
        >>> [with_higher_orders(config, pairs, PureDP(1.0), 0.95, total).spec for total in (500, 6_000, 50_000)]
        ['marginals:2', 'marginals:2; marginals:3', 'marginals:2; marginals:3; marginals:4']
    """
    domain = workload.domain
    if not config.higher_orders or domain.size > _LARGEST_RAISED:
        return workload
    for order in range(1 + max(2, *map(len, workload.scopes)), min(_HIGHEST_ORDER, len(domain)) + 1):
        if math.comb(len(domain), order) > _MOST_RAISED:
            break
        higher = Workload.marginals(domain, order)
        error = expected_error(config, higher, budget, amount, total)
        if error is None or error > _SMALL_ERROR:
            break
        workload = workload + higher
    return workload


def _handicapped(strategy: Strategy, records: float) -> float:
    """The predicted error, more of it for one table of everything: fits to such tables take noise for records."""
    if strategy.name != "cells":
        return strategy.mean_error
    each = records / strategy.goal.workload.domain.size
    return strategy.mean_error * next(factor for most, factor in _ONE_TABLE if each < most)


def may_be_fixed(config: MWEMSettings, workload: Workload) -> bool:
    """Whether automatic rounds may be a fixed strategy: whose noisy answers a hypothesis is fitted to, all together.

    Ranges alone keep to the levels that annealed rounds choose.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
        >>> may_be_fixed(MWEM(), workload), may_be_fixed(MWEM(rounds=3), workload)
        (True, False)
    """
    fitted = isinstance(config.refit, Proximal) and config.output == "last" and config.initial == "uniform"
    free = config.rounds == "auto" and config.noise is None and config.law == "exponential" and not config.repeats
    apart = all(family.ordered for family in workload.families) or in_grids(config, workload)
    return fitted and free and not apart


def holds(config: MWEMSettings, strategy: Strategy, factors: Iterable[Clique] = ()) -> bool:
    """Whether the hypothesis of a run can hold all that a strategy measures.

    Args:
        config: The configuration.
        strategy: The strategy.
        factors: Scopes of the public factors that it starts from.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
        >>> each = [Workload.marginals(domain, order) for order in (1, 2)]
        >>> [holds(MWEM(), predicted(workload, PureDP(1.0))[0]) for workload in each]
        [True, True]
    """
    workload = strategy.goal.workload
    limit = limit_of(config, workload)
    if not limit.binds:
        return True
    if limit.in_classes:
        return False
    if _held_by_trees(workload.domain, strategy.scopes, tuple(factors), config.largest_tree):
        return True
    return config.prior is None and is_over_tree(config, strategy)  # which starts from nothing


@lru_cache(maxsize=_KEPT)
def _held_by_trees(domain: Domain, scopes: tuple[Clique, ...], factors: tuple[Clique, ...], largest_tree: int) -> bool:
    return Limit(Workload.marginals(domain, cliques=scopes), largest_tree).allows_all(factors)


def is_over_tree(config: MWEMSettings, strategy: Strategy) -> bool:
    """Whether what a strategy measures is held as consistent tables over a tree, from which records are drawn.

    Args:
        config: The configuration.
        strategy: The strategy.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(f"x{i}", 0, 1) for i in range(60)), 2)
        >>> is_over_tree(MWEM(), predicted(workload, PureDP(1.0))[0])
        True
    """
    return limit_of(config, strategy.goal.workload).binds and _is_over_tree(strategy, config.largest_tree)


@lru_cache(maxsize=_KEPT)
def _is_over_tree(strategy: Strategy, largest_tree: int) -> bool:
    domain = strategy.goal.workload.domain
    if strategy.measures_tables:
        return scopes_over_tree(domain, strategy.scopes, largest_tree)
    return over_tables(domain, strategy.targets, largest_tree)


def forget_strategies() -> None:
    """Let go of the strategies that were compared, once a run knows its steps: of very many tables they fill memory."""
    _held_by_trees.cache_clear()
    _is_over_tree.cache_clear()
    forget_predicted()


def held_at_once(config: MWEMSettings, workload: Workload) -> Footprint:
    """The footprint of a hypothesis that holds every table that a workload is answered from.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(f"x{i}", 0, 1) for i in range(60)), 2)
        >>> held_at_once(MWEM(), workload).table_cells
        7080
    """
    return Footprint.of_fit(tables_of(workload) or workload, config.largest_tree)


def adaptive_error(config: MWEMSettings, fixed: Strategy, unbiased: Sequence[Strategy], total: float) -> float:
    """Predicted mean error of adaptive rounds, as a share of the records; heuristics with public constants.

    Adaptive rounds measure little of what a fixed strategy measures, and guess the rest from it: the more attributes,
    the more is left to guess. Where a hypothesis holds all marginals of a workload, their error was about ``4 /
    sqrt(attributes)`` times that of marginals measured beforehand, on surveys (theory.md section 13). Another
    fixed strategy, as of parities, is better than marginals by the ratio of their unbiased errors.

    For other workloads, and trees that cannot hold everything, it falls slowly with the budget: measured on public
    tables (docs/measurements.md) it is about ``0.1 U**0.4``, U being the unbiased error of the best fixed strategy.
    Added is what selections miss: the exponential mechanism picks one of m candidates whose score is about ``ln(m) /
    epsilon`` below the best one's, with epsilon that of one selection.

    Args:
        config: The configuration.
        fixed: The best fixed strategy for a workload, a budget and a charge.
        unbiased: All of them by their unbiased errors, the best first.
        total: Number of records (noisy), in counts.

    Returns:
        Infinite where no candidate tells anything about another.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, ZCDP
        >>> workload = Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(10)), 3)
        >>> few, many = (predicted(workload, ZCDP(0.5), total=total)[0] for total in (500.0, 50_000.0))
        >>> found = predicted(workload, ZCDP(0.5))
        >>> round(adaptive_error(MWEM(), few, found, 500.0), 3), round(adaptive_error(MWEM(), many, found, 50_000.0), 5)
        (0.036, 0.00037)
    """
    workload, budget = fixed.goal.workload, fixed.goal.budget
    whole = all(map(are_tables, workload.families))
    if _are_disjoint(workload) and (whole or workload.n_candidates == len(workload.scopes)):
        return math.inf
    if whole and not limit_of(config, workload).binds:
        errors = {each.name: each.mean_error for each in unbiased}
        better = errors.get("marginals", errors[fixed.name]) / errors[fixed.name]
        return _FEW_TOLD / math.sqrt(len(attributes_of(workload))) * better * fixed.mean_error / total
    charge = config.selecting(annealed=True) * fixed.charge / first_rounds(workload, annealed=True)
    epsilon = budget.regime.bounded_range_epsilon(charge) / budget.neighbours.records
    missed = math.log(workload.n_candidates) / (epsilon * total)
    return float(_ADAPTED * (unbiased[0].mean_error / total) ** _FALL + missed)


def _are_disjoint(workload: Workload) -> bool:
    if len(workload.scopes) > len(workload.domain) + 1:
        return False
    scopes = [workload.domain.base(scope) for scope in workload.scopes]
    return sum(map(len, scopes)) == len({name for scope in scopes for name in scope})


def accounted(config: MWEMSettings, workload: Workload, budget: Budget) -> Budget:
    """An (epsilon, delta) budget in the regime with the least predicted error; others stay as they are.

    The number of records is not known yet, so that errors are those of unbiased estimates.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run.

    Example:
        >>> from hedgerow import MWEM, ApproxDP, Domain, IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 4) for name in "abc"), 1)
        >>> accounted(MWEM(), workload, ApproxDP(1.0, 1e-9)).regime.value
        'pure'
    """
    if isinstance(config.rounds, int):
        return _with_rounds_fixed(config, workload, budget)
    if config.rounds != "auto" or config.noise is not None or config.law != "exponential":
        return budget
    if may_be_fixed(config, workload):
        return with_least_error(budget, workload, lambda each: holds(config, each))
    return with_least_noise(budget, None, workload.n_candidates)


def _with_rounds_fixed(config: MWEMSettings, workload: Workload, budget: Budget) -> Budget:
    """An (epsilon, delta) in zCDP with so many rounds fixed; or pure, if each choice and answer is as exact there."""
    counted = with_fixed_steps(budget, lambda plain, limit: _steps_of_rounds(config, workload, plain, limit))
    if counted is budget or not isinstance(counted, ApproxDP) or config.noise is not None:
        return counted
    pure = replace(counted, regime=Regime.PURE, composition=None)
    return pure if _as_exact(config, workload, pure, counted) else counted


def _charge_of_rounds(config: MWEMSettings, workload: Workload, budget: Budget, limit: float) -> RoundCharge:
    """The charge of each of a given number of rounds."""
    rounds = config.rounds if isinstance(config.rounds, int) else 1
    candidates = candidates_of(config, workload, rounds)
    return round_charge(config, candidates, config.charges(limit, budget.neighbours, workload.domain).rounds, rounds)


def _as_exact(config: MWEMSettings, workload: Workload, pure: Budget, other: Budget) -> bool:
    """Whether rounds under a pure budget select with no smaller epsilon, and measure with no more noise."""
    candidates = candidates_of(config, workload)
    ours, theirs = (_charge_of_rounds(config, workload, each, each.limit) for each in (pure, other))
    epsilons = ours.selection, other.regime.bounded_range_epsilon(theirs.selection)
    noises = (
        expected_noise(candidates, each, charge.measurement, None) for each, charge in ((pure, ours), (other, theirs))
    )
    return epsilons[0] >= epsilons[1] and bool(np.less_equal(*noises).all())


def _steps_of_rounds(config: MWEMSettings, workload: Workload, budget: Budget, limit: float) -> Composition | None:
    """The steps of a given number of rounds that spend an amount; None where they start with measurements."""
    rounds = config.rounds
    if not isinstance(rounds, int) or config.initial != "uniform" or config.law != "exponential":
        return None
    each = _charge_of_rounds(config, workload, budget, limit)
    laplace = config.noise is NoiseKind.LAPLACE
    candidates = candidates_of(config, workload, rounds)
    noise = None if laplace else dearest_noise(candidates, budget, each.measurement)
    pure, pure_epsilon = laplace_steps(candidates, budget, each.measurement, rounds) if laplace else (0, 0.0)
    return composition_of(
        budget,
        limit,
        config.charges(limit, budget.neighbours, workload.domain),
        [] if noise is None else [noise] * rounds,
        selections=rounds if each.selection else 0,
        selection=each.selection,
        pure=pure,
        pure_epsilon=pure_epsilon,
    )
