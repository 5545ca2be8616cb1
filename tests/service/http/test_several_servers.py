"""Servers over one PostgreSQL that divide data sets: one is killed, or stopped for a while, and nothing is lost."""

from __future__ import annotations

import http.client
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hedgerow.service import Store
from tests.service.http.test_many_clients import MANY, PLENTY, add_people, asked
from tests.service.sessions.crash import Zygote, zygote
from tests.service.stack import registration, skewed, write_table
from tests.service.store.bookkeeping import EVERYTHING, check_answers, check_charges

NAMES = ("people", "second", "third", "fourth")


@pytest.fixture(name="forking")
def process_that_forks_servers(tmp_path: Path) -> Iterator[Zygote]:
    """For one test: what waits at the socket of a server that was killed is answered by the next."""
    (tmp_path / "zygote").mkdir()
    with zygote(tmp_path / "zygote") as made:
        yield made


class Two:
    """Two server processes over one store, with four data sets."""

    def __init__(self, folder: Path, forking: Zygote, address: str) -> None:
        self.folder, self.forking, self.address, self.pids = folder, forking, address, dict[int, int]()
        self.store = Store.open(address)
        write_table(folder / "people.csv", skewed(5_000))
        ada = self.store.add_person("ada", "custodian", by=None)
        for name in NAMES:
            self.store.register(registration(name=name, config=MANY, budget=PLENTY), by=ada.id)
        (self.token,) = add_people(self.store, ["bob"])
        self.seen: dict[str, list[tuple[str, Any]]] = {name: [] for name in NAMES}

    def start(self, number: int) -> None:
        life = {"store": self.address, "folder": str(self.folder), "log": str(self.folder / f"log {number}")}
        started = self.forking.start(socket=number, kind="http", step=None, passing=0, seed=number, divide=True, **life)
        self.pids[number] = started

    def kill(self, number: int) -> None:
        self.forking.kill(self.pids.pop(number))

    def ask(self, number: int, name: str, text: str, key: str = "") -> tuple[int, Any]:
        """One question, asked of one of the servers."""
        headers = {"Idempotency-Key": key} if key else {}
        return asked(self.forking.ports[number], self.token, [text], headers, name=name, wait=4.0)

    def ask_until_answered(self, number: int, name: str, text: str, key: str) -> Any:
        """The same, sent again as long as the server is busy, to either of the two."""
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            number = number if number in self.pids else 1 - number  # its socket lives on in the process that forked it
            try:
                status, told = self.ask(number, name, text, key)
            except (OSError, http.client.HTTPException):
                status, told = 503, None
            if status == 200:
                return told["answers"]
            assert status == 503, told
            number = 1 - number
            time.sleep(0.05)
        raise AssertionError(told)

    def owners(self) -> dict[str, int]:
        """Which server has each unit, by the port in its address."""
        with psycopg.connect(self.address) as connection:
            rows = connection.execute("SELECT unit, address FROM leases WHERE expires > clock_timestamp()").fetchall()
        ports = {f"http://127.0.0.1:{port}": number for number, port in enumerate(self.forking.ports)}
        return {unit: ports[address] for unit, address in rows if not unit.startswith("server ")}

    def divided(self) -> dict[str, int]:
        """The owners, once each server has two of the data sets."""
        end = time.monotonic() + 60.0
        while sorted((owners := self.owners()).values()) != [0, 0, 1, 1]:
            assert time.monotonic() < end, owners
            self.ask_all("dividing", 0)
            time.sleep(0.2)
        return owners

    def ask_all(self, key: str, number: int) -> None:
        """Ask about each data set, by a key that was not used."""
        for at, name in enumerate(NAMES):
            new = f"{key}-{len(self.seen[name])}"
            self.seen[name].append((new, self.ask_until_answered(at % 2, name, condition(number), new)))


@contextmanager
def two(folder: Path, forking: Zygote, address: str) -> Iterator[Two]:
    with ExitStack() as stack:
        found = Two(folder, forking, address)
        stack.callback(found.store.close)
        stack.callback(lambda: [found.kill(number) for number in list(found.pids)])
        for number in range(2):
            found.start(number)
        yield found


