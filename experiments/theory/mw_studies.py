"""Sections 1, 2 and 7 of theory.md: multiplicative weights, MWEM, and games."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from experiments.datasets import DataSets
from experiments.theory.mwem_theorems import corollary_2_5, theorem_2_3
from experiments.theory.populations import alike, cells_of, largest_error, repeated
from experiments.theory.study import ALPHA, ERROR, GAP, UPDATES, Ceiling, Reading, Study
from hedgerow.algorithms.mwem import MWEM, Rounds
from hedgerow.algorithms.offline_pmw import most_rounds, step_length
from hedgerow.algorithms.shared import hypothesis_error, task_of
from hedgerow.algorithms.small_db import answers_of
from hedgerow.algorithms.yardsticks import MultiplicativeWeights, solve_game
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.models import Histogram, Step
from hedgerow.privacy import ZCDP, Budget, PureDP, SeededNoise, exact_answers, exact_total
from hedgerow.queries import Neighbours
from hedgerow.system import generator

if TYPE_CHECKING:
    from hedgerow.queries import LinearQuery

COLUMNS = 8
"""Number of attributes, out of the sixteen of nltcs."""
ROWS = 64
"""Choices of either player of a game."""
_REPLACE = Neighbours.REPLACE
_TIMES = 10

STEPS: tuple[Step, ...] = ("source", "sharp")
CLAIM = {"source": "claim 1", "sharp": "claim 1, sharp step"}
MOST = {"source": "most updates L", "sharp": "most updates L, sharp step"}
PRINTED, GENERAL, GENERAL_SHARP = "theorem 2.3, c = 1", "theorem 2.3, any beta", "theorem 2.3, any beta, sharp step"
SOURCE = "mwem (source step)"
BALANCED, CONCENTRATED, REGRET = "corollary 2.5", "corollary 2.6, zCDP", "root of 2 ln N / T"


def subset(data: DataSets, seed: int) -> Table:
    """Eight columns of nltcs, drawn at random."""
    names = data.domain("nltcs").names
    drawn = sorted(generator(seed).choice(len(names), COLUMNS, replace=False).tolist())
    return data.table("nltcs", tuple(names[index] for index in drawn))


def first_columns(data: DataSets, times: int = 1) -> Table:
    """The first eight columns of nltcs, every record so many times."""
    return repeated(data.table("nltcs", data.domain("nltcs").names[:COLUMNS]), times)


def without_noise(step: Step, rounds: float, seed: int, data: DataSets, *, same: bool = False) -> list[Reading]:
    """Claim 1."""
    table = alike(first_columns(data).domain, 1000) if same else subset(data, seed)
    workload, total = cells_of(table), exact_total(table)
    model = MultiplicativeWeights(int(rounds), step).run(table, workload).model
    bound = hypothesis_error(task_of(workload, total, _REPLACE), int(rounds), step) / total
    error = largest_error(table, workload, workload.answers(model))
    return [Reading(ERROR, error, (Ceiling(CLAIM[step], bound),))]


def fixed_steps(step: Step, alpha: float, seed: int, data: DataSets, *, same: bool = False) -> list[Reading]:
    """Number of steps of fixed length until no query errs by alpha."""
    table = alike(first_columns(data).domain, 1000) if same else subset(data, seed)
    workload, total, made = cells_of(table), exact_total(table), 0
    exact, model = exact_answers(table, workload), Histogram(table.domain, float(exact_total(table)))
    gaps = (exact - workload.answers(model)) / total
    while np.abs(gaps).max() >= alpha:
        worst = int(np.abs(gaps).argmax())
        query = cast("LinearQuery", workload.candidate(worst))
        model.update(query, math.copysign(step_length(alpha, step), gaps[worst]))
        made += 1
        gaps = (exact - workload.answers(model)) / total
    return [Reading(UPDATES, made, (Ceiling(MOST[step], most_rounds(alpha, table.domain.size, step)),))]


def mwem(rounds: Rounds, step: Step = "source") -> MWEM:
    """As the theorem has it: the average, no fit to older answers, no offsets, everything may be measured again."""
    return MWEM(rounds, step=step, refit=None, output="average", offsets=False, repeats=True, error_share=0.0)


def error_of(config: MWEM, table: Table, budget: Budget, seed: int) -> float:
    """Error of one run, as a share of the records."""
    workload = cells_of(table)
    release = config.run(table, workload, budget, noise=SeededNoise(seed))
    return largest_error(table, workload, workload.answers(release.model))


def theorem(step: Step, rounds: float, seed: int, data: DataSets) -> list[Reading]:
    """Theorem 2.3 as printed, and at a chosen failure probability."""
    table, budget, config = first_columns(data, _TIMES), PureDP(1.0, _REPLACE), mwem(int(rounds), step)
    total, workload = exact_total(table), cells_of(table)
    bound = config.plan(workload, budget, total).bound
    printed, probability = theorem_2_3(task_of(workload, total, _REPLACE), 1.0, int(rounds))
    ceilings = [Ceiling(GENERAL if step == "source" else GENERAL_SHARP, bound.error / total, bound.failure)]
    if step == "source":
        ceilings.insert(0, Ceiling(PRINTED, printed / total, 1.0 - probability))
    return [Reading(ERROR, error_of(config, table, budget, seed), tuple(ceilings))]


def balanced(records: float, seed: int, data: DataSets) -> list[Reading]:
    """Corollary 2.5: the rounds that balance the theorem."""
    table = first_columns(data, round(records / exact_total(first_columns(data))))
    task = task_of(cells_of(table), exact_total(table), _REPLACE)
    rounds, bound = corollary_2_5(task, 1.0)
    failure = min(1.0, 2.0 * rounds / task.candidates)
    error = error_of(mwem(rounds), table, PureDP(1.0, _REPLACE), seed)
    general = mwem(rounds).plan(cells_of(table), PureDP(1.0, _REPLACE), exact_total(table)).bound
    ceilings = (
        Ceiling(BALANCED, bound / exact_total(table), failure),
        Ceiling(GENERAL, general.error / exact_total(table), general.failure),
    )
    return [Reading(ERROR, error, ceilings)]


def concentrated(rho: float, seed: int, data: DataSets) -> list[Reading]:
    """Corollary 2.6, with the rounds whose bound is smallest."""
    table, budget, config = first_columns(data), ZCDP(rho, _REPLACE), mwem("bound")
    bound = config.plan(cells_of(table), budget, exact_total(table)).bound
    ceiling = Ceiling(CONCENTRATED, bound.error / exact_total(table), bound.failure)
    return [Reading(ERROR, error_of(config, table, budget, seed), (ceiling,))]


def random_game(rounds: float, seed: int, data: DataSets) -> list[Reading]:
    """Payoffs of 1 and -1, drawn at random; no data are looked at."""
    payoffs = generator(seed).choice((-1.0, 1.0), (ROWS, ROWS))
    return [_game_reading(payoffs, int(rounds))]


def release_game(rounds: float, seed: int, data: DataSets) -> list[Reading]:
    """Rows are cells, columns the queries and their complements; they pay the error of a query on a cell."""
    table = data.table("czech")
    workload = cells_of(table)
    answers = answers_of(workload, np.arange(table.domain.size)[:, np.newaxis])
    errors = answers - exact_answers(table, workload) / exact_total(table)
    return [_game_reading(np.hstack([errors, -errors]), int(rounds))]


def _game_reading(payoffs: Floats, rounds: int) -> Reading:
    found = solve_game(payoffs, rounds=rounds)
    return Reading(GAP, found.gap, (Ceiling(REGRET, found.bound),))


def _pair(topic: str, parameter: str, places: tuple[float, ...], read: Callable[..., list[Reading]]) -> Iterator[Study]:
    """Both steps, on columns of a public table that are drawn at random, and where all records are alike."""
    for step in STEPS:
        yield Study(topic, f"mw ({step} step)", parameter, places, partial(read, step))
        yield Study(topic, f"mw ({step} step), records alike", parameter, places, partial(read, step, same=True), 1)


_LENGTHS = (0.3, 0.2, 0.1, 0.05)
_ROUNDS = (16, 64, 256, 1024)

STUDIES = (
    *(_pair("claim 1", "rounds T", (4, *_ROUNDS[:3]), without_noise)),
    *(_pair("updates", ALPHA, _LENGTHS, fixed_steps)),
    *(Study("theorem 2.3", f"mwem ({step} step)", "rounds T", _ROUNDS, partial(theorem, step)) for step in STEPS),
    Study("corollary 2.5", SOURCE, "records n", tuple(21_574 * times for times in (1, 4, 16, 64)), balanced),
    Study("corollary 2.6", SOURCE, "rho", (1e-4, 1e-3, 1e-2, 1e-1), concentrated),
    Study("games", "hedge (random payoffs)", "rounds T", (*_ROUNDS, 4096), random_game),
    Study("games", "hedge (queries of czech)", "rounds T", (*_ROUNDS, 4096), release_game, 1),
)
