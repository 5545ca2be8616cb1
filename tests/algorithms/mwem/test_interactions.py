"""The search for interactions: what it plans, finds and costs, and bugs planted in it (theory.md section 2.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from hedgerow import GDP, MWEM, ZCDP, ApproxDP, PureDP, SeededNoise, Table
from hedgerow.algorithms import MWEMRun, planned_search
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import BudgetExceededError
from hedgerow.models import Overlay
from hedgerow.privacy import Budget, Curator, NoiseSource
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release
from hedgerow.runs import SEARCH_SHARE, for_questions, workload_with
from tests.algorithms.shared.whole_runs import losses_stay_below_the_charge
from tests.privacy.mutants import Mutant, killed, unpaid
from tests.privacy.replay import ReplayNoise, record
from tests.privacy.tables import DenseCounts, binary

BITS = Domain([*(IntegerRange(f"bit{place}", 0, 1) for place in range(10)), IntegerRange("label", 0, 1)])
PAIRS = Workload.marginals(BITS, 2)
DEFAULT = for_questions(MWEM(), None, None)
EVERYTHING = planned_search.__globals__
"""The constants of the search: small tables are searched with others."""


def parity_of(bits: int, seed: int) -> Table:
    """Ten fair bits, and the parity of the first of them, wrong in 5 % of 15,000 records."""
    rng = np.random.default_rng(seed)
    columns = list(rng.integers(0, 2, size=(10, 15_000)))
    return Table(BITS, [*columns, (sum(columns[:bits]) + (rng.random(15_000) < 0.05)) % 2])


def accuracy(release: Release, bits: int) -> float:
    """Share of the release's records whose label is the parity of the first bits."""
    scope = (*(f"bit{place}" for place in range(bits)), "label")
    table = release.model.marginals([scope])[0]
    return float(table[np.indices(table.shape).sum(axis=0) % 2 == 0].sum() / table.sum())


@pytest.mark.parametrize("seed", range(3))
def test_a_parity_that_no_measured_table_shows_is_found(seed: int) -> None:
    """Of three bits by default where triples join alone, and of five without pairs that would tell of it."""
    budget = ApproxDP(1.0, 1e-9)
    for bits in (3, 5):
        release = DEFAULT.run(parity_of(bits, seed), PAIRS, budget, noise=SeededNoise(seed))
        assert release.workload.spec == "marginals:2; marginals:3"
        assert accuracy(release, bits) >= 0.93
        blind = replace(DEFAULT, search_share=0.0).run(parity_of(bits, seed), PAIRS, budget, noise=SeededNoise(seed))
        assert accuracy(blind, bits) < 0.6


def test_a_look_that_shows_nothing_ends_the_search_and_is_not_fitted() -> None:
    """Neither by the run, nor by a fit to the same measurements."""
    columns = list(np.random.default_rng(0).integers(0, 2, size=(11, 15_000)))
    release = DEFAULT.run(Table(BITS, columns), PAIRS, ApproxDP(1.0, 1e-9), noise=SeededNoise(0))
    parameters, number = release.provenance.parameters, len(release.measurements)
    assert sum(event.label == "search" for event in release.events) == 1
    assert "found" not in parameters
    assert parameters["unfitted"] == [number - 1, number]
    total = release.total if release.counted is None else release.counted
    again = DEFAULT.refitted(release, release.measurements, total)
    assert again is not None
    assert np.allclose(release.workload.answers(again), release.workload.answers(release.model), atol=1.0)


@pytest.mark.parametrize("budget", [PureDP(1.0), ApproxDP(1.0, 1e-9)])
def test_a_parity_of_five_is_found_for_a_target(budget: Budget) -> None:
    text = workload_with(None, target="label")
    algorithm, data = for_questions(MWEM(), text, "label"), parity_of(5, 1)
    release = algorithm.run(data, Workload.parse(str(text), BITS), budget, noise=SeededNoise(1))
    assert accuracy(release, 5) >= 0.93
    searched = [event for event in release.events if event.label == "search"]
    assert 1 <= len(searched) <= 4


def xor_of_wide_columns() -> tuple[Table, Workload]:
    """Twelve columns of 2 to 6 values, too many for a histogram, and a label that follows from two halves."""
    rng = np.random.default_rng(0)
    sizes = (4, 6, 2, 3, 5, 6, 4, 6, 5, 6, 6, 6)
    columns = [rng.integers(0, size, 40_000) for size in sizes]
    columns.append(((columns[0] >= 2).astype(int) + (columns[1] >= 3) + (rng.random(40_000) < 0.05)) % 2)
    names = [*(f"c{place}" for place in range(12)), "label"]
    domain = Domain(IntegerRange(name, 0, size - 1) for name, size in zip(names, (*sizes, 2), strict=True))
    return Table(domain, columns), Workload.marginals(domain, 2)


