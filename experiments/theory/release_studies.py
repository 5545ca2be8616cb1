"""Sections 5, 6 and 8 of theory.md: DualQuery, DualQuery on a sample, and the baselines."""

from __future__ import annotations

import math
from functools import partial

from experiments.datasets import DataSets
from experiments.theory.populations import cells_of, largest_error, repeated
from experiments.theory.study import ALPHA, ERROR, Ceiling, Reading, Study
from hedgerow.algorithms.dual_query import BruteForce, DualQuery, Game, Theorem, cost, theorem
from hedgerow.algorithms.independent.fourier import FourierMeasurement, noisy_answers as noisy_cells
from hedgerow.algorithms.independent.independent_noise import IndependentNoise, noisy_answers
from hedgerow.algorithms.small_db import SmallDB
from hedgerow.data import Table
from hedgerow.privacy import ZCDP, ApproxDP, Budget, PureDP, SeededNoise, Subsampled, exact_total
from hedgerow.queries import Conjunction, Neighbours, Workload
from hedgerow.system import generator

_REPLACE = Neighbours.REPLACE
BUDGET = ApproxDP(1.0, 1e-6, _REPLACE)
PURE, ZCDP_HALF = PureDP(1.0, _REPLACE), ZCDP(0.5, _REPLACE)
_ATTRIBUTES = 4
"""Number of attributes of czech for DualQuery: its theorem asks for thousands of draws in each of 1,000 rounds."""
_SLACK = 1.001
"""Records beyond what the cost says: what the rounding of draws costs."""

DUAL = {"source": "2 tau + gamma + eta / 2 + ln|Q| / eta T", "optimised": "the same, re-optimised"}
SAMPLED = "the same on a sample, and its error"
TAIL, QUANTILE = "(m / epsilon n) ln(m / beta)", "quantile of m noises"
GAUSSIAN, SMALL = "quantile of m noises, Gaussian", "alpha + 2 (k ln|X| + ln 1/beta) / epsilon n"
PARITIES = "quantile of K noisy parities"


def few_columns(data: DataSets, number: int) -> Table:
    """The first columns of czech."""
    return data.table("czech", data.domain("czech").names[:number])


def paying(data: DataSets, rule: Theorem, alpha: float) -> Table:
    """Czech, four columns, with as many records as make DualQuery cost epsilon 1 at delta 10^-6."""
    table = few_columns(data, _ATTRIBUTES)
    game = Game.of(cells_of(table), BUDGET, exact_total(table), 0.05)
    spent = cost(theorem(rule, alpha, game), game, BUDGET.regime)
    return repeated(table, math.ceil(_SLACK * math.sqrt(spent / BUDGET.limit)))  # rho falls with the square of n


def dual_query(rule: Theorem, alpha: float, seed: int, data: DataSets) -> list[Reading]:
    """Exact best responses; as many records as the budget asks for."""
    table = paying(data, rule, alpha)
    config = DualQuery(alpha=alpha, constants=rule, oracle=BruteForce(), seed=seed, error_share=0.0)
    return [_dual_reading(config, table, BUDGET, DUAL[rule], seed)]


def sampled(records: float, seed: int, data: DataSets) -> list[Reading]:
    """DualQuery on a secret half of the records, aiming at the smallest alpha that the budget pays for."""
    table = few_columns(data, _ATTRIBUTES)
    table = repeated(table, round(2 * records / exact_total(table)))
    total = int(exact_total(table))
    budget = Subsampled(BUDGET, total // 2, total)
    facts = DualQuery(oracle=BruteForce()).plan(cells_of(table), budget, exact_total(table)).facts
    config = DualQuery(alpha=_SLACK * facts["smallest_alpha"], oracle=BruteForce(), seed=seed)
    return [_dual_reading(config, table, budget, SAMPLED, seed)]


def _dual_reading(config: DualQuery, table: Table, budget: Budget, name: str, seed: int) -> Reading:
    workload = cells_of(table)
    release = config.run(table, workload, budget, noise=SeededNoise(seed))
    bound = float(config.plan(workload, budget, exact_total(table)).facts["bound"])
    error = largest_error(table, workload, workload.answers(release.model))
    return Reading(ERROR, error, (Ceiling(name, bound, config.beta),))


def some_cells(table: Table, number: int, seed: int) -> Workload:
    """So many different cells of three attributes, drawn at random."""
    cells = cells_of(table)
    drawn = generator(seed).choice(cells.n_queries, number, replace=False).tolist()
    asked = [cells.candidate(index) for index in sorted(drawn)]
    return Workload.conjunctions(table.domain, [each for each in asked if isinstance(each, Conjunction)])


def independent(budget: Budget, queries: float, seed: int, data: DataSets) -> list[Reading]:
    """Noise on each of so many answers."""
    table = data.table("nltcs")
    workload, total = some_cells(table, int(queries), seed), exact_total(table)
    config = IndependentNoise(by="query", fit=None)
    facts = config.plan(workload, budget, total).facts
    release = config.run(table, workload, budget, noise=SeededNoise(seed))
    pure, failure = budget is PURE, facts["failure"]
    ceilings = [Ceiling(QUANTILE if pure else GAUSSIAN, facts["bound"] / total, failure)]
    if pure:
        tail = queries / total * math.log(queries / failure)
        ceilings.append(Ceiling(TAIL, tail, failure))
    return [Reading(ERROR, largest_error(table, workload, noisy_answers(release)), tuple(ceilings))]


def parities(order: float, seed: int, data: DataSets) -> list[Reading]:
    """Marginals of noisy Fourier coefficients."""
    table = data.table("nltcs")
    workload = Workload.marginals(table.domain, int(order))
    config = FourierMeasurement(fit=None)
    facts = config.plan(workload, PURE, exact_total(table)).facts
    cells = workload.by_query()
    error = largest_error(table, cells, noisy_cells(config.run(table, workload, PURE, noise=SeededNoise(seed))))
    return [Reading(ERROR, error, (Ceiling(PARITIES, facts["bound"] / exact_total(table), facts["failure"]),))]


def small_db(size: float, seed: int, data: DataSets) -> list[Reading]:
    """The best database of so many records, over two binary attributes."""
    table = few_columns(data, 2)
    workload, config = Workload.marginals(table.domain, 2, whole=False), SmallDB(size=int(size), error_share=0.0)
    facts = config.plan(workload, PURE, exact_total(table)).facts
    release = config.run(table, workload, PURE, noise=SeededNoise(seed))
    error = largest_error(table, workload, workload.answers(release.model))
    return [Reading(ERROR, error, (Ceiling(SMALL, facts["bound"] / exact_total(table), facts["failure"]),))]


_RULES: tuple[Theorem, ...] = ("source", "optimised")
_ALPHAS = (0.9, 0.7, 0.5, 0.35)
_MANY = (16, 64, 256, 1024)

_SAMPLES = tuple(1841 * times for times in (3, 10, 30, 100))

STUDIES = (
    *(Study("dual query", f"dual-query ({rule})", ALPHA, _ALPHAS, partial(dual_query, rule), 5) for rule in _RULES),
    Study("sample", "dual-query (on a sample)", "records of the sample m", _SAMPLES, sampled, 5),
    Study("noise", "laplace", "queries m", _MANY, partial(independent, PURE)),
    Study("noise", "gaussian", "queries m", _MANY, partial(independent, ZCDP_HALF)),
    Study("parities", "fourier", "attributes of a marginal", (1, 2, 3), parities),
    Study("small databases", "small-db", "records k of the database", (4, 8, 16, 32, 64), small_db),
)
