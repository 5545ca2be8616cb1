"""Walks along the edges of junction trees that pass the cliques in which measurements lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, final

from hedgerow.domain import Clique
from hedgerow.errors import QueryError
from hedgerow.models.junction_tree import JunctionTree


class Visit(NamedTuple):
    """One stop of a walk.

    Attributes:
        node: A clique.
        table: Position of the table that is summed there; the next stop multiplies by factors over its scope.
        members: Measurements whose steps are taken on the table; none for a message to the next clique.
    """

    node: int
    table: int
    members: tuple[int, ...]


@final
class Walk:
    """A closed walk around one connected tree.

    Attributes:
        tables: Their scopes: what cliques share with the next, and what was measured.
        visits: The stops; after the last one comes the first again.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> from hedgerow.domain import Domain
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> tree = JunctionTree.of(domain, [("a", "b"), ("b", "c")])
        >>> walk = Walk.around(tree, {0: ("a",), 1: ("b", "c"), 2: ("a",)})
        >>> [(visit.node, walk.tables[visit.table], visit.members) for visit in walk.visits]
        [(0, ('a',), (0, 2)), (0, ('b',), ()), (1, ('b', 'c'), (1,)), (1, ('b',), ())]
    """

    def __init__(self, tree: JunctionTree) -> None:
        """Nowhere yet."""
        self.tables: list[Clique] = []
        self.visits: list[Visit] = []
        self._tree = tree
        self._links: dict[tuple[int, int], int] = {}
        self._measured: dict[tuple[int, Clique], int] = {}

    @classmethod
    def around(cls, tree: JunctionTree, scopes: Mapping[int, Clique]) -> Walk:
        """Around the smallest subtree that has a clique for every scope, each edge once in either direction.

        Args:
            tree: The cliques.
            scopes: For each measurement its scope; steps on the same scope keep their order.

        Raises:
            QueryError: A scope lies in no clique.
        """
        walk = cls(tree)
        held: dict[int, dict[Clique, list[int]]] = {}
        for index, scope in scopes.items():
            held.setdefault(_holder(tree, scope), {}).setdefault(scope, []).append(index)
        links = _spanning(tree, held)
        stack = [(next(iter(held)), -1, False)]
        while stack:
            node, parent, done = stack.pop()
            if done:
                walk._pass_on(node, parent)
                continue
            if parent >= 0:
                walk._pass_on(parent, node)
                stack.append((node, parent, True))
            for scope, members in held.get(node, {}).items():
                walk._measure(node, scope, members)
            stack += [(child, node, False) for child in links[node] if child != parent]
        return walk

    @classmethod
    def in_order(cls, tree: JunctionTree, scopes: Mapping[int, Clique]) -> Walk:
        """Between the cliques of the scopes in the order in which they are given.

        Args:
            tree: The cliques.
            scopes: For each measurement its scope.

        Raises:
            QueryError: A scope lies in no clique.
        """
        walk = cls(tree)
        groups: list[tuple[Clique, list[int]]] = []
        for index, scope in scopes.items():
            if not (groups and groups[-1][0] == scope):
                groups.append((scope, []))
            groups[-1][1].append(index)
        nodes = [_holder(tree, scope) for scope, _ in groups]
        above = _parents(tree, nodes[0])
        for (scope, members), node, following in zip(groups, nodes, [*nodes[1:], nodes[0]], strict=True):
            walk._measure(node, scope, members)
            for i, j in pairwise(_path(above, node, following)):
                walk._pass_on(i, j)
        return walk

    def _measure(self, node: int, scope: Clique, members: Sequence[int]) -> None:
        table = self._measured.get((node, scope))
        if table is None:
            table = self._measured[node, scope] = self._table(scope)
        self.visits.append(Visit(node, table, tuple(members)))

    def _pass_on(self, i: int, j: int) -> None:
        edge = (i, j) if i < j else (j, i)
        table = self._links.get(edge)
        if table is None:
            table = self._links[edge] = self._table(self._tree.separator(i, j))
        self.visits.append(Visit(i, table, ()))

    def _table(self, scope: Clique) -> int:
        self.tables.append(scope)
        return len(self.tables) - 1


def _holder(tree: JunctionTree, scope: Clique) -> int:
    node = tree.find(scope)
    if node is None:
        raise QueryError(f"no clique holds {' * '.join(scope)}", remedy="take a tree over all scopes")
    return node


def _spanning(tree: JunctionTree, held: Mapping[int, object]) -> list[set[int]]:
    """The edges of each clique that lead to some other that is held; of a tree with at least one."""
    links = [set(near) for near in tree.neighbours]
    leaves = [i for i, near in enumerate(links) if len(near) == 1]
    while leaves:
        i = leaves.pop()
        if i in held or not links[i]:
            continue
        (other,) = links[i]
        links[i].clear()
        links[other].discard(i)
        if len(links[other]) == 1:
            leaves.append(other)
    return links


def _parents(tree: JunctionTree, root: int) -> dict[int, tuple[int, int]]:
    """For each clique its depth and its parent; the root is its own."""
    above = {root: (0, root)}
    stack = [root]
    while stack:
        node = stack.pop()
        for other in tree.neighbours[node]:
            if other not in above:
                above[other] = (above[node][0] + 1, node)
                stack.append(other)
    return above


def _path(above: Mapping[int, tuple[int, int]], first: int, last: int) -> list[int]:
    """The cliques from one to another, both included."""
    there, back = [first], [last]
    while there[-1] != back[-1]:
        climbing = there if above[there[-1]][0] >= above[back[-1]][0] else back
        climbing.append(above[climbing[-1]][1])
    return there + back[-2::-1]
