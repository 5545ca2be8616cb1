"""The settings of offline PMW, and the steps and charges of one round, from public numbers (theory.md section 3).

Everything is for queries scaled to [0, 1] and in fractions of the records, but for charges.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.algorithms.shared import BETA, Charges, RoundCharge
from hedgerow.algorithms.shared.checks import check_choice, check_count, check_fraction, check_shares
from hedgerow.errors import ConfigError
from hedgerow.models import Step
from hedgerow.privacy import ApproxDP, Budget, Regime, check_amount
from hedgerow.quantities import human

Calibration = Literal["auto", "advanced"]


@dataclass(frozen=True)
class OfflinePMWSettings:
    """Fields and checks of `OfflinePMW`, which explains them."""

    alpha: float | Literal["auto"] = "auto"
    rounds: int | None = None
    beta: float = BETA
    step: Step = "source"
    calibration: Calibration = "auto"
    total_share: float = 0.02
    error_share: float = 0.03

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: A number is out of its range, or a name is unknown.
        """
        if self.alpha != "auto":
            check_fraction("alpha", self.alpha, "give a number below 1, or 'auto'")
        if self.rounds is not None:
            check_count("rounds", self.rounds)
        if self.rounds is not None and self.alpha != "auto":
            raise ConfigError(
                f"alpha = {self.alpha} and rounds = {self.rounds} cannot both be set: each follows from the other",
                remedy="leave one of them out",
            )
        check_choice("step", self.step, Step)
        check_choice("calibration", self.calibration, Calibration)
        check_fraction("beta", self.beta)
        check_shares(self.total_share, self.error_share)

    def charges(self, amount: float, budget: Budget) -> Charges:
        """Divide an amount of the budget.

        Args:
            amount: Charge that is left for the run, epsilon or rho.
            budget: Budget of the whole run.

        Raises:
            ConfigError: See `check_budget`.
        """
        split = Charges.split(amount, budget.neighbours, total=self.total_share, error=self.error_share)
        check_budget(self.calibration, budget, split.rounds)
        return split


@dataclass(frozen=True)
class Setting:
    """Everything that is fixed before the first round.

    Attributes:
        alpha: Fraction; the stopping test compares with twice as much.
        rounds: L, the largest number of rounds.
        epsilon: eps0, of one selection and of one answer.
        charge: Charge of one round, in the ledger's unit.
        total: Number of records (noisy).
        required: Number of records from which the promise holds.
        failure: Probability that the promise, where it holds, may fail.

    Example:
        >>> setting = Setting(0.1, 100, 0.05, RoundCharge(0.05, 0.05), 2_000.0, 3_000.0, 0.05)
        >>> setting.promised, setting.to_dict()["rounds"]
        (False, 100)
    """

    alpha: float
    rounds: int
    epsilon: float
    charge: RoundCharge
    total: float
    required: float
    failure: float

    @property
    def promised(self) -> bool:
        """Whether there are enough records for the accuracy theorem."""
        return self.total >= self.required

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for plans and provenance; ``bound`` is a fraction of a query's width, or None."""
        return {
            "alpha": self.alpha,
            "rounds": self.rounds,
            "epsilon0": self.epsilon,
            "records_required": self.required,
            "promised": self.promised,
            "bound": 4.0 * self.alpha if self.promised else None,
            "failure": self.failure,
        }


def most_rounds(alpha: float, cells: int, step: Step) -> int:
    """L: ``4 ln|X| / alpha^2``, or ``ln|X| / (2 alpha^2)`` for sharp steps, rounded down; at least 1.

    Where the theorem gives 0 the uniform hypothesis is good enough; one more round never breaks the promise.

    Example:
        >>> most_rounds(0.1, 1024, "source"), most_rounds(0.1, 1024, "sharp")
        (2772, 346)
    """
    factor = 4.0 if step == "source" else 0.5
    return max(1, math.floor(factor * math.log(cells) / alpha**2))


def alpha_of(rounds: int, cells: int, step: Step) -> float:
    """The alpha for which ``rounds`` is the largest number of rounds.

    Raises:
        ConfigError: It would be 1 or more: the stopping test would always fire.

    Example:
        >>> round(alpha_of(2772, 1024, "source"), 4)
        0.1
    """
    factor = (4.0 if step == "source" else 0.5) * math.log(max(2, cells))
    if rounds <= factor:
        raise ConfigError(
            f"{rounds} rounds are too few for {human(cells)} cells: alpha would be {math.sqrt(factor / rounds):.3g}",
            remedy=f"ask for at least {math.floor(factor) + 1} rounds",
        )
    return math.sqrt(factor / rounds)


