"""What questions take of the store: little, whatever they are about; counted to the byte; no more than is granted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from hedgerow import OnlinePMW
from hedgerow.algorithms import Transcript
from hedgerow.data import Table
from hedgerow.domain import Categorical, Domain, IntegerRange
from hedgerow.errors import QuotaError
from hedgerow.queries import canonical, parse_predicate, query_key
from hedgerow.service import ANSWERS, EVENTS, FINDINGS, Store, to_json
from hedgerow.service.sessions import group
from tests.service.api import Api, api
from tests.service.sessions.crash import random_condition
from tests.service.sessions.test_worker import FIRES, PAY, scripted
from tests.service.stack import ENOUGH, AtWorker, at_worker
from tests.service.store.bookkeeping import check_charges
from tests.service.store.cases import everything

LABELS = 60_000
WIDE = Domain(
    (
        Categorical("a", [f"label {number:05d}" for number in range(LABELS)], missing="?"),
        Categorical("b", [f"place {number}" for number in range(16)]),
        IntegerRange("c", 0, 9),
    )
)
SHORT = [
    *(f"not a = 'label {number:05d}' and c = {number}" for number in range(8)),
    *(f"a not in ('label {3 * number:05d}', 'label {5 * number + 1:05d}')" for number in range(8)),
    *(f"a = 'label {number:05d}' or not b = 'place {number}'" for number in range(8)),
]
"""24 questions of some 60 characters."""


def wide() -> Table:
    draw = np.random.default_rng(0)
    return Table(WIDE, [draw.integers(0, attribute.size, 20_000).astype(np.uint16) for attribute in WIDE])


def stored(store: Store) -> int:
    """Bytes of all bodies and vectors that questions have left."""
    with store._database.reading() as connection:
        rows = [row for table in (ANSWERS, EVENTS, FINDINGS) for row in connection.execute(select(table)).mappings()]
    return sum(len(to_json(row["body"])) + len(row.get("vector", b"")) for row in rows)


def pages(store: Store) -> int:
    """Bytes of the whole store."""
    with store._database.reading() as connection:
        count, size = (connection.exec_driver_sql(f"PRAGMA page_{what}").scalar_one() for what in ("count", "size"))
    return int(count * size)


@pytest.mark.slow
@pytest.mark.parametrize("fires", [True, False])
def test_short_questions_about_many_labels_stay_short(tmp_path: Path, fires: bool) -> None:
    config = OnlinePMW(variant="pay-as-you-go", updates=40, threshold=0.02, step="residual")
    with at_worker(tmp_path, source=wide(), config=config, noise=scripted(*[fires] * 50)) as people:
        people.worker.look_at(lambda _: None)
        before, size = stored(people.store), pages(people.store)
        for text in SHORT:
            (given,) = people.ask(text)
            assert given.source == ("data" if fires else "hypothesis")
            again, asked = (canonical(parse_predicate(each, WIDE)) for each in (given.where, text))
            assert query_key(again) == query_key(asked)
            assert len(given.where) < 200
        assert (stored(people.store) - before) / len(SHORT) < 1500
        check_charges(people.store, people.data_set.id, ENOUGH.limit)
        if not fires:  # corrections write the hypothesis, which grows with what it has learnt
            assert pages(people.store) - size < 2048 * len(SHORT)
            return
        known = Transcript(WIDE)
        known.add(people.store.progress(people.data_set.id).step)  # type: ignore[arg-type]
        assert known.mark.findings == len(SHORT)


@pytest.fixture(name="people")
def one_worker(tmp_path: Path) -> Iterator[AtWorker]:
    with at_worker(tmp_path, config=PAY, noise=scripted(*FIRES), quota=20_000) as people:
        yield people


def test_what_a_question_takes_is_never_more_than_was_said_before(tmp_path: Path, people: AtWorker) -> None:
    draw, asked = random.Random(3), set[str]()
    for number in range(60):
        before = _of(people, people.ada.id)
        text = random_condition(draw) + (f" or a = {number % 2}" if number % 3 == 0 else "")
        said = group.most_bytes(question := canonical(parse_predicate(text, people.domain)))
        people.store.set_grant(people.data_set.id, people.ada.id, None, None, 10**9, by=None)
        (given,) = people.ask(text, by=people.ada, key=None)
        taken = _of(people, people.ada.id) - before
        assert taken <= said
        assert (taken > 0) == (question.text not in asked)
        asked |= {question.text} if given.lasts else set()
    check_charges(people.store, people.data_set.id, ENOUGH.limit)


def _of(people: AtWorker, person: int) -> int:
    return people.store.grant(people.data_set.id, person).stored


def test_bytes_are_counted_for_whoever_asked(people: AtWorker) -> None:
    found = people.together((people.ada, ["a = 0", "b = 0"]), (people.bob, ["c = 0", "b = 1 or a = 0"]))
    assert all(isinstance(each, list) for each in found)
    check_charges(people.store, people.data_set.id, ENOUGH.limit)
    with people.store._database.reading() as connection:
        answers = connection.execute(select(ANSWERS)).all()
        findings = {_text(row): row for row in connection.execute(select(FINDINGS)).all()}
        events = connection.execute(select(EVENTS).where(EVENTS.c.person.is_not(None))).all()
    for person in (people.ada.id, people.bob.id):
        theirs = [row for row in answers if row.person == person]
        expected = sum(len(to_json(row.body)) for row in theirs)
        expected += sum(len(to_json(row.body)) for row in events if row.person == person)
        of_it = [findings[row.body["where"]] for row in theirs]
        expected += sum(len(to_json(row.body)) + len(row.vector) for row in of_it)
        assert _of(people, person) == expected


def _text(row: Any) -> str:
    from tests.service.stack import DOMAIN

    target = row.body["entry"]["target"]
    if target["kind"] == "explicit":
        return str(target["name"])
    (name,), (codes,) = target["scope"], target["codes"]
    return f"{name} = {DOMAIN[name].label(codes[0])}"


def test_when_it_is_used_up_nothing_is_held_or_looked_at(people: AtWorker) -> None:
    said = r"have taken [\d,]+ bytes of the store(.|\n)*Remedy: ask its custodian"
    with pytest.raises(QuotaError, match=said) as found:
        ask_on(people)
    assert len(people.answers()) > 5
    before, steps = everything(people.store), list(people.steps)
    error = found.value
    assert error.room < error.needed
    assert error.stored + error.room == 20_000
    with pytest.raises(QuotaError):
        people.ask("b = 3 and c = 4 and a = 1")
    assert everything(people.store) == before
    assert people.steps[len(steps) :] == ["committed"]  # of a group without any answer
    assert people.ask("a = 0", by=people.ada)  # others have room of their own
    people.store.set_grant(people.data_set.id, people.bob.id, None, None, 40_000, by=people.ada.id)
    assert people.ask("b = 3 and c = 4 and a = 1")
    assert _of(people, people.bob.id) <= 40_000


def ask_on(people: AtWorker) -> None:
    """Many questions, new ones and known ones."""
    for number in range(80):
        people.ask(f"b = {number % 4} and c = {number // 4 % 5} and a = {number // 20 % 2}")


def test_requests_of_a_group_share_what_is_left(people: AtWorker) -> None:
    people.store.set_grant(people.data_set.id, people.bob.id, None, None, 7_000, by=None)
    texts = [[f"b = {b} and c = {c}"] for b in range(3) for c in range(3)]
    found = people.together(*texts)
    assert any(isinstance(each, QuotaError) for each in found)
    assert any(isinstance(each, list) for each in found)
    assert _of(people, people.bob.id) <= 7_000


def test_a_question_that_is_too_large_stops_its_request_and_no_other(people: AtWorker) -> None:
    people.store.set_grant(people.data_set.id, people.bob.id, None, None, 3_000, by=None)
    long = " or ".join(f"(a = {n % 2} and b = {n % 4})" for n in range(60))
    refused, given = people.together((people.bob, [long, "a = 0"]), (people.ada, ["b = 1"]))
    assert isinstance(refused, QuotaError)
    assert isinstance(given, list)
    assert [each.person for each in people.answers()] == [people.ada.id]


def test_keys_of_requests_are_counted_and_refused(people: AtWorker) -> None:
    people.store.set_grant(people.data_set.id, people.bob.id, None, None, 100, by=None)
    number = people.number_of(people.bob, "k" * 60, ["a = 0"])
    taken = _of(people, people.bob.id)
    assert 60 < taken <= 100
    assert people.number_of(people.bob, "k" * 60, ["a = 0"]) == number
    with pytest.raises(QuotaError):
        people.number_of(people.bob, "l" * 60, ["a = 0"])
    assert _of(people, people.bob.id) == taken


def test_an_order_in_which_room_is_not_looked_at_is_noticed(people: AtWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_REST", -300)
    monkeypatch.setattr("hedgerow.service.sessions.worker.most_bytes", lambda _: 0)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_when_it_is_used_up_nothing_is_held_or_looked_at(people)


# ---- over HTTP -------------------------------------------------------------------------------------------------------


@pytest.fixture(name="fresh")
def one_server(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as here:
        yield here


def test_a_custodian_sets_it_and_both_are_told(fresh: Api) -> None:
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    path, asking = "/v1/datasets/survey/grants/ada", "/v1/datasets/survey/queries"
    mine = fresh.call("GET", "/v1/datasets/survey", ada).json()["mine"]
    assert (mine["storage"], mine["stored"]) == (2**28, 0)
    set_ = fresh.call("PUT", path, carol, json={"queries": None, "budget": None, "storage": 5_000}).json()
    assert (set_["storage"], set_["stored"]) == (5_000, 0)
    replies = [fresh.call("POST", asking, ada, json={"queries": [{"where": f"age = {age}"}]}) for age in range(10)]
    assert {reply.status_code for reply in replies} == {200, 403}
    problem = replies[-1].json()
    assert problem["code"] == "quota"
    assert "of the store" in problem["detail"]
    assert "ask its custodian" in problem["remedy"]
    mine = fresh.call("GET", "/v1/datasets/survey", ada).json()["mine"]
    assert 0 < mine["stored"] <= mine["storage"] == 5_000
    told = fresh.call("GET", "/v1/datasets/survey/grants", carol).json()["grants"]
    assert next(each for each in told if each["person"] == "ada")["stored"] == mine["stored"]
    fresh.call("PUT", path, carol, json={"queries": None, "budget": None})
    assert fresh.call("POST", asking, ada, json={"queries": [{"where": "age = 9"}]}).status_code == 200
