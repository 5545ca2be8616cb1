"""Data sets in which persons have several records: registration, what is told, restarts, the server's register."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.privacy import PureDP, Register
from hedgerow.service import SessionWorkers
from tests.service.api import BUDGET, Api, api, registration

VISITS: dict[str, Any] = {"place": "visits.csv", "person": "patient", "at_most": 4}
DOMAIN = {"ward": ["A", "B"], "stay": {"min": 0, "max": 4}}
CARL = "When all records of one person are replaced by any others (the number of persons is public)"


def write_visits(here: Api, *more: str) -> None:
    draw = np.random.default_rng(0)
    rows = [f"{i},{'AB'[draw.integers(2)]},{draw.integers(5)}" for i in range(800) for _ in range(draw.integers(1, 9))]
    (here.folder / "visits.csv").write_text("\n".join(["patient,ward,stay", *rows, *more]) + "\n")


def visits(**changed: Any) -> dict[str, Any]:
    return registration("visits", **{"source": VISITS, "domain": DOMAIN, **changed})


def test_a_data_set_is_about_persons_and_says_so(tmp_path: Path) -> None:
    with api(tmp_path) as here:
        write_visits(here)
        carol, ada = here.token("carol", "custodian"), here.token("ada")
        assert here.call("POST", "/v1/datasets", carol, json=visits()).status_code == 201
        told = here.call("GET", "/v1/datasets/visits", ada).json()
        assert (told["neighbours"], told["person"], told["at_most"]) == ("replace", "patient", 4)
        assert told["statement"].startswith(CARL)
        assert told["spent"] > 0.0  # how many records persons have is private
        (event,) = here.call("GET", "/v1/datasets/visits/ledger", carol).json()["events"]
        assert (event["mechanism"], event["sensitivity"]) == ("discrete Laplace", 4.0)
        asked = {"queries": [{"where": "ward = 'A'"}]}
        assert here.call("POST", "/v1/datasets/visits/queries", ada, json=asked).status_code == 200
        survey = here.call("GET", "/v1/datasets/survey", ada).json()
        assert (survey["person"], survey["at_most"]) == (None, None)


def test_it_goes_on_after_a_restart_and_answers_when_it_is_closed(tmp_path: Path) -> None:
    with api(tmp_path) as here:
        write_visits(here)
        carol = here.token("carol", "custodian")
        assert here.call("POST", "/v1/datasets", carol, json=visits()).status_code == 201
        asked = {"queries": [{"where": "ward = 'A' and stay < 2"}]}
        _restarted(here)
        assert here.call("POST", "/v1/datasets/visits/queries", carol, json=asked).status_code == 200
        here.call("POST", "/v1/datasets/visits/close", carol)
        _restarted(here)
        other = {"queries": [{"where": "ward = 'B' and stay < 3"}]}
        assert here.call("POST", "/v1/datasets/visits/queries", carol, json=other).status_code == 200
        here.workers.close()


def _restarted(here: Api) -> None:
    here.workers.close()
    here.workers = SessionWorkers(here.store, here.folder, tick=0.0)
    here.app.state.service = type(here.app.state.service)(here.workers, here.store, here.app.state.service.settings)


def test_a_data_set_is_about_weighted_records_and_says_so(tmp_path: Path) -> None:
    source = {"place": "visits.csv", "columns": ["ward"], "weight": "stay", "largest_weight": 3}
    with api(tmp_path) as here:
        write_visits(here)
        carol, ada = here.token("carol", "custodian"), here.token("ada")
        asked = visits(source=source, domain={"ward": ["A", "B"]})
        assert here.call("POST", "/v1/datasets", carol, json=asked).status_code == 201
        told = here.call("GET", "/v1/datasets/visits", ada).json()
        assert [told[name] for name in ("person", "at_most", "weight", "largest_weight")] == [None, None, "stay", 3]
        assert "as often as its weight says (the column 'stay'), at most 3 times" in told["statement"]
        (event,) = here.call("GET", "/v1/datasets/visits/ledger", carol).json()["events"]
        assert (event["mechanism"], event["sensitivity"]) == ("discrete Laplace", 3.0)
        _restarted(here)
        question = {"queries": [{"where": "ward = 'A'"}]}
        assert here.call("POST", "/v1/datasets/visits/queries", ada, json=question).status_code == 200


def test_fractional_weights_are_registered_and_told(tmp_path: Path) -> None:
    reading = {"columns": ["ward"], "weight": "stay", "largest_weight": 3, "fractional_weights": True}
    with api(tmp_path) as here:
        (here.folder / "visits.csv").write_text("ward,stay\n" + "A,0.5\nB,2.25\n" * 200, encoding="utf-8")
        carol = here.token("carol", "custodian")
        asked = visits(source={"place": "visits.csv", **reading}, domain={"ward": ["A", "B"]})
        assert here.call("POST", "/v1/datasets", carol, json=asked).status_code == 201
        told = here.call("GET", "/v1/datasets/visits", carol).json()
        assert told["fractional_weights"] is True
        assert "rounded to 1/1,024" in told["statement"]


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ({"place": "visits.csv", "fractional_weights": True}, 422),
        ({"place": "visits.csv", "weight": "stay", "columns": ["ward"]}, 422),
        ({"place": "visits.csv", "largest_weight": 4}, 422),
        ({"place": "visits.csv", "weight": "stay", "largest_weight": 0, "columns": ["ward"]}, 422),
        ({"place": "visits.csv", "weight": "stay", "largest_weight": 3}, 422),
        ({**VISITS, "at_most": 0}, 422),
        ({"place": "visits.csv", "person": "patient"}, 422),
        ({"place": "visits.csv", "at_most": 4}, 422),
        ({**VISITS, "person": "who"}, 422),
        ({**VISITS, "person": "ward"}, 422),
        ({**VISITS, "count_column": "stay", "columns": ["ward"]}, 422),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path: Path, source: dict[str, Any], status: int) -> None:
    with api(tmp_path) as here:
        write_visits(here)
        found = here.call("POST", "/v1/datasets", here.token("carol", "custodian"), json=visits(source=source))
        assert found.status_code in (400, status), found.text
        assert here.call("GET", "/v1/datasets/visits", here.token("carol", "custodian")).status_code == 404


def test_a_record_without_a_person_is_told_to_the_custodian(tmp_path: Path) -> None:
    with api(tmp_path) as here:
        write_visits(here, ",A,1")
        found = here.call("POST", "/v1/datasets", here.token("carol", "custodian"), json=visits())
        assert found.status_code >= 400
        assert "an empty cell where a person is to be named" in found.text


def test_a_plan_is_for_persons(tmp_path: Path) -> None:
    with api(tmp_path) as here:
        carol = here.token("carol", "custodian")
        asked = {"domain": DOMAIN, "records": 4000, "budget": BUDGET}
        lines = [
            here.call("POST", "/v1/plan", carol, json={**asked, **more}).json()["lines"]
            for more in ({}, {"person": "patient", "at_most": 4})
        ]
        assert lines[0] != lines[1]


def test_the_register_of_a_server_is_about_persons_or_records(tmp_path: Path) -> None:
    with api(tmp_path) as here:
        write_visits(here)
        carol = here.token("carol", "custodian")
        limit = PureDP(9.0, "replace of persons (patient)")
        here.workers._register = Register(tmp_path / "server.register", limit)
        assert here.call("POST", "/v1/datasets", carol, json=registration("again")).status_code >= 400
        assert here.call("POST", "/v1/datasets", carol, json=visits()).status_code == 201
