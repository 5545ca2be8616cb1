"""The minimax engine: the gap theorem, the value by linear programming, and Hedge's regret (theory.md section 7)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from hedgerow import GameSolution, solve_game
from hedgerow.algorithms.yardsticks.game import Hedge, gap_bound, rounds_for
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError

PAYOFF = st.floats(-1.0, 1.0, width=32)
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6))
MATRICES = SHAPES.flatmap(lambda shape: arrays(np.float64, shape, elements=PAYOFF))
SEQUENCES = st.tuples(st.integers(1, 40), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=PAYOFF)
)


def value_by_linear_programming(payoffs: Floats) -> float:
    """min over distributions u of max_j (u P)_j: minimise t with ``P^T u <= t``, u a distribution."""
    rows, columns = payoffs.shape
    found = linprog(
        c=[0.0] * rows + [1.0],
        A_ub=np.hstack([payoffs.T, -np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=[[1.0] * rows + [0.0]],
        b_eq=[1.0],
        bounds=[(0.0, None)] * rows + [(None, None)],
        method="highs",
    )
    assert found.success
    return float(found.fun)


def assert_consistent(solution: GameSolution, payoffs: Floats) -> None:
    """Both bounds belong to the averages, which are distributions."""
    column = solution.column_vector(payoffs.shape[1])
    for average in (solution.row, column):
        assert (average >= 0).all()
        assert average.sum() == pytest.approx(1.0, abs=1e-12)
    assert solution.upper == pytest.approx((solution.row @ payoffs).max(), abs=1e-12)
    assert solution.lower == pytest.approx((payoffs @ column).min(), abs=1e-12)


@given(MATRICES, st.integers(1, 80))
def test_the_gap_is_at_most_the_theorems_and_holds_the_value(payoffs: Floats, rounds: int) -> None:
    solution = solve_game(payoffs, rounds=rounds)
    assert_consistent(solution, payoffs)
    assert -1e-12 <= solution.gap <= solution.bound + 1e-12
    assert solution.bound == pytest.approx(math.sqrt(2 * math.log(len(payoffs)) / rounds))
    value = value_by_linear_programming(payoffs)
    assert solution.lower - 1e-9 <= value <= solution.upper + 1e-9


@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05])
def test_alpha_is_the_gap(alpha: float) -> None:
    payoffs = np.random.default_rng(0).uniform(-1, 1, size=(20, 15))
    solution = solve_game(payoffs, alpha=alpha)
    assert solution.rounds == math.ceil(2 * math.log(20) / alpha**2)
    assert solution.gap <= solution.bound <= alpha
    assert solve_game(payoffs, rounds=4).gap > 0.1  # four rounds do not do: the test above can fail


HAND = {
    "matching pennies": ([[1, -1], [-1, 1]], 0.0, [0.5, 0.5], [0.5, 0.5]),
    "rock, paper, scissors": ([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], 0.0, [1 / 3] * 3, [1 / 3] * 3),
    "a saddle point": ([[0.2, 0.1], [0.9, -1.0]], 0.2, [1.0, 0.0], [1.0, 0.0]),
    "uneven pennies": ([[1, -0.5], [-0.5, 0.25]], 0.0, [1 / 3, 2 / 3], [1 / 3, 2 / 3]),
    "mixed on both sides": ([[0.5, -0.5], [-0.25, 0.25]], 0.0, [1 / 3, 2 / 3], [0.5, 0.5]),
    "one row": ([[0.3, -0.2]], 0.3, [1.0], [1.0, 0.0]),
    "one column": ([[0.3], [-0.2]], -0.2, [0.0, 1.0], [1.0]),
}


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("name", HAND)
def test_games_solved_by_hand(name: str) -> None:
    payoffs, value, row, column = HAND[name]
    assert value_by_linear_programming(np.array(payoffs, dtype=float)) == pytest.approx(value, abs=1e-9)
    solution = solve_game(payoffs, alpha=0.01)
    assert solution.lower - 1e-12 <= value <= solution.upper + 1e-12
    assert solution.gap <= 0.01 + 1e-12
    # The averages are optimal to within the gap; in these games that fixes them to a multiple of it.
    assert np.abs(solution.row - row).max() < 0.05
    assert np.abs(solution.column_vector(len(column)) - column).max() < 0.05


def test_one_row_needs_one_round_and_has_no_gap() -> None:
    solution = solve_game([[0.3, -0.2]], alpha=0.01)
    assert (solution.rounds, solution.gap, solution.bound) == (1, 0.0, 0.0)


def test_an_oracle_gives_the_same_play_as_its_matrix() -> None:
    payoffs = np.random.default_rng(1).uniform(-1, 1, size=(8, 30))

    def respond(row: Floats) -> tuple[int, Floats]:
        assert row.shape == (8,)
        assert row.sum() == pytest.approx(1.0)
        column = int(np.argmax(row @ payoffs))
        return column, payoffs[:, column]

    one, other = solve_game(respond, rows=8, rounds=50), solve_game(payoffs, rounds=50)
    assert np.array_equal(one.row, other.row)
    assert (one.column, one.lower, one.upper) == (other.column, other.lower, other.upper)


def test_queries_against_cells_have_the_value_0() -> None:
    # Rows are cells, columns queries with their complements, the payoff is the error on a cell: the true distribution
    # makes none, so Hedge finds a distribution whose largest error is at most alpha. That is MWEM without noise.
    generator = np.random.default_rng(2)
    queries, truth = generator.random((10, 16)), generator.dirichlet(np.ones(16))
    errors = (queries - (queries @ truth)[:, None]).T
    solution = solve_game(np.hstack([errors, -errors]), alpha=0.05)
    assert solution.upper == pytest.approx(np.abs(queries @ solution.row - queries @ truth).max(), abs=1e-12)
    assert -1e-12 <= solution.upper <= 0.05
    # And DualQuery's side: Hedge over queries, best responses are cells; these, averaged, answer all queries.
    dual = solve_game(-np.vstack([errors.T, -errors.T]), alpha=0.05)
    records = dual.column_vector(16)
    assert np.abs(queries @ records - queries @ truth).max() == pytest.approx(-dual.lower, abs=1e-12)
    assert -dual.lower <= 0.05


# ---- regret ----------------------------------------------------------------------------------------------------------


def regret(rows: int, rounds: int, adversary: Callable[[Floats], Floats]) -> float:
    """How much more Hedge pays than the best row in hindsight, if the adversary sees every distribution first."""
    player, paid, total = Hedge(rows, rounds), 0.0, np.zeros(rows)
    for _ in range(rounds):
        weights = player.weights
        payoffs = adversary(weights)
        player.pay(payoffs)
        paid += float(weights @ payoffs)
        total += payoffs
    return paid - float(total.min())


def constant(weights: Floats) -> Floats:
    return np.where(np.arange(len(weights)) == 0, -1.0, 1.0)


def against_the_heaviest(weights: Floats) -> Floats:
    return np.where(np.arange(len(weights)) == np.argmax(weights), 1.0, -1.0)


def between_two_rows(weights: Floats) -> Floats:
    payoffs = np.ones(len(weights))
    payoffs[np.argmin(weights[:2])] = -1.0
    return payoffs


def against_the_heavier_half(weights: Floats) -> Floats:
    return np.where(weights >= np.median(weights), 1.0, -1.0)


def follow_the_weights(weights: Floats) -> Floats:
    return 2.0 * weights / weights.max() - 1.0


ADVERSARIES = (constant, against_the_heaviest, between_two_rows, against_the_heavier_half, follow_the_weights)


@pytest.mark.many(quick=6)
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize(("rows", "rounds"), [(1, 7), (2, 1), (2, 400), (3, 50), (50, 5), (50, 1000)])
def test_regret_against_adversaries_that_see_the_weights(
    adversary: Callable[[Floats], Floats], rows: int, rounds: int
) -> None:
    assert regret(rows, rounds, adversary) <= math.sqrt(2 * rounds * math.log(rows)) + 1e-9


@given(SEQUENCES)
def test_regret_against_any_sequence(sequence: Floats) -> None:
    rounds, rows = sequence.shape
    left = iter(sequence)
    assert regret(rows, rounds, lambda weights: next(left)) <= math.sqrt(2 * rounds * math.log(rows)) + 1e-9


@pytest.mark.parametrize("factor", [0.05, 20.0])
def test_other_step_lengths_break_the_regret_bound(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # So the adversaries above are strong enough to notice a wrong eta.
    monkeypatch.setattr(
        "hedgerow.algorithms.yardsticks.game.gap_bound", lambda rows, rounds: factor * gap_bound(rows, rounds)
    )
    worst = max(regret(50, 1000, adversary) for adversary in ADVERSARIES)
    assert worst > math.sqrt(2 * 1000 * math.log(50))


def test_weights_stay_positive_and_finite_over_many_rounds() -> None:
    player = Hedge(3, 10)
    for _ in range(500):
        player.pay(np.array([1.0, -1.0, 0.0]))
    assert np.isfinite(player.weights).all()
    assert player.weights[1] == pytest.approx(1.0)


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payoffs", "options", "says"),
    [
        ([[2.0, 0.0]], {"rounds": 1}, "payoffs must lie in"),
        ([[math.nan, 0.0]], {"rounds": 1}, "payoffs must lie in"),
        ([1.0, 0.0], {"rounds": 1}, "matrix of rows and columns"),
        ([[1.0, 0.0], [1.0]], {"rounds": 1}, "not a matrix of numbers"),
        ([[]], {"rounds": 1}, "matrix of rows and columns"),
        ([[1.0], [0.0]], {"rounds": 1, "rows": 3}, "matrix of rows and columns"),
        ([[1.0], [0.0]], {}, "either alpha or a number of rounds"),
        ([[1.0], [0.0]], {"rounds": 1, "alpha": 0.1}, "either alpha or a number of rounds"),
        ([[1.0], [0.0]], {"rounds": 0}, "at least one round"),
        ([[1.0], [0.0]], {"alpha": 0.0}, "gap of a game"),
        ([[1.0], [0.0]], {"alpha": math.nan}, "gap of a game"),
        ([[1.0], [0.0]], {"alpha": 1e-300}, "gap of a game"),
        ([[1.0], [0.0]], {"alpha": 1e-5}, "at most 100,000,000 rounds"),
        ([[1.0], [0.0]], {"rounds": 10**8 + 1}, "at most 100,000,000 rounds"),
        (lambda row: (0, row), {"rounds": 3}, "at least one row"),
        (lambda row: (0, row), {"alpha": 0.1}, "at least one row"),
        (lambda row: (0, 2.0 + row), {"rounds": 3, "rows": 2}, "payoffs must lie in"),
        (lambda row: (0, row[:1]), {"rounds": 3, "rows": 2}, "payoffs must lie in"),
    ],
)
def test_what_cannot_be_played_is_refused(payoffs: object, options: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        solve_game(payoffs, **options)  # type: ignore[arg-type]
    assert caught.value.remedy


def test_rounds_and_bound_agree() -> None:
    for rows, alpha in ((2, 0.3), (1000, 0.1), (10**6, 0.02)):
        rounds = rounds_for(rows, alpha)
        assert gap_bound(rows, rounds) <= alpha < gap_bound(rows, rounds - 1)
