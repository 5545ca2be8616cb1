"""The API behind a real server and sockets: what a test inside the process does not see."""

from __future__ import annotations

import json
import logging
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

    monkeypatch.setattr(type(served.here.desks), "ask", broken)
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


def test_an_upload_that_is_broken_off_leaves_nothing(served: Served) -> None:
    token = served.here.token("carol", "custodian")
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(head("PUT", "/v1/files/half.csv", token, "Content-Length: 5000000"))
        connection.sendall(b"x" * 3_000_000)
        assert comes_true(lambda: len(list(served.here.folder.glob(".upload-*"))) == 1)
    assert comes_true(lambda: [each.name for each in served.here.folder.iterdir()] == ["survey.csv"])
    whole = head("PUT", "/v1/files/half.csv", token, "Content-Length: 4") + b"a\n1\n"
    assert served.send(whole)[0] == 201
