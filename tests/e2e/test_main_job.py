"""The main job on shipped data, from files to files."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import hedgerow
from tests.cli.command_line import app

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "data"


def call(*arguments: object) -> dict[str, object]:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["czech", "rochdale", "mildew"])
def test_contingency_tables_from_file_to_file(name: str, tmp_path: Path) -> None:
    data, domain = DATA / f"{name}.csv", DATA / f"{name}.domain.json"
    made = call(
        *("synth", data, "--domain", domain, "--count-column", "count", "--rho", 0.5, "--neighbours", "replace"),
        *("-o", tmp_path / "s.csv", "--report", tmp_path / "s.html"),
    )
    table = pyarrow.csv.read_csv(data)
    n = sum(table.column("count").to_pylist())
    assert made["total"] == made["n_records"] == n
    again = hedgerow.read_table(tmp_path / "s.csv", domain)  # the records fit the domain that they came from
    assert again.total() == n
    [answered] = call("answer", tmp_path / "s.release", "")["answers"]  # type: ignore[misc]
    assert answered["low"] == answered["high"] == n


def test_adult_by_the_command_line_and_by_python(tmp_path: Path) -> None:
    columns = ["marital-status", "relationship", "race", "sex", "income"]
    data, domain = DATA / "adult.csv", DATA / "adult.domain.json"
    made = call(
        *("synth", data, "--domain", domain, "--columns", ",".join(columns), "--epsilon", 1, "--delta", 1e-9),
        *("-o", tmp_path / "s.parquet"),
    )
    records = pyarrow.parquet.read_table(tmp_path / "s.parquet")
    assert records.column_names == columns
    assert abs(records.num_rows - 48_842) < 1000
    assert made["spent"] <= made["limit"]  # type: ignore[operator]

    table = hedgerow.read_table(data, domain, columns=columns)
    workload = hedgerow.Workload.marginals(table.domain, order=2)
    algorithm = hedgerow.MWEM(higher_orders=True)
    release = algorithm.run(table, workload, hedgerow.ApproxDP(epsilon=1.0, delta=1e-9))
    loaded = hedgerow.Release.load(tmp_path / "s.release")
    assert loaded.workload == release.workload
    assert loaded.budget == release.budget
    charges, others = ([event.charge for event in each.events] for each in (loaded, release))
    assert charges == pytest.approx(others, rel=0.01)  # shares follow the noisy number of records


@pytest.mark.slow
def test_the_demo_runs_from_anywhere_and_over_its_former_output(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "adult.release").write_text("of an earlier run")
    command = [sys.executable, ROOT / "examples" / "demo.py", tmp_path / "out"]
    program = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert program.returncode == 0, program.stderr
    assert "covers the true answer" in program.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"synthetic.csv", "adult.release", "report.html"}


@pytest.mark.slow
def test_the_demo_takes_a_file_of_ones_own(tmp_path: Path) -> None:
    lines = "".join(f"{'KB'[row % 2]}öln;{1000 + row},{row % 10}0;{row % 28 + 1:02d}.03.2024\n" for row in range(400))
    (tmp_path / "löhne.csv").write_bytes(f"Ort;Löhne;Tag\n{lines}".encode("cp1252"))
    command = [sys.executable, ROOT / "examples" / "demo.py", "out", "--data", "löhne.csv"]
    program = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert program.returncode == 0, program.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("domain.yaml", "synthetic.csv", "data.release", "report.html")
    }
    head, *records = (tmp_path / "out" / "synthetic.csv").read_text(encoding="cp1252").splitlines()
    assert head == "Ort;Löhne;Tag"
    assert all(re.fullmatch(r"[KB]öln;\d+,\d\d;\d\d\.03\.2024", record) for record in records)


def test_the_demo_is_a_module_that_does_nothing_when_it_is_imported() -> None:
    assert "main" in runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="demo")
