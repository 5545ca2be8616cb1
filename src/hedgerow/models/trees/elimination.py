"""Marginals of a calibrated junction tree that lie in no single clique, and the probability of evidence.

Everything else is summed out over the smallest subtree that holds the attributes asked for. The marginal of each clique
there, over what it shares with its neighbours and what was asked for, divided by the sum over what it does not share
with its parent, is a conditional distribution; these are multiplied and summed from the leaves to the root (Koller and
Friedman, section 10.3.3). Probabilities lie in [0, 1], so this needs no logarithms.

No table has an axis for a variable that its other ones determine. Where two tables meet, a level in one whose attribute
is in the other becomes the finer axis; where only the level is still needed, sums go back to it. Functions take the
domain for that; without one no variable determines another, and nothing is looked up.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, carriers, places_in, spread_over, summed
from hedgerow.models.trees.junction_tree import JunctionTree

Allowed = Sequence[int]
"""Codes of an attribute that count."""
Labelled = tuple[Clique, Floats]
"""A name for each axis, and a table."""
Index = tuple[slice | np.ndarray[tuple[int, ...], np.dtype[np.intp]], ...]


@final
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
    steps, held = [], dict[int, set[str]]()
    for node, parent in reversed(subtree):
        shared = () if parent is None else tree.stored_separator(node, parent)
        separators = {child: tree.stored_separator(node, child) for child in below[node]}
        needed = {*asked, *shared, *itertools.chain.from_iterable(separators.values())}
        keep = _left(tree.stored[node], needed, domain)
        inside = set(keep).union(*(held[child] for child in below[node]))
        held[node] = set(_left(inside, {*wanted, *shared}, domain))
        left = {child: (held[child], separators[child]) for child in below[node]}
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
    largest, held = 1, dict[int, set[str]]()
    for step in steps:
        names = set(step.keep)
        largest = max(largest, math.prod(sizes[name] for name in names))
        for child, needed in _children(step, wanted):
            names = set(_left(names | held[child], needed, domain))
            largest = max(largest, math.prod(sizes[name] for name in names))
        held[step.node] = set(_left(names, {*wanted, *step.shared}, domain))
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
            values = values * (spread_over(domain, factors, (name,), names) if domain else _along(factors, name, names))
        for child, needed in _children(step, wanted):
            # evidence about what both hold was applied to both: their axes agree
            names, values = product((names, values), messages.pop(child), needed, domain)
        messages[step.node] = _summed(names, values, {*wanted, *step.shared}, domain)
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


def conditional(table: Floats, names: Clique, shared: Clique, domain: Domain | None = None) -> Floats:
    """The distribution of a table given what is shared; codes that never occur give 0.

    Args:
        table: Numbers, not negative.
        names: Names of its axes.
        shared: Variables that they determine.
        domain: The domain, if variables determine each other.

    Example:
        >>> conditional(np.array([[3.0, 1.0], [0.0, 0.0]]), ("a", "b"), ("a",)).tolist()
        [[0.75, 0.25], [0.0, 0.0]]
    """
    if domain is None or set(shared) <= set(names):
        sums = table.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in shared), keepdims=True)
    else:
        sums = np.broadcast_to(spread_over(domain, summed(domain, table, names, shared), shared, names), table.shape)
    return np.asarray(np.divide(table, sums, out=np.zeros_like(table), where=sums > 0.0), dtype=np.float64)


def ordered(table: Labelled, order: Sequence[str]) -> Floats:
    """The axes of a table in another order; a view.

    Example:
        >>> ordered((("a", "b"), np.array([[1.0, 2.0, 3.0]])), ("b", "a")).shape
        (3, 1)
    """
    names, values = table
    return values.transpose([names.index(name) for name in order])


def product(first: Labelled, second: Labelled, needed: set[str], domain: Domain | None = None) -> Labelled:
    """The product of two tables, summed over what is not needed: a stack of matrix products.

    Args:
        first: A table.
        second: Another, with the same size where they share an axis.
        needed: Variables to keep.
        domain: The domain, if variables determine each other.

    Example:
        >>> names, values = product((("a", "b"), np.eye(2)), (("b", "c"), np.array([[1.0], [2.0]])), {"a", "c"})
        >>> names, values.tolist()
        (('c', 'a'), [[1.0, 2.0]])
    """
    if domain is not None:
        return _aligned_product(first, second, needed, domain)
    (names, left), (others, right) = (
        _summed(*mine, needed.union(other[0])) for mine, other in ((first, second), (second, first))
    )
    stack = [name for name in names if name in others and name in needed]
    inner = [name for name in names if name in others and name not in needed]
    rows = [name for name in names if name not in others]
    columns = [name for name in others if name not in names]
    size = dict(zip((*names, *others), (*left.shape, *right.shape), strict=True))
    lengths = [math.prod(size[name] for name in axes) for axes in (stack, rows, inner, columns)]
    kept = (*stack, *rows, *columns)
    shape = [size[name] for name in kept]
    if not inner:
        wide = ordered((names, left), [*stack, *rows]).reshape(lengths[0], lengths[1], 1)
        return kept, (wide * ordered((others, right), [*stack, *columns]).reshape(lengths[0], 1, -1)).reshape(shape)
    from hedgerow.models.trees.elimination_kernels import products  # compiling takes a second

    if lengths[3] < lengths[1]:  # passes run along the longer side
        names, left, rows, others, right, columns = others, right, columns, names, left, rows
        kept = (*stack, *rows, *columns)
        shape = [size[name] for name in kept]
    a = ordered((names, left), [*stack, *rows, *inner]).reshape(lengths[0], -1, lengths[2])
    b = ordered((others, right), [*stack, *inner, *columns]).reshape(lengths[0], lengths[2], -1)
    return kept, products(a, b).reshape(shape)


def _aligned_product(first: Labelled, second: Labelled, needed: set[str], domain: Domain) -> Labelled:
    """The same where variables of one table may determine variables of the other."""
    union = domain.clique((*first[0], *second[0]))
    tied = set(union).difference(domain.reduced(union))
    for name in tuple(tied):
        sources = carriers(domain, name, tuple(each for each in union if each != name))
        tied.update(sources if len(sources) > 1 else ())
    one = _summed(*first, needed.union(second[0], tied), domain)
    two = _summed(*second, needed.union(first[0], tied), domain)
    together = domain.reduced((*one[0], *two[0]))
    wanted = _left(together, needed, domain)
    carried = {name for each in wanted for name in carriers(domain, each, together)}
    made = _stacked_product(one, two, carried, (together, domain))
    names, values = made or product(_refined(one, together, domain), _refined(two, together, domain), carried)
    return _summed(names, values, needed, domain) if carried != set(wanted) else (names, values)


def _stacked_product(
    first: Labelled, second: Labelled, kept: set[str], among: tuple[Clique, Domain]
) -> Labelled | None:
    """The product where tables differ only in how fine they are in what is kept: none is spread out before.

    Args:
        first: A table.
        second: Another.
        kept: Variables to keep, of those together.
        among: The variables of both that no others determine, and the domain.

    Returns:
        None where a variable that is summed over is finer in one table.
    """
    together, domain = among
    finer = [_finer(table, together, domain) for table in (first, second)]
    stack = tuple(name for name in together if name in kept and name in finer[0] and name in finer[1])
    inner = tuple(name for name in together if name not in kept and name in finer[0] and name in finer[1])
    coarse = [
        tuple(name for name in names if set(carriers(domain, name, together)) <= set(stack))
        for names, _ in (first, second)
    ]
    outer = [
        tuple(name for name in names if name not in own and name not in inner)
        for (names, _), own in zip((first, second), coarse, strict=True)
    ]
    for (names, _), own, rest in zip((first, second), coarse, outer, strict=True):
        if set(names) != {*own, *rest, *inner} or not set(rest) <= set(together) - set(stack):
            return None
    sizes = dict(zip(stack, domain.shape_of(stack), strict=True))  # of others the tables may have as many as they like
    sizes |= dict(
        (name, size)
        for (names, values), own in zip((first, second), coarse, strict=True)
        for name, size in zip(names, values.shape, strict=True)
        if name not in own
    )
    length = math.prod(sizes[name] for name in inner)
    places = [places_in(domain, stack, own).reshape(-1) for own in coarse]
    if math.prod(sizes[name] for name in outer[1]) < math.prod(sizes[name] for name in outer[0]):
        first, second, coarse, outer, places = second, first, coarse[::-1], outer[::-1], places[::-1]
    stacks = [math.prod(domain.shape_of(own)) for own in coarse]
    left = ordered(first, [*coarse[0], *outer[0], *inner]).reshape(stacks[0], -1, length)
    right = ordered(second, [*coarse[1], *inner, *outer[1]]).reshape(stacks[1], length, -1)
    names = (*stack, *outer[0], *outer[1])
    from hedgerow.models.trees.elimination_kernels import products  # compiling takes a second

    return names, products(left, right, *places).reshape([sizes[name] for name in names])


def _finer(table: Labelled, together: Clique, domain: Domain) -> set[str]:
    """The variables of a clique that the axes of a table depend on."""
    return {carrier for name in table[0] for carrier in carriers(domain, name, together)}


def _refined(table: Labelled, together: Clique, domain: Domain) -> Labelled:
    """A table with finer axes instead of those that they determine."""
    names, values = table
    if set(names) <= set(together):
        return table
    finer = _finer(table, together, domain)
    clique = tuple(name for name in together if name in finer)
    return clique, spread_over(domain, values, names, clique)


def _ordered_children(
    tree: JunctionTree,
    keep: Clique,
    kept: set[str],
    left: dict[int, tuple[set[str], Clique]],
    domain: Domain | None,
) -> Iterator[tuple[int, Clique]]:
    """Children with what each shares, such that the product with the next one has few cells (greedy)."""
    names = set(keep)
    while left:
        needed = {
            child: kept.union(*(shared for other, (_, shared) in left.items() if other != child)) for child in left
        }
        results = {child: set(_left(names | held, needed[child], domain)) for child, (held, _) in left.items()}
        child = min(results, key=lambda each: math.prod(tree.domain.shape_of(tuple(results[each]))))
        names = results[child]
        yield child, left.pop(child)[1]


def _children(step: Stage, wanted: Collection[str]) -> Iterator[tuple[int, set[str]]]:
    """The children of a step, and the attributes that are still needed when each was multiplied."""
    for place, (child, _) in enumerate(step.children, start=1):
        later = (name for _, shared in step.children[place:] for name in shared)
        yield child, {*wanted, *step.shared, *later}


def _left(names: Collection[str], needed: Collection[str], domain: Domain | None) -> Clique:
    """The variables that are needed of those that some determine; the least that says them all."""
    inside = tuple(name for name in names if name in needed)
    if domain is None:
        return inside
    return domain.reduced((*inside, *(name for name in needed if name not in names and domain.determines(names, name))))


def _summed(names: Clique, values: Floats, needed: set[str], domain: Domain | None = None) -> Labelled:
    if domain is not None:
        left = _left(names, needed, domain)
        return left, summed(domain, values, names, left)
    axes = tuple(axis for axis, name in enumerate(names) if name not in needed)
    return tuple(name for name in names if name in needed), values.sum(axis=axes) if axes else values


def _along(factors: Floats, name: str, names: Clique) -> Floats:
    return factors.reshape([-1 if each == name else 1 for each in names])
