"""Budgets for wanted errors: the predictions of a plan, solved for epsilon, rho or mu.

An error falls as the budget grows, near enough like a power of it. So the budget is found by interpolation between
logarithms, kept inside a bracket: two or three predictions where errors follow a power exactly, as those of fixed
strategies do, and few more where they are simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np
from scipy import special

from hedgerow.algorithms.shared import Algorithm, open_curator
from hedgerow.algorithms.strategies import Strategy, strategies
from hedgerow.arrays import Floats, Ints
from hedgerow.errors import ConfigError
from hedgerow.models import Model
from hedgerow.privacy import Budget, SeededNoise
from hedgerow.queries import Workload
from hedgerow.simulation.drawn import DrawnRecords
from hedgerow.simulation.unseen import Seen, widened
from hedgerow.system import numbered

COVERED = 0.95
"""Share of the workload's answers that err by no more than the half-width of an interval."""

SMALLEST, LARGEST = 1e-4, 100.0
"""Amounts of a budget that are tried."""

_CLOSE = 0.02
"""Relative distance from the target at which a budget is found."""
_STEPS = 12
"""Most predictions on the way to a budget."""

Basis = Literal["exact", "simulated", "heuristic"]


@dataclass(frozen=True)
class Prediction:
    """Errors that a run with some budget should have.

    Attributes:
        error: Mean error of the workload's candidates, as a share of the records: total variation distance for a
            marginal, absolute error for a single query.
        interval: Half-width that 95 % of the workload's answers are within, in counts; None where nothing predicts it.

    Example:
        >>> Prediction(0.02, 150.0).over(Target(error=0.01, interval=300.0))
        2.0
    """

    error: float
    interval: float | None = None

    def over(self, target: Target) -> float:
        """The larger of the ratios of what is predicted and what is wanted; at most 1 where that is reached."""
        ratios = [self.error / target.error] if target.error is not None else []
        if target.interval is not None:
            ratios.append(math.inf if self.interval is None else self.interval / target.interval)
        return max(ratios)


@dataclass(frozen=True)
class Target:
    """Wanted errors; at least one of the two.

    Attributes:
        error: See `Prediction.error`.
        interval: See `Prediction.interval`.

    Raises:
        ConfigError: Nothing is wanted, or a number is not positive.
    """

    error: float | None = None
    interval: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        given = [each for each in (self.error, self.interval) if each is not None]
        if not given or not all(0.0 < each < math.inf for each in given):
            raise ConfigError("a target is a positive number", remedy="give a mean error such as 0.02, or counts")


class Predictor(Protocol):
    """Predicts the errors of one way to answer a workload."""

    @property
    def name(self) -> str:
        """The strategy or mechanism."""

    @property
    def basis(self) -> Basis:
        """Source of its predictions."""

    def predict(self, budget: Budget) -> Prediction:
        """The errors under a budget."""


@dataclass(frozen=True)
class Solved:
    """A budget that reaches a target, by a prediction.

    Attributes:
        name: The strategy or mechanism.
        basis: ``"exact"`` (closed form, of an unbiased estimate), ``"simulated"`` (estimated, not proved) or
            ``"heuristic"`` (constants fitted to a few tables).
        budget: The smallest budget found; None where none up to 100 reaches the target.
        prediction: The errors predicted for it, or for the largest that was tried.
    """

    name: str
    basis: Basis
    budget: Budget | None
    prediction: Prediction

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "basis": self.basis,
            "budget": None if self.budget is None else self.budget.to_dict(),
            "mean_error": self.prediction.error,
            "interval": self.prediction.interval,
        }


def solve(predictor: Predictor, target: Target, budget_of: Callable[[float], Budget]) -> Solved:
    """The smallest budget for which a target is predicted to be reached, within 2 %.

    Args:
        predictor: Predicts errors, which should fall as the budget grows.
        target: Wanted errors.
        budget_of: The budget of an amount: an epsilon, a rho or a mu.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 9) for name in "ab"), 1)
        >>> found = solve(fixed(workload, PureDP, 1000.0)[0], Target(error=0.01), PureDP)
        >>> found.name, round(found.budget.epsilon, 1), round(found.prediction.error, 3)
        ('marginals', 1.1, 0.01)
    """
    low, high = math.log(SMALLEST), math.log(LARGEST)
    place, slope = 0.0, -1.0
    earlier: tuple[float, float] | None = None
    best: tuple[float, Prediction] | None = None
    for _ in range(_STEPS):
        prediction = predictor.predict(budget_of(math.exp(place)))
        over = math.log(min(max(1e-100, prediction.over(target)), 1e100))
        if over <= 0.0:
            high, best = place, (place, prediction)
        else:
            low = place
        if -_CLOSE <= over <= 0.0 or high - low < _CLOSE:
            break
        if earlier is not None and (over - earlier[1]) * (place - earlier[0]) < 0.0:
            slope = (over - earlier[1]) / (place - earlier[0])
        earlier = place, over
        margin = min(0.5 * _CLOSE, 0.25 * (high - low))
        place = min(max(place - (over + 0.5 * _CLOSE) / slope, low + margin), high - margin)
    if best is None:
        return Solved(predictor.name, predictor.basis, None, prediction)
    return Solved(predictor.name, predictor.basis, budget_of(math.exp(best[0])), best[1])


