"""The outcome of one run of a comparison, and the setting that all of its runs share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hedgerow.errors import ConfigError
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, Regime, Subsampled
from hedgerow.queries import Workload

MEAN, LARGEST, RMSE = "mean", "largest", "rmse"
METRICS = (MEAN, LARGEST, RMSE)
"""The mean and the largest of the candidates' errors, and the root mean square error of the single answers."""
WHOLE, SINGLE = "total variation distance", "absolute error as a share of the records"
"""The error of a marginal, and of a single query."""


BOUND = "bound of matrix mechanisms"
"""Name of the least error of the mechanisms that answer without bias from linear measurements."""


@dataclass(frozen=True)
class Outcome:
    """One run of one mechanism, or why it could not run.

    Attributes:
        mechanism: Its name in the comparison.
        budget: Budget of the run.
        repeat: Number of the run, from 1.
        errors: Exact errors of the released model by the names in `METRICS`; empty where it could not run.
        seconds: Duration of the run.
        reason: Reason why it could not run; empty where it did.
        raw: Exact errors of the noisy answers that the model was fitted to, where there is one for every query.

    Example:
        >>> from hedgerow import PureDP
        >>> Outcome("laplace", PureDP(1.0), 1, {"mean": 0.02, "largest": 0.05, "rmse": 0.01}, 0.5).ran
        True
    """

    label: ClassVar[str] = "not private"
    mechanism: str
    budget: Budget
    repeat: int
    errors: Mapping[str, float]
    seconds: float
    reason: str = ""
    raw: Mapping[str, float] | None = None

    @property
    def ran(self) -> bool:
        """Whether there are errors."""
        return not self.reason


@dataclass(frozen=True)
class Setting:
    """The setting that all runs of a comparison share.

    Attributes:
        workload: Text of the workload.
        records: Exact number of records.
        kind: Kind of the budgets: pure, zCDP with its relation, or approximate with delta and relation.
        seed: Seed of the noise, or None for secure noise.
        measure: Name of the error of a candidate.
    """

    workload: str
    records: int
    kind: str
    seed: int | None
    measure: str


def budget_kind(budget: Budget) -> str:
    """The kind that budgets must share to stand on one axis.

    Example:
        >>> budget_kind(ApproxDP(1.0, 1e-9, "replace"))
        'epsilon, delta = 1e-09, replace'
        >>> budget_kind(ApproxDP(1.0, 1e-9, "replace", regime="gdp", thresholds=5e-10))
        'epsilon, delta = 1e-09, accounted in gdp, 5e-10 of it for thresholds, replace'
    """
    if isinstance(budget, ZCDP | GDP):
        return f"{amount_name(budget)}, {budget.neighbours}"
    if isinstance(budget, Subsampled):
        return f"epsilon of a secret sample, delta = {budget.approximate()[1]!r}, {budget.neighbours}"
    delta = ""
    if isinstance(budget, ApproxDP):
        delta = f"delta = {budget.delta!r}, "
        delta += "" if budget.regime is Regime.ZCDP else f"accounted in {budget.regime.value}, "
        delta += f"{budget.thresholds!r} of it for thresholds, " if budget.thresholds else ""
    return f"epsilon, {delta}{budget.neighbours}"


def amount_of(budget: Budget) -> float:
    """epsilon, or the rho or mu of a budget that has none."""
    return budget.rho if isinstance(budget, ZCDP) else budget.mu if isinstance(budget, GDP) else budget.approximate()[0]


def amount_name(budget: Budget) -> str:
    """Name of the amount.

    Example:
        >>> amount_name(ZCDP(0.5)), amount_name(GDP(0.5)), amount_name(ApproxDP(0.5, 1e-9))
        ('rho', 'mu', 'epsilon')
    """
    return "rho" if isinstance(budget, ZCDP) else "mu" if isinstance(budget, GDP) else "epsilon"


def amount_text(budget: Budget) -> str:
    """The amount with its name.

    Example:
        >>> amount_text(ApproxDP(0.5, 1e-9))
        'epsilon 0.5'
    """
    return f"{amount_name(budget)} {amount_of(budget):g}"


def common_kind(budgets: tuple[Budget, ...]) -> str:
    """The kind of all budgets.

    Raises:
        ConfigError: There is no budget, they are of different kinds, or one is there twice.
    """
    kinds = {budget_kind(budget) for budget in budgets}
    if len(kinds) != 1:
        raise ConfigError(
            f"budgets of {len(kinds)} kinds cannot share one axis: {'; '.join(sorted(kinds)) or 'none was given'}",
            remedy="give budgets of one kind, with one delta and one neighbouring relation",
        )
    if len(set(budgets)) != len(budgets):
        raise ConfigError("a budget is given twice", remedy="give each once; --repeats says how often it is run")
    return kinds.pop()


def measure_of(workload: Workload) -> str:
    """The name of the error of a candidate of a workload.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> measure_of(Workload.marginals(Domain((IntegerRange("a", 0, 2),)), 1))
        'total variation distance'
    """
    whole = {family.whole for family in workload.families}
    if whole == {True}:
        return WHOLE
    return SINGLE if whole == {False} else f"{WHOLE} of marginals, {SINGLE} of single queries"


def measure_named(setting: Setting, metric: str) -> str:
    """The error that a metric is a mean, a maximum or a root mean square of.

    Example:
        >>> measure_named(Setting("marginals:2", 10, "epsilon", None, "total variation distance"), "rmse")
        'absolute error as a share of the records'
    """
    return SINGLE if metric == RMSE else setting.measure
