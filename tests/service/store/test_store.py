"""One contract for the store, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from hedgerow.algorithms import Finding, Mark
from hedgerow.algorithms.online_pmw import Step
from hedgerow.errors import ConfigError, ConflictError, NotThereError, OutdatedError, ServiceError, StoreBusyError
from hedgerow.service import GivenAnswer, Grant, Hold, Progress, Store, Token, to_json
from hedgerow.service.store.sessions import ROW_OF_ANSWER
from tests.service.store.cases import CLOSE, EVENT, HOLD, MEASURED, OPENING, answer, everything, opened, registration
from tests.service.stores import open_store

LOST = Step(events=(replace(EVENT, label="lost"),))

KINDS = ("sqlite", "postgresql")


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    made = open_store(address)
    yield made
    made.close()


def test_what_is_written_is_there_when_the_store_is_opened_again(store: Store, address: str) -> None:
    opened(store)
    before = everything(store)
    store.close()
    again = Store.open(address)
    again.rehearse()
    assert everything(again) == before
    again.close()


def test_threads_that_wait_for_a_stamp_are_told_by_one_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(tmp_path / "store.db")
    database: Any = store._database
    before, read, read_at = store.stamp(), database._watch.read, []
    monkeypatch.setattr(database._watch, "read", lambda statement: read_at.append(time.monotonic()) or read(statement))
    with ThreadPoolExecutor(8) as pool:
        with database._watching:
            waiting = [pool.submit(store.stamp) for _ in range(8)]
            time.sleep(0.3)
            store.add_person("new", "analyst", by=None)  # after they came, and before they are told
        told = {each.result() for each in waiting}
    assert len(read_at) == 1
    assert len(told) == 1
    assert before not in told
    assert store.stamp() in told
    assert len(read_at) == 2
    store.close()


def test_stamps_change_with_every_commit_whoever_makes_it(store: Store, address: str) -> None:
    _, data_set = opened(store)
    other = Store.open(address)
    seen = [(store.stamp(), store._database.audit_stamp())]
    assert [(store.stamp(), store._database.audit_stamp()) for _ in range(3)] == seen * 3
    for change in (
        lambda: other.add_person("new", "analyst", by=None),
        lambda: store.add_person("newer", "analyst", by=None),
        lambda: other.close_data_set(data_set.id, by=None),
    ):
        change()
        stamps = store.stamp(), store._database.audit_stamp()
        assert all(stamps[0] != stamp and stamps[1] != audit for stamp, audit in seen)
        assert (store.stamp(), store._database.audit_stamp()) == stamps
        seen.append(stamps)
    with other._database.writing() as connection:
        connection.execute(text("UPDATE people SET name = name || ' II'"))
        assert store.stamp() == seen[-1][0]  # it is not committed
    assert store.stamp() != seen[-1][0]
    assert store._database.audit_stamp() == seen[-1][1]
    other.close()


def test_what_is_kept_in_memory_is_what_is_in_the_store(store: Store, address: str) -> None:
    """Shares are kept until something is committed, tokens and data sets until it is audited, here or elsewhere."""
    ada, data_set = opened(store)
    other = Store.open(address)
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    store.add_token(Token("abc", ada.id, None, at), b"salt", b"digest", by=None)
    before = store.shares(data_set.id, ada.id)
    found = store.token("abc")
    assert found is not None
    assert store.token_at_hand("abc") == (found if store.is_here else None)
    other.request(data_set=data_set.id, person=ada.id, key="k", digest=b"d")  # nothing about tokens
    assert store.token_at_hand("abc") == (found if store.is_here else None)
    assert store.registered(data_set.name).closed is None
    other.revoke("abc", by=None)
    assert store.token_at_hand("abc") is None
    again = store.token("abc")
    assert again is not None
    assert again[0].revoked is not None
    other.set_grant(data_set.id, ada.id, 7, None, by=None)
    assert (before.grant.queries, store.shares(data_set.id, ada.id).grant.queries) == (None, 7)
    other.close_data_set(data_set.id, by=None)
    assert store.registered(data_set.name).closed is not None
    assert store.token("nobody") is None
    other.close()


def test_people_have_names_of_their_own(store: Store) -> None:
    ada = store.add_person("ada", "custodian", by=None)
    bea = store.add_person("Ada", "analyst", by=ada.id)
    assert store.people() == sorted([ada, bea], key=lambda person: person.name) or store.people() == [ada, bea]
    assert (store.person("ada"), bea.role) == (ada, "analyst")
    with pytest.raises(ConflictError, match="a person named 'ada' already"):
        store.add_person("ada", "analyst", by=None)
    with pytest.raises(NotThereError):
        store.person("bob")
    assert [(entry.person, entry.subject) for entry in store.audit()] == [("ada", "Ada"), (None, "ada")]


@pytest.mark.parametrize("scope", [None, (), ("adult", "czech")])
def test_tokens_come_back_with_their_person(store: Store, scope: tuple[str, ...] | None) -> None:
    ada = store.add_person("ada", "custodian", by=None)
    at = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
    token = Token("abc", ada.id, scope, at, at + timedelta(days=9), None, "für den Ämter-Export")
    store.add_token(token, b"\0salt", b"\xffdigest", by=ada.id)
    assert store.token("abc") == (token, b"\0salt", b"\xffdigest", ada)
    assert store.tokens() == [token]
    assert store.token("other") is None
    with pytest.raises(ConflictError):
        store.add_token(token, b"", b"", by=ada.id)
    with pytest.raises(NotThereError):
        store.add_token(replace(token, id="x", person=ada.id + 7), b"", b"", by=ada.id)
    assert [entry.action for entry in store.audit()] == ["add token", "add person"]
    told = {"datasets": None if scope is None else list(scope), "expires": "2026-01-11T03:04:05+00:00"}
    assert store.audit()[0].details == {"person": "ada", **told}


def test_a_token_is_revoked_once_and_for_all(store: Store) -> None:
    ada = store.add_person("ada", "custodian", by=None)
    store.add_token(Token("abc", ada.id, None, datetime.now(UTC)), b"s", b"d", by=None)
    store.revoke("abc", by=ada.id)
    (first,) = store.tokens()
    store.revoke("abc", by=ada.id)
    assert store.tokens() == [first]
    assert first.revoked is not None
    assert abs(first.revoked - datetime.now(UTC)) < timedelta(hours=1)
    assert [entry.action for entry in store.audit()] == ["revoke token", "add token", "add person"]
    with pytest.raises(NotThereError):
        store.revoke("other", by=None)


def test_secrets_are_made_once_and_are_as_many_as_their_names(store: Store, address: str) -> None:
    other = Store.open(address)
    assert store.secret("cursors") == other.secret("cursors") == store.secret("cursors")
    assert store.secret("cursors") != store.secret("others")
    assert len(store.secret("cursors")) == 32
    other.close()


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_one_of_the_databases_cannot_hold_is_refused_by_both(store: Store, text: str) -> None:
    for call in (
        lambda: store.add_person(text, "analyst", by=None),
        lambda: store.person(text),
        lambda: store.data_set(text),
        lambda: store.token(text),
        lambda: store.note(None, "try", text),
    ):
        with pytest.raises(ConfigError, match="zero characters") as found:
            call()
        assert found.value.__context__ is None
    store.note(None, "try", "details", {"text": text})
    assert store.audit()[0].details == {"text": text}


@pytest.mark.slow
def test_a_registered_data_set_has_no_session_yet(store: Store) -> None:
    ada = store.add_person("ada", "custodian", by=None)
    made = store.register(registration(), by=ada.id)
    assert store.data_set("adult") == made
    assert (made.status, made.version, made.closed, made.registration) == ("opening", 0, None, registration())
    found = store.progress(made.id)
    assert (found.version, found.status, found.hold, found.step) == (0, "opening", None, None)
    with pytest.raises(ConflictError, match="a data set named 'adult' already"):
        store.register(registration(), by=ada.id)
    second = store.register(registration("a"), by=ada.id)
    assert store.data_sets() == [second, made]
    for missing in (lambda: store.data_set("x"), lambda: store.progress(99), lambda: store.close_data_set(99, by=None)):
        with pytest.raises(NotThereError):
            missing()


def test_a_session_begins_with_a_hold_of_whoever_registers(store: Store) -> None:
    ada = store.add_person("ada", "custodian", by=None)
    data_set = store.register(registration(), by=ada.id)
    hold = Hold(0.1 + 0.2, "opening", ada.id)
    store.hold(data_set.id, 0, hold)
    assert store.progress(data_set.id).hold == hold
    store.forfeit(data_set.id, 1, LOST, 0.4)
    assert (store.progress(data_set.id).status, store.progress(data_set.id).step) == ("failed", LOST)
    with pytest.raises(ConflictError, match="is failed"):
        store.hold(data_set.id, 2, hold)
    store.reopen(data_set.id, 2, by=ada.id)
    with pytest.raises(ConflictError, match="is opening"):
        store.reopen(data_set.id, 3, by=ada.id)
    store.hold(data_set.id, 3, hold)
    with pytest.raises(ConflictError, match="is opening"):
        store.discard(data_set.id, 4, by=ada.id)
    store.settle(data_set.id, 4, OPENING)
    found = store.progress(data_set.id)
    assert (found.version, found.status, found.hold) == (5, "open", None)
    assert found.step == replace(OPENING, events=LOST.events + OPENING.events)
    assert [entry.person for entry in store.events(data_set.id)] == ["ada", "ada"]


FLOATS = (-0.0, 0.0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1 / 3, -(2.0**-1074), 2.0**53 + 2.0, 1e22)


def bits(values: tuple[float, ...]) -> bytes:
    return struct.pack(f"{len(values)}d", *values)


def test_steps_come_back_to_the_bit(store: Store) -> None:
    _, data_set = opened(store)
    findings = tuple(
        Finding({"value": value, "names": ["é", "\0", "\ud800", '"']}, i % 2 == 0, value, bytes(range(i)))
        for i, value in enumerate(FLOATS)
    )
    events = tuple(replace(EVENT, charge=value) for value in FLOATS if value > EVENT.charge)
    step = Step(state={"watch": list(FLOATS), "none": None}, events=events, findings=findings, model=bytes(range(256)))
    store.settle(data_set.id, 1, step)
    found = store.progress(data_set.id, Mark(events=1)).step
    assert found == step
    assert bits(tuple(finding.value for finding in found.findings)) == bits(FLOATS)
    assert bits(tuple(finding.entry["value"] for finding in found.findings)) == bits(FLOATS)
    assert found.state is not None
    assert bits(tuple(found.state["watch"])) == bits(FLOATS)
    assert [event.scale for event in found.events] == [event.scale for event in events]


def test_progress_is_what_became_new_since_a_mark(store: Store) -> None:
    _, data_set = opened(store)
    store.settle(data_set.id, 1, Step(state={"asked": 1}, findings=(CLOSE,)))
    store.settle(data_set.id, 2, Step(state={"asked": 2}, events=(EVENT,), findings=(MEASURED,), model=b"model 1"))
    store.settle(data_set.id, 3, Step(state={"asked": 3}, findings=(CLOSE,)))
    store.settle(data_set.id, 4, None)
    state = {"asked": 3}
    expected = {
        None: Step(OPENING.opening, state, (EVENT, EVENT), (CLOSE, MEASURED, CLOSE), b"model 1"),
        Mark(): Step(OPENING.opening, state, (EVENT, EVENT), (CLOSE, MEASURED, CLOSE), b"model 1"),
        Mark(1, 0): Step(None, state, (EVENT,), (CLOSE, MEASURED, CLOSE), b"model 1"),
        Mark(1, 1): Step(None, state, (EVENT,), (MEASURED, CLOSE), b"model 1"),
        Mark(2, 2, 1): Step(None, state, (), (CLOSE,), None),
        Mark(2, 3, 1): Step(None, state),
    }
    for mark, step in expected.items():
        found = store.progress(data_set.id, mark)
        assert (found.version, found.status, found.hold, found.step) == (5, "open", None, step)


def test_a_hold_stays_until_it_is_settled(store: Store) -> None:
    ada, data_set = opened(store)
    hold = Hold(0.3, "question", ada.id)
    epoch = Step(state={"watch": 0.7}, events=(EVENT,))
    assert store.hold(data_set.id, 1, hold, epoch) == 2
    found = store.progress(data_set.id, Mark(1))
    assert (found.version, found.hold, found.step) == (2, hold, epoch)
    with pytest.raises(ConflictError, match="not settled"):
        store.hold(data_set.id, 2, hold)
    assert store.progress(data_set.id, Mark(1)) == found
    settled = store.settle(data_set.id, 2, Step(events=(EVENT,), findings=(MEASURED,)), [answer(ada.id)])
    assert settled.version == 3
    assert store.progress(data_set.id).hold is None
    assert [(entry.number, entry.person) for entry in store.events(data_set.id)] == [
        (2, ada.name),
        (1, ada.name),
        (0, None),
    ]


def test_whoever_goes_on_from_an_old_version_writes_nothing(store: Store) -> None:
    ada, data_set = opened(store)
    store.hold(data_set.id, 1, HOLD)
    before = everything(store)
    step = Step(OPENING.opening, {"asked": 9}, (EVENT,), (MEASURED,), b"other")
    for outdated in (
        lambda: store.hold(data_set.id, 1, HOLD, step),
        lambda: store.settle(data_set.id, 1, step, [answer(ada.id)]),
        lambda: store.settle(data_set.id, 3, step, [answer(ada.id)]),
        lambda: store.forfeit(data_set.id, 1, LOST, 0.4),
        lambda: store.settle(data_set.id + 9, 1, step),
    ):
        with pytest.raises(OutdatedError):
            outdated()
        assert everything(store) == before


def test_a_forfeited_hold_becomes_an_event_of_who_asked(store: Store) -> None:
    ada, data_set = opened(store)
    with pytest.raises(ConflictError, match="nothing is held"):
        store.forfeit(data_set.id, 1, LOST, 0.4)
    store.hold(data_set.id, 1, Hold(0.3, "question", ada.id))
    assert store.forfeit(data_set.id, 2, replace(LOST, state={"fires": 1}), 0.4) == 3
    found = store.progress(data_set.id, Mark(1))
    assert (found.version, found.hold, found.step) == (3, None, replace(LOST, state={"fires": 1}))
    assert store.events(data_set.id, limit=1)[0].person == ada.name
    assert store.grant(data_set.id, ada.id).spent == 0.4  # the price of a correction, more than was held
    store.hold(data_set.id, 3, Hold(0.3, "question", None))
    store.forfeit(data_set.id, 4, LOST, 0.4)
    assert store.events(data_set.id, limit=1)[0].person is None


def test_an_event_is_of_the_one_whose_question_was_charged(store: Store) -> None:
    ada, data_set = opened(store)
    bea = store.add_person("bea", "analyst", by=None)
    store.hold(data_set.id, 1, Hold(0.3, "question", ada.id))
    store.settle(data_set.id, 2, Step(events=(EVENT,)), [answer(ada.id), answer(bea.id, charged=0.1)])
    assert store.events(data_set.id, limit=1)[0].person == "bea"


def test_a_closed_data_set_takes_no_holds_and_still_answers(store: Store) -> None:
    ada, data_set = opened(store)
    store.hold(data_set.id, 1, HOLD)
    closed = store.close_data_set(data_set.id, by=ada.id)
    assert (closed.status, closed.version) == ("closed", 3)
    assert closed.closed is not None
    assert store.close_data_set(data_set.id, by=ada.id) == closed
    assert [entry.action for entry in store.audit()] == ["close", "register", "add person"]
    with pytest.raises(OutdatedError):
        store.settle(data_set.id, 2, Step(findings=(MEASURED,)), [answer(ada.id)])
    assert store.forfeit(data_set.id, 3, LOST, 0.4) == 4
    with pytest.raises(ConflictError, match="closed"):
        store.hold(data_set.id, 4, HOLD)
    assert store.settle(data_set.id, 4, None, [answer(ada.id)]).version == 5
    assert store.data_set("adult").status == "closed"


def test_answers_come_back_as_they_were_given(store: Store) -> None:
    ada, data_set = opened(store)
    asked = [
        answer(ada.id, value=value, low=None if i % 2 else value, where=f"name = '\0é\ud800' -- {i}", position=i)
        for i, value in enumerate(FLOATS)
    ]
    settled = store.settle(data_set.id, 1, None, asked)
    assert [replace(given, id=0, at=None) for given in settled.answers] == asked
    assert bits(tuple(given.value for given in settled.answers)) == bits(FLOATS)
    found = store.answers(data_set.id)
    assert found == list(reversed(settled.answers))
    assert bits(tuple(given.value for given in reversed(found))) == bits(FLOATS)
    assert len({given.id for given in found}) == len(FLOATS)
    assert len({given.at for given in found}) == 1


@pytest.mark.slow
def test_many_answers_of_one_commit_keep_their_order(store: Store) -> None:
    ada, data_set = opened(store)
    request = keyed(store, ada.id, data_set.id, "all at once", b"")
    asked = [answer(ada.id, request=request, position=i, where=f"age = {i}") for i in range(2500)]
    settled = store.settle(data_set.id, 1, Step(findings=(CLOSE,) * 1500), asked)
    assert [given.where for given in settled.answers] == [given.where for given in asked]
    assert store.answered(request) == {given.position: given for given in settled.answers}
    step = store.progress(data_set.id).step
    assert step is not None
    assert len(step.findings) == 1500


def test_pages_of_answers_meet(store: Store) -> None:
    ada, data_set = opened(store)
    other, others = opened(store, "czech")
    for i in range(9):
        store.settle(data_set.id, i + 1, None, [answer(ada.id, position=i), answer(other.id, position=i)])
        store.settle(others.id, i + 1, None, [answer(ada.id)])
    pages, before = [], None
    while page := store.answers(data_set.id, person=ada.id, before=before, limit=4):
        pages.append([given.position for given in page])
        before = page[-1].id
    assert pages == [[8, 7, 6, 5], [4, 3, 2, 1], [0]]
    assert len(store.answers(data_set.id, limit=100)) == 18


def test_pages_of_the_ledger_and_of_the_audit_meet(store: Store) -> None:
    _, data_set = opened(store)
    opened(store, "czech")
    store.settle(data_set.id, 1, Step(events=(EVENT,) * 6))
    assert [entry.number for entry in store.events(data_set.id, limit=4)] == [6, 5, 4, 3]
    assert [entry.number for entry in store.events(data_set.id, before=3, limit=4)] == [2, 1, 0]
    store.note(None, "start", "server", {"version": "1"})
    first = store.audit(limit=3)
    rest = store.audit(before=first[-1].id)
    assert (first[0].person, first[0].action, first[0].details) == (None, "start", {"version": "1"})
    assert [entry.action for entry in first + rest] == ["start", "register", "add person", "register", "add person"]


def test_grants_count_what_is_asked_and_spent(store: Store) -> None:
    ada, data_set = opened(store)
    bea = store.add_person("bea", "analyst", by=ada.id)
    assert store.grant(data_set.id, bea.id) == Grant(bea.id, None, None, 0, 0.0)
    assert store.grants(data_set.id) == []
    limits = store.set_grant(data_set.id, bea.id, 5, 0.5, by=ada.id)
    assert limits == Grant(bea.id, 5, 0.5, 0, 0.0)
    store.settle(data_set.id, 1, None, [answer(bea.id, charged=0.1), answer(ada.id), answer(bea.id, charged=0.2)])
    store.settle(data_set.id, 2, None, [answer(bea.id, charged=0.25)])
    size = len(to_json(body_of(answer(bea.id, charged=0.1))))
    assert store.grant(data_set.id, bea.id) == Grant(bea.id, 5, 0.5, 3, 0.1 + 0.2 + 0.25, None, 3 * size + 1)
    assert store.set_grant(data_set.id, bea.id, None, 1.0, by=ada.id).asked == 3
    assert store.grants(data_set.id) == [store.grant(data_set.id, ada.id), store.grant(data_set.id, bea.id)]
    assert store.grant(data_set.id, ada.id) == Grant(ada.id, None, None, 1, 0.0, None, size)
    assert store.set_grant(data_set.id, bea.id, None, 1.0, 700, by=ada.id).storage == 700
    with pytest.raises(NotThereError):
        store.set_grant(data_set.id, bea.id + 9, 1, None, by=ada.id)
    told = [
        {"person": "bea", "queries": None, "budget": 1.0, "storage": 700},
        {"person": "bea", "queries": None, "budget": 1.0, "storage": None},
        {"person": "bea", "queries": 5, "budget": 0.5, "storage": None},
    ]
    assert [entry.details for entry in store.audit(limit=3)] == told


def body_of(given: GivenAnswer) -> dict[str, object]:
    return {name: value for name, value in asdict(given).items() if name not in ROW_OF_ANSWER}


def keyed(store: Store, person: int, data_set: int, key: str, digest: bytes) -> int:
    return store.request(data_set=data_set, person=person, key=key, digest=digest)


def test_a_request_has_one_number_and_each_of_its_questions_one_answer(store: Store) -> None:
    ada, data_set = opened(store)
    bea, others = opened(store, "czech")
    request = keyed(store, ada.id, data_set.id, "key", b"digest")
    assert keyed(store, ada.id, data_set.id, "key", b"digest") == request
    distinct = {keyed(store, bea.id, data_set.id, "key", b"1"), keyed(store, ada.id, others.id, "key", b"2"), request}
    assert len(distinct) == 3
    with pytest.raises(ConflictError, match="other questions"):
        keyed(store, ada.id, data_set.id, "key", b"another")
    assert store.answered(request) == {}
    given = store.settle(data_set.id, 1, None, [answer(ada.id, request=request, position=2)]).answers
    before = everything(store)
    with pytest.raises(ConflictError):
        store.settle(data_set.id, 2, Step(events=(EVENT,)), [answer(ada.id, request=request, position=2)])
    assert everything(store) == before
    assert store.answered(request) == {2: given[0]}


def test_one_thread_at_a_time_is_alone_with_a_data_set(store: Store, address: str) -> None:
    other = Store.open(address)
    with store.alone(1, wait=1.0):
        for which in (store, other):
            with pytest.raises(StoreBusyError), which.alone(1, wait=0.05):
                pytest.fail("two at once")
        with pytest.raises(StoreBusyError), other.alone(1, wait=0.0):
            pytest.fail("two at once")
        with other.alone(2, wait=1.0):
            pass
    for _ in range(3):
        with pytest.raises(ValueError, match="inside"), other.alone(1, wait=1.0):
            raise ValueError("inside")
    with ThreadPoolExecutor(1) as pool, store.alone(1, wait=1.0):
        waiting = pool.submit(lambda: entered(other))
        time.sleep(0.05)
        assert not waiting.done()
        left = time.monotonic()
    assert waiting.result() > left - 0.001
    other.close()


def entered(store: Store) -> float:
    with store.alone(1, wait=30.0):
        return time.monotonic()


def gone_on(store: Store, person: int, data_set: int, times: int) -> None:
    """Commit so often, starting again whenever somebody else was faster."""
    done = 0
    while done < times:
        found = store.progress(data_set, Mark(10**6, 10**6))
        assert found.step is not None
        assert found.step.state is not None
        step = Step(state={"asked": found.step.state["asked"] + 1}, events=(EVENT,), findings=(MEASURED,), model=b"m")
        try:
            store.settle(data_set, found.version, step, [answer(person, charged=0.5)] * 3)
            done += 1
        except OutdatedError:
            continue


def test_nothing_is_lost_between_threads(store: Store) -> None:
    ada, data_set = opened(store)
    n_threads, times = 8, 12
    with ThreadPoolExecutor(n_threads) as pool:
        for done in [pool.submit(gone_on, store, ada.id, data_set.id, times) for _ in range(n_threads)]:
            done.result()
    n = n_threads * times
    found = store.progress(data_set.id)
    assert found.step is not None
    assert (found.version, found.step.state) == (1 + n, {"asked": n})
    assert (len(found.step.events), len(found.step.findings)) == (1 + n, n)
    sizes = 3 * len(to_json(body_of(answer(ada.id, charged=0.5)))), len(to_json(EVENT.to_dict())), size_of_measured()
    assert store.grant(data_set.id, ada.id) == Grant(ada.id, None, None, 3 * n, 1.5 * n, None, n * sum(sizes))
    assert [entry.number for entry in store.events(data_set.id, limit=1000)] == list(range(n, -1, -1))
    assert len(store.answers(data_set.id, limit=1000)) == 3 * n


def size_of_measured() -> int:
    return len(to_json({"entry": MEASURED.entry, "value": MEASURED.value})) + len(MEASURED.vector)


def test_progress_is_one_state_of_the_database_while_others_write(store: Store) -> None:
    ada, data_set = opened(store)
    stop = threading.Event()

    def read() -> int:
        reads = 0
        while not stop.is_set() or not reads:
            found = store.progress(data_set.id)
            assert found.step is not None
            assert found.step.state == {"asked": found.version - 1}
            assert len(found.step.findings) == len(found.step.events) - 1 == found.version - 1
            reads += 1
        return reads

    with ThreadPoolExecutor(2) as pool:
        reading = [pool.submit(read) for _ in range(2)]
        try:
            gone_on(store, ada.id, data_set.id, 30)
        finally:
            stop.set()
        assert all(done.result() for done in reading)


def test_what_is_made_once_is_made_once_by_many_threads(store: Store) -> None:
    ada, data_set = opened(store)

    def make(_: int) -> tuple[int, bytes, bool]:
        try:
            store.add_person("bea", "analyst", by=ada.id)
            added = True
        except ConflictError:
            added = False
        return keyed(store, ada.id, data_set.id, "key", b"digest"), store.secret("cursors"), added

    with ThreadPoolExecutor(8) as pool:
        requests, secrets, added = zip(*pool.map(make, range(16)), strict=True)
    assert (len(set(requests)), len(set(secrets)), sum(added)) == (1, 1, 1)


@pytest.mark.parametrize("step", ["step written", "hold written", "answers written", "forfeit written"])
def test_what_fails_before_its_commit_leaves_nothing(store: Store, address: str, step: str) -> None:
    ada, data_set = opened(store)
    if step != "hold written":
        store.hold(data_set.id, 1, HOLD)

    def fail(reached: str) -> None:
        if reached == step:
            raise RuntimeError(reached)

    failing = Store.open(address, reached=fail)
    calls = {
        "hold written": lambda: failing.hold(data_set.id, 1, HOLD, Step(state={"asked": 1}, events=(EVENT,))),
        "forfeit written": lambda: failing.forfeit(data_set.id, 2, LOST, 0.4),
    }
    whole = Step(state={"asked": 1}, events=(EVENT,), findings=(MEASURED,), model=b"other")
    before = everything(store)
    with pytest.raises(RuntimeError, match=step):
        calls.get(step, lambda: failing.settle(data_set.id, 2, whole, [answer(ada.id)]))()
    assert everything(store) == before
    failing.close()


def act(store: Store, draw: np.random.Generator, people: list[int]) -> object:
    """Something at random, often out of turn; what came of it, without the numbers that PostgreSQL may leave out."""
    made = sorted(store.data_sets(), key=lambda each: each.created)
    number, version = [*(each.id for each in made), 999][draw.integers(len(made) + 1)], made[0].version
    version += int(draw.integers(-1, 2))
    step = Step(
        state={"n": int(draw.integers(100))} if draw.random() < 0.7 else None,
        events=(EVENT,) * int(draw.integers(3)),
        findings=tuple((CLOSE, MEASURED)[i] for i in draw.integers(2, size=draw.integers(4))),
        model=draw.bytes(5) if draw.random() < 0.5 else None,
    )
    given = [answer(people[i], charged=float(draw.random())) for i in draw.integers(len(people), size=draw.integers(4))]
    actions: list[Callable[[], object]] = [
        lambda: store.hold(1, version, Hold(0.5, "question", people[0]), step if draw.random() < 0.5 else None),
        lambda: [replace(each, id=0, at=None) for each in store.settle(1, version, step, given).answers],
        lambda: store.forfeit(1, version, LOST, 0.4),
        lambda: keyed(store, people[0], number, str(draw.integers(5)), str(draw.integers(2)).encode()) > 0,
        lambda: store.set_grant(number, people[1], int(draw.integers(5)), None, by=people[0]),
        lambda: store.close_data_set(number, by=None).status if number != made[0].id else None,
        lambda: store.register(registration(str(draw.integers(3))), by=people[0]).name,
        lambda: store.progress(1, Mark(int(draw.integers(9)), int(draw.integers(9)))),
        lambda: store.grants(number),
    ]
    try:
        return actions[int(draw.integers(len(actions)))]()
    except ServiceError as error:
        return type(error)


def test_both_databases_do_the_same_to_anything(tmp_path: Path, new_postgresql_database: str) -> None:
    found = []
    for address in (str(tmp_path / "store.db"), new_postgresql_database):
        draw = np.random.default_rng(0)
        store = Store.open(address)
        ada, _ = opened(store)
        people = [ada.id, store.add_person("bea", "analyst", by=None).id]
        found.append([act(store, draw, people) for _ in range(400)])
        found[-1] += [[(each.number, each.event, each.person) for each in store.events(1, limit=1000)]]
        found[-1] += [[replace(each, id=0, at=None) for each in store.answers(1, limit=1000)], store.progress(1)]
        store.close()
    assert found[0] == found[1]
    kinds = {each if isinstance(each, type) else type(each) for each in found[0]}
    assert {OutdatedError, ConflictError, NotThereError, bool, str, list, Progress, Grant} <= kinds
