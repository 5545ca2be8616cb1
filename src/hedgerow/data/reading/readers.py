"""Tables of every kind as a stream of Arrow batches, and clear errors where they cannot be read."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hedgerow.data.reading.cells import cells_of
from hedgerow.data.reading.faults import SHOWN_ROWS
from hedgerow.errors import ColumnError, UnreadableTableError
from hedgerow.system import ahead

BATCH_ROWS = 1 << 14
"""Rows that are held as values at a time, beside the codes: what is made of them on the way stays in the cache, and is
not asked of the system again and again."""

_BLOCK_BYTES = 1 << 24
"""The same in bytes of CSV."""
TABLE_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")
"""Endings of the files that are read as tables."""
_SEPARATORS = {"a semicolon": ";", "a tab": "\t", "a bar": "|", "a comma": ","}

Batches = Iterator[pa.RecordBatch]

_MIXED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)
"""Arrow's errors about cells that it finds no common type for."""


class ArrowStream(Protocol):
    """Anything that hands its rows over through Arrow's C interface, such as a polars data frame."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream."""
        ...


@dataclass(frozen=True)
class Reader:
    """A table that is ready to be read.

    Attributes:
        file: Name of the table in messages: its path, or the kind of object.
        names: Names of its columns, in order; a name may come twice.
        batches: Function that reads the named columns; of those that are also in the second argument, texts are best
            read as dictionaries.
        texts: Whether all of its cells are texts, as those of CSV files.
        types: Function that gives the type of each column as the source has it, whatever it holds in its rows: that of
            Arrow, or null where it has none. One cell may have decided it, unless it is ``declared``.
        declared: Whether types are stored apart from the cells, as a database has them: no cell can change one.
        n_rows: Number of rows (private), where it is known without reading them: to show the progress of a pass.
        filtered: Whether rows are left out by what they hold.
        numbered: Whether its rows have numbers, which messages may name.
    """

    file: str
    names: tuple[str, ...]
    batches: Callable[[Sequence[str], Collection[str]], Batches]
    texts: bool = False
    types: Callable[[], dict[str, pa.DataType]] = dict
    declared: bool = False
    n_rows: int | None = None
    filtered: bool = False
    numbered: bool = True


def open_table(source: object) -> Reader:
    """Look at the columns of a table; rows are read later.

    Args:
        source: Path of a text file (UTF-8, one header row; ``.csv`` with commas or ``.tsv`` with tabs; ``.gz`` behind
            it if it is compressed) or Parquet file (``.parquet``, ``.pq``), Arrow table, batch or batch reader, pandas
            or polars data frame.

    Raises:
        UnreadableTableError: It is not there, empty, truncated, or of an unknown kind.
        ColumnError: A cell of a pandas data frame is of an unknown kind; raised when it is read.

    Example:
        >>> reader = open_table(pa.table({"a": ["x", "y"], "b": [1, 2]}))
        >>> reader.file, reader.names, [batch.num_rows for batch in reader.batches(["a"], ["a"])]
        ('the Arrow table', ('a', 'b'), [2])
    """
    if isinstance(source, str | os.PathLike):
        return _open_file(Path(source))
    if isinstance(source, pa.Table):
        return _from_arrow("the Arrow table", source.schema, lambda: iter(source.to_batches(BATCH_ROWS)))
    if isinstance(source, pa.RecordBatch):
        return _from_arrow("the Arrow batch", source.schema, lambda: iter([source]))
    if isinstance(source, pa.RecordBatchReader):
        return _from_arrow("the Arrow reader", source.schema, lambda: iter(source))
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        return _from_pandas(source)
    if hasattr(source, "__arrow_c_stream__"):
        try:
            reader = pa.RecordBatchReader.from_stream(source)
        except pa.ArrowInvalid as error:
            message = f"a {type(source).__name__} is a single column"
            raise UnreadableTableError(message, remedy="make it a table with a named column") from error
        name = f"the {type(source).__module__.partition('.')[0]} {type(source).__name__}"
        return _from_arrow(name, reader.schema, lambda: iter(reader))
    hint = "call its collect() first" if hasattr(source, "collect") else "give a path or a data frame"
    raise UnreadableTableError(f"a {type(source).__name__} is not a table", remedy=hint)


