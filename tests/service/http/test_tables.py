"""Statements over HTTP: counts by groups, sums and means as tables, and what they leave in the books."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.api import RECORDS, Api, api, registration

TABLES = "/v1/datasets/survey/tables"
GROUPED = "SELECT sex, COUNT(*), AVG(age) FROM survey GROUP BY sex"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as started:
        yield started


def ask(here: Api, token: str, sql: str, key: str | None = None, **more: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return here.call("POST", TABLES, token, json={"sql": sql, **more}, headers=headers)


def test_counts_by_groups_are_one_question_of_a_person(fresh: Api) -> None:
    ada = fresh.token("ada")
    found = ask(fresh, ada, "SELECT sex, COUNT(*) FROM survey GROUP BY sex").json()
    assert (found["names"], found["columns"]) == (["sex"], ["sex", "COUNT(*)", "COUNT(*) low", "COUNT(*) high"])
    assert [row[0] for row in found["rows"]] == ["F", "M"]
    assert sum(row[1] for row in found["rows"]) == pytest.approx(RECORDS, rel=0.2)
    assert all(row[2] <= row[1] <= row[3] for row in found["rows"])
    assert sum(found["sources"].values()) == 1
    assert "with 95% confidence each" in found["covers"]
    assert found["dataset"]["mine"]["asked"] == 1
    listed = fresh.call("GET", "/v1/datasets/survey/answers", ada).json()["answers"]
    assert [each["sql"] for each in listed] == ["SELECT sex, COUNT(*) FROM survey GROUP BY sex"]
    assert listed[0]["value"] == pytest.approx(sum(row[1] for row in found["rows"]))
    assert listed[0]["counts"] == 2
    count = ask(fresh, ada, "SELECT COUNT(*) FROM survey").json()
    assert count["rows"] == [[pytest.approx(RECORDS, rel=0.2), *count["rows"][0][1:]]]
    listed = fresh.call("GET", "/v1/datasets/survey/answers", ada).json()["answers"]
    assert [each["counts"] for each in listed] == [None, 2]


def test_a_request_that_is_sent_again_is_answered_alike_and_costs_nothing_more(fresh: Api) -> None:
    ada = fresh.token("ada")
    first = ask(fresh, ada, GROUPED, key="mine", confidence=0.9)
    assert first.status_code == 200, first.text
    again = ask(fresh, ada, GROUPED, key="mine", confidence=0.9).json()
    assert again["rows"] == first.json()["rows"]
    assert again["dataset"]["spent"] == first.json()["dataset"]["spent"]
    assert len(fresh.call("GET", "/v1/datasets/survey/answers", ada).json()["answers"]) == sum(
        first.json()["sources"].values()
    )
    other = ask(fresh, ada, "SELECT sex, COUNT(*) FROM survey GROUP BY sex", key="mine")
    assert other.status_code == 409


def test_refused_statements_name_what_is_supported_and_ask_nothing(fresh: Api) -> None:
    ada = fresh.token("ada")
    for sql, remedy in (
        ("SELECT COUNT(DISTINCT sex) FROM survey", "GROUP BY"),
        ("SELECT MAX(age) FROM survey", "QUANTILE"),
        ("SELECT COUNT(*) FROM survey JOIN other ON 1 = 1", "the joined table"),
        ("SELECT COUNT(*) FROM another GROUP BY sex", "supported are"),
    ):
        refused = ask(fresh, ada, sql)
        assert refused.status_code == 422
        assert remedy in refused.text
    asked = {"queries": [{"sql": GROUPED}]}
    refused = fresh.call("POST", "/v1/datasets/survey/queries", ada, json=asked)
    assert "/tables" in refused.json()["remedy"]
    assert fresh.call("GET", "/v1/datasets/survey/answers", ada).json()["answers"] == []


def test_rows_that_are_chosen_by_their_answers_have_intervals_that_hold_together(fresh: Api) -> None:
    ada, text = fresh.token("ada"), "SELECT sex AS gender, COUNT(*) AS n FROM survey GROUP BY gender ORDER BY n"
    refused = ask(fresh, ada, f"{text} LIMIT 1", confidence=0.999999)
    assert refused.status_code == 422
    assert "all 2 intervals are to hold together" in refused.json()["detail"]
    assert fresh.call("GET", "/v1/datasets/survey", ada).json()["mine"]["asked"] == 0
    whole, first = ask(fresh, ada, f"{text} DESC").json(), ask(fresh, ada, f"{text} DESC LIMIT 1").json()
    assert whole["columns"] == ["gender", "n", "n low", "n high"]
    assert whole["rows"][0][1] >= whole["rows"][1][1]
    assert "with 95% confidence each" in whole["covers"]
    assert first["rows"][0][:2] == whole["rows"][0][:2]
    assert first["rows"][0][2] < whole["rows"][0][2]  # wider, as they hold for both
    assert first["rows"][0][3] > whole["rows"][0][3]
    assert "for all 2 together" in first["covers"]


def test_a_session_that_learns_by_a_theorem_refuses_groups_and_goes_on(fresh: Api) -> None:
    carol = fresh.token("carol", "custodian")
    options = {"variant": "4c", "updates": 5, "threshold": 0.1, "step": "residual"}
    made = fresh.call("POST", "/v1/datasets", carol, json=registration("steps", options=options))
    assert made.status_code == 201, made.text
    body = {"sql": "SELECT sex, COUNT(*) FROM steps GROUP BY sex"}
    refused = fresh.call("POST", "/v1/datasets/steps/tables", carol, json=body)
    assert refused.status_code == 422
    assert "learns from one query at a time" in refused.text
    count = fresh.call("POST", "/v1/datasets/steps/tables", carol, json={"sql": "SELECT COUNT(*), AVG(age) FROM steps"})
    assert count.status_code == 200, count.text


def test_a_person_whose_questions_are_used_up_is_told_so(fresh: Api) -> None:
    carol, ada = fresh.token("carol", "custodian"), fresh.token("ada")
    limits = {"queries": 2, "budget": None}
    assert fresh.call("PUT", "/v1/datasets/survey/grants/ada", carol, json=limits).status_code == 200
    refused = ask(fresh, ada, GROUPED)  # one for the counts, and one for each mean
    assert refused.status_code == 403
    assert "you have asked all 2 questions" in refused.text


def price(here: Api, token: str, **sent: Any) -> Any:
    reply = here.call("POST", "/v1/datasets/survey/price", token, json=sent)
    assert reply.status_code == 200, reply.text
    return reply.json()["price"]


def test_a_price_is_told_before_and_is_never_passed(fresh: Api) -> None:
    carol, ada = fresh.token("carol", "custodian"), fresh.token("ada")
    most = fresh.call("GET", "/v1/datasets/survey", ada).json()["updates_left"]
    for sql in (GROUPED, "SELECT COUNT(*) FROM survey", "SELECT sex, MEDIAN(age) FROM survey GROUP BY sex"):
        told = price(fresh, ada, sql=sql)
        assert told["questions"] >= told["corrections"] > 0
        assert told["corrections"] <= most
        before = fresh.call("GET", "/v1/datasets/survey", ada).json()
        found = ask(fresh, ada, sql).json()
        assert told["rows"] == len(found["rows"])
        assert sum(found["sources"].values()) <= told["questions"]
        assert found["sources"].get("data", 0) <= told["corrections"]
        assert found["charged"] <= told["cost"] + 1e-12
        assert told["cost"] == pytest.approx(told["corrections"] * before["price"])
    counted = price(fresh, ada, group_by=["sex", "job"], where="age < 3")
    assert (counted["rows"], counted["questions"], counted["unit"]) == (6, 1, "epsilon")
    correlation = {"sql": "SELECT CORR(age, age) FROM survey"}
    refused = fresh.call("POST", "/v1/datasets/survey/price", ada, json=correlation)
    assert refused.status_code == 422
    before = fresh.call("GET", "/v1/datasets/survey", carol).json()
    price(fresh, carol, sql=GROUPED)
    assert fresh.call("GET", "/v1/datasets/survey", carol).json() == before


def test_a_price_knows_a_share_and_an_end(fresh: Api) -> None:
    carol, ada = fresh.token("carol", "custodian"), fresh.token("ada")
    each = fresh.call("GET", "/v1/datasets/survey", ada).json()["price"]
    for corrections in (0, 1, 2):
        limits = {"queries": None, "budget": corrections * each}
        assert fresh.call("PUT", "/v1/datasets/survey/grants/ada", carol, json=limits).status_code == 200
        assert price(fresh, ada, sql=GROUPED)["corrections"] == corrections
    fresh.call("POST", "/v1/datasets/survey/close", carol)
    assert price(fresh, carol, sql=GROUPED)["corrections"] == 0
    found = fresh.call("POST", TABLES, carol, json={"sql": GROUPED}).json()
    assert (set(found["sources"]), found["charged"]) == ({"hypothesis only"}, 0.0)


STATEMENTS = (GROUPED, "SELECT COUNT(*) FROM survey WHERE age < 3", "SELECT MEDIAN(age) FROM survey WHERE sex = 'F'")


def books(here: Api) -> list[Any]:
    carol = here.token("carol", "custodian")
    paths = ("ledger", "answers", "grants")
    return [here.call("GET", f"/v1/datasets/survey/{path}", carol).json() for path in paths]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_is_free_leaves_nothing_in_the_books_whether_it_was_asked_before_or_not(fresh: Api, sql: str) -> None:
    ada, bob = fresh.token("ada"), fresh.token("bob")
    books(fresh)
    before = books(fresh)
    new = ask(fresh, ada, sql, free=True).json()
    assert (set(new["sources"]), new["charged"], new["confidence"]) == ({"hypothesis only"}, 0.0, None)
    assert books(fresh) == before
    asked = ask(fresh, ada, sql).json()
    after = books(fresh)
    assert after != before
    for token in (ada, bob):
        again = ask(fresh, token, sql, free=True).json()
        assert again["rows"] == asked["rows"]
        assert (again["charged"], again["confidence"]) == (0.0, 0.95)
        assert set(again["sources"]) <= {"cache", "public"}
    assert books(fresh) == after


def test_what_is_free_is_answered_for_those_who_may_ask_no_more(fresh: Api) -> None:
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    fresh.call("PUT", "/v1/datasets/survey/grants/ada", carol, json={"queries": 0, "budget": 0.0})
    assert ask(fresh, ada, GROUPED).status_code == 403
    assert ask(fresh, ada, GROUPED, free=True).status_code == 200
    assert ask(fresh, fresh.token("eve", data_sets=("other",)), GROUPED, free=True).status_code == 404
    assert ask(fresh, ada, GROUPED, free="yes").status_code == 422
