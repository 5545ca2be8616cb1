"""Runs within allowances of CPU time and memory, each result kept in a journal as soon as it is known.

Runs are made in processes that last as long as they behave: what takes more CPU time than it may is stopped and noted
as out of time, and a process that asks for more memory than it may, or dies, as out of memory. A cell's table is made
once for all runs on it.

All strategies are run with some seeds. Then the automatic settings and what came close to the best are run with more,
as long as a cell takes little time: where runs are short one draw of the noise decides much of the error. How often a
strategy is run depends on first errors alone, so that the mean of its later ones is not biased.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean
from types import FrameType
from typing import Any, Literal, cast

from benchmarks.regret.grid import Cell
from benchmarks.regret.strategies import AUTO, strategies
from hedgerow.comparison import Journal, read_rows
from hedgerow.errors import HedgerowError

State = Literal["done", "refused", "out of time", "out of memory"]
Key = tuple[str, str, int]
"""Cell, strategy and seed."""

COLUMNS = ("label", "cell", "strategy", "seed", "state", "error", "seconds", "reason")
LABEL = "not private"
_PATIENCE = 5.0
"""Time by the clock that a run may take, as a multiple of its CPU time: the machine may be busy."""


_CLOSE = 2.0
"""Strategies with up to this multiple of the least error are run with more seeds."""


class OutOfTimeError(BaseException):
    """A run took more CPU time than it may; no error that code on the way would handle."""


@dataclass(frozen=True)
class Run:
    """The result of one run.

    Attributes:
        state: Whether it was done, and why not.
        error: Error on the cell; NaN unless it was done.
        seconds: CPU seconds, those of first compilations included.
        reason: Reason of a refusal.
    """

    state: State
    error: float = float("nan")
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class Allowance:
    """The most that a run may use.

    Attributes:
        seconds: CPU seconds.
        megabytes: Memory of the process that it runs in.
        repeating: CPU seconds of a cell after which no further seed is begun.
        most_seeds: Most seeds of a strategy.
    """

    seconds: float
    megabytes: int
    repeating: float = 0.0
    most_seeds: int = 24


def journal_of(path: Path, forget: Callable[[Key, Run], bool] = lambda key, run: False) -> Journal[Key, Run]:
    """Runs so far, in a file that every further run is added to.

    Args:
        path: A CSV file; it is made where it does not exist.
        forget: Whether a run in the file is to be made again.
    """
    rows = read_rows(path, COLUMNS) if path.exists() else []
    known = {
        (row["cell"], row["strategy"], int(row["seed"])): Run(
            cast("State", row["state"]), float(row["error"] or "nan"), float(row["seconds"]), row["reason"]
        )
        for row in rows
    }
    known = {key: run for key, run in known.items() if not forget(key, run)}
    return Journal(path, COLUMNS, _rows_of, known)


def _rows_of(key: Key, run: Run) -> list[dict[str, object]]:
    cell, strategy, seed = key
    error = repr(run.error) if run.state == "done" else ""
    values = (LABEL, cell, strategy, seed, run.state, error, f"{run.seconds:.2f}", " ".join(run.reason.split()))
    return [dict(zip(COLUMNS, values, strict=True))]


def run_all(
    cells: Iterable[Cell],
    seeds: int,
    journal: Journal[Key, Run],
    allowance: Allowance,
    *,
    quick: bool = False,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Make all runs that the journal does not hold: the whole grid with the first seed, with the next, then repeats.

    Args:
        cells: Cells of the grid.
        seeds: Number of seeds that all strategies are run with.
        journal: Runs so far.
        allowance: The most that a run may use; what used it up with one seed is not tried with the next.
        quick: Whether to leave out strategies that are slow and seldom best.
        jobs: Number of processes.
        tell: Called with the key of every finished cell.
    """
    lock, listed = threading.Lock(), list(cells)
    workers = threading.local()
    made: list[Worker] = []

    def run(cell: Cell, names: Iterable[str], seed: int) -> float:
        spent = 0.0
        for name in names:
            key = (cell.key, name, seed)
            with lock:
                known = journal.known
                stopped = any(known[k].state != "done" for e in range(seed) if (k := (cell.key, name, e)) in known)
                if key in known or stopped:
                    spent += known[key].seconds if key in known else 0.0
                    continue
            if not hasattr(workers, "own"):
                workers.own = Worker(allowance)
                made.append(workers.own)
            result = workers.own.run(cell, name, seed)
            spent += result.seconds
            with lock:
                journal.add(key, result)
        return spent

    def common(cell: Cell, seed: int) -> None:
        run(cell, strategies(cell, quick=quick), seed)
        tell(f"{cell.key}, seed {seed}")

    def repeated(cell: Cell) -> None:
        with lock:
            names = _close(cell, seeds, journal.known)
        seed, spent = seeds, 0.0
        while names and spent < allowance.repeating and seed < allowance.most_seeds:
            spent += run(cell, names, seed)
            seed += 1
        tell(f"{cell.key}, {seed} seeds")

    try:
        with ThreadPoolExecutor(jobs) as pool:
            for done in [pool.submit(common, cell, seed) for seed in range(seeds) for cell in listed]:
                done.result()
            for done in [pool.submit(repeated, cell) for cell in listed]:
                done.result()
    finally:
        for worker in made:
            worker.stop()


