"""Rates, sizes and headers."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import ConfigError, RateError, StoreError
from hedgerow.service import Settings, new_token
from hedgerow.service.http import problems, routes_data_sets
from hedgerow.service.http.middleware import BodyLimit, Rates, address_of
from tests.service.api import Api, api


@pytest.fixture
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of rates do not end within a test."""
    now = time.time() // 60 * 60 + 90
    monkeypatch.setattr(time, "time", lambda: now)


@pytest.fixture
def strict(tmp_path: Path, _stopped_clock: None) -> Iterator[Api]:
    with api(tmp_path, requests_per_minute=5, failures_per_minute=3, largest_body=1000, largest_upload=5000) as here:
        yield here


def test_a_token_that_is_used_too_often_is_told_when_to_come_back(strict: Api) -> None:
    ada, bob = strict.token("ada"), strict.token("bob")
    found = [strict.call("GET", "/v1/me", ada).status_code for _ in range(6)]
    assert found == [200] * 5 + [429]
    refused = strict.call("GET", "/v1/me", ada)
    assert refused.json()["code"] == "rate"
    assert 1 <= int(refused.headers["retry-after"]) <= 120
    assert strict.call("GET", "/v1/me", bob).status_code == 200


def test_guessing_is_slowed_down_and_known_tokens_go_on(strict: Api) -> None:
    known, later = strict.token("ada"), strict.token("bob")
    assert strict.call("GET", "/v1/me", known).status_code == 200
    guesses = [strict.call("GET", "/v1/me", new_token(1).text).status_code for _ in range(5)]
    assert guesses == [401, 401, 401, 429, 429]
    assert strict.call("GET", "/v1/me", known).status_code == 200
    assert strict.call("GET", "/v1/me", later).status_code == 429


def test_tokens_that_have_expired_are_no_guesses(strict: Api) -> None:
    expired, later = strict.token("ada", days=-1), strict.token("bob")
    assert [strict.call("GET", "/v1/me", expired).status_code for _ in range(5)] == [401] * 5
    assert strict.call("GET", "/v1/me", later).status_code == 200


def test_refused_sign_ins_are_noted_once_a_minute_for_an_address(strict: Api) -> None:
    for _ in range(3):
        strict.call("GET", "/v1/me", "garbage")
    found = [(each.person, each.subject) for each in strict.store.audit() if each.action == "sign-in refused"]
    assert found == [(None, "192.0.2.1")]


@pytest.mark.usefixtures("_stopped_clock")
def test_refused_sign_ins_from_many_addresses_do_not_fill_the_log() -> None:
    rates = Rates(Settings(Path()))
    assert sum(rates.failed(f"192.0.2.{number}") for number in range(200)) == 60


