"""The nearest tables without negative counts that agree wherever they overlap.

Tables that agree are made of the same parts; that no cell is negative is asked of each table by itself. So they need
not be the tables of any distribution: they are *locally* consistent (McKenna, Pradhan, Sheldon and Miklau, "Relaxed
Marginal Consistency for Differentially Private Query Answering", NeurIPS 2021). What is nearest in units of the noise
is found by alternating directions (Boyd, Parikh, Chu, Peleato and Eckstein, "Distributed Optimization and Statistical
Learning via the Alternating Direction Method of Multipliers", 2011, section 5): parts have no unknowns in common but
through the cells, so that each step is a mean of a part over its tables, and a cut of the cells at 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Bools, Floats
from hedgerow.models.fit.residual_basis import Stack

_STEPS = 400
"""Most steps."""
_SWEEPS = 10
"""Steps between two looks at how far they have come."""
_STIFFER = 1.2
"""Factor of the price of disagreement after each look: sparse tables would come nowhere near in so many steps."""
_CLOSE = 1e-4
"""Share of the inner tables at which they stop."""


def nearest(
    stacks: Sequence[Stack],
    parts: Floats,
    precisions: Floats,
    inner: Floats,
    possible: Sequence[Bools | None],
    *,
    other: Floats | None = None,
    close: float = _CLOSE,
    steps: int = _STEPS,
) -> Floats:
    """Components of the nearest tables that are nowhere negative, and vanish where no record can be.

    Args:
        stacks: The tables.
        parts: Estimates, shape ``(size,)``; the first, the sum of all cells, stays as it is.
        precisions: 1 over their variances, positive.
        inner: Components of tables that are positive wherever records can be; in the end so much of them is mixed in
            that no cell is negative.
        other: Components of tables that are nowhere negative, which are mixed in instead where that ends nearer.
        possible: For each stack the cells that records can have, shape ``(tables, cells)``; None for all.
        close: Share of the inner tables at which to stop.
        steps: Most steps.
    """
    size = parts.size
    held = sum(stack.sums(stack.tables(np.ones(size)), size) for stack in stacks)  # each table's factors, squared
    held = np.maximum(np.asarray(held), 1e-300)
    scale = float(np.exp(np.mean(np.log(precisions[1:] / held[1:])))) if size > 1 else 1.0
    inside = [stack.tables(inner) for stack in stacks]
    found = parts.copy()
    split = [_cut(stack.tables(found), cells) for stack, cells in zip(stacks, possible, strict=True)]
    debts = [np.zeros_like(each) for each in split]
    share = _share(stacks, found, inside, possible)
    for step in range(1, steps + 1):
        if share <= close:
            break
        pulled = sum(s.sums(z - u, size) for s, z, u in zip(stacks, split, debts, strict=True))
        found = (precisions * parts + scale * np.asarray(pulled)) / (precisions + scale * held)
        found[0] = parts[0]
        for number, stack in enumerate(stacks):
            tables = stack.tables(found)
            split[number] = _cut(tables + debts[number], possible[number])
            debts[number] += tables - split[number]
        if step % _SWEEPS == 0:
            share = _share(stacks, found, inside, possible)
            scale *= _STIFFER
            debts = [each / _STIFFER for each in debts]
    mixed = [_mixed(stacks, found, each, possible) for each in (inner, other) if each is not None]
    return min(mixed, key=lambda each: float((precisions * (each - parts) ** 2)[1:].sum()))


def _mixed(stacks: Sequence[Stack], parts: Floats, inner: Floats, possible: Sequence[Bools | None]) -> Floats:
    share = _share(stacks, parts, [stack.tables(inner) for stack in stacks], possible)
    return np.asarray((1.0 - share) * parts + share * inner)


def _cut(tables: Floats, possible: Bools | None) -> Floats:
    positive = np.maximum(tables, 0.0)
    return positive if possible is None else np.where(possible, positive, 0.0)


def _share(stacks: Sequence[Stack], parts: Floats, inside: Sequence[Floats], possible: Sequence[Bools | None]) -> float:
    """The least share of the inner tables beside which no cell is negative."""
    most = 0.0
    for stack, inner, cells in zip(stacks, inside, possible, strict=True):
        tables = stack.tables(parts)
        missing = np.maximum(-tables, 0.0) if cells is None else np.where(cells, np.maximum(-tables, 0.0), 0.0)
        ratio = np.divide(missing, missing + inner, out=np.zeros_like(missing), where=missing > 0.0)
        most = max(most, float(ratio.max(initial=0.0)))
    return most
