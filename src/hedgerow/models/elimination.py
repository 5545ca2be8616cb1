"""Marginals of a calibrated junction tree that lie in no single clique, and the probability of evidence.

Everything else is summed out over the smallest subtree that holds the attributes asked for. The marginal of each clique
there, over what it shares with its neighbours and what was asked for, divided by the sum over what it does not share
with its parent, is a conditional distribution; these are multiplied and summed from the leaves to the root (Koller and
Friedman, section 10.3.3). Probabilities lie in [0, 1], so this needs no logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import final

import numpy as np

from hedgerow.domain import Clique
from hedgerow.models.junction_tree import JunctionTree
from hedgerow.queries.query import Floats

Codes = tuple[int, ...]
Index = tuple[slice | np.ndarray[tuple[int, ...], np.dtype[np.intp]], ...]


@final
@dataclass(frozen=True)
class Step:
    """What one clique of the subtree contributes.

    Attributes:
        node: The clique.
        children: Cliques that come before it, with what each shares with it.
        shared: What it shares with its parent; empty for the root.
        keep: Attributes of the clique that are needed, in domain order.
    """

    node: int
    children: tuple[tuple[int, Clique], ...]
    shared: Clique
    keep: Clique


def plan(tree: JunctionTree, names: Sequence[str]) -> list[Step]:
    """The steps of an elimination, children before parents, the root last.

    Args:
        tree: Its structure.
        names: Attributes of one component that are asked for or given.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> from hedgerow.domain import Domain
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcd")
        >>> tree = JunctionTree.of(domain, [("a", "b", "d"), ("b", "c")])
        >>> [(step.node, step.keep, step.shared) for step in plan(tree, ("a", "c"))]
        [(1, ('b', 'c'), ('b',)), (0, ('a', 'b'), ())]
    """
    subtree = tree.spanning(names)
    children: dict[int, list[tuple[int, Clique]]] = {}
    for node, parent in subtree:
        if parent is not None:
            children.setdefault(parent, []).append((node, tree.separator(node, parent)))
    steps = []
    for node, parent in reversed(subtree):
        shared = () if parent is None else tree.separator(node, parent)
        below = tuple(children.get(node, ()))
        needed = {*names, *shared, *(name for _, each in below for name in each)}
        keep = tuple(name for name in tree.cliques[node] if name in needed)
        steps.append(Step(node, below, shared, keep))
    return steps


def width(steps: Sequence[Step], sizes: Mapping[str, int], wanted: Collection[str]) -> int:
    """Products in the largest step, exact however large: bounds every array and the time.

    Args:
        steps: Of the plan.
        sizes: Codes of each attribute that are not ruled out by evidence.
        wanted: Attributes whose codes are told apart in the result.

    Example:
        >>> width([Step(0, (), (), ("a", "b"))], {"a": 3, "b": 4}, ("a",))
        12
    """
    largest, held = 1, dict[int, set[str]]()
    for step in steps:
        below = {name for child, _ in step.children for name in held[child]}
        held[step.node] = below.union(name for name in step.keep if name in wanted)
        largest = max(largest, math.prod(sizes[name] for name in below.union(step.keep)))
    return largest


def contracted(
    steps: Sequence[Step], found: Mapping[int, Floats], wanted: Clique, evidence: Mapping[str, Codes]
) -> Floats:
    """Run an elimination.

    Args:
        steps: Of the plan.
        found: For each clique its marginal over ``keep``, in any unit.
        wanted: Attributes of the result, in domain order.
        evidence: For other attributes the codes that count.

    Returns:
        Probabilities, shape of the wanted attributes.

    Example:
        >>> contracted([Step(0, (), (), ("a", "b"))], {0: np.array([[6.0, 2.0], [1.0, 1.0]])}, ("a",), {"b": (0,)})
        array([0.6, 0.1])
    """
    messages: dict[int, tuple[Clique, Floats]] = {}
    for step in steps:
        table = _conditional(found[step.node], step.keep, step.shared)
        names, values = step.keep, table[where(step.keep, table.shape, evidence)]
        left = [shared for _, shared in step.children]
        for child, _ in step.children:
            left.pop(0)
            needed = {*wanted, *step.shared, *(name for shared in left for name in shared)}
            # evidence that both hold was applied to both; cells where it does not hold are in neither
            names, values = _product((names, values), messages.pop(child), needed)
        messages[step.node] = _summed(names, values, {*wanted, *step.shared})
    names, values = messages[steps[-1].node]
    return values.transpose([names.index(name) for name in wanted])


def where(clique: Clique, shape: Sequence[int], allowed: Mapping[str, Codes]) -> Index:
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


def spread(table: Floats, scope: Clique, clique: Clique) -> Floats:
    """A table with an axis of size 1 for each attribute of the clique that is not in its scope.

    Example:
        >>> spread(np.zeros((2, 3)), ("a", "c"), ("a", "b", "c")).shape
        (2, 1, 3)
    """
    return np.expand_dims(table, tuple(axis for axis, name in enumerate(clique) if name not in scope))


def _conditional(table: Floats, names: Clique, shared: Clique) -> Floats:
    """Given the attributes that the parent holds; codes that never occur give 0."""
    sums = table.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in shared), keepdims=True)
    return np.asarray(np.divide(table, sums, out=np.zeros_like(table), where=sums > 0.0), dtype=np.float64)


def _product(first: tuple[Clique, Floats], second: tuple[Clique, Floats], needed: set[str]) -> tuple[Clique, Floats]:
    """The product of two tables, summed over what is not needed."""
    letter = dict(zip(dict.fromkeys((*first[0], *second[0])), ascii_letters, strict=False))
    kept = tuple(name for name in letter if name in needed)
    axes = ["".join(letter[name] for name in names) for names in (first[0], second[0], kept)]
    return kept, np.asarray(np.einsum(f"{axes[0]},{axes[1]}->{axes[2]}", first[1], second[1]), dtype=np.float64)


def _summed(names: Clique, values: Floats, needed: set[str]) -> tuple[Clique, Floats]:
    axes = tuple(axis for axis, name in enumerate(names) if name not in needed)
    return tuple(name for name in names if name in needed), values.sum(axis=axes) if axes else values
