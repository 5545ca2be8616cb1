"""``hedgerow experiment``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from experiments.results import Average, Results

from experiments import pinned
from tests.cli.conftest import Place

NAME = "dual-query-accounting"


def test_the_command_lists_and_runs(place: Place) -> None:
    listed = place.call("experiment", "--json")
    assert NAME in [each["name"] for each in json.loads(listed.stdout)["experiments"]]
    out = place / "out"
    done = place.call("experiment", NAME, "--quick", "-o", out, "--json")
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


def test_a_run_that_disagrees_with_the_pinned_table_says_so(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Average({"statement": "pure (delta = 0)", "rounds": 2}, "epsilon", 1, 9.0, 9.0, 9.0)
    monkeypatch.setattr(pinned, "pinned_results", lambda _: Results([wrong]))
    done = place.call("experiment", NAME, "-o", place / "out")
    assert done.exit_code == 1
    assert "pinned 9" in done.stderr
    assert "0 of 1 averages agree" in done.stdout


def test_wrong_names_and_folders_are_explained(place: Place) -> None:
    wrong = place.call("experiment", "dual-query-acounting")
    assert wrong.exit_code == 1
    assert f"did you mean '{NAME}'" in wrong.stderr
    among = place.call("experiment", "all", "nosuch", "--quick", "-o", place / "out")
    assert (among.exit_code, "there is no experiment 'nosuch'" in among.stderr) == (1, True)
    nowhere = place.call("experiment", NAME, "--data", place.folder)
    assert nowhere.exit_code == 1
    assert "--data" in nowhere.stderr
    both = place.call("experiment", NAME, "--quick", "--pin")
    assert both.exit_code == 1
    assert "a small grid is not pinned" in both.stderr
