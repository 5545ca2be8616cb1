"""Persons with several records, from the command line: releases, sessions, plans, registers, audits."""

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

VISITS = "ward: [A, B, C]\nstay: {min: 0, max: 4}\n"
PERSON = ("--person", "patient", "--at-most", "3")
SENTENCE = "When all records of one person are added or left out, where a person is a value of the column 'patient'"


def call(*given: str, code: int = 0) -> Result:
    found = CliRunner().invoke(app, list(given))
    assert found.exit_code == code, found.output
    return found


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    with (tmp_path / "visits.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["patient", "ward", "stay"])
        for patient in range(200):
            for _ in range(1 + draw.poisson(2.0)):
                writer.writerow([f"P{patient}", "ABC"[draw.integers(3)], draw.integers(5)])
    (tmp_path / "visits.yaml").write_text(VISITS, encoding="utf-8")
    return tmp_path


def synth(*more: str, out: str = "out", code: int = 0) -> Result:
    given = ["synth", "visits.csv", "--domain", "visits.yaml", "--epsilon", "1", "-o", f"{out}.csv"]
    return call(*given, "--release", f"{out}.release", *more, code=code)


def test_a_release_is_about_persons_and_its_files_say_so(visits: Path) -> None:
    told = synth(*PERSON, "--report", "out.html", "--json")
    release = Release.load(visits / "out.release")
    assert release.budget.neighbours.records == 3
    assert release.guarantee().startswith(SENTENCE)
    assert {event.sensitivity for event in release.events if event.label != "error"} == {3.0}
    assert "patient" not in (visits / "out.csv").read_text(encoding="utf-8")
    assert release.guarantee() == json.loads(told.stdout)["guarantee"]
    page = (visits / "out.html").read_text(encoding="utf-8")
    assert "It speaks of one person at a time" in page
    audited = call("audit", "out.release", "--json", code=0)
    assert json.loads(audited.stdout)["files"][0]["verdict"] == "holds"


def test_releases_of_any_number_of_records_add_up_and_none_about_records(visits: Path) -> None:
    register = ("--register", "visits.register")
    synth(*PERSON, *register, "--limit", "2.5")
    synth("--person", "patient", "--at-most", "1", *register, out="other")
    refused = synth(*register, out="third", code=1)
    assert "read the table with person='patient'" in refused.stderr
    assert not (visits / "third.csv").exists()
    told = json.loads(call("audit", "out.release", "other.release", "--json").stdout)
    assert [(each["neighbours"], each["epsilon"]) for each in told["totals"]] == [
        ("add-remove of persons (patient)", pytest.approx(2.0))
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--person", "patient"), "--person and --at-most go together"),
        (("--at-most", "3"), "--person and --at-most go together"),
        (("--person", "patient", "--at-most", "0"), "greater than or equal to 1"),
        (("--person", "who", "--at-most", "3"), "the table has no such column"),
        (("--person", "ward", "--at-most", "3"), "tells persons apart and is an attribute"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_spent(visits: Path, given: tuple[str, ...], words: str) -> None:
    found = synth(*given, code=2 if "--" in words or "greater" in words else 1)
    assert words in " ".join(found.stderr.replace("│", " ").split())
    assert not (visits / "out.csv").exists()


def test_a_person_who_is_missing_is_named_by_the_row(visits: Path) -> None:
    with (visits / "visits.csv").open("a", encoding="utf-8") as stream:
        stream.write(",A,1\n")
    rows = len((visits / "visits.csv").read_text(encoding="utf-8").splitlines()) - 1
    assert f"column 'patient', 1 row (first: {rows}): an empty cell" in synth(*PERSON, code=1).stderr


def test_a_session_remembers_its_persons(visits: Path) -> None:
    first = ("ask", "visits.csv", "--domain", "visits.yaml", "--session", "s.session", "--epsilon", "5")
    assert SENTENCE in " ".join(call(*first, *PERSON, "ward = 'A'").stdout.split())
    later = ("ask", "visits.csv", "--session", "s.session")
    call(*later, "ward = 'B'")
    call(*later, *PERSON, "--neighbours", "add-remove", "ward = 'C'")
    refused = call(*later, "--person", "patient", "--at-most", "2", "ward = 'C'", code=1)
    assert "other values of: --person, --at-most" in refused.stderr
    assert json.loads(call("audit", "s.session", "--json").stdout)["files"][0]["verdict"] == "holds"


def test_a_plan_knows_that_noise_is_wider(visits: Path) -> None:
    common = ("plan", "--domain", "visits.yaml", "--epsilon", "1", "--total", "600", "--rounds", "1", "--json")
    one, three = (json.loads(call(*common, *more).stdout) for more in ((), PERSON))
    assert three["guarantee"].startswith(SENTENCE)
    assert one["charges"] == three["charges"]
    assert three["noise"][0][1] > 2.9 * one["noise"][0][1]
    assert three["fixed"][0]["mean_error"] > 2.5 * one["fixed"][0]["mean_error"]


def test_mechanisms_are_compared_for_persons(visits: Path) -> None:
    given = ("--mechanisms", "mwem,gaussian", "--epsilon", "1", "--delta", "1e-6", "--repeats", "1", "-o", "e.csv")
    call("compare", "visits.csv", "--domain", "visits.yaml", *given, *PERSON)
    with (visits / "e.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["neighbours"] for row in rows} == {"add-remove of persons (patient), at most 3 records"}
