"""The page of running times: what it is made from, and that it is what it is made from."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet
import pytest
from benchmarks.performance.drawn import NUMBER, drawn_shapes
from benchmarks.performance.measuring import Run, child, measured
from benchmarks.performance.page import PAGE, RESULTS, drawings, page_text, read_runs, write_runs
from benchmarks.performance.session import DRAWING, STEPS, Point, points, read_points, write_points
from benchmarks.performance.shapes import generated, shapes


def test_the_page_is_made_from_the_runs_beside_it() -> None:
    runs, asked = read_runs(), read_points()
    assert PAGE.read_text(encoding="utf-8") == page_text(runs, asked)
    assert drawings(runs, asked).keys() >= {DRAWING}
    for name in drawings(runs, asked):
        ET.fromstring(RESULTS.with_name(name).read_text(encoding="utf-8"))
        assert name in PAGE.read_text(encoding="utf-8")


def test_every_run_of_the_page_can_be_made_again() -> None:
    names = [shape.name for shape in [*shapes(), *drawn_shapes()]]
    assert len(set(names)) == len(names)
    assert set(read_runs()) <= set(names)
    points = [(shape.group, shape.size) for shape in shapes() if shape.group]
    assert len(set(points)) == len(points) >= 13


def test_generated_tables_are_the_same_each_time_and_follow_their_domain(tmp_path: Path) -> None:
    from hedgerow import read_domain, read_table

    shape = generated("small", 500, [2, 5, 1000])
    tables = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        tables.append(pyarrow.parquet.read_table(shape.table(folder)))
    assert tables[0].equals(tables[1])
    domain = read_domain(shape.domain(tmp_path))
    assert domain.shape == (2, 5, 1000)
    assert read_table(tables[0], domain).total() == 500


def test_drawn_shapes_follow_from_their_seed_and_are_reported_whole() -> None:
    assert [shape.name for shape in drawn_shapes(3)] == [shape.name for shape in drawn_shapes(3)]
    assert [shape.name for shape in drawn_shapes(3)] != [shape.name for shape in drawn_shapes(4)]
    assert {shape.name for shape in drawn_shapes()} <= set(read_runs())
    assert len(list(drawn_shapes())) == NUMBER == 12


def test_runs_survive_their_file(tmp_path: Path) -> None:
    run = Run("a, b", 1.5, 300.0, 0.5, 2.0, 310.0, 12)
    write_runs([run], tmp_path / "runs.csv")
    assert read_runs(tmp_path / "runs.csv") == {"a, b": run}
    assert read_runs(tmp_path / "none.csv") == {}


def test_points_of_a_session_survive_their_file(tmp_path: Path) -> None:
    point = Point(10, 3, 1.5, 20.0, 300.0, 2.5, 0.25)
    write_points([point], tmp_path / "session.csv")
    assert read_points(tmp_path / "session.csv") == [point]
    assert read_points(tmp_path / "none.csv") == []


def test_the_long_session_is_long() -> None:
    found = read_points()
    assert tuple(point.questions for point in found) == STEPS
    assert found[-1].corrections == 500


@pytest.mark.slow
def test_a_short_session_is_looked_at_as_it_goes_on() -> None:
    first, second = points((3, 12))
    assert (first.questions, second.questions) == (3, 12)
    assert 0 < first.corrections <= second.corrections <= 12
    assert 0.0 < first.file < second.file
    assert min(second.correction, second.memory, second.restore) > 0.0


def test_a_failing_process_is_told() -> None:
    with pytest.raises(RuntimeError, match="failed with 3"):
        child(["sh", "-c", "exit 3"])


@pytest.mark.slow
def test_a_small_run_is_measured_beside_its_floor_and_its_plan(tmp_path: Path) -> None:
    found = measured(generated("small", 500, [2, 3, 4]), tmp_path)
    assert found.values >= 2 + 3 + 4
    assert 0.0 < found.floor < found.seconds
    assert all(number > 0 for number in dataclasses.astuple(found)[1:])
