"""One contract for all sources: the counts and the errors of the table in memory, wherever the table is."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import MWEM, PureDP, SeededNoise, Workload
from hedgerow.data import CountSource, ReadOptions, ScannedTable, Table, read_labels, read_table, scan_table
from hedgerow.data.scanning import chunks, scan
from hedgerow.domain import Domain, IntegerRange, encoder
from hedgerow.errors import (
    ColumnError,
    CountColumnError,
    DataError,
    OutOfRangeError,
    PersonColumnError,
    QueryError,
)
from hedgerow.queries import Conjunction, Persons
from tests.data.sources import (
    BAD,
    BAD_FORMS,
    BAD_ON_SCALES,
    DOMAIN,
    FORMS,
    OPEN,
    PLACES,
    POSTGRESQL,
    SCALES,
    SPANS,
    SPELLED,
    SPELLINGS,
    Place,
    forms_of,
    labelled_of,
    postgresql,
    scales_of,
    spans_of,
    spelled_of,
    spoiled,
    table_of,
    visits_of,
)


def scanned(place: Place, table: pa.Table, folder: Path, **options: Any) -> ScannedTable:
    source, more = place(table, folder)
    return scan_table(source, DOMAIN, **{"extra_columns": "ignore", **more, **options})


def reference(table: pa.Table, **options: Any) -> Table:
    return read_table(table, DOMAIN, extra_columns="ignore", **options)


WORKLOADS = ("marginals:2", "marginals:3", "cells:2", "parities:2", "prefixes:age", "ranges:age,income:30:1")


@pytest.mark.many(quick=4)
@pytest.mark.parametrize("count_column", [None, "count"])
def test_counts_are_those_of_the_table_in_memory(place: Place, tmp_path: Path, count_column: str | None) -> None:
    table = table_of(1000, seed=0)
    source = scanned(place, table, tmp_path, count_column=count_column)
    expected = reference(table, count_column=count_column)
    assert isinstance(source, CountSource)
    assert source.total() == expected.total()
    for names in (("sex",), (), ("sex", "income"), DOMAIN.names):
        (found,), (wanted,) = source.marginals([names]), expected.marginals([names])
        assert found.tolist() == wanted.tolist()
    conditions = [
        Conjunction.where(DOMAIN, {"age": range(5, 30), "sex": [0, 2]}),
        Conjunction.where(DOMAIN, {"age": [43]}),
    ]
    assert source.conjunctions(conditions).tolist() == expected.conjunctions(conditions).tolist()
    pairs = [("answer",), ("answer", "left handed")]
    assert source.parities(pairs).tolist() == expected.parities(pairs).tolist()


@pytest.mark.many(quick=2)
def test_dates_times_and_decimals_have_the_same_codes_everywhere(place: Place, tmp_path: Path) -> None:
    table = scales_of(1000, seed=0)
    source, more = place(table, tmp_path)
    found = scan_table(source, SCALES, **{"extra_columns": "ignore", **more})
    expected = read_table(table, SCALES, extra_columns="ignore")
    days = (table.column("admitted").to_numpy() - np.datetime64("2023-01-01")).astype("timedelta64[D]")
    known = days[~np.isnat(days)].astype(np.int64)
    assert expected.marginals([("admitted",)])[0].tolist()[:-1] == np.bincount(known, minlength=731).tolist()
    together = [
        *(("seen",), ("temp", "born"), ("admitted.month", "temp"), ("due", "due.part"), ("wait", "off")),
        *(("ride", "bus"), ("stamp",), ("paid", "clock"), ("day", "score"), ("gain",), ("fee", "share")),
    ]
    for cliques in ([("admitted",)], together):  # one pass over the table for each
        for counts, wanted in zip(found.marginals(cliques), expected.marginals(cliques), strict=True):
            assert counts.tolist() == wanted.tolist()


@pytest.mark.many(quick=4)
def test_cells_that_are_written_in_their_own_form_are_what_they_mean_everywhere(place: Place, tmp_path: Path) -> None:
    table, meant = forms_of(500, seed=0)
    source, more = place(table, tmp_path)
    found = scan_table(source, FORMS, **{"extra_columns": "ignore", **more})
    for (name, values), counts in zip(meant.items(), found.marginals([(name,) for name in meant]), strict=True):
        codes = encoder(FORMS[name]).codes(pa.array(values))
        assert codes.min() >= 0
        assert counts.tolist() == np.bincount(codes, minlength=FORMS[name].size).tolist()


@pytest.mark.many(quick=9)
@pytest.mark.parametrize("kind", BAD_FORMS)
def test_a_cell_in_another_form_is_refused_everywhere(place: Place, tmp_path: Path, kind: str) -> None:
    column, value, error = BAD_FORMS[kind]
    source, more = place(spoiled(column, value, (7, 200, 399), forms_of(400, seed=3)[0]), tmp_path)
    with pytest.raises(error) as found:
        scan_table(source, FORMS, **{"extra_columns": "ignore", **more}).total()
    assert (found.value.column, found.value.n_rows) == (column, 3)
    assert str(value) not in str(found.value)
    assert found.value.remedy


def test_durations_between_columns_are_the_same_everywhere(place: Place, tmp_path: Path) -> None:
    table = spans_of(500, seed=0)
    source, more = place(table, tmp_path)
    found = scan_table(source, SPANS, **{"extra_columns": "ignore", **more})
    cells = [None if each is None else each // timedelta(minutes=30) for each in table.column("wait").to_pylist()]
    expected = [sum(cell == n for cell in cells) for n in (*range(81), None)]
    assert found.marginals([("stay",)])[0].tolist() == expected
    pair = ("seen", "stay")
    assert (
        found.marginals([pair])[0].tolist()
        == read_table(table, SPANS, extra_columns="ignore").marginals([pair])[0].tolist()
    )
    late = spoiled("left", datetime(2023, 12, 31, 8), (7, 200), table)
    (tmp_path / "late").mkdir()
    source, more = place(late, tmp_path / "late")
    with pytest.raises(OutOfRangeError, match="2 rows"):
        scan_table(source, SPANS, **{"extra_columns": "ignore", **more}).total()


def test_labels_are_normalised_alike_everywhere(place: Place, tmp_path: Path) -> None:
    table = spelled_of(1000, seed=0)
    source, more = place(table, tmp_path)
    found = scan_table(source, SPELLED, **{"extra_columns": "ignore", **more})
    for name, spellings in SPELLINGS.items():
        cells = table.column(name).to_pylist()
        expected = [sum(cell in listed for cell in cells) for listed in spellings.values()]
        assert found.marginals([(name,)])[0].tolist() == expected


def test_labels_are_found_and_counted_alike_everywhere(place: Place, tmp_path: Path) -> None:
    """Without a list of them, in their normal form; and with the records of a person that count."""
    table, expected = labelled_of(900, seed=5)
    source, more = place(table, tmp_path)
    how = {"extra_columns": "ignore", **more}
    found = read_labels(source, OPEN, ReadOptions(**how))
    assert repr(found) == "Labels(of job, ward)"
    for name, counts in expected.items():
        labels, there = found.counts(name)
        assert dict(zip(labels, there.tolist(), strict=True)) == counts
    bounded = read_labels(source, OPEN, ReadOptions(person="patient", at_most=1, **how))
    same = read_labels(table, OPEN, ReadOptions(extra_columns="ignore", person="patient", at_most=1))
    assert bounded.persons == Persons("patient", 1)
    for name in OPEN.values:
        assert bounded.counts(name)[1].tolist() == same.counts(name)[1].tolist()
        assert bounded.counts(name)[1].sum() < found.counts(name)[1].sum()
    filtered = read_labels(source, OPEN, ReadOptions(where="ward = 2", **how))
    assert filtered.filtered
    assert filtered.counts("ward")[0] == ["2"]


def test_a_column_of_labels_that_is_not_there_is_refused_everywhere(place: Place, tmp_path: Path) -> None:
    source, more = place(pa.table({"job": ["a"], "sex": ["F"], "answer": ["yes"], "region": ["north"]}), tmp_path)
    with pytest.raises(ColumnError, match="is not there"):
        read_labels(source, OPEN, ReadOptions(**{"extra_columns": "ignore", **more}))


@pytest.mark.many(quick=14)
@pytest.mark.parametrize("kind", BAD_ON_SCALES)
def test_faults_of_dates_times_and_decimals_are_told_everywhere(place: Place, tmp_path: Path, kind: str) -> None:
    column, value, error = BAD_ON_SCALES[kind]
    table = spoiled(column, value, (7, 200, 399), scales_of(400, seed=3))
    with pytest.raises(error) as expected:
        read_table(table, SCALES, extra_columns="ignore")
    source, more = place(table, tmp_path)
    with pytest.raises(error) as found:
        scan_table(source, SCALES, **{"extra_columns": "ignore", **more}).total()
    assert found.value.column == expected.value.column == column
    assert found.value.n_rows == expected.value.n_rows == 3
    assert (
        str(found.value)
        .partition("3 rows")[2]
        .partition(":")[2]
        .endswith(str(expected.value).partition("3 rows")[2].partition("): ")[2])
    )


@pytest.mark.parametrize("text", WORKLOADS)
def test_workloads_are_answered_alike(tmp_path: Path, text: str) -> None:
    domain = DOMAIN.project(["answer", "left handed"]) if "parities" in text else DOMAIN
    table = table_of(300, seed=1)
    source, _ = PLACES["Parquet files"](table, tmp_path)
    workload = Workload.parse(text, domain)
    found = scan_table(source, domain, extra_columns="ignore")
    found.prepare(workload)
    expected = read_table(table, domain, extra_columns="ignore")
    assert workload.answers(found).tolist() == workload.answers(expected).tolist()


def test_a_single_row_and_no_row(place: Place, tmp_path: Path) -> None:
    one = table_of(1, seed=2)
    assert scanned(place, one, tmp_path).total() == 1


@pytest.mark.many(quick=1)
def test_a_filtered_source_says_so_and_may_be_empty(place: Place, tmp_path: Path) -> None:
    table = table_of(50, seed=5)
    source, more = place(table, tmp_path)
    options = {"extra_columns": "ignore", **more}
    assert not scan_table(source, DOMAIN, **options).filtered
    for where, n in (("region = 'north'", table.column("region").to_pylist().count("north")), ("region = 'east'", 0)):
        found = scan_table(source, DOMAIN, where=where, **options)
        assert (found.filtered, found.total()) == (True, n)
        assert found.marginals([("sex",)])[0].sum() == n
        weighted = scan_table(source, DOMAIN, where=where, count_column="count", **options)
        assert weighted.total() == weighted.marginals([("sex",)])[0].sum() >= 0


@pytest.mark.parametrize("name", [name for name in PLACES if name != "a partitioned folder"])
def test_an_empty_table_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rows"):
        scanned(PLACES[name], table_of(3, seed=0).slice(0, 0), tmp_path).total()


@pytest.mark.many(quick=20)
@pytest.mark.parametrize(
    "name",
    [
        *(name for name in PLACES if name != "a partitioned folder"),
        pytest.param(POSTGRESQL, marks=pytest.mark.postgresql),
    ],
)
@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("show_values", [False, True])
def test_errors_are_those_of_the_table_in_memory(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, name: str, show_values: bool
) -> None:
    place = postgresql(request.getfixturevalue("postgresql_address")) if name == POSTGRESQL else PLACES[name]
    column, value, error = BAD[kind]
    table = spoiled(column, value, (7, 200, 399))
    with pytest.raises(error) as expected:
        reference(table, count_column="count", show_values=show_values)
    with pytest.raises(error) as found:
        scanned(place, table, tmp_path, count_column="count", show_values=show_values).total()
    assert found.value.column == expected.value.column == column
    assert (found.value.n_rows, found.value.rows) == (expected.value.n_rows, expected.value.rows) == (3, (8, 201, 400))
    after = str(found.value).partition("rows (")[2]
    assert after == str(expected.value).partition("rows (")[2]
    assert ("perhaps" in after) == (show_values and value == "perhaps")


def test_columns_are_checked_before_anything_is_read(place: Place, tmp_path: Path) -> None:
    table = table_of(10, seed=4)
    source, _ = place(table, tmp_path)
    with pytest.raises(ColumnError, match="does not declare"):
        scan_table(source, DOMAIN)
    with pytest.raises(ColumnError, match="no such column"):
        scan_table(source, DOMAIN, count_column="weight", extra_columns="ignore")


@pytest.mark.many(quick=5)
@pytest.mark.parametrize("where", ["region = 'north'", "age >= 30 and region in ('south')", "not sex = 'F'"])
def test_a_filter_leaves_rows_out(place: Place, tmp_path: Path, where: str) -> None:
    table = table_of(500, seed=5)
    source = scanned(place, table, tmp_path, where=where)
    rows = table.to_pylist()
    kept = {
        "region = 'north'": lambda row: row["region"] == "north",
        "age >= 30 and region in ('south')": lambda row: row["age"] >= 30 and row["region"] == "south",
        "not sex = 'F'": lambda row: row["sex"] == "M",  # nothing is known of an empty cell
    }[where]
    expected = reference(pa.Table.from_pylist([row for row in rows if kept(row)], table.schema))
    assert source.total() == expected.total()
    assert source.marginals([("age", "answer")])[0].tolist() == expected.marginals([("age", "answer")])[0].tolist()


@pytest.mark.parametrize(
    "where",
    [
        "age > (select avg(age) from people)",
        "age > avg(age) over ()",
        "row_number() over () < 10",
        "random() < 0.5",
        "exists (select 1)",
        "age in (select age from people)",
        "max(age) > 3",
        "1; drop table people",
        "age",
        "now() > '2020-01-01'",
        "getenv('HOME') = 'x'",
        "",
    ],
)
def test_filters_that_may_look_at_other_rows_are_refused(tmp_path: Path, where: str) -> None:
    source, _ = PLACES["Parquet files"](table_of(10, seed=6), tmp_path)
    with pytest.raises(QueryError):
        scan_table(source, DOMAIN, extra_columns="ignore", where=where)


@pytest.mark.many(quick=2)
def test_a_release_is_the_same_wherever_the_table_is(place: Place, tmp_path: Path) -> None:
    table = table_of(600, seed=7)
    source = scanned(place, table, tmp_path)
    expected = reference(table)
    workload = Workload.marginals(expected.domain, 2)
    one, other = (MWEM(rounds=3).run(each, workload, PureDP(1.0), noise=SeededNoise(1)) for each in (source, expected))
    assert workload.answers(one.model).tolist() == workload.answers(other.model).tolist()
    assert one.events == other.events


@pytest.mark.parametrize("as_text", [False, True])
def test_the_same_records_of_a_person_count_everywhere(place: Place, tmp_path: Path, as_text: bool) -> None:
    """In whatever order the rows come, and whether persons are numbers or texts."""
    table = visits_of(700, seed=11)
    expected = reference(table, person="patient", at_most=2)
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(700)))
    if as_text:
        at = shuffled.column_names.index("patient")
        shuffled = shuffled.set_column(at, "patient", shuffled.column("patient").cast(pa.string()))
    source = scanned(place, shuffled, tmp_path, person="patient", at_most=2)
    assert 200 < source.total() == expected.total() < 400
    assert source.persons == expected.persons == Persons("patient", 2)
    for names in (("sex", "income", "answer"), ("age",)):
        assert source.marginals([names])[0].tolist() == expected.marginals([names])[0].tolist()


@pytest.mark.parametrize("of_persons", [{}, {"person": "patient", "at_most": 2}])
def test_records_are_weighted_alike_everywhere(place: Place, tmp_path: Path, of_persons: dict[str, Any]) -> None:
    """In whatever order the rows come; equal records of a person have different weights."""
    table = visits_of(700, seed=11)
    expected = reference(table, weight="count", largest_weight=2, **of_persons)
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(700)))
    source = scanned(place, shuffled, tmp_path, weight="count", largest_weight=2, **of_persons)
    if not of_persons:
        assert expected.total() == np.minimum(table.column("count").to_numpy(), 2).sum()
    assert source.total() == expected.total()
    assert source.persons == expected.persons
    for names in (("sex", "income", "answer"), ("age",)):
        assert source.marginals([names])[0].tolist() == expected.marginals([names])[0].tolist()


def test_a_weight_that_is_no_whole_number_is_refused_everywhere(place: Place, tmp_path: Path) -> None:
    table = spoiled("count", None, (7, 200, 299), table_of(300, seed=12))
    with pytest.raises(CountColumnError, match="an empty cell") as found:
        scanned(place, table, tmp_path, weight="count", largest_weight=3).total()
    assert (found.value.column, found.value.n_rows) == ("count", 3)


def test_records_are_counted_by_person_after_a_filter(place: Place, tmp_path: Path) -> None:
    table = visits_of(300, seed=12)
    north = pa.Table.from_pylist([row for row in table.to_pylist() if row["region"] == "north"], table.schema)
    expected = reference(north, person="patient", at_most=3)
    source = scanned(place, table, tmp_path, person="patient", at_most=3, where="region = 'north'")
    assert source.filtered
    assert source.marginals([("age", "answer")])[0].tolist() == expected.marginals([("age", "answer")])[0].tolist()


def test_a_record_without_a_person_is_refused_everywhere(place: Place, tmp_path: Path) -> None:
    table = spoiled("patient", None, (7, 200, 299), visits_of(300, seed=12))
    with pytest.raises(PersonColumnError, match=r"an empty cell where a person is to be named") as found:
        scanned(place, table, tmp_path, person="patient", at_most=3).total()
    assert (found.value.column, found.value.n_rows) == ("patient", 3)


@pytest.mark.parametrize("rows", [5, 30, 100])
def test_persons_are_taken_in_groups_where_rows_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """As many passes as groups; a person with more rows than are held at a time is a group."""
    monkeypatch.setattr(chunks, "GROUP_ROWS", rows)
    held: list[int] = []
    joined = chunks.joined
    monkeypatch.setattr(chunks, "joined", lambda parts, coding: held.append(_rows(parts)) or joined(parts, coding))
    table = visits_of(400, seed=13)
    expected = reference(table, person="patient", at_most=2)
    source = scanned(PLACES["one Parquet file"], table, tmp_path, person="patient", at_most=2)
    assert source.marginals([("sex", "age")])[0].tolist() == expected.marginals([("sex", "age")])[0].tolist()
    largest = max(table.column("patient").value_counts().field("counts").to_pylist())
    assert sum(held) == 400
    assert max(held) <= max(rows, largest)


def _rows(parts: list[Any]) -> int:
    return sum(len(part.codes[0]) for part in parts)


def test_progress_does_not_tell_how_many_records_are_left_out(tmp_path: Path) -> None:
    source = scanned(PLACES["one Parquet file"], visits_of(400, seed=13), tmp_path, person="patient", at_most=1)
    parts: list[float] = []
    source.count(parts.append)
    assert parts == []


def test_nothing_is_read_twice_for_what_was_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(600, seed=8)
    source = scanned(PLACES["Parquet files"], table, tmp_path)
    workload = Workload.marginals(source.domain, 2)
    source.prepare(workload)
    passes = []
    counted = source._pass
    monkeypatch.setattr(source, "_pass", lambda *given: passes.append(1) or counted(*given))
    for seed in (1, 2):
        MWEM(rounds=3).run(source, workload, PureDP(1.0), noise=SeededNoise(seed))
    names = [("sex",)]
    conditions = [
        Conjunction.where(source.domain, {"age": [3], "sex": [1]}),
        Conjunction.where(source.domain, {"age": []}),
    ]
    expected = reference(table)
    assert source.marginals(names)[0].tolist() == expected.marginals(names)[0].tolist()
    assert source.conjunctions(conditions).tolist() == expected.conjunctions(conditions).tolist()
    assert len(passes) == 1


def test_a_table_that_changes_between_passes_is_refused(tmp_path: Path) -> None:
    source = scanned(PLACES["one Parquet file"], table_of(600, seed=9), tmp_path)
    source.total()
    PLACES["one Parquet file"](table_of(601, seed=9), tmp_path)
    with pytest.raises(DataError, match="changed between two passes"):
        source.marginals([("sex",)])


def test_many_chunks_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "CHUNK_ROWS", 64)
    table = table_of(1000, seed=10)
    source = scanned(PLACES["one Parquet file"], table, tmp_path, count_column="count")
    expected = reference(table, count_column="count")
    names = ("sex", "age", "income")
    assert np.array_equal(source.marginals([names])[0], expected.marginals([names])[0])


def test_a_scanned_table_shows_only_what_is_public(tmp_path: Path) -> None:
    source = scanned(PLACES["one Parquet file"], table_of(600, seed=9), tmp_path)
    source.total()
    assert repr(source) == "ScannedTable(5 attributes: sex, age, income, answer, left handed)"


def made(server: str, columns: str, *before: str) -> str:
    """The address of a table of four rows, i from 0 to 3."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        for statement in (*before, "DROP TABLE IF EXISTS kinds"):
            cursor.execute(statement)
        cursor.execute(f"CREATE TABLE kinds AS SELECT {columns} FROM generate_series(0, 3) i")
        connection.commit()
    return f"{server}#kinds"


