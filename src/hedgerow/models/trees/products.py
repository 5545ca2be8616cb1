"""Products of tables with named axes, where variables may determine each other.

No table has an axis for a variable that its other ones determine. Where two tables meet, a level in one whose attribute
is in the other becomes the finer axis; where only the level is still needed, sums go back to it. Functions take the
domain for that; without one no variable determines another, and nothing is looked up.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, carriers, spread_over, summed

Labelled = tuple[Clique, Floats]
"""A name for each axis, and a table."""

_KEPT = 1 << 14
"""Pairs of tables for which is kept how they meet: trees ask for the same ones again and again."""


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


def product(first: Labelled, second: Labelled, needed: Collection[str], domain: Domain | None = None) -> Labelled:
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
        return _aligned_product(first, second, frozenset(needed), domain)  # itself, if it is one
    (names, left), (others, right) = (
        summed_to(*mine, {*needed, *other[0]}) for mine, other in ((first, second), (second, first))
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


@dataclass(frozen=True)
class _Alignment:
    """The way in which two tables meet; the same for all tables over these variables.

    Attributes:
        first: Variables of the first table that matter.
        second: Variables of the second that do.
        together: Those of both that no others determine.
        carried: Those of ``together`` that are kept in the product.
        coarser: Whether the result is over coarser variables than these.
    """

    first: Clique
    second: Clique
    together: Clique
    carried: frozenset[str]
    coarser: bool


@lru_cache(maxsize=_KEPT)
def _alignment(domain: Domain, names: Clique, others: Clique, needed: frozenset[str]) -> _Alignment:
    union = domain.clique((*names, *others))
    tied = set(union).difference(domain.reduced(union))
    for name in tuple(tied):
        sources = carriers(domain, name, tuple(other for other in union if other != name))
        tied.update(sources if len(sources) > 1 else ())
    first = left_of(names, needed.union(others, tied), domain)
    second = left_of(others, needed.union(names, tied), domain)
    together = domain.reduced((*first, *second))
    wanted = left_of(together, needed, domain)
    carried = frozenset(name for each in wanted for name in carriers(domain, each, together))
    return _Alignment(first, second, together, carried, carried != set(wanted))


def _aligned_product(first: Labelled, second: Labelled, needed: frozenset[str], domain: Domain) -> Labelled:
    """The same where variables of one table may determine variables of the other: over the finer ones of both."""
    alignment = _alignment(domain, first[0], second[0], needed)
    one, two = (
        _refined((names, summed(domain, values, held, names)), alignment.together, domain)
        for (held, values), names in ((first, alignment.first), (second, alignment.second))
    )
    names, values = product(one, two, alignment.carried)
    return summed_to(names, values, needed, domain) if alignment.coarser else (names, values)


def _refined(table: Labelled, together: Clique, domain: Domain) -> Labelled:
    """A table with finer axes instead of those that they determine."""
    names, values = table
    if set(names) <= set(together):
        return table
    finer = {carrier for name in names for carrier in carriers(domain, name, together)}
    clique = tuple(name for name in together if name in finer)
    return clique, spread_over(domain, values, names, clique)


def left_of(names: Collection[str], needed: Collection[str], domain: Domain | None) -> Clique:
    """The variables that are needed of those that some determine; the least that says them all.

    Args:
        names: Variables of a table.
        needed: Variables to keep.
        domain: The domain, if variables determine each other.

    Example:
        >>> left_of(("a", "b"), {"b", "c"}, None)
        ('b',)
    """
    inside = tuple(name for name in names if name in needed)
    if domain is None:
        return inside
    return domain.reduced((*inside, *(name for name in needed if name not in names and domain.determines(names, name))))


def summed_to(names: Clique, values: Floats, needed: Collection[str], domain: Domain | None = None) -> Labelled:
    """A table summed over what is not needed.

    Args:
        names: Names of its axes.
        values: Numbers.
        needed: Variables to keep.
        domain: The domain, if variables determine each other.

    Example:
        >>> summed_to(("a", "b"), np.ones((2, 3)), {"b"})
        (('b',), array([2., 2., 2.]))
    """
    if domain is not None:
        left = left_of(names, needed, domain)
        return left, summed(domain, values, names, left)
    axes = tuple(axis for axis, name in enumerate(names) if name not in needed)
    return tuple(name for name in names if name in needed), values.sum(axis=axes) if axes else values
