"""Synthetic records drawn in parallel by Spark, from a release that is sent to every executor once.

A partition loads the model and draws its share with a seed that follows from the common seed and from its number: the
rows do not depend on the number of executors, nor on tasks that fail and run again. No record comes to the driver.

The executors need this package, in the same version, and the Python of the driver.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.domain import Domain, arrow_schema
from hedgerow.engines import run_job, running_session, watched, without_pandas
from hedgerow.errors import ConfigError, RecordsError
from hedgerow.release.release import Method, Release
from hedgerow.system import Seed, generator, numbered, replacing_folder
from hedgerow.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PARTITION_ROWS = 1 << 22
"""Records of a partition by default, on any cluster, so that a seed gives the same rows everywhere."""
_WRITTEN = (".parquet", ".parquet.crc", "_SUCCESS", "._SUCCESS.crc")


def sample_spark(
    release: Release,
    n: int,
    *,
    session: SparkSession | None = None,
    partitions: int | None = None,
    seed: Seed = None,
    method: Method = "systematic",
) -> DataFrame:
    """A Spark frame of records, each partition of which is drawn by the executor that needs it.

    Args:
        release: The release to draw from.
        n: Number of records in all partitions, at least 0.
        session: The Spark session; by default the one of this process, or a new one on this machine.
        partitions: Number of pieces that are drawn independently; by default one for four million records.
        seed: Fresh by default. A frame that is evaluated again has the same rows.
        method: ``"systematic"`` or ``"independent"``, within each partition.

    Raises:
        ConfigError: ``partitions`` is below 1.
        MissingExtraError: Spark is not installed.
    """
    if partitions is not None and partitions < 1:
        raise ConfigError(f"{partitions} partitions", remedy="give a number from 1 on")
    spark = running_session() if session is None else session
    pieces = max(1, -(-n // PARTITION_ROWS)) if partitions is None else partitions
    drawing = Drawing(_sent(spark, _saved(release)), n, pieces, int(generator(seed).integers(2**62)), method)
    with without_pandas():
        return spark.range(pieces, numPartitions=pieces).mapInArrow(drawing, spark_schema(release.domain))


def write_folder(
    release: Release,
    folder: str,
    n: int,
    *,
    seed: Seed = None,
    method: Method = "systematic",
    progress: Callable[[int], None] | None = None,
) -> None:
    """Draw records into Parquet files of a folder, by the Spark session of this process or a new one on this machine.

    Args:
        release: The release to draw from.
        folder: Folder of the files. If Spark runs on this machine alone, a folder of earlier records is replaced at
            the end; on a cluster an existing folder is refused, as Spark does.
        n: Number of records.
        seed: See `sample_spark`.
        method: See `sample_spark`.
        progress: Called with the approximate number of records written, from another thread.

    Raises:
        ConfigError: The folder holds other files.
        RecordsError: The Spark job failed.
        MissingExtraError: Spark is not installed.
    """
    session = running_session()
    frame = sample_spark(release, n, session=session, seed=seed, method=method)

    def tell(part: float) -> None:
        if progress is not None:
            progress(round(part * n))

    with _explained(folder), watched(session, tell):
        if is_local(folder):
            check_folder(Path(folder))
            with replacing_folder(folder) as beside:
                run_job(session, lambda: frame.write.parquet(beside.as_uri()))
        else:
            run_job(session, lambda: frame.write.parquet(folder))
    tell(1.0)


def is_local(folder: str) -> bool:
    """Whether a folder is on this machine, where Spark runs alone.

    Raises:
        MissingExtraError: Spark is not installed.
    """
    return "://" not in folder and (running_session().conf.get("spark.master", "") or "").startswith("local")


def check_folder(folder: Path) -> None:
    """Check that replacing a folder would lose nothing but earlier records.

    Raises:
        ConfigError: The folder holds other files, or is a file itself.
    """
    if folder.is_dir():
        others = [path.name for path in folder.iterdir() if path.is_dir() or not path.name.endswith(_WRITTEN)]
        if others:
            message = f"{folder} holds {min(others)!r}, which is not part of earlier records"
            raise ConfigError(message, remedy="name another folder")
    elif folder.exists():
        raise ConfigError(f"{folder} is a file", remedy="name a folder, or let the file's name end in .parquet")


@contextmanager
def _explained(folder: str) -> Iterator[None]:
    """Turn failures of Spark into one of ours; the records are synthetic, so its message may be shown."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise RecordsError(
            f"{folder}: the Spark job failed: {first}",
            remedy=f"look into Spark's own logs; executors need hedgerow {__version__} and the driver's Python",
        ) from error


