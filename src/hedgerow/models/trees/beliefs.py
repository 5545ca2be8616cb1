"""A product of factors over one junction tree, its messages, and sums of it by elimination.

Every clique holds the logarithms of its cells: of all factors inside it and all messages that reached it. A message is
the logarithm of the sum of these over what the receiver does not hold, less the message that came from there (Hugin's
update; Koller and Friedman, section 10.3). It is passed when an answer needs it and something behind it changed.

Why logarithms: a message is taken out again by subtraction, so nothing is ever 0/0, and a cell that was driven down by
``exp(-2000)`` comes back when a later factor revives it, whatever clique that factor is in. Products and quotients of
scaled cells are several times faster, but leave the range of floating point; fits, which make thousands of changes in
a row, take them and watch it (``tree_fit/fit.py``). The exponentials are kept while their clique stays as it is, and
so are sums of them.

Cells that no record can have (``support.py``) are minus infinity from the start and for ever. Messages are 0 there, so
that all others are finite and subtraction is safe; a cell that merely ran out of range is told from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from hedgerow.arrays import Bools, Floats
from hedgerow.domain import Clique, Domain, places_in, spread_over, summed
from hedgerow.errors import QueryError
from hedgerow.models.core import Potentials, spread
from hedgerow.models.trees.elimination import Allowed, Stage, contracted, tangled, where
from hedgerow.models.trees.junction_tree import JunctionTree
from hedgerow.models.trees.support import support_of
from hedgerow.queries import Conjunction, shared_marginals

_UNDERFLOW = 1e-250
"""A sum of exponentials that is smaller, relative to the largest cell, may have lost cells to underflow."""


class Beliefs:
    """A distribution over the variables of one junction tree without disjoint parts, in logarithms.

    Attributes:
        tree: Its structure.
        changes: Tables added since the start; each adds to the rounding errors.
        uniform: Whether all cells are as likely: no table was ever added, and each stands for as many records.
        source: Origin of the factors, kept for fits; forgotten when other factors are added.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> beliefs = Beliefs(JunctionTree.of(domain, [("a", "b"), ("b", "c")]))
        >>> beliefs.add(("a",), np.log([3.0, 1.0]))
        >>> beliefs.add(("a", "b"), np.log([[1.0, 2.0], [2.0, 1.0]]))
        >>> sums = beliefs.sums(1, ("b",))
        >>> (12 * sums / sums.sum()).round(12)
        array([5., 7.])
    """

    def __init__(self, tree: JunctionTree) -> None:
        """Start uniform over the records that break no constraint; allocates the cells of all cliques.

        Args:
            tree: Connected.
        """
        self.tree = tree
        self.changes = 0
        support = support_of(tree)
        self.uniform = support.even
        self._shared = support.shared
        self.source: object = None
        self._logs = [np.zeros(shape) for shape in tree.shapes]
        for scope, table in support.sizes:
            i = self._holder(scope)
            self._logs[i] += self._over(table, scope, i)
        for logs, cells in zip(self._logs, support.cells, strict=True):
            if cells is not None:
                logs[~cells] = -np.inf
        self._messages: dict[tuple[int, int], Floats] = {}
        for i, j in tree.edges:  # messages are replaced, never changed
            shape = tree.domain.shape_of(tree.stored_separator(i, j))
            self._messages[i, j] = self._messages[j, i] = np.zeros(shape)
        self._fresh = set(self._messages) if self.uniform else set()
        self._behind: dict[tuple[int, int], dict[str, Floats]] = {}
        self._sums: list[dict[Clique, Floats]] = [{} for _ in tree.cliques]

    def copy(self) -> Beliefs:
        """Independent beliefs in the same state."""
        twin = object.__new__(Beliefs)
        twin.__dict__.update(self.__dict__)
        twin._logs = [logs.copy() for logs in self._logs]
        twin._messages = dict(self._messages)  # messages and sums are replaced, never changed
        twin._fresh = set(self._fresh)
        twin._behind = {}
        twin._sums = [dict(sums) for sums in self._sums]
        return twin

    # Factors

    def add(self, scope: Clique, table: Floats) -> None:
        """Multiply by the exponential of a table.

        Args:
            scope: One variable or more that a clique of the tree determines.
            table: Log-factors, shape of the scope.

        Raises:
            QueryError: No clique holds the scope.
        """
        i = self._holder(scope)
        self._logs[i] += self._over(table, scope, i)
        self._changed(i)

    def add_step(self, scope: Clique, codes: Sequence[Allowed], step: float) -> None:
        """Multiply the cells where every variable lies in a set of codes by ``exp(step)``.

        Args:
            scope: One variable or more that a clique of the tree determines.
            codes: Sorted, for each variable of the scope.
            step: Finite.

        Raises:
            QueryError: No clique holds the scope.
        """
        i = self._holder(scope)
        allowed, stored = dict(zip(scope, codes, strict=True)), self.tree.stored[i]
        if all(name in stored for name in scope):
            self._logs[i][where(stored, self.tree.shapes[i], allowed)] += step
        else:
            table = np.zeros(self.tree.domain.shape_of(scope))
            table[where(scope, table.shape, allowed)] = step
            self._logs[i] += self._over(table, scope, i)
        self._changed(i)

    def add_all(self, factors: Potentials) -> None:
        """Multiply by all factors of a state, each clique once for those over the same variables or fewer of them.

        Args:
            factors: Log-factors over scopes that a clique of the tree determines; their base is not used.

        Raises:
            QueryError: No clique holds one of the scopes.
        """
        shape_of, steps = self.tree.domain.shape_of, list(factors.steps.items())
        inside: dict[int, list[Clique]] = {}
        for scope in filter(None, dict.fromkeys(factors.scopes)):
            inside.setdefault(self._holder(scope), []).append(scope)
        for i, scopes in inside.items():
            homes = _homes(scopes)
            mine: dict[Clique, list[tuple[Conjunction, float]]] = {}
            for query, step in steps:
                if query.scope in homes:
                    mine.setdefault(homes[query.scope], []).append((query, step))
            for home in dict.fromkeys(homes.values()):
                table = np.zeros(shape_of(home))
                for scope, each in factors.tables.items():
                    if homes.get(scope) == home:
                        table += spread(each, scope, home)
                for query, step in mine.get(home, ()):  # the table is small, the clique need not be
                    table[where(home, table.shape, dict(zip(query.scope, query.codes, strict=True)))] += step
                self._logs[i] += self._over(table, home, i)
            self._changed(i)

    def impossible(self, i: int) -> int:
        """Number of cells of a clique that no record can have."""
        cells = support_of(self.tree).cells[i]
        return 0 if cells is None else int(np.count_nonzero(~cells))

    def settle(self, tables: Sequence[Floats], separators: Mapping[tuple[int, int], Floats]) -> None:
        """Become a distribution whose marginals are known; no message is missing after that.

        Args:
            tables: The marginal of each clique, in any unit, all cells positive that records can have.
            separators: For each edge the marginal of what its cliques share, in any unit.
        """
        tables = [table / table.max() for table in tables]
        with np.errstate(divide="ignore"):
            self._logs = [np.log(table) for table in tables]
            logs = {edge: np.log(shared) for edge, shared in separators.items()}
        self._sums = [{clique: table} for clique, table in zip(self.tree.stored, tables, strict=True)]
        # Only the sum of the messages in both directions says anything.
        for (i, j), shared in logs.items():
            self._messages[i, j] = _possible(shared, self._shared.get((i, j)))
            self._messages[j, i] = np.zeros(shared.shape)
        self._fresh = set(self._messages)
        self._behind.clear()
        self.changes += 1
        self.uniform = False
        self.source = None

    def _over(self, table: Floats, scope: Clique, i: int) -> Floats:
        """A table over the cells of a clique that determines its scope."""
        stored = self.tree.stored[i]
        return spread(table, scope, stored) if self.tree.plain else spread_over(self.tree.domain, table, scope, stored)

    def _holder(self, scope: Clique) -> int:
        i = self.tree.find(scope)
        if i is None:
            raise QueryError(f"no clique holds {' * '.join(scope)}", remedy="take a tree over all scopes")
        return i

    def _changed(self, i: int) -> None:
        """No message that leaves this clique, or depends on one that does, holds any more."""
        self.changes += 1
        self.uniform = False
        self.source = None
        self._sums[i].clear()
        stack = [(i, j) for j in self.tree.neighbours[i]]
        while stack:
            edge = stack.pop()
            if edge in self._fresh:
                self._fresh.discard(edge)
                self._behind.pop(edge, None)
                stack += [(edge[1], k) for k in self.tree.neighbours[edge[1]] if k != edge[0]]

    # Messages

    def _calibrate(self, i: int) -> None:
        """Pass the messages that are missing for the cells of a clique to be its marginal, from the outside in."""
        needed: list[tuple[int, int]] = []
        stack = [(j, i) for j in self.tree.neighbours[i]]
        while stack:
            edge = stack.pop()
            if edge not in self._fresh:  # behind a message that holds, all messages hold
                needed.append(edge)
                stack += [(k, edge[0]) for k in self.tree.neighbours[edge[0]] if k != edge[1]]
        for edge in reversed(needed):
            self._send(*edge)

    def _send(self, i: int, j: int) -> None:
        shared, cells = self.tree.stored_separator(i, j), self._shared.get((i, j))
        message = self._log_sum(i, shared, cells) - self._messages[j, i]
        message -= message.max() if cells is None else message.max(where=cells, initial=-np.inf)
        message = _possible(message, cells)  # the scale of a clique says nothing
        difference = message - self._messages[i, j]
        if difference.any():
            self._logs[j] += self._over(difference, shared, j)
            self._messages[i, j] = message
            self._sums[j].clear()
        self._fresh.add((i, j))

    def _log_sum(self, i: int, names: Clique, cells: Bools | None) -> Floats:
        """Logarithms of the sums of a clique's cells, up to a constant.

        Finite where records can be, which is where ``cells`` says; elsewhere they say nothing.
        """
        domain, stored = self.tree.domain, self.tree.stored[i]
        sums = self._summed(i, names)
        if cells is None:
            if sums.min() > _UNDERFLOW:
                return np.log(sums)
        elif sums.min(where=cells, initial=np.inf) > _UNDERFLOW:
            return np.log(sums, out=np.zeros(sums.shape), where=cells)
        tops = _possible(_largest(domain, self._logs[i], stored, names), cells)
        scaled = self._logs[i] - spread_over(domain, tops, names, stored)
        sums = summed(domain, np.exp(scaled), stored, names)
        return tops + np.log(sums, out=np.zeros(sums.shape), where=True if cells is None else cells)

    def _summed(self, i: int, names: Clique) -> Floats:
        """Sums of the exponentials of a clique's cells, whose largest is 1; kept until the clique changes."""
        stored, kept = self.tree.stored[i], self._sums[i]
        if stored not in kept:
            self._logs[i] -= self._logs[i].max()
            kept[stored] = np.exp(self._logs[i])
        if names not in kept:
            if sum(sums.size for sums in kept.values()) > 2 * self._logs[i].size:
                self._sums[i] = kept = {stored: kept[stored]}
            kept[names] = self._marginals(i, kept[stored], [names])[0]
        return kept[names]

    def _marginals(self, i: int, table: Floats, wanted: Sequence[Clique]) -> list[Floats]:
        """Sums of a clique's table over variables that it determines; over its axes by shared partial sums."""
        stored = self.tree.stored[i]
        if self.tree.plain and all(name in stored for names in wanted for name in names):
            return shared_marginals(table, stored, wanted)
        axes = set(stored)
        inside = [names for names in wanted if axes.issuperset(names)]
        tables = dict(zip(inside, shared_marginals(table, stored, inside), strict=True))
        return [
            tables[names] if names in tables else summed(self.tree.domain, table, stored, names) for names in wanted
        ]

    # Sums

    def behind(self, edge: tuple[int, int]) -> dict[str, Floats]:
        """Room for what depends on nothing but the factors behind an edge; emptied when one of them changes.

        Args:
            edge: Two cliques, the one behind first.
        """
        if edge not in self._fresh:
            self._calibrate(edge[1])
        return self._behind.setdefault(edge, {})

    def forget(self, more_than: int) -> None:
        """Empty the rooms of all edges if they hold more cells than that."""
        if sum(table.size for kept in self._behind.values() for table in kept.values()) > more_than:
            self._behind.clear()

    def many(self, i: int, wanted: Sequence[Clique]) -> list[Floats]:
        """Marginals of several sets of variables that a clique determines, by shared sums; not to be changed."""
        return self._marginals(i, self.sums(i, self.tree.stored[i]), wanted)

    def sums(self, i: int, names: Clique) -> Floats:
        """The marginal of variables that a clique determines, in a unit of the clique's own; not to be changed."""
        self._calibrate(i)
        return self._summed(i, names)

    def logs(self, i: int) -> Floats:
        """The logarithm of the marginal of a clique, up to a constant; cells that underflow in it keep theirs.

        Not to be changed; -inf where no record can be.
        """
        self._calibrate(i)
        return self._logs[i]

    def table(
        self,
        steps: Sequence[Stage],
        wanted: Clique,
        evidence: Mapping[str, Allowed],
        weights: Mapping[str, Floats] | None = None,
    ) -> Floats:
        """Probabilities of the codes of some variables, together with evidence about others.

        Args:
            steps: The plan of an elimination for all these variables.
            wanted: Variables of the tree, in domain order.
            evidence: For some other variables, which no others determine or follow from, the codes that count.
            weights: For some other variables how much each code counts.

        Returns:
            Shape of the wanted variables; sums to the probability of the evidence. Not to be changed.
        """
        tables = {step.node: self.sums(step.node, step.keep) for step in steps}
        names = itertools.chain(wanted, weights or (), *(step.keep for step in steps))
        among = tangled(self.tree.domain, names)
        return contracted(steps, tables, wanted, evidence, weights=weights, domain=among)


