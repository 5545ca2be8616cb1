"""Best responses by tabu search: fast, good, and without a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.algorithms.dual_query.oracles.problem import BestResponseProblem, Response
from hedgerow.algorithms.dual_query.oracles.reduced import kernels
from hedgerow.errors import ConfigError
from hedgerow.system import Seed, generator


@final
@dataclass(frozen=True)
class TabuSearch:
    """Tabu search over single changes of attributes, from several greedy starts.

    A start fixes the attributes in random order, each at the code with the best expected value while the others are
    uniform, so it is worth at least the mean over all records. The search then always takes the best change that is not
    forbidden; the code that an attribute leaves is forbidden for a while, unless it would lead to a new best.

    Attributes:
        restarts: Number of starts.
        patience: Changes without a new best after which a start is given up.
        tenure: Fewest changes for which a code stays forbidden; the number is drawn from ``tenure`` to ``2 tenure``.
            Small problems use less: a quarter of the changes that are possible.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.domain import Domain
        >>> from hedgerow.queries.core.query import Conjunction
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> both = Conjunction.where(domain, {"a": [1], "b": [0]})
        >>> response = TabuSearch().best(BestResponseProblem(domain, [both], [2.0]), seed=0)
        >>> response.codes, response.value
        (array([1, 0]), 2.0)
    """

    restarts: int = 8
    patience: int = 500
    tenure: int = 8

    def __post_init__(self) -> None:
        """Check the numbers."""
        if min(self.restarts, self.patience, self.tenure) < 1:
            raise ConfigError(
                "restarts, patience and tenure of a tabu search are at least 1", remedy="leave them at their defaults"
            )

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        """The best record that was met."""
        rng = generator(seed)
        reduced = problem.reduced
        state = rng.integers(2**64, size=1, dtype=np.uint64)
        spots = np.empty(reduced.sizes.size, dtype=np.int64)
        tenure = max(1, min(self.tenure, int(reduced.sizes.sum() - reduced.sizes.size) // 4))
        kernels().search(reduced.clauses, self.restarts, self.patience, tenure, state, spots)
        codes = reduced.decode(spots, rng)
        return Response(codes, problem.value(codes))
