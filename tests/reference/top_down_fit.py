"""The slow, obvious division of counts among children: one parent after the other, by scipy's omega."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import wrightomega

from hedgerow.arrays import Floats, Ints


def divided(
    parents: Ints, sums: Floats, means: Floats, values: Floats, variances: Floats, dispersions: Floats
) -> Floats:
    """The counts that minimise ``sum of (p ln(p / m) - p) / g + (p - y)**2 / (2 v)`` with the sums of their parents.

    Args:
        parents: The parent of each child.
        sums: Counts of the parents.
        means: m, of which only the proportions among the children of a parent count.
        values: y.
        variances: v.
        dispersions: g.
    """
    found = np.zeros(len(means))
    for parent, wanted in enumerate(sums.tolist()):
        mine = (parents == parent) & (means > 0.0)
        if wanted <= 0.0 or not mine.any():
            continue
        m, y, v, g = means[mine] * wanted / means[mine].sum(), values[mine], variances[mine], dispersions[mine]
        g = np.clip(g, 1e-9, np.maximum(wanted - m, 1e-9))

        def counts(t: float, m: Floats = m, y: Floats = y, v: Floats = v, g: Floats = g) -> Floats:
            return np.asarray(wrightomega(np.log(m * g / v) + g * y / v - g * t) * v / g)

        reach = 1.0
        while counts(-reach).sum() < wanted or counts(reach).sum() > wanted:
            reach *= 2.0
        found[mine] = counts(brentq(lambda t, f=counts, w=wanted: f(t).sum() - w, -reach, reach, xtol=1e-13))
    return found


def on_simplex(values: Floats, total: float) -> Floats:
    """The closest counts to some values, none negative, with a sum."""
    shift = brentq(lambda t: np.maximum(values - t, 0.0).sum() - total, values.min() - total, values.max())
    return np.maximum(values - shift, 0.0)
