"""Parameters of DualQuery: the theorem's constants, and the rule that spends the budget."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from hedgerow.algorithms import Game, Parameters, cost, practical, step_for, theorem
from hedgerow.algorithms.dual_query.parameters import affordable_theorem, predicted_error, smallest_alpha
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError, QueryError
from hedgerow.privacy import PureDP, Regime
from hedgerow.queries import Neighbours, Workload

games = st.builds(
    Game,
    queries=st.integers(2, 10**7),
    log_cells=st.floats(0.5, 300.0),
    total=st.floats(10.0, 1e8),
    sensitivity=st.sampled_from([1.0, 0.5]),
    beta=st.sampled_from([0.05, 0.5]),
)
ADULT = Game(queries=3164, log_cells=14.41, total=48_842)


@given(games, st.floats(0.02, 1.0))
def test_the_theorem_promises_alpha(game: Game, alpha: float) -> None:
    source, optimised = theorem("source", alpha, game), theorem("optimised", alpha, game)
    assert source.bound(game) <= 0.83 * alpha
    assert optimised.bound(game) <= alpha * (1 + 1e-12)
    assert (source.step, source.slack) == (alpha / 4, alpha / 4)
    assert source.rounds == math.ceil(16 * math.log(game.queries) / alpha**2)
    assert optimised.step == pytest.approx(alpha / 3)


def test_the_better_constants_cost_28_times_less() -> None:
    """72 in place of 2048, in units of ln(2|X|T/beta) ln(|Q|)^3 / (alpha^6 n^2)."""
    game, alpha = Game(queries=10**6, log_cells=500.0, total=1e6), 0.01
    for rule, constant in (("source", 2048), ("optimised", 72)):
        play = theorem(rule, alpha, game)  # type: ignore[arg-type]
        union = math.log(2 * play.rounds / game.beta) + game.log_cells
        unit = union * game.log_queries**3 / (alpha**6 * game.total**2)
        assert cost(play, game, Regime.ZCDP) / unit == pytest.approx(constant, rel=0.01)


@given(games, st.floats(1e-4, 50.0), st.sampled_from(Regime))
def test_the_rule_spends_the_amount(game: Game, amount: float, regime: Regime) -> None:
    play = practical(amount, game, regime)
    assert play.rounds >= 2
    assert play.step == step_for(amount, play.rounds, play.samples, game, regime)
    assert cost(play, game, regime) == pytest.approx(amount, rel=1e-2)


def test_the_rule_takes_the_smallest_prediction() -> None:
    play = practical(0.01, ADULT, Regime.ZCDP)
    for rounds, samples in ((20, 100), (100, 20), (100, 1000), (400, 100)):
        step = step_for(0.01, rounds, samples, ADULT, Regime.ZCDP)
        assert predicted_error(play, ADULT) <= predicted_error(Parameters("practical", rounds, step, samples), ADULT)


def test_more_budget_is_expected_to_help() -> None:
    for regime in Regime:
        errors = [predicted_error(practical(amount, ADULT, regime), ADULT) for amount in (0.001, 0.01, 0.1, 1.0)]
        assert errors == sorted(errors, reverse=True)


def test_what_is_fixed_is_kept() -> None:
    assert practical(1.0, ADULT, Regime.PURE, rounds=37).rounds == 37
    assert practical(1.0, ADULT, Regime.PURE, samples=11).samples == 11
    stepped = practical(1.0, ADULT, Regime.PURE, step=1.5)
    assert stepped.step == 1.5
    assert 0.9 < cost(stepped, ADULT, Regime.PURE) <= 1.0
    fixed = practical(1.0, ADULT, Regime.PURE, rounds=10, step=0.5, samples=30)
    assert (fixed.rounds, fixed.step, fixed.samples) == (10, 0.5, 30)
    single = practical(1.0, ADULT, Regime.PURE, rounds=1)
    assert (single.rounds, cost(single, ADULT, Regime.PURE)) == (1, 0.0)
    nothing = practical(1e-9, ADULT, Regime.PURE, step=1.5)
    assert (nothing.rounds, nothing.step, cost(nothing, ADULT, Regime.PURE)) == (1, 1.5, 0.0)


def test_what_cannot_be_paid_for_is_refused() -> None:
    with pytest.raises(ConfigError, match="cost more than the 1 epsilon"):
        practical(1.0, ADULT, Regime.PURE, rounds=1000, step=2.0, samples=1000)
    with pytest.raises(ConfigError, match=r"costs .* rho") as caught:
        affordable_theorem("source", 0.1, 0.0001, ADULT, Regime.ZCDP)
    assert "no alpha below 1" in caught.value.remedy
    plenty = Game(3164, 14.41, 1e8)
    with pytest.raises(ConfigError) as caught:
        affordable_theorem("optimised", 0.01, 0.02, plenty, Regime.ZCDP)
    least = float(caught.value.remedy.split()[3])
    assert affordable_theorem("optimised", least * 1.01, 0.02, plenty, Regime.ZCDP).bound(plenty) <= least * 1.01


@given(games, st.floats(0.01, 100.0), st.sampled_from(Regime), st.sampled_from(["source", "optimised"]))
def test_the_smallest_alpha_can_be_paid_for(game: Game, amount: float, regime: Regime, rule: str) -> None:
    alpha = smallest_alpha(rule, game, regime, amount)  # type: ignore[arg-type]
    assert cost(theorem(rule, alpha, game), game, regime) <= amount  # type: ignore[arg-type]


def test_a_game_follows_the_neighbours() -> None:
    domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
    parities, cells = Workload.parities(domain, 3), Workload.marginals(domain, 2, whole=False)
    for workload, relation, sensitivity in (
        (parities, Neighbours.ADD_REMOVE, 0.5),
        (parities, Neighbours.REPLACE, 1.0),
        (cells, Neighbours.ADD_REMOVE, 1.0),
        (cells, Neighbours.REPLACE, 1.0),
    ):
        game = Game.of(workload, PureDP(1.0, relation), 10.0, 0.05)
        assert (game.queries, game.sensitivity) == (2 * workload.n_queries, sensitivity)
        assert game.log_cells == pytest.approx(math.log(8))
    with pytest.raises(QueryError):
        Game.of(Workload.marginals(domain, 2), PureDP(1.0), 10.0, 0.05)
