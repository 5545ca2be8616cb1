"""What a store says when it fails: what is wrong and what helps; nothing of SQL, of what was written, of passwords."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from hedgerow.algorithms import Mark
from hedgerow.algorithms.online_pmw import Step
from hedgerow.errors import HedgerowError, OutdatedError, StoreBusyError, StoreError
from hedgerow.service import Store
from hedgerow.service.store import sqlite as sqlite_database
from hedgerow.service.store.database import translated
from tests.engines.postgresql import postgresql_server
from tests.service.store.cases import EVENT, HOLD, MEASURED, answer, everything, opened

WHOLE = Step(state={"asked": 1}, events=(EVENT,), findings=(MEASURED,), model=b"other")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    made = Store.open(path, wait=0.2)
    yield made
    made.close()


def says_nothing(error: HedgerowError) -> None:
    """Neither the statement, nor what it would have written, nor what the driver said."""
    assert (error.__context__, error.__cause__) == (None, None)
    shown = f"{error!r} {error}".lower()
    for word in ("insert", "update ", "select", "sqlalche", "psycopg", "sqlite3", "sex = ", "parameters", "secret"):
        assert word not in shown, word
    assert error.remedy


def test_nobody_else_may_read_the_files(path: Path, store: Store) -> None:
    opened(store)
    with store.alone(1, wait=1.0):
        modes = {each.name: oct(each.stat().st_mode & 0o777) for each in path.parent.iterdir()}
    assert {"store.db", "store.db-wal", "store.db-shm"} < set(modes)
    assert any(name.endswith(".lock") for name in modes)
    assert set(modes.values()) == {"0o600"}


def test_a_new_file_is_its_owners_from_the_beginning(path: Path) -> None:
    mask = os.umask(0)
    try:
        sqlite_database._made(path)
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_store_that_others_may_read_is_closed_to_them(path: Path, store: Store) -> None:
    opened(store)
    with sqlite3.connect(path.with_name("copy.db")) as copy, sqlite3.connect(path) as original:
        original.backup(copy)
    copy.close()
    original.close()
    for name, mode in (("copy.db", 0o644), ("new.db", 0o666)):
        path.with_name(name).touch()
        path.with_name(name).chmod(mode)
        other = Store.open(path.with_name(name))
        other.add_person("eve", "analyst", by=None)
        assert {each.stat().st_mode & 0o777 for each in path.parent.glob(f"{name}*")} == {0o600}
        other.close()


def test_every_connection_writes_to_the_disk_and_checks_references(store: Store) -> None:
    with store._database.reading() as first, store._database.reading() as second:
        for connection in (first, second):
            found = [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            ]
            assert found == ["wal", 2, 1, 200]


def test_a_transaction_that_writes_keeps_others_from_writing_from_its_beginning(path: Path, store: Store) -> None:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0.0)) as other:
        with store._database.writing(), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        with store._database.reading() as connection:
            connection.exec_driver_sql("SELECT * FROM people")
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "neither a file nor a PostgreSQL"),
        ("sqlite://", "neither a file nor a PostgreSQL"),
        (":memory:", "neither a file nor a PostgreSQL"),
        ("mysql://me:secret@host/db", "neither a file nor a PostgreSQL"),
        ("postgresql://me:secret@host:port/db", "is malformed"),
        ("{folder}", "cannot be opened: Is a directory"),
        ("a\0b", "cannot be opened"),
        ("{folder}/none/store.db", "cannot be opened"),
        ("/proc/store.db", "cannot be opened"),
        ("{folder}/text.txt", "not an SQLite database"),
        ("{folder}/others.db", "belongs to other software"),
    ],
)
def test_what_is_no_store_is_refused(tmp_path: Path, address: str, said: str) -> None:
    (tmp_path / "text.txt").write_text("no database at all " * 100)
    with closing(sqlite3.connect(tmp_path / "others.db")) as others:
        others.execute("CREATE TABLE secrets_of_others (a)")
    before = {each: (each.read_bytes(), each.stat().st_mode) for each in tmp_path.iterdir()}
    with pytest.raises(StoreError, match=said) as found:
        Store.open(address.format(folder=tmp_path))
    assert found.value.remedy
    assert "secret" not in str(found.value)
    assert {each: (each.read_bytes(), each.stat().st_mode) for each in before} == before


def test_a_folder_that_may_not_be_written_is_named() -> None:
    user = os.geteuid()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "closed")
        folder.mkdir(mode=0o555)
        Path(name).chmod(0o711)
        try:
            if user == 0:  # who may write everywhere
                os.seteuid(65534)
            with pytest.raises(StoreError, match=r"closed/store\.db: the store cannot be opened: Permission denied"):
                Store.open(folder / "store.db")
        finally:
            os.seteuid(user)


@pytest.mark.slow
def test_a_locked_database_is_busy_and_then_goes_on(path: Path, store: Store) -> None:
    ada, data_set = opened(store)
    before = everything(store)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError, match="another process has been writing") as found:
            store.settle(data_set.id, 1, WHOLE, [answer(ada.id)])
        says_nothing(found.value)
        assert everything(store) == before  # reading goes on
        other.execute("ROLLBACK")
    assert store.settle(data_set.id, 1, WHOLE, [answer(ada.id)]).version == 2


def test_a_full_database_loses_nothing_and_then_goes_on(store: Store) -> None:
    ada, data_set = opened(store)
    before = everything(store)
    with store._database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 5}")
    with pytest.raises(StoreError, match="full") as found:
        store.settle(data_set.id, 1, Step(state={"asked": 1}, model=bytes(10**6)), [answer(ada.id)])
    says_nothing(found.value)
    assert everything(store) == before
    with store._database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    assert store.settle(data_set.id, 1, WHOLE, [answer(ada.id)]).version == 2


def test_a_damaged_file_is_said_to_be(path: Path) -> None:
    store = Store.open(path)
    opened(store)
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged") as found:
        Store.open(path).data_sets()
    says_nothing(found.value)


def test_all_other_failures_are_withheld_too(store: Store) -> None:
    ada, data_set = opened(store)
    with store._database.writing() as connection:
        connection.execute(text("DROP TABLE answers"))
    with pytest.raises(StoreError, match="the store failed") as found:
        store.settle(data_set.id, 1, WHOLE, [answer(ada.id, where="secret")])
    says_nothing(found.value)
    assert store.progress(data_set.id).version == 1


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_json_does_not_know_is_refused(store: Store, number: float) -> None:
    ada, data_set = opened(store)
    before = everything(store)
    with pytest.raises(StoreError):
        store.settle(data_set.id, 1, WHOLE, [answer(ada.id, value=number)])
    assert everything(store) == before


# PostgreSQL


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    address = "postgresql://me:secret@127.0.0.1:1/answers?sslpassword=secret"
    with pytest.raises(StoreError, match=r"postgresql://127\.0\.0\.1/answers: the database cannot be reached") as found:
        Store.open(address)
    says_nothing(found.value)


def test_a_database_that_is_not_there_is_refused(postgresql_address: str) -> None:
    with pytest.raises(StoreError, match="/nowhere: the database cannot be reached") as found:
        Store.open(postgresql_address.replace("/postgres?", "/nowhere?"))
    says_nothing(found.value)


def test_a_row_that_another_locks_is_busy(new_postgresql_database: str) -> None:
    store = Store.open(new_postgresql_database, wait=0.2)
    ada, data_set = opened(store)
    with psycopg.connect(new_postgresql_database) as other:
        other.execute("SELECT * FROM sessions FOR UPDATE")
        with pytest.raises(StoreBusyError, match="another process has been writing") as found:
            store.settle(data_set.id, 1, WHOLE, [answer(ada.id)])
        says_nothing(found.value)
        assert store.progress(data_set.id).version == 1
    assert store.settle(data_set.id, 1, WHOLE, [answer(ada.id)]).version == 2
    store.close()


def test_a_database_that_may_only_be_read_is_refused(new_postgresql_database: str) -> None:
    Store.open(new_postgresql_database).close()
    name = new_postgresql_database.split("/")[3].partition("?")[0]
    with psycopg.connect(new_postgresql_database, autocommit=True) as other:
        other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store = Store.open(new_postgresql_database)
    with pytest.raises(StoreError, match="may only be read") as found:
        opened(store)
    says_nothing(found.value)
    store.close()


def test_a_commit_is_on_the_disk_also_where_others_do_without(new_postgresql_database: str) -> None:
    name = new_postgresql_database.split("/")[3].partition("?")[0]
    for given, found in (("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")):
        with psycopg.connect(new_postgresql_database, autocommit=True) as other:
            other.execute(f"ALTER DATABASE {name} SET synchronous_commit = {given}")
        store = Store.open(new_postgresql_database, wait=1.5)
        with store._database.writing() as connection:
            assert connection.scalar(text("SHOW synchronous_commit")) == found
            assert connection.scalar(text("SHOW lock_timeout")) == "1500ms"
        store.close()


def test_a_sqlite_that_is_too_old_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreError, match="the store needs"):
        Store.open(path)
    assert not path.exists()


@pytest.mark.postgresql
def test_a_postgresql_that_is_too_old_is_refused(new_postgresql_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.service.store.postgresql._OLDEST", 99)
    with pytest.raises(StoreError, match="needs PostgreSQL 99 or newer, and this server is of version 1"):
        Store.open(new_postgresql_database)
    monkeypatch.undo()
    Store.open(new_postgresql_database).close()


def killed(address: str) -> int:
    """End all other connections to a database, as an administrator may; how many there were."""
    with psycopg.connect(address, autocommit=True) as other:
        rows = other.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    return len(rows)


def test_a_connection_that_broke_is_replaced(new_postgresql_database: str) -> None:
    store = Store.open(new_postgresql_database)
    _, data_set = opened(store)
    assert killed(new_postgresql_database) > 0
    assert store.progress(data_set.id).version == 1
    store.close()


def test_a_connection_that_breaks_before_the_commit_leaves_nothing(new_postgresql_database: str) -> None:
    store = Store.open(new_postgresql_database)
    ada, data_set = opened(store)
    breaking = Store.open(new_postgresql_database, reached=lambda _step: killed(new_postgresql_database))
    with pytest.raises(StoreError, match="cannot be reached") as found:
        breaking.settle(data_set.id, 1, WHOLE, [answer(ada.id)])
    says_nothing(found.value)
    assert store.progress(data_set.id).version == 1
    assert store.settle(data_set.id, 1, WHOLE, [answer(ada.id)]).version == 2
    store.close()
    breaking.close()


def test_a_lock_that_is_lost_with_its_connection_lets_others_in_and_outdates(new_postgresql_database: str) -> None:
    store, other = Store.open(new_postgresql_database), Store.open(new_postgresql_database)
    _, data_set = opened(store)
    with store.alone(data_set.id, wait=1.0):
        version = store.hold(data_set.id, 1, HOLD)
        killed(new_postgresql_database)
        with other.alone(data_set.id, wait=5.0):
            other.forfeit(data_set.id, version, Step(events=(EVENT,)), 0.4)
        with pytest.raises(OutdatedError):
            store.settle(data_set.id, version, WHOLE)
    with store.alone(data_set.id, wait=5.0):
        assert store.progress(data_set.id, Mark(1)).version == version + 1
    store.close()
    other.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pg_ctl") is None, reason="PostgreSQL is not installed")
def test_a_server_that_is_started_again_is_found_again() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        with postgresql_server(folder) as address:
            store = Store.open(address)
            _, data_set = opened(store)
        with pytest.raises(StoreError, match="cannot be reached") as found:
            store.progress(data_set.id)
        says_nothing(found.value)
        store.close()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('connection failed: FATAL:  password authentication failed for user "me"', "refuses this user or password"),
        ("connection failed: fe_sendauth: no password supplied", "refuses this user or password"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "me", database "a"', "refuses this user or password"),
        ("connection failed: Connection refused", "cannot be reached"),
    ],
)
def test_who_is_not_let_in_is_told_so(said: str, told: str) -> None:
    failure = OperationalError("SELECT 1", {}, psycopg.OperationalError(said))
    error = translated(failure, "here")
    assert told in error.message
    assert '"me"' not in str(error)
