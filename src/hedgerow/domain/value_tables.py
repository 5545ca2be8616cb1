"""Tables of public values: of some columns, levels and derived columns, row by row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hedgerow.arrays import Ints
from hedgerow.domain.arrow import UnsupportedTypeError
from hedgerow.domain.domain import Domain
from hedgerow.domain.encoding import Fault, encoder
from hedgerow.domain.values import form_of
from hedgerow.errors import ConfigError

_SAID = {
    Fault.MISSING: "is empty, and no missing value is declared",
    Fault.NOT_WHOLE: "is no whole number",
    Fault.NOT_A_NUMBER: "is no number",
}


def read_values(path: Path) -> pa.Table:
    """A file of values, as records are written; cells of CSV stay texts.

    Args:
        path: A file that ends in ``.csv``, ``.tsv``, ``.parquet`` or ``.pq``.

    Raises:
        ConfigError: The ending is another, or the file cannot be read.
    """
    readers: dict[str, Callable[[Path], pa.Table]] = {
        ".csv": partial(_read_texts, separator=","),
        ".tsv": partial(_read_texts, separator="\t"),
        ".parquet": pa.parquet.read_table,
        ".pq": pa.parquet.read_table,
    }
    if path.suffix.lower() not in readers:
        raise ConfigError(f"cannot read {path}: its ending is not known", remedy="give a file .csv, .tsv or .parquet")
    try:
        return readers[path.suffix.lower()](path)
    except (pa.ArrowInvalid, OSError) as error:
        raise ConfigError(f"cannot read {path}: {error}", remedy="check the file") from error


def _read_texts(path: Path, separator: str) -> pa.Table:
    separated = pa.csv.ParseOptions(delimiter=separator)
    with pa.csv.open_csv(path, parse_options=separated) as reader:
        names = reader.schema.names
    texts = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    return pa.csv.read_csv(path, parse_options=separated, convert_options=texts)


def arrow_of(given: Any) -> pa.Table:
    """A table of values as an Arrow table.

    Args:
        given: Arrow, pandas, polars, or what else gives an Arrow stream.

    Raises:
        ConfigError: It is no table.
    """
    try:
        if type(given).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(given, preserve_index=False)
        return given if isinstance(given, pa.Table) else pa.table(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = f"a {type(given).__name__} is no table of values"
        raise ConfigError(message, remedy="give a condition, or a table of values") from error


def codes_of(domain: Domain, name: str, column: pa.ChunkedArray[Any]) -> Ints:
    """The codes of a column of values.

    Args:
        domain: The domain.
        name: A column, a level or a derived column.
        column: The values.

    Returns:
        Shape ``(rows,)``.

    Raises:
        ConfigError: A cell holds none of its values.
    """
    cells: Any = column.combine_chunks()
    try:
        whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        codes = encoder(domain[name]).codes(form_of(domain, name).plain(whole))
    except UnsupportedTypeError as error:
        raise ConfigError(f"the values of {name!r} are neither texts nor numbers", remedy="convert them") from error
    wrong = np.flatnonzero(codes < 0)
    if len(wrong):
        row = int(wrong[0])
        said = _SAID.get(Fault(int(codes[row])), "is not among its values")
        raise ConfigError(f"row {row + 1:,}, {name!r}: {column[row].as_py()!r} {said}", remedy="give declared values")
    return np.asarray(codes, dtype=np.int64)
