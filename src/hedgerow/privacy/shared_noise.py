"""Measurements that are made in one go: the noise and the question of each event; public, nothing is read.

Each query or marginal has an event of its own. Parities under "replace" share one: a record that takes another's place
does not move all of them, so that noise for all of them together is less than the same charges buy one by one, by up to
.71 (Gaussian) and .5 (Laplace) for all pairs (theory.md section 13).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.privacy.budgets import Budget, Regime
from hedgerow.privacy.exact.lattice import step_of
from hedgerow.privacy.ledger import MeasuredParities, MeasuredQuery
from hedgerow.privacy.mechanisms import GaussianNoise, LaplaceNoise
from hedgerow.privacy.mechanisms.additive_noise import additive_noise
from hedgerow.queries import Measurable, NoiseKind, Parity, Relation, of_parities


@dataclass(frozen=True)
class Batch:
    """What one event is about.

    Attributes:
        places: Places of its queries or marginals among all that are measured.
        question: The question.
        noise: The noise, of the values with the ratio 1.
    """

    places: tuple[int, ...]
    question: MeasuredQuery | MeasuredParities
    noise: LaplaceNoise | GaussianNoise

    @property
    def noises(self) -> list[LaplaceNoise | GaussianNoise]:
        """The noise of the values of each place."""
        noise, ratios = self.noise, self.question.ratios or [1.0] * len(self.places)
        return [type(noise)(noise.scale * ratio, noise.sensitivity, noise.step) for ratio in ratios]


def noise_of(target: Measurable, budget: Budget, charge: float, kind: NoiseKind | None) -> LaplaceNoise | GaussianNoise:
    """The noise that a curator with this budget adds when it measures one query or marginal.

    Args:
        target: The query or marginal.
        budget: The budget.
        charge: The amount to be spent, as the budget counts.
        kind: Shape of the noise; the usual one of the regime unless given.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> from hedgerow.queries import Marginal
        >>> target = Marginal(Domain((IntegerRange("a", 0, 1),)), ("a",))
        >>> round(noise_of(target, PureDP(1.0), 0.5, None).scale, 6)
        2.0
    """
    moved, step = target.sensitivity(budget.neighbours), step_of(target) * budget.neighbours.grain
    return additive_noise(budget.regime, charge, l1=moved.l1, l2=moved.l2, step=step, kind=kind, bound=moved.bound)


def batches(steps: Sequence[tuple[Measurable, float]], budget: Budget, kind: NoiseKind | None) -> list[Batch]:
    """The events of measurements that are made in one go.

    Args:
        steps: Queries or marginals with the amounts to be spent on them, as the budget counts.
        budget: The budget.
        kind: Shape of the noise; the usual one of the regime unless given.

    Example:
        >>> from hedgerow import ZCDP, Domain, IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
        >>> steps = [(Parity(domain, scope), 0.1) for scope in ("a", "b", "c", "ab", "ac", "bc")]
        >>> [len(batches(steps, ZCDP(1.0, relation), None)) for relation in ("add-remove", "replace")]
        [6, 1]
    """
    together = _together(steps, budget, kind)
    joined = set[int]() if together is None else {*together.places}
    left = [place for place in range(len(steps)) if place not in joined]
    noises = [noise_of(steps[place][0], budget, steps[place][1], kind) for place in left]
    same = {noise: noise for noise in noises}  # one object of those alike, which are mostly all of very many
    alone = [
        Batch((place,), MeasuredQuery.of(steps[place][0]), same[noise])
        for place, noise in zip(left, noises, strict=True)
    ]
    return alone if together is None else [together, *alone]


def noises_of(
    steps: Sequence[tuple[Measurable, float]], budget: Budget, kind: NoiseKind | None
) -> list[LaplaceNoise | GaussianNoise]:
    """The noise of each of some measurements that are made in one go: see `batches`."""
    found = dict[int, LaplaceNoise | GaussianNoise]()
    for batch in batches(steps, budget, kind):
        found.update(zip(batch.places, batch.noises, strict=True))
    return [found[place] for place in range(len(steps))]


def _together(steps: Sequence[tuple[Measurable, float]], budget: Budget, kind: NoiseKind | None) -> Batch | None:
    """All parities in one event, whose noises stand to each other as their charges would have it, if that is less."""
    places = tuple(place for place, (target, _) in enumerate(steps) if isinstance(target, Parity))
    if budget.neighbours.step is Relation.ADD_REMOVE or len(places) < 2:
        return None
    charges = [steps[place][1] for place in places]
    linear = budget.regime is Regime.PURE  # where a charge buys 1 / b; elsewhere 1 / sigma^2
    # to nine digits, so that noise of one scale is drawn at once where charges differ by their rounding
    most, power = max(charges), 1.0 if linear else 0.5
    known = {charge: float(f"{(most / charge) ** power:.9g}") for charge in set(charges)}
    ratios = tuple(known[charge] for charge in charges)
    question = MeasuredParities(tuple(steps[place][0].scope for place in places), ratios if max(ratios) > 1.0 else ())
    moved = of_parities(question.scopes, question.ratios, budget.neighbours)
    noise = additive_noise(
        budget.regime,
        math.fsum(charges),
        l1=moved.l1,
        l2=moved.l2,
        step=budget.neighbours.grain,
        kind=kind,
        bound=moved.bound,
    )
    before = {charge: noise_of(steps[places[0]][0], budget, charge, kind).scale for charge in set(charges)}
    units = question.ratios or [1.0] * len(places)
    gains = all(noise.scale * unit <= before[charge] for unit, charge in zip(units, charges, strict=True))
    return Batch(places, question, noise) if gains else None
