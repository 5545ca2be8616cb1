"""A budget in two parts, for two tables of the same people: the parts add up to it, as it is counted."""

import math
from fractions import Fraction

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.budget import Budget
from hedgerow.privacy.budgets.limits import GDP, ZCDP, PureDP
from hedgerow.privacy.budgets.regime import Regime
from hedgerow.privacy.budgets.subsampling import Subsampled
from hedgerow.queries import Neighbours

SplitBudget = PureDP | ZCDP | GDP


def split_budget(budget: Budget, share: float) -> tuple[SplitBudget, SplitBudget]:
    """Two budgets that add up to one, as it is counted.

    Args:
        budget: The whole; an (epsilon, delta) budget is divided as the rho, mu^2 / 2 or epsilon that it stands for.
        share: Share of the first, between 0 and 1.

    Raises:
        ConfigError: The share is not between 0 and 1, or the budget is for a sample of the records.

    Example:
        >>> [part.limit for part in split_budget(PureDP(1.0), 0.25)]
        [0.25, 0.75]
    """
    if not 0.0 < share < 1.0:
        raise ConfigError(f"a share of {share!r}", remedy="give a number between 0 and 1")
    if isinstance(budget, Subsampled):
        raise ConfigError("a budget for a sample of the records is not divided", remedy="give one for all records")
    if budget.for_thresholds:
        raise ConfigError("a delta that is kept for thresholds is not divided", remedy="leave 'thresholds' out")
    if budget.fixed is not None:
        raise ConfigError("a fixed composition is not divided", remedy="leave the composition out")
    first = budget.limit * share
    second = budget.limit - first
    if Fraction(first) + Fraction(second) > Fraction(budget.limit):
        second = math.nextafter(second, 0.0)
    return _of_amount(budget.regime, first, budget.neighbours), _of_amount(budget.regime, second, budget.neighbours)


def together(first: Budget, second: Budget) -> SplitBudget:
    """The guarantee of two releases, rounded up: what they promise adds up as it is counted.

    Args:
        first: Budget of one release.
        second: Budget of the other, between persons of the same column. The number of records of a person that count
            is that of the second, which is about the table of many.

    Raises:
        ConfigError: They are counted in different ways, or are about different neighbours.

    Example:
        >>> together(ZCDP(0.25), ZCDP(0.5)).rho
        0.7500000000000001
    """
    if first.neighbours.unfiltered != second.neighbours.unfiltered:
        one, other = first.neighbours.unfiltered.value, second.neighbours.unfiltered.value
        raise ConfigError(
            f"guarantees between neighbours by {one!r} and by {other!r} do not add up",
            remedy="release both tables as linked ones",
        )
    if first.regime is not second.regime:
        raise ConfigError("two releases are counted in different units", remedy="release both from one budget")
    if first.for_thresholds or second.for_thresholds:
        raise ConfigError("values that are learnt have a delta of their own", remedy="list the values of both tables")
    amount = math.nextafter(first.limit + second.limit, math.inf)
    return _of_amount(first.regime, amount, second.neighbours, rounding=math.inf)


def _of_amount(regime: Regime, amount: float, neighbours: Neighbours, *, rounding: float = 0.0) -> SplitBudget:
    match regime:
        case Regime.PURE:
            return PureDP(amount, neighbours)
        case Regime.ZCDP:
            return ZCDP(amount, neighbours)
        case Regime.GDP:
            return GDP(math.nextafter(math.sqrt(2.0 * amount), rounding), neighbours)
