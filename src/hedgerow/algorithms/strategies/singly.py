"""Every query from noise of its own, or all of them from one table of everything."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array, diags_array

from hedgerow.algorithms.strategies.components import Components, single
from hedgerow.algorithms.strategies.sub_strategy import AnsweredQueries, Goal, Measurements, SubStrategy
from hedgerow.algorithms.strategies.tables import from_one_table
from hedgerow.arrays import Floats
from hedgerow.errors import QueryError
from hedgerow.models import LARGEST_STOPPED
from hedgerow.queries import Boxes, Conjunctions, ExplicitMatrix, Family, LinearQuery, Parities


def each_alone(goal: Goal, number: int) -> SubStrategy:
    """Every query of a family, or marginal, from its own noise.

    Args:
        goal: Error that is to be small.
        number: Position of the family.

    Raises:
        QueryError: A query depends on no record, or the family does not say on which lattice its answers lie.
    """
    family = goal.workload.families[number]
    l1 = family.sensitivities(goal.budget.neighbours)
    if not (l1 > 0.0).all():
        raise QueryError(f"a query of {family.spec!r} does not depend on any record; its answer is public")
    measured = Measurements(family.candidate, l1, l1, family.step)
    question_of = np.arange(family.n_candidates)
    if family.tabular:  # the cells of a marginal cost what one of them costs
        measured, question_of = Measurements.of_marginals(family.domain, family.scopes, goal.budget), family.scope_of
    every = np.arange(len(measured.l1))
    rows, queries = single(len(every), every), AnsweredQueries.of(goal.workload, [number], question_of)
    return SubStrategy.divided("each", goal, queries, measured, Components(rows, rows), single=every)


def from_cells(goal: Goal) -> Iterator[SubStrategy]:
    """All queries from one table of the attributes of the workload, if these are columns and have few cells.

    A query q over N cells, each with noise of variance v, has the variance ``v N mean(q^2)``; where the number of
    records is public, ``v N (mean(q^2) - mean(q)^2)``. Queries that have components are told by these. Larger tables
    than fits can be stopped for are left out: these fits end much too early where noise is small.
    """
    workload, scopes = goal.workload, goal.workload.scopes
    domain, core = workload.domain, workload.domain.clique(name for scope in scopes for name in scope)
    cells = domain.cells(core)
    if not core or cells > LARGEST_STOPPED or any(domain.index(name) >= len(domain) for name in core):
        return
    try:
        queries, estimate = from_one_table(goal, cells)
    except QueryError:
        squares, means = (np.concatenate(each) for each in zip(*map(_moments, workload.families), strict=True))
        every = np.arange(len(squares))
        factors = diags_array(cells * (squares - means**2 * goal.public_total), format="csr")
        queries = AnsweredQueries.of(workload, range(len(workload.families)), every)
        estimate = Components(csr_array(np.ones((1, len(every)))), factors)
    whole = scopes == (core,) and all(family.tabular for family in workload.families) and not goal.public_total
    noise = np.zeros(estimate.energies.shape[0], dtype=np.int64) if whole else None
    yield SubStrategy(
        "cells", queries, Measurements.of_marginals(domain, [core], goal.budget), np.ones(1), estimate, noise
    )


def _moments(family: Family) -> tuple[Floats, Floats]:
    """Means over all cells of the square of one value of each candidate, and of the value itself."""
    domain = family.domain
    if isinstance(family, Parities):
        return np.ones(family.n_queries), np.zeros(family.n_queries)
    if family.tabular:
        shares = 1.0 / np.array([domain.cells(scope) for scope in family.scopes])
        return shares[family.scope_of], shares[family.scope_of]
    if isinstance(family, Boxes):
        shares = ((family.highs - family.lows + 1) / np.array(domain.shape_of(family.clique))).prod(axis=1)
        return shares, shares
    if isinstance(family, Conjunctions):
        selected = [zip(query.codes, domain.shape_of(query.scope), strict=True) for query in family.queries]
        shares = np.array([math.prod(len(codes) / size for codes, size in codes_of) for codes_of in selected])
        return shares, shares
    if isinstance(family, ExplicitMatrix):
        return (family.matrix**2).mean(axis=1), family.matrix.mean(axis=1)
    queries = [family.candidate(number) for number in range(family.n_queries)]
    values = [query.values() for query in queries if isinstance(query, LinearQuery)]
    return np.array([(value**2).mean() for value in values]), np.array([value.mean() for value in values])
