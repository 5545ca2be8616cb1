"""DualQuery: a game between a distribution over queries and records that answer them (theory.md section 5).

M. Gaboardi, E. Gallego Arias, J. Hsu, A. Roth, Z. S. Wu, "Dual Query: Practical Private Query Release for High
Dimensional Data", ICML 2014; composition after J. Gong, "Dual Query for DP Query Release". In every round: draw s
queries that the records so far answer too low; find a record that satisfies as many of them as can be; move the
distribution away from what the record answers well. The output is the multiset of the records. Nothing in it is as
large as the domain: it runs on hundreds of attributes. The errata of theory.md are followed. Departures:

- the queries are scaled to width 1 and closed under complement by the curator, which draws from both;
- draws are charged as exponential mechanisms each with ``epsilon_t = 2 eta (t - 1) / n``, in the regime of the budget:
  epsilon_t, or epsilon_t^2 / 8 (`dual_query_accounting` compares this with the paper's composition);
- under "add-remove" the number of records is measured, where the paper takes it as known;
- ``alpha="auto"`` is a rule for T, eta and s that spends the budget exactly [H]; the theorem's parameters
  (``constants``) are refused where the budget does not pay for them;
- a `Subsampled` budget runs it on a secret sample of the records (theory.md section 6), an ablation: the noise is then
  that of as many records as the sample has, the release is scaled to all of them;
- the oracle is a heuristic search unless another is given: privacy never depends on it, the bound does;
- a share of the budget buys a noisy estimate of the final error (``error_share``), so that a report predicts honestly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, final

from hedgerow.algorithms.dual_query.best_response import check_queries
from hedgerow.algorithms.dual_query.oracles.problem import Oracle
from hedgerow.algorithms.dual_query.oracles.tabu import TabuSearch
from hedgerow.algorithms.dual_query.parameters import Theorem
from hedgerow.algorithms.shared import BETA, Algorithm, Charges, ProgressCallback, check_shares, is_count, is_number
from hedgerow.errors import ConfigError
from hedgerow.privacy import Budget, Regime, Subsampled
from hedgerow.queries import Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.shared import Outline
    from hedgerow.privacy import Curator
    from hedgerow.release import Release


@final
@dataclass(frozen=True)
class DualQuery(Algorithm):
    """Configuration of DualQuery; holds no data and can be used for any number of runs.

    The workload is used query by query; all queries count the same. The hypothesis of the release is an `Empirical` of
    T records.

    Attributes:
        alpha: Error aimed at, as a fraction of the width of a query: T, eta and s are then the theorem's. ``"auto"``
            chooses them by a rule that spends the budget exactly.
        constants: What a given alpha stands for: ``"source"`` (the paper's constants) or ``"optimised"`` ones.
        rounds: T, records in the output; only with ``alpha="auto"``, as the two following.
        step: eta, the learning rate.
        samples: s, queries drawn in each round.
        beta: Probability that the theorem's bound may fail.
        oracle: What finds the records; it sees drawn queries only.
        seed: Of the public randomness: the first round's queries and the oracle's search. Fresh by default.
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

    alpha: float | Literal["auto"] = "auto"
    constants: Theorem = "optimised"
    rounds: int | None = None
    step: float | None = None
    samples: int | None = None
    beta: float = BETA
    oracle: Oracle = field(default_factory=TabuSearch)
    seed: int | None = None
    total_share: float = 0.02
    error_share: float = 0.03

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: One is out of its range, or alpha is given beside what it fixes.
        """
        if self.alpha != "auto" and not (is_number(self.alpha) and 0.0 < self.alpha < 1.0):
            raise ConfigError(f"alpha = {self.alpha!r} is no fraction", remedy="give a number below 1, or 'auto'")
        if self.constants not in ("source", "optimised"):
            raise ConfigError(f"constants = {self.constants!r} is unknown", remedy="give 'source' or 'optimised'")
        if self.alpha != "auto" and not self.rounds is self.step is self.samples is None:
            raise ConfigError(
                f"alpha = {self.alpha} fixes rounds, step and samples", remedy="leave them out, or leave alpha out"
            )
        self._check_amounts()
        if not isinstance(self.oracle, Oracle):
            raise ConfigError(f"{self.oracle!r} is no oracle", remedy="give TabuSearch(), or an object with best()")

    def _check_amounts(self) -> None:
        for name in ("rounds", "samples"):
            value = getattr(self, name)
            if value is not None and not is_count(value):
                raise ConfigError(f"{name} = {value!r} cannot be", remedy="give a whole number from 1")
        if self.step is not None and not (is_number(self.step) and 0.0 < self.step < math.inf):
            raise ConfigError(f"step = {self.step!r} cannot be", remedy="give a positive number, such as 1.5")
        if not 0.0 < self.beta < 1.0:
            raise ConfigError(f"beta is a probability, not {self.beta!r}", remedy="give a number between 0 and 1")
        check_shares(self.total_share, self.error_share)

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what cannot be run, before anything is read or spent; both regimes and all domains will do.

        Args:
            workload: What the release should answer well.
            regime: Of the budget.

        Raises:
            ConfigError: A parity, or a query given by its values, spans too many cells.
            QueryError: A query is constant.
        """
        check_queries(workload)

    def charges(self, amount: float, budget: Budget) -> Charges:
        """How an amount of the budget is divided; the error on a sample of the records is not asked for."""
        error = 0.0 if isinstance(budget, Subsampled) else self.error_share
        return Charges.split(amount, budget.neighbours, total=self.total_share, initial=0.0, error=error)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """As `run`, with a curator that the caller made and whose ledger it can read whatever happens.

        Args:
            curator: Stands before the private table; what remains of its budget may be spent.
            workload: What the release should answer well.
            progress: Called after every round.
        """
        from hedgerow.algorithms.dual_query.session import run_session

        return run_session(self, curator, workload, progress)

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        """What a run would need, spend and promise; nothing is read and nothing is spent.

        Args:
            workload: What the release should answer well.
            budget: What may be spent.
            total: A public guess of the number of records.

        Raises:
            ConfigError: The configuration does not fit the budget or the workload.
        """
        from hedgerow.algorithms.dual_query.plan import make_plan

        return make_plan(self, workload, budget, total)
