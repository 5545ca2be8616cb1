"""Products of tables with named axes, where variables may determine each other.

No table has an axis for a variable that its other ones determine. Where two tables meet, a level in one whose attribute
is in the other becomes the finer axis; where only the level is still needed, sums go back to it. Functions take the
domain for that; without one no variable determines another, and nothing is looked up.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, carriers, places_in, spread_over, summed

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
        wanted: Variables of the result, in any order.
        stack: Variables that are kept, and that both tables depend on.
        inner: Variables that are summed over.
        coarse: For each table those of its variables that ``stack`` determines; None where a variable that is summed
            over is finer in one table.
        outer: For each table the rest.
        layouts: For each pair of shapes that was met how the tables become stacks of matrices.
    """

    first: Clique
    second: Clique
    together: Clique
    carried: frozenset[str]
    wanted: Clique
    stack: Clique
    inner: Clique
    coarse: tuple[Clique, Clique] | None
    outer: tuple[Clique, Clique]
    layouts: dict[tuple[tuple[int, ...], tuple[int, ...]], _Layout] = field(default_factory=dict, compare=False)


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
    finer = [_finer(own, together, domain) for own in (first, second)]
    both = tuple(name for name in together if name in finer[0] and name in finer[1])
    stack, inner = (tuple(name for name in both if (name in carried) is kept) for kept in (True, False))
    one, two = (
        tuple(name for name in own if set(carriers(domain, name, together)) <= set(stack)) for own in (first, second)
    )
    outer = tuple(
        tuple(name for name in own if name not in coarse and name not in inner)
        for own, coarse in ((first, one), (second, two))
    )
    fits = all(
        set(own) == {*coarse, *rest, *inner} and set(rest) <= set(together) - set(stack)
        for own, coarse, rest in zip((first, second), (one, two), outer, strict=True)
    )
    return _Alignment(
        first, second, together, carried, wanted, stack, inner, (one, two) if fits else None, (outer[0], outer[1])
    )


def _aligned_product(first: Labelled, second: Labelled, needed: frozenset[str], domain: Domain) -> Labelled:
    """The same where variables of one table may determine variables of the other."""
    alignment = _alignment(domain, first[0], second[0], needed)
    one = alignment.first, summed(domain, first[1], first[0], alignment.first)
    two = alignment.second, summed(domain, second[1], second[0], alignment.second)
    if alignment.coarse is not None:
        shapes = one[1].shape, two[1].shape
        if shapes not in alignment.layouts:
            alignment.layouts[shapes] = _layout(shapes, alignment, alignment.coarse, domain)
        from hedgerow.models.trees.elimination_kernels import products  # compiling takes a second

        layout, tables = alignment.layouts[shapes], (one[1], two[1])
        left, right = (tables[side].transpose(axes).reshape(shape) for side, axes, shape, _ in layout.sides)
        places = (None if own is None else places_in(domain, layout.stack, own).reshape(-1) for *_, own in layout.sides)
        names, values = layout.names, products(left, right, *places).reshape(layout.shape)
    else:
        finer = [_refined(table, alignment.together, domain) for table in (one, two)]
        names, values = product(finer[0], finer[1], alignment.carried)
    return summed_to(names, values, needed, domain) if alignment.carried != set(alignment.wanted) else (names, values)


@dataclass(frozen=True)
class _Layout:
    """The way in which two tables of some shapes become stacks of matrices; the longer side comes second.

    Attributes:
        sides: For each stack the number of the table, the order of its axes, its shape, and the variables that stand
            for those of ``stack``; None where these themselves do.
        stack: Variables that are kept, and that both tables depend on.
        names: Variables of the result.
        shape: Shape of the result.
    """

    sides: tuple[_Side, _Side]
    stack: Clique
    names: Clique
    shape: tuple[int, ...]


_Side = tuple[int, tuple[int, ...], tuple[int, int, int], Clique | None]


def _layout(
    shapes: tuple[tuple[int, ...], ...], found: _Alignment, coarse: tuple[Clique, Clique], domain: Domain
) -> _Layout:
    stack, inner, tables = found.stack, found.inner, (found.first, found.second)
    sizes = dict(zip(stack, domain.shape_of(stack), strict=True))  # of others the tables may have as many as they like
    for names, shape, own in zip(tables, shapes, coarse, strict=True):
        sizes |= {name: size for name, size in zip(names, shape, strict=True) if name not in own}
    lengths = [math.prod(sizes[name] for name in outer) for outer in found.outer]
    low, high = (1, 0) if lengths[1] < lengths[0] else (0, 1)  # passes run along the longer side
    length = math.prod(sizes[name] for name in inner)
    kept = (*stack, *found.outer[low], *found.outer[high])
    sides = tuple(
        (
            side,
            tuple(tables[side].index(name) for name in (*coarse[side], *order)),
            (math.prod(domain.shape_of(coarse[side])), *matrix),
            None if coarse[side] == stack else coarse[side],
        )
        for side, order, matrix in (
            (low, (*found.outer[low], *inner), (lengths[low], length)),
            (high, (*inner, *found.outer[high]), (length, lengths[high])),
        )
    )
    return _Layout((sides[0], sides[1]), stack, kept, tuple(sizes[name] for name in kept))


def _finer(names: Clique, together: Clique, domain: Domain) -> set[str]:
    """The variables of a clique that the axes of a table depend on."""
    return {carrier for name in names for carrier in carriers(domain, name, together)}


def _refined(table: Labelled, together: Clique, domain: Domain) -> Labelled:
    """A table with finer axes instead of those that they determine."""
    names, values = table
    if set(names) <= set(together):
        return table
    finer = _finer(names, together, domain)
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
