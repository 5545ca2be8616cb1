"""Rows that are changed after they were written are noticed: ledgers and the audit log are hash chains."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from hedgerow.algorithms import Mark
from hedgerow.algorithms.online_pmw import Step
from hedgerow.errors import DamagedStoreError
from hedgerow.privacy import MeasuredQuery
from hedgerow.service import EVENTS, Store
from hedgerow.service.store.schema import AUDIT, CHAINS, SESSIONS
from hedgerow.system import head_of, link, start_of
from tests.service.api import Api, api
from tests.service.stack import at_worker
from tests.service.store.cases import EVENT, opened
from tests.service.stores import open_store

Change = Callable[[Any], None]
LEDGER = {"limit": 1.0, "unit": "epsilon"}


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    made = open_store(address)
    yield made
    made.close()


def longer(store: Store, data_set: int, events: int = 4) -> None:
    for _ in range(events):
        store.settle(data_set, store.data_set("adult").version, Step(events=(EVENT,)))


def changed(store: Store, *changes: Any) -> None:
    with store._database.writing() as connection:
        for each in changes:
            connection.execute(each)


def body(**fields: Any) -> dict[str, Any]:
    return {**EVENT.to_dict(), **fields}


def test_the_head_is_that_of_all_events(store: Store) -> None:
    _, data_set = opened(store)
    longer(store, data_set.id)
    events = [each.event.to_dict() for each in store.events(data_set.id)][::-1]
    head = head_of(start_of("ledger", LEDGER), events)
    assert len(events) == 5
    assert store.progress(data_set.id).head == store.points()["adult"].head == head
    assert store.progress(data_set.id).fixed == LEDGER
    assert store.ledger_link(data_set.id, 2) == head_of(start_of("ledger", LEDGER), events[:2])


def rechained(events: list[dict[str, Any]]) -> list[Any]:
    """All that is to be written for other events to be linked as well as before, but for the head."""
    head, made = start_of("ledger", LEDGER), []
    for number, each in enumerate(events):
        head = link(head, each)
        made.append(update(EVENTS).where(EVENTS.c.number == number).values(body=each, link=head))
    return made


CHANGES: dict[str, list[Any]] = {
    "a smaller charge": [update(EVENTS).where(EVENTS.c.number == 2).values(body=body(charge=0.06))],
    "another order": [
        update(EVENTS).where(EVENTS.c.number == 1).values(number=9),
        update(EVENTS).where(EVENTS.c.number == 2).values(number=1),
        update(EVENTS).where(EVENTS.c.number == 9).values(number=2),
    ],
    "one left out": [delete(EVENTS).where(EVENTS.c.number == 3)],
    "the first left out": [delete(EVENTS).where(EVENTS.c.number == 0)],
    "the last left out": [delete(EVENTS).where(EVENTS.c.number == 4)],
    "the last left out and not counted": [
        delete(EVENTS).where(EVENTS.c.number == 4),
        update(SESSIONS).values(events=4),
    ],
    "all left out": [delete(EVENTS), update(SESSIONS).values(events=0)],
    "another limit": [update(SESSIONS).values(fixed={"limit": 2.0, "unit": "epsilon"})],
    "another link": [update(EVENTS).where(EVENTS.c.number == 2).values(link="0" * 64)],
    "all linked anew": rechained(
        [body(question={"kind": "query", "form": "marginal", "scope": ["age"], "words": ""}), *[EVENT.to_dict()] * 4]
    ),
}


def told_apart(store: Store) -> None:
    """Events of this test are told apart by their targets."""
    _, data_set = opened(store)
    for number in range(4):
        event = replace(EVENT, question=MeasuredQuery("marginal", (f"age {number}",)))
        store.settle(data_set.id, store.data_set("adult").version, Step(events=(event,)))


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("change", CHANGES)
def test_a_ledger_that_was_changed_is_not_gone_on_with(store: Store, change: str) -> None:
    told_apart(store)
    other = opened(store, "czech")[1]
    number = store.data_set("adult").id
    statements = [each.where(table_of(each).c.data_set == number) for each in CHANGES[change]]
    changed(store, *statements)
    with pytest.raises(DamagedStoreError, match=r"ledger of the data set 'adult' was changed(.|\n)*Remedy"):
        store.progress(number)
    with pytest.raises(DamagedStoreError):
        store.ledger_link(number, 1)
    assert len(store.progress(other.id).step.events) == 1  # type: ignore[union-attr]


def table_of(statement: Any) -> Any:
    return statement.table


def test_what_is_new_is_checked_by_those_who_know_the_rest(store: Store) -> None:
    _, data_set = opened(store)
    longer(store, data_set.id)
    assert len(store.progress(data_set.id, Mark(3, 0)).step.events) == 2  # type: ignore[union-attr]
    changed(store, update(EVENTS).where(EVENTS.c.number == 4).values(body=body(charge=0.06)))
    with pytest.raises(DamagedStoreError, match="event 5"):
        store.progress(data_set.id, Mark(3, 0))


def test_a_desk_refuses_a_ledger_that_was_changed(tmp_path: Path) -> None:
    with at_worker(tmp_path) as people:
        people.ask("a = 0")
        spent = people.events()[0].event
        cheaper = {**spent.to_dict(), "label": "another"}
        number = people.store.events(people.data_set.id)[0].number
        changed(people.store, update(EVENTS).where(EVENTS.c.number == number).values(body=cheaper))
        people.repository.forget()
        before = people.reads, people.store.data_sets()
        with pytest.raises(DamagedStoreError):
            people.ask("a = 1")
        assert (people.reads, people.store.data_sets()) == before


AUDITED: dict[str, list[Any]] = {
    "another person": [update(AUDIT).where(AUDIT.c.id == 2).values(person=None)],
    "another time": [
        update(AUDIT).where(AUDIT.c.id == 2).values(at=select(AUDIT.c.at).where(AUDIT.c.id == 1).scalar_subquery())
    ],
    "other details": [update(AUDIT).where(AUDIT.c.id == 2).values(details={"role": "custodian"})],
    "one left out": [delete(AUDIT).where(AUDIT.c.id == 2)],
    "the last left out": [delete(AUDIT).where(AUDIT.c.id == 3)],
    "the head set back": [
        delete(AUDIT).where(AUDIT.c.id == 3),
        update(CHAINS).values(head=select(AUDIT.c.link).where(AUDIT.c.id == 2).scalar_subquery()),
    ],
    "no head": [delete(CHAINS)],
}


@pytest.mark.many(quick=6)
@pytest.mark.parametrize("change", AUDITED)
def test_an_audit_log_that_was_changed_is_noticed(store: Store, change: str) -> None:
    ada = store.add_person("ada", "custodian", by=None)
    store.add_person("bob", "analyst", by=ada.id)
    store.note(ada.id, "upload", "a.csv", {"bytes": 7})
    assert [each.id for each in store.audit()] == [3, 2, 1]
    store.check_audit()
    changed(store, *AUDITED[change])
    with pytest.raises(DamagedStoreError, match=r"the audit log was changed(.|\n)*Remedy"):
        store.check_audit()


def test_processes_keep_one_chain_of_the_audit_log(store: Store, address: str) -> None:
    ada = store.add_person("ada", "custodian", by=None)
    stores = [store, *(Store.open(address) for _ in range(3))]
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(stores[n % 4].note, ada.id, "try", str(n), {"n": n}) for n in range(80)]:
            done.result()
    for each in stores:
        each.check_audit()
    assert len(store.audit(limit=1000)) == 81
    assert store.audit_point().head == store.audit(limit=1)[0].link
    for each in stores[1:]:
        each.close()


def test_processes_keep_one_chain_of_a_ledger(store: Store, address: str) -> None:
    _, data_set = opened(store)
    other = Store.open(address)
    for number in range(10):
        (store, other)[number % 2].settle(data_set.id, 1 + number, Step(events=(EVENT, EVENT)))
    for each in (store, other):
        assert len(each.progress(data_set.id).step.events) == 21  # type: ignore[union-attr]
    other.close()


def test_a_row_that_somebody_adds_is_noticed(store: Store) -> None:
    _, data_set = opened(store)
    row = {"data_set": data_set.id, "number": 1, "body": EVENT.to_dict(), "at": store.audit()[0].at, "link": "0" * 64}
    changed(store, insert(EVENTS).values(row), update(SESSIONS).values(events=2))
    with pytest.raises(DamagedStoreError, match="event 2"):
        store.progress(data_set.id)


# ---- what is told ----------------------------------------------------------------------------------------------------


@pytest.fixture(name="asked", scope="module")
def one_that_was_asked(here: Api, ada: str) -> Api:
    sent = {"queries": [{"where": f"age = {age}"} for age in range(6)]}
    assert here.call("POST", "/v1/datasets/survey/queries", ada, json=sent).status_code == 200
    return here


def test_an_export_of_a_ledger_can_be_checked_by_itself(asked: Api, carol: str) -> None:
    told = json.loads(asked.call("GET", "/v1/datasets/survey/ledger/file", carol).text)
    assert told["events"]
    start = start_of("ledger", {"limit": told["limit"], "unit": told["unit"]})
    assert head_of(start, told["events"]) == told["head"]
    page = asked.call("GET", "/v1/datasets/survey/ledger?limit=1000", carol).json()
    assert page["head"] == told["head"]
    fields = told["events"][0].keys()
    assert [{name: each[name] for name in fields} for each in page["events"]] == told["events"][::-1]
    assert [each["number"] for each in page["events"]] == list(range(len(told["events"])))[::-1]


def test_the_audit_log_can_be_checked_from_what_is_told(asked: Api, carol: str) -> None:
    told = json.loads(asked.call("GET", "/v1/audit?limit=1000", carol).text)
    entries = [
        {name: each[name] for name in ("at", "person", "action", "subject", "details")} for each in told["entries"]
    ]
    head = start_of("audit", {})
    for entry, each in zip(entries[::-1], told["entries"][::-1], strict=True):
        head = link(head, entry)
        assert each["link"] == head
    assert told["head"] == head
    pages = asked.call("GET", "/v1/audit?limit=1", carol).json()
    after = asked.call("GET", f"/v1/audit?limit=1&cursor={pages['next']}", carol).json()
    assert after["head"] == head != after["entries"][0]["link"]


def test_an_api_says_that_a_ledger_was_changed(tmp_path: Path) -> None:
    with api(tmp_path) as fresh:
        ada = fresh.token("ada")
        changed(fresh.store, update(EVENTS).values(link="0" * 64))
        fresh.workers._open[1].worker._repository.forget()
        reply = fresh.call("POST", "/v1/datasets/survey/queries", ada, json={"queries": [{"where": "age = 1"}]})
        assert (reply.status_code, reply.json()["code"]) == (503, "store")
        assert "was changed after it was written" in reply.json()["detail"]
