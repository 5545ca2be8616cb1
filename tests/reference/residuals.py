"""What no fixed Gaussian measurements beat: each component of marginals measured alone (ResidualPlanner)."""

from __future__ import annotations

import numpy as np

from hedgerow.algorithms import Strategy
from hedgerow.algorithms.strategies.components import Components, single
from hedgerow.algorithms.strategies.sub_strategy import Goal, Measurements, SubStrategy
from hedgerow.algorithms.strategies.tables import energies_of
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
    goal = Goal(workload, budget, budget.limit)
    closure, queries, energies = energies_of(goal, range(len(workload.families)))
    needed = np.unique(energies.indices).astype(np.int64)
    roots = np.sqrt(closure.dimensions[needed])
    estimate = Components(single(len(closure.dimensions), needed), energies)
    sub_strategy = SubStrategy.divided("residuals", goal, queries, Measurements(lambda _: None, roots, roots), estimate)
    return Strategy.of([sub_strategy], goal, goal.charge).mean_error
