"""Tables between large cliques and what is summed there, so that a walk passes over the cliques less often.

A clique that several small tables are summed from (measured scopes, and what it shares with its neighbours) is passed
over once for each of them. If some of these lie together in a set of attributes with much fewer cells, a table of that
set, a host, stands between: the clique is passed over once for all of them, and they are summed from the host. A host
is a node of the tree like any other, and the tree stays a junction tree.
"""

import heapq
import math
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.models.trees import Forest

LARGE = 1 << 12
"""Cliques of fewer cells are passed over so fast that hosts do not pay."""
PER_ITEM = 1 << 9
"""The same for fewer cells for each table that is summed there: finding hosts takes the time of this many."""
ROW = 64
"""Cells that a row of a large clique has at least."""
_IN_CACHE = 1 << 18
"""Cells of the largest host, spread over the rows of its clique."""
_EXTRA = 2
"""Passes over a host beyond those for what is summed from it."""


def with_hosts(
    forest: Forest, edges: Ints, owners: Ints, scopes: Sequence[Sequence[int]], large: Ints
) -> tuple[Forest, Ints]:
    """Put hosts into trees.

    Args:
        forest: The cliques; its own edges are not looked at.
        edges: Pairs of cliques.
        owners: For each scope a clique that holds it.
        scopes: Positions of attributes.
        large: Cliques to put hosts beside; none of their members depends on others.

    Returns:
        The cliques and after them the hosts; and the edges in the same order and after them those of the hosts, where
        ends may have moved from a clique to one of its hosts.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.models.trees.junction_tree import JunctionTree
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abcd")
        >>> forest = Forest.of(domain, [JunctionTree.of(domain, [("a", "b", "c", "d")])])
        >>> none = np.empty((0, 2), dtype=np.int64)
        >>> hosted, joined = with_hosts(forest, none, np.zeros(3, int), [(0, 1), (2,), (2, 3)], np.array([0]))
        >>> hosted.members.tolist(), hosted.starts.tolist(), joined.tolist()
        ([0, 1, 2, 3, 2, 3], [0, 4, 6], [[0, 1]])
    """
    made = _Made(forest, edges)
    for clique in large.tolist():
        measured = dict.fromkeys(tuple(scopes[m]) for m in np.flatnonzero(owners == clique).tolist())
        made.split(clique, list(measured), [tuple(each) for each in np.argwhere(edges == clique).tolist()])
    return made.forest(), made.edges()


class _CliqueSets(NamedTuple):
    """Sets of attributes of a clique, as bits, and the edges that some of these belong to."""

    members: list[int]
    sizes: list[int]
    items: list[int]
    sides: list[tuple[int, ...] | None]


