"""Tables that DuckDB reads, as streams of Arrow batches: partitioned folders, database files, and filters on rows.

DuckDB's own messages can hold cells of the table, so none of them is passed on once rows are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.addresses import DuckDBTable, quoted
from hedgerow.data.readers import BATCH_ROWS, Batches, Reader
from hedgerow.data.row_filter import row_filter
from hedgerow.duckdb_file import connect, interruptible, require_duckdb
from hedgerow.errors import UnreadableTableError

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
        >>> from hedgerow.data.readers import open_table
        >>> reader = filtered(open_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})), "b = 'x'")
        >>> [batch.to_pydict() for batch in reader.batches(["a"], [])]
        [{'a': [1, 3]}]
    """
    condition = row_filter(where, reader.file, reader.names, reader.names if reader.texts else ())
    require_duckdb()

    def batches(names: Sequence[str], _: Collection[str]) -> Batches:
        import pyarrow as pa

        stream = reader.batches(list(reader.names), [])
        first = next(stream, None)
        if first is None:
            return

        def rest() -> Iterator[pa.RecordBatch]:
            yield first
            yield from stream

        with _connected(reader.file) as connection:
            connection.register("rows_of_the_table", pa.RecordBatchReader.from_batches(first.schema, rest()))
            yield from _selected(connection, names, f"rows_of_the_table WHERE {condition}")

    return Reader(reader.file, reader.names, batches)


def open_folder(folder: Path, where: str | None = None) -> Reader:
    """Parquet files below a folder; of names like ``year=2024`` the key is a column, a text.

    Args:
        folder: Partitioned or not.
        where: A SQL condition on the columns.

    Raises:
        UnreadableTableError: There is no Parquet file, or they have no common columns.
        MissingExtraError: DuckDB is not installed.
    """
    pattern = str(folder / "**" / "*.parquet")
    relation = f"read_parquet({_text(pattern)}, hive_partitioning = true, hive_types_autocast = false)"
    return _opened(str(folder), relation, where, connect)


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


def _opened(file: str, relation: str, where: str | None, opening: Callable[[], duckdb.DuckDBPyConnection]) -> Reader:
    require_duckdb()
    with _connected(file, opening) as connection:
        names = tuple(row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall())
        (n_rows,) = connection.execute(f"SELECT count(*) FROM {relation}").fetchone() or (None,)  # from metadata
    condition = "" if where is None else f" WHERE {row_filter(where, file, names)}"

    def batches(wanted: Sequence[str], _: Collection[str]) -> Batches:
        with _connected(file, opening) as connection:
            yield from _selected(connection, wanted, relation + condition)

    return Reader(file, names, batches, n_rows=n_rows if where is None else None)


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
    except duckdb.Error as error:
        remedy = "check the path, the names and the filter; DuckDB's own message is withheld: it can hold cells"
        raise UnreadableTableError(
            f"DuckDB cannot read it ({type(error).__name__})", file=file, remedy=remedy
        ) from None


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
