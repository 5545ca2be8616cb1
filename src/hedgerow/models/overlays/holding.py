"""The tables that a tree below an overlay should hold: those that say most, as many as fit.

A table says as much as its attributes have to do with each other: the divergence from the product of its own marginals,
beyond what pairs among them say already, and beyond what noise alone would show. All of it is a function of noisy
values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from hedgerow.arrays import Bools, Floats
from hedgerow.domain import Clique
from hedgerow.models.fit.residual_basis import ResidualBasis
from hedgerow.models.trees import JunctionTree

_PER_ATTRIBUTE = 3
"""Tables for each attribute that a tree is tried with, at most."""


def chosen_scopes(
    parts: ResidualBasis, coefficients: Floats, variances: Floats, always: Sequence[Clique], most_cells: int
) -> list[Clique]:
    """Tables for a tree: a spanning forest of the pairs that say most, then others in order while they fit.

    Args:
        parts: The tables that are held.
        coefficients: Their parts as fractions of all records.
        variances: Variances of these; infinite where nothing is told.
        always: Scopes that the tree has whatever it holds beside them.
        most_cells: Cells of its cliques together.
    """
    domain = parts.domain
    gains = _gains(parts, coefficients, variances)
    ordered = sorted(gains, key=lambda scope: (-gains[scope], domain.axes(scope)))
    ordered = [scope for scope in ordered if gains[scope] > 0.0]
    forest = _forest(ordered, always)
    others = [scope for scope in ordered if scope not in set(forest)]
    others = others[: max(0, _PER_ATTRIBUTE * len(domain) - len(forest))]

    def fits(count: int, within: Sequence[Clique]) -> bool:
        return JunctionTree.of(domain, [*always, *within[:count]]).cells <= most_cells

    kept = forest[: _longest(len(forest), lambda count: fits(count, forest))]
    return [*kept, *others[: _longest(len(others), lambda count: fits(len(kept) + count, [*kept, *others]))]]


def _longest(count: int, fits: Callable[[int], bool]) -> int:
    """The longest beginning of a list that fits, by halving."""
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _forest(ordered: Sequence[Clique], always: Sequence[Clique]) -> list[Clique]:
    """Kruskal's: pairs that connect what nothing before connects."""
    group: dict[str, set[str]] = {}

    def joined(scope: Clique) -> bool:
        known = [group.get(name, {name}) for name in scope]
        if any(not known[0].isdisjoint(each) for each in known[1:]):
            return False
        merged = set[str]().union(*known)
        group.update(dict.fromkeys(merged, merged))
        return True

    for scope in always:
        for name in scope[1:]:
            joined((scope[0], name))
    return [scope for scope in ordered if len(scope) == 2 and joined(scope)]


def _gains(parts: ResidualBasis, coefficients: Floats, variances: Floats) -> dict[Clique, float]:
    """The information in each pair, and in each wider table beyond its pairs, in nats."""
    found: dict[Clique, float] = {}
    pairs = [scope for scope in parts.sets if len(scope) == 2]
    told = _information(parts, pairs, coefficients, variances)
    found.update(told)
    wide = [scope for scope in parts.scopes if len(scope) > 2]
    for scope, gain in _information(parts, wide, coefficients, variances).items():
        inside = sorted((max(told.get(pair, 0.0), 0.0) for pair in combinations(scope, 2)), reverse=True)
        found[scope] = gain - sum(inside[: len(scope) - 1])
    return found


def _information(
    parts: ResidualBasis, scopes: Sequence[Clique], coefficients: Floats, variances: Floats
) -> Mapping[Clique, float]:
    found: dict[Clique, float] = {}
    for stack in parts.stacks(scopes):
        cells = math.prod(stack.shape)
        tables = np.maximum(stack.tables(coefficients), 1e-12).reshape(-1, *stack.shape)
        tables /= tables.sum(axis=tuple(range(1, tables.ndim)), keepdims=True)
        apart = np.ones_like(tables)
        for axis in range(1, tables.ndim):
            apart = apart * tables.sum(axis=tuple(a for a in range(1, tables.ndim) if a != axis), keepdims=True)
        nats = (tables * np.log(tables / apart)).reshape(len(tables), -1).sum(axis=1)
        mixed = _mixed(stack.shape)
        spread = (variances[stack.places] * stack.factors**2)[:, mixed].sum(axis=1) / cells
        tail = math.log(len(parts.sets)) / int(mixed.sum())
        wide = np.maximum(apart.reshape(len(tables), -1), np.sqrt(spread)[:, None])
        noise = 0.5 * (spread[:, None] / wide).sum(axis=1)
        gain = np.where(np.isfinite(spread), nats - (1.0 + 2.0 * math.sqrt(tail) + 2.0 * tail) * noise, 0.0)
        found.update({scopes[row]: value for row, value in zip(stack.rows.tolist(), gain.tolist(), strict=True)})
    return found


def _mixed(shape: tuple[int, ...]) -> Bools:
    """The coefficients that are of several attributes."""
    inside = np.array([axis.reshape(-1) > 0 for axis in np.indices(shape)])
    return np.asarray(inside.sum(axis=0) > 1)
