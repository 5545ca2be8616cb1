"""Whoever opens connections and never says a whole thing keeps nobody else from being answered."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hedgerow.service import ConnectionLimits
from hedgerow.service.http import routes_data_sets
from tests.service.api import Api, api
from tests.service.http.half_open import KINDS, closed, half_open, mixed
from tests.service.http.test_over_sockets import answer_of, comes_true, head
from tests.service.serving import in_a_thread

SECONDS = 1.5
MANY = ConnectionLimits(total=800, per_address=800, head_seconds=SECONDS, stall_seconds=SECONDS)


@contextmanager
def served(folder: Path, limits: ConnectionLimits, **settings: Any) -> Iterator[tuple[Api, int]]:
    with api(folder, **settings) as here, in_a_thread(here.app, limits) as port:
        yield here, port


def asked(port: int, token: str, address: str = "127.0.0.1", **more: Any) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0, source_address=(address, 0))
    try:
        return again(connection, token)
    finally:
        connection.close()


def again(connection: http.client.HTTPConnection, token: str) -> tuple[int, Any]:
    body = json.dumps({"queries": [{"where": "age = 1"}]})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/datasets/survey/queries", body, headers)
    reply = connection.getresponse()
    return reply.status, json.loads(reply.read())


@pytest.mark.slow
@pytest.mark.parametrize("total", [60, 800], ids=["more than there is room for", "as many as there is room for"])
def test_beside_500_half_open_connections_a_client_is_answered(tmp_path: Path, total: int) -> None:
    limits = ConnectionLimits(total, total, head_seconds=6.0, stall_seconds=6.0)
    with served(tmp_path, limits) as (here, port), ExitStack() as stack:
        token = here.token("ada")
        kept = stack.enter_context(closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)))
        assert again(kept, token)[0] == 200
        opened: list[socket.socket] = []
        for _ in range(10):
            opened += stack.enter_context(half_open(port, mixed(50)))
            assert again(kept, token)[0] == 200  # it has brought a token: others make room first
            assert asked(port, token)[0] == asked(port, token, "127.0.0.2")[0] == 200
        assert closed(opened, within=30.0) == len(opened) == 500
        assert asked(port, token)[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_closed_after_its_time_and_told_why(tmp_path: Path, kind: str) -> None:
    with served(tmp_path, MANY) as (_, port):
        started = time.monotonic()
        with half_open(port, [KINDS[kind]]) as (connection,):
            if kind == "nothing":
                assert connection.recv(1) == b""
            else:
                status, headers, body = answer_of(connection)
                assert headers["content-type"].startswith("application/")
                expected = {"a head without its body": 401, "an answered request without its body": 200}
                assert status == expected.get(kind, 408)
                assert status != 408 or json.loads(body)["code"] == "time-out"
                assert connection.recv(1) == b""
        assert SECONDS * 0.9 < time.monotonic() - started < 10 * SECONDS


@pytest.mark.slow
def test_single_bytes_gain_no_time(tmp_path: Path) -> None:
    """Neither in a head nor after the answer."""
    with served(tmp_path, MANY) as (_, port):
        for kind in ("half a head", "an answered request without its body"):
            started = time.monotonic()
            with half_open(port, [KINDS[kind]]) as (connection,):
                connection.settimeout(0.05)
                while time.monotonic() - started < 10 * SECONDS:
                    try:
                        connection.sendall(b"x")
                        if connection.recv(4096) == b"":
                            break
                    except TimeoutError:
                        continue
                    except (BrokenPipeError, ConnectionResetError):
                        break
            assert SECONDS * 0.9 < time.monotonic() - started < 5 * SECONDS


def upload(token: str, size: int) -> bytes:
    return head("PUT", "/v1/files/slow.csv", token, f"Content-Length: {size}")


@pytest.mark.slow
def test_a_body_that_stands_still_is_given_up_and_a_slow_one_is_not(tmp_path: Path) -> None:
    with served(tmp_path, MANY) as (here, port):
        token = here.token("carol", "custodian")
        with half_open(port, [upload(token, 100_000) + b"a\n1\n"]) as (connection,):
            status, _, body = answer_of(connection)
            assert (status, json.loads(body)["code"]) == (408, "time-out")
            assert connection.recv(1) == b""
        assert comes_true(lambda: [each.name for each in here.folder.iterdir()] == ["survey.csv"])
        with half_open(port, [upload(token, 30_000)]) as (connection,):
            for _ in range(30):  # 1,000 bytes in each tenth of a second: a whole upload takes longer than a time-out
                connection.sendall(b"1,2,3,4,5\n" * 100)
                time.sleep(0.1)
            assert answer_of(connection)[0] == 201


@pytest.mark.slow
def test_an_answer_that_nobody_fetches_is_given_up(tmp_path: Path) -> None:
    with served(tmp_path, MANY, downloads=1) as (here, port):
        token = here.token("ada")
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(20)
            connection.connect(("127.0.0.1", port))
            connection.sendall(head("GET", "/v1/datasets/survey/records?n=1000000", token))
            assert connection.recv(12) == b"HTTP/1.1 200"
            time.sleep(5 * SECONDS)
            with connection.makefile("rb") as stream:
                lines = [line.lower() for line in iter(stream.readline, b"\r\n")]
                (length,) = [int(line.split()[1]) for line in lines if line.startswith(b"content-length")]
                came = len(stream.read())
            assert came < length  # what the machine held already, and no more


@pytest.mark.slow
def test_signed_in_uploads_that_stand_still_make_room_too(tmp_path: Path) -> None:
    patient = ConnectionLimits(total=20, per_address=10, head_seconds=60.0, stall_seconds=60.0)
    with served(tmp_path, patient) as (here, port):
        token = here.token("carol", "custodian")
        with half_open(port, [upload(token, 100)] * 10) as opened:
            time.sleep(1.5)
            assert asked(port, token)[0] == 200
            assert closed(opened, within=0.5) == 1


@pytest.mark.slow
def test_where_all_are_being_answered_a_new_one_is_turned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    begun = threading.Semaphore(0)
    limits = ConnectionLimits(total=5, per_address=3, head_seconds=10.0)
    with served(tmp_path, limits) as (here, port):
        token = here.token("ada")
        real = routes_data_sets.summary_of

        def slow(*args: Any) -> Any:
            begun.release()
            assert go_on.wait(30)
            return real(*args)

        monkeypatch.setattr(routes_data_sets, "summary_of", slow)
        request = head("GET", "/v1/datasets/survey", token)
        with half_open(port, [request] * 3) as opened:
            for _ in opened:
                assert begun.acquire(timeout=20)
            for sent in (b"", request + b"x" * 5_000):  # what it sent and nobody read does not cut the answer off
                with half_open(port, [sent]) as (turned_away,):
                    status, headers, body = answer_of(turned_away)
                    assert (status, json.loads(body)["code"]) == (503, "busy")
                    assert headers["retry-after"] == "1"
                    assert turned_away.recv(1) == b""
            with half_open(port, [request] * 2, "127.0.0.2") as others:
                for _ in others:
                    assert begun.acquire(timeout=20)
                with half_open(port, [b""], "127.0.0.3") as (turned_away,):
                    assert answer_of(turned_away)[0] == 503
                go_on.set()
                assert [answer_of(each)[0] for each in (*opened, *others)] == [200] * 5
