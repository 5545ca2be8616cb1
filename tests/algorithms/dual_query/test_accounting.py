"""What DualQuery costs: closed forms against explicit sums, and the figures of theory.md section 5."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from hedgerow.algorithms import (
    ANY_ZCDP,
    BOUNDED_ZCDP,
    HETEROGENEOUS,
    PAPER,
    PURE,
    TIGHT_ZCDP,
    Accounting,
    Game,
    Parameters,
    cost,
    step_for,
)
from hedgerow.errors import ConfigError
from hedgerow.privacy import IndependentDraws, Regime, epsilon_of

plays = st.builds(
    Accounting,
    rounds=st.integers(1, 60),
    step=st.floats(1e-3, 5.0),
    samples=st.integers(1, 500),
    total=st.floats(1.0, 1e7),
    sensitivity=st.sampled_from([1.0, 0.5]),
    delta=st.sampled_from([1e-3, 1e-9]),
)


@given(plays)
def test_closed_forms_equal_explicit_sums(play: Accounting) -> None:
    each = [2.0 * play.step * (t - 1) * play.sensitivity / play.total for t in range(1, play.rounds + 1)]
    assert play.pure == pytest.approx(play.samples * sum(each), rel=1e-9)
    assert play.rho == pytest.approx(play.samples * sum(epsilon**2 / 8 for epsilon in each), rel=1e-9)
    assert play.last == pytest.approx(each[-1], rel=1e-9)
    n = play.total / play.sensitivity
    t = play.rounds
    assert play.rho == pytest.approx(play.samples * play.step**2 * t * (t - 1) * (2 * t - 1) / (12 * n**2), rel=1e-9)


@given(plays)
def test_statements_follow_their_definitions(play: Accounting) -> None:
    found, root = play.epsilons, math.log(1 / play.delta)
    assert found[ANY_ZCDP] == pytest.approx(4 * play.rho + 2 * math.sqrt(4 * play.rho * root), rel=1e-9)
    assert found[BOUNDED_ZCDP] == pytest.approx(play.rho + 2 * math.sqrt(play.rho * root), rel=1e-9)
    assert found[TIGHT_ZCDP] == (epsilon_of(play.rho, play.delta) if play.rounds > 1 else 0.0)
    assert found[TIGHT_ZCDP] <= found[BOUNDED_ZCDP] * (1 + 1e-9) <= found[ANY_ZCDP] * (1 + 2e-9)
    assert found[HETEROGENEOUS] <= found[PAPER] * (1 + 1e-9)
    assert found[play.best] == min(found.values())
    assert play.to_dict()["best"] == play.best


def regime_of_the_paper(epsilon: float = 1.253) -> Accounting:
    """Many rounds, and as many records as make the paper's composition give so much."""
    low, high = 1e3, 1e12
    for _ in range(200):
        middle = math.sqrt(low * high)
        too_much = Accounting(rounds=2000, step=0.5, samples=50, total=middle, delta=1e-6).epsilons[PAPER] > epsilon
        low, high = (middle, high) if too_much else (low, middle)
    return Accounting(rounds=2000, step=0.5, samples=50, total=high, delta=1e-6)


def test_the_claimed_factor_six() -> None:
    play = regime_of_the_paper()
    found = play.epsilons
    shown = {name: round(value, 3) for name, value in found.items() if name != PURE}
    assert shown == {PAPER: 1.253, HETEROGENEOUS: 0.711, ANY_ZCDP: 0.702, BOUNDED_ZCDP: 0.349, TIGHT_ZCDP: 0.276}
    assert play.best == TIGHT_ZCDP
    roots_dominate = regime_of_the_paper(0.01).epsilons
    assert roots_dominate[PAPER] / roots_dominate[HETEROGENEOUS] == pytest.approx(math.sqrt(3), rel=0.01)
    assert roots_dominate[PAPER] / roots_dominate[BOUNDED_ZCDP] == pytest.approx(2 * math.sqrt(3), rel=0.01)


def test_the_first_round_is_free() -> None:
    play = Accounting(rounds=1, step=2.0, samples=100, total=50.0)
    assert set(play.epsilons.values()) == {0.0}
    assert play.rho == 0.0


def test_enormous_costs_are_infinite_not_an_error() -> None:
    found = Accounting(rounds=100, step=100.0, samples=10, total=1.0).epsilons
    assert found[PAPER] == found[HETEROGENEOUS] == math.inf
    assert math.isfinite(found[PURE])


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"samples": 0}, {"step": 0.0}, {"total": math.inf}, {"delta": 1.0}])
def test_impossible_runs_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Accounting(**{"rounds": 2, "step": 1.0, "samples": 3, "total": 10.0, **wrong})  # type: ignore[arg-type]


@given(
    st.sampled_from(Regime), st.floats(1e-3, 20.0), st.integers(2, 200), st.integers(1, 3000), st.floats(1.0, 1e8),
    st.sampled_from([1.0, 0.5]),
)  # fmt: skip
def test_the_step_spends_the_amount_and_never_more(
    regime: Regime, amount: float, rounds: int, samples: int, total: float, sensitivity: float
) -> None:
    """Against the charges of the mechanism itself, with all that it rounds up.

    In GDP the step comes from a bound on the charges, which is close where the epsilon of each draw is small.
    """
    game = Game(100, 10.0, total, sensitivity)
    play = Parameters("practical", rounds, step_for(amount, rounds, samples, game, regime), samples)
    charges = [
        IndependentDraws(play.scale(t, total), sensitivity, samples).charge(regime) for t in range(2, rounds + 1)
    ]
    assert math.fsum(charges) <= amount
    last = IndependentDraws(play.scale(rounds, total), sensitivity, samples).epsilon
    if regime is not Regime.GDP:
        assert math.fsum(charges) >= amount * (1 - 1e-6)
    elif last < 2.0:
        assert math.fsum(charges) >= amount * (1 - 1e-6 - last**2 / 50)
    assert cost(play, game, regime) == pytest.approx(amount, rel=1e-2)