def check_alike(readers: Sequence[Reader]) -> None:
    """Refuse files of one table that do not have the same columns, in whatever order.

    Raises:
        UnreadableTableError: One has other columns than the first.

    Example:
        >>> check_alike([open_table(pa.table({"a": [1]})), open_table(pa.table({"b": [1]}))])
        Traceback (most recent call last):
            ...
        hedgerow.errors.UnreadableTableError: the Arrow table: its columns are not those of the Arrow table...
    """
    for other in readers[1:]:
        if sorted(other.names) != sorted(readers[0].names):
            message = f"its columns are not those of {readers[0].file}"
            raise UnreadableTableError(message, file=other.file, remedy="choose files of one kind")


def one_after_another(file: str, readers: Sequence[Reader], *, filtered: bool) -> Reader:
    """Several tables as one, each with the types that it has.

    Args:
        file: Name of the whole in messages.
        readers: The tables.
        filtered: Whether rows are left out by what they hold.

    Raises:
        UnreadableTableError: One has other columns than the first.

    Example:
        >>> parts = [open_table(pa.table({"a": [1]})), open_table(pa.table({"a": [0.5]}))]
        >>> whole = one_after_another("both", parts, filtered=False)
        >>> [batch.column("a").to_pylist() for batch in whole.batches(["a"], [])]
        [[1], [0.5]]
    """
    check_alike(readers)

    def batches(names: Sequence[str], repetitive: Collection[str]) -> Batches:
        for reader in readers:
            yield from reader.batches(names, repetitive)

    texts = all(reader.texts for reader in readers)
    counts = [reader.n_rows for reader in readers if reader.n_rows is not None]
    n_rows = sum(counts) if len(counts) == len(readers) else None
    first = readers[0]
    return Reader(file, first.names, batches, texts=texts, types=first.types, n_rows=n_rows, filtered=filtered)


def _open_file(path: Path) -> Reader:
    name = path.name.lower()
    if not name.endswith(TABLE_ENDINGS):
        raise UnreadableTableError(
            f"the ending {path.suffix!r} is not that of a table",
            file=str(path),
            remedy="save the table as .csv (commas), .tsv (tabs) or .parquet; a new name alone changes no file",
        )
    opener = _from_parquet if name.endswith((".parquet", ".pq")) else _from_csv
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise UnreadableTableError("the file is empty", file=str(path), remedy="check how it was made")
        return opener(path)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> UnreadableTableError:
    reason = error.strerror or "it is damaged or of another kind"
    return UnreadableTableError(f"cannot be read: {reason}", file=str(path), remedy="check the path and the file")


def _from_arrow(file: str, schema: pa.Schema, stream: Callable[[], Iterator[pa.RecordBatch]]) -> Reader:
    def batches(names: Sequence[str], _: Collection[str]) -> Batches:
        for batch in stream():
            yield batch.select(list(names))

    return Reader(file, tuple(schema.names), batches, types=lambda: types_in(schema))


