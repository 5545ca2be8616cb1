"""What holds for every experiment: a tiny grid runs, says something, is drawn, and agrees with itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from experiments.datasets import DataSets, find_data
from experiments.experiment import REPETITION, SECONDS, Experiment, Size
from experiments.page import file_name, notes_of, page_file, page_text, svgs_of
from experiments.pinned import compared, missing, pinned_results, table_of
from experiments.registry import find, names
from experiments.results import Results
from experiments.runner import CellJournal, run

EVERY = names()


@pytest.fixture(scope="module")
def data() -> DataSets:
    return find_data()


@pytest.fixture(scope="module", params=EVERY)
def tiny(
    request: pytest.FixtureRequest, data: DataSets, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Experiment, Results, Path]:
    """An experiment, its averages on the tiny grid, and the file of its values."""
    experiment = find(request.param)
    path = tmp_path_factory.mktemp("tiny") / "values.csv"
    return experiment, run(experiment, data, Size.TINY, path), path


@pytest.mark.slow
def test_every_cell_says_something(tiny: tuple[Experiment, Results, Path]) -> None:
    experiment, found, path = tiny
    journal = CellJournal(experiment, path)
    for cell in experiment.cells(Size.TINY):
        quantities = [each.quantity for each in journal.of(cell)]
        assert quantities[-1] == SECONDS
        assert len(quantities) > 1, cell
    assert set(experiment.tolerances) <= {each.quantity for each in found.averages}
    assert set(experiment.tolerances)


@pytest.mark.slow
def test_a_cell_gives_the_same_values_again(tiny: tuple[Experiment, Results, Path], data: DataSets) -> None:
    experiment, _, path = tiny
    cell = experiment.cells(Size.TINY)[-1]
    before = [each for each in CellJournal(experiment, path).of(cell) if each.quantity in experiment.tolerances]
    again = [each for each in experiment.measure(cell, data) if each.quantity in experiment.tolerances]
    assert again == before


@pytest.mark.slow
def test_what_was_measured_is_not_measured_again(
    tiny: tuple[Experiment, Results, Path], data: DataSets, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, found, path = tiny

    def fail(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(type(experiment), "measure", fail)
    assert run(experiment, data, Size.TINY, path).text() == found.text()


@pytest.mark.slow
def test_claims_are_told_for_part_of_the_grid_too(tiny: tuple[Experiment, Results, Path]) -> None:
    experiment, found, _ = tiny
    claims = experiment.claims(found)
    assert claims
    assert all(claim.text and claim.figures and isinstance(claim.holds, bool) for claim in claims)


@pytest.mark.slow
def test_every_drawing_says_what_is_along_its_axes(tiny: tuple[Experiment, Results, Path]) -> None:
    experiment, found, _ = tiny
    drawings, texts = experiment.drawings(found), svgs_of(experiment, found)
    assert drawings
    for ending, drawing in drawings.items():
        root = ElementTree.fromstring(texts[file_name(experiment, ending)])
        words = {"".join(each.itertext()).strip() for each in root.iter() if each.tag.endswith("text")}
        assert drawing.caption.endswith(".")
        assert drawing.stamp in words
        for panel in drawing.panels:
            assert panel.curves
            assert {panel.title, panel.unit, panel.along or drawing.along} <= words


@pytest.mark.parametrize("name", EVERY)
def test_cells_differ_and_repetitions_come_last(name: str) -> None:
    experiment = find(name)
    assert experiment.name == name
    assert experiment.grid[-1] == REPETITION
    for size in Size:
        cells = experiment.cells(size)
        assert all(tuple(cell) == experiment.grid for cell in cells)
        assert len({tuple(cell.values()) for cell in cells}) == len(cells) > 0
        repetitions = [cell[REPETITION] for cell in cells]
        assert repetitions == sorted(repetitions)


@pytest.mark.parametrize("name", EVERY)
def test_notes_say_what_is_reported_how_it_is_run_and_what_differs(name: str) -> None:
    notes = notes_of(find(name))
    marks = (
        r"\*\*The (paper reports|source says)\.\*\*",
        r"\*\*How it is run\.\*\*",
        r"\*\*Where they differ, and why\.\*\*",
    )
    assert re.search(".*".join(marks), notes, flags=re.DOTALL)


@pytest.mark.parametrize("name", EVERY)
def test_the_pinned_table_is_whole_and_agrees_with_itself(name: str) -> None:
    experiment = find(name)
    found = pinned_results(experiment)
    assert missing(experiment) == []
    assert set(experiment.tolerances) <= {each.quantity for each in found.averages}
    number, outside = compared(experiment, found)
    assert number > 0
    assert outside == []


@pytest.mark.parametrize("name", EVERY)
def test_the_drawings_of_the_pinned_table_stand_beside_it(name: str) -> None:
    experiment = find(name)
    for ending in experiment.drawings(pinned_results(experiment)):
        assert "NOT PRIVATE" in (table_of(experiment).parent / f"{file_name(experiment, ending)}.svg").read_text() or (
            name == "dual-query-accounting"
        )


def test_the_page_is_made_of_the_pinned_tables() -> None:
    assert page_file().read_text(encoding="utf-8") == page_text(), "python -m experiments all --pin writes it"
