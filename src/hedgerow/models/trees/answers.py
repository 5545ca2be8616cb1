"""Probabilities of a product over junction trees: tables, conditions and parities, each kind in bulk.

What lies in one part is left to ``shared_elimination.py`` and ``parities.py``; parts are independent, and
attributes in none are uniform. What no tree has is found from what they have by ``present.py``.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.models.core import Room, runs_within
from hedgerow.models.trees.beliefs import Beliefs
from hedgerow.models.trees.elimination import plan, tangled, width
from hedgerow.models.trees.parities import LONGEST, TreeParities
from hedgerow.models.trees.present import Present, indicator
from hedgerow.models.trees.shared_elimination import SharedElimination
from hedgerow.queries import Conjunction, Parity

CHEAP_CELLS = 1 << 16
"""Largest table, in cells, that is still made quickly."""
_TOGETHER = 1 << 21
"""Cells of the tables that conditions are read off, made in one go."""
_BESIDE = 1 << 14
"""Cells of the tables that are made from those of several parts in one go."""
_TABLES = 3
"""Arrays of the size of a table that are held while it is made."""


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
            parts: The part of each variable that is in one; looked at again for every answer.
        """
        self._domain = domain
        self._parts = parts
        self._parities = TreeParities(domain)
        self._present = Present(domain, parts)

    def tables(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Probabilities of the codes of each set of variables, in domain order; new arrays.

        Raises:
            MarginalTooLargeError: A table, or a product on the way to it, does not fit into memory.
        """
        ways = self._present.ways(cliques)
        asked = [clique if way is None else way.asked for clique, way in zip(cliques, ways, strict=True)]
        pieces: dict[Clique, list[Clique]] = {}
        shared: dict[int, dict[Clique, Beliefs]] = {}
        for names in dict.fromkeys(asked):
            cut = self._cut(names)
            pieces[names] = [inside for _, inside in cut.values()]
            for place, (part, inside) in cut.items():
                shared.setdefault(place, {})[inside] = part
        room = Room()
        table_of: dict[Clique, Floats] = {}
        for wanted in shared.values():
            part = next(iter(wanted.values()))
            table_of.update(SharedElimination(part, partial(_check_room, room)).tables(list(wanted)))
        together = self._together(pieces, table_of, room)
        given: set[int] = set()
        tables = list[Floats]()
        for names, way in zip(asked, ways, strict=True):
            if way is not None:
                _check_room(room, way.wanted, way.cells(self._domain))
            table = together[names]
            made = table if way is None else np.array(way.follow(self._domain, table), order="C")
            tables.append(made.copy() if id(made) in given else made)  # the same set was asked for twice
            given.add(id(made))
        return tables

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Probability of each condition, shape ``(len(queries),)``.

        Conditions on the same small set of attributes are read off its table; others are evidence.

        Raises:
            MarginalTooLargeError: A table that is needed does not fit into memory.
        """
        answers = np.empty(len(queries))
        members: dict[Clique, list[int]] = {}
        for index, query in enumerate(queries):
            way = self._present.way(query.scope)
            cells = self._domain.cells(query.scope) if way is None else way.cells(self._domain)
            allowed = dict(zip(query.scope, query.codes, strict=True))
            chance = self._evidence(allowed) if cells > CHEAP_CELLS else None
            if chance is not None:
                answers[index] = chance
            else:
                members.setdefault(query.scope, []).append(index)
        for scopes in self._batches(members):
            for scope, table in zip(scopes, self.tables(scopes), strict=True):
                for index in members[scope]:
                    answers[index] = queries[index].of_table(table)[0]
        return answers

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
            means = self._parities.expectations(self._distinct(), axes)
            if means is not None:
                return means.copy()
        queries = [Parity(self._domain, tuple(names[place] for place in row if place >= 0)) for row in axes.tolist()]
        wanted = list(dict.fromkeys(query.scope for query in queries))
        tables = dict(chain.from_iterable(zip(run, self.tables(run), strict=True) for run in self._batches(wanted)))
        return np.array([query.of_table(tables[query.scope])[0] for query in queries])

    def look_again(self) -> None:
        """Take note that parts were replaced by others with another structure."""
        self._present = Present(self._domain, self._parts)

    # Inside

    def _distinct(self) -> list[Beliefs]:
        return list({id(part): part for part in self._parts.values()}.values())

    def _cut(self, clique: Clique) -> dict[int, tuple[Beliefs, Clique]]:
        """A set of variables, cut into the pieces that lie in each part."""
        cuts: dict[int, tuple[Beliefs, Clique]] = {}
        for name in clique:
            part = self._parts.get(name) or self._present.part(name)
            if part is not None:
                known = cuts.get(id(part))
                cuts[id(part)] = part, (name,) if known is None else (*known[1], name)
        return cuts

    def _together(
        self, pieces: Mapping[Clique, Sequence[Clique]], found: Mapping[Clique, Floats], room: Room
    ) -> dict[Clique, Floats]:
        """The table of each set of variables from those of its pieces; attributes in none are uniform.

        Sets whose pieces lie alike are made side by side.
        """
        made = {names: found[names] for names, inside in pieces.items() if inside == [names]}
        alike: dict[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], list[Clique]] = {}
        for names, inside in pieces.items():
            if names not in made:
                axes = tuple(tuple(map(names.index, piece)) for piece in inside)
                alike.setdefault((self._domain.shape_of(names), axes), []).append(names)
        for (shape, axes), sets in alike.items():
            cells = math.prod(shape)
            _check_room(room, sets[0], cells)
            asked_axes = {axis for piece in axes for axis in piece}
            share = 1.0 / math.prod(size for axis, size in enumerate(shape) if axis not in asked_axes)
            for run in runs_within([cells] * len(sets), _BESIDE):
                tables = np.full((len(sets[run]), *shape), share)
                for place, piece in enumerate(axes):
                    parts = np.stack([found[pieces[names][place]] for names in sets[run]])
                    tables *= parts.reshape(-1, *(size if axis in piece else 1 for axis, size in enumerate(shape)))
                made.update((names, tables[i, ...]) for i, names in enumerate(sets[run]))
        return made

    def _evidence(self, allowed: Mapping[str, Sequence[int]]) -> float | None:
        """The probability that each variable has one of some codes; None where only a table says it."""
        told = self._present.evidence(allowed)
        if told is None:
            return None
        chance, codes, weights = told
        for part, names in self._cut((*codes, *weights)).values():
            steps = plan(part.tree, (), names)
            among = tangled(self._domain, (*names, *chain.from_iterable(step.keep for step in steps)))
            given = {name: codes[name] for name in names if name in codes}
            factors = {name: weights[name] for name in names if name in weights}
            if among is not None:
                factors |= {name: indicator(self._domain, name, given[name]) for name in given}
                given = {}
            variables = self._domain.variables if among is not None else self._domain
            sizes = {variable.name: variable.size for variable in variables}
            sizes |= {name: len(inside) for name, inside in given.items()}
            _check_room(Room(), names, width(steps, sizes, (), among))
            chance *= float(part.table(steps, (), given, factors))
        return chance

    def _batches(self, scopes: Iterable[Clique]) -> Iterator[list[Clique]]:
        listed = list(scopes)
        return (listed[run] for run in runs_within(map(self._domain.cells, listed), _TOGETHER))


def _check_room(room: Room, names: Clique, cells: int) -> None:
    room.check(names, cells, _TABLES * 8 * cells)
