"""Tables from every kind of source give the same codes, and the shipped data sets their published totals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hedgerow.data import CountSource, Table, read_table
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange

DATA = Path(__file__).parents[2] / "examples" / "data"
DOMAIN = Domain(
    [
        Categorical("city", ("Bath", "York"), missing="?"),
        IntegerRange("age", 0, 99),
        Binned("capital.gain", (0, 10, 20)),
        Categorical("vip", (False, True)),
    ]
)
FRAME = pa.table(
    {"city": ["York", None, "Bath"], "age": [7, 99, 0], "capital.gain": [0.5, 20.0, 10.0], "vip": [True, False, True]}
)
CODES = [[1, 2, 0], [7, 99, 0], [0, 1, 1], [1, 0, 1]]


def _csv(folder: Path) -> Path:
    pyarrow.csv.write_csv(FRAME, folder / "t.csv")
    return folder / "t.csv"


def _parquet(folder: Path) -> Path:
    pq.write_table(FRAME, folder / "t.parquet", row_group_size=2)
    return folder / "t.parquet"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "csv": _csv,
    "csv path as text": lambda folder: str(_csv(folder)),
    "parquet": _parquet,
    "arrow": lambda folder: FRAME,
    "arrow chunks": lambda folder: pa.concat_tables([FRAME.slice(0, 1), FRAME.slice(1)]),
    "arrow reader": lambda folder: FRAME.to_reader(),
    "arrow batch": lambda folder: FRAME.to_batches()[0],
    "pandas": lambda folder: FRAME.to_pandas(),
    "pandas categories": lambda folder: FRAME.to_pandas().astype({"city": "category"}),
    "pandas nullable": lambda folder: FRAME.to_pandas().convert_dtypes(),
    "pandas with an index": lambda folder: FRAME.to_pandas().set_index(pd.Index([5, 5, 1])),
    "polars": lambda folder: pl.DataFrame(FRAME),
    "polars categories": lambda folder: pl.DataFrame(FRAME).with_columns(pl.col("city").cast(pl.Categorical)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_codes(name: str, tmp_path: Path) -> None:
    table = read_table(SOURCES[name](tmp_path), DOMAIN)
    assert [column.tolist() for column in table.columns] == CODES
    assert [column.dtype for column in table.columns] == [np.uint8] * 4
    assert table.total() == 3
    assert table.weights is None


@pytest.mark.parametrize("name", SOURCES)
def test_selected_columns_in_their_order(name: str, tmp_path: Path) -> None:
    table = read_table(SOURCES[name](tmp_path), DOMAIN, columns=("vip", "city"))
    assert table.domain == DOMAIN.project(["vip", "city"])
    assert [column.tolist() for column in table.columns] == [CODES[3], CODES[0]]


@pytest.mark.parametrize("counts", [[2, 0, 5], [2.0, 0.0, 5.0], ["2", "0", "5"]])
def test_counts(counts: list[Any], tmp_path: Path) -> None:
    counted = FRAME.append_column("n", pa.array(counts))
    pyarrow.csv.write_csv(counted, tmp_path / "n.csv")
    for source in (counted, tmp_path / "n.csv"):
        table = read_table(source, DOMAIN, count_column="n")
        assert table.weights is not None
        assert table.weights.tolist() == [2, 0, 5]
        assert table.total() == 7
        assert table.marginals([("city",)])[0].tolist() == [5, 2, 0]


def test_codes_in_place_of_values() -> None:
    frame = pa.table({name: column for name, column in zip(DOMAIN.names, CODES, strict=True)})
    table = read_table(frame, DOMAIN, coded=True)
    assert [column.tolist() for column in table.columns] == CODES
    assert table.domain == DOMAIN


def test_commas_quotes_and_line_ends_inside_values(tmp_path: Path) -> None:
    values = ("a,b", 'say "x"', "two\nlines", "ünï")
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeff"v"\r\n"a,b"\r\n"say ""x"""\r\n"two\nlines"\r\nünï\r\n'.encode())
    assert read_table(path, Domain([Categorical("v", values)])).columns[0].tolist() == [0, 1, 2, 3]


