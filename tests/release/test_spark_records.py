"""Records drawn inside Spark's executors, and written to folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from hedgerow import MWEM, Categorical, Domain, IntegerRange, PureDP, SeededNoise, Table, Workload, read_table
from hedgerow.domain import Constraint, Derived, arrow_schema
from hedgerow.errors import ConfigError, RecordsError
from hedgerow.release import Release, check_folder
from tests.data.sources import DOMAIN as OTHERS, table_of
from tests.models.overlays.test_moves import hard, hidden

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

DOMAIN = Domain(attribute for attribute in OTHERS if attribute.other is None)
"""What Parquet keeps: another value of a number becomes an empty cell."""


@pytest.fixture(scope="module")
def release() -> Release:
    table = read_table(table_of(2000, seed=0), DOMAIN, extra_columns="ignore")
    return MWEM(rounds=5).run(table, Workload.marginals(DOMAIN, 2), PureDP(5.0), noise=SeededNoise(0))


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_exactly_n_records_of_the_right_types(spark: SparkSession, release: Release) -> None:
    frame = release.sample_spark(1001, spark, partitions=3, seed=1)
    assert frame.rdd.getNumPartitions() == 3
    table = frame.toArrow()
    assert table.num_rows == 1001
    assert table.schema.remove_metadata() == arrow_schema(DOMAIN)
    assert read_table(table, DOMAIN).total() == 1001


def test_partitions_share_evenly_and_differ(spark: SparkSession, release: Release) -> None:
    shares = release.sample_spark(301, spark, partitions=2, seed=1).selectExpr("*", "spark_partition_id() AS part")
    parts = [rows_of(shares.where(f"part = {i}").drop("part")) for i in range(2)]
    assert [len(part) for part in parts] == [150, 151]
    assert parts[0] != parts[1][:150]


def test_the_rows_follow_from_the_seed_alone(spark: SparkSession, release: Release) -> None:
    def drawn(seed: int | None, **options: Any) -> list[tuple[Any, ...]]:
        return rows_of(release.sample_spark(500, spark, partitions=4, seed=seed, **options))

    first = drawn(7)
    assert drawn(7) == first
    assert drawn(8) != first
    assert drawn(7, method="independent") != first
    fewer_tasks = release.sample_spark(500, spark, partitions=4, seed=7).coalesce(1)
    assert rows_of(fewer_tasks) == first
    fresh = release.sample_spark(500, spark, partitions=2)
    assert rows_of(fresh) == rows_of(fresh)


def test_records_follow_the_release(spark: SparkSession, release: Release) -> None:
    n, parts = 40_000, 4
    drawn = read_table(release.sample_spark(n, spark, partitions=parts, seed=3).toArrow(), DOMAIN)
    for name in ("sex", "answer"):
        expected = release.model.marginals([(name,)])[0] * n / release.model.total
        # Systematic draws: each partition rounds each cell of the whole domain by less than one.
        assert np.abs(drawn.marginals([(name,)])[0] - expected).max() < 400


def test_no_records_and_more_partitions_than_records(spark: SparkSession, release: Release) -> None:
    assert release.sample_spark(0, spark).count() == 0
    assert release.sample_spark(2, spark, partitions=5, seed=1).count() == 2
    assert release.sample_spark(None, spark, partitions=1).count() == round(release.total)


def test_what_cannot_be_drawn_is_refused_before_any_job(spark: SparkSession, release: Release) -> None:
    for wrong in ({"n": -1}, {"partitions": 0}, {"method": "random"}):
        with pytest.raises(ConfigError):
            release.sample_spark(**{"n": 5, "session": spark, **wrong})  # type: ignore[arg-type]


def test_nothing_comes_to_the_driver(
    spark: SparkSession, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(release.sample_spark(5, spark))
    for method in ("toArrow", "toPandas", "toLocalIterator", "take", "collect"):
        monkeypatch.setattr(kind, method, lambda *_: pytest.fail("records came to the driver"))
    release.sample_spark(50, spark, partitions=2, seed=1).write.parquet(str(tmp_path / "out"))
    assert pyarrow.parquet.read_table(tmp_path / "out").num_rows == 50


def test_a_folder_is_written_whole_and_replaced(spark: SparkSession, release: Release, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    folder = tmp_path / "out"
    assert release.write_records(f"spark:{folder}", 60, seed=1, progress=lambda *each: told.append(each)) == 60
    first = pyarrow.parquet.read_table(folder)
    assert first.schema.remove_metadata() == arrow_schema(DOMAIN)
    assert (told[0], told[-1]) == ((0, 60), (60, 60))
    release.write_records(f"spark:{folder}", 70, seed=1)
    assert pyarrow.parquet.read_table(folder).num_rows == 70
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_failed_job_leaves_the_folder_as_it_was(
    spark: SparkSession, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    release.write_records(f"spark:{folder}", 60, seed=1)
    monkeypatch.setattr("hedgerow.release.spark_records._saved", lambda _: b"no release")
    with pytest.raises(RecordsError, match="the Spark job failed"):
        release.write_records(f"spark:{folder}", 70, seed=1)
    assert pyarrow.parquet.read_table(folder).num_rows == 60
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_folder_of_other_things_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "part-0.parquet").touch()
    (tmp_path / "_SUCCESS").touch()
    check_folder(tmp_path)
    check_folder(tmp_path / "none")
    (tmp_path / "letter.txt").touch()
    for wrong, words in ((tmp_path, "letter.txt"), (tmp_path / "letter.txt", "is a file")):
        with pytest.raises(ConfigError, match=words):
            check_folder(wrong)
    (tmp_path / "letter.txt").unlink()
    (tmp_path / "year.parquet").mkdir()
    with pytest.raises(ConfigError, match=r"year\.parquet"):
        check_folder(tmp_path)


def test_tables_of_spark_are_those_of_arrow() -> None:
    from hedgerow.release.spark_records import spark_schema

    pytest.importorskip("pyspark")
    named = {"long": pa.int64(), "string": pa.string(), "double": pa.float64(), "boolean": pa.bool_()}
    fields = [(field.name, named[field.dataType.typeName()]) for field in spark_schema(DOMAIN)]
    assert fields == [(field.name, field.type) for field in arrow_schema(DOMAIN)]


def test_derived_columns_and_constraints_hold_in_spark_too(spark: SparkSession) -> None:
    areas, ages = IntegerRange("area", 0, 2), IntegerRange("age", 0, 39)
    density = Derived(Categorical("density", ("low", "high")), ("area",), [0, 1, 1], column=True)
    rule = Constraint(
        "no children in 0", ("area", "age"), [[0, 1, 1], np.arange(40) // 20], [[False, True], [True, True]]
    )
    domain = Domain([areas, ages], [density], [rule])
    private = pa.table({"area": [0, 1, 2] * 200, "age": [30, 5, 39] * 200, "density": ["low", "high", "high"] * 200})
    workload = Workload.marginals(domain, 2)
    made = MWEM(rounds=1).run(read_table(private, domain), workload, PureDP(5.0), noise=SeededNoise(0))
    table = made.sample_spark(2000, spark, partitions=2, seed=1).toArrow()
    assert table.schema.remove_metadata() == arrow_schema(domain)
    assert table.column_names == ["area", "age", "density"]
    assert read_table(table, domain).total() == 2000


def test_records_drawn_in_spark_are_moved_too(spark: SparkSession) -> None:
    """Each partition moves its own: they have tables that the tree below does not hold, whatever runs where."""
    model, n = hard(), 20_000
    workload, table = Workload.marginals(model.domain, 2), Table(model.domain, list(hidden(100).T))
    made = replace(MWEM(rounds=1).run(table, workload, PureDP(1.0), noise=SeededNoise(0)), model=model)

    def drawn(release: Release) -> float:
        found = read_table(release.sample_spark(n, spark, partitions=3, seed=1).toArrow(), model.domain)
        off = workload.answers(found) / n - workload.answers(model) / model.total
        return float(workload.candidate_errors(off).mean()) / 2.0

    first = drawn(made)
    assert drawn(made) == first
    assert first < 0.003
    assert drawn(replace(made, model=model.tree)) > 0.02
