"""``hedgerow bound``: the numbers of the library, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

from hedgerow import ZCDP, Domain, IntegerRange, Workload, svd_bound
from tests.cli.conftest import Place

TEXT = "attributes:\n  a: {min: 0, max: 1}\n  b: {min: 0, max: 2}\n  c: {min: 0, max: 3}\n"
DOMAIN = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 2), IntegerRange("c", 0, 3)))


def declared(place: Place) -> Path:
    path = place.folder / "bits.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_the_bound_of_a_workload_and_a_budget(place: Place) -> None:
    file = declared(place)
    result = place.call("bound", "--domain", file, "--rho", "0.1", "--workload", "marginals:1", "--json")
    assert result.exit_code == 0
    told, found = json.loads(result.stdout), svd_bound(Workload.marginals(DOMAIN, 1), ZCDP(0.1))
    assert told == {**found.to_dict(), "workload": "marginals:1", "variance": found.variance}


def test_the_paper_has_no_constant_for_rho(place: Place) -> None:
    result = place.call("bound", "--domain", declared(place), "--rho", "1", "--calibration", "paper")
    assert result.exit_code == 1
    assert "remedy: give an ApproxDP" in result.stderr
