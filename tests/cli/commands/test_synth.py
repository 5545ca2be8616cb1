"""``hedgerow synth``: what it writes, what it says, and that nothing is spent or written when something is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from hedgerow.cli import running
from hedgerow.errors import DataError, ReleaseError
from hedgerow.release import Container, Release
from tests.cli.conftest import Place


def test_records_release_and_report_are_written(place: Place) -> None:
    result = place.synth("--release", place / "r.release", "--report", place / "r.html", "--records", 50)
    assert result.exit_code == 0, result.output
    table = pyarrow.csv.read_csv(place / "out.csv")
    assert table.column_names == ["sex", "age", "job"]
    assert table.num_rows == 50
    assert Release.load(place / "r.release").provenance.secure
    assert "<!DOCTYPE html>" in (place / "r.html").read_text()
    assert place.names() == ["out.csv", "people.csv", "people.yaml", "r.html", "r.release"]
    assert "pure differential privacy with epsilon = 1" in result.stdout
    assert "mean error" in result.stdout


def test_the_release_lies_beside_the_records_unless_said_otherwise(place: Place) -> None:
    result = place.synth(output="synthetic.parquet")
    assert result.exit_code == 0, result.output
    release = Release.load(place / "synthetic.release")
    records = pyarrow.parquet.read_table(place / "synthetic.parquet")
    assert records.num_rows == max(1, round(release.total))
    assert set(records.column("age").to_pylist()) <= set(range(20, 26))


@pytest.mark.parametrize("mechanism", ["dual-query", "gaussian"])
def test_records_that_repeat_a_few_are_announced(place: Place, mechanism: str) -> None:
    result = place.synth("--delta", 1e-6, "--mechanism", mechanism, "--workload", "marginals:2")
    assert result.exit_code == 0, result.output
    distinct = len(set((place / "out.csv").read_text().splitlines()[1:]))
    announced = re.search(r"synthetic records from ([\d,]+) distinct", result.stdout)
    assert (announced is None) is (mechanism == "gaussian")
    assert announced is None or int(announced[1].replace(",", "")) == distinct


def test_parquet_and_weights_come_in(place: Place) -> None:
    table = pyarrow.csv.read_csv(
        place / "people.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    )
    pyarrow.parquet.write_table(table, place / "people.parquet")
    call = ("synth", place / "people.parquet", "--domain", place / "people.yaml", "--rho", 0.5, "-o", place / "o.csv")
    assert place.call(*call).exit_code == 0
    (place / "cells.csv").write_text("sex,n\nF,300\nM,100\n")
    call = ("synth", place / "cells.csv", "--domain", place / "people.yaml", "--columns", "sex", "--count-column", "n")
    result = place.call(*call, "--workload", "marginals:1", "--epsilon", 5, "-o", place / "cells.parquet")
    assert result.exit_code == 0, result.output
    assert abs(pyarrow.parquet.read_table(place / "cells.parquet").num_rows - 400) < 300


@pytest.mark.parametrize(
    ("budget", "mechanism", "unit"),
    [
        (("--mu", 0.5), "mwem", "mu^2/2"),
        (("--epsilon", 1, "--delta", 1e-6), "gaussian", "mu^2/2"),
        (("--epsilon", 1, "--delta", 1e-6), "laplace", "rho"),
        (("--epsilon", 1, "--delta", 1e-6), "mwem", "epsilon"),
    ],
)
def test_the_regime_that_a_run_is_counted_in(
    place: Place, budget: tuple[object, ...], mechanism: str, unit: str
) -> None:
    call = ("synth", place / "people.csv", "--domain", place / "people.yaml", "--mechanism", mechanism, "--json")
    result = place.call(*call, *budget, "-o", place / "o.csv")
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert values["unit"] == unit
    audited = place.call("audit", values["files"]["release"], "--json")
    assert audited.exit_code == 0, audited.output


@pytest.mark.parametrize("many", [0, 20_000])
def test_a_long_run_is_announced_before_anything_is_read(
    place: Place, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(running, "_MANY", many)  # a plan, or a rate for each candidate
    assert "on one core" not in place.synth("--force").output
    monkeypatch.setattr(running, "_LONG", 0.0)
    (place / "people.csv").write_text("sex,age,job\nno,such,value\n")
    result = place.synth("--force")
    assert result.exit_code == 1
    assert 0 < result.output.index("nothing is read or spent yet") < result.output.index("people.csv")


def test_json_is_one_object_on_standard_output(place: Place) -> None:
    result = place.synth("--json", "--delta", 1e-6, "--columns", "sex,age")
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert values["private"] is True
    assert values["unit"] == "epsilon"  # of two attributes one table is measured
    assert 0 < values["spent"] <= values["limit"]
    assert values["attributes"] == ["sex", "age"]
    assert values["error"]["mean_low"] <= values["error"]["mean_high"]
    assert Path(values["files"]["records"]).exists()


def test_quiet_says_nothing(place: Place) -> None:
    result = place.synth("--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_a_seeded_run_is_stamped_everywhere(place: Place) -> None:
    result = place.synth("--seed", 1, "--report", place / "r.html", "--json", "--quiet")
    assert "NOT PRIVATE: seeded" in result.stderr
    assert json.loads(result.stdout)["private"] is False
    assert Release.load(place / "out.release").guarantee().startswith("NOT PRIVATE: seeded")
    assert "NOT PRIVATE: seeded" in (place / "r.html").read_text()


def test_evaluation_is_labelled_and_stays_out_of_the_release(place: Place) -> None:
    result = place.synth("--evaluate", "--json", "--report", place / "r.html")
    assert result.exit_code == 0, result.output
    exact = json.loads(result.stdout)["not_private_evaluation"]
    assert exact["label"] == "not private"
    assert exact["total"] == 400
    assert "NOT PRIVATE" in result.stderr
    page = (place / "r.html").read_text()
    assert page.index("NOT PRIVATE") < page.index("<h1>")
    assert "<title>NOT PRIVATE" in page
    saved = json.dumps(dict(Container.open(place / "out.release").content))
    file = json.loads(result.stdout)["not_private_evaluation_of_records"]
    assert file["label"] == "not private"
    assert file["mean"] != exact["mean"]
    assert not any(repr(each[figure]) in saved for figure in ("mean", "maximum") for each in (exact, file))


def test_the_error_of_the_file_stands_beside_that_of_the_answers(place: Place) -> None:
    told = json.loads(place.synth("--json").stdout)
    assert told["records_error"]["mean_high"] > told["error"]["mean_high"]
    again = place.synth("--force")
    assert "In a file of" in again.stdout + again.stderr


def test_nothing_is_overwritten_without_force(place: Place) -> None:
    (place / "out.csv").write_text("precious")
    result = place.synth()
    assert result.exit_code == 1
    assert "exists" in result.stderr
    assert "--force" in result.stderr
    assert (place / "out.csv").read_text() == "precious"
    assert place.names() == ["out.csv", "people.csv", "people.yaml"]
    assert place.synth("--force").exit_code == 0
    assert (place / "out.csv").read_text() != "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--release", "{}/none/r.release"), "folder .* does not exist"),
        (("--report", "{}"), "is a folder"),
        (("--release", "{}/out.csv"), "is also --output"),
        (("--release", "{}/people.csv", "--force"), "is also an input file"),
        (("--columns", "sex,height"), "no attribute 'height'"),
        (("--columns", "sex", "--workload", "marginals:2"), "marginals of 2 attributes"),
        (("--workload", "marginal:2"), "marginal"),
        (("--count-column", "n"), "'n'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_spent(place: Place, arguments: tuple[str, ...], message: str) -> None:
    result = place.synth(*(text.format(place.folder) for text in arguments))
    assert result.exit_code == 1
    assert re.search(message, result.stderr)
    assert "remedy:" in result.stderr
    assert "Traceback" not in result.output
    assert "spent" not in result.stderr
    assert place.names() == ["people.csv", "people.yaml"]


@pytest.mark.parametrize("output", ["out.txt", "out"])
def test_the_ending_of_the_records_is_checked(place: Place, output: str) -> None:
    result = place.synth(output=output)
    assert result.exit_code == 1
    assert ".csv, .tsv or .parquet" in result.stderr


@pytest.mark.parametrize(
    "budget",
    [(), ("--delta", 1e-6), ("--epsilon", 1, "--rho", 1), ("--epsilon", "one"), ("--epsilon", 1, "--rounds", "some")],
)
def test_a_budget_that_is_none_or_two_is_wrong_usage(place: Place, budget: tuple[object, ...]) -> None:
    result = place.synth(budget=budget)
    assert result.exit_code == 2
    assert place.names() == ["people.csv", "people.yaml"]


def test_bad_cells_are_named_without_their_values(place: Place) -> None:
    with (place / "people.csv").open("a") as file:
        file.write("F,20,astronaut\n")
    result = place.synth()
    assert result.exit_code == 1
    assert "401" in result.stderr
    assert "astronaut" not in result.output
    assert "astronaut" in place.synth("--show-values").stderr


def test_errors_under_json_are_one_object(place: Place) -> None:
    (place / "out.csv").write_text("precious")
    result = place.synth("--json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert error["type"] == "ConfigError"
    assert "--force" in error["remedy"]


def test_a_failure_during_the_run_says_what_was_spent(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DataError("the table went away")

    monkeypatch.setattr("hedgerow.privacy.curator.Curator.workload_error", fail)
    result = place.synth("--json", "--rounds", 2)
    assert result.exit_code == 1
    assert "stays spent" in result.stderr
    values = json.loads(result.stdout)
    assert 0 < values["spent"] < values["limit"]
    assert place.names() == ["people.csv", "people.yaml"]


@pytest.mark.parametrize("step", ["hedgerow.release.records.write_batches", "hedgerow.report.write_report"])
def test_a_failure_after_the_run_keeps_the_release(place: Place, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ReleaseError("the disk is full")

    monkeypatch.setattr(step, fail)
    result = place.synth("--report", place / "r.html")
    assert result.exit_code == 1
    assert "the disk is full" in result.stderr
    assert f"the release is complete, in {place / 'out.release'}" in result.stderr
    monkeypatch.undo()
    assert place.call("sample", place / "out.release", "-o", place / "again.csv").exit_code == 0


@pytest.mark.parametrize(("failure", "code"), [(ReleaseError("the disk is full"), 1), (KeyboardInterrupt(), 130)])
def test_a_release_that_cannot_be_saved_is_rescued(
    place: Place, monkeypatch: pytest.MonkeyPatch, failure: BaseException, code: int
) -> None:
    from hedgerow.release import file

    write = file.write_container

    def fail_once(path: Path, *arguments: object, **options: object) -> None:
        if Path(path).parent == place.folder:
            raise failure
        write(path, *arguments, **options)

    monkeypatch.setattr(file, "write_container", fail_once)
    result = place.synth()
    assert result.exit_code == code
    found = re.search(r"saved in (\S+)", result.stderr)
    assert found
    assert Release.load(found[1]).domain.names == ("sex", "age", "job")


def test_an_interrupted_run_leaves_no_file_and_says_what_was_spent(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hedgerow.privacy.curator.Curator.workload_error", interrupt)
    result = place.synth("--rounds", 2)
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert "stays spent" in result.stderr
    assert place.names() == ["people.csv", "people.yaml"]


def test_undeclared_columns_are_explained_in_options(place: Place) -> None:
    text = (place / "people.csv").read_text().splitlines()
    wider = [f"{text[0]},shoe size,n", *(f"{line},40,1" for line in text[1:])]
    (place / "people.csv").write_text("\n".join(wider) + "\n")
    result = place.synth()
    assert result.exit_code == 1
    assert "--columns sex,age,job" in result.stderr
    assert "extra_columns" not in result.stderr
    (place / "people.csv").write_text("\n".join([f"{text[0]},n", *(f"{line},1" for line in text[1:])]) + "\n")
    assert "--count-column n; else declare it" in place.synth().stderr
    plan = ("plan", place / "people.csv", "--domain", place / "people.yaml", "--epsilon", 1, "--total", 400)
    planned = place.call(*plan)
    assert "--count-column n; else declare it" in planned.stderr


def test_a_single_column_has_its_own_default_workload(place: Place) -> None:
    result = place.synth("--columns", "age")
    assert result.exit_code == 0, result.output
    assert Release.load(place / "out.release").workload.spec == "marginals:1"
    refused = place.synth("--columns", "age", "--workload", "marginals:2", "--force")
    assert "give 1" in refused.stderr


def test_a_report_needs_the_ending_of_a_page(place: Place) -> None:
    result = place.synth("--report", place / "r.pdf")
    assert result.exit_code == 1
    assert ".html" in result.stderr
    assert place.names() == ["people.csv", "people.yaml"]


def test_a_loose_delta_is_warned_about(place: Place) -> None:
    assert "far smaller delta" in place.synth("--delta", 0.1).stderr
    call = ("plan", "--domain", place / "people.yaml", "--epsilon", 1, "--total", 400, "--delta")
    assert "far smaller delta" in place.call(*call, 0.1).stderr
    assert "delta" not in place.call(*call, 1e-9).stderr


def test_a_table_of_codes_is_read_as_such(place: Place) -> None:
    (place / "codes.csv").write_text("sex,n\n0,300\n1,100\n")
    call = ("synth", place / "codes.csv", "--domain", place / "people.yaml", "--columns", "sex", "--count-column", "n")
    budget = ("--epsilon", 50, "-o", place / "codes.parquet")
    assert "does not list" in place.call(*call, *budget).stderr
    result = place.call(*call, *budget, "--coded")
    assert result.exit_code == 0, result.output
    sexes = pyarrow.parquet.read_table(place / "codes.parquet").column("sex").to_pylist()
    assert sexes.count("F") > sexes.count("M") > 50


def test_public_data_are_a_prior(place: Place) -> None:
    rows = (place / "people.csv").read_text().splitlines()
    (place / "public.csv").write_text("\n".join(row + ",1" for row in rows).replace(",1", ",height", 1) + "\n")
    assert place.synth("--prior", place / "public.csv").exit_code == 0
    release = Release.load(place / "out.release")
    assert release.provenance.parameters["prior"] == {"kind": "Prior", "columns": ["sex", "age", "job"], "records": 400}
    assert place.synth("--prior", place / "out.release", output="again.csv").exit_code == 0
    parameters = Release.load(place / "again.release").provenance.parameters
    assert parameters["prior"]["records"] == pytest.approx(release.total)


def test_what_is_no_prior_is_refused_before_anything_is_spent(place: Place) -> None:
    private = place.synth("--prior", place / "people.csv")
    assert private.exit_code == 1
    assert "is the private table" in private.stderr
    (place / "public.csv").write_text("sex\nF\nX\n")
    assert "'X'" in place.synth("--prior", place / "public.csv").stderr
    (place / "public.csv").write_text("height\n180\n")
    assert "no column of the domain" in place.synth("--prior", place / "public.csv").stderr
    (place / "public.csv").write_text("sex\nF\n")
    other = place.synth("--prior", place / "public.csv", "--mechanism", "laplace")
    assert other.exit_code == 2
    assert "takes no --prior" in other.stderr
    assert place.names() == ["people.csv", "people.yaml", "public.csv"]


def test_criteria_have_verdicts_and_no_records_are_written_where_one_is_not_held(place: Place) -> None:
    (place / "good.yaml").write_text("criteria:\n- {table: sex, within: 0.5}\n")
    good = place.synth("--require", place / "good.yaml", "--json", "--report", place / "r.html")
    assert good.exit_code == 0, good.stderr
    (verdict,) = json.loads(good.stdout)["criteria"]
    assert (verdict["about"], verdict["outcome"]) == ("sex", "held")
    assert "table sex within 0.5: held" in (place / "r.html").read_text()
    (place / "bad.yaml").write_text("criteria:\n- {table: sex, within: 0.0000001}\n")
    before = place.names()
    bad = place.synth("--require", place / "bad.yaml", "-o", place / "bad.csv", "--seed", 0)  # else 5 in 100 hold it
    assert bad.exit_code == 1
    assert "criteria that are not known to hold: table sex within 1e-07. No records were written" in bad.stderr
    assert set(place.names()) - set(before) == {"bad.release"}
    shown = place.call("show", place / "bad.release")
    assert "cannot say" in shown.stdout or "not held" in shown.stdout
    assert re.search(r"criteria +holds", place.call("audit", place / "bad.release").stdout)
    plan = place.call(
        "plan", "--domain", place / "people.yaml", "--epsilon", 1, "--total", 400, "--require", place / "good.yaml"
    )
    assert "10% of the budget; tests: 1" in plan.stdout
    assert place.synth("--require", place / "none.yaml", "-o", place / "x.csv").exit_code == 1


def test_a_release_is_chosen_among_configurations(place: Place) -> None:
    (place / "good.yaml").write_text("criteria:\n- {table: sex, within: 0.5}\n")
    (place / "try.yaml").write_text("tries: 4\nconfigurations:\n- {mechanism: laplace}\n- {workload: marginals:1}\n")
    both = ("--require", place / "good.yaml", "--try", place / "try.yaml")
    good = place.synth(*both, "--epsilon", 4)
    assert good.exit_code == 0, good.stderr
    assert "runs of 2 configurations: their number is not told" in good.stderr
    audit = place.call("audit", place / "out.release")
    assert (audit.exit_code, "of 4 in the mean" in audit.stdout) == (0, True)
    assert "first run of 2 configurations that passes" in place.call("show", place / "out.release").stdout
    (place / "bad.yaml").write_text("criteria:\n- {table: sex, within: 0.0000001}\n")
    before = place.names()
    bad = place.synth(
        "--require", place / "bad.yaml", "--try", place / "try.yaml", "-o", place / "bad.csv", "--seed", 0
    )
    assert (bad.exit_code, place.names()) == (1, before)
    assert "no run held all criteria before chance ended them" in bad.stderr
    assert "runs were made" in bad.stderr
    planned = place.call("plan", "--domain", place / "people.yaml", "--epsilon", 1, "--total", 400, *both)
    assert "each run has an epsilon of" in planned.stdout
    for wrong in (["--mechanism", "laplace"], ["--rounds", "3"]):
        assert place.synth(*both, *wrong, "-o", place / "x.csv").exit_code == 2
    for wrong in (["--delta", "1e-9"], ["--rho", "0.1"]):
        refused = place.synth(*both, *wrong, "-o", place / "x.csv")
        assert refused.exit_code in (1, 2)
    assert place.synth("--try", place / "try.yaml", "-o", place / "x.csv").exit_code == 1


def test_the_target_of_a_domain_file_is_that_of_the_option(place: Place) -> None:
    plain = ("plan", "--domain", place / "people.yaml", "--epsilon", 1, "--total", 400, "--json")
    released, planned = [], [json.loads(place.call(*plain, "--target", "job").stdout)]
    assert place.synth("--target", "job", "--seed", 1).exit_code == 0
    released.append(Release.load(place / "out.release"))
    content = json.loads((place / "people.yaml").read_text())
    (place / "people.yaml").write_text(json.dumps({**content, "target": "job"}))
    assert place.synth("--seed", 1, "--force").exit_code == 0
    released.append(Release.load(place / "out.release"))
    planned.append(json.loads(place.call(*plain).stdout))
    first, other = ((each.workload.spec, each.provenance.parameters) for each in released)
    assert first == other
    assert "age*job" in first[0]
    one, two = ({name: told for name, told in each.items() if name != "available_bytes"} for each in planned)
    assert one == two
