"""Intervals from the noisy maximum error of the workload; ``answer.py`` has the derivation."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hedgerow.privacy import GRID, WorkloadError
from hedgerow.queries import Family, LinearQuery, Neighbours, Workload
from hedgerow.release.evidence.measured import Evidence, same_query

_UNIT_ROUNDING = 1.0 + 2.0**-9
"""The curator rounds what a count is worth down to 10 bits."""

_LARGEST_SEARCH = 20_000
"""Candidates of a family that are compared with the query one by one."""


def from_workload_error(
    query: LinearQuery,
    value: float,
    *,
    workload: Workload,
    error: WorkloadError,
    neighbours: Neighbours,
    total_slack: float,
) -> Evidence | None:
    """Evidence around the model's answer, if the workload determines the query.

    Args:
        query: What was asked.
        value: The model's answer, in counts.
        workload: What the error is over.
        error: Its noisy maximum.
        neighbours: Gives the sensitivities that the error is in units of.
        total_slack: Bound on the error of the model's number of records, in counts: 0 if that is public, infinite if
            nothing is known of it.

    Returns:
        The evidence with the smallest public factors, or None.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.privacy.mechanisms.additive_noise import LaplaceNoise
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> noise = LaplaceNoise(2.0)
        >>> found = from_workload_error(
        ...     Conjunction.where(domain, {"a": [1]}),
        ...     50.0,
        ...     workload=Workload.marginals(domain, 2),
        ...     error=WorkloadError(20.0, 20.0, noise, noise, n_candidates=1, unit=1.0),
        ...     neighbours=Neighbours.REPLACE,
        ...     total_slack=0.0,
        ... )
        >>> found.centre, round(found.radius(0.05))
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
    for family in workload.families:
        unit = (float(family.sensitivities(neighbours).max()) + GRID) * _UNIT_ROUNDING
        if not family.tabular:
            if _is_candidate(query, family):
                yield unit, 1.5 * GRID
            continue
        containing = [scope for scope in family.scopes if set(query.scope) <= set(scope)]
        sizes = [workload.domain.project(scope).size for scope in containing]
        if family.whole and containing:
            yield 0.5 * (high - low) * unit, shift + 0.5 * (high - low) * GRID * min(sizes)
        elif containing:
            cells = _weight_of_cells(query) * min(sizes) / query.domain.project(query.scope).size
            yield cells * unit, 1.5 * cells * GRID  # the answers are rounded to the nearest, the error down


def _weight_of_cells(query: LinearQuery) -> float:
    return float(np.abs(query.values()).sum())


def _is_candidate(query: LinearQuery, family: Family) -> bool:
    if query.scope not in family.scopes:
        return False
    alike = np.flatnonzero(family.scope_of == family.scopes.index(query.scope))
    candidates = (family.candidate(index) for index in alike[:_LARGEST_SEARCH].tolist())
    return any(isinstance(each, LinearQuery) and same_query(query, each) for each in candidates)
