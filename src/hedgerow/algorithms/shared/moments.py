"""Moments of columns of numbers as queries that a hypothesis is fitted to beside tables (theory.md section 14.1).

A hypothesis has no negative counts. So a fit to noisy tables puts records into far bins that are empty, and the mean
and the spread of its records are too large. What was measured of the moments, or what all tables together say of them,
is unbiased. Everything is a function of noisy values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, Ordered, possible_cells
from hedgerow.models import Model, ValueClasses, agreed, components, measured_levels, nested
from hedgerow.queries import Marginal, Measurement, Moment, NoiseKind, Positions
from hedgerow.release import Numbers, Release

_FEWEST = 8
"""Numbers or bins from which on the moments of a column are fitted that tables tell."""
_TABLES = 2
"""Tables about columns that hang together from which on they tell moments."""
_NARROW = 1.0 / 16.0
"""Widest bins, in spans of their column, of which measured squares are fitted: in wider ones records are uneven."""
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
    weights = _padded(domain, target.column, _weights(middles, widths))
    cells = math.prod(groups) ** 2 * weights.shape[1]
    if cells > _LARGEST or not any(each.issuperset(domain.base(scope)) for each in held):
        sums, variances = sums.sum(axis=1, keepdims=True), sums.shape[1] * variances
        scope, axis, groups = (target.column,), 0, ()
    told = 2 if widths.max() <= _NARROW else 1
    for moment, group in np.ndindex(told, sums.shape[1]):
        chosen = np.zeros(groups)
        chosen.reshape(-1)[group] = 1.0
        table = np.moveaxis(np.multiply.outer(weights[moment], chosen), 0, axis)
        query = Moment.about(target.column, domain, scope, table, moment + 1)
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


def _weights(middles: Floats, widths: Floats) -> Floats:
    """What a record of each number or bin adds to both moments, shape ``(2, numbers)``."""
    return np.stack([middles, 2.0 * (np.square(middles) + np.square(widths) / 12.0) - 0.5])


def _padded(domain: Domain, name: str, weights: Floats) -> Floats:
    """Weights of the numbers of a column along the last axis, and 0 for its other codes."""
    size = domain.shape_of((name,))[0]
    return np.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(0, size - weights.shape[-1])])


def _measured(target: Moment, value: float, variance: float) -> Measurement:
    return Measurement(target, np.array([value]), NoiseKind.GAUSSIAN, math.sqrt(variance))


def beside_tables(model: Model, tables: Sequence[Measurement], told: Sequence[Measurement]) -> list[Measurement]:
    """What a hypothesis is fitted to beside tables: measured moments, and those that all tables together tell.

    Nothing is added where others than whole tables were measured, or where a hypothesis has classes of values. Tables
    tell nothing of columns that one table alone is about, or whose tables are each the sums of the next finer one:
    their fits keep empty cells empty.

    Args:
        model: The hypothesis.
        tables: Noisy tables that it is fitted to.
        told: What was measured of moments, see `moments_told`.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.models.dense import Histogram
        >>> domain = Domain([IntegerRange("a", 0, 8), IntegerRange("b", 0, 1)])
        >>> noisy = Measurement(Marginal(domain, ("a",)), np.arange(9.0), NoiseKind.GAUSSIAN, 1.0)
        >>> pairs = Measurement(Marginal(domain, ("a", "b")), np.arange(9.0).repeat(2) / 2.0, NoiseKind.GAUSSIAN, 1.0)
        >>> mean, _ = beside_tables(Histogram(domain, 36.0), [noisy, pairs], [])
        >>> mean.values, round(mean.std, 3)
        (array([7.5]), 0.791)
    """
    whole = [each.target for each in tables if isinstance(each.target, Marginal) and each.target.within is None]
    if isinstance(model, ValueClasses) or len(whole) < len(tables) or not tables:
        return []
    domain, measured = model.domain, _variances(told)
    bases = [domain.base(each.target.scope) for each in tables]
    found = list(told)
    for group in components(domain, bases):
        inside = [each for each, base in zip(tables, bases, strict=True) if base and base[0] in group]
        if len(inside) >= _TABLES and not (measured_levels(inside) or nested(inside)):
            found += _by_tables(model, inside, measured)
    return found


def _variances(told: Iterable[Measurement]) -> dict[tuple[str, int], float]:
    """Variances of measured moments over all records, by column and power; of several vectors the least."""
    found: dict[tuple[str, int], dict[Clique, float]] = {}
    for each in told:
        target = cast("Moment", each.target)
        of = found.setdefault((target.column, target.power), {})
        of[target.scope] = of.get(target.scope, 0.0) + each.std**2
    return {moment: min(of.values()) for moment, of in found.items()}


def _by_tables(
    model: Model, tables: Sequence[Measurement], measured: Mapping[tuple[str, int], float]
) -> Iterator[Measurement]:
    """The moments that tables tell, of columns of enough numbers."""
    domain = model.domain
    columns = {each.name: _Sums(domain, each.name) for each in domain.columns if isinstance(domain[each.name], Ordered)}
    for table in tables if columns else ():
        for name in table.target.scope:
            base = domain.base((name,))
            if len(base) == 1 and base[0] in columns and table.std > 0.0:
                columns[base[0]].learn(table, name)
    for column, sums in columns.items():
        middles, widths = _in_spans(domain, column)
        if len(middles) < _FEWEST or (column,) not in sums.levels:
            continue
        for power, weights in enumerate(_weights(middles, widths), 1):
            query = Moment.about(column, domain, (column,), _padded(domain, column, weights), power)
            value, variance = sums.told(query.values(), model.total)
            of_all = measured.get((column, power), variance)
            if of_all > 0.0:
                yield _measured(query, value, variance * max(1.0, variance / of_all))


@dataclass(frozen=True)
class _Sums:
    """What tables tell of the counts of a column and of its levels.

    Attributes:
        domain: The domain.
        column: The column.
        levels: For the column, and for each level of it that a table is over, counts times their precisions, and the
            precisions, which are 0 where no record can be.
    """

    domain: Domain
    column: str
    levels: dict[Clique, tuple[Floats, Floats]] = field(default_factory=dict)

    def learn(self, table: Measurement, name: str) -> None:
        """Take in a noisy table over the column, or a level of it, and others.

        Args:
            table: The table.
            name: The column or level.
        """
        scope = table.target.scope
        shape, axis = self.domain.shape_of(scope), scope.index(name)
        possible = possible_cells(self.domain, scope) if self.domain.constraints else None
        held = np.ones(shape) if possible is None else possible.astype(np.float64)
        counts, cells = (
            np.moveaxis(each, axis, 0).reshape(shape[axis], -1).sum(axis=1)
            for each in (held * table.values.reshape(shape), held)
        )
        precisions = np.divide(table.std**-2.0, cells, out=np.zeros_like(cells), where=cells > 0.0)
        before, known = self.levels.get((name,), (0.0, 0.0))
        self.levels[(name,)] = np.asarray(before + precisions * counts), np.asarray(known + precisions)

    def told(self, weights: Floats, total: float) -> tuple[float, float]:
        """The estimate of least variance of a weighted sum of the counts, and its variance.

        Args:
            weights: Weights of the codes of the column.
            total: Number of records, taken as known.
        """
        scopes = list(self.levels)
        variances = [np.divide(1.0, p, out=np.zeros_like(p), where=p > 0.0) for _, p in self.levels.values()]
        unit = max(float(each.max()) for each in variances)
        spreads = [each / unit for each in variances]  # the projection depends on their ratios alone
        noisy = [v * counts / total for (counts, _), v in zip(self.levels.values(), variances, strict=True)]
        finest, nothing = scopes.index((self.column,)), [np.zeros_like(each) for each in noisy]
        moved = [weights * spreads[place] if place == finest else each for place, each in enumerate(nothing)]
        found, start, along = (
            float(weights @ agreed(self.domain, scopes, tables, spreads)[finest]) for tables in (noisy, nothing, moved)
        )
        return total * found, unit * max(along - start, 0.0)
