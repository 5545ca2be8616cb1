"""Servers that are killed at every step and at any moment lose nothing, and never answer what was not paid for."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import OnlinePMW
from hedgerow.privacy import ZCDP, Budget, PureDP, SeededNoise
from hedgerow.service import SessionRepository, Store
from tests.privacy.tables import DenseCounts
from tests.service.sessions.crash import STEPS, Zygote, run_episodes, zygote
from tests.service.stack import CONFIG, DOMAIN, REPLACE, at_worker, registration, without_times
from tests.service.store.cases import everything


def plan(kills: int, kinds: list[str], seed: int) -> list[tuple[str, list[str | None]]]:
    """Every step about as often, and as often any moment, divided over episodes."""
    draw = random.Random(seed)
    steps: list[str | None] = [(*STEPS, None)[place % (len(STEPS) + 1)] for place in range(kills)]
    draw.shuffle(steps)
    return [(kind, steps[place :: len(kinds)]) for place, kind in enumerate(kinds)]


@pytest.fixture(name="forking", scope="module")
def process_that_forks_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    with zygote(tmp_path_factory.mktemp("zygote")) as made:
        yield made


@pytest.mark.slow
def test_servers_killed_at_every_step_lose_nothing(tmp_path: Path, forking: Zygote) -> None:
    counts, _ = run_episodes(tmp_path, forking, [*plan(36, ["worker"] * 4, 0), ("http", ["looked"])])
    assert counts.kills.total() >= 39
    assert set(counts.kills) >= {*STEPS, "registration written"}
    assert counts.lost > 0
    assert counts.data > 0
    assert counts.sent_again > 0


def test_servers_over_postgresql_that_are_killed_lose_nothing(
    tmp_path: Path, forking: Zygote, postgresql_address: str
) -> None:
    counts, _ = run_episodes(tmp_path, forking, plan(9, ["postgresql"], 2), postgresql=postgresql_address)
    assert set(counts.kills) >= set(STEPS)
    assert counts.lost > 0


@pytest.mark.audit
def test_servers_killed_thousands_of_times_lose_nothing(
    tmp_path: Path, forking: Zygote, postgresql_address: str
) -> None:
    kinds = [
        ("worker", "worker", "postgresql", "worker", "worker", "http", "worker", "postgresql")[i % 8] for i in range(96)
    ]
    counts, seconds = run_episodes(tmp_path, forking, plan(2000, kinds, 1), seed=1000, postgresql=postgresql_address)
    os.write(1, f"{counts}; {seconds:.0f} s\n".encode())
    assert counts.kills.total() >= 2000
    assert all(counts.kills[step] >= 100 for step in STEPS)


# ---- what a death leaves behind does not depend on the data ----------------------------------------------------------


CONFIGS = [CONFIG, OnlinePMW(variant="4b", updates=6, threshold=0.02)]


def tables() -> list[list[float]]:
    """Of the same public number of records: about the first every answer is wrong at first, about the second none."""
    records = 400 * DOMAIN.size
    one = np.zeros(DOMAIN.size)
    one[-1] = records
    return [one.tolist(), [400.0] * DOMAIN.size]


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.variant)
def test_what_deaths_leave_behind_does_not_depend_on_the_data(
    tmp_path: Path, forking: Zygote, config: OnlinePMW
) -> None:
    """Whether the test fired or not the same rows are there, and the same again after the next server came and died."""
    budget = PureDP(8.0, REPLACE) if config.variant == "4c" else ZCDP(8.0, REPLACE)
    deaths = [("held", 1), ("forfeit written", 1), ("looked", 1), ("looked", 1), ("answers written", 1)]
    folders = [tmp_path / str(number) for number in range(2)]
    left = [_left_behind(*each, forking, config, budget, deaths) for each in zip(folders, tables(), strict=True)]
    assert not forking.complaints()
    assert left[0] == left[1]
    sources = [_first_source(*each, config, budget) for each in zip(folders, tables(), strict=True)]
    assert sources == ["data", "hypothesis"]  # so the tests that were interrupted fired in one and not in the other


def _left_behind(
    folder: Path, table: list[float], made: Zygote, config: OnlinePMW, budget: Budget, deaths: list[tuple[str, int]]
) -> list[Any]:
    """The store's rows after each death; each server is asked the same question."""
    folder.mkdir()
    store = Store.open(folder / "store.db")
    ada = store.add_person("ada", "custodian", by=None)
    number = store.register(registration(config=config, budget=budget), by=ada.id).id
    store.close()
    _begin(folder, number, table)
    found = []
    for seed, (step, passing) in enumerate(deaths):
        life = {"store": str(folder / "store.db"), "log": str(folder / "log"), "table": table, "seed": seed}
        pid = made.start(kind="worker", step=step, passing=passing, **life)
        with socket.create_connection(("127.0.0.1", made.port), timeout=20.0) as connection:
            connection.sendall(json.dumps({"person": ada.id, "key": "k", "texts": ["a = 0"]}).encode() + b"\n")
            assert connection.recv(1) == b""
        assert made.end(pid, 20.0) == -signal.SIGKILL
        store = Store.open(folder / "store.db")
        found.append((step, without_times(everything(store))))
        store.close()
    return found


def _begin(folder: Path, number: int, table: list[float]) -> None:
    store = Store.open(folder / "store.db")
    (data_set,) = store.data_sets()
    assert data_set.id == number
    source = DenseCounts(DOMAIN, table)
    repository = SessionRepository(data_set, DOMAIN, store, lambda: source, noise=SeededNoise(0))
    repository.current()
    store.close()


def _first_source(folder: Path, table: list[float], config: OnlinePMW, budget: Budget) -> str:
    (folder / "again").mkdir()
    with at_worker(folder / "again", source=DenseCounts(DOMAIN, table), config=config, budget=budget) as people:
        return people.ask("a = 0")[0].source
