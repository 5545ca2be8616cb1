"""MWEM on a hundred to a thousand binary attributes: counting the data apart, then what a round costs.

The records are 100,000; every attribute copies an earlier one of its block of twenty, or the sum of two, with some
chance of an error. The candidates are all parities of up to two (or three) attributes, and there are as many rounds as
attributes. The reference answers every candidate by itself, on the data and, in every round, on the hypothesis; it is
extrapolated from some hundred candidates on the hypothesis that came out.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.row import Row
from hedgerow.algorithms.mwem import MWEM
from hedgerow.attribute import IntegerRange
from hedgerow.data.table import Table, read_table
from hedgerow.domain import Clique, Domain
from hedgerow.models.markov import Markov
from hedgerow.models.model import Codes
from hedgerow.privacy.budget import ApproxDP
from hedgerow.privacy.noise import NoiseSource, OpenDPNoise, SeededNoise
from hedgerow.queries.parity import Parities, parity_scopes
from hedgerow.queries.query import Conjunction, Floats
from hedgerow.queries.workload import Workload
from hedgerow.release import Release

Found = TypeVar("Found")
DATA = Path(__file__).parent.parent / "examples" / "data"
BUDGET = ApproxDP(1.0, 1e-9)
RECORDS = 100_000
BLOCK = 20
SOME = 200
"""Candidates that the reference is timed on."""


def binary(count: int) -> Domain:
    """So many attributes with two codes."""
    return Domain(IntegerRange(f"x{i}", 0, 1) for i in range(count))


def blocks(count: int, seed: int = 0) -> Table:
    """Records whose attributes follow earlier ones of their block; every fifth is the sum of two."""
    rng = np.random.default_rng(seed)
    columns: list[Codes] = []
    for index in range(count):
        earlier = columns[len(columns) - index % BLOCK :] if index % BLOCK else []
        column = (rng.random(RECORDS) < rng.uniform(0.03, 0.4)).astype(np.uint8)
        for parent in rng.permutation(len(earlier))[: 2 if index % 5 == 4 else 1]:
            column ^= earlier[parent]
        columns.append(column)
    return Table(binary(count), columns)


@dataclass
class Stopwatch:
    """A private table that keeps the CPU time of its answers."""

    table: Table
    seconds: float = 0.0

    @property
    def domain(self) -> Domain:
        """The table's."""
        return self.table.domain

    @property
    def cheap_cells(self) -> int:
        """The table's."""
        return self.table.cheap_cells

    def total(self) -> int:
        """The table's."""
        return self.table.total()

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """The table's."""
        return self._timed(lambda: self.table.marginals(cliques))

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """The table's."""
        return self._timed(lambda: self.table.conjunctions(queries))

    def parities(self, scopes: Sequence[Clique] | np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
        """The table's."""
        return self._timed(lambda: self.table.parities(scopes))

    def _timed(self, work: Callable[[], Found]) -> Found:
        start = time.process_time()
        found = work()
        self.seconds += time.process_time() - start
        return found


@dataclass
class Run:
    """One run of MWEM, in CPU seconds.

    Attributes:
        release: What came out.
        seconds: All of it but for what is counted.
        counting: Counting the data, before the first round and in each.
        ends: When each round ended.
        memory: Peak memory of the process after each round, in MiB.
    """

    release: Release
    seconds: float
    counting: float
    ends: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    @property
    def cells(self) -> int:
        """Cells that the hypothesis holds."""
        model = self.release.model
        return model.cells if isinstance(model, Markov) else model.domain.size

    @property
    def per_round(self) -> float:
        """Mean over the rounds, without the last fit."""
        return self.seconds / len(self.ends)

    def part(self, first: float, last: float) -> float:
        """Mean time of the rounds between two shares of the run."""
        start, stop = (int(share * (len(self.ends) - 1)) for share in (first, last))
        return (self.ends[stop] - self.ends[start]) / (stop - start)


def run(table: Table, workload: Workload, rounds: int, noise: NoiseSource | None = None) -> Run:
    """MWEM with its defaults and so many rounds."""
    source, ends, memory = Stopwatch(table), list[float](), list[float]()

    def note(_: object) -> None:
        ends.append(time.process_time() - source.seconds)
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

    start = time.process_time()
    release = MWEM(rounds=rounds).run(source, workload, BUDGET, noise=noise or SeededNoise(0), progress=note)
    return Run(release, time.process_time() - start - source.seconds, source.seconds, ends, memory)


def one_by_one(table: Table, workload: Workload) -> float:
    """CPU seconds of counting every parity by itself: the product of its columns of signs."""
    signs = [(1.0 - 2.0 * codes).astype(np.float32) for codes in table.columns[:SOME]]
    start = time.process_time()
    for first, second in pairwise(signs):
        first @ second
    return (time.process_time() - start) / (len(signs) - 1) * workload.n_queries


def unshared(found: Run, workload: Workload) -> float:
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
    yield Row(
        f"{what}: count", found.counting, one_by_one(table, workload), "one product of columns each, extrapolated"
    )
    held = f"{1e3 * found.per_round:.3g} ms a round, {found.cells:,} cells, {found.memory[-1]:.0f} MiB"
    note = f"{held}; the reference: one marginal each, extrapolated"
    yield Row(f"{what}: {rounds:,} rounds", found.seconds, unshared(found, workload), note)


def secure(count: int, kept: dict[int, Run]) -> Row:
    """The same run with noise that protects."""
    table = blocks(count)
    found = run(table, Workload.parities(table.domain, 2), count, OpenDPNoise())
    return Row(f"{count:,} attributes, secure noise", found.seconds, kept[count].seconds, "the reference: seeded noise")


def growth(found: Run) -> Iterator[Row]:
    """Late rounds against early ones: time, and memory."""
    count = len(found.ends)
    late, early = (1e3 * found.part(*shares) for shares in ((0.8, 1.0), (0.2, 0.4)))
    yield Row(f"a round of {count:,} attributes", late, early, "the last fifth against the second fifth", unit="ms")
    tenth = found.memory[len(found.memory) // 10]
    note = "peak of the process after the last round, against that after a tenth of the rounds"
    yield Row(f"memory of {count:,} attributes", found.memory[-1], tenth, note, unit="MiB")


def adult_bits() -> tuple[Domain, list[Codes]]:
    """The eight attributes of Adult as 27 binary ones, one row for each record."""
    table = read_table(DATA / "adult8_mwem.csv", DATA / "adult8_mwem.domain.json", count_column="count", coded=True)
    counts = np.array(table.weights)
    columns = []
    names = []
    for attribute, codes in zip(table.domain, table.columns, strict=True):
        for bit in range(math.ceil(math.log2(attribute.size))):
            names.append(f"{attribute.name}.{bit}")
            columns.append(np.repeat(codes >> bit & 1, counts).astype(np.uint8))
    return Domain(IntegerRange(name, 0, 1) for name in names), columns


def irrelevant(rounds: int = 60, extra: int = 50) -> Iterator[Row]:
    """Adult in 27 bits, alone and beside random attributes that the workload does not name, or does."""
    domain, columns = adult_bits()
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 2, len(columns[0]), dtype=np.uint8) for _ in range(extra)]
    wide = Domain([*domain, *(IntegerRange(f"random{i}", 0, 1) for i in range(extra))])
    sets = parity_scopes(domain, 3)
    run(Table(domain, columns), Workload([Parities(domain, sets)]), rounds)  # compiles
    alone = run(Table(domain, columns), Workload([Parities(domain, sets)]), rounds)
    beside = run(Table(wide, [*columns, *noise]), Workload([Parities(wide, sets)]), rounds)
    among = run(Table(wide, [*columns, *noise]), Workload.parities(wide, 3), rounds)
    note = f"{alone.cells:,} cells, and {beside.cells:,}; 2^27 is {2**27:,}"
    yield Row(
        f"Adult in {len(domain)} bits, {rounds} rounds, and {extra} attributes beside",
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


def _rounds(ours: Run, theirs: Run) -> tuple[float, float]:
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
        *_rounds(kept[1000], kept[100]),
        "a hundred times the candidates",
        unit="ms",
    )
    yield secure(1000, kept)
    for count in (100, 300):
        yield from growing(count, 3, 100, {})
    yield from irrelevant()
