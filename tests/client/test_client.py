"""The client against a live server, and against servers that fail in every way."""

from __future__ import annotations

import json
import pickle
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow.client import Client, RemoteDataSet
from hedgerow.client.sending import Sending, token_from
from hedgerow.domain import Categorical, Domain, IntegerRange
from hedgerow.errors import (
    ConfigError,
    ConflictError,
    InvalidRequestError,
    NotAllowedError,
    NotSignedInError,
    NotThereError,
    RateError,
    ServiceError,
    StoreBusyError,
    UnreachableError,
)
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP
from tests.service.serving import Server, serving

DOMAIN = Domain([Categorical("sex", ("F", "M")), IntegerRange("age", 0, 9), Categorical("a, b", ("x", "y"))])
ROWS = [("FM"[(number * 7) % 3 > 0], number % 10, "xy"[number % 2]) for number in range(3_000)]
TABLE = "\n".join(['sex,age,"a, b"', *(f"{sex},{age},{letter}" for sex, age, letter in ROWS)]) + "\n"
TOKEN = "hr_token_that_nobody_may_see"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("client")) as found:
        yield found


@pytest.fixture(scope="module")
def ada(server: Server) -> Client:
    return hedgerow.connect(server.url, server.token)


@pytest.fixture(scope="module")
def people(ada: Client, server: Server, tmp_path_factory: pytest.TempPathFactory) -> RemoteDataSet:
    file = tmp_path_factory.mktemp("tables") / "people.csv"
    file.write_text(TABLE)
    place = ada.upload(file)
    assert place == "people.csv"
    return ada.register("people", place=place, domain=DOMAIN, budget=PureDP(4.0), title="People", queries=1000)


# A live server


def test_what_is_there(ada: Client, people: RemoteDataSet) -> None:
    assert (ada.person, ada.role) == ("ada", "custodian")
    assert [each.name for each in ada] == ["people"]
    told = ada["people"].summary()
    assert (told["title"], told["limit"], told["learnt"]) == ("People", 4.0, True)
    assert people.domain == DOMAIN
    assert people.spending()["spent"] == told["spent"]


def test_what_is_free_counts_for_nothing(people: RemoteDataSet) -> None:
    before = people.summary()["mine"]
    for found in (
        people.group_by("sex", where="age = 2", free=True),
        people.select("SELECT COUNT(*) FROM people", free=True),
    ):
        assert found.charged == 0.0
    assert people.summary()["mine"] == before


def test_questions_have_the_answers_of_the_api(server: Server, people: RemoteDataSet) -> None:
    answer = people.ask("sex = 'F' and age < 5")
    again = server.call("POST", "datasets/people/queries", {"queries": [{"where": "sex = 'F' and age < 5"}]})
    assert (answer.value, answer.low, answer.high) == tuple(
        again["answers"][0][name] for name in ("value", "low", "high")
    )
    truth = sum(sex == "F" and age < 5 for sex, age, _ in ROWS)
    assert answer.low is not None
    assert answer.high is not None
    assert answer.low <= truth <= answer.high
    found = people.ask_all(["age = 3", "SELECT COUNT(*) FROM people WHERE age = 3", "sex = 'M'"], confidence=0.9)
    assert found[0].value == found[1].value
    assert [each.where for each in found[1:]] == ["age = 3", "sex = 'M'"]
    assert str(answer).startswith("sex = 'F' and age between 0 and 4: ")


def test_answers_are_tables(people: RemoteDataSet) -> None:
    found = people.ask_all(["age = 3", "sex = 'M'"])
    frame = found.to_pandas()
    assert frame["value"].tolist() == [each.value for each in found]
    assert found.to_polars()["where"].to_list() == ["age = 3", "sex = 'M'"]
    table = people.group_by("sex", "a, b", where="age < 5")
    assert table.columns == ("sex", "a, b", "COUNT(*)", "COUNT(*) low", "COUNT(*) high")
    assert len(table.to_arrow()) == 4
    assert "private table" in table.covers
    told = people.price("SELECT sex, AVG(age) FROM people GROUP BY sex")
    assert (told.rows, told.questions, told.unit) == (2, 3, "epsilon")
    assert str(told).startswith("up to 3 questions, up to 3 corrections: at most ")
    means = people.select("SELECT sex, AVG(age) FROM people GROUP BY sex").to_pandas()
    assert means["sex"].tolist() == ["F", "M"]
    assert abs(means["AVG(age)"] - 4.5).max() < 2.0


