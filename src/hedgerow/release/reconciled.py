"""A hypothesis that agrees with what was measured beside the run (theory.md section 14.2).

Moments of columns, and the questions that must have an interval, are measured before the mechanism begins, and no fit
of its tables knows them. At the end the hypothesis is moved to them: of all distributions that have what the least-
variance estimates say, to the one that is nearest to it (in KL), which is a multiplicative weights step for each of
them. So answers, reports and records, which come from the hypothesis, tell one number, and it lies inside the interval
that the same measurements prove.

- **Means and variances**, of all records or group by group: with the estimate's distance d from the hypothesis and its
  variance V the move is ``d t / (t + V)``. t is how far the hypothesis may be off: a standard deviation of the column
  for its mean, the variance itself for the variance. So a group of a few records stays where it is.
- **Counts**: the estimate, where it is larger than its standard deviation; else what the hypothesis says, moved to
  within a standard deviation of it, and not below 0.

It is public computation on noisy numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Ordered
from hedgerow.errors import QueryError
from hedgerow.models import Empirical, Histogram, Markov, Model
from hedgerow.queries import Conjunction, Explicit, Groups, LinearQuery, Marginal, Measurement, Positions, Tables
from hedgerow.release.column_sums import ColumnSums
from hedgerow.release.numbers import Numbers
from hedgerow.release.release import Release

_PASSES, _SETTLED = 20, 1e-3
"""Times that all are gone through at most, and the share of the records that are moved in the last one."""
_MOST_GROUPS = 64
"""Groups of a column that are looked at one by one."""
_MOST_CELLS = 256
"""Cells of a table that are looked at one by one."""
_MOST_CODES = 1024
"""Codes of a column that is moved though its moments were not measured."""
_STEPS, _CLOSE = 40, 1e-9
"""Newton steps at most, and the error of the moments, in standard deviations, at which they end."""
_FARTHEST = 20.0
"""The largest change of a log-probability."""
_LEAST = 0.25
"""The least variance that a group is given, as a share of the hypothesis' own."""

_ALIKE = 1e-12
"""Variance, in squared spans, below which all numbers are alike."""


def reconcile(release: Release) -> None:
    """Move the hypothesis of a release in place; see the head of this module.

    A hypothesis of tables over a tree, or one that would grow by it, stays as it is there.

    Args:
        release: The release, whose error of the workload is not measured yet.
    """
    model = release.model
    if not isinstance(model, Histogram | Markov | Empirical):
        return
    told = [each for each in release.measurements[: release.measured_before] if _takes(model, each.target.scope)]
    counts = [(each, _estimates(release, each)) for each in told if isinstance(each.target, Marginal | LinearQuery)]
    columns = [_Column.of(release, name, by) for name, by in _asked(release)]
    for _ in range(_PASSES):
        moved = [_move_counts(model, measured, estimates) for measured, estimates in counts]
        moved += [column.move(replace(release)) for column in columns]  # positions in bins follow the counts so far
        if max(moved, default=0.0) < _SETTLED:
            return


def expected(release: Release, target: Positions, tables: Tables) -> Floats:
    """What positions, moments or products would be measured without noise, were the numbers those of the release.

    Args:
        release: The release, which says where in their bins numbers lie.
        target: What is measured.
        tables: Counts, of the hypothesis or of records drawn from it.

    Returns:
        Shape ``(target.size,)``.
    """
    axis, counts = target.scope.index(target.column), tables.marginals([target.scope])[0]
    table = np.moveaxis(counts, axis, 0)
    u, squares, means = _inside(release, target.column)
    if target.other:
        other = _inside(release, target.other)[0]
        return np.atleast_1d(u @ table[: len(u), : len(other)] @ other)
    weights = np.stack([u, 2.0 * squares - 0.5]) if target.whole else np.diag(means)
    return np.moveaxis(np.tensordot(weights, table[: len(u)], 1), 0, axis).reshape(-1)


def _inside(release: Release, name: str) -> tuple[Floats, Floats, Floats]:
    """For each code the mean position of its numbers in the whole column, its mean square, and the mean one in bins."""
    attribute = release.domain[name]
    if not isinstance(attribute, Ordered):
        raise QueryError(f"{name!r} has no numbers", remedy="name a numeric column")
    numbers = Numbers.of(attribute, release)
    span = numbers.span or 1.0
    u = (numbers.at - (numbers.low[0] + numbers.high[-1]) / 2.0) / span
    means = release.mean_positions.get(name, np.zeros(len(u)))
    return u, np.square(u) + numbers.squares / span**2, means


