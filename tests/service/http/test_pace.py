"""Requests that would wait for too long are turned away at once, and whoever watches the server is served before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hedgerow.service.http import middleware, routes_data_sets
from tests.service.api import Api, api


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture(name="clock")
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(middleware, "time", clock)
    return clock


def served(pace: middleware.Pace, clock: Clock, together: int, each: float, requests: int) -> None:
    """So many are always inside, and one is answered every so many seconds; the first in is the first out."""
    inside = []
    for _ in range(requests):
        while len(inside) < together:
            inside.append(pace.inside())
            inside[-1].__enter__()
        clock.now += each
        inside.pop(0).__exit__(None, None, None)
    for left in inside:
        clock.now += each
        left.__exit__(None, None, None)


@contextmanager
def full(pace: middleware.Pace, number: int) -> Iterator[None]:
    """So many are inside, and none of them is answered."""
    pace._inside += number
    yield
    pace._inside -= number


@pytest.mark.parametrize("each", [0.001, 0.01, 0.1])
def test_the_wait_is_that_of_all_who_are_inside(clock: Clock, each: float) -> None:
    pace = middleware.Pace(1e-9)
    served(pace, clock, 100, each, 1_000)
    for inside in (40, 400):
        with full(pace, inside):
            assert pace.wait() == pytest.approx((inside + 1) * each, rel=0.1)


def test_only_those_are_turned_away_who_would_wait_too_long(clock: Clock) -> None:
    pace = middleware.Pace(2.0)
    served(pace, clock, 100, 0.01, 1_000)
    with full(pace, 150):
        assert pace.wait() == 0.0
    with full(pace, 300):
        assert pace.wait() > 2.0
    served(pace, clock, 40, 0.001, 1_000)  # it is faster now
    with full(pace, 300):
        assert pace.wait() == 0.0


def test_a_few_are_let_in_at_any_pace_and_one_that_is_slow_alone_tells_nothing(clock: Clock) -> None:
    pace = middleware.Pace(2.0)
    served(pace, clock, 1, 1_000.0, 10)
    with full(pace, 400):
        assert pace.wait() == 0.0
    with full(pace, 600):  # before any was answered with others
        assert pace.wait() > 2.0
    served(pace, clock, 10, 1_000.0, 100)
    with full(pace, 31):
        assert pace.wait() == 0.0
    with full(pace, 32):
        assert pace.wait() > 1_000.0


@pytest.fixture(name="here")
def small_server(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path, threads=2) as started:
        yield started


def test_who_would_wait_is_told_for_how_long(here: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, carol = here.token("ada"), here.token("carol", "custodian")
    monkeypatch.setattr(middleware.Pace, "wait", lambda _: 2.5)
    refused = here.call("GET", "/v1/datasets/survey", ada)
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "busy", "3")
    for path, token in (("/v1/health", None), ("/v1/metrics", None), ("/v1/people", carol)):
        assert here.call("GET", path, token).status_code == 200
    assert here.call("GET", "/v1/datasets/survey", "hgr_wrong").status_code == 401


def test_health_and_metrics_wait_for_no_one(here: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, go_on, begun = here.token("ada"), threading.Event(), threading.Semaphore(0)
    real = routes_data_sets.summary_of

    def slow(*given: Any) -> Any:
        begun.release()
        assert go_on.wait(60)
        return real(*given)

    monkeypatch.setattr(routes_data_sets, "summary_of", slow)
    found: list[int] = []
    asking = [
        threading.Thread(target=lambda: found.append(here.call("GET", "/v1/datasets/survey", ada).status_code))
        for _ in range(6)
    ]
    for each in asking:
        each.start()
    for _ in range(2):
        assert begun.acquire(timeout=20)
    watched = []
    watcher = threading.Thread(
        target=lambda: watched.extend(here.call("GET", path).status_code for path in ("/v1/health", "/v1/metrics"))
    )
    watcher.start()
    watcher.join(20)
    told = list(watched)
    go_on.set()
    for each in (*asking, watcher):
        each.join(60)
    assert told == [200, 200]
    assert found == [200] * 6
