"""MWEM's defaults on the tasks of `peers/tasks.py`, beside what other software reached there.

All of it: ``python -m benchmarks peers_table``. Some of it, as a table of its own::

    python -m benchmarks.peers_table --tasks W2 W3 --epsilons 1 --seeds 0 1 2

Errors are total variation distances, mean (largest) over the marginals of the task, averaged over the seeds, between
the true and the synthetic records; ``model`` is the mean before records are drawn. Every run is a process of its own,
whose CPU seconds and peak memory are given, with compiled kernels at hand. The other software's figures were measured
once and are data (`peers/figures.py`); its seconds, at epsilon 1, are wall time on a busy machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.peers.figures import SCALE, Peer, best
from benchmarks.peers.tasks import TASKS, Task
from benchmarks.row import Row
from hedgerow.arrays import Floats

DELTA = 1e-9
EPSILONS = (0.1, 1.0, 10.0)
SEEDS = (0, 1, 2)
WIDTH = 150


@dataclass(frozen=True)
class Outcome:
    """One run, or the average of several.

    Attributes:
        mean: Mean distance of the records.
        largest: Largest distance of the records.
        model: Mean distance of the model.
        seconds: CPU seconds of the run and of drawing the records.
        megabytes: Peak memory of the process.
    """

    mean: float
    largest: float
    model: float
    seconds: float
    megabytes: float


def measured(name: str, epsilon: float, seed: int) -> Outcome:
    """One run in this process."""
    from hedgerow.algorithms.mwem import MWEM
    from hedgerow.privacy import ApproxDP, SeededNoise

    task = TASKS[name]()
    start = time.process_time()
    release = MWEM().run(task.table, task.workload, ApproxDP(epsilon, DELTA), noise=SeededNoise(seed))
    records = release.sample(seed=seed)
    seconds = time.process_time() - start
    peak = peak_megabytes()
    distances = task.of_codes(records.codes)
    model = task.distances(release.model)
    return Outcome(float(distances.mean()), float(distances.max()), float(model.mean()), seconds, peak)


def averaged(name: str, epsilon: float, seeds: Sequence[int]) -> Outcome:
    """Runs in processes of their own, one after the other, and their average."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        runs = [pool.submit(measured, name, epsilon, seed).result() for seed in seeds]
    fields = [(run.mean, run.largest, run.model, run.seconds, run.megabytes) for run in runs]
    return Outcome(*np.mean(fields, axis=0).tolist())


def peak_megabytes() -> float:
    """Peak memory of this process; the system's own figure would count the process that started it, too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


def rows() -> Iterator[Row]:
    """A row per task and epsilon: our mean distance, and that of the best mechanism of any kind."""
    for name in TASKS:
        for epsilon in EPSILONS:
            ours, peer = averaged(name, epsilon, SEEDS), best(name, epsilon)
            rival = "none finished" if peer is None else _peer(peer, epsilon)
            note = (
                f"largest {ours.largest:.4f}, {ours.seconds:.3g} s, {ours.megabytes:.0f} MB; "
                f"best of any kind: {rival}; best MWEM: {_peer(best(name, epsilon, mwem=True), epsilon)}"
            )
            theirs = float("nan") if peer is None else peer.errors[epsilon][0]
            yield Row(f"{name}, epsilon {epsilon:g}: mean distance", ours.mean, theirs, note, unit="")


def _peer(peer: Peer | None, epsilon: float) -> str:
    if peer is None:
        return "-"
    mean, largest = peer.errors[epsilon]
    return f"{peer.name} {mean:.4f} ({largest:.3f})"


def _pair(distances: Floats) -> str:
    return f"{distances.mean():.4f} ({distances.max():.4f})"


def scale(task: Task) -> str:
    """What the same evaluator says without privacy, beside what it said when the peers were measured."""
    known = SCALE[task.name]
    found = (task.resampled(0), task.independent(0), task.uniform(0))
    mean, largest = known["resampled"]
    return (
        f"{task.name}: {task.about} ({len(task.cliques)}). No privacy, one draw: resampled {_pair(found[0])}, "
        f"then {mean:.4f} ({largest:.4f}); independent {found[1].mean():.3f}, then {known['independent']:.3f}; "
        f"uniform {found[2].mean():.3f}, then {known['uniform']:.3f}."
    )


def _print(console: Console, name: str, epsilons: Sequence[float], seeds: Sequence[int]) -> None:
    console.print(scale(TASKS[name]()))
    table = Table("epsilon", "records", "model", "s", "MB", "best MWEM", "best of any kind", "s", "MB", title=name)
    for epsilon in epsilons:
        ours, peer = averaged(name, epsilon, seeds), best(name, epsilon)
        table.add_row(
            f"{epsilon:g}",
            f"{ours.mean:.4f} ({ours.largest:.4f})",
            f"{ours.model:.4f}",
            f"{ours.seconds:.1f}",
            f"{ours.megabytes:.0f}",
            *(_peer(best(name, epsilon, mwem=True), epsilon), _peer(peer, epsilon)),
            *(("-", "-") if peer is None else (f"{peer.seconds:g}", f"{peer.megabytes:g}")),
        )
        console.log(f"{name}, epsilon {epsilon:g} done")
    console.print(table)


def main() -> None:
    """Read the options and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers_table", description="MWEM beside the peers.")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--epsilons", nargs="+", type=float, choices=EPSILONS, default=EPSILONS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    asked = parser.parse_args()
    console = Console(width=WIDTH)
    for name in asked.tasks:
        _print(console, name, asked.epsilons, asked.seeds)


if __name__ == "__main__":
    main()
