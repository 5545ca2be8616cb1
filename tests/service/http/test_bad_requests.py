"""Requests that are wrong: each gives a clear problem, and changes nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from hedgerow.errors import (
    DataError,
    InvalidRequestError,
    StoreBusyError,
    StoreError,
    TableError,
)
from hedgerow.service import SessionWorkers
from hedgerow.service.http.request_parsing import DEEPEST, Cursors, Place, parse_json
from tests.service.api import Api, registration

QUERIES = "/v1/datasets/survey/queries"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def unchanged(here: Api) -> Iterator[None]:
    """Fails a test after which anything is different but what it was answered."""

    def state() -> tuple[object, ...]:
        data_set = here.store.data_set("survey")
        return (
            here.store.answers(data_set.id),
            here.store.events(data_set.id),
            here.store.data_sets(),
            here.store.people(),
            here.store.tokens(),
            here.store.grants(data_set.id),
            sorted(here.folder.iterdir()),
        )

    before = state()
    yield
    assert state() == before


def problem(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    found: dict[str, Any] = answer.json()
    assert (found["code"], found["status"], found["type"]) == (code, status, f"urn:hedgerow:problem:{code}")
    assert set(found) == {"type", "title", "status", "detail", "remedy", "code"} | (
        {"fields"} if status == 422 else set()
    )
    return found


BODIES = {
    "no JSON": (b"{", "not JSON: Expecting property name"),
    "two values": (b"{} {}", "Extra data"),
    "NaN": (b'{"queries": [{"where": ""}], "confidence": NaN}', "no number NaN"),
    "Infinity": (b'{"queries": [{"where": ""}], "confidence": -Infinity}', "no number -Infinity"),
    "1e999": (b'{"queries": [{"where": ""}], "confidence": 1e999}', "too large"),
    "long whole number": (b'{"queries": ' + b"9" * 5000 + b"}", "more than 30 digits"),
    "invalid UTF-8": (b'{"queries": [{"where": "\xff"}]}', "not UTF-8"),
    "surrogate": (b'{"queries": [{"where": "\\ud800"}]}', "surrogate"),
    "surrogate key": (b'{"\\udfff": 1}', "surrogate"),
    "zero character": (b'{"queries": [{"where": "\\u0000"}]}', r"U+0000"),
    "deep lists": (b'{"queries": ' + b"[" * 200 + b"]" * 200 + b"}", "nested"),
    "very deep lists": (b"[" * 300_000 + b"]" * 300_000, "nested"),
    "very deep objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested"),
    "a key twice": (b'{"queries": [], "queries": []}', "a key twice"),
}


@pytest.mark.many(quick=5)
@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_are_no_strict_json(here: Api, ada: str, name: str) -> None:
    content, said = BODIES[name]
    found = problem(here.call("POST", QUERIES, ada, content=content, headers=JSON), 422, "invalid")
    assert said in found["detail"]


def test_pairs_of_surrogates_are_one_character() -> None:
    assert parse_json(b'["\\ud83d\\ude00"]') == ["\U0001f600"]


def test_nesting_is_fine_up_to_the_limit() -> None:
    parse_json(b"[" * DEEPEST + b"]" * DEEPEST)
    with pytest.raises(InvalidRequestError, match="nested"):
        parse_json(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "kind",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "\x00",
    ],
)
def test_other_types_of_content(here: Api, ada: str, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = here.call("POST", QUERIES, ada, content=b'{"queries": [{"where": ""}]}', headers=headers)
    assert "not declared as JSON" in problem(answer, 422, "invalid")["detail"]


WRONG = {
    "nothing": ({}, "body.queries"),
    "a list": ([], "body"),
    "no queries": ({"queries": []}, "body.queries"),
    "1,001 queries": ({"queries": [{"where": "age = 1"}] * 1001}, "body.queries"),
    "queries as text": ({"queries": "age = 1"}, "body.queries"),
    "a text as query": ({"queries": ["age = 1"]}, "body.queries.0"),
    "no language": ({"queries": [{}]}, "body.queries.0"),
    "two languages": ({"queries": [{"where": "", "sql": ""}]}, "body.queries.0"),
    "another language": ({"queries": [{"regex": "a"}]}, "body.queries.0"),
    "long text": ({"queries": [{"where": "a" * 10_001}]}, "body.queries.0.where"),
    "number as text": ({"queries": [{"where": 1}]}, "body.queries.0.where"),
    "confidence 0": ({"queries": [{"where": ""}], "confidence": 0}, "body.confidence"),
    "confidence 1": ({"queries": [{"where": ""}], "confidence": 1}, "body.confidence"),
    "confidence as text": ({"queries": [{"where": ""}], "confidence": "0.9"}, "body.confidence"),
    "confidence true": ({"queries": [{"where": ""}], "confidence": True}, "body.confidence"),
    "confidence huge": ({"queries": [{"where": ""}], "confidence": 10**29}, "body.confidence"),
    "more": ({"queries": [{"where": ""}], "budget": 5}, "body.budget"),
}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", WRONG)
def test_bodies_that_are_not_as_documented(here: Api, ada: str, name: str) -> None:
    body, where = WRONG[name]
    found = problem(here.call("POST", QUERIES, ada, json=body), 422, "invalid")
    assert any(field["where"].startswith(where) for field in found["fields"]), found["fields"]
    assert set().union(*found["fields"]) == {"where", "reason"}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "question",
    [
        {"where": "gender = 'M'"},
        {"where": "age ="},
        {"sql": "DROP TABLE survey"},
        {"sql": "SELECT COUNT(*) FROM other"},
        {"sql": "SELECT COUNT(*) FROM survey; SELECT 1"},
        {"predicate": {"nonsense": 1}},
        {"predicate": {"sex": "X"}},
    ],
)
def test_one_question_that_cannot_be_read_stops_all_and_is_named(here: Api, ada: str, question: dict[str, Any]) -> None:
    body = {"queries": [{"where": "age = 1"}, {"where": "age = 2"}, question, {"where": "age = 3"}]}
    found = problem(here.call("POST", QUERIES, ada, json=body, headers={"Idempotency-Key": "never"}), 422, "invalid")
    assert found["detail"].startswith("question 3: ")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "part", ["x" * 9000, "'" + "x" * 9000 + "' = 1", "age = '" + "x" * 9000 + "'", "age in (" + "1, " * 3000 + "x)"]
)
@pytest.mark.parametrize("language", ["where", "sql", "predicate"])
def test_little_of_what_was_sent_is_sent_back(here: Api, ada: str, part: str, language: str) -> None:
    questions = {
        "where": {"where": part},
        "sql": {"sql": f"SELECT COUNT(*) FROM survey WHERE {part}"},
        "predicate": {"predicate": {"attribute": part, "equals": part, part: part}},
    }
    found = problem(here.call("POST", QUERIES, ada, json={"queries": [questions[language]]}), 422, "invalid")
    assert len(found["detail"]) <= 200 + len("question 1: ")
    assert len(found["remedy"]) <= 200
    assert all(len(field["where"]) <= 200 and len(field["reason"]) <= 200 for field in found["fields"])


@pytest.mark.usefixtures("unchanged")
def test_texts_that_are_too_long_together(here: Api, ada: str) -> None:
    body = {"queries": [{"where": "age = 1" + " " * 9000}] * 28}
    assert "250,000" in problem(here.call("POST", QUERIES, ada, json=body), 413, "too-much")["detail"]


def test_few_fields_are_listed_of_very_many(here: Api, ada: str) -> None:
    found = problem(here.call("POST", QUERIES, ada, json={"queries": [{}] * 1000, "x" * 5000: 1}), 422, "invalid")
    assert len(found["fields"]) == 20


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("key", ["x" * 201, "", "a b", "a\tb", "é"])
def test_keys_of_other_characters_or_too_long(here: Api, ada: str, key: str) -> None:
    headers = {"Idempotency-Key": key.encode("latin-1")}
    answer = here.call("POST", QUERIES, ada, json={"queries": [{"where": "age = 5"}]}, headers=headers)
    assert "Idempotency-Key" in problem(answer, 422, "invalid")["fields"][0]["where"]


def test_a_key_is_for_one_body_and_one_person(here: Api, ada: str) -> None:
    def ask(token: str, body: dict[str, Any]) -> Any:
        return here.call("POST", QUERIES, token, json=body, headers={"Idempotency-Key": "k" * 200})

    first = {"queries": [{"where": "age = 1"}]}
    given = ask(ada, first)
    assert ask(ada, {"confidence": 0.95, **first}).json()["answers"] == given.json()["answers"]
    asked = len(here.store.answers(1))
    for other in ({"queries": [{"where": "age = 2"}]}, {**first, "confidence": 0.9}):
        assert "key" in problem(ask(ada, other), 409, "conflict")["detail"]
    assert len(here.store.answers(1)) == asked
    assert ask(here.token("bob"), {"queries": [{"where": "age = 2"}]}).status_code == 200


def cursors(here: Api, ada: str, carol: str) -> dict[str, str]:
    """Cursors that are none of the list of ada's answers."""
    for number in range(3):
        here.call("POST", QUERIES, ada, json={"queries": [{"where": f"age = {number}"}]})
    good = here.call("GET", "/v1/datasets/survey/answers?limit=1", ada).json()["next"]
    foreign = Cursors(b"another secret").make(Place("answers", 1, here.person("ada").id, str(here.person("ada").id)), 2)
    return {
        "forged": good[:-3] + ("A" if good[-3] != "A" else "B") + good[-2:],  # some bits of the last one mean nothing
        "cut": good[:10],
        "not ASCII": "é\u0000",
        "empty": "",
        "foreign": foreign,
        "another person's": here.call("GET", "/v1/datasets/survey/answers?limit=1", carol).json()["next"],
        "another list's": here.call("GET", "/v1/audit?limit=1", carol).json()["next"],
    }