def step_length(alpha: float, step: Step) -> float:
    """eta, for a query scaled to [0, 1]: ``alpha / 2``, or ``4 alpha`` for sharp steps.

    Example:
        >>> step_length(0.1, "source"), step_length(0.1, "sharp")
        (0.05, 0.4)
    """
    return alpha / 2.0 if step == "source" else 4.0 * alpha


def round_epsilon(calibration: Calibration, budget: Budget, amount: float, rounds: int) -> float:
    """eps0 for a number of rounds.

    Args:
        calibration: ``"auto"``, or ``"advanced"`` for the source's.
        budget: Budget of the whole run.
        amount: Charge of all rounds together, epsilon or rho.
        rounds: L.

    Returns:
        ``amount / 2 L`` for pure budgets; the solution of ``L cost(eps0) = amount`` for others, by `round_charge`;
        for "advanced"
        ``epsilon / (4 sqrt(L ln(1 / delta)))``, whatever the amount.

    Example:
        >>> from hedgerow import PureDP, ZCDP
        >>> round_epsilon("auto", PureDP(1.0), 1.0, 50)
        0.01
        >>> round(round_epsilon("auto", ZCDP(1.0), 50 * 0.006245664, 50), 6)
        0.1
        >>> round(round_epsilon("advanced", ApproxDP(1.0, 1e-6), 0.02, 50), 6)
        0.009512
    """
    if calibration == "advanced" and isinstance(budget, ApproxDP):
        return budget.epsilon / (4.0 * math.sqrt(rounds * math.log(1.0 / budget.delta)))
    if budget.regime is Regime.PURE:
        return amount / (2.0 * rounds)
    each = amount / rounds

    def passes(epsilon: float) -> bool:
        charge = round_charge(budget.regime, epsilon)
        return charge.selection + charge.measurement > each

    return boundary(passes, 0.0, max(each, 3.0 * math.sqrt(each)))[0]


def round_charge(regime: Regime, epsilon: float) -> RoundCharge:
    """The charge of a selection and an answer at eps0.

    Example:
        >>> round_charge(Regime.PURE, 0.5)
        RoundCharge(selection=0.5, measurement=0.5)
    """
    return RoundCharge(regime.of_bounded_range(epsilon), regime.of_pure(epsilon))


def check_budget(calibration: Calibration, budget: Budget, amount: float) -> None:
    """Refuse a budget that is spent, or that an "advanced" calibration does not cover or cannot be paid from.

    Args:
        calibration: ``"auto"``, or ``"advanced"`` for the source's.
        budget: Budget of the whole run.
        amount: Charge of all rounds together, epsilon or rho.

    Raises:
        ConfigError: Nothing is left to spend; for "advanced" also if it is not an (epsilon, delta) budget with epsilon
            up to 1, or if the other shares leave too little.

    Example:
        >>> check_budget("advanced", ApproxDP(1.0, 1e-6), 0.02)
    """
    check_amount(amount)
    if calibration != "advanced":
        return
    if not (isinstance(budget, ApproxDP) and budget.epsilon <= 1.0 and budget.delta <= 0.5):
        raise ConfigError(
            "the advanced calibration is for (epsilon, delta) budgets with epsilon up to 1 and delta up to 1/2",
            remedy="use calibration='auto', which is more accurate in any case",
        )
    # Each round costs at most so much times eps0^2, so that their sum does not depend on their number.
    most = 5.0 * math.pi / 16.0 if budget.regime is Regime.GDP else 5.0 / 8.0
    if most * budget.epsilon**2 / (16.0 * math.log(1.0 / budget.delta)) > amount:
        raise ConfigError(
            "what is left of the budget does not pay for rounds in the advanced calibration",
            remedy="make total_share and error_share smaller, or use calibration='auto'",
        )


def boundary(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Neighbouring numbers between which a condition, false at ``low`` and true at ``high``, begins to hold.

    Example:
        >>> low, high = boundary(lambda x: x * x >= 2.0, 0.0, 2.0)
        >>> low * low < 2.0 <= high * high
        True
    """
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