def test_a_table_that_no_pair_shows_is_found_among_wide_columns() -> None:
    """Consistent tables over a tree: what a set has beyond its pairs counts, not what the tree leaves out."""
    data, pairs = xor_of_wide_columns()
    release = DEFAULT.run(data, pairs, PureDP(1.0), noise=SeededNoise(1))
    assert isinstance(release.model, Overlay)
    assert "c0 * c1 * label" in [found.target.text for found in release.measurements[66:]]


def test_what_a_search_answers_has_the_pairs_of_consistent_tables_and_no_more() -> None:
    data, pairs = xor_of_wide_columns()
    release = replace(DEFAULT, search_share=0.0).run(data, pairs, PureDP(1.0), noise=SeededNoise(2))
    search = planned_search(DEFAULT, pairs, PureDP(1.0), 0.95, 40_000.0)
    assert search is not None
    answers = search.answers(release.model)
    for place in (0, 100, search.candidates.n_candidates - 1):
        target, first = search.candidates.candidate(place), int(search.candidates.starts[place])
        if len(target.scope) != 3 or target.size == 1:
            continue
        table = answers[first : first + target.size].reshape(target.domain.shape_of(target.scope))
        for left in range(3):
            names = tuple(name for axis, name in enumerate(target.scope) if axis != left)
            wanted = release.model.marginals([names])[0]
            assert table.sum(axis=left) == pytest.approx(wanted, abs=0.01 * release.total)
        logs = np.log(np.maximum(table, 1e-9))[:2, :2, :2]
        assert abs(float((logs * np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]])).sum())) < 1e-6


def plans_follow_from_public_numbers() -> None:
    """Looks are planned as far as they can be paid; for a target sets hold it; what is measured is not looked at."""
    found = {total: planned_search(DEFAULT, PAIRS, PureDP(1.0), 0.95, total) for total in (2e3, 15e3, 1e6)}
    assert found[2e3] is None
    assert all(each is None or each.reserved <= SEARCH_SHARE * 0.95 for each in found.values())
    assert found[15e3] is not None
    assert (found[15e3].looks, found[15e3].candidates.n_candidates) == (1, 165 + 330 + 462 + 462)
    assert found[1e6] is not None
    assert found[1e6].looks == 4
    assert found[1e6].reserved < 0.2 * found[15e3].reserved
    target = Workload.parse("target:label", BITS)
    sets = planned_search(replace(DEFAULT, rounds="annealed"), target, PureDP(1.0), 0.95, 15e3)
    assert sets is not None
    scopes = sets.candidates.scopes
    assert len(scopes) == 45 + 120 + 210 + 252
    assert all("label" in scope for scope in scopes)
    triples = Workload.marginals(BITS, 3)
    told = [triples.candidate(place) for place in range(triples.n_candidates)]
    left = planned_search(DEFAULT, PAIRS, PureDP(1.0), 0.95, 15e3, measured=told)
    assert left is not None
    assert left.candidates.n_candidates == 330 + 462 + 462
    whole = [Workload.marginals(BITS, 11).candidate(0)]
    assert planned_search(DEFAULT, PAIRS, PureDP(1.0), 0.95, 15e3, measured=whole) is None


def test_plans_follow_from_public_numbers() -> None:
    plans_follow_from_public_numbers()
    assert planned_search(replace(DEFAULT, search_share=0.0), PAIRS, PureDP(1.0), 0.95, 1e6) is None
    wide = xor_of_wide_columns()[1]
    for budget in (PureDP(1.0), ZCDP(0.02), GDP(0.2), PureDP(1.0, "replace")):
        for each in (PAIRS, wide):
            planned = planned_search(DEFAULT, each, budget, budget.limit, 50_000.0)
            assert planned is not None
            offsets = planned.offsets(50_000.0)
            assert offsets == pytest.approx(np.sqrt(2 * 50_000 * planned.candidates.lengths / math.pi))
            assert planned.reserved <= SEARCH_SHARE * budget.limit
    plan = DEFAULT.plan(PAIRS, ApproxDP(1.0, 1e-9), 15_000.0)
    assert 0.0 < plan.charges.search <= SEARCH_SHARE * plan.limit
    assert "search for interactions" in " ".join(text for _, text in plan.lines(15_000.0))


