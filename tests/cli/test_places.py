"""Tables that stay where they are, from the command line."""

from __future__ import annotations

import json

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from hedgerow.data import ScannedTable
from tests.cli.conftest import Place

BUDGET = ("--epsilon", 1, "--seed", 1)


@pytest.fixture
def people(place: Place) -> pa.Table:
    """The table of ``people.csv``, also as files, as a folder and in a database."""
    table = pyarrow.csv.read_csv(place / "people.csv")
    for i in range(4):
        pyarrow.parquet.write_table(table.slice(100 * i, 100), place / f"part-{i}.parquet")
    pyarrow.parquet.write_to_dataset(table, place / "folder", partition_cols=["sex"])
    with duckdb.connect(str(place / "people.db")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return table


def test_the_same_release_wherever_the_table_is(place: Place, people: pa.Table) -> None:
    assert people.num_rows == 400
    assert place.synth("--seed", 1, output="memory.csv").exit_code == 0
    for name, data in {
        "files": place / "part-*.parquet",
        "base": f"duckdb://{place.folder}/people.db#people",
        "folder": place / "folder",
    }.items():
        output = place / f"{name}.csv"
        done = place.call("synth", data, "--domain", place / "people.yaml", *BUDGET, "-o", output)
        assert done.exit_code == 0, done.stderr
        shown = [place.call("show", place / f"{each}.release", "--json").stdout for each in ("memory", name)]
        first, second = (json.loads(text) for text in shown)
        assert first["ledger"] == second["ledger"]
        assert first["error"] == second["error"]


def test_a_filter_is_kept_by_a_session(place: Place, people: pa.Table) -> None:
    asked = ("ask", place / "people.csv", "--session", place / "s.session")
    begun = place.call(*asked, "--domain", place / "people.yaml", *BUDGET, "--where", "age >= 23", "age = 20")
    assert begun.exit_code == 0, begun.stderr
    assert place.call(*asked, "--seed", 1, "age = 21").exit_code == 0
    other = place.call(*asked, "--where", "age >= 21", "--seed", 1, "age = 22")
    assert other.exit_code == 1
    assert "--where" in other.stderr


def test_all_questions_of_a_call_are_counted_in_one_pass(
    place: Place, people: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []
    scan = ScannedTable._scan
    monkeypatch.setattr(ScannedTable, "_scan", lambda self, *given: passes.append(1) or scan(self, *given))
    questions = ("age = 20", "sex = 'F' and age in (21, 22)", "job = 'nurse' and not sex = 'M'")
    asked = ("ask", place / "part-*.parquet", "--session", place / "s.session", "--domain", place / "people.yaml")
    done = place.call(*asked, *BUDGET, *questions)
    assert done.exit_code == 0, done.stderr
    assert len(passes) == 1


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("sex = 'F' and", "is not a SQL condition"),
        ("height > 3", "the table has no such column"),
        ("age > (select avg(age) from people)", "may look at other rows"),
    ],
)
def test_a_wrong_filter_is_explained_and_nothing_is_spent(place: Place, where: str, message: str) -> None:
    done = place.synth("--where", where)
    assert done.exit_code == 1
    assert message in done.stderr
    assert place.names() == ["people.csv", "people.yaml"]


def test_a_bad_cell_is_told_before_anything_is_spent(place: Place, people: pa.Table) -> None:
    row = people.slice(0, 1).set_column(1, "age", pa.array([99]))
    pyarrow.parquet.write_table(row, place / "part-9.parquet")
    done = place.call(
        "synth", place / "part-*.parquet", "--domain", place / "people.yaml", *BUDGET, "-o", place / "out.csv"
    )
    assert done.exit_code == 1
    assert "column 'age', 1 row (first: 401)" in done.stderr
    assert "99" not in done.stderr.replace(str(place / "part-"), "")  # the folder of tests may be numbered so
    assert "out.csv" not in place.names()


@pytest.mark.parametrize(
    "data", ["nothing-*.parquet", "duckdb:nothing.db#t", "duckdb:people.db", "postgresql://me@/db"]
)
def test_what_is_not_there_is_explained(place: Place, data: str) -> None:
    done = place.call("synth", data, "--domain", place / "people.yaml", *BUDGET, "-o", place / "out.csv")
    assert done.exit_code == 1
    assert "remedy:" in done.stderr
    assert "secret" not in done.stderr + done.stdout


def test_files_that_a_pattern_names_are_not_written_over(place: Place, people: pa.Table) -> None:
    done = place.call(
        "synth", place / "part-*.parquet", "--domain", place / "people.yaml", *BUDGET, "--force",
        "-o", place / "part-2.parquet",
    )  # fmt: skip
    assert done.exit_code == 1
    assert "an input file" in done.stderr
    assert pyarrow.parquet.read_metadata(place / "part-2.parquet").num_rows == 100
