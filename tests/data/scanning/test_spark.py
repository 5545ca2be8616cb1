"""Spark tables: the contract of all sources, in a session on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from hedgerow import MWEM, PureDP, SeededNoise, Workload
from hedgerow.data import Counts, ReadOptions, ScannedTable, Table, Wanted, read_labels, read_table, scan_table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import (
    BrokenRuleError,
    ColumnError,
    CountColumnError,
    PersonColumnError,
    QueryError,
    UnreadableTableError,
)
from tests.data.ruled import RULED, left, ruled_table
from tests.data.sources import (
    BAD,
    BAD_FORMS,
    DOMAIN,
    FORMS,
    OPEN,
    SCALES,
    SPANS,
    SPELLED,
    forms_of,
    labelled_of,
    scales_of,
    spans_of,
    spelled_of,
    spoiled,
    table_of,
    texts_of_durations,
    visits_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def frame_of(spark: SparkSession, table: pa.Table, folder: Path, parts: int = 3) -> DataFrame:
    """From Parquet files, so that every part is a partition; Spark reads neither durations nor times of day in them."""
    table = texts_of_durations(table)
    for place, field in enumerate(table.schema):
        if pa.types.is_time(field.type):
            table = table.set_column(place, field.name, table[place].cast(pa.string()))
    step = -(-table.num_rows // parts)
    for i in range(parts):
        pyarrow.parquet.write_table(table.slice(i * step, step), folder / f"part-{i}.parquet")
    return spark.read.parquet(str(folder))


def scanned(frame: DataFrame, **options: Any) -> ScannedTable:
    return scan_table(frame, DOMAIN, **{"extra_columns": "ignore", **options})


def reference(table: pa.Table, **options: Any) -> Table:
    return read_table(table, DOMAIN, extra_columns="ignore", **options)


@pytest.mark.parametrize("count_column", [None, "count"])
def test_counts_are_those_of_the_table_in_memory(spark: SparkSession, tmp_path: Path, count_column: str | None) -> None:
    table = table_of(1000, seed=0)
    source = scanned(frame_of(spark, table, tmp_path), count_column=count_column)
    expected = reference(table, count_column=count_column)
    workload = Workload.parse("marginals:2; cells:1; prefixes:age", DOMAIN)
    source.prepare(workload)
    parts: list[float] = []
    source.count(parts.append)
    assert all(0.0 <= part <= 1.0 for part in parts)
    assert source.total() == expected.total()
    assert workload.answers(source).tolist() == workload.answers(expected).tolist()


def test_dates_times_and_decimals_have_the_codes_of_the_table_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    """Those times of Parquet that have no zone, and so none in Spark."""
    table = scales_of(300, seed=0)
    found = scan_table(frame_of(spark, table, tmp_path), SCALES, extra_columns="ignore")
    expected = read_table(table, SCALES, extra_columns="ignore")
    for name in SCALES.names:
        assert found.marginals([(name,)])[0].tolist() == expected.marginals([(name,)])[0].tolist()


def test_cells_that_are_written_in_their_own_form_have_the_codes_of_the_table_in_memory(
    spark: SparkSession, tmp_path: Path
) -> None:
    table, _ = forms_of(300, seed=0)
    found = scan_table(frame_of(spark, table, tmp_path), FORMS, extra_columns="ignore")
    expected = read_table(table, FORMS, extra_columns="ignore")
    for name in FORMS.names:
        assert found.marginals([(name,)])[0].tolist() == expected.marginals([(name,)])[0].tolist()


@pytest.mark.parametrize("kind", BAD_FORMS)
def test_a_cell_in_another_form_is_refused(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    column, value, error = BAD_FORMS[kind]
    frame = frame_of(spark, spoiled(column, value, (7, 200, 399), forms_of(400, seed=3)[0]), tmp_path)
    with pytest.raises(error) as found:
        scan_table(frame, FORMS, extra_columns="ignore").total()
    assert (found.value.column, found.value.n_rows) == (column, 3)
    assert str(value) not in str(found.value)


def test_durations_between_columns_are_those_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    table = spans_of(300, seed=0)
    found = scan_table(frame_of(spark, table, tmp_path), SPANS, extra_columns="ignore")
    expected = read_table(table, SPANS, extra_columns="ignore")
    assert found.marginals([SPANS.names])[0].tolist() == expected.marginals([SPANS.names])[0].tolist()


def test_labels_are_normalised_as_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    table = spelled_of(300, seed=0)
    found = scan_table(frame_of(spark, table, tmp_path), SPELLED, extra_columns="ignore")
    expected = read_table(table, SPELLED, extra_columns="ignore")
    for name in SPELLED.names:
        assert found.marginals([(name,)])[0].tolist() == expected.marginals([(name,)])[0].tolist()


def test_labels_are_found_and_counted_as_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    table, expected = labelled_of(300, seed=5)
    frame = frame_of(spark, table, tmp_path)
    found = read_labels(frame, OPEN, ReadOptions(extra_columns="ignore"))
    for name, counts in expected.items():
        labels, there = found.counts(name)
        assert dict(zip(labels, there.tolist(), strict=True)) == counts
    assert read_labels(frame, OPEN, ReadOptions(extra_columns="ignore", where="ward = 2")).counts("ward")[0] == ["2"]
    with pytest.raises(ColumnError, match="is not there"):
        read_labels(frame.drop("job"), OPEN, ReadOptions(extra_columns="ignore"))


def test_many_partitions_are_added_in_two_steps_and_empty_ones_do_no_harm(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(300, seed=1)
    frame = frame_of(spark, table, tmp_path).repartition(12).where("age < 30")
    assert frame.rdd.getNumPartitions() == 12
    source = scanned(frame)
    expected = reference(pa.Table.from_pylist([row for row in table.to_pylist() if row["age"] < 30], table.schema))
    assert source.marginals([("age", "answer")])[0].tolist() == expected.marginals([("age", "answer")])[0].tolist()


@pytest.mark.parametrize("kind", BAD)
def test_errors_say_column_and_rows_and_show_no_value(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    column, value, error = BAD[kind]
    table = spoiled(column, value, (7, 200, 399))
    with pytest.raises(error) as expected:
        reference(table, count_column="count")
    with pytest.raises(error) as found:
        scanned(frame_of(spark, table, tmp_path), count_column="count").total()
    assert (found.value.column, found.value.n_rows) == (column, 3)
    assert found.value.rows == ()  # rows of a distributed table have no numbers
    assert str(found.value).partition(": ")[2] == str(expected.value).partition("rows (first: 8, 201, 400): ")[2]
    assert "perhaps" not in str(found.value)


def test_values_are_shown_where_they_are_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    table = spoiled("answer", "perhaps", (7, 399))
    with pytest.raises(Exception, match="'perhaps'"):
        scanned(frame_of(spark, table, tmp_path), show_values=True).total()


def test_the_same_records_of_a_person_count_as_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    """The rows of a person are in several partitions at first."""
    table = visits_of(600, seed=11)
    expected = reference(table, person="patient", at_most=2)
    source = scanned(frame_of(spark, table, tmp_path), person="patient", at_most=2)
    assert source.total() == expected.total()
    assert source.persons == expected.persons
    assert source.marginals([("sex", "age")])[0].tolist() == expected.marginals([("sex", "age")])[0].tolist()


@pytest.mark.parametrize("of_persons", [{}, {"person": "patient", "at_most": 2}])
def test_records_are_weighted_as_in_memory(spark: SparkSession, tmp_path: Path, of_persons: dict[str, Any]) -> None:
    table = visits_of(600, seed=11)
    expected = reference(table, weight="count", largest_weight=2, **of_persons)
    source = scanned(frame_of(spark, table, tmp_path), weight="count", largest_weight=2, **of_persons)
    assert source.total() == expected.total()
    assert source.persons == expected.persons
    assert source.marginals([("sex", "age")])[0].tolist() == expected.marginals([("sex", "age")])[0].tolist()


def test_a_record_without_a_person_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = spoiled("patient", None, (7, 299), visits_of(300, seed=12))
    with pytest.raises(PersonColumnError, match="an empty cell where a person is to be named") as found:
        scanned(frame_of(spark, table, tmp_path), person="patient", at_most=3).total()
    assert (found.value.column, found.value.n_rows, found.value.rows) == ("patient", 2, ())


def test_an_empty_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UnreadableTableError, match="no rows"):
        scanned(frame_of(spark, table_of(9, seed=2), tmp_path).where("age > 1000")).total()


def test_columns_that_hold_neither_texts_nor_numbers_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(9, seed=2)
    place = table.column_names.index("answer")
    nested = table.set_column(place, "answer", pa.array([["yes"]] * 9))
    with pytest.raises(ColumnError, match="neither texts nor numbers"):
        scanned(frame_of(spark, nested, tmp_path)).total()


def test_a_filter_leaves_rows_out_and_must_look_at_one_row(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(200, seed=3)
    frame = frame_of(spark, table, tmp_path)
    kept = [row for row in table.to_pylist() if row["region"] == "north" and row["age"] >= 20]
    assert scanned(frame, where="region = 'north' and age >= 20").total() == len(kept)
    assert (scanned(frame).filtered, scanned(frame, where="age >= 20").filtered) == (False, True)
    nobody = scanned(frame, where="age > 1000")  # one record decides it, so it is no error
    assert (nobody.total(), nobody.marginals([("sex",)])[0].tolist()) == (0, [0.0, 0.0, 0.0])
    with pytest.raises(QueryError, match="subquery"):
        scanned(frame, where="age > (select avg(age) from people)")


@pytest.mark.parametrize("where", ["cast(answer as date) = 3", "(age, 1) = (1, 2, 3)"])
def test_a_filter_that_spark_does_not_understand_is_told_as_such(
    spark: SparkSession, tmp_path: Path, where: str
) -> None:
    with pytest.raises(QueryError, match="does not understand"):
        scanned(frame_of(spark, table_of(9, seed=3), tmp_path), where=where)


def test_rows_that_break_a_rule_are_refused_or_left_out(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql.functions import lit

    table = ruled_table(300, seed=2)
    frame = frame_of(spark, table, tmp_path)
    with pytest.raises(BrokenRuleError) as expected:
        read_table(table, RULED, extra_columns="ignore")
    with pytest.raises(BrokenRuleError) as found:
        scan_table(frame, RULED, extra_columns="ignore").total()
    assert (found.value.broken, found.value.n_rows) == (expected.value.broken, expected.value.n_rows)
    assert found.value.rows == ()
    source = scan_table(frame, RULED, extra_columns="ignore", violations="drop")
    kept = read_table(left(table), RULED, extra_columns="ignore")
    cliques = [("sex", "stage"), ("age.7", "answer"), ("income", "handed"), DOMAIN.names]
    assert (source.filtered, source.total()) == (True, kept.total())
    for one, other in zip(source.marginals(cliques), kept.marginals(cliques), strict=True):
        assert one.tolist() == other.tolist()
    nobody = frame.where("answer = 'yes'").drop("handed").withColumn("handed", lit("no"))
    assert scan_table(nobody, RULED, extra_columns="ignore", violations="drop").total() == 0


def test_columns_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"b.c": [0, 1, 1], 'say `it\'s` "so" %s {x}': [1, 1, 0], "user": ["u", "v", "v"]})
    domain = Domain([IntegerRange(name, 0, 1) for name in table.column_names[:2]])
    frame = frame_of(spark, table, tmp_path, parts=1)
    for where, expected in (("user = 'v'", [[0, 0], [1, 1]]), ('"b.c" < 1', [[0, 1], [0, 0]])):
        source = scan_table(frame, domain, extra_columns="ignore", where=where)
        assert source.marginals([domain.names])[0].tolist() == expected


def test_cells_stay_off_the_screen_and_out_of_errors(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    frame = frame_of(spark, table_of(30, seed=3), tmp_path)
    with pytest.raises(UnreadableTableError) as found:
        scanned(frame, where="cast(region as int) = 1").total()
    assert (found.value.__cause__, found.value.__context__) == (None, None)
    shown = capfd.readouterr()
    assert not any(word in text for word in ("north", "south") for text in (shown.out, shown.err, str(found.value)))


def test_sums_of_counts_are_checked_over_all_partitions(spark: SparkSession, tmp_path: Path) -> None:
    domain = Domain([IntegerRange("a", 0, 1)])
    for numbers, message in (([2**52 + 1, 2**52], "beyond"), ([2**53 + 1, 0], "beyond"), ([0, 0], "sum to 0")):
        table = pa.table({"a": [0, 1], "n": numbers})
        with pytest.raises(CountColumnError, match=message):
            scan_table(frame_of(spark, table, tmp_path, parts=2), domain, count_column="n").total()


def test_a_release_is_the_same_wherever_the_table_is(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(600, seed=4)
    workload = Workload.marginals(DOMAIN, 2)
    one, other = (
        MWEM(rounds=3).run(each, workload, PureDP(1.0), noise=SeededNoise(1))
        for each in (scanned(frame_of(spark, table, tmp_path)), reference(table))
    )
    assert workload.answers(one.model).tolist() == workload.answers(other.model).tolist()
    assert one.events == other.events


class Failing:
    """A step of a job that is killed: always, or the first time only."""

    def __init__(self, flag: Path, *, always: bool) -> None:
        self.flag, self.always = str(flag), always

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os

        yield from batches
        if self.always or not os.path.exists(self.flag):
            open(self.flag, "w").close()
            os._exit(1)


def test_a_killed_job_counts_nothing_says_no_cell_and_a_retry_is_free(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(300, seed=5)
    (tmp_path / "data").mkdir()
    frame = frame_of(spark, table, tmp_path / "data")
    killed = frame.mapInArrow(Failing(tmp_path / "flag", always=True), frame.schema)
    workload = Workload.marginals(DOMAIN, 1)
    with pytest.raises(UnreadableTableError, match="nothing was counted and nothing is charged"):
        MWEM(rounds=1).run(scanned(killed), workload, PureDP(1.0), noise=SeededNoise(1))
    (tmp_path / "flag").unlink()
    once = frame.mapInArrow(Failing(tmp_path / "flag", always=False), frame.schema)
    assert scanned(once).marginals([("sex",)])[0].tolist() == reference(table).marginals([("sex",)])[0].tolist()


def test_nothing_but_counts_comes_back(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[Any] = []
    kind = type(frame_of(spark, table_of(30, seed=6), tmp_path))
    collect = kind.collect
    monkeypatch.setattr(kind, "collect", lambda self: returned.extend(collect(self)) or returned)
    for method in ("toArrow", "toPandas", "toLocalIterator", "take"):
        monkeypatch.setattr(kind, method, lambda *_: pytest.fail("records came back"))
    scanned(frame_of(spark, table_of(30, seed=6), tmp_path)).total()
    assert len(returned) == 1
    assert len(bytes(returned[0][0])) < 10_000


def test_counts_of_parts_add_up() -> None:
    wanted = Wanted(DOMAIN)
    wanted.marginals([("sex", "answer")])
    wanted.parities([("answer",)])
    whole, parts = Counts(wanted), [Counts(wanted), Counts(wanted)]
    tables = [reference(table_of(50, seed=seed)) for seed in (7, 8)]
    for part, table in zip(parts, tables, strict=True):
        whole.count(table)
        part.count(table)
    parts[0].add(parts[1])
    assert parts[0].total == whole.total == 100
    assert np.array_equal(parts[0].tables["sex", "answer"], whole.tables["sex", "answer"])
    assert parts[0].parities.tolist() == whole.parities.tolist()
