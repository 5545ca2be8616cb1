"""One multiplicative-weights step towards an answer, and how far it must bring the hypothesis (theory.md section 1).

The papers work with fractions: a distribution p, a query q with values in [lo, hi], a residual r = m - q(p) and the
update p(x) <- p(x) exp(eta q(x)) / Z. Answers come here in counts and are divided by the mass of the model at the door.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.models import CELL_RATES, Model, Step, query_rate
from hedgerow.queries import LinearQuery, Measurable


def step_size(residual: float, bounds: tuple[float, float], rule: Step) -> float:
    """Signed eta for one query, ``r`` times its rate.

    Args:
        residual: r, a fraction.
        bounds: Smallest and largest value of the query.
        rule: Which step.

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
        target: What was measured.
        rule: Which step.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Parity
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
        target: What was measured.
        residuals: Fractions, shape ``(target.size,)``.
        rule: Which step.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Parity
        >>> exponent_of(Parity(Domain((IntegerRange("a", 0, 1),)), ("a",)), np.array([0.4]), "source")
        array([ 0.2, -0.2])
    """
    if isinstance(target, LinearQuery):
        return step_size(float(residuals[0]), target.bounds, rule) * target.values()
    return cell_steps(residuals, rule).reshape(target.domain.shape_of(target.scope))


def take_step(model: Model, target: Measurable, residuals: Floats, rule: Step) -> None:
    """Bring a model towards an answer, in place.

    Args:
        model: The hypothesis.
        target: What was measured.
        residuals: Noisy answer minus the model's, in counts, shape ``(target.size,)``.
        rule: Which step.
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
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Marginal
        >>> clipped(np.array([-3.0, 120.0]), Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",)), 100.0)
        array([  0., 100.])
    """
    low, high = target.bounds
    return np.clip(values, low * total, high * total)
