"""Single queries as products over the attributes, and what pairs of them have in common on uniform data.

Cells, conditions, boxes and parities are all products ``q(x) = prod_i f_i(x_i)`` with ``f_i = 1`` off their scope. The
mean of a product of two of them is then a product of small means, for which no domain is ever touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.queries import Boxes, Conjunction, Conjunctions, Family


@dataclass(frozen=True)
class ProductRows:
    """Rows of a matrix of queries, each a product over the attributes.

    Attributes:
        number: Number of rows.
        scale: Factor of all rows.
        factor: For an attribute the values f_i, shape ``(number, size)``, or None where they are all 1.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> rows = ProductRows.of_cells(domain, ("a",), scale=1.0)
        >>> rows.factor("a"), rows.factor("b")
        (array([[1., 0.],
               [0., 1.]]), None)
    """

    number: int
    scale: float
    factor: Callable[[str], Floats | None]

    @classmethod
    def of_cells(cls, domain: Domain, scope: Clique, scale: float) -> ProductRows:
        """The cells of a marginal; of no attributes, the number of records."""
        shape = domain.shape_of(scope)
        number = math.prod(shape)
        codes = dict(zip(scope, np.unravel_index(np.arange(number), shape) if scope else (), strict=True))

        def factor(name: str) -> Floats | None:
            return np.eye(domain[name].size)[codes[name]] if name in codes else None

        return cls(number, scale, factor)

    @classmethod
    def of_parities(cls, scopes: Sequence[Clique], scale: float) -> ProductRows:
        """Parities of sets of binary attributes."""

        def factor(name: str) -> Floats | None:
            inside = np.array([name in scope for scope in scopes])
            return np.stack([np.ones(len(scopes)), np.where(inside, -1.0, 1.0)], axis=1) if inside.any() else None

        return cls(len(scopes), scale, factor)

    @classmethod
    def of_family(cls, family: Family, scale: float) -> ProductRows | None:
        """The rows of a family of boxes or conditions; None for another family."""
        if isinstance(family, Boxes):
            return cls(family.n_queries, scale, lambda name: _within(family, name))
        if isinstance(family, Conjunctions):
            return cls(family.n_queries, scale, lambda name: _allowed(family.domain, family.queries, name))
        return None

    def part(self, first: int, last: int) -> ProductRows:
        """Some of the rows."""

        def factor(name: str) -> Floats | None:
            found = self.factor(name)
            return None if found is None else found[first:last]

        return ProductRows(min(last, self.number) - first, self.scale, factor)


def _within(family: Boxes, name: str) -> Floats | None:
    if name not in family.clique:
        return None
    axis, codes = family.clique.index(name), np.arange(family.domain[name].size)
    low, high = family.lows[:, axis, None], family.highs[:, axis, None]
    return ((low <= codes) & (codes <= high)).astype(np.float64)


def _allowed(domain: Domain, queries: Sequence[Conjunction], name: str) -> Floats | None:
    if not any(name in query.scope for query in queries):
        return None
    allowed = np.ones((len(queries), domain[name].size))
    for row, query in zip(allowed, queries, strict=True):
        if name in query.scope:
            row[:] = 0.0
            row[np.asarray(query.codes[query.scope.index(name)])] = 1.0
    return allowed


def stacked_factor(blocks: Iterable[ProductRows], name: str, size: int) -> Floats:
    """The values of all rows along one attribute, shape ``(rows, size)``, without their scales.

    Example:
        >>> stacked_factor([ProductRows(1, 2.0, lambda name: None)], "a", 3)
        array([[1., 1., 1.]])
    """
    factors = [(block, block.factor(name)) for block in blocks]
    parts = [np.ones((block.number, size)) if factor is None else factor for block, factor in factors]
    return np.concatenate(parts) if parts else np.ones((0, size))


def scales_of(blocks: Iterable[ProductRows]) -> Floats:
    """The scale of every row, shape ``(rows,)``.

    Example:
        >>> scales_of([ProductRows(2, 0.5, lambda name: None)])
        array([0.5, 0.5])
    """
    return np.concatenate([np.zeros(0), *(np.full(block.number, block.scale) for block in blocks)])


def tables_of(blocks: Sequence[ProductRows], domain: Domain, scope: Clique) -> Floats:
    """The values of all rows on the cells of a scope, with their scales, shape ``(rows, cells)``.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> tables_of([ProductRows.of_parities([("a", "b")], 1.0)], domain, ("a", "b"))
        array([[ 1., -1., -1.,  1.]])
    """
    tables = scales_of(blocks)[:, None]
    for name in scope:
        factor = stacked_factor(blocks, name, domain[name].size)
        tables = (tables[:, :, None] * factor[:, None, :]).reshape(len(tables), -1)
    return tables


def means_of(blocks: Sequence[ProductRows], domain: Domain, names: Iterable[str]) -> Floats:
    """The mean of every row over some attributes, as if there were no others, shape ``(rows,)``.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 3),))
        >>> means_of([ProductRows.of_cells(domain, ("a",), 2.0)], domain, ["a"])
        array([0.5, 0.5, 0.5, 0.5])
    """
    means = scales_of(blocks)
    for name in names:
        means = means * stacked_factor(blocks, name, domain[name].size).mean(axis=1)
    return means


def gram_of(blocks: Sequence[ProductRows], domain: Domain, scope: Clique) -> tuple[Floats, Floats]:
    """Means over the cells of a scope of all products of two rows, and of all rows.

    Args:
        blocks: The rows.
        domain: The domain.
        scope: Attributes that hold the scopes of all rows.

    Returns:
        Shapes ``(rows, rows)`` and ``(rows,)``.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> gram_of([ProductRows.of_cells(domain, ("a",), 1.0)], domain, ("a",))
        (array([[0.5, 0. ],
               [0. , 0.5]]), array([0.5, 0.5]))
    """
    scales = scales_of(blocks)
    products = np.outer(scales, scales)
    for name in scope:
        factor = stacked_factor(blocks, name, domain[name].size)
        products *= factor @ factor.T / domain[name].size
    return products, means_of(blocks, domain, scope)


def pairs_in_boxes(family: Boxes) -> Floats:
    """For all pairs of cells of the clique the number of boxes that hold both.

    These are the boxes with ``low <= min(x, y)`` and ``max(x, y) <= high`` along every attribute: one lookup in the
    table of cumulative numbers of boxes by their corners.

    Returns:
        Shape ``(cells, cells)``.

    Example:
        >>> from hedgerow import IntegerRange
        >>> pairs_in_boxes(Boxes.prefixes(Domain((IntegerRange("a", 0, 2),)), "a"))
        array([[3., 2., 1.],
               [2., 2., 1.],
               [1., 1., 1.]])
    """
    shape = family.domain.shape_of(family.clique)
    cells, axes = math.prod(shape), range(len(shape))
    strides = np.array([math.prod(shape[axis + 1 :]) for axis in axes], dtype=np.int64)
    corners = (family.lows @ strides) * cells + family.highs @ strides
    numbers = np.bincount(corners, minlength=cells * cells).astype(np.float64).reshape(*shape, *shape)
    for axis in axes:
        numbers = numbers.cumsum(axis=axis)
        numbers = np.flip(np.flip(numbers, len(shape) + axis).cumsum(axis=len(shape) + axis), len(shape) + axis)
    codes = np.unravel_index(np.arange(cells), shape)
    low, high = (
        sum(
            stride * extreme(code[:, None], code[None, :]) for stride, code in zip(strides.tolist(), codes, strict=True)
        )
        for extreme in (np.minimum, np.maximum)
    )
    return np.asarray(numbers.reshape(cells, cells)[low, high])
