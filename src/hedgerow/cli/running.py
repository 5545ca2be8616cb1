"""A run from the command line: the curator before its table, and the release that is saved before anything else."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.cli.console import Output, showing_progress
from hedgerow.cli.spending import accounted
from hedgerow.errors import HedgerowError

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Algorithm
    from hedgerow.cli.learning import Opened
    from hedgerow.privacy import NoiseSource
    from hedgerow.release import Release
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
        found = SigningKey.read(path)
    for warning in caught:
        output.warn(str(warning.message))
    return found


def run_accounted(output: Output, algorithm: Algorithm, opened: Opened, noise: NoiseSource | None) -> Release:
    """Run an algorithm on what is left of the budget; if it stops, say what was spent."""
    from hedgerow.privacy import Curator

    curator = Curator(opened.table, opened.budget, noise=noise, events=opened.events)
    with accounted(output, curator), showing_progress(output) as progress:
        return algorithm.run_with(curator, opened.workload, progress=progress)


def save_first(output: Output, release: Release, path: Path, key: SigningKey | None) -> None:
    """Save the release first: everything else can be made again from it, and it cannot."""
    try:
        release.save(path, sign=key)
    except (HedgerowError, OSError, KeyboardInterrupt):
        rescue = Path(tempfile.mkdtemp(prefix="hedgerow-")) / path.name
        release.save(rescue, sign=key)
        output.warn(f"{path} could not be written; the release is saved in {rescue}")
        raise
