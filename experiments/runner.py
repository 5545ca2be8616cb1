"""Runs the cells of an experiment, several at a time, and keeps their values so that an interruption loses few."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from experiments.datasets import DataSets
from experiments.experiment import SECONDS, Cell, Experiment, Measured, Size
from experiments.registry import find
from experiments.results import Results, typed
from hedgerow.comparison import Journal, read_rows
from hedgerow.errors import ConfigError
from hedgerow.version import __version__

Outcome = tuple[Cell, list[Measured], float]
_Key = tuple[str, ...]


class CellJournal:
    """The values of all cells that are over, in a CSV file that grows cell by cell.

    One row is one value: the cell, where in it, the quantity and the number. The time of a cell stands last, so that a
    cell is complete if that is there.

    Args:
        experiment: Its columns are those of the file.
        path: The CSV file; its folder must exist.
        resume: Whether cells that the file holds already are kept, if the same version of hedgerow measured them.

    Raises:
        ConfigError: The file holds something else.
        OSError: It cannot be written.
    """

    def __init__(self, experiment: Experiment, path: Path, *, resume: bool = True) -> None:
        """Read what is there; a half-written cell of an interrupted run goes."""
        self._experiment = experiment
        columns = ["version", *experiment.grid, *experiment.within, "quantity", "value"]
        known = self._read(path, columns) if resume and path.exists() else {}
        self._journal = Journal(path, columns, self._rows, known)

    def has(self, cell: Cell) -> bool:
        """Whether a cell is over."""
        return self._key(cell) in self._journal.known

    def of(self, cell: Cell) -> list[Measured]:
        """The values that were measured in a cell."""
        return self._journal.known[self._key(cell)]

    def add(self, cell: Cell, values: Iterable[Measured], seconds: float) -> None:
        """Remember a cell; when this returns it is on the disk."""
        self._journal.add(self._key(cell), [*values, Measured(SECONDS, seconds)])

    def _key(self, cell: Cell) -> _Key:
        return tuple(str(cell[name]) for name in self._experiment.grid)

    def _rows(self, key: _Key, values: Iterable[Measured]) -> Iterator[dict[str, object]]:
        shared = {"version": __version__, **dict(zip(self._experiment.grid, key, strict=True))}
        for each in values:
            yield {**shared, **each.within, "quantity": each.quantity, "value": repr(float(each.value))}

    def _read(self, path: Path, columns: Sequence[str]) -> dict[_Key, list[Measured]]:
        try:
            return self._cells(row for row in read_rows(path, columns) if row["version"] == __version__)
        except (TypeError, ValueError) as error:  # a row is too short, a value is no number, or the file is no text
            raise ConfigError(
                f"{path} holds no runs of {self._experiment.name}",
                remedy="name another folder, or give --fresh to measure everything again",
            ) from error

    def _cells(self, rows: Iterable[Mapping[str, str]]) -> dict[_Key, list[Measured]]:
        found: dict[_Key, list[Measured]] = {}
        for row in rows:
            key = tuple(row[name] for name in self._experiment.grid)
            if key in found and found[key][-1].quantity == SECONDS:  # two runs at once wrote this file: the last counts
                del found[key]
            within = {name: typed(row[name]) for name in self._experiment.within if row[name]}
            found.setdefault(key, []).append(Measured(row["quantity"], float(row["value"]), within))
        return {key: values for key, values in found.items() if values[-1].quantity == SECONDS}


def run(
    experiment: Experiment,
    data: DataSets,
    size: Size,
    path: Path,
    *,
    resume: bool = True,
    processes: int = 1,
    progress: Callable[[int, int, str], None] = lambda *_: None,
) -> Results:
    """Measure all cells of a grid that are not known yet.

    Args:
        experiment: The experiment to run.
        data: The public data sets.
        size: Size of the grid.
        path: The CSV file of all values; see `CellJournal`.
        resume: Whether cells that the file holds already are kept.
        processes: Number of cells that are measured at the same time; one where times are measured.
        progress: Called with the number of cells that are over, that of all, and the cell that is over or runs now.

    Returns:
        Averages over the repetitions of the whole grid.

    Raises:
        ConfigError: The file holds something else.
        OSError: The file cannot be written.
    """
    cells = experiment.cells(size)
    journal = CellJournal(experiment, path, resume=resume)
    missing = [cell for cell in cells if not journal.has(cell)]
    done = len(cells) - len(missing)
    if missing:
        progress(done, len(cells), words_of(missing[0]))
    at_once = 1 if experiment.alone else min(processes, len(missing))
    for cell, values, seconds in _outcomes(experiment, data, missing, at_once):
        journal.add(cell, values, seconds)
        done += 1
        progress(done, len(cells), words_of(cell))
    return Results.of((cell, each) for cell in cells for each in journal.of(cell))


def words_of(cell: Cell) -> str:
    """A cell in a few words.

    Example:
        >>> words_of({"data": "czech", "epsilon": 0.1, "repetition": 2})
        'czech, epsilon 0.1, repetition 2'
    """
    parts = (str(value) if isinstance(value, str) else f"{name} {value}" for name, value in cell.items())
    return ", ".join(part for part in parts if part)


def _outcomes(experiment: Experiment, data: DataSets, cells: Sequence[Cell], processes: int) -> Iterator[Outcome]:
    if processes <= 1:
        for cell in cells:
            yield _measured(experiment, cell, data)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_be_quiet) as pool:
        waiting = [pool.submit(_measured_in_process, experiment.name, cell, data.folder) for cell in cells]
        try:
            for future in as_completed(waiting):
                yield future.result()
        except BaseException:  # an error, or an interrupt: nothing goes on in the background
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _be_quiet() -> None:
    """Ctrl-C reaches all processes of a terminal; only the first one has something to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _measured_in_process(name: str, cell: Cell, folder: Path) -> Outcome:
    return _measured(find(name), cell, DataSets(folder))


def _measured(experiment: Experiment, cell: Cell, data: DataSets) -> Outcome:
    started = time.perf_counter()
    values = list(experiment.measure(cell, data))
    return cell, values, time.perf_counter() - started
