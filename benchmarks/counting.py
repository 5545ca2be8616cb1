"""Counting a table: all marginals at once, all parities at once, and reading a CSV file.

The reference for marginals is the fastest form of one ``np.bincount`` for each: positions of cells are computed from
whole numbers for so many records at a time as stay in a core's cache. The reference for parities is BLAS on signs in
single precision, which is exact for these numbers of records.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.row import Row, cpu_seconds
from hedgerow.data import Table, read_table
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.queries import parity_scopes

SIZES = (9, 16, 7, 15, 6, 5, 2, 42, 16, 10, 10, 8, 4, 3, 2)
TIMED = 20
"""Marginals that the reference is timed on; the others are extrapolated."""

BINARY_RECORDS = 100_000
_CACHED = 1 << 16


def table(n_records: int, sizes: Sequence[int]) -> Table:
    """Random records, codes in one byte each, the low ones far more frequent."""
    draw = np.random.default_rng(0)
    domain = Domain(IntegerRange(f"a{i}", 0, size - 1) for i, size in enumerate(sizes))
    columns = [(size * draw.random(n_records, dtype=np.float32) ** 3).astype(np.uint8) for size in sizes]
    return Table(domain, columns)


def binary_table(n_attributes: int) -> Table:
    """Random records of binary attributes, the ones mostly rare."""
    draw = np.random.default_rng(0)
    domain = Domain(IntegerRange(f"b{i}", 0, 1) for i in range(n_attributes))
    shares = draw.beta(1, 2, n_attributes)
    return Table(domain, [(draw.random(BINARY_RECORDS) < share).astype(np.uint8) for share in shares])


def seconds(work: Callable[[], object], repeats: int = 3) -> tuple[float, float]:
    """Least CPU time and least time by the clock, of several runs, after one run that does not count."""
    work()
    cpu, wall = [], []
    for _ in range(repeats):
        start = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return min(cpu), min(wall)


def counted(data: Table, sizes: str, order: int) -> Row:
    """All marginals of an order."""
    cliques = list(combinations(data.domain.names, order))
    some = cliques[:: max(1, len(cliques) // TIMED)]
    whole = len(cliques) / len(some)
    ours, wall = seconds(lambda: data.marginals(cliques))
    theirs, their_wall = (
        whole * s for s in seconds(lambda: over_threads(lambda clique: _in_cache(data, clique), some))
    )
    plain = whole * seconds(lambda: [_bincount(data, clique, 0, data.total()) for clique in some], repeats=1)[0]
    floor, _ = seconds(lambda: [column.max() for column in data.columns])
    note = (
        f"by the clock {wall:.3g} s against {their_wall:.3g} s, both on {len(os.sched_getaffinity(0))} cores; "
        f"np.bincount of whole columns {plain / ours:.0f} times; {ours / floor:.0f} plain passes over the codes"
    )
    return Row(f"{len(cliques)} {order}-way marginals of {data.total():,} x {sizes}", ours, theirs, note)


def over_threads(work: Callable[[Clique], object], cliques: Sequence[Clique]) -> list[object]:
    """The reference on all cores too."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(work, cliques))


def _in_cache(data: Table, clique: Clique) -> object:
    starts = range(0, data.total(), _CACHED)
    return sum(_bincount(data, clique, start, start + _CACHED) for start in starts)


def _bincount(data: Table, clique: Clique, start: int, stop: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    first, *others = data.domain.axes(clique)
    cell = data.columns[first][start:stop].astype(np.intp)
    for axis in others:
        cell *= data.domain.shape[axis]
        cell += data.columns[axis][start:stop]
    return np.bincount(cell, minlength=math.prod(data.domain.shape_of(clique)))


def parities(data: Table, order: int) -> Row:
    """All parities up to an order of binary attributes; packing them included."""
    n = len(data.domain)
    sets = parity_scopes(data.domain, order)
    ours, wall = seconds(lambda: data.parities(sets))
    firsts = [None] if order == 2 else [0, n // 4, n // 2]
    pairs = math.comb(n, 2)
    timed = pairs if order == 2 else sum(math.comb(n - 1 - first, 2) for first in firsts if first is not None)
    theirs = cpu_seconds(lambda: [_products(data, first) for first in firsts], 1) * math.comb(n, order) / timed
    floor, _ = seconds(lambda: [column.max() for column in data.columns])
    note = (
        f"BLAS on signs{'' if order == 2 else f', from {len(firsts)} first attributes'}; by the clock {wall:.3g} s; "
        f"{math.comb(n, order) / ours / 1e6:.3g} million sets a second and core; {ours / floor:.0f} plain passes"
    )
    return Row(f"all parities up to order {order} of {BINARY_RECORDS:,} x {n} binary attributes", ours, theirs, note)


def _products(data: Table, first: int | None) -> object:
    """Products of signs: all pairs, or all pairs after a first attribute times that one."""
    after = 0 if first is None else first + 1
    sums = np.zeros((len(data.domain) - after,) * 2, dtype=np.float32)
    for start in range(0, BINARY_RECORDS, 10_000):
        rows = slice(start, start + 10_000)
        signs = 1 - 2 * np.stack([column[rows] for column in data.columns[after:]]).astype(np.float32)
        times = signs if first is None else signs * (1 - 2 * data.columns[first][rows].astype(np.float32))
        sums += times @ signs.T
    return sums


def small_marginals(data: Table) -> Row:
    """All two-way marginals of binary attributes, as tables, against those that ``np.bincount`` counts."""
    cliques = list(combinations(data.domain.names, 2))
    some = cliques[:: len(cliques) // TIMED]
    ours, wall = seconds(lambda: data.marginals(cliques), 1)
    theirs = seconds(lambda: [_in_cache(data, clique) for clique in some])[0] * len(cliques) / len(some)
    name = f"all {len(cliques):,} 2-way marginals of {BINARY_RECORDS:,} x {len(data.domain)} binary attributes"
    return Row(name, ours, theirs, f"by the clock {wall:.3g} s; np.bincount per marginal, from {len(some)}")


def read(data: Table) -> Row:
    """The same table as a CSV file, read and encoded; the reference only parses it, as texts."""
    columns = {name: pa.array(codes) for name, codes in zip(data.domain.names, data.columns, strict=True)}
    texts = pyarrow.csv.ConvertOptions(column_types={name: pa.string() for name in columns})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        pyarrow.csv.write_csv(pa.table(columns), path)
        ours = cpu_seconds(lambda: read_table(path, data.domain))
        theirs = cpu_seconds(lambda: pyarrow.csv.read_csv(path, convert_options=texts))
    return Row(f"read and encode CSV, {data.total():,} x {len(SIZES)}", ours, theirs, "parsing alone, by Arrow")


def rows() -> Iterator[Row]:
    """All rows, as they are done."""
    data = table(1_000_000, SIZES)
    yield counted(data, "15", 2)
    yield counted(data, "15", 3)
    yield read(data)
    yield counted(table(10_000_000, SIZES), "15", 3)
    yield counted(table(10_000_000, [10] * 15), "15 of ten codes", 3)
    binary = binary_table(1_000)
    yield parities(binary, 2)
    yield small_marginals(binary)
    yield parities(binary_table(300), 3)
