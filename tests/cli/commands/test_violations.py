"""``--violations``: records that break a rule of the domain are refused, or left out one by one."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from hedgerow.release import Release
from tests.cli.conftest import Place

RULES = {
    "derived": {"stage": {"cases": {"young": "age < 23", "old": "age >= 23"}}},
    "constraints": [{"impossible": "age < 22 and job = 'teacher'"}, {"if": "sex = 'F'", "then": "job is not null"}],
}


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def ruled(place: Place) -> Place:
    """The table with a column of stages, in a domain with rules that many rows break."""
    domain = json.loads((place / "people.yaml").read_text())
    (place / "people.yaml").write_text(json.dumps({**domain, **RULES}))
    rows = rows_of(place / "people.csv")
    with (place / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["sex", "age", "job", "stage"])
        writer.writeheader()
        for i, row in enumerate(rows):
            stage = "young" if (int(row["age"]) < 23) != (i == 7) else "old"
            writer.writerow({**row, "stage": stage})
    return place


def told(place: Place, *arguments: object) -> dict[str, Any]:
    result = place.call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def kept(place: Place) -> int:
    rows = rows_of(place / "people.csv")
    return sum(
        not (int(row["age"]) < 22 and row["job"] == "teacher")
        and not (row["sex"] == "F" and not row["job"])
        and row["stage"] == ("young" if int(row["age"]) < 23 else "old")
        for row in rows
    )


def test_a_table_that_breaks_rules_is_refused_before_anything_is_spent(ruled: Place) -> None:
    result = ruled.synth()
    assert result.exit_code == 1
    for text in ("records break rules", "age < 22 and job = 'teacher'", "age determines stage", "--violations drop"):
        assert text in " ".join(result.stderr.split())
    assert ruled.names() == ["people.csv", "people.yaml"]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_records_are_left_out_and_their_number_is_told_nowhere(ruled: Place, neighbours: str) -> None:
    n = kept(ruled)
    assert 200 < n < 360
    result = ruled.synth("--violations", "drop", "--neighbours", neighbours, budget=("--epsilon", 0.01))
    assert result.exit_code == 0, result.output
    release = Release.load(ruled / "out.release")
    assert release.budget.neighbours.value == {"replace": "replace-then-filter"}.get(neighbours, neighbours)
    assert release.provenance.violations == "drop"
    (total,) = [event for event in release.events if event.label == "total"]
    assert total.charge > 0.0
    said = " ".join(result.output.split())
    assert "left out, one by one" in said
    told_with_noise = str(release.n_records)
    assert not ({str(n), str(400 - n), "400"} - {told_with_noise}) & set(said.replace(",", "").split())
    shown = ruled.call("show", ruled / "out.release")
    assert "left out, one by one" in " ".join(shown.stdout.split())
    drawn = rows_of(ruled / "out.csv")
    assert {row["stage"] == ("young" if int(row["age"]) < 23 else "old") for row in drawn} == {True}


def test_sessions_remember_it(ruled: Place) -> None:
    call = ("ask", ruled / "people.csv", "--session", ruled / "s.session")
    begin = ("--domain", ruled / "people.yaml", "--epsilon", 20, "--neighbours", "replace", "--updates", 2)
    first = told(ruled, *call, *begin, "--violations", "drop", "stage = 'young'")
    assert first["session"]["spent"] > 0.0
    assert told(ruled, *call, "stage = 'young'")["answers"][0]["source"] in ("cache", "hypothesis only")
    refused = ruled.call(*call, "--violations", "refuse", "sex = 'F'")
    assert refused.exit_code == 1
    assert "records break rules" in refused.stderr


def test_a_plan_and_a_comparison_take_the_number_for_private(ruled: Place) -> None:
    domain = ("--domain", ruled / "people.yaml", "--epsilon", 1, "--neighbours", "replace", "--violations", "drop")
    assert "before the filter" in told(ruled, "plan", *domain, "--total", 300)["guarantee"]
    assert "--total" in ruled.call("plan", ruled / "people.csv", *domain).stderr
    assert told(ruled, "plan", ruled / "people.csv", *domain, "--total", 300)["total"] == 300
    errors = ruled / "errors.csv"
    told(ruled, "compare", ruled / "people.csv", *domain, "--mechanisms", "laplace", "--repeats", 1, "-o", errors)
    assert "replace-then-filter" in Path(errors).read_text()


def test_without_rules_nothing_is_left_out(place: Place) -> None:
    result = place.synth("--violations", "drop", "--neighbours", "replace")
    assert result.exit_code == 0, result.output
    assert "left out" not in result.output
    assert Release.load(place / "out.release").budget.neighbours.value == "replace"
    assert place.synth("--violations", "ignore").exit_code == 2


def test_plan_show_and_sample_speak_of_rules_and_levels(ruled: Place) -> None:
    domain = json.loads((ruled / "people.yaml").read_text())
    ages = domain["attributes"]["age"] if "attributes" in domain else domain["age"]
    ages["levels"] = [3]
    (ruled / "people.yaml").write_text(json.dumps(domain))
    asked = ("--domain", ruled / "people.yaml", "--workload", "marginals:age.3*sex,job", "--epsilon", 1)
    planned = ruled.call("plan", "--total", 500, *asked)
    assert planned.exit_code == 0, planned.output
    for words in (
        "of them records that can exist (2 constraints)",
        "age: age.3 (",
        "names 1 of them",
        "stage (from age)",
    ):
        assert words in planned.stdout
    numbers = told(ruled, "plan", "--total", 500, *asked)
    assert 0 < numbers["feasible"] < numbers["cells"]
    assert len(numbers["constraints"]) == 2
    made = ruled.call("synth", ruled / "people.csv", *asked, "--violations", "drop", "-o", ruled / "s.csv", "--seed", 1)
    assert made.exit_code == 0, made.output
    shown = ruled.call("show", ruled / "s.release").stdout
    for words in ("(2 constraints)", "Derived columns: stage (from age)", "age.3", "one level or derived attribute"):
        assert words in shown
    assert told(ruled, "show", ruled / "s.release")["levels"] == {"age.3": 1}
    drawn = ruled.call("sample", ruled / "s.release", "-n", 20, "-o", ruled / "t.csv").stdout
    assert "none breaks a constraint (2); with 1 derived column" in drawn
