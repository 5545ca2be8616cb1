from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest

from hedgerow.errors import ConfigError
from hedgerow.privacy import (
    GDP,
    ZCDP,
    ApproxDP,
    Budget,
    PureDP,
    Regime,
    budget_from_dict,
    epsilon_of,
    epsilon_of_half_square,
)
from hedgerow.queries import Neighbours

BUDGETS: tuple[Budget, ...] = (
    PureDP(0.5),
    ZCDP(0.1, Neighbours.REPLACE),
    ApproxDP(1.0, 1e-9, Neighbours.REPLACE),
    GDP(0.4, Neighbours.REPLACE),
    ApproxDP(1.0, 1e-9, Neighbours.REPLACE, Regime.GDP),
    ApproxDP(1.0, 1e-9, Neighbours.REPLACE, Regime.PURE),
)


def test_regimes_units_and_limits() -> None:
    pure, zcdp, approximate, gdp, other, whole = BUDGETS
    regimes = [Regime.PURE, Regime.ZCDP, Regime.ZCDP, Regime.GDP, Regime.GDP, Regime.PURE]
    assert [budget.regime for budget in BUDGETS] == regimes
    assert [budget.unit for budget in BUDGETS] == ["epsilon", "rho", "rho", "mu^2/2", "mu^2/2", "epsilon"]
    assert whole.limit == 1.0  # no more than epsilon: what is left of the promise is not spent
    assert whole.approximate() == approximate.approximate() == (1.0, 1e-9)
    assert (pure.limit, zcdp.limit) == (0.5, 0.1)
    assert Fraction(gdp.limit) < Fraction(0.4) ** 2 / 2
    assert gdp.limit == pytest.approx(0.08)
    assert epsilon_of_half_square(other.limit, 1e-9) <= 1.0
    assert epsilon_of_half_square(other.limit, 1e-9) == pytest.approx(1.0, rel=1e-9)
    assert other.limit == pytest.approx(1.1058 * approximate.limit, rel=1e-4)
    assert epsilon_of(approximate.limit, 1e-9) <= 1.0
    assert epsilon_of(approximate.limit, 1e-9) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("make", [PureDP, ZCDP, GDP, lambda amount: ApproxDP(amount, 1e-6)])
def test_add_remove_is_the_default(make: Any) -> None:
    assert make(1.0).neighbours is Neighbours.ADD_REMOVE


@pytest.mark.parametrize("amount", [0.0, -1.0, math.inf, math.nan, 10**400, True, "1"])
def test_senseless_amounts_are_refused(amount: Any) -> None:
    for make in (PureDP, ZCDP, GDP, lambda value: ApproxDP(value, 1e-6), lambda value: ApproxDP(1.0, value)):
        with pytest.raises(ConfigError, match="positive finite"):
            make(amount)


def test_a_delta_of_1_and_an_unknown_relation_are_refused() -> None:
    with pytest.raises(ConfigError, match="below 1"):
        ApproxDP(1.0, 1.0)
    with pytest.raises(ConfigError, match="'add-remove', 'replace'"):
        PureDP(1.0, "bounded")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="is not run as"):
        ApproxDP(1.0, 1e-6, regime="renyi")  # type: ignore[arg-type]
    for mu in (1e-200, 1e200):
        with pytest.raises(ConfigError, match="square"):
            GDP(mu)


@pytest.mark.parametrize("budget", BUDGETS)
def test_budgets_survive_json(budget: Budget) -> None:
    assert budget_from_dict(json.loads(json.dumps(budget.to_dict()))) == budget


@pytest.mark.parametrize("mapping", [{}, {"kind": "renyi"}, {"kind": "pure"}, {"kind": "pure", "rho": 1.0}])
def test_foreign_mappings_are_refused(mapping: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        budget_from_dict(mapping)


def test_statements_are_one_sentence_with_relation_and_numbers() -> None:
    for budget in BUDGETS:
        sentence = budget.statement()
        assert sentence.endswith(".")
        assert ". " not in sentence
        assert ("added or left out" in sentence) == (budget.neighbours is Neighbours.ADD_REMOVE)
    assert "factor of at most 1.649" in BUDGETS[0].statement()
    assert "rho = 0.1" in BUDGETS[1].statement()
    assert "delta = 1e-09" in BUDGETS[2].statement()
    assert "larger" not in BUDGETS[3].statement()
    assert "mu = 0.4" in BUDGETS[3].statement()
    assert "Gaussian differential privacy with mu = 0.181975" in BUDGETS[4].statement()
    assert "e^100" in PureDP(100.0).statement()
