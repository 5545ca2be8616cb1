"""Every bad table gets one error of its own type that says where, how often and what to do, and hides the values."""

from __future__ import annotations

import gzip
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.data import Table, open_table, read_table
from hedgerow.data.counting import marginals as counting
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange, domain_from_mapping
from hedgerow.errors import (
    ColumnError,
    ConfigError,
    CountColumnError,
    DataError,
    DomainError,
    MarginalTooLargeError,
    MissingValueError,
    OutOfRangeError,
    UndeclaredColumnError,
    UnknownValueError,
    UnreadableTableError,
)

DOMAIN = Domain(
    [
        Categorical("city", ("Bath", "York")),
        IntegerRange("age", 0, 99),
        Binned("pay", (0, 10, 20.5)),
        Binned("size", (0, 50, 100), whole=True),
    ]
)
GOOD = "Bath,20,1.5,3"
SECRET = "Zennor"
COUNTED = Domain([Categorical("city", ("Bath", "York"))])


def written(folder: Path, *rows: str, header: str = "city,age,pay,size", name: str = "people.csv") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return path


def refused(kind: type[DataError], path: object, domain: Domain = DOMAIN, **options: Any) -> DataError:
    """The error, after the checks that hold for every one of them."""
    with pytest.raises(DataError) as caught:
        read_table(path, domain, **options)  # type: ignore[arg-type]
    error = caught.value
    assert type(error) is kind
    assert error.remedy
    assert "Remedy: " in str(error)
    assert error.file
    assert error.file in str(error)
    if isinstance(path, Path):
        assert error.file == str(path)
    if error.column is not None:
        assert repr(error.column) in str(error)
    for row in error.rows:
        assert str(row) in str(error)
    assert SECRET not in "".join(traceback.format_exception(error))
    return error


@pytest.mark.parametrize(
    ("bad", "kind", "column", "words", "remedy"),
    [
        (f"{SECRET},20,1.5,3", UnknownValueError, "city", "does not list", "other: true"),
        ("bath,20,1.5,3", UnknownValueError, "city", "does not list", "list it"),
        (",20,1.5,3", MissingValueError, "city", "empty cell", "missing: true"),
        ("Bath,,1.5,3", MissingValueError, "age", "empty cell", "missing: true"),
        ("Bath,20,,3", MissingValueError, "pay", "empty cell", "missing: true"),
        ("Bath,100,1.5,3", OutOfRangeError, "age", "outside the declared range 0 to 99", "widen"),
        ("Bath,-1,1.5,3", OutOfRangeError, "age", "outside the declared range 0 to 99", "widen"),
        ("Bath,99999999999999999999999,1.5,3", OutOfRangeError, "age", "outside", "widen"),
        ("Bath,20.5,1.5,3", OutOfRangeError, "age", "fraction", "round"),
        (f"Bath,{SECRET},1.5,3", UnknownValueError, "age", "a text", "other: true"),
        ("Bath,nan,1.5,3", UnknownValueError, "age", "a text", "other: true"),
        ("Bath,1_0,1.5,3", UnknownValueError, "age", "a text", "other: true"),
        ("Bath,20,20.6,3", OutOfRangeError, "pay", "declared range 0 to 20.5", "widen"),
        ("Bath,20,-0.1,3", OutOfRangeError, "pay", "declared range 0 to 20.5", "widen"),
        ("Bath,20,1e400,3", OutOfRangeError, "pay", "outside", "widen"),
        (f"Bath,20,{SECRET},3", UnknownValueError, "pay", "a text", "other: true"),
        ("Bath,20,1.5,3.5", OutOfRangeError, "size", "fraction", "edges"),
    ],
    ids=lambda value: "",
)
def test_a_bad_cell(tmp_path: Path, bad: str, kind: type[DataError], column: str, words: str, remedy: str) -> None:
    rows = [GOOD] * 20
    for row in (3, 5, 6, 8, 13, 18, 20):
        rows[row - 1] = bad
    error = refused(kind, written(tmp_path, *rows))
    assert error.column == column
    assert error.rows == (3, 5, 6, 8, 13)
    assert error.n_rows == 7
    assert "7 rows (first: 3, 5, 6, 8, 13)" in str(error)
    assert words in error.message
    assert remedy in error.remedy


