"""MWEM with the paper's 100 sweeps against the paper's listing, per run of the same rounds; and its peak memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.reference.mwem_listing import Query, evaluate, multiplicative_weights

from benchmarks.row import Row
from hedgerow.algorithms.mwem import MWEM
from hedgerow.data import Table, read_table
from hedgerow.models import Sweeps
from hedgerow.privacy import ApproxDP, SeededNoise
from hedgerow.queries import Workload

DATA = Path(__file__).parent.parent / "examples" / "data"
BUDGET = ApproxDP(1.0, 1e-9)
SWEEPS = 100
CELLS = 1 << 16
"""Cells on which the listing is timed; larger hypotheses are extrapolated, the listing being linear in them."""


def table(name: str) -> Table:
    """A shipped contingency table, which holds codes."""
    return read_table(DATA / f"{name}.csv", DATA / f"{name}.domain.json", count_column="count", coded=True)


def our_seconds(data: Table, workload: Workload, config: MWEM) -> float:
    """CPU time of a run, after a run of one round that compiles and counts."""
    noise = SeededNoise(0)
    MWEM(rounds=1, refit=Sweeps(1)).run(data, workload, BUDGET, noise=noise)
    start = time.process_time()
    config.run(data, workload, BUDGET, noise=noise)
    return time.process_time() - start


def listing_seconds(cells: int, queries: int, steps: int, rounds: int) -> float:
    """CPU time of the listing: every round evaluates every query on data and hypothesis, then come the steps.

    Args:
        cells: Of the domain.
        queries: Queries that are scored in every round.
        steps: Multiplicative-weights steps of all rounds together.
        rounds: T.
    """

    def query(cell: int) -> float:
        return 1.0 if cell & 21 == 21 else 0.0

    hypothesis = [1.0] * CELLS
    per_answer = _seconds(lambda: evaluate(query, hypothesis))
    one: list[Query] = [query]
    per_step = _seconds(lambda: multiplicative_weights(hypothesis, one, {0: CELLS / 8}, 1))
    return (2 * rounds * queries * per_answer + steps * per_step) * cells / CELLS


def _seconds(work: Callable[[], float | None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def singles(data: Table) -> Row:
    """NLTCS, every cell of every 3-way marginal as a query of its own."""
    workload, rounds = Workload.marginals(data.domain, 3, whole=False), 30
    ours = our_seconds(data, workload, MWEM(rounds=rounds, refit=Sweeps(SWEEPS)))
    steps = SWEEPS * rounds * (rounds + 1) // 2
    theirs = listing_seconds(data.domain.size, workload.n_queries, steps, rounds)
    note = "the paper's listing, extrapolated from one step"
    return Row(f"NLTCS cells:3, {rounds} rounds of {SWEEPS} sweeps", ours, theirs, note)


def wholes(data: Table) -> Row:
    """Adult, 8 attributes, whole 2-way marginals; fewer sweeps, in which both sides are linear."""
    workload, rounds, sweeps = Workload.marginals(data.domain, 2), 20, 4
    ours = our_seconds(data, workload, MWEM(rounds=rounds, refit=Sweeps(sweeps)))
    steps = sweeps * rounds * (rounds + 1) // 2
    theirs = listing_seconds(data.domain.size, workload.n_candidates, steps, rounds)
    note = "the listing, charged for one query only where it would move a whole marginal; extrapolated"
    return Row(f"Adult-8 marginals:2, {rounds} rounds of {sweeps} sweeps", ours, theirs, note)


def memory(data: Table) -> Row:
    """Peak memory of a default run on Adult-8, against four hypotheses."""
    workload = Workload.marginals(data.domain, 2)
    tracemalloc.start()
    MWEM().run(data, workload, BUDGET, noise=SeededNoise(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    hypothesis = 8 * data.domain.size
    note = f"peak is {peak / hypothesis:.2f} times the hypothesis; the reference is the target, 4 times"
    return Row("Adult-8 marginals:2, peak memory", peak / 2**20, 4 * hypothesis / 2**20, note, unit="MiB")


def rows() -> Iterator[Row]:
    """All rows, as they are done."""
    yield singles(table("nltcs"))
    adult = table("adult8_mwem")
    yield wholes(adult)
    yield memory(adult)