def test_cursors_of_other_lists(here: Api, ada: str, carol: str) -> None:
    for name, cursor in cursors(here, ada, carol).items():
        answer = here.call("GET", "/v1/datasets/survey/answers", ada, params={"cursor": cursor})
        assert "begin again" in problem(answer, 422, "invalid")["remedy"], name
    path = "/v1/datasets/survey/answers"
    other = here.call("GET", f"{path}?limit=1&person=ada", carol).json()["next"]
    assert here.call("GET", path, carol, params={"cursor": other, "person": "ada"}).status_code == 200
    problem(here.call("GET", path, carol, params={"cursor": other}), 422, "invalid")
    problem(here.call("GET", path, ada, params={"cursor": "x" * 1001}), 422, "invalid")


def test_cursors_end(monkeypatch: pytest.MonkeyPatch) -> None:
    cursors, place = Cursors(b"secret"), Place("answers", 1, 1)
    made = cursors.make(place, 7)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 24 * 3600 - 2)
    assert cursors.read(made, place) == 7
    monkeypatch.setattr(time, "time", lambda: now + 24 * 3600 + 2)
    with pytest.raises(InvalidRequestError, match="expired"):
        cursors.read(made, place)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "name", ["A", "a b", "a%00b", "%F0%9F%98%80", "%ff%fe", "..", "a" * 41, "a%2Fb", "a'--", "%2e%2e%2fdata"]
)
def test_names_of_data_sets_with_odd_characters(here: Api, carol: str, name: str) -> None:
    for path in (f"/v1/datasets/{name}", f"/v1/datasets/{name}/ledger"):
        answer = here.call("GET", path, carol)
        assert answer.json()["code"] in ("invalid", "not-there")
    bad = registration(name)
    problem(here.call("POST", "/v1/datasets", carol, json=bad), 422, "invalid")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", ["", " ", "a b", ".a", "a\n", "é", "<b>", "a" * 101, "a/b", "\u202e"])
