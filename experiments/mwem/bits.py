"""MWEM, figure 7: Adult as 27 binary attributes, alone and with 50 irrelevant ones, round by round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from experiments.datasets import DataSets
from experiments.experiment import Cell, Claim, Drawing, Experiment, Measured, Size, Tolerance, seed_of
from experiments.mwem.binary import adult_bits
from experiments.mwem.timing import cells_of, timed_run
from experiments.results import Results
from hedgerow.algorithms.mwem import MWEM
from hedgerow.algorithms.shared import RoundReport
from hedgerow.comparison import LARGEST, MEAN, Yardstick
from hedgerow.data import Table
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import Parities, Workload, parity_scopes
from hedgerow.report import Panel

BITS, COINS = 27, 50
ORDER = 3
"""Candidates are the parities of up to so many attributes."""
BUDGET = PureDP(1.0)
ALONE = "27 attributes"
BESIDE = "77 attributes, 50 that no query names"
AMONG = "77 attributes, all in the queries"
TABLES = (ALONE, BESIDE, AMONG)
ROUNDS = {Size.FULL: 60, Size.QUICK: 30, Size.TINY: 6}
REPETITIONS = {Size.FULL: 5, Size.QUICK: 3, Size.TINY: 1}

SECONDS, COUNTING = "MWEM, CPU seconds", "counting the data, CPU seconds"
CANDIDATES, LARGEST_BEFORE = "candidates", "largest error before the first round"
ROUND = "CPU milliseconds"
LARGEST_ERROR, MEAN_ERROR = "largest error", "mean error"
CELLS = "cells"
ALL_CELLS = 2**BITS


class AdultBits(Experiment):
    """Adult in bits with parities of up to three attributes: what a round takes, holds and leaves."""

    name: ClassVar[str] = "mwem-figure-7"
    title: ClassVar[str] = "MWEM with irrelevant attributes"
    source: ClassVar[str] = "M. Hardt, K. Ligett, F. McSherry 2012, figure 7"
    grid: ClassVar[tuple[str, ...]] = ("table", "rounds", "repetition")
    within: ClassVar[tuple[str, ...]] = ("round",)
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        CANDIDATES: Tolerance(),
        LARGEST_BEFORE: Tolerance(relative=1e-5),
        LARGEST_ERROR: Tolerance(relative=0.4, absolute=0.02),
        MEAN_ERROR: Tolerance(relative=0.2, absolute=0.005),
    }
    alone: ClassVar[bool] = True

    def cells(self, size: Size) -> Sequence[Cell]:
        """The three tables; a run is one cell."""
        return [
            {"table": table, "rounds": ROUNDS[size], "repetition": repetition}
            for repetition in range(1, REPETITIONS[size] + 1)
            for table in TABLES
        ]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """One run that is looked at after every round, and the same run again, which is timed.

        What was asked of the hypothesis in between would be kept, and save time in the next round.
        """
        repetition, name = cell["repetition"], str(cell["table"])
        table = adult_bits(data, 0 if name == ALONE else COINS, seed=int(repetition))
        workload = candidates(table, name)
        seed, config = seed_of(self.name, {"repetition": repetition}), MWEM(rounds=int(cell["rounds"]))
        looks = Looks(table)
        config.run(table, workload, BUDGET, noise=SeededNoise(seed), progress=looks.look)
        run = timed_run(table, workload, config, BUDGET, noise=SeededNoise(seed))
        yield Measured(SECONDS, run.seconds)
        yield Measured(COUNTING, run.counting)
        yield Measured(CANDIDATES, workload.n_candidates)
        yield Measured(LARGEST_BEFORE, looks.before)
        yield from (Measured(ROUND, 1e3 * each, {"round": t}) for t, each in enumerate(run.rounds, 1))
        yield from looks.told

    def claims(self, found: Results) -> list[Claim]:
        """Cost of irrelevant attributes, size of the hypothesis, and remaining errors."""
        return [_unnamed(found), _named(found), _cells(found), _falls(found), _same(found), _near(found)]

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Times, errors and cells against rounds."""

        def panel(title: str, quantity: str, unit: str, lines: Mapping[str, float]) -> Panel:
            curves = {name: found.curve("round", quantity, table=name) for name in found.texts("table")}
            return Panel(title, unit, curves, lines=lines, scales=("linear", "log"))

        panels = [
            panel("Time of a round", ROUND, "CPU milliseconds, all threads", {}),
            panel(
                "Parities of up to three of Adult's attributes",
                LARGEST_ERROR,
                "largest error, share of the records",
                {},
            ),
            panel("The hypothesis", CELLS, "cells that it holds", {"2^27 cells": ALL_CELLS}),
        ]
        caption = "Every round of MWEM on Adult as 27 binary attributes, and with 50 fair coins for each record."
        return {"": Drawing(panels, "round", caption)}