def test_more_questions_than_fit_into_a_request(people: RemoteDataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.client import client

    monkeypatch.setattr(client, "_AT_ONCE", 2)
    texts = [f"age = {age}" for age in range(5)]
    assert [each.where for each in people.ask_all(texts)] == texts
    assert len(people.ask_all([])) == 0


def test_what_the_hypothesis_gives_for_nothing(people: RemoteDataSet) -> None:
    spent = people.summary()["spent"]
    records = people.records(500)
    assert records.column_names == ["sex", "age", "a, b"]
    assert records.num_rows == 500
    table = people.marginal("age", "a, b")
    assert table.shape == (10, 2)
    assert table.sum() == pytest.approx(people.summary()["total"])
    assert people.summary()["spent"] == spent


def test_a_plan_and_what_is_refused(ada: Client, server: Server, people: RemoteDataSet) -> None:
    lines = dict(ada.plan(DOMAIN, ApproxDP(1.0, 1e-9), 3_000, queries=100))
    assert lines["queries"].startswith("up to 100 ")
    with pytest.raises(ConflictError, match="people"):
        ada.register("people", place="people.csv", domain=DOMAIN, budget=PureDP(1.0))
    with pytest.raises(NotThereError):
        ada.data_set("nothing")
    with pytest.raises(InvalidRequestError, match="sexx"):
        people.ask("sexx = 'F'")
    with pytest.raises(InvalidRequestError, match="epsilon"):
        ada.register("other", place="people.csv", domain=DOMAIN, budget=PureDP(1e6))
    with pytest.raises(ConfigError, match="no attribute"):
        people.group_by()
    with pytest.raises(NotSignedInError):
        hedgerow.connect(server.url, "hr_wrong_token")
    bob = hedgerow.connect(server.url, server.token_of("bob"))
    with pytest.raises(NotAllowedError):
        bob["people"].close()


def test_a_closed_data_set_answers_by_its_hypothesis(ada: Client) -> None:
    closed = ada.register("closed", place="people.csv", domain=DOMAIN, budget=PureDP(4.0))
    for act in (closed.open, closed.discard):
        with pytest.raises(ConflictError, match="is open"):
            act()
    closed.close()
    assert closed.summary()["status"] == "closed"
    assert closed.ask("age = 1").source == "hypothesis only"


@pytest.mark.parametrize("budget", [PureDP(0.5), ApproxDP(0.5, 1e-9), ZCDP(0.1, "replace"), GDP(0.2)], ids=repr)
def test_every_budget_arrives(ada: Client, people: RemoteDataSet, budget: Budget) -> None:
    made = ada.register(f"b{abs(hash(repr(budget))) % 10**9}", place="people.csv", domain=DOMAIN, budget=budget)
    assert made.summary()["limit"] == pytest.approx(budget.limit)
    assert made.summary()["neighbours"] == budget.neighbours.value


def test_the_example_of_the_page(
    server: Server, people: RemoteDataSet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"### From Python\n\n```python\n(.*?)```", page, flags=re.DOTALL)
    assert "https://hedgerow.example" in code
    monkeypatch.setenv("HEDGEROW_TOKEN", server.token)
    names: dict[str, Any] = {}
    exec(code.replace("https://hedgerow.example", server.url), names)
    assert len(names["frame"]) == 10
    assert len(names["table"].rows) == 10
    assert names["means"].num_rows == 2
    assert names["records"].num_rows == 1_000
    assert "sex = 'F' and age between 3 and 6: " in capsys.readouterr().out


# The token


def test_where_a_token_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEDGEROW_TOKEN", "HEDGEROW_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="no token"):
        token_from(None, None)
    file = tmp_path / "token"
    file.write_text("from-file\n")
    file.chmod(0o600)
    monkeypatch.setenv("HEDGEROW_TOKEN_FILE", str(file))
    assert token_from(None, None) == "from-file"
    monkeypatch.setenv("HEDGEROW_TOKEN", "from-environment")
    assert token_from(None, None) == "from-environment"
    assert token_from(None, file) == "from-file"
    assert token_from("given", file) == "given"
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="others may read"):
        token_from(None, file)
    with pytest.raises(ConfigError, match="cannot be read"):
        token_from(None, tmp_path / "nothing")


def test_no_text_shows_the_token(ada: Client, people: RemoteDataSet, server: Server) -> None:
    for each in (ada, people, ada._sending):
        assert server.token not in repr(each) + str(each)
    with failing(lambda _: (500, {}, b"{}")) as (url, _), pytest.raises(ServiceError) as caught:
        Client(Sending(url, TOKEN, retries=0), {"person": "ada", "role": "custodian"}).data_sets()
    assert TOKEN not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize("url", ["http://hedgerow.example", "http://10.0.0.1:8000", "http://127.0.0.1.example"])
def test_no_token_travels_in_the_clear(url: str) -> None:
    with pytest.raises(ConfigError, match="for everyone on the way"):
        Sending(url, TOKEN)


