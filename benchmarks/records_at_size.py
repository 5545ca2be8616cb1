"""Records at size: the file of the default release, measured, on generated tables that no small tree says.

Each table has a hidden class, given which its columns are independent, and two columns that copy others half of the
time. For each the mean and the largest total variation distance of all pairs from the table's: of the answers, of
records of the tree alone, and of the file; beside them what so many independent draws of the table itself have.
``python -m benchmarks records_at_size --rows 400000 --columns 14 --seeds 1 2``; 10^7 rows take 4 GB. With ``--beside``
the files of other settings follow, for the regret of the default: rounds that adapt, what is chosen for answers, a
larger tree, and columns that are drawn independently of each other.
Nothing here is private: it measures with the real records. The constants of ``models/overlays/moves.py`` were chosen on
seed 1 of 400,000 rows and 14 columns, and on Adult.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table as Shown

from hedgerow import MWEM, ApproxDP, Domain, IntegerRange, SeededNoise, Workload, read_table
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique
from hedgerow.models import Overlay

BESIDE = {
    "rounds='annealed'": MWEM(rounds="annealed"),
    "optimize_for='answers'": MWEM(optimize_for="answers"),
    "largest_tree=2**24": MWEM(largest_tree=1 << 24),
    "independent columns": None,
}
"""Other settings; None measures single columns alone."""
SHAPES = {"classes": (4, 5.0, 1.0), "many classes": (8, 2.0, 1.0), "sharp": (3, 5.0, 0.4)}
"""Hidden classes, and how even they and the columns given them are (parameters of Dirichlet laws)."""
EPSILON, DELTA = 1.0, 1e-9
HEADINGS = ("table", "error of", "mean", "largest", "CPU s", "peak MB")


def generated(rows: int, columns: int, seed: int, shape: str = "classes") -> tuple[Domain, Ints]:
    """A table as codes, shape ``(rows, columns)``, with columns of 2 to 16 values.

    Args:
        rows: Number of records.
        columns: Number of columns, at least 4.
        seed: Everything follows from it.
        shape: One of ``SHAPES``.
    """
    classes, even, sharp = SHAPES[shape]
    sizes = np.random.default_rng(100 + seed).integers(2, 17, columns).tolist()
    rng = np.random.default_rng(seed)
    hidden = rng.choice(classes, rows, p=rng.dirichlet(np.full(classes, even)))
    codes = np.empty((rows, columns), dtype=np.uint8)
    for column, size in enumerate(sizes):
        ends = np.cumsum(rng.dirichlet(np.full(size, sharp), classes), axis=1)
        codes[:, column] = (rng.random(rows)[:, None] > ends[hidden][:, :-1]).sum(axis=1)
    for first in (0, 2):
        copied = rng.random(rows) < 0.5
        codes[:, first + 1] = np.where(copied, codes[:, first].astype(int) * 7 % sizes[first + 1], codes[:, first + 1])
    return Domain(IntegerRange(f"c{i:02}", 0, size - 1) for i, size in enumerate(sizes)), codes


def pairs_of(domain: Domain, codes: np.ndarray, pairs: list[Clique]) -> list[Floats]:
    """The tables of pairs of columns, as fractions."""
    found = []
    for pair in pairs:
        one, other = domain.axes(pair)
        cells = codes[:, one].astype(np.int64) * domain[pair[1]].size + codes[:, other]
        found.append(np.bincount(cells, minlength=domain[pair[0]].size * domain[pair[1]].size) / len(codes))
    return found


def measured(
    rows: int, columns: int, seed: int, shape: str, *, beside: bool
) -> Iterator[tuple[str, float, float, float, float]]:
    """What is compared, its mean and largest distance, CPU seconds and the peak of memory so far."""
    domain, codes = generated(rows, columns, seed, shape)
    pairs = list(combinations(domain.names, 2))
    real = pairs_of(domain, codes, pairs)
    table = read_table(pa.table(dict(zip(domain.names, codes.T, strict=True))), domain)
    drawn = [float(np.sqrt(each * (1.0 - each) / (2.0 * np.pi * rows)).sum()) for each in real]

    def told(name: str, tables: list[Floats], seconds: float) -> tuple[str, float, float, float, float]:
        far = [0.5 * float(np.abs(mine - each).sum()) for mine, each in zip(tables, real, strict=True)]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return name, float(np.mean(far)), max(far), seconds, peak

    start = time.process_time()
    release = MWEM().run(table, Workload.marginals(domain, 2), ApproxDP(EPSILON, DELTA), noise=SeededNoise(seed))
    seconds = time.process_time() - start
    answers = [each.reshape(-1) / each.sum() for each in release.model.marginals(pairs)]
    yield told(f"answers ({type(release.model).__name__})", answers, seconds)
    model = release.model
    if isinstance(model, Overlay):
        start = time.process_time()
        below = model.tree.sample(rows, 1)
        yield told("records of the tree", pairs_of(domain, below, pairs), time.process_time() - start)
    release.sample(1, seed=0)  # what is compiled, is compiled
    start = time.process_time()
    file = release.sample(rows, seed=1).codes
    yield told("the file", pairs_of(domain, file, pairs), time.process_time() - start)
    yield "so many independent draws", float(np.mean(drawn)), max(drawn), 0.0, 0.0
    for name, other in BESIDE.items() if beside else ():
        start = time.process_time()
        asked = Workload.marginals(domain, 1 if other is None else 2)
        made = (other or MWEM()).run(table, asked, ApproxDP(EPSILON, DELTA), noise=SeededNoise(seed))
        yield told(
            f"the file, {name}", pairs_of(domain, made.sample(rows, seed=1).codes, pairs), time.process_time() - start
        )


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks records_at_size", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 400_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=14)
    parser.add_argument("--seeds", type=int, nargs="+", default=[2])
    parser.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=sorted(SHAPES))
    parser.add_argument("--beside", action="store_true", help="measure the files of other settings too")
    asked = parser.parse_args(arguments)
    shown = Shown(*HEADINGS)
    for rows in asked.rows:
        for shape in asked.shapes:
            for seed in asked.seeds:
                for name, mean, largest, seconds, peak in measured(
                    rows, asked.columns, seed, shape, beside=asked.beside
                ):
                    said = f"{rows:,} x {asked.columns}, {shape}, seed {seed}"
                    shown.add_row(said, name, f"{mean:.5f}", f"{largest:.4f}", f"{seconds:.1f}", f"{peak:,.0f}")
    Console(width=140).print(shown)


if __name__ == "__main__":
    main(sys.argv[1:])