@dataclass(frozen=True)
class Drawing:
    """The work of an executor on a partition.

    Attributes:
        release: The bytes of a release file, as Spark sends them.
        n: Number of records in all partitions.
        parts: Number of partitions.
        seed: Common seed of all partitions.
        method: Sampling method.
    """

    release: Sent
    n: int
    parts: int
    seed: int
    method: Method

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Draw the records of the partitions with these numbers, which is one at a time."""
        with _loaded(self.release.value) as release:
            for batch in numbers:
                for number in batch.column(0):
                    yield from self._share(release, int(number.as_py()))

    def _share(self, release: Release, number: int) -> Iterator[pa.RecordBatch]:
        rows = self.n * (number + 1) // self.parts - self.n * number // self.parts
        for records in release.sample_batches(rows, seed=numbered(self.seed, number), method=self.method):
            schema = near_schema(records.domain)
            yield from (batch.cast(schema) for batch in records.batches())


@dataclass(frozen=True)
class Sent:
    """Data that travels with the work where a session has no broadcasts, as remote ones do not."""

    value: bytes


def _sent(session: SparkSession, data: bytes) -> Any:
    context = getattr(session, "_sc", None)
    return Sent(data) if context is None else context.broadcast(data)


def _saved(release: Release) -> bytes:
    with tempfile.TemporaryDirectory(prefix="hedgerow-") as folder:
        release.save(Path(folder, "sent.release"))
        return Path(folder, "sent.release").read_bytes()


@contextmanager
def _loaded(data: bytes) -> Iterator[Release]:
    """Keep the file of a release as long as the release is read from it, piece by piece.

    It lies among Spark's own files, which Spark removes in the end even if a task is killed.
    """
    local = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    with tempfile.TemporaryDirectory(prefix="hedgerow-", dir=local or None) as folder:
        Path(folder, "sent.release").write_bytes(data)
        yield Release.load(Path(folder, "sent.release"))


def spark_schema(domain: Domain) -> StructType:
    """Spark schema of records: the columns of ``arrow_schema``, of the nearest types that Spark has.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> spark_schema(Domain([IntegerRange("age", 17, 90)])).simpleString()
        'struct<age:bigint>'
    """
    from pyspark.sql import types

    kinds = {
        pa.string(): types.StringType(),
        pa.int8(): types.ByteType(),
        pa.int16(): types.ShortType(),
        pa.int32(): types.IntegerType(),
        pa.int64(): types.LongType(),
        pa.float32(): types.FloatType(),
        pa.float64(): types.DoubleType(),
        pa.bool_(): types.BooleanType(),
        pa.date32(): types.DateType(),
        pa.timestamp("us"): types.TimestampNTZType(),
        pa.timestamp("us", "UTC"): types.TimestampType(),
        pa.duration("us"): types.DayTimeIntervalType(),
    }
    return types.StructType([types.StructField(field.name, kinds[field.type]) for field in near_schema(domain)])


def near_schema(domain: Domain) -> pa.Schema:
    """Names and Arrow types of the columns that Spark gets.

    Example:
        >>> from hedgerow.domain import IntegerRange, Layout, Written
        >>> near_schema(Domain([IntegerRange("age", 17, 90)], layout=Layout(columns={"age": Written("uint8")}))).types
        [DataType(int16)]
    """
    return pa.schema([pa.field(field.name, _near(field.type)) for field in arrow_schema(domain)])


def _near(kind: pa.DataType) -> pa.DataType:
    """The type that Spark has for values of a type: it knows no unsigned numbers, times of day or dictionaries."""
    known: dict[pa.DataType, pa.DataType] = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.int64(),
    }
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_dictionary(kind) or pa.types.is_large_string(kind) or pa.types.is_time(kind):
        return pa.string()
    return pa.float64() if pa.types.is_decimal(kind) else known.get(kind, kind)
