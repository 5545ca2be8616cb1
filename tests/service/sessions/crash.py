"""Kills servers while they are asked, again and again, and checks after each death what they left behind.

An *episode* is one data set. Several clients ask all the time, each request under a key of its own, and send a request
again until it is answered. Server follows upon server; each is killed by SIGKILL, at a named step or at any moment.
After each death, before the next server starts, everything that the store says is checked against what was announced
by the dead server and against what the clients have seen.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from hedgerow import OnlinePMW
from hedgerow.algorithms import LOST
from hedgerow.algorithms.online_pmw import Step
from hedgerow.privacy import ZCDP, Budget, PureDP
from hedgerow.service import Anchor, Hold, Store, new_token
from hedgerow.service.store.restored import departures
from tests.engines.postgresql import database_of
from tests.service.sessions.crash_child import digest_of_rows, digest_of_session
from tests.service.stack import (
    DOMAIN,
    REPLACE,
    charges,
    ledger,
    registration,
    skewed,
    transcript,
    whole,
    write_table,
)
from tests.service.store.bookkeeping import EVERYTHING, check_answers, check_charges

STEPS = (
    "step written",
    "hold written",
    "uncovered",
    "held",
    "looked",
    "answers written",
    "committed",
    "forfeit written",
)
"""Where servers are killed, beside "registration written", "learnt" (of a first release) and any moment."""
CLIENTS = 4
_PATIENCE = 4.0
"""A server that does not come by its step for so many seconds is killed where it is."""

KINDS: list[tuple[OnlinePMW, Budget]] = [
    (OnlinePMW(variant="4c", updates=60, threshold=0.02, step="residual"), PureDP(60.0, REPLACE)),
    (OnlinePMW(variant="pay-as-you-go", updates=60, threshold=0.02, step="residual"), PureDP(60.0)),
    (OnlinePMW(variant="4b", updates=40, threshold=0.02), ZCDP(40.0)),
    (OnlinePMW(variant="4c", updates=40, threshold=0.02), ZCDP(20.0, REPLACE)),
]


@dataclass
class Counts:
    """What happened.

    Attributes:
        kills: Servers that were killed, by the step that they died at; "any moment" for the others.
        requests: That were answered.
        sent_again: Times that a request had to be sent once more.
        answers: In the stores.
        lost: Events of holds that were forfeited.
        data: Answers of the data.
        checks: Stores that were looked through.
    """

    kills: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    sent_again: int = 0
    answers: int = 0
    data: int = 0
    lost: int = 0
    checks: int = 0

    def __str__(self) -> str:
        kills = ", ".join(f"{step}: {number}" for step, number in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills ({kills}); {self.requests} requests, {self.sent_again} sent again; "
            f"{self.answers} answers, {self.data} of the data; {self.lost} lost events; {self.checks} checks"
        )


class Zygote:
    """The process that forks servers, and the sockets that they accept on."""

    def __init__(self, log: Path) -> None:
        sockets = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(2)]
        self.ports: list[int] = [each.getsockname()[1] for each in sockets]
        self.listening = sockets
        self._log = log
        descriptors = [each.fileno() for each in sockets]
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        with log.open("wb") as complaints:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.service.sessions.crash_child", *map(str, descriptors)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                pass_fds=descriptors,
                env={**os.environ, **one},
                cwd=Path(__file__).parents[3],
            )
        self._awaited: int | None = None

    @property
    def port(self) -> int:
        """Of the first socket."""
        return self.ports[0]

    def start(self, *, socket: int = 0, **life: Any) -> int:
        """Fork a server; its process id."""
        self._tell({"socket": socket, **life})
        return int(self._line(60.0) or 0)

    def end(self, pid: int, patience: float) -> int | None:
        """How a server ended, or None if it has not after so many seconds."""
        if self._awaited is None:
            self._tell(pid)
            self._awaited = pid
        assert self._awaited == pid
        line = self._line(patience)
        if line is None:
            return None
        self._awaited = None
        return int(line)

    def kill(self, pid: int) -> None:
        """End a server, as every server ends here."""
        os.kill(pid, signal.SIGKILL)
        assert self.end(pid, 20.0) == -signal.SIGKILL, self.complaints()[-3000:]

    def _tell(self, command: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)
        if self._process.stdout is not None:
            self._process.stdout.close()
        for each in self.listening:
            each.close()

    def complaints(self) -> str:
        return self._log.read_text(errors="replace")

    def _line(self, patience: float) -> bytes | None:
        stream = self._process.stdout
        assert stream is not None
        if not select.select([stream], [], [], patience)[0]:
            return None
        line: bytes = stream.readline()
        assert line, f"the process that forks servers is gone: {self.complaints()[-3000:]}"
        return line


@contextmanager
def zygote(folder: Path) -> Iterator[Zygote]:
    made = Zygote(folder / "complaints.txt")
    try:
        yield made
    finally:
        made.close()


# ---- clients ---------------------------------------------------------------------------------------------------------


def random_question(draw: random.Random, *, groups: bool) -> str:
    """A condition; or now and then the attributes of a group of counts."""
    if groups and draw.random() < 0.25:
        return "by " + ",".join(draw.sample(list(DOMAIN.names), draw.randint(1, len(DOMAIN))))
    return random_condition(draw)


def random_condition(draw: random.Random) -> str:
    parts = []
    for attribute in draw.sample(list(DOMAIN), draw.choice((1, 2, 2, 3))):
        codes = sorted(draw.sample(range(attribute.size), draw.randint(1, attribute.size - 1)))
        parts.append(f"{attribute.name} in ({', '.join(map(str, codes))})")
    return " and ".join(parts)


class Client(threading.Thread):
    """Asks one request after the other; the same one again until it is answered."""

    def __init__(self, episode: Episode, number: int) -> None:
        super().__init__(daemon=True)
        self._episode = episode
        self._draw = random.Random(f"{episode.seed} {number}")
        self._name = f"{episode.seed}-{number}"
        self.seen: list[tuple[str, list[dict[str, Any]]]] = []
        self.sent_again = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._episode.stopping.is_set():
                groups = self._episode.asks_for_groups
                texts = [random_question(self._draw, groups=groups) for _ in range(self._draw.choice((1, 1, 2, 5)))]
                grouped = [text for text in texts if text.startswith("by ")]
                if self._episode.kind == "http" and grouped:  # a statement is a request of its own
                    texts = grouped[:1]
                key = f"{self._name}-{len(self.seen)}"
                self.seen.append((key, self._answered(key, texts)))
                if self._draw.random() < 0.2:  # what was answered is answered the same way again
                    self.seen.append((key, self._answered(key, texts)))
        except BaseException as error:  # noqa: BLE001 - the episode raises it
            self.failure = error

    def _answered(self, key: str, texts: list[str]) -> list[dict[str, Any]]:
        while True:
            try:
                found = self._episode.send(key, texts)
            except (OSError, http.client.HTTPException):
                self.sent_again += 1
            else:
                assert len(found) == len(texts), found
                return found


# ---- an episode ------------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What the store said of a data set after a death."""

    version: int
    hold: Hold | None
    lost: list[float]


