"""Synthetic records in DuckDB files and in Spark's folders, from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet
import pytest

from tests.cli.conftest import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rows(file: Path, sql: str) -> list[Any]:
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_sample_writes_a_table_and_replaces_it_only_when_told(place: Place, release: Path) -> None:
    address = f"duckdb://{place.folder}/synthetic.db#people"
    result = place.call("sample", release, "-n", 1234, "-o", address, "--seed", 1, "--json")
    told = json.loads(result.stdout)
    assert (told.pop("n_records"), told.pop("file"), list(told)) == (1234, address, ["records_error"])
    assert 0.0 <= told["records_error"]["mean_low"] < told["records_error"]["mean_high"]
    place.call("sample", release, "-n", 1234, "-o", place / "same.csv", "--seed", 1)
    same = f"SELECT count(*) FROM read_csv('{place.folder}/same.csv') POSITIONAL JOIN people AS p WHERE age = p.age"
    assert rows(place / "synthetic.db", same.replace("WHERE age", "WHERE read_csv.age")) == [(1234,)]
    refused = place.call("sample", release, "-n", 5, "-o", address)
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert rows(place / "synthetic.db", "SELECT count(*) FROM people") == [(1234,)]
    assert place.call("sample", release, "-n", 5, "-o", address, "--force").exit_code == 0
    assert place.call("sample", release, "-n", 6, "-o", address + "2").exit_code == 0
    assert rows(place / "synthetic.db", "SELECT (SELECT count(*) FROM people), count(*) FROM people2") == [(5, 6)]


def test_synth_reads_one_table_of_a_database_and_writes_another(place: Place) -> None:
    (place / "base").mkdir()
    file = place / "base/people.db"
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE people AS FROM read_csv('{place.folder}/people.csv')")
    call = ("synth", f"duckdb:{file}#people", "--domain", place / "people.yaml", "--epsilon", 1, "--records", 50)
    done = place.call(*call, "-o", f"duckdb:{file}#synthetic", "--json")
    assert done.exit_code == 0, done.stderr
    files = json.loads(done.stdout)["files"]
    assert files == {"records": f"duckdb:{file}#synthetic", "release": str(place / "base/synthetic.release")}
    assert rows(file, "SELECT (SELECT count(*) FROM people), count(*) FROM synthetic") == [(400, 50)]
    for own in ("people", "main.People"):
        refused = place.call(*call, "-o", f"duckdb:{file}#{own}", "--force", "--release", place / "x.release")
        assert refused.exit_code == 1
        assert "the table that is read" in refused.stderr
    assert rows(file, "SELECT count(*) FROM people") == [(400,)]


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("duckdb:out.db", "does not name a file and a table"),
        ("duckdb:none/out.db#people", "the folder none does not exist"),
        ("duckdb:people.csv#people", "is not a DuckDB database"),
        ("duckdb:out.db#nowhere.people", "nowhere does not exist"),
        ("spark:", "does not name a folder"),
        ("spark:hdfs://somewhere/out", "--release"),
        ("out.xlsx", "duckdb:file.db#table"),
    ],
)
def test_nothing_is_spent_where_records_cannot_go(
    place: Place, monkeypatch: pytest.MonkeyPatch, output: str, words: str
) -> None:
    monkeypatch.chdir(place.folder)
    done = place.call("synth", "people.csv", "--domain", "people.yaml", "--epsilon", 1, "-o", output)
    assert done.exit_code == 1
    assert words in done.stderr
    assert "Traceback" not in done.output
    assert place.names() == ["people.csv", "people.yaml"]


def test_a_release_is_not_written_over_the_database(place: Place) -> None:
    done = place.synth("--release", place / "out.db", "-o", f"duckdb:{place.folder}/out.db#a")
    assert done.exit_code == 1
    assert "--release" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_the_old_table(
    place: Place, release: Path, start: Callable[..., subprocess.Popen[str]], sent: signal.Signals
) -> None:
    address = f"duckdb:{place.folder}/synthetic.db#people"
    assert place.call("sample", release, "-n", 7, "-o", address).exit_code == 0
    running = start("sample", release, "-n", 10**10, "-o", address, "--force")
    while (place / "synthetic.db").stat().st_size < 2 << 20:  # some groups of rows are there
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(sent)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    assert "nanobind" not in err
    assert rows(place / "synthetic.db", "SELECT count(*) FROM people") == [(7,)]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_writes_a_folder_and_replaces_only_its_own(place: Place, release: Path, spark: SparkSession) -> None:
    call = ("sample", release, "-o", f"spark:{place.folder}/out")
    done = place.call(*call, "-n", 123, "--seed", 1, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["n_records"] == 123
    assert told["file"] == f"spark:{place.folder}/out"
    assert told["records_error"]["measured_on"] == 123
    assert pyarrow.parquet.read_table(place / "out").num_rows == 123
    assert "--force" in place.call(*call, "-n", 5).stderr
    assert place.call(*call, "-n", 5, "--force").exit_code == 0
    assert pyarrow.parquet.read_table(place / "out").num_rows == 5
    (place / "out/letter.txt").touch()
    refused = place.call(*call, "-n", 6, "--force")
    assert refused.exit_code == 1
    assert "letter.txt" in refused.stderr


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_synth_lets_spark_draw(place: Place, spark: SparkSession) -> None:
    call = ("synth", place / "people.csv", "--domain", place / "people.yaml", "--epsilon", 1, "--records", 40)
    assert place.call(*call, "-o", f"spark:{place.folder}/drawn").exit_code == 0
    assert {"drawn", "drawn.release"} <= set(place.names())
    assert pyarrow.parquet.read_table(place / "drawn").num_rows == 40
