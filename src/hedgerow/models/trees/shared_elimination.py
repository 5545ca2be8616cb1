"""Very many marginals of a junction tree at once: what they have in common is computed once.

A marginal of a few attributes is put together at one clique in the middle of them: every attribute either lies in that
clique or behind an edge of its own. All that it needs from behind an edge is the conditional distribution of one
attribute given the separator there. These conditionals are passed on from edge to edge, all attributes behind an edge
together as the columns of one matrix, and serve all marginals. They depend on nothing but what is behind their edge
(Koller and Friedman, section 10.3.3), so they last until a factor there changes.

Sets of attributes two of which lie behind the same edge, wherever one looks from (which needs four attributes), are
left to an elimination of their own, and so is a set whose conditionals alone find no room. Where those of all sets
together find none, a few sets come after the others.

Where a variable that was asked for determines a part of the separator (an age behind its age group), its conditional
has no axis for that part: 10,000 codes given 500 groups are 10,000 numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.models.core import runs_within
from hedgerow.models.trees.beliefs import Beliefs
from hedgerow.models.trees.elimination import plan, tangled, width
from hedgerow.models.trees.placing import Group, Placing
from hedgerow.models.trees.products import Labelled, conditional, ordered, product

Check = Callable[[Clique, int], None]
"""Refuses arrays of too many cells that are made for some attributes."""

_ROOM = 1 << 22
"""Cells of the tables that are made together beside those asked for."""
KEPT_CELLS = 1 << 15
"""Cells of conditionals that every part may keep, however small it is."""
_KEPT_MEETINGS = 1 << 14
"""Tables and conditionals for which is kept how they meet: trees ask for the same ones again and again."""
_COLUMNS = ""
"""Name of the axis of conditionals side by side; no attribute has it."""


class SharedElimination:
    """Marginals of one part.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.models.trees.junction_tree import JunctionTree
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> beliefs = Beliefs(JunctionTree.of(domain, [("a", "b"), ("b", "c")]))
        >>> beliefs.add(("a", "b"), np.log([[3.0, 1.0], [1.0, 3.0]]))
        >>> beliefs.add(("b", "c"), np.log([[3.0, 1.0], [1.0, 3.0]]))
        >>> dict(SharedElimination(beliefs).tables([("a", "c")]))["a", "c"].round(12)
        array([[0.3125, 0.1875], [0.1875, 0.3125]])
    """

    def __init__(self, part: Beliefs, check: Check = lambda names, cells: None) -> None:
        """Take the part that answers come from.

        Args:
            part: The part.
            check: Called with each array's attributes and cells before it is made.
        """
        self._part = part
        self._tree = part.tree
        self._domain = part.tree.domain
        self._among: Domain | None = None if part.tree.plain else part.tree.domain
        self._check = check
        self._columns = _Columns()
        self._refinements: dict[str, Floats] = {}
        self._placing = Placing(self._tree, self._among)

    def tables(self, cliques: Sequence[Clique]) -> Iterator[tuple[Clique, Floats]]:
        """Probabilities of the codes of each set of variables, in any order of the sets.

        Args:
            cliques: Different sets of at least one variable that the part determines, in domain order; in none does one
                determine another.

        Returns:
            Sets with their tables, which are new.
        """
        if self._among is None and tangled(self._domain, set(chain.from_iterable(cliques))) is not None:
            self._among = self._domain
            self._placing = Placing(self._tree, self._among)
        if self._among is None:
            yield from self._coarse_tables(cliques)
            return
        self._refinements.clear()
        finer: dict[Clique, list[tuple[Clique, dict[str, Clique]]]] = {}
        for clique in cliques:
            coarse, levels = self._placing.coarse(clique)
            finer.setdefault(coarse, []).append((clique, levels))
        for coarse, table in self._coarse_tables(list(finer)):
            for clique, levels in finer[coarse]:
                yield clique, self._refined((coarse, table), clique, levels) if levels else table

    def _coarse_tables(self, cliques: Sequence[Clique]) -> Iterator[tuple[Clique, Floats]]:
        for turn, run in enumerate(self._placing.runs(cliques)):
            if turn > 0:
                self._part.forget(more_than=0)
            by_node: dict[int, dict[Group, list[Clique]]] = {}
            for clique, group in run.items():
                if group is None:
                    yield clique, self._alone(clique)
                else:
                    by_node.setdefault(group.node, {}).setdefault(group, []).append(clique)
            for node, groups in by_node.items():
                yield from self._at(node, groups)
            self._part.forget(more_than=max(self._tree.cells, KEPT_CELLS))

    def _refined(self, table: Labelled, clique: Clique, levels: Mapping[str, Clique]) -> Floats:
        """The table of a clique from that of levels, by the distribution of each variable given its level."""
        self._check(clique, self._placing.cells(clique))
        left = dict(levels)
        for name, level in levels.items():
            del left[name]
            within = self._within(name, level)
            table = product(table, ((name,), within), {*clique, *chain.from_iterable(left.values())}, self._domain)
        return np.array(ordered(table, clique), order="C")

    def _within(self, name: str, level: Clique) -> Floats:
        """The distribution of a variable given its level."""
        if name not in self._refinements:
            (home,) = self._tree.homes(name)
            self._refinements[name] = conditional(self._part.sums(home, (name,)), (name,), level, self._domain)
        return self._refinements[name]

    # Together

    def _at(self, node: int, groups: Mapping[Group, list[Clique]]) -> Iterator[tuple[Clique, Floats]]:
        """All marginals that are put together at one clique."""
        scopes = {
            group: self._placing.scope(node, (group.inside, *(given for _, given in group.edges))) for group in groups
        }
        for batch in self._batches(list(dict.fromkeys(scopes.values()))):
            sums = self._sums(node, batch)
            for group, scope in scopes.items():
                if scope in sums:
                    yield from self._joined(group, (scope, sums[scope]), groups[group])

    def _joined(self, group: Group, table: Labelled, cliques: Sequence[Clique]) -> Iterator[tuple[Clique, Floats]]:
        chosen = {}
        for clique in cliques:
            behind = {self._placing.toward(name, group.node): name for name in clique if name not in group.inside}
            chosen[tuple(behind[edge] for edge, _ in group.edges)] = clique
        for names, found in self._products(group, table, 0, list(chosen)):
            clique = chosen[names]
            yield clique, np.array(ordered(found, clique), order="C")

    def _products(
        self, group: Group, table: Labelled, place: int, chosen: Sequence[Clique]
    ) -> Iterator[tuple[Clique, Labelled]]:
        """Multiply a table by the conditionals of one attribute from behind each edge; all choices asked for."""
        if place == len(group.edges):
            yield (), table
            return
        rest: dict[str, list[Clique]] = {}
        for names in chosen:
            rest.setdefault(names[0], []).append(names[1:])
        edge, given = group.edges[place]
        kept = {*group.inside, *chain.from_iterable(later for _, later in group.edges[place + 1 :])}
        conditionals = self._behind(edge, group.node, list(rest))
        for name, made in self._multiplied(table, given, conditionals, kept):
            for names, found in self._products(group, made, place + 1, rest[name]):
                yield (name, *names), found

    # Behind edges

    def _behind(self, i: int, j: int, names: Sequence[str]) -> dict[str, Floats]:
        """Conditionals of attributes behind an edge; shape of what each is given (see ``_given``) and of itself."""
        kept = self._part.behind((i, j))
        missing = [name for name in names if name not in kept]
        if missing:
            kept.update(self._conditionals(i, j, missing))
        return {name: kept[name] for name in names}

    def _conditionals(self, i: int, j: int, names: Sequence[str]) -> Iterator[tuple[str, Floats]]:
        shared = self._tree.stored_separator(i, j)
        further: dict[tuple[int, Clique], list[str]] = {}
        inside: dict[Clique, str] = {}
        for name in names:
            edge = self._placing.toward(name, i)
            if edge < 0:
                inside[self._placing.scope(i, (shared, (name,)))] = name
            elif self._placing.given(i, j, name) == self._placing.given(edge, i, name):
                yield name, self._behind(edge, i, [name])[name]
            else:
                further.setdefault((edge, self._placing.given(edge, i, name)), []).append(name)
        across = {(edge, given): self._placing.scope(i, (shared, given)) for edge, given in further}
        for batch in self._batches(list(dict.fromkeys([*inside, *across.values()]))):
            tables = self._sums(i, batch).items()
            found = {scope: (scope, conditional(table, scope, shared, self._among)) for scope, table in tables}
            for scope, table in found.items():
                if scope in inside:
                    yield inside[scope], ordered(table, self._axes(shared, inside[scope]))
            for (edge, given), scope in across.items():
                if scope in found:
                    conditionals = self._behind(edge, i, further[edge, given])
                    for name, made in self._multiplied(found[scope], given, conditionals, shared):
                        yield name, ordered(made, self._axes(shared, name))

    def _multiplied(
        self, table: Labelled, shared: Clique, conditionals: Mapping[str, Floats], kept: Collection[str]
    ) -> Iterator[tuple[str, Labelled]]:
        """The products of a table with each conditional, summed over what is shared and not kept.

        Args:
            table: A table over all that is shared, and more.
            shared: Variables that the conditionals are given.
            conditionals: For each variable; the last axis is its own.
            kept: Names that are still needed.
        """
        names, values = table
        if self._among is not None:
            apart = _apart(self._domain, names, shared, tuple(conditionals), frozenset(kept))
            yield from self._tangled(table, shared, conditionals, [n for n in conditionals if n not in apart], kept)
            conditionals = {name: conditionals[name] for name in apart}
            if not conditionals:
                return
        order = sorted((name for name in names if name in shared), key=lambda name: name not in kept)
        left = {
            name: size for name, size in zip(names, values.shape, strict=True) if name in kept or name not in shared
        }
        ahead = sorted(left, key=lambda name: name not in shared)
        cells = math.prod(left.values())
        listed = list(conditionals)
        for run in runs_within([cells * conditionals[name].shape[-1] for name in listed], _ROOM):
            columns = listed[run]
            for name in columns:
                self._check((*ahead, name), cells * conditionals[name].shape[-1])
            flat = self._columns.of(conditionals, columns, shared, order)
            axes, found = product(table, ((*order, _COLUMNS), flat), {*left, _COLUMNS})
            place = axes.index(_COLUMNS)
            ends = np.cumsum([conditionals[name].shape[-1] for name in columns])[:-1]
            for name, piece in zip(columns, np.split(found, ends, axis=place), strict=True):
                yield name, ((*axes[:place], name, *axes[place + 1 :]), piece)

    def _tangled(
        self,
        table: Labelled,
        shared: Clique,
        conditionals: Mapping[str, Floats],
        names: Sequence[str],
        kept: Collection[str],
    ) -> Iterator[tuple[str, Labelled]]:
        """The same, one by one, for variables whose conditionals have axes that others of the table determine."""
        needed = {*kept, *(name for name in table[0] if name not in shared)}
        for name in names:
            axes = self._axes(shared, name)
            together = self._domain.reduced((*table[0], *axes))
            self._check(together, self._placing.cells(together))
            yield name, product(table, (axes, conditionals[name]), {*needed, name}, self._among)

    def _axes(self, given: Clique, name: str) -> Clique:
        return (*given, name) if self._among is None else _axes(self._domain, given, name)

    # Inside cliques

    def _batches(self, scopes: Sequence[Clique]) -> Iterator[list[Clique]]:
        """Few enough tables at once."""
        sizes = [self._placing.cells(scope) for scope in scopes]
        for scope, size in zip(scopes, sizes, strict=True):
            self._check(scope, size)
        return (list(scopes[run]) for run in runs_within(sizes, _ROOM))

    def _sums(self, node: int, scopes: Sequence[Clique]) -> dict[Clique, Floats]:
        """Probabilities of sets of attributes inside a clique."""
        total = float(self._part.sums(node, ()))
        return {scope: table / total for scope, table in zip(scopes, self._part.many(node, scopes), strict=True)}

    def _alone(self, clique: Clique) -> Floats:
        steps = plan(self._tree, clique, {})
        self._check(clique, width(steps, self._placing.sizes, clique, self._among))
        return self._part.table(steps, clique, {})


def _axes(domain: Domain, given: Clique, name: str) -> Clique:
    """The axes of a conditional: what is given, unless the variable itself determines that, and the variable."""
    return (*(each for each in domain.reduced((*given, name)) if each != name), name)


@lru_cache(maxsize=_KEPT_MEETINGS)
def _apart(domain: Domain, names: Clique, shared: Clique, behind: Clique, kept: frozenset[str]) -> Clique:
    """The variables in products with whose conditionals no variable meets one that it determines."""
    if not set(shared) <= set(names) or any(each not in names and domain.determines(names, each) for each in kept):
        return ()
    return tuple(name for name in behind if len(_axes(domain, shared, name)) > len(shared))


class _Columns:
    """Conditionals of several attributes side by side, kept while few."""

    def __init__(self) -> None:
        self._kept: dict[object, Floats] = {}
        self._cells = 0

    def of(self, tables: Mapping[str, Floats], names: Sequence[str], shared: Clique, order: Sequence[str]) -> Floats:
        """One array, with what is shared in some order and last the codes of one attribute after the other.

        Args:
            tables: For each attribute; the last axis is its own.
            names: Attributes whose conditionals to join.
            shared: Names of the other axes.
            order: Order of these axes.
        """
        key = (tuple(names), tuple(order), tuple(id(tables[name]) for name in names))
        if key not in self._kept:
            axes = [*(shared.index(name) for name in order), len(shared)]
            made = np.concatenate([tables[name].transpose(axes) for name in names], axis=-1)
            if self._cells + made.size > _ROOM:
                self._kept, self._cells = {}, 0
            self._cells += made.size
            self._kept[key] = made
        return self._kept[key]
