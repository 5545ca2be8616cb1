"""Whole runs of every mechanism between tables that differ in one person: replayed, with the exact loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hedgerow import MWEM, DualQuery, IndependentNoise, OfflinePMW, OnlinePMW, SmallDB, Workload
from hedgerow.algorithms import BruteForce
from hedgerow.errors import ConfigError
from hedgerow.privacy import Budget, NoiseSource, PureDP, SeededNoise
from hedgerow.queries import Neighbours, Persons, Weight
from tests.algorithms.online_pmw.cases import DOMAIN as ASKED, ask_all_kinds, cells
from tests.privacy.replay import log_likelihood, record
from tests.privacy.tables import DenseCounts, binary, neighbours_of

PAIR = binary(2)
CELLS = Workload.marginals(PAIR, 2, whole=False)
WHOLE = Workload.marginals(PAIR, 1)
RELATIONS = [
    each.between(persons)
    for persons in (Persons("id", 2), Persons(None, 1, Weight("w", 3)))
    for each in (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
]
TABLES = ([3, 0, 1, 2], [0, 0, 0, 2], [1, 1, 1, 1])

Run = Callable[[Any, NoiseSource], object]
RUNS: dict[str, tuple[Any, Workload]] = {
    "mwem": (MWEM(rounds=2), CELLS),
    "mwem, adaptive": (MWEM(rounds="adaptive"), WHOLE),
    "mwem, auto": (MWEM(), WHOLE),
    "pmw": (OfflinePMW(alpha=0.5), CELLS),
    "dual-query": (DualQuery(rounds=3, samples=2, seed=0, oracle=BruteForce()), CELLS),
    "small-db": (SmallDB(size=2), CELLS),
    "independent": (IndependentNoise(), WHOLE),
}


def runs(name: str, budget: Budget) -> Run:
    config, workload = RUNS[name]
    return lambda source, noise: config.run(source, workload, budget, noise=noise)


def worst_loss(run: Run, relation: Neighbours) -> float:
    worst = 0.0
    for seed, histogram in enumerate(TABLES):
        source = DenseCounts(PAIR, histogram, relation.persons)
        transcript = record(run, source, seed)
        here = log_likelihood(run, source, transcript)
        for neighbour in neighbours_of(source, relation):
            worst = max(worst, abs(here - log_likelihood(run, neighbour, transcript)))
    return worst


@pytest.mark.filterwarnings("ignore::hedgerow.errors.UnregisteredWarning")
@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("name", RUNS)
def test_no_run_loses_more_than_epsilon_of_a_person(name: str, relation: Neighbours) -> None:
    epsilon = 4.0
    assert 0.0 < worst_loss(runs(name, PureDP(epsilon, relation)), relation) <= epsilon + 1e-9


@pytest.mark.filterwarnings("ignore::hedgerow.errors.UnregisteredWarning")
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_no_session_loses_more_than_epsilon_of_a_person(relation: Neighbours) -> None:
    """Some of the neighbours: there are many, and thresholds are integrated out."""
    epsilon, queries = 4.0, list(cells())[:3]

    def run(source: Any, noise: NoiseSource) -> object:
        session = OnlinePMW(updates=2, threshold=0.2).start(source, PureDP(epsilon, relation), noise=noise)
        return ask_all_kinds(session, queries)

    source = DenseCounts(ASKED, [3, 0, 0, 1, 0, 0, 2, 0], relation.persons)
    transcript = record(run, source, 0)
    here = log_likelihood(run, source, transcript)
    losses = [abs(here - log_likelihood(run, each, transcript)) for each in list(neighbours_of(source, relation))[::7]]
    assert 0.0 < max(losses) <= epsilon + 1e-9


def test_a_release_about_records_is_no_start_for_a_session_about_persons() -> None:
    bounded, plain = (DenseCounts(PAIR, [30, 0, 10, 20], persons) for persons in (Persons("id", 2), None))
    earlier = MWEM(rounds=1).run(plain, WHOLE, PureDP(0.5), noise=SeededNoise(0))
    with pytest.raises(ConfigError, match="the earlier release hides neighbours of the kind 'add-remove'"):
        OnlinePMW(updates=2).start(bounded, PureDP(1.0), noise=SeededNoise(0), warm=earlier)
