"""Conditions without negations, and the cells where they are true."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Literal

import numpy as np

from hedgerow.arrays import Bools
from hedgerow.domain.conditions.comparison import Truth, folded
from hedgerow.domain.conditions.tree import Condition, Leaf, Negation


@dataclass(frozen=True, eq=False)
class Flat:
    """A join without negations, with one leaf for each attribute, and no join inside one of its word.

    Attributes:
        word: ``"and"`` or ``"or"``.
        parts: Leaves, then joins of the other word.
    """

    word: Literal["and", "or"]
    parts: tuple[Leaf | Flat, ...]


def simplified(condition: Condition) -> Leaf | Flat:
    """The same condition, with negations carried into its leaves and the leaves of an attribute put together.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.domain.conditions.tree import Constant, Join
        >>> age = IntegerRange("age", 0, 99)
        >>> part = [Leaf.comparison(age, sign, Constant(text)) for sign, text in (("<", "10"), (">", "20"))]
        >>> simplified(Negation(Join("or", tuple(part)))).truth.yes
        CodeSet(10..20)
    """
    return _simple(condition, negated=False)


def leaves_in(condition: Leaf | Flat) -> list[Leaf]:
    """The conditions on one attribute that a condition is made of."""
    return [condition] if isinstance(condition, Leaf) else list(chain.from_iterable(map(leaves_in, condition.parts)))


def true_where(condition: Leaf | Flat, of_leaf: Callable[[Leaf], Bools]) -> Bools:
    """The cells where a condition is true.

    Args:
        condition: The condition.
        of_leaf: Gives the cells where a leaf is true, in arrays that broadcast.

    Returns:
        An array that broadcasts to the shape of all cells.
    """
    if isinstance(condition, Leaf):
        return of_leaf(condition)
    operation = np.logical_and if condition.word == "and" else np.logical_or
    start = np.array(condition.word == "and")
    return reduce(operation, (true_where(part, of_leaf) for part in condition.parts), start)


def _simple(condition: Condition, *, negated: bool) -> Leaf | Flat:
    if isinstance(condition, Negation):
        return _simple(condition.part, negated=not negated)
    if isinstance(condition, Leaf):
        return Leaf(condition.name, ~condition.truth, condition.text) if negated else condition
    word: Literal["and", "or"] = "and" if (condition.word == "and") != negated else "or"
    return _joined(word, [_simple(part, negated=negated) for part in condition.parts])


def _joined(word: Literal["and", "or"], parts: Iterable[Leaf | Flat]) -> Leaf | Flat:
    leaves: dict[str, list[Truth]] = {}
    joins: list[Flat] = []
    for part in parts:
        for opened in part.parts if isinstance(part, Flat) and part.word == word else (part,):
            if isinstance(opened, Leaf):
                leaves.setdefault(opened.name, []).append(opened.truth)
            else:
                joins.append(opened)
    operation = Truth.__and__ if word == "and" else Truth.__or__
    together = (Leaf(name, folded(operation, truths), "") for name, truths in leaves.items())
    members: tuple[Leaf | Flat, ...] = (*together, *joins)
    return members[0] if len(members) == 1 else Flat(word, members)