def test_values_are_shown_only_when_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD, f"{SECRET},20,1,3")
    refused(UnknownValueError, path)
    with pytest.raises(UnknownValueError, match=SECRET):
        read_table(path, DOMAIN, show_values=True)


def test_blanks_are_kept_and_pointed_out(tmp_path: Path) -> None:
    error = refused(UnknownValueError, written(tmp_path, " Bath,20,1,3", f"{SECRET},20,1,3"))
    assert error.rows == (1, 2)
    assert "blanks" in error.remedy
    assert "1 rows fit" in error.remedy
    assert "blanks" not in refused(UnknownValueError, written(tmp_path, f"{SECRET},20,1,3")).remedy


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([2**62, None], pa.timestamp("us")),
        pa.array([-(2**40), None], pa.timestamp("s")),
        pa.array([2**40, None], pa.timestamp("s", "UTC")),
        pa.array([2**30, None], pa.date32()),
        pa.array([2**60, None], pa.date64()),
        pa.array([253_402_300_799, None], pa.timestamp("s", "UTC")),  # 9999 in one zone, later in another
        pa.array(["9999-12-31T23:59:59Z", None]),
        pa.array([2**62, None], pa.timestamp("us")).dictionary_encode(),
    ],
)
def test_dates_beyond_the_calendar_show_nothing(cells: pa.Array[Any]) -> None:
    zone = "Europe/Berlin"
    entry = {"min": "2015-01-01T00:00", "max": "2015-12-31T00:00", "step": "1d", "zone": zone, "missing": True}
    table = pa.table({"seen": cells})
    for show in (False, True):
        with pytest.raises((OutOfRangeError, UnknownValueError)) as caught:
            read_table(table, domain_from_mapping({"seen": entry}), show_values=show)
        told = "".join(traceback.format_exception(caught.value))
        assert "OverflowError" not in told
        assert "first: 1" in told
    other = domain_from_mapping({"seen": entry | {"other": True}})
    assert read_table(table, other).columns[0].tolist() == [other["seen"].other_code, other["seen"].missing_code]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_bad_cells_in_every_kind_of_text(kind: pa.DataType) -> None:
    domain, lenient = (Domain([Categorical("city", ("Bath", "York"), missing=text)]) for text in (None, "?"))
    column = pa.array(["Bath", None, "York ", SECRET], kind)
    frame = pl.DataFrame({"city": ["Bath", None, "York ", SECRET]})
    for source in (pa.table({"city": column}), pa.table({"city": column.dictionary_encode()}), frame):
        with pytest.raises(MissingValueError, match="first: 2"):
            read_table(source, domain)
        with pytest.raises(UnknownValueError, match=r"(?s)first: 3, 4.*1 rows fit without them") as caught:
            read_table(source, lenient)
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_columns_of_other_faults_are_named(tmp_path: Path) -> None:
    error = refused(OutOfRangeError, written(tmp_path, "Bath,120,99,3"))
    assert error.column == "age"
    assert "'pay'" in error.remedy


def test_rows_are_counted_over_batches(tmp_path: Path) -> None:
    values = ["Bath"] * 300_000
    for row in (150_001, 290_000):
        values[row - 1] = SECRET
    frame = pa.table({"city": values})
    path = tmp_path / "long.parquet"
    pq.write_table(frame, path)
    for source in (path, frame, frame.to_pandas(), written(tmp_path, *values, header="city")):
        error = refused(UnknownValueError, source, COUNTED)
        assert error.rows == (150_001, 290_000)
        assert error.n_rows == 2


