"""Tables that DuckDB reads, as streams of Arrow batches: partitioned folders, database files, and filters on rows.

DuckDB's own messages can hold cells of the table, so none of them is passed on once rows are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from glob import escape, glob
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.data.reading.readers import BATCH_ROWS, Batches, Reader, check_alike, open_table
from hedgerow.data.reading.row_filter import filtered_by, row_filter
from hedgerow.data.reading.withheld import STREAM_FAILURES, Failures
from hedgerow.engines import DuckDBTable, connect, interruptible, quoted, require_duckdb
from hedgerow.errors import ColumnError, QueryError, UnreadableTableError, raise_alone

if TYPE_CHECKING:
    import duckdb


def filtered(reader: Reader, where: str) -> Reader:
    """The rows of a table that a condition holds for.

    Args:
        reader: The table.
        where: A SQL condition on its columns; see `row_filter`.

    Raises:
        QueryError: The condition may look at more than one row.
        MissingExtraError: DuckDB is not installed.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow.data.reading.readers import open_table
        >>> reader = filtered(open_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})), "b = 'x'")
        >>> [batch.to_pydict() for batch in reader.batches(["a"], [])]
        [{'a': [1, 3]}]
    """
    condition = row_filter(where, reader.file, reader.names, reader.names if reader.texts else ())
    require_duckdb()
    _check_cases(reader)

    def batches(names: Sequence[str], _: Collection[str]) -> Batches:
        import pyarrow as pa

        looked_at, failures = list(dict.fromkeys([*names, *filtered_by(where)])), Failures()
        with closing(batch.select(looked_at) for batch in reader.batches(looked_at, [])) as stream:
            first = next(stream, None)
            if first is None:
                return
            with _connected(reader.file) as connection:
                rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], failures.noted(stream)))
                connection.register("rows_of_the_table", rows)
                with failures.told():
                    yield from _selected(connection, names, f"rows_of_the_table WHERE {condition}")

    return Reader(reader.file, reader.names, batches, filtered=True)


def _check_cases(reader: Reader) -> None:
    """Refuse names that DuckDB cannot tell apart."""
    for name, n in Counter(name.casefold() for name in set(reader.names)).items():
        if n > 1:
            twins = [each for each in reader.names if each.casefold() == name]
            raise ColumnError(
                f"a filter cannot tell it from {twins[1]!r}", file=reader.file, column=twins[0], remedy="rename one"
            )


def open_folder(folder: Path, where: str | None = None) -> Reader:
    """Parquet files below a folder; of names like ``year=2024`` the key is a column, a text.

    Args:
        folder: Partitioned or not.
        where: A SQL condition on the columns.

    Raises:
        UnreadableTableError: There is no Parquet file, or they have no common columns.
        MissingExtraError: DuckDB is not installed.
    """
    found = map(Path, glob(f"{escape(str(folder))}/**/*.parquet", recursive=True))
    files = sorted(path for path in found if path.is_file() and not _is_aside(path.relative_to(folder)))
    if not files:
        raise UnreadableTableError("there is no Parquet file in it", file=str(folder), remedy="check the path")
    check_alike([open_table(file) for file in files])
    listed = ", ".join(_text(str(path)) for path in files)
    relation = f"read_parquet([{listed}], hive_partitioning = true, hive_types_autocast = false, union_by_name = true)"
    return _opened(str(folder), relation, where, connect)


def _is_aside(path: Path) -> bool:
    """Whether it is no part of the table, as Spark and Arrow see it: what a job that failed has left, say."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in path.parts)


def open_database(table: DuckDBTable, where: str | None = None) -> Reader:
    """A table or view of a DuckDB database file, which is opened for reading only.

    Args:
        table: The file, and the name of the table.
        where: A SQL condition on its columns.

    Raises:
        UnreadableTableError: The file or the table is not there.
        MissingExtraError: DuckDB is not installed.
    """
    if not table.file.is_file():
        raise UnreadableTableError("there is no such database", file=str(table.file), remedy="check the path")
    return _opened(str(table), table.relation, where, lambda: connect(table.file))


def _check_macros(file: str, connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse a database that gives operators or functions of DuckDB a meaning of its own: a filter could use them."""
    built_in = "SELECT lower(function_name) FROM duckdb_functions() WHERE internal"
    found = connection.execute(
        f"SELECT min(function_name) FROM duckdb_functions() WHERE NOT internal AND lower(function_name) IN ({built_in})"
    ).fetchone()
    if found is not None and found[0] is not None:
        message = f"the database has a macro named {found[0]!r}, as DuckDB itself: a filter could look at other rows"
        raise QueryError(message, remedy=f"drop the macro, or filter in a view of {file}")


def _opened(file: str, relation: str, where: str | None, opening: Callable[[], duckdb.DuckDBPyConnection]) -> Reader:
    require_duckdb()
    with _connected(file, opening) as connection:
        names = tuple(row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall())
        if where is not None:
            _check_macros(file, connection)
        (n_rows,) = connection.execute(f"SELECT count(*) FROM {relation}").fetchone() or (None,)  # from metadata
    condition = "" if where is None else f" WHERE {row_filter(where, file, names)}"

    def batches(wanted: Sequence[str], _: Collection[str]) -> Batches:
        with _connected(file, opening) as connection:
            yield from _selected(connection, wanted, relation + condition)

    return Reader(file, names, batches, n_rows=n_rows if where is None else None, filtered=where is not None)


def _selected(connection: duckdb.DuckDBPyConnection, names: Sequence[str], relation: str) -> Batches:
    columns = ", ".join(map(quoted, names))
    yield from connection.sql(f"SELECT {columns} FROM {relation}").to_arrow_reader(BATCH_ROWS)


@contextmanager
def _connected(
    file: str, opening: Callable[[], duckdb.DuckDBPyConnection] = connect
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one pass; what DuckDB says of failures stays here, because it can hold cells."""
    import duckdb

    try:
        with interruptible(), opening() as connection:
            yield connection
    except (duckdb.Error, *STREAM_FAILURES) as error:
        remedy = "check the path, the names and the filter; DuckDB's own message is withheld: it can hold cells"
        message = f"DuckDB cannot read it ({type(error).__name__})"
        raise_alone(UnreadableTableError(message, file=file, remedy=remedy))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
