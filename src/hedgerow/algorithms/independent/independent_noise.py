"""Independent noise on every answer: what any other algorithm has to beat (theory.md section 8).

C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating Noise to Sensitivity in Private Data Analysis", TCC 2006
(Laplace), and its zCDP form with Gaussian noise (M. Bun, T. Steinke, "Concentrated Differential Privacy", TCC 2016).
Each of m candidates is measured once, with the m-th part of the budget: Laplace noise of scale m Delta / epsilon in
counts, or Gaussian noise of ``sigma = Delta sqrt(m / (2 rho))``. Nothing is selected. The noisy answers are then made
consistent and non-negative by the fit that MWEM uses, so that comparisons with it differ in the measurements alone;
`noisy_answers` gives them as they were bought. The bound that a plan states is the quantile of m independent noises, a
little below the theorem's ``(m Delta / epsilon) ln(m / beta)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from hedgerow.algorithms.independent.equal_shares import footprint, plan_equal_shares, run_equal_shares
from hedgerow.algorithms.shared import Algorithm, Outline, ProgressCallback, check_domain, check_noise, check_shares
from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.models import Proximal, Refit
from hedgerow.privacy import Budget, Regime
from hedgerow.queries import NoiseKind, Workload

if TYPE_CHECKING:
    from hedgerow.privacy import Curator
    from hedgerow.release import Release

_REFIT = Proximal()


@final
@dataclass(frozen=True)
class IndependentNoise(Algorithm):
    """Configuration of the Laplace and Gaussian baselines; holds no data and can be used for any number of runs.

    Every candidate gets the same share of the budget, whatever its weight in the workload.

    Attributes:
        noise: Shape of the noise; Laplace for pure budgets and Gaussian for zCDP unless given.
        fit: How the hypothesis is fitted to the noisy answers; None leaves it uniform, so that the release holds the
            noisy answers and nothing else, and no error is estimated.
        by: What is measured in one go: a ``"candidate"`` of the workload (a whole marginal, whose cells share one
            charge because a record is in one of them), or each single ``"query"`` on its own, as the theorem does.
        total_share: Share of the budget for the noisy number of records, spent under "add-remove" only.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain((hedgerow.Categorical("sex", ("F", "M")), hedgerow.IntegerRange("age", 0, 2)))
        >>> table = hedgerow.read_table(pa.table({"sex": ["F", "M"] * 400, "age": [0, 1, 2, 2] * 200}), domain)
        >>> workload = hedgerow.Workload.marginals(domain, order=2)
        >>> release = IndependentNoise().run(table, workload, hedgerow.PureDP(0.1), noise=hedgerow.SeededNoise(0))
        >>> noisy_answers(release)
        array([171., -63., 171.,  17., 184., 207.])
    """

    noise: NoiseKind | None = None
    fit: Refit | None = _REFIT
    by: Literal["candidate", "query"] = "candidate"
    total_share: float = 0.02
    error_share: float = 0.03

    def __post_init__(self) -> None:
        """Check every number.

        Raises:
            ConfigError: One is out of its range, or a name is unknown.
        """
        if self.noise is not None:
            object.__setattr__(self, "noise", _kind_of(self.noise))
        if self.by not in ("candidate", "query"):
            raise ConfigError(f"by = {self.by!r} is unknown", remedy="give 'candidate' or 'query'")
        check_shares(self.total_share, self.error_share)

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the regime or the memory does not allow, before anything is read or spent.

        Args:
            workload: What the release should answer well.
            regime: Of the budget.

        Raises:
            ConfigError: Gaussian noise under pure differential privacy.
            ModelTooLargeError: The hypothesis does not fit into memory.
        """
        self.check_options(regime)
        footprint(self, self.measured(workload)).check()

    def check_options(self, regime: Regime) -> None:
        """Refuse what the regime does not allow, however much memory there is.

        Raises:
            ConfigError: Gaussian noise under pure differential privacy.
        """
        check_noise(self.noise, regime)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """As `run`, with a curator that the caller made; its whole remaining budget is spent.

        Args:
            curator: Stands before the private table.
            workload: What the release should answer well.
            progress: Called after every measurement.
        """
        check_domain(curator, workload)
        self.check(workload, curator.regime)
        return run_equal_shares(
            self, curator, self.measured(workload), workload, name="IndependentNoise", parameters=self.parameters(),
            progress=progress,
        )  # fmt: skip

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        """What a run would need, spend and promise; nothing is read and nothing is spent.

        Args:
            workload: What the release should answer well.
            budget: What may be spent.
            total: A public guess of the number of records, which no bound should pass.

        Example:
            >>> from hedgerow.domain.attribute import IntegerRange
            >>> from hedgerow.domain.domain import Domain
            >>> from hedgerow.privacy.budgets.budget import PureDP
            >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)
            >>> facts = IndependentNoise(by="query", error_share=0.0).plan(workload, PureDP(1.0, "replace"), 1).facts
            >>> facts["measured"], round(facts["scale"], 6), facts["bound"]
            (27, 27.0, 169.0)
        """
        self.check_options(budget.regime)
        return plan_equal_shares(self, self.measured(workload), workload, budget, total)

    def measured(self, workload: Workload) -> Workload:
        """The workload whose candidates are measured."""
        return workload.by_query() if self.by == "query" else workload


def noisy_answers(release: Release) -> Floats:
    """The answers of the workload as they were measured: neither consistent nor clipped, may be negative.

    Args:
        release: Made by `IndependentNoise`.

    Returns:
        Counts, shape ``(n_queries,)``, in the order of the release's workload.

    Raises:
        ConfigError: The release was made otherwise.
    """
    if release.provenance.algorithm != "IndependentNoise":
        raise ConfigError(
            f"a release of {release.provenance.algorithm} does not hold a noisy answer of every query",
            remedy="ask a release that IndependentNoise made, or take workload.answers(release.model)",
        )
    return np.concatenate([measured.values for measured in release.measurements])


def _kind_of(noise: NoiseKind | str) -> NoiseKind:
    try:
        return NoiseKind(noise)
    except ValueError as error:
        remedy = f"give {' or '.join(repr(kind.value) for kind in NoiseKind)}, or leave it out"
        raise ConfigError(f"there is no noise {noise!r}", remedy=remedy) from error
