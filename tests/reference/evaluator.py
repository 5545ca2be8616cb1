"""Answers by looking at every cell of the domain, one query at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Domain
from hedgerow.queries import Conjunction, LinearQuery, Marginal, Measurable, Workload
from tests.reference.dense_tables import DenseTables, codes_of


def answer(target: Measurable, tables: DenseTables) -> Floats:
    """One value per query; all cells of a marginal."""
    if isinstance(target, Marginal):
        return _marginal(target, tables)
    assert isinstance(target, LinearQuery)
    values = target.values()
    total = 0.0
    for record in every_record(tables.domain):
        total += values[codes_of(record, target.scope, tables.domain)] * tables.cells[record]
    return np.array([total])


def answers(workload: Workload, tables: DenseTables) -> Floats:
    """All candidates, one after the other."""
    return np.concatenate([answer(workload.candidate(k), tables) for k in range(workload.n_candidates)])


def every_record(domain: Domain) -> Iterator[tuple[int, ...]]:
    """All cells of the domain."""
    return product(*(range(size) for size in domain.shape))


def _marginal(target: Marginal, tables: DenseTables) -> Floats:
    cells = np.zeros(tables.domain.shape_of(target.scope))
    left = np.zeros(cells.shape, dtype=np.bool_)
    for record in every_record(tables.domain):
        cell = codes_of(record, target.scope, tables.domain)
        cells[cell] += tables.cells[record]
        left[cell] = target.within is not None and not holds(record, target.within)
    return cells[~left]


def holds(record: tuple[int, ...], query: Conjunction) -> bool:
    """Whether a record is counted."""
    codes = codes_of(record, query.scope, query.domain)
    return all(code in chosen for code, chosen in zip(codes, query.codes, strict=True))
