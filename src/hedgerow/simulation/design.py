"""Designs of surveys: clusters that were drawn first, in strata, and tables that other clusters would have given.

Clusters (primary sampling units) and strata are public columns of the records. Where the first stage was drawn with
replacement, or is a small part of each stratum, all of the sampling error of a weighted total shows in how the totals
of clusters of one stratum differ. The bootstrap of J. N. K. Rao and C. F. J. Wu ("Resampling Inference with Complex
Survey Data", JASA 1988) draws n - 1 of the n clusters of each stratum with replacement and takes each n / (n - 1) times
as often as it was drawn: the variance of a total over such draws is its linearised variance estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Domain, possible_cells, spread_over
from hedgerow.errors import ConfigError
from hedgerow.models import Model
from hedgerow.privacy import GaussianNoise, LaplaceNoise, step_of
from hedgerow.queries import LinearQuery, Marginal, NoiseKind, parse_predicate
from hedgerow.release import Release, check_confidence

_NONE = 1e-12
"""What is left of a cluster that is not drawn."""


@dataclass(frozen=True)
class Design:
    """How a survey was drawn.

    Attributes:
        clusters: The column of clusters, whose values are those that were drawn.
        strata: The column or level of strata; None where clusters were drawn from all together.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain([IntegerRange("village", 0, 99), IntegerRange("income", 0, 9)])
        >>> design = Design("village", "village.10")
        >>> design.stratum_of(domain)[[0, 9, 10]].tolist()
        [0, 0, 1]
        >>> float(design.factors(domain, np.random.default_rng(0))[:10].sum().round(9))
        10.0
    """

    clusters: str
    strata: str | None = None

    def stratum_of(self, domain: Domain) -> Ints:
        """The stratum of each cluster.

        Args:
            domain: The domain.

        Returns:
            Codes, shape ``(clusters,)``; -1 for clusters that no record has.

        Raises:
            ConfigError: There is no such column; or a cluster lies in several strata, or alone in its stratum.
        """
        for name in filter(None, (self.clusters, self.strata)):
            if name not in domain.all_names:
                raise ConfigError(f"the design has no column {name!r}", remedy=f"name one of {', '.join(domain.names)}")
        size = domain.shape_of((self.clusters,))[0]
        found = np.zeros(size, dtype=np.int64) if self.strata is None else self._of_strata(domain, self.strata)
        alone = np.flatnonzero(np.bincount(found[found >= 0]) == 1)
        if len(alone):
            of = "the survey" if self.strata is None else f"{self.strata} {domain[self.strata].label(int(alone[0]))!r}"
            remedy = "join strata that have one cluster only with others that are like them"
            raise ConfigError(f"{of} has one cluster, which tells nothing of how clusters differ", remedy=remedy)
        return found

    def _of_strata(self, domain: Domain, strata: str) -> Ints:
        told = domain.lookup(self.clusters, strata)
        if told is not None:
            return np.asarray(told, dtype=np.int64)
        names = domain.clique((self.clusters, strata))
        possible = possible_cells(domain, names)
        if possible is None or ((table := possible if names[0] == self.clusters else possible.T).sum(axis=1) > 1).any():
            raise ConfigError(
                f"the domain does not say which {strata} each {self.clusters} lies in",
                remedy=f"declare it: 'constraints: [{{determines: [{self.clusters}, {strata}], table: FILE.csv}}]'",
            )
        return np.where(table.any(axis=1), table.argmax(axis=1), -1)

    def factors(self, domain: Domain, draw: np.random.Generator) -> Floats:
        """How often each cluster counts in a draw of Rao and Wu, shape ``(clusters,)``; 1 in the mean.

        Args:
            domain: The domain.
            draw: Randomness.

        Raises:
            ConfigError: See `stratum_of`.
        """
        stratum, found = self.stratum_of(domain), np.ones(domain.shape_of((self.clusters,))[0])
        for each in np.unique(stratum[stratum >= 0]):
            inside = np.flatnonzero(stratum == each)
            drawn = draw.multinomial(len(inside) - 1, np.full(len(inside), 1.0 / len(inside)))
            found[inside] = drawn * (len(inside) / (len(inside) - 1.0))
        return found

    def redrawn(self, model: Model, draw: np.random.Generator) -> Model:
        """A hypothesis of the table that other clusters would have given.

        Args:
            model: The hypothesis, which stays as it is.
            draw: Randomness.

        Raises:
            ConfigError: See `stratum_of`.
        """
        names = (self.clusters,)
        factors, twin = np.maximum(self.factors(model.domain, draw), _NONE), model.copy()
        total = float(factors @ model.marginals([names])[0])
        twin.reweigh(names, np.log(factors))
        twin.rescale(total)
        return twin


@dataclass(frozen=True)
class DesignError:
    """The sampling error of a share by the design of a survey, without the noise of the release.

    Attributes:
        share: The share, from the noisy table by clusters, from 0 to 1.
        error: Its linearised standard error; 0 where clusters differ by less than their noise.
        low: Lower end of an interval for the linearised standard error that the private table has.
        high: Upper end, likewise.
        confidence: Probability of the interval over the noise, to first order.
        noise: Standard deviation of the share by the noise of the table, which the error of an answer has beside it.
        effect: The variance over that of as many records drawn at random; None where their number is not given.
    """

    share: float
    error: float
    low: float
    high: float
    confidence: float
    noise: float
    effect: float | None


def design_error(
    release: Release, condition: str | LinearQuery, design: Design, records: int | None = None, confidence: float = 0.95
) -> DesignError:
    """The linearised standard error of a weighted share, from a noisy table by clusters (theory.md section 21.3).

    Noise makes clusters differ more. Its law is public and independent between clusters, so what it adds to the
    variance in the mean is known and taken off. It reads no private record and costs no budget.

    Args:
        release: The release, with a measured table of the clusters and the columns of the condition.
        condition: Whose share it is: a condition in SQL, or a linear query.
        design: The clusters, and their strata.
        records: The public number of records of the survey, for the design effect.
        confidence: Of the interval.

    Raises:
        ConfigError: No such table was measured, or the design does not fit; or the confidence is none.
        QueryError: The condition cannot be parsed.
    """
    risk, domain = check_confidence(confidence), release.domain
    query = parse_predicate(condition, domain) if isinstance(condition, str) else condition
    names = (design.clusters, *query.scope)
    told = [m for m in release.measurements if isinstance(m.target, Marginal) and m.target.within is None]
    told = [m for m in told if set(names) <= set(m.target.scope)]
    if not told:
        remedy = f"ask for it in the workload: marginals:{'*'.join(names)}"
        raise ConfigError(f"no table of {' x '.join(names)} was measured", remedy=remedy)
    best = min(told, key=lambda m: m.std**2 * m.target.size)
    scope, shape = best.target.scope, domain.shape_of(best.target.scope)
    at = scope.index(design.clusters)
    table = np.moveaxis(best.values.reshape(shape), at, 0).reshape(shape[at], -1)
    meets = np.broadcast_to(spread_over(domain, query.values(), query.scope, scope), shape)
    meets = np.moveaxis(meets, at, 0).reshape(shape[at], -1)[0]
    stratum, total = design.stratum_of(domain), max(1.0, float(table.sum()))
    share = float((table @ meets).sum()) / total
    law = LaplaceNoise if best.noise is NoiseKind.LAPLACE else GaussianNoise
    std = law(best.scale, step=step_of(best.target) * release.budget.neighbours.grain).std  # on its lattice
    noise = std**2 * float(np.square(meets - share).sum())
    residuals, variance, spread, clusters = table @ (meets - share), 0.0, 0.0, 0
    for each in np.unique(stratum[stratum >= 0]):
        inside = residuals[stratum == each]
        n, squares = len(inside), float(np.square(inside - inside.mean()).sum())
        between = max(0.0, squares - (n - 1) * noise)
        variance += n / (n - 1) * squares - n * noise
        spread += (n / (n - 1)) ** 2 * (2 * (n - 1) * noise**2 + 4 * noise * between)
        clusters += n
    reach = float(special.ndtri(1.0 - risk / 2.0)) * math.sqrt(spread)
    error, low, high = (math.sqrt(max(0.0, each)) / total for each in (variance, variance - reach, variance + reach))
    alike = None if records is None else share * (1.0 - share) / records
    effect = error**2 / alike if alike and alike > 0.0 else None
    return DesignError(share, error, low, high, confidence, math.sqrt(clusters * noise) / total, effect)
