"""Graphs of the variables that belong together, and their triangulation; see ``junction_tree.py``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Bytes, Floats, Ints, Places
from hedgerow.domain import Clique, Domain
from hedgerow.models.trees.ties import Ties

Edge = tuple[int, int]


@dataclass(frozen=True)
class Graph:
    """A graph of the variables that belong together.

    Attributes:
        places: Positions in the domain of the variables that are in some scope, ascending.
        near: Whether two of them are in one scope, shape ``(variables, variables)``.
        sizes: The size that each adds to a clique, as floats: cells may be more than any integer of the machine holds.
        ties: Dependences between them; None where all are attributes of records.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcde")
        >>> Graph.of(domain, [("b", "d"), ("d", "e")]).near.tolist()
        [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """

    places: Ints
    near: Bytes
    sizes: Floats
    ties: Ties | None = None

    @classmethod
    def of(cls, domain: Domain, scopes: Iterable[Clique]) -> Graph:
        """The graph of some scopes.

        Raises:
            DomainError: A variable does not exist.
        """
        listed = list(scopes)
        rows = _by_length(map(domain.axes, listed))
        ties = None
        if any(place >= len(domain) for equal in rows.values() for axes in equal for place in axes):
            ties = Ties.of(domain, listed)
            rows = _by_length(map(domain.axes, ties.scopes(listed)))
        used = sorted({place for equal in rows.values() for axes in equal for place in axes})
        position = np.zeros(max(used, default=-1) + 1, dtype=np.int64)
        position[used] = np.arange(len(used))
        near = np.zeros((len(used), len(used)), dtype=np.uint8)
        for equal in rows.values():
            inside = position[np.array(equal, dtype=np.int64)]
            near[inside[:, :, None], inside[:, None, :]] = 1
        np.fill_diagonal(near, 0)
        if ties is None:
            sizes = np.array([domain.attributes[place].size for place in used], dtype=np.float64)
        else:
            known = ties.sizes
            sizes = np.array([known[domain.variables[place].name] for place in used], dtype=np.float64)
        return cls(np.array(used, dtype=np.int64), near, sizes, ties)

    def joined(self, domain: Domain, scope: Clique) -> Graph | None:
        """The graph of one more scope; None where that has variables that are not in the graph.

        Args:
            domain: The domain.
            scope: Variables that belong together.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcd")
            >>> graph = Graph.of(domain, ["ab", "c"])
            >>> graph.joined(domain, ("b", "c")).near.tolist(), graph.joined(domain, ("c", "d"))
            ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], None)
        """
        if self.ties is not None and not self.ties.coarser.keys() >= {*scope}:
            return None
        axes = np.array(domain.axes(scope if self.ties is None else self.ties.closed(scope)), dtype=np.int64)
        inside = np.searchsorted(self.places, axes)
        if (inside >= len(self.places)).any() or (self.places[inside] != axes).any():
            return None
        near = self.near.copy()
        near[inside[:, None], inside] = 1
        np.fill_diagonal(near, 0)
        return Graph(self.places, near, self.sizes, self.ties)

    def cells(self, domain: Domain) -> int:
        """Cells of the cliques of `triangulated`, exact however large."""
        if self.ties is None:
            return sum(math.prod(map(int, self.sizes[clique].tolist())) for clique in self._eliminated()[0].values())
        names = [variable.name for variable in domain.variables]
        cliques = (tuple(names[place] for place in clique) for clique in self.triangulated()[0])
        return sum(domain.cells(domain.reduced(clique)) for clique in cliques)

    def triangulated(self) -> tuple[list[tuple[int, ...]], list[Edge]]:
        """Cliques by the positions of their members in the domain, and the edges of a forest between them.

        Only cliques that lie inside no other are kept. One that was made when a variable went is joined to the one
        that is made when the next of its members goes. What a clique determines becomes a member of it.
        """
        kept, parents, keepers = self._eliminated()
        number = {i: new for new, i in enumerate(kept)}
        cliques = [tuple(sorted(self.places[clique].tolist())) for clique in kept.values()]
        pairs = ((keepers[i], keepers[parent]) for i, parent in enumerate(parents) if parent >= 0)
        edges = [(number[i], number[j]) for i, j in pairs if i != j]
        return (cliques, edges) if self.ties is None else _closed(self.ties, cliques, edges)

    def _eliminated(self) -> tuple[dict[int, Places], list[int], list[int]]:
        """The cliques that are kept, by their numbers; the parent of each clique, and the one kept that it lies in."""
        from hedgerow.models.trees.graph_kernels import triangulated  # compiling takes a second

        if not len(self.places):
            return {}, [], []
        flat, ends, parents, keepers = triangulated(self.near.copy(), self.sizes)
        stops, kept = ends.tolist(), keepers.tolist()
        cliques = {i: flat[stops[i - 1] if i else 0 : stops[i]] for i, keeper in enumerate(kept) if i == keeper}
        return cliques, parents.tolist(), kept


def _by_length(scopes: Iterable[tuple[int, ...]]) -> dict[int, list[tuple[int, ...]]]:
    rows: dict[int, list[tuple[int, ...]]] = {}
    for axes in scopes:
        rows.setdefault(len(axes), []).append(axes)
    return rows


def _closed(
    ties: Ties, cliques: Sequence[tuple[int, ...]], edges: Sequence[Edge]
) -> tuple[list[tuple[int, ...]], list[Edge]]:
    """Each clique with all that it determines; one that then lies inside another is merged with it.

    The cliques of a variable stay connected: those that determine it are, and one of them has it.
    """
    names, domain = [variable.name for variable in ties.domain.variables], ties.domain
    closed = [frozenset(domain.axes(ties.closed(names[place] for place in clique))) for clique in cliques]
    kept, left = list(range(len(closed))), list(edges)
    for k in range(len(left)):
        i, j = kept[left[k][0]], kept[left[k][1]]
        if closed[i] <= closed[j] or closed[j] <= closed[i]:
            inner, outer = (i, j) if closed[i] <= closed[j] else (j, i)
            kept = [outer if each == inner else each for each in kept]
    number = {i: new for new, i in enumerate(dict.fromkeys(kept))}
    joined = ((number[kept[i]], number[kept[j]]) for i, j in left)
    return [tuple(sorted(closed[i])) for i in number], [(i, j) for i, j in joined if i != j]
