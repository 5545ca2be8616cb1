"""The routes at work: what is asked, looked up, downloaded, limited and written down."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from hedgerow import OnlinePMW
from hedgerow.errors import TableError
from hedgerow.privacy import ApproxDP
from hedgerow.service import SessionWorker, domain_of
from hedgerow.service.http import app, problems, requests, responses, routes_questions, uploads
from tests.service.api import BUDGET, DOMAIN, OPTIONS, RECORDS, Api, api, registration

QUERIES = "/v1/datasets/survey/queries"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as started:
        yield started


def ask(here: Api, token: str, *conditions: str, key: str | None = None, **more: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    body = {"queries": [{"where": each} for each in conditions], **more}
    return here.call("POST", QUERIES, token, json=body, headers=headers)


def test_me(here: Api) -> None:
    token = here.token("eve", data_sets=("survey",), days=1)
    me = here.call("GET", "/v1/me", token).json()
    assert (me["person"], me["role"], me["datasets"]) == ("eve", "analyst", ["survey"])
    assert 0 < (datetime.fromisoformat(me["expires"]) - datetime.now(UTC)).total_seconds() <= 86_400


def test_a_data_set_is_described(here: Api, ada: str) -> None:
    told = here.call("GET", "/v1/datasets/survey", ada).json()
    assert (told["status"], told["total"], told["unit"], told["limit"]) == ("open", RECORDS, "epsilon", 4.0)
    kinds = {each["name"]: (each["kind"], each["size"], each["values"]) for each in told["attributes"]}
    assert kinds == {
        "sex": ("categorical", 2, ["F", "M"]),
        "age": ("integer", 10, [str(age) for age in range(10)]),
        "job": ("categorical", 3, ["clerk", "cook", "?"]),
    }
    age = told["attributes"][1]
    assert (age["low"], age["high"], age["missing"], age["other"]) == (0, 9, None, None)
    listed = here.call("GET", "/v1/datasets", ada).json()["datasets"]
    assert listed[0].items() <= told.items()


def test_large_attributes_are_not_listed(fresh: Api) -> None:
    carol = fresh.token("carol", "custodian")
    domain = {"sex": ["F", "M"], "age": {"min": 0, "max": 5000}, "job": {"min": 0.0, "max": 1.0, "bins": 4}}
    domain |= {"day": {"min": "2015-01-01", "max": "2024-12-31"}}
    (fresh.folder / "large.csv").write_text("sex,age,job,day\n" + "F,1,0.5,2020-02-29\n" * 100)
    made = fresh.call(
        "POST", "/v1/datasets", carol, json=registration("large", source={"place": "large.csv"}, domain=domain)
    )
    assert made.status_code == 201, made.text
    attributes = {each["name"]: each for each in made.json()["attributes"]}
    assert (attributes["age"]["values"], attributes["age"]["size"]) == (None, 5001)
    assert (attributes["job"]["kind"], attributes["job"]["low"]) == ("binned", None)
    assert (attributes["day"]["low"], attributes["day"]["text"]) == (None, "dates from 2015-01-01 to 2024-12-31")


def test_a_plan_is_the_library_s_and_keeps_nothing(here: Api, carol: str) -> None:
    domain = {"sex": ["F", "M"], "age": {"min": 0, "max": 9}, "job": ["clerk", "cook"]}
    budget = {"epsilon": 2.0, "delta": 1e-9}
    asked = {"domain": domain, "columns": ["age", "sex"], "budget": budget, "records": 40_000}
    names = [each["name"] for each in here.call("GET", "/v1/datasets", carol).json()["datasets"]]
    told = here.call("POST", "/v1/plan", carol, json={**asked, "options": {"updates": 9, "first_release": 0}}).json()[
        "lines"
    ]
    plan = OnlinePMW(updates=9).plan(domain_of(domain, asked), ApproxDP(**budget), 40_000.0)
    kept = [line for line in plan.lines(40_000) if line[0] not in ("memory", "calls")]  # free memory is not told
    assert [(line["word"], line["sentence"]) for line in told] == kept
    assert [line["word"] for line in told][:4] == ["time", "variant", "queries", "updates"]
    assert [each["name"] for each in here.call("GET", "/v1/datasets", carol).json()["datasets"]] == names
    wrong = here.call("POST", "/v1/plan", carol, json={**asked, "columns": ["wage"]})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid")


def test_the_three_languages_say_the_same(here: Api, ada: str) -> None:
    questions = [
        {"sql": "select count(*) from survey where age between 2 and 4 and sex = 'M'"},
        {"where": "sex = 'M' and age >= 2 and age <= 4"},
        {
            "predicate": {
                "and": [{"attribute": "sex", "op": "=", "value": "M"}, {"attribute": "age", "between": [2, 4]}]
            }
        },
    ]
    given = here.call("POST", QUERIES, ada, json={"queries": questions}).json()["answers"]
    assert len({each["sql"] for each in given}) == len({each["value"] for each in given}) == 1
    assert given[0]["sql"] == "SELECT COUNT(*) FROM survey WHERE sex = 'M' and age between 2 and 4"
    assert [each["source"] for each in given[1:]] == ["cache"] * 2


def test_what_an_answer_calls_its_question_can_be_asked(here: Api, ada: str) -> None:
    conditions = ("sex = 'M' or age > 7", "not job = '?'", "", "age in (1, 3)", "age > 20")
    for given in ask(here, ada, *conditions).json()["answers"]:
        again = here.call("POST", QUERIES, ada, json={"queries": [{"sql": given["sql"]}]})
        assert again.status_code == 200, again.text
        assert again.json()["answers"][0]["value"] == given["value"]


def test_answers_and_the_data_set_after_them(here: Api, ada: str) -> None:
    told = ask(here, ada, "age = 0", "age = 0", confidence=0.8).json()
    first, again = told["answers"]
    assert first["low"] <= first["value"] <= first["high"]
    assert (first["confidence"], again["source"], again["charged"]) == (0.8, "cache", 0.0)
    assert told["dataset"]["spent"] == again["spent"]
    assert told["dataset"]["mine"]["asked"] >= 2


def test_a_key_sent_again_is_answered_as_before_and_charged_once(fresh: Api) -> None:
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    first = ask(fresh, ada, "age = 0", "sex = 'F'", key="once").json()
    second = ask(fresh, ada, "age = 0", "sex = 'F'", key="once").json()
    assert second["answers"] == first["answers"]
    assert second["dataset"] == first["dataset"]
    assert len(fresh.call("GET", "/v1/datasets/survey/answers", carol).json()["answers"]) == 2


def test_what_was_given_under_a_key_is_given_again_without_the_table(
    fresh: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    eve = fresh.token("eve")
    first = ask(fresh, eve, "age < 3", "age < 5", key="k").json()["answers"]

    def gone(*_: Any, **__: Any) -> None:
        raise TableError("the private table cannot be read now")

    monkeypatch.setattr(SessionWorker, "_put", gone)
    assert ask(fresh, eve, "age < 3", "age < 5", key="k").json()["answers"] == first
    assert ask(fresh, eve, "age < 3", "age < 5").json()["answers"][0]["source"] == "cache"
    assert ask(fresh, eve, "age < 4", key="another").json()["code"] == "table"


def test_a_batch_that_was_interrupted_goes_on(fresh: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit stops a batch half way; when the limit is gone the same request gives the rest."""
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    path = "/v1/datasets/survey/grants/ada"
    assert fresh.call("PUT", path, carol, json={"queries": 2, "budget": None}).status_code == 200
    refused = ask(fresh, ada, "age = 0", "age = 1", "age = 2", key="batch")
    assert (refused.status_code, refused.json()["code"]) == (403, "not-allowed")
    kept = {
        each["where"]: each["value"] for each in fresh.call("GET", "/v1/datasets/survey/answers", ada).json()["answers"]
    }
    fresh.call("PUT", path, carol, json={"queries": None, "budget": None})
    given = ask(fresh, ada, "age = 0", "age = 1", "age = 2", key="batch").json()["answers"]
    assert len(given) == 3
    assert {each["where"]: each["value"] for each in given}.items() >= kept.items()


