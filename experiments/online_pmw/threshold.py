"""The threshold T = 2 alpha_s of the source of online multiplicative weights, which fails where alpha_s < alpha."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from experiments.datasets import DataSets
from experiments.experiment import (
    REPETITION,
    Cell,
    Claim,
    Drawing,
    Experiment,
    Measured,
    Size,
    Tolerance,
    seed_of,
)
from experiments.online_pmw.adult import COLUMNS, RECORDS, random_condition
from experiments.online_pmw.source_loop import Numbers, source_loop
from experiments.results import Results
from hedgerow.algorithms.online_pmw import Stream, best_two_sided_rules, sparse_error, two_sided_rules
from hedgerow.domain import Domain
from hedgerow.privacy import PureDP, exact_answers, exact_total
from hedgerow.queries import Conjunction, Neighbours, Workload
from hedgerow.report import Panel, Point
from hedgerow.system import generator

EPSILON, BETA = 1.0, 0.05
SETTINGS = {"education": (("education",), 0.3), "six attributes": (COLUMNS, 0.25)}
"""Attributes of Adult and alpha: 16 cells and c = 123, as in theory.md; 100,800 cells and c = 737."""

SOURCE, CORRECTED, SMALLEST = "T = 2 alpha_s", "T = 2 max(alpha, alpha_s)", "alpha = alpha_s"
RULES = (SOURCE, CORRECTED, SMALLEST)

FIRES, UPDATES, RATIO = "fires", "c", "fires as a multiple of c"
SO_FAR = "fires so far"
SPARSE, ALPHA = "alpha_s", "alpha"
LARGEST, PROMISED, EXCESS = "largest error", "promised error", "largest error as a multiple of the promised one"

FACTORS = {
    Size.FULL: (10, 30, 100, 300, 1_000, 3_000, 10_000),
    Size.QUICK: (10, 100, 1_000, 10_000),
    Size.TINY: (10, 10_000),
}
"""Multiples of the number of records of Adult."""
COPIES = f"copies of {RECORDS:,} records"
REPETITIONS = {Size.FULL: 5, Size.QUICK: 2, Size.TINY: 1}
QUESTIONS = {Size.FULL: 20_000, Size.QUICK: 20_000, Size.TINY: 1_000}
_MARKS = (10, 30, 100, 300, 1_000, 3_000, 20_000)


class FailingThreshold(Experiment):
    """Random conditions about Adult, put to variant 4a with three rules for alpha and T, without a limit on updates."""

    name: ClassVar[str] = "online-pmw-threshold"
    title: ClassVar[str] = "The threshold of the source of online PMW"
    source: ClassVar[str] = (
        "Lecture notes after C. Dwork, A. Roth 2014, algorithms 5 and 6; theory.md section 4, errata"
    )
    grid: ClassVar[tuple[str, ...]] = ("setting", "rule", "records", "questions", REPETITION)
    within: ClassVar[tuple[str, ...]] = ("asked",)
    tolerances: ClassVar[Mapping[str, Tolerance]] = {
        UPDATES: Tolerance(relative=1e-6),
        SPARSE: Tolerance(relative=1e-6),
        ALPHA: Tolerance(relative=1e-6),
        PROMISED: Tolerance(relative=1e-6),
        FIRES: Tolerance(relative=0.1, absolute=5.0),
        RATIO: Tolerance(relative=0.1, absolute=0.05),
        SO_FAR: Tolerance(relative=0.2, absolute=5.0),
        LARGEST: Tolerance(relative=0.3),
        EXCESS: Tolerance(relative=0.3),
    }

    def cells(self, size: Size) -> Sequence[Cell]:
        """The same questions for all rules and numbers of records."""
        return [
            {
                "setting": setting,
                "rule": rule,
                "records": factor * RECORDS,
                "questions": QUESTIONS[size],
                REPETITION: repetition,
            }
            for repetition in range(1, REPETITIONS[size] + 1)
            for setting in SETTINGS
            for rule in RULES
            for factor in FACTORS[size]
        ]

    def measure(self, cell: Cell, data: DataSets) -> Iterable[Measured]:
        """Fires without a limit; errors of the mechanism, which answers from its hypothesis alone after c fires."""
        columns, _ = SETTINGS[str(cell["setting"])]
        table = data.table("adult", columns)
        questions = questions_of(cell, table.domain)
        exact = exact_answers(table, Workload.conjunctions(table.domain, questions)) / exact_total(table)
        by, alpha_s = numbers_of(cell, table.domain)
        course = source_loop(table.domain, questions, exact, by, seed_of(self.name, cell))
        fires, largest = np.cumsum(course.fired), float(np.abs(course.answers - exact).max())
        yield Measured(ALPHA, 2.0 * by.step)
        yield Measured(SPARSE, alpha_s)
        yield Measured(UPDATES, by.updates)
        yield Measured(FIRES, float(fires[-1]))
        yield Measured(RATIO, float(fires[-1]) / by.updates)
        yield Measured(PROMISED, 1.5 * by.threshold)
        yield Measured(LARGEST, largest)
        yield Measured(EXCESS, largest / (1.5 * by.threshold))
        for mark in _MARKS:
            if mark <= len(fires):
                yield Measured(SO_FAR, float(fires[mark - 1]), {"asked": mark})

    def claims(self, found: Results) -> list[Claim]:
        """The source's two theorems under each of the three rules, and where the first one breaks."""
        both = [claim for rule in found.texts("rule") for claim in _theorems(rule, found.where(rule=rule))]
        return [*both, _breaking(found.where(rule=SOURCE))]

    def drawings(self, found: Results) -> dict[str, Drawing]:
        """Fires against questions for the largest number of records; fires and errors against records."""
        settings = found.texts("setting")
        fires = [panel for setting in settings for panel in _fires(setting, found.where(setting=setting))]
        errors = [_errors(setting, found.where(setting=setting)) for setting in settings]
        return {
            "fires": Drawing(
                fires,
                COPIES,
                "Fires of tests without a limit on the updates, and all of them as a multiple of c: above 1 the "
                "mechanism uses up its updates before the last question. Averages of less than one fire are not drawn.",
            ),
            "errors": Drawing(
                errors, COPIES, "Largest error of the mechanism as a multiple of the error that it promises."
            ),
        }


