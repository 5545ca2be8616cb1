"""Weights of records, from the command line: releases, records, sessions, plans, registers, audits."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from hedgerow import Release
from tests.cli.command_line import app

SURVEY = "attributes:\n  region: [A, B, C]\n  age: {min: 0, max: 4}\nignore: [household]\n"
WEIGHT = ("--weight", "PWGTP", "--largest-weight", "300")
SENTENCE = "where a record counts as often as its weight says (the column 'PWGTP'), at most 300 times"


def call(*given: str, code: int = 0) -> Result:
    found = CliRunner().invoke(app, list(given))
    assert found.exit_code == code, found.output
    return found


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records whose weights sum to about 170,000."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    with (tmp_path / "survey.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["household", "region", "age", "PWGTP"])
        for i in range(1000):
            writer.writerow([i // 2, "ABC"[draw.integers(3)], draw.integers(5), draw.integers(0, 400)])
    (tmp_path / "survey.yaml").write_text(SURVEY, encoding="utf-8")
    return tmp_path


def synth(*more: str, out: str = "out", code: int = 0) -> Result:
    given = ["synth", "survey.csv", "--domain", "survey.yaml", "--epsilon", "4", "-o", f"{out}.csv"]
    return call(*given, "--release", f"{out}.release", *more, code=code)


def test_a_release_is_about_the_population_and_its_files_say_so(survey: Path) -> None:
    told = synth(*WEIGHT, "--report", "out.html", "--json")
    release = Release.load(survey / "out.release")
    assert 130_000 < release.total < 200_000
    assert SENTENCE in release.guarantee()
    assert release.guarantee() == json.loads(told.stdout)["guarantee"]
    assert json.loads(told.stdout)["n_records"] == release.n_records == 100_000
    assert {event.sensitivity for event in release.events if event.label != "error"} == {300.0}
    with (survey / "out.csv").open(encoding="utf-8") as stream:
        assert sum(1 for _ in stream) == 100_001
    assert "as often as its weight says" in (survey / "out.html").read_text(encoding="utf-8")
    audited = json.loads(call("audit", "out.release", "--json").stdout)
    assert audited["files"][0]["verdict"] == "holds"


def test_what_the_cap_takes_away_is_measured_where_it_is_asked_for(survey: Path) -> None:
    told = json.loads(synth(*WEIGHT, "--possible-weight", "400", "--json").stdout)["weights"]
    assert (told["column"], told["capped_at"], told["lost"]["largest_possible"]) == ("PWGTP", 300, 400)
    assert told["lost"]["low"] < 0.067 < told["lost"]["high"] < 0.1
    shown = " ".join(call("show", "out.release").stdout.split())
    assert "All numbers are of the weights (PWGTP) capped at 300; they lose" in shown
    planned = call(
        "plan", "--domain", "survey.yaml", "--epsilon", "1", "--total", "9", *WEIGHT, "--possible-weight", "400"
    )
    assert "5% of the budget: what the cap at 300 takes away of PWGTP, up to 400" in " ".join(planned.stdout.split())
    synth(*WEIGHT, "--possible-weight", "300", out="no", code=1)


def test_records_are_as_many_as_are_wanted(survey: Path) -> None:
    told = synth(*WEIGHT, "--records", "500", out="few")
    release = Release.load(survey / "few.release")
    assert f"500 synthetic records, each of which stands for {release.total / 500:,.4g}" in told.stderr + told.stdout


def test_releases_with_and_without_weights_add_up(survey: Path) -> None:
    register = ("--register", "survey.register")
    synth(*WEIGHT, *register, "--limit", "9")
    synth("--columns", "region,age", *register, out="plain")
    synth("--weight", "PWGTP", "--largest-weight", "5", *register, out="third", code=1)
    told = json.loads(call("audit", "out.release", "plain.release", "--json").stdout)
    assert [(each["neighbours"], each["epsilon"]) for each in told["totals"]] == [("add-remove", pytest.approx(8.0))]


def test_persons_and_weights_together(survey: Path) -> None:
    synth(*WEIGHT, "--person", "household", "--at-most", "2", "--neighbours", "replace")
    release = Release.load(survey / "out.release")
    assert release.budget.neighbours.records == 600
    assert "of whose records at most 2 count, and each counts as often as its weight says" in release.guarantee()
    assert json.loads(call("audit", "out.release", "--json").stdout)["files"][0]["verdict"] == "holds"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--weight", "PWGTP"), "--weight and --largest-weight go together"),
        (("--largest-weight", "3"), "--weight and --largest-weight go together"),
        (("--weight", "PWGTP", "--largest-weight", "0"), "greater than or equal to 1"),
        (("--weight", "w", "--largest-weight", "3"), "the table has no such column"),
        (("--weight", "age", "--largest-weight", "3"), "it is the column of weights, and an attribute"),
        ((), "add --weight PWGTP --largest-weight W"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_spent(survey: Path, given: tuple[str, ...], words: str) -> None:
    found = synth(*given, code=1 if "the " in words or "add " in words else 2)
    assert words in " ".join(found.stderr.replace("│", " ").split())
    assert not (survey / "out.csv").exists()


def test_a_weight_that_is_none_is_named_by_the_row(survey: Path) -> None:
    with (survey / "survey.csv").open("a", encoding="utf-8") as stream:
        stream.write("9999,A,1,-17\n")
    assert "column 'PWGTP', 1 row (first: 1001): a weight that is negative" in synth(*WEIGHT, code=1).stderr


@pytest.mark.slow
def test_a_session_remembers_its_weights(survey: Path) -> None:
    first = ("ask", "survey.csv", "--domain", "survey.yaml", "--session", "s.session", "--epsilon", "5")
    assert SENTENCE in " ".join(call(*first, *WEIGHT, "region = 'A'").stdout.split())
    later = ("ask", "survey.csv", "--session", "s.session")
    told = json.loads(call(*later, "SELECT region, COUNT(*) FROM t GROUP BY region", "--json").stdout)
    assert told["tables"][0]["covers"].endswith("; of the weights (PWGTP) capped at 300")
    call(*later, "region = 'B'")
    call(*later, *WEIGHT, "--neighbours", "add-remove", "region = 'C'")
    refused = call(*later, "--weight", "PWGTP", "--largest-weight", "2", "region = 'C'", code=1)
    assert "other values of: --person, --at-most, --weight, --largest-weight" in refused.stderr
    assert json.loads(call("audit", "s.session", "--json").stdout)["files"][0]["verdict"] == "holds"


def test_a_plan_knows_that_noise_is_wider(survey: Path) -> None:
    common = ("plan", "--domain", "survey.yaml", "--epsilon", "1", "--total", "150000", "--rounds", "1", "--json")
    one, many = (json.loads(call(*common, *more).stdout) for more in ((), WEIGHT))
    assert SENTENCE in many["guarantee"]
    assert many["noise"][0][1] > 290 * one["noise"][0][1]


def test_mechanisms_are_compared_with_weights(survey: Path) -> None:
    given = ("--mechanisms", "mwem,gaussian", "--epsilon", "1", "--delta", "1e-6", "--repeats", "1", "-o", "e.csv")
    call("compare", "survey.csv", "--domain", "survey.yaml", *given, *WEIGHT)
    with (survey / "e.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["neighbours"] for row in rows} == {"add-remove of records of weight (PWGTP) up to 300"}


def test_bins_are_learnt_from_weights(survey: Path) -> None:
    learnt = SURVEY.replace("max: 4", "max: 4, whole: true, bins: {learn: 2}")
    (survey / "survey.yaml").write_text(learnt, encoding="utf-8")
    synth(*WEIGHT)
    release = Release.load(survey / "out.release")
    assert {event.sensitivity for event in release.events if event.label == "learn"} == {300.0}
    assert json.loads(call("audit", "out.release", "--json").stdout)["files"][0]["verdict"] == "holds"
