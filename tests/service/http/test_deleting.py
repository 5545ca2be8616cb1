"""Data sets and uploads are deleted: answers are gone, what was spent stays. Lists come in pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from hedgerow.service import SessionWorkers, Store
from tests.service.api import Api, api, registration


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Api]:
    with api(tmp_path) as started:
        yield started


@pytest.fixture
def carol(here: Api) -> str:
    return here.token("carol", "custodian")


def rows(tmp_path: Path, table: str) -> int:
    engine = create_engine(f"sqlite:///{tmp_path}/store.db")
    try:
        with engine.connect() as connection:
            return int(connection.scalar(text(f"SELECT COUNT(*) FROM {table}")) or 0)
    finally:
        engine.dispose()


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def asked(here: Api, token: str, where: str = "age < 3") -> Any:
    sent = {"json": {"queries": [{"where": where}]}, "headers": {"Idempotency-Key": "abc"}}
    return here.call("POST", "/v1/datasets/survey/queries", token, **sent)


def test_a_closed_data_set_goes_with_all_but_what_it_spent(here: Api, carol: str, tmp_path: Path) -> None:
    ada = here.token("ada")
    assert asked(here, ada).status_code == 200
    spent = here.call("GET", "/v1/datasets/survey/ledger", carol).json()
    assert code(here.call("DELETE", "/v1/datasets/survey", carol)) == (409, "conflict")
    here.call("POST", "/v1/datasets/survey/close", carol)
    assert asked(here, ada).status_code == 200  # the hypothesis answers
    assert rows(tmp_path, "answers") == rows(tmp_path, "requests") == 1
    assert here.call("DELETE", "/v1/datasets/survey", carol).status_code == 204
    for table in ("answers", "requests", "findings", "openings", "models"):
        assert rows(tmp_path, table) == 0, table
    assert rows(tmp_path, "events") == len(spent["events"]) > 0
    for path in ("", "/ledger", "/answers", "/domain"):
        assert code(here.call("GET", f"/v1/datasets/survey{path}", carol)) == (404, "not-there")
    assert code(asked(here, ada)) == (404, "not-there")
    assert here.call("GET", "/v1/datasets", carol).json()["datasets"] == []
    entry = here.call("GET", "/v1/audit?limit=1", carol).json()["entries"][0]
    assert (entry["person"], entry["action"], entry["subject"]) == ("carol", "discard", "survey")
    here.store.check_audit()
    with pytest.raises(AssertionError):  # nothing is left to delete
        assert here.call("DELETE", "/v1/datasets/survey", carol).status_code == 204


def test_a_name_that_tokens_name_opens_no_other_table(here: Api, carol: str) -> None:
    scoped = here.token("ada", data_sets=("survey",))
    here.call("POST", "/v1/datasets/survey/close", carol)
    here.call("DELETE", "/v1/datasets/survey", carol)
    again = here.call("POST", "/v1/datasets", carol, json=registration())
    assert code(again) == (409, "conflict")
    assert here.call("GET", "/v1/datasets", scoped).json()["datasets"] == []
    assert here.call("POST", "/v1/datasets", carol, json=registration("another")).status_code == 201
    assert here.call("GET", "/v1/datasets", scoped).json()["datasets"] == []


def test_a_deletion_by_one_process_ends_the_answers_of_another(here: Api, carol: str, tmp_path: Path) -> None:
    """Also those that the other has in memory."""
    other = Store.open(tmp_path / "store.db")
    workers = SessionWorkers(other, here.folder, tick=0.0)
    try:
        data_set, person = other.data_set("survey"), other.person("carol")
        assert len(workers.records(data_set, 5, person=person)) == 5
        here.call("POST", "/v1/datasets/survey/close", carol)
        here.call("DELETE", "/v1/datasets/survey", carol)
        with pytest.raises(Exception, match="no such data set"):
            other.registered("survey")
    finally:
        workers.close()
        other.close()


def test_an_anchor_and_a_copy_follow_a_deletion(address: str, tmp_path: Path) -> None:
    from hedgerow.service import Anchor, hold_to
    from tests.service.stack import registration as plain

    anchor = Anchor(tmp_path / "anchor.json")
    store = Store.open(address, anchor=anchor)
    try:
        made = store.register(plain(), by=None)
        store.close_data_set(made.id, by=None)
        store.discard(made.id, store.data_set("people").version, by=None)
        assert store.data_sets() == []
        hold_to(store, anchor)
        store.check_audit()
        copy = Store.open(tmp_path / "copy.db")
        store.copy_to(copy)
        assert copy.points() == store.points()
        assert copy.data_sets() == []
        copy.close()
    finally:
        store.close()


# Uploads


def test_an_upload_is_deleted_when_nothing_open_reads_it(here: Api, carol: str) -> None:
    assert here.call("PUT", "/v1/files/visits-1.csv", carol, content=b"sex,age,job\nF,1,cook\n").status_code == 201
    assert here.call("PUT", "/v1/files/other.csv", carol, content=b"a\n1\n").status_code == 201
    pattern = registration("visits", source={"place": "visits-*.csv"})
    assert here.call("POST", "/v1/datasets", carol, json=pattern).status_code == 201
    for name, reader in (("survey.csv", "survey"), ("visits-1.csv", "visits"), ("visits-2.csv", "visits")):
        answer = here.call("DELETE", f"/v1/files/{name}", carol)
        assert code(answer) == (409, "conflict")
        assert f"is read by {reader}" in answer.json()["detail"]
    assert here.call("DELETE", "/v1/files/other.csv", carol).status_code == 204
    assert code(here.call("DELETE", "/v1/files/other.csv", carol)) == (404, "not-there")
    here.call("POST", "/v1/datasets/visits/close", carol)
    assert here.call("DELETE", "/v1/files/visits-1.csv", carol).status_code == 204
    assert sorted(each.name for each in here.folder.iterdir()) == ["survey.csv"]
    entry = here.call("GET", "/v1/audit?limit=1", carol).json()["entries"][0]
    assert (entry["action"], entry["subject"]) == ("delete upload", "visits-1.csv")


@pytest.mark.parametrize(
    "name",
    ["..%2f..%2fstore.db", "..%2fstore.csv", "%2fetc%2fpasswd", ".upload-abc.csv", "store.db", "a%00.csv", "a.csv%0a"],
)
def test_no_name_leads_out_of_the_folder(here: Api, carol: str, tmp_path: Path, name: str) -> None:
    (tmp_path / "store.csv").write_text("not a table of the server")
    before = sorted(each.name for each in tmp_path.iterdir())
    assert here.call("DELETE", f"/v1/files/{name}", carol).status_code in (404, 405, 422)
    assert sorted(each.name for each in tmp_path.iterdir()) == before


def test_a_link_or_a_folder_is_not_followed(here: Api, carol: str, tmp_path: Path) -> None:
    (tmp_path / "outside.csv").write_text("outside")
    (here.folder / "link.csv").symlink_to(tmp_path / "outside.csv")
    (here.folder / "folder.csv").mkdir()
    assert here.call("DELETE", "/v1/files/link.csv", carol).status_code == 204
    assert (tmp_path / "outside.csv").read_text() == "outside"
    assert code(here.call("DELETE", "/v1/files/folder.csv", carol)) == (404, "not-there")
    assert (here.folder / "folder.csv").is_dir()


# Lists in pages


@pytest.mark.parametrize(("path", "key"), [("people", "people"), ("tokens", "tokens"), ("datasets", "datasets")])
def test_lists_come_in_pages_with_nothing_twice_and_nothing_left_out(
    here: Api, carol: str, path: str, key: str
) -> None:
    for number in range(5):
        here.token(f"p{number}")
    if path == "datasets":
        for number in range(4):
            assert here.call("POST", "/v1/datasets", carol, json=registration(f"d{number}")).status_code == 201
    whole = here.call("GET", f"/v1/{path}?limit=1000", carol).json()
    assert whole["next"] is None
    found, cursor = list[Any](), ""
    while cursor is not None:
        page = here.call("GET", f"/v1/{path}?limit=2{cursor and f'&cursor={cursor}'}", carol).json()
        assert 1 <= len(page[key]) <= 2
        found += page[key]
        cursor = page["next"]
        if len(found) == 2:
            here.token("late")  # what is new comes before the first page
    assert found == whole[key]
    created = [each["created"] for each in found] if path != "datasets" else [each["name"] for each in found]
    assert created == sorted(created, reverse=True) or path == "datasets"


def test_limits_come_in_pages_and_cursors_belong_to_one_list(here: Api, carol: str) -> None:
    for number in range(5):
        name = here.person(f"p{number}").name
        here.call("PUT", f"/v1/datasets/survey/grants/{name}", carol, json={"queries": number, "budget": None})
    first = here.call("GET", "/v1/datasets/survey/grants?limit=3", carol).json()
    second = here.call("GET", f"/v1/datasets/survey/grants?limit=3&cursor={first['next']}", carol).json()
    assert [each["person"] for each in first["grants"] + second["grants"]] == ["p4", "p3", "p2", "p1", "p0"]
    assert second["next"] is None
    for path in ("people", "tokens", "datasets", "audit"):
        assert code(here.call("GET", f"/v1/{path}?cursor={first['next']}", carol)) == (422, "invalid")
    for limit in ("0", "-1", "1001", "x"):
        assert here.call("GET", f"/v1/people?limit={limit}", carol).status_code == 422
    other = here.token("dora", "custodian")
    assert code(here.call("GET", f"/v1/datasets/survey/grants?cursor={first['next']}", other)) == (422, "invalid")


def test_the_client_lists_all_pages(here: Api, carol: str) -> None:
    import hedgerow
    from tests.service.serving import in_a_thread

    for number in range(3):
        assert here.call("POST", "/v1/datasets", carol, json=registration(f"d{number}")).status_code == 201
    real = here.app.state.service.cursors.listed
    here.app.state.service.cursors.listed = lambda place, cursor, _limit, *more: real(place, cursor, 2, *more)
    with in_a_thread(here.app) as port:
        server = hedgerow.connect(f"http://127.0.0.1:{port}", token=carol)
        assert [each.name for each in server.data_sets()] == ["d0", "d1", "d2", "survey"]
