"""Tables over variables of a domain, seen over others: summed up over coarser ones, spread out over finer ones."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints
from hedgerow.domain.derived import Clique
from hedgerow.domain.domain import Domain

Number = TypeVar("Number", bound=np.generic)

_KEPT_CELLS = 1 << 14
"""Places of larger tables are found anew each time."""


def summed(domain: Domain, table: NDArray[Number], clique: Clique, wanted: Clique) -> NDArray[Number]:
    """The table of variables that others determine: sums over all cells that agree in them.

    Args:
        domain: The domain of all variables.
        table: Numbers for each cell of a clique, shape ``domain.shape_of(clique)``.
        clique: Variables of the table.
        wanted: Variables that the clique determines.

    Returns:
        Shape ``domain.shape_of(wanted)``; a view where nothing is summed.

    Raises:
        DomainError: The clique does not determine a wanted variable.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 19)))
        >>> summed(domain, np.ones((2, 20)), ("sex", "age"), ("sex", "age.5"))
        array([[5., 5., 5., 5.],
               [5., 5., 5., 5.]])
    """
    needed = {axis for name in wanted for axis in _carriers(domain, name, clique)}
    unneeded = tuple(axis for axis in range(len(clique)) if axis not in needed)
    left = table.sum(axis=unneeded, dtype=table.dtype) if unneeded else table
    kept = tuple(name for axis, name in enumerate(clique) if axis in needed)
    if set(kept) == set(wanted):
        return np.asarray(left.transpose([kept.index(name) for name in wanted]))
    shape = domain.shape_of(wanted)
    places = places_in(domain, kept, wanted)
    found = np.zeros(math.prod(shape) + 1, dtype=table.dtype)  # places of -1, where no record is, count for nothing
    _add(found, places.reshape(-1), left.reshape(-1))
    return found[:-1].reshape(shape)


def _add(found: NDArray[Any], places: Ints, values: NDArray[Any]) -> None:
    if values.dtype == np.float64:
        found[:-1] += np.bincount(np.where(places < 0, len(found) - 1, places), values, len(found))[:-1]
    else:
        np.add.at(found, places, values)


def spread_over(domain: Domain, table: NDArray[Number], scope: Clique, clique: Clique) -> NDArray[Number]:
    """The values of a table at the cells of a clique that determines its variables.

    Args:
        domain: The domain of all variables.
        table: Values over a scope, shape ``domain.shape_of(scope)``.
        scope: Variables of the table.
        clique: Variables that determine them, in the order of the domain.

    Returns:
        One axis for each variable of the clique, of size 1 for those that do not matter.

    Raises:
        DomainError: The clique does not determine a variable of the scope.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 19)))
        >>> spread_over(domain, np.arange(4), ("age.5",), ("sex", "age"))[0, [0, 4, 5, 19]]
        array([0, 0, 1, 3])
    """
    if set(scope) <= set(clique):
        ordered = table.transpose(sorted(range(len(scope)), key=lambda axis: clique.index(scope[axis])))
        sizes = iter(ordered.shape)
        return ordered.reshape([next(sizes) if name in scope else 1 for name in clique])
    return np.asarray(table[tuple(domain.codes_in(name, clique) for name in scope)])


def places_in(domain: Domain, clique: Clique, wanted: Clique) -> Ints:
    """The cell of the table of some variables, flat, that each cell of a clique belongs to; -1 where no record is.

    Returns:
        Shape ``domain.shape_of(clique)``; not to be changed.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> places_in(Domain((IntegerRange("age", 0, 19),)), ("age",), ("age.5",))[[0, 4, 5, 19]]
        array([0, 0, 1, 3])
    """
    small = math.prod(domain.shape_of(clique)) <= _KEPT_CELLS
    return _kept_places(domain, clique, wanted) if small else _places(domain, clique, wanted)


def _places(domain: Domain, clique: Clique, wanted: Clique) -> Ints:
    found = np.zeros(domain.shape_of(clique), dtype=np.int64)
    outside = np.zeros((1,) * len(clique), dtype=np.bool_)
    for name, size in zip(wanted, domain.shape_of(wanted), strict=True):
        codes = domain.codes_in(name, clique)
        found *= size
        found += codes
        if codes.min() < 0:
            outside = outside | (codes < 0)
    if outside.any():
        found[np.broadcast_to(outside, found.shape)] = -1
    found.setflags(write=False)
    return found


_kept_places = lru_cache(maxsize=1024)(_places)


def _carriers(domain: Domain, name: str, clique: Clique) -> list[int]:
    """The axes of a clique that a variable depends on."""
    if name in clique:
        return [clique.index(name)]
    return [axis for axis, size in enumerate(domain.codes_in(name, clique).shape) if size > 1]
