"""Bins that are learnt, on the command line: one ledger for all, in every kind of table, and what is refused."""

from __future__ import annotations

import json
import re

import duckdb
import pyarrow.csv
import pyarrow.parquet
import pytest

from hedgerow.domain import Binned, Categorical, Domain, domain_to_mapping
from hedgerow.release import Release
from tests.cli.conftest import Place

DOMAIN = {
    "attributes": {
        "sex": ["F", "M"],
        "age": {"min": 0, "max": 63, "whole": True, "bins": {"learn": 4}},
        "job": {"values": ["clerk", "nurse", "teacher"], "missing": True},
    }
}


@pytest.fixture
def open_place(place: Place) -> Place:
    (place / "people.yaml").write_text(json.dumps(DOMAIN))
    return place


def written(place: Place, kind: str) -> str:
    """The same table as another kind."""
    table = pyarrow.csv.read_csv(
        place / "people.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    )
    if kind == "duckdb":
        with duckdb.connect(str(place / "people.db")) as base:
            base.register("rows", table)
            base.execute("create table people as select * from rows")
        return f"duckdb:{place / 'people.db'}#people"
    if kind == "parts":
        (place / "parts").mkdir()
        for part in range(2):
            pyarrow.parquet.write_table(table.slice(200 * part, 200), place / "parts" / f"{part}.parquet")
        return str(place / "parts" / "*.parquet")
    return str(place / "people.csv")


@pytest.mark.parametrize("kind", ["csv", "duckdb", "parts"])
@pytest.mark.parametrize("budget", [("--epsilon", 4), ("--epsilon", 2, "--delta", 1e-9), ("--rho", 1), ("--mu", 1)])
def test_bins_are_learnt_from_the_same_budget(open_place: Place, kind: str, budget: tuple[object, ...]) -> None:
    if kind != "csv" and budget != ("--rho", 1):
        return
    call = ("synth", written(open_place, kind), "--domain", open_place / "people.yaml", *budget)
    result = open_place.call(*call, "-o", open_place / "out.csv", "--workload", "marginals:1", "--mechanism", "mwem")
    assert result.exit_code == 0, result.output
    release = Release.load(open_place / "out.release")
    age = release.workload.domain["age"]
    assert isinstance(age, Binned)
    assert age.learnt
    assert age.edges[:1] + age.edges[-1:] == (0.0, 63.0)
    assert [(event.label, event.values) for event in release.events[:2]] == [("learn", 1), ("learn", 2)]
    assert 0.049 < sum(event.charge for event in release.events[:2]) / release.budget.limit <= 0.05
    assert 0.99 * release.budget.limit < release.spent <= release.budget.limit
    audited = open_place.call("audit", open_place / "out.release")
    assert audited.exit_code == 0, audited.output


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("kind", ["csv", "duckdb", "parts"])
def test_values_are_learnt_from_the_same_budget(open_place: Place, kind: str) -> None:
    entry = {"values": {"learn": 2}, "missing": True}
    domain = {"attributes": {**DOMAIN["attributes"], "job": entry}}
    (open_place / "people.yaml").write_text(json.dumps(domain))
    call = ("synth", written(open_place, kind), "--domain", open_place / "people.yaml", "--workload", "marginals:1")
    refused = open_place.call(*call, "--epsilon", 4, "-o", open_place / "out.csv")
    assert refused.exit_code != 0
    assert "--delta 1e-9" in " ".join(refused.output.split())
    assert not (open_place / "out.release").exists()
    into = ("--register", open_place / "r.register")
    limit = (*into, "--limit", 20, "--limit-delta", 1e-3, "--limit-thresholds", 9e-5)
    result = open_place.call(*call, "--epsilon", 8, "--delta", 1e-4, *limit, "-o", open_place / "out.csv")
    assert result.exit_code == 0, result.output
    assert re.search(r"labels of job that fewer than about \d+ records have become 'other'", result.stderr)
    asked = ("ask", call[1], "--session", open_place / "s.session", "age <= 63")
    (open_place / "learnt.yaml").write_text(
        json.dumps(domain_to_mapping(Release.load(open_place / "out.release").domain))
    )
    warm = ("--domain", open_place / "learnt.yaml", "--warm", open_place / "out.release")
    begun = open_place.call(*asked, *warm, "--epsilon", 10, "--delta", 1e-3)
    assert begun.exit_code == 0, begun.output
    assert "of delta kept for thresholds" in " ".join(begun.output.split())
    assert open_place.call(*asked, "--epsilon", 10, "--delta", 1e-3).exit_code == 0
    again = open_place.call(*call, "--epsilon", 0.1, "--delta", 1e-4, *into, "-o", open_place / "more.csv")
    assert again.exit_code != 0
    assert "5e-05 delta of thresholds requested, 5e-05 of 9e-05 spent" in " ".join(again.output.split())
    release = Release.load(open_place / "out.release")
    job = release.domain["job"]
    assert isinstance(job, Categorical)
    assert job.learnt
    assert 1 <= job.ordinary <= 2, "of three, each of which has more records than the threshold"
    assert set(job.values) < {"clerk", "nurse", "teacher"}
    deltas = [event.delta for event in release.events]
    assert 0 < sum(deltas) <= 5e-5
    assert "5e-05 of delta kept for thresholds" in release.guarantee()
    assert 0.99 * release.budget.limit < release.spent <= release.budget.limit
    audited = open_place.call("audit", open_place / "out.release")
    assert audited.exit_code == 0, audited.output
    assert "thresholds" in audited.output
    plan = open_place.call(
        "plan", "--domain", open_place / "people.yaml", "--total", 400, "--epsilon", 8, "--delta", 1e-4
    )
    assert "job in up to 2 values" in plan.stdout
    check = open_place.call("domain", "--check", open_place / "people.yaml")
    assert "learn        job: up to 2 values" in check.stdout


def test_no_domain_file_is_needed(open_place: Place) -> None:
    data = written(open_place, "parts")
    call = ("synth", data, "--auto-domain", "--epsilon", 8, "--delta", 1e-4, "-o", open_place / "out.csv")
    lacking = open_place.call(*call, "--types", "age=int")
    assert lacking.exit_code != 0
    assert "--bounds age=LOW..HIGH" in " ".join(lacking.output.split())
    both = open_place.call(*call, "--domain", open_place / "people.yaml")
    neither = open_place.call("synth", data, "--epsilon", 1, "-o", open_place / "out.csv")
    assert (both.exit_code, neither.exit_code) == (2, 1)
    assert "--auto-domain" in neither.output
    wrong = open_place.call(*call, "--bounds", "age:0-63")
    assert "NAME=LOW..HIGH" in wrong.output
    unused = open_place.call(
        "synth", data, "--domain", open_place / "people.yaml", "--bounds", "age=0..63", "-o", "o.csv"
    )
    assert "a domain file has its own" in " ".join(unused.output.replace("│", " ").split())
    made = open_place.call(*call, "--bounds", "age=0..63")
    assert made.exit_code == 0, made.output
    domain = Release.load(open_place / "out.release").domain
    assert {name for name in domain.names if isinstance(domain[name], Categorical) and domain[name].learnt} >= {"job"}
    assert open_place.call("audit", open_place / "out.release").exit_code == 0
    place = open_place / "public.yaml"
    file = open_place.call("domain", data, "--public", "--bounds", "age=0..63", "-o", place)
    assert file.exit_code == 0, file.output
    assert "nurse" not in place.read_text()
    planned = open_place.call("plan", "--domain", place, "--total", 400, "--epsilon", 8, "--delta", 1e-4)
    assert "job in up to 500 values" in planned.stdout, planned.output
    assert open_place.call("domain", data, "--bounds", "age=0..63").exit_code == 2


def test_types_are_said_or_trusted_by_name(open_place: Place) -> None:
    data = written(open_place, "parts")
    call = ("synth", data, "--auto-domain", "--epsilon", 8, "--delta", 1e-4, "--force")
    trusted = "trusted to be public"
    said = open_place.call(*call, "--types", "age=int,job=text", "--bounds", "age=0..63", "-o", open_place / "a.csv")
    assert said.exit_code == 0, said.output
    assert trusted not in said.output
    lacking = open_place.call(*call, "--trust-types", "-o", open_place / "b.csv")
    assert "--bounds age=LOW..HIGH" in " ".join(lacking.output.split())
    made = open_place.call(*call, "--trust-types", "--bounds", "age=0..63", "-o", open_place / "b.csv")
    assert made.exit_code == 0, made.output
    assert trusted in " ".join(made.output.split())
    release = Release.load(open_place / "b.release")
    assert release.domain.trusted_types
    assert release.guarantee().endswith("is outside this guarantee.")
    audited = open_place.call("audit", open_place / "b.release")
    assert audited.exit_code == 0, audited.output
    assert "those of its columns were trusted" in " ".join(audited.output.split())
    place = open_place / "trusted.yaml"
    file = open_place.call("domain", data, "--public", "--trust-types", "--bounds", "age=0..63", "-o", place)
    assert file.exit_code == 0, file.output
    assert '"trusted_types": true' in place.read_text()
    planned = open_place.call("plan", "--domain", place, "--total", 400, "--epsilon", 8, "--delta", 1e-4)
    assert trusted in " ".join(planned.output.split())
    known = open_place / "learnt.yaml"
    known.write_text(json.dumps(domain_to_mapping(release.domain)))
    begun = ("ask", data, "--domain", known, "--session", open_place / "s.session", "--epsilon", 1)
    asked = open_place.call(*begun, "sex = 'F'")
    assert asked.exit_code == 0, asked.output
    assert trusted in " ".join(asked.output.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--types", "age:int"), "NAME=TYPE"),
        (("--types", "age=integer"), "the type 'integer' of 'age' is unknown"),
        (("--types", "sex=text", "--bounds", "sex=0..1"), "bounds of 'sex', which is text"),
        (("--bounds", "age=0..20"), "outside the declared range 0 to 20"),
        (("--types", "job=number", "--bounds", "job=0..1"), "a text where the domain declares numbers"),
    ],
)
def test_what_does_not_fit_is_told_without_cells(open_place: Place, arguments: tuple[str, ...], message: str) -> None:
    call = (
        "synth",
        open_place / "people.csv",
        "--auto-domain",
        "--epsilon",
        8,
        "--delta",
        1e-4,
        "-o",
        open_place / "o.csv",
    )
    result = open_place.call(*call, *arguments)
    told = " ".join(result.output.replace("│", " ").split())
    assert result.exit_code != 0
    assert message in told
    assert not any(job in told for job in ("nurse", "clerk", "teacher"))
    unused = open_place.synth("--types", "age=int")
    assert "a domain file has its own" in " ".join(unused.output.replace("│", " ").split())


