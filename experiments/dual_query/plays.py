"""Rounds, step and samples of DualQuery by the same rule, whichever composition theorem the budget is counted with."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from hedgerow.algorithms.dual_query import TIGHT_ZCDP, Game, Parameters, practical
from hedgerow.privacy import Regime, rho_of

_LOOSEST = 1e-3
"""Part of the rho that the tightest theorem buys, below which no theorem here falls where epsilon is of use."""
_HALVINGS, _EXACT = 12, 60


@lru_cache(maxsize=64)
def play_of(statement: str, epsilon: float, delta: float, game: Game) -> Parameters:
    """The parameters that cost epsilon by a theorem, and no more.

    The library's rule chooses T, s and eta for a rho. Here rho is the largest, up to 0.2%, for which the theorem says
    that this choice costs at most epsilon; eta is then made as long as epsilon allows. For the theorem that the
    library itself composes by, the choice is the library's. For others the predicted error was within 0.1%
    of the smallest one that the theorem allows on the same grid of T and s, at epsilons from 0.1 to 5.

    Args:
        statement: The theorem, by its name in `Accounting.epsilons`.
        epsilon: Cost that the rounds may have by it.
        delta: The delta of that epsilon.
        game: The queries, the domain and the number of records.

    Example:
        >>> from hedgerow.algorithms.dual_query.accounting import PAPER
        >>> game = Game(queries=3_000, log_cells=14.0, total=50_000)
        >>> play = play_of(PAPER, 1.0, 1e-6, game)
        >>> play.rounds, round(play.accounting(game, 1e-6).epsilons[PAPER], 6)
        (58, 1.0)
        >>> play_of(TIGHT_ZCDP, 1.0, 1e-6, game).rounds
        150
    """
    most = rho_of(epsilon, delta)
    if statement == TIGHT_ZCDP:
        return practical(most, game, Regime.ZCDP)

    def cost(play: Parameters) -> float:
        return play.accounting(game, delta).epsilons[statement]

    low, high = most * _LOOSEST, most
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if cost(practical(middle, game, Regime.ZCDP)) <= epsilon else (low, middle)
    chosen = practical(low, game, Regime.ZCDP)
    short, long = chosen.step, 2.0 * chosen.step
    for _ in range(_EXACT):
        step = (short + long) / 2.0
        short, long = (step, long) if cost(replace(chosen, step=step)) <= epsilon else (short, step)
    return replace(chosen, step=short)
