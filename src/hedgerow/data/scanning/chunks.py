"""Tables larger than memory as small tables of codes, one after the other."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hedgerow.data.counting import CHEAP_CELLS
from hedgerow.data.options import ExtraColumns, ReadOptions, Violations
from hedgerow.data.reading import CodedRows, Coding, Reader, check_apart, encoded, open_place, select_columns
from hedgerow.data.scanning.scan import CHANGED, CHANGED_REMEDY, Counts, ScannedTable, Wanted, counted, in_chunks
from hedgerow.data.table import Table, declared_in, joined
from hedgerow.domain import Domain
from hedgerow.engines import SPARK
from hedgerow.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GROUP_ROWS = 1 << 23
"""Rows of whole persons that are held together: 256 MB if there are 15 attributes, and twice as much to sort them."""
_ALL = 1 << 64


def chunks(reader: Reader, coding: Coding, rows: int | None = None) -> Iterator[Table]:
    """The records of a table, some at a time, in the order of the table.

    Args:
        reader: The table.
        coding: The columns to read, and their codes.
        rows: After so many rows a chunk is handed over, with the rest of its last batch; `CHUNK_ROWS` if None.

    Raises:
        DataError: A cell fits no code: raised at the end, with all that is wrong.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow import IntegerRange
        >>> from hedgerow.data.reading.readers import open_table
        >>> from hedgerow import Domain
        >>> coding = Coding(Domain([IntegerRange("a", 0, 2)]))
        >>> [table.total() for table in chunks(open_table(pa.table({"a": [0, 1, 2]})), coding)]
        [3]
    """
    if coding.options.person is None:
        yield from in_chunks(encoded(reader, coding), coding, rows)
    else:
        yield from by_person(reader, coding)


def by_person(reader: Reader, coding: Coding, rows: int | None = None) -> Iterator[Table]:
    """The records of a table that are counted, some persons at a time: as many passes as these groups.

    A group is the persons whose keys lie in a range. Where its rows become too many, the persons of the upper half are
    left for later passes. All rows of a person are in one group, however many they are.

    Args:
        reader: The table.
        coding: The columns to read, and the persons.
        rows: Rows that are held at a time; `GROUP_ROWS` if None.

    Raises:
        DataError: A cell fits no code, or a row does not say who it belongs to.
    """
    low = 0
    while low < _ALL:
        waiting, n_held, high = list[CodedRows](), 0, _ALL
        for part in encoded(reader, coding):
            waiting.append(_within(part, low, high))
            n_held += len(waiting[-1].codes[0])
            while n_held > (rows or GROUP_ROWS) and (middle := _middle(waiting)) is not None:
                high = middle
                waiting = [_within(each, low, high) for each in waiting]
                n_held = sum(len(each.codes[0]) for each in waiting)
        yield joined(waiting, coding)
        low = high


def _within(part: CodedRows, low: int, high: int) -> CodedRows:
    """The rows of persons whose keys lie in a range."""
    if part.persons is None or (low, high) == (0, _ALL):
        return part
    keys = part.persons[:, 0]
    return part.rows((keys >= low) & (keys <= high - 1))


def _middle(parts: Sequence[CodedRows]) -> int | None:
    """A key that divides the rows into two parts, nearly equal if no person has most of them; None for one person."""
    keys = np.concatenate([part.persons[:, 0] for part in parts if part.persons is not None])
    half = np.partition(keys, len(keys) // 2)[len(keys) // 2]
    above = keys[keys > keys.min()]
    return int(half if half > keys.min() else above.min()) if len(above) else None


def scan_table(
    source: str | os.PathLike[str] | DataFrame,
    domain: Domain | str | os.PathLike[str],
    *,
    count_column: str | None = None,
    columns: Iterable[str] | None = None,
    extra_columns: ExtraColumns = "error",
    coded: bool = False,
    show_values: bool = False,
    where: str | None = None,
    violations: Violations = "refuse",
    person: str | None = None,
    at_most: int | None = None,
    weight: str | None = None,
    largest_weight: int | None = None,
    fractional_weights: bool = False,
) -> ScannedTable:
    """A private table that stays where it is, counted in passes over its records: it may be larger than memory.

    Columns are looked at now, records in the first pass: so an error about a cell comes when the table is first
    counted, which is before anything is charged.

    Args:
        source: A file, a pattern of file names, a folder of Parquet files, a table of a DuckDB file or of a PostgreSQL
            database: see `open_place`; a Spark data frame, or ``spark:table``.
        domain: See ``read_table``, and so all the following.
        count_column: Column that says how many records a row stands for.
        columns: Read these columns only, in this order.
        extra_columns: ``"ignore"`` skips columns that the domain does not declare.
        coded: Whether the table holds the codes ``0, 1, ...`` of the domain already, in place of values.
        show_values: Whether errors may show offending values. They are private: use it where only you read the message.
        where: A SQL condition on the columns: only rows for which it holds are records. It must look at one row at a
            time, since otherwise a record could decide whether others count.
        violations: Whether records that break a rule of the domain are an error, or are left out; see ``read_table``.
        person: Column that says who a record belongs to; see ``read_table``. Records of `GROUP_ROWS` rows are held at a
            time: a longer table is read once for each such group of persons.
        at_most: Maximum records counted per person.
        weight: Column that says how often a record counts; see ``read_table``.
        largest_weight: The largest weight; a record with a larger one counts as often as this.
        fractional_weights: Whether weights may be fractions; see ``read_table``.

    Raises:
        DataError: See ``read_table``, of columns; of cells when the table is first counted.
        QueryError: The condition may look at more than one row.
        MissingExtraError: The library that reads it is not installed.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa, pyarrow.parquet
        >>> from hedgerow import IntegerRange
        >>> folder = tempfile.TemporaryDirectory()
        >>> for part in range(3):
        ...     pyarrow.parquet.write_table(pa.table({"a": [part, 0]}), f"{folder.name}/{part}.parquet")
        >>> table = scan_table(f"{folder.name}/*.parquet", Domain([IntegerRange("a", 0, 2)]))
        >>> table.total(), table.marginals([("a",)])
        (6, [array([4., 1., 1.])])
        >>> folder.cleanup()
    """
    options = ReadOptions(
        count_column=count_column,
        columns=columns,
        extra_columns=extra_columns,
        coded=coded,
        show_values=show_values,
        where=where,
        violations=violations,
        person=person,
        at_most=at_most,
        weight=weight,
        largest_weight=largest_weight,
        fractional_weights=fractional_weights,
    )
    return scan_with(source, domain, options)


def scan_with(
    source: str | os.PathLike[str] | DataFrame, domain: Domain | str | os.PathLike[str], options: ReadOptions
) -> ScannedTable:
    """The same, with all options in one object.

    Args:
        source: The table.
        domain: The domain, or the path of its file.
        options: How the table is read.

    Raises:
        DataError: See `scan_table`.
        QueryError: The condition may look at more than one row.
        MissingExtraError: The library that reads it is not installed.
    """
    declared = domain if isinstance(domain, Domain) else declared_in(domain)
    select, where = partial(select_columns, domain=declared, options=options), options.where
    frame = spark_frame(source)
    if frame is not None:
        from hedgerow.data.scanning.spark import scan_spark

        return scan_spark(frame, select, where, declared=is_stored_in_spark(source))
    reader = open_place(cast("str | os.PathLike[str]", source), where, declared.layout.file)
    check_apart(where, options.count_column, reader.file)
    coding = select(reader)
    whole = coding.violations == "refuse" and coding.options.person is None
    n_rows = reader.n_rows if whole else None  # a progress that ends early would tell how many are left out
    return ScannedTable(
        coding.domain,
        lambda asked, progress: counted(chunks(reader, coding), asked, progress, n_rows),
        reader.file,
        grouped=lambda asked: grouped_counts(reader, coding, asked),
        filtered=reader.filtered,
        violations=coding.violations,
        persons=options.persons,
    )


_MOST_GROUPED = 4
"""Grouped counts that are made in place of a pass over all rows."""


def grouped_counts(reader: Reader, coding: Coding, wanted: Wanted) -> Counts | None:
    """The counts of rows that were all looked at before, by the engine that holds them: one statement for each scope.

    An engine hands over each combination of cells with its number of rows, and the combinations become codes as rows
    do: what is counted is the same to the last record.

    Args:
        reader: The table.
        coding: The columns that are read.
        wanted: The counts to make.

    Returns:
        None where a pass over all rows is needed, or costs less: parities, many or large tables; persons, weights and
        counts of rows; rules that rows are looked at for.
    """
    domain, options = coding.domain, coding.options
    if reader.grouped is None or wanted.scopes or options.apart or domain.has_rules or domain.spans:
        return None
    scopes = [
        frozenset(_columns_of(domain, clique)) for clique in (*wanted.cliques, *(q.scope for q in wanted.queries))
    ]
    largest = [scope for scope in dict.fromkeys(scopes) if not any(scope < other for other in scopes)]
    if not 0 < len(largest) <= _MOST_GROUPED or any(not scope <= reader.groupable for scope in largest):
        return None
    if any(domain.cells(query.scope) > CHEAP_CELLS for query in wanted.queries):
        return None
    made = Counts(wanted)
    for scope in largest:
        _count_groups(reader, coding, tuple(name for name in domain.names if name in scope), made)
    return made


def _columns_of(domain: Domain, clique: Iterable[str]) -> Iterator[str]:
    """The columns that some attributes, or their levels, are read from."""
    for name in clique:
        function = domain.function(name)
        yield from (name,) if function is None else function.sources


def _count_groups(reader: Reader, coding: Coding, names: tuple[str, ...], made: Counts) -> None:
    """Count by one statement what is about some columns, and note it.

    Raises:
        DataError: They are not as many records as another statement counted.
    """
    counts, grouping = "rows of a group", reader.grouped
    while counts in names:
        counts += "_"

    def batches(asked: Sequence[str], _: Collection[str]) -> Iterator[Any]:
        return iter(()) if grouping is None else grouping([name for name in asked if name != counts], counts)

    def is_about(scope: Iterable[str]) -> bool:
        return set(_columns_of(coding.domain, scope)) <= set(names)

    coded = Coding(
        coding.domain.of_columns(names), replace(coding.options, columns=None, count_column=counts, where=None)
    )
    wanted = Wanted(coded.domain)
    wanted.cliques |= dict.fromkeys(clique for clique in made.tables if is_about(clique))
    wanted.cliques |= dict.fromkeys(query.scope for query in made.queries if is_about(query.scope))
    found = counted(chunks(replace(reader, batches=batches, n_rows=None), coded), wanted)
    if made.total not in (0, found.total):
        raise DataError(CHANGED, file=reader.file, remedy=CHANGED_REMEDY)
    made.total = found.total
    made.tables |= {clique: table for clique, table in found.tables.items() if clique in made.tables}
    for at, query in enumerate(made.queries):
        if query.scope in found.tables:
            made.sums[at] = query.of_table(found.tables[query.scope])[0]


def is_stored_in_spark(source: Any) -> bool:
    """Whether a text names a Spark table whose types are stored; a frame's, or a temporary view's, may follow cells."""
    if not (isinstance(source, str) and source.startswith(SPARK)):
        return False
    from hedgerow.data.scanning.spark import is_stored

    return is_stored(source.removeprefix(SPARK))


def spark_frame(source: Any) -> DataFrame | None:
    """A Spark data frame, or the Spark table that a text names; None for all other sources."""
    if isinstance(source, str) and source.startswith(SPARK):
        from hedgerow.data.scanning.spark import spark_table

        return spark_table(source.removeprefix(SPARK))
    return source if type(source).__module__.startswith("pyspark.") else None
