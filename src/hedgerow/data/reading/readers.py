"""Tables of every kind as a stream of Arrow batches, and clear errors where they cannot be read.

Cells that are Python objects are put into Arrow's types each kind by itself, so that no cell decides how others are
read. Arrow chooses a type for a column by looking at all of its cells. One fraction makes fractions of whole numbers,
one long decimal number gives others more digits, and one text among numbers is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from hedgerow.data.reading.text_files import TEXT_ENDINGS, TextFile, unreadable
from hedgerow.domain import USUAL_FILE, FileFormat
from hedgerow.errors import ColumnError, MissingExtraError, UnreadableTableError
from hedgerow.system import ahead

BATCH_ROWS = 1 << 14
"""Rows that are held as values at a time, beside the codes: what is made of them on the way stays in the cache, and is
not asked of the system again and again."""

TABLE_ENDINGS = (*TEXT_ENDINGS, ".parquet", ".pq", ".feather", ".arrow", ".jsonl", ".ndjson", ".xlsx")
"""Endings of the files that are read as tables."""

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
        grouped: Function that counts rows where they are: each combination of cells of the named columns, and in a
            column of the second name how many rows have it; a combination may come twice. None where rows are read.
        groupable: Columns that it may be given: cells that it takes for equal become equal codes.
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
    grouped: Callable[[Sequence[str], str], Batches] | None = None
    groupable: frozenset[str] = frozenset()


def open_table(source: object, form: FileFormat = USUAL_FILE) -> Reader:
    """Look at the columns of a table; rows are read later.

    Args:
        source: Path of a text file (``.csv``, ``.txt``, ``.tsv``; ``.gz`` behind it if it is compressed, or one of them
            in a ``.zip``), Parquet file (``.parquet``, ``.pq``), file of Arrow (``.feather``, ``.arrow``), file of JSON
            lines (``.jsonl``) or workbook (``.xlsx``); Arrow table, batch or batch reader, pandas or polars data frame.
        form: Format of a text file or a workbook.

    Raises:
        UnreadableTableError: It is not there, empty, truncated, or of an unknown kind.
        ColumnError: A cell of a pandas data frame is of an unknown kind; raised when it is read.
        MissingExtraError: The library that reads workbooks is not installed.

    Example:
        >>> reader = open_table(pa.table({"a": ["x", "y"], "b": [1, 2]}))
        >>> reader.file, reader.names, [batch.num_rows for batch in reader.batches(["a"], ["a"])]
        ('the Arrow table', ('a', 'b'), [2])
    """
    if isinstance(source, str | os.PathLike):
        return _open_file(Path(source), form)
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

    def grouped(names: Sequence[str], counts: str) -> Batches:
        for reader in readers:
            if reader.grouped is not None:
                yield from reader.grouped(names, counts)

    texts = all(reader.texts for reader in readers)
    counts = [reader.n_rows for reader in readers if reader.n_rows is not None]
    n_rows = sum(counts) if len(counts) == len(readers) else None
    first = readers[0]
    counts_there = all(reader.grouped is not None for reader in readers)
    return Reader(
        file,
        first.names,
        batches,
        texts=texts,
        types=first.types,
        n_rows=n_rows,
        filtered=filtered,
        groupable=frozenset.intersection(*(reader.groupable for reader in readers)),
        grouped=grouped if counts_there else None,
    )


def _open_file(path: Path, form: FileFormat) -> Reader:
    ending = next((each for each in TABLE_ENDINGS if path.name.lower().endswith(each)), None)
    if ending is None:
        raise UnreadableTableError(
            f"the ending {path.suffix!r} is not that of a table",
            file=str(path),
            remedy=f"save it as one of: {', '.join(TABLE_ENDINGS)}; a new name alone changes no file",
        )
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise UnreadableTableError("the file is empty", file=str(path), remedy="check how it was made")
        if ending in TEXT_ENDINGS:
            text = TextFile.opened(path, form)
            return Reader(str(path), text.names, text.batches, texts=True)
        return _from_workbook(path, form) if ending == ".xlsx" else _OPENERS[ending](path)
    except OSError as error:
        raise unreadable(path, error) from error


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
                found: Any = pa.Array.from_pandas(_spelled(part))  # of several chunks where it holds Arrow texts
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


def _spelled(part: Any) -> Any:
    """A part of a column with intervals and periods, as ``pandas.cut`` makes them, as texts; others as they are."""
    categories = getattr(part.dtype, "categories", None)
    if (part if categories is None else categories).dtype.kind != "O":
        return part
    kind = (part if categories is None else categories).dtype.name
    if not kind.startswith(("interval", "period")):
        return part
    return part.astype("string") if categories is None else part.cat.rename_categories(str)


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


def _from_feather(path: Path) -> Reader:
    try:
        opened = pa.ipc.open_file(pa.memory_map(str(path)))
    except pa.ArrowInvalid as error:
        remedy = "write it as Feather version 2, or as Parquet"
        raise UnreadableTableError("not a file of Arrow", file=str(path), remedy=remedy) from error
    numbers = range(opened.num_record_batches)
    return _from_arrow(str(path), opened.schema, lambda: map(opened.get_batch, numbers))


def _from_json_lines(path: Path) -> Reader:
    from pyarrow import json

    try:
        rows = json.read_json(path)
    except pa.ArrowInvalid:  # whose message shows values
        raise UnreadableTableError(
            "its lines are not objects of JSON whose columns have a type each",
            file=str(path),
            remedy="write one object on each line, with the same kind of value in each column",
        ) from None
    return _from_arrow(str(path), rows.schema, lambda: iter(rows.to_batches(BATCH_ROWS)))


def _from_workbook(path: Path, form: FileFormat) -> Reader:
    """A sheet, all cells as the texts that they show: a workbook has types cell by cell."""
    try:
        import fastexcel
    except ImportError as error:
        raise MissingExtraError("fastexcel is not installed", remedy="pip install 'hedgerow[excel]'") from error
    try:
        book = fastexcel.read_excel(path)
        if form.sheet is not None and form.sheet not in book.sheet_names:
            raise UnreadableTableError(
                f"it has no sheet {form.sheet!r}",
                file=str(path),
                remedy=f"name one under 'sheet': {', '.join(book.sheet_names)}",
            )
        header: dict[str, Any] = {"header_row": form.skip if form.header else None}
        header |= {} if form.header else {"skip_rows": form.skip}
        sheet = book.load_sheet(form.sheet or 0, dtypes="string", **header).to_arrow()
    except fastexcel.FastExcelError as error:
        remedy = "save it again as .xlsx, or as .csv"
        raise UnreadableTableError("not a workbook", file=str(path), remedy=remedy) from error
    names = list(sheet.schema.names) if form.header else [f"c{n}" for n in range(1, sheet.num_columns + 1)]
    kept = pa.Table.from_batches([sheet]).rename_columns(names).slice(0, max(0, sheet.num_rows - form.footer))
    texts = kept.cast(pa.schema([(name, pa.string()) for name in names]))
    reader = _from_arrow(str(path), texts.schema, lambda: iter(texts.to_batches(BATCH_ROWS)))
    return replace(reader, texts=True)


_OPENERS: dict[str, Callable[[Path], Reader]] = {
    ".parquet": _from_parquet,
    ".pq": _from_parquet,
    ".feather": _from_feather,
    ".arrow": _from_feather,
    ".jsonl": _from_json_lines,
    ".ndjson": _from_json_lines,
}


_MOST_DIGITS = 40
"""Numbers with more of them are written as powers of ten."""


def cells_of(cells: Any) -> pa.Array[Any]:
    """The cells of a part of a column.

    Args:
        cells: A pandas series of any objects.

    Returns:
        Texts, where there is nothing else; else the cells of one kind in its type, or a dense union of several.

    Raises:
        TypeError: A cell is of an unknown kind.

    Example:
        >>> import pandas as pd
        >>> cells_of(pd.Series(["a", None])).type, cells_of(pd.Series([1, None], dtype=object)).type
        (DataType(string), DataType(int64))
        >>> cells_of(pd.Series(["a", 1, 2.5, None, True])).to_pylist()
        ['a', 1, 2.5, None, True]
    """
    objects = cells.to_numpy(dtype=object, na_value=None)
    if not len(objects) or all(cell is None or isinstance(cell, str) for cell in objects):
        return pa.array(objects, pa.string())
    kinds = [None if cell is None else _kind(cell) for cell in objects]
    distinct = list(dict.fromkeys(kind for kind in kinds if kind is not None))
    places = np.array([distinct.index(kind) if kind is not None else 0 for kind in kinds], dtype=np.int8)
    parts = []
    for place, (_, read, arrow) in enumerate(_KINDS[kind] for kind in distinct):
        parts.append(pa.array([None if cell is None else read(cell) for cell in objects[places == place]], arrow))
    if len(parts) == 1:
        return parts[0]
    within: Any = np.zeros(len(objects), dtype=np.int32)
    for place in range(len(parts)):
        within[places == place] = np.arange(np.count_nonzero(places == place))
    return pa.UnionArray.from_dense(pa.array(places, pa.int8()), pa.array(within, pa.int32()), parts)


def _kind(cell: Any) -> str:
    """The kind of a cell that is not empty."""
    for kind, (types, *_) in _KINDS.items():
        if isinstance(cell, types):
            zoned = kind == "datetime" and cell.tzinfo is not None
            return "moment" if zoned else "float" if kind == "int" and abs(int(cell)) >= 2**63 else kind
    raise TypeError(type(cell).__name__)


def _decimal(cell: Decimal) -> str | None:
    """The text of a decimal number, of however many digits."""
    if cell.is_nan():
        return None
    short = cell.normalize()
    return f"{short:f}" if abs(short.adjusted()) < _MOST_DIGITS else str(short)


def _double(cell: Any) -> float:
    """A narrow number as the decimal number that it is written as."""
    try:
        return float(str(cell))
    except OverflowError:
        return float("inf") if cell > 0 else float("-inf")


def _moment(cell: Any) -> datetime:
    """In microseconds."""
    moment: datetime = cell.floor("us").to_pydatetime() if hasattr(cell, "floor") else cell
    return moment


def _length(cell: Any) -> timedelta:
    length: timedelta = cell.floor("us").to_pytimedelta() if hasattr(cell, "floor") else cell
    return length


class _Kind(NamedTuple):
    """Types of cells of a kind, how one is read, and the type that Arrow has for them."""

    types: Any
    read: Callable[[Any], Any]
    arrow: pa.DataType


_KINDS: dict[str, _Kind] = {
    "text": _Kind(str, str, pa.string()),
    "bool": _Kind((bool, np.bool_), bool, pa.bool_()),
    "int": _Kind((int, np.integer), int, pa.int64()),
    "float": _Kind((float, np.floating), _double, pa.float64()),
    "decimal": _Kind(Decimal, _decimal, pa.string()),
    "datetime": _Kind(datetime, _moment, pa.timestamp("us")),  # which is a date too
    "moment": _Kind((), _moment, pa.timestamp("us", "UTC")),  # one with a zone
    "date": _Kind(date, lambda cell: cell, pa.date32()),
    "time": _Kind(time, lambda cell: cell, pa.time64("us")),
    "length": _Kind(timedelta, _length, pa.duration("us")),
    "bytes": _Kind(bytes, lambda cell: cell, pa.binary()),
}
