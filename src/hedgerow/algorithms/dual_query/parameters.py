"""Number of rounds, step size and samples per round of DualQuery, from public quantities.

The theorem (theory.md section 5), for queries scaled to [0, 1] and errors as fractions: with probability 1 - beta every
query is answered within

    2 tau + gamma + eta / 2 + ln|Q| / (eta T),        tau = sqrt(ln(2 |X| T / beta) / (2 s)),

where |Q| counts complements and gamma is how far the oracle may stay below the best response. The paper's parameters
and better constants make that at most alpha. Both ask for far more data than there is: at alpha = 0.1 on the 8
attributes of Adult they spend an epsilon of hundreds of thousands. Papers set eta between 1.2 and 2 by hand.

`practical` is a rule in place of the hand [H]: no theorem. It spends the budget exactly, and among T and s takes those
with the smallest

    eta / 80 + 0.3 ln|Q| / (eta T) + 0.07 sqrt(ln|X| / s),

which is the theorem's sum with what its terms were measured to be worth on public tables (docs/measurements.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hedgerow.algorithms.dual_query.accounting import Accounting
from hedgerow.domain import possible_records
from hedgerow.errors import ConfigError
from hedgerow.privacy import SLACK, Budget, EqualWidths, Regime
from hedgerow.queries import Workload

Rule = Literal["source", "optimised", "practical"]
Theorem = Literal["source", "optimised"]

MOST_ROUNDS = 1_000
MOST_SAMPLES = 10_000

_STEP, _REGRET, _SAMPLING = 1 / 80, 0.3, 0.07
_ROUNDING = 2.0**-40
_PER_SQUARE = {Regime.ZCDP: 1.0 / 8.0, Regime.GDP: math.pi / 16.0}
"""Largest cost of a draw per square of its epsilon; under GDP the tangent at 0 (theory.md section 12)."""


@dataclass(frozen=True)
class Game:
    """The public quantities that the parameters depend on.

    Attributes:
        queries: |Q|, complements included.
        log_cells: ln|X|.
        total: n, the number of records that answers are divided by; a sample's, if there is one.
        sensitivity: D, of a query scaled to width 1, in counts.
        beta: Probability with which the theorem may fail.

    Example:
        >>> Game(queries=100, log_cells=10.0, total=1000).sensitivity
        1.0
    """

    queries: int
    log_cells: float
    total: float
    sensitivity: float = 1.0
    beta: float = 0.05

    @classmethod
    def of(cls, workload: Workload, budget: Budget, total: float, beta: float) -> Game:
        """From a workload of single queries.

        Raises:
            QueryError: A candidate is a whole marginal, or a query is constant.
        """
        sensitivity = float(EqualWidths.of(workload, budget.neighbours).sensitivities.max())
        log_cells = math.log(possible_records(workload.domain))
        return cls(2 * workload.n_queries, log_cells, total, sensitivity, beta)

    @property
    def log_queries(self) -> float:
        """ln|Q|."""
        return math.log(self.queries)

    def sampling_error(self, beta: float) -> float:
        """Largest error of n records drawn without replacement, over all queries, except with probability beta.

        Hoeffding's bound, which holds without replacement too; ``|Q|`` counts complements, so one side is enough.

        Example:
            >>> round(Game(queries=100, log_cells=10.0, total=1000).sampling_error(0.05), 4)
            0.0616
        """
        return math.sqrt(math.log(self.queries / beta) / (2.0 * self.total))


@dataclass(frozen=True)
class Parameters:
    """Number of rounds, step size and samples per round.

    Attributes:
        rule: Source of the numbers: one of the theorems, or the practical rule.
        rounds: T.
        step: eta.
        samples: s, draws in each round.
        slack: gamma, the gap that the oracle may leave to the best response, as a fraction.

    Example:
        >>> play = Parameters("practical", rounds=40, step=1.5, samples=100)
        >>> play.scale(1, total=1000), play.scale(3, total=1000)
        (inf, 333.3333333333333)
    """

    rule: Rule
    rounds: int
    step: float
    samples: int
    slack: float = 0.0

    def scale(self, t: int, total: float) -> float:
        """Counts of error that change the weight of a query by e in round t; infinite in the first."""
        return total / (self.step * (t - 1)) if t > 1 else math.inf

    def accounting(self, game: Game, delta: float) -> Accounting:
        """The cost of a run."""
        return Accounting(self.rounds, self.step, self.samples, game.total, game.sensitivity, delta)

    def bound(self, game: Game) -> float:
        """The theorem's bound on the largest error, as a fraction of the width; above 1 it says nothing."""
        tau = math.sqrt(_log_union(game, self.rounds) / (2.0 * self.samples))
        return 2.0 * tau + self.slack + self.step / 2.0 + game.log_queries / (self.step * self.rounds)


