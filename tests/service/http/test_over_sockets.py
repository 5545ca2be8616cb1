"""The API behind a real server and sockets: what a test inside the process does not see."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.api import Api, api
from tests.service.serving import in_a_thread


class Served:
    """A server with an address."""

    def __init__(self, here: Api, port: int) -> None:
        self.here = here
        self.port = port

    def send(self, *pieces: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send bytes as they are, until the server closes or has answered."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            for piece in pieces:
                try:
                    connection.sendall(piece)
                except (BrokenPipeError, ConnectionResetError):
                    break  # it has answered already
            return answer_of(connection)


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    with connection.makefile("rb") as stream:
        status = int(stream.readline().split()[1])
        headers: dict[str, str] = {}
        while line := stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return status, headers, stream.read(int(headers.get("content-length", 0)))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with api(tmp_path, largest_body=10_000) as here, in_a_thread(here.app) as port:
        yield Served(here, port)


def head(method: str, path: str, token: str = "", *more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: test", *([f"Authorization: Bearer {token}"] if token else []), *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunk(content: bytes) -> bytes:
    return f"{len(content):x}\r\n".encode() + content + b"\r\n"


def comes_true(condition: Callable[[], bool]) -> bool:
    """Wait for what another thread does."""
    return any(condition() or threading.Event().wait(0.02) for _ in range(1000))


def test_a_body_in_chunks_that_grows_too_large(served: Served) -> None:
    token = served.here.token("ada")
    begin = head(
        "POST", "/v1/datasets/survey/queries", token, "Content-Type: application/json", "Transfer-Encoding: chunked"
    )
    status, headers, body = served.send(begin, *[chunk(b" " * 4000)] * 4)
    assert (status, json.loads(body)["code"], headers["content-type"]) == (413, "too-much", "application/problem+json")
    small = chunk(json.dumps({"queries": [{"where": "age = 1"}]}).encode())
    assert served.send(begin, small, b"0\r\n\r\n")[0] == 200


def test_nothing_of_a_body_is_waited_for_without_a_token(served: Served) -> None:
    begin = head("POST", "/v1/datasets/survey/queries", "", "Content-Type: application/json", "Content-Length: 9000")
    assert served.send(begin)[0] == 401
    assert served.send(head("PUT", "/v1/files/a.csv", "", "Content-Length: 900000"))[0] == 401


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("path", ["/v1/datasets/%ff%fe", "/v1/datasets/survey?%ff=%00", "/%", "/v1/datasets/\xe9"])
def test_addresses_that_are_no_text(served: Served, path: str) -> None:
    status, _, body = served.send(head("GET", path, served.here.token("ada")))
    assert status in (400, 404, 422)
    assert status == 400 or json.loads(body)["code"] in ("not-there", "invalid")


def test_nothing_of_a_failure_reaches_any_log(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("4711 people of the table")

    monkeypatch.setattr(type(served.here.workers), "ask", broken)
    body = json.dumps({"queries": [{"where": "age = 7"}]}).encode()
    begin = head(
        "POST",
        "/v1/datasets/survey/queries",
        token := served.here.token("ada"),
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    with caplog.at_level(logging.DEBUG):
        status, _, told = served.send(begin, body)
    assert (status, json.loads(told)["detail"]) == (500, "")
    assert "ZeroDivisionError" in caplog.text
    for private in ("4711", "age = 7", token, "Traceback"):
        assert private not in caplog.text


@pytest.mark.slow
def test_an_upload_that_is_broken_off_leaves_nothing(served: Served) -> None:
    token = served.here.token("carol", "custodian")
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(head("PUT", "/v1/files/half.csv", token, "Content-Length: 5000000"))
        connection.sendall(b"x" * 3_000_000)
        assert comes_true(lambda: len(list(served.here.folder.glob(".upload-*"))) == 1)
    assert comes_true(lambda: [each.name for each in served.here.folder.iterdir()] == ["survey.csv"])
    whole = head("PUT", "/v1/files/half.csv", token, "Content-Length: 4") + b"a\n1\n"
    assert served.send(whole)[0] == 201


def test_a_head_that_is_too_long_is_called_that(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n" + b"X-Much: x\r\n" * 8_000)
        status, _, told = answer_of(connection)
    assert (status, json.loads(told)["detail"]) == (400, "the head of the request is too long")


ASKED = json.dumps({"queries": [{"where": "age = 1"}]}).encode()
TYPE = "Content-Type: application/json"
LENGTH = f"Content-Length: {len(ASKED)}"
AMBIGUOUS = {
    "a length and an encoding": [LENGTH, "Transfer-Encoding: chunked"],
    "an encoding and a length": ["Transfer-Encoding: chunked", LENGTH],
    "two lengths": [LENGTH, "Content-Length: 3"],
    "the same length twice": [LENGTH, LENGTH],
    "the same length twice in one header": [f"{LENGTH}, {len(ASKED)}"],
    "a length in small letters": [LENGTH, LENGTH.lower()],
    "two encodings": ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    "an encoding in an encoding": ["Transfer-Encoding: gzip, chunked"],
    "an unknown encoding": ["Transfer-Encoding: xchunked"],
    "a length that is none": ["Content-Length: +5"],
    "two hosts": ["Host: other", LENGTH],
    "the same host twice": ["Host: test", LENGTH],
    "a blank before the colon": [f"{LENGTH.replace(':', ' :')}"],
}


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_request_that_could_be_read_in_two_ways_is_refused(served: Served, name: str) -> None:
    """A proxy that reads it otherwise would take the rest for another person's request."""
    begin = head("POST", "/v1/datasets/survey/queries", served.here.token("ada"), TYPE, *AMBIGUOUS[name])
    status, headers, body = served.send(begin, ASKED)
    assert (status, json.loads(body)["code"], headers["content-type"]) == (400, "malformed", "application/problem+json")
    assert headers["connection"] == "close"
    assert served.here.store.grants(served.here.store.data_set("survey").id) == []


