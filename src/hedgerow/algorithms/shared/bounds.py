"""Error bounds of MWEM for chosen parameters (theory.md section 2), in counts.

Hardt, Ligett and McSherry 2012, theorem 2.3 and corollaries 2.5 and 2.6, with the constants that theory.md derives.
All bounds are on the largest error over the queries, for the averaged output, with all queries eligible in every
round and no offsets; a run that departs from this gets its caveats from `hedgerow.algorithms.mwem.plan`.
"""

import math
from dataclasses import dataclass

from hedgerow.domain import possible_records
from hedgerow.errors import ConfigError
from hedgerow.models import Step
from hedgerow.privacy import Regime, laplace_reach
from hedgerow.queries import Neighbours, Workload, of_marginal

BETA = 0.05
"""Default probability that a bound may fail."""


@dataclass(frozen=True)
class Bound:
    """An error that is not passed, except with a small probability.

    Attributes:
        rounds: T, the number of rounds that the bound is for.
        hypothesis: Error that is left after T rounds of multiplicative weights without noise, in counts.
        selection: Loss of selecting with the exponential mechanism, in counts.
        noise: Loss of measuring with noise, in counts.
        total: Loss of using a noisy number of records, in counts; 0 where that number is public.
        failure: Probability that the error passes the sum.
        caveats: Why the run at hand is not covered by the theorem; empty when it is.

    Example:
        >>> Bound(rounds=4, hypothesis=30.0, selection=4.0, noise=2.0, total=0.0, failure=0.05).error
        36.0
    """

    rounds: int
    hypothesis: float
    selection: float
    noise: float
    total: float
    failure: float
    caveats: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """The bound: largest error of a query (L1 error of a whole marginal), in counts."""
        return self.hypothesis + self.selection + self.noise + self.total


@dataclass(frozen=True)
class Task:
    """The quantities that a bound depends on besides the privacy of a round.

    Attributes:
        total: Number of records n (or its noisy value).
        cells: Records that can exist (cells of the domain that break no constraint).
        candidates: Number of queries (or whole marginals) to select from.
        sensitivity: Largest L1 sensitivity of a candidate, in counts.
        width: Largest ``high - low`` of a query.
        size: Largest number of cells of a candidate; 1 for single queries.

    Example:
        >>> Task(total=1000, cells=64, candidates=20).sensitivity
        1.0
    """

    total: float
    cells: int
    candidates: int
    sensitivity: float = 1.0
    width: float = 1.0
    size: int = 1

    def __post_init__(self) -> None:
        """Refuse what makes a logarithm or a root undefined."""
        if self.total < 1 or self.cells < 2 or self.candidates < 1 or self.size < 1 or self.sensitivity <= 0:
            raise ConfigError("a bound needs a record, two cells, and a candidate of positive sensitivity")


def hypothesis_error(task: Task, rounds: int, step: Step = "source") -> float:
    """Error of noiseless multiplicative weights after ``rounds`` rounds (theory.md section 1, Claim 1), in counts.

    For whole marginals Cauchy-Schwarz over the cells gives the L1 error: a factor ``sqrt(size)``.

    Example:
        >>> round(hypothesis_error(Task(total=1.0, cells=16, candidates=4), 64), 4)
        0.4163
    """
    claim = task.total * math.sqrt(task.size * math.log(task.cells) / rounds)
    if step == "source":
        return 2.0 * claim
    return claim if task.size > 1 else task.width * claim / math.sqrt(2.0)


def selection_error(task: Task, epsilon: float, rounds: int, beta: float) -> float:
    """Gap that the exponential mechanism at ``epsilon`` passes in some round with probability ``beta / 2`` at most.

    Example:
        >>> round(selection_error(Task(total=1, cells=4, candidates=10), epsilon=0.5, rounds=5, beta=0.1), 3)
        27.631
    """
    return 2.0 * task.sensitivity / epsilon * math.log(2.0 * rounds * task.candidates / beta)


