"""The cells of a junction tree that records can have, and how many codes its coarsest members stand for.

Constraints forbid cells where they stand, and by that others, all over the tree: what a clique forbids of a separator
is forbidden on the other side too, and so on until nothing changes. So it is known once and for all where
probabilities are 0, and messages are only about the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from hedgerow.arrays import Bools, Floats
from hedgerow.domain import Clique, Domain, spread_over, summed
from hedgerow.errors import DomainError
from hedgerow.models.trees.graph import Edge
from hedgerow.models.trees.junction_tree import JunctionTree


@dataclass(frozen=True, eq=False)
class Support:
    """The start of a product over a tree: the uniform distribution over records that break no constraint.

    Attributes:
        sizes: Log-factors of variables whose attribute is not in the tree: the number of its codes for each of theirs.
        even: Whether it is uniform over the cells of every clique.
        cells: For each clique the cells that records can have; None where they can have all.
        shared: The same for what two cliques share, both ways round; edges where they can have all are left out.

    Example:
        >>> from hedgerow.domain import Constraint, IntegerRange
        >>> from hedgerow.models.trees.junction_tree import JunctionTree
        >>> rule = Constraint("a <= b", ("a", "b"), [[0, 1], [0, 1]], [[1, 1], [0, 1]])
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1), IntegerRange("c", 0, 19)), (), (rule,))
        >>> support = Support.of(JunctionTree.of(domain, [("a", "b"), ("b", "c.5")]))
        >>> support.cells, [(scope, np.exp(table).round(12).tolist()) for scope, table in support.sizes]
        ((array([[ True,  True],
               [False,  True]]), None), [(('c.5',), [5.0, 5.0, 5.0, 5.0])])
    """

    even: bool
    sizes: tuple[tuple[Clique, Floats], ...]
    cells: tuple[Bools | None, ...]
    shared: Mapping[Edge, Bools]

    @classmethod
    def of(cls, tree: JunctionTree) -> Support:
        """The support of a tree, by the constraints whose scope it holds.

        Raises:
            DomainError: They leave no record.
        """
        cells: list[Bools | None] = [None] * len(tree.cliques)
        if tree.plain and not tree.domain.constraints:
            return cls(True, (), tuple(cells), {})
        counts = dict(_counts(tree))
        possible = [((name,), sizes > 0) for name, sizes in counts.items() if (sizes == 0).any()]
        for scope, allowed in (*possible, *tree.domain.zeros):
            home = tree.find(scope)
            if home is not None:
                spread = spread_over(tree.domain, allowed, scope, tree.stored[home])
                cells[home] = _both(cells[home], spread, tree.shapes[home])
        shared = _propagate(tree, cells)
        if any(cell is not None and not cell.any() for cell in cells):
            raise DomainError("the constraints leave no record", remedy="leave out one of them")
        logs = tuple(((name,), np.log(np.maximum(sizes, 1.0))) for name, sizes in counts.items())
        even = tree.plain and all(cell is None for cell in cells)
        return cls(even, logs, tuple(cells), shared | {(j, i): seen for (i, j), seen in shared.items()})


_KNOWN: WeakKeyDictionary[JunctionTree, Support] = WeakKeyDictionary()


def support_of(tree: JunctionTree) -> Support:
    """`Support.of` a tree, found once for each.

    Raises:
        DomainError: The constraints leave no record.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> tree = JunctionTree.of(Domain((IntegerRange("age", 0, 44),)), [("age",)])
        >>> support_of(tree) is support_of(tree), support_of(tree).even
        (True, True)
    """
    known = _KNOWN.get(tree)
    if known is None:
        known = _KNOWN[tree] = Support.of(tree)
    return known


def codes_of(domain: Domain, name: str) -> Floats:
    """Number of codes of its attribute for each code of a level, or of their combinations for a function of several.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> codes_of(Domain((IntegerRange("age", 0, 44),)), "age.7")[-2:]
        array([7., 3.])
    """
    function = domain.function(name)
    if function is None:
        return np.ones(domain[name].size)
    return np.bincount(function.codes.reshape(-1), minlength=function.attribute.size).astype(np.float64)


def _counts(tree: JunctionTree) -> Iterator[tuple[str, Floats]]:
    """Numbers of codes for the finest member of each attribute that is itself no member."""
    domain = tree.domain
    members = dict.fromkeys(name for clique in tree.cliques for name in clique)
    for name in members:
        source = domain.base((name,))
        if len(source) > 1 or source[0] in members:
            continue
        finer = (member for member in members if member != name and domain.lookup(member, name) is not None)
        if all(domain.lookup(name, each) is not None and domain.index(each) > domain.index(name) for each in finer):
            yield name, codes_of(domain, name)


def _both(known: Bools | None, more: Bools, shape: Sequence[int]) -> Bools:
    return np.asarray(np.broadcast_to(more, shape) & (True if known is None else known))


def _seen(tree: JunctionTree, cells: Sequence[Bools | None], edge: Edge) -> Bools | None:
    """The cells of a separator that the cells of the first clique belong to; None if that is all of them."""
    i, j = edge
    here, stored, shared = cells[i], tree.stored[i], tree.stored_separator(i, j)
    if here is None and set(shared) <= set(stored):
        return None
    known = np.ones(tree.shapes[i]) if here is None else here.astype(np.float64)
    seen = summed(tree.domain, known, stored, shared) > 0.0
    return None if seen.all() else np.asarray(seen)


def _propagate(tree: JunctionTree, cells: list[Bools | None]) -> dict[Edge, Bools]:
    """Forbid the cells that no cell of a neighbour belongs to: from the leaves to the roots, and back, is enough.

    Returns:
        The cells of separators that are left, from one side; both sides agree. Separators with all cells are left out.
    """
    place = {i: order for order, i in enumerate(tree.ordered)}
    edges = ((i, j) if place[i] < place[j] else (j, i) for i, j in tree.edges)
    outwards = sorted(edges, key=lambda edge: place[edge[1]])  # each after all on the way to it
    for i, j in reversed(outwards):
        _forbid(tree, cells, (j, i))
    return {edge: seen for edge in outwards if (seen := _forbid(tree, cells, edge)) is not None}


def _forbid(tree: JunctionTree, cells: list[Bools | None], edge: Edge) -> Bools | None:
    """Forbid the cells of the second clique that no cell of the first belongs to; what the separator has left."""
    seen, (_, j) = _seen(tree, cells, edge), edge
    if seen is not None:
        spread = spread_over(tree.domain, seen, tree.stored_separator(*edge), tree.stored[j])
        left = _both(cells[j], spread, tree.shapes[j])
        cells[j] = None if cells[j] is None and left.all() else left
    return seen
