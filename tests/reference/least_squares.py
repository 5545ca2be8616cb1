"""Best linear unbiased estimates by dense linear algebra: every cell of the domain is a parameter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import null_space

from hedgerow.algorithms.strategies import Step
from hedgerow.arrays import Floats
from hedgerow.domain import Domain, places_in
from hedgerow.privacy import Budget, additive_noise, noises_of, step_of
from hedgerow.queries import LinearQuery, Measurable


def rows_of(target: Measurable | None, domain: Domain) -> Floats:
    """The values of a query, or of all cells of a marginal, on every cell of the domain; 1 for no query."""
    if target is None:
        return np.ones((1, domain.size))
    places = places_in(domain, domain.names, target.scope).reshape(-1)
    if isinstance(target, LinearQuery):
        return target.values().reshape(1, -1)[:, places]
    return (places == np.arange(target.size)[:, None]).astype(np.float64)


def variance_of(target: Measurable | None, charge: float, budget: Budget) -> float:
    """The variance of the noise of one measured value."""
    l1, l2, step = 1.0, 1.0, 1.0
    if target is not None:
        found = target.sensitivity(budget.neighbours)
        l1, l2, step = found.l1, found.l2, step_of(target)
    return additive_noise(budget.regime, charge, l1=l1, l2=l2, step=step, kind=None).std ** 2


def estimated_variances(steps: Sequence[Step], asked: Floats, domain: Domain, budget: Budget) -> Floats:
    """The variances of the best linear unbiased estimates of queries.

    Args:
        steps: The measurements.
        asked: Values of the queries on the cells, shape ``(queries, cells)``.
        domain: The domain.
        budget: The budget, whose relation says whether the number of records is known.
    """
    known = np.zeros((domain.size, domain.size))
    targets = [(step.target, step.charge) for step in steps if step.target is not None]
    noises = iter(noises_of(targets, budget, None))  # parities share noise under "replace"
    for step in steps:
        rows = rows_of(step.target, domain)
        counted = step.target is None
        known += rows.T @ rows / (variance_of(None, step.charge, budget) if counted else next(noises).std ** 2)
    free = null_space(np.ones((1, domain.size))) if budget.neighbours.public_total else np.eye(domain.size)
    seen = free.T @ known @ free
    inverse = np.linalg.pinv(seen, rcond=1e-11, hermitian=True)
    inside = asked @ free
    assert np.allclose(inside @ inverse @ seen, inside, atol=1e-6)  # otherwise a query cannot be told
    return np.einsum("ij,jk,ik->i", inside, inverse, inside)
