"""The clique of a junction tree in which a marginal is put together, and what is carried there.

A marginal of a few attributes is put together at one clique in the middle of them: every attribute either lies in that
clique or behind an edge of its own, from where its conditional distribution given the separator is carried to the
clique. The cells of all conditionals are known before one is made.

A variable that only a level of its own connects to the rest (an age that was measured alone, where the pairs were
measured over age groups) is not carried anywhere: the marginal of the level is split up in the end.
"""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, permutations

import numpy as np

from hedgerow.arrays import Ints, Places
from hedgerow.domain import Clique, Domain
from hedgerow.models.trees.forest import Forest
from hedgerow.models.trees.junction_tree import JunctionTree

Conditional = tuple[int, int, str]
"""An edge, the clique behind it first, and the name of a variable there."""

HELD_CELLS = 1 << 26
"""Cells of conditionals that are held at once, half a gigabyte; and of a table that is put together from them."""
_LONG = 1e6
"""Multiplications from which on all ways to put a marginal together are compared."""
_WRITTEN = 4.0
"""Multiplications that take as long as one cell takes to be written."""


@dataclass(frozen=True)
class Group:
    """Marginals that are put together at one clique from attributes inside it and from behind the same edges.

    Attributes:
        node: The clique.
        inside: Attributes that they all have inside it.
        edges: Cliques behind the edges, in the order of the products, each with what its attribute depends on there.
    """

    node: int
    inside: Clique
    edges: tuple[tuple[int, Clique], ...]


