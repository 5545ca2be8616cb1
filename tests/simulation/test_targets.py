"""Budgets for wanted errors: the smallest that a scan finds, and errors of runs that come true."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy import optimize, stats

from hedgerow import MWEM, ZCDP, ApproxDP, Domain, IntegerRange, PureDP, SeededNoise, Table, Workload
from hedgerow.algorithms.strategies import strategies
from hedgerow.errors import ConfigError
from hedgerow.models import Empirical
from hedgerow.privacy import Budget
from hedgerow.simulation import Basis, Heuristic, Prediction, Simulated, Target, fixed, solve
from hedgerow.simulation.targets import covering

DOMAIN = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcd", (2, 3, 2, 4), strict=True))
WORKLOAD = Workload.marginals(DOMAIN, 2)


@dataclass
class Law:
    """Errors that follow a law, with the budgets that were asked about."""

    power: float
    floor: float = 0.0
    name: str = "law"
    basis: Basis = "heuristic"
    asked: int = 0

    def predict(self, budget: Budget) -> Prediction:
        self.asked += 1
        error = self.floor + 0.1 * budget.limit**-self.power
        return Prediction(error, 1000.0 * error)


@pytest.mark.parametrize("power", [0.3, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("wanted", [0.01, 0.1, 0.7])
def test_the_budget_is_the_smallest_that_reaches_the_target(power: float, wanted: float) -> None:
    law = Law(power)
    found = solve(law, Target(error=wanted), PureDP)
    exact = (0.1 / wanted) ** (1.0 / power)
    if not 1e-3 < exact < 90.0:
        assert found.budget is None or found.budget.limit < 1e-3
        return
    assert found.budget is not None
    assert exact <= found.budget.limit <= exact * 1.1
    assert wanted * 0.97 <= found.prediction.error <= wanted
    assert law.asked <= 6


def test_a_target_that_no_budget_reaches_is_left_open() -> None:
    found = solve(Law(1.0, floor=0.05), Target(error=0.04), PureDP)
    assert found.budget is None
    assert found.to_dict()["budget"] is None


def test_both_targets_hold() -> None:
    found = solve(Law(1.0), Target(error=0.05, interval=20.0), PureDP)
    assert found.prediction.interval == pytest.approx(20.0, rel=0.03)
    assert math.isinf(Prediction(0.1).over(Target(interval=5.0)))


@pytest.mark.parametrize("wanted", [{}, {"error": 0.0}, {"interval": -1.0}, {"error": math.inf}])
def test_targets_are_positive(wanted: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="positive"):
        Target(**wanted)


@pytest.mark.parametrize("make", [PureDP, ZCDP, partial(ApproxDP, delta=1e-9)])
def test_fixed_strategies_need_what_their_closed_forms_say(make: partial[Budget]) -> None:
    """Each strategy's error at the budget found, straight from `strategies`; a tenth less would not do."""
    for predictor in fixed(WORKLOAD, make, 5_000.0):
        found = solve(predictor, Target(error=0.01), make)
        assert found.budget is not None
        amount = found.budget.to_dict()["rho" if make is ZCDP else "epsilon"]
        at, below = (
            next(each for each in strategies(WORKLOAD, make(scale * amount)) if each.name == predictor.name)
            for scale in (1.0, 0.9)
        )
        assert 0.0097 <= at.mean_error / 5_000.0 <= 0.01 < below.mean_error / 5_000.0


def test_half_widths_cover_19_of_20_answers() -> None:
    deviations, lengths = np.array([1.0, 3.0, 0.0, 10.0]), np.array([4, 2, 3, 1])

    def uncovered(width: float) -> float:
        inside = [1.0 if not each else 1.0 - 2.0 * stats.norm.sf(width / each) for each in deviations]
        return float(np.average(inside, weights=lengths)) - 0.95

    assert covering(deviations, lengths) == pytest.approx(optimize.brentq(uncovered, 0.1, 100.0), rel=1e-5)


def test_the_formula_of_mwem_falls_with_the_budget() -> None:
    config = MWEM()
    errors = [config.expected_error(WORKLOAD, PureDP(epsilon), 5_000.0) for epsilon in (0.1, 1.0, 10.0)]
    assert errors[0] > errors[1] > errors[2] > 0.0  # type: ignore[operator]
    assert MWEM(rounds="annealed").expected_error(WORKLOAD, PureDP(1.0), 5_000.0) is None
    found = solve(
        Heuristic(lambda budget: config.expected_error(WORKLOAD, budget, 5_000.0) or 1.0), Target(0.02), PureDP
    )
    assert found.budget is not None
    assert found.prediction.error == pytest.approx(0.02, rel=0.03)


def table(n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    columns = [first, np.minimum(first + rng.integers(0, 2, n), 2), rng.integers(0, 2, n), rng.integers(0, 4, n)]
    return Table(DOMAIN, columns)


def test_simulated_predictions_come_true() -> None:
    """Ten runs each on a stand-in and on the table: the two means of the same law differ by some 7 %."""
    public = np.column_stack(table(3_000, 1).columns)
    predictor = Simulated(MWEM(), WORKLOAD, Empirical(DOMAIN, 3_000.0, public), 3_000.0, runs=10)
    found = solve(predictor, Target(error=0.02), PureDP)
    assert found.budget is not None
    assert found.basis == "simulated"
    private, errors = table(3_000, 2), []
    for seed in range(10):
        release = MWEM().run(private, WORKLOAD, found.budget, noise=SeededNoise(seed))
        missed = WORKLOAD.answers(release.model) - WORKLOAD.answers(private)
        errors.append(WORKLOAD.candidate_errors(missed).mean() / 2.0 / 3_000.0)
    assert float(np.mean(errors)) == pytest.approx(0.02, rel=0.25)


def test_an_earlier_release_counts_for_more_than_its_simulated_errors() -> None:
    model = Empirical(DOMAIN, 3_000.0, np.column_stack(table(3_000, 1).columns))
    plain, larger = (Simulated(MWEM(rounds=2), WORKLOAD, model, 3_000.0, factor, runs=1) for factor in (1.0, 2.0))
    one, two = (each.predict(PureDP(1.0)) for each in (plain, larger))
    assert one.error < two.error <= 2.0 * one.error
