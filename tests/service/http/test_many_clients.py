"""Many clients at once, and several server processes on one store: nothing is lost, answered or spent twice."""

from __future__ import annotations

import http.client
import json
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow import OnlinePMW
from hedgerow.algorithms import LOST
from hedgerow.privacy import Budget, PureDP, SeededNoise
from hedgerow.service import Store, new_token, summary_of
from tests.service.sessions.crash import Zygote, random_condition, zygote
from tests.service.sessions.test_replay import served
from tests.service.stack import DOMAIN, REPLACE, charges, ledger, registration, skewed, transcript, write_table
from tests.service.store.bookkeeping import EVERYTHING, Told, check_answers, check_charges

CLIENTS = 64
MANY = OnlinePMW(variant="pay-as-you-go", updates=40, threshold=0.02, step="residual")
PLENTY = PureDP(40.0)
SCARCE = PureDP(2.0, REPLACE)


class Client(threading.Thread):
    """Asks some requests of one of several servers, now and then the same one twice, or of two servers at once."""

    def __init__(self, number: int, ports: Sequence[int], token: str, requests: int) -> None:
        super().__init__(daemon=True)
        self._number, self._ports, self._token, self._requests = number, ports, token, requests
        self._draw = random.Random(number)
        self.seen: list[tuple[str, Told]] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for number in range(self._requests):
                key, texts = f"{self._number}-{number}", self._questions()
                for place in range(1 + (self._draw.random() < 0.25)):
                    port = self._ports[(self._number + number + place) % len(self._ports)]
                    self.seen.append((key, self._asked(port, key, texts)))
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self.failure = error

    def _questions(self) -> list[str]:
        """Half of them are asked by others too."""
        shared = [f"b = {self._draw.randrange(4)} and c = {self._draw.randrange(5)}"]
        return [random_condition(self._draw) for _ in range(self._draw.choice((0, 1, 4)))] + shared

    def _asked(self, port: int, key: str, texts: list[str]) -> Told:
        status, told = asked(port, self._token, texts, {"Idempotency-Key": key})
        assert status == 200, told
        answers: Told = told["answers"]
        assert len(answers) == len(texts)
        return answers