def _close(cell: Cell, seeds: int, known: Mapping[Key, Run]) -> list[str]:
    """The automatic settings, and what came close to the least error with the first seeds."""
    errors: dict[str, float] = {}
    for name in strategies(cell):
        runs = [known[key] for seed in range(seeds) if (key := (cell.key, name, seed)) in known]
        if runs and all(run.state == "done" for run in runs):
            errors[name] = fmean(run.error for run in runs)
    least = min(errors.values(), default=0.0)
    return [name for name, error in errors.items() if name == AUTO or error <= _CLOSE * least]


class Worker:
    """A process that makes one run after the other, and is replaced when one of them goes too far.

    Args:
        allowance: The most that a run may use.
    """

    def __init__(self, allowance: Allowance) -> None:
        """Start the process with the first run."""
        self._allowance = allowance
        self._process: Any = None
        self._ends: Connection[Any, Any] | None = None

    def run(self, cell: Cell, strategy: str, seed: int) -> Run:
        """Make a run, or find out that it cannot be made."""
        ends = self._ends or self._start()
        try:
            ends.send((cell, strategy, seed))
            if ends.poll(60.0 + _PATIENCE * self._allowance.seconds):
                found = ends.recv()
                return found if isinstance(found, Run) else Run("refused", reason=repr(found))
            found = Run("out of time", seconds=self._allowance.seconds)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            found = Run("out of memory", reason="the process died")
        self.stop()
        return found

    def stop(self) -> None:
        """End the process; the next run starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._ends = None

    def _start(self) -> Connection[Any, Any]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._allowance), daemon=True)
        self._process.start()
        theirs.close()
        self._ends = ours
        return ours


def _work(ends: Connection[Any, Any], allowance: Allowance) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    most = allowance.megabytes << 20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    while True:
        try:
            cell, strategy, seed = ends.recv()
        except EOFError:
            return
        ends.send(_measured(cell, strategy, seed, allowance.seconds))


def _measured(cell: Cell, strategy: str, seed: int, seconds: float) -> Run:
    started = time.process_time()
    found = _made(cell, strategy, seed, seconds)
    return Run(found.state, found.error, time.process_time() - started, found.reason)


def _made(cell: Cell, strategy: str, seed: int, seconds: float) -> Run:
    before = signal.signal(signal.SIGPROF, _out_of_time)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)  # and again, if a callback swallows the first
        try:
            return Run("done", strategies(cell)[strategy](cell, seed))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, before)
    except OutOfTimeError:
        return Run("out of time")
    except MemoryError:
        return Run("out of memory")
    except HedgerowError as error:
        return Run("refused", reason=error.message)


def _out_of_time(number: int, frame: FrameType | None) -> None:
    raise OutOfTimeError