# Strategies whose noise does not depend on the data


@dataclass(frozen=True)
class _Fixed:
    """One strategy, in closed form."""

    name: str
    total: float
    all: Callable[[Budget], dict[str, Strategy]]
    basis: Basis = "exact"

    def predict(self, budget: Budget) -> Prediction:
        strategy = self.all(budget).get(self.name)
        if strategy is None:
            return Prediction(math.inf, math.inf)
        lengths = strategy.goal.workload.lengths
        return Prediction(strategy.mean_error / self.total, covering(strategy.deviations, lengths))


def fixed(workload: Workload, budget_of: Callable[[float], Budget], total: float) -> list[Predictor]:
    """The strategies of `strategies`, each with its exact errors.

    Args:
        workload: Queries that should be answered well.
        budget_of: The budget of an amount.
        total: A public guess of the number of records.
    """

    @cache
    def every(budget: Budget) -> dict[str, Strategy]:
        try:
            return {strategy.name: strategy for strategy in strategies(workload, budget)}
        except ConfigError:  # noise too wide to be drawn
            return {}

    return [_Fixed(name, total, every) for name in every(budget_of(1.0))]


def covering(deviations: Floats, lengths: Ints) -> float:
    """The half-width that 95 % of answers with normal errors are within.

    Args:
        deviations: Standard deviation of one answer of each candidate, in counts.
        lengths: Number of answers of each candidate.

    Example:
        >>> round(covering(np.array([1.0, 1.0]), np.array([2, 5])), 2)
        1.96
    """
    values, places = np.unique(deviations, return_inverse=True)
    weights = np.bincount(places, weights=lengths) / np.sum(lengths)
    low, high = 0.0, 10.0 * float(values[-1]) + 1e-12
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(values > 0.0, special.erf(middle / (math.sqrt(2.0) * values)), 1.0)
        low, high = (low, middle) if float(weights @ inside) >= COVERED else (middle, high)
    return high


# Mechanisms that look at the data


@dataclass(frozen=True)
class Simulated:
    """Runs of a mechanism on records like those to come: drawn from an earlier release, or from a public table.

    Attributes:
        algorithm: The configured mechanism.
        workload: Queries that should be answered well.
        model: Model of the stand-in, over the domain of the workload.
        total: A public guess of the number of records.
        factor: Errors over simulated errors where nothing was measured; 1 where the stand-in is a table, which has
            all its dependences.
        runs: Number of runs for each budget.
        seed: Seed of the runs: the same for every budget, so that the errors of two differ by little noise.
        name: Name of the mechanism.
    """

    algorithm: Algorithm
    workload: Workload
    model: Model
    total: float
    factor: float = 1.0
    runs: int = 3
    seed: int = 0
    name: str = "mwem"
    basis: Basis = "simulated"

    def predict(self, budget: Budget) -> Prediction:
        """Mean errors over the runs."""
        runs = [self._once(budget, number) for number in range(self.runs)]
        errors, intervals = zip(*runs, strict=True)
        return Prediction(float(np.mean(errors)), float(np.mean(intervals)))

    def _once(self, budget: Budget, number: int) -> tuple[float, float]:
        workload = self.workload
        n, persons = max(1, round(self.total)), budget.neighbours.persons
        drawn = DrawnRecords.of(self.model, n, numbered(self.seed, 2 * number), persons)
        noise = SeededNoise(numbered(self.seed, 2 * number + 1))
        made = self.algorithm.run_with(
            open_curator(
                drawn, workload, self.algorithm.accounted(workload, budget), noise, samples=self.algorithm.takes_samples
            ),
            workload,
        )
        shares = Seen(workload.domain, made.measurements).candidates(workload)
        missed = np.abs(workload.answers(made.model) - workload.answers(drawn.records))
        missed = widened(missed, np.repeat(shares, workload.lengths), self.factor)
        units = np.concatenate([np.full(f.n_candidates, 0.5 if f.whole else 1.0) for f in workload.families])
        errors = units * workload.candidate_errors(missed)
        mean = float(np.average(errors, weights=workload.candidate_weights)) / drawn.records.total
        return mean, float(np.quantile(missed, COVERED))


@dataclass(frozen=True)
class Heuristic:
    """The formula that MWEM chooses its rounds by.

    Attributes:
        error: The formula: mean error as a share of the records.
        name: Name of the mechanism.
    """

    error: Callable[[Budget], float]
    name: str = "mwem"
    basis: Basis = "heuristic"

    def predict(self, budget: Budget) -> Prediction:
        """The formula says nothing about single answers."""
        return Prediction(self.error(budget))
