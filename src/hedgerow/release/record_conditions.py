"""A condition for records that are drawn, or public values of some of their columns, row by row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hedgerow.arrays import Ints
from hedgerow.domain import Domain, Fault, UnsupportedTypeError, encoder, form_of
from hedgerow.errors import ConfigError
from hedgerow.queries import LinearQuery, parse_predicate
from hedgerow.release.records import Records

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    Given = str | LinearQuery | Records | pa.Table | pa.RecordBatch | pd.DataFrame | pl.DataFrame

_SAID = {
    Fault.MISSING: "is empty, and no missing value is declared",
    Fault.NOT_WHOLE: "is no whole number",
    Fault.NOT_A_NUMBER: "is no number",
}


def understood(given: Given, domain: Domain) -> LinearQuery | dict[str, Ints]:
    """A condition as a query, a table of values as columns of codes.

    Args:
        given: A condition in SQL (see ``parse_predicate``) or as a query; or a table of values: Arrow, pandas, polars,
            or what else gives an Arrow stream; or records, all of whose attributes the domain has.
        domain: The domain of the records.

    Returns:
        The query; or for each column the codes, shape ``(rows,)``.

    Raises:
        QueryError: The text is no condition.
        ConfigError: There is no column, the domain does not know one, or a cell holds none of its values.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain([IntegerRange("age", 17, 90), IntegerRange("hours", 0, 99)])
        >>> understood("age < 30", domain).text
        'age between 17 and 29'
        >>> understood(pa.table({"age": [20, 90]}), domain)
        {'age': array([ 3, 73])}
    """
    if isinstance(given, str):
        return parse_predicate(given, domain)
    if isinstance(given, LinearQuery):
        return given
    if isinstance(given, Records):
        return _same_codes(given, domain)
    table = _arrow(given)
    known = [*(column.name for column in domain.columns), *(function.name for function in domain.derived)]
    for name in table.column_names:
        if name not in known:
            remedy = f"give columns among {', '.join(dict.fromkeys(known))}"
            raise ConfigError(f"the domain has no column {name!r}", remedy=remedy)
    if not table.column_names or len({*table.column_names}) < table.num_columns:
        raise ConfigError("the given values have no column, or one twice", remedy="give each column once")
    return {name: _codes(domain, name, table.column(name)) for name in table.column_names}


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


def _same_codes(records: Records, domain: Domain) -> dict[str, Ints]:
    for attribute in records.domain:
        if attribute.name not in domain or domain[attribute.name] != attribute:
            message = f"the column {attribute.name!r} of the records is not one of the domain, or is another one there"
            raise ConfigError(message, remedy="give a table of values")
    return dict(zip(records.domain.names, records.codes.T.astype(np.int64), strict=True))


def _arrow(given: Any) -> pa.Table:
    try:
        if type(given).__module__.partition(".")[0] == "pandas":
            return pa.Table.from_pandas(given, preserve_index=False)
        return given if isinstance(given, pa.Table) else pa.table(given)
    except (pa.ArrowException, TypeError, ValueError) as error:
        message = f"records cannot be drawn given a {type(given).__name__}"
        raise ConfigError(message, remedy="give a condition, or a table of values") from error


def _codes(domain: Domain, name: str, column: pa.ChunkedArray[Any]) -> Ints:
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
