"""Two linked tables released from one budget: a table of parents, and their children beside them.

The unit of privacy is the parent with all of its children. One that comes or goes changes one record of the parents'
table and at most m of the children's, so each table is released under its own part of the budget, and the parts add
up (theory.md section 0): epsilons, rhos or the mu^2 / 2 of Gaussian differential privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

from hedgerow.domain import Linked
from hedgerow.errors import ConfigError
from hedgerow.privacy import GDP, ZCDP, Budget, PureDP, Regime, Subsampled
from hedgerow.queries import Workload


def pairs_of_children(linked: Linked) -> Workload:
    """All pairs of columns of a child and its parent, but those of the parents alone, which are released with these.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> homes, people = Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)])
        >>> linked = Linked.of(homes, people, key="k", at_most=3)
        >>> pairs_of_children(linked).spec
        'marginals:a*b,children*b'
    """
    pairs = combinations(linked.joined.names, 2)
    return Workload.marginals(linked.joined, cliques=[pair for pair in pairs if not {*pair} <= {*linked.counted.names}])


def parts_of(budget: Budget, share: float) -> tuple[Budget, Budget]:
    """Two budgets that add up to one, as it is counted.

    Args:
        budget: The whole; an (epsilon, delta) budget is divided as the rho, mu^2 / 2 or epsilon that it stands for.
        share: Share of the first, between 0 and 1.

    Raises:
        ConfigError: The share is not between 0 and 1, or the budget is for a sample of the records.

    Example:
        >>> [part.limit for part in parts_of(PureDP(1.0), 0.25)]
        [0.25, 0.75]
    """
    if not 0.0 < share < 1.0:
        raise ConfigError(f"a share of {share!r}", remedy="give a number between 0 and 1")
    if isinstance(budget, Subsampled):
        raise ConfigError("a budget for a sample of the records is not divided", remedy="give one for all records")
    first = budget.limit * share
    second = budget.limit - first
    if Fraction(first) + Fraction(second) > Fraction(budget.limit):
        second = math.nextafter(second, 0.0)
    return _part(budget, first), _part(budget, second)


def _part(budget: Budget, amount: float) -> Budget:
    match budget.regime:
        case Regime.PURE:
            return PureDP(amount, budget.neighbours)
        case Regime.ZCDP:
            return ZCDP(amount, budget.neighbours)
        case Regime.GDP:
            return GDP(math.nextafter(math.sqrt(2.0 * amount), 0.0), budget.neighbours)