def test_numbers_of_postgresql_are_what_they_are(postgresql_address: str) -> None:
    kinds = {"n": "i::numeric", "f": "i::real", "s": "i::smallint", "t": "i::text", 'c %s {z} ""q"" .d': "i"}
    address = made(postgresql_address, ", ".join(f'{value} AS "{name}"' for name, value in kinds.items()))
    for name in (name.replace('""', '"') for name in kinds):
        found = scan_table(address, Domain([IntegerRange(name, 0, 4)]), extra_columns="ignore", count_column=None)
        assert found.marginals([(name,)])[0].tolist() == [1, 1, 1, 1, 0]
    assert scan_table(address, Domain([IntegerRange("s", 0, 4)]), count_column="n", extra_columns="ignore").total() == 6


def test_a_numeric_that_is_no_number_is_an_empty_cell_and_money_is_refused(postgresql_address: str) -> None:
    address = made(postgresql_address, "CASE i WHEN 3 THEN 'NaN'::numeric ELSE i END AS n, i::money AS m")
    found = scan_table(address, Domain([IntegerRange("n", 0, 3, missing="?")]), extra_columns="ignore")
    assert found.marginals([("n",)])[0].tolist() == [1, 1, 1, 0, 1]
    with pytest.raises(ColumnError, match="money"):
        scan_table(address, Domain([IntegerRange("m", 0, 300)]), extra_columns="ignore").total()


