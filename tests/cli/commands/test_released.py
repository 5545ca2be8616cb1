"""Commands on a release: ``sample``, ``answer``, ``show``, ``report``; and ``domain`` and ``plan``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet
import pytest
import yaml

import hedgerow
from hedgerow import Release
from hedgerow.algorithms import ONLINE
from hedgerow.cli.commands import preparing
from hedgerow.cli.console import Output
from tests.cli.conftest import BAD, Place
from tests.privacy.mutants import Mutant, killed


def test_sample_draws_as_many_as_asked(place: Place, release: Path) -> None:
    result = place.call("sample", release, "-n", 1234, "-o", place / "s.parquet", "--seed", 1, "--json")
    told = json.loads(result.stdout)
    assert (told["n_records"], told["file"]) == (1234, str(place / "s.parquet"))
    assert 0.0 < told["records_error"]["added"] <= told["records_error"]["mean_high"]  # noise may hide the model's
    first = pyarrow.parquet.read_table(place / "s.parquet")
    assert first.num_rows == 1234
    assert place.call("sample", release, "-n", 1234, "-o", place / "s.parquet", "--seed", 1).exit_code == 1
    place.call("sample", release, "-n", 1234, "-o", place / "s.parquet", "--seed", 1, "--force")
    assert pyarrow.parquet.read_table(place / "s.parquet").equals(first)


def test_sample_draws_under_a_condition_or_completes_the_rows_of_a_file(place: Place, release: Path) -> None:
    assert place.call("sample", release, "-n", 200, "-o", place / "w.parquet", "--where", "age < 22").exit_code == 0
    ages = pyarrow.parquet.read_table(place / "w.parquet")["age"].to_pylist()
    assert len(ages) == 200
    assert max(ages) < 22
    (place / "given.csv").write_text("age,sex\n21,F\n25,M\n")
    call = place.call("sample", release, "-n", 3, "-o", place / "g.parquet", "--given", place / "given.csv", "--json")
    assert json.loads(call.stdout)["n_records"] == 6
    found = pyarrow.parquet.read_table(place / "g.parquet")
    assert found["age"].to_pylist() == [21] * 3 + [25] * 3
    assert found["sex"].to_pylist() == ["F"] * 3 + ["M"] * 3
    both = place.call("sample", release, "-o", place / "x.csv", "--where", "age < 22", "--given", place / "given.csv")
    assert "exclude each other" in both.stderr
    (place / "given.csv").write_text("age\n21\nold\n")
    wrong = place.call("sample", release, "-o", place / "x.csv", "--given", place / "given.csv")
    assert "row 2, 'age': 'old' is no number" in wrong.stderr
    assert not (place / "x.csv").exists()


def test_sample_writes_replicates(place: Place, release: Path) -> None:
    asked = ("sample", release, "--replicates", 3, "--seed", 1, "-n", 500)
    call = place.call(*asked, "-o", place / "r.parquet", "--json")
    result = json.loads(call.stdout)
    told = result["replicates"]
    assert ["sex", "age"] in result["mostly_noise"]
    assert "State no interval for what follows from tables with so much noise" in call.stderr
    assert (told["number"], told["for"], told["form"], told["mse"]) == (3, "population", "weights", True)
    assert told["columns"] == ["weight", "repweight_1", "repweight_2", "repweight_3"]
    first = pyarrow.parquet.read_table(place / "r.parquet")
    assert first.column_names[-4:] == told["columns"]
    said = place.call(*asked, "--replicate-for", "file", "--replicate-files", "-o", place / "f.parquet").stdout
    assert "3 replicate files beside it" in said
    assert "3 replicates for the file, files of their own" in said
    assert "have proved intervals: hedgerow answer" in said
    assert pyarrow.parquet.read_table(place / "f_rep3.parquet").num_rows == 500
    (place / "f.parquet").unlink()
    again = place.call(*asked, "--replicate-files", "-o", place / "f.parquet")
    assert "f_rep1.parquet exists" in again.stderr
    assert not (place / "f.parquet").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--replicate-for", "file"), "add --replicates 40"),
        (("--replicates", 3, "--where", "age < 22"), "take the part where you compute"),
        (("--replicates", 3, "--method", "independent"), "leave --method out"),
    ],
)
def test_sample_refuses_replicates_of_parts(
    place: Place, release: Path, options: tuple[object, ...], message: str
) -> None:
    call = place.call("sample", release, *options, "-o", place / "r.csv")
    assert call.exit_code == 1
    assert message in call.stderr
    assert not (place / "r.csv").exists()


def test_answers_have_intervals_and_say_what_they_cover(place: Place, release: Path) -> None:
    result = place.call("answer", release, "sex = 'F'", "age < 22 and job is null", "", "--json", "--confidence", 0.9)
    answers = json.loads(result.stdout)["answers"]
    assert [each["condition"] for each in answers] == ["sex = 'F'", "age < 22 and job is null", ""]
    for each in answers:
        assert each["low"] <= each["value"] <= each["high"]
        assert "90% confidence" in each["covers"]
    text = place.call("answer", release, "sex = 'F'").stdout
    assert "covers the true answer on the private table" in text


def test_a_bad_condition_names_the_remedy(place: Place, release: Path) -> None:
    result = place.call("answer", release, "sexx = 'F'")
    assert result.exit_code == 1
    assert "did you mean 'sex'?" in result.stderr


def test_show_tells_the_guarantee_and_the_ledger(place: Place, release: Path) -> None:
    text = place.call("show", release).stdout
    assert "pure differential privacy with epsilon = 1" in text
    assert "number of records" in text
    values = json.loads(place.call("show", release, "--json").stdout)
    assert sum(event["charge"] for event in values["ledger"]) == pytest.approx(values["spent"])
    assert values["provenance"]["secure"] is True


def test_show_does_not_build_the_model(place: Place, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("built")

    monkeypatch.setattr("hedgerow.models.dense.histogram.Histogram.from_potentials", fail)
    shown = place.call("show", release)
    assert shown.exit_code == 0
    assert "That is the error of answers" in shown.stdout


@pytest.mark.slow
def test_the_report_can_be_written_later(place: Place, release: Path) -> None:
    assert place.call("report", release, "-o", place / "late.html").exit_code == 0
    page = (place / "late.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert f"<h1>{release.stem}</h1>" in page
    named = ("--title", "Visits of 2024", "--made-by", "A. Miller", "--force")
    assert place.call("report", release, "-o", place / "late.html", *named).exit_code == 0
    page = (place / "late.html").read_text()
    assert "<h1>Visits of 2024</h1>" in page
    assert re.search(r"made by A. Miller, \d{4}-\d\d-\d\d, ", page)


def test_a_missing_extra_is_named(place: Place, release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.report.page.find_spec", lambda _: None)
    result = place.call("report", release, "-o", place / "late.html")
    assert result.exit_code == 1
    assert "pip install 'hedgerow[report]'" in result.stderr
    before = place.names()
    assert place.synth("--report", place / "x.html").exit_code == 1
    assert place.names() == before


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("command", ["sample", "show", "answer", "report"])
def test_foreign_and_missing_files_are_named(place: Place, command: str) -> None:
    for path in (place / "people.csv", place / "none.release"):
        extra = {"sample": ("-o", place / "o.csv"), "report": ("-o", place / "o.html"), "answer": ("",)}.get(
            command, ()
        )
        result = place.call(command, path, *extra)
        assert result.exit_code == 1
        assert str(path) in result.stderr
        assert "Traceback" not in result.output


def test_domain_says_what_it_leaves_out(place: Place) -> None:
    """All columns are left out of the second table, whose draft is no domain."""
    both, none = place / "both.csv", place / "none.csv"
    both.write_text("id,sex\n" + "".join(f"k{row},{'FM'[row % 2]}\n" for row in range(300)))
    none.write_text("id\n" + "".join(f"k{row}\n" for row in range(300)))
    result = place.call("domain", both, "-o", place / "both.yaml")
    assert result.exit_code == 0
    assert "left out, for reasons that the draft gives: id" in result.stderr
    result = place.call("domain", none, "-o", place / "none.yaml")
    assert result.exit_code == 1
    assert "no column of it can be described by a draft" in result.stderr
    assert "perhaps an identifier" in (place / "none.yaml").read_text()


def test_domain_drafts_a_file_and_warns(place: Place) -> None:
    result = place.call("domain", place / "people.csv", "-o", place / "draft.yaml")
    assert result.exit_code == 0, result.output
    assert "as private as the data" in result.stderr
    draft = (place / "draft.yaml").read_text()
    assert set(yaml.safe_load(draft)["attributes"]) == {"sex", "age", "job"}
    assert yaml.safe_load(place.call("domain", place / "people.csv").stdout) == yaml.safe_load(draft)
    assert json.loads(place.call("domain", place / "people.csv", "--json").stdout)["draft"] == draft
    assert "exists" in place.call("domain", place / "people.csv", "-o", place / "draft.yaml").stderr
    assert "name it .yaml" in place.call("domain", place / "people.csv", "-o", place / "draft.json").stderr


def test_domain_leaves_the_count_column_out(place: Place) -> None:
    (place / "cells.csv").write_text("sex,n\nF,300\nM,100\n")
    drafted = yaml.safe_load(place.call("domain", place / "cells.csv", "--count-column", "n").stdout)
    assert list(drafted["attributes"]) == ["sex"]


def test_plan_and_release_say_what_they_are_made_for(place: Place) -> None:
    given = ("--domain", place / "people.yaml", "--epsilon", 1, "--delta", 1e-9, "--total", 3000)
    for wanted, more in (("records", ()), ("answers", ("--for", "answers"))):
        planned = place.call("plan", *given, *more)
        assert f"by the predicted error of {wanted}" in " ".join(planned.stdout.split())
        decided = json.loads(place.call("plan", *given, *more, "--json").stdout)["decision"]
        assert decided["optimize_for"] == wanted
        assert decided["fixed_error"] < decided["fixed_records_error"]
        assert place.synth(*more, "--force").exit_code == 0
        assert Release.load(place / "out.release").provenance.parameters["optimize_for"] == wanted


def test_plan_spends_and_writes_nothing(place: Place) -> None:
    call = ("plan", "--domain", place / "people.yaml", "--epsilon", 1)
    text = place.call(*call, "--total", 400)
    assert text.exit_code == 0, text.output
    for word in ("memory", "time", "rounds", "charges", "noise", "bound"):
        assert word in text.stdout
    values = json.loads(place.call(*call, "--total", 400, "--json").stdout)
    assert values["fits"] is True
    assert values["limit"] == 1.0
    best, *others = values["fixed"]
    assert f"{best['name']} {best['mean_error'] / 400:.3g}" in text.stdout
    assert all(best["mean_error"] <= each["mean_error"] for each in others)
    assert place.call(*call).exit_code == 2
    assert place.names() == ["people.csv", "people.yaml"]


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("name", [*ONLINE.options, "--alpha", "--beta", "--queries-planned", "--updates", "--total"])
def test_bad_values_of_a_session_to_be_planned_are_refused_with_a_remedy_or_planned(place: Place, name: str) -> None:
    call = ("plan", "--domain", place / "people.yaml", "--epsilon", 1)
    refused = 0
    for value in BAD:
        words = [f"{name}={value}"] if name.startswith("--") else ["--mechanism", f"online-pmw:{name}={value}"]
        whole = ["--mechanism", "online-pmw", *words] if name.startswith("--") else words
        done = place.call(*call, *whole, *([] if name == "--total" else ["--total", 400]))
        refused += done.exit_code > 0
        assert done.exit_code in (0, 1, 2), (value, done.exception)
        assert (done.exit_code == 1) <= ("remedy: " in done.stderr), (value, done.stderr)
        assert (done.exit_code == 2) <= (name.removeprefix("--") in done.stderr), (value, done.stderr)
        assert isinstance(done.exception, SystemExit | None), (value, done.exception)
    assert refused >= 5


def test_plan_forecasts_a_session(place: Place) -> None:
    call = ("plan", "--domain", place / "people.yaml", "--epsilon", 1, "--mechanism")
    text = place.call(*call, "online-pmw:updates=9", "--total", 400)
    assert text.exit_code == 0, text.output
    words = [line.split()[0] for line in text.stdout.splitlines() if line[:1].islower()]
    assert words[:6] == ["memory", "time", "calls", "variant", "queries", "updates"]
    values = json.loads(place.call(*call, "online-pmw:updates=9", "--total", 400, "--json").stdout)
    assert (values["updates"], values["limit"], values["effort"]["room"]) == (9, 1.0, None)
    assert 0.0 < values["effort"]["first"] <= values["effort"]["last"] < values["effort"]["corrections"]
    aimed = place.call(*call, "online-pmw", "--alpha", 0.9, "--total", 4_000_000, "--json")
    assert json.loads(aimed.stdout)["theorem"] is True
    for more in (["--workload", "marginals:2"], ["--target-error", 0.1], ["--rounds", 3], ["--for", "answers"], []):
        named = "online-pmw" if more else "online-pmw:rounds=3"
        assert place.call(*call, named, "--total", 400, *more).exit_code == 2
    assert place.call(*call, "online-pmw").exit_code == 2
    assert place.call(*call, "online-pmw:alpha=0.5", "--alpha", 0.4, "--total", 400).exit_code == 2
    assert place.synth("--mechanism", "online-pmw").exit_code == 2
    read = place.call(*call, "online-pmw", "--total", 400, place / "people.csv")
    assert "fits its domain" in read.output
    assert place.names() == ["people.csv", "people.yaml"]


WANTED = [("--epsilon", 1), ("--target-error", 0.02), ("--target-interval", 30)]


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("relation", ["add-remove", "replace-then-filter"])
@pytest.mark.parametrize("wanted", WANTED, ids=lambda each: each[0])
def test_nothing_in_a_plan_depends_on_the_private_number_of_records(
    place: Place, wanted: tuple[Any, ...], relation: str
) -> None:
    """Not even a rounded one, which one record can change: it is given, or there is no plan."""
    rows = (place / "people.csv").read_text().splitlines()
    call = ("plan", place / "people.csv", "--domain", place / "people.yaml", "--neighbours", relation, *wanted)
    found = []
    for n in (400, 399, 5):
        (place / "people.csv").write_text("\n".join(rows[: n + 1]) + "\n")
        refused = place.call(*call, "--json")
        assert refused.exit_code == 1
        assert "--total" in refused.stderr
        told = json.loads(place.call(*call, "--total", 1_000, "--json").stdout)
        del told["available_bytes"]  # of the machine
        assert told["total"] == 1_000
        found.append((refused.stdout, refused.stderr, told))
    assert found[0] == found[1] == found[2]
    without = json.loads(place.call(call[0], *call[2:], "--total", 1_000, "--json").stdout)
    assert {name: without[name] for name in found[0][2]} == found[0][2], "the table is read, and says nothing"


def a_private_number_is_refused() -> None:
    with TemporaryDirectory() as made:
        place = Place(Path(made))
        (place / "people.csv").write_text("a\n0\n1\n")
        (place / "people.yaml").write_text("a: {min: 0, max: 1}\n")
        call = ("plan", place / "people.csv", "--domain", place / "people.yaml", "--epsilon", 1, "--json")
        assert place.call(*call).exit_code == 1


def of_the_table(shown: Any, reading: Any, data: str, _: Any) -> float:
    return float(reading.read_data(shown, data).total())


MUTANTS = [
    Mutant(
        "a plan uses the private number of records",
        lambda patch: patch.setattr(preparing, "_public_total", of_the_table),
        a_private_number_is_refused,
    )
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_planted_bug_of_plans_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_a_plan_with_the_table_reads_it_and_says_whether_it_fits(place: Place) -> None:
    call = ("plan", place / "people.csv", "--domain", place / "people.yaml", "--epsilon", 1, "--total", 1_000)
    assert "fits its domain" in place.call(*call).stderr
    (place / "people.csv").write_text((place / "people.csv").read_text() + "X,21,clerk\n")
    refused = place.call(*call)
    assert refused.exit_code == 1
    assert "sex" in refused.stderr
    assert refused.stdout == ""


def test_under_replace_the_number_of_records_is_public_and_a_plan_uses_it(place: Place) -> None:
    call = ("plan", place / "people.csv", "--domain", place / "people.yaml", "--epsilon", 1, "--json")
    told = place.call(*call, "--neighbours", "replace")
    assert json.loads(told.stdout)["total"] == 400
    assert "public under 'replace'" in told.stderr
    for filtering in (("--where", "sex = 'F'"), ("--person", "age", "--at-most", 2)):
        refused = place.call(*call, "--neighbours", "replace", *filtering)
        assert refused.exit_code == 1, refused.output
        assert "--total" in refused.stderr


def test_answers_and_reports_have_estimates_that_say_what_they_are(place: Place, release: Path) -> None:
    call = ("answer", release, "sex = 'F'", "sex = 'M' and age < 22 and job is null", "--simulate", 3, "--seed", 1)
    told = json.loads(place.call(*call, "--json").stdout)
    assert told["simulated"]["label"] == "estimated, not proved"
    assert told["simulated"]["runs"] == 3
    for each in told["answers"]:
        estimate = each["estimated"]
        assert estimate["low"] <= each["value"] <= estimate["high"]
        assert "estimated, not proved" in estimate["says"]
    assert json.loads(place.call(*call, "--json").stdout) == told
    text = place.call(*call)
    assert text.stdout.count("estimated, not proved: from 3 simulated runs") == 2
    assert "simulating 3 runs" in text.stderr
    assert "estimated" not in place.call(*call[:3]).stdout
    assert place.call(*call[:3], "--simulate", 1).exit_code == 2
    assert place.call("report", release, "-o", place / "r.html", "--simulate", 2, "--seed", 1).exit_code == 0
    page = (place / "r.html").read_text()
    assert "How close it is likely to be: estimated, not proved" in page
    assert "Estimated, not proved: from 2 simulated runs" in page
    assert place.call("report", release, "-o", place / "plain.html").exit_code == 0
    assert "simulated runs" not in (place / "plain.html").read_text()


def test_plan_finds_the_budget_of_a_wanted_error(place: Place, release: Path) -> None:
    call = ("plan", "--domain", place / "people.yaml", "--total", 4000)
    told = json.loads(place.call(*call, "--target-error", 0.02, "--json").stdout)
    target, best = told["target"], told["target"]["fixed"][0]
    assert target["mechanism"]["basis"] == "heuristic"
    assert target["mechanism"]["mean_error"] == pytest.approx(0.02, rel=0.03)
    assert told["limit"] == target["mechanism"]["amount"]
    assert [each["amount"] for each in target["fixed"]] == sorted(each["amount"] for each in target["fixed"])
    at = json.loads(place.call(*call, "--epsilon", best["amount"], "--json").stdout)["fixed"]
    (same,) = (each for each in at if each["name"] == best["name"])
    assert same["mean_error"] / 4000 == pytest.approx(0.02, rel=0.03)
    text = place.call(*call, "--target-error", 0.02, "--solve-for", "rho").stdout
    assert "target   mean error 0.02 of the records: the smallest rho" in text


@pytest.mark.slow
def test_plan_simulates_on_an_earlier_release_or_a_public_table(place: Place, release: Path) -> None:
    call = ("plan", "--domain", place / "people.yaml", "--total", 400, "--target-error", 0.1)
    for like in (release, place / "people.csv"):
        result = place.call(*call, "--like", like, "--json")
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)["target"]["mechanism"]
        assert found["basis"] == "simulated"
        assert found["mean_error"] <= 0.1
        assert found["interval"] > 0.0
    assert "simulated: estimated, not proved" in place.call(*call, "--like", release).stdout
    (place / "narrow.csv").write_text("sex,age\nF,21\n")
    assert "no column 'job'" in place.call(*call, "--like", place / "narrow.csv").stderr


def test_plan_says_when_nothing_predicts_a_target(place: Place) -> None:
    call = ("plan", "--domain", place / "people.yaml", "--total", 4000)
    text = place.call(*call, "--target-interval", 30).stdout
    assert "19 of 20 answers within 30 counts" in text
    assert "mwem: nothing predicts this before a run; give --like FILE" in text
    assert place.call(*call, "--target-error", 0.02, "--epsilon", 1).exit_code == 2
    assert place.call(*call, "--epsilon", 1, "--like", "x.release").exit_code == 2
    assert place.call(*call, "--target-error", -1).exit_code == 1


def test_plan_says_when_the_theorem_bounds_nothing(place: Place) -> None:
    call = ("plan", "--domain", place / "people.yaml", "--total", 10**9, "--epsilon")
    assert "bound    none" in place.call(*call, 1e-9).stdout
    assert "bound    none: theorem 2.3 is about rounds" in place.call(*call, 10, "--workload", "cells:2").stdout
    assert "bound    no error above" in place.call(*call, 10, "--workload", "cells:2", "--rounds", "bound").stdout


def test_the_bad_one_of_several_conditions_is_named(place: Place, release: Path) -> None:
    result = place.call("answer", release, "sex = 'F'", "job = 'astronaut'")
    assert result.exit_code == 1
    assert """condition 2, "job = 'astronaut'":""" in result.stderr


def test_json_has_null_where_there_is_no_finite_number(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).result({"a": [float("inf"), 1.5], "b": (float("nan"),)})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "b": [None]}


def test_a_domain_that_does_not_fit_is_refused_with_the_estimate(place: Place) -> None:
    attributes = {f"a{i}": {"min": 0, "max": 59} for i in range(8)}
    (place / "wide.yaml").write_text(json.dumps({"attributes": attributes}))
    marginal = ("--workload", "marginals:a0*a1*a2*a3")
    plan = place.call("plan", "--domain", place / "wide.yaml", "--epsilon", 1, "--total", 100, *marginal)
    assert plan.exit_code == 1
    assert "has 12,960,000 cells" in plan.stderr
    allowed = place.call("plan", "--domain", place / "wide.yaml", "--epsilon", 1, "--total", 100)
    assert "junction trees of up to" in allowed.stdout
    (place / "wide.csv").write_text(",".join(attributes) + "\n" + ",".join("1" * 8) + "\n")
    call = ("synth", place / "wide.csv", "--domain", place / "wide.yaml", "--epsilon", 1, "-o", place / "w.csv")
    result = place.call(*call, *marginal)
    assert result.exit_code == 1
    assert "MiB" in result.stderr
    assert "spent" not in result.stderr


def test_domain_check_says_what_a_file_allows(place: Place) -> None:
    file = place / "rules.yaml"
    file.write_text(
        """
