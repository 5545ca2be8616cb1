"""The server over real HTTP: what a request costs, against one for the server's health in the same run.

Ours and the reference are CPU seconds of the server's process for one request; the notes say how many questions were
answered in a second, and how long the requests took. Clients are threads of another process on the same machine.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.row import Row
from hedgerow.algorithms.online_pmw import OnlinePMW
from hedgerow.privacy import PureDP
from hedgerow.service.demo import COLUMNS, FILE, registration

SECONDS = 1.5
"""Of each measurement."""
CROWD_SECONDS = 6.0
"""The same with a crowd: those who are turned away come again within it."""
MANY = 64
CROWDS = (64, 500, 2000)
BATCH = 100
CLOSE = OnlinePMW(updates=50, threshold=0.9, queries=10_000_000)
FAR = OnlinePMW(updates=500, threshold=1e-6, queries=10_000_000, step="residual")
FITTED = OnlinePMW(updates=500, threshold=1e-6, queries=10_000_000)


def rows() -> Iterator[Row]:
    """Each kind of question one by one and in batches, for one client and for many; over both databases."""
    for name in ("SQLite", "PostgreSQL"):
        if name == "PostgreSQL" and shutil.which("pg_ctl") is None:
            continue
        with running(name) as server:
            yield from _rows_of(name, server)


def _rows_of(name: str, server: Server) -> Iterator[Row]:
    health = {clients: measured(server, ("GET", "/v1/health", itertools.repeat("")), clients) for clients in (1, MANY)}
    for clients, found in health.items():
        yield _row(f"{name}: health, {_many(clients)}", found, found, 1)
    for kind, data_set, questions, sizes, several in (
        ("cached", "close", itertools.repeat("sex = 'Male'"), (1, BATCH), (1, MANY)),
        ("new, the hypothesis is close", "close", conditions(0), (1, BATCH), (1, MANY)),
        ("new, a correction by a step", "far", conditions(1), (1,), (1, MANY)),
        ("new, a correction by a fit", "fitted", conditions(2), (1,), (1,)),
    ):
        for size, clients in itertools.product(sizes, several):
            path = f"/v1/datasets/{data_set}/queries"
            found = measured(server, ("POST", path, _bodies(questions, size)), clients)
            batch = "" if size == 1 else f", {size} in a request"
            yield _row(f"{name}: {kind}{batch}, {_many(clients)}", found, health[clients], size)
    for clients in CROWDS:
        yield from _crowd(name, server, clients)
    with _correcting(server):
        sent = ("POST", "/v1/datasets/far/queries", _bodies(itertools.repeat("sex = 'Male'"), 1))
        found = measured(server, sent, MANY)
    yield _row(f"{name}: cached while others' are corrected, {_many(MANY)}", found, health[MANY], 1)


def _crowd(name: str, server: Server, clients: int) -> Iterator[Row]:
    """Requests a second of many clients, beside those of an application that says hello, one after the other."""
    sent = ("POST", "/v1/datasets/close/queries")
    said = ("POST", "/", itertools.repeat("{}"))
    hello = [measured(server.others[0], said, clients, CROWD_SECONDS)]
    for kind, questions in (("cached", itertools.repeat("sex = 'Male'")), ("new, close", conditions(clients))):
        found = measured(server, (*sent, _bodies(questions, 1)), clients, CROWD_SECONDS)
        hello.append(measured(server.others[0], said, clients, CROWD_SECONDS))
        longest = max((*found.times, *found.refused))
        rate = (hello[-2].per_second + hello[-1].per_second) / 2
        longest_hello = max((*hello[-2].times, *hello[-1].times))
        note = (
            f"{found.per_second / rate:.2f} of the hello's {rate:,.0f} answers a second; p50 "
            f"{1000 * found.quantile(0.5):,.0f} ms, p99 {1000 * found.quantile(0.99):,.0f} ms, "
            f"longest {longest:.2f} s, the hello's {longest_hello:.2f}; "
            f"{len(found.refused):,} of {len(found.times) + len(found.refused):,} told to come again"
        )
        yield Row(f"{name}: {kind}, {clients:,} clients", found.cpu_seconds, hello[-1].cpu_seconds, note)


@contextmanager
def _correcting(server: Server) -> Iterator[None]:
    """Questions that are corrected, one after the other, meanwhile."""
    done = threading.Event()
    asked = ("POST", "/v1/datasets/far/queries", _bodies(conditions(3), 1))

    def ask() -> None:
        while not done.is_set():
            asyncio.run(_load(server, asked, 1, SECONDS / 4))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        done.set()
        asking.join()


def _many(clients: int) -> str:
    return "one client" if clients == 1 else f"{clients} clients"


def _row(name: str, found: Load, health: Load, size: int) -> Row:
    p50, p99 = found.quantile(0.5), found.quantile(0.99)
    note = f"{found.per_second * size:,.0f} answers a second; p50 {1000 * p50:.1f} ms, p99 {1000 * p99:.1f} ms"
    return Row(name, found.cpu_seconds, health.cpu_seconds, note)


# ---- load ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        port: Where it listens.
        token: Of a custodian.
        pid: Its process.
        others: An application of the same framework that says hello, in a process of its own.
    """

    port: int
    token: str
    pid: int
    others: tuple[Server, ...] = ()

    def cpu(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """What some seconds of requests were like.

    Attributes:
        times: Seconds that each request took that was answered, sorted.
        refused: The same of those that were told to come again.
        per_second: Requests that were answered in a second.
        cpu_seconds: Of the server, for one request.
    """

    times: Sequence[float]
    refused: Sequence[float]
    per_second: float
    cpu_seconds: float

    def quantile(self, share: float) -> float:
        """Seconds that so large a share of the requests did not take."""
        return self.times[min(len(self.times) - 1, int(share * len(self.times)))]


def measured(server: Server, sent: tuple[str, str, Iterator[str]], clients: int, seconds: float = SECONDS) -> Load:
    """Requests one after the other from each of some clients; those of the first moments do not count."""
    asyncio.run(_load(server, sent, clients, seconds / 4))
    begun, cpu = time.monotonic(), server.cpu()
    answered, refused = asyncio.run(_load(server, sent, clients, seconds))
    used, passed = server.cpu() - cpu, time.monotonic() - begun
    told = (sorted(answered), sorted(refused))
    return Load(*told, len(answered) / passed, max(used, 1e-9) / max(1, len(answered)))


async def _load(
    server: Server, sent: tuple[str, str, Iterator[str]], clients: int, seconds: float
) -> tuple[list[float], list[float]]:
    """Seconds that requests took: those that were answered, and those that were told to come again, which wait.

    All connect before the first of them asks: then all ask at once.
    """
    ways = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", server.port) for _ in range(clients)))
    end = time.monotonic() + seconds
    answered: list[float] = []
    refused: list[float] = []

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while time.monotonic() < end:
            begun = time.perf_counter()
            writer.write(_request(server, *sent[:2], next(sent[2])))
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            body = await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r")[0]))
            status = int(head.split(b" ", 2)[1])
            (answered if status == 200 else refused).append(time.perf_counter() - begun)
            if status == 503:
                later = float(head.partition(b"retry-after:")[2].partition(b"\r")[0] or 1)
                await asyncio.sleep(min(later, max(0.0, end - time.monotonic())))
            elif status != 200:
                raise RuntimeError(body.decode())
        writer.close()

    await asyncio.gather(*(ask(*way) for way in ways))
    return answered, refused


def _request(server: Server, method: str, path: str, body: str) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def _bodies(questions: Iterator[str], size: int) -> Iterator[str]:
    while True:
        asked = [{"where": text} for text in itertools.islice(questions, size)]
        yield json.dumps({"queries": asked})


def conditions(seed: int) -> Iterator[str]:
    """Ever new conditions about Adult."""
    generator, domain = np.random.default_rng(seed), registration().domain
    listed = {name: _values(domain[name]) for name in COLUMNS if name not in ("age", "hours-per-week")}
    while True:
        ages = sorted(generator.choice(np.arange(16, 101), 2, replace=False).tolist())
        parts = [f"age between {ages[0]} and {ages[1]}"]
        for name in generator.choice(list(listed), 2, replace=False):
            values = listed[name]
            chosen = generator.choice(values, int(generator.integers(1, len(values))), replace=False)
            quoted = ", ".join(f"'{value}'" for value in chosen)
            parts.append(f'"{name}" in ({quoted})')
        yield " and ".join(parts)


def _values(declared: Any) -> list[str]:
    return declared if isinstance(declared, list) else list(declared["values"])


# ---- the server ------------------------------------------------------------------------------------------------------


@contextmanager
def running(name: str) -> Iterator[Server]:
    """A server of its own process over an empty store."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o711)
        address = str(folder / "store.db")
        if name == "PostgreSQL":
            from tests.engines.postgresql import postgresql_server

            (folder / "server").mkdir(mode=0o711)
            address = stack.enter_context(postgresql_server(folder / "server"))
        yield replace(_started(stack, address, str(folder)), others=(_started(stack),))


def _started(stack: ExitStack, *words: str) -> Server:
    command = [sys.executable, "-m", "benchmarks.service", *words]
    process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    stack.callback(process.terminate)
    port, token = process.stdout.readline().split() if process.stdout else ("", "")
    return Server(int(port), token, process.pid)


def hello() -> None:
    """Say hello to whoever sends JSON, with the same framework, until the process is ended."""
    import uvicorn
    from fastapi import FastAPI

    from hedgerow.service.running import listen

    app = FastAPI()

    @app.post("/")
    async def said(body: dict[str, Any]) -> dict[str, str]:
        return {"hello": "world"}

    listening = listen("127.0.0.1", 0)
    sys.stdout.write(f"{listening.getsockname()[1]} none\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="error")).run(sockets=[listening])


def main(address: str, folder: Path) -> None:
    """Serve Adult under two configurations until the process is ended; tells port and token."""
    from hedgerow.service.demo import demo
    from hedgerow.service.http import ConnectionLimits, create_app, new_token
    from hedgerow.service.running import listen, run
    from hedgerow.service.sessions import SessionWorkers
    from hedgerow.service.settings import Settings
    from hedgerow.service.store import Store

    shutil.copy(Path(demo.__file__).with_name(FILE), folder / FILE)
    store = Store.open(address)
    ada = store.add_person("ada", "custodian", by=None)
    made = new_token(ada.id)
    store.add_token(made.token, made.salt, made.digest, by=None)
    workers = SessionWorkers(store, folder)
    for name, config in {"close": CLOSE, "far": FAR, "fitted": FITTED}.items():
        budget = PureDP(1000.0).to_dict()
        workers.register(replace(registration(), name=name, budget=budget, config=config.parameters()), by=ada)
    app = create_app(workers, store, Settings(folder, requests_per_minute=None))
    listening = listen("127.0.0.1", 0)

    def started() -> None:
        sys.stdout.write(f"{listening.getsockname()[1]} {made.text}\n")
        sys.stdout.flush()

    run(app, listening, ConnectionLimits.of(), started=started, quiet=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2])) if sys.argv[1:] else hello()
