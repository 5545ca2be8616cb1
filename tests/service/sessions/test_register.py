"""A register of a server: data sets are charged there before their tables are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hedgerow.privacy import PureDP, Register
from hedgerow.queries import Neighbours
from hedgerow.service import SessionWorkers, Settings, create_app
from hedgerow.service.sessions import workers as desks_module
from tests.service.api import Api, quick_tokens, registration, write_table
from tests.service.asgi import client_of
from tests.service.stores import open_store

EPSILON = 4.0
"""Of each data set."""


@contextmanager
def server(folder: Path) -> Iterator[tuple[Api, Register]]:
    """With room for two data sets."""
    data = folder / "data"
    data.mkdir()
    write_table(data)
    register = Register(folder / "server.register", PureDP(2 * EPSILON, Neighbours.REPLACE))
    with (
        quick_tokens(),
        closing(open_store(folder / "store.db")) as store,
        closing(SessionWorkers(store, data, register=register, tick=0.0)) as workers,
    ):
        app = create_app(workers, store, Settings(data, requests_per_minute=None, longest_wait=3600.0))
        with client_of(app) as client:
            yield Api(app, client, store, workers, data), register


@pytest.fixture
def here(tmp_path: Path) -> Iterator[tuple[Api, Register]]:
    with server(tmp_path) as started:
        yield started


def register_data_set(api: Api, name: str, **changed: Any) -> Any:
    custodian = api.token("carol", "custodian")
    return api.call("POST", "/v1/datasets", custodian, json=registration(name, **changed))


def test_data_sets_are_charged_until_the_limit_refuses(here: tuple[Api, Register]) -> None:
    api, register = here
    for name in ("one", "two"):
        assert register_data_set(api, name).status_code == 201
    found = [(each.kind, each.name, each.charge, each.attributes) for each in register.entries]
    assert found == [("data set", name, EPSILON, ("sex", "age", "job")) for name in ("one", "two")]
    refused = register_data_set(api, "three")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert (
        refused.json()["detail"]
        == "the register does not cover this: 4 epsilon requested, 8 of 8 spent by what is in it, 0 left"
    )
    assert str(register.path.parent) not in refused.text
    assert [each.name for each in api.store.data_sets()] == ["one", "two"]
    analyst = api.token("ada")
    asked = api.call("POST", "/v1/datasets/one/queries", analyst, json={"queries": [{"where": "sex = 'F'"}]})
    assert asked.status_code == 200
    assert register.spent == 2 * EPSILON  # questions cost the data set's budget, which was charged


def test_a_refused_table_is_not_read(here: tuple[Api, Register], monkeypatch: pytest.MonkeyPatch) -> None:
    api, register = here
    register.charge(PureDP(7.0, Neighbours.REPLACE), name="by hand")
    monkeypatch.setattr(desks_module, "read_private", _unread)
    assert register_data_set(api, "one").status_code == 409
    assert register.spent == 7.0


def _unread(*_: object, **__: object) -> None:
    raise AssertionError("the table was read")


def test_it_is_charged_before_the_first_row_is_read(
    here: tuple[Api, Register], monkeypatch: pytest.MonkeyPatch
) -> None:
    api, register = here
    gathered: Callable[..., Any] = desks_module.read_private.__globals__["gathered"]

    def spied(*arguments: Any) -> Any:
        assert register.spent == EPSILON
        return gathered(*arguments)

    monkeypatch.setattr("hedgerow.service.sessions.tables.gathered", spied)
    assert register_data_set(api, "one").status_code == 201


def test_what_fails_after_the_charge_stays_charged_and_says_so(here: tuple[Api, Register]) -> None:
    api, register = here
    narrow = {"sex": ["F", "X"], "age": {"min": 0, "max": 9}, "job": {"values": ["clerk", "cook"], "missing": True}}
    failed = register_data_set(api, "one", domain=narrow)
    assert failed.status_code == 422
    assert "stays charged" in failed.json()["remedy"]
    assert [each.name for each in register.entries] == ["one"]
    assert api.store.data_sets() == []


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(
    "changed",
    [
        {"source": {"place": "none.csv"}},
        {"source": {"place": "../survey.csv"}},
        {"domain": {"sex": ["F", "M"]}},
        {"budget": {"epsilon": 1.0}},
        {"budget": {"rho": 0.1, "neighbours": "replace"}},
        {"options": {"variant": "4a", "updates": 3}},
    ],
    ids=str,
)
def test_what_can_be_refused_before_is_not_charged(here: tuple[Api, Register], changed: dict[str, Any]) -> None:
    api, register = here
    refused = register_data_set(api, "one", **changed)
    assert refused.status_code in {403, 422}
    assert "stays charged" not in refused.text
    assert register.entries == ()


def test_a_name_that_is_taken_is_not_charged(here: tuple[Api, Register]) -> None:
    api, register = here
    assert register_data_set(api, "one").status_code == 201
    assert register_data_set(api, "one").status_code == 409
    assert register.spent == EPSILON


def test_a_damaged_register_opens_nothing(here: tuple[Api, Register]) -> None:
    api, register = here
    register.path.write_bytes(b"")
    refused = register_data_set(api, "one")
    assert (refused.status_code, refused.json()["code"]) == (503, "store")
    assert str(register.path.parent) not in refused.text
    assert api.store.data_sets() == []
