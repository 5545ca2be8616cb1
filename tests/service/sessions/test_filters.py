"""Data sets whose rows a filter chose: how many there are is measured and paid for, and analysts see that number."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from hedgerow.service.store.database import Database
from hedgerow.service.store.schema import DATA_SETS
from tests.service.api import BUDGET, Api, api, registration

FILTERED = {"place": "survey.csv", "where": "job = 'cook'", "columns": ["sex", "age"]}


def test_an_analyst_sees_a_noisy_number_that_was_paid_for(tmp_path: Path) -> None:
    """What was found: total 80.0, spent 0.0."""
    with api(tmp_path) as here:
        carol, ada = here.token("carol", "custodian"), here.token("ada")
        cooks = (here.folder / "survey.csv").read_text().count(",cook")
        totals = set()
        for name in ("one", "two", "three"):
            made = here.call("POST", "/v1/datasets", carol, json=registration(name, source=FILTERED))
            assert made.status_code == 201, made.text
            told = here.call("GET", f"/v1/datasets/{name}", ada).json()
            assert told["neighbours"] == "replace-then-filter"
            assert "before the filter" in told["statement"]
            assert told["spent"] > 0.0
            (event,) = here.call("GET", f"/v1/datasets/{name}/ledger", carol).json()["events"]
            assert (event["mechanism"], event["neighbours"]) == ("discrete Laplace", "replace-then-filter")
            totals.add(told["total"])
        assert totals != {float(cooks)}
        whole = here.call("GET", "/v1/datasets/survey", ada).json()
        assert (whole["neighbours"], whole["total"], whole["spent"]) == ("replace", 4000.0, 0.0)


@pytest.mark.slow
def test_a_plan_can_be_made_for_it(tmp_path: Path) -> None:
    with api(tmp_path) as here:
        carol = here.token("carol", "custodian")
        asked = {"domain": {"a": [1, 2]}, "records": 900, "budget": {**BUDGET, "neighbours": "replace-then-filter"}}
        assert here.call("POST", "/v1/plan", carol, json=asked).status_code == 200


@pytest.mark.parametrize("person", ["carol", "ada"])
def test_one_that_was_begun_when_the_number_was_told_does_not_go_on(tmp_path: Path, person: str) -> None:
    """As the last version left it: its ledger says that the number was public, and there is a filter."""
    with api(tmp_path) as here:
        token = here.token(person, "custodian" if person == "carol" else "analyst")
        old = {
            **here.store.data_set("survey").registration.__dict__,
            "source": {"place": "survey.csv", "where": "age < 5"},
        }
        _rewritten(here, old)
        here.workers.close()
        again = type(here.workers)(here.store, here.folder, tick=0.0)
        here.app.state.service = type(here.app.state.service)(again, here.store, here.app.state.service.settings)
        answer = here.call("POST", "/v1/datasets/survey/queries", token, json={"queries": [{"where": "sex = 'F'"}]})
        assert answer.status_code == 409, answer.text
        assert "was treated as public" in answer.json()["detail"]
        told = here.call("GET", "/v1/datasets/survey", token).json()
        assert (told["total"], told["threshold"], told["private"]) == (None, None, False)
        assert told["statement"].startswith("NOT PRIVATE")
        again.close()


def _rewritten(here: Api, told: dict[str, object]) -> None:
    database: Database = here.store._database  # type: ignore[attr-defined]
    with database.writing() as connection:
        connection.execute(update(DATA_SETS).where(DATA_SETS.c.name == "survey").values(registration=told))
