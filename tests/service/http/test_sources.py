"""Tables that stay where they are: the operator names them, and nobody over HTTP can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.data.sources import passes_of_databases
from tests.service.api import Api, api, registration, write_table

ASKED = [
    "age < 3",
    "sex = 'F' and age < 5",
    "sex = 'F' and age < 5 and job = 'cook'",
    "age < 2 and job = 'clerk' and sex = 'M'",
]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What DuckDB is asked: all rows, or groups."""
    return passes_of_databases(monkeypatch)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Api]:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_table(elsewhere)
    with duckdb.connect(str(elsewhere / "big.db")) as connection:
        connection.execute(f"CREATE TABLE survey AS SELECT * FROM read_csv('{elsewhere}/survey.csv', nullstr='?')")
    sources = {"big": f"duckdb://{elsewhere}/big.db#survey", "gone": f"duckdb://{elsewhere}/gone.db#survey"}
    with api(tmp_path, sources=sources) as started:
        yield started


def register(here: Api, place: str, **more: Any) -> Any:
    carol = here.token("carol", "custodian")
    return here.call("POST", "/v1/datasets", carol, json=registration("big", source={"place": place}, **more))


def test_a_named_source_is_looked_at_once_and_then_counted_in_groups(here: Api, passes: list[str]) -> None:
    assert register(here, "source:big").status_code == 201
    assert passes == ["rows"]
    ada, answers = here.token("ada"), {}
    for name in ("survey", "big"):
        asked = {"queries": [{"where": each} for each in ASKED]}
        found = here.call("POST", f"/v1/datasets/{name}/queries", ada, json=asked).json()["answers"]
        answers[name] = [(each["value"], each["source"], each["charged"]) for each in found]
    assert answers["big"] == answers["survey"]  # in memory, with the same noise
    assert "data" in [source for _, source, _ in answers["big"]]
    assert set(passes[1:]) <= {"groups"}


def test_a_first_release_is_made_from_what_the_one_pass_counted(here: Api, passes: list[str]) -> None:
    options = {"updates": 12, "threshold": 0.02, "queries": 100_000, "first_release": 0.25}
    assert register(here, "source:big", options=options).status_code == 201
    assert passes[0] == "rows"
    assert set(passes[1:]) <= {"groups"}


def test_after_a_restart_it_is_found_by_its_name_again(here: Api, passes: list[str]) -> None:
    register(here, "source:big")
    ada = here.token("ada")
    told = here.call("GET", "/v1/datasets/big", here.token("carol", "custodian")).json()
    assert told["source"]["place"] == "source:big"
    assert here.call("GET", "/v1/datasets/big", ada).json()["source"] is None
    here.workers._open.clear()
    asked = {"queries": [{"where": ASKED[2]}]}
    answer = here.call("POST", "/v1/datasets/big/queries", ada, json=asked)
    assert answer.status_code == 200, answer.text
    assert passes.count("rows") == 2


@pytest.mark.parametrize(
    "place", ["source:", "source:small", "source:gone", "source:../big", "source:duckdb:///x.db#t"]
)
def test_what_the_operator_has_not_named_is_no_source(here: Api, place: str) -> None:
    answer = register(here, place)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert answer.json()["remedy"]
    assert [each.name for each in here.store.data_sets()] == ["survey"]


@pytest.mark.parametrize(
    "place", ["duckdb://{}/elsewhere/big.db#survey", "{}/elsewhere/survey.csv", "spark:survey", "s3://bucket/a.parquet"]
)
def test_nobody_over_http_chooses_an_address_of_that_kind(here: Api, tmp_path: Path, place: str) -> None:
    assert register(here, place.format(tmp_path)).status_code in (403, 422)
    assert [each.name for each in here.store.data_sets()] == ["survey"]


def test_a_source_that_fits_no_more_costs_nothing_and_tells_analysts_nothing(here: Api, tmp_path: Path) -> None:
    register(here, "source:big")
    here.workers._open.clear()
    with duckdb.connect(str(tmp_path / "elsewhere" / "big.db")) as connection:
        connection.execute("UPDATE survey SET age = 77 WHERE age = 9")
    opened = here.store.data_set("big").id
    before = here.store.events(opened, limit=100)
    answer = here.call("POST", "/v1/datasets/big/queries", here.token("ada"), json={"queries": [{"where": ASKED[2]}]})
    assert (answer.status_code, answer.json()["code"]) == (503, "table")
    assert "77" not in answer.text
    assert here.store.events(opened, limit=100) == before