def test_a_missing_column(tmp_path: Path) -> None:
    error = refused(ColumnError, written(tmp_path, "Bath,20,1", header="city,ages,pay"))
    assert error.column == "age"
    assert "did you mean 'ages'" in error.remedy
    assert "there are: city" in refused(ColumnError, written(tmp_path, "Bath", header="city")).remedy


def test_another_separator(tmp_path: Path) -> None:
    for mark, name in ((";", "a semicolon"), ("\t", "a tab"), ("|", "a bar")):
        path = written(tmp_path, "Bath,20,1,3".replace(",", mark), header="city,age,pay,size".replace(",", mark))
        error = refused(UnreadableTableError, path)
        assert name in error.message
        assert "declare it in the domain file: 'format: {separator: " in error.remedy


def test_tabs_are_what_separates_tsv(tmp_path: Path) -> None:
    good = written(tmp_path, GOOD)
    tabs = tmp_path / "people.tsv"
    tabs.write_text(good.read_text().replace(",", "\t"))
    assert [*map(list, read_table(tabs, DOMAIN).columns)] == [*map(list, read_table(good, DOMAIN).columns)]
    assert "holds a comma" in refused(UnreadableTableError, good.rename(tmp_path / "commas.tsv")).message
    bad = tmp_path / "bad.tsv"
    bad.write_text(tabs.read_text() + "Bath\t20\n")
    assert refused(UnreadableTableError, bad).rows == (2,)


def test_a_name_in_quotes_may_hold_any_mark(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text('"a;b, c"\n1\n')
    assert open_table(path).names == ("a;b, c",)


def test_an_extra_column(tmp_path: Path) -> None:
    path = written(tmp_path, f"{GOOD},1,2", header="city,age,pay,size,shoe,hat")
    error = refused(UndeclaredColumnError, path)
    assert error.column == "shoe"
    assert "'hat'" in error.message
    assert "extra_columns='ignore'" in error.remedy
    assert read_table(path, DOMAIN, extra_columns="ignore").total() == 1
    assert read_table(path, DOMAIN, columns=["age"]).domain.names == ("age",)


def test_wrong_arguments(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(ConfigError, match="'error' or 'ignore'"):
        read_table(path, DOMAIN, extra_columns="ignored")  # type: ignore[arg-type]
    with pytest.raises(DomainError, match="path of a domain file"):
        read_table(path, None)  # type: ignore[arg-type]


def test_an_undeclared_column_of_counts_is_suspected(tmp_path: Path) -> None:
    path = written(tmp_path, "Bath,3", header="city,count")
    assert "count_column='count'" in refused(UndeclaredColumnError, path, COUNTED).remedy


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    path = written(tmp_path, f"{GOOD},4", header="city,age,pay,size,age")
    assert refused(ColumnError, path).column == "age"
    frame = pd.DataFrame([["Bath", "York"]], columns=["city", "city"])
    assert refused(ColumnError, frame, COUNTED).column == "city"
    assert read_table(path, DOMAIN, columns=["city"]).total() == 1
    both = pa.Table.from_arrays([pa.array(["Bath"])] * 2, names=["city", "city"])
    pq.write_table(both, tmp_path / "twice.parquet")
    for source in (both, tmp_path / "twice.parquet"):
        assert refused(ColumnError, source, COUNTED).column == "city"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        ("1.5", "not a whole number"),
        ("-2", "negative"),
        ("", "empty"),
        (SECRET, "not a number"),
        ("99999999999999999999", "beyond"),
    ],
    ids=lambda value: "",
)
def test_a_bad_count(tmp_path: Path, count: str, words: str) -> None:
    path = written(tmp_path, "Bath,1", f"York,{count}", "Bath,2", f"York,{count}", header="city,count")
    error = refused(CountColumnError, path, COUNTED, count_column="count")
    assert (error.column, error.rows, error.n_rows) == ("count", (2, 4), 2)
    assert words in error.message


