"""The slow, obvious optimum of tables over levels: all equations of a step of Newton's method, as one dense system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats


def optimum(mu: Floats, rows: Sequence[Floats], targets: Sequence[Floats], lengths: Sequence[float]) -> Floats:
    """The p that minimises ``KL(p || mu) + sum(t |y - A p|**2) / 2`` among those that sum to 1.

    Args:
        mu: Positive, sums to 1, shape ``(cells,)``.
        rows: For each table the matrix A of zeros and ones that sums its cells, shape ``(size, cells)``.
        targets: For each table the answers y.
        lengths: For each table t.
    """

    def value(p: Floats) -> float:
        pulls = (t * float(np.sum((y - a @ p) ** 2)) for a, y, t in zip(rows, targets, lengths, strict=True))
        return float(p @ np.log(p / mu)) + 0.5 * sum(pulls)

    p = mu.copy()
    for _ in range(2000):
        gradient = np.log(p / mu) + 1.0
        system = np.zeros((len(p) + 1, len(p) + 1))
        system[:-1, :-1] = np.diag(1.0 / p)
        system[:-1, -1] = system[-1, :-1] = 1.0
        for a, y, t in zip(rows, targets, lengths, strict=True):
            gradient -= t * a.T @ (y - a @ p)
            system[:-1, :-1] += t * a.T @ a
        moved = np.linalg.solve(system, np.append(-gradient, 0.0))[:-1]
        step = min(1.0, 0.9 / max(1e-300, float((-moved / p).max())))
        while step > 1e-12 and value(p + step * moved) > value(p) + 1e-13:
            step *= 0.5
        p = p + step * moved
        p /= p.sum()
        if np.abs(moved).max() < 1e-15:
            break
    return p
