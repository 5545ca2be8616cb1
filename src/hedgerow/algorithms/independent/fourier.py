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
- under "replace" one record moves only some of the parities, so that all of them together have less noise (theory.md
  section 13): for all pairs of 16 attributes .73 of it in zCDP and .53 in pure budgets;
- a parity in the workload needs itself alone, not those of its subsets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hedgerow.algorithms.independent.independent_noise import IndependentNoise, plan_equal_shares, run_steps
from hedgerow.algorithms.shared import (
    Algorithm,
    Outline,
    ProgressCallback,
    check_domain,
    check_noise,
    is_number,
    noise_kind,
)
from hedgerow.algorithms.shared.algorithm import check_made_by
from hedgerow.algorithms.strategies import with_least_noise
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import ConfigError
from hedgerow.models import Proximal, Refit
from hedgerow.privacy import Budget, Curator, Regime
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind, Parities, Workload, walsh_hadamard
from hedgerow.release import Release

_REFIT = Proximal(adapted=True)

LARGEST_CLOSURE = 2**18
"""Most parities that are measured."""


@dataclass(frozen=True)
class FourierMeasurement(Algorithm):
    """Configuration of the release of marginals by noisy Fourier coefficients; for domains of binary attributes.

    Attributes:
        noise: Shape of the noise; Laplace for pure budgets and Gaussian for zCDP unless given.
        fit: Fit of the hypothesis to the marginals made of the noisy coefficients; None leaves it uniform, so that the
            release holds the coefficients and nothing else, and no error is estimated.
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
        if self.noise is not None:
            object.__setattr__(self, "noise", noise_kind(self.noise))
        if not (is_number(self.error_share) and 0.0 <= self.error_share < 1.0):
            remedy = "give a number from 0 to below 1"
            raise ConfigError(f"error_share must be a share of the budget, not {self.error_share!r}", remedy=remedy)

    def check(self, workload: Workload, regime: Regime) -> None:
        """Refuse what the workload, the regime or the memory does not allow, before anything is read or spent.

        Args:
            workload: Queries that the release should answer well.
            regime: Regime of the budget.

        Raises:
            ConfigError: An attribute of the workload is derived or not binary, there are too many coefficients, or
                Gaussian noise is asked for under pure differential privacy.
            ModelTooLargeError: The hypothesis does not fit into memory.
        """
        self._independent(coefficients(workload)).check(workload, regime)

    def accounted(self, workload: Workload, budget: Budget) -> Budget:
        """An (epsilon, delta) in zCDP or in GDP, whichever needs less Gaussian noise: GDP, unless noise is narrow."""
        return with_least_noise(budget, self.noise, coefficients(workload).n_queries)

    def run_with(self, curator: Curator, workload: Workload, progress: ProgressCallback | None = None) -> Release:
        """Run with a curator that the caller made, and spend its whole remaining budget.

        Args:
            curator: Curator before the private table.
            workload: Queries that the release should answer well.
            progress: Callback, called after every coefficient.
        """
        check_domain(curator, workload)
        measured = coefficients(workload)
        config = self._independent(measured)
        config.check(workload, curator.regime)
        return run_steps(config, self, curator, measured, workload, fitted=as_marginals, progress=progress)

    def plan(self, workload: Workload, budget: Budget, total: float) -> Outline:
        """Plan a run: memory, charges and promise. Reads nothing and spends nothing.

        Args:
            workload: Queries that the release should answer well.
            budget: Budget of the run.
            total: A public guess of the number of records, which no bound should pass.

        Example:
            >>> from hedgerow import ZCDP, Domain, IntegerRange
            >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abc"), 2)
            >>> facts = FourierMeasurement(error_share=0.0).plan(workload, ZCDP(0.5), total=1000).facts
            >>> facts["measured"], round(facts["scale"] ** 2, 6)
            (6, 7.0)
        """
        measured = coefficients(workload)
        config = self._independent(measured)
        check_noise(self.noise, budget.regime)
        return plan_equal_shares(config, measured, self.accounted(workload, budget), total, cells=True)

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
    check_made_by(release, "FourierMeasurement")
    spectrum = Spectrum.of(release.domain, release.measurements, release.total)
    return release.workload.answers(spectrum)


def coefficients(workload: Workload) -> Workload:
    """The parities that the answers of a workload are functions of, except that of no attribute.

    Args:
        workload: Workload whose queries look at binary attributes only.

    Raises:
        ConfigError: An attribute is derived or not binary, or there are more than 2^18 parities.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> coefficients(Workload.parse("marginals:a*b,b*c", domain)).spec
        'parities:a,b,c,a*b,b*c'
    """
    domain = workload.domain
    _check_binary(workload)
    scopes: dict[Clique, None] = {}
    for family in workload.families:
        for scope in family.scopes:
            parts = [scope] if isinstance(family, Parities) else _subsets(scope)
            scopes.update(dict.fromkeys(parts))
            if len(scopes) > LARGEST_CLOSURE:
                raise _too_many(f"more than {LARGEST_CLOSURE:,}")
    if not scopes:
        raise ConfigError("the workload asks for the number of records alone", remedy="ask for a marginal")
    ordered = sorted(scopes, key=lambda clique: (len(clique), domain.axes(clique)))
    return Workload.parities(domain, cliques=ordered)


def _check_binary(workload: Workload) -> None:
    domain = workload.domain
    for name in dict.fromkeys(name for scope in workload.scopes for name in scope):
        if domain.function(name) is not None:
            raise ConfigError(
                f"Fourier coefficients are for attributes of the records; {name!r} is derived",
                remedy="ask about what it is made from, or take mwem, laplace or gaussian",
            )
        if domain[name].size != 2:
            raise ConfigError(
                f"Fourier coefficients are for attributes with 2 codes; {name!r} has {domain[name].size}",
                remedy="put its values into two bins, leave it out of the workload, or take mwem, laplace or gaussian",
            )


def _subsets(scope: Clique) -> Iterator[Clique]:
    if 2 ** len(scope) > LARGEST_CLOSURE:
        raise _too_many(f"2^{len(scope)}")
    return (part for size in range(1, len(scope) + 1) for part in combinations(scope, size))


def _too_many(number: str) -> ConfigError:
    return ConfigError(
        f"the workload has {number} Fourier coefficients", remedy="ask for marginals of fewer attributes"
    )


@dataclass(frozen=True)
class Spectrum:
    """A table given by its coefficients, so that its cells may be negative; fits the protocol ``Tables``.

    Attributes:
        domain: The domain; the attributes of all coefficients are binary.
        known: Coefficients, in counts; those that are not given are 0.
        cheap_cells: No table is made unless it is asked for.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> Spectrum(domain, {(): 10.0, ("a",): 4.0}).marginals([("a",), ("a", "b")])
        [array([7., 3.]), array([[3.5, 3.5],
               [1.5, 1.5]])]
    """

    domain: Domain
    known: Mapping[Clique, float]
    cheap_cells: int = 0

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement], total: float) -> Spectrum:
        """From measured parities and the number of records."""
        known = {measured.target.scope: float(measured.values[0]) for measured in measurements}
        return cls(domain, {**known, (): total})

    def marginals(self, cliques: Sequence[Clique]) -> list[Floats]:
        """Tables of the cliques, in counts."""
        return [self._marginal(clique) for clique in cliques]

    def conjunctions(self, queries: Sequence[Conjunction]) -> Floats:
        """Sums over the cells that satisfy each conjunction, shape ``(len(queries),)``, in counts."""
        return np.array([float(query.of_table(self._marginal(query.scope))[0]) for query in queries])

    def _marginal(self, clique: Clique) -> Floats:
        """The transform is its own inverse, but for the number of cells."""
        shape = self.domain.shape_of(clique)
        parts = [tuple(name for name, bit in zip(clique, bits, strict=True) if bit) for bits in np.ndindex(shape)]
        values = np.array([self.known.get(part, 0.0) for part in parts])
        return walsh_hadamard(values.reshape(shape)).reshape(shape) / values.size


def as_marginals(domain: Domain, measurements: Sequence[Measurement], total: float) -> list[Measurement]:
    """Turn measured parities into marginals wherever they determine one.

    A hypothesis is fitted to whole marginals much faster than to parities (docs/measurements.md). Independent noise of
    equal variance on the 2^k coefficients of a marginal is noise of the same kind on its cells, uncorrelated, with
    2^-k of the variance; it is told as Gaussian, being a sum. For fits only: no new measurement is claimed.

    Args:
        domain: The domain.
        measurements: Noisy parities.
        total: Number of records.

    Returns:
        Largest marginals all of whose coefficients were measured, and all parities that are in none of them.

    Example:
        >>> from hedgerow import IntegerRange
        >>> from hedgerow.queries import Parity
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> noisy = [Measurement(Parity(domain, (name,)), np.array([2.0]), NoiseKind.GAUSSIAN, 4.0) for name in "ab"]
        >>> [(each.target.text, each.values.tolist()) for each in as_marginals(domain, noisy, total=10.0)]
        [('a', [6.0, 4.0]), ('b', [6.0, 4.0])]
    """
    spectrum = Spectrum.of(domain, measurements, total)
    marginals: list[Measurement] = []
    covered: set[Clique] = set()
    for measured in sorted(measurements, key=lambda measurement: -len(measurement.target.scope)):
        scope = measured.target.scope
        if scope in covered:
            continue
        if 2 ** len(scope) <= len(spectrum.known) and all(part in spectrum.known for part in _subsets(scope)):
            covered.update(_subsets(scope))
            (table,) = spectrum.marginals([scope])
            std = measured.std / math.sqrt(table.size)
            marginals.append(Measurement(Marginal(domain, scope), table.reshape(-1), NoiseKind.GAUSSIAN, std))
        else:
            marginals.append(measured)
    return marginals