def test_limits_of_an_analyst_are_told_to_both(fresh: Api) -> None:
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    set_ = fresh.call("PUT", "/v1/datasets/survey/grants/ada", carol, json={"queries": 3, "budget": 0.5}).json()
    assert (set_["queries"], set_["budget"], set_["asked"]) == (3, 0.5, 0)
    ask(fresh, ada, "age = 0", "age = 1")
    mine = fresh.call("GET", "/v1/datasets/survey", ada).json()["mine"]
    assert (mine["queries"], mine["asked"], mine["budget"]) == (3, 2, 0.5)
    grants = fresh.call("GET", "/v1/datasets/survey/grants", carol).json()["grants"]
    assert next(each for each in grants if each["person"] == "ada")["asked"] == 2


def test_lists_are_paged_without_gap_or_repetition(fresh: Api) -> None:
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    for age in range(7):
        ask(fresh, ada, f"age = {age}")
    lists = {
        "/v1/datasets/survey/answers": ("answers", ada),
        "/v1/datasets/survey/ledger": ("events", carol),
        "/v1/audit": ("entries", carol),
    }
    for path, (name, token) in lists.items():
        whole = fresh.call("GET", path, token, params={"limit": 1000}).json()
        assert whole["next"] is None
        pages, cursor = [], None
        while True:
            params = {"limit": 2, **({} if cursor is None else {"cursor": cursor})}
            page = fresh.call("GET", path, token, params=params).json()
            pages += page[name]
            if (cursor := page["next"]) is None:
                break
            assert len(page[name]) == 2
        assert pages == whole[name]
        assert len(pages) >= 2


