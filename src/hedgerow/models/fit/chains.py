"""Tables over levels of the same attributes, or over blocks of these, each the sums of the next finer one.

All count the same records, so each tells something about the others. Given the count of a node, the best estimates of
the counts below it are its noisy ones, corrected in proportion to their variances: one pass up and one down (Hay,
Rastogi, Miklau and Suciu, "Boosting the Accuracy of Differentially Private Histograms Through Consistency", VLDB 2010;
here with weights, uneven blocks and known zeros). All values are fractions of the total, which is taken as known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeGuard

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, places_in
from hedgerow.queries import Blocks, Marginal, Measurable, Measurement

LONGEST = 1e10
"""A longer step would be lost in rounding."""
_EXACT = 1e-12
"""Standard deviation, as a fraction of the total, of answers without noise."""
_NOTHING = 1e6
"""The same of answers that say nothing."""

Table = Marginal | Blocks


@dataclass(frozen=True, eq=False)
class Chain:
    """Noisy tables, each once, finest first.

    Attributes:
        places: For each table the node of each cell that records can have.
        above: For each node of a table its node in the next coarser one.
        lengths: Length of the whole fit of each, if its noise were all that counts; in units of c.
        averages: Best linear unbiased estimates, as fractions.
    """

    targets: list[Table]
    places: list[Ints]
    above: list[Ints]
    lengths: list[float]
    averages: list[Floats]

    @classmethod
    def of(cls, measurements: Sequence[Measurement], total: float, possible: Bools | None = None) -> Chain:
        """Average what measures the same, and all tables among each other.

        Args:
            measurements: One noisy table, or some that are ``nested``.
            total: Number of records, taken as known.
            possible: Cells that records can have, flat; all by default.
        """
        targets, scope = _chain(measurements), cells_of(measurements)
        places = [_places(target, scope) for target in targets]
        if possible is not None:
            places = [place[possible] for place in places]
        answers, variances, lengths = list[Floats](), list[Floats](), list[float]()
        for target, nodes in zip(targets, places, strict=True):
            same = [m for m in measurements if _is_table(m.target) and _key(m.target) == _key(target)]
            sigmas = np.array([deviation(each, total) for each in same])
            occupied = np.bincount(nodes, minlength=target.size) > 0
            values = np.average([each.values / total for each in same], axis=0, weights=sigmas**-2.0)
            answers.append(np.where(occupied, values, 0.0))
            variances.append(np.where(occupied, 1.0 / float((sigmas**-2.0).sum()), 0.0))
            lengths.append(float((1.0 / np.maximum(sigmas, 1.0 / LONGEST)).sum()))
        above = [above_of(*pair, target.size) for pair, target in zip(pairwise(places), targets[:-1], strict=True)]
        return cls(targets, places, above, lengths, averaged(above, answers, variances))


def nested(measurements: Sequence[Measurement]) -> bool:
    """Whether they are two tables or more over levels of the same attributes, each of them sums of the next finer one.

    Args:
        measurements: Measurements over one domain.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import NoiseKind
        >>> domain = Domain((IntegerRange("age", 0, 19),))
        >>> targets = Marginal(domain, ("age",)), Marginal(domain, ("age.5",))
        >>> noisy = [Measurement(target, np.ones(target.size), NoiseKind.LAPLACE, 1.0) for target in targets]
        >>> nested(noisy), nested(noisy[:1])
        (True, False)
    """
    if not (measurements and all(_is_table(measurement.target) for measurement in measurements)):
        return False
    domain, targets = measurements[0].target.domain, _chain(measurements)
    if len(targets) < 2 or len({domain.base(target.scope) for target in targets}) > 1:
        return False
    scope = cells_of(measurements)
    return all(_is_coarser(fine, coarse, scope) for fine, coarse in pairwise(targets))


def _is_coarser(fine: Table, coarse: Table, scope: Clique) -> bool:
    domain = fine.domain
    if isinstance(fine, Marginal) and isinstance(coarse, Marginal):
        return all(domain.determines(fine.scope, name) for name in coarse.scope)
    if not all(domain.determines(scope, name) for name in (*fine.scope, *coarse.scope)):
        return False
    below, above = _places(fine, scope), _places(coarse, scope)
    below, above = below[below >= 0], above[below >= 0]
    return np.array_equal(above_of(below, above, fine.size)[below], above)


def estimated(measurements: Sequence[Measurement], total: float) -> tuple[Table, Floats]:
    """The finest of some nested tables, and the best linear unbiased estimate of its counts.

    Args:
        measurements: One noisy table, or some that are ``nested``, over a domain without constraints.
        total: Number of records, taken as known.

    Returns:
        The table, and counts of shape ``(size,)``.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.queries import NoiseKind
        >>> ages = Marginal(Domain((IntegerRange("age", 0, 3),)), ("age",))
        >>> noisy = Measurement(ages, np.array([4.0, 0.0, 1.0, -1.0]), NoiseKind.LAPLACE, 1.0)
        >>> estimated([noisy], 8.0)[1]
        array([5., 1., 2., 0.])
    """
    known = Chain.of(measurements, total)
    return known.targets[0], total * known.averages[0]


def averaged(above: Sequence[Ints], answers: Sequence[Floats], variances: Sequence[Floats]) -> list[Floats]:
    """Best linear unbiased estimates of tables each of which holds sums of the next finer one, with the sum 1.

    One pass up and one down (Hay and others, see above).

    Args:
        above: For each node of a table its node in the next coarser one.
        answers: Noisy fractions of each table, finest first.
        variances: Variances of one node of each; 0 for nodes that are known to be empty.
    """
    own, spread = [answers[0]], [variances[0]]
    for places, answer, variance in zip(above, answers[1:], variances[1:], strict=True):
        summed, below = (sums_of(each[-1], places, len(answer)) for each in (own, spread))
        both = below + variance
        share = np.divide(below, both, out=np.zeros_like(both), where=both > 0.0)
        own.append(summed + share * (answer - summed))
        spread.append(share * variance)
    averages = [own[-1] + (1.0 - own[-1].sum()) * spread[-1] / spread[-1].sum()]
    for places, mine, variance in zip(reversed(above), reversed(own[:-1]), reversed(spread[:-1]), strict=True):
        summed, below = (sums_of(each, places, len(averages[0])) for each in (mine, variance))
        missing = np.divide(averages[0] - summed, below, out=np.zeros_like(below), where=below > 0.0)
        averages.insert(0, mine + variance * missing[places])
    return averages


def deviation(measured: Measurement, total: float) -> float:
    """The standard deviation of an answer as a fraction of the total, cut to what no noise and saying nothing have."""
    return min(max(measured.std / total, _EXACT), _NOTHING)


def _is_table(target: Measurable) -> TypeGuard[Table]:
    return isinstance(target, Blocks) or (isinstance(target, Marginal) and target.within is None)


def _chain(measurements: Sequence[Measurement]) -> list[Table]:
    """The tables, each once, finest first."""
    chain: dict[object, Table] = {}
    for measurement in measurements:
        if _is_table(measurement.target):
            chain.setdefault(_key(measurement.target), measurement.target)
    return sorted(chain.values(), key=lambda target: -target.size)


def _key(target: Table) -> object:
    return target.scope if isinstance(target, Marginal) else target


def cells_of(measurements: Sequence[Measurement]) -> Clique:
    """The scope whose cells make up all tables."""
    domain = measurements[0].target.domain
    return max((m.target.scope for m in measurements), key=domain.cells)


def _places(target: Table, scope: Clique) -> Ints:
    """The node of a table that each cell of a scope belongs to, flat; -1 where no record is."""
    places = places_in(target.domain, scope, target.scope).reshape(-1)
    if isinstance(target, Blocks):
        return np.asarray(np.where(places >= 0, target.places.reshape(-1)[places], -1))
    return places


def above_of(fine: Ints, coarse: Ints, size: int) -> Ints:
    """The coarse node of each of so many fine ones, from the nodes of cells; 0 for those without a cell."""
    above = np.zeros(size, dtype=np.int64)
    above[fine] = coarse
    return above


def sums_of(values: Floats, places: Ints, size: int) -> Floats:
    """Sums of values over so many nodes, given the node of each."""
    sums = np.zeros(size)
    np.add.at(sums, places, values)  # which copies nothing, not even places that are read-only
    return sums
