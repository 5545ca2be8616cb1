"""The regime in which an (epsilon, delta) budget buys least noise; a function of public quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from hedgerow.algorithms.strategies.strategy import Strategy
from hedgerow.algorithms.strategies.telling import predicted
from hedgerow.errors import ConfigError
from hedgerow.privacy import ApproxDP, Budget, Regime
from hedgerow.queries import NoiseKind, Workload

_DOUBT = 1.1
"""Factor that pure accounting must win by: adaptive rounds, which may yet be chosen, need Gaussian noise."""


def with_least_noise(budget: Budget, noise: NoiseKind | None, measurements: int) -> Budget:
    """An (epsilon, delta) budget in the regime where so many equal measurements need less Gaussian noise.

    In GDP the same epsilon and delta allow 10 to 16 % more, but what the lattice adds is more as well where sigma is
    about 1 count. All of this is public.

    Args:
        budget: Budget of the run; others than (epsilon, delta) stay as they are.
        noise: Shape of the noise; with Laplace noise zCDP is better.
        measurements: Number of measurements.

    Example:
        >>> from hedgerow import ApproxDP
        >>> [with_least_noise(ApproxDP(1.0, 1e-6), None, count).regime.value for count in (1, 100)]
        ['gdp', 'gdp']
        >>> with_least_noise(ApproxDP(12.0, 1e-3), None, 1).regime.value
        'zcdp'
        >>> with_least_noise(ApproxDP(1.0, 1e-6, regime="pure", thresholds=1e-6), None, 1).regime.value
        'pure'
    """
    if not isinstance(budget, ApproxDP) or noise is NoiseKind.LAPLACE:
        return budget
    either = list(_counted(budget, Regime.ZCDP, Regime.GDP))
    # none where all of delta is kept for thresholds, which leaves pure accounting
    return min(either, key=lambda one: one.regime.gaussian_sigma(1.0, one.limit / measurements), default=budget)


def with_least_error(budget: Budget, workload: Workload, allowed: Callable[[Strategy], bool]) -> Budget:
    """An (epsilon, delta) budget in the regime where the best fixed strategy errs least.

    Laplace noise under pure accounting has the whole epsilon, which few measurements divide; many measurements want
    Gaussian noise. Where no strategy is allowed, or values are learnt with thresholds, which are several times as high
    for Laplace noise, the regime is one of Gaussian noise.

    Args:
        budget: Budget of the run; others than (epsilon, delta) stay as they are.
        workload: Queries that should be answered well.
        allowed: Whether a strategy can be run.

    Example:
        >>> from hedgerow import ApproxDP, Domain, IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(40))
        >>> few, many = Workload.marginals(domain, cliques=[("x0",), ("x1",)]), Workload.marginals(domain, 1)
        >>> [with_least_error(ApproxDP(1.0, 1e-9), each, lambda _: True).regime.value for each in (few, many)]
        ['pure', 'gdp']
    """
    if not isinstance(budget, ApproxDP):
        return budget
    errors: dict[Regime, float] = {}
    regimes = [regime for regime in Regime if regime is not Regime.PURE or not budget.for_thresholds]
    counted = {each.regime: each for each in _counted(budget, *regimes)}
    for regime, each in counted.items():
        best = next(filter(allowed, predicted(workload, each)), None)
        if best is not None:
            errors[regime] = best.mean_error * (_DOUBT if regime is Regime.PURE else 1.0)
    if not errors:
        return with_least_noise(budget, None, workload.n_candidates)
    return counted[min(errors, key=errors.__getitem__)]


def _counted(budget: ApproxDP, *regimes: Regime) -> Iterator[ApproxDP]:
    """The budget in each of some regimes, without those that it is too small for."""
    for regime in regimes:
        try:
            yield replace(budget, regime=regime)
        except ConfigError:
            continue