def _takes(model: Model, scope: Clique) -> bool:
    """Whether a hypothesis is moved over a scope at little cost."""
    if not isinstance(model, Markov) or len(scope) < 2:
        return True
    return any(tree.find(scope) is not None for tree in model.trees)


def _asked(release: Release) -> Iterator[tuple[str, Clique]]:
    """Columns of numbers to be moved, each with the columns of its groups, or once with none."""
    found = dict[str, list[Clique]]()
    for each in release.positions:
        target = each.target
        if isinstance(target, Positions) and target.whole and not target.other:
            by = tuple(name for name in target.scope if name != target.column)
            few = math.prod(release.domain.shape_of(by)) <= _MOST_GROUPS
            found.setdefault(target.column, []).extend(
                [by] if by and few and _takes(release.model, target.scope) else []
            )
    if found:  # else what moves these columns would move the means of others, which tables tell
        for column in release.domain:
            if isinstance(column, Ordered) and column.size <= _MOST_CODES and not Numbers.of(column).wide:
                found.setdefault(column.name, [])
    yield from ((name, by) for name, cliques in found.items() for by in cliques or [()])


@dataclass(frozen=True)
class _Column:
    """A column of numbers, by the values of others, and the means and variances that it is to have.

    Attributes:
        name: Its name.
        by: The columns that tell the groups apart.
        means: Those of the groups; not a number where nothing is told of one.
        variances: Likewise.
        whole: Mean and variance of all records, if they are told.
    """

    name: str
    by: Clique
    means: Floats
    variances: Floats
    whole: tuple[float, float] | None

    @classmethod
    def of(cls, release: Release, name: str, by: Clique) -> _Column:
        """What the least-variance estimates say.

        Args:
            release: The release.
            name: The column.
            by: The columns of the groups.
        """
        shape = release.domain.shape_of(by)
        means, variances = np.full(shape, math.nan), np.full(shape, math.nan)
        for codes in np.ndindex(shape) if by else ():
            cell = {other: [code] for other, code in zip(by, codes, strict=True)}
            target = _target(release, name, Conjunction.where(release.domain, cell))
            means[codes], variances[codes] = target or (math.nan, math.nan)
        return cls(name, by, means, variances, _target(release, name, Conjunction.where(release.domain, {})))

    def move(self, release: Release) -> float:
        """Move the hypothesis to the means and variances, those of the groups so far that all have their own.

        The numbers of records of the groups stay.

        Returns:
            The share of the records that were moved.
        """
        attribute, clique = release.domain[self.name], release.domain.clique((*self.by, self.name))
        if not isinstance(attribute, Ordered):
            return 0.0
        numbers, axis = Numbers.of(attribute, release), clique.index(self.name)
        table = np.moveaxis(release.model.marginals([clique])[0], axis, -1)
        shares = table[..., : attribute.ordinary]
        records, factors = shares.sum(axis=-1), np.zeros(table.shape)
        held = np.maximum(records, 1e-300)
        own = shares @ numbers.at / held
        spreads = shares @ (np.square(numbers.at - numbers.at.mean()) + numbers.squares) / held
        spreads = np.maximum(spreads - np.square(own - numbers.at.mean()), 0.0)
        means, variances = (
            np.where(np.isnan(self.means), own, self.means),
            np.where(np.isnan(self.variances), spreads, self.variances),
        )
        if self.whole is not None:
            mean, variance = self.whole
            means = means + mean - np.average(means, weights=held)
            inside = max(variance - np.average(np.square(means - mean), weights=held), _LEAST * variance)
            variances = variances * (inside / max(np.average(variances, weights=held), 1e-300))
        for codes in zip(*np.nonzero((records > 0.0) & (variances > 0.0)), strict=True) if self.by else [()]:
            x = (numbers.at - means[codes]) / math.sqrt(variances[codes])
            squares = np.square(x) + numbers.squares / variances[codes]
            factors[codes][: attribute.ordinary] = _tilt(shares[codes], x, squares)
        release.model.reweigh(clique, np.moveaxis(factors, -1, axis))
        return _moved(table, table * np.exp(factors))


