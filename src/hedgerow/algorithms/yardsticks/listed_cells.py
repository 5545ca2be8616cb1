"""Singular values of the matrix of a workload whose cells are listed one by one.

This is for what has no structure that `spectrum` could use: derived attributes, whose values stand for different
numbers of records, and constraints. A column of W is a combination of values of the attributes that the workload looks
at, as far as any record can have it: a mechanism for records that can exist is one for these columns, too, run on one
record for each of them.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain, places_in, possible_cells
from hedgerow.errors import QueryError
from hedgerow.queries import LinearQuery, Workload

LARGEST_LISTED = 2**24
"""Most values of a matrix that are listed."""
LARGEST_SIDE = 4096
"""Most cells or queries, whichever are fewer."""


def needs_cells(workload: Workload) -> bool:
    """Whether constraints or derived attributes are about.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99),))
        >>> [needs_cells(Workload.parse(f"marginals:{name}", domain)) for name in ("age", "age.10")]
        [False, True]
    """
    domain = workload.domain
    return bool(domain.constraints) or any(domain.base(scope) != scope for scope in workload.scopes)


def looked_at(workload: Workload) -> Clique:
    """The attributes that a workload looks at, itself or by what is derived from them."""
    return workload.domain.base(name for scope in workload.scopes for name in scope)


def possible_columns(domain: Domain, scope: Clique) -> Ints:
    """The cells of some attributes that any record is in, flat.

    Raises:
        QueryError: They are too many to be listed.

    Example:
        >>> from hedgerow import IntegerRange
        >>> from hedgerow.domain import impossible
        >>> free = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> possible_columns(Domain(free.attributes, (), [impossible(free, "a = 1 and b = 0")]), ("a", "b"))
        array([0, 1, 3])
    """
    possible = possible_cells(domain, scope)
    if possible is None:
        raise _too_many(f"the cells of {' * '.join(scope)}")
    return np.flatnonzero(possible)


def listed_rows(workload: Workload, *, weighted: bool) -> Floats:
    """The matrix of a workload over the cells that records can be in, shape ``(n_queries, cells)``.

    Args:
        workload: The queries; a whole marginal counts as its cells.
        weighted: Whether every row is multiplied by its weight in the workload.

    Raises:
        QueryError: It is too large.

    Example:
        >>> from hedgerow import IntegerRange
        >>> listed_rows(Workload.parse("prefixes:a", Domain((IntegerRange("a", 0, 2),))), weighted=False)
        array([[1., 0., 0.],
               [1., 1., 0.],
               [1., 1., 1.]])
    """
    domain, single, scope = workload.domain, workload.by_query(), looked_at(workload)
    columns = possible_columns(domain, scope)
    shape = single.n_queries, len(columns)
    if math.prod(shape) > LARGEST_LISTED or min(shape) > LARGEST_SIDE:
        raise _too_many(f"{shape[0]:,} queries over {shape[1]:,} cells of {' * '.join(scope)}")
    weights = single.candidate_weights if weighted else np.ones(single.n_queries)
    rows, places = np.empty(shape), dict[Clique, Ints]()
    for number, weight in enumerate(weights.tolist()):
        query = single.candidate(number)
        if not isinstance(query, LinearQuery):
            raise QueryError(f"{query.text!r} is not a single query", remedy="use workload.by_query()")
        if query.scope not in places:
            places[query.scope] = places_in(domain, scope, query.scope).reshape(-1)[columns]
        rows[number] = weight * query.values().reshape(-1)[places[query.scope]]
    return rows


def listed_norm(workload: Workload, *, centred: bool, weighted: bool) -> float:
    """The sum of the singular values of `listed_rows`, over the square root of the number of cells.

    Args:
        workload: The queries.
        centred: Whether the mean of every query over the cells is taken off it first.
        weighted: Whether every row is multiplied by its weight in the workload.

    Raises:
        QueryError: The matrix is too large.

    Example:
        >>> from hedgerow import IntegerRange
        >>> workload = Workload.parse("marginals:a", Domain((IntegerRange("a", 0, 3),)))
        >>> listed_norm(workload, centred=False, weighted=False)
        2.0
    """
    rows = listed_rows(workload, weighted=weighted)
    if centred:
        rows -= rows.mean(axis=1)[:, None]
    gram = rows.T @ rows if rows.shape[1] <= rows.shape[0] else rows @ rows.T
    return root_sum(gram / rows.shape[1])


def root_sum(matrix: Floats) -> float:
    """Sum of the roots of the eigenvalues of a symmetric matrix, without those that are rounding alone.

    Example:
        >>> root_sum(np.diag([4.0, 9.0, 0.0]))
        5.0
    """
    values = np.linalg.eigvalsh(matrix) if len(matrix) else np.zeros(1)
    rounding = len(values) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    return math.fsum(np.sqrt(values[values > rounding]).tolist())


def _too_many(what: str) -> QueryError:
    return QueryError(
        f"the singular values of {what} are not computed where derived attributes or constraints are about",
        remedy="ask about fewer attributes or values",
    )
