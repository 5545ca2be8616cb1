"""A guarantee as odds: how well anyone can guess whether one person is in the data.

Somebody sees a release and knows everything about the table but one thing, a fair coin: whether one person's data are
in it. Their best guess is right with probability ``(1 + TV) / 2``, where TV is the total variation distance between the
two laws of the release. It is at most ``tanh(epsilon / 2)`` in pure differential privacy, the least of three bounds in
zCDP, and exact in GDP; theory.md section 13.2 proves them, and what thresholds and secret samples change.
"""

import math

from hedgerow.privacy.budgets.budget import Budget
from hedgerow.privacy.budgets.conversion import delta_of
from hedgerow.privacy.budgets.gaussian import delta_of_mu
from hedgerow.privacy.budgets.regime import Regime
from hedgerow.privacy.budgets.subsampling import Subsampled

_ROUNDING = 2.0**-48
"""More than what all steps are rounded by."""


def membership_guess(budget: Budget) -> float:
    """Largest probability of guessing rightly whether one person is in the data, where 0.5 is a fair coin.

    Args:
        budget: The budget of a release, taken to be spent whole.

    Returns:
        From 0.5 to 1, rounded up.

    Example:
        >>> from hedgerow.privacy import GDP, ZCDP, PureDP
        >>> [round(membership_guess(each), 3) for each in (PureDP(1.0), ZCDP(0.1), GDP(0.2))]
        [0.731, 0.612, 0.54]
    """
    return min(1.0, 0.5 + 0.5 * (_distance(budget) + budget.for_thresholds) + _ROUNDING)


def _distance(budget: Budget) -> float:
    """A bound on the total variation distance between the laws of releases of neighbouring tables."""
    if isinstance(budget, Subsampled):
        return _distance(budget.inner) * budget.sampled / budget.population
    match budget.regime:
        case Regime.PURE:
            return math.tanh(budget.limit / 2.0)
        case Regime.ZCDP:
            rho = budget.limit
            return min(delta_of(rho, 0.0), math.sqrt(rho / 2.0), math.sqrt(-math.expm1(-rho)))
        case Regime.GDP:
            return float(delta_of_mu(math.sqrt(2.0 * budget.limit), 0.0))
