"""``hedgerow server``: a live store is copied, restored, checked, and its people and tokens are changed."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from hedgerow.service import LOCATION, Anchor, Store, hold_to, ledger_of
from tests.cli.conftest import Place
from tests.service.serving import Server, serving

TABLE = "\n".join(["sex,age", *(f"{'FM'[(row * 7) % 3 > 0]},{row % 10}" for row in range(3_000))]) + "\n"
DOMAIN = {"sex": ["F", "M"], "age": {"min": 0, "max": 9}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that runs, with two data sets that were asked."""
    with serving(tmp_path / "live") as found:
        for name in ("people", "visits"):
            found.register(name, TABLE, DOMAIN, budget={"epsilon": 4.0}, options={"queries": 1_000})
            ask(found, name, "sex = 'F'")
        yield found


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return Place(tmp_path)


def ask(server: Server, name: str, where: str) -> Any:
    return server.call("POST", f"datasets/{name}/queries", {"queries": [{"where": where}]})["answers"][0]


def store_of(server: Server) -> Path:
    return server.folder.parent / "store.db"


def called(here: Place, *words: object) -> Any:
    """What a command tells as JSON."""
    done = here.call("server", *words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def books(store: Store) -> tuple[Any, ...]:
    """What must not be lost: points of all chains, ledgers, people, tokens and limits."""
    sets = store.data_sets()
    ledgers = [ledger_of(store, each) for each in sets]
    grants = [store.grants(each.id) for each in sets]
    return store.points(), store.audit_point(), ledgers, store.people(), store.tokens(), grants


def test_a_live_store_is_copied_and_the_copy_is_the_same(server: Server, here: Place) -> None:
    told = called(here, "backup", here / "b.db", "--store", store_of(server))
    assert told["rows"] > 10
    assert (here / "b.db").stat().st_mode & 0o077 == 0
    assert [name for name in here.names() if name.startswith(("b.", ".backup"))] == ["b.db"]
    with closing(Store.open(store_of(server))) as live, closing(Store.open(here / "b.db", as_it_is=True)) as copy:
        assert books(live) == books(copy)
    assert called(here, "check", "--store", here / "b.db")["data_sets"] == ["people", "visits"]
    refused = here.call("server", "backup", here / "b.db", "--store", store_of(server))
    assert refused.exit_code == 1
    assert "exists already" in refused.stderr


def test_a_backup_that_somebody_vouches_for_goes_on(server: Server, here: Place) -> None:
    called(here, "backup", here / "b.db", "--store", store_of(server))
    assert called(here, "restore", here / "b.db", "--store", here / "new.db", "--nothing-since")["closed"] == []
    called(here, "check", "--store", here / "new.db")
    with closing(Store.open(store_of(server))) as live, closing(Store.open(here / "new.db")) as copy:
        assert live.points() == copy.points()
        assert [entry.action for entry in copy.audit(limit=1)] == ["restore store"]
    again = here.call("server", "restore", here / "b.db", "--store", here / "new.db", "--nothing-since")
    assert again.exit_code == 1
    assert "not empty" in again.stderr


def test_what_may_have_been_asked_since_is_closed(server: Server, here: Place) -> None:
    called(here, "backup", here / "b.db", "--store", store_of(server))
    for age in range(10):
        ask(server, "visits", f"age = {age} and sex = 'M'")
    anchor = Anchor(here / "anchor.json")
    with closing(Store.open(store_of(server), anchor=anchor)) as newest:
        hold_to(newest, anchor)
    older = here.call("server", "check", "--store", here / "b.db", "--anchor", anchor.path)
    assert older.exit_code == 1
    assert "'visits'" in older.stderr
    both = called(here, "restore", here / "b.db", "--store", here / "all.db")
    assert both["closed"] == ["people", "visits"]
    one = called(here, "restore", here / "b.db", "--store", here / "one.db", "--anchor", anchor.path)
    assert one["closed"] == ["visits"]
    with closing(Store.open(here / "one.db")) as store:
        assert [(each.name, store.progress(each.id).status) for each in store.data_sets()] == [
            ("people", "open"),
            ("visits", "closed"),
        ]
    called(here, "check", "--store", here / "one.db", "--anchor", anchor.path)
    none = here.call("server", "restore", here / "b.db", "--store", here / "no.db", "--anchor", here / "none.json")
    assert none.exit_code == 1
    assert "there is no anchor" in none.stderr


@pytest.mark.slow
def test_a_store_that_was_changed_is_found(server: Server, here: Place) -> None:
    called(here, "backup", here / "b.db", "--store", store_of(server))
    for number, change in enumerate(
        ("UPDATE audit SET subject = 'other' WHERE id = 2", "DELETE FROM events WHERE number = 0")
    ):
        shutil.copy(here / "b.db", here / f"{number}.db")
        with closing(sqlite3.connect(here / f"{number}.db")) as connection, connection:
            assert connection.execute(change).rowcount
        found = here.call("server", "check", "--store", here / f"{number}.db")
        assert found.exit_code == 1
        assert "changed" in found.stderr


def test_people_and_tokens(server: Server, here: Place) -> None:
    store, token = store_of(server), server.token_of("bob", datasets=["people"])
    listed = {each["name"]: each for each in called(here, "people", "--store", store)["people"]}
    assert (listed["bob"]["role"], listed["bob"]["tokens"]) == ("analyst", 1)
    (bobs,) = [each for each in called(here, "tokens", "--store", store)["tokens"] if each["person"] == "bob"]
    assert (bobs["datasets"], bobs["good"]) == ("people", True)
    fresh = called(here, "tokens", "--store", store, "--rotate", bobs["id"])["token"]
    assert server.call("GET", "me", token=fresh)["datasets"] == ["people"]
    with pytest.raises(AssertionError, match="401"):
        server.call("GET", "me", token=token)
    called(here, "people", "--store", store, "bob", "--role", "custodian")
    assert server.call("GET", "me", token=fresh)["role"] == "custodian"
    changed = called(here, "people", "--store", store, "bob", "--role", "analyst", "--revoke-all")
    assert [each["tokens"] for each in changed["people"] if each["name"] == "bob"] == [0]
    with pytest.raises(AssertionError, match="401"):
        server.call("GET", "me", token=fresh)
    linked = called(here, "people", "--store", store, "bob", "--identity", "https://id.example.org 7")
    assert {each["name"]: each["identity"] for each in linked["people"]}["bob"] == "https://id.example.org 7"
    taken = here.call("server", "people", "--store", store, "ada", "--identity", "https://id.example.org 7")
    assert "bob signs in with this account" in taken.stderr
    for wrong in (("people", "bob"), ("people", "--revoke-all"), ("people", "eve", "--role", "analyst")):
        assert here.call("server", *wrong, "--store", store).exit_code == 1
    assert here.call("server", "tokens", "--revoke", "none", "--store", store).exit_code == 1


def test_the_audit_log_is_written_whole(server: Server, here: Place) -> None:
    done = here.call("server", "audit-export", "--store", store_of(server))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    told = server.call("GET", "audit")
    assert [line["link"] for line in reversed(lines)][: len(told["entries"])] == [
        each["link"] for each in told["entries"]
    ]
    assert lines[-1]["link"] == told["head"]
    assert [line["at"] for line in lines] == [each["at"] for each in reversed(told["entries"])]


def test_there_must_be_a_store(here: Place) -> None:
    for words in (("check",), ("backup", here / "b.db"), ("people",), ("tokens",), ("audit-export",)):
        done = here.call("server", *words, "--store", here / "none.db")
        assert done.exit_code == 1
        assert "there is no store" in done.stderr
    sqlite3.connect(here / "empty.db").close()
    done = here.call("server", "check", "--store", here / "empty.db")
    assert "an earlier version" in done.stderr
    assert "none.db" not in here.names()


@pytest.mark.slow
@pytest.mark.postgresql
def test_from_one_kind_of_store_to_the_other_and_back(
    server: Server, here: Place, new_postgresql_database: str
) -> None:
    called(here, "backup", here / "b.db", "--store", store_of(server))
    called(here, "restore", here / "b.db", "--store", new_postgresql_database, "--nothing-since")
    called(here, "check", "--store", new_postgresql_database)
    with closing(Store.open(new_postgresql_database)) as store:
        eve = store.add_person("eve", "analyst", by=None)  # numbers go on
        assert eve.id > max(each.id for each in store.people() if each.name != "eve")
        called(here, "backup", here / "c.db", "--store", new_postgresql_database)
        with closing(Store.open(here / "c.db")) as copy:
            assert books(store) == books(copy)


def test_one_who_is_removed_has_no_token_and_gets_none(server: Server, here: Place) -> None:
    token = server.token_of("bob")
    listed = called(here, "people", "--store", store_of(server), "bob", "--remove")["people"]
    assert [(each["role"], each["tokens"]) for each in listed if each["name"] == "bob"] == [("removed", 0)]
    with pytest.raises(AssertionError, match="401"):
        server.call("GET", "me", token=token)
    refused = here.call("server", "tokens", "--store", store_of(server), "--rotate", token.split("_")[1])
    assert refused.exit_code == 1
    assert "there is no such person" in refused.stderr
    called(here, "people", "--store", store_of(server), "bob", "--role", "analyst")
    assert server.call("GET", "me", token=server.token_of("bob", role=None))["person"] == "bob"


@pytest.mark.parametrize("words", [("bob",), ("--remove",), ("bob", "--remove", "--role", "analyst")])
def test_a_person_and_one_change_go_together(server: Server, here: Place, words: tuple[str, ...]) -> None:
    refused = here.call("server", "people", "--store", store_of(server), *words)
    assert refused.exit_code == 1
    assert "go together" in refused.stderr


# Migrations


def of_an_earlier_version(folder: Path) -> Path:
    """A store as the second version left it."""
    path = folder / "old.db"
    engine = sa.create_engine(f"sqlite:///{path}")
    config = Config()
    config.set_main_option("script_location", LOCATION)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
    engine.dispose()
    return path


def test_a_dry_run_runs_the_steps_and_takes_them_back(tmp_path: Path, here: Place) -> None:
    path = of_an_earlier_version(tmp_path)

    def tables() -> list[str]:
        with closing(sqlite3.connect(path)) as store:
            return sorted(
                str(row) for row in store.execute("SELECT sql FROM sqlite_master UNION SELECT * FROM hedgerow_revision")
            )

    before = tables()
    told = called(here, "migrate", "--store", path, "--dry-run")
    assert [step.partition(":")[0] for step in told["steps"]] == ["0003", "0004", "0005", "0006"]
    assert "Answers are found by their question" in told["steps"][0]
    assert tables() == before
    refused = here.call("server", "people", "--store", path)
    assert refused.exit_code == 1
    assert "earlier version" in refused.stderr
    assert called(here, "migrate", "--store", path)["steps"] == told["steps"]
    assert tables() != before
    assert called(here, "migrate", "--store", path, "--dry-run")["steps"] == []
    assert "nothing to do" in here.call("server", "migrate", "--store", path).output
    assert called(here, "people", "--store", path)["people"] == []


def test_a_migration_makes_no_store(tmp_path: Path, here: Place) -> None:
    refused = here.call("server", "migrate", "--store", tmp_path / "none.db")
    assert refused.exit_code == 1
    assert "there is no store" in refused.stderr
    assert not (tmp_path / "none.db").exists()