def test_names_of_people_with_odd_characters(here: Api, carol: str, name: str) -> None:
    problem(here.call("POST", "/v1/people", carol, json={"name": name, "role": "analyst"}), 422, "invalid")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "name",
    [
        "x.exe",
        ".csv",
        ".hidden.csv",
        "a b.csv",
        "a%2F..%2Fb.csv",
        "..%2Fb.csv",
        "a%00.csv",
        "x" * 97 + ".csv",
        "a.csv%0a",
        "a.CSV",
    ],
)
def test_names_of_files_with_odd_characters(here: Api, carol: str, name: str) -> None:
    answer = here.call("PUT", f"/v1/files/{name}", carol, content=b"a\n1\n")
    assert answer.json()["code"] in ("invalid", "not-there")


@pytest.mark.usefixtures("unchanged")
def test_files_are_never_replaced_and_never_empty(here: Api, carol: str) -> None:
    before = (here.folder / "survey.csv").read_bytes()
    problem(here.call("PUT", "/v1/files/survey.csv", carol, content=b"a\n1\n"), 409, "conflict")
    problem(here.call("PUT", "/v1/files/empty.csv", carol, content=b""), 422, "invalid")
    assert (here.folder / "survey.csv").read_bytes() == before


@pytest.mark.usefixtures("unchanged")
def test_a_full_disk_keeps_no_part_of_an_upload(here: Api, carol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.service.http import uploads

    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads, "_to_disk", full)
    found = problem(here.call("PUT", "/v1/files/large.csv", carol, content=b"a\n1\n"), 503, "store")
    assert "room" in found["remedy"]


