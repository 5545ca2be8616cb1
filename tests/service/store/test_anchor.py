"""A store that is older than its anchor is refused; and nothing leaves before the anchor covers it."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hedgerow.algorithms.online_pmw import Step
from hedgerow.errors import DamagedStoreError, OlderStoreError, StoreError
from hedgerow.privacy import MeasuredQuery
from hedgerow.service import Anchor, Hold, Point, Store, hold_to
from hedgerow.service.store.anchor import Anchored
from tests.service.sessions.test_worker import FIRES, scripted
from tests.service.stack import at_worker
from tests.service.store.cases import EVENT, answer, opened

STEP = Step(events=(EVENT,))


@pytest.fixture(name="anchor")
def one_anchor(tmp_path: Path) -> Anchor:
    return Anchor(tmp_path / "elsewhere.json")


@pytest.fixture
def store(address: str, anchor: Anchor) -> Iterator[Store]:
    made = Store.open(address, anchor=anchor)
    hold_to(made, anchor)
    yield made
    made.close()


def said(anchor: Anchor) -> Anchored:
    found = anchor.read()
    assert found is not None
    return found


def present(store: Store) -> Anchored:
    return Anchored(store.points(), store.audit_point())


def test_the_anchor_follows_every_commit(store: Store, anchor: Anchor) -> None:
    assert said(anchor) == present(store)
    ada, data_set = opened(store)
    bob = store.add_person("bob", "analyst", by=ada.id)
    steps: list[Callable[[], object]] = [
        lambda: store.hold(data_set.id, 1, _hold(bob.id)),
        lambda: store.settle(data_set.id, 2, STEP, [answer(bob.id)]),
        lambda: store.hold(data_set.id, 3, _hold(bob.id), STEP),
        lambda: store.forfeit(data_set.id, 4, STEP, 0.2),
        lambda: store.set_grant(data_set.id, bob.id, 5, None, by=ada.id),
        lambda: store.note(None, "try", "this"),
        lambda: store.close_data_set(data_set.id, by=ada.id),
    ]
    seen = [present(store)]
    for step in steps:
        step()
        assert said(anchor) == present(store)
        assert present(store) not in seen
        seen.append(present(store))
    assert said(anchor).ledgers["adult"].version == 6
    assert anchor.path.stat().st_mode & 0o777 == 0o600


def _hold(person: int) -> Hold:
    return Hold(0.1, "question", person)


@pytest.mark.slow
def test_processes_that_share_a_store_share_its_anchor(store: Store, address: str, anchor: Anchor) -> None:
    numbers = [opened(store, name)[1].id for name in ("adult", "czech", "nltcs", "census")]
    stores = [store, *(Store.open(address, anchor=Anchor(anchor.path)) for _ in range(3))]

    def go_on(place: int) -> None:
        for version in range(1, 9):
            stores[place].settle(numbers[place], version, STEP)
            stores[place].note(None, "try", str(place))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(go_on, place) for place in range(4)]:
            done.result()
    assert said(anchor) == present(store)
    for each in stores[1:]:
        each.close()


def test_what_is_earlier_changes_nothing(anchor: Anchor) -> None:
    anchor.cover({"adult": Point(3, "c", 7)}, Point(4, "d"))
    anchor.cover({"adult": Point(2, "b", 6), "czech": Point(0, "a", 0)}, Point(3, "c"))
    assert said(anchor) == Anchored({"adult": Point(3, "c", 7), "czech": Point(0, "a", 0)}, Point(4, "d"))


# ---- copies that are restored ----------------------------------------------------------------------------------------


@pytest.fixture(name="copied")
def a_store_and_an_older_copy(tmp_path: Path, anchor: Anchor) -> tuple[Path, Path]:
    """Of two data sets, of which one was gone on with after the copy was made; nothing is open."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    with closing(Store.open(path, anchor=anchor)) as store:
        hold_to(store, anchor)
        opened(store)
        _, czech = opened(store, "czech")
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        store.settle(czech.id, 1, STEP)
    return path, copy


def refused(path: Path, anchor: Anchor) -> OlderStoreError:
    with closing(Store.open(path, anchor=anchor)) as store, pytest.raises(OlderStoreError) as found:
        hold_to(store, anchor)
    return found.value


def restored(copied: tuple[Path, Path]) -> Path:
    path, copy = copied
    for each in path.parent.glob("store.db*"):
        each.unlink()
    shutil.copy(copy, path)
    return path


