"""Spark tables, counted inside the executors by the kernels that count tables in memory.

Every partition is encoded and counted where it lies (``mapInArrow``), partial counts are added up in two steps, and one
row of counts comes back to the driver: no record does. A task that fails and runs again is counted once, as Spark
promises for the result of a job; a job that fails has counted nothing.

Where records of a person are left out, those of each are brought into one partition first, which a task holds in
memory; Spark's setting of shuffle partitions says how many there are.

The executors need this package, in the same version, and the Python of the driver.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hedgerow.data.reading import Coding, Encoding, Reader, check_apart
from hedgerow.data.reading.databases import numbers_in
from hedgerow.data.reading.row_filter import row_filter
from hedgerow.data.scanning.scan import Counts, Progress, ScannedTable, Wanted, counted, in_chunks
from hedgerow.data.scanning.spark_texts import Listed
from hedgerow.engines import SparkTasks, run_job, running_session, watched, withholding, without_pandas
from hedgerow.errors import DataError, QueryError, UnreadableTableError, raise_alone
from hedgerow.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FEW_PARTITIONS = 8
"""So many partial counts are added by one task."""
_MANY_PARTITIONS = 1024
"""Assumed where a session does not say how many there are."""
_SCHEMA = "partial binary"


@dataclass
class Partial:
    """The result of one partition, or of several.

    Attributes:
        encoding: Number of rows, and what was wrong with them.
        counts: The counts; meaningless if something was wrong.
        refused: A column that cannot be read.
    """

    encoding: Encoding
    counts: Counts
    refused: DataError | None = None

    def add(self, other: Partial) -> None:
        """Add the result of others."""
        self.encoding.add(other.encoding)
        self.counts.add(other.counts)
        self.refused = self.refused or other.refused


def scan_spark(
    frame: DataFrame, select: Callable[[Reader], Coding], where: str | None, *, declared: bool = False
) -> ScannedTable:
    """A private table in Spark, counted in passes over its partitions.

    Args:
        frame: The records.
        select: Chooses the columns that are read, as `select_columns`.
        where: A SQL condition on the columns.
        declared: Whether types are those of a stored table, which no cell has decided.

    Raises:
        ColumnError: A column is missing, there twice, or not declared.
        QueryError: The condition may look at more than one row.
    """
    file, names = "the Spark table", tuple(frame.columns)
    coding = select(Reader(file, names, lambda _, __: iter(())))
    condition = _condition(frame, where, declared=declared)
    check_apart(where, coding.options.count_column, file)
    read = coding.columns
    rows = frame if condition is None else _filtered(frame, condition)
    chosen = rows.select(*[f"`{name.replace('`', '``')}`" for name in read])
    chosen = chosen.toDF(*[f"column_{i}" for i in range(len(read))])  # Spark stumbles over dots in names
    if coding.options.person is not None:  # named last: all records of a person come into one partition
        partitions = int(chosen.sparkSession.conf.get("spark.sql.shuffle.partitions") or _MANY_PARTITIONS)
        chosen = chosen.repartition(partitions, f"column_{len(read) - 1}")

    listed = Listed.of(chosen, [coding.attributes.get(name) for name in read])
    sent = listed.sent(chosen)

    def count(asked: Wanted, progress: Progress) -> Counts:
        found = _collected(sent, Counting(file, coding, listed, asked, where is not None), progress)
        if found.refused is not None:
            raise found.refused
        found.encoding.check()
        return found.counts

    return ScannedTable(
        coding.domain,
        count,
        file,
        filtered=where is not None,
        violations=coding.violations,
        persons=coding.options.persons,
        tasks=SparkTasks(frame.sparkSession),
    )


def _condition(frame: DataFrame, where: str | None, *, declared: bool) -> str | None:
    """A filter, checked, as Spark writes it."""
    if where is None:
        return None
    numbers = {} if declared else numbers_in(types_of(frame))
    return row_filter(where, "the Spark table", tuple(frame.columns), dialect="spark", numbers=numbers)


def types_of(frame: DataFrame) -> dict[str, pa.DataType]:
    """The type of each column, by the schema alone; those that Arrow does not have are null."""
    from pyspark.sql.pandas.types import to_arrow_type

    types = {}
    for field in frame.schema:
        try:
            types[field.name] = to_arrow_type(field.dataType)
        except Exception:  # noqa: BLE001 # Spark's own kinds of errors, about a type
            types[field.name] = pa.null()
    return types


def is_stored(name: str) -> bool:
    """Whether a table of the running session is one of its catalogue, with types that no cell decides.

    Args:
        name: Name of a table or view.
    """
    with _withheld(f"spark:{name}"):
        return not running_session().catalog.getTable(name).isTemporary


def readers_of_distinct(
    frame: DataFrame, names: Sequence[str], where: str | None, *, declared: bool = False
) -> dict[str, Reader]:
    """For each of some columns a table of its different cells (private), collected on the driver.

    Args:
        frame: The table.
        names: Names of columns.
        where: A condition that its rows meet.
        declared: See `scan_spark`.
    """
    file, present = "the Spark table", tuple(frame.columns)
    condition = _condition(frame, where, declared=declared)
    chosen = frame if condition is None else _filtered(frame, condition)

    def reader(name: str) -> Reader:
        def batches(_: Sequence[str], __: Collection[str]) -> Iterator[pa.RecordBatch]:
            with _withheld(file):
                distinct = chosen.select(f"`{name.replace('`', '``')}`").distinct()
                cells = [row[0] for row in run_job(frame.sparkSession, distinct.collect)]
            yield pa.RecordBatch.from_arrays([pa.array(cells)], names=[name])

        return Reader(file, present, batches, numbered=False)

    return {name: reader(name) for name in names}


def _filtered(frame: DataFrame, condition: str) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        with withholding():
            return frame.where(condition)
    except AnalysisException as error:  # about names and types: no row is looked at
        first = str(error).partition("\n")[0]
        raise QueryError(
            f"Spark does not understand the filter: {first}", remedy="compare values of the same type"
        ) from None


@dataclass(frozen=True)
class Counting:
    """The work of an executor on a partition.

    Attributes:
        file: Name of the table in messages.
        coding: The columns to read, and their codes.
        listed: The way in which their cells travel.
        wanted: The counts to make.
        filtered: Whether rows were left out by what they hold.
    """

    file: str
    coding: Coding
    listed: Listed
    wanted: Wanted
    filtered: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One row: the counts of the partition."""
        names = self.coding.columns
        named = (pa.RecordBatch.from_arrays(self.listed.received(batch), names=list(names)) for batch in batches)
        reader = Reader(self.file, names, lambda _, __: named, filtered=self.filtered, numbered=False)
        encoding = Encoding(reader, self.coding)
        counts, refused = Counts(self.wanted), None
        try:
            counts = counted(in_chunks(iter(encoding), self.coding), self.wanted)
        except DataError as error:
            refused = error
        yield _packed(Partial(encoding.closed(), counts, refused))