def adults(table: Table) -> Workload:
    """The parities of up to three of Adult's 27 attributes, in a domain that may have more."""
    narrow = table.domain.project(table.domain.names[:BITS])
    return Workload([Parities(table.domain, parity_scopes(narrow, ORDER))])


def candidates(table: Table, name: str) -> Workload:
    """The candidates: the parities of Adult's attributes, or of all."""
    return Workload.parities(table.domain, ORDER) if name == AMONG else adults(table)


class Looks:
    """Remaining errors of Adult's parities after each round, and the size of the hypothesis.

    Args:
        table: The records.

    Attributes:
        told: Measurements so far.
    """

    def __init__(self, table: Table) -> None:
        """Count nothing yet."""
        self._workload = adults(table)
        self._yardstick = Yardstick(table, self._workload)
        self.told: list[Measured] = []

    @property
    def before(self) -> float:
        """The largest error of the uniform hypothesis."""
        return self._yardstick.uniform()[LARGEST]

    def look(self, report: RoundReport) -> None:
        """Ask the hypothesis of a round."""
        model, where = report.hypothesis, {"round": report.round}
        if model is not None:
            errors = self._yardstick.errors(self._workload.answers(model), model.total)
            self.told += [
                Measured(LARGEST_ERROR, errors[LARGEST], where),
                Measured(MEAN_ERROR, errors[MEAN], where),
                Measured(CELLS, cells_of(model), where),
            ]


def _per_round(found: Results, name: str, quantity: str) -> list[float]:
    return [point.mean for point in found.curve("round", quantity, table=name)]


def _times(found: Results, name: str, quantity: str) -> float:
    return _once(found, name, quantity) / _once(found, ALONE, quantity)


def _once(found: Results, name: str, quantity: str) -> float:
    return found.mean(quantity, table=name)


def _unnamed(found: Results) -> Claim:
    times = _times(found, BESIDE, SECONDS)
    return Claim(
        f"{COINS} irrelevant attributes that no query names cost next to no time in MWEM: less than half as much again",
        holds=times < 1.5,
        figures=f"{times:.2f} times the time of all rounds",
    )


def _named(found: Results) -> Claim:
    times, more = (_times(found, AMONG, quantity) for quantity in (SECONDS, CANDIDATES))
    return Claim(
        "where the queries are about them as well, the time grows at most a quarter as much as the candidates",
        holds=times < 0.25 * more,
        figures=f"{times:.2f} times the time for {more:.3g} times the candidates",
    )


def _cells(found: Results) -> Claim:
    most = {name: max(_per_round(found, name, CELLS)) for name in found.texts("table")}
    return Claim(
        "the hypothesis never holds more than a thousandth of 2^27 cells",
        holds=max(most.values()) < ALL_CELLS / 1000,
        figures="; ".join(f"{name}: {cells:,.0f} at most" for name, cells in most.items()),
    )


def _falls(found: Results) -> Claim:
    left = {name: _per_round(found, name, LARGEST_ERROR)[-1] for name in found.texts("table")}
    before = _once(found, ALONE, LARGEST_BEFORE)
    return Claim(
        "the largest error after the last round is less than a quarter of that before the first, with irrelevant "
        "attributes as without",
        holds=max(left.values()) < before / 4,
        figures=f"{before:.2f} before; " + "; ".join(f"{name}: {error:.3f}" for name, error in left.items()),
    )


def _same(found: Results) -> Claim:
    gaps = [
        abs(a - b) for a, b in zip(*(_per_round(found, name, LARGEST_ERROR) for name in (ALONE, BESIDE)), strict=True)
    ]
    return Claim(
        "attributes that no query names change no error at all: with the same noise every round is the same",
        holds=max(gaps) < 1e-9,
        figures=f"largest difference {max(gaps):.2g}",
    )


def _near(found: Results) -> Claim:
    ratio = _per_round(found, AMONG, MEAN_ERROR)[-1] / _per_round(found, ALONE, MEAN_ERROR)[-1]
    return Claim(
        "where the queries are about the irrelevant attributes as well, the mean error of Adult's own parities after "
        "the last round is at most a quarter larger",
        holds=ratio < 1.25,
        figures=f"{ratio:.2f} times",
    )
