"""A first release: what a session knows before anybody asks, for a share of the budget of its data set.

Marginals of pairs of attributes are released by MWEM, and the session starts from its hypothesis. Questions about few
attributes are then mostly answered well by the hypothesis, which costs nothing: measured on Adult, answers err a third
as much as without it or less, with a tenth of the corrections (docs/measurements.md).
"""

import math

from hedgerow.algorithms.mwem import MWEM
from hedgerow.algorithms.online_pmw import OnlinePMW
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError, HedgerowError
from hedgerow.models import LARGE_ATTRIBUTE, LARGEST_TREE, may_be_dense
from hedgerow.privacy import Budget, Curator, split_budget
from hedgerow.queries import Workload
from hedgerow.release import Release

USUAL_SHARE = 0.25
"""Share of the budget for a first release where its custodian gives none."""
MOST_WARM_CELLS = 1 << 22
"""Most cells of a histogram that a session starts from: all of them are kept with each correction."""
MOST_TREE_CELLS = LARGEST_TREE // 4
"""Most cells of its junction trees, where no histogram is possible; the rest is for what will be asked."""
_MOST_ATTRIBUTES = 60
"""Most attributes for which it is made unasked: with more, a custodian would wait for minutes."""


def usual_share(config: OnlinePMW, domain: Domain, budget: Budget) -> float:
    """The share of the budget for a first release where none is asked for; a function of public values.

    Args:
        config: The configuration of the session.
        domain: Attributes of the data set.
        budget: Its budget.

    Returns:
        0 where a theorem divides the budget, or a release would take long or could not be started from.

    Example:
        >>> from hedgerow import IntegerRange, PureDP
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abc")
        >>> [usual_share(config, domain, PureDP(1.0)) for config in (OnlinePMW(), OnlinePMW(alpha=0.1))]
        [0.25, 0.0]
    """
    if config.alpha is not None or config.variant == "4a" or len(domain) > _MOST_ATTRIBUTES:
        return 0.0
    try:
        check_share(USUAL_SHARE, domain, budget)
    except HedgerowError:
        return 0.0
    return USUAL_SHARE


def check_share(share: float, domain: Domain, budget: Budget) -> None:
    """Refuse a first release that could not be made, before anything is read.

    Args:
        share: Share of the budget for it.
        domain: Attributes of the data set.
        budget: Its budget.

    Raises:
        ConfigError: The share is not between 0 and 1, or no session could start from the release.
        CandidatesTooLargeError: The table of two attributes has too many cells.
    """
    part = first_part(budget, share, budget.limit)
    dense = may_be_dense(domain)
    if (dense and domain.size > MOST_WARM_CELLS) or any(attribute.size > LARGE_ATTRIBUTE for attribute in domain):
        raise ConfigError(
            "a session about so many values does not start from a first release",
            remedy="leave it out with first_release = 0, or give the attributes fewer values",
        )
    _mechanism(domain).check_budget(_workload(domain), part)


def first_part(budget: Budget, share: float, left: float) -> Budget:
    """The budget of a first release.

    Args:
        budget: Budget of the data set.
        share: Share for the release of what is left.
        left: The rest of it that may be spent, in its unit.

    Raises:
        ConfigError: The share is not between 0 and 1.
    """
    if not 0.0 < share < 1.0:
        raise ConfigError(f"a first release cannot have a share of {share!r}", remedy="give a number between 0 and 1")
    return split_budget(budget, share * left / budget.limit)[0]


def most_of_opening(config: OnlinePMW, budget: Budget, share: float, left: float) -> float:
    """The most that an opening costs: the number of records, and a first release if there is one.

    Args:
        config: The configuration of the session.
        budget: Budget of the data set.
        share: Share of what is left for a first release; 0 for none.
        left: The rest of the budget that may be spent, in its unit.

    Example:
        >>> from hedgerow import PureDP
        >>> round(most_of_opening(OnlinePMW(), PureDP(1.0), 0.25, 1.0), 3)
        0.265
    """
    part = first_part(budget, share, left).limit if share else 0.0
    return math.nextafter(part + config.total_share * (left - part), math.inf)


def first_release(curator: Curator) -> Release:
    """Release the marginals of all pairs of attributes; the whole remaining budget of the curator is spent.

    Args:
        curator: Stands before the private table, with the budget of the first release.
    """
    return _mechanism(curator.domain).run_with(curator, _workload(curator.domain))


def _workload(domain: Domain) -> Workload:
    return Workload.marginals(domain, min(2, len(domain)))


def _mechanism(domain: Domain) -> MWEM:
    """With rounds that keep to junction trees where a session over many cells goes on from these."""
    return MWEM() if may_be_dense(domain) else MWEM(rounds="annealed", largest_tree=MOST_TREE_CELLS)
