"""The settings of DualQuery: fields, their checks, and the parameters that they fix once the budget is known."""

from dataclasses import dataclass, field
from typing import Literal

from hedgerow.algorithms.dual_query.oracles import BruteForce, MixedInteger, Oracle, TabuSearch
from hedgerow.algorithms.dual_query.parameters import Game, Parameters, Theorem, affordable_theorem, practical
from hedgerow.algorithms.shared import BETA, Charges, check_choice, check_fraction, check_shares, is_number, total_error
from hedgerow.algorithms.shared.checks import check_count
from hedgerow.errors import ConfigError
from hedgerow.privacy import Budget, Regime, Subsampled

_MOST = 1 << 22
"""Most rounds, drawn queries of a round, and length of a step."""


@dataclass(frozen=True)
class DualQuerySettings:
    """Fields and checks of `DualQuery`, which explains them."""

    alpha: float | Literal["auto"] = "auto"
    constants: Theorem = "optimised"
    rounds: int | None = None
    step: float | None = None
    samples: int | None = None
    beta: float = BETA
    oracle: Oracle = field(default_factory=TabuSearch, metadata={"kinds": (TabuSearch, BruteForce, MixedInteger)})
    seed: int | None = None
    total_share: float = 0.02
    error_share: float = 0.03

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: One is out of its range, or alpha is given beside what it fixes.
        """
        if self.alpha != "auto":
            check_fraction("alpha", self.alpha, "give a number below 1, or 'auto'")
        check_choice("constants", self.constants, Theorem)
        if self.alpha != "auto" and not self.rounds is self.step is self.samples is None:
            raise ConfigError(
                f"alpha = {self.alpha} fixes rounds, step and samples", remedy="leave them out, or leave alpha out"
            )
        for name in ("rounds", "samples"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
                if getattr(self, name) > _MOST:
                    raise ConfigError(
                        f"{name} = {getattr(self, name):,} are too many", remedy=f"give at most {_MOST:,}"
                    )
        if self.step is not None and not (is_number(self.step) and 0.0 < self.step <= _MOST):
            raise ConfigError(f"step must be a number from 0 to {_MOST:,}, not {self.step!r}", remedy="try 1.5")
        if not (self.seed is None or (isinstance(self.seed, int) and self.seed >= 0)):
            raise ConfigError(
                f"seed must be a whole number from 0, not {self.seed!r}", remedy="leave it out, or give 0"
            )
        check_fraction("beta", self.beta)
        check_shares(self.total_share, self.error_share)
        if not isinstance(self.oracle, Oracle):
            raise ConfigError(
                f"expected an oracle, got {self.oracle!r}", remedy="give TabuSearch(), or an object with best()"
            )

    def charges(self, amount: float, budget: Budget) -> Charges:
        """Divide an amount of the budget; the error on a sample of the records is not asked for."""
        error = 0.0 if isinstance(budget, Subsampled) else self.error_share
        return Charges.split(amount, budget.neighbours, total=self.total_share, initial=0.0, error=error)

    def choose(self, game: Game, regime: Regime, amount: float) -> Parameters:
        """Choose the parameters of a run.

        Args:
            game: The queries, the domain and the number of records.
            regime: Unit of the amount.
            amount: epsilon or rho for all rounds.

        Raises:
            ConfigError: The amount does not pay for what the settings fix.

        Example:
            >>> DualQuerySettings(rounds=50, samples=100).choose(Game(3_000, 14.0, 50_000), Regime.PURE, 1.0).rule
            'practical'
        """
        if self.alpha == "auto":
            return practical(amount, game, regime, rounds=self.rounds, step=self.step, samples=self.samples)
        return affordable_theorem(self.constants, self.alpha, amount, game, regime)

    def beta_for(self, budget: Budget) -> float:
        """Probability with which the theorem may fail; the rest of beta is for `outside_error`.

        Example:
            >>> from hedgerow import PureDP
            >>> DualQuerySettings(beta=0.1).beta_for(PureDP(1.0, "replace"))
            0.1
        """
        return self.beta * (1.0 - _outside_share(budget))

    def outside_error(self, budget: Budget, game: Game, charge: float) -> float:
        """Error that adds to the theorem's bound: of a sample, or of a noisy number of records; as a fraction.

        Args:
            budget: Its neighbours count, and whether it is for a sample.
            game: Its total is the number of records that the queries are divided by.
            charge: epsilon or rho for the noisy number of records.

        Example:
            >>> from hedgerow import PureDP
            >>> DualQuerySettings().outside_error(PureDP(1.0), Game(100, 10.0, 1000), 0.02)
            0.265
        """
        beta = self.beta * _outside_share(budget)
        if isinstance(budget, Subsampled):
            return game.sampling_error(beta)
        return total_error(budget, charge, beta) / game.total if beta else 0.0


def _outside_share(budget: Budget) -> float:
    if isinstance(budget, Subsampled):
        return 0.5
    return 0.0 if budget.neighbours.public_total else 0.1
