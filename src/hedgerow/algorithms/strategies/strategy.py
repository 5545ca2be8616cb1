"""Strategies: what to measure with which charge, and the errors that follow from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hedgerow.algorithms.strategies.sub_strategy import Goal, SubStrategy
from hedgerow.arrays import Floats
from hedgerow.domain import Clique
from hedgerow.queries import Measurable, Workload, query_scope


@dataclass(frozen=True)
class Step:
    """One measurement of a strategy.

    Attributes:
        target: Query or marginal, for ``curator.measure``; None for the number of records, for ``curator.total``.
        charge: epsilon, rho or mu^2/2.
    """

    target: Measurable | None
    charge: float


@dataclass(frozen=True, eq=False)
class Strategy:
    """Measurements whose noise does not depend on the data, and the errors of the best unbiased estimate from them.

    What is unbiased may be negative. Fits that allow no negative counts err less, most where counts are small beside
    the noise: there the errors here are upper bounds, and far from what a release has.

    Attributes:
        goal: Workload, budget and aim.
        charge: epsilon, rho or mu^2/2 of all measurements together.
        sub_strategies: Measurements that do not help each other.
        shares: Share of the charge for each sub-strategy.

    Example:
        >>> from hedgerow.algorithms.strategies import strategies
        >>> from hedgerow import ZCDP, Domain, IntegerRange, Workload
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abc"), 2)
        >>> best = strategies(workload, ZCDP(0.5))[0]
        >>> best.name, round(best.mean_error, 2), round(best.largest_error, 2)
        ('parities', 2.07, 2.07)
    """

    goal: Goal
    charge: float
    sub_strategies: tuple[SubStrategy, ...]
    shares: Floats

    @classmethod
    def of(cls, sub_strategies: Sequence[SubStrategy], goal: Goal, charge: float) -> Strategy:
        """Divide the charge between sub-strategies that do not help each other.

        With e the error of a sub-strategy that gets everything, a share y leaves ``e y^(-q / 2)``, q = 2 for Laplace
        noise in pure budgets, else 1; the sum is least at ``y ~ e^(2 / (2 + q))``, the largest at ``y ~ e^(2 / q)``.

        Args:
            sub_strategies: Sub-strategies that answer every candidate of the workload between them, each once.
            goal: Error that is to be small.
            charge: epsilon, rho or mu^2/2 of all measurements together.
        """
        growth = goal.growth
        power = {"mean": 2.0 / (2.0 + growth), "squares": 1.0 / (1.0 + growth), "largest": 2.0 / growth}[goal.aim]
        alone = np.array([sub_strategy.aimed(goal, charge) for sub_strategy in sub_strategies])
        shares = (alone / alone.max()) ** power if alone.any() else np.ones(len(alone))
        return cls(goal, charge, tuple(sub_strategies), shares / shares.sum())

    @property
    def name(self) -> str:
        """Words for what is measured."""
        return " + ".join(dict.fromkeys(sub.name for sub in self.sub_strategies))

    @cached_property
    def errors(self) -> Floats:
        """Expected error of each candidate, in counts, shape ``(n_candidates,)``.

        Total variation distance for a marginal (half the sum of absolute errors), absolute error for a single query.
        """
        return self._errors[0]

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviation of one value of each candidate, in counts, shape ``(n_candidates,)``."""
        return self._errors[1]

    @cached_property
    def _errors(self) -> tuple[Floats, Floats]:
        errors, deviations = np.zeros((2, self.goal.workload.n_candidates))
        for sub, share in zip(self.sub_strategies, self.shares.tolist(), strict=True):
            of_sub = sub.errors(self.goal.budget, share * self.charge)
            errors[sub.queries.candidates] = sub.queries.units * of_sub[0]
            deviations[sub.queries.candidates] = of_sub[1]
        return errors, deviations

    @property
    def mean_error(self) -> float:
        """Mean of the expected errors of the candidates, weighted by the workload, in counts."""
        return float(np.average(self.errors, weights=self.goal.workload.candidate_weights))

    @property
    def largest_error(self) -> float:
        """Largest expected error of a candidate, in counts."""
        return float(self.errors.max())

    @cached_property
    def aimed(self) -> float:
        """The number that the aim makes small, to compare strategies by."""
        sub_strategies = zip(self.sub_strategies, self.shares.tolist(), strict=True)
        each = [sub.aimed(self.goal, share * self.charge) for sub, share in sub_strategies]
        return max(each) if self.goal.aim == "largest" else sum(each)

    def worth_a_fit(self, length: float, total: float) -> bool:
        """Whether a fit is expected to err less than the uniform table it starts from; so where no formula says.

        Args:
            length: Length of the fit to marginals, relative to the noise.
            total: Number of records (noisy), in counts.

        Example:
            >>> from hedgerow.algorithms.strategies import strategies
            >>> from hedgerow import Domain, IntegerRange, PureDP, Workload
            >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abcdef"), 2)
            >>> best = strategies(workload, PureDP(0.1), total=100.0)[0]
            >>> best.worth_a_fit(0.6, 10.0), best.worth_a_fit(0.6, 1000.0)
            (False, True)
        """
        shares = zip(self.sub_strategies, self.shares.tolist(), strict=True)
        each = [sub.fitted(self.goal, share * self.charge, length, total) for sub, share in shares]
        found = [both for both in each if both is not None]
        return len(found) < len(each) or sum(after for after, _ in found) < sum(before for _, before in found)

    @property
    def n_measurements(self) -> int:
        """Number of measurements."""
        return sum(int(np.count_nonzero(sub.shares)) for sub in self.sub_strategies)

    def steps(self) -> Iterator[Step]:
        """The measurements in turn, with their charges; these sum to the charge at most."""
        for sub, share in zip(self.sub_strategies, self.shares.tolist(), strict=True):
            for number in np.flatnonzero(sub.shares).tolist():
                charge = self.charge * share * float(sub.shares[number]) * _BELOW
                yield Step(sub.measurements.target(number), charge)

    @cached_property
    def tables(self) -> Workload:
        """The marginals that hold all that is measured."""
        return Workload.marginals(self.goal.workload.domain, cliques=self.scopes)

    @cached_property
    def targets(self) -> Sequence[Measurable]:
        """All that it measures beside the number of records."""
        measured = (
            sub.measurements.target(n) for sub in self.sub_strategies for n in np.flatnonzero(sub.shares).tolist()
        )
        return [target for target in measured if target is not None]

    @cached_property
    def scopes(self) -> tuple[Clique, ...]:
        """Scopes of its measurements, each once."""
        if not self.measures_tables:
            return tuple(dict.fromkeys(target.scope for target in self.targets))
        each = (
            sub.measurements.scopes[n]
            for sub in self.sub_strategies
            if sub.measurements.scopes is not None
            for n in np.flatnonzero(sub.shares).tolist()
        )
        domain = self.goal.workload.domain
        return tuple(dict.fromkeys(query_scope(domain, scope) for scope in each if scope))

    @property
    def measures_tables(self) -> bool:
        """Whether all that it measures are whole marginals, parities and the number of records."""
        return all(sub.measurements.scopes is not None for sub in self.sub_strategies)

    @cached_property
    def steps_without_total(self) -> Sequence[tuple[Measurable, float]]:
        """The measurements where the number of records is learnt otherwise, with charges that have its share too."""
        steps = [(step.target, step.charge) for step in self.steps()]
        charged = math.fsum(charge for target, charge in steps if target is not None)
        more = math.fsum(charge for _, charge in steps) / charged * _BELOW
        return [(target, more * charge) for target, charge in steps if target is not None]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "measurements": self.n_measurements,
            "mean_error": self.mean_error,
            "largest_error": self.largest_error,
        }


_BELOW = 1.0 - 2.0**-40
"""Shares are rounded: their sum must not pass the charge."""
