"""What a release knows about a true count: noisy measurements, and the noisy error of the workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.privacy import step_of
from hedgerow.queries import Conjunction, LinearQuery, Marginal, Measurement
from hedgerow.release.evidence.noise_bounds import sum_bound

_COMPARED_CELLS = 1 << 20


@final
@dataclass(frozen=True)
class Evidence:
    """One interval for the true answer at every risk.

    Attributes:
        centre: Middle of the interval, in counts.
        radius: Half its width, in counts, as a function of the probability that the interval may miss.
        source: Where it comes from, in words.

    Example:
        >>> Evidence(40.0, lambda risk: 2.0 / risk, "a guess").radius(0.1)
        20.0
    """

    centre: float
    radius: Callable[[float], float]
    source: str


def measured(query: LinearQuery, measurements: Sequence[Measurement]) -> Iterator[Evidence]:
    """Evidence from the measurements that determine the query, in the order in which they were made.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> noisy = Measurement(Marginal(domain, ("a", "b")), np.array([1.0, 2, 30, 40]), NoiseKind.LAPLACE, 5.0)
        >>> [piece.centre for piece in measured(Conjunction.where(domain, {"a": [1]}), [noisy])]
        [70.0]
    """
    for measurement in measurements:
        target = measurement.target
        if isinstance(target, Marginal) and set(query.scope) <= set(target.scope):
            yield _from_marginal(query, target, measurement)
        elif isinstance(target, LinearQuery) and same_query(query, target):
            yield _from_noise(float(measurement.values[0]), np.ones(1), 1, measurement)


def _from_marginal(query: LinearQuery, marginal: Marginal, measurement: Measurement) -> Evidence:
    shape = marginal.domain.shape_of(marginal.scope)
    beside = tuple(axis for axis, name in enumerate(marginal.scope) if name not in query.scope)
    table = measurement.values.reshape(shape).sum(axis=beside)
    weights = query.values()
    return _from_noise(float(query.of_table(table)[0]), weights, marginal.size // weights.size, measurement)


def _from_noise(centre: float, weights: np.ndarray, copies: int, measurement: Measurement) -> Evidence:
    step = step_of(measurement.target)

    def radius(risk: float) -> float:
        return sum_bound(measurement.noise, measurement.scale, weights, copies=copies, risk=risk, step=step)

    return Evidence(centre, radius, f"the noise of the measurement of {measurement.target.text}")


def same_query(one: LinearQuery, other: LinearQuery) -> bool:
    """Whether two queries have the same values on all cells.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Explicit
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> same_query(Conjunction.where(domain, {"a": [1]}), Explicit.of(domain, ["a"], [0, 1]))
        True
    """
    if one.scope != other.scope:
        return False
    if isinstance(one, Conjunction) and isinstance(other, Conjunction):
        return one.codes == other.codes
    cells = one.domain.project(one.scope).size if one.scope else 1
    return cells <= _COMPARED_CELLS and np.array_equal(one.values(), other.values())
