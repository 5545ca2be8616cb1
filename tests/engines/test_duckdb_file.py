"""Records in tables of DuckDB files: whole or not at all, in any number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from hedgerow.data import read_table, scan_table
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange
from hedgerow.engines import DuckDBTable, duckdb_table, table_exists
from hedgerow.errors import ConfigError, RecordsError
from hedgerow.release import Records, write_batches, writer_for

DOMAIN = Domain(
    [
        Categorical("sex", ("F", "M"), missing="?"),
        IntegerRange("age", 17, 90, missing="-1"),
        Binned("in come", (0.0, 1.0, 9.0)),
        Categorical("vip", (True, False)),
        Categorical('a "b"', ("x, y", "it's")),
    ]
)


def batches(sizes: list[int], seed: int = 0) -> Iterator[Records]:
    draw, first = np.random.default_rng(seed), 0
    for size in sizes:
        codes = np.stack([draw.integers(each, size=size) for each in DOMAIN.shape], axis=1)
        yield Records(codes, DOMAIN, seed=1, first=first)
        first += size


def rows(file: Path, sql: str) -> list[Any]:
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with a table, a view and a schema."""
    with duckdb.connect(str(tmp_path / "some.db")) as connection:
        for statement in ("TABLE people AS SELECT 42 AS x", "VIEW seen AS SELECT * FROM people", "SCHEMA other"):
            connection.execute(f"CREATE {statement}")
    return tmp_path / "some.db"


def test_records_are_there_in_order_with_their_types(tmp_path: Path) -> None:
    told: list[int] = []
    write_batches(f"duckdb:{tmp_path}/new.db#all people", DOMAIN, batches([5, 0, 300_000]), told.append)
    expected = pa.Table.from_batches(chunk for batch in batches([5, 0, 300_000]) for chunk in batch.batches())
    with duckdb.connect(str(tmp_path / "new.db"), read_only=True) as connection:
        found = connection.sql('SELECT * FROM "all people"').to_arrow_table()
    assert found.equals(expected)
    assert told[0] == 5
    assert told == sorted(told)
    assert told[-1] == 300_005
    assert [each.name for each in tmp_path.iterdir()] == ["new.db"]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    place = f"duckdb://{tmp_path}/new.db#people"
    records = next(batches([200]))
    records.write(place)
    cliques = [DOMAIN.names[:2], DOMAIN.names[2:]]
    for found, expected in zip(
        scan_table(place, DOMAIN).marginals(cliques),
        read_table(records.to_arrow(), DOMAIN).marginals(cliques),
        strict=True,
    ):
        assert found.tolist() == expected.tolist()


def test_a_table_is_replaced_and_its_neighbours_stay(file: Path) -> None:
    write_batches(f"duckdb:{file}#other.people", DOMAIN, batches([3]))
    assert rows(file, "SELECT x FROM people") == [(42,)]
    write_batches(f"duckdb:{file}#people", DOMAIN, batches([4]))
    assert rows(file, "SELECT count(*), count(vip) FROM people") == [(4, 4)]
    assert rows(file, "SELECT count(*) FROM other.people") == [(3,)]


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("failure", [ZeroDivisionError, KeyboardInterrupt, ConfigError])
@pytest.mark.parametrize("name", ["some.db", "new.db"])
def test_a_failure_leaves_everything_as_it_was(file: Path, failure: type[BaseException], name: str) -> None:
    def failing() -> Iterator[Records]:
        yield from batches([200_000])
        raise failure("of the stream")

    with pytest.raises(failure, match="of the stream"):
        write_batches(f"duckdb:{file.parent}/{name}#people", DOMAIN, failing())
    assert rows(file, "SELECT x FROM people") == [(42,)]
    assert [each.name for each in file.parent.iterdir()] == ["some.db"]


def test_a_failure_of_whoever_watches_is_one_too(file: Path) -> None:
    def watch(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_batches(f"duckdb:{file}#people", DOMAIN, batches([9, 9]), watch)
    assert rows(file, "SELECT x FROM people") == [(42,)]


@pytest.mark.parametrize("name", ["some.db#seen", "some.db#nowhere.people", "letter.csv#people", "none/a.db#people"])
def test_what_cannot_be_written_is_explained(file: Path, name: str) -> None:
    (file.parent / "letter.csv").write_text("no,database\n1,2\n")
    before = sorted(file.parent.iterdir())
    with pytest.raises((RecordsError, FileNotFoundError)) as caught:
        write_batches(f"duckdb:{file.parent}/{name}", DOMAIN, batches([9]))
    assert isinstance(caught.value, FileNotFoundError) or name.partition("#")[0] in str(caught.value)
    assert sorted(file.parent.iterdir()) == before


def test_tables_and_views_are_found(file: Path) -> None:
    found = {name: table_exists(DuckDBTable(file, name)) for name in ("people", "PEOPLE", "main.people", "seen", "a.b")}
    assert found == {"people": True, "PEOPLE": True, "main.people": True, "seen": True, "a.b": False}
    assert not table_exists(DuckDBTable(file.parent / "none.db", "people"))


@pytest.mark.parametrize("text", ["duckdb:a.db", "duckdb:#t", "duckdb://host/a.db#t", "duckdb:a.db?x=1#t", "a.db#t"])
def test_addresses_without_file_or_table(text: str) -> None:
    assert duckdb_table(text) is None
    if text.startswith("duckdb"):
        with pytest.raises(ConfigError, match="does not name a file and a table"):
            writer_for(text)


def test_addresses_survive_being_paths() -> None:
    for text in ("duckdb:///data/a%20b.db#t", str(Path("duckdb:///data/a b.db#t")), "DuckDB:/data/a b.db#t"):
        assert duckdb_table(text) == DuckDBTable(Path("/data/a b.db"), "t")
