"""Parities of junction trees by the million.

A parity of an attribute a and others is their parity, less twice the same where a is 1. So all that is needed are
distributions given that one or two attributes are 1 (indicators are nowhere negative; a sum of signed cells may be 0
where the cells are not, and could not be divided by). One is carried through the tree from the attribute outwards, and
the parities with all other attributes are then read off their own cliques. Attributes of different components are
independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_not
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Bytes, Floats, Ints
from hedgerow.domain import Domain
from hedgerow.models.trees.beliefs import Beliefs
from hedgerow.models.trees.forest import Forest
from hedgerow.models.trees.junction_tree import JunctionTree

if TYPE_CHECKING:
    from hedgerow.models.trees.elimination_kernels import Homes, Maps

LONGEST = 3
"""Attributes of the largest sets."""
_MAP_CELLS = 1 << 23
"""Cells of all maps from cliques to separators; trees of larger cliques are left to others."""
_KEPT = 1 << 23
"""Number of parities that are kept for the next time, at most."""


@dataclass(frozen=True, eq=False)
class _Frame:
    """The structure of all components.

    Attributes:
        forest: The cliques of all components.
        maps: Maps from cells of cliques to those of separators (see ``elimination_kernels.py``).
        homes: For each attribute its smallest clique, the place of its codes there, and its component.
    """

    forest: Forest
    maps: Maps
    homes: Homes

    @classmethod
    def of(cls, domain: Domain, trees: Sequence[JunctionTree]) -> _Frame | None:
        """The structure of some trees; None where cliques are too large, or hold levels."""
        from hedgerow.models.trees.elimination_kernels import separator_maps

        if not all(tree.plain for tree in trees):
            return None
        forest = Forest.of(domain, trees)
        degrees = np.diff(forest.slots)
        if forest.too_wide or float((1 + degrees) @ forest.cells) > _MAP_CELLS:
            return None
        cells = forest.cells.astype(np.int64)
        starts, members, slots, other, back, shared, _ = forest.flat
        firsts, places = _from_zero(cells), _from_zero(np.repeat(cells, degrees))
        flat = np.empty(places[-1], dtype=np.int32)
        rooms = _from_zero(separator_maps(starts, members, slots, shared, forest.sizes, firsts, places, flat))
        owners = np.repeat(np.arange(len(cells)), np.diff(starts))
        order = np.lexsort((cells[owners], members))
        distinct, first = np.unique(members[order], return_index=True)
        homes, strides = np.full(len(domain), -1), np.ones(len(domain), dtype=np.int64)
        homes[distinct], strides[distinct] = owners[order][first], forest.strides[order][first]
        _, _, roots = forest.rooted
        lasts = np.searchsorted(roots, np.arange(len(cells)), side="right")
        maps = firsts, slots, other, back, flat, places, rooms, lasts
        return cls(forest, maps, (homes, strides, forest.parts))


class TreeParities:
    """Parities of up to three binary attributes, kept for components that stay as they are.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.models.trees.junction_tree import JunctionTree
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> part = Beliefs(JunctionTree.of(domain, [("a", "c")]))
        >>> part.add(("a", "c"), np.log([[3.0, 1.0], [1.0, 3.0]]))
        >>> TreeParities(domain).expectations([part], np.array([[0, -1], [0, 2], [0, 1]])).round(12)
        array([0. , 0.5, 0. ])
    """

    def __init__(self, domain: Domain) -> None:
        """Start without any parity.

        Args:
            domain: The domain of all components.
        """
        self._domain = domain
        self._frame: _Frame | None = None
        self._trees: list[JunctionTree] = []
        self._states: dict[int, tuple[Beliefs, int, Floats]] = {}
        self._axes: Ints | None = None
        self._found = np.empty(0)
        self._pairs = np.empty((0, 0))

    def knows(self, axes: Ints) -> bool:
        """Whether the last sets that were asked for are in this array, and their parities are kept."""
        return self._axes is axes

    def expectations(self, parts: Sequence[Beliefs], axes: Ints) -> Floats | None:
        """Expectations of the products of ``1 - 2 code`` over sets of attributes.

        Args:
            parts: Connected parts over different attributes; all others are uniform.
            axes: Positions of binary attributes, increasing, -1 to fill up; shape ``(sets, at most LONGEST)``. Sets
                that begin alike should stand together.

        Returns:
            Shape ``(sets,)``, not to be changed; None for trees whose cliques are too large, or hold levels.
        """
        from hedgerow.models.trees.elimination_kernels import (
            pair_parities,
            separator_sums,
            set_parities,
            single_parities,
        )

        trees = [part.tree for part in parts]
        if self._frame is None or len(trees) != len(self._trees) or any(map(is_not, trees, self._trees)):
            self._frame, self._trees = _Frame.of(self._domain, trees), trees
        frame = self._frame
        if frame is None:
            self._axes = None
            return None
        again = self.knows(axes)
        changed = np.full(len(frame.forest.cells) + len(self._domain), not again, dtype=np.uint8)
        cells = self._cells(parts, changed)
        if not again:
            self._found = np.empty(len(axes))
            self._pairs = np.empty((len(self._domain),) * 2 if axes.shape[1] > 1 else (0, 0))
        homes, tree = frame.homes, frame.maps
        sums = np.empty(tree[6][-1])
        separator_sums(cells, 0, len(frame.forest.cells), tree, sums)
        singles = single_parities(cells, homes, tree)
        if axes.shape[1] > 1:
            pair_parities(cells, sums, homes, changed, tree, singles, self._pairs)
        set_parities(cells, sums, homes, changed, axes, tree, (singles, self._pairs), self._found)
        self._axes = axes if len(axes) <= _KEPT else None
        return self._found

    def _cells(self, parts: Sequence[Beliefs], changed: Bytes) -> Floats:
        """Probabilities of all cliques; notes which components are not as they were."""
        states, place = {}, 0
        for part in parts:
            known = self._states.get(id(part))
            if known is None or known[0] is not part or known[1] != part.changes:
                known = part, part.changes, _probabilities(part)
                changed[place] = 1
            states[id(part)] = known
            place += len(part.tree.cliques)
        self._states = states
        return np.concatenate([np.empty(0), *(cells for _, _, cells in states.values())])


def _probabilities(part: Beliefs) -> Floats:
    """Probabilities of all cells, one clique after the other."""
    tables = [part.sums(i, clique) for i, clique in enumerate(part.tree.cliques)]
    return np.concatenate([(table / table.sum()).reshape(-1) for table in tables])


def _from_zero(counts: Ints) -> Ints:
    """Start of each run, and the end of the last one."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])
