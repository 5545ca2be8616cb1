"""A server in a thread, with a small table, people and tokens, for tests that go over HTTP."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from hedgerow.privacy import SeededNoise
from hedgerow.service import (
    ConnectionLimits,
    Person,
    SessionWorkers,
    Settings,
    Store,
    configured,
    create_app,
    new_token,
)
from tests.service.api import quick_tokens
from tests.service.stores import open_store


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        url: Of its root, with a slash at the end.
        token: Of the custodian "ada".
        folder: Where its tables are.
    """

    url: str
    token: str
    folder: Path

    def call(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        """What an address below /v1/ answers, as values."""
        request = urllib.request.Request(
            f"{self.url}v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return json.loads(reply.read() or "null")
        except urllib.error.HTTPError as refusal:
            raise AssertionError(f"{method} {path}: {refusal.code} {refusal.read().decode()}") from None

    def register(self, name: str, table: str, domain: Mapping[str, Any], **more: Any) -> None:
        """Register a table, given as the text of a CSV file; without a first release, unless one is asked for."""
        (self.folder / f"{name}.csv").write_text(table, encoding="utf-8")
        plain = {"budget": {"epsilon": 1.0}, **more, "options": {"first_release": 0, **more.get("options", {})}}
        self.call("POST", "datasets", {"name": name, "source": {"place": f"{name}.csv"}, "domain": domain, **plain})

    def token_of(self, person: str, *, datasets: list[str] | None = None, role: str | None = "analyst") -> str:
        """A new token of a person, who is added unless the role is None."""
        if role is not None:
            self.call("POST", "people", {"name": person, "role": role})
        scope = "all" if datasets is None else datasets
        made: dict[str, str] = self.call("POST", "tokens", {"person": person, "datasets": scope})
        return made["token"]


@contextmanager
def serving(folder: Path, *, seed: int | None = 0, port: int = 0, **settings: Any) -> Iterator[Server]:
    """Serve an empty store; noise is seeded, or secure without a seed."""
    (folder / "tables").mkdir(parents=True)
    store = open_store(folder / "store.db")
    workers = SessionWorkers(
        store, folder / "tables", noise=lambda _: None if seed is None else SeededNoise(seed), tick=0.001
    )
    chosen = Settings(folder / "tables", requests_per_minute=None, longest_wait=3600.0, **settings)
    try:
        with quick_tokens(), in_a_thread(create_app(workers, store, chosen), port=port) as taken:
            token = token_of(store, store.add_person("ada", "custodian", by=None))
            yield Server(f"http://127.0.0.1:{taken}/", token, folder / "tables")
    finally:
        workers.close()
        store.close()


@contextmanager
def in_a_thread(app: FastAPI, limits: ConnectionLimits | None = None, **options: Any) -> Iterator[int]:
    """Serve an application as the program does; gives its port."""
    config = configured(app, limits or ConnectionLimits.of(), **{"port": 0, "log_config": None, **options})
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=20)
        assert not thread.is_alive()


def token_of(store: Store, person: Person) -> str:
    made = new_token(person.id)
    store.add_token(made.token, made.salt, made.digest, by=None)
    return made.text
