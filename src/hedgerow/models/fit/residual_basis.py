"""Tables in the basis where their noise is independent: a component for each set of attributes, shared by all tables.

Along each attribute functions are written in an orthonormal basis whose first vector is constant. The coefficient of a
product of such vectors, none of them constant, over the attributes of a set A is part of the *component* of A; it is
the same number for all tables whose attributes include A, but for the factor ``1 / sqrt(cells of the other
attributes)``. So the components of all sets of attributes that lie in a measured table are the coordinates of tables
that agree wherever they overlap (Xiao, He, Zhang and Kifer, "An Optimal and Scalable Matrix Mechanism for Noisy
Marginals under Convex Loss Functions", NeurIPS 2023); over binary attributes they are Fourier coefficients (Barak et
al., PODS 2007). Noise of equal variance in the cells of a table is such noise in its coefficients, so the averages of
these, weighted by precisions, are the best linear unbiased estimate of everything that was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, product

import numpy as np

from hedgerow.arrays import Floats, Ints, Places
from hedgerow.domain import Clique, Domain

_ONE_PRODUCT = 1 << 7
"""Tables of at most this many cells are transformed by one matrix."""


def largest(scopes: Iterable[Clique]) -> tuple[Clique, ...]:
    """The sets that lie in no other one, wide ones first.

    Example:
        >>> largest([("a",), ("a", "b"), ("c",)])
        (('a', 'b'), ('c',))
    """
    covered: set[Clique] = set()
    found = []
    for scope in sorted(dict.fromkeys(scopes), key=len, reverse=True):
        if scope not in covered:
            found.append(scope)
            covered.update(_subsets(scope))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Stack:
    """Tables of one shape, and the places of their coefficients.

    Attributes:
        rows: Positions of the tables among all, shape ``(tables,)``.
        shape: Codes of their attributes.
        places: Place of each coefficient of a table among all, shape ``(tables, cells)``.
        factors: Coefficient of a table per one of the component, shape ``(cells,)``.
    """

    rows: Ints
    shape: tuple[int, ...]
    places: Places
    factors: Floats

    def tables(self, coefficients: Floats) -> Floats:
        """The tables that some coefficients make, shape ``(tables, cells)``.

        Args:
            coefficients: Of all components, shape ``(size,)``; or those of each table, shape ``(tables, cells)``.
        """
        own = coefficients[self.places] if coefficients.ndim == 1 else coefficients
        return _transformed(own * self.factors, self.shape, back=True)

    def coefficients(self, tables: Floats) -> Floats:
        """The coefficients of each table by itself: `tables` makes it of these. Shape ``(tables, cells)``."""
        return np.asarray(_transformed(tables, self.shape, back=False) / self.factors)

    def sums(self, tables: Floats, size: int) -> Floats:
        """The coefficients of some tables, added up over all that share them: the transpose of ``tables``.

        Args:
            tables: Shape ``(tables, cells)``.
            size: Number of all coefficients.
        """
        return self.added(_transformed(tables, self.shape, back=False) * self.factors, size)

    def added(self, values: Floats, size: int) -> Floats:
        """Values of the coefficients of each table, added up over all tables; shape ``(size,)``."""
        every = np.broadcast_to(values, self.places.shape)
        return np.asarray(np.bincount(self.places.reshape(-1), every.reshape(-1), size), dtype=np.float64)


class ResidualBasis:
    """The components of some tables and of all tables below these; the first is the sum of all cells.

    Attributes:
        domain: The domain.
        scopes: The tables, none of which lies in another.
        size: Number of coefficients.
        sets: The sets of attributes, in the order of their components; small ones first.
        starts: First coefficient of each set, and their number, shape ``(sets + 1,)``.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> basis = ResidualBasis(Domain(IntegerRange(name, 0, 1) for name in "abc"), [("a", "b"), ("b", "c"), ("b",)])
        >>> basis.scopes, basis.size, basis.holds(("c",)), basis.holds(("a", "c"))
        ((('a', 'b'), ('b', 'c')), 6, True, False)
        >>> coefficients = np.array([1.0, 0.1, 0.0, 0.0, 0.0, 0.0])
        >>> basis.tables([("a",)], coefficients)[0].round(3)
        array([0.571, 0.429])
    """

    def __init__(self, domain: Domain, scopes: Iterable[Clique]) -> None:
        """Number the components.

        Args:
            domain: The domain.
            scopes: Attributes in domain order each.
        """
        self.domain = domain
        self.scopes = largest(scopes)
        below = {(), *self.scopes}.union(component for scope in self.scopes for component in _subsets(scope))
        self.sets = tuple(sorted(below, key=lambda component: (len(component), domain.axes(component))))
        lengths = [math.prod(size - 1 for size in domain.shape_of(component)) for component in self.sets]
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.size = int(self.starts[-1])
        self._start: dict[Clique, int] = dict(zip(self.sets, self.starts.tolist(), strict=False))

    @property
    def cells(self) -> int:
        """Cells of the tables together."""
        return sum(map(self.domain.cells, self.scopes))

    def holds(self, scope: Clique) -> bool:
        """Whether the table of a scope is made of these components."""
        return scope in self._start

    def start(self, scope: Clique) -> int:
        """The first coefficient of the component of a set of attributes that is held."""
        return self._start[scope]

    def stacks(self, scopes: Sequence[Clique]) -> list[Stack]:
        """Tables by shape, with the places of their coefficients.

        Args:
            scopes: Sets of attributes that are held.
        """
        alike: dict[tuple[int, ...], list[int]] = {}
        for row, scope in enumerate(scopes):
            alike.setdefault(self.domain.shape_of(scope), []).append(row)
        return [self._stack(shape, rows, [scopes[row] for row in rows]) for shape, rows in alike.items()]

    def tables(self, scopes: Sequence[Clique], coefficients: Floats) -> list[Floats]:
        """Tables of some scopes.

        Args:
            scopes: Sets of attributes that are held.
            coefficients: Of all components, shape ``(size,)``.
        """
        found: list[Floats] = [np.zeros(0)] * len(scopes)
        for stack in self.stacks(scopes):
            for row, table in zip(stack.rows.tolist(), stack.tables(coefficients), strict=True):
                found[row] = table.reshape(stack.shape)
        return found

    def weighted_sums(
        self, stacks: Sequence[Stack], tables: Sequence[Floats], weights: Sequence[Floats]
    ) -> tuple[Floats, Floats]:
        """Weighted sums of the coefficients of noisy tables, and the precisions of their averages.

        Args:
            stacks: The tables.
            tables: For each stack the noisy tables, shape ``(tables, cells)``.
            weights: The same of 1 over the variance of one cell, shape ``(tables,)``.

        Returns:
            Two arrays, shape ``(size,)``; their ratio is the best linear unbiased estimate.
        """
        sums, precisions = np.zeros(self.size), np.zeros(self.size)
        for stack, noisy, weight in zip(stacks, tables, weights, strict=True):
            sums += stack.sums(weight[:, None] * noisy, self.size)
            precisions += stack.added(weight[:, None] * stack.factors**2, self.size)
        return sums, precisions

    def _stack(self, shape: tuple[int, ...], rows: list[int], scopes: list[Clique]) -> Stack:
        cells = math.prod(shape)
        numbers = np.arange(cells).reshape(shape)
        places, factors = np.empty((len(rows), cells), dtype=np.int32), np.empty(cells)
        for kept in product((False, True), repeat=len(shape)):
            inside = numbers[tuple(slice(1, None) if keep else 0 for keep in kept)].reshape(-1)
            axes = [axis for axis, keep in enumerate(kept) if keep]
            starts = [self._start[tuple([scope[axis] for axis in axes])] for scope in scopes]
            places[:, inside] = np.array(starts)[:, None] + np.arange(inside.size)
            factors[inside] = 1.0 / math.sqrt(math.prod(n for n, keep in zip(shape, kept, strict=True) if not keep))
        return Stack(np.array(rows, dtype=np.int64), shape, places, factors)


@lru_cache(maxsize=256)
def _joint_basis(shape: tuple[int, ...]) -> Floats:
    """The basis of all functions of some attributes; columns, shape ``(cells, cells)``."""
    found: Floats = np.ones((1, 1))
    for size in shape:
        found = np.asarray(np.kron(found, helmert(np.eye(size), back=False)), dtype=np.float64)
    found.flags.writeable = False
    return found


def _transformed(rows: Floats, shape: tuple[int, ...], *, back: bool) -> Floats:
    """Coefficients of tables, or back to tables; shape ``(tables, cells)``."""
    if rows.shape[1] <= _ONE_PRODUCT:
        joint = _joint_basis(shape)
        return np.asarray(rows @ (joint.T if back else joint))
    values = rows.reshape(-1, *shape)
    for axis in range(1, values.ndim):
        values = np.moveaxis(helmert(np.moveaxis(values, axis, -1), back=back), -1, axis)
    return values.reshape(rows.shape)


def helmert(values: Floats, *, back: bool) -> Floats:
    """Helmert's orthonormal transform along the last axis, or back: a mean, and the first k codes against the next.

    Example:
        >>> helmert(np.eye(2), back=False).round(3)
        array([[ 0.707,  0.707],
               [ 0.707, -0.707]])
    """
    size = values.shape[-1]
    k = np.arange(1, size)
    scale, found = 1.0 / np.sqrt(k * (k + 1.0)), np.empty(values.shape)
    if back:
        against = values[..., 1:] * scale
        found[...] = values[..., :1] / math.sqrt(size)
        found[..., :-1] += np.cumsum(against[..., ::-1], axis=-1)[..., ::-1]
        found[..., 1:] -= k * against
    else:
        sums = np.cumsum(values, axis=-1)
        found[..., 0] = sums[..., -1] / math.sqrt(size)
        found[..., 1:] = (sums[..., :-1] - k * values[..., 1:]) * scale
    return found


def _subsets(scope: Clique) -> Iterable[Clique]:
    return chain.from_iterable(combinations(scope, size) for size in range(1, len(scope) + 1))
