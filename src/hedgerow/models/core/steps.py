"""Multiplicative-weights steps of a model towards noisy answers, explicit and implicit.

Everything is in fractions of the total. The step of a query multiplies by ``exp(s q)``, the step of a marginal by one
factor per cell. Consecutive conjunctions are stepped in one compiled sweep where the model can do that.

An explicit step multiplies by ``exp(dt (y - mu))`` with the answers mu from before the step; an implicit (proximal) one
takes the answers p from after it. It is the p that minimises ``KL(p || mu) / dt + |y - p|**2 / 2``, and needs no bound
on dt and no feasible target y: noisy targets that are negative or do not sum to 1 are fine.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import wrightomega

from hedgerow.arrays import Bools, Floats
from hedgerow.domain import possible_cells
from hedgerow.models.core.model import Kind, Model, SweepsConjunctions
from hedgerow.queries import Conjunction, LinearQuery, Measurable

Step = Literal["source", "sharp"]
"""Size of a multiplicative-weights step: the papers', or the one that is optimal for Hoeffding's lemma."""

CELL_RATES: dict[Step, float] = {"source": 0.5, "sharp": 2.0}
"""``eta / r`` for the cells of a marginal; ``algorithms/shared/steps.py`` says why 2 is the sharp one."""

FLOOR = 1e-30
"""Smallest probability that a step leaves to a cell, so that a later one can raise it again."""
_TINY = 1e-195
_ITERATIONS = 100


def query_rate(bounds: tuple[float, float], rule: Step) -> float:
    """``eta / r`` for one query (theory.md section 1).

    "source" is 1/2 for queries with ``|q| <= 1`` (others are scaled to that first); "sharp" is ``4 / w**2``, the step
    that Hoeffding's lemma favours most.

    Args:
        bounds: Smallest and largest value of the query.
        rule: The size of the step.

    Example:
        >>> query_rate((0.0, 1.0), "source"), query_rate((-1.0, 1.0), "sharp")
        (0.5, 1.0)
    """
    low, high = bounds
    if rule == "source":
        return 0.5 / max(1.0, abs(low), abs(high)) ** 2
    return 4.0 / (high - low) ** 2 if high > low else 0.0


@dataclass(frozen=True, eq=False)
class Run:
    """Steps to take one after the other.

    Attributes:
        targets: Measured targets.
        values: The noisy answers as fractions.
        rates: ``eta / r`` of explicit steps, the length dt of implicit ones.
        cells: For each target the cells of its scope that records can have, flat; None where all are.
    """

    targets: list[Measurable]
    values: list[Floats]
    rates: list[float]
    cells: list[Bools | None]

    @property
    def conjunctions(self) -> list[Conjunction]:
        """The targets, if all are conjunctions; else none."""
        listed = [target for target in self.targets if isinstance(target, Conjunction)]
        return listed if len(listed) == len(self.targets) else []


@dataclass(frozen=True, eq=False)
class Phase:
    """Sweeps over all measurements with steps of one kind.

    Attributes:
        kind: "explicit", "implicit" or "joint".
        targets: Answers to move to, as fractions, those of all measurements one after the other.
        rates: ``eta / r`` of explicit steps, the length dt of the others, shape ``(measurements,)``.
        shares: Factors of the rates, one for each sweep.
    """

    kind: Kind
    targets: Floats
    rates: Floats
    shares: Floats


def runs(steps: Run, members: Iterable[int]) -> list[Run]:
    """Some steps, in order: conjunctions that follow each other together, others one by one."""
    made: list[Run] = []
    for i in members:
        target = steps.targets[i]
        if not (made and isinstance(made[-1].targets[0], Conjunction) and isinstance(target, Conjunction)):
            made.append(Run([], [], [], []))
        made[-1].targets.append(target)
        made[-1].values.append(steps.values[i])
        made[-1].rates.append(steps.rates[i])
        made[-1].cells.append(steps.cells[i])
    return made


def can_be(target: Measurable) -> Bools | None:
    """The cells of the scope of a target that records can have, flat; None where all are, or where it cannot be told.

    Example:
        >>> from hedgerow.domain import Constraint, Domain, IntegerRange
        >>> from hedgerow.queries import Marginal
        >>> rule = Constraint("a <= b", ("a", "b"), [[0, 1], [0, 1]], [[1, 1], [0, 1]])
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)), (), (rule,))
        >>> can_be(Marginal(domain, ("a", "b"))), can_be(Marginal(domain, ("a",)))
        (array([ True,  True, False,  True]), None)
    """
    domain, scope = target.domain, target.scope
    if not domain.constraints and all(place < len(domain) for place in domain.axes(scope)):
        return None
    possible = possible_cells(domain, scope)
    return None if possible is None or possible.all() else possible.reshape(-1)


def is_known(target: LinearQuery, cells: Bools) -> bool:
    """Whether a query has the same value on some cells of its scope, so that an answer says nothing.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 2),))
        >>> is_known(Conjunction.where(domain, {"a": [0, 1]}), np.array([True, True, False]))
        True
    """
    values = target.values().reshape(-1)[cells]
    return bool(values.min() == values.max())


def explicit(model: Model, run: Run, sweeps: int = 1) -> None:
    """Take steps ``rate * (value - answer)``."""
    if _swept(model, run, sweeps, "explicit") is not None:
        return
    for _ in range(sweeps):
        for target, value, rate, cells in zip(run.targets, run.values, run.rates, run.cells, strict=True):
            step = rate * (value - _answer(model, target))
            if cells is not None and not isinstance(target, LinearQuery):
                step[~cells] = 0.0
            _move(model, target, step)


def implicit(model: Model, run: Run) -> list[Floats]:
    """Take steps ``rate * (value - answer after the step)``; returns the answers after each step."""
    steps = _swept(model, run, 1, "implicit")
    if steps is not None:
        return _after(run, steps)
    answers = []
    for target, value, dt, cells in zip(run.targets, run.values, run.rates, run.cells, strict=True):
        mu = model.marginals([target.scope])[0].reshape(-1) / model.total
        if isinstance(target, LinearQuery):
            step = np.array([query_step(*value_masses(target, mu, cells), float(value[0]), dt)])
            answers.append(value - step / dt)
        else:
            step, some = np.zeros(mu.size), slice(None) if cells is None else cells
            step[some] = marginal_step(mu[some], value[some], dt)
            after = mu * np.exp(step)
            answers.append(after / after.sum())
        _move(model, target, step)
    return answers


def joint(model: Model, run: Run, sweeps: int = 1) -> None:
    """Sweeps towards implicit steps ``rate * (value - answer after all steps)`` of many measurements at once.

    Each time the step of a measurement is taken again, given the others: its part of the whole step so far is
    ``rate * (value - answer after it)``, so that from there it moves with the last answer in the place of the value,
    which is what ``run.values`` holds afterwards. Repeated sweeps converge (block ascent of a concave dual).
    """
    steps = _swept(model, run, sweeps, "joint")
    if steps is not None:
        run.values[:] = _after(run, steps)
        return
    for _ in range(sweeps):
        run.values[:] = implicit(model, run)


def _after(run: Run, steps: Floats) -> list[Floats]:
    """The answers of queries after implicit steps, which say how far they are from the values."""
    return list((np.concatenate(run.values) - steps / run.rates)[:, None])


def _swept(model: Model, run: Run, sweeps: int, kind: Kind) -> Floats | None:
    """Step conjunctions in one go, if the model can; returns the sum of the steps of each."""
    queries = run.conjunctions
    if not queries or not isinstance(model, SweepsConjunctions):
        return None
    return model.sweep(queries, np.concatenate(run.values), np.array(run.rates), sweeps, kind)


def _answer(model: Model, target: Measurable) -> Floats:
    return target.of_table(model.marginals([target.scope])[0]) / model.total


def _move(model: Model, target: Measurable, steps: Floats) -> None:
    """Update a model by one step of a query, or by one log-factor for each cell of a marginal."""
    if isinstance(target, LinearQuery):
        model.update(target, float(steps[0]))
    else:
        model.reweigh(target.scope, steps.reshape(model.domain.shape_of(target.scope)))


def marginal_step(mu: Floats, target: Floats, dt: float) -> Floats:
    """Log-factors of the implicit step of a whole marginal.

    The new marginal is ``p = omega(dt (y - nu) + ln(mu dt)) / dt``, where omega is the Wright omega function and the
    number nu makes p sum to 1.

    Args:
        mu: Current marginal, sums to 1, shape ``(cells,)``.
        target: y, any finite values, shape ``(cells,)``.
        dt: Length of the step, positive.

    Returns:
        ``ln(p / mu)``, shape ``(cells,)``.

    Example:
        >>> mu, y = np.array([0.5, 0.5]), np.array([1.0, 0.0])
        >>> p = mu * np.exp(marginal_step(mu, y, dt=1e9))
        >>> p.round(6)
        array([1., 0.])
    """
    log_mu = np.log(np.maximum(mu, _TINY))
    # The sum is convex in nu and falls: from anywhere, one step of Newton's method leads to the left of its root, and
    # no further one passes it. At the bound one cell alone is 1; the guess is exact where nothing has to move.
    lowest = float(np.max(target + log_mu / dt)) - 1.0
    shares = mu / (1.0 + dt * mu)
    nu = max(lowest, float(shares @ (target - mu)) / float(shares.sum()))
    start = log_mu + math.log(dt)
    for iteration in range(_ITERATIONS):
        omega = wrightomega(dt * (target - nu) + start)
        excess = float(omega.sum()) / dt - 1.0
        following = max(lowest, nu + excess / float((omega / (1.0 + omega)).sum()))
        if abs(excess) <= 1e-14 or (iteration and following <= nu):
            break
        nu = following
    p = np.maximum(omega / float(omega.sum()), FLOOR)
    return np.asarray(np.log(p) - log_mu)


def query_step(values: Floats, masses: Floats, target: float, dt: float) -> float:
    """The step s of the implicit update ``exp(s q)``, with ``s = dt (y - q(p))`` for the p after the update.

    Args:
        values: Values of the query, shape ``(k,)``.
        masses: Probability of each value, sums to 1, shape ``(k,)``.
        target: y.
        dt: Length of the step, positive.

    Example:
        >>> step = query_step(np.array([0.0, 1.0]), np.array([0.5, 0.5]), target=0.9, dt=2.0)
        >>> after = 1.0 / (1.0 + np.exp(-step))
        >>> bool(abs(step - 2.0 * (0.9 - after)) < 1e-9)
        True
    """
    logs = np.log(np.maximum(masses, _TINY))
    low, high = dt * (target - float(values.max())), dt * (target - float(values.min()))
    step = min(max(0.0, low), high)
    for _ in range(2 * _ITERATIONS):
        exponent = step * values + logs
        p = np.exp(exponent - exponent.max())
        p /= p.sum()
        answer = float(p @ values)
        gap = step - dt * (target - answer)
        low, high = (low, step) if gap > 0 else (step, high)
        newton = step - gap / (1.0 + dt * float(p @ (values - answer) ** 2))
        following = newton if low < newton < high else 0.5 * (low + high)
        if abs(following - step) <= 1e-13 * (1.0 + abs(step)):
            return _bounded(following, values)
        step = following
    return _bounded(step, values)


def value_masses(query: LinearQuery, mu: Floats, cells: Bools | None) -> tuple[Floats, Floats]:
    """The values that a query has on some cells, and the probability of each.

    Args:
        query: The query.
        mu: Marginal of its scope, shape ``(cells,)``.
        cells: The cells that records can have; None where all are.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> query = Conjunction.where(Domain((IntegerRange("a", 0, 2),)), {"a": [0, 1]})
        >>> value_masses(query, np.array([0.25, 0.25, 0.5]), None)
        (array([0., 1.]), array([0.5, 0.5]))
    """
    some = slice(None) if cells is None else cells
    values, which = np.unique(query.values().reshape(-1)[some], return_inverse=True)
    return values, np.asarray(np.bincount(which.reshape(-1), weights=mu[some]), dtype=np.float64)


def _bounded(step: float, values: Floats) -> float:
    """Keep the factor by which one step moves two cells apart within ``FLOOR**-2``."""
    width = float(values.max() - values.min())
    limit = -2.0 * math.log(FLOOR) / width if width > 0 else 0.0
    return min(max(step, -limit), limit)
