"""A fit to one table of a dense hypothesis: all its steps are taken on the table, and brought back in one pass.

The steps are those of ``steps.implicit``, compiled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.models.core.steps import Phase, can_be
from hedgerow.models.dense import Histogram
from hedgerow.queries import Marginal

_ROOM = 6
"""Rows of scratch that a compiled step needs."""


def fitted_alone(model: Histogram, target: Marginal, phases: Sequence[Phase]) -> bool:
    """Take implicit steps towards a table, in place.

    Args:
        model: The hypothesis.
        target: The only measured table.
        phases: Steps of the kinds "implicit" and "joint", which are the same where nothing else is measured.

    Returns:
        Whether no cell was lost to underflow; if one was, the hypothesis is as before.
    """
    from hedgerow.models.tree_fit.sweep_kernels import implicit_marginal

    clique, cells = target.scope, can_be(target)
    (table,) = model.marginals([clique])
    some = slice(None) if cells is None else cells
    p: Floats = table.reshape(-1)[some] / model.total
    moved, room = np.zeros(p.size), np.empty((_ROOM, p.size))
    for phase in phases:
        values = phase.targets[some]
        for share in phase.shares.tolist():
            if not implicit_marginal(p, values, share * float(phase.rates[0]), moved, room):
                return False
    steps = np.zeros(table.size)
    steps[some] = moved
    model.reweigh(clique, steps.reshape(table.shape))
    return True
