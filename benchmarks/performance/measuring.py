"""CPU time and memory of child processes: of a run, and of a floor that it cannot go below."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.performance.shapes import Shape

_CALL = "import sys; sys.argv[0] = 'hedgerow'; from hedgerow.cli import main; main()"
_TOLD = """
import atexit, os
from pathlib import Path
atexit.register(lambda: Path(os.environ["PEAK_FILE"]).write_bytes(Path("/proc/self/status").read_bytes()))
"""
"""Tells the peak of memory at the end; what a parent gets from the system is at least its own memory at the start."""
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
        memory: Largest resident set, in MiB; on Linux.
        floor: CPU seconds of the floor in the same run of the benchmark.
        planned: Seconds that ``hedgerow plan`` said, just before.
        planned_memory: Memory of the process that it said, in MiB.
        values: Noisy values in the release.
    """

    name: str
    seconds: float
    memory: float
    floor: float
    planned: float
    planned_memory: float
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
        peak = Path(place) / "peak"
        seconds = child([*_python(_TOLD), *words], {"PEAK_FILE": str(peak)})
        if seconds < 20.0:
            seconds = min(seconds, child([*_python(), *words]))
        values = noisy_values(release)
        floor = child([sys.executable, "-c", _FLOOR, str(table), str(values), str(out)])
        memory = float(re.findall(r"VmHWM:\s*(\d+) kB", peak.read_text(encoding="utf-8"))[0]) / 1024
    return Run(shape.name, seconds, memory, floor, planned["seconds"], planned["process_bytes"] / 2**20, values)


def child(words: Sequence[str], more: dict[str, str] | None = None) -> float:
    """CPU seconds of a process.

    Raises:
        RuntimeError: It failed.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    started = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=environment | (more or {}))
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise RuntimeError(f"{' '.join(words[:8])} ... failed with {started.returncode}")
    return used.ru_utime + used.ru_stime


def noisy_values(release: Path) -> int:
    """Number of noisy values in a release."""
    from hedgerow import Release

    return sum(measurement.values.size for measurement in Release.load(release).measurements)


def _python(first: str = "") -> list[str]:
    return [sys.executable, "-c", first + _CALL]
