"""The part of errors that simulations leave out: a hypothesis knows nothing of dependences that were never measured.

Records drawn from a hypothesis have those dependences that it has. Where a marginal was measured, a simulated error is
as large as the true one; where none was, the true error also holds a dependence that the simulated truth lacks, and the
simulated one is too small by a factor. That factor is learnt from what is public: with M and U the mean simulated
errors of the workload's candidates over what was measured and over what was not, the error that a release bought is
``M + k U`` plus noise of a known law. Before that noisy number k is taken to be normal; afterwards it is the mean
of the posterior, at least 1. Constants of the prior were chosen on three tables (docs/measurements.md).

Where drawn records are spread unevenly inside blocks (`uneven`), simulated errors are a guess that can be too large as
well as too small, and k may be below 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.privacy import WorkloadError
from hedgerow.queries import (
    Conjunction,
    LinearQuery,
    Marginal,
    Measurement,
    Parity,
    Workload,
    canonical,
    query_key,
)

_USUAL = 1.6
"""Mean of the prior of the factor."""
_SPREAD = 0.4
"""Standard deviation of the prior."""
_SMALLEST = 0.5
"""Smallest factor where drawn records are uneven inside blocks."""
_LARGEST = 4.0
"""Largest factor: where little is left unmeasured its posterior is wide."""

VARIES = 1.2
"""Root mean square of the factor over its mean: it varies from question to question, which widens intervals."""


class Seen:
    """Shares of questions that measurements speak about.

    Args:
        domain: The domain.
        measurements: Noisy answers of a release: whole marginals, parities, single queries.
            Blocks do not tell what is uneven in them.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> from hedgerow.queries import NoiseKind
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> noisy = Measurement(Marginal(domain, ("a", "b")), np.ones(4), NoiseKind.LAPLACE, 1.0)
        >>> seen = Seen(domain, [noisy])
        >>> [round(seen.share(scope), 3) for scope in (("a",), ("a", "b"), ("b", "c"), ("a", "b", "c"))]
        [1.0, 1.0, 0.0, 0.333]
    """

    def __init__(self, domain: Domain, measurements: Sequence[Measurement]) -> None:
        """Keep what was measured."""
        targets = [measurement.target for measurement in measurements]
        whole = {target.scope for target in targets if isinstance(target, Marginal) and target.within is None}
        parities = {target.scope for target in targets if isinstance(target, Parity)}
        single = [target for target in targets if isinstance(target, LinearQuery)]
        cells = {(each.scope, each.codes) for each in single if isinstance(each, Conjunction) and _is_cell(each)}
        counted = Counter(scope for scope, _ in cells)
        whole |= {scope for scope, number in counted.items() if number == domain.cells(scope)}

        @cache
        def measured(asked: Clique) -> bool:
            if not asked or any(all(domain.determines(scope, name) for name in asked) for scope in whole):
                return True
            below = combinations(asked, len(asked) - 1)  # a table is a sum of its parities (theory.md, section 13)
            return asked in parities and all(map(measured, below))

        self._measured = measured
        self._single = {query_key(canonical(each)) for each in single}

    def candidates(self, workload: Workload) -> Floats:
        """The share of each candidate of a workload, shape ``(n_candidates,)``."""
        shares = np.array([self.share(scope) for scope in workload.scopes])[workload.scope_of]
        if self._single:
            for index in np.flatnonzero(shares < 1.0).tolist():
                candidate = workload.candidate(index)
                if isinstance(candidate, LinearQuery):
                    shares[index] = self.query(candidate)
        return shares

    def query(self, query: LinearQuery) -> float:
        """1 where the query was measured by itself, else the share of its scope."""
        if self._single and query_key(canonical(query)) in self._single:
            return 1.0
        return self.share(query.scope)

    def share(self, scope: Clique) -> float:
        """1 where measurements determine the question but for noise, else the share of its pairs that they determine.

        Args:
            scope: Attributes of the question, in domain order.
        """
        if self._measured(scope):
            return 1.0
        pairs = list(combinations(scope, 2))
        return sum(map(self._measured, pairs)) / len(pairs) if pairs else 0.0


def _is_cell(query: Conjunction) -> bool:
    return all(len(codes) == 1 for codes in query.codes)


def excess(simulated: Floats, seen: Floats, error: WorkloadError | None, *, guessed: bool = False) -> float:
    """The factor k by which errors are larger than simulated ones where nothing was measured.

    Args:
        simulated: Mean simulated error of each candidate, in units of its sensitivity, shape ``(n_candidates,)``.
        seen: Share of each candidate that was measured, likewise.
        error: The noisy error of the workload, if the release bought it.
        guessed: Whether drawn records are spread inside blocks by a guess, so that the factor may be below 1.

    Example:
        >>> from hedgerow.privacy import additive_noise, Regime
        >>> from hedgerow.privacy.mechanisms import LaplaceNoise
        >>> noise = LaplaceNoise(0.1)
        >>> bought = WorkloadError(17.5, 40.0, noise, noise, n_candidates=2, unit=1.0)
        >>> round(excess(np.array([10.0, 10.0]), np.array([1.0, 0.0]), bought), 2)  # (10 + 25) / 2 = 17.5
        2.5
    """
    if error is None:
        return _USUAL
    known, unknown = float(np.mean(seen * simulated)), float(np.mean((1.0 - seen) * simulated))
    prior, evidence = _SPREAD**-2, (unknown / max(error.mean_noise.std, 1e-9)) ** 2
    if evidence == 0.0:
        return _USUAL
    ratio = (error.mean - known) / unknown
    least = _SMALLEST if guessed else 1.0
    return float(np.clip((prior * _USUAL + evidence * ratio) / (prior + evidence), least, _LARGEST))


def widened(simulated: Floats | float, seen: Floats | float, factor: float) -> Floats:
    """Simulated errors with what they leave out.

    Args:
        simulated: Errors, or standard deviations.
        seen: Shares of the questions that were measured, of a shape that fits.
        factor: See `excess`.

    Example:
        >>> widened(np.array([10.0, 10.0]), np.array([1.0, 0.5]), 3.0)
        array([10., 20.])
    """
    return np.asarray(simulated * (seen + (1.0 - np.asarray(seen)) * factor))
