"""Synthetic records: codes of a domain, and the values that they stand for.

What a code becomes:

======================  =======================================  ==================================
code                    Arrow, Parquet, pandas, polars           CSV
======================  =======================================  ==================================
listed value            the value, in its type                   its text
whole number            int64                                    its digits
bin                     a number drawn inside it, to a millionth its digits
                        of its width: float64, or int64 where
                        the column is whole
missing value           null                                     its declared text; in a column of numbers
                                                                 or booleans an empty cell, unless its text
                                                                 is a number or it is the only column
other value             its declared text in a text column,      its declared text
                        null in a column of numbers
======================  =======================================  ==================================

A categorical column is one of booleans, of int64 or of float64 where all listed values are; of texts otherwise. Reading
what was written with the same domain gives the same codes back, save that the other value of a column of numbers,
null in Parquet, is read as missing.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import ArrayLike, NDArray

from hedgerow.attribute import Attribute, Binned, Categorical, IntegerRange
from hedgerow.domain import Domain
from hedgerow.errors import ConfigError, MissingExtraError
from hedgerow.files import replacing
from hedgerow.randomness import Seed, generator

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

CHUNK_ROWS = 1 << 17
"""Records that are turned into values at a time; part of what a seed means."""

Ints = NDArray[np.integer[Any]]


@final
class Records:
    """Synthetic records, public like the model that they were drawn from.

    Attributes:
        domain: The domain of the records.
        codes: Shape ``(n, len(domain))``.

    Example:
        >>> from hedgerow.attribute import Categorical, IntegerRange
        >>> domain = Domain([Categorical("sex", ("F", "M"), missing="?"), IntegerRange("age", 17, 90)])
        >>> Records([[1, 3], [2, 0]], domain).to_arrow().to_pylist()
        [{'sex': 'M', 'age': 20}, {'sex': None, 'age': 17}]
    """

    def __init__(self, codes: ArrayLike, domain: Domain, *, seed: Seed = None) -> None:
        """Check the codes.

        Args:
            codes: Whole numbers, shape ``(n, len(domain))``.
            domain: What they stand for.
            seed: For the numbers drawn inside bins, which stay the same however often they are asked for.

        Raises:
            ConfigError: The shape is wrong, or a code is not one of its attribute.
        """
        given = np.asarray(codes)
        if given.ndim != 2 or given.shape[1] != len(domain) or given.dtype.kind not in "iu":
            raise ConfigError(f"codes must be whole numbers of shape (n, {len(domain)}), not {given.shape}")
        for attribute, column in zip(domain, given.T, strict=True):
            if column.size and not (column.min() >= 0 and column.max() < attribute.size):
                raise ConfigError(f"a code of {attribute.name!r} is not one of 0 to {attribute.size - 1}")
        self.domain = domain
        self.codes: Ints = given
        self._seed = int(generator(seed).integers(2**63))

    def __len__(self) -> int:
        """Number of records."""
        return len(self.codes)

    def __repr__(self) -> str:
        """Size and columns."""
        return f"Records({len(self):,} records of {', '.join(self.domain.names)})"

    def to_arrow(self) -> pa.Table:
        """All records as an Arrow table of the original types."""
        return pa.Table.from_batches(self.batches(), schema=arrow_schema(self.domain))

    def to_pandas(self) -> pd.DataFrame:
        """All records as a pandas data frame; whole numbers that may be missing have the type Int64.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtraError("pandas is not installed", remedy="pip install 'hedgerow[pandas]'") from error
        frame: pd.DataFrame = self.to_arrow().to_pandas(integer_object_nulls=True)
        for field, attribute in zip(arrow_schema(self.domain), self.domain, strict=True):
            if field.type == pa.int64() and attribute.size > attribute.ordinary:
                frame[field.name] = frame[field.name].astype(pd.Int64Dtype())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """All records as a polars data frame.

        Raises:
            MissingExtraError: polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("polars is not installed", remedy="pip install 'hedgerow[polars]'") from error
        return pl.DataFrame(self.to_arrow())

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV or Parquet file, a chunk at a time; a file that is there is replaced in one step.

        Args:
            path: Its ending, ``.csv``, ``.parquet`` or ``.pq``, says the form.

        Raises:
            ConfigError: The ending is another one.
        """
        writer = writer_for(path)
        with replacing(path) as beside:
            writer(self, beside)

    def batches(self, *, as_text: bool = False) -> Iterator[pa.RecordBatch]:
        """The records as Arrow batches, decoded as they are asked for.

        Args:
            as_text: Write missing and other values as their texts, as CSV does.
        """
        # A line without any text would be no record to most readers, so an only column has no empty cells.
        decode = partial(_texts, empties=len(self.domain) > 1) if as_text else _values
        schema = arrow_schema(self.domain)
        for start in range(0, len(self), CHUNK_ROWS):
            rng = generator(self._seed + start // CHUNK_ROWS)
            rows = self.codes[start : start + CHUNK_ROWS]
            columns = [decode(attribute, rows[:, i], rng) for i, attribute in enumerate(self.domain)]
            yield pa.RecordBatch.from_arrays(columns, names=schema.names)


def writer_for(path: str | os.PathLike[str]) -> Callable[[Records, Path], None]:
    """What writes a file of this ending; ask before long work, so that a wrong ending shows at once.

    Raises:
        ConfigError: The ending is not ``.csv``, ``.parquet`` or ``.pq``.

    Example:
        >>> writer_for("out.xlsx")
        Traceback (most recent call last):
        hedgerow.errors.ConfigError: cannot write out.xlsx: the ending '.xlsx' says no kind of table
          Remedy: name it .csv or .parquet
    """
    ending = Path(path).suffix.lower()
    writers = {".csv": _write_csv, ".parquet": _write_parquet, ".pq": _write_parquet}
    if ending not in writers:
        raise ConfigError(
            f"cannot write {os.fspath(path)}: the ending {ending!r} says no kind of table",
            remedy="name it .csv or .parquet",
        )
    return writers[ending]


def arrow_schema(domain: Domain) -> pa.Schema:
    """Names and Arrow types of the columns of records.

    Example:
        >>> arrow_schema(Domain([Categorical("x", (0.5, 1)), Binned("y", (0, 1, 2))])).types
        [DataType(double), DataType(double)]
    """
    return pa.schema([pa.field(attribute.name, _arrow_type(attribute)) for attribute in domain])


def _arrow_type(attribute: Attribute) -> pa.DataType:
    if isinstance(attribute, IntegerRange):
        return pa.int64()
    if isinstance(attribute, Binned):
        return pa.int64() if attribute.whole else pa.float64()
    values: tuple[Any, ...] = attribute.values if isinstance(attribute, Categorical) else ()
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64() if all(-(2**63) <= value < 2**63 for value in values) else pa.string()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()


def _values(attribute: Attribute, codes: Ints, rng: np.random.Generator) -> pa.Array[Any]:
    """Values of a column of codes, in the type of the column."""
    kind = _arrow_type(attribute)
    if isinstance(attribute, Categorical):
        listed: list[Any] = [str(value) for value in attribute.values] if kind == pa.string() else [*attribute.values]
        if attribute.missing is not None:
            listed.append(None)
        if attribute.other is not None:
            listed.append(attribute.other if kind == pa.string() else None)
        return pa.array(listed, type=kind).take(pa.array(codes, type=pa.int64()))
    beyond = codes >= attribute.ordinary
    ordinary = np.where(beyond, 0, codes).astype(np.int64)
    if isinstance(attribute, Binned):
        numbers = _inside_bins(attribute, ordinary, rng)
    elif isinstance(attribute, IntegerRange):
        numbers = ordinary + attribute.minimum
    return pa.array(numbers, type=kind, mask=beyond)


def _texts(attribute: Attribute, codes: Ints, rng: np.random.Generator, *, empties: bool) -> pa.Array[Any]:
    """Values of a column as CSV shows them: the other value as its text, the missing one too where empties are not."""
    values = _values(attribute, codes, rng)
    shown = [(attribute.missing_code, attribute.missing), (attribute.other_code, attribute.other)]
    if empties and values.type != pa.string() and not _is_number(attribute.missing):
        del shown[0]  # "?" would make every reader take the numbers for texts
    if all(code is None for code, _ in shown):
        return values
    texts: Any = values.cast(pa.string())
    for code, text in shown:
        if code is not None:
            texts = pa.compute.if_else(pa.array(codes == code), text, texts)
    found: pa.Array[Any] = texts
    return found


def _is_number(text: str | None) -> bool:
    try:
        return text is not None and np.isfinite(float(text))
    except ValueError:
        return False


def _inside_bins(attribute: Binned, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
    """One number per code, uniform in its bin: over the whole numbers of it, or over all."""
    if attribute.whole:
        low, high = np.array([attribute.whole_bounds(code) for code in range(attribute.ordinary)]).T
        return np.asarray(rng.integers(low[codes], high[codes], endpoint=True))
    edges = np.array(attribute.edges)
    low, high = edges[codes], edges[codes + 1]
    drawn = low + rng.random(len(codes)) * (high - low)
    decimals = max(0, 6 - int(np.floor(np.log10(np.diff(edges).min()))))
    if decimals <= 12:  # digits beyond a millionth of a bin say nothing
        drawn = np.floor(drawn * 10.0**decimals) / 10.0**decimals
    return np.asarray(np.clip(drawn, low, np.nextafter(high, low)))


def _write_csv(records: Records, path: Path) -> None:
    # Arrow quotes every text or none; texts are public labels, so it is known whether any needs quotes.
    header = io.StringIO(newline="")
    csv.writer(header, lineterminator="\n").writerow(records.domain.names)
    options = pa.csv.WriteOptions(include_header=False, quoting_style=_quoting(records.domain))
    with path.open("wb") as file:
        file.write(header.getvalue().encode())
        for batch in records.batches(as_text=True):
            pa.csv.write_csv(batch, file, options)


def _write_parquet(records: Records, path: Path) -> None:
    with pa.parquet.ParquetWriter(path, arrow_schema(records.domain)) as writer:
        for batch in records.batches():
            writer.write_batch(batch)


def _quoting(domain: Domain) -> Literal["needed", "none"]:
    special = set(',"\r\n')
    texts = [label for attribute in domain if isinstance(attribute, Categorical) for label in attribute.labels]
    texts += [text for attribute in domain for text in (attribute.missing, attribute.other) if text is not None]
    return "needed" if any(not text or special & set(text) or text != text.strip() for text in texts) else "none"