def types_in(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The type of each column.

    Example:
        >>> types_in(pa.schema([("age", pa.int8())]))
        {'age': DataType(int8)}
    """
    return dict(zip(schema.names, schema.types, strict=True))


def _from_pandas(frame: Any) -> Reader:
    names = tuple(str(name) for name in frame.columns)
    position = {name: i for i, name in enumerate(names)}

    def column(name: str, start: int, stop: int) -> pa.Array[Any]:
        part = frame.iloc[start:stop, position[name]]
        try:
            if part.dtype != object:
                found: Any = pa.Array.from_pandas(part)  # of several chunks where the data frame holds Arrow texts
                return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        except _MIXED:
            pass  # categories of several kinds
        try:
            return cells_of(part)
        except (TypeError, ValueError, *_MIXED):
            raise ColumnError(
                "a cell of an unknown kind",
                file="the pandas DataFrame",
                column=name,
                remedy=f"make texts of the cells, for example frame[{name!r}].astype(str)",
            ) from None  # Arrow's own message shows a value

    def batches(wanted: Sequence[str], _: Collection[str]) -> Batches:
        for start in range(0, len(frame), BATCH_ROWS):
            arrays = [column(name, start, start + BATCH_ROWS) for name in wanted]
            yield pa.RecordBatch.from_arrays(arrays, names=list(wanted))

    def types() -> dict[str, pa.DataType]:
        return {name: column(name, 0, 0).type for name in names}

    return Reader("the pandas DataFrame", names, batches, types=types)


def _from_parquet(path: Path) -> Reader:
    try:
        with pa.parquet.ParquetFile(path) as opened:
            schema, n_rows = opened.schema_arrow, opened.metadata.num_rows
    except pa.ArrowException as error:
        _refuse_parquet(path, error)

    def batches(names: Sequence[str], repetitive: Collection[str]) -> Batches:
        texts = [name for name in repetitive if schema.field(name).type in (pa.string(), pa.large_string())]
        try:
            with (  # with a buffer all that was read of the file would stay in memory
                pa.parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file,
                closing(ahead(file.iter_batches(BATCH_ROWS, columns=list(names)))) as decoded,
            ):
                yield from decoded
        except (pa.ArrowException, OSError) as error:
            _refuse_parquet(path, error)

    return Reader(str(path), tuple(schema.names), batches, types=lambda: types_in(schema), n_rows=n_rows)


def _refuse_parquet(path: Path, error: Exception) -> NoReturn:
    raise UnreadableTableError(
        "not a whole Parquet file (truncated, damaged, or of another kind)",
        file=str(path),
        remedy="write or copy the file again; a table of texts ends in .csv or .tsv",
    ) from error


def _from_csv(path: Path) -> Reader:
    with _text(path) as file:
        first = file.readline()
        header = next(csv.reader(chain([first], file), delimiter=_separator(path)), None)
    if not header:
        raise UnreadableTableError(
            "the first line is empty", file=str(path), remedy="name the columns in the first line"
        )
    if _undecoded(header):
        raise UnreadableTableError("a column name that is not UTF-8", file=str(path), remedy="save the file as UTF-8")
    names = tuple(header)
    other = next((name for name, mark in _SEPARATORS.items() if mark in header[0]), None)
    if len(header) == 1 and other is not None and not first.startswith('"'):
        raise UnreadableTableError(
            f"the first line names one column, and holds {other}",
            file=str(path),
            remedy="save the table with commas as .csv, or with tabs as .tsv",
        )

    def batches(wanted: Sequence[str], repetitive: Collection[str]) -> Batches:
        broken: list[int] = []
        words = pa.dictionary(pa.int32(), pa.string())
        types = {name: words if name in repetitive else pa.string() for name in wanted}
        try:
            with _csv_stream(path, names, types, broken) as stream:
                yield from stream
        except pa.ArrowInvalid:
            broken.append(0)
        except OSError as error:
            raise _unreadable(path, error) from error
        if broken:
            _explain_csv(path, names)

    return Reader(str(path), names, batches, texts=True)


def _separator(path: Path) -> str:
    return "\t" if path.name.lower().endswith((".tsv", ".tsv.gz")) else ","


def _text(path: Path) -> Any:
    """The text of a CSV file, bytes that are not UTF-8 marked as surrogates."""
    raw = pa.input_stream(path, compression="detect")
    return io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _csv_stream(
    path: Path, names: Sequence[str], types: Mapping[str, pa.DataType], broken: list[int]
) -> pa.csv.CSVStreamingReader:
    def note(row: pa.csv.InvalidRow) -> Literal["skip"]:
        broken.append(row.actual_columns)
        return "skip"

    file: Any = pa.input_stream(path, compression="detect")
    return pa.csv.open_csv(
        file,
        read_options=pa.csv.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pa.csv.ParseOptions(
            delimiter=_separator(path),
            newlines_in_values=True,
            ignore_empty_lines=len(names) > 1,
            invalid_row_handler=note,
        ),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict(types), include_columns=list(types), strings_can_be_null=False
        ),
    )


def _explain_csv(path: Path, names: Sequence[str]) -> NoReturn:
    """Read a file that Arrow refused once more, row by row, to say which rows are wrong."""
    with _text(path) as file:
        rows = csv.reader(file, delimiter=_separator(path))
        next(rows)
        numbered = ((i, row) for i, row in enumerate((row for row in rows if row or len(names) == 1), 1))
        wrong = [(i, row) for i, row in numbered if len(row) not in (len(names), 0) or _undecoded(row)]
    lengths = [i for i, row in wrong if len(row) not in (len(names), 0)]
    if lengths:
        raise UnreadableTableError(
            f"the header names {len(names)} columns and a row has another number of fields",
            file=str(path),
            rows=list(islice(lengths, SHOWN_ROWS)),
            n_rows=len(lengths),
            remedy="complete the rows, or put fields that hold the separator in double quotes",
        )
    if wrong:
        column = next(name for name, cell in zip(names, wrong[0][1], strict=True) if _undecoded([cell]))
        raise UnreadableTableError(
            "text that is not UTF-8",
            file=str(path),
            column=column,
            rows=[i for i, _ in wrong[:SHOWN_ROWS]],
            n_rows=len(wrong),
            remedy="save the file as UTF-8",
        )
    raise UnreadableTableError("not a CSV file", file=str(path), remedy="check how it was made")


def _undecoded(row: Sequence[str]) -> bool:
    return any("\udc80" <= letter <= "\udcff" for cell in row if not cell.isascii() for letter in cell)
