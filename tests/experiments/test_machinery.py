"""The journal, the averages and the tolerances of the experiments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from experiments.datasets import DataSets, find_data
from experiments.experiment import Cell, Claim, Drawing, Experiment, Measured, Size, Tolerance, seed_of
from experiments.registry import find
from experiments.results import Average, Results, read_results
from experiments.runner import CellJournal, run

from experiments import pinned, runner
from hedgerow.errors import ConfigError

NAME = "dual-query-accounting"


class Squares(Experiment):
    """An experiment about nothing."""

    name: ClassVar[str] = "squares"
    title: ClassVar[str] = "Squares"
    source: ClassVar[str] = "none"
    grid: ClassVar[tuple[str, ...]] = ("kind", "size", "repetition")
    within: ClassVar[tuple[str, ...]] = ("round",)
    tolerances: ClassVar[Mapping[str, Tolerance]] = {"square": Tolerance(0.1)}

    def cells(self, size: Size) -> Sequence[Cell]:
        return [{"kind": "a", "size": n, "repetition": r} for r in (1, 2, 3) for n in (1, 2)]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        square = float(cell["size"]) ** 2 * float(cell["repetition"])
        return [Measured("square", square, {"round": n}) for n in (1, 2)] + [Measured("whole", 2 * square)]

    def claims(self, found: Results) -> list[Claim]:
        return []

    def drawings(self, found: Results) -> dict[str, Drawing]:
        return {}


@pytest.fixture
def data() -> DataSets:
    return find_data()


def test_averages_have_intervals_and_survive_the_file(data: DataSets, tmp_path: Path) -> None:
    found = run(Squares(), data, Size.FULL, tmp_path / "values.csv")
    average = found.one("square", size=2, round=1)
    assert (average.runs, average.mean) == (3, 8.0)
    assert 0.0 < average.low < 8.0 < average.high
    assert [point.mean for point in found.curve("size", "whole")] == [4.0, 16.0]
    pinned.write_table(found, tmp_path / "table.csv")
    again = read_results(tmp_path / "table.csv")
    assert again.mean("square", size=2, round=1) == 8.0
    assert again.one("whole", size=2).where == {"kind": "a", "size": 2}
    assert not again.has("seconds")
    with pytest.raises(KeyError, match="2 averages of square"):
        found.mean("square", size=2)


def test_two_runs_have_no_interval() -> None:
    found = Results.of([({"repetition": r}, Measured("error", float(r))) for r in (1, 2)])
    assert found.averages == (Average({}, "error", 2, 1.5, 1.5, 1.5),)


def test_a_half_written_cell_is_measured_again(data: DataSets, tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    whole = run(Squares(), data, Size.FULL, path)
    text = path.read_text()
    path.write_text(text[: text.rindex("seconds") + 3])
    steps: list[tuple[int, int, str]] = []
    again = run(Squares(), data, Size.FULL, path, progress=lambda *step: steps.append(step))
    assert steps == [(done, 6, "a, size 2, repetition 3") for done in (5, 6)]
    assert again.mean("whole", size=2) == whole.mean("whole", size=2)
    assert path.read_text().count("\n") == text.count("\n")


def test_values_of_another_version_are_not_taken(
    data: DataSets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "values.csv"
    run(Squares(), data, Size.FULL, path)
    monkeypatch.setattr(runner, "__version__", "another")
    assert not CellJournal(Squares(), path).has({"kind": "a", "size": 1, "repetition": 1})


def test_a_file_of_something_else_is_refused(data: DataSets, tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ConfigError, match="holds no runs of squares"):
        run(Squares(), data, Size.FULL, path)
    assert path.read_text() == "a,b\n1,2\n"
    with pytest.raises(ConfigError, match="holds no results"):
        read_results(path)


@pytest.mark.parametrize("value", [",abc", ""])
def test_a_spoiled_file_is_refused(data: DataSets, tmp_path: Path, value: str) -> None:
    path = tmp_path / "values.csv"
    run(Squares(), data, Size.FULL, path)
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([first, rest[0].rpartition(",")[0] + value, *rest[1:], ""]))
    with pytest.raises(ConfigError, match="holds no runs of squares"):
        CellJournal(Squares(), path)


def test_a_cell_that_two_runs_wrote_counts_once(data: DataSets, tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    run(Squares(), data, Size.FULL, path)
    head, _, rows = path.read_text().partition("\n")
    path.write_text(f"{head}\n{rows}{rows}")
    assert run(Squares(), data, Size.FULL, path).one("whole", size=2).runs == 3


@pytest.mark.slow
def test_several_processes_find_the_same(data: DataSets, tmp_path: Path) -> None:
    alone = run(find(NAME), data, Size.TINY, tmp_path / "one.csv")
    together = run(find(NAME), data, Size.TINY, tmp_path / "two.csv", processes=2)
    assert [each.where for each in together.averages] == [each.where for each in alone.averages]
    values = [[each.mean for each in found.averages if each.quantity != "seconds"] for found in (alone, together)]
    assert values[0] == values[1]


def test_a_difference_beyond_the_tolerance_is_found(
    data: DataSets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(Squares(), data, Size.FULL, tmp_path / "values.csv")
    table, small = tmp_path / "squares.csv", tmp_path / "squares.quick.csv"
    pinned.write_table(found, table)
    monkeypatch.setattr(pinned, "table_of", lambda _, size=Size.FULL: table if size is Size.FULL else small)
    assert pinned.compared(Squares(), found) == (4, [])
    assert pinned.missing(Squares()) == []
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], lines[1].replace(",2,", ",2.3,"), *lines[2:4]]))
    number, outside = pinned.compared(Squares(), found)
    assert number == 2
    assert [(each.where["round"], each.pinned, each.found) for each in outside] == [(1, 2.3, 2.0)]
    assert len(pinned.missing(Squares())) == 3
    pinned.write_table(found, small)  # what the full table leaves out
    assert pinned.compared(Squares(), found, Size.QUICK) == (4, [])


def test_seeds_depend_on_every_part_of_a_cell() -> None:
    cells = [{"a": a, "b": b} for a in (1, 2) for b in ("x", "y")]
    assert len({seed_of(name, cell) for name in ("one", "two") for cell in cells}) == 8
    assert seed_of("one", {"b": "x", "a": 1}) == seed_of("one", cells[0])


@pytest.mark.parametrize("mean", [2_001_324.5, 1.0000049, 17.0 / 3.0])
def test_rounding_in_the_pinned_table_is_no_difference(tmp_path: Path, mean: float) -> None:
    pinned.write_table(Results([Average({}, "square", 3, mean, mean, mean)]), tmp_path / "table.csv")
    written = read_results(tmp_path / "table.csv").mean("square")
    assert written != mean
    assert Tolerance().allows(mean, pinned=written)
    assert not Tolerance().allows(mean * 1.00002, pinned=written)