class Placing:
    """Places for the marginals of one tree.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> placing = Placing(JunctionTree.of(domain, [("a", "b"), ("b", "c")]), None)
        >>> next(placing.runs([("a", "c")]))["a", "c"]
        Group(node=0, inside=('a',), edges=((1, ('b',)),))
    """

    def __init__(self, tree: JunctionTree, among: Domain | None) -> None:
        """Take the tree.

        Args:
            tree: Its structure.
            among: The domain, if variables determine each other; else None.
        """
        self._tree = tree
        self._domain = tree.domain
        self._among = among
        self._dependences: dict[Conditional, Clique] = {}
        self._levels: dict[str, tuple[frozenset[int], Clique]] = {}
        self._routes: dict[str, tuple[Places, Places]] = {}

    def runs(self, cliques: Sequence[Clique]) -> Iterator[dict[Clique, Group | None]]:
        """Marginals with the cliques in which they are put together, those at a time whose conditionals find room.

        Where not all do, those of the same large variable come after each other; nothing is left between runs. What is
        too large alone has no clique. The size decides, not the memory that is free: answers by different ways differ
        in their last digits, and what is free shows the size of the private table.
        """
        groups = {clique: self._place(clique) for clique in cliques}
        planned: dict[Conditional, int] = {}
        cells = 0
        for clique, group in groups.items():
            new = self._needed(group, clique, planned)
            planned.update(new)
            cells += sum(new.values())
        if cells <= HELD_CELLS:
            yield groups
        else:
            yield from self._turns({clique: groups[clique] for clique in sorted(groups, key=self._largest)})

    def _turns(self, groups: Mapping[Clique, Group | None]) -> Iterator[dict[Clique, Group | None]]:
        run: dict[Clique, Group | None] = {}
        planned: dict[Conditional, int] = {}
        cells = 0
        for clique, group in groups.items():
            alone = self._needed(group, clique, ())
            if sum(alone.values()) > HELD_CELLS:
                run[clique] = None
                continue
            new = self._needed(group, clique, planned)
            if cells + sum(new.values()) > HELD_CELLS:
                yield run
                run, planned, cells, new = {}, {}, 0, alone
            planned.update(new)
            cells += sum(new.values())
            run[clique] = group
        yield run

    def _largest(self, clique: Clique) -> tuple[int, str]:
        return max(((self.sizes[name], name) for name in clique), default=(0, ""))

    def _place(self, clique: Clique) -> Group | None:
        """Clique in which a marginal is put together, one nearest to all its attributes.

        The smallest of those, with the products in any order; where that takes long, the best of all.
        """
        holder = self._tree.find(clique)
        if holder is not None:
            return Group(holder, clique, ())
        group = self._nearest(clique)
        return group if group is not None and self._cost(group, clique)[1] <= HELD_CELLS else None

    def _nearest(self, clique: Clique) -> Group | None:
        distance = np.sum([self._routes_to(name)[1] for name in clique], axis=0)
        node = int(np.argmin(distance * len(self._order) + self._order))
        group = self._group(clique, node)
        if group is not None and self._cost(group, clique)[0] > _LONG:
            nearest = np.flatnonzero(distance == distance[node]).tolist()
            groups = [each for node in nearest if (each := self._group(clique, node)) is not None]
            orders = (replace(each, edges=edges) for each in groups for edges in permutations(each.edges))
            group = min(orders, key=lambda order: self._cost(order, clique))
        return group

    def _needed(self, group: Group | None, clique: Clique, known: Container[Conditional]) -> dict[Conditional, int]:
        """The conditionals for a marginal beside known ones, and their cells."""
        new: dict[Conditional, int] = {}
        if group is None:
            return new
        for name in clique:
            i, j = self.toward(name, group.node), group.node
            while i >= 0 and (i, j, name) not in known:
                further, given = self.toward(name, i), self.given(i, j, name)
                same = further >= 0 and given == self.given(further, i, name)  # as the next: one array for both
                new[i, j, name] = 0 if same else self.cells((*given, name))
                i, j = further, i
        return new

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Codes of all variables that may be asked for."""
        if self._among is None:
            return {name: self._domain[name].size for name in chain.from_iterable(self._tree.cliques)}
        return {variable.name: variable.size for variable in self._domain.variables}

    @cached_property
    def _forest(self) -> Forest:
        return Forest.of(self._domain, [self._tree])

    def _routes_to(self, name: str) -> tuple[Places, Places]:
        """See `Forest.routes_to`."""
        if name not in self._routes:
            self._routes[name] = self._forest.routes_to(sorted(self._tree.homes(name)))
        return self._routes[name]

    @cached_property
    def _order(self) -> Ints:
        """The place of each clique by its cells."""
        cells = self._forest.cells
        order = np.empty(len(cells), dtype=np.int64)
        order[np.argsort(cells, kind="stable")] = np.arange(len(cells))
        return order

    def _group(self, clique: Clique, node: int) -> Group | None:
        """The group of a marginal at a clique; None if two attributes are behind the same edge."""
        edges = [self.toward(name, node) for name in clique]
        outside = [(edge, self.given(edge, node, name)) for edge, name in zip(edges, clique, strict=True) if edge >= 0]
        inside = tuple(name for edge, name in zip(edges, clique, strict=True) if edge < 0)
        alone = len({edge for edge, _ in outside}) == len(outside)
        return Group(node, inside, tuple(sorted(outside))) if alone else None

    def toward(self, name: str, node: int) -> int:
        """The neighbour of a clique towards a variable, -1 if it is inside."""
        return int(self._routes_to(name)[0][node])

    def given(self, i: int, j: int, name: str) -> Clique:
        """The part of the separator that an attribute behind an edge depends on: less, where a later one is in it."""
        key = (i, j, name)
        if key not in self._dependences:
            shared, further = self._tree.separator(i, j), self.toward(name, i)
            inside = further >= 0 and set(self._tree.separator(further, i)) <= set(shared)
            self._dependences[key] = self.given(further, i, name) if inside else self._tree.stored_separator(i, j)
        return self._dependences[key]

    def _cost(self, group: Group, clique: Clique) -> tuple[float, int]:
        """Multiplications and cells on the way, as one number; and cells of the largest table."""
        behind = {self.toward(name, group.node): name for name in clique}
        names = {*group.inside, *chain.from_iterable(given for _, given in group.edges)}
        cost, done, largest = 0.0, set(group.inside), self.cells(names)
        for place, (edge, given) in enumerate(group.edges):
            kept = done.union(*(later for _, later in group.edges[place + 1 :]))
            cost += self.cells(names) * self.cells((behind[edge],))
            names -= set(given) - kept
            names.add(behind[edge])
            done.add(behind[edge])
            cells = self.cells(names)
            cost, largest = cost + _WRITTEN * cells, max(largest, cells)
        return cost, largest

    def scope(self, node: int, names: Iterable[Clique]) -> Clique:
        """All variables of a clique among these that the others do not determine, in domain order."""
        wanted = set(chain.from_iterable(names))
        if self._among is not None:
            return self._domain.reduced(wanted)
        return tuple(name for name in self._tree.cliques[node] if name in wanted)

    def cells(self, names: Iterable[str]) -> int:
        """Cells of a table that tells these variables."""
        inside = names if self._among is None else self._domain.reduced(names)
        return math.prod(map(self.sizes.__getitem__, inside))

    # Behind levels

    def coarse(self, clique: Clique) -> tuple[Clique, dict[str, Clique]]:
        """A set of variables with levels instead of those that only their levels connect to the others; and which."""
        levels: dict[str, Clique] = {}
        if len(clique) == 1 or self._tree.find(clique) is not None:
            return clique, levels
        for name in clique:
            inside, level = self._level(name)
            if level and not any(self._tree.homes(other) <= inside for other in clique if other != name):
                levels[name] = level
        return self._domain.reduced(chain.from_iterable(levels.get(name, (name,)) for name in clique)), levels

    def _level(self, name: str) -> tuple[frozenset[int], Clique]:
        """The level that separates a variable from the rest of the tree, and the cliques on its own side; or nothing.

        From a single clique at the end of a branch on while what is shared with the next follows from the variable.
        """
        if name not in self._levels:
            inside, homes = frozenset[int](), self._tree.homes(name)
            level: Clique = ()
            here = next(iter(homes)) if len(homes) == 1 else -1
            while here >= 0:
                ahead = [neighbour for neighbour in self._tree.neighbours[here] if neighbour not in inside]
                shared = self._tree.stored_separator(here, ahead[0]) if len(ahead) == 1 else ()
                follows = shared and all(self._domain.lookup(name, each) is not None for each in shared)
                if not follows or self.cells(shared) >= self.cells(level or (name,)):
                    break
                inside, level, here = inside | {here}, shared, ahead[0]
            self._levels[name] = inside, level
        return self._levels[name]