def _add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row: the sum of partial counts; none if there are none."""
    whole: Partial | None = None
    for batch in batches:
        for cell in batch.column(0):
            part = _unpacked(cell.as_py())
            if whole is None:
                whole = part
            else:
                whole.add(part)
    if whole is not None:
        yield _packed(whole)


def _packed(partial: Partial) -> pa.RecordBatch:
    data = pa.array([pickle.dumps(partial, protocol=pickle.HIGHEST_PROTOCOL)], pa.binary())
    return pa.RecordBatch.from_arrays([data], names=["partial"])


def _unpacked(data: bytes) -> Partial:
    """A partial result that `_packed` wrote in an executor of the same job."""
    partial = pickle.loads(data)
    if not isinstance(partial, Partial):
        message = f"a {type(partial).__name__} is not a partial count"
        raise TypeError(message)
    return partial


def _collected(chosen: DataFrame, counting: Counting, progress: Progress) -> Partial:
    """The sum over all partitions."""
    with _withheld(counting.file), watched(chosen.sparkSession, progress), without_pandas():
        partial = chosen.mapInArrow(counting, _SCHEMA)
        partitions = _partitions_of(chosen)
        if partitions > _FEW_PARTITIONS:
            partial = partial.repartition(math.isqrt(partitions)).mapInArrow(_add, _SCHEMA)
        rows = run_job(chosen.sparkSession, partial.repartition(1).mapInArrow(_add, _SCHEMA).collect)
    if not rows:
        reader = Reader(counting.file, (), lambda _, __: iter(()), filtered=counting.filtered)
        empty = Encoding(reader, counting.coding)
        return Partial(empty.closed(), Counts(counting.wanted))
    return _unpacked(bytes(rows[0][0]))


def _partitions_of(frame: DataFrame) -> int:
    from pyspark.errors import PySparkException

    try:
        return int(frame.rdd.getNumPartitions())
    except (PySparkException, AttributeError):  # a remote session does not say
        return _MANY_PARTITIONS


@contextmanager
def _withheld(file: str) -> Iterator[None]:
    """Leave Spark's own messages of failures in its logs: they can hold cells."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with withholding():
            yield
    except (PySparkException, Py4JError) as error:
        message = f"the Spark job failed ({type(error).__name__}); nothing was counted and nothing is charged"
        remedy = (
            "look into Spark's own logs (its message is withheld here: it can hold cells); executors need hedgerow "
            f"{__version__} and the driver's Python"
        )
        raise_alone(UnreadableTableError(message, file=file, remedy=remedy))


def spark_table(name: str) -> DataFrame:
    """A table that the running Spark session knows, or a new session on this machine.

    Args:
        name: Name of a table or view.

    Raises:
        MissingExtraError: Spark is not installed.
        UnreadableTableError: There is no such table.
    """
    session = running_session()
    with _withheld(f"spark:{name}"):
        return session.table(name)
