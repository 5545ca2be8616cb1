"""Multiplicative-weights steps of a model towards noisy answers, explicit and implicit.

Everything is in fractions of the total. The step of a query multiplies by ``exp(s q)``, the step of a marginal by one
factor per cell. Consecutive conjunctions are stepped in one compiled sweep where the model can do that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.models.core.implicit import marginal_step, query_step
from hedgerow.models.core.model import Model, SweepsConjunctions
from hedgerow.queries import Conjunction, LinearQuery, Measurable, Measurement

Step = Literal["source", "sharp"]
"""Size of a multiplicative-weights step: the papers', or the one that is optimal for Hoeffding's lemma."""

Kind = Literal["explicit", "implicit", "joint"]
"""Of steps: functions of this module."""

CELL_RATES: dict[Step, float] = {"source": 0.5, "sharp": 2.0}
"""``eta / r`` for the cells of a marginal; ``algorithms/steps.py`` says why 2 is the sharp one."""


def query_rate(bounds: tuple[float, float], rule: Step) -> float:
    """``eta / r`` for one query (theory.md section 1).

    "source" is 1/2 for queries with ``|q| <= 1`` (others are scaled to that first); "sharp" is ``4 / w**2``, the step
    that Hoeffding's lemma favours most.

    Args:
        bounds: Smallest and largest value of the query.
        rule: Which step.

    Example:
        >>> query_rate((0.0, 1.0), "source"), query_rate((-1.0, 1.0), "sharp")
        (0.5, 1.0)
    """
    low, high = bounds
    if rule == "source":
        return 0.5 / max(1.0, abs(low), abs(high)) ** 2
    return 4.0 / (high - low) ** 2 if high > low else 0.0


@final
@dataclass(frozen=True, eq=False)
class Run:
    """Steps to take one after the other.

    Attributes:
        targets: What was measured.
        values: The noisy answers as fractions.
        rates: ``eta / r`` of explicit steps, the length dt of implicit ones.
    """

    targets: list[Measurable]
    values: list[Floats]
    rates: list[float]

    @property
    def conjunctions(self) -> list[Conjunction]:
        """The targets, if all are conjunctions; else none."""
        found = [target for target in self.targets if isinstance(target, Conjunction)]
        return found if len(found) == len(self.targets) else []


@final
@dataclass(frozen=True, eq=False)
class Phase:
    """Sweeps over all measurements with steps of one kind.

    Attributes:
        kind: "explicit", "implicit" or "joint".
        targets: What the answers should move to, as fractions, those of all measurements one after the other.
        rates: ``eta / r`` of explicit steps, the length dt of the others, shape ``(measurements,)``.
        shares: What the rates are multiplied by in each sweep.
    """

    kind: Kind
    targets: Floats
    rates: Floats
    shares: Floats


def runs(
    measurements: Sequence[Measurement], values: Sequence[Floats], rates: Sequence[float], members: Iterable[int]
) -> list[Run]:
    """Steps of some measurements, in order: conjunctions that follow each other together, others one by one."""
    made: list[Run] = []
    for i in members:
        target = measurements[i].target
        if not (made and made[-1].conjunctions and isinstance(target, Conjunction)):
            made.append(Run([], [], []))
        made[-1].targets.append(target)
        made[-1].values.append(values[i])
        made[-1].rates.append(rates[i])
    return made


def explicit(model: Model, run: Run, sweeps: int = 1) -> None:
    """Take steps ``rate * (value - answer)``."""
    if _swept(model, run, sweeps, implicit=False) is not None:
        return
    for _ in range(sweeps):
        for target, value, rate in zip(run.targets, run.values, run.rates, strict=True):
            move(model, target, rate * (value - _answer(model, target)))


def implicit(model: Model, run: Run) -> list[Floats]:
    """Take steps ``rate * (value - answer after the step)``; returns the answers after each step."""
    steps = _swept(model, run, 1, implicit=True)
    if steps is not None:
        return list((np.concatenate(run.values) - steps / run.rates)[:, None])
    answers = []
    for target, value, dt in zip(run.targets, run.values, run.rates, strict=True):
        mu = model.marginals([target.scope])[0].reshape(-1) / model.total
        if isinstance(target, LinearQuery):
            step = np.array([_query_step(target, mu, float(value[0]), dt)])
            answers.append(value - step / dt)
        else:
            step = marginal_step(mu, value, dt)
            after = mu * np.exp(step)
            answers.append(after / after.sum())
        move(model, target, step)
    return answers


def joint(model: Model, run: Run) -> None:
    """One sweep towards implicit steps ``rate * (value - answer after all steps)`` of many measurements at once.

    Each time the step of a measurement is taken anew, given the others: its part of the whole step so far is
    ``rate * (value - answer after it)``, so that from there it moves with the last answer in the place of the value,
    which is what ``run.values`` holds afterwards. Repeated sweeps converge (block ascent of a concave dual).
    """
    run.values[:] = implicit(model, run)


def _swept(model: Model, run: Run, sweeps: int, *, implicit: bool) -> Floats | None:
    """Step conjunctions in one go, if the model can; returns the sum of the steps of each."""
    queries = run.conjunctions
    if not queries or not isinstance(model, SweepsConjunctions):
        return None
    return model.sweep(queries, np.concatenate(run.values), np.array(run.rates), sweeps, implicit=implicit)


def _answer(model: Model, target: Measurable) -> Floats:
    return target.of_table(model.marginals([target.scope])[0]) / model.total


def move(model: Model, target: Measurable, steps: Floats) -> None:
    """Update a model by one step of a query, or by one log-factor for each cell of a marginal."""
    if isinstance(target, LinearQuery):
        model.update(target, float(steps[0]))
    else:
        model.reweigh(target.scope, steps.reshape(model.domain.shape_of(target.scope)))


def _query_step(query: LinearQuery, mu: Floats, target: float, dt: float) -> float:
    values, which = np.unique(query.values(), return_inverse=True)
    masses = np.asarray(np.bincount(which.reshape(-1), weights=mu), dtype=np.float64)
    return query_step(values, masses, target, dt)
