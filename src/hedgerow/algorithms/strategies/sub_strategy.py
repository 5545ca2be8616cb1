"""Sub-strategies: measurements with their shares of a budget, and what is answered from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hedgerow.algorithms.strategies.components import Components
from hedgerow.algorithms.strategies.division import Estimate, Variances, divided
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.privacy import Budget, Regime, additive_noise
from hedgerow.queries import Marginal, Measurable, Relation, Workload, most_moved, numbered, of_marginal

Aim = Literal["mean", "squares", "largest"]
"""Error that a division lowers: the mean error of the candidates, the sum of squares, or the largest."""

_NORMAL = math.sqrt(2.0 / math.pi)
"""Mean absolute value of a normal variable of variance 1."""

_LARGEST = 16.0
"""Power of the variance whose sum stands for the largest one."""

_LITTLE = 1e-4
"""Measurements with a smaller share, of the mean share, are left out where that costs nothing."""

_WORSE = 1.001
"""Most that it may cost."""

_LEAST = 1e-9
"""Standard deviation, in counts, that stands for noise which never moves a count."""


@dataclass(frozen=True)
class Goal:
    """Error that a division lowers.

    Attributes:
        workload: Queries that are answered.
        budget: Budget of the run.
        charge: epsilon, rho or mu^2/2 of all measurements together.
        aim: See `Aim`.
        total: Number of records (noisy) that fits are told of; infinite for the best unbiased estimate.
    """

    workload: Workload
    budget: Budget
    charge: float
    aim: Aim = "mean"
    total: float = math.inf

    @property
    def public_total(self) -> bool:
        """Whether the number of records is public."""
        return self.budget.neighbours.public_total

    @property
    def growth(self) -> float:
        """Power of the charge that precision grows with: 2 for Laplace noise in pure budgets, else 1."""
        return 2.0 if self.budget.regime is Regime.PURE else 1.0


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measurements that a strategy chooses among.

    Attributes:
        target: Gives the query or marginal of a number; None stands for the number of records.
        l1: L1 sensitivity of each, in counts, shape ``(measurements,)``.
        l2: L2 sensitivity of each.
        step: Counts per lattice unit of the noise.
        scopes: The scope of each, where all are whole marginals or parities: there may be millions, and a query or
            marginal is an object. That of the number of records is empty.
        stretched: Length of the fit to each, for that of a marginal with the same noise.
        parities: Whether all are parities, and the number of records: which share noise under "replace".
    """

    target: Callable[[int], Measurable | None]
    l1: Floats
    l2: Floats
    step: float = 1.0
    scopes: Sequence[Clique] | None = None
    stretched: Floats | float = 1.0
    parities: bool = False

    @classmethod
    def of_marginals(cls, domain: Domain, scopes: Sequence[Clique], budget: Budget) -> Measurements:
        """Marginals, each as a whole.

        Args:
            domain: The domain.
            scopes: Attributes or levels of each.
            budget: Budget of the run.
        """
        sensitivity, every = of_marginal(budget.neighbours), np.ones(len(scopes))
        l1, l2 = sensitivity.l1 * every, sensitivity.l2 * every
        return cls(lambda number: Marginal(domain, scopes[number]), l1, l2, scopes=scopes)

    def precisions(self, goal: Goal) -> Floats:
        """Precision of each with the whole charge, for continuous noise."""
        if goal.growth == 2.0:
            return np.asarray(0.5 * (goal.charge / self.l1) ** 2)
        return np.asarray(2.0 * goal.charge / self.l2**2)

    def worth(self, budget: Budget, shares: Floats) -> Floats:
        """The shares that would buy each by itself the noise that it has: more for parities that share noise."""
        if not self.parities or self.scopes is None or budget.neighbours.step is Relation.ADD_REMOVE:
            return shares
        places = [place for place in np.flatnonzero(shares).tolist() if self.scopes[place]]
        if len(places) < 2:
            return shares
        prices = shares[places]
        more = np.ones(len(shares))
        more[places] = prices.sum() / most_moved(numbered([self.scopes[place] for place in places]), prices)
        return shares * np.maximum(more, 1.0)

    def noises(self, budget: Budget, charges: Floats) -> tuple[Floats, Floats]:
        """Standard deviation and mean absolute value of the noise; infinite where nothing is measured.

        Args:
            budget: Budget of the run.
            charges: Charge of each measurement, 0 for those that are left out.
        """
        order = np.lexsort((self.l2, self.l1, charges))
        ordered = np.stack([charges, self.l1, self.l2], axis=1)[order]
        new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(order)]
        fitted = np.full((np.count_nonzero(new), 2), math.inf)
        for row, (charge, l1, l2) in enumerate(ordered[new].tolist()):
            if charge > 0.0:
                noise = additive_noise(budget.regime, charge, l1=l1, l2=l2, step=self.step, kind=None)
                fitted[row] = noise.std, noise.expected_abs
        each = np.empty((len(order), 2))
        each[order] = fitted[np.cumsum(new) - 1]
        return each[:, 0].copy(), each[:, 1].copy()


