"""One run of DualQuery: the state between rounds.

Everything in here is a function of public parameters, of the drawn queries and of the number of records that the
curator returned; the privacy proof is "post-processing of the ledger" (theory.md section 5). True answers, and the
distribution over queries, never leave the curator.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.algorithms.dual_query.accounting import TABLE_DELTA
from hedgerow.algorithms.dual_query.best_response import sampled_problem
from hedgerow.algorithms.dual_query.oracles.problem import Response
from hedgerow.algorithms.dual_query.parameters import (
    Game,
    Parameters,
    affordable_theorem,
    practical,
    sampling_error,
)
from hedgerow.algorithms.shared.algorithm import (
    ProgressCallback,
    RoundReport,
    check_domain,
    make_release,
    number_of_records,
)
from hedgerow.algorithms.shared.plans import total_error
from hedgerow.algorithms.shared.record_answers import RecordAnswers
from hedgerow.arrays import Ints
from hedgerow.models import Empirical
from hedgerow.privacy import LARGEST_MASS, ApproxDP, Budget, Regime, Subsampled
from hedgerow.queries import Workload
from hedgerow.system import generator

if TYPE_CHECKING:
    from hedgerow.algorithms.dual_query.dual_query import DualQuery
    from hedgerow.privacy import Curator
    from hedgerow.release import Release


def choose(config: DualQuery, game: Game, regime: Regime, amount: float) -> Parameters:
    """The parameters of a run.

    Args:
        config: The configuration.
        game: The queries, the domain and the number of records.
        regime: Unit of the amount.
        amount: epsilon or rho for all rounds.

    Raises:
        ConfigError: The amount does not pay for what the configuration fixes.

    Example:
        >>> from hedgerow.algorithms.dual_query.dual_query import DualQuery
        >>> choose(DualQuery(rounds=50, samples=100), Game(3_000, 14.0, 50_000), Regime.PURE, 1.0).rule
        'practical'
    """
    if config.alpha == "auto":
        fixed = {"rounds": config.rounds, "samples": config.samples}
        return practical(amount, game, regime, step=config.step, **fixed)
    return affordable_theorem(config.constants, config.alpha, amount, game, regime)


def stated_delta(budget: Budget) -> float:
    """The delta of the budget, or the one that tables use in its place.

    Example:
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> stated_delta(PureDP(1.0)), stated_delta(ApproxDP(1.0, 1e-9))
        (1e-06, 1e-09)
    """
    inner = budget.inner if isinstance(budget, Subsampled) else budget
    return inner.delta if isinstance(inner, ApproxDP) else TABLE_DELTA


def beta_of(config: DualQuery, budget: Budget) -> float:
    """Probability with which the theorem may fail; the rest is for `outside_error`.

    Example:
        >>> from hedgerow.algorithms.dual_query.dual_query import DualQuery
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> beta_of(DualQuery(beta=0.1), PureDP(1.0, "replace"))
        0.1
    """
    return config.beta * (1.0 - _outside_share(budget))


def outside_error(config: DualQuery, budget: Budget, game: Game, charge: float) -> float:
    """What adds to the theorem's bound: the error of a sample, or of a noisy number of records, as a fraction.

    Args:
        config: The configuration.
        budget: Its neighbours, and whether it is for a sample.
        game: Its total is the number of records that the queries are divided by.
        charge: What the noisy number of records costs.

    Example:
        >>> from hedgerow.algorithms.dual_query.dual_query import DualQuery
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> outside_error(DualQuery(), PureDP(1.0), Game(100, 10.0, 1000), 0.02)
        0.265
    """
    beta = config.beta * _outside_share(budget)
    if isinstance(budget, Subsampled):
        return sampling_error(game, beta)
    return total_error(budget, charge, beta) / game.total if beta else 0.0


def _outside_share(budget: Budget) -> float:
    if isinstance(budget, Subsampled):
        return 0.5
    return 0.0 if budget.neighbours.public_total else 0.1


def population(budget: Budget, total: float) -> float:
    """Number of records that the release speaks of; a run on a sample sees fewer.

    Example:
        >>> from hedgerow.privacy.budgets.budget import PureDP
        >>> population(Subsampled(PureDP(1.0, "replace"), sampled=10, population=100), 10.0)
        100.0
    """
    return float(budget.population) if isinstance(budget, Subsampled) else total


def run_session(config: DualQuery, curator: Curator, workload: Workload, progress: ProgressCallback | None) -> Release:
    """Run DualQuery to its end and make the release.

    Raises:
        ConfigError: The configuration does not fit the budget or the workload.
    """
    check_domain(curator, workload)
    config.check(workload, curator.regime)
    charges = config.charges(curator.ledger.remaining, curator.budget)
    queries = workload.by_query() if workload.n_candidates < workload.n_queries else workload  # counted once, if so
    beta = beta_of(config, curator.budget)
    Game.of(queries, curator.budget, 1.0, beta)  # constant queries are refused before anything is spent
    total = number_of_records(curator, charges.total)
    game = Game.of(queries, curator.budget, total, beta)
    session = Session(config, curator, queries, game, choose(config, game, curator.regime, charges.rounds))
    for _ in range(session.play.rounds):
        session.round(progress)
    return make_release(
        curator,
        workload,
        Empirical(workload.domain, population(curator.budget, total), np.array(session.records)),
        name="DualQuery",
        parameters={**config.parameters(), **session.facts(outside_error(config, curator.budget, game, charges.total))},
        error_charge=charges.error,
    )


@final
class Session:
    """A run in progress.

    Attributes:
        play: T, eta and s.
        records: What the oracle answered so far.
    """

    def __init__(self, config: DualQuery, curator: Curator, queries: Workload, game: Game, play: Parameters) -> None:
        """Look at the workload; nothing is drawn yet.

        Args:
            config: The configuration.
            curator: Stands before the private table.
            queries: The workload, query by query; the same object for the whole run.
            game: What the parameters were chosen for.
            play: The parameters.
        """
        self.play = play
        self.records: list[Ints] = []
        self._config, self._curator, self._queries, self._game = config, curator, queries, game
        self._public = generator(config.seed)
        self._adding = RecordAnswers(queries)
        self._sums = np.zeros(queries.n_queries)
        self._slacks: list[float | None] = []
        self._proved = 0

    def round(self, progress: ProgressCallback | None = None) -> None:
        """Draw queries, find the record that satisfies them best, and remember what it answers."""
        drawn = self._drawn()
        response = self._config.oracle.best(sampled_problem(self._queries, drawn), self._public)
        residual = self._game.total * (response.value / len(drawn) - self._answered(drawn))
        self._note(response)
        self._adding.add(self._sums, response.codes)
        self.records.append(np.asarray(response.codes, dtype=np.int64))
        if progress is not None:
            ledger, t = self._curator.ledger, len(self.records)
            chosen = f"a record for {len(drawn):,} drawn queries"
            progress(RoundReport(t, self.play.rounds, ledger.spent, ledger.limit, ledger.unit, chosen, float(residual)))

    def _drawn(self) -> Ints:
        """Round 1 is uniform: it looks at no data and costs nothing."""
        t, size = len(self.records) + 1, self.play.samples
        if t == 1:
            return self._public.integers(2 * self._queries.n_queries, size=size)
        answers = np.clip(self._sums * (self._game.total / (t - 1)), -LARGEST_MASS, LARGEST_MASS)
        return self._curator.draw(self._queries, answers, self.play.scale(t, self._game.total), size)

    def _answered(self, drawn: Ints) -> float:
        """Mean of the drawn queries under the records so far, scaled to [0, 1]; one half before the first."""
        if not self.records:
            return 0.5
        n = self._queries.n_queries
        lows, highs = self._queries.limits
        index = drawn % n
        scaled = (self._sums[index] / len(self.records) - lows[index]) / (highs[index] - lows[index])
        return float(np.where(drawn < n, scaled, 1.0 - scaled).mean())

    def _note(self, response: Response) -> None:
        self._proved += response.proved
        gap = None if response.bound is None else max(0.0, response.bound - response.value) / self.play.samples
        self._slacks.append(0.0 if response.proved else gap)

    def facts(self, outside: float) -> dict[str, Any]:
        """What was chosen and what it cost, for the release; all of it public.

        Args:
            outside: What adds to the theorem's bound, as `outside_error` gives it.
        """
        known = [slack for slack in self._slacks if slack is not None]
        slack = math.fsum(known) / len(known) if len(known) == len(self._slacks) else None
        cost = self.play.accounting(self._game, stated_delta(self._curator.budget))
        return {
            "chosen": asdict(self.play),
            "accounting": cost.to_dict(),
            "best_responses": {"proved": self._proved, "mean_slack": slack},
            "bound": None if slack is None else replace(self.play, slack=slack).bound(self._game) + outside,
        }