class Episode:
    """One data set and its servers."""

    def __init__(
        self,
        folder: Path,
        zygote: Zygote,
        counts: Counts,
        *,
        seed: int,
        kind: str = "worker",
        address: str | None = None,
    ) -> None:
        folder.mkdir()
        self.seed, self.kind = seed, kind
        self._folder, self._zygote, self._counts = folder, zygote, counts
        self._draw = random.Random(seed)
        self._config, self._budget = KINDS[seed % len(KINDS)]
        self._first = 0.25 if seed % 2 == 0 else 0.0  # after one, little is left to correct
        self.asks_for_groups = self._config.step is None
        self._store = address or str(folder / "store.db")
        self._database = address
        self._log = folder / "announced.txt"
        self._anchor = Anchor(folder / "anchor.json")
        self.stopping = threading.Event()
        self._before = Seen(0, None, [])
        write_table(folder / "people.csv", skewed(2_000, seed))
        store = Store.open(self._store)
        ada = store.add_person("ada", "custodian", by=None)
        self._person = ada.id
        made = new_token(ada.id)
        store.add_token(made.token, made.salt, made.digest, by=None)
        self._token = made.text
        if kind == "worker":
            store.register(registration(config=self._config, budget=self._budget), by=ada.id)
        store.close()
        self._clients = [Client(self, number) for number in range(CLIENTS)]

    # Asking

    def send(self, key: str, texts: list[str]) -> list[dict[str, Any]]:
        """One request to whichever server is there; raises if that dies meanwhile."""
        if self.kind == "http":
            return self._send_statement(key, texts[0]) if texts[0].startswith("by ") else self._send_http(key, texts)
        with (
            socket.create_connection(("127.0.0.1", self._zygote.port), timeout=60.0) as connection,
            connection.makefile("rwb") as stream,
        ):
            stream.write(json.dumps({"person": self._person, "key": key, "texts": texts}).encode() + b"\n")
            stream.flush()
            line = stream.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the server is gone")
        found: list[dict[str, Any]] = json.loads(line)
        return found

    def _send_http(self, key: str, texts: list[str]) -> list[dict[str, Any]]:
        """Every other request to the series that the data set is the only partition of."""
        body = {"queries": [{"where": text} for text in texts]}
        in_series = int(key.rpartition("-")[2]) % 2 == 1
        path = "/v1/series/all/queries" if in_series else "/v1/datasets/people/queries"
        status, told = self._http("POST", path, body, {"Idempotency-Key": key})
        assert status == 200, told
        return [each["parts"]["people"] if in_series else each for each in told["answers"]]

    def _send_statement(self, key: str, text: str) -> list[dict[str, Any]]:
        """All counts by some attributes, as the store keeps their answer."""
        names = text.removeprefix("by ")
        sql = f"SELECT {names}, COUNT(*) FROM people GROUP BY {names}"
        status, told = self._http("POST", "/v1/datasets/people/tables", {"sql": sql}, {"Idempotency-Key": key})
        assert status == 200, told
        (source,) = told["sources"]
        ends = [list(column) for column in zip(*(row[-3:] for row in told["rows"]), strict=True)]
        value, low, high = (None if None in column else column for column in ends)
        groups = {"value": value, "low": low, "high": high}
        known = {"value": sum(ends[0]), "low": None, "high": None, "groups": groups, "statement": sql, "position": 0}
        return [{**known, "source": source, "charged": told["charged"]}]

    def _http(self, method: str, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._zygote.port, timeout=60.0)
        try:
            told = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json", **(headers or {})}
            connection.request(method, path, json.dumps(body), told)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
        finally:
            connection.close()

    def _register(self) -> None:
        """Over HTTP, against servers that die while they do it."""
        plain = asdict(registration(config=self._config, budget=self._budget))
        chosen = ("variant", "queries", "updates", "threshold", "step")
        options = {name: plain["config"][name] for name in chosen if plain["config"][name] is not None}
        options["first_release"] = self._first
        unit = {"epsilon": self._budget.limit} if isinstance(self._budget, PureDP) else {"rho": self._budget.limit}
        asked = {
            "name": "people",
            "title": "People",
            "source": {**plain["source"], "series": "all"},
            "domain": plain["domain"],
            "budget": {**unit, "neighbours": self._budget.neighbours.value},
            "options": options,
        }
        while True:
            try:
                status, told = self._http("POST", "/v1/datasets", asked)
                if status == 409:  # it is there; its opening may have failed
                    status, told = self._http("POST", "/v1/datasets/people/open", {})
            except (OSError, http.client.HTTPException):
                continue
            assert status in (200, 201, 409), told
            return

    # Servers

    def run(self, steps: list[str | None]) -> None:
        """One server after the other, to be killed at these steps; None for any moment.

        Raises:
            AssertionError: What a server left behind, or what a client saw, is wrong.
        """
        registering = None
        if self.kind == "http":
            registering = threading.Thread(target=self._register, daemon=True)
            registering.start()
            self._life("registration written", 1)
            if self._first:
                self._life("learnt", 1)
            pid = self._start(None, 0)
            registering.join(60.0)
            self._zygote.kill(pid)
        for client in self._clients:
            client.start()
        for step in steps:
            self._life(step, self._draw.randint(1, 1 if step == "forfeit written" else 5))
        pid = self._start(None, 0)
        self.stopping.set()
        for client in self._clients:
            client.join(60.0)
            assert not client.is_alive(), self._zygote.complaints()[-3000:]
        self._zygote.kill(pid)
        self.check()
        self._count()

    def _start(self, step: str | None, passing: int) -> int:
        return self._zygote.start(
            kind=self.kind,
            store=self._store,
            folder=str(self._folder),
            log=str(self._log),
            anchor=str(self._anchor.path),
            table=self.seed,
            seed=self._draw.randrange(2**31),
            step=step,
            passing=passing,
        )

    def _life(self, step: str | None, passing: int) -> None:
        if step == "forfeit written" and self._before.hold is None:
            self._life("looked", 1 + self._draw.randint(1, 3))  # there must be something to forfeit
        pid = self._start(step, passing)
        if self._before.version == 0:
            patience = 10 * _PATIENCE  # it begins
        else:
            patience = _PATIENCE if step else self._draw.uniform(0.02, 0.35 if self.kind == "worker" else 1.0)
        ended = self._zygote.end(pid, patience)
        if ended is None:
            os.kill(pid, signal.SIGKILL)
            step, ended = None, self._zygote.end(pid, 20.0)
        assert ended == -signal.SIGKILL, f"a server ended by itself: {self._zygote.complaints()[-3000:]}"
        self._counts.kills[step or "any moment"] += 1
        self.check()

    # What they leave behind

    def check(self) -> None:
        """Everything that the store says, before another server changes it.

        Raises:
            AssertionError: Something is wrong.
        """
        for client in self._clients:
            if client.failure is not None:
                raise client.failure
        assert not self._zygote.complaints(), self._zygote.complaints()[-3000:]
        if self._database is not None:
            _wait_for_the_dead(self._database)
        store = Store.open(self._store)
        try:
            if not any(each.name == "people" for each in store.data_sets()):
                return
            number = store.data_set("people").id
            check_charges(store, number, self._budget.limit)
            check_answers(store, number, [each for client in self._clients for each in list(client.seen)])
            self._check_session(store, number)
            self._check_lost(store, number)
            self._check_anchor(store)
        finally:
            store.close()
        self._counts.checks += 1

    def _check_session(self, store: Store, number: int) -> None:
        """It is, to the bit, what was committed last, or what was about to be; and so it is when put together again."""
        progress = store.progress(number)
        lines = [json.loads(line) for line in self._log.read_bytes().splitlines() if line.endswith(b"]")]
        done = max((version for version, rows, _ in lines if rows == "done"), default=0)
        assert done <= progress.version <= max(done, self._before.version) + 1
        announced = [
            (rows, session) for version, rows, session in lines if version == progress.version and rows != "done"
        ]
        if progress.version == 0:
            assert progress.step is None
            return
        rows, session = announced[-1]
        assert digest_of_rows(progress.step or Step()) == rows
        if progress.step is None or progress.step.opening is None:
            return
        source = skewed(2_000 if self.kind == "http" else 20_000, self.seed)
        again = [digest_of_session(whole(store, number, source)) for _ in range(2)]
        assert again[0] == again[1]
        assert session is None or again[0] == session
        assert transcript(store, number).events == progress.step.events

    def _check_anchor(self, store: Store) -> None:
        """The store is what its anchor says or newer, and all that may have left is covered."""
        said = self._anchor.read()
        assert said is not None
        assert departures(store, said).sentences() == []
        lines = [json.loads(line) for line in self._log.read_bytes().splitlines() if line.endswith(b"]")]
        done = max((version for version, rows, _ in lines if rows == "done"), default=0)
        assert "people" in said.ledgers or done == 0
        assert done == 0 or said.ledgers["people"].version >= done

    def _check_lost(self, store: Store, number: int) -> None:
        """A hold that was not settled, and no other, is a lost event afterwards."""
        progress, before = store.progress(number), self._before
        lost = [each.event.charge for each in ledger(store, number) if each.event.label == LOST]
        if before.hold is not None and progress.version > before.version:
            assert lost == [*before.lost, before.hold.charge]
        else:
            assert lost == before.lost
        if progress.version == before.version:
            assert progress.hold == before.hold
        told = (progress.step.state or {}).get("summary") if progress.step else None
        if told is not None and progress.hold is None:
            assert Fraction(told["spent"]) == Fraction(float(charges(store, number)))
        self._before = Seen(progress.version, progress.hold, lost)

    def _count(self) -> None:
        store = Store.open(self._store)
        number = store.data_set("people").id
        answers = store.answers(number, limit=EVERYTHING)
        store.close()
        counts = self._counts
        counts.answers += len(answers)
        counts.data += sum(each.source == "data" for each in answers)
        counts.lost += len(self._before.lost)
        counts.requests += sum(len({key for key, _ in client.seen}) for client in self._clients)
        counts.sent_again += sum(client.sent_again for client in self._clients)
        # all that was seen is all that is there: nobody was answered a question that was not asked
        seen = {(key, place) for client in self._clients for key, found in client.seen for place in range(len(found))}
        assert len(seen) == len(answers)


def _wait_for_the_dead(database: str) -> None:
    """Until PostgreSQL has noticed that the server is gone."""
    import psycopg

    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(database, autocommit=True) as connection:
        while connection.execute(others + " AND backend_type = 'client backend'").fetchone() != (0,):
            time.sleep(0.005)


def run_episodes(
    folder: Path,
    made: Zygote,
    plan: list[tuple[str, list[str | None]]],
    *,
    seed: int = 0,
    postgresql: str | None = None,
) -> tuple[Counts, float]:
    """Episodes one after the other.

    Args:
        folder: For all files.
        made: Forks the servers.
        plan: Of each episode its kind ("worker", "http", or "postgresql": a worker over that database), and where its
            servers die.
        seed: Of everything that is random.
        postgresql: Address of a PostgreSQL server.

    Returns:
        What happened, and seconds.
    """
    counts, begun = Counts(), time.monotonic()
    for number, (kind, steps) in enumerate(plan):
        with nullcontext() if kind != "postgresql" else database_of(postgresql or "") as address:
            served = "http" if kind == "http" else "worker"
            Episode(folder / str(number), made, counts, seed=seed + number, kind=served, address=address).run(steps)
    return counts, time.monotonic() - begun