REGISTRATIONS: dict[str, dict[str, Any]] = {
    "no budget": {"budget": {}},
    "two budgets": {"budget": {"epsilon": 1.0, "rho": 1.0}},
    "a rho and a delta": {"budget": {"rho": 1.0, "delta": 1e-6}},
    "a rho and a mu": {"budget": {"rho": 1.0, "mu": 1.0}},
    "a mu and a delta": {"budget": {"mu": 1.0, "delta": 1e-6}},
    "budget 0": {"budget": {"epsilon": 0.0}},
    "budget below 0": {"budget": {"epsilon": -1.0}},
    "other neighbours": {"budget": {"epsilon": 1.0, "neighbours": "friends"}},
    "no domain": {"domain": {}},
    "a domain of one value": {"domain": {"sex": ["F"]}},
    "another domain": {"domain": {"height": [1, 2]}},
    "very many bins": {"domain": {"age": {"min": 0, "max": 9, "bins": 10**12}}},
    "no such file": {"source": {"place": "nothing.csv"}},
    "outside the folder": {"source": {"place": "../store.db"}},
    "absolute": {"source": {"place": "/etc/passwd"}},
    "another kind": {"source": {"place": "https://192.0.2.1/a.csv"}},
    "a password": {"source": {"place": "postgresql://ada:secret@localhost/db#t"}},
    "an option too many": {"options": {"bounds": [0, 1]}},
    "options that contradict": {"options": {"alpha": 0.1, "updates": 3}},
    "updates 0": {"options": {"updates": 0}},
    "a long title": {"title": "x" * 201},
}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", REGISTRATIONS)
def test_registrations_that_do_not_fit_together(here: Api, carol: str, name: str) -> None:
    answer = here.call("POST", "/v1/datasets", carol, json=registration("wrong", **REGISTRATIONS[name]))
    assert answer.json()["code"] in ("invalid", "not-allowed"), answer.text
    assert "secret" not in answer.text
    assert str(here.folder) not in answer.text


@pytest.mark.usefixtures("unchanged")
def test_what_is_there_is_not_made_again(here: Api, carol: str) -> None:
    problem(here.call("POST", "/v1/datasets", carol, json=registration()), 409, "conflict")
    problem(here.call("POST", "/v1/people", carol, json={"name": "carol", "role": "analyst"}), 409, "conflict")
    problem(here.call("POST", "/v1/tokens", carol, json={"person": "nobody", "datasets": "all"}), 404, "not-there")
    problem(here.call("POST", "/v1/tokens", carol, json={"person": "carol", "datasets": ["none"]}), 404, "not-there")
    problem(here.call("DELETE", "/v1/tokens/0123456789abcdef", carol), 404, "not-there")
    problem(
        here.call("PUT", "/v1/datasets/survey/grants/nobody", carol, json={"queries": 1, "budget": None}),
        404,
        "not-there",
    )


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "query",
    [
        "",
        "attributes=",
        "attributes=nothing",
        "attributes=sex,sex",
        "attributes=sex,age,job,sex",
        "attributes=%22sex",
        "attributes=sex%00",
        "attributes=%ff",
        "attributes=sex%0Aage",
        "attributes=" + "x" * 1001,
    ],
)
def test_marginals_of_what_is_not_there(here: Api, ada: str, query: str) -> None:
    problem(here.call("GET", f"/v1/datasets/survey/marginals?{query}", ada), 422, "invalid")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "query", ["n=0", "n=-1", "n=1000001", "n=1e3", "n=x", "n=" + "9" * 5000, "format=xlsx", "format="]
)
def test_records_that_are_not_given(here: Api, ada: str, query: str) -> None:
    problem(here.call("GET", f"/v1/datasets/survey/records?{query}", ada), 422, "invalid")


