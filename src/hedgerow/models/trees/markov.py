"""A hypothesis that is a product of small factors: memory and time follow what was measured, not the domain.

Attributes that updates or constraints connect form a part, with a junction tree of its own; the hypothesis is the
product of its parts and of the uniform distribution over all other attributes. It is the same distribution as that of
``Histogram`` after the same updates. A tree is built again when an update has a scope that lies in no clique, or is
over a level that no clique has, and only for the parts that the scope touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.models.core import (
    Codes,
    Complete,
    Factored,
    Potentials,
    SamplingMethod,
    Terms,
    check_cells,
    checked_table,
    components,
    restricted,
)
from hedgerow.models.trees.answers import CHEAP_CELLS, TreeAnswers
from hedgerow.models.trees.beliefs import Beliefs
from hedgerow.models.trees.growth import grown_tree
from hedgerow.models.trees.junction_tree import JunctionTree
from hedgerow.queries import Conjunction, LinearQuery, filled_axes

_CELL_BYTES = 48
"""Logarithms, exponentials, and sums and conditionals of these that have twice as many cells each at most."""
_CHANGES = 1 << 14
"""Changes of a part after which it is built again from its factors, so that rounding errors never add up."""


def markov_bytes(trees: Iterable[JunctionTree]) -> int:
    """Estimate of the memory of a hypothesis: logarithms, exponentials and their sums, and work on one clique.

    Args:
        trees: The structure of each part.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abc")
        >>> markov_bytes([JunctionTree.of(domain, [("a", "b"), ("b", "c")])])
        11200
    """
    sizes = [size for tree in trees for size in tree.sizes]
    return _CELL_BYTES * sum(sizes) + 16 * max(sizes, default=0)


def cells_bytes(cells: int) -> int:
    """The same for cliques with a given number of cells in all, of which one may have nearly all.

    Example:
        >>> cells_bytes(2**20) / 2**20
        64.0
    """
    return (_CELL_BYTES + 16) * cells


def check_tree_fits(cells: int) -> None:
    """Refuse a number of cells that does not fit into memory.

    Raises:
        ModelTooLargeError: They do not.

    Example:
        >>> check_tree_fits(2**10)
    """
    check_cells(cells, cells_bytes(cells), tree=True)


class Markov(Factored):
    """A distribution proportional to a product of positive factors over the scopes of updates, scaled to a total.

    Example:
        >>> import math
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(50))
        >>> model = Markov(domain, total=100)
        >>> model.update(Conjunction.where(domain, {"x3": [0, 1], "x8": [5]}), step=math.log(50))
        >>> model.update(Conjunction.where(domain, {"x8": [5], "x9": [0]}), step=math.log(2))
        >>> model.conjunctions([Conjunction.where(domain, {"x3": [0, 1], "x9": [0]})]).round(6)
        array([10.440613])
        >>> model.cells
        200
    """

    def __init__(
        self, domain: Domain, total: float, scopes: Iterable[Clique] = (), start: Mapping[Clique, Floats] | None = None
    ) -> None:
        """Start from the uniform hypothesis or from a product of given factors.

        Args:
            domain: The domain.
            total: Mass in counts, positive.
            scopes: Variables that updates will connect, if known: makes room for them at once.
            start: For cliques in domain order, each of at least one variable and none that the others determine, the
                log-factors of the initial hypothesis; copied. None means uniform over the records that break no
                constraint.

        Raises:
            ConfigError: The total is not positive, or a factor is not finite.
            DomainError: A scope names no attribute.
            QueryError: A clique of the start is none of those above, or its table does not have its shape.
            ModelTooLargeError: The cliques do not fit into memory; nothing was allocated.
        """
        super().__init__(domain, total)
        self._scopes: dict[Clique, None] = {}
        self._parts: dict[str, Beliefs] = {}
        self._owners: dict[str, Beliefs] = {}  # the parts by the attributes that their variables are functions of
        self._answers = TreeAnswers(domain, self._parts)
        self._start = {clique: _start_factor(domain, clique, table) for clique, table in (start or {}).items()}
        self.cover([*(scope for scope, _ in domain.zeros), *self._start, *scopes])

    @classmethod
    def from_potentials(
        cls, domain: Domain, total: float, potentials: Potentials, start: Mapping[Clique, Floats] | None = None
    ) -> Markov:
        """The model that ``potentials()`` was taken from; given its start, the one with these ``updates()``.

        Raises:
            ConfigError: The potentials have a base, or a factor is not finite.
            QueryError: A table does not fit its scope.
            ModelTooLargeError: The cliques do not fit into memory; nothing was allocated.

        Example:
            >>> import math
            >>> from hedgerow.domain import IntegerRange
            >>> domain = Domain((IntegerRange("a", 0, 1),))
            >>> steps = {Conjunction.where(domain, {"a": [0]}): math.log(3)}
            >>> Markov.from_potentials(domain, 4, Potentials(steps=steps)).marginals([("a",)])[0].round(12).tolist()
            [3.0, 1.0]
        """
        model = cls(domain, total, potentials.scopes, start)
        model.restore(potentials)
        return model

    cheap_cells = CHEAP_CELLS
    """Larger tables may need larger products on the way."""

    @property
    def trees(self) -> list[JunctionTree]:
        """The structure of each part, in the order in which they grew."""
        return [part.tree for part in self.forest]

    @property
    def cells(self) -> int:
        """Cells of all cliques together."""
        return sum(tree.cells for tree in self.trees)

    @property
    def forest(self) -> list[Beliefs]:
        """The parts, in the order in which they grew."""
        return list({id(part): part for part in self._parts.values()}.values())

    def part(self, name: str) -> Beliefs:
        """The part that holds a variable of some update, or of a scope that room was made for."""
        return self._parts[name]

    # State

    def restart(self, parts: Sequence[Beliefs]) -> list[Beliefs]:
        """Undo all updates of some parts, which are replaced by new ones with the same trees."""
        names = {name for part in parts for name in _names(part)}
        self._terms.drop(names)
        for part in parts:
            self._rebuild(part.tree)  # with the factors of the initial hypothesis
        return [self.part(_names(part)[0]) for part in parts]

    def reset(self) -> None:
        """Undo all updates; the trees stay, for the updates to come."""
        self._terms = Terms()
        for part in self.forest:
            self._rebuild(part.tree)

    def copy(self) -> Markov:
        """An independent model in the same state."""
        self._check_fits(self.trees)
        twin = object.__new__(Markov)
        twin.__dict__.update(self.__dict__)
        twin._terms = self._terms.copy()
        twin._scopes = dict(self._scopes)
        twin._parts, twin._owners = {}, {}
        twin._answers = TreeAnswers(self._domain, twin._parts)
        for part in self.forest:
            twin._take(part.copy())
        twin._answers.look_again()
        return twin

    def potentials(self) -> Potentials:
        """The state, for saving; copies."""
        state = Terms()
        state.add(Potentials(self._start))
        state.add(self._terms.potentials(None))
        return state.potentials(None)

    @property
    def start(self) -> Mapping[Clique, Floats]:
        """The log-factors of the initial hypothesis."""
        return self._start

    def updates(self) -> Potentials:
        """The log-factors of all updates alone, without those of the initial hypothesis; copies."""
        return self._terms.potentials(None)

    def cover(self, scopes: Iterable[Clique]) -> None:
        """Make room for updates of some scopes; the distribution stays the same.

        Args:
            scopes: Variables in any order each; what others of a scope determine need not be named.

        Raises:
            DomainError: A scope names no variable.
            ModelTooLargeError: The cliques would not fit into memory; nothing was changed.
        """
        unknown = dict.fromkeys(self._domain.reduced(scope) for scope in scopes if scope not in self._scopes)
        new = [scope for scope in unknown if not self._holds(scope)]
        if not new:
            return
        for scope in new:  # what no tree could hold is refused before one is looked for
            cells = self._domain.cells(scope)
            check_cells(cells, _CELL_BYTES * cells, tree=True)
        bases = {scope: self._domain.base(scope) for scope in new}
        touched = {id(part): part for names in bases.values() for name in names if (part := self._owners.get(name))}
        inside = {name for part in touched.values() for name in _names(part)}
        held = (*self._scopes, *unknown)  # some of these only because cliques are larger than what they are made of
        wanted = dict.fromkeys([*(scope for scope in held if inside.issuperset(scope)), *new])
        bases |= {scope: self._domain.base(scope) for scope in wanted if scope not in bases}
        groups = components(self._domain, (bases[scope] for scope in wanted))
        group_of = {name: number for number, names in enumerate(groups) for name in names}
        scopes_of: list[list[Clique]] = [[] for _ in groups]
        for scope in filter(None, wanted):
            scopes_of[group_of[bases[scope][0]]].append(scope)
        trees = [JunctionTree.of(self._domain, scopes) for scopes in scopes_of]
        before = sum(part.tree.cells for part in touched.values())
        # the bound that growth.py gives is at least half the cells of the scope above what is there
        if len(new) == 1 and touched and trees[0].cells > before + self._domain.cells(new[0]) // 2:
            grown = grown_tree(self._domain, [part.tree for part in touched.values()], new[0])
            trees = min(trees, [grown], key=lambda each: sum(tree.cells for tree in each))
        self._check_fits([*trees, *(part.tree for part in self.forest if id(part) not in touched)])
        self._scopes.update(wanted)
        for tree in trees:
            self._rebuild(tree)
        for name in inside:
            if id(self._parts[name]) in touched:  # the new trees do without it
                del self._parts[name]
        self._answers.look_again()

    # Updates

    def _step(self, query: Conjunction, step: float) -> None:
        part = self._part_for(query.scope)
        self._terms.add_step(query, step)
        if part is not None:
            part.add_step(query.scope, query.codes, step)

    def _reweigh(self, clique: Clique, table: Floats) -> None:
        part = self._part_for(clique)
        self._terms.add_table(clique, table)
        if part is not None:
            part.add(clique, table)

    def _make(self, factors: Potentials) -> None:
        self.credit(factors)
        for part in self.forest:
            self._add_terms(part)

    def credit(self, factors: Potentials) -> None:
        """Record updates that the parts hold already.

        Args:
            factors: Log-factors over scopes that lie in a clique; their base is not used.
        """
        self._terms.add(factors)
        self._scopes.update(dict.fromkeys(factors.scopes))

    # Answers

    def _marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        return [np.multiply(table, self._total, out=table) for table in self._answers.tables(cliques)]

    def parities(self, scopes: Sequence[Clique] | Ints) -> Floats:
        """Sums of the product of ``1 - 2 code`` over each set of binary attributes, in counts.

        Asked with the same array again, only sets are computed again of which a component has changed since.

        Args:
            scopes: Sets by name; or shape ``(sets, longest)``, positions in the domain, increasing, then -1 to fill up.

        Returns:
            Shape ``(sets,)``.

        Raises:
            QueryError: An attribute has more than two codes.
            MarginalTooLargeError: A table that is needed for a set of many attributes does not fit into memory.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> model = Markov(Domain(IntegerRange(name, 0, 1) for name in "abc"), total=8)
            >>> model.reweigh(("a", "b"), np.log([[3.0, 1.0], [1.0, 3.0]]))
            >>> model.parities([("a", "b"), ("b", "c"), ()]).round(12)
            array([4., 0., 8.])
        """
        axes = scopes if isinstance(scopes, np.ndarray) else filled_axes(map(self._domain.axes, scopes))
        return self._answers.parities(axes) * self._total

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts.

        Conditions on the same small set of attributes are read off its table; others are evidence.
        """
        return self._answers.conjunctions(queries) * self._total

    def _blocks(self, n: int, draw: np.random.Generator, method: SamplingMethod) -> Iterator[Codes]:
        """Clique by clique; ``models/trees/sampling.py`` states the law."""
        from hedgerow.models.trees.sampling import sample_trees

        return sample_trees(self.forest, self._domain, n, draw, method)

    def meeting(self, condition: LinearQuery) -> Markov:
        """The same factors, on fewer records."""
        domain = restricted(self._domain, condition)
        return Markov.from_potentials(domain, self._total, self.updates(), self._start)

    def completing(self, names: Clique) -> Complete:
        """Clique by clique, as ``models/core/completion.py`` says."""
        from hedgerow.models.trees.sampling import completing

        functions = [name for name in names if len(self._domain.base((name,))) > 1]
        model = self.copy() if functions else self
        model.cover((name,) for name in functions)
        return completing(model.forest, self._domain, names)

    # Inside

    def _take(self, part: Beliefs) -> None:
        self._parts.update(dict.fromkeys(_names(part), part))
        self._owners.update(dict.fromkeys(self._domain.base(_names(part)), part))

    def _holds(self, scope: Clique) -> bool:
        """Whether all variables of a scope are members of one clique."""
        if not scope:
            return True
        part = self._parts.get(scope[0])
        if part is None or part.tree.find(scope) is None:
            return False
        return all([self._parts.get(name) is part for name in scope])  # not only determined by members

    def _part_for(self, scope: Clique) -> Beliefs | None:
        """The part in which a scope lies in one clique; grown if there was none."""
        if not self._holds(scope):
            self.cover([scope])
        if not scope:
            return None
        self._scopes[scope] = None
        part = self._parts[scope[0]]
        if part.changes >= _CHANGES:
            self._rebuild(part.tree)
        return self._parts[scope[0]]

    def _rebuild(self, tree: JunctionTree) -> None:
        """Put all factors so far into a new tree."""
        part = Beliefs(tree)
        for scope in _inside(self._start, _names(part)):
            part.add(scope, self._start[scope])
        self._add_terms(part)
        self._take(part)

    def _add_terms(self, part: Beliefs) -> None:
        """Multiply a part that holds the initial hypothesis by all factors so far."""
        part.add_all(self._terms.inside(_names(part)))
        part.changes = 0

    # Checks

    def _check_fits(self, trees: Sequence[JunctionTree]) -> None:
        check_cells(sum(tree.cells for tree in trees), markov_bytes(trees), tree=True)


def _start_factor(domain: Domain, clique: Clique, table: Floats) -> Floats:
    if not clique or domain.reduced(clique) != clique:
        raise QueryError(
            f"the start has a table over {clique!r}, of which {domain.reduced(clique)!r} says as much",
            remedy="give it over variables that do not determine each other, in the order of the domain",
        )
    return checked_table(domain, clique, table).copy()


def _names(part: Beliefs) -> Clique:
    return tuple(dict.fromkeys(name for clique in part.tree.cliques for name in clique))


def _inside(scopes: Iterable[Clique], group: Clique) -> list[Clique]:
    names = set(group)
    return [scope for scope in scopes if names.issuperset(scope)]
