"""Compiles what runs need ahead, into numba's cache: small jobs on made-up records, in processes beside each other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.system import compile_at_once

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.data import Table
    from hedgerow.domain import Domain

_SMALL = (5, 4, 2, 2, 2)
_LARGE = (300, 40, 16, 16, 16, 8, 2, 2, 2)
_BITS = (2,) * 12
_MIXED = "marginals:2; marginals:a*b*c; prefixes:a; ranges:a,b:20:1; parities:{}"
"""One family of each kind."""
_ROWS = 2000


def warm() -> None:
    """Do the jobs, half of them in a second process; where everything is compiled it takes seconds.

    What both halves need is compiled by both, so more processes would hardly be faster.

    Raises:
        subprocess.CalledProcessError: The second process failed.
    """
    compile_at_once()
    other = _words("trees")
    with subprocess.Popen(other) as running:
        _cells()
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, other)


@contextmanager
def compiling_beside(algorithm: Algorithm, domain: Domain) -> Iterator[None]:
    """Let another process compile what a first run over trees needs late, while it compiles what it needs early.

    Nothing happens where it was compiled before, where there is one core, or where no run over trees is expected.
    """
    from hedgerow.algorithms.mwem import MWEM
    from hedgerow.models import may_be_dense
    from hedgerow.system import usable_cores

    if usable_cores() < 2 or not isinstance(algorithm, MWEM) or may_be_dense(domain) or _has_sweeps():
        yield
        return
    with subprocess.Popen(_words("late"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        try:
            yield
        finally:
            other.kill()


def _words(job: str) -> list[str]:
    """The words of a process that does a job of this module; Python's own searches for cycles slow compiling down."""
    seldom = "from hedgerow.cli import collect_seldom; collect_seldom()"
    return [sys.executable, "-P", "-c", f"{seldom}; from {__name__} import {job}; {job}()"]


def _has_sweeps() -> bool:
    """Whether sweeps were compiled before, or nothing that is compiled can be kept."""
    from hedgerow.models.tree_fit import sweep_trees

    folder: str | None = sweep_trees.stats.cache_path  # type: ignore[attr-defined]
    return folder is None or any(Path(folder).glob("*.sweep_trees-*.nbi"))


def late() -> None:
    """Compile what a run over trees needs late: sweeps, then answers and records."""
    from hedgerow.domain import Domain, IntegerRange
    from hedgerow.models import Markov
    from hedgerow.models.tree_fit import compile_sweeps
    from hedgerow.system import generator

    compile_sweeps()
    domain = Domain(IntegerRange(name, 0, 4) for name in "abcd")
    model = Markov(domain, 100.0)
    for pair in (("a", "b"), ("b", "c"), ("c", "d")):
        model.reweigh(pair, generator(0).random((5, 5)))
    model.marginals([("a", "d"), ("a",)])
    list(model.sample_blocks(_ROWS, generator(0), "systematic"))


def _table(sizes: tuple[int, ...]) -> Table:
    """Made-up records, the same in each call."""
    import pyarrow as pa

    from hedgerow.data import read_table
    from hedgerow.domain import Domain, IntegerRange
    from hedgerow.system import generator

    domain = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcdefghijkl", sizes, strict=False))
    draw = generator(0)
    columns = [pa.array(draw.integers(0, attribute.size, _ROWS)) for attribute in domain]
    return read_table(pa.table(columns, names=list(domain.names)), domain)


def _released(mechanism: Any, sizes: tuple[int, ...], text: str, *, pure: bool = False) -> None:
    """Run a mechanism; ask its release for records, marginals and answers."""
    from hedgerow.privacy import ApproxDP, PureDP
    from hedgerow.queries import Workload

    table = _table(sizes)
    workload = Workload.parse(text, table.domain)
    release = mechanism.run(table, workload, PureDP(5.0) if pure else ApproxDP(1.0, 1e-9))
    release.sample(50_000)
    release.model.marginals([("a", "b"), ("a",)])
    workload.answers(release.model)
    release.answer("a = 1 and not (b = 0 or a = 0)")


def _asked(sizes: tuple[int, ...]) -> None:
    """Ask questions one by one."""
    from hedgerow.algorithms.online_pmw import OnlinePMW
    from hedgerow.privacy import ApproxDP

    session = OnlinePMW(updates=5, threshold=0.02).start(_table(sizes), ApproxDP(1.0, 1e-9))
    session.ask_all(["a = 0", "b = 0 and c = 0", "not (c = 0 and d = 0) or a = 1", "a in (0, 1) and b between 0 and 1"])
    session.release().sample(100)


def trees() -> None:
    """Junction trees, online questions about a tree."""
    from hedgerow.algorithms.independent import IndependentNoise
    from hedgerow.algorithms.mwem import MWEM
    from hedgerow.models import Proximal

    compile_at_once()
    _released(MWEM(rounds=6), _LARGE, _MIXED.format("g*h,g*h*i"))
    _released(MWEM(rounds=4, refit=Proximal()), _LARGE, "marginals:2")
    _released(MWEM(), _LARGE, "marginals:3<=10000")
    _released(IndependentNoise(), _LARGE, "marginals:a*b,b*c,d*e*f")
    _asked(_LARGE)


def _cells() -> None:
    """Histograms, classes of values, counting, DualQuery, the Fourier mechanism."""
    from hedgerow.algorithms.dual_query import DualQuery
    from hedgerow.algorithms.independent import FourierMeasurement
    from hedgerow.algorithms.mwem import MWEM
    from hedgerow.algorithms.offline_pmw import OfflinePMW
    from hedgerow.models import Proximal

    _released(MWEM(rounds=6), _SMALL, _MIXED.format("c*d,c*d*e"))
    _released(MWEM(rounds=4, refit=Proximal()), _SMALL, "marginals:2")
    _released(MWEM(rounds=4, refit=None, output="average"), _SMALL, "marginals:2")
    _released(MWEM(), _BITS, "marginals:3")
    _released(FourierMeasurement(), _BITS, "marginals:2")
    _released(DualQuery(rounds=3, samples=4, step=0.5, seed=1), _BITS, "marginals:3", pure=True)
    _released(MWEM(rounds=4), (2**20, 24), "ranges:a:200:1; prefixes:b")
    _released(OfflinePMW(alpha=0.3), _SMALL, "marginals:2")
    _asked(_SMALL)
