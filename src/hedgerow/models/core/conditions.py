"""What records are drawn given: a condition, or codes of some variables row by row.

A hypothesis given a condition has the same factors, on the records that meet it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Constraint, Domain, feasible_records, spread_over
from hedgerow.errors import ConfigError, QueryError
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


Columns = dict[str, Ints]
"""Codes of some variables, one for each record."""
_MOST_ROWS = 1 << 16
_BLOCK_CODES = 1 << 21


def checked_columns(domain: Domain, given: Mapping[str, ArrayLike]) -> Columns:
    """Codes of some variables, row by row.

    Raises:
        DomainError: There is no such variable.
        ConfigError: There is no column, the lengths differ, or a code is out of its range.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> checked_columns(Domain((IntegerRange("a", 0, 1),)), {"a": [1, 0]})
        {'a': array([1, 0])}
    """
    columns = {name: np.asarray(given[name]) for name in domain.clique(given)}
    if len({codes.shape for codes in columns.values()}) != 1 or any(codes.ndim != 1 for codes in columns.values()):
        raise ConfigError("given values are columns of one length", remedy="give at least one column of codes")
    for name, codes in columns.items():
        if codes.dtype.kind not in "iu" or (len(codes) and not 0 <= codes.min() <= codes.max() < domain[name].size):
            raise ConfigError(f"a given code of {name!r} is out of its range, 0 to {domain[name].size - 1}")
    return {name: codes.astype(np.int64) for name, codes in columns.items()}


def completed_rows(domain: Domain) -> int:
    """Number of rows that are completed together.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> completed_rows(Domain((IntegerRange("a", 0, 1),)))
        65536
    """
    return max(1, min(_MOST_ROWS, _BLOCK_CODES // len(domain)))