class _Made:
    def __init__(self, forest: Forest, edges: Ints) -> None:
        self._forest = forest
        self._ends = edges.tolist()
        self._hosts: list[list[int]] = []

    def split(self, clique: int, scopes: Sequence[tuple[int, ...]], sides: Sequence[tuple[int, ...]]) -> None:
        """Put hosts beside a clique.

        Args:
            clique: The clique to split.
            scopes: Scopes that are measured there, each once.
            sides: Its edges, each with the side on which it is.
        """
        forest = self._forest
        members = forest.members[forest.starts[clique] : forest.starts[clique + 1]].tolist()
        bit = {place: 1 << i for i, place in enumerate(members)}
        items = [sum(bit[place] for place in scope) for scope in scopes if all(place in bit for place in scope)]
        sides_of: list[tuple[int, ...] | None] = [*([None] * len(items)), *sides]
        for edge, side in sides:
            other = self._attributes(self._ends[edge][1 - side])
            items.append(sum(bit[place] for place in other if place in bit))
        sizes = [int(forest.sizes[place]) for place in members]
        if forest.cells[clique] < PER_ITEM * len(items):
            return
        sets = _CliqueSets(members, sizes, items, sides_of)
        self._nest(clique, (1 << len(members)) - 1, range(len(items)), sets)

    def _nest(self, node: int, whole: int, inside: Sequence[int], sets: _CliqueSets) -> None:
        items = [sets.items[k] for k in inside]
        lone = len(items) == 1 and items[0] != whole and sets.sides[inside[0]] is None
        for union, group in [(items[0], [0])] if lone else grouped_items(sets.sizes, items, whole):
            host = len(self._forest.cells) + len(self._hosts)
            self._hosts.append([place for i, place in enumerate(sets.members) if union >> i & 1])
            self._ends.append([node, host])
            chosen = [inside[k] for k in group]
            for side in (sets.sides[k] for k in chosen):
                if side is not None:
                    self._ends[side[0]][side[1]] = host
            self._nest(host, union, chosen, sets)

    def _attributes(self, node: int) -> list[int]:
        cliques, starts = len(self._forest.cells), self._forest.starts
        if node >= cliques:
            return self._hosts[node - cliques]
        return [int(place) for place in self._forest.members[starts[node] : starts[node + 1]]]

    def forest(self) -> Forest:
        """Cliques and hosts; edges are left out."""
        old = self._forest
        members = np.array([place for host in self._hosts for place in host], dtype=np.int32)
        ends = old.starts[-1] + np.cumsum([len(host) for host in self._hosts], dtype=np.int64)
        cells = [math.prod(old.sizes[host].tolist()) for host in self._hosts]
        nothing = np.zeros(len(old.cells) + len(self._hosts) + 1, dtype=np.int64)
        return Forest(
            old.sizes,
            np.concatenate([old.starts, ends]),
            np.concatenate([old.members, members]),
            nothing,
            np.empty(0, dtype=np.int32),
            np.concatenate([old.cells, cells]),
        )

    def edges(self) -> Ints:
        """Edges of cliques and hosts."""
        return np.array(self._ends, dtype=np.int64).reshape(-1, 2)


def grouped_items(sizes: Sequence[int], items: Sequence[int], whole: int) -> Iterator[tuple[int, list[int]]]:
    """Groups of sets that share a host.

    Merges the two groups that save most, until none saves anything.

    Args:
        sizes: Number of codes of each attribute.
        items: Sets of attributes, as bits.
        whole: The set of the clique.

    Yields:
        The union of a group of at least two, and which items are in it.

    Example:
        >>> list(grouped_items([10, 10, 10, 10], [0b0011, 0b0100, 0b1100], 0b1111))
        [(12, [1, 2])]
    """
    cells_of: dict[int, int] = {}

    def cells(union: int) -> int:
        known = cells_of.get(union)
        if known is None:
            known = cells_of[union] = math.prod(size for i, size in enumerate(sizes) if union >> i & 1)
        return known

    row = 0
    for i in sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True):
        row |= 1 << i if cells(row) < ROW else 0
    every = cells(whole)
    groups = {k: (item, [k], every) for k, item in enumerate(items)}
    heap: list[tuple[int, int, int]] = []
    numbers = count(len(items))

    def offer(a: int, others: Sequence[int]) -> None:
        first, some, cost = groups[a]
        for b in others:
            second, more, other_cost = groups[b]
            union = first | second
            saved = cost + other_cost - every - (len(some) + len(more) + _EXTRA) * cells(union)
            if saved > 0 and union != whole and cells(union | row if union & row else union) <= _IN_CACHE:
                heapq.heappush(heap, (-saved, a, b))

    for a in groups:
        offer(a, range(a))
    while heap:
        _, a, b = heapq.heappop(heap)
        if a in groups and b in groups:
            (first, some, _), (second, more, _) = groups.pop(a), groups.pop(b)
            others, new, together = list(groups), next(numbers), len(some) + len(more)
            union = first | second
            groups[new] = union, sorted(some + more), every + (together + _EXTRA) * cells(union)
            offer(new, others)
    yield from ((union, inside) for union, inside, _ in groups.values() if len(inside) > 1)
