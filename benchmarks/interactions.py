"""The search for interactions: ``python -m benchmarks interactions [--seeds N] [--table NAME ...]``.

First parities of ten fair bits with 5 % noise (15,000 records, epsilon 1): the share of the drawn records whose label
is the parity, by default and for a target, with the search and without. Then what the search costs on tables of the
grid with the default workload: mean total variation distance of its tables with the search over that without.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.peers.tasks import TASKS
from benchmarks.regret.tables import MAKERS, half_of
from benchmarks.utility import DELTA, parity
from hedgerow import MWEM, ApproxDP, PureDP, SeededNoise, Table, Workload
from hedgerow.privacy import Budget
from hedgerow.release import Release
from hedgerow.runs import for_questions, workload_with

BITS = (2, 3, 5)
SURVEYS = (
    "nltcs",
    "rochdale",
    "czech",
    "small8",
    "joint12",
    "bits18",
    "adult",
    "acs",
    "columns12",
    "columns20",
    "wide69",
)
EIGHT = {"W2": "reported", "W2s": "tuning"}


def accuracy(release: Release, bits: int) -> float:
    """Share of as many drawn records whose label is the parity of the first bits."""
    codes = release.sample(seed=0).codes
    return float((codes[:, -1] == codes[:, :bits].sum(axis=1) % 2).mean())


def parities(seeds: int) -> Iterator[str]:
    """Lines of the table of parities: lowest and mean share."""
    for bits in BITS:
        for target in (None, "label"):
            text = workload_with(None, target=target)
            asked = for_questions(MWEM(), text, target)
            cells = []
            for budget in (PureDP(1.0), ApproxDP(1.0, DELTA)):
                for algorithm in (replace(asked, search_share=0.0), asked):
                    found = []
                    for seed in range(seeds):
                        table = parity(bits, seed=seed)
                        workload = Workload.parse(text or "marginals:2", table.domain)
                        found.append(accuracy(algorithm.run(table, workload, budget, noise=SeededNoise(seed)), bits))
                    cells.append(f"{min(found):.3f}, {np.mean(found):.3f}")
            yield f"| {bits} of 10 | {'target' if target else 'default'} | {' | '.join(cells)} |"


def error(table: Table, release: Release) -> float:
    """Mean total variation distance of the workload's tables."""
    workload = release.workload
    errors = workload.candidate_errors(workload.answers(table) - workload.answers(release.model))
    return float(0.5 * errors.mean() / table.total())


def costs(name: str, table: Table, half: str, seeds: int) -> Iterator[str]:
    """Lines of the table of costs."""
    asked, workload = for_questions(MWEM(), None, None), Workload.marginals(table.domain, 2)
    for epsilon in (0.3, 1.0, 3.0):
        budgets: list[Budget] = [PureDP(epsilon), ApproxDP(epsilon, DELTA)]
        cells, looks = [], []
        for budget in budgets:
            errors = []
            for algorithm in (replace(asked, search_share=0.0), asked):
                runs = [algorithm.run(table, workload, budget, noise=SeededNoise(seed)) for seed in range(seeds)]
                errors.append(np.mean([error(table, run) for run in runs]))
            looks.append(np.mean([sum(event.label == "search" for event in run.events) for run in runs]))
            cells.append(f"{errors[0]:.4f} | {errors[1] / errors[0]:.3f} | {looks[-1]:.1f}")
        yield f"| {name} ({half}) | {epsilon:g} | {' | '.join(cells)} |"


def main(arguments: Sequence[str]) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks interactions", description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--table", nargs="*", choices=[*SURVEYS, *EIGHT])
    asked = parser.parse_args(arguments)
    if asked.table is None:
        print("| parity of | asked | pure, without | pure, with | (1, 1e-9), without | (1, 1e-9), with |")
        print("|---|---|---|---|---|---|")
        for line in parities(asked.seeds):
            print(line, flush=True)
    print("| table | epsilon | pure: error without | with / without | looks | delta 1e-9: the same | | |")
    print("|---|---|---|---|---|---|---|---|")
    for name in asked.table or (*SURVEYS, *EIGHT):
        known = name in MAKERS
        table, half = (MAKERS[name](), half_of(name)) if known else (TASKS[name]().table, EIGHT[name])
        for line in costs(name, table, half, asked.seeds):
            print(line, flush=True)
