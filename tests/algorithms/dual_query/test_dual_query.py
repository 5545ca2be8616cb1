"""Whole runs of DualQuery: what they spend, show and refuse; that they learn; what they look at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow
from hedgerow import DualQuery
from hedgerow.algorithms import (
    Accounting,
    BestResponseProblem,
    BruteForce,
    Game,
    Oracle,
    Response,
    RoundReport,
    TabuSearch,
    sampled_problem,
    theorem,
)
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import BudgetExceededError, ConfigError, QueryError
from hedgerow.models import Empirical
from hedgerow.privacy import ZCDP, ApproxDP, Budget, Curator, LaplaceNoise, PureDP, Regime, SeededNoise
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release
from hedgerow.system import Seed
from tests.privacy.replay import ExplodingNoise, ReplayNoise, record
from tests.privacy.tables import DenseCounts, binary

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
DOMAIN = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcd", (2, 3, 4, 2), strict=True))
CELLS = Workload.marginals(DOMAIN, 2, whole=False)
MIXED = Workload.parse("marginals:2; parities:a*d; prefixes:c; where: a = 1 and c > 1", DOMAIN)
MIXED += Workload.explicit(DOMAIN, ["c"], [[0.0, 0.5, -1.0, 2.0]])


def source_of(n: int, seed: int = 0) -> DenseCounts:
    """Records that are far from uniform."""
    rng = np.random.default_rng(seed)
    return DenseCounts(DOMAIN, rng.multinomial(n, rng.dirichlet(np.full(DOMAIN.size, 0.2))))


def largest_error(release: Release, source: DenseCounts) -> float:
    """Of a query scaled to width 1, as a fraction of the records."""
    queries = release.workload.by_query()
    lows, highs = queries.limits
    gap = (queries.answers(release.model) - queries.answers(source)) / (highs - lows)
    return float(np.abs(gap).max()) / source.total()


BUDGETS: list[Budget] = [
    PureDP(1.0), PureDP(1.0, REPLACE), ApproxDP(1.0, 1e-6), ApproxDP(1.0, 1e-6, REPLACE), ZCDP(0.05),
]  # fmt: skip


@pytest.mark.parametrize(
    "workload", [CELLS, MIXED, Workload.parities(binary(3), 3)], ids=["cells", "mixed", "parities"]
)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_run_spends_its_budget(budget: Budget, workload: Workload) -> None:
    source = DenseCounts(workload.domain, np.arange(workload.domain.size) * 20 % 70)
    release = DualQuery(seed=0).run(source, workload, budget, noise=SeededNoise(0))
    assert budget.limit * (1 - 1e-5) <= release.spent <= budget.limit
    assert isinstance(release.model, Empirical)
    chosen = release.provenance.parameters["chosen"]
    assert release.model.codes.shape == (chosen["rounds"], len(workload.domain))
    assert release.model.log_weights is None
    assert release.model.total == release.total
    draws = [event for event in release.events if event.label == "draw"]
    assert len(draws) == chosen["rounds"] - 1
    assert {event.values for event in draws} == {chosen["samples"]}
    assert (release.events[0].charge == 0.0) == (budget.neighbours is REPLACE)
    assert release.error is not None


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_the_ledger_equals_the_accounting(relation: Neighbours) -> None:
    config = DualQuery(rounds=12, step=0.4, samples=9, seed=0, error_share=0.0)
    for budget in (PureDP(50.0, relation), ZCDP(50.0, relation)):
        release = config.run(source_of(800), CELLS, budget, noise=SeededNoise(1))
        cost = Accounting(12, 0.4, 9, release.total)
        draws = math.fsum(event.charge for event in release.events if event.label == "draw")
        assert draws == pytest.approx(cost.pure if isinstance(budget, PureDP) else cost.rho, rel=1e-8)
        kept = release.provenance.parameters["accounting"]
        assert kept["pure"] == pytest.approx(cost.pure)
        assert kept["best"] in kept


def test_it_learns() -> None:
    """With so many records the noise is next to nothing; starting sign or oracle wrong the error would pass 0.3."""
    source = source_of(10**6)
    for workload in (CELLS, MIXED):
        release = DualQuery(rounds=150, samples=200, seed=1).run(source, workload, PureDP(50.0), noise=SeededNoise(0))
        assert largest_error(release, source) < 0.06
        start = DualQuery(rounds=1, seed=1).run(source, workload, PureDP(50.0), noise=SeededNoise(0))
        assert largest_error(start, source) > 0.3


def test_records_depend_on_the_data_through_the_draws_alone() -> None:
    """With the draws (and the noisy total) of one table, every other table gives the same records."""

    def run(source: DenseCounts, noise: object) -> Release:
        return DualQuery(rounds=6, seed=3, error_share=0.0).run(source, CELLS, PureDP(2.0), noise=noise)  # type: ignore[arg-type]

    transcript = record(run, source_of(300))  # type: ignore[arg-type]
    found = [run(source, ReplayNoise(transcript)) for source in (source_of(300), source_of(20, seed=9))]
    assert np.array_equal(found[0].model.codes, found[1].model.codes)  # type: ignore[attr-defined]
    assert found[0].total == found[1].total


@dataclass
class WatchingOracle:
    """Looks at every record, and remembers what it was asked."""

    asked: list[BestResponseProblem]

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        self.asked.append(problem)
        return BruteForce().best(problem, seed)


def test_the_first_round_is_uniform_and_free() -> None:
    oracle = WatchingOracle([])
    config = DualQuery(rounds=1, samples=50, seed=5, oracle=oracle, error_share=0.0)
    curator = Curator(source_of(100), PureDP(1.0, REPLACE), noise=ExplodingNoise())
    release = config.run_with(curator, CELLS)
    assert curator.ledger.spent == 0.0
    drawn = np.random.default_rng(5).integers(2 * CELLS.n_queries, size=50)
    expected, (problem,) = sampled_problem(CELLS, drawn), oracle.asked
    assert problem.constant == expected.constant
    assert np.array_equal(problem.weights, expected.weights)
    assert release.provenance.parameters["best_responses"] == {"proved": 1, "mean_slack": 0.0}


@dataclass(frozen=True)
class BoundingOracle:
    """Knows that nothing is worth more than three above its answers, and proves nothing."""

    def best(self, problem: BestResponseProblem, seed: Seed = None) -> Response:
        found = TabuSearch().best(problem, seed)
        return Response(found.codes, found.value, bound=found.value + 3.0)


def test_a_release_states_the_bound_where_best_responses_are_known() -> None:
    def parameters(oracle: Oracle) -> Mapping[str, Any]:
        config = DualQuery(alpha=0.6, beta=0.1, seed=0, oracle=oracle, error_share=0.0)
        return config.run(source_of(500), CELLS, PureDP(1e6, REPLACE), noise=SeededNoise(0)).provenance.parameters

    game = Game.of(CELLS, PureDP(1.0, REPLACE), 500.0, 0.1)
    play = theorem("optimised", 0.6, game)
    exact, near, unknown = (parameters(oracle) for oracle in (BruteForce(), BoundingOracle(), TabuSearch()))
    assert exact["bound"] == pytest.approx(play.bound(game))
    assert near["bound"] == pytest.approx(play.bound(game) + 3.0 / play.samples)
    assert near["best_responses"] == {"proved": 0, "mean_slack": pytest.approx(3.0 / play.samples)}
    assert unknown["bound"] is None


def test_every_record_is_a_best_response() -> None:
    oracle = WatchingOracle([])
    release = DualQuery(rounds=5, seed=0, oracle=oracle).run(source_of(500), CELLS, PureDP(1.0), noise=SeededNoise(0))
    cells = np.indices(DOMAIN.shape).reshape(len(DOMAIN), -1).T
    for codes, problem in zip(release.model.codes, oracle.asked, strict=True):  # type: ignore[attr-defined]
        assert problem.value(codes) == pytest.approx(max(problem.value(cell) for cell in cells))


def test_a_noisy_number_of_records_is_part_of_the_bound() -> None:
    """theory.md section 0: |n-hat - n| / n-hat is added, and has its share of the risk."""
    config = DualQuery(alpha=0.6, constants="source", beta=0.1)
    public, private = (config.plan(CELLS, PureDP(1e6, relation), total=500).facts for relation in (REPLACE, ADD_REMOVE))
    assert private["samples"] > public["samples"]
    fixed = DualQuery(rounds=50, step=0.1, samples=50)
    budgets = PureDP(40.0, REPLACE), PureDP(40.0, ADD_REMOVE)
    there, here = (fixed.plan(CELLS, budget, total=500).facts["bound"] for budget in budgets)
    noise = LaplaceNoise.for_charge(Regime.PURE, 0.02 * 40.0).quantile(1.0 - 0.1 * 0.05) / 500
    assert here == pytest.approx(there + noise, abs=0.02)
    assert here > there + noise


def test_progress_is_told() -> None:
    told: list[RoundReport] = []
    release = DualQuery(rounds=7, seed=0).run(
        source_of(500), CELLS, PureDP(1.0), noise=SeededNoise(0), progress=told.append
    )
    assert [(report.round, report.rounds) for report in told] == [(t, 7) for t in range(1, 8)]
    assert told[-1].spent < release.spent <= 1.0
    assert all(math.isfinite(report.residual) for report in told)


def test_a_seed_repeats_a_run() -> None:
    def run() -> np.ndarray:
        made = DualQuery(seed=4).run(source_of(500), CELLS, PureDP(1.0), noise=SeededNoise(2))
        return made.model.codes  # type: ignore[attr-defined,no-any-return]

    assert np.array_equal(run(), run())


def test_a_release_comes_back(tmp_path: Path) -> None:
    release = DualQuery(seed=0).run(source_of(500), MIXED, ApproxDP(1.0, 1e-6), noise=SeededNoise(0))
    release.save(tmp_path / "r.release")
    loaded = Release.load(tmp_path / "r.release")
    assert loaded.provenance == release.provenance
    assert np.array_equal(loaded.workload.answers(loaded.model), release.workload.answers(release.model))
    assert loaded.answer("a = 1 and c > 1").low is not None


@pytest.mark.slow
def test_wide_domains_run() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(130))
    rng = np.random.default_rng(0)
    columns = [(rng.random(20_000) < p).astype(np.uint8) for p in rng.uniform(0, 0.4, 130)]
    table = Table(domain, columns)
    workload = Workload.marginals(domain, 2)
    release = DualQuery(rounds=40, samples=200, seed=0).run(table, workload, ApproxDP(1.0, 1e-6), noise=SeededNoise(0))
    gap = workload.answers(release.model) - workload.answers(table)
    assert np.abs(gap).mean() < 0.25 * np.abs(20_000 / 4 - workload.answers(table)).mean()


def test_a_plan_is_what_a_run_does() -> None:
    budget = ApproxDP(1.0, 1e-6, REPLACE)
    plan = DualQuery().plan(MIXED, budget, total=500)
    release = DualQuery(seed=0).run(source_of(500), MIXED, budget, noise=SeededNoise(0))
    for name, value in release.provenance.parameters["chosen"].items():
        assert plan.facts[name] == value
    assert plan.facts["accounting"] == release.provenance.parameters["accounting"]
    assert plan.fits
    words = [word for word, _ in plan.lines(500)]
    assert words == ["memory", "rounds", "charges", "costs", "", "bound", "expect"]
    assert max(map(len, words)) <= 8


def test_the_theorem_in_a_plan() -> None:
    plan = DualQuery(alpha=0.2, constants="source").plan(CELLS, PureDP(1.0), total=1e10)
    assert plan.facts["bound"] <= 0.2
    assert dict(plan.lines(1e10))["bound"].endswith("if best responses are within 0.05")
    assert "expect" not in dict(plan.lines(1e10))


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": 0.0}, {"alpha": 1.0}, {"alpha": "small"}, {"constants": "mine"}, {"rounds": 0}, {"rounds": 2.5},
     {"samples": 0}, {"samples": True}, {"step": 0.0}, {"step": math.inf}, {"step": "long"}, {"beta": 1.0},
     {"total_share": 0.0}, {"error_share": 1.0}, {"total_share": 0.5, "error_share": 0.5}, {"oracle": "tabu"},
     {"alpha": 0.1, "rounds": 5}, {"alpha": 0.1, "step": 1.0}],
)  # fmt: skip
def test_impossible_configurations_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        DualQuery(**wrong)  # type: ignore[arg-type]


def test_what_cannot_be_run_is_refused_before_anything_is_spent() -> None:
    constant = Workload.explicit(DOMAIN, ["a"], [[1.0, 1.0]])
    wide = Workload.parities(binary(3), 2)
    for workload, error in ((constant, QueryError), (wide, ConfigError)):
        curator = Curator(source_of(50), PureDP(1.0), noise=ExplodingNoise())
        with pytest.raises(error):
            DualQuery().run_with(curator, workload)
        assert not curator.ledger.events
    curator = Curator(source_of(50), PureDP(1.0, REPLACE), noise=ExplodingNoise())
    with pytest.raises(ConfigError, match="costs"):
        DualQuery(alpha=0.1).run_with(curator, CELLS)
    assert curator.ledger.spent == 0.0


def test_a_budget_that_is_used_up_is_refused() -> None:
    curator = Curator(source_of(500), PureDP(1.0, REPLACE), noise=SeededNoise(0))
    DualQuery(seed=0).run_with(curator, CELLS)
    with pytest.raises((BudgetExceededError, ConfigError)):
        DualQuery(seed=0, rounds=5, step=1.0, samples=10).run_with(curator, CELLS)


def test_public_name_and_parameters() -> None:
    assert hedgerow.DualQuery is DualQuery
    kept = DualQuery(oracle=TabuSearch(restarts=3), seed=8).parameters()
    assert kept["oracle"]["restarts"] == 3
    assert kept["alpha"] == "auto"
