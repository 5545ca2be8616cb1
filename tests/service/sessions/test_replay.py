"""What the server answers is what the library answers: same noise, same questions, same bits."""

from __future__ import annotations

import http.client
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import OnlinePMW
from hedgerow.algorithms import START, OnlineAnswer, step_since
from hedgerow.algorithms.online_pmw import Step
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.privacy import ZCDP, ApproxDP, Budget, PureDP, SeededNoise
from hedgerow.service import SessionWorkers, Settings, Store, create_app, read_private
from tests.service.api import quick_tokens
from tests.service.serving import in_a_thread, token_of
from tests.service.stack import DOMAIN, REPLACE, ledger, registration, skewed, whole, write_table
from tests.service.stores import open_store

TREES = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(24))
DENSE_TEXTS = [f"b = {b} and c >= {c}" for b in range(4) for c in (1, 2, 4)] + [
    "a = 0",
    "b = 0 and c >= 1",
    "a in (0, 1)",
]
TREE_TEXTS = [f"x{i % 5} <= {i % 9} and x{i % 7 + 5} > {i % 4}" for i in range(12)] + ["x0 = 0", "x0 <= 0 and x5 > 0"]

CASES: dict[str, tuple[Budget, OnlinePMW]] = {
    "4a, replace": (PureDP(20.0, REPLACE), OnlinePMW(variant="4a")),
    "4a, approximate": (ApproxDP(0.9, 1e-6), OnlinePMW(variant="4a")),
    "4b": (ZCDP(4.0), OnlinePMW(variant="4b", updates=6, threshold=0.02)),
    "4b, replace": (ApproxDP(4.0, 1e-6, REPLACE), OnlinePMW(variant="4b", updates=6, threshold=0.02, step="residual")),
    "4c": (PureDP(6.0), OnlinePMW(variant="4c", updates=6, threshold=0.02)),
    "4c, replace": (PureDP(6.0, REPLACE), OnlinePMW(updates=6, threshold=0.02, step="residual")),
    "4c, theorem": (PureDP(40.0, REPLACE), OnlinePMW(variant="4c", alpha=0.4)),
    "pay as you go": (PureDP(3.0), OnlinePMW(variant="pay-as-you-go", updates=4, threshold=0.02)),
    "pay as you go, replace": (ZCDP(1.0, REPLACE), OnlinePMW(variant="pay-as-you-go", updates=9, threshold=0.02)),
}


@dataclass
class Served:
    """A server over HTTP, and what stands behind it."""

    store: Store
    workers: SessionWorkers
    port: int
    token: str

    def ask(self, *texts: str, confidence: float = 0.95) -> list[dict[str, Any]]:
        told = self.send("queries", {"queries": [{"where": text} for text in texts], "confidence": confidence})
        answers: list[dict[str, Any]] = told["answers"]
        return answers

    def send(self, route: str, body: dict[str, Any], key: str = "") -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60.0)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        try:
            connection.request("POST", f"/v1/datasets/people/{route}", json.dumps(body), headers)
            reply = connection.getresponse()
            told: dict[str, Any] = json.loads(reply.read())
        finally:
            connection.close()
        assert reply.status == 200, told
        return told


@contextmanager
def served(folder: Path, noise: SeededNoise) -> Iterator[Served]:
    """A server over a store; whoever is in the store is served."""
    store = open_store(folder / "store.db")
    if not store.people():
        store.add_person("ada", "custodian", by=None)
    workers = SessionWorkers(store, folder, noise=lambda _: noise, tick=0.0)
    app = create_app(workers, store, Settings(folder, requests_per_minute=None, longest_wait=3600.0))
    try:
        with quick_tokens(), in_a_thread(app) as port:
            yield Served(store, workers, port, token_of(store, store.person("ada")))
    finally:
        workers.close()
        store.close()


