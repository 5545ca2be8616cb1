"""``python -m benchmarks prior``: run what is not in the journal, and show the errors."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Shown

from benchmarks.prior.tables import BIASES, SPLITS, Bias, parts_of
from benchmarks.regret.regrets import HALVES
from benchmarks.regret.running import Key, Run, journal_of
from hedgerow import MWEM, ApproxDP, Prior, SeededNoise, Workload
from hedgerow.comparison import MEAN, Yardstick

RESULTS = Path(__file__).with_name("runs.csv")
EPSILONS = (0.1, 1.0)
DELTA = 1e-9
SEEDS = 3
WITHOUT = "without"


def run(name: str, bias: Bias | None, epsilon: float, seed: int) -> Run:
    """Release the private part of a split, with the public part as a prior or without one.

    Args:
        name: Name of the split.
        bias: Degree of the bias of the public part; None for no prior.
        epsilon: Budget, with delta = 1e-9.
        seed: Seed of the split and of the noise.

    Returns:
        Mean total variation distance of the marginals, and CPU seconds, those of fitting the public part included.
    """
    private, public = parts_of(name, bias or "none", seed)
    workload = Workload.parse(SPLITS[name].task, private.domain)
    algorithm = MWEM(prior=None if bias is None else Prior.of(public))
    begun = time.process_time()
    release = algorithm.run(private, workload, ApproxDP(epsilon, DELTA), noise=SeededNoise(seed))
    seconds = time.process_time() - begun
    answers = np.asarray(workload.answers(release.model))
    return Run("done", Yardstick(private, workload).errors(answers, release.total)[MEAN], seconds)


def keys(half: str | None, seeds: int) -> Iterator[tuple[Key, str, Bias | None, float]]:
    """All runs, as the journal names them."""
    for name, split in SPLITS.items():
        if half in (None, split.half):
            for seed in range(seeds):
                for epsilon in EPSILONS:
                    for bias in (None, *BIASES):
                        yield (f"{name} | {split.task} | {epsilon:g}", bias or WITHOUT, seed), name, bias, epsilon


def show(known: Mapping[Key, Run], console: Console) -> None:
    """Print mean errors, and those with a prior as changes in percent of those without."""
    table = Shown(title="mean error without a prior, and its change with one", title_justify="left")
    for column in ("cell", "half", "runs", WITHOUT, *BIASES):
        table.add_column(column, justify="left" if column in ("cell", "half") else "right")
    for cell in dict.fromkeys(key[0] for key in known):
        seeds = [key[2] for key in known if key[:2] == (cell, WITHOUT)]
        plain = np.mean([known[cell, WITHOUT, seed].error for seed in seeds])
        changes = []
        for bias in BIASES:
            errors = [known[cell, bias, seed].error for seed in seeds if (cell, bias, seed) in known]
            changes.append(f"{100.0 * (np.mean(errors) / plain - 1.0):+.0f} %" if len(errors) == len(seeds) else "")
        half = SPLITS[cell.split(" | ")[0]].half
        table.add_row(cell, half, str(len(seeds)), f"{plain:.4f}", *changes)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, run what is not in the journal, and show everything that is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks prior", description=__doc__)
    parser.add_argument("--half", choices=HALVES, help="one half of the tables")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs with each prior")
    parser.add_argument("--results", type=Path, default=RESULTS, help="CSV file of the runs")
    asked = parser.parse_args(arguments)
    console, journal = Console(width=160), journal_of(asked.results)
    for key, name, bias, epsilon in () if asked.show else keys(asked.half, asked.seeds):
        if key not in journal.known:
            journal.add(key, run(name, bias, epsilon, key[2]))
            console.log(" | ".join(map(str, key)))
    show(journal.known, console)


if __name__ == "__main__":
    main()