def asked(
    port: int,
    token: str,
    texts: Sequence[str],
    headers: Mapping[str, str],
    *,
    name: str = "people",
    wait: float = 120.0,
) -> tuple[int, Any]:
    """One request; its status and what was told."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=wait)
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    try:
        body = json.dumps({"queries": [{"where": text} for text in texts]})
        connection.request("POST", f"/v1/datasets/{name}/queries", body, sent)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def ask_at_once(ports: Sequence[int], tokens: Sequence[str], requests: int) -> list[Client]:
    clients = [Client(number, ports, tokens[number % len(tokens)], requests) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(120.0)
        if client.failure is not None:
            raise client.failure
        assert not client.is_alive()
    return clients


def check_all(store: Store, clients: Sequence[Client], limit: float) -> None:
    number = store.data_set("people").id
    check_charges(store, number, limit)
    check_answers(store, number, [each for client in clients for each in client.seen])
    asked = {(key, place) for client in clients for key, told in client.seen for place in range(len(told))}
    assert len(store.answers(number, limit=EVERYTHING)) == len(asked)
    assert store.progress(number).hold is None
    assert LOST not in [each.event.label for each in ledger(store, number)]
    learnt = transcript(store, number)
    told = store.progress(number).step
    assert told is not None
    assert told.state is not None
    assert told.state["summary"]["spent"] == float(charges(store, number))
    assert len(learnt.events) == len(ledger(store, number))


def add_people(store: Store, names: Sequence[str]) -> list[str]:
    """Analysts, each with a token."""
    tokens = []
    for name in names:
        made = new_token(store.add_person(name, "analyst", by=None).id)
        store.add_token(made.token, made.salt, made.digest, by=None)
        tokens.append(made.text)
    return tokens


@pytest.mark.slow
def test_64_clients_at_once(tmp_path: Path) -> None:
    write_table(tmp_path / "people.csv", skewed(5_000))
    with served(tmp_path, SeededNoise(0)) as server:
        new = registration(config=MANY, budget=PLENTY)
        server.workers.register(new, by=server.store.person("ada"))
        tokens = add_people(server.store, ["bob", "eve", "joe"])
        clients = ask_at_once([server.port], tokens, requests=4)
        check_all(server.store, clients, PLENTY.limit)
        sources = {told["source"] for client in clients for _, answers in client.seen for told in answers}
        assert {"data", "hypothesis", "cache"} <= sources


# ---- several processes -----------------------------------------------------------------------------------------------


@pytest.fixture(name="forking", scope="module")
def process_that_forks_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    with zygote(tmp_path_factory.mktemp("zygote")) as made:
        yield made


@contextmanager
def two_servers(folder: Path, forking: Zygote, address: str, budget: Budget) -> Iterator[tuple[Store, list[str]]]:
    """Two server processes over one store; yields the store, and tokens of three analysts."""
    store = Store.open(address)
    write_table(folder / "people.csv", skewed(5_000))
    ada = store.add_person("ada", "custodian", by=None)
    store.register(registration(config=MANY, budget=budget), by=ada.id)
    tokens = add_people(store, ["bob", "eve", "joe"])
    with ExitStack() as stack:
        stack.callback(store.close)
        for number in range(2):
            life = {"store": address, "folder": str(folder), "log": str(folder / f"log {number}"), "seed": number}
            stack.callback(forking.kill, forking.start(socket=number, kind="http", step=None, passing=0, **life))
        yield store, tokens
        assert forking.complaints() == ""


def check_race(folder: Path, forking: Zygote, address: str) -> None:
    """Until the budget is used up, and beyond: all that was spent was spent once."""
    with two_servers(folder, forking, address, SCARCE) as (store, tokens):
        clients = ask_at_once(forking.ports, tokens, requests=3)
        check_all(store, clients, SCARCE.limit)
        number = store.data_set("people").id
        left = Fraction(SCARCE.limit) - charges(store, number)
        (told,) = [(store.progress(number).step or pytest.fail("nothing")).state or {}]
        assert left < Fraction(told["summary"]["price"])
        assert told["closed"] != ""
        # both processes wrote: each has announced commits that are in the store
        done = [_versions(folder / f"log {number}") for number in range(2)]
        assert not done[0] & done[1]
        assert done[0] | done[1] == set(range(1, store.data_set("people").version + 1))
        assert min(map(len, done)) > 3


def _versions(log: Path) -> set[int]:
    return {version for version, rows, _ in map(json.loads, log.read_text().splitlines()) if rows == "done"}


@pytest.mark.slow
def test_two_processes_on_one_file_never_spend_twice(tmp_path: Path, forking: Zygote) -> None:
    check_race(tmp_path, forking, str(tmp_path / "store.db"))


def test_two_processes_on_one_postgresql_never_spend_twice(
    tmp_path: Path, forking: Zygote, new_postgresql_database: str
) -> None:
    check_race(tmp_path, forking, new_postgresql_database)


@pytest.mark.slow
def test_people_share_what_is_theirs(tmp_path: Path) -> None:
    """Limits hold exactly, however many ask at once."""
    write_table(tmp_path / "people.csv", skewed(5_000))
    with served(tmp_path, SeededNoise(0)) as server:
        ada = server.store.person("ada")
        data_set = server.workers.register(registration(config=MANY, budget=PLENTY), by=ada)
        bob = server.store.add_person("bob", "analyst", by=None)
        price = summary_of(server.store, data_set, bob)["price"]
        server.store.set_grant(data_set.id, bob.id, 50, 3.5 * price, by=ada.id)
        made = new_token(bob.id)
        server.store.add_token(made.token, made.salt, made.digest, by=None)
        found: list[Any] = []

        def ask(part: int) -> None:
            same = "=" if part < 8 else "<>"
            for text in (f"a = {part % 2} and b = {part // 2 % 4} and c {same} {c}" for c in range(5)):
                found.append(asked(server.port, made.text, [text], {}))

        threads = [threading.Thread(target=ask, args=(part,)) for part in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60.0)
        assert sorted(status for status, _ in found) == [200] * 50 + [403] * 30
        sources = [told["answers"][0]["source"] for status, told in found if status == 200]
        assert sources.count("data") == 3
        grant = server.store.grant(data_set.id, bob.id)
        assert (grant.asked, grant.spent) == (50, pytest.approx(3 * price))
        check_charges(server.store, data_set.id, PLENTY.limit)
        assert transcript(server.store, data_set.id, DOMAIN).begun
