"""``hedgerow compare``, and the choice of a mechanism in ``synth`` and ``plan``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import Result

from hedgerow.algorithms import ENTRIES, names
from hedgerow.cli.console import showing_runs
from hedgerow.comparison import Step
from hedgerow.privacy import ApproxDP, PureDP, Regime, Subsampled
from hedgerow.release import Release
from tests.cli.conftest import Place
from tests.cli.test_console import terminal


def call(place: Place, *arguments: object, budget: tuple[object, ...] = ("--epsilon", "0.5,5")) -> Result:
    data, domain = place / "people.csv", place / "people.yaml"
    common = ("--repeats", 2, "--seed", 1, "-o", place / "c.csv", "--columns", "sex,job")
    return place.call("compare", data, "--domain", domain, *budget, *common, *arguments)


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_table_rows_summary_drawing_and_page(place: Place) -> None:
    result = call(
        place, "--mechanisms", "mwem,mwem:rounds=1,gaussian", "--plot", place / "c.svg", "--html", place / "c.html"
    )
    assert result.exit_code == 0, result.output
    assert "NOT PRIVATE: these are exact errors" in result.stderr
    assert result.stdout.startswith("NOT PRIVATE: total variation distance")
    for text in ("mwem:rounds=1", "epsilon 0.5", "(uniform)"):
        assert text in result.stdout
    assert place.names() == ["c.csv", "c.html", "c.summary.csv", "c.svg", "people.csv", "people.yaml"]
    assert len(rows_of(place / "c.csv")) == 2 * 2 * 2 * 3 + 2
    assert {row["label"] for name in ("c.csv", "c.summary.csv") for row in rows_of(place / name)} == {"not private"}
    assert "NOT PRIVATE" in (place / "c.svg").read_text()
    assert "<title>NOT PRIVATE" in (place / "c.html").read_text()
    assert "gaussian did not run with epsilon 0.5, epsilon 5" in result.stderr


def test_json_holds_the_averages_and_the_label(place: Place) -> None:
    result = call(place, "--mechanisms", "laplace", "--json", budget=("--rho", "0.1, 0.5", "--neighbours", "replace"))
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert values["label"] == "not private"
    assert {each["rho"] for each in values["averages"]} == {0.1, 0.5}
    assert {each["mechanism"] for each in values["averages"]} >= {"laplace", "(uniform)", "(independent attributes)"}
    assert values["files"] == {"rows": str(place / "c.csv"), "summary": str(place / "c.summary.csv")}


def test_budgets_in_gaussian_differential_privacy(place: Place) -> None:
    result = call(place, "--mechanisms", "gaussian,mwem:rounds=2", "--json", budget=("--mu", "0.2, 1"))
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert {each["rho"] for each in values["averages"]} == {None}
    assert {each["mechanism"] for each in values["averages"]} >= {"gaussian", "mwem:rounds=2"}
    assert '""mu"": 0.2' in (place / "c.csv").read_text()


def test_warnings_and_reasons_are_shown_even_if_quiet(place: Place) -> None:
    result = call(place, "--mechanisms", "laplace,gaussian", "--quiet")
    assert result.stdout == ""
    assert result.stderr.startswith("NOT PRIVATE")
    assert "gaussian did not run" in result.stderr


def test_a_comparison_of_which_nothing_could_run_ends_with_an_error(place: Place) -> None:
    assert call(place, "--mechanisms", "laplace,gaussian").exit_code == 0
    nothing = call(place, "--mechanisms", "gaussian", "--force", "--quiet")
    assert nothing.exit_code == 1
    assert "gaussian did not run with epsilon 0.5" in nothing.stderr


SAMPLE = ("--neighbours", "replace", "--sampled", 100, "--population", 400)


def test_dual_query_runs_on_a_secret_sample_and_others_say_that_they_do_not(place: Place) -> None:
    budget = ("--epsilon", "1,2", *SAMPLE)
    result = call(place, "--mechanisms", "dual-query:rounds=3,mwem", "--json", budget=budget)
    assert result.exit_code == 0, result.output
    assert "mwem did not run" in result.stderr
    assert "a sample of the records" in result.stderr
    kept = json.loads(rows_of(place / "c.csv")[0]["budget"])
    assert (kept["kind"], kept["sampled"], kept["population"]) == ("subsampled", 100, 400)


@pytest.mark.parametrize("command", ["synth", "plan"])
def test_samples_are_told_for_the_whole_table(place: Place, command: str) -> None:
    budget = Subsampled(ApproxDP(1.0, 1e-6, "replace"), 100, 400)
    beside = (place / "people.csv",) if command == "synth" else ("--total", 400)
    file = ("-o", place / "s.csv") if command == "synth" else ()
    common = (command, *beside, "--domain", place / "people.yaml", "--epsilon", 1, "--delta", 1e-6, *file)
    made = place.call(*common, *SAMPLE, "--mechanism", "dual-query:rounds=3,oracle=brute-force")
    assert made.exit_code == 0, made.output
    assert budget.statement() in " ".join(made.stdout.split())
    if command == "synth":
        assert Release.load(place / "s.release").budget == budget


BAD_SAMPLES = {
    ("--sampled", 100): "go together",
    (*SAMPLE[:4],): "go together",
    ("--sampled", 100, "--population", 400): "--neighbours replace",
    (*SAMPLE, "--mechanism", "mwem"): "does not work on a sample",
    (*SAMPLE, "--population", 50): "cannot be drawn",
    (*SAMPLE, "--population", 401): "another number of them",
    ("--rho", 1, *SAMPLE): "--epsilon",
    (*SAMPLE, "--delta", 1e-6, "--auto-domain", "--bounds", "age=0..90"): "learnt from all records",
}


@pytest.mark.parametrize("given", BAD_SAMPLES, ids=lambda given: " ".join(map(str, given[-4:])))
def test_samples_that_cannot_be_are_refused_before_anything_is_spent(place: Place, given: tuple[object, ...]) -> None:
    amount = () if "--rho" in given else ("--epsilon", 1)
    domain = () if "--auto-domain" in given else ("--domain", place / "people.yaml")
    common = ("synth", place / "people.csv", "-o", place / "s.csv", *domain, *amount, "--mechanism", "dual-query")
    refused = place.call(*common, *given)
    assert refused.exit_code in (1, 2)
    assert BAD_SAMPLES[given] in " ".join(refused.output.replace("│", "").split())
    assert place.names() == ["people.csv", "people.yaml"]


def test_a_target_finds_no_budget_of_a_sample(place: Place) -> None:
    common = ("plan", "--domain", place / "people.yaml", "--total", 400, "--target-error", 0.1, *SAMPLE)
    refused = place.call(*common, "--mechanism", "dual-query")
    assert refused.exit_code == 2
    assert "leave --sampled out" in " ".join(refused.output.replace("│", "").split())


def test_options_of_a_mechanism_stand_between_commas_or_colons(place: Place) -> None:
    result = call(
        place, "--mechanisms", "laplace,mwem:rounds=2,refit=sweeps(3),output=average,fourier:fit=none", "--json"
    )
    assert result.exit_code == 0, result.output
    made = {each["mechanism"] for each in json.loads(result.stdout)["averages"]}
    assert made >= {"laplace", "mwem:rounds=2,refit=sweeps(3),output=average", "fourier:fit=none"}


def test_the_options_of_a_mechanism_are_listed_with_values_defaults_and_units(place: Place) -> None:
    listed = json.loads(place.call("mechanisms", "small-db", "--json").stdout)
    assert "STOC 2008" in listed["source"]
    beta = next(each for each in listed["options"] if each["name"] == "beta")
    assert (beta["values"], beta["default"], beta["unit"]) == ("a number", "0.05", "probability")
    assert "beta = 0.05: a number, probability" in place.call("mechanisms", "small-db").stdout
    assert "did you mean 'mwem'" in place.call("mechanisms", "mwm").stderr


def test_synth_takes_options_with_the_mechanism(place: Place) -> None:
    common = ("synth", place / "people.csv", "--domain", place / "people.yaml", "--epsilon", 1, "-o", place / "s.csv")
    made = place.call(*common, "--mechanism", "mwem:rounds=2,refit=sweeps(3),output=average,initial=histogram")
    assert made.exit_code == 0, made.output
    twice = place.call(*common, "--force", "--mechanism", "mwem:rounds=2", "--rounds", 3)
    assert twice.exit_code == 2
    assert "leave one out" in twice.output
    bad = place.call(*common, "--force", "--mechanism", "mwem:rounds=2.5")
    assert bad.exit_code == 2
    assert "rounds cannot be '2.5'" in " ".join(bad.output.split())


def test_files_are_not_overwritten_but_gone_on_with(place: Place) -> None:
    assert call(place, "--mechanisms", "laplace").exit_code == 0
    before = rows_of(place / "c.csv")
    refused = call(place, "--mechanisms", "laplace")
    assert refused.exit_code == 1
    assert "exists" in refused.stderr
    assert call(place, "--mechanisms", "laplace,mwem:rounds=1", "--resume").exit_code == 0
    after = rows_of(place / "c.csv")
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2 * 2 * 3
    other = call(place, "--mechanisms", "laplace", "--resume", "--workload", "marginals:1")
    assert other.exit_code == 1
    assert "another file" in other.stderr
    assert rows_of(place / "c.csv") == after


def test_an_interruption_keeps_the_runs_that_were_over(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.comparison.grid import Grid

    run = Grid.run

    def interrupted(self: Grid, step: Step) -> object:
        if step.done == 2:
            raise KeyboardInterrupt
        return run(self, step)

    monkeypatch.setattr(Grid, "run", interrupted)
    result = call(place, "--mechanisms", "laplace", "--json")
    assert result.exit_code == 130
    assert f"the runs that were over are in {place / 'c.csv'}" in result.stderr
    assert json.loads(result.stdout)["outcomes"] == str(place / "c.csv")
    assert len(rows_of(place / "c.csv")) == 2 * 6
    monkeypatch.undo()
    assert call(place, "--mechanisms", "laplace", "--resume").exit_code == 0
    assert len(rows_of(place / "c.csv")) == 4 * 6


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--mechanisms", "mwme"), 1, "did you mean 'mwem'"),
        (("--mechanisms", "mwem:alpha=1"), 1, "mwem takes no option 'alpha'"),
        (("--mechanisms", ","), 1, "no mechanism is named"),
        (("--plot", "c.png"), 1, ".svg"),
        (("--html", "c.pdf"), 1, ".html"),
        (("--plot", "none/c.svg"), 1, "does not exist"),
        (("--rho", "0.1"), 2, "either --rho"),
        (("--mu", "0.1"), 2, "either --mu"),
        (("--epsilon", "a lot"), 2, "numbers"),
        (("--epsilon", "1,1"), 1, "given twice"),
        (("--epsilon", "0"), 1, "positive"),
        (("--repeats", "0"), 2, "repeats"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    place: Place, arguments: tuple[object, ...], code: int, message: str
) -> None:
    result = call(place, *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert place.names() == ["people.csv", "people.yaml"]


def test_where_nothing_could_run_the_reasons_are_told_and_kept(place: Place) -> None:
    result = call(place, "--mechanisms", "gaussian", "--plot", place / "c.svg")
    assert result.exit_code == 1
    assert "gaussian did not run" in result.stderr
    assert "nothing to draw" in result.stderr
    assert {row["reason"] for row in rows_of(place / "c.csv")} == {"Gaussian noise is not purely private"}


def test_a_budget_is_needed(place: Place) -> None:
    assert call(place, budget=()).exit_code == 2


def test_progress_shows_what_runs() -> None:
    output, stream = terminal()
    with showing_runs(output) as advance:
        assert advance is not None
        advance(Step(3, 10, "mwem", PureDP(0.5), 2))
    assert "mwem, epsilon 0.5, run 2" in stream.getvalue()
    assert "3/10" in stream.getvalue()


def test_the_mechanisms_are_listed_with_their_budgets_and_options(place: Place) -> None:
    text = place.call("mechanisms").stdout
    values = json.loads(place.call("mechanisms", "--json").stdout)
    assert [each["name"] for each in values["mechanisms"]] == names()
    for each in values["mechanisms"]:
        assert each["name"] in text
        assert each["regimes"]
    assert "with delta, or rho" in text


# synth and plan with every mechanism


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("mechanism", names())
def test_every_mechanism_makes_records_a_release_and_a_report(place: Place, mechanism: str) -> None:
    (place / "tiny.csv").write_text("a,b\n" + "0,0\n" * 90 + "1,1\n" * 60 + "0,1\n" * 20)
    (place / "tiny.yaml").write_text("attributes:\n  a: {min: 0, max: 1}\n  b: {min: 0, max: 1}\n")
    common = ("--domain", place / "tiny.yaml", "--epsilon", 2, "--delta", 1e-6, "--mechanism", mechanism)
    result = place.call("synth", place / "tiny.csv", *common, "-o", place / "s.csv", "--report", place / "s.html")
    assert result.exit_code == 0, result.output
    assert "differential privacy with epsilon = 2" in result.stdout
    assert Release.load(place / "s.release").provenance.secure
    assert "NOT PRIVATE" not in (place / "s.html").read_text()
    planned = place.call("plan", *common, "--total", 170)
    assert planned.exit_code == 0, planned.output
    assert len(planned.stdout.splitlines()) > 3
    asked = json.loads(place.call("plan", *common, "--total", 170, "--json").stdout)
    assert asked["fits"] is True


@pytest.mark.parametrize(
    "each", [each for each in ENTRIES if Regime.PURE not in each.regimes], ids=lambda each: each.name
)
def test_a_mechanism_that_needs_a_delta_says_so_before_anything_is_spent(place: Place, each: object) -> None:
    result = place.synth("--mechanism", each.name)  # type: ignore[attr-defined]
    assert result.exit_code == 1
    assert "give a delta" in result.stderr
    assert "spent" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mechanism", "foo"), "there is no mechanism 'foo'"),
        (("--mechanism", "mwem", "--alpha", 0.1), "takes no --alpha; it takes --rounds"),
        (("--mechanism", "laplace", "--rounds", 3), "takes no --rounds"),
        (("--mechanism", "pmw", "--for", "answers"), "takes no --for; it takes --rounds and --alpha"),
        (("--mechanism", "laplace", "--for", "answers"), "it takes none of --rounds, --for, --alpha"),
    ],
)
def test_wrong_mechanisms_and_options_are_wrong_usage(
    place: Place, arguments: tuple[object, ...], message: str
) -> None:
    result = place.synth(*arguments)
    assert result.exit_code == 2
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert message in shown
    assert place.names() == ["people.csv", "people.yaml"]


def test_mechanisms_that_take_a_prior_run_with_and_without(place: Place) -> None:
    (place / "public.csv").write_text("sex,job\n" + "F,nurse\nM,clerk\n" * 50)
    result = call(place, "--mechanisms", "mwem:rounds=1,laplace", "--prior", place / "public.csv")
    assert result.exit_code == 0, result.output
    run = {row["mechanism"] for row in rows_of(place / "c.csv")}
    assert run >= {"mwem:rounds=1", "mwem:rounds=1 with prior", "laplace"}
    assert "laplace with prior" not in run


def test_the_help_asks_for_a_public_table(place: Place) -> None:
    told = " ".join(place.call("compare", "--help").stdout.split())
    assert "A public or test table" in told
    assert "private table" not in told
