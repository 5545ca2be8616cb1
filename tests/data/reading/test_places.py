"""Places of tables: which files belong to one, what engines do with them, and what messages keep to themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hedgerow.data import open_place, scan_table
from hedgerow.data.reading.places import shown_address
from hedgerow.domain import Categorical, Domain, IntegerRange
from hedgerow.errors import ColumnError, DataError, OutOfRangeError, QueryError, UnreadableTableError

A = Domain([IntegerRange("a", 0, 5)])
OPTIONS: dict[str, Any] = {"extra_columns": "ignore"}


def counts(source: Any, where: str | None = None, domain: Domain = A) -> list[float]:
    (table,) = scan_table(source, domain, where=where, **OPTIONS).marginals([domain.names])
    return list(table)


def two_kinds(folder: Path, last: float) -> Path:
    """Two files with the same columns, in another order and of other types."""
    pq.write_table(pa.table({"a": pa.array([0, 1], pa.int32()), "r": ["x", "y"]}), folder / "0.parquet")
    pq.write_table(pa.table({"r": ["x", "y"], "a": pa.array([2.0, last])}), folder / "1.parquet")
    return folder


@pytest.mark.parametrize("pattern", ["", "/*.parquet"])
def test_files_may_differ_in_order_and_types_of_columns(tmp_path: Path, pattern: str) -> None:
    source = f"{two_kinds(tmp_path, 3.0)}{pattern}"
    assert counts(source) == [1, 1, 1, 1, 0, 0]
    assert counts(source, "r = 'x'") == [1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("pattern", ["", "/*.parquet"])
@pytest.mark.parametrize("where", [None, "r = 'y'"])
def test_no_number_is_rounded_to_the_type_of_another_file(tmp_path: Path, pattern: str, where: str | None) -> None:
    with pytest.raises(OutOfRangeError, match="fraction"):
        counts(f"{two_kinds(tmp_path, 3.7)}{pattern}", where)


def test_files_of_other_columns_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [0, 1]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"b": [0, 1]}), tmp_path / "1.parquet")
    with pytest.raises(UnreadableTableError, match=r"its columns are not those of .*0\.parquet"):
        counts(tmp_path)


def test_files_of_different_writers_and_behind_links_belong_to_a_folder(tmp_path: Path) -> None:
    import duckdb

    for folder in ("table/year.parquet", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    pq.write_table(pa.table({"a": [0], "l": [["x"]]}), tmp_path / "table" / "year.parquet" / "0.parquet")
    pq.write_table(pa.table({"a": [2], "l": [["x"]]}), tmp_path / "elsewhere" / "2.parquet")
    (tmp_path / "table" / "link").symlink_to(tmp_path / "elsewhere")
    duckdb.sql("SELECT 1 AS a, ['x'] AS l").write_parquet(str(tmp_path / "table" / "1.parquet"))
    assert counts(tmp_path / "table") == [1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize("aside", ["_temporary/0", ".hidden", "a=1/_temporary"])
def test_what_a_failed_job_left_in_a_folder_is_not_counted(tmp_path: Path, aside: str) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / aside).mkdir(parents=True)
    for folder in ("kept", aside):
        pq.write_table(pa.table({"a": [0, 1]}), tmp_path / folder / "part.parquet")
    assert counts(tmp_path) == [1, 1, 0, 0, 0, 0]


def test_keys_of_folders_are_texts_whatever_they_hold(tmp_path: Path) -> None:
    domain = Domain([Categorical("s", ("x y", "z/1", "é"), missing="?")])
    table = pa.table({"s": ["x y", "z/1", None, "é", "z/1"], "a": [0, 1, 2, 3, 4]})
    pq.write_to_dataset(table, tmp_path / "[it's] *", partition_cols=["s"])
    assert counts(tmp_path / "[it's] *", domain=domain) == [1, 2, 1, 1]


def test_a_file_that_a_pattern_finds_twice_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    pq.write_table(pa.table({"a": [0, 1]}), tmp_path / "b" / "c" / "part.parquet")
    assert counts(f"{tmp_path}/**/**/*.parquet") == [1, 1, 0, 0, 0, 0]


def test_dictionaries_may_change_from_batch_to_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.data.reading import readers

    domain = Domain([Categorical("s", ("x", "y", "z"))])
    columns = [pa.array(values).dictionary_encode() for values in (["x", "y"], ["y", "z"], ["z", "x", "z"])]
    pq.write_table(pa.table({"s": pa.chunked_array(columns)}), tmp_path / "t.parquet", row_group_size=2)
    monkeypatch.setattr(readers, "BATCH_ROWS", 2)
    for where, expected in ((None, [2, 2, 3]), ("s in ('x', 'z')", [2, 0, 3])):
        assert counts(tmp_path / "t.parquet", where, domain) == expected


def test_names_that_differ_in_case_only_are_not_filtered(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [0, 1], "A": [5, 5]}), tmp_path / "t.parquet")
    assert counts(tmp_path / "t.parquet") == [1, 1, 0, 0, 0, 0]
    with pytest.raises(ColumnError, match="cannot tell it"):
        counts(tmp_path / "t.parquet", "a = 1")


@pytest.mark.many(quick=8)
@pytest.mark.parametrize("name", ['say "it"', "it's", "a.b", "100%", "{x}", "`x`", "a b;--"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "folder", "duckdb"])
def test_columns_may_have_any_name(tmp_path: Path, name: str, kind: str) -> None:
    import duckdb

    table = pa.table({name: [0, 1, 1], "r": ["x", "y", "x"]})
    domain = Domain([IntegerRange(name, 0, 5)])
    source: Any = tmp_path / f"t.{kind}"
    if kind == "csv":
        pa.csv.write_csv(table, source)
    elif kind == "duckdb":
        with duckdb.connect(str(tmp_path / "t.db")) as connection:
            connection.register("rows_given", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM rows_given")
        source = f"duckdb://{tmp_path}/t.db#t"
    else:
        pq.write_table(table, tmp_path / "t.parquet")
        source = tmp_path if kind == "folder" else source
    quoted = '"' + name.replace('"', '""') + '"'
    assert counts(source, None, domain) == [1, 2, 0, 0, 0, 0]
    assert counts(source, f"{quoted} >= 1 and r = 'x'", domain) == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "macro", ["lower(x) AS (SELECT min(r) FROM t)", '"+"(x, y) AS (SELECT count(*) FROM t)', "ABS(x) AS 1"]
)
def test_a_database_whose_macros_replace_operators_is_not_filtered(tmp_path: Path, macro: str) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 'x' AS r")
        connection.execute("CREATE MACRO mine(x) AS x + 1")
    source = f"duckdb://{tmp_path}/t.db#t"
    assert counts(source, "a + 1 = 2") == [0, 1, 0, 0, 0, 0]
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.execute(f"CREATE MACRO {macro}")
    with pytest.raises(QueryError, match="macro"):
        counts(source, "a + 1 = 2")
    assert counts(source) == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("kind", ["t.parquet", "t.csv", "", "t.db"])
def test_nothing_of_what_duckdb_says_stays_with_an_error(tmp_path: Path, kind: str) -> None:
    import duckdb

    table = pa.table({"a": [0] * 300_000, "r": ["1"] * 299_999 + ["a secret"]})
    if kind == "t.csv":
        pa.csv.write_csv(table, tmp_path / kind)
    elif kind == "t.db":
        with duckdb.connect(str(tmp_path / "t.db")) as connection:
            connection.register("rows_given", table)
            connection.execute("CREATE TABLE t AS SELECT * FROM rows_given")
    else:
        pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DataError) as found:
        counts(f"duckdb://{tmp_path}/t.db#t" if kind == "t.db" else tmp_path / kind, "cast(r as int) = 1")
    assert "secret" not in str(found.value)
    assert (found.value.__cause__, found.value.__context__) == (None, None)


def test_nothing_of_a_text_that_is_no_text_stays_with_an_error(tmp_path: Path) -> None:
    offsets = pa.array([0, 2, 3], pa.int32()).buffers()[1]
    column = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfex")])
    pq.write_table(pa.table({"s": column, "a": [0, 1]}), tmp_path / "t.parquet")
    for domain in (Domain([Categorical("s", ("x", "y"))]), Domain([IntegerRange("s", 0, 10_000)])):
        with pytest.raises(UnreadableTableError, match="not UTF-8") as found:
            counts(tmp_path / "t.parquet", domain=domain)
        assert (found.value.__cause__, found.value.__context__) == (None, None)


def test_a_broken_file_is_told_as_such_under_a_filter(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,r\n1,x\n2\n")
    with pytest.raises(UnreadableTableError, match="another number of fields"):
        counts(tmp_path / "t.csv", "r = 'x'")


@pytest.mark.parametrize(
    "password", ["secret", "se@cret", "se#cret", "se/cret", "se?cret", "se[cret", "se:cret", "#", "?/#"]
)
@pytest.mark.parametrize(
    "address",
    [
        *("postgresql://me:{}@host/db#t", "postgresql:me:{}@host/db#t", "POSTGRES://me:{}@h1,h2:3/db?a=b#t"),
        *(
            "postgresql://me@host/db?password={}#t",
            "postgresql://host/db?sslpassword={}&user=me#t",
            "mysql://me:{}@h/d#t",
        ),
    ],
)
def test_no_message_shows_a_password(address: str, password: str) -> None:
    secret = f"x{password}x"
    shown = shown_address(address.format(secret))
    assert not any(part in shown for part in (secret, "cret", "xse", "x#", "x?"))
    assert shown.lower().startswith(("postgres", "mysql"))


def test_an_address_without_a_password_is_shown() -> None:
    for text in ("postgresql://me@host:5432/db#schema.people", "postgresql://host/db#people"):
        assert shown_address(text) == text
    with pytest.raises(UnreadableTableError) as found:
        open_place("postgresql://me:secret@host/db")
    assert "secret" not in str(found.value)
