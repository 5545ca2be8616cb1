"""Ranges of one attribute from its levels, boxes of two from all mixes of their levels."""

from __future__ import annotations

from itertools import islice, product

import numpy as np

from hedgerow.algorithms.strategies.division import divided
from hedgerow.algorithms.strategies.sub_strategy import AnsweredQueries, Goal, Measurements, SubStrategy
from hedgerow.algorithms.strategies.trees import LevelProduct, LevelTree, tree_levels
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique
from hedgerow.queries import Boxes

_TUNED = 2048
"""Most ranges that a division over levels is tuned on."""

_STARTS = 8
"""Most sets of levels that a division starts from."""

_TURNS = 3
"""Times that the levels of two attributes are divided in turn."""


def from_levels(goal: Goal, number: int, family: Boxes) -> SubStrategy:
    """Ranges of an attribute from its levels.

    Args:
        goal: Error that is to be small.
        number: Position of the family.
        family: Ranges of one attribute.
    """
    levels, tree = _tree(family, 0, public_total=goal.public_total)
    queries = AnsweredQueries.of(goal.workload, [number], np.arange(family.n_queries))
    power, weights = queries.division(goal.aim)
    some = _tuned(family.n_queries)
    shares = _divided(tree.taken(some), weights[some], power, goal.growth)
    measured = Measurements.of_marginals(family.domain, [(name,) for name in levels], goal.budget)
    return SubStrategy("levels", queries, measured, shares, tree)


def from_mixes(goal: Goal, number: int, family: Boxes) -> SubStrategy:
    """Boxes of two attributes from all mixes of their levels, with shares that are products.

    Args:
        goal: Error that is to be small.
        number: Position of the family.
        family: Boxes of two attributes.
    """
    names, trees = zip(*(_tree(family, axis, public_total=False) for axis in (0, 1)), strict=True)
    queries = AnsweredQueries.of(goal.workload, [number], np.arange(family.n_queries))
    power, weights = queries.division(goal.aim)
    some = _tuned(family.n_queries)
    tuned, wanted = [tree.taken(some) for tree in trees], weights[some]
    shares: list[Floats] = [np.full(len(levels), 1.0 / len(levels)) for levels in names]
    for this in (0, 1) * _TURNS:
        fixed = wanted * tuned[1 - this].variances(shares[1 - this] ** goal.growth)
        shares[this] = _divided(tuned[this], fixed, power, goal.growth)
    measured = Measurements.of_marginals(family.domain, list(product(*names)), goal.budget)
    return SubStrategy("levels", queries, measured, np.outer(*shares).reshape(-1), LevelProduct(*trees))


def _divided(tree: LevelTree, weights: Floats, power: float, growth: float) -> Floats:
    """Shares of the levels; Laplace noise may leave out any but the finest."""
    levels = len(tree.firsts)
    starts = [np.array([1.0, *kept]) for kept in islice(product((0.0, 1.0), repeat=levels - 1), _STARTS)]
    return divided(tree, np.ones(levels), weights, power=power, growth=growth, starts=starts)


def _tree(family: Boxes, axis: int, *, public_total: bool) -> tuple[Clique, LevelTree]:
    levels = tree_levels(family.domain, family.clique[axis])
    lows, highs = family.lows[:, axis], family.highs[:, axis]
    return levels, LevelTree.of(family.domain, levels, lows, highs, public_total=public_total)


def _tuned(ranges: int) -> Ints:
    """Some of the ranges, equally far apart."""
    return np.unique(np.linspace(0, ranges - 1, min(ranges, _TUNED)).astype(np.int64))
