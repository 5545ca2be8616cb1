"""Tables of cliques in one flat array, how small tables meet them, and a walk: what the compiled sweeps run over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from hedgerow.arrays import Ints, Places
from hedgerow.errors import QueryError
from hedgerow.models.tree_fit import hosts as tree_hosts
from hedgerow.models.tree_fit.axes import Nodes
from hedgerow.models.trees import Forest, JunctionTree
from hedgerow.system import usable_cores

_ONE_ROW = 128
"""Cliques of so few cells are one row with an index map."""
_SHARED = 2**16
"""Cells that all sweeps together pass over at least before they are divided: to wake a thread takes as long."""


@dataclass(frozen=True, eq=False)
class WalkLayout:
    """Positions of everything that a walk uses.

    The tables are those of the edges, then one for each scope that is measured in a clique.

    Attributes:
        nodes: For each clique, and then each host (``hosts.py``), where its cells start, its rows and their width.
        hosts: Positions of the variables of each host.
        edges: The two ends of each edge: those of the trees in their order, then one for each host.
        views: Places of tables in cliques, and ``pool`` their index maps; see ``sweep_kernels.Fit``.
        tables: Start of each table, and its cells.
        measured: For each table of a scope the first measurement of that scope.
        room: Cells of the largest table, also when it is spread over the rows of a clique.
        visits: Visits of the walk: clique, view and table of the factors, view and table of the sums, first and last
            step.
        members: For each step its measurement.
        outward: Visits that bring all cliques up to date after a walk.
        trees: For each node a node that stands for its tree.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.models.trees.junction_tree import JunctionTree
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> tree = JunctionTree.of(domain, [("a", "b"), ("b", "c")])
        >>> layout = WalkLayout.of([tree], [(0,), (1, 2), (0,)], ordered=False)
        >>> layout.visits[:, [0, 4, 5, 6]].tolist()
        [[0, 1, 0, 2], [0, 0, 0, 0], [1, 2, 2, 3], [1, 0, 0, 0]]
        >>> layout.members.tolist(), layout.outward[:, [0, 4]].tolist()
        ([0, 2, 1], [[0, 0], [1, 4]])
    """

    nodes: Ints
    hosts: Sequence[Sequence[int]]
    edges: Ints
    views: Ints
    pool: Ints
    tables: Ints
    measured: Ints
    room: int
    visits: Ints
    members: Ints
    outward: Ints
    trees: Ints

    def divided(self, visits: Ints, sweeps: int) -> list[Ints]:
        """Visits for each core that may be used, about the same work for each; those of one tree stay together.

        Args:
            visits: Some of the visits, in order.
            sweeps: Number of times that all are made.
        """
        cells = self.nodes[visits[:, 0], 1] * self.nodes[visits[:, 0], 2]
        if sweeps * cells.sum() < _SHARED:
            return [visits]
        trees, tree = np.unique(self.trees[visits[:, 0]], return_inverse=True)
        cores = min(usable_cores(), len(trees))
        work = np.bincount(tree, cells)
        load, core = np.zeros(cores), np.zeros(len(trees), dtype=np.int64)
        for each in np.argsort(-work, kind="stable"):  # the largest tree first, each where least is to be done
            core[each] = load.argmin()
            load[core[each]] += work[each]
        return [visits[core[tree] == each] for each in range(cores)]

    @classmethod
    def of(cls, trees: Sequence[JunctionTree], scopes: Sequence[Sequence[int]], *, ordered: bool) -> WalkLayout:
        """The layout for measurements of some scopes.

        Args:
            trees: Trees over disjoint variables; each has some of the measurements.
            scopes: Positions of variables, ascending, at least one each, of which none determines another.
            ordered: Whether steps keep the order of the measurements.

        Raises:
            QueryError: A scope lies in no clique.
        """
        return _Plan.of(trees, scopes).layout(ordered=ordered)


@dataclass(frozen=True, eq=False)
class _Graph:
    """Edges as the nodes see them: node i has the slots ``slots[i]`` to ``slots[i + 1]``.

    Attributes:
        other: For each slot the node at the far end.
        back: And the slot of the same edge there.
        edge: And the number of the edge.
    """

    slots: Ints
    other: Places
    back: Ints
    edge: Ints

    @classmethod
    def of(cls, edges: Ints, nodes: int) -> _Graph:
        near, far = edges.T.reshape(-1), edges[:, ::-1].T.reshape(-1)
        order = np.argsort(near, kind="stable")
        place = np.argsort(order)
        slots = np.concatenate([[0], np.cumsum(np.bincount(near, minlength=nodes))])
        count = len(edges)
        return cls(
            slots, far[order].astype(np.int32), place[(order + count) % max(2 * count, 1)], order % max(count, 1)
        )


class _Plan:
    """A layout in the making.

    Attributes:
        nodes: Cliques and hosts.
        edges: The two ends of each edge.
        hosts: Number of nodes that are hosts.
        owners: For each measurement its node.
        graph: The edges as the nodes see them.
        rooted: For each node the slot of its edge to its parent, its depth, and the root of its tree.
        table: For each measurement its table, counted without those of the edges.
        first: For each table its first measurement.
    """

    def __init__(
        self, trees: Sequence[JunctionTree], forest: Forest, edges: Ints, scopes: Sequence[Sequence[int]], hosts: int
    ) -> None:
        from hedgerow.models.tree_fit.walk_kernels import tables_of
        from hedgerow.models.trees import rooted

        self.edges, self.hosts = edges, hosts
        self.ends = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
        self.scopes = np.array([place for scope in scopes for place in scope], dtype=np.int32)
        self.nodes = self._nodes(trees, forest)
        self.owners = self._owners(trees, scopes)
        self.graph = _Graph.of(edges, len(forest.cells))
        self.rooted = rooted(self.graph.slots, self.graph.other, self.graph.back, -1)
        self.table, self.first = tables_of(self.owners, len(forest.cells), self.ends, self.scopes)

    def _nodes(self, trees: Sequence[JunctionTree], forest: Forest) -> Nodes:
        domain = trees[0].domain
        if all(tree.plain for tree in trees) and self.scopes.max(initial=-1) < len(domain):
            return Nodes(domain, forest, None)
        cliques = len(forest.cells) - self.hosts
        last = np.split(forest.members, forest.starts[1:-1])[cliques:]
        hosts = [tuple(domain.variables[place].name for place in host.tolist()) for host in last]
        return Nodes(domain, forest, [*chain.from_iterable(tree.stored for tree in trees), *hosts])

    def _owners(self, trees: Sequence[JunctionTree], scopes: Sequence[Sequence[int]]) -> Ints:
        """The smallest node that has each scope, or else a clique that determines it."""
        forest = self.nodes.forest
        known = self.scopes.max(initial=-1) < len(forest.sizes)  # a forest of attributes knows no others
        owners = forest.holders(self.ends, self.scopes) if known else np.full(len(scopes), -1)
        if owners.min(initial=0) < 0:
            first = np.cumsum([0, *(len(tree.cliques) for tree in trees)]).tolist()
            for m in np.flatnonzero(owners < 0).tolist():
                names = [self.nodes.names[place] for place in scopes[m]]
                found = (at + i for at, tree in zip(first, trees, strict=False) if (i := tree.find(names)) is not None)
                owners[m] = next(found, -1)
            if owners.min() < 0:
                raise QueryError("a measured scope is not inside any clique", remedy="take trees over all scopes")
        return owners

    @classmethod
    def of(cls, trees: Sequence[JunctionTree], scopes: Sequence[Sequence[int]]) -> _Plan:
        """A plan with hosts beside large cliques."""
        forest = Forest.of(trees[0].domain, trees)
        first = np.cumsum([0, *(len(tree.cliques) for tree in trees)]).tolist()
        pairs = [(i + at, j + at) for tree, at in zip(trees, first, strict=False) for i, j in tree.edges]
        edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        plain = cls(trees, forest, edges, scopes, 0)
        large = np.flatnonzero((forest.cells >= tree_hosts.LARGE) & plain.nodes.closed)
        if not large.size:
            return plain
        hosted, joined = tree_hosts.with_hosts(forest, edges, plain.owners, scopes, large)
        return cls(trees, hosted, joined, scopes, len(joined) - len(edges))

    def layout(self, *, ordered: bool) -> WalkLayout:
        """The layout of this plan."""
        from hedgerow.models.tree_fit.view_kernels import rows_of, views_of
        from hedgerow.models.tree_fit.walk_kernels import outward

        nodes, graph, first = self.nodes, self.graph, self.first
        spans = np.stack([self.ends[first], self.ends[first + 1]], axis=1)
        owners, lists, whole = nodes.meetings(self.edges, self.owners[first], self.scopes, spans)
        starts, members = nodes.tables
        rows = rows_of(nodes.sizes, starts, members, whole, _ONE_ROW, tree_hosts.ROW)
        views, pool, sizes, room = views_of(nodes.sizes, starts, members, rows, owners, lists)
        both = 2 * len(self.edges)
        sizes = np.concatenate([sizes[:both:2], sizes[both:]])
        steps, (node, out, into, begin, end) = self._in_order() if ordered else self._around()
        visits = self._visits(node, out, into, begin, end)
        _, at = np.unique(self.rooted[2][node], return_index=True)
        walk = outward(graph.slots, graph.other, graph.edge, node[at], into[at], len(sizes))
        sizes = np.append(sizes, [1, 1])
        tables = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1)
        nothing = np.zeros(len(walk[0]), dtype=np.int64)
        members_of = np.split(nodes.forest.members, nodes.forest.starts[1:-1])
        hosts = [place.tolist() for place in members_of[len(members_of) - self.hosts :]]
        return WalkLayout(
            rows[2],
            hosts,
            self.edges,
            views,
            pool,
            tables,
            self.first,
            room,
            visits,
            steps,
            self._visits(*walk, nothing, nothing),
            self.rooted[2],
        )

    def _around(self) -> tuple[Ints, tuple[Ints, Ints, Ints, Ints, Ints]]:
        """Steps and stops of walks around the trees; what a clique itself has comes behind what its hosts have.

        The last step of a sweep counts most while a fit is not at its end. A table of a whole clique is measured beside
        tables of few cells, which have less of the budget.
        """
        from hedgerow.models.tree_fit.walk_kernels import around, spanned

        graph, tables = self.graph, len(self.edges) + np.argsort(self.owners[self.first], kind="stable")
        needed = np.bincount(self.owners[self.first], minlength=len(self.nodes.forest.cells))
        kept = spanned(graph.slots, graph.other, needed > 0)
        of_clique = np.concatenate([[0], np.cumsum(needed)])
        last = np.zeros(len(needed), dtype=np.bool_)
        last[self.edges[len(self.edges) - self.hosts :, 0]] = True
        node, out, into = around(graph.slots, graph.other, graph.back, graph.edge, kept, last, of_clique, tables)
        steps = np.argsort(self.table, kind="stable")
        bounds = np.searchsorted(self.table[steps], np.arange(len(self.first) + 1))
        which = out - len(self.edges)
        begin, end = (np.where(which >= 0, bounds[np.maximum(which, 0) + shift], 0) for shift in (0, 1))
        return steps, (node, out, into, begin, end)

    def _in_order(self) -> tuple[Ints, tuple[Ints, Ints, Ints, Ints, Ints]]:
        """Steps in the order of the measurements, tree by tree; those that follow each other on one table together."""
        from hedgerow.models.tree_fit.walk_kernels import in_order

        up, depths, roots = self.rooted
        steps = np.argsort(roots[self.owners], kind="stable")
        begin = np.flatnonzero(np.diff(self.table[steps], prepend=-1))
        stops, end = steps[begin], np.append(begin[1:], len(steps))
        tables = len(self.edges) + self.table[stops]
        node, out, into, which = in_order(
            self.graph.other, self.graph.edge, up, depths, roots, self.owners[stops], tables
        )
        return steps, (node, out, into, np.append(begin, 0)[which], np.append(end, 0)[which])

    def _visits(self, node: Ints, out: Ints, into: Ints, begin: Ints, end: Ints) -> Ints:
        return np.stack([node, self._view(node, into), into, self._view(node, out), out, begin, end], axis=1)

    def _view(self, node: Ints, table: Ints) -> Ints:
        """The view of a table at a clique; the two tables with one cell, after all others, share the last view."""
        edges = len(self.edges)
        far = self.edges[np.minimum(table, edges - 1), 1] == node if edges else np.zeros(len(node), dtype=np.bool_)
        return np.where(table < edges, 2 * table + far, np.minimum(edges + table, 2 * edges + len(self.first)))
