"""Answers that are calibrated to public totals of the population (theory.md section 22.1).

Records with weights stand for a population, of which an office has published totals K over some columns. What the
weights that count add up to there, B, is less where weights are capped, and noise is added to it. The hypothesis is
raked to K after the fit. Its answer A(q) to a question q is not one of the private table, so it has another interval:
for a function g of the columns of K, as near to q as the hypothesis tells,

    T(q) = g.K + B(q - g)

is the estimate that the private table's weights give once they are calibrated to K (the difference estimator of
surveys; with g the regression of q on the cells of K their regression estimator). It is a public number and a
question to the private table, whose interval follows from the measurements like that of any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import (
    Domain,
    KnownTable,
    places_in,
    possible_cells,
    shared_names,
    spread_over,
    summed_known,
    telling,
)
from hedgerow.models import Model, Overlay, rake
from hedgerow.queries import LATTICE_BITS, Explicit, LinearQuery, Marginal, Measurement

_WIDEST, _LARGEST = 6, 1 << 16
"""Columns of a question with those of the totals, and cells of their table: those that `unbiased` splits."""
_SWEEPS = 50
"""Times that all totals are gone through, at most; one is enough where no two of them overlap."""


def raked_to(model: Model, domain: Domain) -> Model:
    """A hypothesis that has the domain's totals of the population exactly, made from one of the weights that count.

    Args:
        model: The hypothesis, which stays as it is. Where it is a tree with tables beside it, the tree is raked alone.
        domain: Its domain, which holds totals of the population.
    """
    twin = model.tree.copy() if isinstance(model, Overlay) else model.copy()
    rake(twin, telling(domain.of_population))
    return twin


def told_totals(domain: Domain, measurements: Iterable[Measurement]) -> list[KnownTable]:
    """Totals of the population over what some measured table tells too, without those that others determine.

    Args:
        domain: The domain, which holds totals of the population.
        measurements: What was measured.
    """
    found = dict[tuple[str, ...], KnownTable]()
    scopes = {each.target.scope for each in measurements if isinstance(each.target, Marginal)}
    for table in telling(domain.of_population):
        for scope in scopes:
            names = shared_names(domain, table.names, scope)
            found.setdefault(names, KnownTable(names, summed_known(domain, table, names), population=True))
    return telling(replace(domain.of_population, known=tuple(found.values())))


@dataclass(frozen=True)
class Calibrated:
    """A question to the calibrated table: a public number, and a question to the weights that count.

    Attributes:
        known: The public number, g.K.
        left: What is asked of the private table beside it, q - g.
        exact: Whether that is nothing, as the totals determine the question.
    """

    known: float
    left: LinearQuery
    exact: bool

    @classmethod
    def of(cls, query: LinearQuery, model: Model, totals: Sequence[KnownTable]) -> Calibrated | None:
        """Find the g of a question: its regression on the cells of the totals, as the hypothesis has them.

        Args:
            query: The question.
            model: The hypothesis, with the totals.
            totals: Totals of the population that measured tables tell too.

        Returns:
            None where the columns of the question, or those of the totals with them, are too many.

        Example:
            >>> from hedgerow.domain import Domain, IntegerRange
            >>> from hedgerow.models import Histogram
            >>> from hedgerow.queries import Conjunction
            >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
            >>> totals = [KnownTable(("a",), [70, 30], population=True)]
            >>> model = Histogram(domain, 100.0)
            >>> found = Calibrated.of(Conjunction.where(domain, {"b": [1]}), model, totals)
            >>> found.known, found.left.values().tolist()
            (50.0, [[-0.5, 0.5], [-0.5, 0.5]])
        """
        domain = query.domain
        scope = domain.base(dict.fromkeys(name for each in (query.scope, *(t.names for t in totals)) for name in each))
        shape = domain.shape_of(scope)
        if len(scope) > _WIDEST or math.prod(shape) > _LARGEST:
            return None
        values = np.broadcast_to(spread_over(domain, query.values(), query.scope, scope), shape)
        left, masses = values.astype(np.float64).reshape(-1), model.marginals([scope])[0].reshape(-1)
        cells = [places_in(domain, scope, table.names).reshape(-1) for table in totals]
        known, moved = 0.0, 1.0
        for _ in range(_SWEEPS):
            if moved < 2.0**-LATTICE_BITS:
                break
            moved = 0.0
            for table, at in zip(totals, cells, strict=True):
                step = _means(left, masses, np.maximum(at, 0), len(table.counts))
                left -= np.where(at >= 0, step[np.maximum(at, 0)], 0.0)
                known += float(step @ table.counts)
                moved = max(moved, float(np.abs(step).max()))
        possible = possible_cells(domain, scope)  # a hypothesis without mass says nothing of what there may be
        exact = not (left if possible is None else left[possible.reshape(-1)]).any()
        return cls(known, Explicit.of(domain, scope, left, query.text), exact)


def _means(values: Floats, masses: Floats, at: Floats, cells: int) -> Floats:
    """Means of values in each cell of a table, on the lattice of values of queries; plain ones where it has no mass."""
    masses = np.where(np.bincount(at, weights=masses, minlength=cells)[at] > 0.0, masses, 1.0)
    held = np.bincount(at, weights=masses, minlength=cells)
    sums = np.bincount(at, weights=values * masses, minlength=cells)
    means = np.divide(sums, held, out=np.zeros(cells), where=held > 0.0)
    return np.asarray(np.round(means * 2.0**LATTICE_BITS) / 2.0**LATTICE_BITS)