def test_what_follows_such_a_request_is_not_read(served: Served) -> None:
    """Nor is it after one that was answered early, on the same connection."""
    token = served.here.token("ada")
    hidden = head("POST", "/v1/datasets/survey/queries", token, TYPE, LENGTH) + ASKED
    twice = head("GET", "/v1/health", "", "Content-Length: 0", "Content-Length: 0")
    early = head("GET", "/v1/me", "", "Content-Length: 4")
    for sent, statuses in ((twice + hidden, [400]), (early + b"abcd" + twice + hidden, [401, 400])):
        with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
            connection.sendall(sent)
            with connection.makefile("rb") as stream:
                said = stream.read()
        assert [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", said)] == statuses
    assert served.here.store.grants(served.here.store.data_set("survey").id) == []


def test_an_encoding_from_http_1_0_is_refused(served: Served) -> None:
    old = b"POST /v1/people HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    assert served.send(old)[0] == 400


def test_names_of_headers_in_other_places_are_nothing_of_the_kind(served: Served) -> None:
    """In a value, in a line that goes on, in a body."""
    token = served.here.token("ada")
    more = ["X-One: a Content-Length: 3", "X-Host: Host: x", "X-Content-Length: 7"]
    begin = head("POST", "/v1/datasets/survey/queries", token, TYPE, LENGTH, *more)
    assert served.send(begin, ASKED)[0] == 200
    body = b"\r\nHost: a\r\nHost: b\r\nContent-Length: 1\r\n" + ASKED
    begin = head("POST", "/v1/datasets/survey/queries", token, TYPE, f"Content-Length: {len(body)}")
    assert served.send(begin, body)[0] == 422


def test_two_authorization_headers_are_refused(served: Served) -> None:
    """Whichever of them a proxy has looked at."""
    ada, carol = served.here.token("ada"), served.here.token("carol", "custodian")
    for second in (carol, ada, "garbage"):
        for name in ("Authorization", "AUTHORIZATION"):
            status, headers, body = served.send(head("GET", "/v1/me", ada, f"{name}: Bearer {second}"))
            assert (status, json.loads(body)["code"]) == (400, "malformed")
            assert headers["content-type"] == "application/problem+json"
    assert served.send(head("GET", "/v1/me", ada))[0] == 200
    assert served.send(head("GET", "/v1/me", "", f"Authorization: Bearer {ada}, Bearer {carol}"))[0] == 401
