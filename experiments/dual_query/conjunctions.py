"""Three-way conjunctions on the eight categorical attributes of Adult: all of them, or some that are drawn."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

from hedgerow.domain import Domain
from hedgerow.queries import Conjunction, Workload
from hedgerow.system import generator

ATTRIBUTES = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)
ORDER = 3


@lru_cache(maxsize=4)
def all_cells(domain: Domain) -> Workload:
    """One value of each of three attributes: the cells of all 3-way marginals, each a query of its own.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> all_cells(Domain(IntegerRange(name, 0, 1) for name in "abc")).n_queries
        8
    """
    return Workload.marginals(domain, ORDER, whole=False)


@lru_cache(maxsize=4)
def whole_marginals(domain: Domain) -> Workload:
    """The same cells in the same order; cells of one marginal are measured together."""
    return Workload.marginals(domain, ORDER)


@lru_cache(maxsize=4)
def drawn(domain: Domain, count: int, seed: int) -> Workload:
    """Distinct conjunctions: three attributes are drawn uniformly, then a value of each; what was drawn before is left.

    Args:
        domain: The attributes.
        count: Number of conjunctions; fewer than there are.
        seed: Seed of the draw. A larger number of conjunctions with the same seed begins with the same ones.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abcd")
        >>> few, more = drawn(domain, 5, 0), drawn(domain, 8, 0)
        >>> few.candidate(4) == more.candidate(4)
        True
    """
    rng, scopes = generator(seed), list(combinations(domain.names, ORDER))
    found: dict[tuple[tuple[str, int], ...], None] = {}
    while len(found) < count:
        scope = scopes[rng.integers(len(scopes))]
        found[tuple((name, int(rng.integers(domain[name].size))) for name in scope)] = None
    where = [{name: [code] for name, code in cell} for cell in found]
    return Workload.conjunctions(domain, [Conjunction.where(domain, codes) for codes in where])
