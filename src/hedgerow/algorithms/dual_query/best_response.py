"""Sampled queries as weighted conjunctions: the problem that a best-response oracle solves (theory.md section 5).

Queries are scaled to [0, 1] and their complements count too. The sum of the sampled queries at a record x is

    constant + sum over conjunctions j of weight_j * [x satisfies conjunction j]

with the translation of one query q of width w = high - low and net weight m (times drawn, less times the complement
was drawn): a conjunction is itself; a parity (1 + chi) / 2 is the sum of its even cells, or one less the sum of its
odd ones; any other query is the sum of its cells, each by (q - low) / w. A complement adds 1 to the constant and the
negative weights of its query.
"""

import math
from collections.abc import Iterator

import numpy as np

from hedgerow.algorithms.dual_query.oracles import BestResponseProblem
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError, QueryError
from hedgerow.queries import CodeSet, Conjunction, LinearQuery, Parity, Workload

LARGEST_SCOPE = 1 << 12
"""Cells of the largest scope of a query that is neither a conjunction nor a box: each cell may become a conjunction."""


def check_queries(workload: Workload) -> None:
    """Refuse queries whose translation would be too long.

    Raises:
        ConfigError: A parity or a query given by its values spans too many cells.

    Example:
        >>> from hedgerow import IntegerRange
        >>> check_queries(Workload.parities(Domain(IntegerRange(name, 0, 1) for name in "abc"), 3))
    """
    for family in workload.families:
        if family.conjunctive:
            continue
        scope = max(family.scopes, key=lambda each: math.prod(family.domain.shape_of(each)))
        cells = math.prod(family.domain.shape_of(scope))
        if cells > LARGEST_SCOPE:
            raise ConfigError(
                f"a query over {' * '.join(scope)} is a sum of up to {cells:,} cells, too many for a best response",
                remedy=f"ask for parities of at most {LARGEST_SCOPE.bit_length() - 1} attributes, and give values for "
                f"at most {LARGEST_SCOPE:,} cells",
            )


def sampled_problem(workload: Workload, drawn: Ints) -> BestResponseProblem:
    """State the problem: which record has the largest sum of drawn queries and complements?

    Args:
        workload: K single queries.
        drawn: Index k below K is query k, K + k its complement; shape ``(s,)``.

    Returns:
        The problem; its values are between 0 and s. Weights are whole numbers but for queries given by their values.

    Raises:
        QueryError: An index does not exist.

    Example:
        >>> from hedgerow import IntegerRange
        >>> workload = Workload.parse("cells:a", Domain([IntegerRange("a", 0, 1)]))
        >>> problem = sampled_problem(workload, np.array([0, 0, 3, 1, 3]))  # the complement of query 1 is there twice
        >>> problem.value([0]), problem.value([1])
        (4.0, 1.0)
    """
    n, indices = workload.n_queries, np.asarray(drawn, dtype=np.int64)
    if not ((indices >= 0) & (indices < 2 * n)).all():
        raise QueryError(f"a drawn index is out of range: there are {n:,} queries and as many complements")
    which, place = np.unique(indices % n, return_inverse=True)
    net = np.bincount(place, weights=np.where(indices < n, 1.0, -1.0), minlength=len(which))
    constant = float((indices >= n).sum())
    terms: list[tuple[Conjunction, float]] = []
    for index, times in zip(which[net != 0.0].tolist(), net[net != 0.0].tolist(), strict=True):
        query = workload.candidate(index)
        if not isinstance(query, LinearQuery):
            raise QueryError("whole marginals have no best response", remedy="use workload.by_query()")
        base, translated = _translated(query, times)
        constant += base
        terms += translated
    weights = [weight for _, weight in terms]
    return BestResponseProblem(workload.domain, [condition for condition, _ in terms], weights, constant)


def _translated(query: LinearQuery, times: float) -> tuple[float, Iterator[tuple[Conjunction, float]]]:
    """``times`` times the query scaled to [0, 1]: a constant, and weighted conjunctions."""
    if isinstance(query, Conjunction):
        return 0.0, iter([(query, times)])
    low, high = query.bounds
    weights = times * (query.values() - low) / (high - low)
    if isinstance(query, Parity) and times < 0.0:  # as many cells, but positive weights
        return times, _cells(query.domain, query.scope, weights - times)
    return 0.0, _cells(query.domain, query.scope, weights)


def _cells(domain: Domain, scope: Clique, weights: Floats) -> Iterator[tuple[Conjunction, float]]:
    for cell in np.argwhere(weights).tolist():
        yield Conjunction(domain, scope, tuple(CodeSet((code, code + 1)) for code in cell)), float(weights[tuple(cell)])
