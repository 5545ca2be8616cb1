"""Custodians change people: their roles, all of their tokens, and whether they are here at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.api import Api, api


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as started:
        yield started


@pytest.fixture
def carol(here: Api) -> str:
    return here.token("carol", "custodian")


def refused(answer: Any, status: int, code: str) -> str:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.json()["remedy"]
    return str(answer.json()["detail"])


def test_one_who_is_removed_is_out_at_once_and_what_they_asked_stays(here: Api, carol: str) -> None:
    tokens = [here.token("ada"), here.token("ada", data_sets=("survey",))]
    asked = {"queries": [{"where": "age < 3"}]}
    (answer,) = here.call("POST", "/v1/datasets/survey/queries", tokens[0], json=asked).json()["answers"]
    ledger = here.call("GET", "/v1/datasets/survey/ledger", carol).json()
    assert here.call("DELETE", "/v1/people/ada", carol).status_code == 204
    for token in tokens:
        assert "revoked" in refused(here.call("GET", "/v1/me", token), 401, "not-signed-in")
    listed = {each["name"]: each["role"] for each in here.call("GET", "/v1/people", carol).json()["people"]}
    assert listed == {"ada": "removed", "carol": "custodian"}
    kept = here.call("GET", "/v1/datasets/survey/answers?person=ada", carol).json()["answers"]
    assert [(each["person"], each["value"]) for each in kept] == [("ada", answer["value"])]
    assert here.call("GET", "/v1/datasets/survey/ledger", carol).json()["spent"] == ledger["spent"]
    assert here.call("GET", "/v1/datasets/survey/spending", carol).status_code == 200
    for path, sent in (
        ("/v1/tokens", {"person": "ada", "datasets": "all"}),
        ("/v1/tokens", {"person": "ada", "datasets": ["survey"]}),
    ):
        refused(here.call("POST", path, carol, json=sent), 404, "not-there")
    again = here.call("POST", "/v1/people", carol, json={"name": "ada", "role": "analyst"})
    assert "already" in refused(again, 409, "conflict")
    assert here.call("DELETE", "/v1/people/ada", carol).status_code == 204  # again: nothing changes


def test_one_who_was_removed_comes_back_by_a_role_and_with_fresh_tokens(here: Api, carol: str) -> None:
    old = here.token("ada")
    here.call("DELETE", "/v1/people/ada", carol)
    back = here.call("PUT", "/v1/people/ada", carol, json={"role": "analyst"})
    assert (back.status_code, back.json()["role"]) == (200, "analyst")
    assert here.call("GET", "/v1/me", old).status_code == 401
    made = here.call("POST", "/v1/tokens", carol, json={"person": "ada", "datasets": "all"}).json()["token"]
    assert here.call("GET", "/v1/me", made).json()["person"] == "ada"


def test_a_role_holds_from_the_next_request_with_the_tokens_that_there_are(here: Api, carol: str) -> None:
    ada, dora = here.token("ada"), here.token("dora", "custodian")
    assert here.call("GET", "/v1/people", dora).status_code == 200
    assert here.call("PUT", "/v1/people/dora", carol, json={"role": "analyst"}).status_code == 200
    refused(here.call("GET", "/v1/people", dora), 403, "not-allowed")
    assert here.call("PUT", "/v1/people/ada", carol, json={"role": "custodian"}).status_code == 200
    assert here.call("GET", "/v1/people", ada).status_code == 200
    entries = here.call("GET", "/v1/audit?limit=2", carol).json()["entries"]
    assert [(each["person"], each["action"], each["subject"], each["details"]) for each in entries] == [
        ("carol", "set role", "ada", {"role": "custodian"}),
        ("carol", "set role", "dora", {"role": "analyst"}),
    ]


def test_all_tokens_of_one_are_revoked_in_one_step(here: Api, carol: str) -> None:
    tokens, other = [here.token("ada") for _ in range(3)], here.token("bob")
    here.revoked_token("ada")
    assert here.call("DELETE", "/v1/people/ada/tokens", carol).json() == {"revoked": 3}
    assert [here.call("GET", "/v1/me", token).status_code for token in tokens] == [401] * 3
    assert here.call("GET", "/v1/me", other).status_code == 200
    assert here.call("DELETE", "/v1/people/ada/tokens", carol).json() == {"revoked": 0}
    assert here.call("POST", "/v1/tokens", carol, json={"person": "ada", "datasets": "all"}).status_code == 201


def test_nobody_changes_themselves_so_one_custodian_is_left(here: Api, carol: str) -> None:
    refused(here.call("DELETE", "/v1/people/carol", carol), 409, "conflict")
    for role in ("analyst", "custodian"):
        refused(here.call("PUT", "/v1/people/carol", carol, json={"role": role}), 409, "conflict")
    assert here.call("GET", "/v1/me", carol).json()["role"] == "custodian"


@pytest.mark.parametrize("name", ["nobody", "Carol", "%00", "carol%0a", "..%2fcarol", "a'%20OR%201=1", "x" * 200])
def test_who_is_not_there_cannot_be_changed(here: Api, carol: str, name: str) -> None:
    before = here.store.audit_point()
    for method, path, sent in (
        ("PUT", f"/v1/people/{name}", {"json": {"role": "analyst"}}),
        ("DELETE", f"/v1/people/{name}", {}),
        ("DELETE", f"/v1/people/{name}/tokens", {}),
    ):
        assert here.call(method, path, carol, **sent).status_code in (404, 422)
    assert here.store.audit_point() == before


@pytest.mark.parametrize(
    "sent", [{"role": "removed"}, {"role": "root"}, {"role": None}, {}, {"role": "analyst", "name": "x"}, [], "analyst"]
)
def test_a_role_is_one_of_two(here: Api, carol: str, sent: Any) -> None:
    here.person("ada")
    assert here.call("PUT", "/v1/people/ada", carol, json=sent).status_code == 422
    assert here.store.person("ada").role == "analyst"


def test_a_token_that_is_made_while_one_is_removed_is_not_good(here: Api, carol: str) -> None:
    """Whichever comes first, no good token is left."""
    here.person("ada")
    made: list[str] = []

    def make() -> None:
        for _ in range(20):
            answer = here.call("POST", "/v1/tokens", carol, json={"person": "ada", "datasets": "all"})
            made.extend([answer.json()["token"]] if answer.status_code == 201 else [])

    maker = threading.Thread(target=make)
    maker.start()
    here.call("DELETE", "/v1/people/ada", carol)
    maker.join(60)
    assert len(made) < 20
    assert [here.call("GET", "/v1/me", token).status_code for token in made] == [401] * len(made)
