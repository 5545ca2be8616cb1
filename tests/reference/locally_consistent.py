"""Tables that agree, by dense linear algebra: a matrix over all cells of the domain, and least-distance programming."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import nnls

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.queries import Marginal, Measurement
from tests.reference.least_squares import rows_of


def summing(domain: Domain, scopes: Sequence[Clique]) -> Floats:
    """The cells of all tables as sums over the cells of the domain, shape ``(cells of tables, cells)``."""
    return np.concatenate([rows_of(Marginal(domain, scope), domain) for scope in scopes])


def estimates(domain: Domain, scopes: Sequence[Clique], measurements: Sequence[Measurement], total: float) -> Floats:
    """Weighted least squares: the tables of the nearest distribution over the cells, negative ones too."""
    rows = [rows_of(each.target, domain) / each.std for each in measurements]
    values = np.concatenate([each.values / each.std / total for each in measurements])
    everything = np.concatenate(rows)
    start, free = np.full(domain.size, 1.0 / domain.size), null_space(np.ones((1, domain.size)))
    moved = np.linalg.lstsq(everything @ free, values - everything @ start, rcond=1e-11)[0]
    return np.asarray(summing(domain, scopes) @ (start + free @ moved))


def nearest_positive(
    domain: Domain, scopes: Sequence[Clique], tables: Floats, weights: Floats, impossible: Floats | None = None
) -> Floats:
    """The nearest tables that agree, sum to 1 and are nowhere negative (Lawson and Hanson 1974, chapter 23).

    Args:
        domain: The domain.
        scopes: Variables of each table.
        tables: All their cells, which need not agree.
        weights: A positive weight for each cell.
        impossible: For each cell whether it must be 0.
    """
    sums = summing(domain, scopes)
    start, free = np.full(domain.size, 1.0 / domain.size), null_space(np.ones((1, domain.size)))
    base, span = sums @ start, sums @ free
    possible = np.ones(len(base), dtype=bool) if impossible is None else ~impossible.astype(bool)
    if not possible.all():
        held = span[~possible]
        base = base + span @ np.linalg.lstsq(held, -base[~possible], rcond=1e-11)[0]
        span = span @ null_space(held)
    left, sizes, right = np.linalg.svd(np.sqrt(weights)[:, None] * span, full_matrices=False)
    used = sizes > 1e-9
    span = span @ right[used].T / sizes[used]
    best = left[:, used].T @ (np.sqrt(weights) * (tables - base))
    sides, height = span[possible], -(base + span @ best)[possible]
    wanted = np.append(np.zeros(span.shape[1]), 1.0)
    multipliers, _ = nnls(np.concatenate([sides.T, height[None]]), wanted, maxiter=10_000)
    residual = np.append(sides.T @ multipliers, height @ multipliers - 1.0)
    moved = -residual[:-1] / residual[-1] if np.abs(residual[-1]) > 1e-14 else np.zeros(span.shape[1])
    return np.asarray(base + span @ (best + moved))
