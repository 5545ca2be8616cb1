"""Openings that fail: they cost once, their result is kept, and a custodian tries again at a told price or discards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from hedgerow.algorithms import LOST
from hedgerow.errors import ConfigError, ConflictError, ServiceError, StoreError
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.service import Anchor, SessionRepository, SessionWorkers, Store, hold_to, summary_of
from hedgerow.service.store import sessions
from hedgerow.service.store.restored import departures
from tests.privacy.mutants import Mutant, killed
from tests.service.sessions.test_first import FEW, Killed, killed_at
from tests.service.stack import AtWorker, at_worker, charges, registration, skewed, transcript, write_table
from tests.service.store.bookkeeping import check_charges
from tests.service.store.test_full_disk import no_room

BUDGET = PureDP(4.0)
NEW = registration(budget=BUDGET, config=FEW, first=0.25)


def opened(folder: Path, **options: Any) -> Any:
    return at_worker(folder, budget=BUDGET, config=FEW, noise=SeededNoise(3), first=0.25, **options)


def refused(here: AtWorker, times: int = 3) -> None:
    for _ in range(times):
        with pytest.raises(ServiceError):
            here.ask("a = 0")
    assert here.steps.count("learnt") == 1
    assert here.labels() == []


class Full:
    """A store that cannot settle while it is full."""

    def __init__(self, store: Store) -> None:
        self._store, self.full, self.tried = store, True, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def settle(self, *told: Any) -> Any:
        self.tried += 1
        if self.full:
            raise StoreError("the disk of the store is full", remedy="make room on it")
        return self._store.settle(*told)


def fill(here: AtWorker) -> Full:
    full: Any = Full(here.store)
    here.repository.store = full
    made: Full = full
    return made


# A disk that is full


@pytest.mark.parametrize("left", [0, 20_000, 100_000, 250_000, 300_000, 400_000, 600_000, 1_000_000])
def test_on_a_full_disk_nothing_is_held_that_cannot_be_settled(tmp_path: Path, left: int) -> None:
    """Room is made sure of before: either nothing is spent, or the session is there."""
    with opened(tmp_path) as here:
        with no_room(tmp_path / "store.db", left):
            for _ in range(4):
                with suppress(StoreError):
                    here.worker.look_at(lambda _: None)
            begun = transcript(here.store, here.data_set.id).begun
            assert here.hold() is None
            assert (charges(here.store, here.data_set.id) > 0) == begun
        assert begun or left < 1_000_000
        here.ask("a = 0")
        assert LOST not in here.labels()
        check_charges(here.store, here.data_set.id, BUDGET.limit)


def test_an_opening_that_cannot_be_committed_is_kept_and_costs_once(tmp_path: Path) -> None:
    with opened(tmp_path) as here:
        full = fill(here)
        refused(here)
        with pytest.raises(StoreError, match="full") as raised:
            here.ask("a = 0")
        assert "costs nothing more" in raised.value.remedy
        held = here.hold()
        assert held is not None
        full.full = False
        here.ask("a = 0")
        assert here.steps.count("learnt") == 1
        assert LOST not in here.labels()
        assert sum(each.event.charge for each in here.events() if each.person is None) <= held
        check_charges(here.store, here.data_set.id, BUDGET.limit)
    (tmp_path / "whole").mkdir()
    with opened(tmp_path / "whole") as plain:
        plain.ask("a = 0")
        assert [each.event for each in plain.events()] == [each.event for each in here_events(tmp_path)]


def here_events(folder: Path) -> list[Any]:
    store = Store.open(folder / "store.db")
    try:
        found = store.events(store.data_set("people").id, limit=10_000)[::-1]
    finally:
        store.close()
    return [each for each in found if each.event.charge > 0.0]


def test_a_kept_opening_is_dropped_where_another_process_gave_its_hold_up(tmp_path: Path) -> None:
    with opened(tmp_path) as here:
        full = fill(here)
        refused(here, 1)
        with opened(tmp_path, join=here) as other, pytest.raises(ConflictError, match="could not be opened"):
            other.ask("a = 0")
        full.full = False
        with pytest.raises(ConflictError, match="could not be opened"):
            here.ask("a = 0")
        assert here.labels() == [LOST]
        assert here.steps.count("learnt") == 1


# Openings that are lost


@pytest.mark.parametrize("step", ["held", "learnt", "looked"])
def test_a_crash_loop_costs_one_opening(tmp_path: Path, step: str) -> None:
    dead = killed_at(step, tmp_path, BUDGET)
    for _ in range(3):
        with opened(tmp_path, join=dead) as here:
            with suppress(ConflictError):
                here.ask("a = 0")
            assert here.labels() == [LOST]
            with pytest.raises(ConflictError, match="could not be opened") as raised:
                here.ask("a = 0")
            assert "/open" in raised.value.remedy
            assert here.store.data_set("people").status == "failed"
            assert "learnt" not in here.steps


def test_what_one_more_opening_costs_is_told_before(tmp_path: Path) -> None:
    dead = killed_at("learnt", tmp_path, BUDGET)
    with opened(tmp_path, join=dead) as here:
        with pytest.raises(ConflictError):
            here.ask("a = 0")
        here.store.close()
    with workers(tmp_path) as (made, store):
        ada, data_set = store.person("ada"), store.data_set("people")
        before = summary_of(store, data_set, ada)
        assert before["status"] == "failed"
        assert made.retry(data_set, by=ada).status == "open"
        after = summary_of(store, data_set, ada)
        assert after["retry_price"] is None
        assert 0.0 < after["spent"] - before["spent"] <= before["retry_price"]
        assert [each.action for each in store.audit() if each.action == "retry opening"] == ["retry opening"]
        with pytest.raises(ConflictError, match="is open"):
            made.retry(data_set, by=ada)
        with pytest.raises(ConflictError, match="is open"):
            made.discard(data_set, by=ada)


def test_a_table_that_cannot_be_read_costs_nothing(tmp_path: Path) -> None:
    def gone() -> Any:
        raise OSError("gone")

    with opened(tmp_path, read=gone) as here:
        for _ in range(2):
            with pytest.raises(Exception, match="cannot be read"):
                here.ask("a = 0")
        assert here.labels() == []
        assert here.hold() is None


def test_an_error_in_the_middle_is_a_failed_opening_at_once(tmp_path: Path) -> None:
    def reached(step: str) -> None:
        if step == "learnt":
            raise MemoryError

    with opened(tmp_path, reached=reached) as here:
        with pytest.raises(MemoryError):
            here.ask("a = 0")
        assert here.hold() is None
        assert here.labels() == [LOST]
        assert here.store.data_set("people").status == "failed"


# Discarding


class workers:
    """The data sets of a store in a folder, with an anchor, as a server has them."""

    def __init__(self, folder: Path, reached: Callable[[str], None] = lambda _: None) -> None:
        self._folder, self._reached = folder, reached

    def __enter__(self) -> tuple[SessionWorkers, Store]:
        anchor = Anchor(self._folder / "anchor.json")
        self._store = Store.open(self._folder / "store.db", anchor=anchor, reached=self._reached)
        hold_to(self._store, anchor)
        if not self._store.people():
            self._store.add_person("ada", "custodian", by=None)
        write_table(self._folder / "people.csv", skewed(2_000))
        self._made = SessionWorkers(self._store, self._folder, noise=lambda _: SeededNoise(1), reached=self._reached)
        return self._made, self._store

    def __exit__(self, *_: object) -> None:
        self._made.close()
        self._store.close()


def lost_at(step: str) -> Callable[[str], None]:
    def reached(passed: str) -> None:
        if passed == step:
            raise MemoryError

    return reached


def failed(folder: Path) -> None:
    with workers(folder, lost_at("learnt")) as (made, store), pytest.raises(MemoryError):
        made.register(NEW, by=store.person("ada"))


def test_a_discarded_data_set_frees_its_name_and_keeps_its_ledger(tmp_path: Path) -> None:
    failed(tmp_path)
    with workers(tmp_path) as (made, store):
        ada, old = store.person("ada"), store.data_set("people")
        with pytest.raises(ConflictError, match="already"):
            made.register(NEW, by=ada)
        made.discard(old, by=ada)
        assert store.data_sets() == []
        new = made.register(NEW, by=ada)
        assert new.status == "open"
        assert new.id != old.id
        assert new.version > old.version
        assert [each.event.label for each in store.events(old.id)] == [LOST]
        assert store.audit()[1].action == "discard"
        assert store.audit()[1].subject == "people"
        said = Anchor(tmp_path / "anchor.json").read()
        assert said is not None
        assert departures(store, said).sentences() == []
    with workers(tmp_path) as (made, store):
        assert [each.id for each in store.data_sets()] == [new.id]


@pytest.mark.parametrize("step", ["discard written", "uncovered", "registration written"])
def test_a_death_while_a_data_set_is_discarded_and_registered_anew(tmp_path: Path, step: str) -> None:
    """The store is not taken for an older copy of itself, whatever of it the anchor had not heard of."""
    failed(tmp_path)

    def reached(passed: str) -> None:
        if passed == step:
            raise Killed

    for act in ("discard", "register"):
        try:
            with workers(tmp_path) as (made, store):
                ada = store.person("ada")
                store._reached = reached
                if act == "discard":
                    made.discard(store.data_set("people"), by=ada)
                else:
                    store.register(NEW, by=ada.id)
        except Killed:
            pass
        with workers(tmp_path) as (made, store):  # raises, if it were older
            left = [each for each in store.data_sets() if each.status == "failed"]
            assert [each.event.label for each in store.events(1)] == [LOST]
            for each in left:
                made.discard(each, by=store.person("ada"))


def test_an_older_copy_of_a_store_is_noticed_after_a_discard(tmp_path: Path) -> None:
    failed(tmp_path)
    copy = (tmp_path / "store.db").read_bytes()
    with workers(tmp_path) as (made, store):
        made.discard(store.data_set("people"), by=store.person("ada"))
        made.register(NEW, by=store.person("ada"))
    for beside in tmp_path.glob("store.db-*"):
        beside.unlink()
    (tmp_path / "store.db").write_bytes(copy)
    with pytest.raises(StoreError, match="not the one that the anchor"), workers(tmp_path):
        pass


def test_what_is_wrong_before_anything_is_held_leaves_the_name_free(tmp_path: Path, monkeypatch: Any) -> None:
    def wrong(*_: object) -> None:
        raise ConfigError("no")

    with workers(tmp_path) as (made, store):
        monkeypatch.setattr(SessionRepository, "_look", wrong)
        with pytest.raises(ConfigError):
            made.register(NEW, by=store.person("ada"))
        assert store.data_sets() == []
        monkeypatch.undo()
        assert made.register(NEW, by=store.person("ada")).status == "open"


# Planted bugs


def opened_anew(patch: pytest.MonkeyPatch) -> None:
    """An opening that is kept is forgotten with the session in memory."""
    right = SessionRepository.forget

    def forget(self: SessionRepository) -> None:
        self._opened = None
        right(self)

    patch.setattr(SessionRepository, "forget", forget)


def no_room_made(patch: pytest.MonkeyPatch) -> None:
    """Nobody looks whether there is room."""
    patch.setattr(Store, "make_room", lambda *_: None)


def tried_again(patch: pytest.MonkeyPatch) -> None:
    """A lost opening is tried again by itself."""
    right = SessionRepository._forfeit

    def forfeit(self: SessionRepository, hold: Any) -> None:
        right(self, hold)
        if self._status == "failed":
            self._version = self.store.reopen(self.data_set, self._version, by=None)
            self._status = "opening"

    patch.setattr(SessionRepository, "_forfeit", forfeit)


def versions_anew(patch: pytest.MonkeyPatch) -> None:
    """A name that is free again begins with version 0."""
    patch.setattr(sessions, "_BEFORE", sessions._BEFORE.where(sessions.SESSIONS.c.version < 0))


def in_a_folder(check: Callable[..., None], *told: Any) -> Callable[[], None]:
    def run() -> None:
        with TemporaryDirectory() as folder:
            check(Path(folder), *told)

    return run


MUTANTS = (
    Mutant(
        "an opening that is made anew at each commit that fails",
        opened_anew,
        in_a_folder(test_an_opening_that_cannot_be_committed_is_kept_and_costs_once),
    ),
    Mutant(
        "an opening without room",
        no_room_made,
        in_a_folder(test_on_a_full_disk_nothing_is_held_that_cannot_be_settled, 20_000),
    ),
    Mutant("a crash loop that opens each time", tried_again, in_a_folder(test_a_crash_loop_costs_one_opening, "held")),
    Mutant(
        "versions of a name that begin anew",
        versions_anew,
        in_a_folder(test_a_discarded_data_set_frees_its_name_and_keeps_its_ledger),
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
