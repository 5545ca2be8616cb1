"""The runs: a table, what is asked of it, and how both are made. Generated tables are the same each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from experiments.datasets import find_data

_EXAMPLES = Path(__file__).parents[2] / "examples"
_CLASSES = 6
"""Hidden classes of records that make the columns of generated tables depend on each other."""


@dataclass(frozen=True)
class Shape:
    """One run of ``hedgerow synth``, with epsilon 1 and delta 1e-9.

    Attributes:
        name: What is released, in words.
        table: Makes the table's file in a folder, or names it.
        domain: The same for its domain.
        records: Number of records, for ``hedgerow plan``.
        options: Further words of the command line.
        group: The drawing that it is a point of, if any.
        size: Its place on the axis of that drawing.
        listed: Whether it is a row of the table.
        drawn: Whether it was drawn by a seed, and is a row of the table of these.
    """

    name: str
    table: Callable[[Path], Path]
    domain: Callable[[Path], Path]
    records: int
    options: Sequence[str]
    group: str = ""
    size: int = 0
    listed: bool = True
    drawn: bool = False


def shapes() -> Iterator[Shape]:
    """All runs, those of the table first."""
    adult, acs = find_data().folder / "adult.csv", _EXAMPLES / "acs" / "ma2019.csv"
    bins, survey = _EXAMPLES / "adult.domain.yaml", _EXAMPLES / "acs" / "acs.domain.yaml"
    six = ("--columns", "age,workclass,education-num,marital-status,race,sex")

    def of_adult(name: str, workload: str, *more: str) -> Shape:
        return Shape(name, lambda _: adult, lambda _: bins, 48_842, ("--workload", workload, *more))

    def of_survey(name: str, workload: str) -> Shape:
        return Shape(name, lambda _: acs, lambda _: survey, 7_633, ("--workload", workload))

    yield of_adult("Adult, 6 columns, pairs", "marginals:2", *six)
    yield of_adult("Adult, ranges of age x hours", "ranges:age,hours-per-week:200:0")
    yield of_adult("Adult, 15 columns, pairs", "marginals:2")
    yield of_adult("Adult, 15 columns, triples of up to 10,000 cells", "marginals:3<=10000")
    yield of_adult("Adult, 15 columns, all 455 triples", "marginals:3")
    yield of_survey("ACS, 22 columns with rules, pairs", "marginals:2")
    yield of_survey("ACS, 22 columns with rules, triples of up to 20,000 cells", "marginals:3<=20000")
    yield generated("10^6 records x 15 columns, pairs", 10**6, MIXED)
    thousand = {"group": "values of each of three columns", "size": 1000}
    yield generated("10^5 records x 3 columns of 1,000 values, pairs", 10**5, [1000] * 3, **thousand)
    for columns in (300, 1000):
        name = f"10^4 records x {columns:,} binary columns, pairs"
        yield generated(name, 10**4, [2] * columns, group="binary columns", size=columns)
    yield generated("1,764 records x 1,359 binary columns, single columns", 1764, [2] * 1359, workload="marginals:1")
    yield generated("1,764 records x 1,359 binary columns, pairs", 1764, [2] * 1359)
    yield of_adult("Adult, 200,000 ranges of age x hours", "ranges:age,hours-per-week:200000:0")
    many, single = 10**5, {"workload": "marginals:1"}
    yield generated("10^5 records x one column of 10^5 values, single columns", 10**5, [many], stem="cat1", **single)
    yield generated("10^5 records x columns of 10^5, 2 and 3 values, pairs", 10**5, [many, 2, 3], stem="cat2")
    yield generated("10^5 records x 16 columns, one of 10^5 values, pairs", 10**5, [many, *MIXED], stem="cat3")
    yield generated("10^4 records x 2,000 binary columns, single columns", 10**4, [2] * 2000, stem="wide1", **single)
    yield from growing()


def growing() -> Iterator[Shape]:
    """The other points of the drawings."""
    for rows in (10**4, 10**5, 10**6, 10**7):
        yield generated(f"{rows:,} records", rows, [8] * 10, group="records", size=rows, listed=False)
    for columns in (10, 30, 100):
        point = {"group": "binary columns", "size": columns}
        yield generated(f"{columns:,} columns", 10**4, [2] * columns, listed=False, **point)
    for values in (10, 30, 100, 300):
        point = {"group": "values of each of three columns", "size": values}
        yield generated(f"{values:,} values", 10**5, [values] * 3, listed=False, **point)


MIXED = [2, 3, 5, 7, 8, 10, 12, 14, 16, 20, 2, 4, 6, 9, 24]


def generated(
    name: str, rows: int, sizes: Sequence[int], *, workload: str = "marginals:2", stem: str = "", **more: Any
) -> Shape:
    """A run on columns of so many values each, which depend on a hidden class of the record.

    Args:
        name: See `Shape`.
        rows: Number of records.
        sizes: Number of values of each column.
        workload: What is asked.
        stem: Name of the files, if rows, number of columns and largest size do not tell the table.
        more: Further fields of the shape.
    """
    stem = stem or f"{rows}-{len(sizes)}-{max(sizes)}"

    def table(folder: Path) -> Path:
        path = folder / f"{stem}.parquet"
        if not path.exists():
            pa.parquet.write_table(_columns(rows, sizes), path)
        return path

    def domain(folder: Path) -> Path:
        path = folder / f"{stem}.yaml"
        lines = (f"  c{i}: {{values: [{', '.join(_words(size))}]}}\n" for i, size in enumerate(sizes))
        path.write_text("attributes:\n" + "".join(lines), encoding="utf-8")
        return path

    return Shape(name, table, domain, rows, ("--workload", workload), **more)


def _columns(rows: int, sizes: Sequence[int]) -> pa.Table:
    draw = np.random.default_rng(0)
    classes = draw.integers(0, _CLASSES, rows)
    columns = {}
    for i, size in enumerate(sizes):
        likely = draw.dirichlet(np.full(size, 0.5), _CLASSES).cumsum(axis=1)
        codes = np.empty(rows, dtype=np.int32)
        for each in range(_CLASSES):
            inside = np.flatnonzero(classes == each)
            codes[inside] = np.searchsorted(likely[each], draw.random(len(inside)))
        words = pa.array(_words(size))
        columns[f"c{i}"] = words.take(pa.array(codes.clip(0, size - 1)))
    return pa.table(columns)


def _words(size: int) -> list[str]:
    return [f"v{code}" for code in range(size)]