def wide_csv(path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = np.minimum(generator.geometric(0.5, (3_000, len(TREES))) - 1, 9)
    np.savetxt(path, rows, fmt="%d", delimiter=",", header=",".join(TREES.names), comments="")


def same(told: dict[str, Any], answer: OnlineAnswer) -> None:
    """Every number that a client is sent, to the bit."""
    names = ("value", "low", "high", "covers", "source", "spent", "updates_left")
    assert {name: told[name] for name in names} == {name: getattr(answer, name) for name in names}


def without_repeats(step: Step) -> Step:
    """A step without the number of answers that were given again: a session counts those, and a server does not."""
    state = dict(step.state or {})
    state["sources"] = {source: count for source, count in state["sources"].items() if source != "cache"}
    return replace(step, state=state)


def check_replay(folder: Path, budget: Budget, config: OnlinePMW, domain: Domain, texts: list[str]) -> list[str]:
    """The same questions to the server, which is stopped twice meanwhile, and to the library; the answers' sources."""
    new = registration(budget=budget, config=config, domain=domain)
    table = read_private(new.source, domain, folder)
    session = config.start(table, budget, noise=SeededNoise(7))
    price = session.price
    noise = SeededNoise(7)  # one for all servers
    found: list[str] = []
    cuts = (0, len(texts) // 3, len(texts) - 4, len(texts))
    for first, last in itertools.pairwise(cuts):
        with served(folder, noise) as server:
            if first == 0:
                server.workers.register(new, by=server.store.person("ada"))
            told = server.ask(*texts[first:last]) if first else [server.ask(text)[0] for text in texts[:last]]
            number = server.store.data_set("people").id
            for text, each in zip(texts[first:last], told, strict=True):
                before = session.spent
                answer = session.ask(text)
                same(each, answer)
                assert each["charged"] == (price if answer.source == "data" else 0.0)
                assert session.spent - before == pytest.approx(answer.charged)
                found.append(answer.source)
            assert tuple(each.event for each in ledger(server.store, number)) == session.release().events
            kept = whole(server.store, number, table)
            assert without_repeats(kept) == without_repeats(step_since(session, START, first=True))
    return found


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("case", CASES)
def test_the_servers_transcript_is_the_librarys(tmp_path: Path, case: str) -> None:
    budget, config = CASES[case]
    write_table(tmp_path / "people.csv", skewed(5_000))
    found = check_replay(tmp_path, budget, config, DOMAIN, DENSE_TEXTS)
    assert found[-1] == "public"
    assert found[-2] in ("cache", "hypothesis only")
    if config.is_practical:
        assert "data" in found


@pytest.mark.slow
@pytest.mark.parametrize("case", ["4b, replace", "4c", "pay as you go"])
def test_the_servers_transcript_over_trees_is_the_librarys(tmp_path: Path, case: str) -> None:
    budget, config = CASES[case]
    wide_csv(tmp_path / "people.csv")
    found = check_replay(tmp_path, budget, config, TREES, TREE_TEXTS)
    assert "data" in found


STATEMENTS = (
    "SELECT a, COUNT(*) FROM people GROUP BY a",
    "SELECT b, COUNT(*), AVG(c), SUM(b) FROM people WHERE a = 1 OR c > 2 GROUP BY b",
    "SELECT MEDIAN(c), QUANTILE(b, 0.9) FROM people",
    "SELECT a, COUNT(*) FROM people GROUP BY a",
)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("case", ["4b", "4c", "pay as you go, replace"])
def test_statements_are_answered_as_the_library_answers_them(tmp_path: Path, case: str) -> None:
    """The server is stopped after each; a request that is sent again under its key is answered alike, and not again."""
    write_table(tmp_path / "people.csv", skewed(5_000))
    budget, config = CASES[case]
    table = read_private(registration().source, DOMAIN, tmp_path)
    session, noise = config.start(table, budget, noise=SeededNoise(7)), SeededNoise(7)
    sources: set[str] = set()
    for number, statement in enumerate(STATEMENTS):
        with served(tmp_path, noise) as server:
            if not number:
                server.workers.register(registration(budget=budget, config=config), by=server.store.person("ada"))
            asked = {"sql": statement, "confidence": 0.9}
            told = server.send("tables", asked, key=f"key-{number}")
            data_set = server.store.data_set("people")
            before = session.updates_made
            found = session.select(statement, 0.9)
            assert [tuple(row) for row in told["rows"]] == found.rows
            assert (told["columns"], told["sources"]) == (list(found.columns), dict(found.sources))
            assert told["charged"] == pytest.approx(session.price * (session.updates_made - before))
            assert without_repeats(whole(server.store, data_set.id, table)) == without_repeats(
                step_since(session, START, first=True)
            )
            again = server.send("tables", asked, key=f"key-{number}")
            assert again["rows"] == told["rows"]
            assert without_repeats(whole(server.store, data_set.id, table)) == without_repeats(
                step_since(session, START, first=True)
            )
            sources |= set(found.sources)
    assert {"data", "cache", "hypothesis"} <= sources


def test_other_confidences_are_the_librarys(tmp_path: Path) -> None:
    write_table(tmp_path / "people.csv", skewed(5_000))
    budget, config = CASES["4c"]
    table = read_private(registration().source, DOMAIN, tmp_path)
    assert isinstance(table, Table)
    session = config.start(table, budget, noise=SeededNoise(7))
    with served(tmp_path, SeededNoise(7)) as server:
        server.workers.register(registration(budget=budget, config=config), by=server.store.person("ada"))
        for confidence in (0.5, 0.9, 0.999):
            for text, each in zip(DENSE_TEXTS, server.ask(*DENSE_TEXTS, confidence=confidence), strict=True):
                same(each, session.ask(text, confidence))


def test_a_hypothesis_that_was_asked_for_is_the_librarys(tmp_path: Path) -> None:
    """Tables and records of the hypothesis, between the questions, neither change nor cost anything."""
    write_table(tmp_path / "people.csv", skewed(5_000))
    budget, config = CASES["4c, replace"]
    session = config.start(read_private(registration().source, DOMAIN, tmp_path), budget, noise=SeededNoise(7))
    with served(tmp_path, SeededNoise(7)) as server:
        ada = server.store.person("ada")
        data_set = server.workers.register(registration(budget=budget, config=config), by=ada)
        for text in DENSE_TEXTS:
            same(server.ask(text)[0], session.ask(text))
            table = server.workers.marginal(data_set, ["c", "a"], person=ada)
            assert np.array_equal(table, session.release().model.marginals([("a", "c")])[0].T)
            assert len(server.workers.records(data_set, 10, person=ada)) == 10
