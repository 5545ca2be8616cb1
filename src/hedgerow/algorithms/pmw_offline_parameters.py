"""What offline PMW derives from public numbers: rounds, noise, and whether its promise holds (theory.md section 3).

All quantities are fractions, of queries scaled to [0, 1]: ``(q - lo) / w`` with the query's own bounds and width w. Let
n be the public number of records, or n-hat, its noisy value; Delta the sensitivity of a scaled answer in counts (1, or
M / w under "add-remove", M the largest magnitude of the query); m the number of queries, L that of rounds.

**The promise, with a noisy number of records.** By ``n >= 2 Delta ln(2 L m / beta) / (alpha eps0)`` the exponential
mechanism loses more than alpha in some round with probability ``beta (m - 1) / 2m`` at most. The noise of the answers
passes not only alpha but ``alpha / 2`` in some round with probability ``beta / m`` at most, as discrete Laplace noise
has ``Pr(|nu| > t) <= 2 exp(-t eps0 n / Delta)``. (For m >= 2 the two sum to beta or less; one query needs no
selection.) So there is room for s, the largest difference of answers divided by n-hat and by n, if it stays below
``alpha / 2``: an update then has ``|e| > 2 alpha - alpha / 2 - s >= alpha`` and the right sign, and an early stop
leaves at most ``2 alpha + alpha / 2 + alpha + s <= 4 alpha``. With ``s <= M |n-hat - n| / (w n-hat)`` that is a second
condition on n-hat. A tenth of beta goes to it. Rounding of the scores to multiples of 2^-10 counts is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.algorithms.bounds import Step
from hedgerow.algorithms.schedule import Charges, RoundCharge, total_error
from hedgerow.errors import ConfigError
from hedgerow.privacy.budget import ApproxDP, Budget, Regime
from hedgerow.privacy.charging import bounded_range_rho, pure_rho
from hedgerow.queries.sensitivity import Neighbours
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.pmw_offline import OfflinePMW

_BETA_TOTAL = 0.1
"""Part of the failure probability that goes to the noisy number of records."""

_SMALLEST_ALPHA = 1e-6
_LARGEST_ALPHA = math.nextafter(1.0, 0.0)


@final
@dataclass(frozen=True)
class Scale:
    """What the promise needs to know of a workload.

    Attributes:
        cells: Cells of the domain, |X|.
        queries: m.
        sensitivity: Delta, of a scaled answer in counts: l1 / w.
        magnitude: M / w, largest over the queries: what an error of one in the number of records moves.

    Example:
        >>> from hedgerow.attribute import IntegerRange
        >>> from hedgerow.domain import Domain
        >>> parities = Workload.parities(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2)
        >>> Scale.of(parities, Neighbours.ADD_REMOVE)
        Scale(cells=4, queries=3, sensitivity=0.5, magnitude=0.5)
    """

    cells: int
    queries: int
    sensitivity: float
    magnitude: float

    @classmethod
    def of(cls, workload: Workload, neighbours: Neighbours) -> Scale:
        """From a workload of single queries.

        Raises:
            ConfigError: A query is constant, or Delta is not the same for all queries.
        """
        widths = workload.sensitivities(Neighbours.REPLACE)
        if not (widths > 0).all():
            raise ConfigError(
                "a query has the same value for every record; its answer is public", remedy="leave it out"
            )
        ratios = workload.sensitivities(neighbours) / widths
        if ratios.max() > ratios.min() * (1.0 + 1e-9):
            raise ConfigError(
                "the queries have ranges of different kinds, such as [0, 1] and [-1, 1], so that one record moves "
                "their scaled answers differently",
                remedy="ask for one kind of queries, for example 'cells:2' alone or 'parities:3' alone",
            )
        magnitude = float((workload.sensitivities(Neighbours.ADD_REMOVE) / widths).max())
        return cls(workload.domain.size, workload.n_queries, float(ratios.max()), magnitude)


@final
@dataclass(frozen=True)
class Setting:
    """Everything that is fixed before the first round.

    Attributes:
        alpha: Fraction; the stopping test compares with twice as much.
        rounds: L, the most that there can be.
        epsilon: eps0, of one selection and of one answer.
        charge: What one round spends, in the ledger's unit.
        total: Number of records (noisy).
        required: Number of records from which on the promise holds.
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
        """As plain values, for plans and provenance; ``bound`` is a fraction of a query's width, or None."""
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
    """The alpha that so many rounds are the most for.

    Raises:
        ConfigError: It would be 1 or more: the stopping test would always fire.

    Example:
        >>> round(alpha_of(2772, 1024, "source"), 4)
        0.1
    """
    factor = (4.0 if step == "source" else 0.5) * math.log(cells)
    if rounds <= factor:
        raise ConfigError(
            f"{rounds} rounds are too few for {cells:,} cells: alpha would be {math.sqrt(factor / rounds):.3g}",
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


def round_rho(epsilon: float) -> float:
    """Charge in zCDP of one selection and one discrete Laplace answer at eps0: ``eps0^2 / 8 + eps0 tanh(eps0 / 2)``.

    Example:
        >>> round(round_rho(0.1), 9)
        0.006245837
    """
    return bounded_range_rho(epsilon) + pure_rho(epsilon)


def round_epsilon(config: OfflinePMW, budget: Budget, amount: float, rounds: int) -> float:
    """eps0 for so many rounds.

    Args:
        config: Its calibration counts.
        budget: What the run may spend in all.
        amount: What the rounds may spend together.
        rounds: L.

    Returns:
        ``amount / 2 L`` for pure budgets; the solution of ``L round_rho(eps0) = amount`` for zCDP; for "advanced"
        ``epsilon / (4 sqrt(L ln(1 / delta)))``, whatever the amount.

    Example:
        >>> from hedgerow.algorithms.pmw_offline import OfflinePMW
        >>> from hedgerow.privacy.budget import ZCDP, PureDP
        >>> round_epsilon(OfflinePMW(), PureDP(1.0), 1.0, 50)
        0.01
        >>> round(round_epsilon(OfflinePMW(), ZCDP(1.0), 50 * round_rho(0.1), 50), 9)
        0.1
        >>> round(round_epsilon(OfflinePMW(calibration="advanced"), ApproxDP(1.0, 1e-6), 0.02, 50), 6)
        0.009512
    """
    if config.calibration == "advanced" and isinstance(budget, ApproxDP):
        return budget.epsilon / (4.0 * math.sqrt(rounds * math.log(1.0 / budget.delta)))
    if budget.regime is Regime.PURE:
        return amount / (2.0 * rounds)
    each = amount / rounds
    return _boundary(lambda epsilon: round_rho(epsilon) > each, 0.0, 3.0 * math.sqrt(each))[0]


def round_charge(regime: Regime, epsilon: float) -> RoundCharge:
    """What a selection and an answer at eps0 cost.

    Example:
        >>> round_charge(Regime.PURE, 0.5)
        RoundCharge(selection=0.5, measurement=0.5)
    """
    if regime is Regime.PURE:
        return RoundCharge(epsilon, epsilon)
    return RoundCharge(bounded_range_rho(epsilon), pure_rho(epsilon))


def check_budget(config: OfflinePMW, budget: Budget, amount: float) -> None:
    """Refuse an "advanced" calibration that its theorem does not cover or the budget cannot pay.

    Args:
        config: The configuration.
        budget: What the run may spend in all.
        amount: What the rounds may spend together.

    Raises:
        ConfigError: Not an (epsilon, delta) budget with epsilon up to 1, or the other shares leave too little.

    Example:
        >>> from hedgerow.algorithms.pmw_offline import OfflinePMW
        >>> check_budget(OfflinePMW(calibration="advanced"), ApproxDP(1.0, 1e-6), 0.02)
    """
    if config.calibration != "advanced":
        return
    if not (isinstance(budget, ApproxDP) and budget.epsilon <= 1.0 and budget.delta <= 0.5):
        raise ConfigError(
            "the advanced calibration is for (epsilon, delta) budgets with epsilon up to 1 and delta up to 1/2",
            remedy="use calibration='auto', which is more accurate in any case",
        )
    # Each round costs at most 5/8 eps0^2, so that their sum does not depend on their number.
    if 0.625 * budget.epsilon**2 / (16.0 * math.log(1.0 / budget.delta)) > amount:
        raise ConfigError(
            "what is left of the budget does not pay for rounds in the advanced calibration",
            remedy="make total_share and error_share smaller, or use calibration='auto'",
        )


def choose(config: OfflinePMW, scale: Scale, budget: Budget, charges: Charges, total: float) -> Setting:
    """Fix alpha, rounds and noise from public numbers.

    ``alpha="auto"`` is the smallest alpha whose required number of records there are. If there is none below 1, no
    promise can be made; then it is the one with the smallest error that the proof would give.

    Args:
        config: The configuration.
        scale: Of the workload.
        budget: What the run may spend in all.
        charges: How it is divided.
        total: Number of records (noisy).

    Raises:
        ConfigError: Too few rounds were asked for.

    Example:
        >>> from hedgerow.algorithms.pmw_offline import OfflinePMW
        >>> from hedgerow.privacy.budget import PureDP
        >>> scale, budget = Scale(1024, 500, 1.0, 1.0), PureDP(1.0, "replace")
        >>> chosen = choose(OfflinePMW(), scale, budget, Charges(0.0, 0.0, 1.0, 0.0), 1e6)
        >>> round(chosen.alpha, 4), chosen.rounds, chosen.promised
        (0.1245, 1789, True)
    """
    return _Chooser(config, scale, budget, charges, total).choose()


@final
@dataclass(frozen=True)
class _Chooser:
    """The arguments of `choose`, and settings for any alpha."""

    config: OfflinePMW
    scale: Scale
    budget: Budget
    charges: Charges
    total: float

    def choose(self) -> Setting:
        if self.config.rounds is not None:
            alpha = alpha_of(self.config.rounds, self.scale.cells, self.config.step)
            return self.setting(alpha, self.config.rounds)
        if self.config.alpha != "auto":
            return self.setting(self.config.alpha)
        if not self.promises(_LARGEST_ALPHA):
            alphas: list[float] = np.geomspace(0.005, _LARGEST_ALPHA, 400).tolist()
            return self.setting(min(alphas, key=self.loss))
        return self.setting(_boundary(self.promises, _SMALLEST_ALPHA, _LARGEST_ALPHA)[1])

    def promises(self, alpha: float) -> bool:
        return self.setting(alpha).promised

    def setting(self, alpha: float, rounds: int | None = None) -> Setting:
        most = most_rounds(alpha, self.scale.cells, self.config.step) if rounds is None else rounds
        epsilon = round_epsilon(self.config, self.budget, self.charges.rounds, most)
        needed = max(
            2.0 * self.scale.sensitivity * self._log_odds(most) / (alpha * epsilon),
            2.0 * self.scale.magnitude * self._total_error / alpha,
        )
        charge = round_charge(self.budget.regime, epsilon)
        return Setting(alpha, most, epsilon, charge, self.total, needed, self.config.beta)

    def loss(self, alpha: float) -> tuple[bool, float]:
        """Whether the proof breaks down, and the error after an early stop: 2 alpha, noise, loss of the selection."""
        setting = self.setting(alpha)
        unit = self.scale.sensitivity / (setting.epsilon * self.total)
        noise = unit * math.log(4.0 * setting.rounds / self._beta)
        moved = self.scale.magnitude * self._total_error / self.total
        lost = 2.0 * unit * self._log_odds(setting.rounds)
        return noise + moved > alpha, 2.0 * alpha + noise + lost + moved

    @property
    def _beta(self) -> float:
        return self.config.beta * (1.0 - _BETA_TOTAL if self._noisy_total else 1.0)

    @property
    def _noisy_total(self) -> bool:
        return self.budget.neighbours is Neighbours.ADD_REMOVE

    def _log_odds(self, rounds: int) -> float:
        return math.log(2.0 * rounds * self.scale.queries / self._beta)

    @property
    def _total_error(self) -> float:
        """What |n-hat - n| passes with a tenth of the failure probability."""
        if not self._noisy_total:
            return 0.0
        return total_error(self.budget, self.charges.total, _BETA_TOTAL * self.config.beta) / 2.0


def _boundary(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Neighbouring numbers between which a condition, false at ``low`` and true at ``high``, begins to hold."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
