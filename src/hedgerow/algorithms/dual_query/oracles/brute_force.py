"""Best responses by looking at every record: for small domains, and to check the other oracles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.algorithms.dual_query.oracles.problem import BestResponseProblem, Response
from hedgerow.algorithms.dual_query.oracles.reduced import Reduced
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.system import Seed, generator


@final
@dataclass(frozen=True)
class BruteForce:
    """Values every combination of codes that the conjunctions tell apart, and takes the first of the best.

    Combinations are in the order of the domain, the last attribute fastest; codes that no conjunction tells apart
    count as one, and the response draws among them.

    Attributes:
        cells: Most combinations that are looked at.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> both = Conjunction.where(domain, {"a": [1], "b": [0]})
        >>> BruteForce().best(BestResponseProblem(domain, [both], [2.0]), seed=0)
        Response(codes=array([1, 0]), value=2.0, bound=2.0, proved=True)
    """

    cells: int = 1 << 20

    def __post_init__(self) -> None:
        """Check the number."""
        if self.cells < 1:
            raise ConfigError("a search of all records looks at 1 or more", remedy="leave cells at its default")

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """The best record.

        Raises:
            ConfigError: There are more combinations than ``cells``.
        """
        reduced = problem.reduced
        combinations = math.prod(reduced.sizes.tolist())
        if combinations > self.cells:
            raise ConfigError(
                f"the conjunctions tell {combinations:,} records apart; at most {self.cells:,} are looked at",
                remedy="use TabuSearch, or MaxSat where a proof is wanted",
            )
        values = _values(reduced)
        classes = np.array(np.unravel_index(int(values.argmax()), values.shape), dtype=np.int64)
        spots = reduced.clauses.offset[:-1].copy()
        spots[reduced.sizes > 1] += classes
        codes = reduced.decode(spots, generator(seed))
        value = problem.value(codes)
        return Response(codes, value, reduced.bound(int(values.max()), value), proved=True)


def _values(reduced: Reduced) -> Floats:
    """Whole values of all combinations; attributes with one class have no axis. Sums of whole weights are exact."""
    axes = np.flatnonzero(reduced.sizes > 1)
    shape = tuple(reduced.sizes[axes].tolist())
    values = np.zeros(shape)
    for scope, table in _scopes(reduced).items():
        inside = np.isin(axes, scope)
        values += table.reshape(np.where(inside, shape, 1))
    return values


def _scopes(reduced: Reduced) -> dict[tuple[int, ...], Floats]:
    """Sums of clauses over the same attributes, as tables over their classes."""
    c = reduced.clauses
    tables: dict[tuple[int, ...], Floats] = {}
    for j, weight in enumerate(c.weight):
        literals = c.literal[c.start[j] : c.start[j + 1]]
        scope = tuple(c.literal_attribute[literals].tolist())
        table = tables.setdefault(scope, np.zeros(reduced.sizes[list(scope)]))
        spots = [c.literal_spots[c.literal_start[k] : c.literal_start[k + 1]] for k in literals]
        table[np.ix_(*(part - c.offset[a] for part, a in zip(spots, scope, strict=True)))] += weight
    return tables
