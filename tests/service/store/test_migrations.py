"""How the tables come to be: by migrations alone, once, and never by an older version."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text

import hedgerow.service.migrations.env
from hedgerow.errors import StoreError
from hedgerow.service import LOCATION, METADATA, Store
from hedgerow.service.store.schema import VERSION_TABLE
from tests.service.store.cases import everything, opened


@pytest.fixture
def connection(address: str) -> Iterator[Connection]:
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as made:
        yield made
    engine.dispose()


def script() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", LOCATION)
    return ScriptDirectory.from_config(config)


def test_migrations_make_the_tables_that_the_store_uses(address: str, connection: Connection) -> None:
    Store.open(address).close()
    options = {"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}
    context = MigrationContext.configure(connection, opts=options)
    assert compare_metadata(context, METADATA) == []
    assert context.get_current_heads() == tuple(script().get_heads())


def test_the_comparison_finds_what_is_missing(address: str, connection: Connection) -> None:
    Store.open(address).close()
    connection.execute(text("DROP INDEX ix_answers_data_set_id"))
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    assert [difference[0] for difference in compare_metadata(context, METADATA)] == ["add_index"]


def test_revisions_are_one_line_from_the_first_to_the_last() -> None:
    revisions = list(script().walk_revisions())
    assert len(script().get_heads()) == len(script().get_bases()) == 1
    assert [revision.is_branch_point for revision in revisions] == [False] * len(revisions)


def test_a_store_that_is_up_to_date_is_left_as_it_is(address: str) -> None:
    store = Store.open(address)
    opened(store)
    before = everything(store)
    store.close()
    for _ in range(2):
        again = Store.open(address)
        assert everything(again) == before
        again.close()


def test_a_store_of_a_newer_version_is_refused_and_not_touched(address: str, connection: Connection) -> None:
    store = Store.open(address)
    opened(store)
    before = everything(store)
    connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    connection.commit()
    with pytest.raises(StoreError, match=r"a newer version of hedgerow(.|\n)*install a newer hedgerow") as found:
        Store.open(address)
    assert found.value.__context__ is None
    assert everything(store) == before
    store.close()


def test_tables_of_others_are_left_alone(address: str, connection: Connection) -> None:
    connection.execute(text("CREATE TABLE people (id INTEGER)"))
    connection.commit()
    with pytest.raises(StoreError, match="other software"):
        Store.open(address)
    assert connection.scalar(text("SELECT count(*) FROM people")) == 0
    connection.execute(text("DROP TABLE people"))
    connection.commit()
    Store.open(address).close()


def test_importing_what_alembic_runs_runs_nothing() -> None:
    assert callable(hedgerow.service.migrations.env.run)
