"""Tables of PostgreSQL databases, as streams of Arrow batches; every pass is one statement, which sees one state."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.data.reading.readers import Batches, Reader
from hedgerow.data.reading.row_filter import row_filter
from hedgerow.data.reading.withheld import STREAM_FAILURES
from hedgerow.engines import quoted
from hedgerow.errors import ColumnError, MissingExtraError, UnreadableTableError, raise_alone

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection


def open_postgresql(address: str, table: str, where: str | None, shown: str) -> Reader:
    """A table or view.

    Args:
        address: ``postgresql://user@host:port/database``, as libpq takes it; a password is best left to its files.
        table: Name of the table, perhaps with that of its schema before a dot.
        where: A SQL condition on its columns.
        shown: The address and the table as messages may show them.

    Raises:
        UnreadableTableError: The database or the table is not there.
        MissingExtraError: The driver is not installed.
    """
    require_driver()
    relation = ".".join(map(quoted, table.split(".")))

    def select(columns: str, rest: str) -> Batches:
        with _connected(address, shown) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT {columns} FROM {relation}{rest}")
            for batch in cursor.fetch_record_batch():
                stored = [_stored(batch.schema.field(i), column, shown) for i, column in enumerate(batch.columns)]
                yield pa.RecordBatch.from_arrays(stored, names=batch.schema.names)

    def batches(names: Sequence[str], _: Collection[str]) -> Batches:
        yield from select(", ".join(map(quoted, names)), condition)

    with _connected(address, shown) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {relation} LIMIT 0")
        names = tuple(cursor.fetch_record_batch().schema.names)
    condition = "" if where is None else f" WHERE {row_filter(where, shown, names, dialect='postgres')}"
    return Reader(shown, names, batches, filtered=where is not None)


def require_driver() -> None:
    """Raise if the driver is not installed.

    Raises:
        MissingExtraError: With the command that installs it.
    """
    from importlib.util import find_spec

    if find_spec("adbc_driver_postgresql") is None:
        message = "the driver for PostgreSQL is not installed"
        raise MissingExtraError(message, remedy="pip install 'hedgerow[postgresql]'")


def _stored(field: pa.Field[Any], column: pa.Array[Any], shown: str) -> pa.Array[Any]:
    """Texts and numbers: numbers of any length come as a type of their own around their texts."""
    import pyarrow.compute as pc

    kind = (field.metadata or {}).get(b"POSTGRESQL:type")
    if kind == b"money":  # it comes as a number of cents
        remedy = "cast it to numeric in a view, or leave it out"
        raise ColumnError("its type is money, whose unit is not known", file=shown, column=field.name, remedy=remedy)
    stored = column.storage if isinstance(column, pa.ExtensionArray) else column
    if kind != b"numeric":
        return stored
    empty: Any = pc.match_substring_regex(stored, "^nan$")
    found: pa.Array[Any] = pc.if_else(empty, pa.scalar(None, pa.string()), stored)
    return found


@contextmanager
def _connected(address: str, shown: str) -> Iterator[Connection]:
    """A connection for one pass; what the database says of failures stays here, because it can hold cells."""
    from adbc_driver_manager.dbapi import Error
    from adbc_driver_postgresql import dbapi

    try:
        with dbapi.connect(address) as connection:
            yield connection
    except (Error, *STREAM_FAILURES) as error:
        remedy = "check address, names, rights and filter with psql; the message is withheld: it can hold cells"
        message = f"PostgreSQL cannot read it ({type(error).__name__})"
        raise_alone(UnreadableTableError(message, file=shown, remedy=remedy))
