"""The size of a hypothesis over junction trees with one more scope: a limit on what may still be measured.

A function of public quantities alone: the domain, the scopes measured so far and the trees over them. So to leave out
candidates that would make the hypothesis too large costs no privacy.

Few candidates over few attributes are triangulated one by one together with what is held. For many (all 500,000 pairs
of 1,000 attributes) there is an upper bound from the trees as they are: the attributes of the scope are carried along
the paths between their cliques, and beside every clique on the way stands a new one of what it shares with its
neighbours there and of what is carried. That is a junction tree, and ``Markov`` takes it if triangulation finds none
that is smaller.
"""

from collections.abc import Iterator, Sequence
from typing import final

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints, Places
from hedgerow.domain import Clique, Domain
from hedgerow.models.trees.forest import Forest
from hedgerow.models.trees.junction_tree import Graph, JunctionTree
from hedgerow.queries import filled_axes

_EXACT = 1 << 23
"""Candidates times the square of the number of attributes up to which all are triangulated one by one."""

_NARROW = 4
"""Attributes of candidates that are first looked at all together."""


def grown_tree(domain: Domain, trees: Sequence[JunctionTree], scope: Clique) -> JunctionTree:
    """The trees joined to one that holds one more scope, by the rule whose cells ``Growth`` gives as a bound.

    Args:
        domain: The domain.
        trees: Trees over disjoint attributes.
        scope: In domain order.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcde")
        >>> chain = JunctionTree.of(domain, [("a", "b"), ("b", "c"), ("c", "d")])
        >>> grown_tree(domain, [chain], ("a", "d")).cliques
        (('a', 'b', 'c'), ('a', 'c', 'd'))
    """
    forest = Forest.of(domain, trees)
    parts: dict[int, list[int]] = {}
    for place in domain.axes(scope):
        parts.setdefault(int(forest.parts[place]), []).append(place)
    held = [clique for tree in trees for clique in tree.cliques]
    beside = [clique for part, inside in parts.items() if part < len(held) for clique in _joined(forest, inside)]
    names = domain.names
    return JunctionTree.of(domain, [*held, *(tuple(names[place] for place in each) for each in beside), scope])


def _joined(forest: Forest, inside: list[int]) -> Iterator[list[int]]:
    """The new cliques that carry attributes of one component to each other."""
    from hedgerow.models.trees.structure_kernels import joined

    root = -1
    if len(inside) == 2:
        widest = max(inside, key=lambda place: (forest.sizes[place], place))
        root = int(forest.cliques[forest.homes[widest]])
    room = np.zeros((2, len(forest.cells)), dtype=np.int64)
    found = np.empty((3, len(forest.cells) + 1), dtype=np.int64)
    scope = np.array(inside, dtype=np.int32)
    _, count = joined(forest.flat, forest.hung(root), forest.sizes, scope, room[0], room[1], found)
    for clique, held, carried in found[:, :count].T.tolist():
        members = forest.members[forest.starts[clique] : forest.starts[clique + 1]].tolist()
        yield [*_chosen(members, held), *_chosen(inside, carried)]


def _chosen(places: list[int], bits: int) -> list[int]:
    return [place for i, place in enumerate(places) if bits >> i & 1]


