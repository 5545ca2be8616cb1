"""Real processes at one store: they race, they die in the middle, they find no room; on both databases."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.engines.postgresql import database_of

ROOT = Path(__file__).resolve().parents[3]
TASKS = ("crash", "race", "alone", "opening")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What came of each task, each at a store of its own."""
    with ExitStack() as stack:
        if request.param == "postgresql":
            server = request.getfixturevalue("postgresql_address")
            pairs = [(task, stack.enter_context(database_of(server))) for task in TASKS]
        else:
            folder = tmp_path_factory.mktemp("stores")
            pairs = [(task, f"sqlite:///{folder}/{task}.db") for task in (*TASKS, "full")]
        words = [word for pair in pairs for word in pair]
        command = [sys.executable, "-m", "tests.service.store.processes", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        yield json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "version"),
    [("registration", 0), ("hold", 2), ("step", 3), ("answers", 5), ("forfeit", 7)],
)
def test_a_process_that_is_killed_before_a_commit_leaves_nothing(
    outcome: dict[str, Any], step: str, version: int
) -> None:
    assert outcome["crash"][f"{step} written"] == {"death": -9, "unchanged": True, "again": version}


@pytest.mark.slow
def test_two_processes_never_go_on_from_one_version(outcome: dict[str, Any]) -> None:
    done, (version, state, numbers, asked, spent, answers) = outcome["race"]
    assert done == [20, 20]
    assert (version, state, numbers) == (1 + 2 * 40, {"asked": 40}, list(range(41)))
    assert (asked, spent, answers) == (40, 20.0, 40)


def test_one_process_at_a_time_is_alone_and_its_death_lets_others_in(outcome: dict[str, Any]) -> None:
    counts, total, refused, after = outcome["alone"]
    assert (counts, total, after) == ([40, 40], 80, "entered")
    assert refused.startswith("StoreBusyError")


def test_processes_may_open_a_new_store_at_once(outcome: dict[str, Any]) -> None:
    assert outcome["opening"] == [32, 32, 32, 32]


@pytest.mark.parametrize("outcome", ["sqlite"], indirect=True)  # a database server has a disk of its own
def test_a_disk_without_room_loses_nothing(outcome: dict[str, Any]) -> None:
    version, said, unchanged, found, state, later = outcome["full"]
    assert "is full" in said
    assert version > 2
    assert (unchanged, found, state, later) == (True, version, {"asked": version - 1}, version + 1)
