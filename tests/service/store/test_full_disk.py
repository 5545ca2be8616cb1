"""Questions while the store has no room, is locked, or its connections break: clear errors, and nothing lost."""

from __future__ import annotations

import resource
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from hedgerow.algorithms import LOST
from hedgerow.errors import StoreBusyError, StoreError
from tests.service.sessions.test_worker import FIRES, PAY, scripted
from tests.service.stack import ENOUGH, AtWorker, at_worker, charges, condition
from tests.service.store.bookkeeping import check_answers, check_charges

TEXTS = [f"b = {b} and c = {c}" for b in range(4) for c in range(5)]


@contextmanager
def no_room(database: Path, left: int) -> Iterator[None]:
    """No file of this process may grow beyond the write-ahead log and so many bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = database.with_name(f"{database.name}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + left, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Somebody else writes, and does not end."""
    with closing(sqlite3.connect(database, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def check_books(people: AtWorker) -> None:
    check_charges(people.store, people.data_set.id, ENOUGH.limit)
    check_answers(people.store, people.data_set.id, [])


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("left", [0, 5_000, 20_000, 40_000, 60_000])
def test_without_room_nothing_is_lost(tmp_path: Path, left: int) -> None:
    with at_worker(tmp_path, config=PAY, noise=scripted(*FIRES)) as people:
        first = people.ask(TEXTS[0])
        found, said = [], set()
        with no_room(tmp_path / "store.db", left):
            for text in TEXTS[1:]:
                try:
                    found += people.ask(text)
                except StoreError as error:
                    said.add(error.message.partition(": ")[2])
        assert said
        assert said <= {
            "the disk of the store is full",
            "the disk of the store fails, or is full",
        }
        lost = people.labels().count(LOST)
        assert people.answers() == [*first, *found]
        assert charges(people.store, people.data_set.id) <= Fraction(ENOUGH.limit)
        again = people.ask(*TEXTS)
        assert [each.value for each in again[: 1 + len(found)]] == [each.value for each in [*first, *found]]
        # one hold at most was committed whose outcome found no room
        assert people.labels().count(LOST) <= lost + 1 <= 2
        assert people.hold() is None
        check_books(people)


def test_while_the_store_is_locked_everybody_is_told_and_then_it_goes_on(tmp_path: Path) -> None:
    with at_worker(tmp_path, noise=scripted(*FIRES), wait=0.05) as people:
        first = people.ask(TEXTS[0])
        with locked(tmp_path / "store.db"):
            for found in people.together([TEXTS[1]], [TEXTS[0], TEXTS[1]]):
                assert isinstance(found, StoreBusyError)
                assert "another process has been writing" in found.message
                assert found.remedy
            assert people.ask(TEXTS[0])[0].value == first[0].value  # nothing is written for a repeat
        assert people.answers() == first
        assert people.hold() is None
        assert LOST not in people.labels()
        assert [each.source for each in people.ask(*TEXTS[:2])] == ["cache", "data"]
        check_books(people)


def test_a_store_that_is_locked_for_a_moment_after_the_look_costs_nothing(tmp_path: Path) -> None:
    released = threading.Event()

    def reached(step: str) -> None:
        if step == "looked" and people.answers() and not released.is_set():
            lock = locked(tmp_path / "store.db")
            lock.__enter__()

            def release() -> None:
                lock.__exit__(None, None, None)
                released.set()

            threading.Timer(0.15, release).start()

    with at_worker(tmp_path, noise=scripted(*FIRES), wait=0.05, reached=reached) as people:
        people.ask("a in (0, 1)")
        assert people.ask(TEXTS[0])[0].source == "data"
        assert released.is_set()
        assert people.labels() == ["watch", "answer"]
        check_books(people)


def test_a_store_that_is_locked_for_long_after_the_look_costs_the_hold(tmp_path: Path) -> None:
    lock = locked(tmp_path / "store.db")

    def reached(step: str) -> None:
        if step == "looked" and len(people.answers()) == 1:
            lock.__enter__()

    with at_worker(tmp_path, noise=scripted(*FIRES), wait=0.02, reached=reached) as people:
        people.ask("a in (0, 1)")
        with pytest.raises(StoreBusyError):
            people.ask(TEXTS[0])
        lock.__exit__(None, None, None)
        assert len(people.answers()) == 1
        assert people.hold() is not None
        people.ask("a in (0, 1)", by=people.ada)
        assert people.labels() == ["watch", LOST]
        assert people.hold() is None
        check_books(people)


# ---- connections that break ------------------------------------------------------------------------------------------


def break_connections(address: str) -> None:
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(others + "pg_backend_pid() AND backend_type = 'client backend'")


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("step", ["held", "looked", "hold written", "step written", "answers written", "committed"])
def test_connections_that_break_lose_nothing(tmp_path: Path, new_postgresql_database: str, step: str) -> None:
    """Before a commit it is tried again, or the question fails and can be asked again; never is it paid for unseen."""
    broken: list[bool] = []

    def reached(passed: str) -> None:
        if passed == step and ready and not broken:
            broken.append(True)
            break_connections(new_postgresql_database)

    ready: list[bool] = []
    options = {"reached": reached, "store_reached": reached}
    with at_worker(tmp_path, address=new_postgresql_database, config=PAY, noise=scripted(*FIRES), **options) as people:  # type: ignore[arg-type]
        people.ask("a in (0, 1)")
        ready.append(True)
        key, found, said = people.number_of(people.bob, "k", TEXTS[:2]), [], set()
        for _ in range(3):
            try:
                found = people.worker.ask([condition(text) for text in TEXTS[:2]], person=people.bob.id, request=key)
            except StoreError as error:
                said.add(error.message.partition(": ")[2])
            else:
                break
        assert broken
        assert said <= {"the database cannot be reached"}
        assert [each.source for each in found] == ["data", "data"]
        assert people.answers()[1:] == found
        assert people.labels().count("answer") == 2
        assert people.labels().count(LOST) <= 1
        assert people.hold() is None
        check_books(people)