@pytest.mark.parametrize(("counts", "words"), [(("0", "0"), "sum to 0"), ((str(2**53), "1"), "beyond")])
def test_a_bad_sum_of_counts(tmp_path: Path, counts: tuple[str, str], words: str) -> None:
    path = written(tmp_path, *(f"Bath,{count}" for count in counts), header="city,count")
    assert words in refused(CountColumnError, path, COUNTED, count_column="count").message


def test_counts_that_would_overflow_64_bits(tmp_path: Path) -> None:
    path = written(tmp_path, *[f"Bath,{2**53}"] * 2049, header="city,count")
    assert "beyond" in refused(CountColumnError, path, COUNTED, count_column="count").message


def test_a_column_of_counts_that_is_not_there_or_an_attribute(tmp_path: Path) -> None:
    path = written(tmp_path, "Bath", header="city")
    assert refused(ColumnError, path, COUNTED, count_column="count").column == "count"
    assert refused(ColumnError, path, COUNTED, count_column="city").column == "city"


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"")
    assert "empty" in refused(UnreadableTableError, path).message


@pytest.mark.parametrize("text", ["city", "city\n", "city\r\n", "\n", "\n\n"])
def test_a_file_without_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text, newline="")
    refused(UnreadableTableError, path, COUNTED)


def test_tables_without_rows(tmp_path: Path) -> None:
    empty = pa.table({"city": pa.array([], pa.string())})
    pq.write_table(empty, tmp_path / "t.parquet")
    for source in (empty, empty.to_pandas(), pl.DataFrame(empty), tmp_path / "t.parquet"):
        assert "no rows" in refused(UnreadableTableError, source, COUNTED).message


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"city": ["Bath", "York"] * 1000}), path)
    whole = path.read_bytes()
    for length in (3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert "truncated" in refused(UnreadableTableError, path, COUNTED).message


def test_a_parquet_file_that_is_damaged_inside(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"city": ["Bath", "York"] * 1000}), path, compression="zstd")
    whole = bytearray(path.read_bytes())
    whole[4:40] = bytes(36)
    path.write_bytes(whole)
    refused(UnreadableTableError, path, COUNTED)


def test_a_text_file_called_parquet(tmp_path: Path) -> None:
    assert ".csv" in refused(UnreadableTableError, written(tmp_path, GOOD, name="people.parquet")).remedy


def test_a_path_that_is_not_there_or_of_an_unknown_kind(tmp_path: Path) -> None:
    assert "No such file" in refused(UnreadableTableError, tmp_path / "people.csv").message
    assert "people.parquet" in refused(UnreadableTableError, tmp_path / "people.parquet").file
    assert ".xlsx" in refused(UnreadableTableError, tmp_path / "people.xlsx").message
    (tmp_path / "folder.csv").mkdir()
    refused(UnreadableTableError, tmp_path / "folder.csv")


def test_objects_that_are_no_tables() -> None:
    with pytest.raises(UnreadableTableError, match="dict is not a table"):
        read_table({"city": ["Bath"]}, COUNTED)  # type: ignore[arg-type]
    with pytest.raises(UnreadableTableError, match="collect"):
        read_table(pl.LazyFrame({"city": ["Bath"]}), COUNTED)  # type: ignore[arg-type]
    column = ["Bath"]
    for source in (pd.Series(column), pl.Series(column), pa.chunked_array([column])):
        with pytest.raises(UnreadableTableError, match="single column"):
            read_table(source, COUNTED)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [f"{SECRET},20,1.5", f"{SECRET},20,1,1,4", SECRET], ids=["short", "long", "one"])
def test_a_row_of_another_length(tmp_path: Path, row: str) -> None:
    rows = [GOOD] * 9
    rows[2] = rows[6] = row
    error = refused(UnreadableTableError, written(tmp_path, *rows))
    assert (error.rows, error.n_rows) == ((3, 7), 2)
    assert "4 columns" in error.message
    assert "double quotes" in error.remedy


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"age,city\n1,Bath\n2,York\n3,Z\xfcrich\n4,Bath\n")
    error = refused(UnreadableTableError, path, DOMAIN.project(["age", "city"]))
    assert (error.column, error.rows) == ("city", (3,))
    assert "UTF-8" in error.message


