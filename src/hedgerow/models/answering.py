"""Many answers from one state of a hypothesis: marginal tables that are kept, and compiled sums over them.

A session asks a hypothesis thousands of times between two corrections. The table of a set of attributes is made when
it is first asked about, in one pass over the cells; a condition is then a sum over the corners of its runs in the
summed-area table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, CodeSet, Domain
from hedgerow.models.core import Model, runs_within
from hedgerow.queries import Conjunction, LinearQuery, summed_area

KEPT_CELLS = 1 << 22
"""Cells of all tables that are kept together."""
LARGEST_TABLE = 1 << 20
"""Cells of the largest table that is kept; conditions on more are summed over the hypothesis itself."""


class _Table:
    """The marginal of one scope, in counts."""

    def __init__(self, cells: Floats) -> None:
        self.cells = cells

    @cached_property
    def area(self) -> Floats:
        """Its summed-area table, made when it is first needed."""
        return summed_area(self.cells)

    def sums(self, queries: Sequence[tuple[CodeSet, ...]]) -> Floats:
        """Sums of conditions that each hold one set of codes per axis."""
        if not self.cells.shape:
            return np.full(len(queries), float(self.cells))
        from hedgerow.models.dense import corner_sums  # compiling takes a second

        answers = np.empty(len(queries))
        corner_sums(self.area.reshape(-1), *_corners(self.area.shape, queries), self.cells.ndim, answers)
        return answers


class Answering:
    """Answers of a hypothesis, which changes only through this object.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow import Histogram
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)))
        >>> answering = Answering(Histogram(domain, total=12))
        >>> query = Conjunction.where(domain, {"b": [0, 1]})
        >>> answering.value(query), answering.values([query, Conjunction.where(domain, {"a": [1]})]).tolist()
        (8.0, [8.0, 6.0])
        >>> answering.replace(Histogram(domain, total=24))
        >>> answering.value(query)
        16.0
    """

    def __init__(self, model: Model, kept_cells: int = KEPT_CELLS) -> None:
        """Wrap a hypothesis; no table is made yet.

        Args:
            model: The hypothesis; no one else may change it.
            kept_cells: Cells of all tables that are kept together.
        """
        self._model = model
        self._kept_cells = kept_cells
        self._tables: dict[Clique, _Table] = {}
        self._cells = 0

    @property
    def model(self) -> Model:
        """The hypothesis."""
        return self._model

    @property
    def domain(self) -> Domain:
        """Its domain."""
        return self._model.domain

    def replace(self, model: Model) -> None:
        """Replace the hypothesis by another state of it and forget all tables."""
        self._model = model
        self._tables.clear()
        self._cells = 0

    def value(self, query: LinearQuery) -> float:
        """The answer to a query, in counts.

        Args:
            query: A query over the domain of the hypothesis.
        """
        if not self._is_kept(query.scope):
            return float(query.on(self._model)[0])
        table = self._kept(query.scope)
        if isinstance(query, Conjunction):
            return float(table.sums((query.codes,))[0])
        return float(query.of_table(table.cells)[0])

    def values(self, queries: Sequence[LinearQuery]) -> Floats:
        """The answers to many queries, in counts, shape ``(len(queries),)``.

        Args:
            queries: Queries over the domain of the hypothesis.
        """
        groups: dict[Clique, list[int]] = {}
        answers = np.empty(len(queries))
        for index, query in enumerate(queries):
            if isinstance(query, Conjunction) and self._is_kept(query.scope):
                groups.setdefault(query.scope, []).append(index)
            else:
                answers[index] = self.value(query)
        for batch in self._batches(list(groups)):
            self._make(batch)
            for scope in batch:
                codes = [queries[index].codes for index in groups[scope]]  # type: ignore[attr-defined]
                answers[groups[scope]] = self._kept(scope).sums(codes)
        return answers

    # Inside

    def _is_kept(self, scope: Clique) -> bool:
        return scope in self._tables or self.domain.cells(scope) <= min(LARGEST_TABLE, self._kept_cells)

    def _batches(self, scopes: Sequence[Clique]) -> Iterator[list[Clique]]:
        """Scopes whose tables are kept together, to be made by shared passes; those that are there come first."""
        ordered = sorted(scopes, key=lambda scope: scope not in self._tables)
        return (ordered[run] for run in runs_within(map(self.domain.cells, ordered), self._kept_cells))

    def _make(self, scopes: Sequence[Clique]) -> None:
        missing = [scope for scope in scopes if scope not in self._tables]
        for scope, table in zip(missing, self._model.marginals(missing) if missing else (), strict=True):
            self._keep(scope, table)

    def _keep(self, scope: Clique, table: Floats) -> _Table:
        made = self._tables[scope] = _Table(table)
        self._cells += table.size
        while self._cells > self._kept_cells:  # the oldest goes first
            oldest = next(iter(self._tables))
            self._cells -= self._tables.pop(oldest).cells.size
        return made

    def _kept(self, scope: Clique) -> _Table:
        table = self._tables.get(scope)
        return self._keep(scope, self._model.marginals([scope])[0]) if table is None else table


def _corners(shape: Sequence[int], queries: Sequence[tuple[CodeSet, ...]]) -> tuple[Ints, Floats, Ints]:
    """Places of all queries in a flat summed-area table, their signs, and where the list of each axis ends."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    places, signs, ends = list[int](), list[float](), list[int]()
    for codes in queries:
        for stride, chosen in zip(strides, codes, strict=True):
            places += [stride * cut for cut in chosen.cuts]
            signs += [-1.0, 1.0] * (len(chosen.cuts) // 2)  # each run begins at a cut, and ends before the next
            ends.append(len(places))
    return np.array(places, dtype=np.int64), np.array(signs, dtype=np.float64), np.array(ends, dtype=np.int64)
