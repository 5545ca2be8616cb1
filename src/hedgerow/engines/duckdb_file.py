"""DuckDB database files: opening them, and writing a table in one transaction from a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.engines.addresses import DuckDBTable
from hedgerow.errors import RecordsError, require
from hedgerow.system import replacing

if TYPE_CHECKING:
    import duckdb

_SETTINGS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""No extension is fetched from the network."""

_MEMORY = 128 << 20
_COLUMN_BYTES = 4 << 20
"""Memory per column: a group of rows is held before it is compressed and written."""

_MAGIC, _MAGIC_OFFSET = b"DUCK", 8

_REMEDY = "check the path, the name of the table, and that no other program has the database open"


def require_duckdb() -> None:
    """Check that DuckDB is installed.

    Raises:
        MissingExtraError: It is not.
    """
    require("duckdb", "DuckDB is not installed", "pip install 'hedgerow[duckdb]'")


def connect(path: Path | None = None, *, read_only: bool = True, **settings: Any) -> duckdb.DuckDBPyConnection:
    """A connection that fetches no extension from the network; without a path, to a database in memory.

    Args:
        path: Path of the file.
        read_only: Whether the file stays as it is.
        settings: Settings of DuckDB.
    """
    import duckdb

    given = {**_SETTINGS, **settings}
    return duckdb.connect(config=given) if path is None else duckdb.connect(str(path), read_only, given)


def table_exists(table: DuckDBTable) -> bool:
    """Whether the database is there and has such a table or view.

    Raises:
        RecordsError: The file is not a database, or another program has it open.
        MissingExtraError: DuckDB is not installed.

    Example:
        >>> table_exists(DuckDBTable(Path("nothing.db"), "people"))
        False
    """
    require_duckdb()
    if not _is_there(table):
        return False
    asked = "FROM information_schema.tables WHERE lower(table_schema) = ? AND lower(table_name) = ?"
    with _explained(table), connect(table.file) as connection:
        return bool(connection.execute(asked, table.key).fetchall())


def check_table(table: DuckDBTable) -> None:
    """Check that a table can be written or replaced, by doing so and rolling back.

    Raises:
        RecordsError: Another program has the database open, it has no such schema, or a view has the name.
        MissingExtraError: DuckDB is not installed.

    Example:
        >>> check_table(DuckDBTable(Path("new.db"), "people"))
        >>> check_table(DuckDBTable(Path("new.db"), "nowhere.people"))
        Traceback (most recent call last):
            ...
        hedgerow.errors.RecordsError: new.db#nowhere.people: Catalog Error: Schema with name nowhere does not exist!...
    """
    require_duckdb()
    file = table.file if _is_there(table) else None
    with _explained(table), connect(file, read_only=False) as connection:
        connection.execute("BEGIN")
        connection.execute(f"CREATE OR REPLACE TABLE {table.relation} AS SELECT 1 AS x")
        connection.execute("ROLLBACK")


def write_table(table: DuckDBTable, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write a table of a DuckDB file from a stream; one that is there is replaced in one step at the end.

    If the stream fails or is interrupted, the database is as it was. Memory does not grow with the number of rows.

    Args:
        table: The table to write; its folder must exist, the database need not.
        schema: Schema of all batches.
        batches: Any number of batches; read once, by this thread, in order.

    Raises:
        RecordsError: The database cannot be written to.
        MissingExtraError: DuckDB is not installed.

    Example:
        >>> import tempfile
        >>> batch = pa.record_batch({"age": [30, 40]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = DuckDBTable(Path(folder, "a.db"), "people")
        ...     write_table(place, batch.schema, [batch, batch])
        ...     with connect(place.file) as connection:
        ...         connection.execute("SELECT count(*) FROM people").fetchall()
        [(4,)]
    """
    require_duckdb()
    if _is_there(table):
        _write(table, table.file, schema, batches)
        return
    with replacing(table.file) as beside:
        beside.unlink()  # to DuckDB an empty file is no database
        _write(table, beside, schema, batches)


def _is_there(table: DuckDBTable) -> bool:
    """Whether there is a file, which must be a database: DuckDB opens CSV files too, as databases in memory."""
    if not table.file.exists():
        return False
    with table.file.open("rb") as file:
        if file.read(len(_MAGIC) + _MAGIC_OFFSET)[_MAGIC_OFFSET:] != _MAGIC:
            raise RecordsError(f"{table.file} is not a DuckDB database", remedy=_REMEDY)
    return True


def _write(table: DuckDBTable, file: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    # One thread: the stream is read in this one, where an interrupt can be raised, and few groups of rows are held.
    memory = f"{(_MEMORY + _COLUMN_BYTES * len(schema)) >> 20}MiB"
    stream = _Stream(batches)
    with _explained(table, stream), connect(file, read_only=False, threads=1, memory_limit=memory) as connection:
        connection.register("rows_to_write", pa.RecordBatchReader.from_batches(schema, iter(stream)))
        connection.execute(f"CREATE OR REPLACE TABLE {table.relation} AS SELECT * FROM rows_to_write")


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C, from which DuckDB makes an error of its own while it works.

    Example:
        >>> try:
        ...     with interruptible():
        ...         raise RuntimeError("Query interrupted")
        ... except KeyboardInterrupt:
        ...     print("interrupted")
        interrupted
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None


class _Stream:
    """Batches on their way through DuckDB, with the failure that ended them, which DuckDB would replace."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self.failure: BaseException | None = None

    def __iter__(self) -> Generator[pa.RecordBatch]:
        try:
            yield from self._batches
        except GeneratorExit:
            raise
        except BaseException as failure:
            self.failure = failure
            raise


@contextmanager
def _explained(table: DuckDBTable, stream: _Stream | None = None) -> Iterator[None]:
    """Raise failures of DuckDB as errors of ours, or as the error that ended the stream."""
    import duckdb

    try:
        with interruptible():
            yield
    except duckdb.Error as error:
        if stream is not None and stream.failure is not None:
            raise stream.failure from None
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise RecordsError(f"{table}: {first}", remedy=_REMEDY) from error
