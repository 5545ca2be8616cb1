"""Junction trees: which small tables together can hold a product of factors over given scopes. Structure only.

The variables of every scope are connected pairwise; variables are then eliminated one by one, and the neighbours of
each are connected when it goes (triangulation). The cliques that this leaves form a tree. See Koller and Friedman,
"Probabilistic Graphical Models" (2009), chapters 9 and 10.

Levels of an attribute are variables beside it (``ties.py``). The *members* of a clique are all variables that it is
about; its table is *stored* over those that the others do not determine, so that a level beside its own attribute costs
nothing.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from hedgerow.arrays import Places
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError
from hedgerow.models.trees.graph import Edge, Graph


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of variables and the edges of a forest between them; one tree for each set of connected variables.

    The cliques that hold a variable are connected (the running-intersection property), which is checked.

    Attributes:
        domain: The domain, which gives the order of the variables of a clique, and their sizes.
        cliques: The members of each clique in domain order; none lies inside another.
        edges: Pairs of positions of cliques.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcde")
        >>> tree = JunctionTree.of(domain, [("a", "b"), ("b", "c"), ("d", "e")])
        >>> tree.cliques, tree.edges, tree.separator(0, 1), tree.cells
        ((('a', 'b'), ('b', 'c'), ('d', 'e')), ((0, 1),), ('b',), 12)
    """

    domain: Domain = field(repr=False)
    cliques: tuple[Clique, ...]
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        """Check that the edges form a forest and that the cliques of every attribute are connected in it.

        Raises:
            ConfigError: The edges form a circle, or the cliques of an attribute are not connected.
        """
        part = list(range(len(self.cliques)))
        for i, j in self.edges:
            if part[i] == part[j]:
                raise ConfigError("the edges between cliques form a circle", remedy="use JunctionTree.of")
            part = [part[i] if each == part[j] else each for each in part]
        # A part of a forest is connected exactly if it has one more node than edges.
        excess = Counter(name for clique in self.cliques for name in clique)
        excess.subtract(name for i, j in self.edges for name in self.separator(i, j))
        torn = [name for name, count in excess.items() if count != 1]
        if torn:
            raise ConfigError(f"the cliques that hold {torn[0]!r} are not connected", remedy="use JunctionTree.of")

    @classmethod
    def of(cls, domain: Domain, scopes: Iterable[Clique]) -> JunctionTree:
        """A tree in which every scope lies inside a clique, and levels in one with the attribute that determines them.

        Eliminates the attribute next whose neighbours lack the fewest connections, each counted with the product of
        the sizes of its two attributes; then the one whose clique has fewest cells. On random pairs of 14 attributes of
        2 to 100 values this left 27 to 45% fewer cells, in the geometric mean, than counting connections alike.

        Args:
            domain: The domain.
            scopes: Variables that belong together, in any order; empty ones say nothing.

        Raises:
            DomainError: A variable does not exist.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99), IntegerRange("hours", 0, 98)))
            >>> tree = JunctionTree.of(domain, [("sex", "age"), ("hours", "age.10")])
            >>> tree.cliques, tree.stored, tree.stored_separator(0, 1), tree.cells
            ((('sex', 'age', 'age.10'), ('hours', 'age.10')), (('sex', 'age'), ('hours', 'age.10')), ('age.10',), 1190)
        """
        graph = Graph.of(domain, scopes)
        cliques, edges = graph.triangulated()
        order = sorted(range(len(cliques)), key=cliques.__getitem__)
        place = {old: new for new, old in enumerate(order)}
        names = domain.names if graph.ties is None else tuple(variable.name for variable in domain.variables)
        joined = sorted((min(place[i], place[j]), max(place[i], place[j])) for i, j in edges)
        return cls._made(domain, tuple(tuple(names[a] for a in cliques[i]) for i in order), tuple(joined))

    @classmethod
    def _made(cls, domain: Domain, cliques: tuple[Clique, ...], edges: tuple[Edge, ...]) -> JunctionTree:
        """A tree that is right by construction: for a thousand cliques the check takes longer than making them."""
        tree = object.__new__(cls)
        tree.__dict__.update(domain=domain, cliques=cliques, edges=edges)
        return tree

    @cached_property
    def plain(self) -> bool:
        """Whether all members of all cliques are attributes of records."""
        return int(self.members.max(initial=-1)) < len(self.domain)

    @cached_property
    def stored(self) -> tuple[Clique, ...]:
        """The axes of the table of each clique: its members, less those that the others determine."""
        return self.cliques if self.plain else tuple(map(self.domain.reduced, self.cliques))

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of the table of each clique."""
        return tuple(self.domain.shape_of(clique) for clique in self.stored)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each clique, exact however large."""
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def cells(self) -> int:
        """Cells of all cliques together, exact however large."""
        return sum(self.sizes)

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """Neighbours of each clique."""
        linked: list[list[int]] = [[] for _ in self.cliques]
        for i, j in self.edges:
            linked[i].append(j)
            linked[j].append(i)
        return tuple(tuple(each) for each in linked)

    def separator(self, i: int, j: int) -> Clique:
        """The members that two cliques share, in domain order."""
        known = self._separators.get((i, j))
        if known is None:
            shared = self._members[i] & self._members[j]
            known = self._separators[i, j] = tuple([name for name in self.cliques[i] if name in shared])
        return known

    def stored_separator(self, i: int, j: int) -> Clique:
        """Those that the others do not determine: the axes of a message between two cliques."""
        known = self._stored_separators.get((i, j))
        if known is None:
            shared = self.separator(i, j)
            known = self._stored_separators[i, j] = shared if self.plain else self.domain.reduced(shared)
        return known

    def homes(self, name: str) -> frozenset[int]:
        """The cliques that determine a variable, which need not be a member; they are connected."""
        known = self._homes.get(name)
        if known is None:
            determined = () if self.plain and name in self.domain.names else enumerate(self.stored)
            known = frozenset(i for i, clique in determined if self.domain.determines(clique, name))
            self._homes[name] = known
        return known

    def find(self, scope: Sequence[str]) -> int | None:
        """The smallest clique that determines a scope of at least one variable; None if there is none."""
        homes = self._homes
        common = frozenset.intersection(*[homes[name] if name in homes else self.homes(name) for name in scope])
        return min(common, key=lambda i: (self.sizes[i], i), default=None)

    def spanning(self, names: Sequence[str]) -> list[tuple[int, int | None]]:
        """The smallest subtree whose cliques together determine some variables of one component.

        Args:
            names: At least one variable; each is determined by a clique of the same component.

        Returns:
            Cliques, each with its parent in the subtree, parents first; the first has none.
        """
        alone = self.find(names)
        if alone is not None:
            return [(alone, None)]
        links = self._pruned(self._links([self._top(name) for name in names]), names)
        root = max(links, key=lambda i: (self.sizes[i], -i))
        return list(_from(root, links))

    @cached_property
    def members(self) -> Places:
        """The members of all cliques, one after the other, by their positions in the domain."""
        places = chain.from_iterable(self.domain.axes(clique) for clique in self.cliques)
        return np.fromiter(places, dtype=np.int32)

    @property
    def ordered(self) -> list[int]:
        """All cliques, each after those on the way to it, component by component."""
        return list(self._parents)

    # Inside

    @cached_property
    def _separators(self) -> dict[Edge, Clique]:
        return {}

    @cached_property
    def _stored_separators(self) -> dict[Edge, Clique]:
        return {}

    @cached_property
    def _members(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(clique) for clique in self.cliques)

    @cached_property
    def _homes(self) -> dict[str, frozenset[int]]:
        homes: dict[str, list[int]] = {}
        for i, clique in enumerate(self.cliques):
            for name in clique:
                homes.setdefault(name, []).append(i)
        return {name: frozenset(cliques) for name, cliques in homes.items()}

    @cached_property
    def _parents(self) -> dict[int, tuple[int, int | None]]:
        """Depth and parent of each clique, every component hung up at its first clique."""
        links = {i: set(neighbour) for i, neighbour in enumerate(self.neighbours)}
        parents: dict[int, tuple[int, int | None]] = {}
        for root in links:
            if root not in parents:
                for i, parent in _from(root, links):
                    parents[i] = (0 if parent is None else parents[parent][0] + 1, parent)
        return parents

    def _top(self, name: str) -> int:
        """The clique nearest to the root that determines a variable."""
        if name not in self._tops:
            self._tops[name] = min(self.homes(name), key=lambda i: self._parents[i][0])
        return self._tops[name]

    @cached_property
    def _tops(self) -> dict[str, int]:
        return {}

    def _links(self, tops: Sequence[int]) -> dict[int, set[int]]:
        """The edges of the paths between some cliques, found by climbing from the deepest first."""
        frontier = [(-self._parents[i][0], i) for i in set(tops)]
        heapq.heapify(frontier)
        links: dict[int, set[int]] = {i: set() for _, i in frontier}
        while len(frontier) > 1:
            _, i = heapq.heappop(frontier)
            parent = self._parents[i][1]
            if parent is None:
                raise ConfigError("no subtree holds attributes of several components", remedy="ask for each of them")
            if parent not in links:
                links[parent] = set()
                heapq.heappush(frontier, (-self._parents[parent][0], parent))
            links[i].add(parent)
            links[parent].add(i)
        return links

    def _pruned(self, links: dict[int, set[int]], names: Sequence[str]) -> dict[int, set[int]]:
        """Without the leaves that hold no wanted variable of their own; no clique holds them all, so two are left."""
        leaves = [i for i, near in links.items() if len(near) == 1]
        while leaves:
            i = leaves.pop()
            (other,) = links[i]
            if all(other in homes for homes in map(self.homes, names) if i in homes):
                del links[i]
                links[other].discard(i)
                leaves += [other] if len(links[other]) == 1 else []
        return links


def _from(root: int, links: dict[int, set[int]]) -> Iterator[tuple[int, int | None]]:
    """Nodes that a root is connected with and where they were reached from, parents first."""
    queue: deque[tuple[int, int | None]] = deque([(root, None)])
    while queue:
        node, parent = queue.popleft()
        yield node, parent
        queue.extend((other, node) for other in sorted(links[node]) if other != parent)
