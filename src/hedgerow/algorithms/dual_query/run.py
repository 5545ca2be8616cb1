"""One run of DualQuery: the state between rounds.

Everything in here is a function of public parameters, of the drawn queries and of the number of records that the
curator returned; the privacy proof is "post-processing of the ledger" (theory.md section 5). True answers, and the
distribution over queries, never leave the curator.
"""

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from hedgerow.algorithms.dual_query.accounting import stated_delta
from hedgerow.algorithms.dual_query.best_response import FeasibleOracle, sampled_problem
from hedgerow.algorithms.dual_query.oracles import Response
from hedgerow.algorithms.dual_query.parameters import Game, Parameters
from hedgerow.algorithms.dual_query.settings import DualQuerySettings
from hedgerow.algorithms.shared import ProgressCallback, RecordAnswers, make_release, number_of_records, tell
from hedgerow.algorithms.shared.algorithm import plain_parameters
from hedgerow.arrays import Ints
from hedgerow.models import Empirical
from hedgerow.privacy import LARGEST_MASS, Curator, Subsampled
from hedgerow.queries import Workload
from hedgerow.release import Release
from hedgerow.system import generator


def run_dual_query(
    settings: DualQuerySettings, curator: Curator, workload: Workload, progress: ProgressCallback | None
) -> Release:
    """Run DualQuery to its end and make the release.

    Raises:
        ConfigError: The settings do not fit the budget.
        QueryError: A query is constant.
    """
    budget, charges = curator.budget, settings.charges(curator.ledger.remaining, curator.budget)
    queries = workload.by_query() if workload.n_candidates < workload.n_queries else workload  # counted once, if so
    beta = settings.beta_for(budget)
    Game.of(queries, budget, 1.0, beta)  # constant queries are refused before anything is spent
    total = number_of_records(curator, charges.total)
    game = Game.of(queries, budget, total, beta)
    run = DualQueryRun(settings, curator, queries, game, settings.choose(game, curator.regime, charges.rounds))
    for _ in range(run.play.rounds):
        run.round(progress)
    described = float(budget.population) if isinstance(budget, Subsampled) else total  # a run on a sample sees fewer
    return make_release(
        curator,
        workload,
        Empirical(workload.domain, described, np.array(run.records)),
        name="DualQuery",
        parameters={**plain_parameters(settings), **run.facts(settings.outside_error(budget, game, charges.total))},
        error_charge=charges.error,
    )


class DualQueryRun:
    """A run in progress.

    Attributes:
        play: T, eta and s.
        records: Records that the oracle found so far.
    """

    def __init__(
        self, settings: DualQuerySettings, curator: Curator, queries: Workload, game: Game, play: Parameters
    ) -> None:
        """Look at the workload; nothing is drawn yet.

        Args:
            settings: The configuration.
            curator: Stands before the private table.
            queries: The workload, query by query; the same object for the whole run.
            game: Public quantities that the parameters were chosen for.
            play: The parameters.
        """
        self.play = play
        self.records: list[Ints] = []
        self._settings, self._curator, self._queries, self._game = settings, curator, queries, game
        self._public = generator(settings.seed)
        self._oracle = FeasibleOracle(settings.oracle, queries.domain)
        self._adding = RecordAnswers(queries)
        self._sums = np.zeros(queries.n_queries)
        self._slacks: list[float | None] = []
        self._proved = 0

    def round(self, progress: ProgressCallback | None = None) -> None:
        """Draw queries, find the record that satisfies them best, and remember what it answers."""
        drawn = self._drawn()
        response = self._oracle.best(sampled_problem(self._queries, drawn), self._public)
        residual = self._game.total * (response.value / len(drawn) - self._answered(drawn))
        self._note(response)
        self._adding.add(self._sums, response.codes)
        self.records.append(np.asarray(response.codes, dtype=np.int64))
        number, chosen = len(self.records), f"a record for {len(drawn):,} drawn queries"
        tell(progress, self._curator, chosen, float(residual), number=number, of=self.play.rounds)

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
        """Say what was chosen and what it cost, for the release; all of it public.

        Args:
            outside: Error that adds to the theorem's bound, as ``outside_error`` gives it.
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