def _homes(scopes: Sequence[Clique]) -> dict[Clique, Clique]:
    """For each scope the first of the longest that hold it: the table that it is added up in."""
    homes: dict[Clique, Clique] = {}
    longest = list[tuple[Clique, frozenset[str]]]()
    for scope in sorted(scopes, key=len, reverse=True):
        names = frozenset(scope)
        home = next((other for other, held in longest if names <= held), None)
        if home is None:
            longest.append((scope, names))
        homes[scope] = home or scope
    return homes


def _possible(message: Floats, cells: Bools | None) -> Floats:
    """The message with 0 where no record can be."""
    return message if cells is None else np.where(cells, message, 0.0)


def _largest(domain: Domain, table: Floats, stored: Clique, names: Clique) -> Floats:
    """The largest cell of a table for each combination of variables that it determines."""
    if set(names) <= set(stored):
        tops = table.max(axis=tuple(axis for axis, name in enumerate(stored) if name not in names))
        kept = [name for name in stored if name in names]
        return np.asarray(tops.transpose([kept.index(name) for name in names]))
    places = places_in(domain, stored, names).reshape(-1)
    largest = np.full(domain.shape_of(names), -np.inf)
    np.maximum.at(largest.reshape(-1), places[places >= 0], table.reshape(-1)[places >= 0])
    return largest
