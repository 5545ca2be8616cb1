"""Tiny private tables held as dense histograms, and all their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.queries import Conjunction, Neighbours, Persons, Relation
from tests.privacy.persons import countings
from tests.reference.dense_tables import DenseTables


def binary(attributes: int) -> Domain:
    """Attributes a, b, c, ... with two codes each."""
    return Domain(IntegerRange(name, 0, 1) for name in "abcdefgh"[:attributes])


class DenseCounts:
    """A count source over a histogram; counts how often it was read."""

    def __init__(self, domain: Domain, histogram: ArrayLike, persons: Persons | None = None) -> None:
        self._domain = domain
        self.persons = persons
        self.filtered = False
        self.histogram = np.asarray(histogram, dtype=np.float64).reshape(domain.shape)
        self.reads = 0

    @property
    def domain(self) -> Domain:
        return self._domain

    @property
    def cheap_cells(self) -> int:
        return 2**20

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        self.reads += 1
        return DenseTables(self._domain, self.histogram).marginals(cliques)

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        self.reads += 1
        return np.array([float(query.of_table(self.marginals([query.scope])[0])[0]) for query in queries])

    def total(self) -> int:
        return int(self.histogram.sum())


def neighbours_of(source: DenseCounts, relation: Neighbours) -> Iterator[DenseCounts]:
    """Every neighbour of a table, each direction of add-remove included, and after a filter each kind."""
    if relation.persons is not None:
        yield from _neighbours_by_person(source, relation)
        return
    flat = source.histogram.reshape(-1)
    cells = np.eye(flat.size)
    for x in range(flat.size):
        if relation is not Neighbours.REPLACE:
            yield DenseCounts(source.domain, flat + cells[x])
            if flat[x] > 0:
                yield DenseCounts(source.domain, flat - cells[x])
        if relation is Neighbours.ADD_REMOVE:
            continue
        for y in range(flat.size):
            if flat[x] > 0 and y != x:
                yield DenseCounts(source.domain, flat - cells[x] + cells[y])


def _neighbours_by_person(source: DenseCounts, relation: Neighbours) -> Iterator[DenseCounts]:
    """What a person counts for leaves, and what another does comes; under add-remove one or the other. Each once."""
    flat = source.histogram.reshape(-1)
    listed = (np.array(cells, dtype=int) for cells in countings(flat.size, relation))
    persons = [np.bincount(cells, minlength=flat.size) for cells in listed]
    found = set()
    for leave, come in product(persons, persons):
        both = bool(leave.any() and come.any())
        if (leave <= flat).all() and (leave != come).any() and not (both and relation.relation is Relation.ADD_REMOVE):
            found.add(tuple(flat - leave + come))
    yield from (DenseCounts(source.domain, counts, relation.persons) for counts in sorted(found))


def histograms(cells: int, records: int) -> Iterator[tuple[int, ...]]:
    """Every histogram of so many records."""
    if cells == 1:
        yield (records,)
        return
    for first in range(records + 1):
        for rest in histograms(cells - 1, records - first):
            yield (first, *rest)
