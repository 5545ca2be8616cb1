"""Predicted errors of plans against those of runs: ``python -m benchmarks targets [--half tuning|reported]``.

For each table an earlier release (epsilon 1, delta 1e-9, with a seed of its own) stands in for the table, as with
``hedgerow plan --like``. Errors of MWEM are predicted for two other budgets and for the one that a target asks for, by
simulation on that release and by the formula, and compared with the mean of runs on the table itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks.intervals import TASKS
from benchmarks.regret.tables import half_of, table_of
from hedgerow import MWEM, ApproxDP, SeededNoise, Table, Workload
from hedgerow.comparison import MEAN, Yardstick
from hedgerow.simulation import Simulated, Target, solve, unseen_factor

SEEDS = 5
EPSILONS = (0.5, 2.0)
WANTED = 0.7
"""Target, over the error that is predicted for epsilon 1."""


def realised(table: Table, workload: Workload, epsilon: float, seeds: int) -> float:
    """Mean error of runs on the table."""
    yardstick, budget = Yardstick(table, workload), ApproxDP(epsilon, 1e-9)
    made = (MWEM().run(table, workload, budget, noise=SeededNoise(seed)) for seed in range(seeds))
    return float(np.mean([yardstick.errors(workload.answers(each.model), each.total)[MEAN] for each in made]))


def rows(name: str, seeds: int = SEEDS) -> Sequence[tuple[str, float, float, float, float | None]]:
    """Budget, predictions and realised error on one table."""
    table = table_of(name)
    workload, total = Workload.parse(TASKS.get(name, "marginals:2"), table.domain), float(table.total())
    earlier = MWEM().run(table, workload, ApproxDP(1.0, 1e-9), noise=SeededNoise(100))
    predictor = Simulated(MWEM(), workload, earlier.model, total, unseen_factor(earlier, seed=0))
    at = partial(ApproxDP, delta=1e-9)
    wanted = float(f"{WANTED * predictor.predict(at(1.0)).error:.2g}")
    solved = solve(predictor, Target(error=wanted), at)
    found = [] if solved.budget is None else [(f"target {wanted:g}", float(solved.budget.to_dict()["epsilon"]))]
    told = []
    for what, epsilon in [*((f"epsilon {epsilon:g}", epsilon) for epsilon in EPSILONS), *found]:
        predicted = predictor.predict(at(epsilon)).error
        formula = MWEM().expected_error(workload, at(epsilon), total)
        told.append((what, epsilon, realised(table, workload, epsilon, seeds), predicted, formula))
    return told


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks targets", description=__doc__)
    parser.add_argument("--half", choices=("tuning", "reported"), default="tuning")
    parser.add_argument(
        "--tables", help="names, separated by commas; all of the half by default; pairs where no task is named"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args(arguments)
    names = options.tables.split(",") if options.tables else [name for name in TASKS if half_of(name) == options.half]
    print(f"{'table':10} {'what':14} epsilon realised simulated/realised formula/realised")
    for name in names:
        for what, epsilon, error, predicted, formula in rows(name, options.seeds):
            last = "none" if formula is None else f"{formula / error:.2f}"
            figures = f"{epsilon:7.3g} {error:8.4f} {predicted / error:18.2f} {last:>16}"
            print(f"{name:10} {what:14} {figures}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
