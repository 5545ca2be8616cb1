"""DualQuery: a game between a distribution over queries and records that answer them (theory.md section 5).

M. Gaboardi, E. Gallego Arias, J. Hsu, A. Roth, Z. S. Wu, "Dual Query: Practical Private Query Release for High
Dimensional Data", ICML 2014; composition after J. Gong, "Dual Query for DP Query Release". In every round: draw s
queries that the records so far answer too low; find a record that satisfies as many of them as can be; move the
distribution away from what the record answers well. The output is the multiset of the records. Nothing in it is as
large as the domain: it runs on hundreds of attributes. The errata of theory.md are followed. Departures:

- the queries are scaled to width 1 and closed under complement by the curator, which draws from both;
- draws are charged as exponential mechanisms each with ``epsilon_t = 2 eta (t - 1) / n``, in the regime of the budget:
  epsilon_t, or epsilon_t^2 / 8 (`accounting` compares this with the paper's composition);
- under "add-remove" the number of records is measured, where the paper takes it as known;
- ``alpha="auto"`` is a rule for T, eta and s that spends the budget exactly [H]; the theorem's parameters
  (``constants``) are refused where the budget does not pay for them;
- a `Subsampled` budget runs it on a secret sample of the records (theory.md section 6), an ablation: the noise is then
  that of as many records as the sample has, the release is scaled to all of them;
- the oracle is a heuristic search unless another is given: privacy never depends on it, the bound does;
- a share of the budget buys a noisy estimate of the final error (``error_share``), so that a report predicts honestly.
"""

from dataclasses import asdict, dataclass
from typing import ClassVar

from hedgerow.algorithms.dual_query.accounting import COMPOSITIONS, Accounting, stated_delta
from hedgerow.algorithms.dual_query.best_response import check_queries
from hedgerow.algorithms.dual_query.parameters import Game, Parameters, predicted_error, smallest_alpha
from hedgerow.algorithms.dual_query.run import run_dual_query
from hedgerow.algorithms.dual_query.settings import DualQuerySettings
from hedgerow.algorithms.shared import Algorithm, Outline, ProgressCallback, charges_line, check_domain, process_bytes
from hedgerow.privacy import Budget, Curator, Regime, Subsampled
from hedgerow.quantities import at_most, human
from hedgerow.queries import Workload
from hedgerow.release import Release

_BYTES_PER_QUERY = 250
"""Measured on three-way cells of 100 attributes: sums, answers, scores and weights, and the objects of the scopes."""


