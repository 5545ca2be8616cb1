"""Tables from files and records to files: against Arrow alone, which makes no codes and knows no domain."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.row import Row, cpu_seconds
from hedgerow.data import read_table
from hedgerow.domain import Categorical, Domain, IntegerRange
from hedgerow.release import Records

ROWS = 2_000_000
SIZES = (2, 3, 5, 7, 9, 16, 20, 42, 74, 100, 2, 6, 15, 8, 4)


def made(rows: int = ROWS) -> tuple[Domain, pa.Table]:
    """Fifteen columns, a third of them texts."""
    draw = np.random.default_rng(0)
    attributes: list[Categorical | IntegerRange] = []
    columns: dict[str, pa.Array[pa.Scalar[pa.DataType]]] = {}
    for place, size in enumerate(SIZES):
        name, codes = f"c{place}", (draw.random(rows) ** 2 * size).astype(np.int32)
        if place % 3 == 1:
            words = [f"v{code}" for code in range(size)]
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words)).cast(pa.string())
            attributes.append(Categorical(name, words))
        else:
            columns[name] = pa.array(codes)
            attributes.append(IntegerRange(name, 0, size - 1))
    return Domain(attributes), pa.table(columns)


def rows() -> Iterator[Row]:
    """Reading, then writing."""
    domain, table = made()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.parquet"
        pa.parquet.write_table(table, file)

        def decode() -> None:
            for _ in pa.parquet.ParquetFile(file).iter_batches(1 << 14):
                pass

        note = "the reference: Arrow decodes the file, and nothing more"
        name = f"read {ROWS:,} x {len(SIZES)} from Parquet"
        yield Row(name, cpu_seconds(lambda: read_table(file, domain), 3), cpu_seconds(decode, 3), note)
        generator = np.random.default_rng(1)
        codes = np.column_stack([generator.integers(each.size, size=ROWS) for each in domain])
        records = Records(codes, domain, seed=0)
        finished = records.to_arrow()

        def write_csv() -> None:
            pa.csv.write_csv(finished, Path(folder) / "reference.csv")

        def write_parquet() -> None:
            pa.parquet.write_table(finished, Path(folder) / "reference.parquet")

        note = "the reference: Arrow writes the finished table, and makes no values of codes"
        for ending, write in (("csv", write_csv), ("parquet", write_parquet)):
            ours = cpu_seconds(partial(records.write, Path(folder) / f"ours.{ending}"), 3)
            yield Row(f"write {ROWS:,} x {len(SIZES)} to {ending}", ours, cpu_seconds(write, 3), note)
