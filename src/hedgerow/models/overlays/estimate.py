"""An overlay from measurements.

1. Every part is averaged over all that was measured of it, with the inverse variances as weights: no linear unbiased
   estimate has less variance (``fit/consistency.py``).
2. A tree is fitted to the tables that say most, as many as fit (``holding.py``).
3. What all pairs have in common is added to the parts of the tree (``shared.py``).
4. Parts are moved towards these, as far as what they differ by is no more than noise: the mean of the posterior where
   the parts of a kind are scattered around what is expected with one variance, which their own differences tell (C.
   Morris, "Parametric Empirical Bayes Inference", JASA 1983). Expectations that say it all leave nothing of the noise,
   those that say nothing change nothing.
5. The nearest tables without negative counts are taken (``projection.py``), or those of the tree where these are nearer
   than what can be reached.

All of it is a function of noisy answers, so it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints
from hedgerow.domain import Clique, Domain, possible_cells, telling
from hedgerow.models.core import check_cells
from hedgerow.models.fit.raking import rake
from hedgerow.models.fit.refit import refit
from hedgerow.models.fit.residual_basis import ResidualBasis, Stack
from hedgerow.models.fit.rules import Proximal
from hedgerow.models.overlays.holding import can_hold, chosen_scopes, overlay_bytes
from hedgerow.models.overlays.overlay import Overlay
from hedgerow.models.overlays.projection import nearest
from hedgerow.models.overlays.shared import common
from hedgerow.models.trees import Markov
from hedgerow.queries import Marginal, Measurement, NoiseKind, Parity

LARGEST_BELOW = 1 << 16
"""Cells of the tree below an overlay, unless less is allowed."""
_EXACT = 1e-12
"""Standard deviation, as a fraction of the total, of answers without noise."""
_OWN = 16
"""A part of so many coefficients tells its own variance around its expectation; smaller ones are taken together."""
_LEAST = 1e-4
"""Least variance around expectations, in units of that of the noise: steps to the nearest tables get long below it."""


def overlaid(
    domain: Domain, total: float, measurements: Sequence[Measurement], rule: Proximal, largest_tree: int = LARGEST_BELOW
) -> Overlay:
    """A model of measurements that no tree holds together.

    Args:
        domain: The domain.
        total: Mass in counts, positive.
        measurements: Whole marginals and parities; other queries are learnt by the tree alone.
        rule: Fit of the tree.
        largest_tree: Most cells of the tree.

    Raises:
        ModelTooLargeError: The tables are too large.

    Example:
        >>> from itertools import combinations
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(30))
        >>> pairs = [Marginal(domain, pair) for pair in combinations(domain.names, 2)]
        >>> noisy = [Measurement(pair, np.array([50.0, 0.0, 20.0, 30.0]), NoiseKind.GAUSSIAN, 0.1) for pair in pairs]
        >>> model = overlaid(domain, 100.0, noisy, Proximal())
        >>> model.marginals([("x3", "x20")])[0].sum().round(6)
        np.float64(100.0)
    """
    held: list[Measurement] = []
    others: list[Measurement] = []
    for each in measurements:
        (held if can_hold(each.target) else others).append(each)
    parts = ResidualBasis(domain, [each.target.scope for each in held])
    check_cells(parts.cells, overlay_bytes(parts.cells), tree=True)
    told = _Told(parts, *averaged(parts, held, total), total)
    tree = _tree(told, held, others, rule, min(largest_tree, LARGEST_BELOW))
    rake(tree, telling(domain))
    stacks = parts.stacks(parts.scopes)
    expected = parts_of(tree, parts, stacks)
    pairs, left = common(parts, told.means - expected, told.variances)
    middle, precisions = _moved(replace(told, precisions=told.precisions / left), expected + pairs)
    possible = [_possible(domain, [parts.scopes[row] for row in stack.rows.tolist()]) for stack in stacks]
    uniform = parts_of(Markov(domain, 1.0), parts, stacks) if domain.constraints else np.eye(1, parts.size)[0]
    found = nearest(stacks, middle, precisions, uniform, possible, other=expected)
    _keep_known(domain, parts, found)
    found[0] = 1.0  # the sum of the tree's cells is so but for rounding
    return Overlay(tree, parts, found)


def _keep_known(domain: Domain, parts: ResidualBasis, found: Floats) -> None:
    """Give the parts of known tables the values that these have, in place."""
    known = {table.names: table for table in telling(domain) if table.names}
    sums, held = np.zeros(parts.size), np.zeros(parts.size)
    for stack in parts.stacks(list(known)) if known else ():
        tables = [known[parts.scopes[row]] for row in stack.rows.tolist()]
        sums += stack.sums(np.stack([table.counts / table.total for table in tables]), parts.size)
        held += stack.sums(stack.tables(np.ones(parts.size)), parts.size)
    told = held != 0.0
    found[told] = sums[told] / held[told]


@dataclass(frozen=True, eq=False)
class _Told:
    """The parts that measurements tell.

    Attributes:
        parts: ResidualBasis of the measured tables.
        means: Best linear unbiased estimates of them, as fractions; 0 where nothing is told.
        precisions: 1 over their variances; 0 likewise.
        total: In counts.
    """

    parts: ResidualBasis
    means: Floats
    precisions: Floats
    total: float

    @property
    def variances(self) -> Floats:
        """Infinite where nothing is told; that of the sum of all cells is 0."""
        with np.errstate(divide="ignore"):
            found = 1.0 / self.precisions
        found[0] = 0.0
        return found

    def tables(self, scopes: Sequence[Clique]) -> Iterator[Measurement | Clique]:
        """Tables as if they had been measured by themselves; the scope alone of one of which not all parts are told."""
        variances, domain = self.variances, self.parts.domain
        for stack in self.parts.stacks(scopes):
            tables = self.total * stack.tables(self.means)
            spread = self.total * np.sqrt((variances[stack.places] * stack.factors**2).mean(axis=1))
            for row, table, std in zip(stack.rows.tolist(), tables, spread.tolist(), strict=True):
                known = math.isfinite(std)
                yield (
                    Measurement(Marginal(domain, scopes[row]), table, NoiseKind.GAUSSIAN, std) if known else scopes[row]
                )


def averaged(parts: ResidualBasis, measurements: Sequence[Measurement], total: float) -> tuple[Floats, Floats]:
    """The best linear unbiased estimates of all parts, as fractions, and 1 over their variances.

    Args:
        parts: ResidualBasis of all that was measured.
        measurements: Whole marginals and parities.
        total: In counts; the sum of all cells is known to be 1.

    Returns:
        Two arrays, shape ``(size,)``; 0 where nothing is told.
    """
    whole = [each for each in measurements if isinstance(each.target, Marginal)]
    stacks = parts.stacks([each.target.scope for each in whole])
    members = [[whole[row] for row in stack.rows.tolist()] for stack in stacks]
    tables = [np.stack([each.values / total for each in some]) for some in members]
    weights = [np.array([_weight(each, total) for each in some]) for some in members]
    sums, precisions = parts.weighted_sums(stacks, tables, weights)
    for each in measurements:
        if isinstance(each.target, Parity):
            weight = _weight(each, total)
            place, cells = parts.start(each.target.scope), 2.0 ** len(each.target.scope)
            sums[place] += weight * math.sqrt(cells) * float(each.values[0]) / total
            precisions[place] += weight * cells
    found = np.divide(sums, precisions, out=np.zeros_like(sums), where=precisions > 0.0)
    found[0] = 1.0
    return found, precisions


def _weight(measured: Measurement, total: float) -> float:
    return float(max(measured.std / total, _EXACT) ** -2)


def parts_of(model: Markov, parts: ResidualBasis, stacks: Sequence[Stack]) -> Floats:
    """The parts of the tables of a tree, as fractions."""
    total = model.total
    names = {name for scope in parts.scopes for name in scope}
    if all(parts.domain[name].size == 2 for name in names):
        cells = 2.0 ** np.array([len(each) for each in parts.sets])
        return np.asarray(model.parities(parts.sets) / (total * np.sqrt(cells)))
    sums, held = np.zeros(parts.size), np.zeros(parts.size)
    for stack in stacks:
        tables = model.marginals([parts.scopes[row] for row in stack.rows.tolist()])
        sums += stack.sums(np.stack([table.reshape(-1) / total for table in tables]), parts.size)
        held += stack.sums(stack.tables(np.ones(parts.size)), parts.size)
    return np.asarray(sums / held)


def _tree(
    told: _Told, held: Sequence[Measurement], others: Sequence[Measurement], rule: Proximal, most_cells: int
) -> Markov:
    parts, domain = told.parts, told.parts.domain
    alone: list[Clique] = [scope for scope in parts.sets if len(scope) == 1]
    always = [*(scope for scope, _ in domain.zeros), *(each.target.scope for each in others), *alone]
    always += [table.names for table in telling(domain) if table.names]
    chosen = chosen_scopes(parts, told.means, told.variances, always, most_cells)
    tables = list(told.tables([*alone, *chosen]))
    partly = [set(each) for each in tables if not isinstance(each, Measurement)]
    known = [*others, *(each for each in tables if isinstance(each, Measurement))]
    known += [each for each in held if any(scope.issuperset(each.target.scope) for scope in partly)]
    model = Markov(domain, told.total, [*always, *chosen])
    refit(model, known, rule)
    return model


def _moved(told: _Told, expected: Floats) -> tuple[Floats, Floats]:
    """Means of the posterior around the parts that are expected, and 1 over its variances.

    The variance of a group is one standard deviation of its estimate smaller than the estimate: noise alone hardly
    moves tables from what is expected.
    """
    precisions, lengths = told.precisions, np.diff(told.parts.starts)
    known = precisions > 0.0
    variances = np.divide(1.0, precisions, out=np.zeros_like(precisions), where=known)
    excess = np.where(known, (told.means - expected) ** 2 - variances, 0.0)
    group = np.repeat(_groups(told.parts, lengths), lengths)
    deviations = np.sqrt(2.0 * np.bincount(group, variances**2))
    counts = np.maximum(np.bincount(group, known), 1.0)
    scattered = np.maximum((np.bincount(group, excess) - deviations) / counts, 0.0)[group]
    least = np.maximum(_LEAST * variances, _LEAST**2 * np.median(variances[known]))
    certain = precisions + (inverse := 1.0 / np.maximum(scattered, least))
    middle = (precisions * told.means + inverse * expected) / certain
    middle[0] = 1.0
    return np.asarray(middle), np.asarray(certain)


def _groups(parts: ResidualBasis, lengths: Ints) -> Ints:
    """Components whose variance around expectations is taken to be one: large ones alone, small ones by shape."""
    known: dict[object, int] = {}
    keys = (
        scope if length >= _OWN else tuple(sorted(parts.domain.shape_of(scope)))
        for scope, length in zip(parts.sets, lengths.tolist(), strict=True)
    )
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)


def _possible(domain: Domain, scopes: Sequence[Clique]) -> Bools | None:
    if not domain.constraints:
        return None
    found = [possible_cells(domain, scope) for scope in scopes]
    cells = domain.cells(scopes[0])  # all are of one shape
    return np.stack([np.ones(cells, dtype=np.bool_) if each is None else each.reshape(-1) for each in found])
