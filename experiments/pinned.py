"""The pinned table of an experiment: what it found when its figures were published, and how far a run is from that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.experiment import SECONDS, Cell, Experiment, Size
from experiments.registry import home_of
from experiments.results import Average, Results, read_results, typed
from hedgerow.system import replacing


@dataclass(frozen=True)
class Difference:
    """An average that lies outside its tolerance.

    Attributes:
        where: The cell.
        quantity: Name of the quantity.
        pinned: The average in the pinned table.
        found: The average now.
    """

    where: Cell
    quantity: str
    pinned: float
    found: float


def table_of(experiment: Experiment, size: Size = Size.FULL) -> Path:
    """The file of the pinned table; a small grid has one of its own for what the full one leaves out."""
    mark = "" if size is Size.FULL else f".{size.value}"
    return home_of(experiment.name) / f"{experiment.name}{mark}.csv"


def pinned_results(experiment: Experiment, size: Size = Size.FULL) -> Results:
    """The pinned table; empty for an experiment, or a size of it, that was never pinned.

    Raises:
        ConfigError: The file holds something else.
    """
    path = table_of(experiment, size)
    return read_results(path) if path.exists() else Results(())


def write_table(found: Results, path: Path) -> None:
    """Write averages as CSV, without the time of every cell.

    Raises:
        OSError: The file cannot be written.
    """
    with replacing(path) as beside:
        beside.write_text(Results(each for each in found.averages if each.quantity != SECONDS).text(), encoding="utf-8")


def compared(experiment: Experiment, found: Results, size: Size = Size.FULL) -> tuple[int, list[Difference]]:
    """Number of averages that could be compared with pinned ones, and those that lie outside their tolerance.

    Averages over another number of repetitions, and quantities without a tolerance, are not compared.

    Args:
        experiment: Its tolerances count.
        found: Averages of a run.
        size: Size of its grid.
    """
    tables = dict.fromkeys((Size.FULL, size))
    pinned = {_key(each): each for table in tables for each in pinned_results(experiment, table).averages}
    pairs = [(pinned[_key(each)], each) for each in found.averages if _key(each) in pinned]
    pairs = [(old, new) for old, new in pairs if old.runs == new.runs and old.quantity in experiment.tolerances]
    outside = [
        Difference(new.where, new.quantity, old.mean, new.mean)
        for old, new in pairs
        if not experiment.tolerances[new.quantity].allows(new.mean, pinned=old.mean)
    ]
    return len(pairs), outside


def missing(experiment: Experiment) -> list[Cell]:
    """Cells of the full grid that the pinned table says nothing about."""
    pinned = pinned_results(experiment).averages
    names = [name for name in experiment.grid if name in (pinned[0].where if pinned else ())]
    known = {tuple(each.where.get(name) for name in names) for each in pinned}
    return [
        cell for cell in experiment.cells(Size.FULL) if tuple(typed(str(cell[name])) for name in names) not in known
    ]


def _key(each: Average) -> tuple[str, ...]:
    """Cells and their numbers as the table writes them."""
    return (each.quantity, *(f"{name}={value}" for name, value in sorted(each.where.items()) if value != ""))
