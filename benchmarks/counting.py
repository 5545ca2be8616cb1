"""Counting a table: all marginals at once against one ``np.bincount`` per marginal, and reading a CSV file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.row import Row, cpu_seconds
from hedgerow.attribute import IntegerRange
from hedgerow.data.table import Table, read_table
from hedgerow.domain import Domain

RECORDS = 1_000_000
SIZES = (9, 16, 7, 15, 6, 5, 2, 42, 16, 10, 10, 8, 4, 3, 2)
TIMED = 20
"""Marginals that the reference is timed on; the others are extrapolated."""


def table() -> Table:
    """Random records of 15 attributes, codes in one byte each."""
    draw = np.random.default_rng(0)
    domain = Domain(IntegerRange(f"a{i}", 0, size - 1) for i, size in enumerate(SIZES))
    return Table(domain, [draw.integers(size, size=RECORDS, dtype=np.uint8) for size in SIZES])


def counted(data: Table, order: int) -> Row:
    """All marginals of an order; ours counts in CPU seconds of both threads."""
    cliques = list(combinations(data.domain.names, order))
    data.marginals(cliques[:1])  # compile
    ours = cpu_seconds(lambda: data.marginals(cliques))
    theirs = cpu_seconds(lambda: [_bincount(data, clique) for clique in cliques[:TIMED]]) * len(cliques) / TIMED
    floor = cpu_seconds(lambda: [column.sum(dtype=np.int64) for column in data.columns])
    note = f"np.bincount per marginal, from {TIMED}; one plain pass over the codes takes {floor:.3g} s"
    return Row(f"{len(cliques)} {order}-way marginals of {RECORDS:,} x {len(SIZES)}", ours, theirs, note)


def _bincount(data: Table, clique: tuple[str, ...]) -> object:
    axes, shape = data.domain.axes(clique), data.domain.shape_of(clique)
    flat = np.ravel_multi_index([data.columns[axis] for axis in axes], shape)
    return np.bincount(flat, minlength=int(np.prod(shape)))


def read(data: Table) -> Row:
    """The same table as a CSV file, read and encoded; the reference only parses it, as texts."""
    columns = {name: pa.array(codes) for name, codes in zip(data.domain.names, data.columns, strict=True)}
    texts = pyarrow.csv.ConvertOptions(column_types={name: pa.string() for name in columns})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        pyarrow.csv.write_csv(pa.table(columns), path)
        ours = cpu_seconds(lambda: read_table(path, data.domain))
        theirs = cpu_seconds(lambda: pyarrow.csv.read_csv(path, convert_options=texts))
    return Row(f"read and encode CSV, {RECORDS:,} x {len(SIZES)}", ours, theirs, "parsing alone, by Arrow")


def rows() -> Iterator[Row]:
    """All rows, as they are done."""
    data = table()
    yield counted(data, 2)
    yield counted(data, 3)
    yield read(data)
