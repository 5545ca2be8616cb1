"""Exact errors of answers, of released models and of guesses that need no mechanism. NOT PRIVATE."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.comparison.outcome import LARGEST, MEAN, RMSE
from hedgerow.domain import Clique, Domain, summed
from hedgerow.errors import ConfigError
from hedgerow.models import hypothesis
from hedgerow.privacy import exact_errors
from hedgerow.queries import Conjunction, Workload

_CHEAP_CELLS = 2**16


class Yardstick:
    """Measures answers against the exact ones; not private.

    Answers and exact answers are each divided by their own number of records, so that a noisy number of records does
    not count as an error of every answer. The error of a marginal is its total variation distance, half of the sum of
    absolute differences; the error of a single query is the absolute difference.

    Args:
        source: The table.
        workload: Queries whose answers are measured.

    Raises:
        ConfigError: The table has no record.

    Example:
        >>> import hedgerow, pyarrow
        >>> domain = hedgerow.Domain((hedgerow.IntegerRange("a", 0, 1), hedgerow.IntegerRange("b", 0, 1)))
        >>> table = hedgerow.read_table(pyarrow.table({"a": [0, 1, 1, 1], "b": [0, 1, 1, 1]}), domain)
        >>> yardstick = Yardstick(table, Workload.marginals(domain, 2))
        >>> yardstick.uniform()
        {'mean': 0.5, 'largest': 0.5, 'rmse': 0.306...}
        >>> yardstick.independent()["mean"]
        0.375
    """

    def __init__(self, source: Any, workload: Workload) -> None:
        """Learn the exact shares of the values of single attributes."""
        self.workload = workload
        self._source = source
        self._single = workload.by_query()
        self._halves = np.concatenate(
            [np.full(family.n_candidates, 0.5 if family.whole else 1.0) for family in workload.families]
        )
        cells = Workload.marginals(workload.domain, 1).by_query()
        counted = exact_errors(source, cells, np.zeros(cells.n_queries))  # the errors of 0 are the counts
        self.records = counted.total
        if self.records < 1:
            raise ConfigError("the table has no record to compare with", remedy="compare on a table that has some")
        ends = np.cumsum([attribute.size for attribute in workload.domain])[:-1]
        self._shares = np.split(counted.errors / self.records, ends)

    def errors(self, answers: Floats, total: float) -> dict[str, float]:
        """Errors by the names of the metrics.

        Args:
            answers: Answers to the workload, in counts, shape ``(n_queries,)``.
            total: Number of records that they speak of.
        """
        scaled = np.asarray(answers) * (self.records / total)
        single = exact_errors(self._source, self._single, scaled).errors / self.records
        candidates = self._halves * self.workload.candidate_errors(single)
        return {
            MEAN: float(candidates.mean()),
            LARGEST: float(candidates.max()),
            RMSE: float(np.sqrt(np.mean(np.square(single)))),
        }

    def uniform(self) -> dict[str, float]:
        """Errors of the uniform distribution over the records that can exist: the guess of someone who sees no data."""
        domain = self.workload.domain
        if domain.constraints:
            return self.errors(self.workload.answers(hypothesis(domain, 1.0)), 1.0)
        shares = [np.full(attribute.size, 1.0 / attribute.size) for attribute in domain]
        return self._product(shares)

    def independent(self) -> dict[str, float]:
        """Errors of the exact distributions of single attributes, multiplied: no correlation at all."""
        return self._product(self._shares)

    def _product(self, shares: Sequence[Floats]) -> dict[str, float]:
        return self.errors(self.workload.answers(ProductTables(self.workload.domain, shares)), 1.0)


class ProductTables:
    """The tables of independent attributes, with mass 1.

    Args:
        domain: The attributes.
        shares: For each attribute, the probabilities of its codes.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> ProductTables(domain, [np.array([0.5, 0.5]), np.array([0.25, 0.75])]).marginals([("a", "b")])[0].tolist()
        [[0.125, 0.375], [0.125, 0.375]]
    """

    def __init__(self, domain: Domain, shares: Sequence[Floats]) -> None:
        """Name the shares."""
        self._domain = domain
        self._shares = dict(zip(domain.names, shares, strict=True))

    @property
    def domain(self) -> Domain:
        """The domain of the records."""
        return self._domain

    @property
    def cheap_cells(self) -> int:
        """Larger tables take a while to multiply out."""
        return _CHEAP_CELLS

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """One table per clique of attributes and derived ones, of shape ``domain.shape_of(clique)``."""
        return [self._table(clique) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """The probability of each conjunction, shape ``(len(queries),)``."""
        return np.array([self._probability(query) for query in queries])

    def _table(self, clique: Clique) -> Floats:
        if self._independent(clique):
            return reduce(np.multiply.outer, [self._share(name) for name in clique], np.ones(()))
        base = self._domain.base(clique)
        return summed(self._domain, self._table(base), base, clique)

    def _probability(self, query: Conjunction) -> float:
        if not self._independent(query.scope):
            return float(query.of_table(self._table(query.scope))[0])
        conditions = zip(query.scope, query.codes, strict=True)
        return float(np.prod([self._share(name)[np.asarray(codes)].sum() for name, codes in conditions]))

    def _independent(self, clique: Clique) -> bool:
        """Whether no two variables are made from the same attribute."""
        return sum(len(self._domain.base((name,))) for name in clique) == len(self._domain.base(clique))

    def _share(self, name: str) -> Floats:
        """The probabilities of the codes of a variable."""
        if name not in self._shares:
            sources = self._domain.base((name,))
            self._shares[name] = summed(self._domain, self._table(sources), sources, (name,))
        return self._shares[name]
