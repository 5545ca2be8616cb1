"""The numbers of a budget add up: for everyone, on one line, over time, and until nothing is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hedgerow.service import Charge, Hold, spending_of
from hedgerow.service.sessions.summaries import MOST_INTERVALS
from tests.service.api import Api, api, registration

QUERIES = "/v1/datasets/survey/queries"
SURVEY = "/v1/datasets/survey"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as started:
        yield started


def ask(here: Api, token: str, *conditions: str) -> Any:
    told = here.call("POST", QUERIES, token, json={"queries": [{"where": each} for each in conditions]})
    assert told.status_code == 200, told.text
    return told.json()


def look(here: Api, token: str, path: str = SURVEY) -> Any:
    return here.call("GET", path, token).json()


def parts(account: dict[str, float | None]) -> list[float]:
    return [part for part in account.values() if part is not None]


def test_what_everyone_is_told_adds_up_to_the_budget(fresh: Api) -> None:
    ada, bob, carol = fresh.token("ada"), fresh.token("bob"), fresh.token("carol", "custodian")
    paid = {ada: 0.0, bob: 0.0, carol: 0.0}
    asked, told = dict.fromkeys(paid, 0), {token: set[str]() for token in paid}
    for turn, token in enumerate([ada, bob, ada, carol, bob, ada] * 2):
        answers = ask(fresh, token, f"age = {turn % 9}", f"age < {turn % 5} and sex = 'M'")["answers"]
        paid[token] += sum(each["charged"] for each in answers)
        asked[token] += len({each["where"] for each in answers} - told[token])  # a repeat is not counted
        told[token] |= {each["where"] for each in answers}
    assert min(paid[ada], paid[bob]) > 0.0
    ledger = look(fresh, carol, f"{SURVEY}/ledger?limit=1000")
    grants = look(fresh, carol, f"{SURVEY}/grants")["grants"]
    assert ledger["spent"] + ledger["held"] + ledger["remaining"] == pytest.approx(ledger["limit"], rel=1e-12)
    for token, own in paid.items():
        summary = look(fresh, token)
        account, mine = summary["account"], summary["mine"]
        assert sum(parts(account)) == pytest.approx(summary["limit"], rel=1e-12)
        assert account["mine"] == mine["spent"] == pytest.approx(own, rel=1e-12)
        assert account["others"] == pytest.approx(sum(paid.values()) - own, rel=1e-12)
        assert account["mine"] + account["others"] == pytest.approx(sum(each["spent"] for each in grants), rel=1e-12)
        assert account["opening"] + account["mine"] + account["others"] + account["tests"] == pytest.approx(
            summary["spent"], rel=1e-12
        )
        assert summary["spent"] == ledger["spent"]
        assert (summary["asked"], mine["asked"]) == (sum(asked.values()), asked[token])
        assert 0 < summary["tested"] < summary["asked"]
        assert summary["account"]["left"] == pytest.approx(ledger["remaining"], rel=1e-12)


def test_when_the_corrections_are_used_up_the_state_says_so_and_no_answer_has_a_confidence(fresh: Api) -> None:
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    few = registration("brief", options={"updates": 2, "threshold": 0.02, "queries": 100, "first_release": 0})
    assert fresh.call("POST", "/v1/datasets", carol, json=few).status_code == 201
    brief = "/v1/datasets/brief"

    def asked(condition: str) -> Any:
        return fresh.call("POST", f"{brief}/queries", ada, json={"queries": [{"where": condition}]}).json()

    before = look(fresh, ada, brief)
    assert (before["status"], before["learnt"]) == ("open", False)
    states = [asked(f"age = {age}")["dataset"] for age in (0, 9, 1)]
    assert [(each["status"], each["learnt"]) for each in states] == [
        ("open", True),
        ("used up", True),
        ("used up", True),
    ]
    told = states[-1]
    assert (told["updates_left"], told["closed"]) == (0, "the corrections are used up")
    assert told["account"]["tests"] == 0.0  # corrections have paid for all of it
    (alone,) = asked("age between 3 and 7 and sex = 'F'")["answers"]
    assert (alone["source"], alone["low"], alone["high"], alone["confidence"]) == ("hypothesis only", None, None, None)
    statement = {"sql": "SELECT job, COUNT(*) FROM brief WHERE age < 4 GROUP BY job"}
    table = fresh.call("POST", f"{brief}/tables", ada, json=statement).json()
    assert (table["sources"], table["confidence"]) == ({"hypothesis only": 1}, None)
    listed = look(fresh, carol, f"{brief}/answers?limit=1000")["answers"]
    assert {(each["low"] is None, each["confidence"] is None) for each in listed} == {(True, True), (False, False)}
    fresh.call("POST", f"{brief}/close", carol)
    assert look(fresh, ada, brief)["status"] == "closed"


def test_a_table_has_a_confidence_where_it_has_an_interval(fresh: Api) -> None:
    ada = fresh.token("ada")
    statement = {"sql": "SELECT sex, COUNT(*) FROM survey GROUP BY sex", "confidence": 0.9}
    assert fresh.call("POST", f"{SURVEY}/tables", ada, json=statement).json()["confidence"] == 0.9


def test_what_is_held_is_told_to_custodians_alone(fresh: Api) -> None:
    """It begins and ends with a look at the data: to others it would tell how long that took."""
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    ask(fresh, ada, "age = 0")
    before, data_set = look(fresh, ada), fresh.store.data_set("survey")
    fresh.store.hold(data_set.id, data_set.version, Hold(0.125, "question", fresh.person("ada").id))
    assert look(fresh, ada)["account"] == before["account"] | {"held": None}
    seen, ledger = look(fresh, carol)["account"], look(fresh, carol, f"{SURVEY}/ledger")
    assert (seen["held"], ledger["held"]) == (0.125, 0.125)
    assert sum(parts(seen)) == pytest.approx(before["limit"], rel=1e-12)
    assert seen["left"] == pytest.approx(before["account"]["left"] - 0.125)
    assert ledger["remaining"] == pytest.approx(seen["left"])
    assert look(fresh, ada, f"{SURVEY}/spending")["account"]["held"] is None


def test_spending_over_time_tells_custodians_names_and_analysts_their_own(fresh: Api) -> None:
    ada, bob, carol = fresh.token("ada"), fresh.token("bob"), fresh.token("carol", "custodian")
    ask(fresh, ada, "age = 0", "sex = 'F' and age = 1")
    ask(fresh, bob, "age < 3", "age > 7")
    paid = {name: fresh.store.grant(1, fresh.person(name).id).spent for name in ("ada", "bob")}
    assert min(paid.values()) > 0.0

    def sums(token: str, *names: str) -> dict[Any, float]:
        told = look(fresh, token, f"{SURVEY}/spending")
        assert sum(each["amount"] for each in told["entries"]) == pytest.approx(told["spent"], rel=1e-12)
        found: dict[Any, float] = {}
        for each in told["entries"]:
            key = tuple(each[name] for name in names)
            found[key] = found.get(key, 0.0) + each["amount"]
        return found

    assert sums(carol, "whose", "person") == {
        ("nobody", None): pytest.approx(look(fresh, carol)["spent"] - sum(paid.values())),
        ("others", "ada"): pytest.approx(paid["ada"]),
        ("others", "bob"): pytest.approx(paid["bob"]),
    }
    assert sums(ada, "whose", "person") == {
        ("nobody", None): pytest.approx(look(fresh, carol)["spent"] - sum(paid.values())),
        ("mine", "ada"): pytest.approx(paid["ada"]),
        ("others", None): pytest.approx(paid["bob"]),
    }
    assert "bob" not in fresh.call("GET", f"{SURVEY}/spending", ada).text
    account = look(fresh, ada)["account"]
    kinds = sums(ada, "kind")
    assert kinds["tests",] == pytest.approx(account["tests"])
    assert kinds.get(("opening",), 0.0) == pytest.approx(account["opening"])
    assert kinds["corrections",] == pytest.approx(account["mine"] + account["others"])


@pytest.mark.parametrize(
    ("lasted", "width"),
    [
        (timedelta(0), 1),
        (timedelta(seconds=MOST_INTERVALS - 2), 1),
        (timedelta(seconds=MOST_INTERVALS), 60),
        (timedelta(days=7), 3_600),
        (timedelta(days=10), 86_400),
        (timedelta(days=3650), 28 * 86_400),
        (timedelta(days=365_000), 364 * 86_400),
    ],
)
def test_intervals_grow_with_the_time_that_is_told_of(
    fresh: Api, monkeypatch: pytest.MonkeyPatch, lasted: timedelta, width: int
) -> None:
    begun = datetime(2030, 5, 17, 11, 47, 13, 250_000, tzinfo=UTC)
    ada, data_set = fresh.person("ada"), fresh.store.data_set("survey")
    times = [begun + lasted * (step / 999) for step in range(1000)]
    charges = tuple(Charge("answer", 0.001, at, ada.id) for at in times)
    told = replace(fresh.store.shares(data_set.id, ada.id), charges=charges)
    monkeypatch.setattr(type(fresh.store), "shares", lambda *_, **__: told)
    found = spending_of(fresh.store, data_set, ada)
    starts = sorted({each["at"] for each in found["entries"]})
    assert found["width"] == width
    assert all(start.timestamp() % width == 0.0 for start in starts)
    assert starts[0] <= begun < starts[0] + timedelta(seconds=width)
    assert starts[-1] <= times[-1] < starts[-1] + timedelta(seconds=width)
    assert len(starts) <= MOST_INTERVALS or width == 364 * 86_400
    assert sum(each["amount"] for each in found["entries"]) == pytest.approx(1.0)
