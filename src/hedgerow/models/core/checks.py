"""What every hypothesis checks of what it is given, before anything changes."""

from __future__ import annotations

import math
from operator import lt

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError, QueryError


def checked_total(total: float) -> float:
    """The mass of a hypothesis, in counts.

    Raises:
        ConfigError: It is not positive.

    Example:
        >>> checked_total(100)
        100.0
    """
    if not (math.isfinite(total) and total > 0):
        raise ConfigError(f"the total of a hypothesis is {total}", remedy="give a positive number of records")
    return float(total)


def check_step(step: float) -> None:
    """Refuse a step that is not finite.

    Raises:
        ConfigError: It is not.

    Example:
        >>> check_step(-2.5)
    """
    if not math.isfinite(step):
        raise ConfigError(f"a step of size {step}", remedy="check the noisy answers that it was computed from")


def check_clique(domain: Domain, clique: Clique) -> None:
    """Refuse attributes in another order than the domain's, or one twice.

    Raises:
        DomainError: An attribute does not exist.
        QueryError: They are.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> check_clique(Domain(IntegerRange(name, 0, 1) for name in "abc"), ("a", "c"))
    """
    places = domain.axes(clique)
    if not all(map(lt, places, places[1:])):
        raise QueryError(f"the clique {clique} is not in domain order", remedy="use domain.clique(names)")


def checked_table(domain: Domain, clique: Clique, log_factors: ArrayLike) -> Floats:
    """Log-factors over a clique as an array; not a copy where they are one already.

    Args:
        domain: The domain.
        clique: Attributes in domain order.
        log_factors: Finite, shape ``domain.shape_of(clique)``.

    Raises:
        DomainError: An attribute does not exist.
        QueryError: The clique is not in domain order, or the table does not have its shape.
        ConfigError: A log-factor is not finite.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> checked_table(Domain(IntegerRange(name, 0, 1) for name in "abc"), ("b",), [1, 2])
        array([1., 2.])
    """
    check_clique(domain, clique)
    table = np.asarray(log_factors, dtype=np.float64)
    if table.shape != domain.shape_of(clique):
        raise QueryError(f"a table of shape {table.shape} does not fit the clique {' * '.join(clique)}")
    if not np.isfinite(table).all():
        raise ConfigError("log-factors must be finite", remedy="check the noisy answers they were computed from")
    return table


def spread(table: Floats, scope: Clique, clique: Clique) -> Floats:
    """A table with an axis of size 1 for each attribute of the clique that is not in its scope.

    Example:
        >>> spread(np.zeros((2, 3)), ("a", "c"), ("a", "b", "c")).shape
        (2, 1, 3)
    """
    sizes = iter(table.shape)
    return table.reshape([next(sizes) if name in scope else 1 for name in clique])
