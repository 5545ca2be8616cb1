"""What must be true of a store at any time, whatever happened to its servers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from sqlalchemy import select

from hedgerow.algorithms import LOST, rules_from_dict
from hedgerow.privacy import budget_from_dict
from hedgerow.service import ANSWERS, EVENTS, FINDINGS, Store, spending_of, summary_of, to_json
from hedgerow.service.store.schema import REQUESTS
from tests.service.stack import charges, ledger

EVERYTHING = 10**6
Told = list[dict[str, Any]]


def check_charges(store: Store, data_set: int, limit: float) -> None:
    """The budget is not passed, each answer of the data is charged once, and people's counters are exact.

    Raises:
        AssertionError: Something is wrong.
    """
    assert charges(store, data_set) <= Fraction(limit)
    events, answers = ledger(store, data_set), store.answers(data_set, limit=EVERYTHING)
    assert [each.number for each in events] == list(range(len(events)))
    charged = Counter(each.event.target for each in events if each.event.label == "answer")
    assert charged == Counter(each.where for each in answers if each.source == "data")
    assert max(charged.values(), default=0) <= 1  # whoever asks again is told the same
    asked = Counter(each.person for each in answers)
    grants = {each.person: each for each in store.grants(data_set)}
    assert {person: each.asked for person, each in grants.items() if each.asked} == dict(asked)
    names = {each.id: each.name for each in store.people()}
    for person, each in grants.items():
        paid = sum(answer.charged for answer in answers if answer.person == person)
        lost = [entry for entry in events if (entry.event.label, entry.person) == (LOST, names[person])]
        owed = paid + (len(lost) * _price(store, data_set) if lost else 0.0)
        assert abs(owed - each.spent) <= 1e-9 * owed
    assert sum(each.stored for each in grants.values()) == _stored(store, data_set)
    check_account(store, data_set)


def check_account(store: Store, data_set: int) -> None:
    """What each person is told of the budget adds up, to the limit and over time, and agrees with everyone's limits.

    Raises:
        AssertionError: Something is wrong.
    """
    (found,) = [each for each in store.data_sets() if each.id == data_set]
    grants, hold = store.grants(data_set), store.progress(data_set).hold
    for person in store.people():
        told = summary_of(store, found, person)
        account, near = told["account"], 1e-9 * told["limit"]
        parts = [part for part in account.values() if part is not None]
        assert abs(sum(parts) - told["limit"]) <= near
        assert min(parts) >= 0.0
        others = [each for each in grants if each.person != person.id]
        assert account["mine"] == told["mine"]["spent"]
        assert abs(account["others"] - sum(each.spent for each in others)) <= near
        assert told["asked"] == told["mine"]["asked"] + sum(each.asked for each in others)
        is_custodian = person.role == "custodian"
        assert account["held"] == ((hold.charge if hold else 0.0) if is_custodian else None)
        assert abs(account["left"] + (account["held"] or 0.0) - (told["limit"] - told["spent"])) <= near
        _check_spending(spending_of(store, found, person), told, is_custodian, {each.name for each in store.people()})


def _check_spending(spending: Mapping[str, Any], told: Mapping[str, Any], named: bool, names: set[str]) -> None:
    near = 1e-9 * told["limit"]
    account, entries = told["account"], spending["entries"]
    assert (spending["account"], spending["spent"]) == (account, told["spent"])

    def total(**wanted: str) -> float:
        chosen = [each for each in entries if all(each[name] == value for name, value in wanted.items())]
        return sum(each["amount"] for each in chosen)

    assert abs(total() - told["spent"]) <= near
    for name, part in (("opening", total(kind="opening")), ("tests", total(kind="tests"))):
        assert abs(part - account[name]) <= near
    assert abs(total(whose="mine") - account["mine"]) <= near
    assert abs(total(whose="others") - account["others"]) <= near
    assert [each["at"] for each in entries] == sorted(each["at"] for each in entries)
    for each in entries:
        assert (each["person"] in names) == (each["whose"] == "mine" or (named and each["whose"] == "others"))


def _price(store: Store, data_set: int) -> float:
    """What a share of the budget pays for a correction, be it lost or not."""
    step = store.progress(data_set).step
    assert step is not None
    assert step.opening is not None
    rules, budget = rules_from_dict(step.opening["rules"]), budget_from_dict(step.opening["budget"])
    return rules.answer_charge + rules.watch.charge(budget.regime) / rules.watch.fires


def _stored(store: Store, data_set: int) -> int:
    """Bytes that rows hold because somebody asked."""
    with store._database.reading() as connection:

        def rows(table: Any) -> Any:
            return connection.execute(select(table).where(table.c.data_set == data_set)).all()

        return (
            sum(len(to_json(row.body)) for row in rows(ANSWERS))
            + sum(len(to_json(row.body)) + len(row.vector) for row in rows(FINDINGS))
            + sum(len(to_json(row.body)) for row in rows(EVENTS) if row.person is not None)
            + sum(len(row.key) + len(row.digest) for row in rows(REQUESTS))
        )


def check_answers(store: Store, data_set: int, seen: Iterable[tuple[str, Told]]) -> None:
    """What people have seen is there to the bit, one request has one answer, and no two answers contradict each other.

    Args:
        store: The store.
        data_set: Number of the data set.
        seen: Keys of requests, and what was answered, as JSON values.

    Raises:
        AssertionError: Something is wrong.
    """
    kept = store.answers(data_set, limit=EVERYTHING)
    assert len({each.id for each in kept}) == len(kept)
    keyed = [(each.request, each.position) for each in kept if each.request is not None]
    assert len(set(keyed)) == len(keyed)
    found: dict[str, float] = {}
    for each in reversed(kept):
        if each.source in ("data", "hypothesis"):
            assert each.where not in found
            found[each.where] = each.value
        assert each.source != "cache" or each.value == found[each.where]
    requests = _requests(store, data_set)
    by_place = {(each.request, each.position): json.loads(json.dumps({**asdict(each), "at": None})) for each in kept}
    by_key: dict[str, Told] = {}
    for key, answers in seen:
        assert by_key.setdefault(key, answers) == answers
    for key, answers in by_key.items():
        for position, answer in enumerate(answers):
            there = by_place[requests[key], position]
            if "sql" in answer and there["low"] is None:  # over HTTP there is no confidence without an interval
                there["confidence"] = None
            names = answer.keys() & there.keys()
            assert len(names) >= 8
            assert {name: there[name] for name in names} == {name: answer[name] for name in names}


def _requests(store: Store, data_set: int) -> Mapping[str, int]:
    """Numbers of requests by their keys."""
    with store._database.reading() as connection:
        rows = connection.execute(select(REQUESTS.c.key, REQUESTS.c.id).where(REQUESTS.c.data_set == data_set)).all()
    assert len({row.key for row in rows}) == len(rows)
    return {row.key: row.id for row in rows}