def questions_of(cell: Cell, domain: Domain) -> list[Conjunction]:
    """Random conditions, the same for all rules and numbers of records."""
    draw = generator(seed_of("questions", {name: cell[name] for name in ("setting", "questions", REPETITION)}))
    return [random_condition(domain, draw) for _ in range(int(cell["questions"]))]


def numbers_of(cell: Cell, domain: Domain) -> tuple[Numbers, float]:
    """The numbers that a rule derives from the public quantities of a cell, and alpha_s.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> cell = {"setting": "education", "rule": SOURCE, "records": 48_842_000, "questions": 20_000}
        >>> by, alpha_s = numbers_of(cell, Domain((IntegerRange("education", 0, 15),)))
        >>> by.updates, by.step, by.threshold == 2.0 * alpha_s
        (123, 0.15, True)
    """
    records, budget = float(cell["records"]), PureDP(EPSILON, Neighbours.REPLACE)
    stream = Stream(records, math.log(domain.size), int(cell["questions"]), BETA)
    _, alpha = SETTINGS[str(cell["setting"])]
    best = cell["rule"] == SMALLEST
    rules = best_two_sided_rules(stream, budget, EPSILON) if best else two_sided_rules(stream, budget, EPSILON, alpha)
    alpha_s = sparse_error(stream, budget, rules.updates)
    threshold = 2.0 * alpha_s if cell["rule"] == SOURCE else rules.threshold / records
    return Numbers.of(rules, records, threshold), alpha_s


def _theorems(rule: str, found: Results) -> list[Claim]:
    """Both theorems under one rule, at their worst of each setting."""
    named = {SMALLEST: f"{SMALLEST}, T = 2 alpha_s"}.get(rule, rule)
    fires, excess = ([_worst(quantity, each) for each in _settings(found)] for quantity in (RATIO, EXCESS))
    return [
        Claim(
            f"{named}: no more than c questions fire",
            holds=all(worst.mean(RATIO) <= 1.0 for worst in fires),
            figures="; ".join(
                f"{_name(worst)}: {worst.mean(FIRES):,.0f} of {worst.numbers('questions')[0]:,.0f}, "
                f"c = {worst.mean(UPDATES):,.0f}"
                for worst in fires
            ),
        ),
        Claim(
            f"{named}: no answer is off by more than {'3 max(alpha, alpha_s)' if rule == CORRECTED else '3 alpha_s'}",
            holds=all(worst.mean(EXCESS) <= 1.0 for worst in excess),
            figures="; ".join(
                f"{_name(worst)}: {worst.mean(LARGEST):.2g} against {worst.mean(PROMISED):.2g}" for worst in excess
            ),
        ),
    ]


def _breaking(found: Results) -> Claim:
    """Where an update of a question that is off by alpha_s is sure to lower the potential, c is not passed."""
    cases = [each.where(records=int(n)) for each in _settings(found) for n in each.numbers("records")]
    broken = [each.mean(SPARSE) / each.mean(ALPHA) for each in cases if each.mean(RATIO) > 1.0]
    return Claim(
        f"{SOURCE}: c is passed only where alpha_s < alpha / 16, so that an update may raise the potential",
        holds=all(ratio < 1.0 / 16.0 for ratio in broken),
        figures=f"passed for {len(broken)} of {len(cases)} numbers of records; largest alpha_s / alpha of these: "
        f"{max(broken, default=math.nan):.2g}",
    )


def _settings(found: Results) -> list[Results]:
    return [found.where(setting=setting) for setting in found.texts("setting")]


def _worst(quantity: str, found: Results) -> Results:
    """The number of records at which a quantity is largest."""
    return max((found.where(records=int(n)) for n in found.numbers("records")), key=lambda each: each.mean(quantity))


def _name(found: Results) -> str:
    return f"{found.texts('setting')[0]}, n = {found.numbers('records')[0]:,.0f}"


def _drawn(found: Results, along: str, quantity: str) -> dict[str, list[Point]]:
    curves = {rule: found.curve(along, quantity, rule=rule) for rule in found.texts("rule")}
    unit = RECORDS if along == "records" else 1
    least = 1.0 if quantity == SO_FAR else 1e-9
    return {
        rule: [replace(point, at=point.at / unit) for point in points if point.mean >= least]
        for rule, points in curves.items()
    }


def _fires(setting: str, found: Results) -> list[Panel]:
    most = int(found.numbers("records")[-1])
    last = found.where(records=most)
    c = last.mean(UPDATES, rule=SOURCE)
    return [
        Panel(
            f"{setting}, n = {most:,}",
            "questions that fired",
            _drawn(last, "asked", SO_FAR),
            {"c at the given alpha": c},
            along="questions asked",
        ),
        Panel(f"{setting}, all questions", "fires / c", _drawn(found, "records", RATIO), {"fires = c": 1.0}),
    ]


def _errors(setting: str, found: Results) -> Panel:
    return Panel(setting, "largest error / promised error", _drawn(found, "records", EXCESS), {"the promise": 1.0})