@dataclass(frozen=True, eq=False)
class AnsweredQueries:
    """Candidates of a workload that a sub-strategy answers, those with equal errors as one question.

    Attributes:
        candidates: Positions in the workload.
        question_of: Question of each of these candidates.
        units: Candidate's error per mean absolute error of one value: half the cells of a marginal (total variation
            distance, in counts), else 1.
        weights: Weights of the candidates in the workload.
        lengths: Values of each candidate.
    """

    candidates: Ints
    question_of: Ints
    units: Floats
    weights: Floats
    lengths: Ints

    @classmethod
    def of(cls, workload: Workload, families: Sequence[int], question_of: Ints) -> AnsweredQueries:
        """The candidates of some families.

        Args:
            workload: The workload.
            families: Positions of the families.
            question_of: Question of each of their candidates, in their order.
        """
        starts = np.cumsum([0, *(family.n_candidates for family in workload.families)])
        candidates = np.concatenate([np.arange(starts[number], starts[number + 1]) for number in families])
        lengths = np.concatenate([workload.families[number].lengths for number in families])
        whole = [workload.families[number].whole for number in families]
        counts = [workload.families[number].n_candidates for number in families]
        units = np.where(np.repeat(whole, counts), 0.5 * lengths, 1.0)
        return cls(candidates, question_of, units, workload.candidate_weights[candidates], lengths)

    def division(self, aim: Aim) -> tuple[float, Floats]:
        """The power p of `divided`, and the weight of each question."""
        power = {"mean": 0.5, "squares": 1.0, "largest": _LARGEST}[aim]
        squares = self.lengths if aim == "squares" else self.units**2
        each = self.weights**2 * squares
        largest = float(each.max())
        sums = np.bincount(self.question_of, (each / largest) ** power)
        return power, np.asarray(largest * sums ** (1.0 / power), dtype=np.float64)

    def aimed(self, aim: Aim, errors: Floats, deviations: Floats) -> float:
        """The number that the aim makes small.

        Args:
            aim: See `Aim`.
            errors: Expected absolute error of one value of each candidate.
            deviations: Its standard deviation.
        """
        if aim == "squares":
            return float((self.weights**2 * self.lengths * deviations**2).sum())
        weighted = self.weights * self.units * errors
        return float(weighted.sum() if aim == "mean" else weighted.max())


