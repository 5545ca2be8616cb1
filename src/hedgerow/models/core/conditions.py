"""Hypotheses given a condition: the same factors, on the records that meet it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Constraint, Domain, feasible_records, spread_over
from hedgerow.errors import QueryError
from hedgerow.queries import Conjunction, LinearQuery

_MOST_CODES = 1 << 24
"""Codes of an attribute that a condition may be listed over."""


def check_condition(domain: Domain, condition: LinearQuery) -> None:
    """Refuse a query that says anything but which records meet it.

    Raises:
        QueryError: Its values are not 0 and 1, or it is over another domain.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 9),))
        >>> check_condition(domain, Conjunction.where(domain, {"a": [0, 7, 8]}))
    """
    if condition.domain != domain:
        raise QueryError(f"{condition.text} is over another domain", remedy="make it with the domain of the records")
    if not isinstance(condition, Conjunction):
        values = condition.values()
        if not ((values == 0.0) | (values == 1.0)).all():
            raise QueryError(f"{condition.text} is no condition", remedy="give a query whose values are 0 and 1")


def unmet(condition: LinearQuery) -> QueryError:
    """The error of a condition that no record meets."""
    return QueryError(f"no record meets {condition.text}", remedy="give a condition that some record can meet")


def restricted(domain: Domain, condition: LinearQuery) -> Domain:
    """The domain with one constraint more: all records meet a condition.

    Args:
        domain: The domain of the condition.
        condition: A condition that was checked.

    Raises:
        QueryError: No record meets it, or it is about an attribute of too many codes.
        DomainError: It spans too many combinations of values.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 9), IntegerRange("b", 0, 1)))
        >>> feasible_records(restricted(domain, Conjunction.where(domain, {"a": [0, 7, 8]})))
        6
    """
    rules = []
    for scope, values in _pieces(condition):
        base = domain.base(scope)
        allowed = np.broadcast_to(spread_over(domain, values > 0.0, scope, base), domain.shape_of(base))
        if not allowed.any():
            raise unmet(condition)
        if len(base) == 1 and not allowed.all():
            rules.append(Constraint(condition.text, base, [allowed.astype(np.int64)], [False, True]))
        elif len(base) > 1:
            rules.append(Constraint(condition.text, base, [np.arange(size) for size in allowed.shape], allowed))
    narrowed = replace(domain, constraints=(*domain.constraints, *rules))
    if feasible_records(narrowed) == 0:
        raise unmet(condition)
    return narrowed


def _pieces(condition: LinearQuery) -> Iterator[tuple[Clique, Floats]]:
    """Tables whose product is the condition: each of its own for the variables of a conjunction."""
    if not isinstance(condition, Conjunction):
        yield condition.scope, condition.values()
        return
    for name, codes in zip(condition.scope, condition.codes, strict=True):
        if condition.domain[name].size > _MOST_CODES:
            raise QueryError(
                f"{name!r} has too many values for records to be drawn under a condition on it",
                remedy=f"at most {_MOST_CODES:,} are supported",
            )
        values = np.zeros(condition.domain[name].size)
        values[np.asarray(codes, dtype=np.int64)] = 1.0
        yield (name,), values
