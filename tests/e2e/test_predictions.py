"""What a release predicts about itself comes true as often as it says.

Each test runs the whole job with different noise and counts how often a statement with confidence c fails; more
failures than its bound happen with a chance below one in a million if the statement is honest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import hedgerow
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.queries import Conjunction, Workload
from hedgerow.release import Release

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
CONFIDENCE = 0.8
FALSE_FAILURE = 1e-6


def most_failures(runs: int) -> int:
    return int(stats.binom.isf(FALSE_FAILURE, runs, 1 - CONFIDENCE))


@dataclass(frozen=True)
class Case:
    """A table, what is asked of it, and releases with different noise."""

    table: Table
    workload: Workload
    budget: hedgerow.PureDP | hedgerow.ApproxDP
    runs: int

    def releases(self) -> list[Release]:
        return [
            hedgerow.MWEM().run(self.table, self.workload, self.budget, noise=hedgerow.SeededNoise(seed))
            for seed in range(self.runs)
        ]

    def errors(self, answers: Floats) -> Floats:
        """Exact error of each candidate, in units of what one record can change."""
        exact = self.workload.answers(self.table)
        units = self.workload.sensitivities(self.budget.neighbours)
        return self.workload.candidate_errors(answers - exact) / units


@cache
def czech(kind: str) -> tuple[Case, list[Release]]:
    table = hedgerow.read_table(DATA / "czech.csv", DATA / "czech.domain.json", count_column="count")
    budgets = {"pure": hedgerow.PureDP(1.0), "replace": hedgerow.ApproxDP(1.0, 1e-6, "replace")}
    case = Case(table, Workload.parse("marginals:2; cells:3", table.domain), budgets[kind], runs=40)
    return case, case.releases()


@cache
def adult(columns: tuple[str, ...], runs: int) -> tuple[Case, list[Release]]:
    table = hedgerow.read_table(DATA / "adult.csv", DATA / "adult.domain.json", columns=columns)
    case = Case(table, Workload.marginals(table.domain, 2), hedgerow.PureDP(1.0), runs)
    return case, case.releases()


FEW = ("relationship", "race", "sex", "income")
DEMO = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "income")
CASES: list[Callable[[], tuple[Case, list[Release]]]] = [
    pytest.param(lambda: czech("pure"), id="czech, add-remove"),  # type: ignore[list-item]
    pytest.param(lambda: czech("replace"), id="czech, replace"),  # type: ignore[list-item]
    pytest.param(lambda: adult(FEW, 40), id="adult, 4 attributes"),  # type: ignore[list-item]
    pytest.param(lambda: adult(DEMO, 40), id="adult, 8 attributes", marks=pytest.mark.audit),  # type: ignore[list-item]
]


@pytest.mark.slow
@pytest.mark.parametrize("get", CASES)
def test_the_predicted_errors_hold(get: Callable[[], tuple[Case, list[Release]]]) -> None:
    case, releases = get()
    off_mean = off_maximum = 0
    for release in releases:
        assert release.error is not None
        errors = case.errors(case.workload.answers(release.model))
        low, high = release.error.mean_interval(CONFIDENCE)
        off_mean += not low - 0.01 <= errors.mean() <= high + 0.01
        off_maximum += not errors.max() <= release.error.maximum_bound(CONFIDENCE) + 0.01
    assert off_mean <= most_failures(case.runs)
    assert off_maximum <= most_failures(case.runs)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("get", CASES)
def test_the_records_reproduce_the_workload_at_the_predicted_error(
    get: Callable[[], tuple[Case, list[Release]]],
) -> None:
    """Drawing adds an error of its own: less than independent draws would, whose expectation is known."""
    case, releases = get()
    failures = 0
    for seed, release in enumerate(releases):
        assert release.error is not None
        model = case.workload.answers(release.model)
        records = release.sample(seed=seed)
        drawn = case.workload.answers(Table(records.domain, list(records.codes.T)))
        units = case.workload.sensitivities(case.budget.neighbours)
        added = case.workload.candidate_errors(drawn - model) / units
        spread = np.sqrt(np.maximum(model * (1 - model / release.total), 0) * 2 / np.pi)
        independent = case.workload.candidate_errors(spread) / units
        assert added.mean() < independent.mean()
        high = release.error.mean_interval(CONFIDENCE)[1] + independent.mean()
        failures += not case.errors(drawn).mean() <= high
    assert failures <= most_failures(case.runs)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("get", CASES)
def test_intervals_of_answers_cover_the_truth(get: Callable[[], tuple[Case, list[Release]]]) -> None:
    case, releases = get()
    domain = case.table.domain
    generator = np.random.default_rng(0)
    for _ in range(4):
        names = generator.choice(len(domain), size=2, replace=False)
        codes = {domain.names[i]: [int(generator.integers(domain.attributes[i].size))] for i in names}
        query = Conjunction.where(domain, codes)
        exact = float(case.table.conjunctions([query])[0])
        failures = 0
        for release in releases:
            answer = release.answer(query, CONFIDENCE)
            assert answer.low is not None
            assert answer.high is not None
            failures += not answer.low <= exact <= answer.high
        assert failures <= most_failures(case.runs)