def test_line_ends_inside_values_at_the_border_of_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.data.reading.text_files._BLOCK_BYTES", 100)
    path = tmp_path / "t.csv"
    path.write_text("v,w\n" + '"one\ntwo\nthree",0\n' * 1000)
    domain = Domain([Categorical("v", ("one\ntwo\nthree", "x")), IntegerRange("w", 0, 1)])
    assert read_table(path, domain).total() == 1000


def test_blank_lines_are_no_records_but_empty_cells_are(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n0,1\n\n1,0\n\n")
    domain = Domain([IntegerRange("a", 0, 1, missing="?"), IntegerRange("b", 0, 1)])
    assert read_table(path, domain).total() == 2
    path.write_text("a\n0\n\n1\n")
    assert read_table(path, domain.project(["a"])).columns[0].tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("name", "total", "non_zero"),
    [("mildew", 70, 22), ("czech", 1841, 63), ("rochdale", 665, 91), ("nltcs", 21574, 3152)],
)
def test_contingency_tables(name: str, total: int, non_zero: int) -> None:
    table = read_table(DATA / f"{name}.csv", DATA / f"{name}.domain.json", count_column="count")
    assert table.total() == total
    (joint,) = table.marginals([table.domain.names])
    assert joint.sum() == total
    assert np.count_nonzero(joint) == non_zero


@pytest.mark.slow
def test_adult() -> None:
    table = read_table(DATA / "adult.csv", DATA / "adult.domain.json")
    assert len(table.domain) == 15
    assert table.total() == 48_842
    workclass, occupation, country, income, ages = table.marginals(
        [("workclass",), ("occupation",), ("native-country",), ("income",), ("age", "hours-per-week")]
    )
    assert (workclass[-1], occupation[-1], country[-1]) == (2799, 2809, 857)
    assert income.tolist() == [48_842 - 11_687, 11_687]
    assert np.count_nonzero(ages) == 3003
    eight = [name for name in table.domain.names if name not in NUMERIC_ADULT]
    (joint,) = table.marginals([tuple(eight)])
    assert (joint.size, np.count_nonzero(joint)) == (38_102_400, 11_382)


NUMERIC_ADULT = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "income",
)


def test_adult_of_the_paper_holds_codes() -> None:
    table = read_table(DATA / "adult8_mwem.csv", DATA / "adult8_mwem.domain.json", count_column="count", coded=True)
    assert table.total() == 30_163


def test_transfusion() -> None:
    table = read_table(DATA / "transfusion.csv", DATA / "transfusion.domain.json")
    donated, pairs, monetary = table.marginals([("Donated",), ("Recency", "Frequency"), ("Monetary",)])
    assert donated.tolist() == [570, 178]
    assert np.count_nonzero(pairs) == 188
    assert np.count_nonzero(monetary) == 33


def test_a_table_is_a_count_source_and_shows_nothing_private() -> None:
    table = read_table(FRAME, DOMAIN)
    assert isinstance(table, CountSource)
    assert repr(table) == "Table(4 attributes: city, age, capital.gain, vip)"
    assert str(table) == repr(table)
    assert repr(Table(DOMAIN.project(["vip"]), [[0]])) == "Table(1 attribute: vip)"


@pytest.mark.parametrize("room", [1 << 28, 300])
def test_long_tables_are_read_in_batches(room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.data.table._MOST_ROOM", room)
    monkeypatch.setattr("hedgerow.data.reading.text_files._BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("hedgerow.data.reading.readers.BATCH_ROWS", 1 << 9)
    rng = np.random.default_rng(0)
    cities, ages = rng.choice(["Bath", "York"], 20_000), rng.integers(0, 100, 20_000)
    frame = pa.table({"city": cities, "age": ages})
    pyarrow.csv.write_csv(frame, tmp_path / "t.csv")
    pq.write_table(frame, tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", frame, frame.to_pandas()):
        table = read_table(source, DOMAIN.project(["city", "age"]))
        assert (table.columns[0] == (cities == "York")).all()
        assert (table.columns[1] == ages).all()
