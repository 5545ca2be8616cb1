"""Tables over variables of a domain, seen over others: summed up over coarser ones, spread out over finer ones.

The same for records: the code of a variable that others determine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Ints, Places
from hedgerow.domain.derived import Clique
from hedgerow.domain.domain import Domain
from hedgerow.errors import DomainError

Number = TypeVar("Number", bound=np.generic)

_KEPT_CELLS = 1 << 14
"""Places of larger tables are found anew each time."""
_MANY_CELLS = 1 << 12
"""Cells from which sums are compiled."""
_KEPT_WAYS = 1 << 15
"""Pairs of cliques for which the way from one to the other is kept."""


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
    if clique == wanted:
        return table[...]
    way = _way(domain, clique, wanted)
    left: NDArray[Any] = np.asarray(table.sum(axis=way.unneeded, dtype=table.dtype)) if way.unneeded else table
    if way.coarser is None:
        left = _summed_together(domain, left, way.kept, wanted)
    else:
        for axis, names in way.coarser:
            left = _coarsened(domain, left, axis, names)
    return np.asarray(left.transpose(way.order))


@dataclass(frozen=True)
class _Way:
    """The way from a table to that of other variables; the same for all tables over these.

    Attributes:
        unneeded: Axes that are summed over.
        kept: Names of the others.
        coarser: Axes among these that a coarser variable takes, with both names; None where cells of several axes have
            to be looked at together.
        order: Order of the axes at the end.
    """

    unneeded: tuple[int, ...]
    kept: Clique
    coarser: tuple[tuple[int, tuple[str, str]], ...] | None
    order: tuple[int, ...]


@lru_cache(maxsize=_KEPT_WAYS)
def _way(domain: Domain, clique: Clique, wanted: Clique) -> _Way:
    needed = {clique.index(carrier) for name in wanted for carrier in carriers(domain, name, clique)}
    unneeded = tuple(axis for axis in range(len(clique)) if axis not in needed)
    kept = tuple(name for axis, name in enumerate(clique) if axis in needed)
    single = {each[0]: name for name in wanted if len(each := carriers(domain, name, kept)) == 1}
    if not len(single) == len(wanted) == len(kept):
        return _Way(unneeded, kept, None, tuple(range(len(wanted))))
    coarser = tuple((axis, (name, single[name])) for axis, name in enumerate(kept) if single[name] != name)
    order = [single[name] for name in kept]
    return _Way(unneeded, kept, coarser, tuple(order.index(name) for name in wanted))


def _summed_together(domain: Domain, left: NDArray[Any], kept: Clique, wanted: Clique) -> NDArray[Any]:
    """Sums over all cells of a table that agree in some variables, each of which takes any number of its axes."""
    others = {carrier for name in wanted for carrier in carriers(domain, name, kept) if carrier != name}
    same = tuple(name for name in kept if name in wanted and name not in others)
    changed = tuple(name for name in wanted if name not in same)
    rest = tuple(name for name in kept if name not in same)
    places = places_in(domain, rest, changed).reshape(-1)
    left = left.transpose([kept.index(name) for name in (*rest, *same)])
    beside = left.shape[len(rest) :]
    count = math.prod(beside)
    cells = math.prod(domain.shape_of(changed))
    places = np.where(places < 0, cells, places)[:, None] * count + np.arange(count)
    sums = np.zeros((cells + 1) * count, dtype=left.dtype)  # the last ones, where no record is, count for nothing
    _add(sums, places.reshape(-1), left.reshape(-1))
    sums = sums[: cells * count].reshape((*domain.shape_of(changed), *beside))
    return sums.transpose([(*changed, *same).index(name) for name in wanted])


def _add(found: NDArray[Any], places: Ints, values: NDArray[Any]) -> None:
    if values.dtype == np.float64:
        found += np.bincount(places, values, len(found))
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
    finer = scope if all([name in clique for name in scope]) else _distinct_carriers(domain, scope, clique)
    if finer is None:
        index = [
            np.arange(size).reshape([-1 if other == name else 1 for other in clique])
            if name in clique
            else domain.codes_in(name, clique)
            for name, size in zip(scope, table.shape, strict=True)
        ]
        return np.asarray(table[tuple(index)])
    for axis, (coarse, fine) in enumerate(zip(scope, finer, strict=True)):
        if coarse != fine:
            table = table.take(domain.codes_in(coarse, (fine,)), axis)
    order = [finer.index(name) for name in clique if name in finer]
    sizes = iter([table.shape[axis] for axis in order])
    return table.transpose(order).reshape([next(sizes) if name in finer else 1 for name in clique])


def _distinct_carriers(domain: Domain, scope: Clique, clique: Clique) -> Clique | None:
    """For each variable of a scope one that determines it alone; None where two share one, or it takes several."""
    carried = [carriers(domain, name, clique) for name in scope]
    if any(len(each) > 1 for each in carried) or len(set(carried)) < len(carried):
        return None
    return tuple(each[0] for each in carried)


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
    places = np.zeros(domain.shape_of(clique), dtype=np.int64)
    outside = np.zeros((1,) * len(clique), dtype=np.bool_)
    for name, size in zip(wanted, domain.shape_of(wanted), strict=True):
        codes = domain.codes_in(name, clique)
        places *= size
        places += codes
        if codes.min() < 0:
            outside = outside | (codes < 0)
    if outside.any():
        places[np.broadcast_to(outside, places.shape)] = -1
    places.setflags(write=False)
    return places


_kept_places = lru_cache(maxsize=1024)(_places)


def codes_at(domain: Domain, name: str, columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """The codes of a variable for each of some records.

    Args:
        domain: The domain of all variables.
        name: A variable.
        columns: Codes of variables that determine it, shape ``(records,)`` each.

    Returns:
        Shape ``(records,)``; -1 where no record of the domain is.

    Raises:
        DomainError: They do not determine it.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> codes_at(Domain((IntegerRange("age", 0, 19),)), "age.5", {"age": np.array([0, 4, 5])})
        array([0, 0, 1], dtype=int32)
    """
    if name in columns:
        return columns[name]
    known = carriers(domain, name, tuple(columns))
    return np.asarray(domain.codes_in(name, known)[tuple(columns[each] for each in known)])


def _coarsened(domain: Domain, table: NDArray[Number], axis: int, names: tuple[str, str]) -> NDArray[Number]:
    """Sums along an axis over the codes of one variable that have the same code of another."""
    size = domain[names[1]].size
    after = math.prod(table.shape[axis + 1 :])
    if table.dtype == np.float64 and table.size >= _MANY_CELLS and after > 1:
        from hedgerow.domain.kernels import add_coarse  # compiling takes a second

        sums = np.zeros((*table.shape[:axis], size, *table.shape[axis + 1 :]))
        parts = (array.reshape(-1, array.shape[axis], after) for array in (np.ascontiguousarray(table), sums))
        add_coarse(next(parts), _codes(domain, *names), next(parts))
        return sums
    order, starts, codes = _runs(domain, *names)
    if not codes.size:
        return np.zeros((*table.shape[:axis], size, *table.shape[axis + 1 :]), dtype=table.dtype)
    sums = np.add.reduceat(table if order is None else table.take(order, axis), starts, axis, dtype=table.dtype)
    if codes.size == size:
        return np.asarray(sums)
    coarse = np.zeros((*table.shape[:axis], size, *table.shape[axis + 1 :]), dtype=table.dtype)
    coarse[(slice(None),) * axis + (codes,)] = sums
    return coarse


def _codes(domain: Domain, fine: str, coarse: str) -> Places:
    lookup = domain.lookup(fine, coarse)
    if lookup is None:
        raise DomainError(f"{fine} does not determine {coarse!r}")
    return lookup


@lru_cache(maxsize=1024)
def _runs(domain: Domain, fine: str, coarse: str) -> tuple[NDArray[np.intp] | None, NDArray[np.intp], Places]:
    """An order in which fine codes of one coarse code stand together, None if they do; starts, and the coarse codes."""
    lookup = _codes(domain, fine, coarse)
    order = np.argsort(lookup, kind="stable")
    order = order[np.searchsorted(lookup[order], 0) :]  # without codes that no record has
    codes, starts = np.unique(lookup[order], return_index=True)
    in_order = order.size == lookup.size and bool((np.diff(lookup) >= 0).all())
    return (None if in_order else order), starts, codes.astype(np.int64)


def carriers(domain: Domain, name: str, clique: Clique) -> Clique:
    """The variables of a clique that another depends on: itself, one that determines it, or all that it is made from.

    Raises:
        DomainError: The clique does not determine it.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> carriers(domain, "age.10", ("sex", "age"))
        ('age',)
    """
    if name in clique:
        return (name,)
    for other in clique:
        if domain.lookup(other, name) is not None:
            return (other,)
    function = domain.function(name)
    if function is None or not set(function.sources) <= set(clique):
        raise DomainError(f"{', '.join(clique) or 'nothing'} does not determine {name!r}")
    return function.sources
