"""Axes of the tables of nodes, and how the variables of small tables depend on them.

The axes of every table are in the order of their sizes, the longest last, so that passes over a clique have long rows.

A clique may have members that others determine: its table has no axis for these. A small table over such a variable, or
over a variable of several attributes, meets the clique through the codes of that variable, for each code of the axis
that determines it, or else for each cell of the clique.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Bools, Floats, Ints, Places
from hedgerow.domain import Clique, Domain
from hedgerow.models.trees import Forest

if TYPE_CHECKING:
    from hedgerow.models.tree_fit.view_kernels import Lists  # a type; the module is compiled

Number = TypeVar("Number", bound=np.generic)


@lru_cache(maxsize=4096)
def axis_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a table as they are laid out, the longest last.

    Example:
        >>> axis_order((5, 2, 5, 3))
        (1, 3, 0, 2)
    """
    return tuple(sorted(range(len(shape)), key=shape.__getitem__))


def laid_out(table: NDArray[Number]) -> NDArray[Number]:
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
    return flat.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a walk, what their tables are over, and how small tables meet them.

    Attributes:
        domain: The domain.
        forest: The nodes with all their members, without edges.
        stored: Axes of the table of each node; None where no member, and nothing that is measured, depends on others.
    """

    domain: Domain
    forest: Forest
    stored: Sequence[Clique] | None

    @cached_property
    def tables(self) -> tuple[Ints, Places]:
        """The axes of node i are ``members[starts[i]:starts[i + 1]]``; starts and members."""
        if self.stored is None:
            return self.forest.starts, self.forest.members
        places = [self.domain.axes(clique) for clique in self.stored]
        starts = np.cumsum([0, *map(len, places)], dtype=np.int64)
        return starts, np.fromiter(chain.from_iterable(places), dtype=np.int32)

    @cached_property
    def names(self) -> list[str]:
        """Names of all variables."""
        return [variable.name for variable in self.domain.variables]

    @cached_property
    def sizes(self) -> Floats:
        """Number of codes of all variables."""
        if self.stored is None:
            return self.forest.sizes
        return np.array([variable.size for variable in self.domain.variables], dtype=np.float64)

    @cached_property
    def closed(self) -> Bools:
        """For each node whether all members are axes."""
        return np.asarray(np.diff(self.tables[0]) == np.diff(self.forest.starts))

    def meetings(self, edges: Ints, owners: Ints, scopes: Places, spans: Ints) -> tuple[Ints, Lists, Bools]:
        """Find the axes of nodes that tables depend on: for each edge at its either end, then for each scope.

        Args:
            edges: Pairs of nodes.
            owners: For each scope its node.
            scopes: Positions of variables, ascending in each scope.
            spans: First and last of each scope, shape ``(scopes, 2)``.

        Returns:
            The node of each meeting; the variables of the tables; and for each node whether a variable depends on
            several of its axes.
        """
        every = np.concatenate([edges.reshape(-1), owners])
        whole = np.zeros(len(self.forest.cells), dtype=np.bool_)
        if self.stored is None:
            starts, members, across = self.forest.starts, self.forest.members, edges[:, ::-1].reshape(-1)
            low, high = len(members) + spans.T
            lists = np.concatenate([members, scopes])
            first, last = np.concatenate([starts[across], low]), np.concatenate([starts[across + 1], high])
            of_attributes = first, last, lists, lists, np.full(lists.size, -1), np.zeros(1, dtype=np.int64)
            return every, of_attributes, whole
        made = _Lists(self.domain, self.stored, whole)
        members_of = np.split(self.forest.members, self.forest.starts[1:-1])
        for i, j in edges.tolist():
            shared = np.intersect1d(members_of[i], members_of[j], assume_unique=True)
            table = self.domain.reduced(self._named(shared))
            made.add(i, table)
            made.add(j, table)
        for i, (low, high) in zip(owners.tolist(), spans.tolist(), strict=True):
            made.add(i, self._named(scopes[low:high]))
        return every, made.lists(), whole

    def _named(self, places: Places) -> Clique:
        return tuple([self.names[place] for place in places.tolist()])


class _Lists:
    """Lists of the variables of tables in the making, each with what it depends on."""

    def __init__(self, domain: Domain, stored: Sequence[Clique], whole: Bools) -> None:
        self._domain, self._stored, self._whole = domain, stored, whole
        self._ends = [0]
        self._entries: list[tuple[int, int, int]] = []
        self._codes: list[Ints] = []
        self._size = 0
        self._known: dict[tuple[str, str] | tuple[int, str], int] = {}

    def add(self, node: int, table: Clique) -> None:
        """A table that meets a node, which determines all its variables."""
        for name in table:
            self._entries.append((self._domain.index(name), *self._carrier(node, name)))
        self._ends.append(len(self._entries))

    def _carrier(self, node: int, name: str) -> tuple[int, int]:
        """The axis that determines a variable, and the place of its codes."""
        domain, clique = self._domain, self._stored[node]
        if name in clique:
            return domain.index(name), -1
        for axis in clique:
            codes = domain.lookup(axis, name)
            if codes is not None:
                return domain.index(axis), self._place((axis, name), codes)
        self._whole[node] = True
        codes = np.broadcast_to(domain.codes_in(name, clique), domain.shape_of(clique))
        return -1, self._place((node, name), laid_out(codes))

    def _place(self, key: tuple[str, str] | tuple[int, str], codes: Places) -> int:
        if key not in self._known:
            self._known[key] = self._size
            self._codes.append(np.maximum(codes, 0).astype(np.int64))  # where no record is, the cells are 0
            self._size += codes.size
        return self._known[key]

    def lists(self) -> Lists:
        """All of them."""
        ends = np.array(self._ends, dtype=np.int64)
        variables, carriers, places = np.array(self._entries, dtype=np.int64).reshape(-1, 3).T
        codes = np.concatenate([np.zeros(1, dtype=np.int64), *self._codes])
        places = np.where(places < 0, -1, places + 1)
        return ends[:-1], ends[1:], variables.astype(np.int32), carriers.astype(np.int32), places, codes
