"""What no fixed Gaussian measurements beat: each component of marginals measured alone (ResidualPlanner)."""

from __future__ import annotations

import numpy as np

from hedgerow.algorithms import Strategy
from hedgerow.algorithms.strategies import components, sub_strategy, tables
from hedgerow.privacy import ZCDP
from hedgerow.queries import Workload


def residual_error(workload: Workload, budget: ZCDP) -> float:
    """The least mean error of candidates, in counts, that measurements allow the best unbiased estimate.

    No matrix mechanism does better (theory.md section 13). Measurements of a component are marginals without those
    below them; where attributes are not binary they are no measurements of this package.

    Args:
        workload: Marginals, cells or parities.
        budget: Budget between tables of which one has a record more.
    """
    goal = sub_strategy.Goal(workload, budget, budget.limit)
    closure, queries, energies = tables.energies_of(goal, range(len(workload.families)))
    needed = np.unique(energies.indices).astype(np.int64)
    roots = np.sqrt(closure.dimensions[needed])
    estimate = components.Components(components.single(len(closure.dimensions), needed), energies)
    measured = sub_strategy.Measurements(lambda _: None, roots, roots)
    residuals = sub_strategy.SubStrategy.divided("residuals", goal, queries, measured, estimate)
    return Strategy.of([residuals], goal, goal.charge).mean_error
