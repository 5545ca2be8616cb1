"""Commands that infer from a release."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Place


def test_regress_prints_coefficients_with_intervals(place: Place, release: Path) -> None:
    asked = ("regress", release, "age ~ sex", "--replicates", 4, "--seed", 1)
    told = json.loads(place.call(*asked, "--json").stdout)
    assert [each["name"] for each in told["coefficients"]] == ["Intercept", "sex[T.M]"]
    assert told["for"] == "population"
    said = place.call(*asked, "--replicate-for", "file", "--confidence", 0.9).stdout
    assert "linear regression: age ~ sex, for the table itself, 90 % intervals" in said
    wrong = place.call("regress", release, "age ~ sx")
    assert wrong.exit_code == 1
    assert "did you mean 'sex'?" in wrong.stderr


def test_regress_says_what_coefficients_come_from(place: Place, release: Path) -> None:
    asked = ("regress", release, "age ~ sex", "--replicates", 4, "--seed", 1, "--json", "--source")
    told = {source: json.loads(place.call(*asked, source).stdout) for source in ("moments", "replicates")}
    assert {source: each["source"] for source, each in told.items()} == {each: each for each in told}
    assert told["moments"]["replicates"] is None
    assert told["replicates"]["replicates"]["number"] == 4
    assert "From measured sums of products" in told["moments"]["notes"][0]
    refused = place.call("regress", release, "age ~ I(sex == 'M')", "--source", "moments")
    assert refused.exit_code == 1
    assert "were not measured, or with too much noise" in refused.stderr


def test_columns_are_tested(place: Place, release: Path) -> None:
    told = json.loads(place.call("test", release, "age", "sex", "--replicates", 5, "--seed", 1, "--json").stdout)
    assert (told["kind"], told["columns"]) == ("means", ["sex", "age"])
    said = place.call("test", release, "age", "sex", "--kind", "chi-square", "--seed", 1).stdout
    assert "independence of age and sex in the population" in said
    assert "2,000 tables drawn under independence" in said