@pytest.mark.parametrize(
    "url", ["hedgerow.example", "ftp://localhost", "https://", "https://a:b@localhost", "http://localhost/?a"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ConfigError, match="no address"):
        Sending(url, TOKEN)


@pytest.mark.parametrize("token", ["", "two words", "line\nfeed", "\u00e4"])
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(ConfigError, match="token"):
        Sending("http://localhost", token)


# Servers that fail

Reply = tuple[int, dict[str, str], bytes]


@contextmanager
def failing(reply: Callable[[int], Reply | None]) -> Iterator[tuple[str, list[Any]]]:
    """A server with a scripted reply to each request; None hangs up. Gives its address, and what it was sent."""
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            seen.append((self.command, self.path, dict(self.headers), self.rfile.read(size)))
            found = reply(len(seen))
            if found is None:
                self.close_connection = True
                return
            status, headers, body = found
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = answer

        def log_message(self, *_: Any) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
        server.shutdown()


def problem(status: int, code: str, **headers: str) -> Reply:
    body = {"type": "", "title": "T", "status": status, "detail": "what is wrong", "remedy": "a remedy", "code": code}
    return status, headers, json.dumps(body).encode()


ANSWER = {
    **dict.fromkeys(("low", "high", "confidence")), "sql": "", "where": "a = 1", "value": 1.0, "covers": "",
    "source": "hypothesis", "charged": 0.0, "spent": 0.0, "updates_left": 1, "added later": 7,
}  # fmt: skip
GOOD: Reply = (200, {}, json.dumps({"answers": [ANSWER]}).encode())


def remote(url: str, slept: list[float], retries: int = 4) -> RemoteDataSet:
    return RemoteDataSet(Sending(url, TOKEN, retries=retries, timeout=5.0, sleep=slept.append), "people")


@pytest.mark.parametrize(
    "first",
    [None, problem(503, "busy"), problem(429, "rate", **{"Retry-After": "3"}), (502, {}, b"<html>bad gateway</html>")],
)
def test_a_question_is_sent_again_under_the_same_key(first: Reply | None) -> None:
    slept: list[float] = []
    with failing(lambda number: GOOD if number == 3 else first) as (url, seen):
        assert remote(url, slept).ask("a = 1").value == 1.0
    keys = {headers["Idempotency-Key"] for _, _, headers, _ in seen}
    assert len(seen) == 3
    assert len(keys) == 1
    assert len({body for *_, body in seen}) == 1
    assert all(headers["Authorization"] == f"Bearer {TOKEN}" for _, _, headers, _ in seen)
    assert slept == ([3.0, 3.0] if first is not None and first[0] == 429 else [0.25, 0.5])


def test_questions_have_keys_of_their_own() -> None:
    with failing(lambda _: GOOD) as (url, seen):
        for _ in range(3):
            remote(url, []).ask("a = 1")
    assert len({headers["Idempotency-Key"] for _, _, headers, _ in seen}) == 3


def test_in_the_end_the_error_is_told() -> None:
    slept: list[float] = []
    with failing(lambda _: problem(429, "rate", **{"Retry-After": "100"})) as (url, seen):
        with pytest.raises(RateError, match="what is wrong") as caught:
            remote(url, slept, retries=2).ask("a = 1")
        assert caught.value.seconds == 100.0
        assert (len(seen), slept) == (3, [30.0, 30.0])
    with failing(lambda _: problem(503, "busy")) as (url, _), pytest.raises(StoreBusyError) as busy:
        remote(url, slept, retries=0).ask("a = 1")
    assert busy.value.remedy == "a remedy"
    with failing(lambda _: None) as (url, _), pytest.raises(UnreachableError, match="does not answer"):
        remote(url, slept, retries=1).ask("a = 1")
    with pytest.raises(UnreachableError, match="does not answer"):
        remote(url, slept, retries=0).summary()


def test_what_is_not_to_be_repeated_is_sent_once() -> None:
    with failing(lambda _: problem(503, "busy")) as (url, seen):
        client = Client(Sending(url, TOKEN, sleep=lambda _: None), {"person": "ada", "role": "custodian"})
        with pytest.raises(StoreBusyError):
            client.register("people", place="people.csv", domain=DOMAIN, budget=PureDP(1.0))
        assert len(seen) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with (
        failing(lambda _: GOOD) as (other, reached),
        failing(lambda _: (status, {"Location": f"{other}/v1/datasets"}, b"")) as (url, _),
    ):
        with pytest.raises(UnreachableError, match=f"status {status}"):
            remote(url, []).summary()
        assert reached == []


def test_pages_of_proxies_are_no_answers() -> None:
    with (
        failing(lambda _: (404, {}, b"<html>nothing here</html>")) as (url, _),
        pytest.raises(UnreachableError, match="not a Hedgerow server"),
    ):
        remote(url, []).ask("a = 1")


def test_a_refusal_that_is_cut_short_is_told_as_far_as_it_came() -> None:
    """The body ends before its length says so."""
    body = problem(503, "busy")[2]
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                head = f"HTTP/1.1 503 Busy\r\nContent-Length: {len(body) + 9}\r\n\r\n"
                connection.sendall(head.encode() + body)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):  # a request that is not read to its end would reset the connection
                    pass

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(StoreBusyError, match="what is wrong"):
            remote(f"http://127.0.0.1:{server.getsockname()[1]}", [], retries=0).ask("a = 1")
        thread.join()


def test_a_client_is_not_pickled_with_its_token(ada: Client) -> None:
    with pytest.raises(TypeError, match="token"):
        pickle.dumps(ada)


def test_arrays_are_counts(people: RemoteDataSet) -> None:
    assert people.marginal("sex").dtype == np.float64