def test_a_store_that_was_left_by_a_crash_is_newer_and_accepted(tmp_path: Path, anchor: Anchor) -> None:
    with closing(Store.open(tmp_path / "store.db", anchor=anchor)) as store:
        _, data_set = opened(store)
        before = anchor.path.read_bytes()
        store.settle(data_set.id, 1, STEP)
        anchor.path.write_bytes(before)  # as if the process had died before
        assert hold_to(store, anchor).sentences() == []
        assert said(anchor) == present(store)


def test_an_older_copy_is_refused_by_name(copied: tuple[Path, Path], anchor: Anchor) -> None:
    before = anchor.path.read_bytes()
    error = refused(restored(copied), anchor)
    assert error.data_sets == ("czech",)
    assert "data set 'czech': it is at version 1, and was at 2" in error.message
    assert "--accept-store" in error.remedy
    assert anchor.path.read_bytes() == before


def test_an_older_copy_that_was_gone_on_with_is_refused(copied: tuple[Path, Path], anchor: Anchor) -> None:
    """Its version and its number of events are those of the anchor and more; its events are others."""
    path = restored(copied)
    with closing(Store.open(path)) as store:
        for version in range(1, 4):
            other = Step(events=(replace(EVENT, question=MeasuredQuery("marginal", ("age",))),))
            store.settle(store.data_set("czech").id, version, other)
    assert "the first 2 events of its ledger differ from what they were" in refused(path, anchor).message


def test_fewer_events_are_refused_whatever_the_version_says(copied: tuple[Path, Path], anchor: Anchor) -> None:
    path = restored(copied)
    with closing(Store.open(path)) as store:
        store.settle(store.data_set("czech").id, 1, Step(state={"asked": 3}))
    assert "its ledger has 1 events, and had 2" in refused(path, anchor).message


def test_a_data_set_that_is_gone_is_noticed(tmp_path: Path, anchor: Anchor, copied: tuple[Path, Path]) -> None:
    error = refused(tmp_path / "new.db", anchor)
    assert error.data_sets == ("adult", "czech")
    assert "data set 'adult' is not there" in error.message
    assert "audit log: it ends with entry 0" in error.message


def test_an_older_audit_log_is_refused(tmp_path: Path, anchor: Anchor) -> None:
    with closing(Store.open(tmp_path / "store.db", anchor=anchor)) as store:
        store.note(None, "try", "one")
    with closing(Store.open(tmp_path / "other.db")) as store:
        for each in ("two", "three"):
            store.note(None, "try", each)
    assert "its entries up to 1 differ from what they were" in refused(tmp_path / "other.db", anchor).message


def test_an_accepted_store_is_closed_where_it_is_older_and_nowhere_else(
    copied: tuple[Path, Path], anchor: Anchor
) -> None:
    path, expected = restored(copied), said(anchor)
    with closing(Store.open(path, anchor=anchor)) as store:
        found = hold_to(store, anchor, accept=True)
        assert list(found.older) == ["czech"]
        assert [store.data_set(name).status for name in ("adult", "czech")] == ["open", "closed"]
        assert said(anchor) == present(store)
        (entry,) = [each for each in store.audit() if each.action == "accept store"]
        assert entry.details["closed"] == ["czech"]
        assert entry.details["expected"]["czech"]["head"] == expected.ledgers["czech"].head
        store.check_audit()
    with closing(Store.open(path, anchor=anchor)) as store:
        assert hold_to(store, anchor).sentences() == []
        assert hold_to(store, anchor, accept=True).sentences() == []  # closes nothing that is as new as it should be
        assert store.data_set("adult").status == "open"


def test_an_accepted_store_without_a_data_set_says_which(tmp_path: Path, anchor: Anchor, copied: Any) -> None:
    with closing(Store.open(tmp_path / "new.db", anchor=anchor)) as store:
        assert hold_to(store, anchor, accept=True).missing == ("adult", "czech")
        assert store.audit()[0].details["missing"] == ["adult", "czech"]
        assert said(anchor).ledgers == {}


def test_a_ledger_that_was_changed_stops_its_data_set_alone(copied: tuple[Path, Path], anchor: Anchor) -> None:
    path = copied[0]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET link = 'x' WHERE data_set = 1")
    with closing(Store.open(path, anchor=anchor)) as store:
        assert hold_to(store, anchor).sentences() == []
        with pytest.raises(DamagedStoreError):
            store.progress(1)
        assert store.progress(2).version == 2


