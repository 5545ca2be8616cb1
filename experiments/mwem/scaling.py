"""MWEM, figure 6: the time of a run against the number of attributes, with as many rounds as attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from experiments.datasets import DataSets
from experiments.experiment import Cell, Claim, Drawing, Experiment, Measured, Size, Tolerance, seed_of
from experiments.mwem.binary import RECORDS, blocks
from experiments.mwem.contingency import parities_of
from experiments.mwem.timing import TimedRun, timed_run
from experiments.results import Results
from hedgerow.algorithms.mwem import MWEM
from hedgerow.comparison import LARGEST, MEAN, Yardstick
from hedgerow.privacy import ApproxDP, SeededNoise
from hedgerow.queries import Workload
from hedgerow.report import Panel, Point

ORDER = 2
"""Candidates are the parities of up to so many attributes."""
BUDGET = ApproxDP(1.0, 1e-9)
ATTRIBUTES = {Size.FULL: (10, 30, 100, 300, 1000), Size.QUICK: (10, 30, 100, 300), Size.TINY: (10, 30, 60)}
REPETITIONS = {Size.FULL: 3, Size.QUICK: 2, Size.TINY: 1}
LONG = 1000
"""Attributes from which a run is made once only."""
WARM = 40
"""Rounds of a run before the one that is timed, so that compiled code is at hand."""

TOTAL, COUNTING, ROUNDS = "total, CPU seconds", "counting the data, CPU seconds", "MWEM, CPU seconds"
CLOCK, PER_ROUND = "total, seconds by the clock", "a round of MWEM, CPU milliseconds"
MEAN_ERROR, LARGEST_ERROR = "mean error, share of the records", "largest error, share of the records"
MEAN_BEFORE = "mean error of the uniform hypothesis, share of the records"
CELLS = "cells of the hypothesis"


class Scaling(Experiment):
    """100,000 records of 10 to 1,000 binary attributes: all parities of one and two, as many rounds as attributes."""

    name: ClassVar[str] = "mwem-figure-6"
    title: ClassVar[str] = "MWEM on up to a thousand attributes"
    source: ClassVar[str] = "M. Hardt, K. Ligett, F. McSherry 2012, figure 6"
    grid: ClassVar[tuple[str, ...]] = ("attributes", "repetition")
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        MEAN_ERROR: Tolerance(relative=0.15),
        LARGEST_ERROR: Tolerance(relative=0.5),
        MEAN_BEFORE: Tolerance(relative=1e-5),
    }
    alone: ClassVar[bool] = True

    def cells(self, size: Size) -> Sequence[Cell]:
        """All numbers of attributes, the longest run only once."""
        return [
            {"attributes": count, "repetition": repetition}
            for repetition in range(1, REPETITIONS[size] + 1)
            for count in ATTRIBUTES[size]
            if count < LONG or repetition == 1
        ]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Times of one run, and the errors of what it released."""
        count, seed = int(cell["attributes"]), seed_of(self.name, cell)
        table = blocks(count, seed=int(cell["repetition"]))
        workload = Workload.parities(table.domain, ORDER)
        for rounds in (min(count, WARM), count):
            run = timed_run(table, workload, MWEM(rounds=rounds), BUDGET, noise=SeededNoise(seed))
        yardstick, model = Yardstick(table, workload), run.release.model
        found = yardstick.errors(workload.answers(model), model.total)
        before = yardstick.errors(np.zeros(workload.n_queries), 1.0)
        yield from _times(run)
        yield Measured(MEAN_ERROR, found[MEAN])
        yield Measured(LARGEST_ERROR, found[LARGEST])
        yield Measured(MEAN_BEFORE, before[MEAN])
        yield Measured(CELLS, run.cells)

    def claims(self, found: Results) -> list[Claim]:
        """Largest problem, growth, and where the time goes."""
        return [_far(found), _counting(found), _growth(found), _rounds(found), _errors(found)]

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Times and errors against the number of attributes."""
        quantities = {"mwem": ROUNDS, "counting the data": COUNTING, "total": TOTAL}
        times = {name: found.curve("attributes", quantity) for name, quantity in quantities.items()}
        left = {
            "mwem (mean error)": MEAN_ERROR,
            "mwem (largest error)": LARGEST_ERROR,
            "uniform (mean error)": MEAN_BEFORE,
        }
        errors = {name: found.curve("attributes", quantity) for name, quantity in left.items()}
        title = "As many rounds as attributes"
        panels = [
            Panel(title, "CPU seconds, all threads", times, bounds=_square(times["mwem"])),
            Panel("Parities of one and two attributes", "error, share of the records", errors),
        ]
        caption = "What a run of MWEM takes, and what it leaves of the errors, against the number of binary attributes."
        return {"": Drawing(panels, "binary attributes", caption)}


def _times(run: TimedRun) -> Iterable[Measured]:
    yield Measured(TOTAL, run.seconds + run.counting)
    yield Measured(COUNTING, run.counting)
    yield Measured(ROUNDS, run.seconds)
    yield Measured(PER_ROUND, 1e3 * run.per_round)
    yield Measured(CLOCK, run.elapsed)


def _square(points: Sequence[Point]) -> dict[str, list[Point]]:
    """A curve that grows as the square of the number of attributes, through the last point."""
    last = points[-1]
    values = [(point.at, last.mean * (point.at / last.at) ** 2) for point in points]
    return {"as the square of the attributes": [Point(at, value, value, value) for at, value in values]}


def _far(found: Results) -> Claim:
    most = int(found.numbers("attributes")[-1])
    seconds = found.mean(TOTAL, attributes=most)
    clock = f"by the clock {found.mean(CLOCK, attributes=most):.3g} s"
    return Claim(
        "as many rounds as attributes take less than a minute of CPU time at every number of attributes",
        holds=max(point.mean for point in found.curve("attributes", TOTAL)) < 60.0,
        figures=f"{seconds:.3g} s for {most:,} attributes and {parities_of(most, ORDER):,} candidates; {clock}",
    )


def _counting(found: Results) -> Claim:
    shares = {n: found.mean(COUNTING, attributes=n) / found.mean(TOTAL, attributes=n) for n in _numbers(found)}
    return Claim(
        f"counting the data, {RECORDS:,} records, is less than a fifth of the time at every number of attributes",
        holds=max(shares.values()) < 0.2,
        figures=", ".join(f"{n:,}: {100 * share:.2g}%" for n, share in shares.items()),
    )


def _growth(found: Results) -> Claim:
    steps = {(a, b): _exponent(found, ROUNDS, a, b) for a, b in pairwise(_numbers(found))}
    return Claim(
        "the time of MWEM grows more slowly than rounds times candidates, the third power of the number of attributes",
        holds=max(steps.values(), default=math.inf) < 3.0,
        figures=", ".join(f"{a:,} to {b:,}: power {exponent:.2g}" for (a, b), exponent in steps.items()),
    )


def _rounds(found: Results) -> Claim:
    few, most = _numbers(found)[-min(3, len(_numbers(found)))], _numbers(found)[-1]
    times = found.mean(PER_ROUND, attributes=most) / found.mean(PER_ROUND, attributes=few)
    candidates = parities_of(most, ORDER) / parities_of(few, ORDER)
    return Claim(
        "a round does not go through all candidates one by one: its time grows at most half as much as their number",
        holds=times < 0.5 * candidates,
        figures=f"{times:.2g} times from {few:,} to {most:,} attributes, with {candidates:.3g} times the candidates",
    )


def _errors(found: Results) -> Claim:
    left = [found.mean(MEAN_ERROR, attributes=n) / found.mean(MEAN_BEFORE, attributes=n) for n in _numbers(found)]
    return Claim(
        "so many rounds leave less than half of the mean error of the uniform hypothesis at every number of attributes",
        holds=max(left) < 0.5,
        figures=f"{100 * min(left):.2g}% to {100 * max(left):.2g}%",
    )


def _numbers(found: Results) -> list[int]:
    return [int(each) for each in found.numbers("attributes")]


def _exponent(found: Results, quantity: str, few: int, many: int) -> float:
    times = found.mean(quantity, attributes=many) / found.mean(quantity, attributes=few)
    return math.log(times) / math.log(many / few)
