"""A survey of 24 columns (ACS, Massachusetts): MWEM's defaults and MST by mbi in one run, one after the other.

Each mechanism has (epsilon, 1e-9) and the same seeds, and gives as many records as it believes there are. They are
judged alike: total variation distances of all pairs of columns, score and broken rules as in `acs.py`. MST is told no
rules, MWEM once with them and once without. Every run is a process of its own, whose CPU seconds and peak memory are
given; MST compiles in its own. mbi lives in an environment of its own (`peers/setup.py`).
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.acs import FOLDER, inconsistent, score
from benchmarks.peers import setup
from benchmarks.peers.tasks import TASKS
from benchmarks.peers_table import DELTA, peak_megabytes
from benchmarks.row import Row
from hedgerow import MWEM, ApproxDP, Records, Workload, read_domain, read_table
from hedgerow.privacy import SeededNoise, rho_of

SCRIPT = Path(__file__).parent / "peers" / "mbi_mechanisms.py"
EPSILONS = (1.0, 10.0)
SEEDS = (0, 1)


@dataclass(frozen=True)
class Outcome:
    """One run, or the average of several.

    Attributes:
        mean: Mean distance over all pairs.
        largest: Largest distance.
        score: k-marginal score, 0 to 1000.
        broken: Share of the records that break a rule.
        seconds: CPU seconds.
        megabytes: Peak memory of the process.
    """

    mean: float
    largest: float
    score: float
    broken: float
    seconds: float
    megabytes: float


def judged(records: Records, seconds: float, megabytes: float) -> Outcome:
    """What records of the survey are worth, as the texts that a user would read.

    Args:
        records: Synthetic records.
        seconds: See `Outcome`.
        megabytes: See `Outcome`.
    """
    task, real = TASKS["ACS"](), pd.read_csv(FOLDER / "ma2019.csv", dtype=str)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records.csv")
        records.write(path)
        texts = pd.read_csv(path, dtype=str).fillna("N")[list(real.columns)]
        texts.to_csv(path, index=False)
        distances = task.distances(read_table(path, task.table.domain))
    found = float(distances.mean()), float(distances.max())
    return Outcome(*found, score(real, texts), inconsistent(texts)["any"], seconds, megabytes)


def with_rules(epsilon: float, seed: int) -> Outcome:
    """MWEM's defaults, told levels and rules of the survey."""
    domain = read_domain(FOLDER / "acs.domain.yaml")
    table = read_table(FOLDER / "ma2019.csv", domain)
    start = time.process_time()
    release = MWEM().run(table, Workload.marginals(domain, 2), ApproxDP(epsilon, DELTA), noise=SeededNoise(seed))
    records = release.sample(seed=seed)
    return judged(records, time.process_time() - start, peak_megabytes())


def without(epsilon: float, seed: int) -> Outcome:
    """MWEM's defaults, told the columns alone."""
    task = TASKS["ACS"]()
    start = time.process_time()
    release = MWEM().run(task.table, task.workload, ApproxDP(epsilon, DELTA), noise=SeededNoise(seed))
    records = release.sample(seed=seed)
    return judged(records, time.process_time() - start, peak_megabytes())


def by_mst(epsilon: float, seed: int) -> Outcome:
    """MST by mbi, in its own environment."""
    table = TASKS["ACS"]().table
    names, shape = table.domain.names, table.domain.shape
    asked = {"domain": dict(zip(names, shape, strict=True)), "rho": rho_of(epsilon, DELTA), "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "outcome.npz")
        np.savez(source, problem=json.dumps(asked), codes=np.stack(table.columns, axis=1))
        subprocess.run([setup.PYTHON, "-W", "ignore", SCRIPT, "mst", source, target], check=True)
        found = dict(np.load(target))
    outcome = json.loads(str(found["outcome"]))
    records = Records(found["codes"], table.domain, seed=seed)
    return judged(records, outcome["seconds"], outcome["megabytes"])


def averaged(mechanism: Callable[[float, int], Outcome], epsilon: float) -> Outcome:
    """Runs in processes of their own, one after the other, and their average."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        runs = [pool.submit(mechanism, epsilon, seed).result() for seed in SEEDS]
    return Outcome(*np.mean([astuple(run) for run in runs], axis=0).tolist())


def rows() -> Iterator[Row]:
    """MWEM with rules and without, each against MST: errors, score, broken rules, CPU time and memory."""
    there = setup.installed()
    for epsilon in EPSILONS:
        peer = averaged(by_mst, epsilon) if there else Outcome(*6 * [float("nan")])
        for name, mechanism in (("rules", with_rules), ("no rules", without)):
            yield from _compared(f"epsilon {epsilon:g}, {name}", averaged(mechanism, epsilon), peer, there=there)


def _compared(name: str, ours: Outcome, peer: Outcome, *, there: bool) -> Iterator[Row]:
    note = f"largest {ours.largest:.3f}, MST {peer.largest:.3f}" if there else f"mbi is not installed: {setup.HOW}"
    yield Row(f"{name}: mean distance", ours.mean, peer.mean, note, unit="")
    yield Row(f"{name}: score", ours.score, peer.score, unit="")
    yield Row(f"{name}: inconsistent", ours.broken, peer.broken, unit="")
    yield Row(f"{name}: CPU", ours.seconds, peer.seconds, "MST compiles")
    yield Row(f"{name}: memory", ours.megabytes, peer.megabytes, unit="MB")
