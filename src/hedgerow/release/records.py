"""Synthetic records: codes of a domain, their values, and files and tables of them."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats, Ints
from hedgerow.cards import card
from hedgerow.domain.attribute import Attribute, Binned
from hedgerow.domain.domain import Domain
from hedgerow.domain.measures import measure_of, written
from hedgerow.domain.spans import Span
from hedgerow.domain.tables import codes_at
from hedgerow.domain.values import Drawn, arrow_schema, encoded_values, form_of, texts_of, values_of
from hedgerow.engines import DUCKDB_REMEDY, DuckDBTable, duckdb_table, is_duckdb, write_table
from hedgerow.errors import ConfigError, MissingExtraError
from hedgerow.release.csv_files import may_be_empty, write_csv
from hedgerow.system import Seed, Tabular, ahead, generator, replacing

if TYPE_CHECKING:
    import pandas as pd

CHUNK_ROWS = 1 << 17
"""Records that are decoded at a time, unless they have many attributes; the values of a seed depend on it."""
_CHUNK_CODES = 1 << 21
_GROUP_CHUNKS = 4
"""Chunks in one row group of a Parquet file; larger groups make smaller files and take more memory."""


_SHOWN = 10
"""Records that a notebook shows."""

RECORD_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".pq")
"""Endings of the files that records are written to."""
Form = Callable[[Iterable["Records"], pa.Schema, Domain, Path], Generator[int, None, None]]
Writer = Callable[[Iterable["Records"], Domain, Callable[[int], None]], None]
Decode = Callable[[Drawn], "pa.Array[Any]"]


class Records(Tabular):
    """Synthetic records, public like the model that they were drawn from.

    Attributes:
        domain: The domain of the records.
        codes: Codes of the values, shape ``(n, len(domain))``.

    Example:
        >>> from hedgerow.domain import Categorical, IntegerRange
        >>> domain = Domain([Categorical("sex", ("F", "M"), missing="?"), IntegerRange("age", 17, 90)])
        >>> Records([[1, 3], [2, 0]], domain).to_arrow().to_pylist()
        [{'sex': 'M', 'age': 20}, {'sex': None, 'age': 17}]

    Derived columns, which the codes do not hold, are made when records become values.
    """

    def __init__(
        self,
        codes: ArrayLike,
        domain: Domain,
        *,
        seed: Seed = None,
        first: int = 0,
        tilts: Mapping[str, Floats] | None = None,
        beside: Mapping[str, Floats] | None = None,
    ) -> None:
        """Check the codes.

        Args:
            codes: Whole numbers, shape ``(n, len(domain))``.
            domain: The domain that the codes belong to.
            seed: Seed of the numbers drawn inside bins, which are the same each time that they are read.
            first: Number of records with the same seed before these, where they are one batch of many.
            tilts: For columns of bins the tilts of their densities; columns without are uniform inside bins.
            beside: Further columns of numbers, such as weights, by names that the domain does not have: one number for
                each record. They are written behind the others.

        Raises:
            ConfigError: The shape is wrong, or a code is out of the range of its attribute.
        """
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != len(domain) or array.dtype.kind not in "iu":
            raise ConfigError(f"codes must be whole numbers of shape (n, {len(domain)}), not {array.shape}")
        for attribute, column in zip(domain, array.T, strict=True):
            if column.size and not (column.min() >= 0 and column.max() < attribute.size):
                raise ConfigError(f"a code of {attribute.name!r} is out of its range, 0 to {attribute.size - 1}")
        self.domain = domain
        self.codes: Ints = array
        self._seed = int(generator(seed).integers(2**62))
        self._first = first
        self._tilts = tilts or {}
        self._beside = beside or {}

    def __len__(self) -> int:
        """Number of records."""
        return len(self.codes)

    def __repr__(self) -> str:
        """Size and columns."""
        return f"Records({len(self):,} records of {', '.join(column.name for column in written(self.domain))})"

    def _repr_html_(self) -> str:
        """The first records, for notebooks."""
        first = next(self.batches(as_text=True), None)
        rows = [] if first is None else [tuple(map(str, row.values())) for row in first.slice(0, _SHOWN).to_pylist()]
        names = [column.name for column in written(self.domain)]
        return card(f"{len(self):,} synthetic records", (), names, rows, more=len(self) - len(rows))

    def take(self, rows: Ints) -> Records:
        """The records at some places, in that order.

        Args:
            rows: Places, from 0 on; each as often as wanted.
        """
        return self.with_codes(self.codes[rows])

    def with_codes(self, codes: ArrayLike) -> Records:
        """Other records of the same domain, with the same numbers inside bins.

        Args:
            codes: Their codes, shape ``(n, len(domain))``.
        """
        return self._with(codes, self.domain)

    def _with(self, codes: ArrayLike, domain: Domain, beside: Mapping[str, Floats] | None = None) -> Records:
        return Records(codes, domain, seed=self._seed, first=self._first, tilts=self._tilts, beside=beside)

    def over(self, domain: Domain) -> Records:
        """Some columns of the records, with the same numbers inside bins.

        Args:
            domain: Its attributes are among the records'.
        """
        return self._with(self.codes[:, [self.domain.index(name) for name in domain.names]], domain)

    def behind(self, key: Attribute, codes: Ints, names: Iterable[str]) -> Records:
        """Some columns of the records behind a column that is not in them.

        Args:
            key: The column that comes first; it gets no levels.
            codes: Its codes, shape ``(n,)``.
            names: Columns that stay, derived ones too.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> records = Records([[0, 2], [1, 0]], Domain([IntegerRange("a", 0, 1), IntegerRange("b", 0, 2)]))
            >>> records.behind(IntegerRange("k", 1, 9), np.array([4, 4]), ["b"]).to_arrow().to_pylist()
            [{'k': 5, 'b': 2}, {'k': 5, 'b': 0}]
        """
        kept = self.domain.of_columns(names)
        unleveled = (key.name, *kept.unleveled)
        layout = replace(kept.layout, order=(key.name, *kept.layout.order))
        attributes = (key, *kept.attributes)
        domain = Domain(attributes, kept.declared, kept.constraints, unleveled, layout=layout, spans=kept.spans)
        columns = [codes, *(self.codes[:, self.domain.index(name)] for name in kept.names)]
        return self._with(np.column_stack(columns), domain)

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns that are written."""
        return pa.schema([*arrow_schema(self.domain), *(pa.field(name, pa.float64()) for name in self._beside)])

    def with_columns(self, beside: Mapping[str, Floats]) -> Records:
        """The same records with further columns of numbers behind the others.

        Args:
            beside: Numbers by names that the domain does not have, shape ``(n,)`` each.
        """
        return self._with(self.codes, self.domain, dict(beside))

    def to_arrow(self) -> pa.Table:
        """All records as an Arrow table of the original types."""
        return pa.Table.from_batches(self.batches(), schema=self.schema)

    def to_pandas(self) -> pd.DataFrame:
        """All records as a pandas data frame; whole numbers and truth values that may be missing are Int64 and boolean.

        Dates are of the type datetime64, at midnight.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas  # noqa: F401 # Arrow needs it
        except ImportError as error:
            raise MissingExtraError("pandas is not installed", remedy="pip install 'hedgerow[pandas]'") from error
        frame: pd.DataFrame = self.to_arrow().to_pandas(integer_object_nulls=True, date_as_object=False)
        for field, attribute in zip(arrow_schema(self.domain), written(self.domain), strict=True):
            can_be_null = pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)
            if can_be_null and attribute.size > attribute.ordinary:
                nullable = str(field.type).replace("i", "I").replace("u", "U").replace("bool", "boolean")
                frame[field.name] = frame[field.name].astype(nullable)  # type: ignore[call-overload]
        return frame

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file or a table of a DuckDB file, a chunk at a time; an existing one is replaced in one step.

        Args:
            path: A file that ends in ``.csv``, ``.parquet`` or ``.pq``, or ``duckdb:file.db#table``.

        Raises:
            ConfigError: The ending is unknown, or the address names no table.
            RecordsError: The database cannot be written to.
        """
        write_batches(path, self.domain, [self])

    def batches(self, *, as_text: bool = False) -> Iterator[pa.RecordBatch]:
        """Decode the records into Arrow batches, lazily.

        Args:
            as_text: Whether missing and other values become their texts, as in CSV.
        """
        return self._decoded(partial(texts_of, empties=may_be_empty(self.domain)) if as_text else values_of)

    def columns(self) -> Iterator[tuple[list[Drawn], list[pa.Array[Any]]]]:
        """The columns that are written, and the numbers behind them, a chunk of records at a time."""
        rows = chunk_rows(self.domain)
        attributes = (*self.domain.attributes, *(column.attribute for column in self.domain.derived_columns))
        for start in range(0, len(self), rows):
            rng = generator(self._seed + (self._first + start) // rows)
            codes = self.codes[start : start + rows]
            known = dict(zip(self.domain.names, codes.T, strict=True))
            drawn = {}
            for attribute in attributes:  # numbers are drawn inside bins in this order, which no layout changes
                name = attribute.name
                of_name, form = codes_at(self.domain, name, known), form_of(self.domain, name)
                drawn[name] = Drawn.of(attribute, of_name, rng, self._tilts.get(name), form)
            drawn |= {span.end: self._end(span, drawn) for span in self.domain.spans}
            beside: list[pa.Array[Any]] = [pa.array(numbers[start : start + rows]) for numbers in self._beside.values()]
            yield [drawn[column.name] for column in written(self.domain)], beside

    def encoded(self) -> Iterator[pa.RecordBatch]:
        """Decode the records into Arrow batches with dictionary-encoded texts, which Parquet writes as they are."""
        return self._decoded(encoded_values)

    def _decoded(self, decode: Decode) -> Iterator[pa.RecordBatch]:
        names = [*(column.name for column in written(self.domain)), *self._beside]
        for columns, beside in self.columns():
            yield pa.RecordBatch.from_arrays([*map(decode, columns), *beside], names=names)

    def _end(self, span: Span, drawn: Mapping[str, Drawn]) -> Drawn:
        """The end of a span: the sum of its start and its duration, unknown where one of them is."""
        start, length = drawn[span.start], drawn[span.length]
        measure = measure_of(span, start.attribute, length.attribute)
        codes, unknown = measure.ends(start.numbers, length.numbers), start.beyond | length.beyond
        if measure.end.missing_code is not None:
            codes[unknown] = measure.end.missing_code
        if measure.end.other_code is not None:
            codes[length.codes == length.attribute.other_code] = measure.end.other_code
        return Drawn(measure.end, codes, codes + measure.end.minimum, form_of(self.domain, span.end))


def chunk_rows(domain: Domain) -> int:
    """Number of records that are decoded at a time.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> chunk_rows(Domain(IntegerRange(f"x{i}", 0, 1) for i in range(1024)))
        2048
    """
    return max(1, min(CHUNK_ROWS, _CHUNK_CODES // len(domain)))


def batch_rows(domain: Domain) -> int:
    """Number of records in a batch by default: one row group of a Parquet file.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> batch_rows(Domain([IntegerRange("age", 17, 90)]))
        524288
    """
    return _GROUP_CHUNKS * chunk_rows(domain)


def write_batches(
    path: str | os.PathLike[str],
    domain: Domain,
    batches: Iterable[Records],
    progress: Callable[[int], None] | None = None,
) -> None:
    """Write records to a file or a table as they come; an existing one is replaced in one step at the end.

    Args:
        path: A CSV or Parquet file, by its ending ``.csv``, ``.parquet`` or ``.pq``; or a table of a DuckDB file,
            ``duckdb:///folder/file.db#table`` or ``duckdb:file.db#table``, whose other tables stay.
        domain: Domain of all batches.
        batches: Batches of records, of which the next is made by another thread while one is written. In Parquet each
            begins a row group.
        progress: Called with the number of records written so far.

    Raises:
        ConfigError: The ending is unknown, or the address names no table.
        RecordsError: The database cannot be written to.

    Example:
        >>> import tempfile
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain([IntegerRange("age", 17, 90)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_batches(f"{folder}/a.csv", domain, (Records([[i]], domain) for i in range(2)))
        ...     Path(folder, "a.csv").read_text().split()
        ['age', '17', '18']
    """
    done = 0

    def tell(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None:
            progress(done)

    write = writer_for(path)
    with closing(ahead(iter(batches))) as drawn:
        write(drawn, domain, tell)


def writer_for(path: str | os.PathLike[str]) -> Writer:
    """The function that writes records to a place and reports the size of each piece.

    Call it before long work, so that a wrong name fails at once.

    Raises:
        ConfigError: The ending is not ``.csv``, ``.parquet`` or ``.pq``, or the address names no table.

    Example:
        >>> writer_for("out.xlsx")
        Traceback (most recent call last):
        hedgerow.errors.ConfigError: cannot write out.xlsx: the ending '.xlsx' is not a known format
          Remedy: let the name end in .csv, .tsv, .txt, .parquet or .pq
    """
    name = os.fspath(path)
    if is_duckdb(name):
        table = duckdb_table(name)
        if table is None:
            raise ConfigError(
                f"cannot write {name}: the address does not name a file and a table", remedy=DUCKDB_REMEDY
            )
        return partial(_to_table, table)
    ending = Path(path).suffix.lower()
    if ending not in RECORD_ENDINGS:
        raise ConfigError(
            f"cannot write {name}: the ending {ending!r} is not a known format",
            remedy=f"let the name end in {', '.join(RECORD_ENDINGS[:-1])} or {RECORD_ENDINGS[-1]}",
        )
    if ending in (".parquet", ".pq"):
        return partial(_to_file, Path(path), _write_parquet)
    return partial(_to_file, Path(path), partial(_write_csv, usual="\t" if ending == ".tsv" else ","))


def _to_table(table: DuckDBTable, batches: Iterable[Records], domain: Domain, tell: Callable[[int], None]) -> None:
    def stream() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for chunk in batch.batches():
                yield chunk
                tell(chunk.num_rows)

    schema, batches = _with_schema(batches, domain)
    write_table(table, schema, stream())


def _with_schema(batches: Iterable[Records], domain: Domain) -> tuple[pa.Schema, Iterator[Records]]:
    """The columns of the first batch, which all others have too, and all batches."""
    rest = iter(batches)
    first = next(rest, None)
    return (arrow_schema(domain), rest) if first is None else (first.schema, chain([first], rest))


def _to_file(path: Path, form: Form, batches: Iterable[Records], domain: Domain, tell: Callable[[int], None]) -> None:
    schema, batches = _with_schema(batches, domain)
    with replacing(path) as beside, closing(form(batches, schema, domain, beside)) as pieces:
        for rows in pieces:
            tell(rows)


def _write_csv(
    batches: Iterable[Records], schema: pa.Schema, domain: Domain, path: Path, usual: str
) -> Generator[int, None, None]:
    return write_csv(chain.from_iterable(batch.columns() for batch in batches), schema, domain, path, usual)


def _write_parquet(
    batches: Iterable[Records], wanted: pa.Schema, domain: Domain, path: Path
) -> Generator[int, None, None]:
    text = pa.dictionary(pa.int32(), pa.string())
    # Texts come as dictionaries, and the note of Arrow's own schema says what readers shall get; numbers drawn inside
    # bins hardly repeat; and in random order nearly every row group has nearly every value, so statistics would skip
    # none.
    schema = pa.schema([field.with_type(text) if _is_text(field.type) else field for field in wanted])
    repeated: Any = [
        attribute.name for attribute in written(domain) if not isinstance(attribute, Binned) or attribute.whole
    ]
    with pa.parquet.ParquetWriter(
        path, schema, store_schema=False, use_dictionary=repeated, write_statistics=False
    ) as writer:
        writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(wanted.serialize().to_pybytes()).decode()})
        for batch in batches:
            chunks = batch.encoded()
            while group := list(islice(chunks, _GROUP_CHUNKS)):
                table = pa.Table.from_batches(group)
                writer.write_table(table, row_group_size=table.num_rows)
                yield table.num_rows


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
