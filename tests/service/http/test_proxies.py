"""Where a request comes from: what a connection says, and what a proxy that was named says of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from hedgerow.errors import ConfigError
from hedgerow.service import ConnectionLimits, Proxies, new_token
from hedgerow.service.http.middleware import Forwarded
from tests.service.api import Api, api
from tests.service.http.half_open import closed, half_open
from tests.service.http.test_over_sockets import Served, head
from tests.service.serving import in_a_thread

NAMED = Proxies.named("10.0.0.1,10.0.0.2,2001:db8::/32")


@pytest.mark.parametrize(
    ("peer", "forwarded", "origin"),
    [
        ("192.0.2.9", [], "192.0.2.9"),
        ("192.0.2.9", ["1.2.3.4"], "192.0.2.9"),
        ("127.0.0.1", ["1.2.3.4"], "127.0.0.1"),
        ("10.0.0.1", ["1.2.3.4"], "1.2.3.4"),
        ("::ffff:10.0.0.1", ["1.2.3.4"], "1.2.3.4"),
        ("10.0.0.1", ["6.6.6.6, 1.2.3.4"], "1.2.3.4"),
        ("10.0.0.1", ["6.6.6.6", "1.2.3.4"], "1.2.3.4"),
        ("10.0.0.1", ["6.6.6.6, 1.2.3.4, 10.0.0.2"], "1.2.3.4"),
        ("10.0.0.1", ["10.0.0.1, 1.2.3.4, 2001:db8::7"], "1.2.3.4"),
        ("10.0.0.1", ["10.0.0.2"], "10.0.0.2"),
        ("10.0.0.1", ["1.2.3.4:5678"], "1.2.3.4"),
        ("10.0.0.1", ["[2001:0:0::1]:5678"], "2001::1"),
        ("10.0.0.1", ["unknown"], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["1.2.3.4,"], "10.0.0.1"),
        ("10.0.0.1", ["1.2.3.4, <script>"], "10.0.0.1"),
    ],
)
def test_the_last_address_that_no_proxy_has_counts(peer: str, forwarded: list[str], origin: str) -> None:
    assert NAMED.origin(peer, forwarded) == origin


@pytest.mark.parametrize("text", ["*", "localhost", "10.0.0.0/33", "10.0.0.1/8", "1.2.3", "10.0.0.1;10.0.0.2"])
def test_what_is_no_address_is_no_proxy(text: str) -> None:
    with pytest.raises(ConfigError, match="not the address of a proxy"):
        Proxies.named(text)


def test_nobody_is_believed_unless_named() -> None:
    assert Proxies.named("") == Proxies.named(" , ") == Proxies()
    assert not any(each in Proxies() for each in ("127.0.0.1", "::1", "unknown", ""))


def told(proxies: Proxies, scope: dict[str, Any]) -> Any:
    """The address that stands in the scope behind the proxies."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope.get("client"))

    anyio.run(Forwarded(app, proxies), scope, None, None)
    return seen[0]


def test_only_requests_of_named_proxies_are_changed() -> None:
    headers = [(b"x-forwarded-for", b"1.2.3.4"), (b"forwarded", b"for=6.6.6.6"), (b"x-real-ip", b"6.6.6.6")]
    scope = {"type": "http", "client": ("10.0.0.1", 5), "headers": headers}
    assert told(NAMED, dict(scope)) == ("1.2.3.4", 0)
    assert told(Proxies(), dict(scope)) == ("10.0.0.1", 5)
    assert told(NAMED, {**scope, "headers": headers[1:]}) == ("10.0.0.1", 5)
    assert told(NAMED, {**scope, "client": None}) is None
    assert told(NAMED, {"type": "lifespan"}) is None


@pytest.fixture
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time() // 60 * 60 + 90
    monkeypatch.setattr(time, "time", lambda: now)


@pytest.fixture(params=["", "127.0.0.1"], ids=["nobody is named", "a proxy is named"])
def served(tmp_path: Path, request: pytest.FixtureRequest, _stopped_clock: None) -> Iterator[tuple[Served, bool]]:
    proxies = Proxies.named(request.param)
    with api(tmp_path, failures_per_minute=2, proxies=proxies) as here, in_a_thread(here.app) as port:
        yield Served(here, port), bool(request.param)


def guess(served: Served, origin: str) -> int:
    return served.send(head("GET", "/v1/me", new_token(1).text, f"X-Forwarded-For: {origin}"))[0]


def noted(here: Api) -> list[str]:
    return [each.subject for each in reversed(here.store.audit()) if each.action == "sign-in refused"]


def test_whoever_guesses_cannot_choose_an_address(
    served: tuple[Served, bool], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Over sockets, and whatever uvicorn's own variable says."""
    server, is_named = served
    with caplog.at_level(logging.WARNING):
        found = [guess(server, f"192.0.2.{number}") for number in range(4)]
    assert found == ([401] * 4 if is_named else [401, 401, 429, 429])
    assert noted(server.here) == ([f"192.0.2.{number}" for number in range(4)] if is_named else ["127.0.0.1"])
    warned = [each.getMessage() for each in caplog.records if "X-Forwarded-For" in each.getMessage()]
    assert warned == ([] if is_named else [warned[0]])
    assert is_named or "--proxies" in warned[0]


def test_the_variable_of_uvicorn_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with api(tmp_path) as here, in_a_thread(here.app) as port:
        assert guess(Served(here, port), "192.0.2.7") == 401
        assert noted(here) == ["127.0.0.1"]


@pytest.mark.slow
def test_connections_of_a_proxy_are_many_people_s(tmp_path: Path) -> None:
    limits = ConnectionLimits(total=50, per_address=5)
    for name, expected in (("", 5), ("127.0.0.1", 0)):
        (tmp_path / f"named{name}").mkdir()
        with (
            api(tmp_path / f"named{name}", proxies=Proxies.named(name)) as here,
            in_a_thread(here.app, limits) as port,
            half_open(port, [b""] * 10) as opened,
        ):
            assert closed(opened, within=1.0) == expected
