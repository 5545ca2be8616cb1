"""Estimated intervals on tables whose truth is known: how often they hold it, and how wide they are.

``python -m benchmarks intervals [--half tuning|reported] [--seeds N] [--runs B]``. For each table a release is made as
anyone would (MWEM with its defaults, epsilon 1 and delta 1e-9), its errors are simulated, and estimates are compared
with the truth: of the answers of the workload that the release puts at 10 records and more, and of random conditions
on one, two and three attributes. Constants of `hedgerow.simulation` were chosen on the tuning half; the other half is
only reported.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.regret.tables import Half, half_of, table_of
from hedgerow import MWEM, ApproxDP, Domain, SeededNoise, Workload, simulate_errors
from hedgerow.privacy import exact_answers
from hedgerow.queries import Conjunction

TASKS = {
    "small8": "marginals:2",
    "czech": "marginals:3",
    "nltcs": "marginals:3",
    "columns12": "marginals:2",
    "small6": "marginals:2",
    "rochdale": "marginals:3",
    "bits18": "marginals:3",
    "columns20": "marginals:2",
    "towns100": "marginals:2",
    "adult-hours": "marginals:2",
    "towns256": "marginals:2",
    "acs-poverty": "marginals:2",
}
"""Workloads by table: half of them for tuning, the others are only reported; the last four are measured in blocks."""

FEWEST = 10.0
"""Smallest answer of the workload that counts: most cells of large marginals are empty, and their intervals too."""
QUESTIONS = 300
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        what: Questions that it is about.
        number: Number of them.
        factor: Errors over simulated errors where nothing was measured.
        coverage: Share of the intervals that hold the truth.
        width: Mean half-width over mean absolute error.
        predicted: Mean predicted error over mean absolute error.
    """

    what: str
    number: int
    factor: float
    coverage: float
    width: float
    predicted: float


def conditions(domain: Domain, count: int, seed: int) -> list[Conjunction]:
    """Random conditions on one, two and three attributes, each on a run of its codes."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        names = rng.choice(len(domain), min(1 + number % 3, len(domain)), replace=False)
        chosen = {}
        for name in sorted(names.tolist()):
            size = domain.attributes[name].size
            low, high = np.sort(rng.integers(0, size, 2)).tolist()
            chosen[domain.names[name]] = list(range(low, high + 1)) if (low, high) != (0, size - 1) else [low]
        found.append(Conjunction.where(domain, chosen))
    return found


def rows(name: str, seed: int, runs: int, epsilon: float = 1.0) -> Iterator[Row]:
    """Coverage and widths on one table."""
    table = table_of(name)
    workload = Workload.parse(TASKS[name], table.domain)
    release = MWEM().run(table, workload, ApproxDP(epsilon, 1e-9), noise=SeededNoise(seed))
    simulated = simulate_errors(release, runs, seed=seed)
    values, truth = workload.answers(release.model), exact_answers(table, workload)
    large = values >= FEWEST
    errors, widths = np.abs(values - truth)[large], simulated.widths(CONFIDENCE)[large]
    predicted = math.sqrt(2.0 / math.pi) * simulated.deviations[large]
    mean = float(errors.mean())
    covered = float(np.mean(errors <= widths + 0.5))  # counts are whole
    told = (covered, float(widths.mean()) / mean, float(predicted.mean()) / mean)
    yield Row("workload", len(errors), simulated.factor, *told)
    asked = conditions(table.domain, QUESTIONS, seed)
    for order in (1, 2, 3):
        some = [query for query in asked if len(query.scope) == order]
        if not some:
            continue
        exact = np.array([query.on(table)[0] for query in some])
        found = simulated.answers(some, CONFIDENCE)
        mean = float(np.mean([abs(each.value - true) for each, true in zip(found, exact.tolist(), strict=True)]))
        covered = float(
            np.mean([each.low <= true <= each.high for each, true in zip(found, exact.tolist(), strict=True)])
        )
        width = float(np.mean([(each.high - each.low) / 2.0 for each in found]))
        predicted_mean = float(np.mean([each.error for each in found]))
        yield Row(f"{order} attributes", len(some), simulated.factor, covered, width / mean, predicted_mean / mean)


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks intervals", description=__doc__)
    parser.add_argument("--half", choices=("tuning", "reported"), default="tuning")
    parser.add_argument("--tables", help="names, separated by commas; all of the half by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args(arguments)
    half: Half = options.half
    names = options.tables.split(",") if options.tables else [name for name in TASKS if half_of(name) == half]
    print(f"{'table':10} seed {'questions':12} number factor coverage width/error predicted/error")
    for name in names:
        for seed in range(options.seeds):
            for row in rows(name, seed, options.runs, options.epsilon):
                print(
                    f"{name:10} {seed:4} {row.what:12} {row.number:6} {row.factor:6.2f} {row.coverage:8.3f} "
                    f"{row.width:11.2f} {row.predicted:15.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
