"""Answers by looking at every cell of the domain, one query at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain.domain import Domain
from hedgerow.queries.core.query import LinearQuery, Marginal, Measurable
from hedgerow.queries.workload import Workload
from tests.reference.dense_tables import DenseTables


def answer(target: Measurable, tables: DenseTables) -> Floats:
    """One value per query; all cells of a marginal."""
    if isinstance(target, Marginal):
        return _marginal(target, tables)
    assert isinstance(target, LinearQuery)
    values = target.values()
    total = 0.0
    for record in every_record(tables.domain):
        total += values[_part(record, target, tables.domain)] * tables.cells[record]
    return np.array([total])


def answers(workload: Workload, tables: DenseTables) -> Floats:
    """All candidates, one after the other."""
    return np.concatenate([answer(workload.candidate(k), tables) for k in range(workload.n_candidates)])


def every_record(domain: Domain) -> Iterator[tuple[int, ...]]:
    """All cells of the domain."""
    return product(*(range(size) for size in domain.shape))


def _part(record: tuple[int, ...], target: Measurable, domain: Domain) -> tuple[int, ...]:
    return tuple(record[domain.index(name)] for name in target.scope)


def _marginal(target: Marginal, tables: DenseTables) -> Floats:
    cells = np.zeros(tables.domain.shape_of(target.scope))
    for record in every_record(tables.domain):
        cells[_part(record, target, tables.domain)] += tables.cells[record]
    return cells.reshape(-1)