def _log_union(game: Game, rounds: int) -> float:
    """ln(2 |X| T / beta)."""
    return math.log(2.0 * rounds / game.beta) + game.log_cells


def theorem(rule: Theorem, alpha: float, game: Game) -> Parameters:
    """Find parameters with which every error is at most alpha, with probability 1 - beta.

    Args:
        rule: ``"source"`` has the paper's constants (16, 1/4, 48; an oracle within alpha / 4), ``"optimised"`` smaller
            ones (6, 1/3, 18; a best response).
        alpha: A fraction.
        game: The queries and the domain.

    Example:
        >>> found = theorem("optimised", 0.3, Game(queries=100, log_cells=10.0, total=1000))
        >>> found.rounds, round(found.step, 3), found.samples, round(found.bound(Game(100, 10.0, 1000)), 6) <= 0.3
        (308, 0.1, 3884, True)
    """
    rounds_constant, share, samples_constant = (16, 1 / 4, 48) if rule == "source" else (6, 1 / 3, 18)
    rounds = math.ceil(rounds_constant * game.log_queries / alpha**2)
    samples = math.ceil(samples_constant * _log_union(game, rounds) / alpha**2)
    return Parameters(rule, rounds, share * alpha, samples, alpha / 4 if rule == "source" else 0.0)


def cost(play: Parameters, game: Game, regime: Regime) -> float:
    """Amount that a run spends, in the unit of the regime.

    Example:
        >>> round(cost(Parameters("practical", 11, 0.5, 20), Game(100, 10.0, 1000), Regime.PURE), 6)
        1.1
    """
    spent = play.accounting(game, 0.5)
    return spent.pure if regime is Regime.PURE else spent.squares * _PER_SQUARE[regime]


def smallest_alpha(rule: Theorem, game: Game, regime: Regime, amount: float) -> float:
    """The smallest alpha whose parameters the amount pays for; above 1 the theorem promises nothing.

    Example:
        >>> round(smallest_alpha("optimised", Game(100, 10.0, 1e9), Regime.PURE, 1.0), 3)
        0.157
    """
    low, high = 1e-6, 1e6
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if cost(theorem(rule, middle, game), game, regime) <= amount else (middle, high)
    return high


def step_for(amount: float, rounds: int, samples: int, game: Game, regime: Regime) -> float:
    """The longest step that an amount pays for, with what rounding adds to the charges; infinite for one round.

    Example:
        >>> round(step_for(1.1, 11, 20, Game(100, 10.0, 1000), Regime.PURE), 6)
        0.5
    """
    draws = samples * (rounds - 1)
    if draws == 0:
        return math.inf
    unit = Parameters("practical", rounds, 1.0, samples)
    if regime is Regime.PURE:
        return max(0.0, amount * (1.0 - _ROUNDING) - draws * SLACK) / cost(unit, game, regime)
    root = max(0.0, math.sqrt(amount * (1.0 - _ROUNDING)) - SLACK * math.sqrt(draws * _PER_SQUARE[regime]))
    return root / math.sqrt(cost(unit, game, regime))