def _target(release: Release, name: str, cell: Conjunction) -> tuple[float, float] | None:
    """The mean and the variance that a group is to have; None where there is nearly no record, or all are alike."""
    attribute = release.domain[name]
    if not isinstance(attribute, Ordered):
        return None
    numbers, groups = Numbers.of(attribute, release), Groups(release.domain, (), cell)
    span, first = numbers.span or 1.0, float(numbers.low[0])

    def query(weights: Floats) -> LinearQuery:
        return groups.sum(0, name, np.pad(weights, (0, attribute.size - len(weights))))

    x = (numbers.at - first) / span
    records = release.value(query(np.ones(len(x))))
    if records < 1.0:
        return None
    mean = release.value(query(x)) / records
    variance = release.value(query(np.square(x) + numbers.squares / span**2)) / records - mean**2
    if variance <= _ALIKE:
        return None
    moved = [0.0, 0.0]
    x, centre = x - mean, first + span * mean
    for power, offset, far in ((1, 0.0, variance), (2, variance, variance**2)):
        sums = ColumnSums.of(release, name, cell, power=power, centre=centre, offset=offset)
        found = release.estimate_of(query(x**power - offset)) if sums is None else sums.estimate(query)
        if found is not None:
            moved[power - 1] = found.centre / records * far / (far + found.variance / records**2)
    variance = max(variance + moved[1] - moved[0] ** 2, _LEAST * variance)
    return first + span * (mean + moved[0]), span**2 * variance


def _tilt(shares: Floats, x: Floats, squares: Floats) -> Floats:
    """The change of log-probabilities, a x + b squares + c, after which x has mean 0 and squares have mean 1.

    Where nothing has both, x alone has, and where nothing has that either, nothing is changed. The mass stays.
    """
    mass = float(shares.sum())
    for features in (np.stack([x, squares - 1.0]), x[None]):
        held, found = shares > 0.0, np.zeros(len(features))
        inside = features[:, held]
        for _ in range(_STEPS):
            weights = shares[held] * np.exp(np.clip(found @ inside, -_FARTHEST, _FARTHEST))
            weights /= max(float(weights.sum()), 1e-300)
            means = inside @ weights
            if float(np.abs(means).max()) <= _CLOSE:
                factors = np.clip(found @ features, -_FARTHEST, _FARTHEST)
                return np.asarray(factors - math.log(float(shares @ np.exp(factors)) / mass))
            spread = (inside * weights) @ inside.T - np.outer(means, means)
            step = np.linalg.lstsq(spread, means, rcond=None)[0]
            found = found - step / max(1.0, float(np.abs(step @ inside).max()))
    return np.zeros(len(x))


def _estimates(release: Release, measured: Measurement) -> tuple[Floats, Floats]:
    """Least-variance estimates of what was measured, and their variances."""
    target, values = measured.target, measured.values
    if isinstance(target, LinearQuery):
        cells = [target]
    elif len(values) <= _MOST_CELLS:
        codes = np.ndindex(release.domain.shape_of(target.scope))
        cells = [
            Conjunction.where(release.domain, {n: [c] for n, c in zip(target.scope, each, strict=True)})
            for each in codes
        ]
    else:
        return values, np.full(len(values), measured.std**2)
    found = [release.estimate_of(cell) for cell in cells]
    told = [
        (each.centre, each.variance) if each else (v, measured.std**2) for each, v in zip(found, values, strict=True)
    ]
    centres, variances = zip(*told, strict=True)
    return np.array(centres), np.array(variances)


def _moved(before: Floats, after: Floats) -> float:
    return 0.5 * float(np.abs(after - before).sum()) / max(float(before.sum()), 1e-300)


def _move_counts(model: Model, measured: Measurement, estimates: tuple[Floats, Floats]) -> float:
    """Move the hypothesis to estimated counts; returns the share of the records that were moved."""
    target, (centres, deviations) = measured.target, (estimates[0], np.sqrt(estimates[1]))
    before = target.on(model)
    near = np.clip(before, np.maximum(centres - deviations, 0.0), np.maximum(centres + deviations, 0.0))
    after = np.minimum(np.where(centres > deviations, centres, near), model.total)
    if isinstance(target, Marginal) and target.within is None:
        held = (before > 0.0) & (after > 0.0)
        factors = np.zeros(len(before))
        factors[held] = np.log(after[held] / before[held])
        factors[(before > 0.0) & ~held] = -_FARTHEST
        model.reweigh(target.scope, factors.reshape(model.domain.shape_of(target.scope)))
        return _moved(
            before, before * np.exp(factors) * model.total / max(float((before * np.exp(factors)).sum()), 1e-300)
        )
    if isinstance(target, Conjunction | Explicit) and 0.0 < before[0] < model.total and 0.0 < after[0] < model.total:
        model.update(target, _logit(after[0] / model.total) - _logit(before[0] / model.total))
        return abs(float(after[0] - before[0])) / model.total
    return 0.0


def _logit(share: float) -> float:
    return math.log(share / (1.0 - share))
