"""All answers of a workload on a dense table: structured against one query after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.row import Row, cpu_seconds
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.queries import Conjunction, LinearQuery, Workload, shared_marginals

SAMPLED = 20
"""So many queries are answered one by one; the time of all is extrapolated."""


@dataclass(frozen=True, eq=False)
class Dense:
    """A dense table as a workload sees it."""

    domain: Domain
    cells: Floats
    cheap_cells: int

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """By shared partial sums."""
        return shared_marginals(self.cells, self.domain.names, cliques)

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """By slices of the whole table."""
        return np.array([float(self.cells[_selection(query)].sum()) for query in queries])


def _selection(query: Conjunction) -> tuple[slice, ...]:
    chosen = dict(zip(query.scope, query.codes, strict=True))
    return tuple(
        slice(chosen[name][0], chosen[name][-1] + 1) if name in chosen else slice(None) for name in query.domain.names
    )


def rows() -> Iterator[Row]:
    """16 binary attributes (as NLTCS), 8 attributes of Adult, and ranges."""
    bits = Domain(IntegerRange(f"b{i}", 0, 1) for i in range(16))
    yield _per_query("3-way cells of 16 bits", Workload.marginals(bits, 3, whole=False))
    yield _per_query("parities up to order 3 of 16 bits", Workload.parities(bits, 3))
    square = Domain(IntegerRange(name, 0, 1023) for name in "ab")
    yield _per_query("100,000 boxes in 2^20 cells", Workload.ranges(square, "ab", 100_000, seed=1))
    adult = Domain(IntegerRange(f"a{i}", 1, size) for i, size in enumerate((9, 16, 7, 15, 6, 5, 2, 42)))
    for order in (2, 3):
        yield _per_marginal(f"{order}-way marginals of 38 million cells", Workload.marginals(adult, order))


def _random(domain: Domain) -> Dense:
    return Dense(domain, np.random.default_rng(0).random(domain.shape), cheap_cells=2**20)


def _per_query(name: str, workload: Workload) -> Row:
    tables = _random(workload.domain)
    chosen = np.random.default_rng(1).choice(workload.n_candidates, SAMPLED, replace=False).tolist()
    queries = [workload.candidate(k) for k in chosen]

    def one_by_one() -> list[float]:
        return [_over_the_whole_domain(query, tables) for query in queries if isinstance(query, LinearQuery)]

    reference = cpu_seconds(one_by_one, 1) / SAMPLED * workload.n_queries
    note = f"each of {workload.n_queries:,} queries times all cells, from {SAMPLED} of them"
    return Row(name, cpu_seconds(lambda: workload.answers(tables)), reference, note)


def _over_the_whole_domain(query: LinearQuery, tables: Dense) -> float:
    sizes = zip(query.domain.names, query.domain.shape, strict=True)
    shape = [size if name in query.scope else 1 for name, size in sizes]
    return float((query.values().reshape(shape) * tables.cells).sum())


def _per_marginal(name: str, workload: Workload) -> Row:
    tables = _random(workload.domain)

    def one_by_one() -> list[Floats]:
        axes = [workload.domain.axes(clique) for clique in workload.scopes]
        every = range(len(workload.domain))
        return [tables.cells.sum(axis=tuple(a for a in every if a not in kept)) for kept in axes]

    return Row(name, cpu_seconds(lambda: workload.answers(tables), 2), cpu_seconds(one_by_one, 1), "one sum for each")
