"""Evidence about a true count: noisy measurements, and the noisy error of the workload.

`answer` derives the intervals that rest on it; `unbiased` averages tables that were chosen beforehand, and
`noise_sums` bounds the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, CodeSet, spread_over
from hedgerow.errors import ConfigError
from hedgerow.privacy import GRID, WorkloadError, step_of
from hedgerow.queries import (
    Blocks,
    Conjunction,
    Explicit,
    Family,
    LinearQuery,
    Marginal,
    Measurement,
    Neighbours,
    Workload,
)
from hedgerow.release.noise_sums import Noises
from hedgerow.release.unbiased import Estimated, Runs, Split, estimated

_COMPARED_CELLS = 1 << 20
_LARGEST_SEARCH = 20_000
"""Candidates of a family that are compared with the query one by one."""
_UNIT_ROUNDING = 1.0 + 2.0**-9
"""The curator rounds what a count is worth down to 10 bits."""


@dataclass(frozen=True)
class Evidence:
    """One interval for the true answer at every risk.

    Attributes:
        centre: Middle of the interval, in counts.
        radius: Half its width, in counts, as a function of the probability that the interval may miss.
        source: Origin of the evidence, in words.
        noises: The noise around the centre, where it is known.

    Example:
        >>> Evidence(40.0, lambda risk: 2.0 / risk, "a guess").radius(0.1)
        20.0
    """

    centre: float
    radius: Callable[[float], float]
    source: str
    noises: Noises | None = None

    def ends(self, risk: float) -> tuple[float, float]:
        """The interval, in counts, that may miss with a probability."""
        radius = self.radius(risk)
        return self.centre - radius, self.centre + radius

    @classmethod
    def of_noises(cls, centre: float, noises: Noises, source: str) -> Evidence:
        """A measured number with noise of a known law."""
        return cls(centre, noises.bound, f"the noise of the {source}", noises)

    @property
    def variance(self) -> float:
        """The variance of a measured number."""
        return 0.0 if self.noises is None else float(self.noises.std**2)

    def corrected(self, guess: float) -> float:
        """A guess, moved towards the measured number by as much as they disagree beyond the noise.

        Let the guess be off by b. From the distance d its square is estimated as ``d^2 - variance``, and as 0 at least;
        weights by inverse mean squares leave ``variance / d`` of the distance. So a guess within a standard deviation
        stays, and one that is far away hardly matters (B. Efron, C. Morris 1973, "Stein's Estimation Rule and Its
        Competitors").

        Args:
            guess: Answer of the hypothesis, in counts.

        Example:
            >>> told = Evidence.of_noises(100.0, Noises(25.0), "measurement of a")
            >>> [told.corrected(guess) for guess in (104.0, 110.0, 150.0)]
            [104.0, 102.5, 100.5]
        """
        distance = guess - self.centre
        return guess if distance**2 <= self.variance else float(self.centre + self.variance / distance)

    def times(self, factor: float) -> Evidence:
        """A measured number times a number.

        Args:
            factor: Any number but 0.

        Example:
            >>> Evidence.of_noises(2.0, Noises(9.0), "measurement of a").times(-2.0).variance
            36.0
        """
        if self.noises is None:
            raise ConfigError("a bound without a law of noise is not multiplied", remedy="multiply measured numbers")
        noises = self.noises.times(abs(factor))
        return Evidence(float(factor * self.centre), noises.bound, self.source, noises)

    def plus(self, other: Evidence) -> Evidence:
        """The sum of two measured numbers whose noises are independent.

        Example:
            >>> one = Evidence.of_noises(1.0, Noises(9.0), "measurement of a")
            >>> (one.plus(one).centre, round(one.plus(one).radius(0.05), 2))
            (2.0, 8.32)
        """
        if self.noises is None or other.noises is None:
            raise ConfigError("a bound without a law of noise is not added up", remedy="add measured numbers")
        noises = self.noises.with_all([other.noises])
        return Evidence(self.centre + other.centre, noises.bound, f"{self.source} and {other.source}", noises)


def measured(query: LinearQuery, found: Runs, total: float | None = None) -> Iterator[Evidence]:
    """Evidence from the measurements that determine the query, in the order in which they were made.

    Args:
        query: The query.
        found: The measurements.
        total: The number of records, if it is public.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> noisy = Measurement(Marginal(domain, ("a", "b")), np.array([1.0, 2, 30, 40]), NoiseKind.LAPLACE, 5.0)
        >>> [piece.centre for piece in measured(Conjunction.where(domain, {"a": [1]}), Runs([[noisy]]))]
        [70.0]
    """
    return (evidence_of(each, np.ones(1)) for each in told((query,), found, total))


def evidence_of(told: Estimated, factors: Floats) -> Evidence:
    """The sum of estimates times factors.

    Args:
        told: The estimates.
        factors: One for each.
    """
    number = len(told.tables)
    those = f"measurement of {told.tables[0]}" if number == 1 else f"{number} measurements that bear on it"
    return Evidence.of_noises(float(factors @ told.values), told.noises(factors), those)


def told(queries: Sequence[LinearQuery], found: Runs, total: float | None = None) -> Iterator[Estimated]:
    """Estimates of all of some queries from the measurements that determine each, in the order in which they were made.

    Args:
        queries: The queries, at least one.
        found: The measurements.
        total: The number of records, if it is public.
    """
    question = Split.of(*queries)
    if question is None:
        levels = [_levels(query) for query in queries]
        yield from (piece for run in found.each for each in run for piece in _alone(queries, levels, each))
        return
    said = found.saying(question.domain, question.scope)
    levels = [_levels(query) for query in queries] if any(each.more for each in said) else []
    for each in said:
        average = estimated(question, each, total)
        if average is not None:
            yield average
        for measurement in each.more:
            yield from _alone(queries, levels, measurement)


def variance_of(query: LinearQuery, found: Runs, total: float | None = None) -> float | None:
    """The least variance of the estimates that runs of measurements give of a query; None where they tell nothing.

    Args:
        query: The query.
        found: The measurements.
        total: The number of records, if it is public.
    """
    return min((float(each.covariances[0, 0]) for each in told((query,), found, total)), default=None)


def known_answer(query: LinearQuery, known: Sequence[Measurement]) -> tuple[float, str] | None:
    """The answer of a query that one known table determines, and what that is called; None where none does.

    Args:
        query: The query.
        known: Known totals as measurements.
    """
    levels = [_levels(query)] if known else []
    for each in known:
        for piece in _alone([query], levels, each):
            return float(piece.values[0]), f"the known total of {each.target.text}"
    return None


def _alone(
    queries: Sequence[LinearQuery], levels: Sequence[Mapping[str, Mapping[str, CodeSet]]], measurement: Measurement
) -> Iterator[Estimated]:
    """Estimates from one measurement, if it determines all queries."""
    target = measurement.target
    if isinstance(target, Marginal | Blocks):
        seen = [seen_over(query, target.scope, own) for query, own in zip(queries, levels, strict=True)]
        over = [query for query in seen if query is not None]
        if len(over) == len(seen):
            yield from _from_table(over, target, measurement)
    elif isinstance(target, LinearQuery) and len(queries) == 1 and same_query(queries[0], target):
        yield _from_noise(measurement.values, np.ones((1, 1)), 1, measurement)


def _levels(query: LinearQuery) -> dict[str, dict[str, CodeSet]]:
    """For each attribute of a condition the levels that decide it, and their codes that meet it.

    A measurement of ages in steps of five, for example, decides "age >= 75".
    """
    if not isinstance(query, Conjunction):
        return {}
    levels: dict[str, dict[str, CodeSet]] = {}
    for name, codes in zip(query.scope, query.codes, strict=True):
        levels[name] = {}
        for level in query.domain.coarser(name):
            places: Any = query.domain.lookup(name, level)
            inside = np.zeros(places.size, dtype=bool)
            inside[np.asarray(codes, dtype=np.intp)] = True
            whole = np.unique(places[inside & (places >= 0)])  # codes below 0 are those that no record has
            if not np.isin(places[~inside], whole).any():
                levels[name][level] = CodeSet.of(whole.tolist())
    return levels


def seen_over(
    query: LinearQuery, scope: Clique, levels: Mapping[str, Mapping[str, CodeSet]] | None = None
) -> LinearQuery | None:
    """The query over variables that those of a scope determine: itself, or the same over levels; else None.

    Args:
        query: The query.
        scope: The variables.
        levels: The levels that decide its condition, where they are known already.
    """
    if set(query.scope).issubset(scope):
        return query
    domain = query.domain
    missing = [name for name in query.scope if not domain.determines(scope, name)]
    if not missing:
        return query
    levels = _levels(query) if levels is None else levels
    if not all(levels.get(name) for name in missing) or not isinstance(query, Conjunction):
        return None
    codes = dict(zip(query.scope, query.codes, strict=True))
    for name in missing:
        level = next((level for level in levels[name] if domain.determines(scope, level)), None)
        if level is None:
            return None
        del codes[name]
        codes[level] = levels[name][level]
    return Conjunction.where(domain, codes)


def _from_table(
    queries: Sequence[LinearQuery], target: Marginal | Blocks, measurement: Measurement
) -> Iterator[Estimated]:
    """Estimates if each query has one value in each block, and is 0 at all cells that were left out."""
    shape, domain = target.domain.shape_of(target.scope), target.domain
    scope = domain.clique({name for query in queries for name in query.scope})
    if isinstance(target, Marginal) and target.within is None and set(scope) <= set(target.scope):
        beside = tuple(axis for axis, name in enumerate(target.scope) if name not in scope)
        sums = measurement.values.reshape(shape).sum(axis=beside)
        spread = (spread_over(domain, query.values(), query.scope, scope) for query in queries)
        weights = np.stack([np.broadcast_to(each, sums.shape).reshape(-1) for each in spread])
        yield _from_noise(sums.reshape(-1), weights, target.size // sums.size, measurement)
        return
    found = list[Floats]()
    for query in queries:
        table = np.broadcast_to(spread_over(domain, query.values(), query.scope, target.scope), shape)
        found.append(np.zeros(target.size) if isinstance(target, Blocks) else target.of_table(table))
        if isinstance(target, Blocks):
            found[-1][target.places] = table
        if not np.array_equal(target.to_table(found[-1]), table):
            return
    yield _from_noise(measurement.values, np.stack(found), 1, measurement)


def _from_noise(cells: Floats, weights: Floats, copies: int, measurement: Measurement) -> Estimated:
    """Sums of noisy numbers times weights, a row each; every number has the noise of some copies."""
    step = step_of(measurement.target)
    noise = Noises.of(measurement.noise, measurement.scale, np.ones(1), copies=copies, step=step)
    return Estimated(weights @ cells, ((weights, noise),), (measurement.target.text,))


def same_query(one: LinearQuery, other: LinearQuery) -> bool:
    """Whether two queries have the same values on all cells.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import Explicit
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


def from_workload_error(
    query: LinearQuery,
    value: float,
    *,
    workload: Workload,
    error: WorkloadError,
    neighbours: Neighbours,
    total_slack: float,
) -> Evidence | None:
    """Evidence around the model's answer from the noisy maximum error, if the workload determines the query.

    Args:
        query: The query.
        value: The model's answer, in counts.
        workload: The workload of the error estimate.
        error: Noisy maximum of its error.
        neighbours: Neighbouring relation of the sensitivities that are the units of the error.
        total_slack: Bound on the error of the model's number of records, in counts: 0 if that is public, infinite if
            nothing is known about it.

    Returns:
        The evidence with the smallest public factors, or None.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.privacy.mechanisms import LaplaceNoise
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> noise = LaplaceNoise(2.0)
        >>> evidence = from_workload_error(
        ...     Conjunction.where(domain, {"a": [1]}),
        ...     50.0,
        ...     workload=Workload.marginals(domain, 2),
        ...     error=WorkloadError(20.0, 20.0, noise, noise, n_candidates=1, unit=1.0),
        ...     neighbours=Neighbours.REPLACE,
        ...     total_slack=0.0,
        ... )
        >>> evidence.centre, round(evidence.radius(0.05))
        (50.0, 25)
    """
    reaches = [reach for reach in _reaches(query, workload, neighbours, total_slack) if math.isfinite(reach[1])]
    if not reaches:
        return None
    factor, offset = min(reaches, key=lambda reach: reach[0] * max(1.0, error.maximum_noise.std) + reach[1])

    def radius(risk: float) -> float:
        return factor * (error.maximum_bound(1.0 - risk) + GRID) + offset

    return Evidence(value, radius, "the noisy maximum error of the workload")


def _reaches(
    query: LinearQuery, workload: Workload, neighbours: Neighbours, total_slack: float
) -> Iterator[tuple[float, float]]:
    """Pairs (factor, offset): the answer is off by at most ``factor * maximum + offset``."""
    low, high = query.bounds
    shift = 0.5 * abs(low + high) * total_slack if low + high else 0.0
    levels, names = _levels(query), set(query.scope)
    alone = not any(levels.values()) and query.scope == query.domain.base(query.scope)
    for family in workload.families:
        single = float(family.sensitivities(neighbours.single).max())
        unit = (single + GRID) * _UNIT_ROUNDING
        if not family.tabular:
            if _is_candidate(query, family):
                yield unit, 1.5 * GRID
            continue
        scopes = [each for each in family.scopes if names.issubset(each)] if alone else family.scopes
        over = ((seen_over(query, scope, levels), scope) for scope in scopes)
        containing = [(seen, scope) for seen, scope in over if seen is not None]
        if family.whole and containing:
            least = min(math.prod(workload.domain.shape_of(scope)) for _, scope in containing)
            yield 0.5 * (high - low) * unit, shift + 0.5 * (high - low) * GRID * least
        elif containing:
            cells = math.inf
            for seen, scope in containing:  # the sum of the query's absolute values over the cells of a table
                values = spread_over(seen.domain, np.abs(seen.values()), seen.scope, scope)
                cells = min(cells, float(values.sum()) * math.prod(seen.domain.shape_of(scope)) / values.size)
            yield cells * unit, 1.5 * cells * GRID  # the answers are rounded to the nearest, the error down


def _is_candidate(query: LinearQuery, family: Family) -> bool:
    if query.scope not in family.scopes:
        return False
    if family.conjunctive and isinstance(query, Explicit) and not np.isin(query.vector, (0.0, 1.0)).all():
        return False  # which need not be compared with every condition
    alike = np.flatnonzero(family.scope_of == family.scopes.index(query.scope))
    candidates = (family.candidate(index) for index in alike[:_LARGEST_SEARCH].tolist())
    return any(isinstance(candidate, LinearQuery) and same_query(query, candidate) for candidate in candidates)
