"""Automatic rounds: a fixed strategy that is measured step by step, or rounds that adapt to noisy answers.

The decision compares predicted errors of the two. It is a function of the domain, the workload, the budget and the
number of records, which is noisy and paid for before it is looked at, or public. The error of a fixed strategy follows
from its noise and from a guess of what tables are like (theory.md section 13). That of adaptive rounds is a formula
fitted to public tables.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hedgerow.algorithms.mwem.candidates import Limit, attributes_of
from hedgerow.algorithms.mwem.settings import (
    MWEMSettings,
    first_rounds,
    formula_error,
    in_grids,
    is_annealed,
    limit_of,
    planned_rounds,
)
from hedgerow.algorithms.mwem.tables import tables_of
from hedgerow.algorithms.shared import Line
from hedgerow.algorithms.strategies import (
    Step,
    Strategy,
    are_tables,
    grid_error,
    grid_steps,
    predicted,
    table_steps,
    with_least_error,
    with_least_noise,
)
from hedgerow.domain import Clique, Domain
from hedgerow.models import Footprint, Proximal, can_move, over_tables
from hedgerow.privacy import Budget
from hedgerow.queries import Marginal, Measurable, Workload

_FEW_TOLD = 3.0
"""Error of adaptive rounds for that of marginals which are measured beforehand, times the root of the attributes."""

_ADAPTED, _FALL = 0.1, 0.4
"""The same of rounds that no tree holds together, where a fixed strategy errs by all records; its power after that."""

_ONE_TABLE = 1.25
"""Factor by which one table of everything must be better than smaller ones."""

_KEPT = 8
"""Strategies of which it is kept whether trees hold them: those of all regimes measure the same."""

_OVER_TREE = 2.0
"""Factor by which tables over a tree must be better than rounds where its records cannot be moved towards them all."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Predicted errors of a fixed strategy and of adaptive rounds; the smaller one is taken.

    Attributes:
        fixed: The best fixed strategy that the hypothesis can hold.
        total: Number of records (noisy), in counts.
        adaptive_error: Predicted mean error of adaptive rounds, as a share of the records.
        factor: Factor by which the fixed strategy must be better than that.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 3) for name in "abc"), 2)
        >>> found = decision_of(MWEM(), workload, PureDP(1.0), 0.95, 1000.0)
        >>> found.takes_fixed, found.fixed.name, found.fixed.n_measurements
        (True, 'cells', 1)
    """

    fixed: Strategy
    total: float
    adaptive_error: float
    factor: float = 1.0

    @property
    def fixed_error(self) -> float:
        """Predicted mean error of the fixed strategy, as a share of the records."""
        return self.fixed.mean_error / self.total

    @property
    def takes_fixed(self) -> bool:
        """Whether the fixed strategy is taken."""
        return self.factor * self.fixed_error <= self.adaptive_error

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is taken, and from which numbers; None for an infinite error."""
        return {
            "taken": "fixed" if self.takes_fixed else "adaptive",
            "fixed": self.fixed.name,
            "fixed_measurements": self.fixed.n_measurements,
            "fixed_error": self.fixed_error,
            "adaptive_error": self.adaptive_error if math.isfinite(self.adaptive_error) else None,
            "total": self.total,
        }

    def lines(self) -> list[Line]:
        """The decision as a plan tells it."""
        number = self.fixed.n_measurements
        measured = f"{self.fixed.name}, {number:,} measurement{'' if number == 1 else 's'}"
        adaptive = f"{self.adaptive_error:.3g} if rounds adapt"
        if math.isinf(self.adaptive_error):
            adaptive = "and no candidate tells anything about another"
        errors = f"{self.fixed_error:.3g} if fixed ({measured}), {adaptive}"
        taken = "fixed measurements" if self.takes_fixed else "adaptive rounds"
        return [("decision", f"{taken}: predicted mean error, as a share of the records, {errors}")]


def decision_of(
    config: MWEMSettings,
    workload: Workload,
    budget: Budget,
    amount: float,
    total: float,
    *,
    factors: Collection[Clique] = (),
) -> Decision | None:
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
    records = max(1.0, total)
    found, unbiased = predicted(workload, budget, amount, records), predicted(workload, budget, amount)
    fixed = next((each for each in sorted(found, key=_handicapped) if holds(config, each, factors)), None)
    if fixed is None or not unbiased:
        return None
    adaptive = adaptive_error(config, found[0], unbiased, records)
    moved = can_move(workload.domain, fixed.scopes) or not is_over_tree(config, fixed)
    return Decision(fixed, records, adaptive, 1.0 if moved else _OVER_TREE)