def test_the_ledger_adds_up(here: Api, ada: str, carol: str) -> None:
    ask(here, ada, "age = 0", "age = 9", "sex = 'F' and age < 3")
    told = here.call("GET", "/v1/datasets/survey/ledger?limit=1000", carol).json()
    assert sum(each["charge"] for each in told["events"]) == pytest.approx(told["spent"])
    assert told["spent"] + told["remaining"] == pytest.approx(told["limit"])
    assert (told["unit"], told["held"]) == ("epsilon", 0.0)
    assert {each["person"] for each in told["events"]} <= {"ada", "bob", "carol", None}


def test_a_closed_data_set_answers_from_its_hypothesis(fresh: Api) -> None:
    ada, carol = fresh.token("ada"), fresh.token("carol", "custodian")
    before = ask(fresh, ada, "age = 0").json()["dataset"]
    closed = fresh.call("POST", "/v1/datasets/survey/close", carol).json()
    assert (closed["status"], closed["spent"]) == ("closed", before["spent"])
    assert closed["closed"]
    after = ask(fresh, ada, "age = 1").json()
    assert (after["answers"][0]["source"], after["answers"][0]["low"]) == ("hypothesis only", None)
    assert after["dataset"]["spent"] == before["spent"]
    assert fresh.call("GET", "/v1/datasets/survey/records?n=3", ada).status_code == 200


def test_a_marginal(here: Api, ada: str) -> None:
    told = here.call("GET", "/v1/datasets/survey/marginals?attributes=age,sex", ada).json()
    assert told["attributes"] == ["age", "sex"]
    assert [len(each) for each in told["labels"]] == [10, 2]
    assert [len(told["counts"]), len(told["counts"][0])] == [10, 2]
    assert sum(map(sum, told["counts"])) == pytest.approx(told["total"]) == pytest.approx(RECORDS)
    turned = here.call("GET", "/v1/datasets/survey/marginals?attributes=sex,age", ada).json()
    assert turned["counts"] == [list(row) for row in zip(*told["counts"], strict=True)]
    quoted = here.call("GET", '/v1/datasets/survey/marginals?attributes="age",sex', ada).json()
    assert quoted == told