def test_a_refusal_is_a_refusal_where_it_cannot_be_noted(here: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(type(here.store), "note", full)
    assert here.call("GET", "/v1/me", "garbage").status_code == 401


@pytest.mark.usefixtures("_stopped_clock")
def test_rates_say_what_is_too_much() -> None:
    rates = Rates(Settings(Path(), requests_per_minute=2))
    for _ in range(2):
        rates.request("a")
    with pytest.raises(RateError, match="more than 2 requests a minute") as found:
        rates.request("a")
    assert found.value.seconds >= 1


@pytest.mark.parametrize(
    ("client", "address"),
    [
        (None, "unknown"),
        (("192.0.2.1", 1), "192.0.2.1"),
        (("2001:db8:1:2:3:4:5:6", 1), "2001:db8:1:2::/64"),
        (("::ffff:192.0.2.1", 1), "192.0.2.1"),
        (("x" * 500, 1), "x" * 100),
    ],
)
def test_addresses(client: tuple[str, int] | None, address: str) -> None:
    assert address_of({"client": client}) == address


@pytest.mark.parametrize("name", ["largest_body", "largest_upload", "failures_per_minute", "downloads", "threads"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None])
def test_settings_are_checked(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=name):
        Settings(Path(), **{name: value})


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("with_length", [True, False])
@pytest.mark.parametrize(("path", "most"), [("/v1/datasets/survey/queries", 1000), ("/v1/files/a.csv", 5000)])
def test_bodies_are_as_large_as_they_may_be(strict: Api, path: str, most: int, with_length: bool) -> None:
    method = "PUT" if "files" in path else "POST"
    custodian = strict.token("carol", "custodian")

    async def pieces(size: int) -> Any:
        for _ in range(size // 100):
            yield b"x" * 100

    def status(size: int) -> int:
        content: Any = b"x" * size if with_length else pieces(size)
        answer = strict.call(method, path, custodian, content=content)
        assert answer.headers["content-type"].endswith("json")
        return int(answer.status_code)

    assert status(most + 100) == 413
    assert list(strict.folder.iterdir()) == [strict.folder / "survey.csv"]
    assert status(most) == (201 if method == "PUT" else 422)


def test_a_body_that_is_said_to_be_huge_is_refused_before_it_is_read(strict: Api) -> None:
    for length in (str(10**30), "5001", "9" * 5000):
        sent = {"headers": {"Content-Length": length}, "content": b"x"}
        answer = strict.call("PUT", "/v1/files/a.csv", strict.token("carol", "custodian"), **sent)
        assert (answer.status_code, answer.json()["code"]) == (413, "too-much")


def test_a_body_is_counted_over_all_its_pieces() -> None:
    import anyio

    seen: list[int] = []

    async def reader(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive()).get("more_body"):
            seen.append(len(message["body"]))

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * 400, "more_body": True}

    async def run() -> None:
        guarded = BodyLimit(reader, Settings(Path(), largest_body=1000))
        scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
        await guarded(scope, receive, lambda _: None)  # type: ignore[arg-type, return-value]

    with pytest.raises(Exception, match="the body is larger"):
        anyio.run(run)
    assert seen == [400, 400]


@pytest.mark.parametrize(
    "path", ["/v1/health", "/v1/me", "/v1/docs", "/nothing", "/", "/v1/datasets/survey/records?n=2"]
)
def test_every_response_has_the_headers_for_browsers(here: Api, path: str) -> None:
    headers = here.call("GET", path, here.token("ada")).headers
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert (headers.get("cache-control") == "no-store") == path.startswith("/v1")


def test_an_error_that_nobody_foresaw_tells_nothing(
    here: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        try:
            raise ValueError("count of secret cell: 4711")
        except ValueError as error:
            raise RuntimeError("4711 again") from error

    monkeypatch.setattr(routes_data_sets, "summary_of", broken)
    with caplog.at_level(logging.DEBUG):
        answer = here.call("GET", "/v1/datasets", here.token("ada"))
    assert answer.status_code == 500
    assert answer.json() == {
        "type": "urn:hedgerow:problem:internal",
        "title": "Something went wrong inside the server",
        "status": 500,
        "detail": "",
        "remedy": "",
        "code": "internal",
    }
    ours = [record for record in caplog.records if record.name == "hedgerow.service"]
    assert len(ours) == 1
    assert "RuntimeError" in ours[0].getMessage()
    assert "ValueError" in ours[0].getMessage()
    assert "4711" not in caplog.text
    assert all(record.exc_info is None and record.exc_text is None for record in caplog.records)


def test_no_error_of_hedgerow_that_is_none_of_the_askers_business_gets_out(caplog: pytest.LogCaptureFixture) -> None:
    from hedgerow import errors

    answer = problems.problem_of(errors.SessionError("the session of 4711 people"))
    assert answer.status_code == 500
    assert b"4711" not in answer.body
    assert "4711" not in caplog.text


def test_metrics_name_routes_and_nothing_else(here: Api) -> None:
    token = here.token("ada")
    for path in ("/v1/datasets/survey", "/v1/datasets/no-such-name", "/v1/ada-private", "/v1/me"):
        here.call("GET", path, token)
    here.call("BREW", "/v1/me", token)
    text = here.client.get("/v1/metrics").text
    assert 'hedgerow_requests_total{method="GET",route="/v1/datasets/{name}",status="404"} 1.0' in text
    assert 'route="other",status="404"' in text
    assert 'method="other"' in text
    for private in ("survey", "no-such-name", "ada", "process_", "python_"):
        assert private not in text
