"""Where records stand: their cells in marginals, and the values of queries at them, many queries at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.models.core import Codes
from hedgerow.queries import Conjunction, LinearQuery, Parity

_LISTED_CODES = 1 << 12
"""Attributes of so many codes are looked up in lists of what each query allows."""


def cells_of(domain: Domain, codes: Codes, cliques: Sequence[Clique]) -> Ints:
    """The cell of every record in the marginal of every clique.

    Args:
        domain: The domain.
        codes: Records, shape ``(n, len(domain))``.
        cliques: Attributes in domain order each.

    Returns:
        Row-major positions in the tables, shape ``(len(cliques), n)``.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> cells_of(domain, np.array([[1, 2], [0, 1]], dtype=np.uint8), [("a", "b"), ("a",)])
        array([[5, 1],
               [1, 0]])
    """
    found = np.zeros((len(cliques), len(codes)), dtype=np.int64)
    sizes, columns = np.array(domain.shape, dtype=np.int64), codes.T
    for rows, axes in _by_depth(domain, cliques):
        found[rows] = found[rows] * sizes[axes, None] + columns[axes]
    return found


def holding(domain: Domain, codes: Codes, queries: Sequence[Conjunction]) -> Bools:
    """Whether each conjunction holds at each record, shape ``(len(queries), n)``.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> records = np.array([[1, 2], [0, 1]], dtype=np.uint8)
        >>> holding(domain, records, [Conjunction.where(domain, {"b": [1, 2], "a": [0]})])
        array([[False,  True]])
    """
    found = np.ones((len(queries), len(codes)), dtype=np.bool_)
    columns = codes.T
    for depth, (every_row, every_axis) in enumerate(_by_depth(domain, [query.scope for query in queries])):
        every_size = np.array(domain.shape, dtype=np.int64)[every_axis]
        listed = every_size <= _LISTED_CODES
        for row, axis in zip(every_row[~listed].tolist(), every_axis[~listed].tolist(), strict=True):
            found[row] &= queries[row].codes[depth].holds(columns[axis])
        rows, axes, sizes = every_row[listed], every_axis[listed], every_size[listed]
        starts = np.cumsum(sizes) - sizes
        allowed = np.zeros(int(sizes.sum()), dtype=np.bool_)
        for start, row in zip(starts.tolist(), rows.tolist(), strict=True):
            allowed[start + np.asarray(queries[row].codes[depth], dtype=np.int64)] = True
        found[rows] &= allowed[starts[:, None] + columns[axes]]
    return found


def values_at(query: LinearQuery, codes: Codes) -> Floats:
    """The query at each record, shape ``(n,)``.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> values_at(Parity(domain, ("a", "b")), np.array([[0, 1], [1, 1]], dtype=np.uint8))
        array([-1.,  1.])
    """
    if isinstance(query, Conjunction):
        return np.asarray(holding(query.domain, codes, [query])[0], dtype=np.float64)
    if isinstance(query, Parity):
        odd = codes[:, query.domain.axes(query.scope)].sum(axis=1, dtype=np.int64) % 2
        return np.asarray(1.0 - 2.0 * odd, dtype=np.float64)
    return np.asarray(query.values().reshape(-1)[cells_of(query.domain, codes, [query.scope])[0]], dtype=np.float64)


def table_cells(domain: Domain, clique: Clique) -> int:
    """Number of cells of a marginal, exact however large; 1 for no attribute.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> table_cells(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2))), ("a", "b"))
        6
    """
    return math.prod(domain.shape_of(clique))


def _by_depth(domain: Domain, scopes: Sequence[Clique]) -> list[tuple[Ints, Ints]]:
    """For the first attribute of all scopes, the second, ...: which scopes have one, and its axis."""
    position = {name: axis for axis, name in enumerate(domain.names)}
    axes = [[position[name] for name in scope] for scope in scopes]
    lengths = np.array([len(each) for each in axes], dtype=np.int64)
    depths = []
    for depth in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > depth)
        depths.append((rows, np.array([axes[row][depth] for row in rows.tolist()], dtype=np.int64)))
    return depths
