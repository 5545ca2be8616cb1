"""CPU time and memory of child processes: of a run, and of a floor that it cannot go below."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.performance.shapes import Shape

_CALL = "import sys; sys.argv[0] = 'hedgerow'; from hedgerow.cli import main; main()"
_BUDGET = ("--epsilon", "1", "--delta", "1e-9")

_FLOOR = """
import sys
import numpy as np, numba, opendp.measurements, opendp.mod, opendp.domains, opendp.metrics, pyarrow as pa, typer
import pyarrow.csv, pyarrow.parquet
table, noisy, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
read = pa.csv.read_csv(table) if table.endswith(".csv") else pa.parquet.read_table(table)
opendp.mod.enable_features("contrib")
vectors = opendp.domains.vector_domain(opendp.domains.atom_domain(T="i64"))
draw = opendp.measurements.make_gaussian(vectors, opendp.metrics.l2_distance(T="f64"), scale=100.0)
draw(np.zeros(noisy, dtype=np.int64).tolist())
pa.csv.write_csv(read, out)
"""
"""The same libraries: load them, read the table, draw as many noisy values as the release holds, write the records."""


@dataclass(frozen=True)
class Run:
    """What a run took, in CPU seconds and MiB.

    Attributes:
        name: The shape's name.
        seconds: CPU seconds of ``hedgerow synth``, user and system, of all threads.
        memory: Largest resident set, in MiB.
        floor: CPU seconds of the floor in the same run of the benchmark.
        planned: Seconds that ``hedgerow plan`` said, just before.
        values: Noisy values in the release.
    """

    name: str
    seconds: float
    memory: float
    floor: float
    planned: float
    values: int


def measured(shape: Shape, folder: Path) -> Run:
    """Plan, run, and the floor, one after the other; the least time of two runs where they are short."""
    table, domain = shape.table(folder), shape.domain(folder)
    asked = ["--domain", str(domain), *shape.options, *_BUDGET]
    words = ["plan", *asked, "--total", str(shape.records), "--json"]
    planned = json.loads(subprocess.run([*_python(), *words], capture_output=True, check=True, text=True).stdout)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        out, release = Path(place) / "out.csv", Path(place) / "out.release"
        words = ["synth", str(table), *asked, "-o", str(out), "--release", str(release), "--quiet", "--force"]
        seconds, memory = child([*_python(), *words])
        if seconds < 20.0:
            seconds = min(seconds, child([*_python(), *words])[0])
        values = noisy_values(release)
        floor, _ = child([sys.executable, "-c", _FLOOR, str(table), str(values), str(out)])
    return Run(shape.name, seconds, memory, floor, planned["seconds"], values)


def first_and_warm(shape: Shape, folder: Path) -> tuple[float, float]:
    """CPU seconds of a run that compiles everything, and of the next one."""
    table, domain = shape.table(folder), shape.domain(folder)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        words = ["synth", str(table), "--domain", str(domain), *shape.options, *_BUDGET, "--quiet", "--force"]
        words += ["-o", str(Path(place) / "out.csv")]
        compiled = {"NUMBA_CACHE_DIR": place}
        first, _ = child([*_python(), *words], compiled)
        return first, child([*_python(), *words], compiled)[0]


def child(words: Sequence[str], more: dict[str, str] | None = None) -> tuple[float, float]:
    """CPU seconds and peak memory in MiB of a process.

    Raises:
        RuntimeError: It failed.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment | (more or {}))
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise RuntimeError(f"{' '.join(words[:8])} ... failed with {started.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def noisy_values(release: Path) -> int:
    """Number of noisy values in a release."""
    from hedgerow import Release

    return sum(measurement.values.size for measurement in Release.load(release).measurements)


def _python() -> list[str]:
    return [sys.executable, "-c", _CALL]
