"""Moments of columns of numbers as queries that a hypothesis is fitted to beside tables (theory.md section 14.1).

A hypothesis has no negative counts. So a fit to noisy tables puts records into far bins that are empty, and the mean
and the spread of its records are too large. What was measured of the moments, or what all tables together say of them,
is unbiased. Everything is a function of noisy values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, Ordered
from hedgerow.models import Model, ValueClasses
from hedgerow.queries import Marginal, Measurement, Moment, NoiseKind, Positions
from hedgerow.release import Numbers, Release

_FEWEST = 8
"""Numbers or bins from which on the mean of a column is fitted where its moments were not measured."""
_NARROW = 1.0 / 16.0
"""Widest bins, in spans of their column, of which squares are fitted: in wider ones records do not lie evenly."""
_LARGEST = 1 << 20
"""Largest cells times groups up to which moments by group are fitted group by group."""


def moments_told(domain: Domain, positions: Iterable[Measurement], scopes: Iterable[Clique]) -> list[Measurement]:
    """What measured moments say of counts, as noisy answers to queries over these.

    Inside a bin records lie where the measured positions have them. For squares they are taken to be spread as evenly
    as in all of the bin, so these are told of columns with narrow bins alone.

    Args:
        domain: The domain.
        positions: Noisy positions in bins and moments, as `PositionTargets.measure` gives them.
        scopes: The tables that a release should answer well: moments by group are used group by group where one of them
            holds the groups and the column, else summed up.

    Returns:
        Queries with weights of one column's numbers, from -1/2 to 1/2 for first moments, in counts; the standard
        deviations are those of all noise that is in them.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain([IntegerRange("age", 0, 10)])
        >>> target = Positions(domain, ("age",), "age", ("age",), whole=True)
        >>> noisy = Measurement(target, np.array([20.0, -30.0]), NoiseKind.GAUSSIAN, 2.0)
        >>> first, second = moments_told(domain, [noisy], [("age",)])
        >>> first.target.values()[[0, 5, 10]], first.values, second.target.values()[[0, 5, 10]], second.values
        (array([-0.5,  0. ,  0.5]), array([20.]), array([ 0. , -0.5,  0. ]), array([-30.]))
    """
    known = list(positions)
    inside = {each.target.scope: each for each in known if _is(each, "positions")}
    held = [frozenset(domain.base(scope)) for scope in scopes]
    told: list[Measurement] = []
    for each in known:
        if _is(each, "moments"):
            told += _of_moments(domain, each, inside.get(each.target.scope), held)
    return told


def moments_of(release: Release) -> list[Measurement]:
    """The moments that the hypothesis of a release was fitted to, see `moments_told`."""
    return moments_told(release.domain, release.positions, release.workload.scopes) if release.positions else []


def _is(measured: Measurement, form: str) -> bool:
    return isinstance(measured.target, Positions) and measured.target.form == form


def _of_moments(
    domain: Domain, measured: Measurement, inside: Measurement | None, held: Sequence[frozenset[str]]
) -> Iterator[Measurement]:
    """The queries of one measured vector of moments; none where numbers lie in bins and nothing tells where."""
    target = cast("Positions", measured.target)
    middles, widths = _in_spans(domain, target.column)
    if widths.any() and inside is None:
        return
    scope, axis = target.scope, target.scope.index(target.column)
    groups = domain.shape_of((*scope[:axis], *scope[axis + 1 :]))
    sums, variances = _by_group(measured, axis, 2), np.full((2, 1), measured.std**2)
    if inside is not None:
        factors = np.stack([widths, 4.0 * middles * widths])  # of a position in a bin, in both moments
        sums = sums - factors @ _by_group(inside, axis, len(widths))
        variances += inside.std**2 * np.square(factors).sum(axis=1, keepdims=True)
    weights = np.zeros((2, domain.shape_of((target.column,))[0]))
    weights[:, : len(middles)] = middles, 2.0 * (np.square(middles) + np.square(widths) / 12.0) - 0.5
    cells = math.prod(groups) ** 2 * weights.shape[1]
    if cells > _LARGEST or not any(each.issuperset(scope) for each in held):
        sums, variances = sums.sum(axis=1, keepdims=True), sums.shape[1] * variances
        scope, axis, groups = (target.column,), 0, ()
    told = 2 if widths.max() <= _NARROW else 1
    for moment, group in np.ndindex(told, sums.shape[1]):
        chosen = np.zeros(groups)
        chosen.reshape(-1)[group] = 1.0
        table = np.moveaxis(np.multiply.outer(weights[moment], chosen), 0, axis)
        query = Moment.about(target.column, domain, scope, table)
        yield _measured(query, float(sums[moment, group]), float(variances[moment, 0]))


def _by_group(measured: Measurement, axis: int, size: int) -> Floats:
    """Measured sums, shape ``(size, groups)``."""
    shape = cast("Positions", measured.target).shape
    return np.moveaxis(measured.values.reshape(shape), axis, 0).reshape(size, -1)


def _in_spans(domain: Domain, name: str) -> tuple[Floats, Floats]:
    """Middles of the numbers or bins of a column away from its own middle, and widths, in units of its span."""
    numbers = Numbers.of(cast("Ordered", domain[name]))
    span = numbers.span or 1.0
    middles = (numbers.low + numbers.high - numbers.low[0] - numbers.high[-1]) / (2.0 * span)
    return middles, (numbers.high - numbers.low) / span


def _measured(target: Moment, value: float, variance: float) -> Measurement:
    return Measurement(target, np.array([value]), NoiseKind.GAUSSIAN, math.sqrt(variance))


def beside_tables(model: Model, tables: Sequence[Measurement], told: Sequence[Measurement]) -> list[Measurement]:
    """What a hypothesis is fitted to beside tables: moments, and means that the tables tell of other columns.

    Nothing is added where others than whole tables over attributes were measured, or where a hypothesis has classes of
    values.

    Args:
        model: The hypothesis.
        tables: Noisy tables that it is fitted to.
        told: What was measured of moments, see `moments_told`.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.models.dense import Histogram
        >>> domain = Domain([IntegerRange("a", 0, 8)])
        >>> noisy = Measurement(Marginal(domain, ("a",)), np.arange(9.0), NoiseKind.GAUSSIAN, 1.0)
        >>> mean, = beside_tables(Histogram(domain, 36.0), [noisy], [])
        >>> mean.values, round(mean.std, 3)
        (array([7.5]), 0.968)
    """
    domain = model.domain
    whole = [each.target for each in tables if isinstance(each.target, Marginal) and each.target.within is None]
    if isinstance(model, ValueClasses) or len(whole) < len(tables) or not tables:
        return []
    if any(domain.base(target.scope) != target.scope for target in whole):
        return []
    measured = {cast("Moment", each.target).column for each in told}
    means = {column.name: _Mean.of(domain, column.name) for column in domain.columns if column.name not in measured}
    for each in tables:
        for name in each.target.scope:
            if (mean := means.get(name)) is not None and each.std > 0.0:
                mean.learn(each)
    return [*told, *(mean.told() for mean in means.values() if mean is not None and mean.precision)]


@dataclass
class _Mean:
    """The sum of the numbers of a column, as tables tell it, by inverse variances.

    Attributes:
        domain: The domain.
        name: The column.
        middles: Its numbers, or the middles of its bins, away from its own middle, in spans.
        value: Sum of what tables tell, each times its precision.
        precision: Sum of the precisions.
    """

    domain: Domain
    name: str
    middles: Floats
    value: float = 0.0
    precision: float = 0.0

    @classmethod
    def of(cls, domain: Domain, name: str) -> _Mean | None:
        """Before any table; None for a column of no numbers, or of few."""
        if not isinstance(domain[name], Ordered):
            return None
        middles, _ = _in_spans(domain, name)
        return cls(domain, name, middles) if len(middles) >= _FEWEST else None

    def learn(self, table: Measurement) -> None:
        """Take in a noisy table over the column and others."""
        scope, size = table.target.scope, len(self.middles)
        shape = self.domain.shape_of(scope)
        counts = np.moveaxis(table.values.reshape(shape), scope.index(self.name), 0)[:size].reshape(size, -1)
        precision = 1.0 / (float(self.middles @ self.middles) * counts.shape[1] * table.std**2)
        self.value += precision * float(self.middles @ counts.sum(axis=1))
        self.precision += precision

    def told(self) -> Measurement:
        """What all tables say."""
        weights = np.zeros(self.domain.shape_of((self.name,)))
        weights[: len(self.middles)] = self.middles
        query = Moment.about(self.name, self.domain, (self.name,), weights)
        return _measured(query, self.value / self.precision, 1.0 / self.precision)