class Searching:
    """Runs that search three binary columns, on few records, with looks that cost what they need for any effect."""

    def __init__(self, histogram: tuple[int, ...] = (2, 1, 0, 3, 1, 0, 1, 2), effect: float = 1.5) -> None:
        self.source, self.effect = DenseCounts(binary(3), histogram), effect
        self.pairs = Workload.marginals(binary(3), 2)

    def run(self, source: DenseCounts, noise: NoiseSource, relation: Neighbours = Neighbours.ADD_REMOVE) -> Release:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(EVERYTHING, "_EFFECTS", {self.effect: 1.0})
            config = MWEM(rounds=3, error_share=0.1, search_share=0.8)
            return config.run(source, self.pairs, PureDP(4.0, relation), noise=noise)

    def loses_no_more_than_it_is_charged(self, relation: Neighbours = Neighbours.ADD_REMOVE, seeds: int = 3) -> None:
        run = partial(self.run, relation=relation)
        losses_stay_below_the_charge(run, self.source, relation, seeds)

    def spends_the_whole_budget(self) -> None:
        """As many draws as charged events, whatever looks find, and all of the budget in the ledger."""
        for seed in range(6):
            try:
                transcript = record(self.run, self.source, seed)
            except BudgetExceededError as error:
                raise AssertionError("the budget does not cover the run") from error
            release = self.run(self.source, ReplayNoise(transcript))
            assert len(transcript) == sum(event.charge > 0 for event in release.events)
            assert math.fsum(event.charge for event in release.events) == pytest.approx(4.0, abs=1e-6)
            looks = sum(event.label == "search" for event in release.events)
            assert release.provenance.parameters["selected"] == looks > 0


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_no_transcript_of_a_search_loses_more_than_its_charge(relation: Neighbours) -> None:
    Searching().loses_no_more_than_it_is_charged(relation)


def test_a_search_spends_what_it_says_and_the_rest_goes_to_the_error() -> None:
    Searching().spends_the_whole_budget()


def by_the_true_number(patch: pytest.MonkeyPatch) -> None:
    """Plan looks by the exact number of records."""
    start, exact = MWEMRun.start, list[int]()

    def remembering(self: Any) -> None:
        exact.append(self.curator._Curator__source.total())
        start(self)

    def planning(config: Any, workload: Any, budget: Any, amount: float, total: float, **rest: Any) -> Any:
        return planned_search(config, workload, budget, amount, float(exact[-1]), **rest)

    patch.setattr(MWEMRun, "start", remembering)
    patch.setitem(MWEMRun.run_rounds.__globals__, "planned_search", planning)


def looks_that_nobody_pays(patch: pytest.MonkeyPatch) -> None:
    """Select sets and leave the ledger alone."""
    select = Curator.select

    def free(self: Any, *args: Any, **rest: Any) -> int:
        with unpaid(self):
            return select(self, *args, **rest)

    patch.setattr(Curator, "select", free)


def kept_back_and_spent(patch: pytest.MonkeyPatch) -> None:
    """Give to rounds what the search spends."""
    with_search = MWEMRun.run_rounds.__globals__["with_search"]

    def both(charges: Any, schedule: Any, search: Any) -> Any:
        made, _ = with_search(charges, schedule, search)
        return replace(made, rounds=charges.rounds), schedule

    patch.setitem(MWEMRun.run_rounds.__globals__, "with_search", both)


def planted(name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setitem(EVERYTHING, name, value)


MUTANTS = (
    Mutant("looks by the true number of records", by_the_true_number,
           Searching((9, 0, 0, 0, 0, 0, 0, 0), 0.5).loses_no_more_than_it_is_charged),
    Mutant("looks that nobody pays", looks_that_nobody_pays, Searching().spends_the_whole_budget),
    Mutant("what is kept for a search is spent twice", kept_back_and_spent, Searching().spends_the_whole_budget),
    Mutant("a search looks at what is measured", planted("_told", lambda measured: set()),
           plans_follow_from_public_numbers),
    Mutant("a search for a target leaves it out", planted("target_of", lambda workload: None),
           plans_follow_from_public_numbers),
    Mutant("a search of triples alone", planted("_ORDERS", range(3, 4)), plans_follow_from_public_numbers),
    Mutant("looks ten times as dear", planted("_EFFECTS", {0.01: 1.0, 0.025: 1.0}), plans_follow_from_public_numbers),
    Mutant("as many looks as can be paid", planted("_MOST_LOOKS", 100), plans_follow_from_public_numbers),
)  # fmt: skip


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