def test_a_fraction_among_whole_numbers_says_what_to_write(open_place: Place) -> None:
    with (open_place / "people.csv").open("a") as file:
        file.write("F,21.625,clerk\n")
    call = (
        "synth",
        open_place / "people.csv",
        "--auto-domain",
        "--epsilon",
        8,
        "--delta",
        1e-4,
        "-o",
        open_place / "o.csv",
    )
    told = " ".join(open_place.call(*call, "--bounds", "age=0..63").output.split())
    assert "a number with a fraction where the domain declares whole numbers" in told
    assert "--types age=number" in told
    assert "21.6" not in told
    assert open_place.call(*call, "--bounds", "age=0.0..63.0").exit_code == 0


def test_a_seed_is_that_of_the_whole_run(open_place: Place) -> None:
    texts = []
    for _ in range(2):
        assert open_place.synth("--seed", 3, "--force").exit_code == 0
        texts.append(Release.load(open_place / "out.release").workload.domain)
    assert texts[0] == texts[1]
    assert not Release.load(open_place / "out.release").provenance.secure


def test_a_filter_is_one_of_both_parts(open_place: Place) -> None:
    result = open_place.synth("--where", "sex = 'F'", "--neighbours", "replace")
    assert result.exit_code == 0, result.output
    events = Release.load(open_place / "out.release").events
    assert {event.neighbours for event in events} == {"replace-then-filter"}


