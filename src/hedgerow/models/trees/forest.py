"""Junction trees as arrays, for passes over very many sets of attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints, Places
from hedgerow.domain import Domain
from hedgerow.models.trees.junction_tree import JunctionTree

FlatTree = tuple[Ints, Places, Ints, Places, Ints, Ints, Floats]
"""The arrays that compiled passes take: starts, members, slots, other, back, shared, cells."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over disjoint attributes, side by side; variables by their positions in the domain.

    Attributes:
        sizes: Number of codes of each variable: attributes of records, and all others where cliques have such members.
        starts: The members of clique i are ``members[starts[i]:starts[i + 1]]``.
        members: Ascending in each clique.
        slots: The neighbours of clique i are ``other[slots[i]:slots[i + 1]]``.
        other: Positions of the neighbours, clique by clique.
        cells: Cells of each clique, infinite where a float ends.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcde")
        >>> forest = Forest.of(domain, [JunctionTree.of(domain, [("a", "c"), ("c", "d")])])
        >>> forest.members.tolist(), forest.homes.tolist(), forest.parts.tolist()
        ([0, 2, 2, 3], [0, 1, 1, 3, 4, 4], [0, 3, 0, 0, 6])
    """

    sizes: Floats
    starts: Ints
    members: Places
    slots: Ints
    other: Places
    cells: Floats

    @classmethod
    def of(cls, domain: Domain, trees: Sequence[JunctionTree]) -> Forest:
        """The cliques of the trees in their order."""
        first = np.cumsum([0, *(len(tree.cliques) for tree in trees)]).tolist()
        lengths = [len(clique) for tree in trees for clique in tree.cliques]
        neighbours = [
            [at + j for j in near] for tree, at in zip(trees, first, strict=False) for near in tree.neighbours
        ]
        plain = all(tree.plain for tree in trees)
        sizes = domain.shape if plain else [variable.size for variable in domain.variables]
        return cls(
            np.array(sizes, dtype=np.float64),
            np.cumsum([0, *lengths], dtype=np.int64),
            np.concatenate([np.empty(0, dtype=np.int32), *(tree.members for tree in trees)]),
            np.cumsum([0, *map(len, neighbours)], dtype=np.int64),
            np.fromiter(chain.from_iterable(neighbours), dtype=np.int32),
            np.array([_float(size) for tree in trees for size in tree.sizes], dtype=np.float64),
        )

    @cached_property
    def strides(self) -> Ints:
        """Cells from one code of each of ``members`` to the next in its clique; for plain trees."""
        sizes = np.split(self.sizes[self.members].astype(np.int64), self.starts[1:-1])
        return np.concatenate([np.cumprod([1, *size[:0:-1]])[: len(size)][::-1] for size in sizes])

    @cached_property
    def homes(self) -> Ints:
        """The cliques of variable a are ``cliques[homes[a]:homes[a + 1]]``."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.members, minlength=len(self.sizes)))])

    @cached_property
    def cliques(self) -> Places:
        """The cliques of every variable (see ``homes``), ascending for each."""
        owners = np.repeat(np.arange(len(self.cells), dtype=np.int32), np.diff(self.starts))
        return np.asarray(owners[np.argsort(self.members, kind="stable")])

    @cached_property
    def parts(self) -> Ints:
        """A number for the component of each variable: its first clique; others count on from there."""
        parts = len(self.cells) + np.arange(len(self.sizes))
        begins = self.homes[1:] > self.homes[:-1]
        _, _, roots = self.rooted
        parts[begins] = roots[self.cliques[self.homes[:-1][begins]]]
        return parts

    @cached_property
    def flat(self) -> FlatTree:
        """The arrays that compiled passes take."""
        from hedgerow.models.trees.structure_kernels import separators

        back, shared = separators(self.starts, self.members, self.slots, self.other)
        return self.starts, self.members, self.slots, self.other, back, shared, self.cells

    @cached_property
    def rooted(self) -> tuple[Ints, Ints, Ints]:
        """The edge of each clique towards the first clique of its component, its depth, and that clique."""
        from hedgerow.models.trees.structure_kernels import rooted

        return rooted(self.slots, self.other, self.flat[4], -1)

    def hung(self, root: int = -1) -> tuple[Ints, Ints, Ints]:
        """The trees hung up at their first cliques, one at another root if given (see ``structure_kernels.Hung``)."""
        from hedgerow.models.trees.structure_kernels import rooted, tops_of

        up, depths, _ = rooted(self.slots, self.other, self.flat[4], root)
        return up, depths, tops_of(self.homes, self.cliques, depths)

    def routes_to(self, cliques: Sequence[int]) -> tuple[Places, Places]:
        """The neighbour of each clique of one tree towards the nearest of some connected ones, and its distance.

        Returns:
            Cliques, -1 inside; numbers of edges; shape ``(cliques,)`` each.
        """
        from hedgerow.models.trees.structure_kernels import routes

        homes = np.array(cliques, dtype=np.int32)
        toward, away = routes(np.array([0, len(homes)]), homes, self.slots, self.other)
        return toward[0], away[0]

    @property
    def too_wide(self) -> bool:
        """Whether a clique has more attributes than passes over separators can tell apart."""
        from hedgerow.models.trees.structure_kernels import MOST_MEMBERS

        return bool(np.diff(self.starts).max(initial=0) > MOST_MEMBERS)

    def holders(self, ends: Ints, scopes: Places) -> Ints:
        """The smallest clique that holds each scope, -1 if none does; scope m is ``scopes[ends[m]:ends[m + 1]]``."""
        from hedgerow.models.trees.structure_kernels import holders

        return holders(self.starts, self.members, self.cells, self.homes, self.cliques, ends, scopes)

    def holds(self, scopes: Places) -> Bools:
        """Whether each scope lies inside one clique.

        Args:
            scopes: Positions of attributes, ascending, -1 after the last; shape ``(scopes, most attributes)``.
        """
        inside = scopes >= 0
        lengths = np.count_nonzero(inside, axis=1)
        found = self.holders(np.concatenate([[0], np.cumsum(lengths)]), scopes[inside])
        return np.asarray((found >= 0) | (lengths == 0))


def _float(cells: int) -> float:
    try:
        return float(cells)
    except OverflowError:
        return float("inf")
