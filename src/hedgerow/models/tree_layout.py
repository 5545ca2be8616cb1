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
        return _Plan(forest, scopes).layout(ordered=ordered)


class _Plan:
    """A layout in the making.

    Attributes:
        owners: For each measurement its clique.
        edge: For each slot of the forest the number of its edge.
        edges: The two cliques of each edge.
        table: For each measurement its table, counted without those of the edges.
        first: For each table its first measurement.
    """

    def __init__(self, forest: Forest, scopes: Sequence[Sequence[int]]) -> None:
        from hedgerow.models.walk_kernels import edges_of, holders, tables_of

        self.forest = forest
        self.ends = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
        self.scopes = np.array([place for scope in scopes for place in scope], dtype=np.int32)
        starts, members, slots, other, back, _, cells = forest.flat
        self.owners = holders(starts, members, cells, forest.homes, forest.cliques, self.ends, self.scopes)
        if self.owners.min(initial=0) < 0:
            raise QueryError("a measured scope lies in no clique", remedy="take trees over all scopes")
        self.edge, self.edges = edges_of(slots, other, back)
        self.table, self.first = tables_of(self.owners, len(cells), self.ends, self.scopes)

    def layout(self, *, ordered: bool) -> Layout:
        """The whole of it."""
        from hedgerow.models.walk_kernels import outward, rows_of

        forest = self.forest
        order, leading, nodes = rows_of(forest.sizes, forest.starts, forest.members, _ONE_ROW, _ROW)
        views, pool, sizes, room = self._views(order, leading, nodes)
        steps, (node, out, into, begin, end) = self._in_order() if ordered else self._around()
        visits = self._visits(node, out, into, begin, end)
        _, at = np.unique(forest.rooted[2][node], return_index=True)
        walk = outward(forest.slots, forest.other, self.edge, node[at], into[at], len(sizes))
        sizes = np.append(sizes, [1, 1])
        tables = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1)
        nothing = np.zeros(len(walk[0]), dtype=np.int64)
        return Layout(
            nodes, self.edges, views, pool, tables, room, visits, steps, self._visits(*walk, nothing, nothing)
        )

    def _views(self, order: Ints, leading: Ints, nodes: Ints) -> tuple[Ints, Ints, Ints, int]:
        """Two of each edge, from its either end, then one of each measured table; and the cells of the tables."""
        from hedgerow.models.walk_kernels import views_of

        starts, members, across = self.forest.starts, self.forest.members, self.edges[:, ::-1].reshape(-1)
        views, pool, sizes, room = views_of(
            self.forest.sizes,
            starts,
            members,
            order,
            leading,
            nodes,
            np.concatenate([self.edges.reshape(-1), self.owners[self.first]]),
            np.concatenate([starts[across], len(members) + self.ends[self.first]]),
            np.concatenate([starts[across + 1], len(members) + self.ends[self.first + 1]]),
            np.concatenate([members, self.scopes]),
        )
        both = 2 * len(self.edges)
        return views, pool, np.concatenate([sizes[:both:2], sizes[both:]]), room

    def _around(self) -> tuple[Ints, tuple[Ints, Ints, Ints, Ints, Ints]]:
        """Steps and stops of walks around the trees."""
        from hedgerow.models.walk_kernels import around, spanned

        forest, tables = self.forest, len(self.edges) + np.argsort(self.owners[self.first], kind="stable")
        needed = np.bincount(self.owners[self.first], minlength=len(forest.cells))
        kept = spanned(forest.slots, forest.other, needed > 0)
        of_clique = np.concatenate([[0], np.cumsum(needed)])
        node, out, into = around(forest.slots, forest.other, forest.flat[4], self.edge, kept, of_clique, tables)
        steps = np.argsort(self.table, kind="stable")
        bounds = np.searchsorted(self.table[steps], np.arange(len(self.first) + 1))
        which = out - len(self.edges)
        begin, end = (np.where(which >= 0, bounds[np.maximum(which, 0) + shift], 0) for shift in (0, 1))
        return steps, (node, out, into, begin, end)

    def _in_order(self) -> tuple[Ints, tuple[Ints, Ints, Ints, Ints, Ints]]:
        """Steps in the order of the measurements, tree by tree; those that follow each other on one table together."""
        from hedgerow.models.walk_kernels import in_order

        up, depths, roots = self.forest.rooted
        steps = np.argsort(roots[self.owners], kind="stable")
        begin = np.flatnonzero(np.diff(self.table[steps], prepend=-1))
        stops, end = steps[begin], np.append(begin[1:], len(steps))
        tables = len(self.edges) + self.table[stops]
        node, out, into, which = in_order(self.forest.other, self.edge, up, depths, roots, self.owners[stops], tables)
        return steps, (node, out, into, np.append(begin, 0)[which], np.append(end, 0)[which])

    def _visits(self, node: Ints, out: Ints, into: Ints, begin: Ints, end: Ints) -> Ints:
        return np.stack([node, self._view(node, into), into, self._view(node, out), out, begin, end], axis=1)

    def _view(self, node: Ints, table: Ints) -> Ints:
        """Of a table at a clique; the two tables with one cell, after all others, have the last view together."""
        edges = len(self.edges)
        far = self.edges[np.minimum(table, edges - 1), 1] == node if edges else np.zeros(len(node), dtype=np.bool_)
        return np.where(table < edges, 2 * table + far, np.minimum(edges + table, 2 * edges + len(self.first)))
