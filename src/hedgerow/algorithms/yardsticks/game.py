"""Zero-sum games solved by Hedge against best responses (theory.md section 7); no privacy.

Gong, "Dual Query for DP Query Release", section 2.1, after Freund and Schapire, "Adaptive Game Playing Using
Multiplicative Weights", 1999. The row player picks a distribution u over N rows and pays ``<u, P v>`` for payoffs
P in [-1, 1]; the column player picks v to make that large. Rows play Hedge (multiplicative weights) with
``eta = sqrt(2 ln N / T)``; the column player answers every u_t with an exact best response v_t. The averages of both
then nearly attain the value of the game:

    0 <= max_v <avg u, v> - min_u <u, avg v> <= sqrt(2 ln N / T).

*Proof.* Hedge pays at most ``ln N / eta + eta T 2^2 / 8`` more than its best row in hindsight, for payoffs of range 2;
that is ``sqrt(2 T ln N)``. A best response makes round t cost ``max_v <u_t, v>``, whose mean is at least
``max_v <avg u, v>``; the best row in hindsight pays ``T min_u <u, avg v>``.

Query release is such a game, between cells and queries (closed under complement) with the error of a query on a cell as
payoff; its value is 0, as the true distribution makes no error. Its two sides are the two families of algorithms:

- **MWEM** plays Hedge over *cells*: the hypothesis is u, a private selection finds the query that errs most (the best
  response), and the average of the hypotheses is released.
- **DualQuery** plays Hedge over *queries*: a few are sampled from u, the best response is the cell that answers these
  best, found without touching the data, and the average of the responses is released.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError

_LEAST_GAP = 1e-100
"""Its square is a number above 0."""

_MOST_ROUNDS = 10**8
"""More would take hours."""

Oracle = Callable[[Floats], tuple[int, Floats]]
"""Best response to a distribution over rows, shape ``(N,)``: the number of the column and what it pays, ``(N,)``.

