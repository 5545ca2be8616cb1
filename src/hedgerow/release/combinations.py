"""Linear combinations of a few questions, for whose intervals each question is looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.arrays import Floats
from hedgerow.queries import LinearQuery
from hedgerow.release.answer import shares
from hedgerow.release.evidence import Evidence, evidence_of, told
from hedgerow.release.unbiased import Estimated, Runs

if TYPE_CHECKING:
    from hedgerow.release.population import Calibrated

_FAR = 9.0
"""Variances of a number, as a multiple of the least one, from which on it bounds nothing that others leave open."""


@dataclass(frozen=True, eq=False)
class Combinations:
    """Sums of questions times factors: best linear unbiased estimates are linear in the question (theory section 13).

    Attributes:
        queries: The questions, over one domain.
        found: The measurements.
        total: The number of records, if it is public.
        known: What is added to each, where the measured tables tell a part of it (`population`).

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind
        >>> domain = Domain((IntegerRange("a", 0, 1),))
        >>> runs = Runs([[Measurement(Marginal(domain, "a"), np.array([70.0, 30.0]), NoiseKind.GAUSSIAN, 5.0)]])
        >>> both = Combinations([Conjunction.where(domain, {"a": [code]}) for code in (0, 1)], runs)
        >>> round(both.bound((0.5, -1.0), None, 0.05)[2].centre, 9), round(both.variance((0.5, -1.0)), 9)
        (5.0, 31.25)
    """

    queries: Sequence[LinearQuery]
    found: Runs
    total: float | None = None
    known: Floats | None = None

    @classmethod
    def calibrated(cls, queries: Sequence[LinearQuery], each: Sequence[Calibrated | None], found: Runs) -> Self:
        """Questions that are calibrated to totals of the population; none is told where one of them is not.

        Args:
            queries: The questions.
            each: What they come to.
            found: The measurements.
        """
        told = [calibrated for calibrated in each if calibrated is not None]
        if len(told) < len(each):
            return cls(queries, Runs([]))
        return cls([each.left for each in told], found, known=np.array([each.known for each in told]))

    @property
    def covariances(self) -> Floats:
        """Variances and covariances of all questions together, in squared counts, by each run that tells them all."""
        return self._estimates(tuple(range(len(self.queries))))[1]

    def variance(self, factors: ArrayLike) -> float | None:
        """The least variance of the estimates of a combination; None where nothing was measured that tells it.

        Args:
            factors: One for each question; of one whose factor is 0 nothing need be known.
        """
        if not np.any(factors):
            return 0.0
        variances = self._told(factors)[2]
        return float(variances.min()) if variances.size else None

    def bound(self, factors: ArrayLike, beside: Evidence | None, risk: float) -> tuple[float, float, Evidence] | None:
        """An interval for a combination and a measured number that no piece of its evidence rests on, together.

        Args:
            factors: One for each question; of one whose factor is 0 nothing need be known.
            beside: The number, if there is one.
            risk: Probability that the interval may miss.

        Returns:
            The ends, and the evidence of least variance; None where nothing was measured that tells the combination.
        """
        if not np.any(factors):
            return (*beside.ends(risk), beside) if beside else None
        own, estimates, variances = self._told(factors)
        if not estimates:
            return None
        variances = variances + (beside.variance if beside else 0.0)
        far, each = _FAR * variances.min(), zip(estimates, variances, shares(risk), strict=False)
        near = [(evidence_of(estimate, own), part) for estimate, variance, part in each if variance <= far]
        if not near:  # what is told best has no part of the risk left
            near = [(evidence_of(estimates[0], own), next(iter(shares(risk))))]
        pieces = [(piece.plus(beside) if beside else piece, part) for piece, part in near]
        ends = [piece.ends(part) for piece, part in pieces]
        low, high = max(low for low, _ in ends), min(high for _, high in ends)
        return min(low, high), max(low, high), min((piece for piece, _ in pieces), key=lambda piece: piece.variance)

    def _told(self, factors: ArrayLike) -> tuple[Floats, Sequence[Estimated], Floats]:
        """Factors, estimates of their questions, and variances of the combination; questions of no more go along."""
        own = np.asarray(factors, dtype=np.float64)
        used = own.nonzero()[0].tolist()
        taken = self._taken.get(key := tuple(used))
        if taken is None:
            names = {name for place in used for name in self.queries[place].scope}
            along = [place for place, query in enumerate(self.queries) if names.issuperset(query.scope)]
            taken = self._taken[key] = along if self._estimates(tuple(along))[0] else used
        found, covariances = self._estimates(tuple(taken))
        own = own[taken]
        return own, found, (covariances @ own) @ own if found else np.zeros(0)

    @cached_property
    def _taken(self) -> dict[tuple[int, ...], list[int]]:
        return {}

    def _estimates(self, places: tuple[int, ...]) -> tuple[Sequence[Estimated], Floats]:
        """The estimates of some questions together, with their covariances."""
        if places not in self._kept:
            estimates = list(told([self.queries[place] for place in places], self.found, self.total))
            if self.known is not None:
                beside = self.known[list(places)]
                estimates = [replace(each, values=each.values + beside) for each in estimates]
            self._kept[places] = estimates, np.array([each.covariances for each in estimates])
        return self._kept[places]

    @cached_property
    def _kept(self) -> dict[tuple[int, ...], tuple[Sequence[Estimated], Floats]]:
        return {}