@final
class Growth:
    """The growth by each of many candidates, asked for again and again while trees grow.

    Example:
        >>> from itertools import combinations
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(400))
        >>> growth = Growth(domain, list(combinations(domain.names, 2)))
        >>> growth.cells([("x0", "x1"), ("x1", "x2")])[:4]  # the first lies in a clique and adds nothing
        array([ 8., 12., 12., 12.])
        >>> int(growth.within(13, [("x0", "x1"), ("x1", "x2")]).sum())
        79800
    """

    def __init__(self, domain: Domain, candidates: Sequence[Clique] | Ints) -> None:
        """Remember the candidates.

        Args:
            domain: The domain.
            candidates: Their scopes, in any order each; or shape ``(candidates, longest)``, positions in the domain,
                increasing, then -1 to fill up (``Workload.scope_axes``).

        Raises:
            DomainError: An attribute does not exist.
        """
        self._domain = domain
        self._sizes = np.array(domain.shape, dtype=np.float64)
        self._scopes = _places(domain, candidates)
        self._named = np.unique(self._scopes[self._scopes >= 0])

    def cells(self, held: Sequence[Clique], trees: Sequence[JunctionTree] | None = None) -> Floats:
        """Cells of all cliques together once a candidate was added to what is held, infinite where floats end.

        Exactly those of ``JunctionTree.of`` or, where there are very many candidates, an upper bound.

        Args:
            held: Scopes so far.
            trees: Trees over disjoint attributes that hold the scopes. Taken as they are for bounds; by default those
                of ``JunctionTree.of``.

        Returns:
            Shape ``(candidates,)``.
        """
        forest = self._forest(held, trees)
        grown = np.full(len(self._scopes), float(forest.cells.sum()))
        new = np.flatnonzero(~forest.holds(self._scopes))
        used = self._used(held)
        if len(new) * len(used) ** 2 <= _EXACT:
            grown[new] = self._triangulated(held, used, self._scopes[new])
        else:
            grown[new] += self._bounds(forest, self._scopes[new])
        return grown

    def within(self, limit: float, held: Sequence[Clique], trees: Sequence[JunctionTree] | None = None) -> Bools:
        """Whether all cliques together stay within a number of cells, shape ``(candidates,)``.

        They are not looked at one by one if each of them could be carried through all cliques.

        Args:
            limit: Largest number of cells.
            held: Scopes so far.
            trees: See ``cells``.
        """
        width = self._scopes.shape[1]
        if width <= _NARROW and trees is not None:
            largest = float(self._sizes[self._named].max(initial=1.0))
            carried = largest if width <= 2 else largest**width  # of a pair one attribute stays where it is
            if (1.0 + carried) * sum(tree.cells for tree in trees) + largest**width <= limit:
                return np.ones(len(self._scopes), dtype=np.bool_)
        return np.asarray(self.cells(held, trees) <= limit)

    def _forest(self, held: Sequence[Clique], trees: Sequence[JunctionTree] | None) -> Forest:
        return Forest.of(self._domain, [JunctionTree.of(self._domain, held)] if trees is None else trees)

    def _used(self, held: Sequence[Clique]) -> Ints:
        places = {place for scope in held for place in self._domain.axes(scope)}
        return np.union1d(self._named, np.array(sorted(places), dtype=np.int64))

    def _triangulated(self, held: Sequence[Clique], used: Ints, scopes: Places) -> Floats:
        from hedgerow.models.trees.graph_kernels import triangulated_cells

        alone = [(self._domain.attributes[place].name,) for place in used]
        graph = Graph.of(self._domain, [*held, *alone])
        forest = self._forest(held, None)
        _, parts = np.unique(forest.parts[used], return_inverse=True)
        of_cliques = parts[np.searchsorted(used, forest.members[forest.starts[:-1]])]
        cells = np.zeros(parts.max(initial=-1) + 1)
        np.add.at(cells, of_cliques, forest.cells)
        inside = np.where(scopes >= 0, np.searchsorted(used, scopes), -1).astype(np.int32)
        return np.asarray(triangulated_cells(graph.near, graph.sizes, parts, cells, inside))

    def _bounds(self, forest: Forest, scopes: Places) -> Floats:
        """Upper bounds of what each scope adds."""
        from hedgerow.models.trees.structure_kernels import pair_growth, scope_growth

        if forest.too_wide:
            return np.full(len(scopes), np.inf)
        if scopes.shape[1] != 2 or (scopes < 0).any():
            return np.asarray(scope_growth(forest.flat, forest.hung(), self._sizes, forest.parts, scopes))
        growth: Floats = np.outer(self._sizes, self._sizes)
        pair_growth(forest.flat, forest.homes, forest.cliques, self._sizes, growth)
        return np.asarray(growth[scopes[:, 0], scopes[:, 1]])


def _places(domain: Domain, candidates: Sequence[Clique] | Ints) -> Places:
    axes = candidates
    if not isinstance(axes, np.ndarray):
        position = {name: place for place, name in enumerate(domain.names)}
        try:
            axes = filled_axes(sorted({position[name] for name in scope}) for scope in candidates)
        except KeyError as unknown:
            domain.index(unknown.args[0])
            raise
    # compiled passes read a first column, also where all scopes are empty
    return (axes if axes.shape[1] else np.full((len(axes), 1), -1)).astype(np.int32)
