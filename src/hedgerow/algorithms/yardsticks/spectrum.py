"""Singular values of the matrix of a workload, without the domain.

W has one row per query and one column per cell x of the domain; N is the number of cells. What is computed is the sum
of its singular values over sqrt(N), which unused attributes do not change: each of them multiplies N by its size, and
the square of every singular value, too. All matrices below are divided by N, so that they hold means over the cells.

**Marginals and parities** are diagonal in one basis, products over the attributes of the constant function and
functions of mean 0: for a set A of attributes, the functions that have mean 0 along each attribute in A and are
constant along all others span an eigenspace of ``W'W / N``, of dimension ``prod over A of (d_i - 1)``. A marginal over
S has the eigenvalue ``prod over S of 1 / d_i`` there if A lies in S, else 0 (its matrix is a product of identities and
matrices of ones); a parity over S has eigenvalue 1 if A = S, else 0.

**All other families** are functions of the attributes of their scopes, the *core*. A set A outside the core meets none
of them. Inside the core, marginals act as marginals of the core, and the eigenvalues of the sum of everything are
computed: of a matrix over the cells of the core, or over the queries, whichever is smaller.

Derived attributes and constraints have no such structure: their cells are listed (`listed_cells`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from hedgerow.algorithms.yardsticks.listed_cells import listed_norm, needs_cells, root_sum
from hedgerow.algorithms.yardsticks.product_rows import ProductRows, gram_of, means_of, pairs_in_boxes, tables_of
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.errors import QueryError
from hedgerow.queries import Boxes, ExplicitMatrix, Family, LinearQuery, Parities, Workload

LARGEST_MATRIX = 4096
"""Cells or queries of the largest matrix whose eigenvalues are computed (a quarter of a minute on two cores)."""

LARGEST_SPECTRUM = 2**22
"""Most sets of attributes that are gone through."""

_BLOCK = 2**23
"""Values that are held at once beside the matrix."""


def nuclear_norm(workload: Workload, *, centred: bool = False, weighted: bool = False) -> float:
    """The sum of the singular values of the matrix of a workload, over the square root of the number of cells.

    Args:
        workload: The queries.
        centred: Whether the mean of every query over the cells is taken off it first.
        weighted: Whether every row is multiplied by its weight in the workload.

    Raises:
        QueryError: The workload has too many different scopes, or neither the cells nor the queries of its core are
            few enough.

    Example:
        >>> from hedgerow import IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abc"), 3)
        >>> round(nuclear_norm(workload) ** 2, 6)
        8.0
    """
    if needs_cells(workload):
        return listed_norm(workload, centred=centred, weighted=weighted)
    core = _Core.of(workload, weighted=weighted)
    return _outside(workload, core.scope, weighted=weighted) + core.root_sum(centred=centred)


def _squares(workload: Workload, *, weighted: bool) -> Iterator[tuple[Family, float]]:
    weights = workload.weights if weighted else (1.0,) * len(workload.families)
    return ((family, weight * weight) for family, weight in zip(workload.families, weights, strict=True))


def _outside(workload: Workload, core: Clique, *, weighted: bool) -> float:
    """Sum of the roots of the eigenvalues of all sets of attributes that do not lie in the core."""
    domain, inside = workload.domain, set(core)
    values: defaultdict[Clique, float] = defaultdict(float)
    tables = sum(2 ** len(scope) for family in workload.families if family.tabular for scope in family.scopes)
    if tables > LARGEST_SPECTRUM:
        raise QueryError(
            f"the marginals have {tables:,} sets of attributes below them",
            remedy="ask for marginals of fewer attributes",
        )
    for family, square in _squares(workload, weighted=weighted):
        if isinstance(family, Parities):
            for scope in family.scopes:
                values[scope] += square
        elif family.tabular:
            for scope in family.scopes:
                for part in _subsets(scope):
                    values[part] += square / domain.cells(scope)
    return math.fsum(
        math.sqrt(value) * math.prod(domain[name].size - 1 for name in part)
        for part, value in values.items()
        if not inside.issuperset(part)
    )


def _subsets(scope: Clique) -> Iterator[Clique]:
    return (part for size in range(len(scope) + 1) for part in combinations(scope, size))


@dataclass(frozen=True, eq=False)
class _Core:
    """A workload restricted to the attributes of its families that are neither marginals nor parities.

    Attributes:
        domain: Domain of the workload.
        scope: The attributes themselves.
        tables: For each marginal of the core the sum of squared weights that marginals of the workload have on it.
        parities: Sets inside the core, each with its squared weight.
        others: The other families, with squared weights.
    """

    domain: Domain
    scope: Clique
    tables: Mapping[Clique, float]
    parities: Mapping[Clique, float]
    others: Sequence[tuple[Family, float]] = field(repr=False)

    @classmethod
    def of(cls, workload: Workload, *, weighted: bool) -> _Core:
        domain, families = workload.domain, list(_squares(workload, weighted=weighted))
        others = [family for family in families if not (family[0].tabular or isinstance(family[0], Parities))]
        scope = domain.clique(name for family, _ in others for part in family.scopes for name in part)
        tables: defaultdict[Clique, float] = defaultdict(float)
        parities: defaultdict[Clique, float] = defaultdict(float)
        for family, square in families:
            for part in family.scopes if family.tabular else ():
                outside = tuple(name for name in part if name not in scope)
                tables[tuple(name for name in part if name in scope)] += square / domain.cells(outside)
            for part in family.scopes if isinstance(family, Parities) else ():
                if set(part) <= set(scope):
                    parities[part] += square
        return cls(domain, scope, tables, parities, others)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.domain.cells(self.scope)

    @property
    def queries(self) -> int:
        """Number of queries."""
        tables = sum(map(self.domain.cells, self.tables))
        return tables + len(self.parities) + sum(family.n_queries for family, _ in self.others)

    def root_sum(self, *, centred: bool) -> float:
        """Sum of the roots of the eigenvalues."""
        if min(self.cells, self.queries) > LARGEST_MATRIX:
            raise QueryError(
                f"the singular values of {self.queries:,} queries over {self.cells:,} cells of "
                f"{' * '.join(self.scope)}, marginals of these included, are not computed",
                remedy=f"ask at most {LARGEST_MATRIX:,} such queries, or over at most so many cells; marginals "
                "alone have no limit",
            )
        return root_sum(self._operator(centred=centred) if self.cells <= self.queries else self._gram(centred=centred))

    def _parity_rows(self) -> list[ProductRows]:
        alike: defaultdict[float, list[Clique]] = defaultdict(list)
        for part, square in self.parities.items():
            alike[square].append(part)
        return [ProductRows.of_parities(parts, math.sqrt(square)) for square, parts in alike.items()]

    # Over the cells

    def _operator(self, *, centred: bool) -> Floats:
        """Sum over the queries of ``q(x) q(y) / cells``."""
        matrix = np.zeros((self.cells, self.cells))
        for part, square in self.tables.items():
            at = self._positions(part)
            matrix += square * (at[:, None] == at[None, :])
        products = self._parity_rows()
        for family, square in self.others:
            rows = ProductRows.of_family(family, math.sqrt(square))
            if isinstance(family, Boxes):
                self._add(matrix, family.clique, square * pairs_in_boxes(family))
            elif isinstance(family, ExplicitMatrix):
                self._add(matrix, family.scope, square * (family.matrix.T @ family.matrix))
            elif rows is not None:
                products.append(rows)
            else:
                self._add_one_by_one(matrix, family, square)
        self._add_products(matrix, products)
        matrix /= self.cells
        if centred:
            matrix -= matrix.mean(axis=0)
            matrix -= matrix.mean(axis=1)[:, None]
        return matrix

    def _positions(self, part: Clique) -> Ints:
        """For every cell of the core the cell of a marginal that it lies in."""
        shape = [self.domain[name].size if name in part else 1 for name in self.scope]
        cells = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
        return np.broadcast_to(cells, self.domain.shape_of(self.scope)).reshape(-1)

    def _add(self, matrix: Floats, part: Clique, square: Floats) -> None:
        at = self._positions(part)
        matrix += square[np.ix_(at, at)]

    def _add_one_by_one(self, matrix: Floats, family: Family, square: float) -> None:
        for index in range(family.n_queries):
            query = family.candidate(index)
            if not isinstance(query, LinearQuery):
                raise QueryError(f"{query.text!r} is not a single query", remedy="use workload.by_query()")
            values = query.values().reshape(-1)[self._positions(query.scope)]
            matrix += square * np.multiply.outer(values, values)

    def _add_products(self, matrix: Floats, blocks: Sequence[ProductRows]) -> None:
        for rows in self._tables(blocks, self.scope):
            matrix += rows.T @ rows

    def _tables(self, blocks: Sequence[ProductRows], scope: Clique) -> Iterator[Floats]:
        """The values of the rows on the cells of a scope, as many rows at once as memory allows."""
        limit = max(1, _BLOCK // self.domain.cells(scope))
        for block in blocks:
            for first in range(0, block.number, limit):
                yield tables_of([block.part(first, first + limit)], self.domain, scope)

    # Over the queries

    def _gram(self, *, centred: bool) -> Floats:
        """For all pairs of queries the mean over the cells of ``q(x) q'(x)``; of the covariance, if centred."""
        products = [ProductRows.of_cells(self.domain, part, math.sqrt(square)) for part, square in self.tables.items()]
        products += self._parity_rows()
        matrices = []
        for family, square in self.others:
            if (rows := ProductRows.of_family(family, math.sqrt(square))) is not None:
                products.append(rows)
            elif isinstance(family, ExplicitMatrix):
                matrices.append((family.scope, math.sqrt(square) * family.matrix))
            else:
                raise QueryError(f"the queries of {family.spec!r} are too large", remedy="give them as explicit values")
        widest = max((self.domain[name].size for name in self.scope), default=1)
        if sum(rows.number for rows in products) * widest > 16 * _BLOCK:
            raise QueryError(f"an attribute has {widest:,} values", remedy="put them into bins")
        return self._joined(products, matrices, centred=centred)

    def _joined(
        self, products: Sequence[ProductRows], matrices: Sequence[tuple[Clique, Floats]], *, centred: bool
    ) -> Floats:
        inner, means = gram_of(products, self.domain, self.scope)
        grid: list[list[Floats]] = [[inner, *(self._mixed(products, *matrix) for matrix in matrices)]]
        for row, (scope, matrix) in enumerate(matrices):
            lower = [self._between(scope, matrix, *other) for other in matrices]
            grid.append([grid[0][row + 1].T, *lower])
        gram = np.block(grid)
        if centred:
            every = np.concatenate([means, *(matrix.mean(axis=1) for _, matrix in matrices)])
            gram -= np.outer(every, every)
        return gram

    def _mixed(self, products: Sequence[ProductRows], scope: Clique, matrix: Floats) -> Floats:
        """Means of products of a product row and a row given by its values on a scope."""
        rest = means_of(products, self.domain, [name for name in self.scope if name not in scope])
        unscaled = [ProductRows(block.number, 1.0, block.factor) for block in products]
        parts = [rows @ matrix.T / matrix.shape[1] for rows in self._tables(unscaled, scope)]
        return np.concatenate([np.zeros((0, len(matrix))), *parts]) * rest[:, None]

    def _between(self, scope: Clique, matrix: Floats, other_scope: Clique, other: Floats) -> Floats:
        """Means of products of rows that are given by their values on two scopes."""
        first, second = self._onto(scope, matrix, other_scope), self._onto(other_scope, other, scope)
        return np.asarray(first @ second.T / first.shape[1])

    def _onto(self, scope: Clique, matrix: Floats, other: Clique) -> Floats:
        """Means over all attributes of the scope that the other scope does not have."""
        table = matrix.reshape(len(matrix), *self.domain.shape_of(scope))
        left = tuple(axis + 1 for axis, name in enumerate(scope) if name not in other)
        return np.asarray(table.mean(axis=left)).reshape(len(matrix), -1)