def test_records_as_csv(here: Api, ada: str) -> None:
    answer = here.call("GET", "/v1/datasets/survey/records?n=5", ada)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="survey-synthetic.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 5
    assert set(rows[0]) == {"sex", "age", "job"}
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_records_as_parquet_and_by_default_as_many_as_there_are(here: Api, ada: str) -> None:
    answer = here.call("GET", "/v1/datasets/survey/records?format=parquet", ada)
    table = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    assert (table.num_rows, table.column_names) == (RECORDS, ["sex", "age", "job"])


def test_downloads_cost_nothing_and_leave_no_file(
    here: Api, ada: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = here.call("GET", "/v1/datasets/survey", ada).json()["spent"]
    assert here.call("GET", "/v1/datasets/survey/records?n=1000", ada).status_code == 200
    assert list(tmp_path.iterdir()) == []
    assert here.call("GET", "/v1/datasets/survey", ada).json()["spent"] == before


def test_few_downloads_are_made_at_a_time(fresh: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, go_on, begun = fresh.token("ada"), threading.Event(), threading.Semaphore(0)
    real = routes_questions._written

    def slow(*given: Any) -> Any:
        begun.release()
        go_on.wait(20)
        return real(*given)

    monkeypatch.setattr(routes_questions, "_written", slow)
    found: list[int] = []
    path = "/v1/datasets/survey/records?n=2"
    waiting = [
        threading.Thread(target=lambda: found.append(fresh.call("GET", path, ada).status_code)) for _ in range(2)
    ]
    for each in waiting:
        each.start()
    for _ in waiting:
        assert begun.acquire(timeout=20)
    refused = fresh.call("GET", path, ada)
    go_on.set()
    for each in waiting:
        each.join()
    assert (refused.status_code, refused.json()["code"], found) == (503, "busy", [200, 200])
    assert fresh.call("GET", path, ada).status_code == 200


def test_a_file_is_uploaded_and_registered_from(fresh: Api) -> None:
    carol = fresh.token("carol", "custodian")
    content = (fresh.folder / "survey.csv").read_bytes()
    taken = fresh.call("PUT", "/v1/files/second.csv", carol, content=content)
    assert (taken.status_code, taken.json()) == (201, {"name": "second.csv", "bytes": len(content)})
    path = fresh.folder / "second.csv"
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.stat(path).st_nlink == 1
    made = fresh.call("POST", "/v1/datasets", carol, json=registration("second", source={"place": "second.csv"}))
    assert (made.status_code, made.json()["source"]) == (201, {"place": "second.csv", "coded": False})


def test_records_that_break_a_rule_are_refused_or_left_out(fresh: Api) -> None:
    """To the custodian rows are told; of those that are left out, not even the number is told to anyone."""
    carol = fresh.token("carol", "custodian")
    domain = {"attributes": DOMAIN, "constraints": [{"impossible": "age = 9 and job is null"}]}
    refused = fresh.call("POST", "/v1/datasets", carol, json=registration("ruled", domain=domain))
    assert refused.status_code == 422, refused.json()
    assert "impossible: age = 9 and job is null" in str(refused.json())
    source = {"place": "survey.csv", "violations": "drop"}
    plain = fresh.call("POST", "/v1/datasets", carol, json=registration("plain", source=source))
    assert plain.json()["statement"].count("before the filter") == 0  # no rule, so nothing is left out
    made = fresh.call("POST", "/v1/datasets", carol, json=registration("ruled", domain=domain, source=source))
    assert made.status_code == 201, made.json()
    assert made.json()["source"] == {**source, "coded": False}
    assert "before the filter" in made.json()["statement"]
    assert made.json()["spent"] > 0.0
    asked = fresh.call("POST", "/v1/datasets/ruled/queries", carol, json={"queries": [{"where": "age = 9"}]})
    assert asked.status_code == 200, asked.json()
    fresh.workers.close()
    (kept,) = [each for each in fresh.store.data_sets() if each.name == "ruled"]
    assert kept.registration.source["violations"] == "drop"


def test_drafts_are_refused_and_columns_that_are_not_read_are_told(fresh: Api) -> None:
    carol = fresh.token("carol", "custodian")
    domain = {"attributes": {name: entry for name, entry in DOMAIN.items() if name != "job"}, "ignore": ["job"]}
    drafted = registration("few", domain={**domain, "draft": True})
    refused = fresh.call("POST", "/v1/datasets", carol, json=drafted)
    assert refused.status_code == 422, refused.json()
    assert "is a draft" in str(refused.json())
    made = fresh.call("POST", "/v1/datasets", carol, json=registration("few", domain=domain))
    assert made.status_code == 201, made.json()
    assert made.json()["left_out"] == "Columns that are not read: job."
    assert [each["name"] for each in made.json()["attributes"]] == list(domain["attributes"])


def test_levels_and_constraints_are_told_and_may_be_asked_about(fresh: Api) -> None:
    carol = fresh.token("carol", "custodian")
    ages = {"age": {**DOMAIN["age"], "levels": [5]}}
    domain = {"attributes": {**DOMAIN, **ages}, "constraints": [{"impossible": "age = 9 and job is null"}]}
    source = {"place": "survey.csv", "violations": "drop"}
    made = fresh.call("POST", "/v1/datasets", carol, json=registration("ruled", domain=domain, source=source)).json()
    (level,) = made["derived"]
    assert (level["name"], level["sources"], level["column"], level["kind"]) == ("age.5", ["age"], False, "binned")
    assert level["size"] == len(level["values"])
    assert made["constraints"] == ["impossible: age = 9 and job is null"]
    assert "records that can exist (1 constraint)" in made["records"]
    assert made["left_out"].startswith("Records that break a rule of the domain are left out")
    free = registration("free", domain={"attributes": domain["attributes"]}, source=source)
    assert fresh.call("POST", "/v1/datasets", carol, json=free).json()["left_out"] == ""
    label = level["values"][0]
    where = f"\"age.5\" = '{label}' and sex = 'F'"
    asked = fresh.call("POST", "/v1/datasets/ruled/queries", carol, json={"queries": [{"where": where}]})
    assert asked.status_code == 200, asked.json()
    told = fresh.call("GET", "/v1/datasets/ruled/marginals?attributes=age.5,sex", carol).json()
    assert told["labels"][0] == level["values"]
    assert [len(row) for row in told["counts"]] == [2] * level["size"]
    cells = fresh.call("GET", "/v1/datasets/ruled/marginals?attributes=age,job", carol).json()
    nine, none = cells["labels"][0].index("9"), cells["labels"][1].index("?")
    assert cells["counts"][nine][none] == 0.0
    hidden = fresh.call("GET", "/v1/datasets/ruled/marginals?attributes=age/classes", carol)
    assert hidden.status_code == 422


def test_an_upload_that_is_broken_off_leaves_nothing(fresh: Api) -> None:
    import anyio
    from starlette.requests import ClientDisconnect

    async def pieces() -> Any:
        yield b"x" * (3 << 20)
        assert any(each.name.startswith(".upload-") for each in fresh.folder.iterdir())
        raise ClientDisconnect

    async def run() -> None:
        await uploads.taken(pieces(), fresh.folder / "half.csv")

    with pytest.raises(ClientDisconnect):
        anyio.run(run)
    assert [each.name for each in fresh.folder.iterdir()] == ["survey.csv"]


def test_two_uploads_of_one_name_leave_one_file(fresh: Api) -> None:
    import anyio

    from hedgerow.errors import ConflictError

    async def slow(letter: bytes, other: anyio.Event, own: anyio.Event) -> Any:
        own.set()
        await other.wait()
        yield letter * 1000

    outcome: list[str] = []

    async def one(letter: bytes, other: anyio.Event, own: anyio.Event) -> None:
        try:
            await uploads.taken(slow(letter, other, own), fresh.folder / "same.csv")
            outcome.append(letter.decode())
        except ConflictError:
            outcome.append("conflict")

    async def run() -> None:
        first, second = anyio.Event(), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(one, b"a", second, first)
            group.start_soon(one, b"b", first, second)

    anyio.run(run)
    (winner,) = set(outcome) - {"conflict"}
    assert len(outcome) == 2
    assert (fresh.folder / "same.csv").read_text() == winner * 1000


def test_what_is_done_is_written_down(fresh: Api) -> None:
    carol = fresh.token("carol", "custodian")
    fresh.call("POST", "/v1/people", carol, json={"name": "ada", "role": "analyst"})
    made = fresh.call("POST", "/v1/tokens", carol, json={"person": "ada", "datasets": "all", "note": "laptop"}).json()
    fresh.call("PUT", "/v1/datasets/survey/grants/ada", carol, json={"queries": 5, "budget": None})
    fresh.call("GET", "/v1/datasets/survey/records?n=2", made["token"])
    fresh.call("PUT", "/v1/files/x.csv", carol, content=b"a\n1\n")
    fresh.call("DELETE", f"/v1/tokens/{made['id']}", carol)
    fresh.call("POST", "/v1/datasets/survey/close", carol)
    fresh.call("GET", "/v1/me", "garbage")
    entries = fresh.call("GET", "/v1/audit?limit=1000", carol).json()["entries"]
    text = str(entries)
    assert made["token"].split("_", 2)[2] not in text
    by = [(each["person"], each["action"]) for each in reversed(entries)]
    assert by[-8:] == [
        ("carol", "add person"),
        ("carol", "add token"),
        ("carol", "grant"),
        ("ada", "records"),
        ("carol", "upload"),
        ("carol", "revoke token"),
        ("carol", "close"),
        (None, "sign-in refused"),
    ]
    assert ("carol", "register") in by


def test_a_store_that_does_not_answer_is_told_and_logged(
    fresh: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the store is concerns whoever runs the server, and nobody who has no token."""
    from hedgerow.errors import StoreError

    def gone(*_: object) -> None:
        raise StoreError("the store cannot be read", remedy="try again later", place="postgresql://inner/answers")

    monkeypatch.setattr(type(fresh.store), "rehearse", gone)
    assert fresh.call("GET", "/v1/health").json()["status"] == "ok"  # it is alive
    answer = fresh.call("GET", "/v1/ready")
    assert (answer.status_code, answer.json()["code"]) == (503, "store")
    assert answer.json()["detail"] == "the store cannot be read"
    assert "postgresql://inner/answers: the store cannot be read" in caplog.text


@pytest.mark.slow
def test_many_ask_at_once(here: Api, ada: str) -> None:
    """More threads wait for answers than a default pool has; health is answered meanwhile."""
    found: list[int] = []

    def one(age: int) -> None:
        found.append(ask(here, ada, f"age = {age % 10}", f"age < {age % 10}").status_code)

    threads = [threading.Thread(target=one, args=(age,)) for age in range(60)]
    for each in threads:
        each.start()
    assert here.call("GET", "/v1/health").status_code == 200
    for each in threads:
        each.join()
    assert found == [200] * 60


def test_those_who_wait_leave_threads_for_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hedgerow.service import SessionWorkers

    go_on, begun = threading.Event(), threading.Semaphore(0)
    real = SessionWorkers.ask

    def slow(*given: Any, **more: Any) -> Any:
        begun.release()
        go_on.wait(20)
        return real(*given, **more)

    with api(tmp_path, threads=4) as here:
        ada = here.token("ada")
        monkeypatch.setattr(SessionWorkers, "ask", slow)
        found: list[int] = []
        waiting = [threading.Thread(target=lambda: found.append(ask(here, ada, "age = 1").status_code)) for _ in "abc"]
        for each in waiting:
            each.start()
        for _ in waiting:
            assert begun.acquire(timeout=20)
        refused = ask(here, ada, "age = 2")
        healthy = here.call("GET", "/v1/health")
        go_on.set()
        for each in waiting:
            each.join()
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert (healthy.status_code, found) == (200, [200] * 3)


# The description


def described(here: Api) -> dict[str, Any]:
    found: dict[str, Any] = here.client.get("/v1/openapi.json").json()
    return found


def test_every_operation_is_described(here: Api) -> None:
    schema = described(here)
    operations = {
        (method.upper(), path): each for path, item in schema["paths"].items() for method, each in item.items()
    }
    assert set(operations) == {(each.method, each.path) for each in app.OPERATIONS if each.in_schema}
    for (method, path), each in operations.items():
        assert each["summary"]
        assert each["description"].startswith(each["summary"])
        statuses = set(each["responses"])
        assert {"422", "500", "503"} <= statuses
        assert ("401" in statuses) == ("429" in statuses) == ("security" in each)
        assert ("413" in statuses) == (method in ("POST", "PUT"))
        named = any(name in path for name in ("{name}", "{person}", "{id}"))
        assert ("404" in statuses) == (
            named or (method, path) in (("POST", "/v1/tokens"), ("DELETE", "/v1/files/{file}"))
        )
        for parameter in each.get("parameters", ()):
            assert parameter["description"], (path, parameter["name"])
        for status, response in each["responses"].items():
            if int(status) >= 400:
                (media, content), *others = response["content"].items()
                assert (media, others, content["schema"]) == (
                    problems.MEDIA_TYPE,
                    [],
                    {"$ref": "#/components/schemas/Problem"},
                )
                assert all(example["value"]["status"] == int(status) for example in content["examples"].values())


def test_bodies_have_examples_that_are_taken(fresh: Api) -> None:
    asked = (
        requests.RegistrationRequest,
        requests.QuestionsRequest,
        requests.GrantRequest,
        requests.PersonRequest,
        requests.TokenRequest,
    )
    for model in (*asked, responses.AnswersResponse, responses.MarginalResponse):
        for example in model.model_json_schema()["examples"]:
            model.model_validate(example)


class _Addresses(HTMLParser):
    """What a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [
            value or "" for name, value in attrs if name in ("href", "src", "style") or name.startswith("on")
        ]


def test_the_page_about_the_api_needs_no_other_host_and_no_script(here: Api) -> None:
    answer = here.client.get("/v1/docs")
    page = _Addresses()
    page.feed(answer.text)
    inside = {each for each in page.found if each.startswith("#")}
    assert set(page.found) - inside == {"../icon.svg", "../style.css", "docs.css", "../", "openapi.json"}
    assert len(inside) == sum(each.in_schema for each in app.OPERATIONS)
    assert all(f'id="{each[1:]}"' in answer.text for each in inside)
    assert not page.tags & {"script", "style", "iframe", "img"}
    assert here.client.get("/v1/docs.css").headers["content-type"].startswith("text/css")
    for each in app.OPERATIONS:
        assert not each.in_schema or each.path in answer.text
    assert "SELECT COUNT(*) FROM adult" in answer.text
    assert "&quot;low&quot;: 32311.0" in answer.text


def test_the_page_about_the_api_escapes_what_it_shows() -> None:
    from hedgerow.service.http.web import page

    operation = {"operationId": "<b>", "summary": "<b>", "responses": {}}
    text = page({"info": {"title": "<b>", "description": "<b>"}, "paths": {"/<b>": {"get": operation}}})
    assert "<b>" not in text


# Domains


def test_a_domain_is_read_from_yaml_as_from_json(here: Api, carol: str) -> None:
    mapping = {"attributes": {"sex": ["F", "M"], "age": {"min": 0, "max": 9, "missing": True}}}
    rules = {**mapping, "constraints": [{"impossible": "age > 7 and sex = 'M'"}]}
    age = "age: {min: 0, max: 9, missing: true}"
    yaml = f"attributes:\n  sex: [F, M]\n  {age}\nconstraints:\n- impossible: age > 7 and sex = 'M'"
    forms = ({"domain": rules}, {"text": json.dumps(rules)}, {"text": yaml})
    answers = [here.call("POST", "/v1/domain", carol, json=sent).json() for sent in forms]
    assert answers[0] == answers[1] == answers[2]
    told = answers[0]
    assert told["domain"] == rules
    assert [each["name"] for each in told["attributes"]] == ["sex", "age"]
    assert told["constraints"] == ["impossible: age > 7 and sex = 'M'"]
    assert told["records"] == "22 cells, 20 of them records that can exist (1 constraint)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("sex: [F, M", "line 1 is not YAML"),
        ("a: [1]\na: [2]", "'a' is given twice"),
        ("a: &x [1, 2]\nb: *x", "alias"),
        ("[" * 30_000, "nested too deeply"),
        ("{a: " * 100 + "1" + "}" * 100, "nest"),
        ("a: [1e999]", "no number Infinity"),
        ("- a\n- b", "does not map columns"),
        ("draft: true\nattributes: {a: [1, 2]}", "draft"),
        ("a: {values: [1, 2], levels: {table: /etc/passwd}}", "file"),
        ("a: {min: 5, max: 1}", "'a'"),
    ],
)
def test_a_text_that_is_no_domain_is_refused(here: Api, carol: str, text: str, word: str) -> None:
    answer = here.call("POST", "/v1/domain", carol, json={"text": text})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text
    assert word in answer.json()["detail"]
    assert len(answer.text) < 2000


def test_a_domain_is_sent_once(here: Api, carol: str) -> None:
    for sent in ({}, {"text": "a: [1]", "domain": {"a": [1]}}, {"text": "a" * 50_001}):
        assert here.call("POST", "/v1/domain", carol, json=sent).status_code == 422


# First releases


def test_a_registered_data_set_starts_from_a_first_release(tmp_path: Path) -> None:
    """Unless it is told not to, or starts from something else; what it takes is the first part of the account."""
    options = {name: value for name, value in OPTIONS.items() if name != "first_release"}
    with api(tmp_path) as here:
        ada = here.token("ada", "custodian")
        shares = {}
        for name, first in (("usual", None), ("half", 0.5), ("none", 0)):
            asked = {**options} if first is None else {**options, "first_release": first}
            made = here.call("POST", "/v1/datasets", ada, json=registration(name, options=asked))
            assert made.status_code == 201, made.text
            told = made.json()
            shares[name] = told["account"]["opening"] / told["limit"]
            assert told["learnt"] == (first != 0)
            assert told["source"].get("first_release") == {"usual": 0.25, "half": 0.5, "none": None}[name]
        assert shares == {"usual": pytest.approx(0.25), "half": pytest.approx(0.5), "none": 0.0}
        wrong = here.call(
            "POST", "/v1/datasets", ada, json=registration("all", options={**options, "first_release": 1})
        )
        assert wrong.status_code == 422


def test_a_plan_tells_of_the_first_release(tmp_path: Path) -> None:
    options = {name: value for name, value in OPTIONS.items() if name != "first_release"}
    with api(tmp_path) as here:
        ada = here.token("ada", "custodian")
        asked = {"domain": DOMAIN, "budget": BUDGET, "records": 4000}
        lines = {}
        for share in (None, 0.5, 0):
            told = here.call("POST", "/v1/plan", ada, json={**asked, "options": options | {"first_release": share}})
            assert told.status_code == 200, told.text
            lines[share] = {line["word"]: line["sentence"] for line in told.json()["lines"]}
        assert lines[None]["first release"].startswith("25% of the budget")
        assert lines[0.5]["first release"].startswith("50% of the budget")
        assert "first release" not in lines[0]
        assert lines[0.5]["charges"].startswith("2 epsilon")
        assert lines[0]["charges"].startswith("4 epsilon")
