"""Sections 3 and 4 of theory.md: private multiplicative weights, offline and online."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from experiments.datasets import DataSets
from experiments.theory.populations import alike, cells_of, largest_error, repeated
from experiments.theory.study import ALPHA, ERROR, UPDATES, Ceiling, Reading, Study
from hedgerow.algorithms.offline_pmw import OfflinePMW
from hedgerow.algorithms.online_pmw import OnlinePMW, OnlineSession, Variant
from hedgerow.data import Table
from hedgerow.models import Step
from hedgerow.privacy import ApproxDP, Budget, PureDP, SeededNoise, exact_answers, exact_total
from hedgerow.queries import Explicit, LinearQuery, Neighbours, Workload
from hedgerow.system import generator

_REPLACE = Neighbours.REPLACE
PURE, APPROXIMATE = PureDP(1.0, _REPLACE), ApproxDP(1.0, 1e-6, _REPLACE)
UNDER_ONE = ApproxDP(0.9, 1e-6, _REPLACE)
"""The composition theorem of variant 4a is stated for epsilon below 1."""

OFFLINE = "4 alpha"
"""Or alpha, where all rounds are made."""
MOST = {"source": "most updates L", "sharp": "most updates L, sharp step"}
_CZECH, _MILLION = 1841, 1e6
QUESTIONS = 320
"""In a session: all cells of three attributes, the worst first, each followed by one that errs near the threshold."""


def enough(data: DataSets, config: OfflinePMW, share: float, *, same: bool) -> Table:
    """A table of as many records as the promise asks for, or of a multiple of these."""
    table = data.table("czech")
    needed = share * config.plan(cells_of(table), PURE, exact_total(table)).facts["records_required"]
    return alike(table.domain, math.ceil(needed)) if same else repeated(table, math.ceil(needed / exact_total(table)))


def offline(
    step: Step, alpha: float, seed: int, data: DataSets, *, share: float = 1.0, same: bool = False
) -> list[Reading]:
    """The promise of offline PMW, and how many updates it took."""
    config = OfflinePMW(alpha=alpha, step=step, error_share=0.0)
    table = enough(data, config, share, same=same)
    release = config.run(table, cells_of(table), PURE, noise=SeededNoise(seed))
    facts = release.provenance.parameters
    chosen = facts["chosen"]
    bound = Ceiling(OFFLINE, (4.0 if facts["stopped"] else 1.0) * alpha, chosen["failure"])
    error = largest_error(table, release.workload, release.workload.answers(release.model))
    most = Ceiling(MOST[step], chosen["rounds"], chosen["failure"])
    return [Reading(ERROR, error, (bound,)), Reading(UPDATES, facts["updates"], (most,))]


def fewer(share: float, seed: int, data: DataSets) -> list[Reading]:
    """The same with a share of the records that the promise asks for."""
    error, _ = offline("sharp", _FIXED, seed, data, share=share)
    return [error]


_FIXED = 0.05
"""Alpha where the number of records varies."""


@dataclass(frozen=True)
class Sessions:
    """Online PMW by one theorem.

    Attributes:
        run: Its name.
        variant: Variant of theory.md section 4.
        budget: Budget of a session.
        bound: Name of its error bound.
        least: Number of times that the smallest table holds every record of czech.
    """

    run: str
    variant: Variant
    budget: Budget
    bound: str
    least: int

    def study(self, topic: str) -> Study:
        """Along the number of records, up to a thousand times as many."""
        places = tuple(_CZECH * self.least * 10**k / _MILLION for k in range(4))
        return Study(topic, self.run, "records n (millions)", places, self.read)

    def read(self, millions: float, seed: int, data: DataSets) -> list[Reading]:
        """A session with someone who knows the table and asks what the hypothesis gets wrong."""
        table = repeated(data.table("czech"), round(millions * _MILLION / _CZECH))
        config = OnlinePMW(self.variant, queries=QUESTIONS, step="theorem")
        session = config.start(table, self.budget, noise=SeededNoise(seed))
        error, rules = Adversary(table, session, seed).largest_error(), session.rules
        bound = Ceiling(self.bound, (rules.error or math.inf) / exact_total(table), config.beta)
        most = Ceiling(f"most updates c, {self.variant}", rules.updates, config.beta)
        return [Reading(ERROR, error, (bound,)), Reading(UPDATES, rules.updates - session.updates_left, (most,))]


class Adversary:
    """Asks all cells of three attributes, the worst first, and after each a query that errs near the threshold."""

    def __init__(self, table: Table, session: OnlineSession, seed: int) -> None:
        """Look at the table."""
        self._session, self._random, self._total = session, generator(seed), exact_total(table)
        self._pool = cells_of(table)
        self._everything = Workload.marginals(table.domain, len(table.domain), whole=False)
        self._exact, self._cells = exact_answers(table, self._pool), exact_answers(table, self._everything)
        self._left = np.ones(self._pool.n_queries, dtype=bool)
        self._look()

    def largest_error(self) -> float:
        """Largest error of all answers, as a share of the records."""
        errors = [each() for _ in range(QUESTIONS // 2) for each in (self._worst, self._near_threshold)]
        return max(errors) / self._total

    def _look(self) -> None:
        model = self._session.model
        self._guesses, self._missing = self._pool.answers(model), self._cells - self._everything.answers(model)

    def _worst(self) -> float:
        errors = np.where(self._left, np.abs(self._guesses - self._exact), -1.0)
        chosen = int(errors.argmax())
        self._left[chosen] = False
        query = self._pool.candidate(chosen)
        return self._ask(cast("LinearQuery", query), float(self._exact[chosen]))

    def _near_threshold(self) -> float:
        """A share of all cells that the hypothesis has too few records in, so that the error is about the threshold."""
        short = self._missing > 0.0
        wanted = float(self._random.uniform(0.5, 1.5)) * self._session.rules.threshold_at(1)
        share = min(1.0, wanted / float(self._missing[short].sum()))
        values = np.where(short, share, 0.0)
        query = Explicit.of(self._session.domain, self._session.domain.names, values)
        return self._ask(query, float(values @ self._cells))

    def _ask(self, query: LinearQuery, exact: float) -> float:
        answer = self._session.ask(query)
        if answer.source == "data":
            self._look()
        return abs(answer.value - exact)


_ALPHAS = (0.1, 0.07, 0.05, 0.035)
_SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)
STEPS: tuple[Step, ...] = ("source", "sharp")

STUDIES = (
    *(Study("offline", f"pmw ({step} step)", ALPHA, _ALPHAS, partial(offline, step)) for step in STEPS),
    *(
        Study("offline", f"pmw ({step} step), records alike", ALPHA, _ALPHAS, partial(offline, step, same=True))
        for step in STEPS
    ),
    Study("too few records", "pmw (sharp step)", "share of the records required", _SHARES, fewer),
    Sessions("online 4a (pure)", "4a", PURE, "3 alpha, 4a pure", 1000).study("online 4a"),
    Sessions("online 4a (with delta)", "4a", UNDER_ONE, "3 alpha, 4a with delta", 100).study("online 4a"),
    Sessions("online 4b (with delta)", "4b", APPROXIMATE, "a + 2 alpha_t, 4b", 10).study("online 4b, 4c"),
    Sessions("online 4c (pure)", "4c", PURE, "a + 2 alpha_t, 4c", 10).study("online 4b, 4c"),
)
