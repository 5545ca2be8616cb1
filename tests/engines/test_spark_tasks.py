"""Tasks of a fit in Spark's executors: the results of this machine, in their order, whatever fails there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hedgerow import MWEM, PureDP, SeededNoise, Workload
from hedgerow.data import Table, scan_table
from hedgerow.domain import Domain, IntegerRange, width_level
from hedgerow.engines import SparkTasks
from hedgerow.system import done_by, each_done

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def test_results_are_those_of_map_in_order(spark: SparkSession) -> None:
    with done_by(SparkTasks(spark)):
        assert list(each_done(math.factorial, iter(range(20)))) == [math.factorial(i) for i in range(20)]
    assert list(each_done(math.factorial, [3])) == [6]


def test_tasks_that_fail_in_spark_are_made_here(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.engines.spark_tasks._packed", lambda _: b"cut off")
    with done_by(SparkTasks(spark)), pytest.warns(RuntimeWarning, match="made on this machine"):
        assert list(each_done(math.sqrt, [4.0, 9.0])) == [2.0, 3.0]


def test_a_spark_table_is_fitted_to_in_its_session_with_the_same_bits(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    area = IntegerRange("area", 0, 199)
    domain = Domain([area, IntegerRange("sex", 0, 1), IntegerRange("race", 0, 2)], [width_level(area, 20)])
    rng = np.random.default_rng(5)
    records = np.array([rng.integers(0, size, 900) for size in domain.shape])
    workload = Workload.parse("marginals:area*sex*race; marginals:area.20*sex*race", domain)
    monkeypatch.setattr("hedgerow.models.fit.top_down._SUBTREES", 400)
    frame = spark.createDataFrame([tuple(map(int, each)) for each in records.T], list(domain.names))
    sent, done = list[int](), SparkTasks._done

    def counted(self: SparkTasks, task: object, items: list[object]) -> list[object]:
        sent.append(len(items))
        return done(self, task, items)  # type: ignore[arg-type]

    monkeypatch.setattr(SparkTasks, "_done", counted)
    tables = [
        MWEM().run(source, workload, PureDP(1.0), noise=SeededNoise(1)).model.marginals([domain.names])[0]
        for source in (Table(domain, records), scan_table(frame, domain))
    ]
    assert max(sent) > 1
    assert (tables[0] == tables[1]).all()
