"""What operators watch: readiness, gauges of data sets, and the log in JSON."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from hedgerow.errors import StoreBusyError, StoreError
from hedgerow.service import Readiness, Store, log_as_json
from tests.service.api import Api, api
from tests.service.store.test_full_disk import locked, no_room


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as started:
        yield started


# Readiness


def test_a_server_without_room_is_alive_and_not_ready(fresh: Api, tmp_path: Path) -> None:
    with no_room(tmp_path / "store.db", 20_000):
        told = fresh.call("GET", "/v1/ready")
        assert (told.status_code, told.json()["code"]) == (503, "store")
        assert "full" in told.json()["detail"]
        assert str(tmp_path) not in told.text
        assert fresh.call("GET", "/v1/health").status_code == 200
        carol = fresh.token("carol", "custodian")
        assert "hedgerow_store_writable 0.0" in fresh.call("GET", "/v1/metrics/datasets", carol).text
    fresh.app.state.service.readiness._until = 0.0  # five seconds later
    assert fresh.call("GET", "/v1/ready").json()["status"] == "ok"


def test_however_many_ask_the_store_is_looked_at_once_in_a_while(fresh: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[float] = []
    clock = iter([0.0, 10.0, 10.0, 12.0, 14.9, 15.0, 15.0])
    # of this module alone: the loop that serves has a clock too
    monkeypatch.setattr("hedgerow.service.http.gauges.time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(type(fresh.store), "rehearse", lambda _: looked.append(1.0))
    readiness = Readiness(fresh.store)
    readiness._until = 1.0
    for _ in range(5):
        readiness.check()
    assert len(looked) == 2


def test_a_rehearsal_leaves_nothing_behind(address: str) -> None:
    """Neither rows nor another state, which would forget what is known to be unchanged."""
    store = Store.open(address)
    try:
        store.add_person("ada", "custodian", by=None)
        size = store.size()
        before = store.audit_point(), [person.name for person in store.people()]
        stamp = store.stamp() if store.is_here else None
        for _ in range(3):
            store.rehearse()
        assert (store.audit_point(), [person.name for person in store.people()]) == before
        assert stamp is None or store.stamp() == stamp
        assert store.secret("rehearsal") != b""
        assert len(store.secret("rehearsal")) == 32  # nothing was kept under this name
        assert 0 < size <= store.size() < size + 4 * 2**20
    finally:
        store.close()


def test_another_writer_makes_a_rehearsal_wait_and_then_busy(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store.db", wait=0.05)
    try:
        with locked(tmp_path / "store.db"), pytest.raises(StoreBusyError):
            store.rehearse()
        store.rehearse()
    finally:
        store.close()


def test_a_store_that_may_only_be_read_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(tmp_path / "store.db")
    real = sqlite3.connect
    try:
        monkeypatch.setattr(sqlite3, "connect", lambda path, *more: real(f"file:{path}?mode=ro", *more, uri=True))
        with pytest.raises(StoreError, match="read-only"):
            store.rehearse()
    finally:
        store.close()


@pytest.mark.postgresql
def test_a_database_that_may_only_be_read_is_not_ready(new_postgresql_database: str) -> None:
    Store.open(new_postgresql_database).close()
    with psycopg.connect(new_postgresql_database, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')  # type: ignore[arg-type]
    store = Store.open(new_postgresql_database, as_it_is=True)
    try:
        assert store.people() == []
        with pytest.raises(StoreError, match="may only be read"):
            store.rehearse()
    finally:
        store.close()


def test_an_anchor_that_cannot_be_written_is_no_readiness(tmp_path: Path) -> None:
    from hedgerow.service import Anchor

    (tmp_path / "elsewhere").mkdir()
    anchor = Anchor(tmp_path / "elsewhere" / "anchor.json")
    store = Store.open(tmp_path / "store.db", anchor=anchor)
    try:
        store.add_person("ada", "custodian", by=None)
        written = anchor.read()
        store.rehearse()
        assert anchor.read() == written
        for each in (tmp_path / "elsewhere").iterdir():
            each.unlink()
        (tmp_path / "elsewhere").rmdir()
        with pytest.raises(StoreError, match=r"anchor .* cannot be written"):
            store.rehearse()
    finally:
        store.close()


# Gauges


def values_of(text: str) -> dict[str, float]:
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in text.splitlines() if line[0] != "#")
    }


def test_gauges_are_what_the_data_set_says_of_itself(fresh: Api) -> None:
    carol, ada = fresh.token("carol", "custodian"), fresh.token("ada")
    asked = {"queries": [{"where": "age < 3"}, {"where": "sex = 'F'"}]}
    fresh.call("POST", "/v1/datasets/survey/queries", ada, json=asked)
    told = fresh.call("GET", "/v1/datasets/survey", carol).json()
    found = values_of(fresh.call("GET", "/v1/metrics/datasets", carol).text)
    assert found['hedgerow_budget_limit{dataset="survey"}'] == told["limit"] == 4.0
    assert found['hedgerow_budget_left{dataset="survey"}'] == pytest.approx(told["account"]["left"])
    assert found['hedgerow_budget_held{dataset="survey"}'] == 0.0
    assert found['hedgerow_corrections{dataset="survey"}'] == told["updates"]
    assert found['hedgerow_corrections_left{dataset="survey"}'] == told["updates_left"]
    assert found['hedgerow_questions{dataset="survey"}'] == 2.0
    assert found['hedgerow_waiting{dataset="survey"}'] == 0.0
    assert found["hedgerow_sessions"] == 1.0
    assert found["hedgerow_store_bytes"] > 10_000
    assert found["hedgerow_store_writable"] == 1.0
    assert {name: value for name, value in found.items() if "status" in name and value} == {
        'hedgerow_status{dataset="survey",status="open"}': 1.0
    }


def test_gauges_are_for_custodians_and_for_what_their_tokens_open(fresh: Api) -> None:
    some = fresh.token("dora", "custodian", data_sets=("another",))
    one = fresh.token("dora", "custodian", data_sets=("survey",))
    assert fresh.call("GET", "/v1/metrics/datasets", fresh.token("ada")).status_code == 403
    assert fresh.call("GET", "/v1/metrics/datasets").status_code == 401
    for token in (some, one):
        text = fresh.call("GET", "/v1/metrics/datasets", token).text
        assert ('dataset="survey"' in text) == (token == one)
        assert "store_bytes" not in text
        assert "sessions" not in text
        assert "ada" not in text
    assert 'dataset="' not in fresh.call("GET", "/v1/metrics").text


# The log


class Lines(logging.Handler):
    """The lines that a handler would write."""

    def __init__(self, formatter: logging.Formatter | None) -> None:
        super().__init__()
        self.formatter, self.lines = formatter, list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def written() -> Iterator[list[str]]:
    """What the server logs in JSON; afterwards loggers are as they were."""
    loggers = [logging.getLogger(name) for name in ("hedgerow.service", "hedgerow.requests", "uvicorn")]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    log_as_json(quiet=False)
    handler = Lines(loggers[0].handlers[0].formatter)
    for each in loggers:
        each.handlers = [handler]
    yield handler.lines
    for each, (handlers, propagate, level) in zip(loggers, before, strict=True):
        each.handlers, each.propagate = handlers, propagate
        each.setLevel(level)


def test_a_line_says_which_request_and_who_and_nothing_of_what_was_asked(fresh: Api, written: list[str]) -> None:
    ada = fresh.token("ada")
    secret = "clerk4711"
    answer = fresh.call("POST", "/v1/datasets/survey/queries", ada, json={"queries": [{"where": f"job = '{secret}'"}]})
    wrong = fresh.call("GET", f"/v1/datasets/survey/marginals?attributes={secret}", ada)
    other = fresh.call("GET", f"/v1/{secret}%0A%7B%22level%22:%22error%22%7D", f"hgr_{secret}")
    told = [json.loads(line) for line in written]
    assert [each["status"] for each in told] == [answer.status_code, wrong.status_code, other.status_code]
    assert [each["status"] for each in told] == [422, 422, 404]
    assert [each["request"] for each in told] == [each.headers["x-request-id"] for each in (answer, wrong, other)]
    assert len({each["request"] for each in told}) == 3
    assert [each.get("person") for each in told] == ["ada", "ada", None]
    assert told[0]["route"] == "/v1/datasets/{name}/queries"
    assert told[2]["route"] == "other"
    assert {each["level"] for each in told} == {"info"}
    assert all(each["time"].endswith("Z") for each in told)
    assert secret not in "".join(written)
    assert ada.split("_", 2)[2] not in "".join(written)  # a secret may hold an underscore


def test_an_error_that_nobody_foresaw_is_logged_without_what_it_says(
    fresh: Api, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("count of secret cell: 4711")

    monkeypatch.setattr("hedgerow.service.http.routes_data_sets.summary_of", broken)
    answer = fresh.call("GET", "/v1/datasets/survey", fresh.token("ada"))
    logging.getLogger("uvicorn").error("in the server", exc_info=ValueError("count of secret cell: 4711"))
    failure, request, outside = (json.loads(line) for line in written)
    assert (failure["level"], failure["person"], failure["request"]) == ("error", "ada", answer.headers["x-request-id"])
    assert "ValueError" in failure["message"]
    assert request["status"] == 500
    assert outside["error"] == "builtins.ValueError"
    assert "request" not in outside
    assert "4711" not in "".join(written)


def test_an_id_that_a_client_sends_is_not_taken(fresh: Api) -> None:
    headers = {"X-Request-Id": 'a"\\u000a{"level": "error"}'}
    found = fresh.call("GET", "/v1/health", headers=headers).headers.get_list("x-request-id")
    assert len(found) == 1
    assert len(bytes.fromhex(found[0])) == 8


def test_a_quiet_log_has_errors_alone(written: list[str]) -> None:
    log_as_json(quiet=True)
    assert not logging.getLogger("hedgerow.requests").isEnabledFor(logging.INFO)
    assert not logging.getLogger("hedgerow.service").isEnabledFor(logging.WARNING)
    assert logging.getLogger("hedgerow.service").isEnabledFor(logging.ERROR)
    assert written == []


def test_head_is_answered_as_get_is_without_the_body(here: Api) -> None:
    ada = here.token("head-ada")
    for path, token in (("/v1/health", None), ("/v1/ready", None), ("/v1/metrics", None), ("/v1/me", ada)):
        asked, got = here.call("HEAD", path, token), here.call("GET", path, token)
        assert (asked.status_code, asked.content) == (200, b"")
        assert asked.headers["content-type"] == got.headers["content-type"]
    assert here.call("HEAD", "/v1/me").status_code == 401
    assert here.call("HEAD", "/v1/datasets/survey/queries", ada).status_code == 405
    text = here.call("GET", "/v1/metrics").text
    assert 'method="GET",route="/v1/ready",status="200"} 2.0' in text
