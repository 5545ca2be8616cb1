"""Marginals of a calibrated junction tree that lie in no single clique, and the probability of evidence.

Everything else is summed out over the smallest subtree that holds the attributes asked for. The marginal of each clique
there, over what it shares with its neighbours and what was asked for, divided by the sum over what it does not share
with its parent, is a conditional distribution; these are multiplied and summed from the leaves to the root (Koller and
Friedman, section 10.3.3). Probabilities lie in [0, 1], so this needs no logarithms.

No table has an axis for a variable that its other ones determine (see ``products.py``).
"""

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, spread_over
from hedgerow.models.trees.junction_tree import JunctionTree
from hedgerow.models.trees.products import Labelled, conditional, left_of, ordered, product, summed_to

Allowed = Sequence[int]
"""Codes of an attribute that count."""
Index = tuple[slice | np.ndarray[tuple[int, ...], np.dtype[np.intp]], ...]


@dataclass(frozen=True)
class Stage:
    """The contribution of one clique of the subtree.

    Attributes:
        node: The clique.
        children: Cliques whose results it is multiplied with, in this order, and what each shares with it.
        shared: Variables that it shares with its parent; empty for the root.
        keep: Variables of the clique that are needed, in domain order.
    """

    node: int
    children: tuple[tuple[int, Clique], ...]
    shared: Clique
    keep: Clique


def tangled(domain: Domain, names: Iterable[str]) -> Domain | None:
    """The domain if some of the names are functions of attributes, which others may determine; else None.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99)))
        >>> tangled(domain, ("sex", "age")), tangled(domain, ("sex", "age.10")) is domain
        (None, True)
    """
    return domain if max(domain.axes(tuple(names)), default=-1) >= len(domain) else None


def plan(tree: JunctionTree, wanted: Sequence[str], evidence: Collection[str] = ()) -> list[Stage]:
    """The steps of an elimination, children before parents, the root last.

    Args:
        tree: The tree.
        wanted: Variables of the result.
        evidence: Other variables of the same component, of which something is given.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcd")
        >>> tree = JunctionTree.of(domain, [("a", "b", "d"), ("b", "c")])
        >>> [(step.node, step.keep, step.shared) for step in plan(tree, ("a", "c"))]
        [(1, ('b', 'c'), ('b',)), (0, ('a', 'b'), ())]
    """
    asked = {*wanted, *evidence}
    domain = tangled(tree.domain, asked) if tree.plain else tree.domain
    subtree = tree.spanning((*wanted, *evidence))
    below: dict[int, list[int]] = {node: [] for node, _ in subtree}
    for node, parent in subtree:
        if parent is not None:
            below[parent].append(node)
    steps, names_of = [], dict[int, set[str]]()
    for node, parent in reversed(subtree):
        shared = () if parent is None else tree.stored_separator(node, parent)
        separators = {child: tree.stored_separator(node, child) for child in below[node]}
        needed = {*asked, *shared, *itertools.chain.from_iterable(separators.values())}
        keep = left_of(tree.stored[node], needed, domain)
        inside = set(keep).union(*(names_of[child] for child in below[node]))
        names_of[node] = set(left_of(inside, {*wanted, *shared}, domain))
        left = {child: (names_of[child], separators[child]) for child in below[node]}
        children = _ordered_children(tree, keep, {*wanted, *shared}, left, domain)
        steps.append(Stage(node, tuple(children), shared, keep))
    return steps


def width(
    steps: Sequence[Stage], sizes: Mapping[str, int], wanted: Collection[str], domain: Domain | None = None
) -> int:
    """Cells of the largest array of an elimination, exact however large.

    Args:
        steps: Steps of the plan.
        sizes: Codes of each variable that are not ruled out by evidence.
        wanted: Variables of the result.
        domain: The domain, if variables determine each other.

    Example:
        >>> width([Stage(0, (), (), ("a", "b"))], {"a": 3, "b": 4}, ("a",))
        12
    """
    largest, names_of = 1, dict[int, set[str]]()
    for step in steps:
        names = set(step.keep)
        largest = max(largest, math.prod(sizes[name] for name in names))
        for child, needed in _children(step, wanted):
            names = set(left_of(names | names_of[child], needed, domain))
            largest = max(largest, math.prod(sizes[name] for name in names))
        names_of[step.node] = set(left_of(names, {*wanted, *step.shared}, domain))
    return largest


