"""Tables that differ in one record, as files, frames and databases whose writers look at cells to choose types.

A table is a list of columns of plain Python cells. A *change* adds, drops or replaces one record. A *source* writes the
table as people do: with the types that pandas, polars or Arrow infer, or with declared ones. Where a writer itself
refuses a mixture of cells there is no such source, and nothing to compare.
"""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet

Cells = dict[str, list[Any]]
Source = Callable[[Cells, Path], Any]

JOBS = ("nurse", "clerk", "cook")
BOUNDS = {"age": ("0", "90"), "cost": ("0.0", "1000.0"), "born": ("1900-01-01", "2020-12-31")}
"""Of three columns; the others are labels, of texts, whole numbers, fractions, truth and nothing at all."""
TYPES = {"code": "text", "dose": "text"}
"""Of the columns of numbers that are labels: a database declares other types."""
LABELS = ("job", "code", "dose", "flag", "note")
SQL_TYPES = {
    "age": "integer",
    "cost": "double precision",
    "born": "date",
    "job": "text",
    "code": "integer",
    "dose": "double precision",
    "flag": "boolean",
    "note": "text",
    "region": "text",
}
DECLARED = {
    "age": {"min": 0, "max": 90, "missing": True, "other": True},
    "cost": {"min": 0.0, "max": 1000.0, "bins": 4, "missing": True, "other": True},
    "born": {"min": "1900-01-01", "max": "2020-12-31", "bins": "year", "missing": True, "other": True},
    "job": {"values": list(JOBS), "missing": True, "other": True},
    "code": {"values": [1, 2, 3, 4], "missing": True, "other": True},
    "dose": {"values": [0.3, 1.5, 2], "missing": True, "other": True},
    "flag": {"values": [False, True], "missing": True, "other": True},
    "note": {"values": ["lion", "zebra"], "missing": True, "other": True},
    "region": {"values": ["north", "south"], "missing": True, "other": True},
}
"""A domain that every cell fits, so that no change of a record is refused."""


def table_of(seed: int, n: int = 60) -> Cells:
    """A random table; its column ``note`` is empty."""
    draw = np.random.default_rng(seed)
    days = draw.integers(0, 18_000, n)
    return {
        "age": draw.integers(0, 91, n).tolist(),
        "cost": np.round(draw.uniform(0.0, 1000.0, n), 2).tolist(),
        "born": [date.fromordinal(719_163 + int(day)) for day in days],
        "job": [JOBS[i] for i in draw.integers(3, size=n)],
        "code": draw.integers(1, 5, n).tolist(),
        "dose": [(0.3, 1.5, 2.0)[i] for i in draw.integers(3, size=n)],
        "flag": (draw.random(n) < 0.5).tolist(),
        "note": [None] * n,
        "region": [("north", "south")[i % 2] for i in range(n)],
    }


def replaced(table: Cells, **cells: Any) -> Cells:
    """The table with other cells in the record of the row 7."""
    assert set(cells) <= set(table)
    return {
        name: [cells[name] if row == 7 and name in cells else cell for row, cell in enumerate(column)]
        for name, column in table.items()
    }


def _appended(table: Cells) -> Cells:
    last = {"age": 90, "cost": 999.99, "born": date(2020, 12, 31), "job": "cook", "code": 4, "dose": 2.0, "flag": True}
    return {name: [*column, {**last, "region": "north"}.get(name)] for name, column in table.items()}


CHANGES: dict[str, Callable[[Cells], Cells]] = {
    "a record more": _appended,
    "a record less": lambda table: {name: column[:-1] for name, column in table.items()},
    "an empty record": lambda table: replaced(table, **dict.fromkeys(name for name in table if name != "region")),
    **{
        f"an empty cell in {name}": lambda table, name=name: replaced(table, **{name: None})  # type: ignore[misc]
        for name in ("age", "cost", "born", "job", "code", "dose", "flag")
    },
    "a text in a column of nothing": lambda table: replaced(table, note="zebra"),
    "a number in a column of nothing": lambda table: replaced(table, note=3),
    "a date in a column of nothing": lambda table: replaced(table, note=date(2020, 1, 2)),
    "a fraction among whole numbers": lambda table: replaced(table, code=2.5),
    "a text among whole numbers": lambda table: replaced(table, code="x"),
    "a truth among whole numbers": lambda table: replaced(table, code=True),
    "a large number": lambda table: replaced(table, code=2**62 + 1),
    "a wider number": lambda table: replaced(table, code=10**12),
    "a text among fractions": lambda table: replaced(table, dose="little"),
    "a whole number among fractions": lambda table: replaced(table, dose=2),
    "a text among truths": lambda table: replaced(table, flag="perhaps"),
    "a long text": lambda table: replaced(table, job="x" * 100_000),
    "a new label": lambda table: replaced(table, job="astronaut"),
    "another spelling": lambda table: replaced(table, job=" NURSE"),
    "a label like a number": lambda table: replaced(table, job="3.0"),
    "a time among dates": lambda table: replaced(table, born=datetime(2001, 2, 3)),
}


class Refused(Exception):
    """A writer, which is none of ours, does not write such a mixture of cells."""


_WRITERS = (pa.ArrowException, TypeError, ValueError, OverflowError, pl.exceptions.PolarsError)


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def csv_file(table: Cells, folder: Path) -> str:
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows([_text(cell) for cell in row] for row in zip(*table.values(), strict=True))
    return str(folder / "people.csv")


def csv_gz(table: Cells, folder: Path) -> str:
    with open(csv_file(table, folder), "rb") as plain, gzip.open(folder / "people.csv.gz", "wb") as packed:
        shutil.copyfileobj(plain, packed)
    return str(folder / "people.csv.gz")


