"""Measurements of levels and of parts of marginals: stored, audited, and evidence about what they determine."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from hedgerow.audit import audit_files
from hedgerow.domain import Derived, Domain, IntegerRange
from hedgerow.models import Histogram
from hedgerow.privacy import Curator, LaplaceNoise, PureDP, SeededNoise, WorkloadError
from hedgerow.queries import Conjunction, Marginal, Measurement, Neighbours, NoiseKind, Workload
from hedgerow.release import Release, Runs, from_workload_error, measured, measurements_from_list, measurements_to_list
from tests.reference import evaluator
from tests.reference.dense_tables import DenseTables
from tests.release.made import DOMAIN, TABLE, make_release

NESTED = Domain(
    (IntegerRange("sex", 0, 1), IntegerRange("age", 0, 6)),
    (
        Derived(IntegerRange("age.2", 0, 3), ("age",), [0, 0, 1, 1, 2, 2, 3]),
        Derived(IntegerRange("age.4", 0, 1), ("age",), [0, 0, 0, 0, 1, 1, 1]),
    ),
)
TABLES = DenseTables.random(NESTED, 4_000, seed=2)
PARTS = (
    Marginal(NESTED, ("sex", "age.2")),
    Marginal(NESTED, ("age",), Conjunction.where(NESTED, {"age.4": [0]})),
    Marginal(NESTED, ("age.2", "sex"), Conjunction.where(NESTED, {"age.4": [1], "sex": [1]})),
)


def test_measurements_of_levels_and_parts_are_stored() -> None:
    made = [Measurement(part, np.arange(float(part.size)), NoiseKind.LAPLACE, 1.0) for part in PARTS]
    entries, arrays = measurements_to_list(made)
    found = measurements_from_list(json.loads(json.dumps(entries)), arrays, NESTED)
    assert [each.target for each in found] == list(PARTS)
    for mine, yours in zip(made, found, strict=True):
        np.testing.assert_array_equal(mine.values, yours.values)


@pytest.mark.parametrize(
    ("codes", "by"),
    [
        ({"age.2": [1, 2]}, [0]),
        ({"age.4": [1], "sex": [0]}, [0]),
        ({"age": [0, 3]}, [1]),
        ({"age.2": [1]}, [0, 1]),
        ({"age.2": [0, 1]}, [0, 1]),
        ({"sex": [1], "age.2": [3]}, [0, 2]),
        ({"sex": [0, 1], "age.2": [3]}, [0]),
        ({"age": [5]}, []),
        ({"age": [6]}, [0]),
        ({"age": [6], "sex": [1]}, [0, 2]),
        ({"age": [2, 3]}, [0, 1]),
    ],
)
def test_a_finer_measurement_is_evidence_where_it_tells_the_answer(codes: dict[str, list[int]], by: list[int]) -> None:
    query = Conjunction.where(NESTED, codes)
    exact = [Measurement(part, evaluator.answer(part, TABLES), NoiseKind.LAPLACE, 3.0) for part in PARTS]
    found = list(measured(query, Runs([[each] for each in exact])))
    assert [each.source for each in found] == [f"the noise of the measurement of {PARTS[i].text}" for i in by]
    for each in found:
        assert each.centre == evaluator.answer(query, TABLES)[0]
        assert each.radius(0.1) > 3.0


def test_intervals_from_a_part_hold_as_often_as_they_say() -> None:
    """Of 400 intervals at 80 %, at least 280 hold the truth: fewer have a chance of 1e-6 if each holds with 0.8."""
    query, held = Conjunction.where(NESTED, {"age.2": [0, 1]}), 0
    for seed in range(400):
        curator = Curator(TABLES, PureDP(1.0), noise=SeededNoise(seed))
        (found,) = measured(query, Runs([[curator.measure(PARTS[1], 0.5)]]))
        held += abs(found.centre - evaluator.answer(query, TABLES)[0]) <= found.radius(0.2)
    assert held >= 280


def test_a_release_with_a_part_is_saved_and_audited(tmp_path: Path) -> None:
    plain = make_release(PureDP(1.0), 0, [("sex",)])
    curator = Curator(TABLE, PureDP(1.0), noise=SeededNoise(1), events=plain.events)
    part = Marginal(DOMAIN, ("age", "job"), Conjunction.where(DOMAIN, {"age": [1, 2], "job": [0]}))
    noisy = curator.measure(part, 0.2)
    release = dataclasses.replace(
        plain,
        model=Histogram(DOMAIN, plain.total),
        events=curator.ledger.events,
        measurements=(*plain.measurements, noisy),
    )
    release.save(tmp_path / "people.release")
    loaded = Release.load(tmp_path / "people.release")
    assert [each.target for each in loaded.measurements] == [each.target for each in release.measurements]
    assert loaded.answer("age = 1 and job = 'clerk'").covers.count("measurement of age * job where") == 1
    (audited,) = audit_files([tmp_path / "people.release"]).files
    findings = {each.check: each for each in audited.findings}
    assert findings["measurements"].severity.name == "HOLDS"


def test_a_release_of_levels_is_saved_and_audited(tmp_path: Path) -> None:
    plain = make_release(PureDP(1.0), 0, error=False)
    curator = Curator(TABLES, PureDP(1.0), noise=SeededNoise(1), events=plain.events)
    release = dataclasses.replace(
        plain,
        model=Histogram(NESTED, plain.total),
        workload=Workload.parse("marginals:2 @levels; prefixes:age.2", NESTED),
        measurements=tuple(curator.measure(part, 0.2) for part in PARTS),
        events=curator.ledger.events,
    )
    release.save(tmp_path / "people.release")
    loaded = Release.load(tmp_path / "people.release")
    assert loaded.domain == NESTED
    assert loaded.workload == release.workload
    assert [each.target for each in loaded.measurements] == list(PARTS)
    (audited,) = audit_files([tmp_path / "people.release"]).files
    findings = {each.check: each.severity.name for each in audited.findings}
    assert findings["measurements"] == findings["sensitivities"] == "HOLDS"


def test_a_condition_is_seen_over_a_level_if_it_holds_for_whole_classes_only() -> None:
    noisy = Measurement(Marginal(NESTED, ("age.2",)), np.array([1.0, 10.0, 100.0, 1000.0]), NoiseKind.LAPLACE, 1.0)
    classes = ({0, 1}, {2, 3}, {4, 5}, {6})
    for chosen in range(1, 2**7 - 1):
        ages = {age for age in range(7) if chosen >> age & 1}
        pieces = list(measured(Conjunction.where(NESTED, {"age": ages}), Runs([[noisy]])))
        if all(each <= ages or each.isdisjoint(ages) for each in classes):
            (piece,) = pieces
            assert piece.centre == sum(10.0**i for i, each in enumerate(classes) if each <= ages)
        else:
            assert pieces == []


def test_the_error_of_a_workload_over_levels_bounds_conditions_that_they_tell() -> None:
    workload = Workload.parse("marginals:age.2*sex", NESTED)
    noise = LaplaceNoise(2.0)
    error = WorkloadError(20.0, 20.0, noise, noise, n_candidates=1, unit=1.0)

    def radius(codes: dict[str, list[int]]) -> float | None:
        query = Conjunction.where(NESTED, codes)
        found = from_workload_error(
            query, 5.0, workload=workload, error=error, neighbours=Neighbours.REPLACE, total_slack=0.0
        )
        return None if found is None else found.radius(0.05)

    assert radius({"age": [2, 3], "sex": [1]}) == radius({"age.2": [1], "sex": [1]}) is not None
    assert radius({"age": [2, 4], "sex": [1]}) is None