def practical(
    amount: float,
    game: Game,
    regime: Regime,
    *,
    rounds: int | None = None,
    step: float | None = None,
    samples: int | None = None,
) -> Parameters:
    """Find rounds and samples with the smallest predicted error; what is given is kept [H].

    Unless all three are given, the amount is spent: by the step, or (where the step is given) by whole samples. If it
    pays for no second round, there is one round, which is free.

    Args:
        amount: epsilon or rho for all rounds.
        game: The queries and the domain.
        regime: Unit of the amount.
        rounds: T; chosen unless given.
        step: eta; chosen unless given.
        samples: s; chosen unless given.

    Raises:
        ConfigError: The given number of rounds costs more than the amount.

    Example:
        >>> found = practical(0.01, Game(queries=3_000, log_cells=14.0, total=50_000), Regime.ZCDP)
        >>> found.rounds, round(found.step, 2), found.samples
        (109, 0.76, 202)
    """
    plays = list(_affordable(amount, game, regime, rounds=rounds, step=step, samples=samples))
    if not plays and rounds is None:  # no failure after the number of records was paid for
        return Parameters("practical", 1, step or 1.0, samples or MOST_SAMPLES)
    if not plays:
        raise ConfigError(
            f"the rounds of DualQuery cost more than the {amount:.6g} {regime.unit} left for them",
            remedy="fix fewer of rounds, step and samples, or give smaller ones",
        )
    return min(plays, key=lambda play: predicted_error(play, game))


def affordable_theorem(rule: Theorem, alpha: float, amount: float, game: Game, regime: Regime) -> Parameters:
    """Take the theorem's parameters, if the amount pays for them.

    Raises:
        ConfigError: It does not; the message says how much they cost, and which alpha could be paid for.

    Example:
        >>> affordable_theorem("optimised", 0.1, 1.0, Game(3_000, 14.0, 50_000), Regime.PURE)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: alpha = 0.1 costs 7.24e+05 epsilon, and 1 is left for the rounds
          Remedy: leave alpha out: the budget pays for no alpha below 1
    """
    play = theorem(rule, alpha, game)
    if play.step <= step_for(amount, play.rounds, play.samples, game, regime):
        return play
    least = smallest_alpha(rule, game, regime, amount * (1.0 - 1e-6))
    other = (
        f"give alpha = {least:.3g} or more" if least < 1.0 else "leave alpha out: the budget pays for no alpha below 1"
    )
    spent, unit = cost(play, game, regime), regime.unit
    raise ConfigError(
        f"alpha = {alpha:.3g} costs {spent:.3g} {unit}, and {amount:.3g} is left for the rounds", remedy=other
    )


def predicted_error(play: Parameters, game: Game) -> float:
    """Largest error to expect, as a fraction of the width [H]: no theorem, see the head of this module.

    Example:
        >>> round(predicted_error(Parameters("practical", 100, 1.5, 80), Game(3_000, 14.0, 50_000)), 3)
        0.064
    """
    regret = game.log_queries / (play.step * play.rounds)
    return _STEP * play.step + _REGRET * regret + _SAMPLING * math.sqrt(game.log_cells / play.samples)


def _affordable(
    amount: float, game: Game, regime: Regime, *, rounds: int | None, step: float | None, samples: int | None
) -> Iterator[Parameters]:
    for t in _grid(2, MOST_ROUNDS) if rounds is None else [rounds]:
        if step is None:
            for s in _grid(1, MOST_SAMPLES) if samples is None else [samples]:
                longest = step_for(amount, t, s, game, regime)
                if longest > 0.0:
                    yield Parameters("practical", t, 1.0 if math.isinf(longest) else longest, s)
            continue
        s = _most_samples(amount, t, step, game, regime) if samples is None else samples
        if s >= 1 and step <= step_for(amount, t, s, game, regime):
            yield Parameters("practical", t, step, s)


def _most_samples(amount: float, rounds: int, step: float, game: Game, regime: Regime) -> int:
    """The samples that an amount pays for: costs are proportional to their number."""
    one = cost(Parameters("practical", rounds, step, 1), game, regime)
    return min(MOST_SAMPLES, math.floor(amount * (1.0 - 1e-6) / one)) if one > 0.0 else MOST_SAMPLES


def _grid(low: int, high: int) -> list[int]:
    grid: list[int] = np.unique(np.geomspace(low, high, 60).round().astype(int)).tolist()
    return grid
