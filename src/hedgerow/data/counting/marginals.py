"""Exact marginals and conjunctions of records, in a few compiled passes for all of them.

Marginals come from histograms over blocks of attributes (``blocks.py``), or, where there are many of few binary
attributes, from packed bits (``bits.py``).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.data.counting.bits import LARGEST_TRANSFORMED, LONGEST, count_binary_marginals
from hedgerow.data.counting.blocks import count_blockwise
from hedgerow.data.counting.rows import PASS_CELLS, Column, Records, over_rows, over_variables, starts_of
from hedgerow.domain import Clique, Codes, Domain, smallest_unsigned
from hedgerow.errors import MarginalTooLargeError
from hedgerow.queries import Classes, Coarsening, Conjunction, filled_axes
from hedgerow.system import available_bytes

CHEAP_CELLS = 1 << 20
"""A table of so many cells is still counted quickly."""

_CLIQUES_PER_PACKED = 8
"""Packing an attribute costs as much as a third of a block: it pays for many cliques."""

_UNCHECKED_BYTES = 1 << 28
"""Memory that is taken to be there without a look."""

_QUERIES_PER_PASS = 1 << 10
_CLASSIFIED_ROWS = 1 << 20

_Numbered = Sequence[Conjunction] | Mapping[int, Conjunction]


def count_marginals(
    domain: Domain, columns: Sequence[Column], weights: Ints | None, cliques: Sequence[Clique]
) -> list[Floats]:
    """Exact marginals.

    Args:
        domain: The domain of the records.
        columns: One array of codes per attribute.
        weights: Number of records of each row, or None for one each.
        cliques: The wanted cliques of attributes, derived or not, each in the order of the domain.

    Returns:
        One table per clique, of shape ``domain.shape_of(clique)``, in counts.

    Raises:
        MarginalTooLargeError: A table does not fit into memory.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)])
        >>> columns = [np.array([0, 1, 1], dtype=np.uint8), np.array([2, 0, 0], dtype=np.uint8)]
        >>> count_marginals(domain, columns, None, [("a", "b")])
        [array([[0., 0., 1.],
               [2., 0., 0.]])]
    """
    check_memory(domain, cliques)
    domain, columns = over_variables(domain, columns, cliques)
    axes_of = [domain.axes(clique) for clique in cliques]
    tables: list[Floats] = [np.empty(0)] * len(cliques)
    packed = _packed(domain, weights, axes_of)
    if packed:
        axes = filled_axes(axes_of[i] for i in packed)
        for i, table in zip(packed, count_binary_marginals(columns, weights, axes), strict=True):
            tables[i] = table
    rest = sorted(set(range(len(cliques))) - set(packed))
    for i, table in zip(rest, count_blockwise(domain, columns, weights, [cliques[i] for i in rest]), strict=True):
        tables[i] = table
    return tables


def _packed(domain: Domain, weights: Ints | None, axes_of: Sequence[tuple[int, ...]]) -> list[int]:
    """Cliques that are counted from packed bits: those of few binary attributes, where there are many of them."""
    if len(axes_of) < _CLIQUES_PER_PACKED or (weights is not None and weights.sum() > LARGEST_TRANSFORMED):
        return []
    binary = {axis for axis, size in enumerate(domain.shape) if size == 2}
    small = [i for i, axes in enumerate(axes_of) if len(axes) <= LONGEST and binary.issuperset(axes)]
    used = len({axis for i in small for axis in axes_of[i]})
    return small if len(small) >= _CLIQUES_PER_PACKED * used else []


def count_conjunctions(
    domain: Domain, columns: Sequence[Column], weights: Ints | None, queries: Sequence[Conjunction]
) -> Floats:
    """Exact sums over the records that satisfy each query.

    Queries over few cells are sums of a marginal's cells. For the others, values that none of them tells apart become
    one code first; then the same is done, and what has many cells even so is counted record by record.

    Args:
        domain: The domain of the records.
        columns: One array of codes per attribute.
        weights: Number of records of each row, or None for one each.
        queries: Over attributes of the domain, derived or not.

    Returns:
        Shape ``(len(queries),)``, in counts.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("a", 0, 9)])
        >>> column = np.array([1, 5, 9], dtype=np.uint8)
        >>> count_conjunctions(domain, [column], None, [Conjunction.where(domain, {"a": range(5, 10)})])
        array([2.])
    """
    domain, columns = over_variables(domain, columns, [query.scope for query in queries])
    answers = np.zeros(len(queries))
    small, large = _by_scope(domain, queries, range(len(queries)))
    _sum_tables(partial(count_marginals, domain, columns, weights), queries, small, answers)
    possible = [i for i in large if all(queries[i].codes)]
    if not possible:
        return answers
    coarsening = Coarsening.of(domain, [queries[i] for i in possible])
    over_classes = dict(zip(possible, coarsening.conjunctions([queries[i] for i in possible]), strict=True))
    coarse = [_classified(classes, columns[domain.index(name)]) for name, classes in coarsening.classes_in_order()]
    small, large = _by_scope(coarsening.coarse, over_classes, possible)
    _sum_tables(partial(count_marginals, coarsening.coarse, coarse, weights), over_classes, small, answers)
    records = Records.of(coarse, weights)
    for first in range(0, len(large), _QUERIES_PER_PASS):
        part = large[first : first + _QUERIES_PER_PASS]
        answers[part] = _conditions(coarsening.coarse, records, [over_classes[i] for i in part])
    return answers


def _by_scope(domain: Domain, queries: _Numbered, chosen: Iterable[int]) -> tuple[dict[Clique, list[int]], list[int]]:
    """Queries whose attributes have few cells, by these; and the others."""
    of_scope: dict[Clique, list[int]] = {}
    for i in chosen:
        of_scope.setdefault(queries[i].scope, []).append(i)
    large = [scope for scope in of_scope if domain.cells(scope) > CHEAP_CELLS]
    return of_scope, [i for scope in large for i in of_scope.pop(scope)]


def _sum_tables(
    marginals: Callable[[Sequence[Clique]], list[Floats]],
    queries: _Numbered,
    by_scope: Mapping[Clique, list[int]],
    answers: Floats,
) -> None:
    """Answer queries from the marginals of their attributes."""
    scopes = list(by_scope)
    for scope, table in zip(scopes, marginals(scopes), strict=True):
        for i in by_scope[scope]:
            answers[i] = queries[i].of_table(table)[0]


def _classified(classes: Classes, column: Column) -> Codes:
    """The class of every record, as a column of small codes."""
    classified = np.empty(len(column), dtype=smallest_unsigned(classes.count))
    for start in range(0, len(column), _CLASSIFIED_ROWS):
        classified[start : start + _CLASSIFIED_ROWS] = classes.holding(column[start : start + _CLASSIFIED_ROWS])
    return classified


def check_memory(domain: Domain, cliques: Sequence[Clique]) -> None:
    """Refuse marginals that do not fit into memory, before they are counted.

    Args:
        domain: The domain of the records.
        cliques: Attributes of each, derived or not.

    Raises:
        MarginalTooLargeError: Together they are too large.

    Example:
        >>> from hedgerow import IntegerRange
        >>> check_memory(Domain([IntegerRange("a", 0, 1)]), [("a",)])
    """
    sizes = [domain.cells(clique) for clique in cliques]
    largest = max(sizes, default=0)
    required = 8 * (sum(sizes) + 3 * max(largest, PASS_CELLS))
    if required > _UNCHECKED_BYTES and required > available_bytes():
        raise MarginalTooLargeError(
            attributes=cliques[sizes.index(largest)],
            cells=largest,
            required_bytes=required,
            available_bytes=available_bytes(),
            n_marginals=len(cliques),
        )


def _conditions(domain: Domain, records: Records, queries: Sequence[Conjunction]) -> Ints:
    """One compiled pass: for each attribute of a query a run of codes, or a table that says which codes count."""
    from hedgerow.data.counting.kernels import count_conditions

    axes = sorted({axis for query in queries for axis in domain.axes(query.scope)})
    place = {axis: row for row, axis in enumerate(axes)}
    members = np.array([place[axis] for query in queries for axis in domain.axes(query.scope)], dtype=np.int64)
    starts = starts_of([len(query.scope) for query in queries])
    chosen = [codes for query in queries for codes in query.codes]
    sizes = [size for query in queries for size in domain.shape_of(query.scope)]
    is_run = [len(codes.cuts) == 2 for codes in chosen]
    runs = np.array(
        [codes.cuts if run else (-1, -1) for codes, run in zip(chosen, is_run, strict=True)], dtype=np.int32
    )
    tables = starts_of([0 if run else size for size, run in zip(sizes, is_run, strict=True)])
    allowed = np.zeros(tables[-1], dtype=np.uint8)
    for table, codes, run in zip(tables[:-1], chosen, is_run, strict=True):
        if not run:
            allowed[table + np.asarray(codes, dtype=np.int64)] = 1

    def count(start: int, stop: int) -> Ints:
        out = np.zeros(len(queries), dtype=np.int64)
        for tile, weights in records.pieces(start, stop, axes, np.int32):
            count_conditions(tile, weights, starts, members, runs, tables[:-1], allowed, out)
        return out

    return over_rows(count, records.n_rows, len(queries))
