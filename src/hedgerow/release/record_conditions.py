"""A condition for records that are drawn, or public values of some of their columns, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain import Domain, arrow_of, codes_of
from hedgerow.errors import ConfigError
from hedgerow.queries import LinearQuery, parse_predicate
from hedgerow.release.records import Records

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    Given = str | LinearQuery | Records | pa.Table | pa.RecordBatch | pd.DataFrame | pl.DataFrame


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
        >>> import pyarrow as pa
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
    table = arrow_of(given)
    known = [*(column.name for column in domain.columns), *(function.name for function in domain.derived)]
    for name in table.column_names:
        if name not in known:
            remedy = f"give columns among {', '.join(dict.fromkeys(known))}"
            raise ConfigError(f"the domain has no column {name!r}", remedy=remedy)
    if not table.column_names or len({*table.column_names}) < table.num_columns:
        raise ConfigError("the given values have no column, or one twice", remedy="give each column once")
    return {name: codes_of(domain, name, table.column(name)) for name in table.column_names}


def _same_codes(records: Records, domain: Domain) -> dict[str, Ints]:
    for attribute in records.domain:
        if attribute.name not in domain or domain[attribute.name] != attribute:
            message = f"the column {attribute.name!r} of the records is not one of the domain, or is another one there"
            raise ConfigError(message, remedy="give a table of values")
    return dict(zip(records.domain.names, records.codes.T.astype(np.int64), strict=True))
