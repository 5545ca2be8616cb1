"""Exact marginals and conjunctions of records, in a few compiled passes for all of them.

Marginals come from histograms over blocks of attributes (``blocks.py``), or, where there are many of few binary
attributes, from packed bits (``bits.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hedgerow.data.bits import LARGEST_TRANSFORMED, LONGEST, count_binary_marginals
from hedgerow.data.blocks import count_blockwise
from hedgerow.data.encoding import Codes
from hedgerow.data.rows import PASS_CELLS, Ints, Records, over_rows, starts_of
from hedgerow.domain import Clique, Domain
from hedgerow.errors import MarginalTooLargeError
from hedgerow.memory import available_bytes
from hedgerow.queries.query import Conjunction, Floats, filled_axes

CHEAP_CELLS = 1 << 20
"""A table of so many cells is still counted quickly."""

_CLIQUES_PER_PACKED = 8
"""Packing an attribute costs as much as a third of a block: it pays for many cliques."""

_UNCHECKED_BYTES = 1 << 28
"""What is surely there."""

_QUERIES_PER_PASS = 1 << 10


def count_marginals(
    domain: Domain, columns: Sequence[Codes], weights: Ints | None, cliques: Sequence[Clique]
) -> list[Floats]:
    """Exact marginals.

    Args:
        domain: The domain of the records.
        columns: One array of codes per attribute.
        weights: How often each row counts, or None for once each.
        cliques: What is wanted, each in the order of the domain.

    Returns:
        One table per clique, of shape ``domain.shape_of(clique)``, in counts.

    Raises:
        MarginalTooLargeError: A table does not fit into memory.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)])
        >>> columns = [np.array([0, 1, 1], dtype=np.uint8), np.array([2, 0, 0], dtype=np.uint8)]
        >>> count_marginals(domain, columns, None, [("a", "b")])
        [array([[0., 0., 1.],
               [2., 0., 0.]])]
    """
    axes_of = [domain.axes(clique) for clique in cliques]
    _check_memory(domain, axes_of)
    found: list[Floats] = [np.empty(0)] * len(cliques)
    packed = _packed(domain, weights, axes_of)
    if packed:
        axes = filled_axes(axes_of[i] for i in packed)
        for i, table in zip(packed, count_binary_marginals(columns, weights, axes), strict=True):
            found[i] = table
    rest = sorted(set(range(len(cliques))) - set(packed))
    for i, table in zip(rest, count_blockwise(domain, columns, weights, [cliques[i] for i in rest]), strict=True):
        found[i] = table
    return found


def _packed(domain: Domain, weights: Ints | None, axes_of: Sequence[tuple[int, ...]]) -> list[int]:
    """Which cliques are counted from packed bits: those of few binary attributes, where there are many of them."""
    binary = {axis for axis, size in enumerate(domain.shape) if size == 2}
    if not binary or (weights is not None and weights.sum() > LARGEST_TRANSFORMED):
        return []
    small = [i for i, axes in enumerate(axes_of) if len(axes) <= LONGEST and binary.issuperset(axes)]
    used = len({axis for i in small for axis in axes_of[i]})
    return small if len(small) >= _CLIQUES_PER_PACKED * used else []


def count_conjunctions(
    domain: Domain, columns: Sequence[Codes], weights: Ints | None, queries: Sequence[Conjunction]
) -> Floats:
    """Exact sums over the records that satisfy each query.

    Queries over few cells are sums of a marginal's cells, the others are counted record by record.

    Args:
        domain: The domain of the records.
        columns: One array of codes per attribute.
        weights: How often each row counts, or None for once each.
        queries: Over attributes of the domain.

    Returns:
        Shape ``(len(queries),)``, in counts.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 9)])
        >>> column = np.array([1, 5, 9], dtype=np.uint8)
        >>> count_conjunctions(domain, [column], None, [Conjunction.where(domain, {"a": range(5, 10)})])
        array([2.])
    """
    answers = np.zeros(len(queries))
    by_scope: dict[Clique, list[int]] = {}
    for i, query in enumerate(queries):
        by_scope.setdefault(query.scope, []).append(i)
    small = [scope for scope in by_scope if math.prod(domain.shape_of(scope)) <= CHEAP_CELLS]
    for scope, table in zip(small, count_marginals(domain, columns, weights, small), strict=True):
        for i in by_scope.pop(scope):
            answers[i] = queries[i].of_table(table)[0]
    rest = [i for group in by_scope.values() for i in group]
    records = Records.of(columns, weights)
    for first in range(0, len(rest), _QUERIES_PER_PASS):
        part = rest[first : first + _QUERIES_PER_PASS]
        answers[part] = _conditions(domain, records, [queries[i] for i in part])
    return answers


def _check_memory(domain: Domain, axes_of: Sequence[tuple[int, ...]]) -> None:
    shape = domain.shape
    sizes = [math.prod([shape[axis] for axis in axes]) for axes in axes_of]
    largest = max(sizes, default=0)
    required = 8 * (sum(sizes) + 3 * max(largest, PASS_CELLS))
    if required > _UNCHECKED_BYTES and required > available_bytes():
        raise MarginalTooLargeError(
            attributes=tuple(domain.names[axis] for axis in axes_of[sizes.index(largest)]),
            cells=largest,
            required_bytes=required,
            available_bytes=available_bytes(),
            n_marginals=len(axes_of),
        )


def _conditions(domain: Domain, records: Records, queries: Sequence[Conjunction]) -> Ints:
    """One compiled pass: for each attribute of a query, a table that says which codes count."""
    from hedgerow.data.kernels import count_conditions

    axes = sorted({axis for query in queries for axis in domain.axes(query.scope)})
    place = {axis: row for row, axis in enumerate(axes)}
    members = np.array([place[axis] for query in queries for axis in domain.axes(query.scope)], dtype=np.int64)
    starts = starts_of([len(query.scope) for query in queries])
    tables = starts_of([size for query in queries for size in domain.shape_of(query.scope)])
    allowed = np.zeros(tables[-1], dtype=np.uint8)
    chosen = [codes for query in queries for codes in query.codes]
    for table, codes in zip(tables[:-1], chosen, strict=True):
        allowed[table + np.asarray(codes, dtype=np.int64)] = 1

    def count(start: int, stop: int) -> Ints:
        out = np.zeros(len(queries), dtype=np.int64)
        for tile, weights in records.tiles(start, stop, axes, np.int32):
            count_conditions(tile, weights, starts, members, tables[:-1], allowed, out)
        return out

    return over_rows(count, records.n_rows, len(queries))
