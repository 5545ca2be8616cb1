"""Stores that the first version made: carried forward, with links for what is there."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from hedgerow import OnlinePMW
from hedgerow.algorithms.online_pmw import Step
from hedgerow.errors import ConflictError, DamagedStoreError
from hedgerow.privacy import ApproxDP, Budget, PureDP
from hedgerow.queries import parse_predicate
from hedgerow.service import LOCATION, Registration, SessionWorkers, Store, ledger_of, question_digest, summary_of
from hedgerow.system import link, start_of

AT = datetime(2025, 1, 2, 3, 4, 5, 678901, UTC)


def event(label: str, mechanism: str, target: str, sensitivity: float, scale: float, charge: float, **more: Any) -> Any:
    plain = {"label": label, "mechanism": mechanism, "target": target, "sensitivity": sensitivity, "scale": scale}
    return {**plain, "charge": charge, "unit": "epsilon", "neighbours": "replace", "values": 1, **more}


EVENTS = [
    event("total", "public", "number of records", 0.0, 0.0, 0.0),
    event("earlier", "earlier release", "an earlier release of the same table", 0.0, 0.0, 0.25),
    event(
        "watch", "sparse vector", "queries with noise of scale 40, up to 3 fires", 1.0, 60.0, 1 / 40 + 6 / 60, values=3
    ),
    event("answer", "discrete Laplace", "a = 'x'", 1.0, 20.0, 0.0500001),
    event("lost", "interrupted", "the most that an interrupted question can have cost", 0.0, 0.0, 0.05),
]
DATA_SETS = {"people": PureDP(1.0, "replace"), "empty": ApproxDP(1.0, 1e-9)}
AUDITED = [("add person", "ada", {"role": "custodian"}), ("register", "people", {"budget": PureDP(1.0).to_dict()})]


def answered(where: str, source: str, value: float) -> dict[str, Any]:
    plain = {"where": where, "value": value, "low": None, "high": None, "confidence": 0.95, "covers": ""}
    return {**plain, "source": source, "charged": 0.0, "spent": 0.1, "updates_left": 2}


ANSWERED = [
    answered("a = 'x'", "data", 7.0),
    answered("a = 'x'", "cache", 7.0),
    answered("a = 'y'", "hypothesis only", 3.0),
]


def registered(name: str, budget: Budget) -> dict[str, Any]:
    plain = {"name": name, "title": "", "source": {"place": "a.csv"}, "domain": {"a": ["x", "y"]}}
    return {**plain, "budget": budget.to_dict(), "config": {}}


def of_first(connection: sa.Connection, events: list[Any]) -> None:
    """Tables of the first version, and rows in them."""
    config = Config()
    config.set_main_option("script_location", LOCATION)
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")
    metadata = sa.MetaData()
    metadata.reflect(connection)

    def add(table: str, **values: Any) -> None:
        connection.execute(sa.insert(metadata.tables[table]).values(values))

    sqlite = connection.dialect.name == "sqlite"
    at = AT.replace(tzinfo=None) if sqlite else AT
    add("people", id=1, name="ada", role="custodian", created=at)
    for number, (name, budget) in enumerate(DATA_SETS.items(), start=1):
        add("data_sets", id=number, name=name, registration=registered(name, budget), created=at)
        count = len(events) if number == 1 else 0
        add("sessions", data_set=number, version=7, status="open", events=count, findings=0, state={"asked": 1})
    for number, body in enumerate(events):
        add("events", data_set=1, number=number, body=body, at=at, person=1 if number == 3 else None)
    add("grants", data_set=1, person=1, queries=5, budget=0.5, asked=3, spent=0.1)
    for number, body in enumerate(ANSWERED):
        add("answers", data_set=1, person=1, request=None, position=number, at=at, body=body)
    for number, (action, subject, details) in enumerate(AUDITED, start=1):
        add(
            "audit",
            id=number,
            at=at,
            person=None if number == 1 else 1,
            action=action,
            subject=subject,
            details=details,
        )


def made_first(address: str, events: list[Any]) -> None:
    engine = sa.create_engine(address.replace("postgresql:", "postgresql+psycopg:"), json_serializer=json.dumps)
    with engine.begin() as connection:
        of_first(connection, events)
        if connection.dialect.name == "postgresql":  # rows that come after these have numbers of their own
            for table in ("people", "data_sets", "audit"):
                connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 9)")
    engine.dispose()


def test_a_first_store_is_carried_forward_but_for_data_sets_with_events(address: str) -> None:
    """Their events are linked as they were found, and said less than a ledger of today must."""
    made_first(address, EVENTS)
    store = Store.open(address)
    with pytest.raises(DamagedStoreError, match=r"event 1 cannot be: an event of a version of hedgerow before 0\.2"):
        store.progress(1)
    limits = {"limit": ApproxDP(1.0, 1e-9).limit, "unit": "rho"}
    assert (store.progress(2).fixed, store.progress(2).head) == (limits, start_of("ledger", limits))
    grant = store.grant(1, 1)
    assert (grant.queries, grant.asked, grant.spent, grant.storage, grant.stored) == (5, 3, 0.1, None, 0)
    store.close()


def test_its_answers_are_given_again(address: str) -> None:
    """Those that last."""
    made_first(address, EVENTS)
    store = Store.open(address)
    digests = [question_digest(where, "", 0.95) for where in ("a = 'x'", "a = 'y'")]
    found = store.given(1, 1, digests)
    assert [found[digest].source for digest in found] == ["data"]
    assert list(found) == digests[:1]
    assert len(store.answers(1)) == 3
    store.close()


def test_its_audit_log_is_linked_and_goes_on(address: str) -> None:
    made_first(address, EVENTS)
    store = Store.open(address)
    store.check_audit()
    head = start_of("audit", {})
    for person, (action, subject, details) in zip((None, "ada"), AUDITED, strict=True):
        entry = {"at": "2025-01-02T03:04:05.678901Z", "person": person, "action": action}
        head = link(head, {**entry, "subject": subject, "details": details})
    assert store.audit_point().head == head
    store.add_person("bob", "analyst", by=1)
    store.check_audit()
    store.close()


def test_a_data_set_that_told_how_many_rows_pass_its_filter_tells_it_no_more(tmp_path: Path) -> None:
    """The first version took that number for public under "replace", and opened the session with it."""
    (tmp_path / "people.csv").write_text("diag,a\n" + "hiv,x\n" * 80 + "flu,y\n" * 200)
    source, config = {"place": "people.csv", "where": "diag = 'hiv'", "columns": ["a"]}, OnlinePMW(updates=3)
    new = Registration("p", "", source, {"a": ["x", "y"]}, PureDP(1.0, "replace").to_dict(), config.parameters())
    store = Store.open(tmp_path / "store.db")
    ada = store.add_person("ada", "custodian", by=None)
    data_set = store.register(new, by=ada.id)
    told = {"total": 80.0, "threshold": 4.0, "private": True}
    store.settle(data_set.id, 0, Step(state={"summary": told}))
    workers = SessionWorkers(store, tmp_path)
    for _ in range(2):
        found = summary_of(store, data_set, ada)
        assert (found["total"], found["threshold"], found["private"]) == (None, None, False)
        assert found["statement"].startswith("NOT PRIVATE: how many rows pass the filter")
        with pytest.raises(ConflictError, match="was treated as public, and is private"):
            workers.ask(data_set, [parse_predicate("a = 'x'", workers.domain(data_set))], person=ada)
        with pytest.raises(ConflictError, match="was treated as public, and is private"):
            workers.records(data_set, 5, person=ada)
        data_set = store.close_data_set(data_set.id, by=ada.id)  # which changes nothing about that
    assert "NOT PRIVATE" in ledger_of(store, data_set)["statement"]
    workers.close()
    store.close()
