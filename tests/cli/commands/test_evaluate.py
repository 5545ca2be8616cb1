"""``hedgerow evaluate``."""

from __future__ import annotations

import csv
import json

import pytest

from tests.cli.conftest import Place


def test_figures_files_and_the_stamp(place: Place) -> None:
    copy = place / "copy.csv"
    copy.write_text((place / "people.csv").read_text())
    other = place / "other.csv"
    other.write_text("job,age,sex\nclerk,90,F\nnurse,21,F\n")
    outputs = ("--csv", place / "e.csv", "--html", place / "e.html")
    domain = ("--domain", place / "people.yaml", "--by", "sex", "--no-models")
    result = place.call("evaluate", place / "people.csv", copy, other, *domain, *outputs)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("NOT PRIVATE")
    assert result.stdout.startswith("NOT PRIVATE: synthetic records beside the 400 of people.csv")
    for text in ("copy.csv", "other.csv", "the whole table", "less than a", "50 % (0 %)"):
        assert text in result.stdout
    assert {row["label"] for row in csv.DictReader((place / "e.csv").read_text().splitlines())} == {"not private"}
    assert "<title>NOT PRIVATE" in (place / "e.html").read_text()


def test_json_is_one_object_with_the_label(place: Place) -> None:
    data = place / "people.csv"
    result = place.call("evaluate", data, data, "--no-models", "--json", "--columns", "sex,job")
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert values["label"] == "not private"
    assert values["columns"] == ["sex", "job"]
    assert {each["value"] for each in values["findings"] if each["measure"] == "score"} == {1000.0}
    assert values["files"] == {}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--csv", "e.txt"), 1, ".csv"),
        (("--html", "e.pdf"), 1, ".html"),
        (("--csv", "none/e.csv"), 1, "does not exist"),
        (("--by", "height"), 1, "there are: sex, age, job"),
        (("--columns", "height"), 1, "no such column"),
        (("--target", "height"), 1, "there are: sex, age, job"),
        (("--seed", "-1"), 2, "seed"),
        (("--domain", "none.yaml"), 1, "none.yaml"),
    ],
)
def test_what_is_wrong_is_said(place: Place, arguments: tuple[object, ...], code: int, message: str) -> None:
    data = place / "people.csv"
    result = place.call("evaluate", data, data, "--no-models", *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_an_input_is_not_overwritten(place: Place) -> None:
    data = place / "people.csv"
    result = place.call("evaluate", data, data, "--no-models", "--csv", data, "--force")
    assert result.exit_code == 1
    assert "input file" in result.stderr
