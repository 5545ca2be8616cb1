"""The size of a hypothesis over junction trees with one more scope: a limit on what may still be measured.

A function of public quantities alone: the domain, the scopes measured so far and the trees over them. So to leave out
candidates that would make the hypothesis too large costs no privacy.

Few candidates over few attributes are triangulated one by one together with what is held. For many (all 500,000 pairs
of 1,000 attributes) there is an upper bound from the trees as they are: the attributes of the scope are carried along
the paths between their cliques, and beside every clique on the way stands a new one of what it shares with its
neighbours there and of what is carried. That is a junction tree, and ``Markov`` takes it if triangulation finds none
that is smaller.

Where levels are named, a few candidates are triangulated one by one too. For more, all levels that are named by any of
them are tied to their attributes first, at the price of at most one clique for each attribute that has levels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints, Places
from hedgerow.domain import Clique, Domain
from hedgerow.models.trees.elimination import tangled
from hedgerow.models.trees.forest import Forest
from hedgerow.models.trees.graph import Graph
from hedgerow.models.trees.junction_tree import JunctionTree
from hedgerow.models.trees.ties import Ties
from hedgerow.queries import filled_axes

_EXACT = 1 << 23
"""Candidates times the square of the number of attributes up to which all are triangulated one by one."""

_FEW = 1 << 7
"""Candidates for which trees are made one by one where levels are among them."""

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
        if place < len(forest.sizes):
            parts.setdefault(int(forest.parts[place]), []).append(place)
    cliques = [clique for tree in trees for clique in tree.cliques]
    beside = [clique for part, inside in parts.items() if part < len(cliques) for clique in _joined(forest, inside)]
    names = tuple(variable.name for variable in domain.variables[: len(forest.sizes)])
    return JunctionTree.of(domain, [*cliques, *(tuple(names[place] for place in each) for each in beside), scope])


def _joined(forest: Forest, inside: list[int]) -> Iterator[list[int]]:
    """The new cliques that carry attributes of one component to each other."""
    from hedgerow.models.trees.structure_kernels import joined

    root = -1
    if len(inside) == 2:
        widest = max(inside, key=lambda place: (forest.sizes[place], place))
        root = int(forest.cliques[forest.homes[widest]])
    room = np.zeros((2, len(forest.cells)), dtype=np.int64)
    sets = np.empty((3, len(forest.cells) + 1), dtype=np.int64)
    scope = np.array(inside, dtype=np.int32)
    _, count = joined(forest.flat, forest.hung(root), forest.sizes, scope, room[0], room[1], sets)
    for clique, held, carried in sets[:, :count].T.tolist():
        members = forest.members[forest.starts[clique] : forest.starts[clique + 1]].tolist()
        yield [*_chosen(members, held), *_chosen(inside, carried)]


def _chosen(places: list[int], bits: int) -> list[int]:
    return [place for i, place in enumerate(places) if bits >> i & 1]


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
        self._scopes = _places(domain, candidates)
        self._zeros = [scope for scope, _ in domain.zeros]
        leveled = int(self._scopes.max(initial=-1)) >= len(domain)
        variables = domain.variables if leveled or tangled(domain, chain(*self._zeros)) else domain.attributes
        self._sizes = np.array([variable.size for variable in variables], dtype=np.float64)
        self._named = np.unique(self._scopes[self._scopes >= 0])

    def cells(
        self, held: Sequence[Clique], trees: Sequence[JunctionTree] | None = None, *, enough: float = 0.0
    ) -> Floats:
        """Cells of all cliques together once a candidate was added to what is held, infinite where floats end.

        Exactly those of ``JunctionTree.of`` or, where there are very many candidates or levels among them, an upper
        bound.

        Args:
            held: Scopes so far; those of constraints are added.
            trees: Trees over disjoint attributes that hold the scopes. Taken as they are for bounds; by default those
                of ``JunctionTree.of``.
            enough: Upper bounds up to here are good enough, and take less time.

        Returns:
            Shape ``(candidates,)``.
        """
        held = [*self._zeros, *held]
        forest = self._forest(held, trees)
        grown = np.full(len(self._scopes), float(forest.cells.sum()))
        new = np.flatnonzero(~forest.holds(self._scopes))
        places = {place for scope in held for place in self._domain.axes(scope)}
        used = np.union1d(self._named, np.array(sorted(places), dtype=np.int64))
        if used.max(initial=-1) >= len(self._domain):
            grown[new] = self._with_levels(held, new, enough)
            return grown
        few = len(new) * len(used) ** 2 <= _EXACT
        if enough > 0.0 or not few:
            grown[new] += self._bounds(forest, self._scopes[new])
            new = new[grown[new] > enough]
        if few:
            graph = Graph.of(self._domain, [*held, *((self._domain.attributes[place].name,) for place in used)])
            grown[new] = _each_triangulated(graph, self._forest(held, None), self._scopes[new])
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
        return np.asarray(self.cells(held, trees, enough=limit) <= limit)

    def _forest(self, held: Sequence[Clique], trees: Sequence[JunctionTree] | None) -> Forest:
        forest = Forest.of(self._domain, [JunctionTree.of(self._domain, held)] if trees is None else trees)
        return forest if len(forest.sizes) >= len(self._sizes) else replace(forest, sizes=self._sizes)

    def _with_levels(self, held: Sequence[Clique], new: Ints, enough: float) -> Floats:
        """Cells once each of some candidates was added to what is held."""
        names = [variable.name for variable in self._domain.variables]
        scopes = [tuple(names[place] for place in row if place >= 0) for row in self._scopes[new].tolist()]
        if len(new) <= _FEW:
            graph = Graph.of(self._domain, held)
            joined = (graph.joined(self._domain, scope) or Graph.of(self._domain, [*held, scope]) for scope in scopes)
            return np.array([float(each.cells(self._domain)) for each in joined])
        alone = [(names[place],) for place in self._named]
        graph, ties = Graph.of(self._domain, [*held, *alone]), Ties.of(self._domain, [*held, *alone])
        closed = filled_axes(self._domain.axes(ties.closed(scope)) for scope in scopes).astype(np.int32)
        forest = Forest.of(self._domain, [JunctionTree.of(self._domain, [*held, *alone])])
        sizes = forest.sizes.copy()
        sizes[graph.places] = graph.sizes
        few = len(new) * len(graph.places) ** 2 <= _EXACT
        cells = np.full(len(new), np.inf)
        if enough > 0.0 or not few:
            cells = self._bounds(replace(forest, sizes=sizes), closed) + forest.cells.sum()
        if few:
            wide = cells > enough
            cells[wide] = _each_triangulated(graph, forest, closed[wide])
        return cells

    @staticmethod
    def _bounds(forest: Forest, scopes: Places) -> Floats:
        """Upper bounds of what each scope adds."""
        from hedgerow.models.trees.structure_kernels import pair_growth, scope_growth

        sizes = forest.sizes
        if forest.too_wide:
            return np.full(len(scopes), np.inf)
        if scopes.shape[1] != 2 or (scopes < 0).any():
            return np.asarray(scope_growth(forest.flat, forest.hung(), sizes, forest.parts, scopes))
        growth: Floats = np.outer(sizes, sizes)
        pair_growth(forest.flat, forest.homes, forest.cliques, sizes, growth)
        return np.asarray(growth[scopes[:, 0], scopes[:, 1]])


def _each_triangulated(graph: Graph, forest: Forest, scopes: Places) -> Floats:
    """Cells of the cliques of a graph, whose forest is known, to which each scope is added alone."""
    from hedgerow.models.trees.graph_kernels import triangulated_cells

    used = graph.places
    _, parts = np.unique(forest.parts[used], return_inverse=True)
    of_cliques = parts[np.searchsorted(used, forest.members[forest.starts[:-1]])]
    cells = np.zeros(parts.max(initial=-1) + 1)
    np.add.at(cells, of_cliques, forest.cells)
    inside = np.where(scopes >= 0, np.searchsorted(used, scopes), -1).astype(np.int32)
    return np.asarray(triangulated_cells(graph.near, graph.sizes, parts, cells, inside))


def _places(domain: Domain, candidates: Sequence[Clique] | Ints) -> Places:
    axes = candidates
    if not isinstance(axes, np.ndarray):
        axes = filled_axes(sorted(set(domain.axes(scope))) for scope in candidates)
    # compiled passes read a first column, also where all scopes are empty
    return (axes if axes.shape[1] else np.full((len(axes), 1), -1)).astype(np.int32)
