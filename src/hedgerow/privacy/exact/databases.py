"""Scores of small databases: how badly each answers its worst query, exact as in `scores` (theory.md section 8).

The score of database y is ``-max over q of |q(B) - answer_q(y)|`` in counts, for single queries. One record moves each
absolute error by at most the query's L1 sensitivity (triangle inequality), hence the maximum by at most the largest of
these: ``max e_q <= max (e'_q + l1_q) <= max e'_q + max l1_q``. The public answers are multiples of 2^-10, so that
differences are exact; the maximum is rounded down to such a multiple, and the sensitivity up (points 1 and 2 there).
"""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.errors import QueryError
from hedgerow.privacy.exact.lattice import LARGEST_MASS
from hedgerow.privacy.exact.scores import GRID, grid_sensitivity
from hedgerow.queries import Neighbours, Workload

_BLOCK = 2**20
"""Differences that are held at once."""


def public_databases(workload: Workload, answers: Floats) -> Floats:
    """Answers of databases, on the grid.

    Args:
        workload: Single queries.
        answers: In counts, shape ``(n_databases, n_queries)``.

    Raises:
        QueryError: A candidate is a whole marginal, the shape is wrong, or answers are not finite or beyond 2^31.
    """
    given = np.asarray(answers, dtype=np.float64)
    if workload.n_candidates != workload.n_queries:
        raise QueryError(
            "databases are scored by single queries, not by whole marginals", remedy="use workload.by_query()"
        )
    if given.ndim != 2 or not len(given) or given.shape[1] != workload.n_queries:
        raise QueryError(
            f"databases need one row of {workload.n_queries} answers each, not an array of shape {given.shape}"
        )
    if not np.isfinite(given).all() or np.abs(given).max() > LARGEST_MASS:
        raise QueryError("the answers of a database are not finite, or beyond 2^31")
    return np.rint(given / GRID) * GRID


def database_sensitivity(workload: Workload, neighbours: Neighbours) -> float:
    """How far one record moves the score of any database, in counts, exact."""
    return float(grid_sensitivity(workload.sensitivities(neighbours).max()))


def database_scores(exact: Floats, answers: Floats) -> Floats:
    """Minus the largest absolute error of each database in counts, rounded down to the grid. Private.

    Args:
        exact: Exact answers, shape ``(n_queries,)``.
        answers: What `public_databases` returned.

    Returns:
        Shape ``(n_databases,)``.

    Example:
        >>> database_scores(np.array([3.0, 1.0]), np.array([[4.0, 1.5], [0.0, 1.0]]))
        array([-1., -3.])
    """
    rows = max(1, _BLOCK // answers.shape[1])
    blocks = [answers[first : first + rows] for first in range(0, len(answers), rows)]
    worst = np.concatenate([np.abs(block - exact).max(axis=1) for block in blocks])
    return np.asarray(-np.floor(worst / GRID) * GRID)
