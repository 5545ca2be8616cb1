"""Counts by the engine that holds the records are those of a pass over all of them, to the last record."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import hedgerow
from hedgerow.domain import Domain, domain_from_mapping
from hedgerow.errors import DataError
from hedgerow.queries import parse_predicate
from tests.data.sources import databases
from tests.privacy.mutants import Mutant, killed

DOMAIN = domain_from_mapping(
    {
        "job": {"values": ["Clerk", "clerk", "é", "cook"], "missing": True},
        "age": {"min": 0, "max": 49, "levels": [10]},
        "pay": {"edges": [0, 1, 2, 3, 4, 5], "other": True},
        "counts": {"min": 0, "max": 1},
    }
)
CLIQUES = [("job",), ("job", "age"), ("age", "pay"), ("job", "pay", "counts"), ("age.10", "job"), ("counts",)]


def rows(n: int = 3000, seed: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    jobs = rng.choice(["Clerk", "clerk", "é", "cook", None], n).tolist()
    pays = rng.choice([0.0, -0.0, 0.5, 1.0, 4.75, 9.0], n)
    return pa.table({"job": jobs, "age": rng.integers(0, 50, n), "pay": pays, "counts": rng.integers(0, 2, n)})


def write(path: Path, table: pa.Table) -> None:
    """As a table whose column of texts has a collation of its own, by which more cells are equal than have one code."""
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE people (job VARCHAR COLLATE NOCASE, age INTEGER, pay DOUBLE, counts TINYINT)")
        connection.execute("INSERT INTO people SELECT * FROM given")


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows that were read by each pass over all rows of a table in DuckDB."""
    made: list[int] = []
    inner = databases._selected

    def selected(*given: Any) -> Iterator[pa.RecordBatch]:
        made.append(0)
        for batch in inner(*given):
            made[-1] += batch.num_rows
            yield batch

    monkeypatch.setattr(databases, "_selected", selected)
    return made


def same(table: Any, inside: Any, cliques: Any = CLIQUES) -> None:
    for clique in cliques:
        np.testing.assert_array_equal(table.marginals([clique])[0], inside.marginals([clique])[0])


@pytest.mark.parametrize("where", [None, "job = 'clerk' and age > 7"])
def test_a_table_of_duckdb_is_looked_at_once_and_counted_in_groups(
    tmp_path: Path, passes: list[int], where: str | None
) -> None:
    write(tmp_path / "a.db", rows())
    table = hedgerow.scan_table(f"duckdb:{tmp_path}/a.db#people", DOMAIN, where=where)
    assert table.total() == passes[0]
    whole = rows().to_pandas()
    kept = whole if where is None else whole[(whole.job.str.lower() == "clerk") & (whole.age > 7)]
    same(table, hedgerow.read_table(pa.Table.from_pandas(kept, preserve_index=False), DOMAIN))
    assert len(passes) == 1


def test_questions_are_counted_in_groups(tmp_path: Path, passes: list[int]) -> None:
    write(tmp_path / "a.db", rows())
    table, inside = hedgerow.scan_table(f"duckdb:{tmp_path}/a.db#people", DOMAIN), hedgerow.read_table(rows(), DOMAIN)
    asked = [
        parse_predicate(text, DOMAIN)
        for text in ("age > 3 and job = 'é'", "pay >= 2", "job is null and counts = 1", "\"age.10\" = '[30, 40)'")
    ]
    table.total()
    np.testing.assert_array_equal(table.conjunctions(asked), inside.conjunctions(asked))
    assert len(passes) == 1


def test_a_folder_whose_files_have_different_types_is_counted_in_groups(tmp_path: Path, passes: list[int]) -> None:
    first, second = rows(), rows(seed=4)
    (tmp_path / "b").mkdir()
    pyarrow.parquet.write_table(first, tmp_path / "b" / "1.parquet")
    second = second.set_column(1, "age", second["age"].cast(pa.float64()))
    pyarrow.parquet.write_table(second, tmp_path / "b" / "2.parquet")
    table = hedgerow.scan_table(f"{tmp_path}/b", DOMAIN)
    table.total()
    before = len(passes)
    both = pa.concat_tables([first, rows(seed=4)])
    same(table, hedgerow.read_table(both, DOMAIN))
    assert len(passes) == before


def test_many_tables_are_counted_in_one_pass(tmp_path: Path, passes: list[int]) -> None:
    write(tmp_path / "a.db", rows())
    table = hedgerow.scan_table(f"duckdb:{tmp_path}/a.db#people", DOMAIN)
    table.total()
    pairs = [(a, b) for i, a in enumerate(DOMAIN.names) for b in DOMAIN.names[i + 1 :]]
    for found, own in zip(table.marginals(pairs), hedgerow.read_table(rows(), DOMAIN).marginals(pairs), strict=True):
        np.testing.assert_array_equal(found, own)
    assert len(passes) == 2


