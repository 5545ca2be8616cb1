"""A release about an attribute of 2**32 values: saved, loaded, asked, drawn from and reported."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import ValueClasses
from hedgerow.privacy import Event, MeasuredQuery, PureDP
from hedgerow.queries import Conjunction, Measurement, NoiseKind, Workload
from hedgerow.release import Release, model_to_dict
from hedgerow.report import render_report
from tests.release.made import make_release

HUGE = Domain((IntegerRange("ip", -(2**31), 2**31 - 1, missing="?"), IntegerRange("hour", 0, 23)))
LOW = Conjunction.where(HUGE, {"ip": range(2**31)})


@pytest.fixture
def release() -> Release:
    model = ValueClasses(HUGE, 500.0)
    model.update(LOW, math.log(4.0))
    model.update(Conjunction.where(HUGE, {"ip": range(2**30), "hour": [3, 4]}), -1.0)
    made = make_release(PureDP(1.0), 0, error=False)
    measured = Measurement(LOW, np.array([410.0]), NoiseKind.LAPLACE, 2.0)
    event = Event("measure", "discrete Laplace", MeasuredQuery.of(LOW), 1.0, 2.0, 0.75, "epsilon", "add-remove")
    changes = {"workload": Workload.ranges(HUGE, ["ip"], 20), "measurements": (measured,), "events": (event,)}
    return dataclasses.replace(made, model=model, total=500.0, **changes)


def test_it_comes_back(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "huge.release")
    loaded = Release.load(tmp_path / "huge.release")
    assert isinstance(loaded.model, ValueClasses)
    for asked in ("ip < 1000 and hour = 3", "ip is null", "not ip between -7 and 2000000000"):
        assert loaded.answer(asked).value == pytest.approx(release.answer(asked).value, rel=1e-12)
    assert loaded.measurements[0].target == LOW
    np.testing.assert_allclose(loaded.workload.answers(loaded.model), release.workload.answers(release.model))
    assert (tmp_path / "huge.release").stat().st_size < 20_000


def test_the_file_lists_no_codes(release: Release) -> None:
    entry, _ = model_to_dict(release.model)
    assert entry["steps"][0] == {"scope": ["ip"], "codes": [{"cuts": [0, 2**31]}]}


def test_records_are_of_the_original_values(release: Release, tmp_path: Path) -> None:
    release.write_records(tmp_path / "drawn.parquet", 1000, seed=1)
    column = pq.read_table(tmp_path / "drawn.parquet")["ip"].to_numpy()
    below = np.count_nonzero(column < 0)
    assert abs(below - 2 * release.model.conjunctions([LOW])[0]) < 3.0
    assert column.min() < -(2**30)
    assert column.max() > 2**30


def test_the_report_asks_for_ranges(release: Release) -> None:
    page = render_report(release)
    assert "records per 35,791,395 values" in page
