"""``python -m experiments``, and that the package knows nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from experiments.__main__ import app
from experiments.results import Average, Results
from typer.testing import CliRunner

from experiments import pinned
from tests.cli.command_line import app as hedgerow

NAME = "dual-query-accounting"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_help_has_examples_and_the_package_has_no_such_command() -> None:
    assert "python -m experiments mwem-figure-2" in call("--help").stdout
    unknown = CliRunner().invoke(hedgerow, ["experiment", NAME])
    assert unknown.exit_code == 2
    assert "No such command" in unknown.stderr


@pytest.mark.slow
def test_the_command_lists_and_runs(tmp_path: Path) -> None:
    listed = call("--json")
    assert NAME in [each["name"] for each in json.loads(listed.stdout)["experiments"]]
    out = tmp_path / "out"
    done = call(NAME, "--quick", "-o", out, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["label"], told["size"]) == ("not private", "quick")
    (about,) = told["experiments"]
    assert all(Path(file).exists() for file in about["files"])
    assert {"text", "holds", "figures"} == set(about["claims"][0])
    assert sorted(path.name for path in out.iterdir()) == [
        f"{NAME}.quick.csv",
        f"{NAME}.quick.runs.csv",
        f"{NAME}.quick.svg",
    ]


@pytest.mark.slow
def test_a_run_that_disagrees_with_the_pinned_table_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Average({"statement": "pure (delta = 0)", "rounds": 2}, "epsilon", 1, 9.0, 9.0, 9.0)
    monkeypatch.setattr(pinned, "pinned_results", lambda *_: Results([wrong]))
    done = call(NAME, "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert "pinned 9" in done.stderr
    assert "0 of 1 averages agree" in done.stdout


def test_wrong_names_and_folders_are_explained(tmp_path: Path) -> None:
    wrong = call("dual-query-acounting")
    assert wrong.exit_code == 1
    assert f"did you mean '{NAME}'" in wrong.stderr
    among = call("all", "nosuch", "--quick", "-o", tmp_path / "out")
    assert (among.exit_code, "there is no experiment 'nosuch'" in among.stderr) == (1, True)
    nowhere = call(NAME, "--data", tmp_path)
    assert nowhere.exit_code == 1
    assert "--data" in nowhere.stderr
