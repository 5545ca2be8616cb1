"""Runs the cells of an experiment, several at a time, and keeps what they found."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import final

from experiments.datasets import DataSets
from experiments.experiment import Cell, Experiment, Measured, Size
from experiments.journal import Journal
from experiments.registry import find
from experiments.results import Results


@final
@dataclass(frozen=True)
class Step:
    """How far an experiment is.

    Attributes:
        done: Cells that are over, those of an earlier run included.
        cells: All cells.
        text: The cell that is over or runs now, in a few words.
    """

    done: int
    cells: int
    text: str


Progress = Callable[[Step], None]

Outcome = tuple[Cell, list[Measured], float]


def run(
    experiment: Experiment,
    data: DataSets,
    size: Size,
    path: Path,
    *,
    resume: bool = True,
    processes: int = 1,
    progress: Progress = lambda _: None,
) -> Results:
    """Measure all cells of a grid that are not known yet.

    Args:
        experiment: What to run.
        data: The public data sets.
        size: Which grid.
        path: The CSV file of all values; see `Journal`.
        resume: Whether cells that the file holds already are kept.
        processes: How many cells are measured at the same time; one where times are measured.
        progress: Called with what runs or is over.

    Returns:
        Averages over the repetitions of the whole grid.

    Raises:
        ConfigError: The file holds something else.
        OSError: The file cannot be written.
    """
    cells = experiment.cells(size)
    journal = Journal(experiment, path, resume=resume)
    missing = [cell for cell in cells if not journal.has(cell)]
    done = len(cells) - len(missing)
    if missing:
        progress(Step(done, len(cells), words_of(missing[0])))
    at_once = 1 if experiment.alone else min(processes, len(missing))
    for cell, values, seconds in _outcomes(experiment, data, missing, at_once):
        journal.add(cell, values, seconds)
        done += 1
        progress(Step(done, len(cells), words_of(cell)))
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
