"""Statements that a person has pinned: of this person alone, of one data set, and gone with either."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hedgerow.service import Store
from tests.service.api import Api, api, registration

PATH = "/v1/datasets/survey/pins"
FIRST = "SELECT sex, COUNT(*) FROM survey GROUP BY sex"
SECOND = "SELECT COUNT(*) FROM survey WHERE age < 3"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with api(tmp_path_factory.mktemp("api")) as started:
        yield started


def pinned(here: Api, token: str, path: str = PATH) -> list[str]:
    return here.call("GET", path, token).json()["statements"]  # type: ignore[no-any-return]


def pin(here: Api, token: str, *statements: str, path: str = PATH) -> int:
    return here.call("PUT", path, token, json={"statements": list(statements)}).status_code  # type: ignore[no-any-return]


def test_pins_are_kept_in_their_order_once_each_and_ask_nothing(here: Api) -> None:
    ada = here.token("ada")
    assert pinned(here, ada) == []
    assert pin(here, ada, SECOND, FIRST, SECOND) == 200
    assert pinned(here, ada) == [SECOND, FIRST]
    assert pin(here, ada, FIRST) == 200
    assert pinned(here, here.token("ada")) == [FIRST]  # with another token of hers
    assert here.call("GET", "/v1/datasets/survey", ada).json()["mine"]["asked"] == 0
    table = here.call("POST", "/v1/datasets/survey/tables", ada, json={"sql": FIRST, "free": True}).json()
    assert table["charged"] == 0.0
    assert table["dataset"]["mine"]["asked"] == 0


def test_nobody_else_sees_or_changes_them(here: Api) -> None:
    bea, carol = here.token("bea"), here.token("carol", "custodian")
    pin(here, bea, FIRST)
    assert pin(here, carol, SECOND) == 200
    assert pin(here, here.token("dan"), "SELECT 1") == 200
    assert pinned(here, carol) == [SECOND]
    assert pinned(here, bea) == [FIRST]


def test_a_token_for_other_data_sets_reaches_none(here: Api) -> None:
    pin(here, here.token("eve"), FIRST)
    elsewhere = here.token("eve", data_sets=("another",))
    for path in (PATH, "/v1/datasets/nowhere/pins"):
        assert here.call("GET", path, elsewhere).status_code == 404
        assert pin(here, elsewhere, SECOND, path=path) == 404
    assert here.call("GET", PATH).status_code == 401
    assert pinned(here, here.token("eve")) == [FIRST]


@pytest.mark.parametrize("statements", [[FIRST] * 25, ["x" * 4_001], [""], [7], ["a\0"], "SELECT 1"])
def test_what_is_too_much_or_no_text_is_refused_and_changes_nothing(here: Api, statements: object) -> None:
    fay = here.token("fay")
    pin(here, fay, FIRST)
    assert here.call("PUT", PATH, fay, json={"statements": statements}).status_code == 422
    assert pinned(here, fay) == [FIRST]


def test_they_go_with_the_person(here: Api) -> None:
    pin(here, here.token("gus"), FIRST)
    here.store.set_role("gus", "removed", by=None)
    here.store.set_role("gus", "analyst", by=None)
    assert pinned(here, here.token("gus")) == []


def test_they_go_with_the_data_set_and_are_in_a_backup(here: Api, tmp_path: Path) -> None:
    carol = here.token("carol", "custodian")
    assert here.call("POST", "/v1/datasets", carol, json=registration("short")).status_code == 201
    short, hal = here.store.data_set("short").id, here.token("hal")
    pin(here, hal, FIRST, path="/v1/datasets/short/pins")
    backup = Store.open(tmp_path / "backup.db")
    here.store.copy_to(backup)
    assert backup.pins(short, here.person("hal").id) == (FIRST,)
    backup.close()
    here.call("POST", "/v1/datasets/short/close", carol)
    assert here.call("DELETE", "/v1/datasets/short", carol).status_code == 204
    assert here.store.pins(short, here.person("hal").id) == ()