def test_the_plan_shows_what_learning_costs(open_place: Place) -> None:
    call = ("plan", "--domain", open_place / "people.yaml", "--total", 400)
    result = open_place.call(*call, "--epsilon", 1, "--workload", "marginals:1")
    assert result.exit_code == 0, result.output
    assert "learn    5% of the budget: age in 4 bins, in 2 rounds at 0.025 epsilon" in result.stdout
    assert "positions 7% of the budget: sums inside bins of age" in result.stdout
    assert "0.88 epsilon" in result.stdout


@pytest.mark.parametrize(("total", "warned"), [(400, True), (40_000, False)])
def test_the_plan_says_where_hardly_anything_can_be_learnt(open_place: Place, total: int, warned: bool) -> None:
    entries = {"job": {"values": {"learn": 9}}, "sex": ["F", "M"]}
    (open_place / "people.yaml").write_text(json.dumps({"attributes": entries}))
    call = ("plan", "--domain", open_place / "people.yaml", "--total", total, "--workload", "marginals:1")
    told = open_place.call(*call, "--epsilon", 0.2, "--delta", 1e-9).stderr
    assert (f"of the {total:,} records have it, so at most one is" in " ".join(told.split())) is warned


def test_a_target_is_reached_with_what_learning_leaves(open_place: Place) -> None:
    call = ("plan", "--domain", open_place / "people.yaml", "--total", 400, "--workload", "marginals:1", "--json")
    found = json.loads(open_place.call(*call, "--target-error", 0.05).stdout)["target"]["fixed"][0]
    again = json.loads(open_place.call(*call, "--epsilon", found["amount"]).stdout)["fixed"]
    (error,) = (each["mean_error"] / 400 for each in again if each["name"] == found["name"])
    assert error == pytest.approx(found["mean_error"], rel=1e-6)
    assert 0.98 * 0.05 <= error <= 0.05


