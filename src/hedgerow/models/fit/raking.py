"""Hypotheses that have known totals exactly: iterative proportional fitting (raking).

Each known table in turn multiplies the hypothesis by what it should be over what it is. The limit is the distribution
with these totals of least relative entropy to the hypothesis (Csiszar, "I-divergence geometry of probability
distributions and minimization problems", Annals of Probability 1975). Known tables are public, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Domain, KnownTable, telling
from hedgerow.errors import DomainError
from hedgerow.models.core import Model
from hedgerow.models.core.steps import FLOOR
from hedgerow.queries import Marginal, Measurement, NoiseKind

NEAR = 1e-9
"""Largest distance from a known count that is rounding, as a share of the records."""
_SWEEPS = 2_000
"""Times that all tables are gone through, at most; tables that hang together like a tree need one or two."""


def rake(model: Model, tables: Sequence[KnownTable]) -> float:
    """Bring a hypothesis to known totals, in place; its mass becomes their number of records.

    Args:
        model: The hypothesis: a histogram, or one over trees, which gets cliques for the tables.
        tables: Known tables over its domain that do not contradict each other.

    Returns:
        The largest distance from a known count that is left, as a share of the records.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> from hedgerow.models.dense import Histogram
        >>> model = Histogram(Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1))), 90.0)
        >>> rake(model, [KnownTable(("a",), [70, 30]), KnownTable(("b",), [50, 50])]) < 1e-9
        True
        >>> model.marginals([("a", "b")])[0]
        array([[35., 35.],
               [15., 15.]])
    """
    if not tables:
        return 0.0
    total = float(tables[0].total)
    model.rescale(total)
    wanted = [
        (table.names, table.over(model.domain.shape_of(table.names)).astype(np.float64))
        for table in tables
        if table.names
    ]
    worst = np.inf if wanted else 0.0
    for _ in range(_SWEEPS):
        if worst <= NEAR:
            break
        worst = max(matched(model, *each) for each in wanted) / total
    return float(worst)


def matched(model: Model, names: tuple[str, ...], wanted: Floats) -> float:
    """Multiply the hypothesis so that one table is what it should be; returns by how many records it was off."""
    now = model.marginals([names])[0]
    off = float(np.abs(now - wanted).max())
    if off > 0.0:
        ratio = np.divide(wanted, now, out=np.ones_like(now), where=now > 0.0)
        model.reweigh(names, np.log(np.maximum(ratio, FLOOR)))
    return off


def check_raked(model: Model, domain: Domain) -> None:
    """Bring a hypothesis that has learnt nothing to known totals, or refuse them before anything is spent.

    Args:
        model: The hypothesis, changed in place.
        domain: Its domain.

    Raises:
        DomainError: No records have these totals, as far as the fit tells.
        ModelTooLargeError: A known table does not fit into the hypothesis.
    """
    off = rake(model, telling(domain))
    if off > NEAR:
        worst = max(domain.known, key=lambda table: _distance(model, table))
        cell = int(np.abs(model.marginals([worst.names])[0] - worst.over(domain.shape_of(worst.names))).argmax())
        raise DomainError(
            f"a hypothesis stays {off * worst.total:,.3g} records away from {worst.text}, at cell {cell + 1:,}",
            remedy="the known totals or the rules leave some cell no record but not by themselves: say so by a rule",
        )


def _distance(model: Model, table: KnownTable) -> float:
    if not table.names:
        return 0.0
    return float(np.abs(model.marginals([table.names])[0] - table.over(model.domain.shape_of(table.names))).max())


def as_measurements(domain: Domain, std: float) -> list[Measurement]:
    """Known totals as measurements, for what weighs measurements by their noise.

    Args:
        domain: The domain that holds them.
        std: Standard deviation that they are taken to have, in counts: far below that of any noise.
    """
    return [
        Measurement(Marginal(domain, table.names), table.counts.astype(np.float64), NoiseKind.GAUSSIAN, std)
        for table in telling(domain)
        if table.names
    ]