@dataclass(frozen=True, eq=False)
class SubStrategy:
    """Measurements with their shares, and candidates that are answered from them.

    Attributes:
        name: Word for what is measured.
        queries: Candidates that it answers.
        measurements: All measurements, those with a share of 0 among them.
        shares: Share of the charge of the sub-strategy for each measurement.
        estimate: Variances of the questions.
        single: Measurement whose noise is the error of each question; None where errors are sums of many noises, which
            are taken for normal.
        worth: Share that would buy each measurement its noise by itself, where that is not its own.
    """

    name: str
    queries: AnsweredQueries
    measurements: Measurements
    shares: Floats
    estimate: Variances
    single: Ints | None = None
    worth: Floats | None = None

    @classmethod
    def divided(
        cls,
        name: str,
        goal: Goal,
        queries: AnsweredQueries,
        measurements: Measurements,
        estimate: Estimate,
        *,
        single: Ints | None = None,
        starts: Sequence[Floats] = (),
    ) -> SubStrategy:
        """The sub-strategy with its best division, without measurements that are hardly worth anything.

        Args:
            name: Word for what is measured.
            goal: Error that is to be small.
            queries: Candidates that it answers.
            measurements: All measurements that are allowed.
            estimate: Variances of the questions.
            single: See `SubStrategy`.
            starts: See `divided`.
        """
        power, weights = queries.division(goal.aim)
        whole = measurements.precisions(goal)
        shares = divided(estimate, whole, weights, power=power, growth=goal.growth, starts=starts)
        fewer = np.where(shares < _LITTLE / len(shares), 0.0, shares)
        fewer /= fewer.sum()

        def aimed(some: Floats) -> float:
            deviations = np.sqrt(estimate.variances(whole * some**goal.growth))[queries.question_of]
            return queries.aimed(goal.aim, deviations, deviations)

        kept = fewer if aimed(fewer) <= _WORSE * aimed(shares) else shares
        return cls(name, queries, measurements, kept, estimate, single, measurements.worth(goal.budget, kept))

    def _noises(self, budget: Budget, charge: float) -> tuple[Floats, Floats]:
        """Those of the measurements, with a charge of the sub-strategy."""
        return self.measurements.noises(budget, charge * (self.shares if self.worth is None else self.worth))

    def aimed(self, goal: Goal, charge: float) -> float:
        """The number that the aim makes small, if the sub-strategy gets a charge."""
        return self.queries.aimed(goal.aim, *self.errors(goal.budget, charge))

    def errors(self, budget: Budget, charge: float) -> tuple[Floats, Floats]:
        """Expected absolute error of one value of each candidate, and its standard deviation, in counts.

        Args:
            budget: Budget of the run.
            charge: Charge of the sub-strategy.
        """
        deviations, magnitudes = self._noises(budget, charge)
        deviations = np.maximum(deviations, _LEAST)
        sigmas = np.asarray(np.sqrt(self.estimate.variances(1.0 / deviations**2)), dtype=np.float64)
        errors = np.asarray(_NORMAL * sigmas)
        if self.single is not None:  # the noise of one measurement, less what was known without it
            alone = deviations[self.single]
            errors = np.where(alone < math.inf, np.minimum(magnitudes[self.single], errors), errors)
        return errors[self.queries.question_of], sigmas[self.queries.question_of]

    def fitted(self, goal: Goal, charge: float, length: float, total: float) -> tuple[float, float] | None:
        """Guessed sum of the weighted errors of the candidates: after a fit, and of the uniform table.

        Args:
            goal: Error that is to be small; its own number of records decided what is measured.
            charge: Charge of the sub-strategy.
            length: Length of the fit to marginals, relative to the noise.
            total: Number of records (noisy), in counts.

        Returns:
            In counts; None where nothing is guessed of components.
        """
        estimate = self.estimate
        if not isinstance(estimate, Components) or isinstance(estimate.known, float) or not math.isfinite(goal.total):
            return None
        deviations = np.maximum(self._noises(goal.budget, charge)[0], _LEAST)
        lengths = length * total / deviations * self.measurements.stretched
        guess = estimate.known * (goal.total / total) ** 2
        found = estimate.fitted(guess, 1.0 / deviations**2, lengths)
        after, before = (_NORMAL * np.sqrt(each)[self.queries.question_of] for each in found)
        return self.queries.aimed("mean", after, after), self.queries.aimed("mean", before, before)
