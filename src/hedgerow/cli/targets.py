"""Plans that are solved for a budget: ``--target-error`` and ``--target-interval``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.console import Output, showing_steps
from hedgerow.cli.declaring import Options, option
from hedgerow.cli.options import BudgetOptions, SampledBudgetOptions
from hedgerow.cli.outputs import TABLES_WRITTEN
from hedgerow.errors import ConfigError, QueryError
from hedgerow.quantities import at_most

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.models import Model
    from hedgerow.privacy import Budget
    from hedgerow.queries import Workload
    from hedgerow.simulation import Basis, Prediction, Predictor, Solved, Target


class Amount(StrEnum):
    """The number of a budget that is solved for."""

    EPSILON = "epsilon"
    RHO = "rho"
    MU = "mu"


@dataclass(frozen=True)
class Wish:
    """A target on the command line.

    Attributes:
        target: Wanted errors.
        amount: The number that is solved for.
        budget_of: The budget of such a number.
        like: A release or a public table to simulate on, or None.
    """

    target: Target
    amount: Amount
    budget_of: Callable[[float], Budget]
    like: Path | None

    def solved(
        self,
        shown: Output,
        mechanism: str,
        algorithm: Algorithm,
        workload: Workload,
        total: float,
        *,
        left: Callable[[Budget], Budget] | None = None,
    ) -> Answers:
        """The smallest budgets, by every prediction that there is.

        Args:
            shown: Output of the command.
            mechanism: Name of the mechanism that was asked for.
            algorithm: Its configuration.
            workload: Queries that should be answered well.
            total: A public guess of the number of records, at least 1.
            left: The part of a budget that learning a domain leaves; None if nothing is learnt.

        Raises:
            ConfigError: Nothing predicts an error, or no budget reaches the target.
        """
        from hedgerow.simulation import fixed, solve

        try:
            predictors = fixed(workload, self.budget_of, total)
        except QueryError:  # a family says too little
            predictors = []
        own = self._predictor(shown, mechanism, algorithm, workload, total)
        if left is not None:
            predictors = [_AfterLearning(predictor, left) for predictor in predictors]
            own = own and _AfterLearning(own, left)
        with shown.busy("looking for the smallest budget"):
            solutions = [solve(predictor, self.target, self.budget_of) for predictor in predictors]
            asked = None if own is None else solve(own, self.target, self.budget_of)
        solutions.sort(key=lambda each: float("inf") if each.budget is None else each.budget.limit)
        return Answers(self, mechanism, asked, tuple(solutions))

    def _predictor(
        self, shown: Output, mechanism: str, algorithm: Algorithm, workload: Workload, total: float
    ) -> Predictor | None:
        from hedgerow.simulation import Heuristic, Simulated

        if self.like is not None:
            model, factor = _stand_in(shown, self.like, workload)
            return Simulated(algorithm, workload, model, total, factor, name=mechanism)
        from hedgerow.algorithms.mwem import MWEM

        if not isinstance(algorithm, MWEM) or self.target.interval is not None:
            return None
        if algorithm.expected_error(workload, self.budget_of(1.0), total) is None:
            return None
        return Heuristic(lambda budget: algorithm.expected_error(workload, budget, total) or 1.0, mechanism)


@dataclass(frozen=True)
class _AfterLearning:
    """Predicts the errors of what a budget pays for once a domain was learnt with a part of it."""

    inner: Predictor
    left: Callable[[Budget], Budget]

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def basis(self) -> Basis:
        return self.inner.basis

    def predict(self, budget: Budget) -> Prediction:
        return self.inner.predict(self.left(budget))


def _stand_in(shown: Output, like: Path, workload: Workload) -> tuple[Model, float]:
    """A model of records like those to come, and how much larger errors are than those of runs on it."""
    import numpy as np

    from hedgerow.domain import read_values
    from hedgerow.models import Empirical
    from hedgerow.release import Release, understood
    from hedgerow.simulation import unseen_factor

    domain = workload.domain
    if like.suffix.lower() in TABLES_WRITTEN:
        values = read_values(like)
        missing = [name for name in domain.names if name not in values.column_names]
        if missing:
            raise ConfigError(f"{like} has no column {missing[0]!r}", remedy="give a public table of the same columns")
        codes = understood(values.select(domain.names), domain)
        if not isinstance(codes, dict) or not values.num_rows:
            raise ConfigError(f"{like} has no records", remedy="give a public table that has some")
        return Empirical(domain, float(values.num_rows), np.column_stack([codes[name] for name in domain.names])), 1.0
    release = Release.load(like)
    if release.domain != domain:
        raise ConfigError(f"{like} is over another domain", remedy="give the domain file and columns of that release")
    with showing_steps(shown, "run", note=f"simulating {like}") as update:
        return release.model, unseen_factor(release, seed=0, progress=update)


@dataclass(frozen=True)
class Answers:
    """Budgets that reach a target.

    Attributes:
        wish: The target.
        mechanism: Name of the mechanism that was asked for.
        own: The budget that it needs; None where nothing predicts its errors.
        fixed: The budget that each fixed strategy needs, the cheapest first.
    """

    wish: Wish
    mechanism: str
    own: Solved | None
    fixed: tuple[Solved, ...]

    @property
    def budget(self) -> Budget:
        """The budget to plan with: that of the mechanism where it is predicted, else of the cheapest fixed strategy.

        Raises:
            ConfigError: Nothing predicts an error, or no budget reaches the target.
        """
        budgets = [each.budget for each in (self.own, *self.fixed) if each is not None and each.budget is not None]
        if budgets:
            return budgets[0]
        if self.own is None and not self.fixed:
            raise ConfigError(
                f"nothing predicts the errors of {self.mechanism} here",
                remedy="give --like FILE, an earlier release or a public table, to simulate on",
            )
        raise ConfigError(f"no {self.wish.amount} up to 100 reaches the target", remedy="ask for a larger error")

    def lines(self) -> list[tuple[str, str]]:
        """The answers as people read them."""
        told = [("", self._line(each)) for each in ([self.own] if self.own else [])]
        if self.own is None:
            told.append(("", f"{self.mechanism}: nothing predicts this before a run; give --like FILE to simulate on"))
        told += [("", self._line(each)) for each in self.fixed]
        return [("target", f"{_wanted(self.wish.target)}: the smallest {self.wish.amount}"), *told]

    def _line(self, each: Solved) -> str:
        if each.budget is None:
            return f"{each.name}: none up to 100 ({_BASES[each.basis]})"
        return f"{each.name}: {at_most(each.budget.to_dict()[self.wish.amount], 3)} ({_BASES[each.basis]})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        target = self.wish.target
        return {
            "error": target.error,
            "interval": target.interval,
            "solved_for": self.wish.amount.value,
            "mechanism": self._entry(self.own) if self.own else None,
            "fixed": [self._entry(each) for each in self.fixed],
        }

    def _entry(self, each: Solved) -> dict[str, Any]:
        amount = None if each.budget is None else each.budget.to_dict()[self.wish.amount]
        return {**each.to_dict(), "amount": amount}


_BASES = {
    "exact": "exact for an unbiased estimate of fixed measurements",
    "simulated": "simulated: estimated, not proved",
    "heuristic": "by a formula that was fitted to a few tables",
}


def _wanted(target: Target) -> str:
    parts = [f"mean error {target.error:g} of the records"] if target.error is not None else []
    parts += [f"19 of 20 answers within {target.interval:g} counts"] if target.interval is not None else []
    return ", ".join(parts)


@dataclass(frozen=True)
class TargetOptions(Options, panel="Budget"):
    """What a budget is solved for.

    Attributes:
        target_error: Find the smallest budget for a mean error of the workload, as a share of the records (that of a
            marginal is its total variation distance), instead of --epsilon.
        target_interval: Find the smallest budget with which 19 of 20 answers of the workload are off by at most so
            many counts.
        like: Simulate the mechanism on records like these to find the budget: an earlier release, or a public table
            (.csv, .parquet).
        solve_for: Which number of the budget a target finds.
    """

    target_error: Annotated[float | None, option(metavar="SHARE")] = None
    target_interval: Annotated[float | None, option(metavar="COUNTS")] = None
    like: Annotated[Path | None, option(metavar="FILE")] = None
    solve_for: Amount = Amount.EPSILON

    def wish(self, given: SampledBudgetOptions, budget_of: Callable[[BudgetOptions], Budget]) -> Wish | None:
        """The target that the options describe; None where they describe none.

        Args:
            given: A budget without its amount, which the target finds.
            budget_of: The budget that such options describe.

        Raises:
            typer.BadParameter: A target is given with a budget, or ``--like`` without a target.
            ConfigError: A target is not positive.
        """
        if self.target_error is None and self.target_interval is None:
            if self.like is not None:
                raise typer.BadParameter("--like goes with --target-error or --target-interval")
            return None
        if (given.epsilon, given.rho, given.mu) != (None, None, None):
            raise typer.BadParameter("a target finds the budget: give neither --epsilon, --rho nor --mu with it")
        if given.sampled is not None:
            raise typer.BadParameter("a target finds the budget of a run on all records: leave --sampled out")
        from hedgerow.simulation import Target

        def of(found: float) -> Budget:
            amounts = {amount.value: found if amount is self.solve_for else None for amount in Amount}
            return budget_of(BudgetOptions(**amounts, delta=given.delta, neighbours=given.neighbours))

        return Wish(Target(self.target_error, self.target_interval), self.solve_for, of, self.like)
