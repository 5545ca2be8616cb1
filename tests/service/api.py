"""A server of the API in this process: a store in a file, a small table, three people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from fastapi import FastAPI

from hedgerow.privacy import SeededNoise
from hedgerow.service import Person, Role, SessionWorkers, Settings, Store, create_app, new_token
from hedgerow.service.http import tokens
from tests.service.asgi import Client, client_of
from tests.service.stores import open_store

RECORDS = 4000
DOMAIN = {"sex": ["F", "M"], "age": {"min": 0, "max": 9}, "job": {"values": ["clerk", "cook"], "missing": True}}
BUDGET = {"epsilon": 4.0, "neighbours": "replace"}
OPTIONS = {"updates": 12, "threshold": 0.02, "queries": 100_000, "first_release": 0.0}


@dataclass
class Api:
    """The server, and what a test needs of it."""

    app: FastAPI
    client: Client
    store: Store
    workers: SessionWorkers
    folder: Path
    people: dict[str, Person] = field(default_factory=dict)

    def person(self, name: str, role: Role = "analyst") -> Person:
        if name not in self.people:
            self.people[name] = self.store.add_person(name, role, by=None)
        return self.people[name]

    def token(
        self, name: str, role: Role = "analyst", *, data_sets: tuple[str, ...] | None = None, days: float | None = None
    ) -> str:
        expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
        made = new_token(self.person(name, role).id, data_sets=data_sets, expires=expires)
        self.store.add_token(made.token, made.salt, made.digest, by=None)
        return made.text

    def revoked_token(self, name: str, role: Role = "analyst") -> str:
        text = self.token(name, role)
        self.store.revoke(text.split("_")[1], by=None)
        return text

    def call(self, method: str, path: str, token: str | None = None, **sent: Any) -> Any:
        headers = dict(sent.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return self.client.request(method, path, headers=headers, **sent)


def registration(name: str = "survey", **changed: Any) -> dict[str, Any]:
    told = {"name": name, "title": "A survey", "source": {"place": "survey.csv"}, "domain": DOMAIN, "budget": BUDGET}
    return {**told, "options": OPTIONS, **changed}


@cache
def _table() -> str:
    rng = np.random.default_rng(7)
    ages = rng.choice(10, size=RECORDS, p=np.arange(10, 0, -1) / 55)
    rows = [f"{'FM'[rng.integers(2)]},{age},{['clerk', 'cook', ''][rng.integers(3)]}" for age in ages]
    return "\n".join(["sex,age,job", *rows]) + "\n"


def write_table(folder: Path) -> None:
    (folder / "survey.csv").write_text(_table())


@contextmanager
def quick_tokens() -> Iterator[None]:
    """Digests of secrets take no time; what they take otherwise is tested in test_tokens.py."""
    with patch.object(tokens, "_WIDTH", 2):
        yield


@contextmanager
def api(folder: Path, **settings: Any) -> Iterator[Api]:
    """Start it in a folder; with one data set, 'survey'."""
    with quick_tokens(), _api(folder, settings) as here:
        yield here


@contextmanager
def _api(folder: Path, settings: dict[str, Any]) -> Iterator[Api]:
    data = folder / "data"
    data.mkdir()
    write_table(data)
    store = open_store(folder / "store.db")
    sources = settings.get("sources", {})
    workers = SessionWorkers(store, data, noise=lambda _: SeededNoise(1), tick=0.0, sources=sources)
    chosen = replace(Settings(data, requests_per_minute=None, failures_per_minute=100_000), **settings)
    app = create_app(workers, store, chosen)
    try:
        with client_of(app) as client:
            here = Api(app, client, store, workers, data)
            custodian = here.token("carol", "custodian")
            made = here.call("POST", "/v1/datasets", custodian, json=registration())
            assert made.status_code == 201, made.text
            yield here
    finally:
        workers.close()
        store.close()
