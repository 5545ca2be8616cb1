"""Noisy Fourier coefficients: all marginals of binary attributes at once (theory.md section 8).

B. Barak, K. Chaudhuri, C. Dwork, S. Kale, F. McSherry, K. Talwar, "Privacy, Accuracy, and Consistency Too: A Holistic
Solution to Contingency Table Release", PODS 2007. The marginal over a set S of binary attributes is a function of the
2^|S| parities over subsets of S, its Fourier coefficients: ``cell x = 2^-|S| sum over A in S of (-1)^(x_A) parity_A``.
Marginals share most of these, so each parity that any marginal of the workload needs is measured once, all with the
same charge; marginals made of them agree with each other. Departures:

- the linear program that finds a non-negative table is replaced by the multiplicative-weights fit of MWEM, to the
  marginals that the coefficients determine, and counts are not rounded to whole numbers;
- Gaussian noise in zCDP, with scale ``sqrt(K / (2 rho))`` where Laplace noise has ``K / epsilon``;
- the parity of no attribute is the number of records: measured like the others under "add-remove", public under
  "replace";
- a parity in the workload needs itself alone, not those of its subsets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from hedgerow.algorithms.independent.coefficients import Spectrum, as_marginals, coefficients
from hedgerow.algorithms.independent.equal_shares import bound_line, plan_equal_shares, run_equal_shares
from hedgerow.algorithms.independent.independent_noise import IndependentNoise
from hedgerow.algorithms.shared.algorithm import Algorithm, check_domain
from hedgerow.algorithms.shared.bounds import BETA
from hedgerow.algorithms.shared.charges import noise_of, noise_of_total
from hedgerow.algorithms.shared.outline import Outline
from hedgerow.algorithms.shared.progress import ProgressCallback
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
class FourierMeasurement(Algorithm):
    """Configuration of the release of marginals by noisy Fourier coefficients; for domains of binary attributes.

    Attributes:
        noise: Shape of the noise; Laplace for pure budgets and Gaussian for zCDP unless given.
        fit: How the hypothesis is fitted to the marginals made of the noisy coefficients; None leaves it uniform, so
            that the release holds the coefficients and nothing else, and no error is estimated.
        error_share: Share of the budget for the noisy error of the workload at the end; 0 leaves it out.

    Example:
        >>> import hedgerow
        >>> import pyarrow as pa
        >>> domain = hedgerow.Domain(hedgerow.Categorical(name, ("no", "yes")) for name in ("smokes", "coughs"))
        >>> people = {"smokes": ["no", "yes"] * 400, "coughs": ["no", "yes", "no", "no"] * 200}
        >>> table = hedgerow.read_table(pa.table(people), domain)
        >>> workload = hedgerow.Workload.marginals(domain, order=2)
        >>> release = FourierMeasurement().run(table, workload, hedgerow.PureDP(1.0), noise=hedgerow.SeededNoise(0))
        >>> [measured.target.text for measured in release.measurements]
        ['parity(smokes)', 'parity(coughs)', 'parity(smokes, coughs)']
        >>> noisy_answers(release)
        array([398.25,   0.75, 198.75, 200.25])
    """

    noise: NoiseKind | None = None
    fit: Refit | None = _REFIT
    error_share: float = 0.03

    def __post_init__(self) -> None:
        """Check the share.

        Raises:
            ConfigError: It is out of its range.
        """
        if not 0.0 <= self.error_share < 1.0:
            raise ConfigError(
                f"error_share = {self.error_share!r} is no share", remedy="give a number from 0 to below 1"
            )

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload, the regime or the memory does not allow, before anything is read or spent.

        Args:
            workload: What the release should answer well.
            regime: Of the budget.

        Raises:
            ConfigError: An attribute of the workload is not binary, there are too many coefficients, or Gaussian noise
                is asked for under pure differential privacy.
            ModelTooLargeError: The hypothesis does not fit into memory.
        """
        self._independent(coefficients(workload)).check(workload, regime)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """As `run`, with a curator that the caller made; its whole remaining budget is spent.

        Args:
            curator: Stands before the private table.
            workload: What the release should answer well.
            progress: Called after every coefficient.
        """
        check_domain(curator, workload)
        measured = coefficients(workload)
        config = self._independent(measured)
        config.check(workload, curator.regime)
        return run_equal_shares(
            config, curator, measured, workload, name="FourierMeasurement", parameters=self.parameters(),
            fitted=as_marginals, progress=progress,
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
            >>> from hedgerow.privacy.budgets.budget import ZCDP
            >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abc"), 2)
            >>> facts = FourierMeasurement(error_share=0.0).plan(workload, ZCDP(0.5), total=1000).facts
            >>> facts["measured"], round(facts["scale"] ** 2, 6)
            (6, 7.0)
        """
        measured = coefficients(workload)
        config = self._independent(measured)
        config.check_options(budget.regime)
        planned = plan_equal_shares(config, measured, workload, budget, total)
        bound = self._bound(measured, budget, planned.facts["charge"])
        text = (
            *(line for line in planned.text if line[0] not in ("bound", "")),
            bound_line("no cell made of the coefficients", bound, total),
            ("", "of the hypothesis fitted to them no theorem speaks; the release estimates its error"),
        )
        return replace(planned, text=text, facts={**planned.facts, "bound": bound})

    def _bound(self, measured: Workload, budget: Budget, charge: float) -> float:
        """On all coefficients, and hence on all cells: these are averages of coefficients with signs."""
        of_total = noise_of_total(budget, charge)
        noises = [
            noise_of(measured.candidate(0), budget, charge, self.noise),
            *([] if of_total is None else [of_total]),
        ]
        return max(noise.quantile(1.0 - BETA, measured.n_queries + 1) for noise in noises)

    def _independent(self, measured: Workload) -> IndependentNoise:
        """Independent noise on the coefficients, that of no attribute with the same charge as the others."""
        error = self.error_share if self.fit is not None else 0.0
        share = (1.0 - error) / (measured.n_queries + 1)
        return IndependentNoise(noise=self.noise, fit=self.fit, total_share=share, error_share=self.error_share)


def noisy_answers(release: Release) -> Floats:
    """The answers that the noisy coefficients give: consistent with each other, not clipped, may be negative.

    Args:
        release: Made by `FourierMeasurement`.

    Returns:
        Counts, shape ``(n_queries,)``, in the order of the release's workload.

    Raises:
        ConfigError: The release was made otherwise.
    """
    if release.provenance.algorithm != "FourierMeasurement":
        raise ConfigError(
            f"a release of {release.provenance.algorithm} does not hold all coefficients",
            remedy="ask a release that FourierMeasurement made, or take workload.answers(release.model)",
        )
    spectrum = Spectrum.of(release.domain, release.measurements, release.total)
    return release.workload.answers(spectrum)
