"""Strategies for a workload: marginals, parities, levels, cells, or each query alone; none looks at data.

| strategy | measured | for |
|---|---|---|
| marginals | marginals of what queries look at, and all below them | all but explicit queries, together |
| parities | each parity that they are made of | the same, where all attributes are binary |
| levels | an attribute at all its levels; two attributes at all mixes of them | ranges of one or two attributes |
| cells | one table of everything | every family of whole attributes, while the table is small |
| each | every query alone | ranges, conditions, explicit queries |
"""

from __future__ import annotations

import math

from hedgerow.algorithms.shared import check_choice
from hedgerow.algorithms.strategies.level_strategies import from_levels, from_mixes
from hedgerow.algorithms.strategies.singly import each_alone, from_cells
from hedgerow.algorithms.strategies.strategy import Strategy
from hedgerow.algorithms.strategies.sub_strategy import Aim, Goal, SubStrategy
from hedgerow.algorithms.strategies.tables import are_tables, from_tables
from hedgerow.errors import QueryError
from hedgerow.privacy import Budget
from hedgerow.queries import Boxes, Workload

_LARGEST_LINE = 1 << 22
"""Most cells of boxes that are answered from levels: all are held."""
_FROM_LEVELS = 2
"""Most attributes of boxes that are answered from levels."""


def strategies(
    workload: Workload, budget: Budget, charge: float | None = None, *, aim: Aim = "mean", total: float = math.inf
) -> list[Strategy]:
    """All strategies that fit a workload, the best first: fixed measurements, and errors in closed form.

    Of several families some may be measured on their own, each in the way that is best for it; what they tell about
    others is then left out.

    Args:
        workload: Queries that should be answered well.
        budget: Budget of the run.
        charge: epsilon, rho or mu^2/2 for all measurements together; the whole budget unless given.
        aim: Error that is to be small: the ``"mean"`` of the candidates, weighted; the sum of ``"squares"`` of the
            errors of all queries; or the ``"largest"`` of a candidate.
        total: Number of records (noisy) for which the errors of a fit are predicted, which knows that counts are not
            negative and associations mostly weak; unless it is given, errors are those of the best unbiased estimate.

    Raises:
        ConfigError: The aim is unknown, or the charge so small that the noise cannot be drawn.
        QueryError: A query depends on no record, or a family does not say on which lattice its answers lie.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> workload = Workload.prefixes(Domain((IntegerRange("income", 0, 255),)), "income")
        >>> [(each.name, round(each.mean_error, 1)) for each in strategies(workload, PureDP(1.0))]
        [('levels', 6.7), ('cells', 11.6), ('marginals', 11.6), ('each', 256.0)]
        >>> [(step.target.text, round(step.charge, 2)) for step in strategies(workload, PureDP(1.0))[0].steps()]
        [('income', 0.43), ('income.16', 0.57)]
    """
    check_choice("aim", aim, Aim)
    amount = budget.limit if charge is None else charge
    goal = Goal(workload, budget, amount, aim, total)
    groups = _groups(goal)
    found = [[sub] for sub in [*from_cells(goal), *_together(goal)]]
    if len(groups) == 1:
        found += [[sub] for sub in groups[0]]
    else:
        found.append([min(group, key=lambda sub: sub.aimed(goal, amount)) for group in groups])
    return sorted((Strategy.of(sub_strategies, goal, amount) for sub_strategies in found), key=lambda each: each.aimed)


def _together(goal: Goal) -> list[SubStrategy]:
    """All families from the same marginals or parities, if some are boxes or conditions."""
    families = goal.workload.families
    if all(map(are_tables, families)):
        return []
    try:
        return from_tables(goal, range(len(families)))
    except QueryError:
        return []


def _groups(goal: Goal) -> list[list[SubStrategy]]:
    """Families that are answered together, or alone, each group with all its ways."""
    families = list(enumerate(goal.workload.families))
    together = [number for number, family in families if are_tables(family)]
    try:
        tables = [from_tables(goal, together)] if together else []
    except QueryError:  # too many components, or levels with uneven blocks: no closed form
        tables, together = [], []
    return tables + [_of_family(goal, number) for number, _ in families if number not in together]


def _of_family(goal: Goal, number: int) -> list[SubStrategy]:
    """Ways to answer a family that has no components, by itself."""
    family, alone = goal.workload.families[number], each_alone(goal, number)
    cells = goal.workload.domain.cells(family.scopes[0])
    if isinstance(family, Boxes) and len(family.clique) <= _FROM_LEVELS and cells <= _LARGEST_LINE:
        build = from_levels if len(family.clique) == 1 else from_mixes
        return [build(goal, number, family), alone]
    return [alone]