def test_text_that_is_not_utf8_in_a_header(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"st\xe4dt,city\n1,Bath\n")
    assert "UTF-8" in refused(UnreadableTableError, path, COUNTED).message


def test_a_compressed_file_that_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "people.csv.gz"
    whole = gzip.compress("\n".join(["city", *np.random.default_rng(0).choice(["Bath", "York"], 9999)]).encode())
    path.write_bytes(whole)
    assert read_table(path, COUNTED).total() == 9999
    path.write_bytes(whole[: len(whole) // 2])
    refused(UnreadableTableError, path, COUNTED)


def test_columns_that_hold_neither_texts_nor_numbers() -> None:
    for values in (pa.array([["Bath"]]), pa.array([b"Bath"]), pa.array([{"a": 1}])):
        error = refused(ColumnError, pa.table({"city": values}), COUNTED)
        assert error.column == "city"
        assert str(values.type) not in str(error), "a type that one cell can change"


def test_a_pandas_column_of_mixed_types() -> None:
    """A cell of another kind is a value that the domain does not list, and changes no other."""
    for values, wrong in ((["Bath", 1, 2], 2), ([SECRET, "Bath", 2.5], 2), (["Bath", 2**70], 1)):
        frame = pd.DataFrame({"city": pd.Series(values, dtype=object)})
        assert refused(UnknownValueError, frame, COUNTED).n_rows == wrong
    for cell in (["Bath"], {"Bath"}, 1j):
        error = refused(ColumnError, pd.DataFrame({"city": pd.Series(["Bath", cell], dtype=object)}), COUNTED)
        assert error.column == "city"
        assert "astype" in error.remedy


def test_a_wrong_domain_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    path.write_text("city: [Bath]")
    with pytest.raises(DomainError, match=r"d\.yaml.*'city' has 1 value"):
        read_table(written(tmp_path, GOOD), path)


def test_wanted_columns_that_are_not_in_the_domain(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="there is no attribute 'shoe'"):
        read_table(written(tmp_path, GOOD), DOMAIN, columns=["shoe"])


def test_a_marginal_beyond_memory() -> None:
    domain = Domain(IntegerRange(name, 0, 10**6 - 1) for name in "abc")
    table = Table(domain, [[0], [0], [0]])
    with pytest.raises(MarginalTooLargeError) as caught:
        table.marginals([("a", "b", "c")])
    assert caught.value.cells == 10**18
    assert caught.value.attributes == ("a", "b", "c")
    assert "a * b * c" in str(caught.value)
    assert caught.value.remedy


def test_marginals_that_are_together_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "available_bytes", lambda: 2**30)
    domain = Domain(IntegerRange(name, 0, 999) for name in "abc")
    table = Table(domain, [[0], [0], [0]])
    with pytest.raises(MarginalTooLargeError, match="counting 300 of at most that size") as caught:
        table.marginals([("a", "b"), ("a", "c"), ("b", "c")] * 100)
    assert (caught.value.cells, caught.value.n_marginals) == (10**6, 300)


@pytest.mark.parametrize(
    ("columns", "weights"),
    [
        ([[0, 2]], None),
        ([[0, -1]], None),
        ([[0.0, 1.0]], None),
        ([[[0], [1]]], None),
        ([[0], [1]], None),
        ([[0, 1]], [1]),
        ([[0, 1]], [1, -1]),
        ([[0, 1]], [1, 0.5]),
        ([[0, 1]], [2**53, 1]),
    ],
)
def test_codes_that_make_no_table(columns: Any, weights: Any) -> None:
    with pytest.raises(ConfigError):
        Table(COUNTED, columns, weights)