def test_a_column_named_as_something_else_of_sql_is_filtered_as_a_column(postgresql_address: str) -> None:
    address = made(postgresql_address, """i AS a, CASE WHEN i > 1 THEN 'u' ELSE 'v' END AS "user" """)
    domain = Domain([IntegerRange("a", 0, 3)])
    assert scan_table(address, domain, extra_columns="ignore", where="user = 'u'").total() == 2


def test_functions_of_a_server_that_are_named_as_others_are_not_used(postgresql_address: str) -> None:
    mine = "CREATE OR REPLACE FUNCTION abs(text) RETURNS bigint AS 'SELECT count(*) FROM kinds' LANGUAGE sql"
    address = made(postgresql_address, "i AS a, i::text AS r", "CREATE TABLE IF NOT EXISTS kinds (a int)", mine)
    with pytest.raises(QueryError):
        scan_table(address, Domain([IntegerRange("a", 0, 3)]), extra_columns="ignore", where="abs(r) > 3")


def test_nothing_of_what_postgresql_says_stays_with_an_error(postgresql_address: str) -> None:
    address = made(postgresql_address, "i AS a, CASE i WHEN 3 THEN 'a secret' ELSE '1' END AS r")
    with pytest.raises(DataError) as found:
        scan_table(address, Domain([IntegerRange("a", 0, 3)]), extra_columns="ignore", where="r::int = 1").total()
    assert "secret" not in str(found.value)
    assert (found.value.__cause__, found.value.__context__) == (None, None)