def ruled() -> Domain:
    rule = {"impossible": "age < 5 and counts = 1"}
    ages: dict[str, Any] = {"age": {"min": 0, "max": 49}, "counts": {"min": 0, "max": 1}}
    return domain_from_mapping({"attributes": ages, "constraints": [rule]})


def test_rules_and_persons_need_every_row(tmp_path: Path, passes: list[int]) -> None:
    write(tmp_path / "a.db", rows())
    place = f"duckdb:{tmp_path}/a.db#people"
    table = hedgerow.scan_table(place, ruled(), extra_columns="ignore", violations="drop")
    n = table.total()
    assert table.marginals([("age",)])[0].sum() == n
    assert len(passes) == 2
    people = domain_from_mapping({"counts": [0, 1]})
    persons = hedgerow.scan_table(place, people, extra_columns="ignore", person="age", at_most=2)
    assert persons.total() == persons.marginals([("counts",)])[0].sum() == 100
    assert len(passes) == 4


def test_a_cell_that_fits_nothing_is_found_in_the_first_pass_whatever_is_asked(tmp_path: Path) -> None:
    table = rows()
    write(tmp_path / "a.db", table.set_column(1, "age", pa.array([50, *table["age"].to_pylist()[1:]])))
    scanned = hedgerow.scan_table(f"duckdb:{tmp_path}/a.db#people", DOMAIN)
    with pytest.raises(DataError, match="'age'"):
        scanned.marginals([("job",)])


def test_records_that_change_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.db", rows())
    table = hedgerow.scan_table(f"duckdb:{tmp_path}/a.db#people", DOMAIN)
    table.total()
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.execute("DELETE FROM people WHERE age = 3")
    with pytest.raises(DataError, match="changed between two passes"):
        table.marginals([("job",)])


def test_what_no_name_can_collide_with(tmp_path: Path) -> None:
    """A column named as that of the counts of groups."""
    domain = domain_from_mapping({"rows of a group": [0, 1]})
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.execute('CREATE TABLE people AS SELECT (range % 2)::INTEGER AS "rows of a group" FROM range(10)')
    table = hedgerow.scan_table(f"duckdb:{tmp_path}/a.db#people", domain)
    assert table.total() == 10
    assert table.marginals([("rows of a group",)])[0].tolist() == [5.0, 5.0]


@pytest.mark.postgresql
def test_a_table_of_postgresql_is_counted_in_groups_by_columns_whose_equality_is_plain(
    tmp_path: Path, postgresql_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adbc_driver_postgresql import dbapi

    name = f"people {tmp_path.name}"
    statements: list[str] = []
    inner = databases._grouping

    def grouping(*given: Any) -> str:
        statements.append(inner(*given))
        return statements[-1]

    monkeypatch.setattr(databases, "_grouping", grouping)
    with dbapi.connect(postgresql_address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, rows(), mode="replace")
        cursor.execute(f'ALTER TABLE "{name}" ALTER COLUMN age TYPE numeric, ALTER COLUMN counts TYPE char(1)')
        connection.commit()
    table = hedgerow.scan_table(f"{postgresql_address}#{name}", DOMAIN)
    inside = hedgerow.read_table(rows(), DOMAIN)
    table.total()
    same(table, inside, [("job", "age"), ("age", "pay")])
    assert [each.count("GROUP BY") for each in statements] == [1, 1]
    same(table, inside, [("counts",)])  # padded texts are equal where their codes need not be
    assert len(statements) == 2


def groups_are_those_of_a_pass() -> None:
    """With a filter, so that all parts of the statement count."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "a.db"), rows(400))
        table = hedgerow.scan_table(f"duckdb:{folder}/a.db#people", DOMAIN, where="age > 7")
        whole = rows(400).to_pandas()
        inside = hedgerow.read_table(pa.Table.from_pandas(whole[whole.age > 7], preserve_index=False), DOMAIN)
        try:
            assert table.total() == inside.total()
            same(table, inside)
        except DataError as error:
            raise AssertionError(error.message) from None


def _grouping_with(change: Callable[[str], str]) -> Callable[[pytest.MonkeyPatch], None]:
    inner = databases._grouping
    return lambda patch: patch.setattr(databases, "_grouping", lambda *given: change(inner(*given)))


MUTANTS = [
    Mutant(
        "texts are grouped by the collation of their column",
        lambda patch: patch.setattr(databases, "_is_text", lambda kind: False),
        groups_are_those_of_a_pass,
    ),
    Mutant(
        "each combination counts once",
        _grouping_with(lambda text: text.replace("count(*)", "1")),
        groups_are_those_of_a_pass,
    ),
    Mutant(
        "rows that the filter leaves out are counted in groups",
        _grouping_with(lambda text: text.partition(" WHERE ")[0] + ") AS kept" + text.rpartition(") AS kept")[2]),
        groups_are_those_of_a_pass,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_planted_bugs_in_groups_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