def laplace_error(task: Task, scale: float, rounds: int, beta: float) -> float:
    """Noise (L1 over the cells of a candidate) that T rounds pass with probability ``beta / 2`` at most.

    Example:
        >>> round(laplace_error(Task(total=1, cells=4, candidates=10), scale=2.0, rounds=5, beta=0.1), 3)
        9.648
    """
    return task.size * laplace_reach(scale, beta / (2.0 * rounds * task.size))


def gaussian_error(task: Task, sigma: float, rounds: int, beta: float) -> float:
    """The same as `laplace_error`, for Gaussian noise; for one value ``sigma sqrt(2 ln(4 T / beta))``.

    For marginals by the concentration of the L2 norm: ``sqrt(size) sigma (sqrt(size) + sqrt(2 ln(2 T / beta)))``.

    Example:
        >>> round(gaussian_error(Task(total=1, cells=4, candidates=10), sigma=2.0, rounds=5, beta=0.1), 3)
        6.51
    """
    if task.size == 1:
        return sigma * math.sqrt(2.0 * math.log(4.0 * rounds / beta))
    root = math.sqrt(task.size)
    return root * sigma * (root + math.sqrt(2.0 * math.log(2.0 * rounds / beta)))


def task_of(workload: Workload, total: float, neighbours: Neighbours) -> Task:
    """The sizes of a workload that the error bounds depend on.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 2) for name in "ab")
        >>> task_of(Workload.marginals(domain, 2), 100.0, Neighbours.REPLACE)
        Task(total=100.0, cells=9, candidates=1, sensitivity=2.0, width=1.0, size=9)
    """
    return Task(
        total=max(1.0, total),
        cells=max(possible_records(workload.domain), min(2, workload.domain.size)),  # what holds for two holds for one
        candidates=workload.n_candidates,
        sensitivity=float(workload.sensitivities(neighbours).max()),
        width=largest_width(workload),
        size=int(workload.lengths.max()),
    )


def largest_width(workload: Workload) -> float:
    """The largest ``high - low`` of a query.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> largest_width(Workload.parities(Domain((IntegerRange("a", 0, 1),)), 1))
        2.0
    """
    return max(high - low for low, high in (family.bounds for family in workload.families))


def bound_of(
    task: Task,
    regime: Regime,
    neighbours: Neighbours,
    amount: float,
    rounds: int,
    *,
    share: float = 0.5,
    step: Step = "source",
    beta: float = BETA,
) -> Bound:
    """Theorem 2.3 (pure) or corollary 2.6 (zCDP, and GDP in the same way) at a chosen failure probability.

    With sensitivity 1 and ``share`` = 1/2 these are, for pure budgets,
    ``2 n sqrt(ln|D| / T) + (4 T / epsilon) ln(2 T |Q| / beta) + (2 T / epsilon) ln(2 T / beta)`` (and half a count for
    the lattice of the noise), and for the others
    ``2 n sqrt(ln|D| / T) + Delta sqrt(T / rho) Lambda``.

    Args:
        task: Sizes.
        regime: Unit of the amount.
        neighbours: Between which tables; gives the L2 sensitivity of a whole marginal.
        amount: Budget of all rounds together.
        rounds: T.
        share: Share of the budget that goes to selection.
        step: Step size.
        beta: Probability that the bound may fail.

    Example:
        >>> task = Task(total=10_000, cells=2**16, candidates=560)
        >>> round(bound_of(task, Regime.PURE, Neighbours.REPLACE, 1.0, 8).error, 1)
        24028.1
        >>> round(bound_of(task, Regime.ZCDP, Neighbours.REPLACE, 0.02, 8).error, 1)
        23862.0
    """
    if regime is Regime.PURE:
        epsilon, scale = share * amount / rounds, task.sensitivity * rounds / ((1.0 - share) * amount)
        noise = laplace_error(task, scale, rounds, beta)
    else:
        epsilon = regime.bounded_range_epsilon(share * amount / rounds)
        l2 = of_marginal(neighbours).l2 if task.size > 1 else task.sensitivity
        noise = gaussian_error(task, regime.gaussian_sigma(l2, (1.0 - share) * amount / rounds), rounds, beta)
    selection = selection_error(task, epsilon, rounds, beta)
    return Bound(rounds, hypothesis_error(task, rounds, step), selection, noise, 0.0, beta)