def test_a_check_counts_with_as_many_bins(open_place: Place) -> None:
    result = open_place.call("domain", "--check", open_place / "people.yaml")
    assert result.exit_code == 0, result.output
    assert "learn        age: 4 bins" in result.stdout
    assert "records      32 combinations" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--workload", "marginals:2; where: age < 22"), 1, "'age', of which bins or values are to be learnt"),
        (("--workload", "where: sex = 'F' and age = '[20, 22)'"), 1, "'age', of which bins or values are to be learnt"),
        (("--workload", "marginals:age.5*sex"), 1, "there is no attribute 'age.5'"),
        (("--coded",), 2, "of which nothing is to be learnt"),
        (("--prior", "people.csv"), 2, "of which nothing is to be learnt"),
    ],
)
def test_what_needs_known_bins_is_refused(
    open_place: Place, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = open_place.synth(*arguments)
    assert result.exit_code == code
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "out.csv" not in open_place.names()


def test_bad_cells_show_before_anything_is_spent(open_place: Place) -> None:
    with (open_place / "people.csv").open("a") as file:
        file.write("F,21,pilot\n")
    result = open_place.synth()
    assert result.exit_code == 1
    assert "spent" not in result.output
    assert "column 'job'" in result.output


def test_what_was_learnt_before_a_run_stops_stays_spent(open_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.runs.workload_over", stopping_third(stops))
    result = open_place.synth()
    assert result.exit_code != 0
    assert "spent before it stopped: 0.05 of 1 epsilon" in result.output


def stopping_third(stops: object) -> object:
    """Passes on the calls before anything is learnt, and stops at the next."""
    from hedgerow import runs

    known, calls = runs.workload_over, []

    def passing(domain: Domain, text: str | None = None) -> object:
        calls.append(text)
        return known(domain, text) if len(calls) <= 2 else stops()  # type: ignore[operator]

    return passing
