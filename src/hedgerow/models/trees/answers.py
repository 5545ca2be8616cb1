"""Probabilities of a product over junction trees: tables, conditions and parities, each kind in bulk.

What lies in one part is left to ``shared_elimination.py`` and ``parities.py``; parts are independent, and
attributes in none are uniform.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import final

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.models.core import Room, runs_within, spread
from hedgerow.models.trees.beliefs import Beliefs
from hedgerow.models.trees.elimination import plan, width
from hedgerow.models.trees.parities import LONGEST, TreeParities
from hedgerow.models.trees.shared_elimination import SharedElimination
from hedgerow.queries import Conjunction, Parity

CHEAP_CELLS = 1 << 16
"""Largest table, in cells, that is still made quickly."""
_TOGETHER = 1 << 21
"""Cells of the tables that conditions are read off, made in one go."""
_TABLES = 3
"""Arrays of the size of a table that are held while it is made."""


@final
class TreeAnswers:
    """Answers of parts that may change, be replaced and be joined in between.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.models.trees.junction_tree import JunctionTree
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> part = Beliefs(JunctionTree.of(domain, [("b",)]))
        >>> part.add(("b",), np.log([3.0, 1.0]))
        >>> TreeAnswers(domain, {"b": part}).tables([("a", "b")])[0].round(12)
        array([[0.375, 0.125],
               [0.375, 0.125]])
    """

    def __init__(self, domain: Domain, parts: Mapping[str, Beliefs]) -> None:
        """Look at parts.

        Args:
            domain: The domain.
            parts: The part of each attribute that is in one; looked at again for every answer.
        """
        self._domain = domain
        self._parts = parts
        self._parities = TreeParities(domain)

    def tables(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Probabilities of the codes of each set of attributes, in domain order; new arrays.

        Raises:
            MarginalTooLargeError: A table, or a product on the way to it, does not fit into memory.
        """
        shared: dict[int, dict[Clique, Beliefs]] = {}
        for clique in cliques:
            for place, names in self._cut(clique).items():
                shared.setdefault(place, {})[names] = self._parts[names[0]]
        room = Room()
        found: dict[Clique, Floats] = {}
        for wanted in shared.values():
            part = next(iter(wanted.values()))
            found.update(SharedElimination(part, partial(_check_room, room)).tables(list(wanted)))
        given: set[int] = set()
        tables = [self._together(clique, found, room) for clique in cliques]
        for place, table in enumerate(tables):
            if id(table) in given:
                tables[place] = table.copy()  # the same set was asked for twice
            given.add(id(table))
        return tables

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Probability of each condition, shape ``(len(queries),)``.

        Conditions on the same small set of attributes are read off its table; others are evidence.

        Raises:
            MarginalTooLargeError: A table that is needed does not fit into memory.
        """
        found = np.empty(len(queries))
        members: dict[Clique, list[int]] = {}
        for index, query in enumerate(queries):
            if self._cells(query.scope) > CHEAP_CELLS:
                found[index] = self._evidence(dict(zip(query.scope, query.codes, strict=True)))
            else:
                members.setdefault(query.scope, []).append(index)
        for scopes in self._batches(members):
            for scope, table in zip(scopes, self.tables(scopes), strict=True):
                for index in members[scope]:
                    found[index] = queries[index].of_table(table)[0]
        return found

    def parities(self, axes: Ints) -> Floats:
        """Expectations of the products of ``1 - 2 code`` over sets of binary attributes.

        Asked with the same array again, only sets are computed again of which a part has changed since.

        Args:
            axes: Positions in the domain, increasing, then -1 to fill up; shape ``(sets, longest)``.

        Returns:
            Shape ``(sets,)``, new.

        Raises:
            QueryError: An attribute has more than two codes.
            MarginalTooLargeError: A table that is needed for a set of many attributes does not fit into memory.
        """
        names = self._domain.names
        if not self._parities.knows(axes):
            used = np.zeros(len(names) + 1, dtype=np.bool_)
            used[axes] = True  # -1 is the last place
            for place in np.flatnonzero(used[:-1] & (np.array(self._domain.shape) != 2))[:1]:
                Parity(self._domain, (names[place],))  # refuses it
        if not (axes[:, LONGEST:] >= 0).any():
            parts = list({id(part): part for part in self._parts.values()}.values())
            found = self._parities.expectations(parts, axes)
            if found is not None:
                return found.copy()
        queries = [Parity(self._domain, tuple(names[place] for place in row if place >= 0)) for row in axes.tolist()]
        tables = (self.tables([query.scope])[0] for query in queries)
        return np.array([query.of_table(table)[0] for query, table in zip(queries, tables, strict=True)])

    # Inside

    def _cut(self, clique: Clique) -> dict[int, Clique]:
        """A set of attributes, cut into the pieces that lie in each part."""
        found: dict[int, Clique] = {}
        for name in clique:
            if name in self._parts:
                part = id(self._parts[name])
                found[part] = (*found.get(part, ()), name)
        return found

    def _together(self, clique: Clique, found: Mapping[Clique, Floats], room: Room) -> Floats:
        """The table of a set of attributes from those of the parts."""
        inside = list(self._cut(clique).values())
        if inside == [clique]:
            return found[clique]
        _check_room(room, clique, self._cells(clique))
        free = (self._domain[name].size for name in clique if name not in self._parts)
        table = np.full(self._domain.shape_of(clique), 1.0 / math.prod(free))
        for names in inside:
            table *= spread(found[names], names, clique)
        return table

    def _evidence(self, allowed: Mapping[str, Sequence[int]]) -> float:
        """The probability that each attribute has one of some codes."""
        chance = 1.0
        for name, codes in allowed.items():
            if name not in self._parts:
                chance *= len(codes) / self._domain[name].size
        for names in self._cut(tuple(allowed)).values():
            tree = self._parts[names[0]].tree
            given = {name: allowed[name] for name in names}
            steps = plan(tree, (), given)
            sizes = {name: self._domain[name].size for step in steps for name in step.keep}
            sizes |= {name: len(codes) for name, codes in given.items()}
            _check_room(Room(), names, width(steps, sizes, ()))
            chance *= float(self._parts[names[0]].table(steps, (), given))
        return chance

    def _cells(self, names: Clique) -> int:
        return math.prod(self._domain.shape_of(names))

    def _batches(self, scopes: Iterable[Clique]) -> Iterator[list[Clique]]:
        listed = list(scopes)
        return (listed[run] for run in runs_within(map(self._cells, listed), _TOGETHER))


def _check_room(room: Room, names: Clique, cells: int) -> None:
    room.check(names, cells, _TABLES * 8 * cells)