def contracted(
    steps: Sequence[Stage],
    found: Mapping[int, Floats],
    wanted: Clique,
    evidence: Mapping[str, Allowed],
    *,
    weights: Mapping[str, Floats] | None = None,
    domain: Domain | None = None,
) -> Floats:
    """Run an elimination.

    Args:
        steps: Steps of the plan.
        found: For each clique its marginal over ``keep``, in any unit.
        wanted: Variables of the result, in domain order.
        evidence: For other variables, which no others determine or follow from, the codes that count.
        weights: For other variables how much each code counts.
        domain: The domain, if variables determine each other.

    Returns:
        Probabilities, shape of the wanted variables.

    Example:
        >>> contracted([Stage(0, (), (), ("a", "b"))], {0: np.array([[6.0, 2.0], [1.0, 1.0]])}, ("a",), {"b": (0,)})
        array([0.6, 0.1])
    """
    messages: dict[int, Labelled] = {}
    left = dict(weights or {})
    for step in steps:
        table = conditional(found[step.node], step.keep, step.shared, domain)
        names, values = step.keep, table[where(step.keep, table.shape, evidence)]
        for name in [each for each in left if each in names or (domain and domain.determines(names, each))]:
            factors = left.pop(name)
            along = [-1 if other == name else 1 for other in names]
            values = values * (spread_over(domain, factors, (name,), names) if domain else factors.reshape(along))
        for child, needed in _children(step, wanted):
            # evidence about what both hold was applied to both: their axes agree
            names, values = product((names, values), messages.pop(child), needed, domain)
        messages[step.node] = summed_to(names, values, {*wanted, *step.shared}, domain)
    return ordered(messages[steps[-1].node], wanted)


def where(clique: Clique, shape: Sequence[int], allowed: Mapping[str, Allowed]) -> Index:
    """An index of the cells where attributes lie in sets of codes; a view if each set is a run.

    Example:
        >>> where(("a", "b"), (2, 9), {"b": (3, 4)})
        (slice(0, 2, None), slice(3, 5, None))
    """
    chosen = [allowed.get(name, range(size)) for name, size in zip(clique, shape, strict=True)]
    runs = [slice(codes[0], codes[-1] + 1) if codes else slice(0) for codes in chosen]
    if all(len(codes) == run.stop - (run.start or 0) for codes, run in zip(chosen, runs, strict=True)):
        return tuple(runs)
    return np.ix_(*(np.asarray(codes, dtype=np.intp) for codes in chosen))


def _ordered_children(
    tree: JunctionTree, keep: Clique, kept: set[str], left: dict[int, tuple[set[str], Clique]], domain: Domain | None
) -> Iterator[tuple[int, Clique]]:
    """Children with what each shares, such that the product with the next one has few cells (greedy)."""
    names = set(keep)
    while left:
        needed = {
            child: kept.union(*(shared for other, (_, shared) in left.items() if other != child)) for child in left
        }
        results = {child: set(left_of(names | held, needed[child], domain)) for child, (held, _) in left.items()}
        child = min(results, key=lambda result: tree.domain.cells(tuple(results[result])))
        names = results[child]
        yield child, left.pop(child)[1]


def _children(step: Stage, wanted: Collection[str]) -> Iterator[tuple[int, set[str]]]:
    """The children of a step, and the attributes that are still needed when each was multiplied."""
    for place, (child, _) in enumerate(step.children, start=1):
        later = (name for _, shared in step.children[place:] for name in shared)
        yield child, {*wanted, *step.shared, *later}
