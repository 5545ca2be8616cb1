"""MWEM: multiplicative weights with the exponential mechanism (theory.md section 2).

M. Hardt, K. Ligett, F. McSherry, "A Simple and Practical Algorithm for Differentially Private Data Release", NIPS 2012.
In every round: select the candidate that the hypothesis answers worst, by the exponential mechanism; measure it with
noise; move the hypothesis by multiplicative weights. Departures, each an option whose other value is the paper's way:

- measured candidates are masked out of the selection (``repeats``), and the expected noise of measuring a candidate is
  taken off its score (``offsets``);
- after each measurement the hypothesis is fitted to *all* measurements so far (``refit``; the published listing makes
  100 sweeps, ours stops where the noise would be fitted);
- the last hypothesis is returned (``output``), the theorem speaks of the average;
- the number of records is measured under "add-remove", where the paper takes it as known;
- where there are as many rounds as candidates nothing is left to select, and no budget is spent on it;
- a share of the budget buys a noisy estimate of the final error (``error_share``), so that a report predicts honestly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from hedgerow.algorithms.mwem.rounds import check_rounds
from hedgerow.algorithms.shared.algorithm import Algorithm
from hedgerow.algorithms.shared.averaging import Output
from hedgerow.algorithms.shared.checks import check_answers, check_noise, check_shares, is_count
from hedgerow.algorithms.shared.progress import ProgressCallback
from hedgerow.errors import ConfigError
from hedgerow.models import LARGEST_TREE, Proximal, Refit, Step
from hedgerow.privacy import Budget, Regime
from hedgerow.quantities import human
from hedgerow.queries import NoiseKind, Workload

if TYPE_CHECKING:
    from hedgerow.algorithms.mwem.plan import Plan
    from hedgerow.domain import Clique
    from hedgerow.privacy import Curator, Law
    from hedgerow.release import Release

Rounds = int | Literal["auto", "bound", "adaptive", "annealed"]
Initial = Literal["uniform", "histogram", "one-way"]

_REFIT = Proximal()

LARGEST_HISTOGRAM = 1 << 20
"""Cells of the largest domain that may start from a noisy histogram."""


_NAMED_ROUNDS = ("auto", "annealed", "bound", "adaptive")

_CHOICES = {
    "step": ("source", "sharp"),
    "output": ("last", "average"),
    "initial": ("uniform", "histogram", "one-way"),
    "law": ("exponential", "permute-and-flip"),
}


@final
@dataclass(frozen=True)
class MWEM(Algorithm):
    """Configuration of MWEM; holds no data and can be used for any number of runs.

    Attributes:
        rounds: A number; ``"bound"`` (the theorem's bound is smallest); ``"adaptive"`` (the charge of a round doubles
            when a noisy answer shows no progress, until all is spent); ``"annealed"`` (the same after noisy marginals
            of single attributes, and the marginals of those of the workload may be measured as well); or ``"auto"``,
            from public quantities: a number, or annealed where the domain is too large for a histogram.
        selection_share: Share of a round's charge that goes to selection; None means a tenth in annealed rounds, else
            half.
        step: ``"source"`` (eta = r / 2n) or ``"sharp"`` (eta = 4 r / w**2 n); used where ``refit`` is None.
        output: The last hypothesis, or the average of A_0 ... A_(T-1).
        refit: How the hypothesis is fitted to all measurements after each round; None takes one step to the newest.
        quick_fits: Whether proximal fits between rounds are done with fewer sweeps; the last one never is.
        initial: Where the hypothesis starts: uniform; a noisy histogram of all cells (small domains); or uniform,
            fitted to noisy marginals of single attributes.
        initial_share: Share of the budget that ``initial`` may spend, unless uniform.
        uniform_share: gamma, the part of the uniform distribution in a histogram start.
        clip: Whether noisy answers are moved into the possible range before a step; used where ``refit`` is None
            (``Sweeps`` has its own).
        repeats: Whether a candidate may be measured more than once.
        law: Law of the selection; permute-and-flip needs a pure budget.
        noise: Shape of the noise; Laplace for pure budgets and Gaussian for zCDP unless given.
        offsets: Whether the expected noise of a measurement is taken off a candidate's score.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.
        largest_tree: Where the domain is too large for a histogram: cells that the cliques of the junction trees may
            have. Candidates beyond that are left out; while the budget is being spent the limit grows with the share
            that is spent.

    Example:
        >>> MWEM(rounds=10, refit=None, output="average").step
        'source'
        >>> MWEM(rounds=0)
        Traceback (most recent call last):
            ...
        hedgerow.errors.ConfigError: MWEM needs at least one round, not 0
          Remedy: give a number from 1, 'auto', 'annealed', 'bound' or 'adaptive'
    """

    rounds: Rounds = "auto"
    selection_share: float | None = None
    step: Step = "source"
    output: Output = "last"
    refit: Refit | None = _REFIT
    quick_fits: bool = True
    initial: Initial = "uniform"
    initial_share: float = 0.1
    uniform_share: float = 0.05
    clip: bool = True
    repeats: bool = False
    law: Law = "exponential"
    noise: NoiseKind | None = None
    offsets: bool = True
    total_share: float = 0.02
    error_share: float = 0.03
    largest_tree: int = LARGEST_TREE

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: One is out of its range, or a name is unknown.
        """
        if self.rounds not in _NAMED_ROUNDS and not is_count(self.rounds):
            raise ConfigError(
                f"MWEM needs at least one round, not {self.rounds!r}",
                remedy="give a number from 1, 'auto', 'annealed', 'bound' or 'adaptive'",
            )
        if not is_count(self.largest_tree):
            raise ConfigError(f"largest_tree must be a whole number of cells, not {self.largest_tree!r}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name} = {getattr(self, name)!r} is unknown", remedy=f"give {' or '.join(choices)}")
        self._check_shares()

    def _check_shares(self) -> None:
        for name in ("selection_share", "initial_share", "uniform_share"):
            share = getattr(self, name)
            if share is not None and not 0.0 < share < 1.0:
                raise ConfigError(f"{name} must lie between 0 and 1, not {share!r}")
        check_shares(self.total_share, self.error_share, self.spent_initially)

    @property
    def refit_between(self) -> Refit | None:
        """The fit between rounds."""
        return self.refit.quick() if isinstance(self.refit, Proximal) and self.quick_fits else self.refit

    @property
    def spent_initially(self) -> float:
        """``initial_share`` where something is measured before the first round, else 0."""
        return 0.0 if self.initial == "uniform" else self.initial_share

    def measured_alone(self, workload: Workload) -> Clique:
        """The attributes of which noisy marginals are the start.

        Args:
            workload: What the release should answer well.
        """
        from hedgerow.algorithms.mwem.candidates import attributes_of

        return attributes_of(workload) if self.initial == "one-way" else ()

    def selecting(self, *, annealed: bool = False) -> float:
        """``selection_share``, or what it is by default.

        Args:
            annealed: Whether rounds are annealed: these are many, and most see what is worth measuring.
        """
        return (0.1 if annealed else 0.5) if self.selection_share is None else self.selection_share

    @property
    def needs_histogram(self) -> bool:
        """Whether every cell is held, however large the domain: averages of hypotheses are no products."""
        return self.output == "average" or self.initial == "histogram"

    @property
    def copies(self) -> int:
        """Arrays over all cells that a run with a histogram holds at once: that, and its base, an average or tables."""
        return 2 + (self.output == "average") + 2 * (self.initial == "histogram")

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload, the regime or the memory does not allow, before anything is read or spent.

        Args:
            workload: What the release should answer well.
            regime: Of the budget.

        Raises:
            ConfigError: See `check_options`; or marginals of single attributes fill ``largest_tree``.
            ModelTooLargeError: The hypothesis does not fit into memory, or into ``largest_tree``.
            MarginalTooLargeError: The answers of the workload do not fit into memory.
        """
        from hedgerow.algorithms.mwem.candidates import Limit, closure
        from hedgerow.algorithms.mwem.rounds import is_annealed
        from hedgerow.models import check_fits

        self.check_options(workload, regime)
        below = closure(workload) if is_annealed(self, workload) else None
        check_answers([workload] if below is None else [workload, below])
        limit = Limit(workload, self.largest_tree)
        if self.needs_histogram or not limit.binds:
            check_fits(workload.domain, self.copies, averaged=self.output == "average")
        if limit.binds:
            limit.check(self.measured_alone(workload))

    def check_options(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload or the regime does not allow, however much memory there is.

        Args:
            workload: What the release should answer well.
            regime: Of the budget.

        Raises:
            ConfigError: More rounds than candidates; a histogram of a large domain; permute-and-flip under zCDP;
                Gaussian noise under pure differential privacy.
        """
        check_rounds(self, workload)
        if self.initial == "histogram" and workload.domain.size > LARGEST_HISTOGRAM:
            raise ConfigError(
                f"a noisy histogram of {human(workload.domain.size)} cells would be noise alone",
                remedy=f"start uniform or one-way; a histogram is for up to {LARGEST_HISTOGRAM:,} cells",
            )
        if self.law == "permute-and-flip" and regime is not Regime.PURE:
            raise ConfigError(
                "permute-and-flip has no zCDP charge of its own", remedy="use law='exponential', or a PureDP budget"
            )
        check_noise(self.noise, regime)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """As `run`, with a curator that the caller made and whose ledger it can read whatever happens.

        Args:
            curator: Stands before the private table; its whole remaining budget is spent.
            workload: What the release should answer well.
            progress: Called after every round.
        """
        from hedgerow.algorithms.mwem.session import run_session

        return run_session(self, curator, workload, progress)

    def plan(self, workload: Workload, budget: Budget, total: float) -> Plan:
        """What a run would need, spend and promise; nothing is read and nothing is spent.

        Args:
            workload: What the release should answer well.
            budget: What may be spent.
            total: A public guess of the number of records.
        """
        from hedgerow.algorithms.mwem.plan import make_plan

        return make_plan(self, workload, budget, total)