@pytest.mark.usefixtures("unchanged")
def test_parameters_that_are_misspelt_or_there_twice(here: Api, carol: str) -> None:
    twice = here.call("GET", "/v1/datasets/survey/answers?limit=1&limit=2", carol)
    assert "twice" in problem(twice, 422, "invalid")["detail"]
    answer = here.call("GET", "/v1/datasets/survey/answers?peron=ada", carol)
    assert problem(answer, 422, "invalid")["remedy"] == "the known ones are cursor, limit, person"
    problem(here.call("GET", "/v1/health?x=1"), 422, "invalid")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", "1.5", "9" * 5000])
def test_pages_of_other_sizes(here: Api, carol: str, limit: str) -> None:
    problem(here.call("GET", f"/v1/audit?limit={limit}", carol), 422, "invalid")


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
def test_addresses_and_methods_that_are_not_there(here: Api, carol: str, method: str) -> None:
    for path in (
        "/v1",
        "/v1/",
        "/v1/me/",
        "/v2/me",
        "/v1/datasets/survey/nothing",
        "/%00",
        "/..%2f..%2fetc%2fpasswd",
    ):
        assert here.call(method, path, carol).json()["code"] == "not-there", path
    if method not in ("GET", "POST"):
        answer = here.call(method, "/v1/people", carol)
        problem(answer, 405, "wrong-method")
        assert answer.headers["allow"] == "GET, POST"


RAISED = {
    "busy": (StoreBusyError("the store is busy", remedy="try again"), 503, "busy"),
    "store": (StoreError("the store cannot be written", remedy="make room"), 503, "store"),
    "table": (TableError("the private table cannot be read now"), 503, "table"),
}


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", RAISED)
def test_what_goes_wrong_below_is_said_plainly(here: Api, ada: str, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    error, status, code = RAISED[name]

    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(SessionWorkers, "ask", broken)
    answer = here.call("POST", QUERIES, ada, json={"queries": [{"where": "age = 1"}]})
    found = problem(answer, status, code)
    assert (found["detail"], found["remedy"]) == (error.message, error.remedy)
    assert ("retry-after" in answer.headers) == (code == "busy")


def test_a_table_that_is_gone_tells_analysts_nothing_of_it(
    here: Api, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hedgerow.service import SessionWorker

    def broken(*_: object, **__: object) -> None:
        raise DataError("4711 rows", file="survey.csv", rows=(1,), n_rows=4711)

    monkeypatch.setattr(SessionWorker, "ask", broken)
    answer = here.call("POST", QUERIES, ada, json={"queries": [{"where": "age = 1"}]})
    problem(answer, 503, "table")
    assert "4711" not in answer.text


def test_what_was_sent_with_a_wrong_token_is_not_even_read(here: Api) -> None:
    for token in (None, "x" * 100_000, "hgr_\x7f", "' or 1=1 --"):
        answer = here.call("POST", QUERIES, token, content=b"{", headers=JSON)
        problem(answer, 401, "not-signed-in")
        assert token is None or token not in answer.text


def test_everything_of_a_problem_is_json(here: Api, ada: str) -> None:
    answer = here.call("POST", QUERIES, ada, json={"queries": [{"where": '"\U0001f600\u2028" = 1'}]})
    assert json.loads(answer.content.decode())["code"] == "invalid"


def test_whoever_hangs_up_is_no_failure_of_the_server(here: Api, ada: str, caplog: pytest.LogCaptureFixture) -> None:
    sent: list[object] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        sent.append(message)

    headers = [(b"authorization", f"Bearer {ada}".encode()), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": QUERIES,
        "raw_path": QUERIES.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.1", 1),
        "app": here.app,
    }
    anyio.run(here.app, scope, receive, send)
    assert sent == []
    assert [record for record in caplog.records if record.name.startswith("hedgerow")] == []
    route = QUERIES.replace("survey", "{name}")
    assert f'route="{route}",status="499"' in here.client.get("/v1/metrics").text
