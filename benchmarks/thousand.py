"""MWEM on a hundred to a thousand binary attributes: counting the data apart, then what a round costs.

The records are 100,000; every attribute copies an earlier one of its block of twenty, or the sum of two, with some
chance of an error. The candidates are all parities of up to two (or three) attributes, and there are as many rounds as
attributes. The reference answers every candidate by itself, on the data and, in every round, on the hypothesis; it is
extrapolated from some hundred candidates on the hypothesis that came out.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from experiments.datasets import find_data
from experiments.mwem.binary import BLOCK, adult_bits, binary, blocks
from experiments.mwem.timing import TimedRun, timed_run

from benchmarks.row import Row
from hedgerow.algorithms.mwem import MWEM
from hedgerow.data import Table
from hedgerow.privacy import ApproxDP, NoiseSource, OpenDPNoise, SeededNoise
from hedgerow.queries import Parities, Workload, parity_scopes

BUDGET = ApproxDP(1.0, 1e-9)
SOME = 200
"""Candidates that the reference is timed on."""


@dataclass(frozen=True)
class Run:
    """One run of MWEM.

    Attributes:
        timed: What it took.
        memory: Peak memory of the process after each round, in MiB.
    """

    timed: TimedRun
    memory: Sequence[float]

    def part(self, first: float, last: float) -> float:
        """Mean time of the rounds between two shares of the run."""
        ends = self.timed.ends
        start, stop = (int(share * (len(ends) - 1)) for share in (first, last))
        return (ends[stop] - ends[start]) / (stop - start)


def run(table: Table, workload: Workload, rounds: int, noise: NoiseSource | None = None) -> Run:
    """MWEM with its defaults and so many rounds."""
    memory = list[float]()

    def note(_: object) -> None:
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

    config, source = MWEM(rounds=rounds), noise or SeededNoise(0)
    return Run(timed_run(table, workload, config, BUDGET, noise=source, look=note), memory)


def one_by_one(table: Table, workload: Workload) -> float:
    """CPU seconds of counting every parity by itself: the product of its columns of signs."""
    signs = [(1.0 - 2.0 * codes).astype(np.float32) for codes in table.columns[:SOME]]
    start = time.process_time()
    for first, second in pairwise(signs):
        first @ second
    return (time.process_time() - start) / (len(signs) - 1) * workload.n_queries


def unshared(found: TimedRun, workload: Workload) -> float:
    """CPU seconds of answering every candidate by itself in every round."""
    picks = np.random.default_rng(0).choice(workload.n_candidates, SOME, replace=False).tolist()
    scopes = [workload.candidate(pick).scope for pick in picks]
    found.release.model.marginals(scopes)  # compiles
    start = time.process_time()
    for scope in scopes:
        found.release.model.marginals([scope])
    return (time.process_time() - start) / SOME * workload.n_candidates * len(found.ends)


def growing(count: int, order: int, rounds: int, kept: dict[int, Run]) -> Iterator[Row]:
    """Counting, and all rounds, for so many attributes."""
    table = blocks(count)
    workload = Workload.parities(table.domain, order)
    found = run(table, workload, rounds)
    kept[count] = found
    what = f"{count:,} attributes, {workload.n_candidates:,} parities"
    timed = found.timed
    yield Row(
        f"{what}: count", timed.counting, one_by_one(table, workload), "one product of columns each, extrapolated"
    )
    held = f"{1e3 * timed.per_round:.3g} ms a round, {timed.cells:,} cells, {found.memory[-1]:.0f} MiB"
    note = f"{held}; the reference: one marginal each, extrapolated"
    yield Row(f"{what}: {rounds:,} rounds", timed.seconds, unshared(timed, workload), note)


def secure(count: int, kept: dict[int, Run]) -> Row:
    """The same run with noise that protects."""
    table = blocks(count)
    found = run(table, Workload.parities(table.domain, 2), count, OpenDPNoise()).timed
    ours, theirs = found.seconds, kept[count].timed.seconds
    return Row(f"{count:,} attributes, secure noise", ours, theirs, "the reference: seeded noise")


def growth(found: Run) -> Iterator[Row]:
    """Late rounds against early ones: time, and memory."""
    count = len(found.timed.ends)
    late, early = (1e3 * found.part(*shares) for shares in ((0.8, 1.0), (0.2, 0.4)))
    yield Row(f"a round of {count:,} attributes", late, early, "the last fifth against the second fifth", unit="ms")
    tenth = found.memory[len(found.memory) // 10]
    note = "peak of the process after the last round, against that after a tenth of the rounds"
    yield Row(f"memory of {count:,} attributes", found.memory[-1], tenth, note, unit="MiB")


def irrelevant(rounds: int = 60, extra: int = 50) -> Iterator[Row]:
    """Adult in 27 bits, alone and beside random attributes that the workload does not name, or does."""
    narrow, wide = (adult_bits(find_data(), coins) for coins in (0, extra))
    sets = parity_scopes(narrow.domain, 3)
    run(narrow, Workload([Parities(narrow.domain, sets)]), rounds)  # compiles
    alone = run(narrow, Workload([Parities(narrow.domain, sets)]), rounds).timed
    beside = run(wide, Workload([Parities(wide.domain, sets)]), rounds).timed
    among = run(wide, Workload.parities(wide.domain, 3), rounds).timed
    note = f"{alone.cells:,} cells, and {beside.cells:,}; 2^27 is {2**27:,}"
    yield Row(
        f"Adult in {len(narrow.domain)} bits, {rounds} rounds, and {extra} attributes beside",
        *_rounds(beside, alone),
        note,
        unit="ms",
    )
    yield Row(
        "the same, all of them in the workload",
        *_rounds(among, alone),
        f"{among.cells:,} cells",
        unit="ms",
    )


def _rounds(ours: TimedRun, theirs: TimedRun) -> tuple[float, float]:
    return 1e3 * ours.per_round, 1e3 * theirs.per_round


def rows() -> Iterator[Row]:
    """All rows, as they are done."""
    for order in (2, 3):
        run(blocks(2 * BLOCK), Workload.parities(binary(2 * BLOCK), order), 4)  # compiles
    kept: dict[int, Run] = {}
    for count in (100, 300, 1000):
        yield from growing(count, 2, count, kept)
    yield from growth(kept[1000])
    yield Row(
        "a round of 1,000 attributes, of 100",
        *_rounds(kept[1000].timed, kept[100].timed),
        "a hundred times the candidates",
        unit="ms",
    )
    yield secure(1000, kept)
    for count in (100, 300):
        yield from growing(count, 3, 100, {})
    yield from irrelevant()
