"""How long the command line takes to start: against what Python takes to load the libraries that draw its help."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.row import Row

_FLOOR = "import typer, typer.rich_utils"
_CALL = "import sys; sys.argv[0] = 'hedgerow'; from hedgerow.cli import main; main()"
_NOISE = "import numpy; from hedgerow.privacy import OpenDPNoise; OpenDPNoise().laplace(numpy.zeros(1, int), 1)"


def rows() -> Iterator[Row]:
    """Help and the version; then what noise loads."""
    note = f"the reference: {_FLOOR}"
    for words in (["--version"], ["--help"], ["synth", "--help"]):
        yield Row(f"hedgerow {' '.join(words)}", _child(_CALL, *words), _child(_FLOOR), note)
    ours = _child(
        "import numpy; from hedgerow.privacy import OpenDPNoise; OpenDPNoise().laplace(numpy.zeros(1, int), 1)"
    )
    yield Row("one noisy number", ours, _child("import numpy, opendp.prelude"), "the reference: OpenDP's prelude alone")


def _child(code: str, *words: str) -> float:
    """Least CPU seconds of some processes, after one that may write compiled modules."""
    times = []
    for _ in range(5):
        before = _spent()
        subprocess.run([sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL, check=True)
        times.append(_spent() - before)
    return min(times[1:])


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