attributes: {age: {min: 0, max: 99}, married: ["no", "yes"], area: [a, b, c]}
derived: {density: {from: area, table: {a: 1, b: 2, c: 2}}}
constraints:
  - {impossible: "age < 15 and married = 'yes'"}
  - {if: "age < 10", then: "married = 'no'"}
  - {impossible: "area = 'c'"}
""",
        encoding="utf-8",
    )
    result = place.call("domain", "--check", file)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "records      600 combinations of values",
        "feasible     370 of them break no constraint",
        "levels       age: age.10",
        "derived      density",
        "never        area: c",
        "implied      if age < 10, then married = 'no' (the other constraints say as much)",
    ]
    assert json.loads(place.call("domain", "--check", file, "--json").stdout)["feasible"] == 370
    assert place.call("domain").exit_code == 2
    assert place.call("domain", place / "people.csv", "--check", file).exit_code == 2
    assert place.call("domain", "--check", file, "-o", place / "x.yaml").exit_code == 2


SCHEMA = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"], "required": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "required": True}},
        {"name": "born", "type": "date", "constraints": {"required": True}},
    ]
}


def test_a_domain_is_written_from_a_schema(place: Place) -> None:
    schema, file = place / "people.schema.json", place / "schema.yaml"
    schema.write_text(json.dumps(SCHEMA))
    result = place.call("domain", "--from-schema", schema, "-o", file)
    assert "age: max; born: min, max" in result.stderr
    refused = place.call("domain", "--check", file)
    assert (refused.exit_code, "attribute 'age': '...' is neither" in refused.stderr) == (1, True)
    bounds = ("--bounds", "age=0..120", "--bounds", "born=1900-01-01..2024-12-31")
    whole = place.call("domain", "--from-schema", schema, *bounds, "-o", file, "--force")
    assert (whole.exit_code, whole.stderr) == (0, "")
    assert hedgerow.read_domain(file).shape == (2, 121, 45_656)
    chosen = place.call("domain", "--from-schema", schema, "--columns", "sex")
    assert yaml.safe_load(chosen.stdout) == {"attributes": {"sex": {"values": ["F", "M"]}}, "ignore": ["age", "born"]}


def test_a_schema_that_is_none_or_lacks_a_column_is_refused(place: Place) -> None:
    schema = place / "people.schema.json"
    schema.write_text(json.dumps(SCHEMA))
    assert "has no column 'size'" in place.call("domain", "--from-schema", schema, "--bounds", "size=0..9").stderr
    assert "no schema that is known" in place.call("domain", "--from-schema", place / "people.yaml").stderr
    missing = place.call("domain", "--from-schema", place / "none.json")
    assert (missing.exit_code, "none.json: it cannot be read" in missing.stderr) == (1, True)
    assert place.call("domain", "--from-schema", schema, "--public").exit_code == 2
    assert place.call("domain", "--from-schema", schema, "-o", schema).exit_code == 1


def test_domain_check_names_durations_between_columns(place: Place) -> None:
    file = place / "stays.yaml"
    days = "day: {min: 2023-01-01, max: 2023-12-31}"
    file.write_text(f"attributes: {{{days}, stay: {{from: day, to: left, min: 0, max: 9, unit: d}}}}")
    assert "between      day + stay = left" in place.call("domain", "--check", file).stdout.splitlines()


def test_domain_check_names_rules_that_contradict_each_other(place: Place) -> None:
    file = place / "rules.yaml"
    file.write_text("{attributes: {a: 2}, constraints: [{impossible: a = 0}, {impossible: a = 1}]}", encoding="utf-8")
    result = place.call("domain", "--check", file)
    assert result.exit_code == 1
    assert "'impossible: a = 0' and 'impossible: a = 1' contradict each other" in result.stderr


def test_domain_check_says_why_records_are_not_counted(place: Place) -> None:
    file = place / "rules.yaml"
    rule = "impossible: host < 5 and up = 1"
    file.write_text(f"{{attributes: {{host: {{min: 0, max: 4999999}}, up: 2}}, constraints: [{{{rule}}}]}}")
    result = place.call("domain", "--check", file)
    assert result.exit_code == 0
    assert "not counted: that takes a table of more than 4,194,304 cells" in result.stdout
    assert json.loads(place.call("domain", "--check", file, "--json").stdout)["feasible"] is None


def test_helps_name_levels_derived_columns_and_rules(place: Place) -> None:
    for command in ("synth", "plan", "domain"):
        text = " ".join(place.call(command, "--help").stdout.replace("\u2502", " ").split())
        assert "levels" in text
        assert "derived" in text
        assert "rules" in text
        assert ("marginals:2 @levels" in text) == (command != "domain")


def test_a_draft_is_refused_and_when_accepted_the_release_says_so(place: Place) -> None:
    wrapped = yaml.safe_load((place / "people.yaml").read_text())
    entries = wrapped.get("attributes", wrapped)
    entries.pop("job")
    (place / "d.yaml").write_text(
        yaml.safe_dump({"draft": True, "attributes": entries, "ignore": ["job"]}, sort_keys=False)
    )
    call = ("synth", place / "people.csv", "--domain", place / "d.yaml", "--epsilon", 1, "-o", place / "d.csv")
    ask = ("ask", place / "people.csv", "--domain", place / "d.yaml", "--session", place / "d.session", "--epsilon", 9)
    for refused in (place.call(*call), place.call(*ask, "sex = 'F'")):
        assert refused.exit_code == 1
        assert "is a draft" in refused.stderr
        assert "--accept-draft" in refused.stderr
    assert not {"d.csv", "d.release", "d.session"} & set(place.names())
    assert place.call("plan", *call[2:6], "--total", 400).exit_code == 0
    checked = place.call("domain", "--check", place / "d.yaml")
    assert "this is a draft" in checked.stderr
    assert "ignored      job" in checked.stdout
    done = place.call(*call, "--accept-draft", "--json")
    assert done.exit_code == 0, done.stderr
    assert "draft that was accepted" in json.loads(done.stdout)["guarantee"]
    shown = " ".join(place.call("show", place / "d.release").stdout.split())
    assert "draft that was accepted as it stood" in shown
    assert "Columns that are not read: job." in shown
    assert (place / "d.csv").read_text().splitlines()[0] == "sex,age"
    opened = place.call(*ask, "--accept-draft", "sex = 'F'")
    assert opened.exit_code == 0, opened.stderr
    assert "draft that was accepted" in " ".join(opened.stdout.split())
    assert place.call("ask", place / "people.csv", "--session", place / "d.session", "age < 22").exit_code == 0


def test_statements_are_answered_from_a_release_as_tables(place: Place, release: Path) -> None:
    statement = "SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex"
    told = json.loads(place.call("answer", release, "sex = 'F'", statement, "--json").stdout)
    assert [each["condition"] for each in told["answers"]] == ["sex = 'F'"]
    (table,) = told["tables"]
    assert (table["statement"], table["charged"]) == (statement, 0.0)
    (row,) = [each for each in table["rows"] if each["sex"] == "F"]
    assert row["COUNT(*)"] == pytest.approx(told["answers"][0]["value"])
    assert row["AVG(age) low"] <= row["AVG(age)"] <= row["AVG(age) high"]
    text = " ".join(place.call("answer", release, statement).stdout.split())
    assert "AVG(age)" in text
    assert table["covers"] in text
    assert "95% confidence each" in table["covers"]
    joint = json.loads(place.call("answer", release, "sex = 'F'", "age < 22", statement, "--joint", "--json").stdout)
    assert "95% confidence for all 4 together" in joint["tables"][0]["covers"]
    for alone, together in zip(table["rows"], joint["tables"][0]["rows"], strict=True):
        assert together["AVG(age) low"] < alone["AVG(age) low"]
    assert "97.5% confidence" in joint["answers"][0]["covers"]
    assert joint["answers"][1]["covers"].endswith("with 95% confidence all 2 hold together")
    both = place.call("answer", release, statement, "--simulate", 2)
    assert "--simulate is for conditions" in both.stderr


def test_metadata_are_written_and_what_is_missing_is_said(place: Place, release: Path) -> None:
    call = place.call(
        "metadata", release, "--format", "croissant", "-o", place / "c.json", "--title", "People", "--json"
    )
    told = json.loads(call.stdout)
    assert told == {
        "file": str(place / "c.json"),
        "format": "croissant",
        "missing": ["--made-by", "--url", "--license"],
    }
    assert "give --made-by, --url, --license" in call.stderr
    written = json.loads((place / "c.json").read_text())
    assert (written["name"], written["distribution"][0]["name"]) == ("People", release.name)
    again = place.call("metadata", release, "--format", "ddi", "-o", place / "c.json")
    assert "exists" in again.stderr
    secret = place.call("metadata", release, "--format", "registry", "-o", place / "r.yaml")
    private = "NOT PRIVATE" not in place.call("show", release).stderr
    assert (secret.exit_code == 0) is private
    assert (place / "r.yaml").exists() is private