@dataclass(frozen=True)
class DualQuery(DualQuerySettings, Algorithm):
    """The configuration of DualQuery; it holds no data and serves any number of runs.

    The workload is used query by query; all queries count the same. The hypothesis of the release is an `Empirical` of
    T records.

    Attributes:
        alpha: Error aimed at, as a fraction of the width of a query: T, eta and s are then the theorem's. ``"auto"``
            chooses them by a rule that spends the budget exactly.
        constants: Constants of the theorem for a given alpha: ``"source"`` (the paper's) or ``"optimised"`` ones.
        rounds: T, records in the output; only with ``alpha="auto"``, as the next two.
        step: eta, the learning rate.
        samples: s, queries drawn in each round.
        beta: Probability that the theorem's bound may fail.
        oracle: Search that finds the records; it sees drawn queries only.
        seed: Seed of the public randomness: the first round's queries and the oracle's search. Fresh by default.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.

    Example:
        >>> from hedgerow import ApproxDP, Domain, IntegerRange, Workload
        >>> workload = Workload.marginals(Domain(IntegerRange(f"a{i}", 0, 1) for i in range(100)), 2)
        >>> plan = DualQuery().plan(workload, ApproxDP(1.0, 1e-6), total=50_000)
        >>> plan.facts["rounds"], round(plan.facts["step"], 2), plan.facts["samples"]
        (89, 0.99, 515)
        >>> DualQuery(alpha=0.1, rounds=20)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: alpha = 0.1 fixes rounds, step and samples
          Remedy: leave them out, or leave alpha out
    """

    takes_samples: ClassVar[bool] = True

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what cannot be run, before anything is read or spent; every regime and every domain is possible.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget.

        Raises:
            ConfigError: A parity, or a query given by its values, spans too many cells; or constraints, or a condition
                on a function of several attributes, come down to too many conjunctions.
            QueryError: A query is constant.
            ModelTooLargeError: The constraints hang together too much for a record to be drawn.
        """
        check_queries(workload)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """Run with a curator that the caller made, and whose ledger it can read whatever happens.

        Args:
            curator: Stands before the private table; what remains of its budget may be spent.
            workload: Queries that the release should answer well.
            progress: Called after every round.
        """
        check_domain(curator, workload)
        self.check(workload, curator.regime)
        return run_dual_query(self, curator, workload, progress)

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        """Say what a run would need, spend and promise; nothing is read and nothing is spent.

        Args:
            workload: Queries that the release should answer well.
            budget: The budget of the run.
            total: A public guess of the number of records.

        Raises:
            ConfigError: The configuration does not fit the budget or the workload.
        """
        self.check(workload, budget.regime)
        queries = workload.by_query()
        seen = budget.sampled if isinstance(budget, Subsampled) else total
        game = Game.of(queries, budget, max(1.0, seen), self.beta_for(budget))
        charges = self.charges(budget.limit, budget)
        play = self.choose(game, budget.regime, charges.rounds)
        cost = play.accounting(game, stated_delta(budget))
        bound = play.bound(game) + self.outside_error(budget, game, charges.total)
        alpha = smallest_alpha(self.constants, game, budget.regime, charges.rounds)
        facts = {
            "algorithm": "DualQuery",
            **asdict(play),
            "queries": queries.n_queries,
            "accounting": cost.to_dict(),
            "charges": asdict(charges),
            "unit": budget.unit,
            "limit": budget.limit,
            "bound": bound,
            "predicted_error": predicted_error(play, game),
            "smallest_alpha": alpha,
            "beta": self.beta,
        }
        needing = f"{queries.n_queries:,} queries, none for the cells of the domain ({human(workload.domain.size)})"
        text = (
            ("rounds", f"{play.rounds}, each {play.samples:,} drawn queries and a step of {play.step:.3g}"),
            charges_line(budget.limit, budget.unit, charges.shares()),
            *_sample(budget),
            *_composition(cost),
            *_promise(play, game, alpha, bound, self.beta, told=charges.error > 0.0),
        )
        needed = _BYTES_PER_QUERY * queries.n_queries
        process = process_bytes(workload.domain, total, needed, measured=0, values=0, queries=workload.n_candidates)
        return Outline.of(needed, needing, text, facts, process=process)


def _sample(budget: Budget) -> list[tuple[str, str]]:
    if not isinstance(budget, Subsampled):
        return []
    epsilon, delta = budget.approximate()
    drawn = f"{budget.sampled:,} of {budget.population:,} records, kept secret"
    return [("sample", f"{drawn}: for the whole table epsilon {at_most(epsilon, 4)} and delta {at_most(delta, 3)}")]


def _composition(cost: Accounting) -> tuple[tuple[str, str], ...]:
    """The same rounds by every composition theorem."""
    epsilons = cost.epsilons
    others = ", ".join(
        f"{words} {at_most(epsilons[name], 4)}" for name, words in COMPOSITIONS.items() if name != cost.best
    )
    best = (
        f"epsilon {at_most(epsilons[cost.best], 4)} with delta {at_most(cost.delta, 3)}, by {COMPOSITIONS[cost.best]}"
    )
    return ("costs", f"the rounds alone: {best}"), ("", f"by other compositions: {others}")


def _promise(
    play: Parameters, game: Game, alpha: float, bound: float, beta: float, *, told: bool
) -> list[tuple[str, str]]:
    """The theorem, if it says anything here, and what the rule expects."""
    exact = f"within {play.slack:.3g}" if play.slack else "exact"
    text = (
        f"no error above {bound:.3g} of the records, except with probability {beta:.3g}, if best responses are {exact}"
    )
    if bound >= 1.0:
        text = f"none: the smallest alpha that this budget pays for is {alpha:.3g}"
        text += "; the release estimates its own error" if told else ""
    near = f"{predicted_error(play, game):.2g} of the records"
    expected = f"largest errors of single queries near {near}: a rule of thumb, no theorem"
    return [("bound", text), *([("expect", expected)] if play.rule == "practical" else [])]
