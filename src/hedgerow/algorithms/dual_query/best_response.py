"""Sampled queries as weighted conjunctions: the problem that a best-response oracle solves (theory.md section 5).

Queries are scaled to [0, 1] and their complements count too. The sum of the sampled queries at a record x is

    constant + sum over conjunctions j of weight_j * [x satisfies conjunction j]

with the translation of one query q of width w = high - low and net weight m (times drawn, less times the complement
was drawn): a conjunction is itself; a parity (1 + chi) / 2 is the sum of its even cells, or one less the sum of its
odd ones; any other query is the sum of its cells, each by (q - low) / w. A complement adds 1 to the constant and the
negative weights of its query.

Conditions on derived attributes are told as ones on the attributes that they are made from. Boxes of codes that a
constraint rules out are conjunctions too, each with a weight of -(s + 1) for s drawn queries. A record that breaks a
constraint is then worth less than 0, and every other its sum, from 0 to s: the best record is the best one that can
exist, and a bound on the value of all is one on theirs.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from hedgerow.algorithms.dual_query.boxes import check_boxes, forbidden, over_attributes
from hedgerow.algorithms.dual_query.oracles import BestResponseProblem, Oracle, Response, TabuSearch
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, CodeSet, Domain
from hedgerow.errors import ConfigError, QueryError
from hedgerow.models import Footprint, Hypothesis, hypothesis
from hedgerow.queries import Conjunction, LinearQuery, Parity, Workload

LARGEST_SCOPE = 1 << 12
"""Cells of the largest scope of a query that is neither a conjunction nor a box: each cell may become a conjunction."""


def check_queries(workload: Workload) -> None:
    """Refuse queries and constraints whose translation would be too long.

    Raises:
        ConfigError: A parity or a query given by its values spans too many cells; a condition on a function of several
            attributes, or the constraints, come down to too many conjunctions.
        ModelTooLargeError: The constraints hang together too much for a record to be drawn.

    Example:
        >>> from hedgerow import IntegerRange
        >>> check_queries(Workload.parities(Domain(IntegerRange(name, 0, 1) for name in "abc"), 3))
    """
    if workload.domain.constraints:
        forbidden(workload.domain)
        Footprint.of(workload.domain, ()).check()
    for family in workload.families:
        for scope in family.scopes:
            check_boxes(family.domain, scope)
        if family.conjunctive:
            continue
        scope = max(family.scopes, key=family.domain.cells)
        cells = family.domain.cells(scope)
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
        The problem; its values are between 0 and s, or below 0 for records that break a constraint. Weights are whole
        numbers but for queries given by their values.

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
        terms += [(part, weight) for condition, weight in translated for part in over_attributes(condition)]
    terms += [(condition, -(len(indices) + 1.0)) for condition in forbidden(workload.domain)]
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


class FeasibleOracle:
    """Another oracle, but for records that break a constraint: then a search from records that do not.

    Tabu search keeps the best record that it meets, and those that break a constraint are worth less than its start,
    so that it ends with one that can exist.

    Attributes:
        oracle: The other oracle.
        domain: Domain of the problems.
    """

    def __init__(self, oracle: Oracle, domain: Domain) -> None:
        """Nothing is drawn unless it has to be."""
        self.oracle, self.domain = oracle, domain

    def best(self, problem: BestResponseProblem, seed: np.random.Generator) -> Response:
        """Find a record of large value that can exist.

        Args:
            problem: A problem of `sampled_problem`.
            seed: Given to the oracle, then used for starts.
        """
        response = self.oracle.best(problem, seed)
        rules = ((rule, self.domain.axes(rule.scope)) for rule in self.domain.constraints)
        if all(rule.holds([response.codes[axis] for axis in axes]) for rule, axes in rules):
            return response
        search = TabuSearch()
        better = search.improved(problem, self._uniform.sample(search.restarts, seed=seed), seed)
        return Response(better.codes, better.value, response.bound)

    @cached_property
    def _uniform(self) -> Hypothesis:
        return hypothesis(self.domain, 1.0)
