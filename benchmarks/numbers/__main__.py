"""``python -m benchmarks numbers [--quick] [--releases N] [--show]``: make what is missing, and write the page."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console

from benchmarks.numbers.page import PAGE, Run, add_run, page_text, read_runs
from benchmarks.numbers.tables import TASKS, Question, Task
from hedgerow import ApproxDP, Release, synthesize
from hedgerow.release import column_summaries, select_from

EPSILONS = (1.0, 0.5, 3.0)
DELTA = 1e-9
_DIRECT = 0.1
"""Share of the budget that a direct measurement is taken to have."""


def direct(epsilon: float) -> float:
    """Half the 95 % interval of a measurement of sensitivity 1 with a tenth of the budget, in counts.

    The noise is Gaussian, or Laplace as in a pure budget, whichever is less.
    """
    return min(1.96 / math.sqrt(2.0 * _DIRECT * ApproxDP(epsilon, DELTA).limit), math.log(20.0) / (_DIRECT * epsilon))


def runs_of(name: str, task: Task, asked: bool, epsilon: float, seed: int) -> Iterator[Run]:
    """What the questions of a table found in one release, by kind.

    Args:
        name: Name of the table.
        task: The table.
        asked: Whether the release was told of the questions.
        epsilon: Budget, at a delta of 1e-9.
        seed: Seed of the release.
    """
    told = task.wanted if asked else {}
    made = synthesize(task.frame, epsilon, DELTA, dict(task.domain), seed=seed, **told)
    unit, found = direct(epsilon), dict[str, list[tuple[bool, float, float, float]]]()
    for question in task.questions():
        joint = question.kind == "table, all cells together"
        rows = list(_answers(made.release, question, unit, joint=joint))
        if joint:
            rows = [
                (all(held for held, *_ in rows), *(float(np.mean(each)) for each in list(zip(*rows, strict=True))[1:]))
            ]
        found.setdefault(question.kind, []).extend(rows)
    means = {each.attribute.name: each.mean for each in column_summaries(made.release, list(task.numbers))}
    drawn = made.records
    for number in task.numbers:
        cell = select_from(made.release, f'SELECT AVG("{number}") FROM t').cells[0][0]
        reported, halved = means[number], cell.halved or math.inf
        alike = reported is not None and math.isclose(reported.value, cell.value, rel_tol=1e-9)
        near = abs(float(drawn[number].mean()) - cell.value) <= halved
        found.setdefault("answer, report and records agree on a mean", []).append((alike and near, 0.0, 0.0, 0.0))
    for kind, rows in found.items():
        held, *others = zip(*rows, strict=True)
        ratios = [math.log(each) for each in others[0] if 0.0 < each < math.inf]
        yield Run(
            name, asked, epsilon, seed, kind, len(rows), sum(held), sum(math.isinf(each) for each in others[0]),
            sum(ratios), len(ratios), float(np.sum(others[1])), float(np.sum([min(each, 1e9) for each in others[2]])),
        )  # fmt: skip


def _answers(
    release: Release, question: Question, unit: float, *, joint: bool
) -> Iterator[tuple[bool, float, float, float]]:
    """Of each number whether its interval holds, its half-width over the direct one's, its error, its half-width."""
    found = select_from(release, question.text, joint=joint)
    for labels, (cell,) in zip(found.labels, found.cells, strict=True):
        truth, size = question.truth.get(labels, 0.0), question.size.get(labels, 0.0)
        relative = abs(cell.value - truth) / max(abs(truth), 1.0)
        if cell.low is None or cell.high is None or cell.halved is None:
            yield False, math.inf, relative, math.inf
            continue
        held = cell.low - 1e-9 * abs(truth) <= truth <= cell.high + 1e-9 * abs(truth)
        yield held, cell.halved / (unit * size) if size else 0.0, relative, cell.halved / max(abs(truth), 1.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the runs that are not known yet, and write the page of all that are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks numbers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="epsilon 1 and four releases of each table alone")
    parser.add_argument("--releases", type=int, default=24, help="of each table and epsilon")
    parser.add_argument("--show", action="store_true", help="run nothing")
    options = parser.parse_args(arguments)
    console = Console()
    epsilons, releases = ((1.0,), min(4, options.releases)) if options.quick else (EPSILONS, options.releases)
    known = {run.key for run in read_runs()}
    wanted = [
        (name, asked, epsilon, seed)
        for epsilon in epsilons
        for seed in range(0 if options.show else releases)
        for name in TASKS
        for asked in (False, True)
        if (name, asked, epsilon, seed) not in known
    ]
    tasks = {name: make() for name, make in TASKS.items()} if wanted else {}
    for number, (name, asked, epsilon, seed) in enumerate(wanted, start=1):
        add_run(list(runs_of(name, tasks[name], asked, epsilon, seed)))
        console.log(f"{number:,} of {len(wanted):,}: {name}, epsilon {epsilon:g}, {'asked' if asked else 'default'}")
    PAGE.write_text(page_text(read_runs()), encoding="utf-8")


if __name__ == "__main__":
    main()
