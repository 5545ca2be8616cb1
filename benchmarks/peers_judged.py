"""Records of MWEM's defaults, and of MST and AIM by mbi, judged by ``hedgerow evaluate``: Adult and a survey (ACS).

Everybody has epsilon 1 and delta 1e-9, the same columns and domain, no rules, and the same seeds, and gives as many
records as it believes there are. Every run is a process of its own, whose CPU seconds and peak memory are given; mbi
compiles in its own. mbi lives in an environment of its own (`peers/setup.py`); ``make bench-peers`` makes it and runs
this.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.peers import setup
from benchmarks.peers.tasks import TASKS
from benchmarks.peers_table import DELTA, peak_megabytes
from benchmarks.row import Row
from hedgerow import MWEM, ApproxDP, Records, Table, Workload, evaluate
from hedgerow.domain import Domain
from hedgerow.privacy import SeededNoise, rho_of

SCRIPT = Path(__file__).parent / "peers" / "mbi_mechanisms.py"
EPSILON, SEED = 1.0, 0
TABLES = {"Adult, 8 columns": ("W2", 8), "ACS, 12 columns": ("ACS", 12)}
"""Task, and its number of columns from the first."""
ORDERS = ("2-way", "3-way")
MEANS = ("AUC", "pMSE ratio")
Judged = dict[str, float]


def _table(name: str) -> Table:
    task, columns = TABLES[name]
    table = TASKS[task]().table
    names = table.domain.names[:columns]
    return Table(Domain(table.domain[each] for each in names), table.columns[:columns])


def ours(name: str) -> Judged:
    """MWEM's defaults for all pairs."""
    table = _table(name)
    start = time.process_time()
    workload, budget = Workload.marginals(table.domain, 2), ApproxDP(EPSILON, DELTA)
    records = MWEM().run(table, workload, budget, noise=SeededNoise(SEED)).sample(seed=SEED)
    return _judged(table, records, time.process_time() - start, peak_megabytes())


def theirs(mechanism: str, name: str) -> Judged:
    """A mechanism on mbi, in its own environment."""
    table = _table(name)
    records, outcome = records_of(mechanism, table, EPSILON, SEED)
    return _judged(table, records, outcome["seconds"], outcome["megabytes"])


def records_of(
    mechanism: str, table: Table, epsilon: float, seed: int, limit: float | None = None
) -> tuple[Records, Judged]:
    """Records of a mechanism on mbi, with its CPU seconds and its megabytes; delta is 1e-9.

    Args:
        mechanism: ``mst`` or ``aim``.
        table: The private table.
        epsilon: Of the budget.
        seed: Of noise and drawing.
        limit: Seconds by the clock that it may take; None for any number.

    Raises:
        subprocess.SubprocessError: It failed, or did not end in time.
    """
    sizes = dict(zip(table.domain.names, table.domain.shape, strict=True))
    asked = {"domain": sizes, "rho": rho_of(epsilon, DELTA), "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "outcome.npz")
        np.savez(source, problem=json.dumps(asked), codes=np.stack(table.columns, axis=1))
        subprocess.run([setup.PYTHON, "-W", "ignore", SCRIPT, mechanism, source, target], check=True, timeout=limit)
        found = dict(np.load(target))
    outcome = json.loads(str(found["outcome"]))
    return Records(found["codes"], table.domain, seed=seed), {each: outcome[each] for each in ("seconds", "megabytes")}


def _judged(table: Table, records: Records, seconds: float, megabytes: float) -> Judged:
    real = Records(np.stack(table.columns, axis=1), table.domain, seed=SEED)
    found = evaluate(real.to_arrow(), {"it": records.to_arrow()}, table.domain, seed=SEED)
    figures = {f"score, {order}": found.value("score", order) for order in ORDERS}
    figures |= {f"mean {measure}": fmean(each.value for each in found.of(measure)) for measure in MEANS}
    return {**figures, "CPU": seconds, "memory": megabytes}


def _alone(run: Callable[[], Judged]) -> Judged:
    """A run in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        return pool.submit(run).result()


def rows() -> Iterator[Row]:
    """MWEM against each mechanism of mbi, by the evaluator's figures."""
    there = setup.installed()
    for name in TABLES:
        mine = _alone(partial(ours, name))
        for mechanism in ("mst", "aim"):
            nothing = dict.fromkeys(mine, float("nan"))
            peer: Mapping[str, float] = _alone(partial(theirs, mechanism, name)) if there else nothing
            note = "" if there else f"mbi is not installed: {setup.HOW}"
            for measure, value in mine.items():
                unit = {"CPU": "s", "memory": "MB"}.get(measure, "")
                yield Row(f"{name}, {mechanism.upper()}: {measure}", value, peer[measure], note, unit=unit)
