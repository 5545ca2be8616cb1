"""Tables of cliques in one flat array, how small tables meet them, and a walk: what the compiled sweeps run over.

The axes of every table are in the order of their sizes, the longest last, so that passes over a clique have long rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import QueryError
from hedgerow.models.forest import Forest
from hedgerow.queries.query import Floats

Ints = NDArray[np.int64]

_ONE_ROW = 128
"""Cliques of so few cells are one row with an index map."""
_ROW = 32
"""Cells that a row of a larger clique has at least."""


@lru_cache(maxsize=4096)
def axis_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a table as they are laid out, the longest last.

    Example:
        >>> axis_order((5, 2, 5, 3))
        (1, 3, 0, 2)
    """
    return tuple(sorted(range(len(shape)), key=shape.__getitem__))


def laid_out(table: Floats) -> Floats:
    """A table in the order of the layout, flat.

    Example:
        >>> laid_out(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        array([1., 3., 5., 2., 4., 6.])
    """
    return table.transpose(axis_order(table.shape)).reshape(-1)


def put_back(flat: Floats, shape: tuple[int, ...]) -> Floats:
    """A table from the order of the layout; a view.

    Example:
        >>> put_back(np.array([1.0, 3.0, 5.0, 2.0, 4.0, 6.0]), (3, 2)).tolist()
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    """
    order = axis_order(shape)
    places = [0] * len(shape)
    for place, axis in enumerate(order):
        places[axis] = place
    return flat.reshape([shape[axis] for axis in order]).transpose(places)


@final
@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything is. Tables are those of the edges, then one for each scope that is measured in a clique.

    Attributes:
        nodes: For each clique where its cells start, its rows and their width.
        edges: The two cliques of each edge, the smaller first.
        views: How cliques meet tables, and ``pool`` their index maps; see ``tree_kernels.sweep_trees``.
        tables: Where each table starts, and its cells.
        room: Cells of the largest table, also when it is spread over the rows of a clique.
        visits: Of the walk: clique, view and table of the factors, view and table of the sums, first and last step.
        members: For each step its measurement.
        outward: Visits that bring all cliques up to date after a walk.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> from hedgerow.domain import Domain
        >>> from hedgerow.models.junction_tree import JunctionTree
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> forest = Forest.of(domain, [JunctionTree.of(domain, [("a", "b"), ("b", "c")])])
        >>> layout = Layout.of(forest, [(0,), (1, 2), (0,)], ordered=False)
        >>> layout.visits[:, [0, 4, 5, 6]].tolist()
        [[0, 1, 0, 2], [0, 0, 0, 0], [1, 2, 2, 3], [1, 0, 0, 0]]
        >>> layout.members.tolist(), layout.outward[:, [0, 4]].tolist()
        ([0, 2, 1], [[0, 0], [1, 4]])
    """

    nodes: Ints
    edges: Ints
    views: Ints
    pool: Ints
    tables: Ints
    room: int
    visits: Ints
    members: Ints
    outward: Ints

    @classmethod
    def of(cls, forest: Forest, scopes: Sequence[Sequence[int]], *, ordered: bool) -> Layout:
        """For measurements of some scopes.

        Args:
            forest: Trees that each have some of the measurements.
            scopes: Positions of attributes, ascending, at least one each.
            ordered: Whether steps keep the order of the measurements.

        Raises:
            QueryError: A scope lies in no clique.
        """
        from hedgerow.models import walk_kernels as kernels

        ends = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
        places = np.array([place for scope in scopes for place in scope], dtype=np.int32)
        starts, members, slots, other, back, _, cells = forest.flat
        owners = kernels.holders(starts, members, cells, forest.homes, forest.cliques, ends, places)
        if owners.min(initial=0) < 0:
            raise QueryError("a measured scope lies in no clique", remedy="take trees over all scopes")
        edge, edges = kernels.edges_of(slots, other, back)
        table, first = kernels.tables_of(owners, len(cells), ends, places)

        order, leading, nodes = kernels.rows_of(forest.sizes, starts, members, _ONE_ROW, _ROW)
        across = edges[:, ::-1].reshape(-1)
        views, pool, sizes, room = kernels.views_of(
            forest.sizes,
            starts,
            members,
            order,
            leading,
            nodes,
            np.concatenate([edges.reshape(-1), owners[first]]),
            np.concatenate([starts[across], len(members) + ends[first]]),
            np.concatenate([starts[across + 1], len(members) + ends[first + 1]]),
            np.concatenate([members, places]),
        )
        sizes = np.concatenate([sizes[: 2 * len(edges) : 2], sizes[2 * len(edges) :], [1, 1]])
        tables = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1)

        def seen(node: Ints, into: Ints, out: Ints, begin: Ints, end: Ints) -> Ints:
            return np.stack([node, view(node, into), into, view(node, out), out, begin, end], axis=1)

        def view(node: Ints, table: Ints) -> Ints:
            """Edges have two views each; the two tables at the end share one."""
            far = edges[np.minimum(table, len(edges) - 1), 1] == node if len(edges) else np.zeros(len(node), dtype=bool)
            return np.where(table < len(edges), 2 * table + far, np.minimum(len(edges) + table, len(views) - 1))

        if ordered:
            _, depths, roots = forest.rooted
            steps = np.argsort(roots[owners], kind="stable")
            begin = np.flatnonzero(np.diff(table[steps], prepend=-1))
            stops, end = steps[begin], np.append(begin[1:], len(steps))
            node, out, into, which = kernels.in_order(
                other, edge, forest.rooted[0], depths, roots, owners[stops], len(edges) + table[stops]
            )
            begin, end = np.append(begin, 0)[which], np.append(end, 0)[which]
        else:
            steps = np.argsort(table, kind="stable")
            by_clique = np.argsort(owners[first], kind="stable")
            needed = np.bincount(owners[first], minlength=len(cells))
            of_clique = np.concatenate([[0], np.cumsum(needed)])
            kept = kernels.spanned(slots, other, needed > 0)
            node, out, into = kernels.around(slots, other, back, edge, kept, of_clique, len(edges) + by_clique)
            begin = np.append(np.searchsorted(table[steps], np.arange(len(first))), len(steps))
            which = out - len(edges)
            begin, end = np.where(which >= 0, begin[which], 0), np.where(which >= 0, begin[which + 1], 0)
        visits = seen(node, into, out, begin, end)
        _, at = np.unique(forest.rooted[2][node], return_index=True)
        node, out, into = kernels.outward(slots, other, edge, node[at], into[at], len(tables) - 2)
        nothing = np.zeros(len(node), dtype=np.int64)
        return cls(nodes, edges, views, pool, tables, room, visits, steps, seen(node, into, out, nothing, nothing))
