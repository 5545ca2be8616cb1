"""The tables that a tree below an overlay should hold: those that say most, as many as fit.

A table says as much as its attributes have to do with each other: the divergence from the product of its own marginals,
beyond what pairs among them say already, and beyond what noise alone would show. All of it is a function of noisy
values.

Tables that no tree holds are held as consistent tables over it, up to a number of cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from hedgerow.arrays import Bools, Floats
from hedgerow.domain import Clique, Domain
from hedgerow.models.fit.residual_basis import ResidualBasis, largest
from hedgerow.models.trees import JunctionTree
from hedgerow.queries import Marginal, Measurable, Parity

LARGEST_OVERLAY = 1 << 24
"""Cells of the largest tables that are held together."""
_WIDEST = 6
"""Tables of more attributes have too many components."""
_LARGEST_ATTRIBUTE = 1 << 10
"""Attributes of more codes are left to trees."""
_CELL_BYTES = 96
"""Work on a cell: tables, multipliers, places, and copies of these."""


def can_hold(target: Measurable) -> bool:
    """Whether a measurement is of the tables that are held: a whole marginal, or a parity, of few attributes.

    Args:
        target: Query or marginal.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)))
        >>> can_hold(Marginal(domain, ("age", "sex"))), can_hold(Marginal(domain, ("age.10", "sex")))
        (True, False)
    """
    whole = isinstance(target, Parity) or (isinstance(target, Marginal) and target.within is None)
    return whole and can_hold_table(target.domain, target.scope)


def can_hold_table(domain: Domain, scope: Clique) -> bool:
    """Whether the table of a scope can be held: few attributes of few codes, and no levels.

    Args:
        domain: The domain.
        scope: In domain order.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> can_hold_table(Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23))), ("ip", "hour"))
        False
    """
    return 0 < len(scope) <= _WIDEST and _holdable(domain).issuperset(scope)


@lru_cache(maxsize=4)
def _holdable(domain: Domain) -> frozenset[str]:
    return frozenset(attribute.name for attribute in domain if attribute.size <= _LARGEST_ATTRIBUTE)


def overlay_bytes(cells: int) -> int:
    """Estimate of the memory that tables and the work on them take.

    Args:
        cells: Cells of the largest tables together.

    Example:
        >>> overlay_bytes(1000)
        96000
    """
    return _CELL_BYTES * cells


def table_cells(domain: Domain, scopes: Iterable[Clique]) -> int:
    """Cells of the largest tables among some scopes.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> table_cells(Domain(IntegerRange(name, 0, 1) for name in "abc"), [("a", "b"), ("b", "c"), ("b",)])
        8
    """
    return sum(domain.cells(scope) for scope in largest(scopes))


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
