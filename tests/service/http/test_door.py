"""Requests that would wait for too long are turned away, and whoever watches the server is served before."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hedgerow.service.http import middleware, routes_data_sets
from tests.service.api import Api, api


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(name="clock")
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(middleware, "_now", clock)
    return clock


async def entering(door: middleware.Door, who: str | None = None) -> asyncio.Task[float]:
    task = asyncio.ensure_future(door.enter(who))
    await asyncio.sleep(0)
    return task


async def paced(door: middleware.Door, clock: Clock, each: float, requests: int) -> None:
    """The door is full, and one leaves every so many seconds."""
    assert await door.enter() == 0.0
    for _ in range(requests):
        clock.now += each
        door.leave(-1e9)
        assert await door.enter() == 0.0
    door.leave(-1e9)


def test_places_go_to_those_who_wait_longest() -> None:
    async def run() -> None:
        door = middleware.Door(1, 10.0)
        assert await door.enter() == 0.0
        first, second = await entering(door), await entering(door)
        assert [first.done(), second.done()] == [False, False]
        door.leave(-1e9)
        assert await first == 0.0
        assert not second.done()
        door.leave(-1e9)
        assert await second == 0.0
        door.leave(-1e9)
        assert await door.enter() == 0.0

    asyncio.run(run())


def test_one_person_keeps_nobody_else_out() -> None:
    async def run() -> None:
        door = middleware.Door(4, 10.0)
        assert [await door.enter("ada") for _ in range(3)] == [0.0] * 3
        waiting = [await entering(door, "ada") for _ in range(50)]
        assert not any(task.done() for task in waiting)  # three quarters of the places are hers
        assert await door.enter("bob") == 0.0
        late = await entering(door, "bob")
        for _ in range(2):  # they have turns: one of ada's, and then bob's
            door.leave(-1e9, "ada")
        await asyncio.sleep(0)
        assert late.done()
        assert late.result() == 0.0
        assert [task.done() for task in waiting[:2]] == [True, False]
        for task in waiting:
            task.cancel()

    asyncio.run(run())


def test_a_long_queue_of_one_person_turns_no_other_away(clock: Clock) -> None:
    async def run() -> None:
        door = middleware.Door(1, 1.0)
        await paced(door, clock, 0.1, 1_000)
        assert await door.enter("ada") == 0.0
        waiting = [await entering(door, "ada") for _ in range(20)]
        assert sum(task.done() for task in waiting) == pytest.approx(10, abs=1)  # she herself is told to come again
        bob = await entering(door, "bob")
        assert not bob.done()
        for _ in range(2):
            door.leave(-1e9, "ada")
        await asyncio.sleep(0)
        assert bob.done()
        assert bob.result() == 0.0
        for task in waiting:
            task.cancel()

    asyncio.run(run())


@pytest.mark.parametrize("each", [0.001, 0.01, 0.1])
def test_so_many_wait_as_will_be_answered_in_time(clock: Clock, each: float) -> None:
    async def run() -> None:
        door = middleware.Door(1, 1.0)
        await paced(door, clock, each, 1_000)
        assert await door.enter() == 0.0
        waiting = [await entering(door) for _ in range(2_000)]
        left = [not task.done() for task in waiting]
        assert sum(left) == pytest.approx(1.0 / each, rel=0.05, abs=1)
        assert left == sorted(left, reverse=True)  # those who came first
        told = [task.result() for task in waiting if task.done()]
        assert told[0] == pytest.approx(1.0 + 2 * each, rel=0.1)
        steps = {round(after - before, 6) for before, after in itertools.pairwise(told)}  # each has a time of its own
        rounds = [step for step in steps if step < 0.0]  # up to half a minute, and then in another round
        assert [step for step in steps if step >= 0.0] == pytest.approx([each] * (len(steps) - len(rounds)), rel=0.05)
        assert bool(rounds) == (len(told) * each > 30.0)
        assert max(told) <= 30.0
        for task in waiting:
            task.cancel()

    asyncio.run(run())


def test_one_that_takes_long_alone_tells_nothing_and_all_that_do_tell_much(clock: Clock) -> None:
    async def run() -> None:
        door = middleware.Door(1, 1.0)
        await paced(door, clock, 0.001, 1_000)
        await paced(door, clock, 1_000.0, 1)
        assert await door.enter() == 0.0
        assert door.full() == 0.0
        door.leave(-1e9)
        await paced(door, clock, 5.0, 200)
        assert await door.enter() == 0.0
        assert door.full() > 5.0
        assert await door.enter() > 5.0
        for _ in range(100):
            clock.now += 60.0  # nobody is turned away for the sake of those who came long ago
            assert door.full() <= 30.0

    asyncio.run(run())


def test_an_empty_house_lets_everyone_in_whatever_the_pace(clock: Clock) -> None:
    async def run() -> None:
        door = middleware.Door(2, 1.0)
        await paced(door, clock, 0.01, 10)
        for _ in range(50):
            clock.now += 1_000.0
            assert await door.enter() == 0.0
            door.leave(-1e9)  # one place was free all the time: that is no pace
        assert [await door.enter(), await door.enter()] == [0.0, 0.0]
        assert door.full() == 0.0

    asyncio.run(run())


def test_a_pace_that_was_slow_is_forgotten_by_one_that_is_quick_alone(clock: Clock) -> None:
    async def run() -> None:
        door = middleware.Door(1, 1.0)
        await paced(door, clock, 5.0, 200)
        assert await door.enter() == 0.0
        assert door.full() > 5.0
        clock.now += 0.01
        door.leave(clock.now - 0.01)
        assert await door.enter() == 0.0
        assert door.full() == 0.0

    asyncio.run(run())


def test_nobody_waits_longer_than_told_and_no_place_is_lost() -> None:
    async def run() -> None:
        door = middleware.Door(1, 0.05)
        assert await door.enter() == 0.0
        assert await door.enter() >= 0.05
        gone = await entering(door)
        gone.cancel()
        late, next_one = await entering(door), await entering(door)
        door.leave(-1e9)
        late.cancel()  # in the moment in which it is let in
        assert await next_one == 0.0
        door.leave(-1e9)
        assert await door.enter() == 0.0
        assert gone.cancelled()
        assert late.cancelled()

    asyncio.run(run())


def enters(seconds: float) -> Any:
    async def enter(*_: Any) -> float:
        return seconds

    return enter


@pytest.fixture(name="here")
def small_server(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path, threads=4, places=2, longest_wait=20.0) as started:
        yield started


def test_who_would_wait_is_told_for_how_long(here: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, carol = here.token("ada"), here.token("carol", "custodian")
    monkeypatch.setattr(middleware.Door, "enter", enters(2.5))
    refused = here.call("GET", "/v1/datasets/survey", ada)
    assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "busy", "3")
    for path, token in (("/v1/health", None), ("/v1/metrics", None), ("/v1/people", carol)):
        assert here.call("GET", path, token).status_code == 200
    assert here.call("GET", "/v1/datasets/survey", "hgr_wrong").status_code == 401
    here.store.revoke(ada.split("_")[1], by=None)
    assert here.call("GET", "/v1/datasets/survey", ada).status_code in (401, 503)


def test_a_token_that_was_revoked_takes_no_place_again(here: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = here.token("ada")
    monkeypatch.setattr(type(here.store), "token_at_hand", lambda *_: None)  # as of a store that others write to
    assert here.call("GET", "/v1/datasets/survey", ada).status_code == 200
    here.store.revoke(ada.split("_")[1], by=None)
    assert here.call("GET", "/v1/datasets/survey", ada).status_code == 401
    monkeypatch.setattr(middleware.Door, "enter", enters(2.5))
    assert here.call("GET", "/v1/datasets/survey", ada).status_code == 401


def test_what_is_known_is_answered_in_front_of_a_door_that_is_shut(here: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, path = here.token("ada"), "/v1/datasets/survey/queries"
    for _ in range(2):  # the first is asked, the second is kept
        given = here.call("POST", path, ada, json={"queries": [{"where": "age = 1"}]})
        assert given.status_code == 200
    monkeypatch.setattr(middleware.Door, "enter", enters(1.0))
    if here.store.is_here:  # else it takes a look at another process
        again = here.call("POST", path, ada, json={"queries": [{"where": "age = 1"}]})
        assert (again.status_code, again.content) == (200, given.content)
    assert here.call("POST", path, ada, json={"queries": [{"where": "age = 2"}]}).status_code == 503


def test_who_sends_slowly_has_no_place(here: Api) -> None:
    ada, path = here.token("ada"), "/v1/datasets/survey/queries"
    assert here.call("GET", "/v1/datasets/survey", ada).status_code == 200  # the token is known
    go_on = threading.Event()

    async def slowly() -> Any:
        yield b'{"queries": '
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        yield b'[{"where": "age = 1"}]}'

    headers = {"Content-Type": "application/json"}
    found: list[int] = []
    sending = [
        threading.Thread(
            target=lambda: found.append(here.call("POST", path, ada, headers=headers, content=slowly()).status_code)
        )
        for _ in range(6)
    ]
    for each in sending:
        each.start()
    told = [here.call("POST", path, ada, json={"queries": [{"where": "age = 3"}]}).status_code for _ in range(3)]
    go_on.set()
    for each in sending:
        each.join(60)
    assert told == [200] * 3
    assert found == [200] * 6


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
