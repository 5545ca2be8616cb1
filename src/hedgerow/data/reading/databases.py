"""Tables that database engines read, as streams of Arrow batches: DuckDB and PostgreSQL.

DuckDB reads partitioned folders and database files, and filters the rows of any other table. A pass over a PostgreSQL
table is one statement, which sees one state. What an engine says of a failure can hold cells of the table, so none is
passed on once rows are read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from glob import escape, glob
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hedgerow.data.reading.readers import (
    BATCH_ROWS,
    Batches,
    Reader,
    check_alike,
    one_after_another,
    open_table,
    types_in,
)
from hedgerow.engines import DuckDBTable, connect, interruptible, quoted, require_duckdb
from hedgerow.errors import ColumnError, DataError, MissingExtraError, QueryError, UnreadableTableError, raise_alone

if TYPE_CHECKING:
    import duckdb
    from adbc_driver_manager.dbapi import Connection

T = TypeVar("T")

_BASE_TABLE = """
SELECT table_name FROM duckdb_tables() WHERE lower(schema_name) = ? AND lower(table_name) = ?
"""
"""A table whose types are stored; those of a view may be read off the cells of a file."""

_PLAIN = """
attnum > 0 AND NOT attisdropped AND format_type(atttypid, NULL) IN ('smallint', 'integer', 'bigint', 'boolean', 'real',
'double precision', 'numeric', 'date', 'text', 'character varying')
"""
"""Columns of PostgreSQL whose equal cells are read alike: types of extensions, and padded texts, compare otherwise."""


@contextmanager
def _withholding(engine: str, file: str, kind: type[Exception], remedy: str) -> Iterator[None]:
    """Name the kind of a failure and nothing else; Arrow makes its own of those in the middle of a stream."""
    try:
        yield
    except (kind, pa.ArrowException, OSError) as error:
        raise_alone(UnreadableTableError(f"{engine} cannot read it ({type(error).__name__})", file=file, remedy=remedy))


class Failures:
    """Our own errors about a stream that goes through an engine, which would report them in its words.

    Example:
        >>> failures = Failures()
        >>> def stream():
        ...     raise DataError("it has no end")
        ...     yield 1
        >>> with failures.told():
        ...     try:
        ...         list(failures.noted(stream()))
        ...     except DataError:
        ...         raise ValueError("the engine failed") from None
        Traceback (most recent call last):
            ...
        hedgerow.errors.DataError: it has no end
    """

    def __init__(self) -> None:
        """Start with none."""
        self._first: DataError | None = None

    def noted(self, stream: Iterable[T]) -> Iterator[T]:
        """The stream; its failure is noted."""
        try:
            yield from stream
        except DataError as error:
            self._first = error
            raise

    @contextmanager
    def told(self) -> Iterator[None]:
        """Raise what was noted in place of what the engine says."""
        try:
            yield
        except Exception:
            if self._first is None:
                raise
            raise_alone(self._first)


def filtered(reader: Reader, where: str) -> Reader:
    """The rows of a table that a condition holds for.

    Args:
        reader: The table.
        where: A SQL condition on its columns; see `row_filter`.

    Raises:
        QueryError: The condition may look at more than one row.
        MissingExtraError: DuckDB is not installed.

    Example:
        >>> reader = filtered(open_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})), "b = 'x'")
        >>> [batch.to_pydict() for batch in reader.batches(["a"], [])]
        [{'a': [1, 3]}]
    """
    from hedgerow.data.reading.row_filter import filtered_by, row_filter

    numbers = numbers_in(reader.types())
    condition = row_filter(
        where, reader.file, reader.names, texts=reader.names if reader.texts else (), numbers=numbers
    )
    require_duckdb()
    _check_cases(reader)

    def batches(names: Sequence[str], _: Collection[str]) -> Batches:
        looked_at, failures = list(dict.fromkeys([*names, *filtered_by(where)])), Failures()
        with closing(_plainly(batch.select(looked_at)) for batch in reader.batches(looked_at, [])) as stream:
            first = next(stream, None)
            if first is None:
                return
            with _connected(reader.file) as connection:
                rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], failures.noted(stream)))
                connection.register("rows_of_the_table", rows)
                with failures.told():
                    yield from _selected(connection, names, f"rows_of_the_table WHERE {condition}")

    return replace(reader, batches=batches, n_rows=None, filtered=True)


def numbers_in(types: Mapping[str, pa.DataType]) -> dict[str, bool]:
    """The columns that hold numbers, and whether these are whole numbers or doubles.

    Example:
        >>> numbers_in({"age": pa.int8(), "cost": pa.float32(), "job": pa.string()})
        {'age': True, 'cost': False}
    """
    numeric = {}
    for name, kind in types.items():
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        if pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_decimal(inner):
            numeric[name] = pa.types.is_integer(inner) or inner == pa.float64()
    return numeric


def _plainly(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Values in place of dictionaries, which would be types of their own to DuckDB."""
    kinds = [column.type for column in batch.columns]
    columns = [
        column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
        for column, kind in zip(batch.columns, kinds, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _check_cases(reader: Reader) -> None:
    """Refuse names that DuckDB cannot tell apart."""
    for name, n in Counter(name.casefold() for name in set(reader.names)).items():
        if n > 1:
            twins = [other for other in reader.names if other.casefold() == name]
            raise ColumnError(
                f"a filter cannot tell it from {twins[1]!r}", file=reader.file, column=twins[0], remedy="rename one"
            )


def open_folder(folder: Path, where: str | None = None) -> Reader:
    """Parquet files below a folder; of names like ``year=2024`` the key is a column, a text.

    Files of the same types are read together. DuckDB would bring other types to one that holds all cells.

    Args:
        folder: Partitioned or not.
        where: A SQL condition on the columns.

    Raises:
        UnreadableTableError: There is no Parquet file, or they have no common columns.
        MissingExtraError: DuckDB is not installed.
    """
    paths = map(Path, glob(f"{escape(str(folder))}/**/*.parquet", recursive=True))
    files = sorted(path for path in paths if path.is_file() and not _is_aside(path.relative_to(folder)))
    if not files:
        raise UnreadableTableError("there is no Parquet file in it", file=str(folder), remedy="check the path")
    tables = [open_table(file) for file in files]
    check_alike(tables)
    alike = defaultdict[Any, list[str]](list)
    for file, table in zip(files, tables, strict=True):
        alike[frozenset(table.types().items())].append(_text(str(file)))
    options = "hive_partitioning = true, hive_types_autocast = false, union_by_name = true"
    relations = (f"read_parquet([{', '.join(listed)}], {options})" for listed in alike.values())
    opened = [_opened(str(folder), relation, where, connect) for relation in relations]
    return one_after_another(str(folder), opened, filtered=where is not None)


def _is_aside(path: Path) -> bool:
    """Whether it does not belong to the table, as Spark and Arrow see it: the remains of a failed job, say."""
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
    return _opened(str(table), table.relation, where, lambda: connect(table.file), table.key)


def _check_macros(file: str, connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse a database that gives operators or functions of DuckDB a meaning of its own: a filter could use them."""
    built_in = "SELECT lower(function_name) FROM duckdb_functions() WHERE internal"
    macros = connection.execute(
        f"SELECT min(function_name) FROM duckdb_functions() WHERE NOT internal AND lower(function_name) IN ({built_in})"
    ).fetchone()
    if macros is not None and macros[0] is not None:
        message = f"the database has a macro named {macros[0]!r}, as DuckDB itself: a filter could look at other rows"
        raise QueryError(message, remedy=f"drop the macro, or filter in a view of {file}")


def _opened(
    file: str,
    relation: str,
    where: str | None,
    opening: Callable[[], duckdb.DuckDBPyConnection],
    key: tuple[str, str] | None = None,
) -> Reader:
    require_duckdb()
    with _connected(file, opening) as connection:
        types = types_in(connection.sql(f"SELECT * FROM {relation} LIMIT 0").to_arrow_reader().schema)
        declared = key is not None and bool(connection.execute(_BASE_TABLE, key).fetchall())
        if where is not None:
            _check_macros(file, connection)
        (n_rows,) = connection.execute(f"SELECT count(*) FROM {relation}").fetchone() or (None,)  # from metadata
    condition = _condition(where, file, tuple(types), "duckdb", {} if declared else numbers_in(types))

    def batches(wanted: Sequence[str], _: Collection[str]) -> Batches:
        with _connected(file, opening) as connection:
            yield from _selected(connection, wanted, relation + condition)

    def grouped(wanted: Sequence[str], counts: str) -> Batches:
        with _connected(file, opening) as connection:
            statement = _grouping([(name, types[name]) for name in wanted], relation + condition, counts, "binary")
            yield from connection.sql(statement).to_arrow_reader(BATCH_ROWS)

    return Reader(
        file,
        tuple(types),
        batches,
        types=lambda: types,
        declared=declared,
        n_rows=n_rows if where is None else None,
        filtered=where is not None,
        grouped=grouped,
        groupable=frozenset(types),
    )


def _grouping(columns: Sequence[tuple[str, pa.DataType]], relation: str, counts: str, bytewise: str) -> str:
    """A statement that counts rows by combinations of cells; texts are equal where all their bytes are.

    Args:
        columns: Names and types.
        relation: What is counted, with its filter.
        counts: Name for the column of counts.
        bytewise: Name of the collation by which texts are compared byte by byte, whatever that of a column is.
    """
    names = [quoted(name) for name, _ in columns]
    cells = [
        f"({name} COLLATE {quoted(bytewise)}) AS {name}" if _is_text(kind) else name
        for name, (_, kind) in zip(names, columns, strict=True)
    ]
    by = ", ".join(map(str, range(1, len(cells) + 1)))
    rows = f"SELECT {', '.join(names)} FROM {relation}"
    return f"SELECT {', '.join(cells)}, count(*) AS {quoted(counts)} FROM ({rows}) AS kept GROUP BY {by}"


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _condition(
    where: str | None,
    file: str,
    names: Sequence[str],
    dialect: str,
    numbers: Mapping[str, bool] = MappingProxyType({}),
) -> str:
    """A filter, checked, as the end of a statement; empty where there is none."""
    if where is None:
        return ""
    from hedgerow.data.reading.row_filter import row_filter

    return f" WHERE {row_filter(where, file, names, dialect=dialect, numbers=numbers)}"


def _selected(connection: duckdb.DuckDBPyConnection, names: Sequence[str], relation: str) -> Batches:
    columns = ", ".join(map(quoted, names))
    yield from connection.sql(f"SELECT {columns} FROM {relation}").to_arrow_reader(BATCH_ROWS)


@contextmanager
def _connected(
    file: str, opening: Callable[[], duckdb.DuckDBPyConnection] = connect
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB connection for one pass."""
    import duckdb

    remedy = "check the path, the names and the filter; DuckDB's own message is withheld: it can hold cells"
    with _withholding("DuckDB", file, duckdb.Error, remedy), interruptible(), opening() as connection:
        yield connection


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def open_postgresql(address: str, table: str, where: str | None, shown: str) -> Reader:
    """A table or view of a PostgreSQL database.

    Args:
        address: ``postgresql://user@host:port/database``, as libpq takes it; a password is best left to its files.
        table: Name of the table, perhaps with that of its schema before a dot.
        where: A SQL condition on its columns.
        shown: The address and the table as messages may show them.

    Raises:
        UnreadableTableError: The database or the table is not there.
        MissingExtraError: The driver is not installed.
    """
    if find_spec("adbc_driver_postgresql") is None:
        message = "the driver for PostgreSQL is not installed"
        raise MissingExtraError(message, remedy="pip install 'hedgerow[postgresql]'")
    relation = ".".join(map(quoted, table.split(".")))

    def batches(names: Sequence[str], _: Collection[str]) -> Batches:
        return told(f"SELECT {', '.join(map(quoted, names))} FROM {relation}{condition}")

    def grouped(names: Sequence[str], counts: str) -> Batches:
        return told(_grouping([(name, types[name]) for name in names], relation + condition, counts, "C"))

    def told(statement: str) -> Batches:
        with _connected_to_postgresql(address, shown) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            for batch in cursor.fetch_record_batch():
                stored = [_stored(batch.schema.field(i), column, shown) for i, column in enumerate(batch.columns)]
                yield pa.RecordBatch.from_arrays(stored, names=batch.schema.names)

    with _connected_to_postgresql(address, shown) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {relation} LIMIT 0")
        types = {field.name: _stored_type(field) for field in cursor.fetch_record_batch().schema}
        cursor.execute(f"SELECT attname FROM pg_attribute WHERE attrelid = to_regclass({_text(relation)}) AND {_PLAIN}")
        plain = frozenset(name for (name,) in cursor.fetchall()) & types.keys()
    condition = _condition(where, shown, tuple(types), "postgres")
    return Reader(
        shown,
        tuple(types),
        batches,
        types=lambda: types,
        declared=True,
        filtered=where is not None,
        grouped=grouped,
        groupable=plain,
    )


def _stored_type(field: pa.Field[Any]) -> pa.DataType:
    """The type of what is stored in a column."""
    if (field.metadata or {}).get(b"POSTGRESQL:type") == b"numeric":
        return pa.float64()
    return field.type.storage_type if isinstance(field.type, pa.ExtensionType) else field.type


def _stored(field: pa.Field[Any], column: pa.Array[Any], shown: str) -> pa.Array[Any]:
    """Texts and numbers: numbers of any length come as a type of their own around their texts."""
    kind = (field.metadata or {}).get(b"POSTGRESQL:type")
    if kind == b"money":  # it comes as a number of cents
        remedy = "cast it to numeric in a view, or leave it out"
        raise ColumnError("its type is money, whose unit is not known", file=shown, column=field.name, remedy=remedy)
    stored = column.storage if isinstance(column, pa.ExtensionArray) else column
    if kind != b"numeric":
        return stored
    empty: Any = pc.match_substring_regex(stored, "^nan$")
    texts: pa.Array[Any] = pc.if_else(empty, pa.scalar(None, pa.string()), stored)
    return texts


@contextmanager
def _connected_to_postgresql(address: str, shown: str) -> Iterator[Connection]:
    """A PostgreSQL connection for one pass."""
    from adbc_driver_manager.dbapi import Error
    from adbc_driver_postgresql import dbapi

    remedy = "check address, names, rights and filter with psql; the message is withheld: it can hold cells"
    with _withholding("PostgreSQL", shown, Error, remedy), dbapi.connect(address) as connection:
        yield connection