def csv_of_pandas(table: Cells, folder: Path) -> str:
    pd.DataFrame(table).to_csv(folder / "people.csv", index=False)
    return str(folder / "people.csv")


def parquet_of_pandas(table: Cells, folder: Path) -> str:
    pd.DataFrame(table).to_parquet(folder / "people.parquet")
    return str(folder / "people.parquet")


def downcast_of_pandas(table: Cells, folder: Path) -> str:
    """As narrow as the cells allow, with labels as categories."""
    frame = pd.DataFrame(table)
    for name in frame:
        if frame[name].dtype.kind in "iuf":
            frame[name] = pd.to_numeric(frame[name], downcast="unsigned" if frame[name].dtype.kind == "i" else "float")
    frame.astype(dict.fromkeys(("job", "region"), "category")).to_parquet(folder / "people.parquet")
    return str(folder / "people.parquet")


def parquet_of_arrow(table: Cells, folder: Path) -> str:
    pyarrow.parquet.write_table(arrow_table(table, folder), folder / "people.parquet")
    return str(folder / "people.parquet")


def pattern_of_files(table: Cells, folder: Path) -> str:
    """Two files, each with the types that its own cells have."""
    for part, rows in enumerate((slice(0, 30), slice(30, None))):
        frame = pd.DataFrame({name: column[rows] for name, column in table.items()})
        frame.to_parquet(folder / f"part-{part}.parquet")
    return str(folder / "part-*.parquet")


def folder_of_partitions(table: Cells, folder: Path) -> str:
    frame = pd.DataFrame(table)
    shutil.rmtree(folder / "people", ignore_errors=True)
    for key, part in frame.groupby("region"):
        (folder / "people" / f"region={key}").mkdir(parents=True)
        inferred = part.drop(columns="region").infer_objects()
        inferred.to_parquet(folder / "people" / f"region={key}" / "part.parquet", index=False)
    return str(folder / "people")


def pandas_frame(table: Cells, _: Path) -> pd.DataFrame:
    return pd.DataFrame(table)


def object_frame(table: Cells, _: Path) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in table.items()})


def category_frame(table: Cells, _: Path) -> pd.DataFrame:
    return pd.DataFrame(table).astype(dict.fromkeys(LABELS, "category"))


def nullable_frame(table: Cells, _: Path) -> pd.DataFrame:
    return pd.DataFrame(table).convert_dtypes()


def arrow_backed_frame(table: Cells, _: Path) -> pd.DataFrame:
    return pd.DataFrame(table).convert_dtypes(dtype_backend="pyarrow")


def polars_frame(table: Cells, _: Path) -> pl.DataFrame:
    return pl.DataFrame(table)


def arrow_table(table: Cells, _: Path) -> pa.Table:
    return pa.table(table)


def _rows(table: Cells) -> list[tuple[Any, ...]]:
    """For a database, which refuses what its schema does not hold."""
    for name, kind in SQL_TYPES.items():
        allowed = {"integer": int, "double precision": (int, float), "date": date, "text": str, "boolean": bool}[kind]
        for cell in table[name]:
            if cell is not None and (not isinstance(cell, allowed) or (kind == "integer" and abs(cell) > 2**31)):
                raise Refused
            if kind == "integer" and isinstance(cell, bool):
                raise Refused
    return list(zip(*table.values(), strict=True))


_COLUMNS = ", ".join(f"{name} {kind}" for name, kind in SQL_TYPES.items())


def duckdb_file(table: Cells, folder: Path) -> str:
    import duckdb

    rows = _rows(table)
    (folder / "people.db").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "people.db")) as base:
        base.execute(f"create table people ({_COLUMNS})")
        base.executemany(f"insert into people values ({', '.join('?' * len(table))})", rows)
    return f"duckdb:{folder / 'people.db'}#people"


def postgresql(address: str) -> Source:
    def put(table: Cells, _: Path) -> str:
        import psycopg

        rows = _rows(table)
        with psycopg.connect(address) as base, base.cursor() as cursor:
            cursor.execute("drop table if exists neighbours")
            cursor.execute(f"create table neighbours ({_COLUMNS})")
            cursor.executemany(f"insert into neighbours values ({', '.join(['%s'] * len(table))})", rows)
        return f"{address}#neighbours"

    return put


def spark_frame(session: Any) -> Source:
    """A frame whose types Spark infers from its cells."""

    def put(table: Cells, _: Path) -> Any:
        rows = [
            json.loads(json.dumps(dict(zip(table, row, strict=True)), default=str))
            for row in zip(*table.values(), strict=True)
        ]
        return session.read.json(session.sparkContext.parallelize([json.dumps(row) for row in rows]))

    return put


FILES: dict[str, Source] = {
    "CSV": csv_file,
    "CSV, packed": csv_gz,
    "CSV of pandas": csv_of_pandas,
    "Parquet of pandas": parquet_of_pandas,
    "narrow Parquet of pandas": downcast_of_pandas,
    "Parquet of Arrow": parquet_of_arrow,
    "a pattern of files": pattern_of_files,
    "a folder of partitions": folder_of_partitions,
    "a DuckDB file": duckdb_file,
}
FRAMES: dict[str, Source] = {
    "pandas": pandas_frame,
    "pandas, objects": object_frame,
    "pandas, categories": category_frame,
    "pandas, nullable": nullable_frame,
    "pandas, Arrow-backed": arrow_backed_frame,
    "polars": polars_frame,
    "Arrow": arrow_table,
}


def written(source: Source, table: Cells, folder: Path) -> Any:
    """The table as a source.

    Raises:
        Refused: Its writer does not take such a mixture.
    """
    try:
        return source(table, folder)
    except _WRITERS as error:
        raise Refused from error
