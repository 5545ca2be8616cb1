"""Marginals, cells, parities, boxes and conditions from marginals that are measured, or from parities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array, vstack

from hedgerow.algorithms.strategies.components import Closure, Components, Sparse, single
from hedgerow.algorithms.strategies.sub_strategy import AnsweredQueries, Goal, Measurements, SubStrategy
from hedgerow.arrays import Ints
from hedgerow.errors import QueryError
from hedgerow.models import parity_lengths
from hedgerow.queries import Boxes, Conjunctions, Family, Parities, Parity, Workload, of_query


def are_tables(family: Family) -> bool:
    """Whether the queries of a family are marginals, their cells, or parities."""
    return family.tabular or isinstance(family, Parities)


def from_tables(goal: Goal, families: Sequence[int]) -> list[SubStrategy]:
    """Queries from marginals, and where all attributes are binary from parities.

    Args:
        goal: Error that is to be small.
        families: Positions of families of marginals, parities, boxes or conditions.

    Raises:
        QueryError: A family is another one, or see `Closure.of`.
    """
    closure, queries, energies = energies_of(goal, families)
    domain, scopes = closure.domain, closure.scopes
    marginals = replace(Measurements.of_marginals(domain, scopes, goal.budget), target=closure.marginal)
    named = np.zeros(len(scopes))  # under Laplace noise it may be best to measure what is asked alone
    named[closure.places(scope for number in families for scope in goal.workload.families[number].scopes)] = 1.0
    estimate = Components(closure.marginals, energies, closure.guessed(goal.total))
    sub_strategies = [SubStrategy.divided("marginals", goal, queries, marginals, estimate, starts=[named])]
    if all(domain.index(name) < len(domain) and domain[name].size == 2 for name in set().union(*scopes)):
        sub_strategies.append(_from_parities(goal, closure, queries, energies))
    return sub_strategies


def from_one_table(goal: Goal, cells: int) -> tuple[AnsweredQueries, Components]:
    """All queries from the table of all their attributes.

    Args:
        goal: Error that is to be small.
        cells: Cells of that table.

    Raises:
        QueryError: See `from_tables`.
    """
    closure, queries, energies = energies_of(goal, range(len(goal.workload.families)))
    row: Sparse = csr_array(np.full((1, len(closure.dimensions)), 1.0 / cells))
    return queries, Components(row, energies, closure.guessed(goal.total))


def _from_parities(goal: Goal, closure: Closure, queries: AnsweredQueries, energies: Sparse) -> SubStrategy:
    """Each component of binary attributes is a parity; that of no attribute is the number of records."""
    needed = np.unique(energies.indices).astype(np.int64)
    all_records = len(closure.scopes)

    def target(number: int) -> Parity | None:
        return None if needed[number] == all_records else closure.parity(int(needed[number]))

    of_parity, of_number = (of_query(low, 1.0, goal.budget.neighbours).l1 for low in (-1.0, 0.0))
    sensitive = np.where(needed == all_records, of_number, of_parity)
    estimate = Components(single(all_records + 1, needed), energies, closure.guessed(goal.total))
    are_parities = energies.nnz == energies.shape[0] and bool((energies.data == 1.0).all())
    noise = np.searchsorted(needed, energies.indices) if are_parities else None
    every = (*closure.scopes, ())
    scopes = [every[number] for number in needed.tolist()]
    stretched = parity_lengths([max(1, len(scope)) for scope in scopes])
    measured = Measurements(target, sensitive, sensitive, scopes=scopes, stretched=stretched, parities=True)
    return SubStrategy.divided("parities", goal, queries, measured, estimate, single=noise)


def energies_of(goal: Goal, families: Sequence[int]) -> tuple[Closure, AnsweredQueries, Sparse]:
    """All marginals below what some families ask, the candidates, and the energies of each of their questions."""
    return _energies_of(goal.workload, tuple(families), goal.public_total)


@lru_cache(maxsize=2)
def _energies_of(
    workload: Workload, families: tuple[int, ...], public_total: bool
) -> tuple[Closure, AnsweredQueries, Sparse]:
    """The same, which each regime wants, with and without a guess."""
    every = [workload.families[number] for number in families]
    scopes = tuple(dict.fromkeys(scope for family in every for scope in family.scopes))
    closure = Closure.of(workload.domain, scopes, public_total=public_total)
    energies: list[Sparse] = []
    questions: list[Ints] = []
    for family in every:
        each, question_of = _questions(closure, family)
        questions.append(sum(energy.shape[0] for energy in energies) + question_of)
        energies.append(each)
    return closure, AnsweredQueries.of(workload, families, np.concatenate(questions)), vstack(energies, format="csr")


forget_energies = _energies_of.cache_clear


def _questions(closure: Closure, family: Family) -> tuple[Sparse, Ints]:
    """Energies of the questions of a family, and the question of each candidate."""
    domain = closure.domain
    if family.tabular:
        return closure.cells(family.scopes), family.scope_of
    if isinstance(family, Parities):
        return closure.parities(family.scopes), family.scope_of
    if isinstance(family, Boxes):
        means = (family.highs - family.lows + 1) / np.array(domain.shape_of(family.clique))
        return closure.products(family.clique, means), np.arange(family.n_queries)
    if isinstance(family, Conjunctions):
        sizes = [zip(query.codes, domain.shape_of(query.scope), strict=True) for query in family.queries]
        means = [np.array([[len(codes) / size for codes, size in each]]) for each in sizes]
        rows = [closure.products(query.scope, mean) for query, mean in zip(family.queries, means, strict=True)]
        return vstack(rows, format="csr"), np.arange(family.n_queries)
    raise QueryError(f"{family.spec!r} is not made of marginals, parities, boxes or conditions")