def condition(number: int) -> str:
    return f"b = {number % 4} and c = {number // 4 % 5} and a = {number // 20 % 2}"


def test_servers_divide_data_sets_and_send_requests_on(
    tmp_path: Path, forking: Zygote, new_postgresql_database: str
) -> None:
    with two(tmp_path, forking, new_postgresql_database) as here:
        owners = here.divided()
        assert sorted(owners) == sorted(NAMES)
        for name in NAMES:
            told = [here.ask_until_answered(number, name, condition(7), "same") for number in range(2)]
            assert told[0] == told[1]
        assert here.owners() == owners
        assert forking.complaints() == ""


class Client(threading.Thread):
    """Asks one of the servers about each data set in turn, and sends requests again while it gets no answer."""

    def __init__(self, here: Two, number: int, requests: int) -> None:
        super().__init__(daemon=True)
        self._here, self._number, self._requests = here, number, requests
        self.seen: dict[str, list[tuple[str, Any]]] = {name: [] for name in NAMES}
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for at in range(self._requests):
                name, key = NAMES[at % len(NAMES)], f"{self._number}-{at}"
                text = condition(11 * self._number + at)
                self.seen[name].append((key, self._here.ask_until_answered(self._number % 2, name, text, key)))
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.failure = error


def asking(here: Two, clients: int, requests: int) -> list[Client]:
    made = [Client(here, number, requests) for number in range(clients)]
    for client in made:
        client.start()
    return made


def finished(clients: Sequence[Client]) -> None:
    for client in clients:
        client.join(120.0)
        if client.failure is not None:
            raise client.failure
        assert not client.is_alive()


def check_books(here: Two, clients: Sequence[Client]) -> None:
    """Every answer that was given is in the store, once, and every charge was made once."""
    for name in NAMES:
        number = here.store.data_set(name).id
        seen = [each for asking in (here, *clients) for each in asking.seen[name]]
        check_charges(here.store, number, PLENTY.limit)
        check_answers(here.store, number, seen)
        kept = here.store.answers(number, limit=EVERYTHING)
        assert len(kept) == len({(key, place) for key, told in seen for place in range(len(told))})


def test_a_server_that_is_killed_under_load_loses_nothing_and_the_other_takes_over(
    tmp_path: Path, forking: Zygote, new_postgresql_database: str
) -> None:
    with two(tmp_path, forking, new_postgresql_database) as here:
        assert set(here.divided().values()) == {0, 1}
        clients = asking(here, clients=8, requests=24)
        time.sleep(0.7)
        here.kill(0)
        finished(clients)
        assert set(here.owners().values()) == {1}
        check_books(here, clients)


def test_a_server_that_was_stopped_and_wakes_commits_nothing(
    tmp_path: Path, forking: Zygote, new_postgresql_database: str
) -> None:
    """It is stopped under load for longer than its leases last; others go on, and it does when it has looked again."""
    with two(tmp_path, forking, new_postgresql_database) as here:
        here.divided()
        tokens = fences(here)
        clients = asking(here, clients=6, requests=24)
        time.sleep(0.5)
        os.kill(here.pids[0], signal.SIGSTOP)
        try:
            end = time.monotonic() + 30.0
            while set(here.owners().values()) != {1} or len(here.owners()) < len(NAMES):
                assert time.monotonic() < end
                here.ask_all("meanwhile", 1)
        finally:
            os.kill(here.pids[0], signal.SIGCONT)
        finished(clients)
        assert all(fences(here)[name] >= tokens[name] for name in NAMES)
        assert fences(here) != tokens
        here.ask_all("later", 2)
        check_books(here, clients)


def fences(here: Two) -> dict[str, int]:
    with psycopg.connect(here.address) as connection:
        return dict(connection.execute("SELECT unit, token FROM leases WHERE unit = ANY(%s)", [list(NAMES)]).fetchall())
