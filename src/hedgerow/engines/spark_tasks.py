"""Independent tasks of public numbers, made in the executors of a Spark session.

A task and its item are pickled, so the executors need this package, in the same version, and the Python of the driver.
"""

from __future__ import annotations

import pickle
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hedgerow.engines.spark_session import run_job, without_pandas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT_ONCE = 16
"""Tasks of one job: the driver holds their items and results."""


@dataclass(frozen=True)
class SparkTasks:
    """Maps a function over items in a session; results are those of the built-in ``map``, to the last bit.

    Attributes:
        session: The session.
    """

    session: SparkSession

    def __call__(self, task: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """The results, in order. Where a job fails, its tasks are made here, with a warning.

        Args:
            task: A function of a module.
            items: What it is called with; no private record.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        left = iter(items)
        while some := list(islice(left, _AT_ONCE)):
            try:
                yield from self._done(task, some)
            except (PySparkException, Py4JError) as error:
                message = f"Spark could not make tasks ({type(error).__name__}); they are made on this machine"
                warnings.warn(message, RuntimeWarning, stacklevel=2)
                yield from map(task, some)

    def _done(self, task: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        """The results of one job, a partition for each."""
        sent = [_packed((task, item)) for item in items]
        columns: list[pa.Array[Any]] = [pa.array(range(len(sent)), pa.int64()), pa.array(sent, pa.binary())]
        packed = pa.Table.from_arrays(columns, names=["place", "item"])
        with without_pandas():
            frame = self.session.createDataFrame(packed).repartitionByRange(len(sent), "place")
            rows = run_job(self.session, frame.mapInArrow(_made, "place long, result binary").collect)
        return [_unpacked(bytes(result)) for _, result in sorted(rows)]


def _made(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The results of the tasks of a partition."""
    for batch in batches:
        results = []
        for each in batch.column("item"):
            task, item = _unpacked(each.as_py())
            results.append(_packed(task(item)))
        yield pa.RecordBatch.from_arrays([batch.column("place"), pa.array(results, pa.binary())], ["place", "result"])


def _packed(value: Any) -> bytes:
    """Much of an item is the same number over and over: the driver of Spark holds all of a job several times."""
    return zlib.compress(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL), level=1)


def _unpacked(data: bytes) -> Any:
    """What `_packed` wrote in a job of this session."""
    return pickle.loads(zlib.decompress(data))
