"""Tables split into orthogonal parts: one for each set of attributes, that every table over more of them shares.

Along each attribute functions are written in an orthonormal basis whose first vector is constant. The coefficient of a
product of such vectors, none of them constant, over the attributes of a set A is part of the *part* of A; it is the
same number for all tables whose attributes include A, but for the factor ``1 / sqrt(cells of the other attributes)``.
So the parts of all sets of attributes that lie in a measured table are the coordinates of tables that agree wherever
they overlap (Xiao, He, Zhang and Kifer, "An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss
Functions", NeurIPS 2023); over binary attributes they are Fourier coefficients (Barak et al., PODS 2007).
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
from hedgerow.queries import Marginal, Measurable, Parity

LARGEST_OVERLAY = 1 << 24
"""Cells of the largest tables that are held together."""
_WIDEST = 6
"""Tables of more attributes have too many parts."""
_LARGEST_ATTRIBUTE = 1 << 10
"""An attribute of more codes has too large a basis."""
_ONE_PRODUCT = 1 << 6
"""Tables of at most this many cells are transformed by one matrix."""
_CELL_BYTES = 96
"""Work on a cell: tables, multipliers, places, and copies of these."""


def can_hold(target: Measurable) -> bool:
    """Whether a measurement is of the tables that are held: a whole marginal, or a parity, of few attributes.

    Args:
        target: Query or marginal.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)))
        >>> can_hold(Marginal(domain, ("age", "sex"))), can_hold(Marginal(domain, ("age.10", "sex")))
        (True, False)
    """
    whole = isinstance(target, Parity) or (isinstance(target, Marginal) and target.within is None)
    return whole and can_hold_table(target.domain, target.scope)


def can_hold_table(domain: Domain, scope: Clique) -> bool:
    """Whether the table of a scope can be held: few attributes of few codes, and no levels.

    Args:
        domain: The domain.
        scope: In domain order.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> can_hold_table(Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23))), ("ip", "hour"))
        False
    """
    return 0 < len(scope) <= _WIDEST and _holdable(domain).issuperset(scope)


@lru_cache(maxsize=4)
def _holdable(domain: Domain) -> frozenset[str]:
    return frozenset(attribute.name for attribute in domain if attribute.size <= _LARGEST_ATTRIBUTE)


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


def overlay_bytes(cells: int) -> int:
    """Estimate of the memory that tables and the work on them take.

    Args:
        cells: Cells of the largest tables together.

    Example:
        >>> overlay_bytes(1000)
        96000
    """
    return _CELL_BYTES * cells


def table_cells(domain: Domain, scopes: Iterable[Clique]) -> int:
    """Cells of the largest tables among some scopes.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> table_cells(Domain(IntegerRange(name, 0, 1) for name in "abc"), [("a", "b"), ("b", "c"), ("b",)])
        8
    """
    return sum(math.prod(domain.shape_of(scope)) for scope in largest(scopes))


@dataclass(frozen=True, eq=False)
class Stack:
    """Tables of one shape, and the places of their parts.

    Attributes:
        rows: Positions of the tables among all, shape ``(tables,)``.
        shape: Codes of their attributes.
        places: Place of each coefficient of a table among all, shape ``(tables, cells)``.
        factors: Coefficient of a table per one of the part, shape ``(cells,)``.
    """

    rows: Ints
    shape: tuple[int, ...]
    places: Places
    factors: Floats

    def tables(self, parts: Floats) -> Floats:
        """The tables that are made of some parts, shape ``(tables, cells)``."""
        return _transformed(parts[self.places] * self.factors, self.shape, back=True)

    def sums(self, tables: Floats, size: int) -> Floats:
        """The parts of some tables, each added up over all tables that share it: the transpose of ``tables``.

        Args:
            tables: Shape ``(tables, cells)``.
            size: Number of all coefficients.
        """
        values = _transformed(tables, self.shape, back=False) * self.factors
        return np.asarray(np.bincount(self.places.reshape(-1), values.reshape(-1), size), dtype=np.float64)


class Parts:
    """The parts of some tables and of all tables below these; the first is the sum of all cells.

    Attributes:
        domain: The domain.
        scopes: The tables, none of which lies in another.
        size: Number of coefficients.
        sets: The sets of attributes, in the order of their parts; small ones first.
        starts: First coefficient of each set, and their number, shape ``(sets + 1,)``.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> parts = Parts(Domain(IntegerRange(name, 0, 1) for name in "abc"), [("a", "b"), ("b", "c"), ("b",)])
        >>> parts.scopes, parts.size, parts.holds(("c",)), parts.holds(("a", "c"))
        ((('a', 'b'), ('b', 'c')), 6, True, False)
        >>> coefficients = np.array([1.0, 0.1, 0.0, 0.0, 0.0, 0.0])
        >>> parts.tables([("a",)], coefficients)[0].round(3)
        array([0.571, 0.429])
    """

    def __init__(self, domain: Domain, scopes: Iterable[Clique]) -> None:
        """Number the parts.

        Args:
            domain: The domain.
            scopes: Attributes in domain order each.
        """
        self.domain = domain
        self.scopes = largest(scopes)
        below = {part for scope in self.scopes for part in _subsets(scope)} | {()}
        self.sets = tuple(sorted(below, key=lambda part: (len(part), domain.axes(part))))
        sizes = {each.name: each.size for each in domain.attributes}
        lengths = [math.prod(sizes[name] - 1 for name in part) for part in self.sets]
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self.size = int(self.starts[-1])
        self._start: dict[Clique, int] = dict(zip(self.sets, self.starts.tolist(), strict=False))

    @property
    def cells(self) -> int:
        """Cells of the tables together."""
        return sum(math.prod(self.domain.shape_of(scope)) for scope in self.scopes)

    def holds(self, scope: Clique) -> bool:
        """Whether the table of a scope is made of these parts."""
        return scope in self._start

    def start(self, scope: Clique) -> int:
        """The first coefficient of the part of a set of attributes that is held."""
        return self._start[scope]

    def stacks(self, scopes: Sequence[Clique]) -> list[Stack]:
        """Tables by shape, with the places of their parts.

        Args:
            scopes: Sets of attributes that are held.
        """
        alike: dict[tuple[int, ...], list[int]] = {}
        for row, scope in enumerate(scopes):
            alike.setdefault(self.domain.shape_of(scope), []).append(row)
        return [self._stack(shape, rows, [scopes[row] for row in rows]) for shape, rows in alike.items()]

    def tables(self, scopes: Sequence[Clique], parts: Floats) -> list[Floats]:
        """Tables of some scopes.

        Args:
            scopes: Sets of attributes that are held.
            parts: All coefficients, shape ``(size,)``.
        """
        found: list[Floats] = [np.zeros(0)] * len(scopes)
        for stack in self.stacks(scopes):
            for row, table in zip(stack.rows.tolist(), stack.tables(parts), strict=True):
                found[row] = table.reshape(stack.shape)
        return found

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
def basis(size: int) -> Floats:
    """An orthonormal basis of the functions of one attribute, the constant first; columns, shape ``(size, size)``.

    Example:
        >>> basis(2).round(3)
        array([[ 0.707,  0.707],
               [ 0.707, -0.707]])
    """
    found = np.zeros((size, size))
    found[:, 0] = 1.0 / math.sqrt(size)
    for k in range(1, size):  # Helmert's: the mean of the first k codes against the next
        found[:k, k] = 1.0 / math.sqrt(k * (k + 1))
        found[k, k] = -k / math.sqrt(k * (k + 1))
    found.flags.writeable = False
    return found


@lru_cache(maxsize=256)
def _joint_basis(shape: tuple[int, ...]) -> Floats:
    found: Floats = np.ones((1, 1))
    for size in shape:
        found = np.asarray(np.kron(found, basis(size)), dtype=np.float64)
    found.flags.writeable = False
    return found


def _transformed(rows: Floats, shape: tuple[int, ...], *, back: bool) -> Floats:
    """Coefficients of tables, or back to tables; shape ``(tables, cells)``."""
    if rows.shape[1] <= _ONE_PRODUCT:
        joint = _joint_basis(shape)
        return np.asarray(rows @ (joint.T if back else joint))
    values = rows.reshape(-1, *shape)
    for axis, size in enumerate(shape, 1):
        one = basis(size)
        values = np.moveaxis(np.moveaxis(values, axis, -1) @ (one.T if back else one), -1, axis)
    return values.reshape(rows.shape)


def _subsets(scope: Clique) -> Iterable[Clique]:
    return chain.from_iterable(combinations(scope, size) for size in range(1, len(scope) + 1))
