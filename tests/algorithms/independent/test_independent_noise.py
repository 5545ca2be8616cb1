"""The Laplace and Gaussian baselines: theorem, ledger, exact privacy loss, and the bug that forgets the factor m."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from hedgerow import MWEM, IndependentNoise
from hedgerow.algorithms import BETA
from hedgerow.algorithms.independent import noisy_answers
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, ModelTooLargeError, QueryError
from hedgerow.models import Sweeps
from hedgerow.privacy import (
    ZCDP,
    ApproxDP,
    Budget,
    Curator,
    PureDP,
    Regime,
    Register,
    SeededNoise,
    epsilon_of,
    pure_rho,
)
from hedgerow.queries import Neighbours, NoiseKind, Workload
from hedgerow.release import Release
from tests.algorithms.shared.whole_runs import losses, run_of
from tests.privacy.mutants import Mutant, drawing, killed
from tests.privacy.replay import ReplayNoise, log_likelihood, record
from tests.privacy.tables import DenseCounts, binary, neighbours_of
from tests.reference.dense_tables import DenseTables

RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
ADD_REMOVE, REPLACE = RELATIONS
PAIR, TRIPLE = binary(2), binary(3)
MIXED = Workload.marginals(TRIPLE, 2).weighted(0.5) + Workload.parities(TRIPLE, 2)
VARIANTS = {
    "whole marginals": (IndependentNoise(), Workload.marginals(TRIPLE, 2)),
    "cells one by one": (IndependentNoise(by="query"), Workload.marginals(PAIR, 2)),
    "parities": (IndependentNoise(), Workload.parities(TRIPLE, 2)),
    "mixed": (IndependentNoise(fit=Sweeps(3)), MIXED),
    "not fitted": (IndependentNoise(fit=None), MIXED),
    "no error estimate": (IndependentNoise(error_share=0.0, total_share=0.3), Workload.conjunctions(PAIR, ["a = 0"])),
}


def no_transcript_loses_more(name: str, relation: Neighbours, seeds: range, *, least: float = 0.0) -> None:
    """Losses stay below epsilon, and pass a share of it somewhere."""
    config, workload = VARIANTS[name]
    for epsilon in (0.5, 4.0):
        worst = max(abs(loss) for loss in losses(config, workload, PureDP(epsilon, relation), seeds))
        assert least * epsilon < worst <= epsilon + 1e-9


# Privacy


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon(name: str, relation: Neighbours) -> None:
    no_transcript_loses_more(name, relation, range(2))


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["cells one by one", "no error estimate"])
def test_worst_cases_come_near_epsilon(name: str, relation: Neighbours) -> None:
    # Without this, a replay that never looked at the table would pass the test above. Of four cells a record moves two.
    no_transcript_loses_more(name, relation, range(6), least=0.24)


@pytest.mark.audit
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon_at_length(name: str, relation: Neighbours) -> None:
    no_transcript_loses_more(name, relation, range(20))


@pytest.mark.audit
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", NoiseKind)
def test_replayed_transcripts_stay_below_delta(kind: NoiseKind, relation: Neighbours) -> None:
    # E_D (1 - exp(epsilon - loss))_+ is the smallest delta; its average over transcripts, values in [0, 1], passes the
    # delta of the rho-curve by Hoeffding's sqrt(ln(1 / p) / (2 N)) with probability p = 1e-6 at most.
    budget, runs = ZCDP(0.5, relation), 1000
    run = run_of(IndependentNoise(noise=kind, by="query", error_share=0.0), Workload.marginals(PAIR, 1), budget)
    source = DenseCounts(PAIR, [2, 1, 1, 1])
    transcripts = [record(run, source, seed) for seed in range(runs)]
    here = np.array([log_likelihood(run, source, transcript) for transcript in transcripts])
    slack = math.sqrt(math.log(1e6) / (2 * runs))
    for neighbour in neighbours_of(source, relation):
        loss = here - np.array([log_likelihood(run, neighbour, transcript) for transcript in transcripts])
        for delta in (0.2, 0.1, 0.05, 0.01):
            epsilon = epsilon_of(budget.rho, delta)
            assert float(np.mean(np.maximum(0.0, -np.expm1(epsilon - loss)))) <= delta + slack


@pytest.mark.many(quick=3)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_the_release_is_a_function_of_the_noisy_values(name: str, relation: Neighbours) -> None:
    config, workload = VARIANTS[name]
    run = run_of(config, workload, PureDP(1.0, relation))
    source = DenseCounts(workload.domain, [3] + [1] * (workload.domain.size - 1))
    transcript = record(run, source)
    shown: list[Any] = []
    for table in (source, *neighbours_of(source, relation)):
        release = config.run(table, workload, PureDP(1.0, relation), noise=ReplayNoise(transcript))  # type: ignore[arg-type]
        shown.append((noisy_answers(release).tolist(), release.model.marginals([workload.domain.names])[0].tolist()))
    assert all(each == shown[0] for each in shown)


# Ledger


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("budget", [PureDP, ZCDP])
@pytest.mark.parametrize("kind", [None, NoiseKind.LAPLACE])
def test_the_ledger_holds_the_closed_forms(budget: Any, relation: Neighbours, kind: NoiseKind | None) -> None:
    config = IndependentNoise(noise=kind)
    release = config.run(DenseCounts(TRIPLE, [4] * 8), MIXED, budget(0.7, relation), noise=SeededNoise(0))
    m = MIXED.n_candidates
    left = 0.7 * (1.0 - 0.03 - (0.02 if relation is ADD_REMOVE else 0.0))
    measured = [event for event in release.events if event.label == "measure"]
    assert m == 9
    if relation is not ADD_REMOVE:  # a replaced record moves 4 of the 6 parities at most: they are one event
        assert len(measured) == 4
        parities, together = measured.pop(0), 6.0 * left / m
        assert parities.values == 6
        assert parities.charge == pytest.approx(together, rel=1e-9)
        if budget is not ZCDP:
            assert parities.scale == pytest.approx(4.0 * 2.0 / together, rel=1e-9)
        elif kind is None:
            assert parities.scale == pytest.approx(math.sqrt(4.0 * 2.0 / together), rel=1e-9)
        else:
            assert 4.0 * 2.0 / parities.scale * math.tanh(1.0 / parities.scale) == pytest.approx(together, rel=1e-9)
    l1 = MIXED.sensitivities(relation)
    l2 = np.where(MIXED.lengths > 1, np.sqrt(l1), l1)  # a whole marginal: sqrt(2) under replace
    for event, one, two in zip(measured, l1, l2, strict=relation is ADD_REMOVE):
        assert event.charge == pytest.approx(left / m, rel=1e-12)
        if budget is ZCDP and kind is None:
            assert event.scale == pytest.approx(two * math.sqrt(m / (2.0 * left)), rel=1e-9)
        elif budget is ZCDP:
            moves = [1.0, 1.0] if event.values > 1 and relation is not ADD_REMOVE else [one]
            assert sum(pure_rho(move / event.scale) for move in moves) == pytest.approx(left / m, rel=1e-9)
        else:
            assert event.scale == pytest.approx(m * one / left, rel=1e-9)
    assert release.spent == pytest.approx(0.7, rel=1e-12)
    assert release.spent <= 0.7


def test_an_approximate_budget_runs_where_it_needs_less_noise(tmp_path: Path) -> None:
    """In GDP; in zCDP with Laplace noise, with narrow noise, and where a register counts rhos."""
    workload, budget = Workload.marginals(PAIR, 1), ApproxDP(1.0, 1e-6, REPLACE)

    def table() -> DenseCounts:
        return DenseCounts(PAIR, [9, 8, 7, 6])

    register = Register(tmp_path / "people.register", limit=ApproxDP(9.0, 1e-6, REPLACE))
    runs = {
        "gdp": IndependentNoise().run(table(), workload, budget),
        "kept": IndependentNoise().run(table(), workload, budget, register=register),
        "laplace": IndependentNoise(noise=NoiseKind.LAPLACE).run(table(), workload, budget),
        "narrow": IndependentNoise().run(table(), workload, ApproxDP(15.0, 1e-3, REPLACE)),
    }
    assert {name: release.budget.regime.value for name, release in runs.items()} == {
        "gdp": "gdp",
        "kept": "zcdp",
        "laplace": "zcdp",
        "narrow": "zcdp",
    }
    for release in runs.values():
        assert release.spent <= release.budget.limit
        assert release.budget.approximate() == (release.budget.epsilon, release.budget.delta)
    assert {measured.noise for measured in runs["gdp"].measurements} == {NoiseKind.GAUSSIAN}
    wide, narrow = runs["kept"].measurements[0].scale, runs["gdp"].measurements[0].scale
    assert wide / narrow == pytest.approx(1.0724, abs=1e-3)
    plan = IndependentNoise().plan(workload, budget, 30.0)
    assert plan.facts["scale"] == pytest.approx(narrow)


def without_the_factor_m(patch: pytest.MonkeyPatch) -> None:
    """Laplace noise of scale Delta / epsilon on each of m answers, while the books say otherwise."""
    measure = Curator.measure_all

    def loud(self: Any, steps: Any, **rest: Any) -> Any:
        source = self._Curator__noise._PaidNoise__source
        with drawing(self, laplace=lambda values, scale: source.laplace(values, scale / 4)):
            return measure(self, steps, **rest)

    patch.setattr(Curator, "measure_all", loud)


def whole_budget_for_each(patch: pytest.MonkeyPatch) -> None:
    """The budget is not divided by m: the ledger must refuse the second measurement."""
    charges = IndependentNoise.charges

    def undivided(self: Any, amount: float, neighbours: Neighbours) -> Any:
        split = charges(self, amount, neighbours)
        return type(split)(split.total, split.initial, 4 * split.rounds, split.error)

    patch.setattr(IndependentNoise, "charges", undivided)


def cells_lose_at_most_epsilon() -> None:
    no_transcript_loses_more("cells one by one", REPLACE, range(4))


def the_budget_suffices() -> None:
    config, workload = VARIANTS["cells one by one"]
    try:
        config.run(DenseCounts(PAIR, [1, 2, 3, 4]), workload, PureDP(1.0), noise=SeededNoise(0))
    except Exception as error:
        raise AssertionError from error


MUTANTS = (
    Mutant("Laplace scale without the factor m", without_the_factor_m, cells_lose_at_most_epsilon),
    Mutant("the whole budget for each answer", whole_budget_for_each, the_budget_suffices),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


# Accuracy

DOMAIN = Domain(IntegerRange(name, 0, 1) for name in "abcde")
BUDGETS: tuple[Budget, ...] = (PureDP(1.0, REPLACE), ZCDP(0.05, REPLACE), ZCDP(0.05, ADD_REMOVE))
ACCURATE = {
    "cells": (IndependentNoise(by="query"), Workload.marginals(DOMAIN, 2)),
    "parities": (IndependentNoise(), Workload.parities(DOMAIN, 3)),
    "marginals": (IndependentNoise(), Workload.marginals(DOMAIN, 2)),
    "Laplace": (IndependentNoise(noise=NoiseKind.LAPLACE), Workload.prefixes(Domain((IntegerRange("a", 0, 40),)), "a")),
}


def failures(name: str, budget: Budget, runs: int, *, factor: float = 1.0) -> int:
    """In how many of the runs a noisy answer passes ``factor`` times the bound."""
    config, workload = ACCURATE[name]
    bound, count = config.plan(workload, budget, total=500).facts["bound"], 0
    quick = IndependentNoise(noise=config.noise, by=config.by, fit=Sweeps(1))  # the fit plays no part
    for seed in range(runs):
        data = DenseTables.random(workload.domain, 500, seed)
        release = quick.run(data, workload, budget, noise=SeededNoise(seed))
        count += np.abs(noisy_answers(release) - workload.answers(data)).max() > factor * bound
    return count


def allowed(runs: int) -> int:
    """As many failures as a failure rate of ``BETA`` passes with probability 1e-6 only."""
    return int(binom.isf(1e-6, runs, BETA))


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp", "add-remove"])
@pytest.mark.parametrize("name", ACCURATE)
def test_the_theorem_holds(name: str, budget: Budget) -> None:
    assert failures(name, budget, 20) <= allowed(20)


@pytest.mark.audit
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp", "add-remove"])
@pytest.mark.parametrize("name", ACCURATE)
def test_the_theorem_holds_at_length(name: str, budget: Budget) -> None:
    assert failures(name, budget, 200) <= allowed(200)
    assert failures(name, budget, 200, factor=0.6) > allowed(200)  # it would fail if the noise were 1.7 times as large


def test_the_bound_is_at_most_the_theorems_and_not_far_below() -> None:
    workload = Workload.marginals(DOMAIN, 2)
    exact = IndependentNoise(by="query", error_share=0.0)
    m = workload.n_queries
    pure = exact.plan(workload, PureDP(0.5, REPLACE), 1.0).facts
    assert pure["scale"] == pytest.approx(m / 0.5)
    theorem = m / 0.5 * math.log(m / BETA)
    assert 0.98 * theorem < pure["bound"] <= math.ceil(theorem)
    zcdp = exact.plan(workload, ZCDP(0.02, REPLACE), 1.0).facts
    assert zcdp["scale"] == pytest.approx(math.sqrt(m / (2 * 0.02)))
    theorem = math.sqrt(m / 0.02 * math.log(2 * m / BETA))
    assert 0.8 * theorem < zcdp["bound"] <= math.ceil(theorem)


# What comes out


def test_raw_answers_are_the_measurements_and_fitted_ones_are_consistent() -> None:
    workload = Workload.marginals(TRIPLE, 2)
    source = DenseCounts(TRIPLE, [30, 0, 0, 0, 0, 0, 0, 10])
    release = IndependentNoise().run(source, workload, PureDP(1.0, REPLACE), noise=SeededNoise(3))
    raw, fitted = noisy_answers(release), workload.answers(release.model)
    assert raw.shape == fitted.shape == (12,)
    assert np.array_equal(raw, np.concatenate([measured.values for measured in release.measurements]))
    assert raw.min() < 0.0 < fitted.min()
    assert fitted[:4].sum() == pytest.approx(40.0)
    assert np.abs(fitted - workload.answers(source)).sum() < np.abs(raw - workload.answers(source)).sum()


def test_large_budgets_find_the_table() -> None:
    workload = Workload.marginals(TRIPLE, 3)
    source = DenseCounts(TRIPLE, [40, 3, 0, 22, 9, 1, 5, 20])
    release = IndependentNoise(by="query").run(source, workload, PureDP(1e4), noise=SeededNoise(0))
    assert np.abs(workload.answers(release.model) - workload.answers(source)).max() < 0.5
    assert release.error is not None


def test_what_is_not_fitted_stays_uniform_and_promises_nothing() -> None:
    workload = Workload.marginals(PAIR, 1)
    config = IndependentNoise(fit=None)
    release = config.run(DenseCounts(PAIR, [9, 1, 1, 1]), workload, PureDP(5.0, REPLACE), noise=SeededNoise(0))
    assert release.error is None
    assert release.model.marginals([PAIR.names])[0].tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert release.spent == pytest.approx(5.0)


def test_whole_marginals_cost_as_much_as_one_cell() -> None:
    workload, budget = Workload.marginals(DOMAIN, 3), PureDP(1.0)
    whole, single = (IndependentNoise(by=by).plan(workload, budget, 1.0).facts for by in ("candidate", "query"))  # type: ignore[arg-type]
    assert whole["scale"] * 8 == pytest.approx(single["scale"])
    assert (whole["measured"], single["measured"], whole["values"]) == (10, 80, 80)


def test_progress_is_told_after_every_measurement() -> None:
    told: list[Any] = []
    IndependentNoise().run(DenseCounts(TRIPLE, [2] * 8), MIXED, PureDP(1.0), noise=SeededNoise(0), progress=told.append)
    assert [report.round for report in told] == list(range(1, 10))
    assert {report.rounds for report in told} == {9}
    assert told[0].chosen == "a * b"
    assert told[-1].spent == pytest.approx(0.97)


def test_a_release_is_saved_with_its_noisy_answers(tmp_path: Any) -> None:
    release = IndependentNoise().run(DenseCounts(TRIPLE, [2] * 8), MIXED, PureDP(1.0), noise=SeededNoise(0))
    release.save(tmp_path / "r.hedgerow")
    loaded = Release.load(tmp_path / "r.hedgerow")
    assert np.array_equal(noisy_answers(loaded), noisy_answers(release))
    assert loaded.provenance.parameters["by"] == "candidate"


def test_other_releases_have_no_noisy_answers() -> None:
    release = MWEM(rounds=1).run(
        DenseCounts(PAIR, [1, 1, 1, 1]), Workload.marginals(PAIR, 1), PureDP(1.0), noise=SeededNoise(0)
    )
    with pytest.raises(ConfigError, match="MWEM does not hold a noisy answer of every query"):
        noisy_answers(release)


# Refusals


@pytest.mark.parametrize(
    "wrong",
    [
        {"by": "cell"},
        {"total_share": 0.0},
        {"error_share": 1.0},
        {"total_share": 0.99},
        {"noise": "gauss"},
    ],
)
def test_senseless_configurations_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Remedy"):
        IndependentNoise(**wrong)


def test_gaussian_noise_under_a_pure_budget_is_refused() -> None:
    config = IndependentNoise(noise="gaussian")  # type: ignore[arg-type]
    assert config == IndependentNoise(noise=NoiseKind.GAUSSIAN)
    for refused in (
        config.plan,
        lambda *_: config.run(DenseCounts(PAIR, [1] * 4), Workload.marginals(PAIR, 1), PureDP(1.0)),
    ):
        with pytest.raises(ConfigError, match="not purely private"):
            refused(Workload.marginals(PAIR, 1), PureDP(1.0), 5.0)


@pytest.mark.parametrize("case", ["a constant query", "another domain", "too large"])
def test_a_refusal_comes_before_anything_is_spent(case: str) -> None:
    wide = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(60))
    workload, error = {
        "a constant query": (Workload.explicit(PAIR, ["a"], [[0, 1], [1, 1]]), QueryError),
        "another domain": (Workload.marginals(TRIPLE, 1), ConfigError),
        "too large": (Workload.marginals(wide, 2, whole=False), ModelTooLargeError),
    }[case]
    source = DenseCounts(PAIR, [1, 2, 3, 4])
    if case == "too large":
        with pytest.raises(error):
            IndependentNoise().check(workload, PureDP(1.0).regime)
        return
    curator = Curator(source, PureDP(1.0, REPLACE), noise=SeededNoise(0))
    with pytest.raises(error):
        IndependentNoise().run_with(curator, workload)
    assert (curator.ledger.spent, source.reads) == (0.0, 0)


def test_the_best_division_is_measured_and_planned() -> None:
    """Its ledger is that of the strategy, its error what the plan says, and less than that of equal shares."""
    workload = Workload.parse("marginals:1 @ 4; marginals:2", TRIPLE)
    for budget in (PureDP(1.0), ZCDP(0.02), ApproxDP(1.0, 1e-6, REPLACE)):
        errors: dict[str, list[float]] = {"equal": [], "best": []}
        for shares, found in errors.items():
            config = IndependentNoise(shares=shares, fit=None)  # type: ignore[arg-type]
            release = config.run(DenseCounts(TRIPLE, [9] * 8), workload, budget, noise=SeededNoise(2))
            assert release.spent <= release.budget.limit
            assert release.spent == pytest.approx(release.budget.limit, rel=1e-9)
            plan = config.plan(workload, budget, 72.0)
            facts = plan.facts
            counted = facts.get("name") == "parities" and not budget.neighbours.public_total  # the number of records
            assert len(release.measurements) == facts.get("measured", facts.get("measurements")) - counted
            found.append(facts.get("mean_error", math.nan))
            assert plan.lines(72.0)
        assert errors["best"][0] > 0.0
    with pytest.raises(ConfigError, match="other measurements"):
        noisy_answers(release)


def test_the_best_division_wants_the_usual_noise() -> None:
    workload = Workload.marginals(PAIR, 1)
    laplace = IndependentNoise(shares="best", noise=NoiseKind.LAPLACE)
    for budget in (ZCDP(0.1), ApproxDP(1.0, 1e-6)):
        with pytest.raises(ConfigError, match="no best division"):
            laplace.plan(workload, budget, 30.0)
    assert laplace.run(DenseCounts(PAIR, [9, 8, 7, 6]), workload, PureDP(1.0), noise=SeededNoise(0)).measurements
    counted = IndependentNoise(shares="best").accounted(workload, ApproxDP(1.0, 1e-9))
    assert counted.regime is Regime.PURE
    with pytest.raises(ConfigError, match="shares"):
        IndependentNoise(shares="some")  # type: ignore[arg-type]
