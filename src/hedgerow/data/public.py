"""Public tables, whose records need no protection: for a prior."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hedgerow.data.options import ReadOptions
from hedgerow.data.reading.readers import open_table
from hedgerow.data.table import declared_in, read_with
from hedgerow.domain import Domain
from hedgerow.errors import ColumnError
from hedgerow.queries import PublicData

if TYPE_CHECKING:
    from hedgerow.data.table import Source


def read_public(
    source: Source,
    domain: Domain | str | os.PathLike[str],
    *,
    count_column: str | None = None,
    coded: bool = False,
) -> PublicData:
    """Read a public table: those columns of a domain that it has.

    What breaks a rule of the domain is left out, and what fits no code is shown in errors: nothing in it is secret.

    Args:
        source: Path of a CSV or Parquet file, an Arrow table or a data frame, as for `read_table`.
        domain: The domain of the private table, or the path of its file.
        count_column: Column that says how many records a row stands for, if the table has it.
        coded: Whether the table holds codes in place of values.

    Raises:
        ColumnError: It has no column of the domain, or one twice.
        DataError: The table cannot be read, or a value fits no code.
        DomainError: The domain file is wrong, or the domain is of another type.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow import IntegerRange
        >>> domain = Domain([IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)])
        >>> read_public(pa.table({"sex": [1, 1, 0], "height": [180, 170, 165]}), domain).marginals([("sex",)])
        [array([1., 2.])]
    """
    declared = domain if isinstance(domain, Domain) else declared_in(domain)
    reader = open_table(source, declared.layout.file)
    shared = [
        name
        for name in (*declared.names, *(derived_column.name for derived_column in declared.derived_columns))
        if _needed(name, declared, coded=coded) <= {*reader.names}
    ]
    if not shared:
        remedy = f"name columns as the domain does: {', '.join(declared.names)}"
        raise ColumnError("the public table has no column of the domain", file=reader.file, column=None, remedy=remedy)
    counts = count_column if count_column in reader.names else None
    options = ReadOptions(counts, shared, coded=coded, show_values=True, violations="drop")
    table = read_with(source, declared, options)
    return PublicData(table, table.total())


def _needed(name: str, domain: Domain, *, coded: bool) -> set[str]:
    """Columns that a column is read from: of a duration between two columns these, and itself if the data have it."""
    needed = {name}
    for span in domain.spans:
        if span.length == name and coded:
            needed = {span.start, name}
        elif span.length == name:
            needed = {span.start, span.end, *([name] if span.column else [])}
    return needed
