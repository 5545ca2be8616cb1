"""Runs whose steps are fixed before they start, which an (epsilon, delta) budget pays for at their own price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from hedgerow.algorithms.shared.plans import Charges, noise_of_total
from hedgerow.errors import ConfigError
from hedgerow.privacy import (
    GRID,
    HALVES,
    MOST_STEPS,
    AdditiveNoise,
    ApproxDP,
    Budget,
    Composition,
    LaplaceNoise,
    Regime,
    additive_noise,
    largest_composition,
    noise_of,
)
from hedgerow.queries import Measurable, NoiseKind, Workload

_ROUNDING = 1.0 + 1e-9


def with_fixed_steps(budget: Budget, made: Callable[[ApproxDP, float], Composition | None]) -> Budget:
    """An (epsilon, delta) budget in zCDP with the steps of a run fixed, where these then cost less.

    Args:
        budget: Budget of the run; others than (epsilon, delta) in zCDP, and those that learn values, stay as they are.
        made: The composition of a run that spends an amount of rho; None where its steps are not fixed beforehand.

    Example:
        >>> steps = lambda _, rho: Composition(rho, 0.5 * rho, selections=10, selection_epsilon=(0.41 * rho) ** 0.5)
        >>> plain = ApproxDP(1.0, 1e-9)
        >>> round(with_fixed_steps(plain, steps).limit / plain.limit, 2)
        1.11
    """
    if not isinstance(budget, ApproxDP) or budget.regime is not Regime.ZCDP or budget.thresholds:
        return budget
    plain = replace(budget, composition=None)

    def composed(limit: float) -> Composition:
        if (steps := made(plain, limit)) is None:
            raise ConfigError("the steps are not fixed beforehand")
        return steps

    try:
        found = largest_composition(float(plain.epsilon), plain.delta, plain.limit, composed)
    except ConfigError:  # too many steps, too narrow noise, or none that is known
        return plain
    return plain if found is None or found.limit <= plain.limit else replace(plain, composition=found)


def composition_of(
    budget: Budget,
    limit: float,
    charges: Charges,
    noises: Iterable[AdditiveNoise],
    *,
    selections: int,
    selection: float,
    pure: int = 0,
    pure_epsilon: float = 0.0,
) -> Composition:
    """The composition of a run that counts records, selects and measures, and estimates its error.

    Args:
        budget: Budget of the run; its neighbours matter.
        limit: The rho of all of it.
        charges: Its division.
        noises: Gaussian noise of the measurements.
        selections: Number of selections.
        selection: The rho of each.
        pure: Number of measurements with Laplace noise.
        pure_epsilon: The epsilon of each.
    """
    most = float(budget.neighbours.records)
    total = noise_of_total(budget, charges.total)
    gaussian = [*noises, *([] if total is None else [total])]
    if charges.error > 0.0:
        figure = additive_noise(
            Regime.ZCDP, charges.error / 2.0, l1=most + GRID, l2=most + GRID, step=GRID, kind=NoiseKind.GAUSSIAN
        )
        gaussian += [figure, figure]
    return Composition(
        limit,
        gaussian=sum(each.charge(Regime.GDP) for each in gaussian) * _ROUNDING,
        selections=selections,
        selection_epsilon=Regime.ZCDP.bounded_range_epsilon(selection) * _ROUNDING,
        pure=pure,
        pure_epsilon=pure_epsilon * _ROUNDING,
    )


def laplace_steps(workload: Workload, budget: Budget, charge: float, answers: int) -> tuple[int, float]:
    """Pure mechanisms that so many answers with Laplace noise are, and the largest epsilon of each.

    Args:
        workload: The candidates.
        budget: Budget of the run.
        charge: Charge of each answer.
        answers: Number of answers.

    Returns:
        Two for each answer where all candidates are tables in which a record moves from a cell to another.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> pairs = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "abc"), 2)
        >>> for relation in ("add-remove", "replace"):
        ...     steps, epsilon = laplace_steps(pairs, ApproxDP(1.0, 1e-6, relation), 0.001, 5)
        ...     print(steps, round(epsilon, 4))
        5 0.0447
        10 0.0316
    """
    noises = [noise_of(target, budget, charge, NoiseKind.LAPLACE) for target in _examples(workload, budget)]
    found = [noise for noise in noises if isinstance(noise, LaplaceNoise)]
    parts = 2 if 2 * answers <= MOST_STEPS and all(noise.bound == HALVES for noise in found) else 1
    return parts * answers, max(noise.epsilon for noise in found) / parts


def dearest_noise(workload: Workload, budget: Budget, charge: float) -> AdditiveNoise:
    """The Gaussian noise of a measurement with the largest cost in GDP: that of the candidate that moves least.

    Args:
        workload: The candidates.
        budget: Budget of the run.
        charge: Charge of the measurement.
    """
    noises = (noise_of(target, budget, charge, None) for target in _examples(workload, budget))
    return max(noises, key=lambda each: each.charge(Regime.GDP))


def _examples(workload: Workload, budget: Budget) -> Iterator[Measurable]:
    """The candidate of each family that one record moves least."""
    for family in workload.families:
        yield family.candidate(int(family.sensitivities(budget.neighbours).argmin()))
