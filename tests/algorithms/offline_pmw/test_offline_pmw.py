"""Offline PMW: its parameters, its ledger, its promise, and what it does with the table (theory.md section 3)."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import OfflinePMW
from hedgerow.algorithms import RoundReport
from hedgerow.algorithms.offline_pmw.parameters import check_budget, round_charge, round_epsilon
from hedgerow.algorithms.offline_pmw.promise import Scale
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, ModelTooLargeError
from hedgerow.privacy import ZCDP, ApproxDP, Budget, Curator, PureDP, Regime, SeededNoise, rho_of
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release
from tests.privacy.replay import ExplodingNoise
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(3)
CELLS = Workload.parse("marginals:2", DOMAIN)
PARITIES = Workload.parities(DOMAIN, 3)
REPLACE, ADD_REMOVE = Neighbours.REPLACE, Neighbours.ADD_REMOVE
SKEWED = [400, 10, 10, 0, 5, 0, 0, 75]
BUDGETS: dict[str, Budget] = {
    "pure, replace": PureDP(4.0, REPLACE),
    "pure, add-remove": PureDP(4.0),
    "zcdp, replace": ZCDP(0.5, REPLACE),
    "zcdp, add-remove": ZCDP(0.5),
    "approximate": ApproxDP(1.0, 1e-6),
}
QUIET = OfflinePMW(alpha=0.2, error_share=0.0)


class RestlessNoise:
    """Every noisy answer is a million off, now above and now below: no run ever stops early."""

    secure = False

    def __init__(self) -> None:
        self.inner, self.sign = SeededNoise(0), 1

    def laplace(self, values: Ints, scale: float) -> Ints:
        self.sign = -self.sign
        return values + self.sign * 1_000_000

    def gaussian(self, values: Ints, sigma: float) -> Ints:
        return self.inner.gaussian(values, sigma)

    def choose(self, scores: Floats, scale: float) -> int:
        return self.inner.choose(scores, scale)


def run(config: OfflinePMW, budget: Budget, workload: Workload = CELLS, seed: int = 0) -> Release:
    return config.run(DenseCounts(DOMAIN, SKEWED), workload, budget, noise=SeededNoise(seed))


# ---- rounds, noise and the ledger ------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.37, 0.9])
def test_rounds_follow_from_alpha(alpha: float) -> None:
    for step, rounds in (("source", 4 * math.log(8) / alpha**2), ("sharp", math.log(8) / (2 * alpha**2))):
        facts = OfflinePMW(alpha=alpha, step=step).plan(CELLS, PureDP(1.0), 1000).facts
        assert facts["rounds"] == max(1, math.floor(rounds))


@pytest.mark.parametrize("rounds", [9, 100, 12345])
def test_alpha_follows_from_rounds(rounds: int) -> None:
    for step, squared in (("source", 4 * math.log(8) / rounds), ("sharp", math.log(8) / (2 * rounds))):
        facts = OfflinePMW(rounds=rounds, step=step).plan(CELLS, PureDP(1.0), 1000).facts
        assert (facts["rounds"], facts["alpha"]) == (rounds, pytest.approx(math.sqrt(squared)))


@pytest.mark.parametrize("shares", [(0.02, 0.03), (0.1, 0.0)])
@pytest.mark.parametrize("name", BUDGETS)
def test_the_ledger_of_all_rounds_is_the_closed_form(name: str, shares: tuple[float, float]) -> None:
    budget = BUDGETS[name]
    config = OfflinePMW(alpha=0.3, total_share=shares[0], error_share=shares[1])
    release = config.run(DenseCounts(DOMAIN, SKEWED), CELLS, budget, noise=RestlessNoise())
    chosen = release.provenance.parameters["chosen"]
    rounds, epsilon = chosen["rounds"], chosen["epsilon0"]
    assert release.provenance.parameters["updates"] == rounds == math.floor(4 * math.log(8) / 0.09)
    spent = math.fsum(event.charge for event in release.events if event.label in ("select", "measure"))
    pure = 2 * rounds * epsilon
    y = epsilon / 2
    selection = y / math.tanh(y) - 1 + math.log(math.sinh(y) / y)
    concentrated = rounds * (selection + epsilon * math.tanh(epsilon / 2))
    assert spent == pytest.approx(pure if budget.regime is Regime.PURE else concentrated, rel=1e-11)
    assert release.spent == pytest.approx(budget.limit, rel=1e-12)  # with the other two shares that is everything
    assert release.spent <= budget.limit


@pytest.mark.parametrize("name", BUDGETS)
def test_every_event_is_at_epsilon_0(name: str) -> None:
    budget = BUDGETS[name]
    release = run(QUIET, budget)
    epsilon = release.provenance.parameters["chosen"]["epsilon0"]
    for event in release.events:
        if event.label == "select":
            assert event.scale == pytest.approx(2 * event.sensitivity / epsilon, rel=1e-9)
        if event.label == "measure":
            assert (event.mechanism, event.sensitivity) == ("discrete Laplace", 1.0)
            assert event.scale == pytest.approx(1 / epsilon, rel=1e-9)


def test_a_round_that_stops_is_paid_for() -> None:
    release = run(QUIET, PureDP(400.0, REPLACE))
    parameters = release.provenance.parameters
    assert parameters["stopped"]
    rounds = parameters["updates"] + 1
    labels = [event.label for event in release.events]
    assert (labels.count("select"), labels.count("measure")) == (rounds, rounds)
    assert release.spent == pytest.approx(2 * rounds * parameters["chosen"]["epsilon0"], rel=1e-12)


def _round_rho(epsilon: float) -> float:
    charge = round_charge(Regime.ZCDP, epsilon)
    return charge.selection + charge.measurement


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
def test_the_advanced_calibration_always_fits(relation: Neighbours) -> None:
    for epsilon in (1e-3, 0.05, 0.3, 0.7, 1.0):
        for delta in (0.5, 0.1, 1e-3, 1e-6, 1e-12, 1e-100):
            amount = 0.95 * rho_of(epsilon, delta)
            for rounds in (1, 2, 30, 1000, 10**6):
                found = round_epsilon("advanced", ApproxDP(epsilon, delta, relation), amount, rounds)
                assert found == pytest.approx(epsilon / (4 * math.sqrt(rounds * math.log(1 / delta))))
                assert rounds * _round_rho(found) < amount
                # The theorem that it rests on: advanced composition of the two mechanisms of each round.
                composed = found * math.sqrt(4 * rounds * math.log(1 / delta)) + 2 * rounds * found * math.expm1(found)
                assert composed <= epsilon
                assert found < round_epsilon("auto", ApproxDP(epsilon, delta, relation), amount, rounds)


def test_the_advanced_ledger_holds_the_true_charge() -> None:
    budget = ApproxDP(1.0, 1e-6, REPLACE)
    config = OfflinePMW(alpha=0.3, calibration="advanced", error_share=0.0)
    release = config.run(DenseCounts(DOMAIN, SKEWED), CELLS, budget, noise=RestlessNoise())
    chosen = release.provenance.parameters["chosen"]
    assert chosen["epsilon0"] == pytest.approx(1 / (4 * math.sqrt(chosen["rounds"] * math.log(1e6))))
    assert release.spent == pytest.approx(chosen["rounds"] * _round_rho(chosen["epsilon0"]), rel=1e-12)
    assert release.spent < 0.2 * budget.limit


# ---- the promise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["source", "sharp"])
@pytest.mark.parametrize("name", BUDGETS)
def test_the_required_number_of_records_is_the_theorems(name: str, step: Any) -> None:
    budget = BUDGETS[name]
    facts = OfflinePMW(alpha=0.1, step=step).plan(CELLS, budget, 1000).facts
    beta = 0.05 if budget.neighbours is REPLACE else 0.045  # a tenth for the number of records
    required = 2 * math.log(2 * facts["rounds"] * 12 / beta) / (0.1 * facts["epsilon0"])
    assert facts["records_required"] == pytest.approx(required)
    assert not facts["promised"]
    assert OfflinePMW(alpha=0.1, step=step).plan(CELLS, budget, 1.001 * required).facts["promised"]


def test_a_very_noisy_number_of_records_asks_for_more_of_them() -> None:
    wasteful, budget = OfflinePMW(alpha=0.5, step="sharp", total_share=1e-4), PureDP(1.0)
    facts = wasteful.plan(CELLS, budget, 1000).facts
    # |n-hat - n| passes ln(200) / 1e-4 records with probability 0.005; that must be at most alpha / 2 of them.
    assert facts["records_required"] == pytest.approx(4 * math.log(200) / 1e-4, rel=1e-3)


def test_parities_need_half_the_records_under_add_remove() -> None:
    # Scaled to [0, 1] a parity moves by 1/2 when a record comes or goes, and by 1 when one is replaced.
    assert Scale.of(PARITIES, ADD_REMOVE) == Scale(8, 7, 0.5, 0.5)
    assert Scale.of(PARITIES, REPLACE) == Scale(8, 7, 1.0, 0.5)
    assert Scale.of(CELLS.by_query(), ADD_REMOVE) == Scale(8, 12, 1.0, 1.0)


@pytest.mark.parametrize("total", [3_000.0, 1e5, 1e8])
@pytest.mark.parametrize("step", ["source", "sharp"])
@pytest.mark.parametrize("name", BUDGETS)
def test_automatic_alpha_is_the_smallest_that_is_promised(name: str, step: Any, total: float) -> None:
    budget = BUDGETS[name]
    facts = OfflinePMW(step=step).plan(CELLS, budget, total).facts
    assert facts["promised"]
    assert facts["records_required"] <= total
    for smaller in (0.5, 0.9, 0.999, 1 - 1e-9):
        config = OfflinePMW(alpha=smaller * facts["alpha"], step=step)
        assert not config.plan(CELLS, budget, total).facts["promised"]


def test_without_enough_records_nothing_is_promised() -> None:
    plan = OfflinePMW().plan(CELLS, PureDP(0.01), 500)
    assert 0 < plan.facts["alpha"] < 1
    assert (plan.facts["promised"], plan.facts["bound"]) == (False, None)
    assert dict(plan.lines(500))["bound"].startswith("none")
    release = run(OfflinePMW(), PureDP(0.01))
    assert release.provenance.parameters["chosen"]["promised"] is False


def test_the_plan_tells_the_bound_and_when_it_is_vacuous() -> None:
    lines = dict(OfflinePMW(alpha=0.1, step="sharp").plan(CELLS, PureDP(1.0), 1e6).lines(1e6))
    assert lines["bound"].startswith("every answer, as a fraction of the records, within 0.4 of its query's width")
    assert "says nothing" not in lines["bound"]
    assert set(lines) == {"memory", "rounds", "charges", "alpha", "records", "bound"}
    assert "says nothing" in dict(OfflinePMW(alpha=0.3).plan(CELLS, PureDP(1.0), 1e6).lines(1e6))["bound"]


def test_the_run_does_what_the_plan_says() -> None:
    budget = ZCDP(0.5, REPLACE)
    plan = OfflinePMW().plan(CELLS, budget, 500).facts
    chosen = run(OfflinePMW(), budget).provenance.parameters["chosen"]
    assert {name: plan[name] for name in chosen} == chosen


# ---- what happens to the table ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUDGETS)
def test_nothing_is_read_after_the_last_round(name: str) -> None:
    source, reads = DenseCounts(DOMAIN, SKEWED), []
    QUIET.run(source, CELLS, BUDGETS[name], noise=SeededNoise(1), progress=lambda report: reads.append(source.reads))
    assert source.reads == reads[-1] > 0


@pytest.mark.parametrize("epsilon", [4.0, 400.0])
def test_a_table_that_is_replaced_after_the_last_round_changes_nothing(epsilon: float) -> None:
    budget = PureDP(epsilon, REPLACE)
    for seed in range(5):
        first = run(QUIET, budget, seed=seed)
        last, source = len(first.measurements), DenseCounts(DOMAIN, SKEWED)

        def forget(report: RoundReport, last: int = last, source: DenseCounts = source) -> None:
            if report.round == last:
                source.histogram = np.zeros_like(source.histogram)

        second = QUIET.run(source, CELLS, budget, noise=SeededNoise(seed), progress=forget)
        assert source.histogram.sum() == 0
        assert first.events == second.events
        assert np.array_equal(*(each.model.marginals([DOMAIN.names])[0] for each in (first, second)))


def test_the_error_estimate_is_paid_from_its_own_share() -> None:
    release = run(replace(QUIET, error_share=0.1), PureDP(4.0, REPLACE))
    assert release.error is not None
    charges = [event.charge for event in release.events if event.label == "error"]
    assert math.fsum(charges) == pytest.approx(0.4, rel=1e-12)
    assert run(QUIET, PureDP(4.0, REPLACE)).error is None


def test_a_budget_that_was_partly_spent_is_not_passed() -> None:
    curator = Curator(DenseCounts(DOMAIN, SKEWED), PureDP(4.0, REPLACE), noise=RestlessNoise())
    curator.measure(CELLS.by_query().candidate(0), 3.0)
    release = OfflinePMW(alpha=0.3).run_with(curator, CELLS)
    assert 3.999 < release.spent <= 4.0


def test_a_spent_budget_is_refused() -> None:
    with pytest.raises(ConfigError, match="charge must be a positive"):
        check_budget("auto", PureDP(4.0, REPLACE), 0.0)


def test_progress_is_told_after_every_round() -> None:
    told: list[RoundReport] = []
    source = DenseCounts(DOMAIN, SKEWED)
    release = QUIET.run(source, CELLS, PureDP(400.0, REPLACE), noise=SeededNoise(0), progress=told.append)
    assert [report.round for report in told] == list(range(1, len(release.measurements) + 1))
    assert told[-1].spent == pytest.approx(release.spent)
    assert {report.rounds for report in told} == {None}
    assert [report.chosen for report in told] == [measured.target.text for measured in release.measurements]


def test_a_release_says_what_was_chosen_and_survives_a_file(tmp_path: Path) -> None:
    release = run(OfflinePMW(), PureDP(4.0))
    assert release.provenance.algorithm == "OfflinePMW"
    json.dumps(release.provenance.to_dict())
    release.save(tmp_path / "release")
    loaded = Release.load(tmp_path / "release")
    assert loaded.provenance == release.provenance
    assert loaded.workload.spec == "cells:2"
    assert np.allclose(loaded.model.marginals([("a", "b")])[0], release.model.marginals([("a", "b")])[0])


def test_learning_brings_the_hypothesis_closer() -> None:
    release = run(OfflinePMW(alpha=0.05, step="sharp"), PureDP(2000.0, REPLACE))
    exact = release.workload.answers(DenseCounts(DOMAIN, SKEWED))
    uniform = release.workload.answers(DenseCounts(DOMAIN, np.full(8, 62.5)))
    errors = [np.abs(answers - exact).max() / 500 for answers in (release.workload.answers(release.model), uniform)]
    assert errors[0] <= 0.2
    assert errors[1] > 0.5
    assert release.provenance.parameters["updates"] > 3


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0},
        {"alpha": 1.0},
        {"alpha": math.nan},
        {"alpha": True},
        {"alpha": "smallest"},
        {"rounds": 0},
        {"rounds": 2.5},
        {"rounds": True},
        {"alpha": 0.1, "rounds": 10},
        {"beta": 0.0},
        {"beta": 1.0},
        {"step": "long"},
        {"calibration": "basic"},
        {"total_share": 0.0},
        {"error_share": -0.1},
        {"total_share": 0.5, "error_share": 0.5},
    ],
)
def test_wrong_configurations_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        OfflinePMW(**wrong)


MIXED = Workload.parse("cells:2; parities:2", DOMAIN)
CONSTANT = Workload.explicit(DOMAIN, ("a",), [[0.0, 1.0], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("config", "workload", "budget", "says"),
    [
        (OfflinePMW(), MIXED, PureDP(1.0), "ranges of different kinds"),
        (OfflinePMW(), Workload.parse("cells:2; cells:1 @ 0.5", DOMAIN), PureDP(1.0), "different weights"),
        (OfflinePMW(), CONSTANT, PureDP(1.0, REPLACE), "same value for every record"),
        (OfflinePMW(), CONSTANT, PureDP(1.0), "same value for every record"),
        (OfflinePMW(rounds=8), CELLS, PureDP(1.0), "too few"),
        (OfflinePMW(calibration="advanced"), CELLS, PureDP(1.0), "needs an"),
        (OfflinePMW(calibration="advanced"), CELLS, ZCDP(0.1), "is for"),
        (OfflinePMW(calibration="advanced"), CELLS, ApproxDP(1.0, 1e-6, regime=Regime.PURE), "needs an"),
        (OfflinePMW(calibration="advanced"), CELLS, ApproxDP(1.5, 1e-6), "is for"),
        (OfflinePMW(calibration="advanced"), CELLS, ApproxDP(0.5, 0.9), "is for"),
        (OfflinePMW(calibration="advanced", error_share=0.9), CELLS, ApproxDP(1.0, 1e-6), "does not pay"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_drawn(
    config: OfflinePMW, workload: Workload, budget: Budget, says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        config.plan(workload, budget, 1000)
    assert caught.value.remedy
    with pytest.raises(ConfigError, match=says):
        config.run(DenseCounts(DOMAIN, SKEWED), workload, budget, noise=ExplodingNoise())


def test_mixed_ranges_are_scaled_under_replace() -> None:
    release = run(QUIET, PureDP(400.0, REPLACE), MIXED)
    answers = release.workload.answers(release.model) - release.workload.answers(DenseCounts(DOMAIN, SKEWED))
    widths = release.workload.sensitivities(REPLACE)
    assert set(widths) == {1.0, 2.0}
    assert (np.abs(answers) / (500 * widths)).max() <= 4 * 0.2


def test_a_domain_that_is_too_large_is_refused_unread() -> None:
    domain = Domain(IntegerRange(name, 0, 255) for name in "abcdef")
    workload = Workload.parse("marginals:2", domain)
    plan = OfflinePMW().plan(workload, PureDP(1.0), 1000)
    assert not plan.fits

    class Unreadable:
        def __init__(self) -> None:
            self.domain = domain
            self.filtered = False

        def total(self) -> int:
            return 1000

    with pytest.raises(ModelTooLargeError):
        OfflinePMW().run(Unreadable(), workload, PureDP(1.0))


def test_another_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match="another domain"):
        OfflinePMW().run(DenseCounts(binary(2), [1, 1, 1, 1]), CELLS, PureDP(1.0))


def test_every_answer_is_on_the_scale_of_its_own_query() -> None:
    # Rows with ranges of 1/2 and 2: one record moves each scaled answer by at most 1.
    rows = Workload.explicit(DOMAIN, ("a", "b"), [[0, 0, 0.5, 0.5], [0, 2, 0, 2]])
    assert Scale.of(rows, REPLACE) == Scale(8, 2, 1.0, 1.0)
    release = run(replace(QUIET, alpha=0.1), PureDP(4000.0, REPLACE), rows)
    exact: Floats = rows.answers(DenseCounts(DOMAIN, SKEWED))
    assert (np.abs(rows.answers(release.model) - exact) / (500 * np.array([0.5, 2.0]))).max() <= 0.4