It must be exact: no column may pay more on average over the rows.
"""


@dataclass(frozen=True, eq=False)
class GameSolution:
    """Nearly optimal play of both sides.

    Attributes:
        row: Average distribution of the rows, shape ``(N,)``.
        column: Weights of the columns that were best responses; they sum to 1.
        lower: ``min_u <u, avg v>``, the least that the column player gets.
        upper: ``max_v <avg u, v>``, the most that the row player pays.
        rounds: T.

    Example:
        >>> pennies = solve_game([[1.0, -1.0], [-1.0, 1.0]], alpha=0.05)
        >>> pennies.rounds, pennies.lower <= 0.0 <= pennies.upper, pennies.gap <= pennies.bound <= 0.05
        (555, True, True)
    """

    row: Floats
    column: Mapping[int, float] = field(repr=False)
    lower: float
    upper: float
    rounds: int

    @property
    def gap(self) -> float:
        """``upper - lower``: by how much either side can be off the value of the game."""
        return self.upper - self.lower

    @property
    def bound(self) -> float:
        """The bound on the gap: ``sqrt(2 ln N / T)``."""
        return gap_bound(len(self.row), self.rounds)

    def column_vector(self, size: int) -> Floats:
        """The average of the best responses as a distribution over ``size`` columns, shape ``(size,)``."""
        vector = np.zeros(size)
        vector[list(self.column)] = list(self.column.values())
        return vector


class Hedge:
    """Multiplicative weights over N rows that pay, for T rounds: weights proportional to ``exp(-eta sum of payoffs)``.

    Example:
        >>> player = Hedge(2, rounds=8)
        >>> player.pay(np.array([1.0, -1.0]))
        >>> player.weights.round(3)
        array([0.303, 0.697])
    """

    def __init__(self, rows: int, rounds: int) -> None:
        """Start uniform, with ``eta = sqrt(2 ln N / T)``.

        Args:
            rows: N, at least 1.
            rounds: T, at least 1.

        Raises:
            ConfigError: There are none.
        """
        self._eta = gap_bound(rows, rounds)
        self._paid = np.zeros(rows)

    @property
    def weights(self) -> Floats:
        """The distribution over the rows, shape ``(N,)``; every weight is computed in log space."""
        exponents = -self._eta * (self._paid - self._paid.min())
        weights = np.exp(exponents)
        return np.asarray(weights / weights.sum())

    def pay(self, payoffs: Floats) -> None:
        """Add what each row paid in a round.

        Args:
            payoffs: In [-1, 1], shape ``(N,)``.

        Raises:
            ConfigError: The shape or a value is wrong.
        """
        self._paid += _checked(payoffs, self._paid.shape)


def solve_game(
    payoffs: ArrayLike | Oracle, *, alpha: float | None = None, rounds: int | None = None, rows: int | None = None
) -> GameSolution:
    """Solve a zero-sum game, rows paying columns, to a chosen accuracy.

    Args:
        payoffs: P in [-1, 1], shape ``(N, M)``; or an oracle for best responses, where there are too many columns.
        alpha: Largest gap wanted, positive.
        rounds: T; give this or alpha.
        rows: N, for an oracle.

    Raises:
        ConfigError: A payoff lies outside [-1, 1] or has the wrong shape, or not exactly one of alpha and rounds is
            given, or the rounds would be more than 10^8.

    Example:
        >>> beats = [[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]]
        >>> solution = solve_game(beats, alpha=0.02)
        >>> solution.row.round(1), solution.column_vector(3).round(1)
        (array([0.3, 0.3, 0.3]), array([0.3, 0.3, 0.3]))
    """
    if callable(payoffs):
        return _play(payoffs, rows or 0, _rounds_of(rows or 0, alpha, rounds))
    try:
        matrix = np.asarray(payoffs, dtype=np.float64)
    except ValueError as error:
        raise ConfigError("the payoffs are not a matrix of numbers", remedy="give rows of the same length") from error
    if matrix.ndim != 2 or matrix.size == 0 or rows not in (None, len(matrix)):
        raise ConfigError(
            f"a game needs a matrix of rows and columns, not the shape {matrix.shape}",
            remedy="give one row for each choice of the player who pays",
        )
    _checked(matrix, matrix.shape)

    def respond(row: Floats) -> tuple[int, Floats]:
        column = int(np.argmax(row @ matrix))
        return column, matrix[:, column]

    return _play(respond, len(matrix), _rounds_of(len(matrix), alpha, rounds))


def rounds_for(rows: int, alpha: float) -> int:
    """T for a gap of at most alpha: ``2 ln N / alpha^2``, rounded up; at least 1.

    Raises:
        ConfigError: Alpha is not positive, or below 1e-100, or there is no row.

    Example:
        >>> rounds_for(1000, 0.1)
        1382
    """
    if not _LEAST_GAP <= alpha < math.inf:
        raise ConfigError(f"the gap of a game cannot be {alpha!r}", remedy="give an alpha above 0, for example 0.05")
    _check_rows(rows)
    return max(1, math.ceil(2.0 * math.log(rows) / alpha**2))


def gap_bound(rows: int, rounds: int) -> float:
    """The bound on the gap after T rounds, ``sqrt(2 ln N / T)``; it is also the eta of Hedge.

    Raises:
        ConfigError: There is no round or no row.

    Example:
        >>> round(gap_bound(1000, 1382), 5)
        0.09998
    """
    _check_rows(rows)
    if rounds < 1:
        raise ConfigError(f"expected at least one round, got {rounds}", remedy="give at least one round")
    return math.sqrt(2.0 * math.log(rows) / rounds)


def _play(respond: Oracle, rows: int, rounds: int) -> GameSolution:
    player = Hedge(rows, rounds)
    average, paid = np.zeros(rows), np.zeros(rows)
    responses: dict[int, int] = {}
    for _ in range(rounds):
        weights = player.weights
        column, payoffs = respond(weights)
        player.pay(payoffs)
        average += weights / rounds
        paid += payoffs / rounds
        responses[column] = responses.get(column, 0) + 1
    best = _checked(respond(average)[1], average.shape)
    shares = {column: count / rounds for column, count in responses.items()}
    return GameSolution(average, shares, float(paid.min()), float(average @ best), rounds)


def _rounds_of(rows: int, alpha: float | None, rounds: int | None) -> int:
    if alpha is not None and rounds is None:
        wanted = rounds_for(rows, alpha)
    elif rounds is not None and alpha is None:
        wanted = rounds
    else:
        raise ConfigError("a game needs either alpha or a number of rounds", remedy="give one of them")
    if wanted > _MOST_ROUNDS:
        raise ConfigError(
            f"a game is played for at most {_MOST_ROUNDS:,} rounds",
            remedy=f"give no more, or an alpha from {gap_bound(rows, _MOST_ROUNDS):.2g}",
        )
    return wanted


def _check_rows(rows: int) -> None:
    if rows < 1:
        raise ConfigError("a game needs at least one row", remedy="give rows= together with an oracle")


def _checked(payoffs: Floats, shape: tuple[int, ...]) -> Floats:
    given = np.asarray(payoffs, dtype=np.float64)
    if given.shape != shape or not (np.abs(given) <= 1.0).all():
        raise ConfigError(
            f"payoffs must lie in [-1, 1] and have the shape {shape}, not {given.shape}",
            remedy="divide them by the largest magnitude",
        )
    return given