def test_an_audit_log_that_was_changed_stops_the_server(copied: tuple[Path, Path], anchor: Anchor) -> None:
    path = copied[0]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE audit SET subject = 'x' WHERE id = 1")
    with closing(Store.open(path, anchor=anchor)) as store, pytest.raises(DamagedStoreError, match="audit log"):
        hold_to(store, anchor)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "hedgerow-anchor", "version": 2}', "\xff"])
def test_what_is_no_anchor_is_refused(address: str, anchor: Anchor, text: str) -> None:
    anchor.path.write_text(text, encoding="latin-1")
    with closing(Store.open(address)) as store, pytest.raises(StoreError, match=r"is not an anchor(.|\n)*Remedy"):
        hold_to(store, anchor)
    assert anchor.path.read_text(encoding="latin-1") == text


# ---- the order -------------------------------------------------------------------------------------------------------


def test_answers_leave_only_after_the_anchor_covers_them(tmp_path: Path) -> None:
    anchor, at_cover, go_on = Anchor(tmp_path / "anchor.json"), threading.Event(), threading.Event()

    def reached(step: str) -> None:
        if step == "answers written" and gate:
            written.append(step)
        if step == "uncovered" and gate and written:
            at_cover.set()
            go_on.wait(10)

    gate: list[bool] = []
    written: list[str] = []
    with at_worker(tmp_path, noise=scripted(True), store_reached=reached, anchor=anchor) as people:
        people.worker.look_at(lambda _: None)
        gate.append(True)
        got: list[Any] = []
        asking = threading.Thread(target=lambda: got.extend(people.ask("a = 0")))
        asking.start()
        try:
            assert at_cover.wait(10)
            assert got == []
            version = people.store.data_set("people").version
            assert said(anchor).ledgers["people"].version == version - 1
        finally:
            gate.clear()
            go_on.set()
            asking.join(10)
        assert got == people.answers()
        assert said(anchor).ledgers["people"].version == version


def test_the_hold_is_covered_before_the_data_are_looked_at(tmp_path: Path) -> None:
    anchor, seen = Anchor(tmp_path / "anchor.json"), []

    def reached(step: str) -> None:
        if step in ("held", "looked"):
            seen.append(said(anchor).ledgers["people"].version == people.store.data_set("people").version)

    with at_worker(tmp_path, noise=scripted(*FIRES), reached=reached, anchor=anchor) as people:
        people.ask("a = 0", "b = 1")
    assert len(seen) >= 4
    assert all(seen)


def test_without_an_anchor_that_can_be_written_nothing_leaves(tmp_path: Path) -> None:
    anchor = Anchor(tmp_path / "anchor.json")
    with at_worker(tmp_path, noise=scripted(*FIRES), anchor=anchor) as people:
        first = people.ask("a = 0")
        with patch.object(Anchor, "_write", _fail):
            for text in ("b = 1", "a = 0"):
                with pytest.raises(StoreError, match="no room"):
                    people.ask(text)
        again = people.ask("a = 0", "b = 1")
        assert [each.value for each in again][:1] == [each.value for each in first]
        assert said(anchor) == present(people.store)


def test_what_the_anchor_could_not_cover_leaves_once_it_can(tmp_path: Path) -> None:
    """Also where nothing is committed again: a repeat, a request under its key, the list of answers."""
    anchor, write, answered = Anchor(tmp_path / "anchor.json"), Anchor._write, []

    def writes(anchor: Anchor, anchored: Anchored) -> None:
        if answered:
            _fail()
        write(anchor, anchored)

    def reached(step: str) -> None:
        if step == "looked":
            answered.append(step)

    with at_worker(tmp_path, noise=scripted(*FIRES), reached=reached, anchor=anchor) as people:
        people.worker.look_at(lambda _: None)
        answered.clear()
        number = people.data_set.id
        with patch.object(Anchor, "_write", writes):
            with pytest.raises(StoreError):
                people.ask("a = 0")
            for read in (lambda: people.ask("a = 0"), lambda: people.store.answers(number)):
                with pytest.raises(StoreError, match="no room"):
                    read()
        assert said(anchor) != present(people.store)
        *_, listed = people.store.answers(number)
        assert said(anchor) == present(people.store)
        (again,) = people.ask("a = 0")
        assert (again.value, again.source) == (listed.value, "cache")


def _fail(*_: object) -> None:
    raise StoreError("no room for the anchor")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be written: No such file(.|\n)*Remedy"):
        Anchor(tmp_path / "nowhere" / "anchor.json").cover({}, Point(1, "a"))
