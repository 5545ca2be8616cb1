"""A run from the command line: the curator before its table, and the release that is saved before anything else."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.cli.console import Output, showing_progress
from hedgerow.cli.spending import accounted
from hedgerow.cli.warming import compiling_beside
from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    import typer

    from hedgerow.algorithms.shared import Algorithm, ProgressCallback
    from hedgerow.privacy import Budget, Curator, NoiseSource
    from hedgerow.queries import Workload
    from hedgerow.release import Release
    from hedgerow.runs import Opened
    from hedgerow.system import SigningKey


def signing_key(output: Output, path: Path | None) -> SigningKey | None:
    """The private key that ``--sign`` names, with a warning if others may read it.

    Raises:
        MissingExtraError: The library cryptography is not installed.
        SigningError: There is no such file, or it holds no private Ed25519 key.
    """
    if path is None:
        return None
    from hedgerow.system import SigningKey

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        key = SigningKey.read(path)
    for warning in caught:
        output.warn(str(warning.message))
    return key


_LONG = 600.0
"""Seconds of a run that is announced."""
_MANY, _EACH = 20_000, 400e-6
"""Candidates for which a plan takes seconds itself, and seconds that a run takes for each."""
_GUESS = 100_000.0
"""Records of a table of which nothing public is known."""


def prepare_run(ctx: typer.Context, output: Output, algorithm: Algorithm, workload: Workload, budget: Budget) -> None:
    """Refuse what cannot be run, and say what takes long, before a large table is read for nothing.

    Until the command is over, another process compiles what a first run needs late (`compiling_beside`).

    Args:
        ctx: Context of the command.
        output: Output of the command.
        algorithm: The mechanism; plans of MWEM tell their time.
        workload: Queries that the release should answer well.
        budget: Budget of the run.
    """
    from hedgerow.algorithms.mwem import MWEM
    from hedgerow.quantities import human_seconds
    from hedgerow.system import slowness

    ctx.with_resource(compiling_beside(algorithm, workload.domain))
    algorithm.check(workload, budget.regime)
    for warning in algorithm.warnings(workload):
        output.warn(warning)
    if not isinstance(algorithm, MWEM):
        return
    if workload.n_candidates <= _MANY:
        seconds = algorithm.plan(workload, budget, _GUESS).seconds
    else:
        seconds = _EACH * workload.n_candidates * slowness()
    if seconds > _LONG:
        output.warn(
            f"this takes about {human_seconds(seconds)} on one core of this machine; nothing is read or spent yet. "
            "Fewer columns (--columns) or smaller tables ('marginals:2<=10000') take less"
        )


def run_accounted(output: Output, algorithm: Algorithm, opened: Opened, noise: NoiseSource | None) -> Release:
    """Run an algorithm on what is left of the budget; if it stops, say what was spent."""

    @contextmanager
    def watching(curator: Curator) -> Iterator[ProgressCallback | None]:
        with accounted(output, curator), showing_progress(output) as progress:
            yield progress

    return opened.released(algorithm, noise, watching)


def save_first(output: Output, release: Release, path: Path, key: SigningKey | None) -> None:
    """Save the release first: everything else can be made again from it, and it cannot."""
    try:
        release.save(path, sign=key)
    except (HedgerowError, OSError, KeyboardInterrupt):
        rescue = Path(tempfile.mkdtemp(prefix="hedgerow-")) / path.name
        release.save(rescue, sign=key)
        output.warn(f"{path} could not be written; the release is saved in {rescue}")
        raise