@dataclass(frozen=True, eq=False)
class Course:
    """The course of a run, as far as it is known once the number of records is.

    Attributes:
        decision: See `decision_of`.
        steps: Targets with their charges, measured in turn where nothing is selected; else empty.
        rounds: Number of measurements; None where noisy values decide.
    """

    decision: Decision | None
    steps: list[tuple[Measurable, float]]
    rounds: int | None


def course_of(
    config: MWEMSettings,
    workload: Workload,
    budget: Budget,
    amount: float,
    total: float,
    *,
    factors: Collection[Clique] = (),
) -> Course:
    """The course of a run: tables of grids, a fixed strategy, a number of equal rounds, or annealed ones.

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
        >>> course = course_of(MWEM(), workload, PureDP(1.0), 0.95, 1000.0)
        >>> course.decision, [target.text for target, _ in course.steps]
        (None, ['age.10', 'age'])
    """
    if in_grids(config, workload):
        found = grid_steps(workload, budget, amount, total)
        steps = [(step.target, step.charge) for step in found if step.target is not None]
        return Course(None, steps, len(steps))
    decision = decision_of(config, workload, budget, amount, total, factors=factors)
    if decision is not None and decision.takes_fixed:
        steps = _beside_single_attributes(list(decision.fixed.steps_without_total), budget, total)
        return Course(decision, steps, len(steps))
    adapts = decision is not None and is_annealed(config, workload)
    return Course(decision, [], None if adapts else planned_rounds(config, workload, budget, amount, total))


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


def expected_error(config: MWEMSettings, workload: Workload, budget: Budget, total: float) -> float | None:
    """The mean error that is predicted for a run, as a share of the records.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
        total: A public guess of the number of records.

    Returns:
        Total variation distance for a marginal, absolute error for a single query; None where there is no formula.

    Example:
        >>> from hedgerow import MWEM, Domain, IntegerRange, ZCDP
        >>> workload = Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(10)), 3)
        >>> [round(expected_error(MWEM(), workload, ZCDP(rho), 10_000.0), 4) for rho in (0.01, 0.1)]
        [0.0081, 0.0026]
    """
    amount = config.charges(budget.limit, budget.neighbours).rounds
    course = course_of(config, workload, budget, amount, total)
    if course.decision is not None:
        return course.decision.fixed_error if course.steps else course.decision.adaptive_error
    if course.steps:
        return grid_error(workload, budget, [Step(*step) for step in course.steps], max(1.0, total))
    if course.rounds is None:
        return None
    return formula_error(config, workload, budget, amount, total, rounds=course.rounds)


def _handicapped(strategy: Strategy) -> float:
    """The predicted error, more of it for one table of everything: fits to such tables take noise for records."""
    return strategy.mean_error * (_ONE_TABLE if strategy.name == "cells" else 1.0)


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
    return limit_of(config, strategy.goal.workload).binds and over_tables(
        strategy.goal.workload.domain, strategy.targets, config.largest_tree
    )


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
    the more is left to guess. Where a hypothesis holds all marginals of a workload, their error was about ``3 /
    sqrt(attributes)`` times that of marginals measured beforehand, on generated tables (theory.md section 13). Another
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
        (0.027, 0.00027)
    """
    workload, budget = fixed.goal.workload, fixed.goal.budget
    scopes = [workload.domain.base(scope) for scope in workload.scopes]
    whole = all(map(are_tables, workload.families))
    if _are_disjoint(scopes) and (whole or workload.n_candidates == len(scopes)):
        return math.inf
    if whole and not limit_of(config, workload).binds:
        errors = {each.name: each.mean_error for each in unbiased}
        better = errors.get("marginals", errors[fixed.name]) / errors[fixed.name]
        return _FEW_TOLD / math.sqrt(len(attributes_of(workload))) * better * fixed.mean_error / total
    charge = config.selecting(annealed=True) * fixed.charge / first_rounds(workload, annealed=True)
    epsilon = budget.regime.bounded_range_epsilon(charge) / budget.neighbours.records
    missed = math.log(workload.n_candidates) / (epsilon * total)
    return float(_ADAPTED * (unbiased[0].mean_error / total) ** _FALL + missed)


def _are_disjoint(scopes: Sequence[Clique]) -> bool:
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
    if config.rounds != "auto" or config.noise is not None or config.law != "exponential":
        return budget
    if may_be_fixed(config, workload):
        return with_least_error(budget, workload, lambda each: holds(config, each))
    return with_least_noise(budget, None, workload.n_candidates)
