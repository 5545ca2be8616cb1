"""Hypotheses that learn: a model is fitted to noisy answers, or moved towards them (theory.md section 1).

The *hypothesis* is the model of the data that an algorithm keeps and improves; everything it learns is already noisy.

The papers work with fractions: a distribution p, a query q with values in [lo, hi], a residual r = m - q(p) and the
update p(x) <- p(x) exp(eta q(x)) / Z. Answers come here in counts and are divided by the mass of the model at the door.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from hedgerow.algorithms.shared.moments import beside_tables
from hedgerow.arrays import Bools, Floats
from hedgerow.domain import Clique, possible_cells, telling
from hedgerow.models import (
    CELL_RATES,
    LARGEST_TREE,
    Histogram,
    Hypothesis,
    JunctionTree,
    Markov,
    Model,
    Overlay,
    Proximal,
    Refit,
    Step,
    ValueClasses,
    as_measurements,
    measured_levels,
    over_tables,
    overlaid,
    query_rate,
    rake,
    refit,
    suited,
)
from hedgerow.queries import Blocks, LinearQuery, Marginal, Measurable, Measurement

Output = Literal["last", "average"]
"""The hypothesis to return: A_T, or the average of A_0 ... A_(T-1)."""


_KNOWN_STD, _TOP_DOWN_STD = 1.0, 1e-3
"""Standard deviation that known totals are fitted with beside noisy answers, in counts, before they are met exactly."""


class Learner:
    """A model and all the measurements that it learns from.

    Attributes:
        model: The hypothesis as it is now.
        measurements: Noisy answers, in the order in which they were bought.
        keeps_form: Whether the hypothesis stays a histogram however large, or trees however small.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.models import Proximal
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> learner = Learner(Histogram(domain, 8.0))
        >>> noisy = Measurement(Marginal(domain, ("a",)), np.array([6.0, 2.0]), NoiseKind.LAPLACE, 0.1)
        >>> learner.measurements.append(noisy)
        >>> learner.fit(Proximal())
        >>> learner.model.marginals([("a",)])[0].round(1)
        array([6., 2.])
    """

    def __init__(self, model: Hypothesis, *, keeps_form: bool = False) -> None:
        """Start with a model that has learnt nothing.

        Args:
            model: The hypothesis.
            keeps_form: Whether it stays a histogram however large, or trees however small: else it takes the form that
                costs less for what was measured.
        """
        self.model = model
        self.measurements: list[Measurement] = []
        self.keeps_form = keeps_form
        self._known = as_measurements(model.domain, _KNOWN_STD)
        if self._known:
            self.suit()
            rake(self.model, telling(model.domain))

    @property
    def scopes(self) -> list[Clique]:
        """The scopes that the hypothesis connects."""
        return [measured.target.scope for measured in (*self._known, *self.measurements)]

    @property
    def trees(self) -> Sequence[JunctionTree] | None:
        """The junction trees that grow with what is measured; None where the hypothesis has none."""
        return trees_of(self.model)

    def suit(self, told: Sequence[Measurement] | None = None) -> None:
        """Take the form that costs less for some measurements; for all of them unless they are given."""
        if not self.keeps_form:
            told = self.measurements if told is None else told
            self.model = suited(self.model, [measured.target for measured in (*self._known, *told)])

    def _beside(self, told: Sequence[Measurement]) -> Sequence[Measurement]:
        """The known totals that are fitted beside measurements, before all are met exactly."""
        if not (self._known and measured_levels(told)):
            return self._known
        exact = as_measurements(self.model.domain, _TOP_DOWN_STD)
        return exact if measured_levels([*told, *exact]) else []

    def fit(self, rule: Refit, told: Sequence[Measurement] | None = None) -> None:
        """Fit the hypothesis to some measurements; to all of them unless they are given."""
        self.suit(told)
        told = self.measurements if told is None else told
        refit(self.model, [*self._beside(told), *told], rule)
        rake(self.model, telling(self.model.domain))


def concluded(
    learner: Learner,
    rule: Refit,
    told: Sequence[Measurement] | None = None,
    moments: Sequence[Measurement] = (),
    largest_tree: int = LARGEST_TREE,
) -> Hypothesis | Overlay:
    """The last hypothesis of a run: fitted to all measurements, or consistent tables over a tree where none holds them.

    Beside tables it is fitted to moments; of consistent tables over a tree, the tree is.

    Args:
        learner: The hypothesis so far, and the measurements; fitted in place unless tables are needed.
        rule: Fit of the hypothesis, or of the tree below the tables.
        told: Other forms of the measurements that a hypothesis is fitted to; tables are made of those that were made.
        moments: What was measured of the moments of columns, see `moments_told`.
        largest_tree: Most cells of a tree.

    Raises:
        ModelTooLargeError: Neither fits into memory.

    Example:
        >>> from itertools import combinations
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.models import Markov, Proximal
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(40))
        >>> learner = Learner(Markov(domain, 100.0))
        >>> for pair in combinations(domain.names, 2):
        ...     noisy = Measurement(Marginal(domain, pair), np.array([40.0, 30.0, 30.0, 0.0]), NoiseKind.GAUSSIAN, 0.1)
        ...     learner.measurements.append(noisy)
        >>> concluded(learner, Proximal()).marginals([("x7", "x21")])[0].round()
        array([[40., 30.],
               [30.,  0.]])
    """
    model, measurements = learner.model, learner.measurements
    keeps = learner.keeps_form or isinstance(model, ValueClasses)
    told = measurements if told is None else told
    beside = beside_tables(model, told, moments) if isinstance(rule, Proximal) else []
    measurements = [*as_measurements(model.domain, _KNOWN_STD), *measurements]
    trees, targets = trees_of(model) or (), (measurement.target for measurement in measurements)
    if isinstance(rule, Proximal) and not keeps and over_tables(model.domain, targets, largest_tree, trees):
        return overlaid(model.domain, model.total, [*measurements, *beside], rule, largest_tree)
    told = [*told, *beside]
    learner.fit(rule, told)
    return learner.model


def trees_of(model: Hypothesis) -> Sequence[JunctionTree] | None:
    """The junction trees of a hypothesis, if it has any.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> trees_of(Histogram(Domain((IntegerRange("a", 0, 1),)), 8.0)) is None
        True
    """
    return model.trees if isinstance(model, Markov) else None


def possible_values(target: Measurable) -> slice | Bools:
    """The values of a target that can differ from 0: in cells of a marginal that no record can have noise is alone.

    Example:
        >>> from hedgerow import Domain, IntegerRange, impossible
        >>> free = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> ruled = Domain(free.attributes, constraints=[impossible(free, "a = 0 and b = 1")])
        >>> possible_values(Marginal(ruled, ("a", "b")))
        array([ True, False,  True,  True])
    """
    whole = isinstance(target, Marginal) and target.within is None and bool(target.domain.constraints)
    possible = possible_cells(target.domain, target.scope) if whole else None
    return slice(None) if possible is None else possible.reshape(-1)


def averaged_total(counted: float, std: float, measurements: Sequence[Measurement]) -> float:
    """The number of records from its noisy count and from the sums of noisy tables, weighted by inverse variances.

    A function of noisy values and public scales. Cells that no record can have are left out: they hold noise alone.

    Args:
        counted: The noisy number of records.
        std: Standard deviation of its noise, in counts.
        measurements: Noisy answers; those of whole marginals are summed.

    Returns:
        In counts, at least 1.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> target = Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",))
        >>> noisy = Measurement(target, np.array([60.0, 50.0]), NoiseKind.GAUSSIAN, 5.0)
        >>> round(averaged_total(90.0, 10.0, [noisy]), 6)
        103.333333
    """
    sums, variances = [counted], [std**2]
    for measured in measurements:
        target = measured.target
        whole = isinstance(target, Blocks) or (isinstance(target, Marginal) and target.within is None)
        if whole and measured.scale > 0.0:
            possible = measured.values[possible_values(target)]
            sums.append(float(possible.sum()))
            variances.append(possible.size * measured.std**2)
    weights = 1.0 / np.array(variances)
    return max(1.0, float(weights @ np.array(sums) / weights.sum()))


def step_size(residual: float, bounds: tuple[float, float], rule: Step) -> float:
    """Signed eta for one query, ``r`` times its rate.

    Args:
        residual: r, a fraction.
        bounds: Smallest and largest value of the query.
        rule: Name of the step, ``"source"`` or ``"sharp"``.

    Example:
        >>> step_size(0.25, (0.0, 1.0), "source"), step_size(0.25, (-1.0, 1.0), "sharp")
        (0.125, 0.25)
    """
    return residual * query_rate(bounds, rule)


def cell_steps(residuals: Floats, rule: Step) -> Floats:
    """Signed eta for every cell of a marginal: ``r / 2``, or ``2 r`` where "sharp".

    The exponent of a sharp step ``s r`` ranges over at most ``s (max r - min r)``, whose square is at most
    ``2 s**2 sum(r**2)``; Hoeffding's lemma then gives the largest drop, ``sum(e**2) - sum(nu**2)``, at s = 2.

    Example:
        >>> cell_steps(np.array([0.5, -0.5]), "sharp")
        array([ 1., -1.])
    """
    return residuals * CELL_RATES[rule]


def guaranteed_drop(errors: Floats, noise: Floats, target: Measurable, rule: Step) -> float:
    """Smallest fall of the potential KL(b || p) that a step must bring (theory.md section 1), in nats.

    Args:
        errors: e = q(b) - q(p), fractions, one per value of the target.
        noise: nu = m - q(b), fractions.
        target: Query or marginal that was measured.
        rule: Name of the step, ``"source"`` or ``"sharp"``.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries import Parity
        >>> parity = Parity(Domain((IntegerRange("a", 0, 1),)), ("a",))
        >>> guaranteed_drop(np.array([0.5]), np.array([0.25]), parity, "sharp")
        0.09375
    """
    gain = float(errors @ errors - noise @ noise)
    low, high = target.bounds
    if rule == "source":
        return gain / (4.0 * max(1.0, abs(low), abs(high)) ** 2)
    if not isinstance(target, LinearQuery):
        return gain
    return 2.0 * gain / (high - low) ** 2 if high > low else 0.0


def potential_drop(hypothesis: Floats, truth: Floats, exponent: Floats) -> float:
    """Exact fall of KL(b || p) when p becomes ``p exp(exponent) / Z``: ``<b, exponent> - ln Z``, in nats.

    Args:
        hypothesis: Marginal of p over the scope that the exponent depends on, fractions.
        truth: Marginal of b over that scope, fractions.
        exponent: eta q, over that scope.

    Example:
        >>> round(potential_drop(np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([1.0, 0.0])), 4)
        0.3799
    """
    top = float(exponent.max())
    return float(np.vdot(truth, exponent)) - top - math.log(float(np.vdot(hypothesis, np.exp(exponent - top))))


def exponent_of(target: Measurable, residuals: Floats, rule: Step) -> Floats:
    """The exponent of a step as a table over the scope of the target.

    Args:
        target: Query or marginal that was measured.
        residuals: Fractions, shape ``(target.size,)``.
        rule: Name of the step, ``"source"`` or ``"sharp"``.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries import Parity
        >>> exponent_of(Parity(Domain((IntegerRange("a", 0, 1),)), ("a",)), np.array([0.4]), "source")
        array([ 0.2, -0.2])
    """
    if isinstance(target, LinearQuery):
        return step_size(float(residuals[0]), target.bounds, rule) * target.values()
    steps = cell_steps(residuals, rule)
    return (
        target.to_table(steps) if isinstance(target, Marginal) else steps.reshape(target.domain.shape_of(target.scope))
    )


def take_step(model: Model, target: Measurable, residuals: Floats, rule: Step) -> None:
    """Bring a model towards an answer, in place.

    Args:
        model: The hypothesis.
        target: Query or marginal that was measured.
        residuals: Noisy answer minus the model's, in counts, shape ``(target.size,)``.
        rule: Name of the step, ``"source"`` or ``"sharp"``.
    """
    fractions = residuals / model.total
    if isinstance(target, LinearQuery):
        model.update(target, step_size(float(fractions[0]), target.bounds, rule))
    else:
        model.reweigh(target.scope, exponent_of(target, fractions, rule))


def clipped(values: Floats, target: Measurable, total: float) -> Floats:
    """Noisy answers moved into the range that is possible for ``total`` records.

    It never moves an answer away from the truth, and keeps the step within what the proof needs
    (theory.md section 1).

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries import Marginal
        >>> clipped(np.array([-3.0, 120.0]), Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",)), 100.0)
        array([  0., 100.])
    """
    low, high = target.bounds
    return np.clip(values, low * total, high * total)


class Averager:
    """Adds hypotheses up, cell by cell; holds one table of the size of the domain.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> model = Histogram(Domain((IntegerRange("a", 0, 1),)), 6.0)
        >>> averager = Averager(model)
        >>> averager.add(model)
        >>> averager.result().marginals([("a",)])[0]
        array([3., 3.])
    """

    def __init__(self, model: Histogram) -> None:
        """Start with nothing, for hypotheses over the domain and of the mass of the one given."""
        self._domain = model.domain
        self._total = model.total
        self._sum = np.zeros(model.domain.shape)

    def add(self, model: Histogram) -> None:
        """Add a hypothesis as it is now."""
        model.add_to(self._sum)

    def result(self) -> Histogram:
        """The average of what was added, in counts."""
        return Histogram(self._domain, self._total, base=self._sum)
