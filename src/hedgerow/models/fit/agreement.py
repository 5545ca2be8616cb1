"""Best linear unbiased answers of marginals over levels and structural zeros, where blocks of cells are uneven.

Tables that share variables must agree on the marginal of these. The estimate of least variance is the nearest tables,
in units of the noise, that agree everywhere, that vanish where no record can be, and that sum to 1. Two ideas find it:

- A table that meets all others in one coarser marginal hands its sums there on, with the variance of each, and is
  corrected once the others are known. Tables over levels of one attribute are a tree of sums that this solves in two
  passes (Hay, Rastogi, Miklau and Suciu, "Boosting the Accuracy of Differentially Private Histograms Through
  Consistency", VLDB 2010), however uneven it is.
- Of the rest, each shared marginal in turn is replaced by its average, coarse ones first, and the difference is spread
  over the cells in proportion to their variances: an orthogonal projection. Where blocks are even one sweep is exact
  (Qardaji, Yang and Li, "PriView", SIGMOD 2014, section 4.3). Elsewhere projections do not commute, and conjugate
  gradients on sweeps there and back reach their common fixed points (Bjoerck and Elfving, "Accelerated projection
  methods for computing pseudoinverse solutions", BIT 1979).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.arrays import Floats, Ints, Places
from hedgerow.domain import Clique, Domain, places_in, spread_over, summed

if TYPE_CHECKING:
    from hedgerow.models.fit.agreement_kernels import Meetings  # importing it takes a second

_LEAST = 1e-10
"""Variance of answers without noise, as a fraction of the largest."""
_STEPS = 100
"""Most steps of conjugate gradients."""
_CLOSE = 1e-11
"""Residual at which they stop, as a fraction of the first."""
_ROUNDING = 1e-15
"""Residual that counts as none, as a fraction of the values."""


def agreed(
    domain: Domain, scopes: Sequence[Clique], tables: Sequence[Floats], variances: Sequence[Floats]
) -> list[Floats]:
    """The nearest tables that agree on what they share and sum to 1.

    Args:
        domain: The domain of all scopes.
        scopes: Variables of each table.
        tables: Noisy fractions, shape ``domain.shape_of(scope)`` each.
        variances: Variance of each cell, of the same shapes; 0 where it is known to be 0.

    Returns:
        The estimates, of the same shapes.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 19),))
        >>> noisy = [np.array([0.4, 0.4, 0.1, 0.1]), np.full(20, 0.05)]
        >>> agreed(domain, [("age.5",), ("age",)], noisy, [np.ones(4), np.ones(20)])[0].round(3)
        array([0.375, 0.375, 0.125, 0.125])
    """
    known = _Variables(domain, scopes)
    left: dict[int, _Table] = {}
    least = _LEAST * max(float(variance.max()) for variance in variances)
    for scope, values, spread in zip(scopes, tables, variances, strict=True):
        noisy = np.where(spread > 0.0, np.maximum(spread, least), 0.0)
        mask = known.masks[scope]  # two levels may have the same blocks under two names
        _merge(left, mask, _Table(*(summed(domain, each, scope, known.scope(mask)) for each in (values, noisy))))
    handed = list[tuple[int, int, _Table, _Table]]()  # tables whose sums went on to a coarser marginal
    while (next_one := _leaf(left)) is not None:
        mask, shared = next_one
        table = left.pop(mask)
        scopes_of = known.scope(mask), known.scope(shared)
        sums = _Table(*(summed(domain, each, *scopes_of) for each in (table.values, table.variances)))
        handed.append((mask, shared, table, sums))
        if shared:
            _merge(left, shared, sums)
    projected = _projected(known, left) if left else {}
    projected[0] = np.array(1.0)
    for mask, shared, table, sums in reversed(handed):
        missing = _ratio(projected[shared] - sums.values, sums.variances)
        spread = spread_over(domain, missing, known.scope(shared), known.scope(mask))
        projected[mask] = table.values + table.variances * spread
    masks = [known.masks[scope] for scope in scopes]
    return [
        summed(domain, projected[mask], known.scope(mask), scope) for mask, scope in zip(masks, scopes, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Table:
    values: Floats
    variances: Floats


class _Variables:
    """Sets of variables as bits: each set holds what its members determine, so that shared ones are those of both."""

    def __init__(self, domain: Domain, scopes: Sequence[Clique]) -> None:
        self.domain = domain
        sources = {name for scope in scopes for name in domain.base(scope)}
        levels = (function.name for function in domain.derived if set(function.sources) <= sources)
        self._names = domain.clique({*sources, *levels})
        self.masks = {
            scope: sum(1 << place for place, name in enumerate(self._names) if domain.determines(scope, name))
            for scope in dict.fromkeys(scopes)
        }
        self._scopes = {mask: scope for scope, mask in self.masks.items()}

    def scope(self, mask: int) -> Clique:
        if mask not in self._scopes:
            names = (name for place, name in enumerate(self._names) if mask >> place & 1)
            self._scopes[mask] = self.domain.reduced(names)
        return self._scopes[mask]


def _merge(tables: dict[int, _Table], mask: int, table: _Table) -> None:
    """Average two tables over the same variables."""
    if mask in tables:
        other = tables[mask]
        precisions = [_inverse(each.variances) for each in (other, table)]
        variances = _inverse(precisions[0] + precisions[1])
        table = _Table(variances * (precisions[0] * other.values + precisions[1] * table.values), variances)
    tables[mask] = table


def _ratio(values: Floats, divisors: Floats) -> Floats:
    """0 where nothing can be: variances are 0 there."""
    return np.divide(values, divisors, out=np.zeros_like(values), where=divisors > 0.0)


def _inverse(variances: Floats) -> Floats:
    return _ratio(np.ones_like(variances), variances)


def _leaf(tables: dict[int, _Table]) -> tuple[int, int] | None:
    """A table that meets all others in one coarser marginal, and that marginal."""
    for mask in tables:
        shared = {mask & other for other in tables if other != mask}
        widest = 0
        for each in shared:
            widest |= each
        if widest != mask and (widest in shared or not widest):
            return mask, widest
    return None


def _projected(known: _Variables, tables: dict[int, _Table]) -> dict[int, Floats]:
    """The nearest tables that agree, by conjugate gradients on sweeps of averages."""
    values = np.concatenate([table.values.reshape(-1) for table in tables.values()])
    variances = np.concatenate([table.variances.reshape(-1) for table in tables.values()])
    ends = np.cumsum([table.values.size for table in tables.values()])
    meetings = _meetings(known, list(tables), ends, variances)
    from hedgerow.models.fit.agreement_kernels import average_all  # compiling takes a second

    def swept(numbers: Floats, total: float) -> Floats:
        """Averages from coarse to fine and back: a symmetric operator."""
        values = numbers.copy()
        average_all(values, variances, meetings, total)
        return values

    parts = np.split(_nearest(values, _inverse(variances), swept), ends[:-1])
    return {mask: part.reshape(table.values.shape) for (mask, table), part in zip(tables.items(), parts, strict=True)}


def _meetings(known: _Variables, masks: Sequence[int], ends: Ints, variances: Floats) -> Meetings:
    """All marginals that several tables share, and what such marginals share; first of all their sum."""
    starts = np.concatenate([[0], ends])
    closed = {0}
    for mask in masks:
        closed |= {mask & other for other in closed} | {mask}
    rows, sizes, tables, places, precisions = [0], list[int](), list[int](), list[Places](), list[Floats]()
    for shared in sorted(closed, key=lambda mask: mask.bit_count()):
        having = [table for table, mask in enumerate(masks) if mask & shared == shared]
        if len(having) > 1:
            rows.append(rows[-1] + len(having))
            sizes.append(known.domain.cells(known.scope(shared)))
            tables += having
            for table in having:
                numbers = places_in(known.domain, known.scope(masks[table]), known.scope(shared)).reshape(-1)
                places.append(np.maximum(numbers, 0).astype(np.int32))  # cells without a place hold 0
                spread = variances[starts[table] : ends[table]]
                sums = np.asarray(np.bincount(places[-1], spread, sizes[-1]), dtype=np.float64)
                precisions.append(_inverse(sums))
    joined = np.concatenate(places), np.concatenate(precisions)
    return np.array(rows), np.array(sizes), starts[tables], ends[tables], *joined


def _nearest(values: Floats, precisions: Floats, sweep: Callable[[Floats, float], Floats]) -> Floats:
    """The fixed point of sweeps that is nearest, in units of the noise."""
    moved = np.zeros_like(values)
    residual = sweep(values, 1.0) - values
    direction, length = residual.copy(), float((precisions * residual**2).sum())
    enough = max(_CLOSE**2 * length, _ROUNDING**2 * float((precisions * values**2).sum()))
    for _ in range(_STEPS):
        if length <= enough:
            break
        left = direction - sweep(direction, 0.0)
        step = length / float((precisions * direction * left).sum())
        moved += step * direction
        residual -= step * left
        before, length = length, float((precisions * residual**2).sum())
        direction = residual + length / before * direction
    return values + moved
