"""Every route for every kind of caller: a route that is not in the matrix fails the test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from fastapi.routing import APIRoute

from hedgerow.service import ForCustodians, new_token
from hedgerow.service.http import web
from hedgerow.service.http.admission import ForAnyone, ForTokens, GatedRoute
from tests.service.api import Api, api, registration

Who = Literal["anyone", "token", "custodian"]
_GATES = {"anyone": ForAnyone, "token": ForTokens, "custodian": ForCustodians}
_numbers = itertools.count()


@dataclass
class Try:
    """How a route is tried.

    Attributes:
        who: Who may.
        path: Of a request that succeeds; {data_set} is replaced.
        sent: Body and such, made anew for each request.
        scoped: What a custodian is answered whose token is good for this data set and not for all.
    """

    who: Who
    path: str
    sent: Callable[[Api], dict[str, Any]] = field(default=lambda _: {})
    scoped: int = 200


def _fresh(prefix: str) -> str:
    return f"{prefix}{next(_numbers)}"


MATRIX: dict[tuple[str, str], Try] = {
    ("GET", "/v1/health"): Try("anyone", "/v1/health"),
    ("GET", "/v1/ready"): Try("anyone", "/v1/ready"),
    ("GET", "/v1/metrics"): Try("anyone", "/v1/metrics"),
    ("GET", "/v1/metrics/datasets"): Try("custodian", "/v1/metrics/datasets"),
    ("GET", "/v1/openapi.json"): Try("anyone", "/v1/openapi.json"),
    ("GET", "/v1/docs"): Try("anyone", "/v1/docs"),
    ("GET", "/v1/docs.css"): Try("anyone", "/v1/docs.css"),
    ("GET", "/v1/me"): Try("token", "/v1/me"),
    ("GET", "/v1/signin"): Try("anyone", "/v1/signin"),
    ("DELETE", "/v1/signin"): Try("token", "/v1/signin"),
    ("GET", "/v1/datasets"): Try("token", "/v1/datasets"),
    ("POST", "/v1/datasets"): Try(
        "custodian", "/v1/datasets", lambda _: {"json": registration(_fresh("new"))}, scoped=403
    ),
    ("POST", "/v1/domain"): Try("custodian", "/v1/domain", lambda _: {"json": {"text": "a: [0, 1]"}}),
    ("POST", "/v1/plan"): Try(
        "custodian",
        "/v1/plan",
        lambda _: {"json": {"domain": {"a": [0, 1]}, "budget": {"epsilon": 1.0}, "records": 9_000}},
    ),
    ("GET", "/v1/datasets/{name}"): Try("token", "/v1/datasets/{data_set}"),
    ("GET", "/v1/datasets/{name}/domain"): Try("token", "/v1/datasets/{data_set}/domain"),
    ("GET", "/v1/datasets/{name}/spending"): Try("token", "/v1/datasets/{data_set}/spending"),
    ("POST", "/v1/datasets/{name}/close"): Try("custodian", "/v1/datasets/{data_set}/close"),
    ("POST", "/v1/datasets/{name}/open"): Try("custodian", "/v1/datasets/{data_set}/open", scoped=409),  # it is open
    ("DELETE", "/v1/datasets/{name}"): Try("custodian", "/v1/datasets/{data_set}", scoped=409),
    ("POST", "/v1/datasets/{name}/queries"): Try(
        "token", "/v1/datasets/{data_set}/queries", lambda _: {"json": {"queries": [{"where": "age < 3"}]}}
    ),
    ("POST", "/v1/datasets/{name}/tables"): Try(
        "token",
        "/v1/datasets/{data_set}/tables",
        lambda _: {"json": {"sql": "SELECT sex, COUNT(*) FROM survey GROUP BY sex"}},
    ),
    ("POST", "/v1/datasets/{name}/price"): Try(
        "token",
        "/v1/datasets/{data_set}/price",
        lambda _: {"json": {"sql": "SELECT sex, COUNT(*) FROM survey GROUP BY sex"}},
    ),
    ("GET", "/v1/datasets/{name}/answers"): Try("token", "/v1/datasets/{data_set}/answers"),
    ("GET", "/v1/datasets/{name}/marginals"): Try("token", "/v1/datasets/{data_set}/marginals?attributes=sex"),
    ("GET", "/v1/datasets/{name}/records"): Try("token", "/v1/datasets/{data_set}/records?n=2"),
    ("GET", "/v1/datasets/{name}/ledger"): Try("custodian", "/v1/datasets/{data_set}/ledger"),
    ("GET", "/v1/datasets/{name}/ledger/file"): Try("custodian", "/v1/datasets/{data_set}/ledger/file"),
    ("GET", "/v1/datasets/{name}/grants"): Try("custodian", "/v1/datasets/{data_set}/grants"),
    ("PUT", "/v1/datasets/{name}/grants/{person}"): Try(
        "custodian", "/v1/datasets/{data_set}/grants/zoe", lambda _: {"json": {"queries": 3, "budget": 1.0}}
    ),
    ("GET", "/v1/datasets/{name}/pins"): Try("token", "/v1/datasets/{data_set}/pins"),
    ("PUT", "/v1/datasets/{name}/pins"): Try(
        "token", "/v1/datasets/{data_set}/pins", lambda _: {"json": {"statements": ["SELECT COUNT(*) FROM survey"]}}
    ),
    ("GET", "/v1/series"): Try("token", "/v1/series"),
    ("POST", "/v1/series/{name}/queries"): Try(
        "token", "/v1/series/surveys/queries", lambda _: {"json": {"queries": [{"where": "age < 3"}]}}
    ),
    ("GET", "/v1/people"): Try("custodian", "/v1/people"),
    ("POST", "/v1/people"): Try(
        "custodian", "/v1/people", lambda _: {"json": {"name": _fresh("person"), "role": "analyst"}}, scoped=403
    ),
    ("PUT", "/v1/people/{person}"): Try(
        "custodian", "/v1/people/zoe", lambda _: {"json": {"role": "analyst"}}, scoped=403
    ),
    ("DELETE", "/v1/people/{person}"): Try("custodian", "/v1/people/{person}", scoped=403),
    ("DELETE", "/v1/people/{person}/tokens"): Try("custodian", "/v1/people/{person}/tokens", scoped=403),
    ("GET", "/v1/tokens"): Try("custodian", "/v1/tokens"),
    ("POST", "/v1/tokens"): Try(
        "custodian", "/v1/tokens", lambda _: {"json": {"person": "zoe", "datasets": ["survey"]}}, scoped=201
    ),
    ("DELETE", "/v1/tokens/{id}"): Try("custodian", "/v1/tokens/{token}", scoped=204),
    ("PUT", "/v1/files/{file}"): Try("custodian", "/v1/files/{file}", lambda _: {"content": b"a\n1\n"}, scoped=403),
    ("DELETE", "/v1/files/{file}"): Try("custodian", "/v1/files/{upload}", scoped=403),
    ("GET", "/v1/audit"): Try("custodian", "/v1/audit"),
    **{
        (method, path): Try("anyone", path)
        for path in ("/", *(f"/{name}" for name in web.page_files()))
        for method in ("GET", "HEAD")
    },
}
ROUTES = sorted(MATRIX)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with api(tmp_path_factory.mktemp("api")) as started:
        started.token("zoe", data_sets=("survey",))
        custodian = started.token("carol", "custodian")
        closing = registration("closing", source={"place": "survey.csv", "series": "surveys"})
        assert started.call("POST", "/v1/datasets", custodian, json=closing).status_code == 201
        yield started


@pytest.fixture(scope="module")
def callers(here: Api) -> dict[str, str | None]:
    """A token, or none, of each kind of caller."""
    return {
        "no token": None,
        "garbage": "hgr_" + "x" * 60,
        "unknown": new_token(1).text,
        "expired analyst": here.token("ada", days=-1),
        "expired custodian": here.token("carol", "custodian", days=-1),
        "revoked analyst": here.revoked_token("ada"),
        "revoked custodian": here.revoked_token("carol", "custodian"),
        "analyst in scope": here.token("ada", data_sets=("survey", "closing")),
        "analyst of all": here.token("ada"),
        "analyst out of scope": here.token("ada", data_sets=("elsewhere",)),
        "custodian in scope": here.token("sue", "custodian", data_sets=("survey", "closing")),
        "custodian out of scope": here.token("carol", "custodian", data_sets=("elsewhere",)),
        "custodian": here.token("carol", "custodian"),
    }


def routes_of(here: Api) -> list[APIRoute]:
    assert all(isinstance(route, APIRoute) for route in here.app.routes)
    return [route for route in here.app.routes if isinstance(route, APIRoute)]


def test_every_route_is_in_the_matrix_and_no_other(here: Api) -> None:
    found = {(method, route.path) for route in routes_of(here) for method in route.methods}
    assert found == set(MATRIX)


def test_every_route_has_the_gate_of_the_matrix(here: Api) -> None:
    for route in routes_of(here):
        for method in route.methods:
            expected = _GATES[MATRIX[method, route.path].who]
            assert isinstance(route, expected) or (expected is ForAnyone and not isinstance(route, GatedRoute))


def test_a_route_without_a_word_about_it_is_for_custodians() -> None:
    assert GatedRoute.who == "custodian"


def sent(here: Api, key: tuple[str, str], token: str | None, data_set: str = "survey") -> Any:
    tried = MATRIX[key]
    path = tried.path.replace("{data_set}", "closing" if tried.path.endswith("/close") else data_set)
    path = path.replace("{file}", _fresh("table") + ".csv")
    if "{upload}" in path:
        path = path.replace("{upload}", name := _fresh("table") + ".csv")
        (here.folder / name).write_bytes(b"a\n1\n")
    if "{person}" in path:
        path = path.replace("{person}", here.person(_fresh("person")).name)
    if "{token}" in path:
        path = path.replace("{token}", here.token("zoe", data_sets=("survey",)).split("_")[1])
    return here.call(key[0], path, token, **tried.sent(here))


def actions(here: Api) -> list[str]:
    """What was done, apart from refused sign-ins and tokens that this test makes without the API."""
    return [each.action for each in here.store.audit(limit=10_000) if each.person is not None]


@pytest.mark.many(quick=36)
@pytest.mark.parametrize("key", ROUTES, ids=" ".join)
def test_without_a_good_token_there_is_nothing_but_what_is_for_anyone(
    here: Api, callers: dict[str, str | None], key: tuple[str, str]
) -> None:
    before = actions(here)
    for name, token in callers.items():
        if name.startswith(("no token", "garbage", "unknown", "expired", "revoked")):
            answer = sent(here, key, token)
            if MATRIX[key].who == "anyone":
                assert answer.status_code == 200, name
                continue
            assert (answer.status_code, answer.json()["code"]) == (401, "not-signed-in"), name
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["content-type"] == "application/problem+json"
    assert actions(here) == before


@pytest.mark.many(quick=40)
@pytest.mark.parametrize("key", ROUTES, ids=" ".join)
def test_analysts_ask_and_look_and_do_nothing_else(
    here: Api, callers: dict[str, str | None], key: tuple[str, str]
) -> None:
    before = actions(here)
    for name in ("analyst in scope", "analyst of all"):
        answer = sent(here, key, callers[name])
        if MATRIX[key].who == "custodian":
            assert (answer.status_code, answer.json()["code"]) == (403, "not-allowed"), name
        else:
            assert answer.status_code == 200, name
    done = actions(here)
    assert done[: len(done) - len(before)] in ([], ["records"] * 2)


@pytest.mark.parametrize("key", [key for key in ROUTES if "{name}" in key[1]], ids=" ".join)
def test_a_data_set_out_of_scope_looks_like_none(
    here: Api, callers: dict[str, str | None], key: tuple[str, str]
) -> None:
    for name in ("analyst out of scope", "custodian out of scope"):
        answer = sent(here, key, callers[name])
        if name.startswith("analyst") and MATRIX[key].who == "custodian":
            assert answer.status_code == 403
            continue
        assert (answer.status_code, answer.json()["code"]) == (404, "not-there")
        if not key[1].endswith("/close"):
            none = sent(here, key, callers[name], "nothing")
            assert none.status_code == 404
            assert none.text.replace("nothing", "survey") == answer.text
    if key[1].endswith("/close"):
        assert here.store.data_set("closing").status == "open"


@pytest.mark.parametrize("key", ROUTES, ids=" ".join)
def test_custodians_do_everything(here: Api, callers: dict[str, str | None], key: tuple[str, str]) -> None:
    answer = sent(here, key, callers["custodian"])
    assert answer.status_code in (200, 201, 204) or answer.status_code == MATRIX[key].scoped == 409, answer.text


@pytest.mark.parametrize("key", ROUTES, ids=" ".join)
def test_custodians_of_some_data_sets_do_what_concerns_these(
    here: Api, callers: dict[str, str | None], key: tuple[str, str]
) -> None:
    before = actions(here)
    answer = sent(here, key, callers["custodian in scope"])
    assert answer.status_code == MATRIX[key].scoped, answer.text
    if answer.status_code == 403:
        assert answer.json()["code"] == "not-allowed"
        assert "some data sets only" in answer.json()["detail"]
        assert actions(here) == before


def test_lists_hold_only_data_sets_in_scope(here: Api, callers: dict[str, str | None]) -> None:
    def names(caller: str) -> set[str]:
        answer = here.call("GET", "/v1/datasets", callers[caller]).json()
        return {each["name"] for each in answer["datasets"]}

    assert names("analyst out of scope") == set()
    assert "survey" in names("analyst in scope") <= {"survey", "closing"}
    assert names("custodian") == {each.name for each in here.store.data_sets()}


def test_analysts_see_their_own_answers_alone(here: Api, callers: dict[str, str | None]) -> None:
    other, custodian = here.token("bob"), callers["custodian"]
    path = "/v1/datasets/survey/answers"
    for token, where in ((other, "age = 1"), (callers["analyst of all"], "age = 2")):
        here.call("POST", "/v1/datasets/survey/queries", token, json={"queries": [{"where": where}]})

    def people(token: str | None, query: str = "") -> set[str]:
        return {each["person"] for each in here.call("GET", path + query, token).json()["answers"]}

    assert people(other) == people(other, "?person=bob") == {"bob"}
    assert here.call("GET", path + "?person=ada", other).status_code == 403
    assert {"ada", "bob"} <= people(custodian)
    assert people(custodian, "?person=bob") == {"bob"}
    assert here.call("GET", path + "?person=nobody", custodian).status_code == 404


def test_the_source_is_for_custodians(here: Api, callers: dict[str, str | None]) -> None:
    path = "/v1/datasets/survey"
    assert here.call("GET", path, callers["analyst in scope"]).json()["source"] is None
    assert here.call("GET", path, callers["custodian"]).json()["source"]["place"] == "survey.csv"


def test_a_token_of_some_data_sets_makes_none_of_more(here: Api) -> None:
    token = here.token("carol", "custodian", data_sets=("survey",))

    def made(datasets: list[str] | str) -> int:
        sent = {"person": "zoe", "datasets": datasets}
        return int(here.call("POST", "/v1/tokens", token, json=sent).status_code)

    here.token("zoe", data_sets=("survey",))
    assert [made("all"), made(["closing"]), made(["survey"])] == [403, 404, 201]


def test_a_token_is_good_until_it_is_revoked(here: Api, callers: dict[str, str | None]) -> None:
    made = here.call(
        "POST", "/v1/tokens", callers["custodian"], json={"person": "ada", "datasets": "all", "days": 1}
    ).json()
    assert here.call("GET", "/v1/me", made["token"]).json()["person"] == "ada"
    assert here.call("DELETE", f"/v1/tokens/{made['id']}", callers["custodian"]).status_code == 204
    assert here.call("GET", "/v1/me", made["token"]).status_code == 401
    assert made["token"] not in here.call("GET", "/v1/tokens", callers["custodian"]).text
