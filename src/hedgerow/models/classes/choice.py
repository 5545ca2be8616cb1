"""When values are held in classes, and how many these can become: functions of public quantities alone."""

from __future__ import annotations

from collections.abc import Mapping

from hedgerow.domain import Domain, IntegerRange
from hedgerow.queries import Conjunctions, Workload

LARGE_ATTRIBUTE = 1 << 16
"""An attribute of more codes is not held code by code where conditions alone ask about it."""


def wants_classes(workload: Workload) -> bool:
    """Whether a workload asks about an attribute whose values are too many to be held one by one.

    That is so if conditions or boxes name an attribute of more than ``LARGE_ATTRIBUTE`` codes, and no marginal does.

    Args:
        workload: The workload.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
        >>> wants_classes(Workload.conjunctions(domain, ["ip < 1000", "ip > 50 and hour < 8"]))
        True
        >>> wants_classes(Workload.prefixes(domain, "hour"))
        False
    """
    large = {attribute.name for attribute in workload.domain if attribute.size > LARGE_ATTRIBUTE}
    named = [each for each in workload.families if any(not large.isdisjoint(scope) for scope in each.scopes)]
    return bool(named) and all(family.conjunctive and not family.tabular for family in named)


def domain_of_classes(workload: Workload, classes: Mapping[str, int], measured: int = 1) -> Domain:
    """The domain with as many codes as classes at most, once more was measured: public, for estimates of cells.

    Args:
        workload: Whose candidates are measured.
        classes: For attributes of which something is told apart already, how many classes.
        measured: How many candidates more.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
        >>> domain_of_classes(Workload.conjunctions(domain, ["ip < 1000"]), {"ip": 5}).shape
        (7, 24)
    """
    conditions = (query for family in workload.families if isinstance(family, Conjunctions) for query in family.queries)
    cuts = max((len(codes.cuts) for query in conditions for codes in query.codes), default=2)
    return Domain(
        IntegerRange(each.name, 0, min(each.size, classes.get(each.name, 1) + max(2, cuts) * measured) - 1)
        if each.size > LARGE_ATTRIBUTE
        else each
        for each in workload.domain
    )
