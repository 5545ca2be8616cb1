"""A hypothesis that starts from public factors, as far as noisy answers bear them out.

Two hypotheses are fitted to the same noisy answers, one from the public factors, one from nothing. Each foretells every
table before it is measured, and its squared distance from the noisy table is an unbiased estimate of its squared error,
but for the noise, which is the same for both (Dawid, "Present Position and Potential Developments: Some Personal Views.
Statistical Theory: The Prequential Approach", JRSS A 147, 1984). The one that foretold better is the hypothesis. So a
prior that misleads is left, and the run goes on as one without it. One that foretells single attributes worse than
uniform ones would is left before any wider table is chosen by it.

How far a fit moves from the public factors follows from how wrong these were. A public table with the errors of a
sample of n records, and a noisy one of standard deviation sigma (a share), are combined best by a fit of length
``1 / (n sigma**2)``: minimise ``n KL(p || public) + |p - noisy|**2 / (2 sigma**2)``. The number n is estimated by
empirical Bayes, ``sum p (1 - p) / (|noisy - foretold|**2 - noise)``, all sums in units of the noise, apart for single
attributes and for wider tables: those can agree where these do not. No fit is longer than one from nothing.

All of this is a function of noisy answers and public numbers, so it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hedgerow.algorithms.shared.learning import Learner, trees_of
from hedgerow.algorithms.shared.moments import beside_tables
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.models import (
    Histogram,
    Hypothesis,
    JunctionTree,
    Markov,
    Potentials,
    Proximal,
    Refit,
    Stretched,
    hypothesis,
    is_dense,
    refit,
)
from hedgerow.queries import Measurement

_SURE = 4.0
"""Standard deviations by which one hypothesis must have foretold better for the other to be given up."""
_SHORTEST = 1e-3
"""Smallest part of the usual length of a fit."""
_EXACT = 1e-12
"""Standard deviation, as a share, of answers without noise."""


class Worth:
    """Number of records that public tables are worth: a sample of so many has errors as large.

    Example:
        >>> worth = Worth()
        >>> public, noisy = np.array([0.5, 0.5]), np.array([0.52, 0.48])
        >>> worth.learn(public, noisy, sigma=0.001)
        >>> round(worth.records)
        625
    """

    def __init__(self) -> None:
        """Start with no evidence."""
        self._spread = self._excess = self._chance = 0.0

    def learn(self, foretold: Floats, noisy: Floats, sigma: float, bounds: tuple[float, float] = (0.0, 1.0)) -> None:
        """Compare answers with what was foretold, both as shares.

        Args:
            foretold: Answers before they were measured, shape ``(answers,)``.
            noisy: Noisy answers, shape ``(answers,)``.
            sigma: Standard deviation of their noise.
            bounds: Smallest and largest contribution of one record: its spread follows exactly where there are no
                others, as for cells and parities, and is at most so large else.
        """
        low, high = bounds
        self._spread += float(np.sum((foretold - low) * (high - foretold))) / sigma**2
        self._excess += float(np.sum((noisy - foretold) ** 2)) / sigma**2 - foretold.size
        self._chance += 2.0 * foretold.size

    @property
    def records(self) -> float:
        """The estimate, on the safe side by one standard deviation of the noise; 0 without evidence."""
        error = max(self._excess, 0.0) + math.sqrt(self._chance)
        return self._spread / error if error > 0.0 else 0.0


class _Lead:
    """By how much public factors foretold better than none, in squared errors, in units of the noise."""

    def __init__(self) -> None:
        """Start with no evidence."""
        self.value = self._variance = 0.0

    @property
    def noise(self) -> float:
        """A lead that noise may well be the reason of."""
        return _SURE * math.sqrt(self._variance)

    def learn(self, public: Floats, flat: Floats, noisy: Floats, sigma: float) -> None:
        """Compare noisy answers with what both foretold, all as shares.

        Args:
            public: Answers by public factors, shape ``(answers,)``.
            flat: Answers without, of the same shape.
            noisy: Noisy answers.
            sigma: Standard deviation of their noise.
        """
        self.value += float(np.sum((noisy - flat) ** 2) - np.sum((noisy - public) ** 2)) / sigma**2
        self._variance += 4.0 * float(np.sum((public - flat) ** 2)) / sigma**2


class AnchoredLearner:
    """A hypothesis from public factors and one from nothing; stands in for a `Learner`.

    Attributes:
        measurements: Noisy answers, in the order in which they were bought.

    Example:
        >>> from hedgerow import IntegerRange
        >>> from hedgerow.queries import Marginal, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> learner = AnchoredLearner(domain, 100.0, {("a",): np.log([0.8, 0.2])})
        >>> noisy = Measurement(Marginal(domain, ("a",)), np.array([90.0, 10.0]), NoiseKind.GAUSSIAN, 20.0)
        >>> learner.measurements.append(noisy)
        >>> learner.fit(Proximal())
        >>> learner.model.marginals([("a",)])[0].round()
        array([85., 15.])
    """

    def __init__(self, domain: Domain, total: float, factors: Mapping[Clique, Floats], *, least: int = 1) -> None:
        """Start with models that have learnt nothing private.

        Args:
            domain: The domain.
            total: Mass in counts.
            factors: Log-factors by scope, as `Prior.factors` gives them.
            least: Attributes of the tables by which the two are compared, at least; smaller ones can only speak
                against the public factors. Public tables of single attributes that are a little off are better than
                uniform ones, and yet of little use.
        """
        self.measurements: list[Measurement] = []
        self._public = _Public(domain, total, factors)
        self._flat = Learner(hypothesis(domain, total))
        self._flat.measurements = self.measurements
        self._least = least
        self._seen = 0
        self._wide, self._narrow = _Lead(), _Lead()
        self._worth = {False: Worth(), True: Worth()}

    @property
    def model(self) -> Hypothesis:
        """The hypothesis that foretold better; the public one at first."""
        return self._public.model if self.trusts else self._flat.model

    @property
    def scopes(self) -> list[Clique]:
        """The scopes that a hypothesis connects: the public one, while it may still be needed."""
        return [*(self._public.scopes if self._may_be_public else ()), *self._flat.scopes]

    @property
    def trees(self) -> Sequence[JunctionTree] | None:
        """The junction trees of that hypothesis; None where it has none."""
        return trees_of(self._public.model) if self._may_be_public else self._flat.trees

    @property
    def trusts(self) -> bool:
        """Whether it rests on the public factors."""
        return self._wide.value >= 0.0 and not self._misleads

    @property
    def is_sure(self) -> bool:
        """Whether the other hypothesis is given up."""
        return self._misleads or abs(self._wide.value) > self._wide.noise

    @property
    def _misleads(self) -> bool:
        """Whether the public factors are worse than none for tables that are too small to compare the two by."""
        return self._narrow.value < -self._narrow.noise

    @property
    def _may_be_public(self) -> bool:
        return self.trusts or not self.is_sure

    def worth(self, *, wide: bool) -> float:
        """Number of records that the public tables are worth.

        Args:
            wide: Whether it is about tables of several attributes.
        """
        return self._worth[wide].records

    def suit(self) -> None:
        """Do nothing: fits choose the form."""

    def fit(self, rule: Refit, moments: Sequence[Measurement] | None = None) -> None:
        """Learn from new measurements which hypothesis is better, and fit it to all; both as long as both may be.

        Args:
            rule: The rule of a fit from nothing; a `Proximal` one.
            moments: What was measured of the moments of columns, in the last fit: the hypothesis from nothing is fitted
                to them too, as one without public factors is.
        """
        total, measurements = self.model.total, self.measurements
        new, self._seen = measurements[self._seen :], len(measurements)
        self._public.model.rescale(total)
        self._flat.model.rescale(total)
        if self._may_be_public:
            for measured in new:
                self._compare(measured, total)
        both = bool(new) and not self.is_sure
        if self.trusts or both:
            self._public.fit(self._lengths(rule, total), measurements)
        if not self.trusts or both:
            beside = () if moments is None else beside_tables(self._flat.model, measurements, moments)
            self._flat.fit(rule, [*measurements, *beside])

    def _compare(self, measured: Measurement, total: float) -> None:
        """Learn from a measurement that neither hypothesis was fitted to."""
        target, sigma = measured.target, max(measured.std / total, _EXACT)
        noisy, public = measured.values / total, target.on(self._public.model) / total
        self._worth[len(target.scope) > 1].learn(public, noisy, sigma, target.bounds)
        if not self.is_sure:
            lead = self._wide if len(target.scope) >= self._least else self._narrow
            lead.learn(public, target.on(self._flat.model) / total, noisy, sigma)

    def _lengths(self, rule: Refit, total: float) -> Refit | Stretched:
        """The rule with the length of each fit that follows from what the public tables are worth."""
        if not isinstance(rule, Proximal):
            return rule
        factors: dict[int, float] = {}
        for measured in self.measurements:
            sigma = max(measured.std / total, _EXACT)
            records = self.worth(wide=len(measured.target.scope) > 1)
            part = 1.0 / max(rule.c * sigma * records, 1.0)
            factors.update((id(each), max(part, _SHORTEST)) for each in measured.parts)
        return Stretched(rule, factors) if any(part < 1.0 for part in factors.values()) else rule


class _Public:
    """A hypothesis whose fits begin from public factors."""

    def __init__(self, domain: Domain, total: float, factors: Mapping[Clique, Floats]) -> None:
        self._factors = factors
        self._base: Floats | None = None
        self.model = self._made(domain, total, ())

    @property
    def scopes(self) -> list[Clique]:
        """The scopes of the public factors."""
        return list(self._factors)

    def fit(self, rule: Refit | Stretched, told: Sequence[Measurement]) -> None:
        """Fit it anew, in the form that costs less."""
        scopes, domain = [measured.target.scope for measured in told], self.model.domain
        if isinstance(self.model, Histogram) != is_dense(domain, [*self._factors, *scopes]):
            self.model = self._made(domain, self.model.total, scopes)
        refit(self.model, told, rule)

    def _made(self, domain: Domain, total: float, scopes: Sequence[Clique]) -> Histogram | Markov:
        if not is_dense(domain, [*self._factors, *scopes]):
            return Markov(domain, total, scopes, self._factors)
        if self._base is None:
            (self._base,) = Histogram.from_potentials(domain, 1.0, Potentials(dict(self._factors))).marginals(
                [domain.names]
            )
        return Histogram(domain, total, self._base)
