"""The opening of annealed rounds: their candidates, and the tables of single attributes before any is selected.

A table of three attributes costs one look, as a pair does, and a budget that is small beside its cells learns nothing
from it. Wide tables then only stand in the way of others: selections are among more candidates, and the weights of
these tell pairs apart less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.algorithms.mwem.settings import MWEMSettings, annealed_rounds, candidates_of
from hedgerow.algorithms.mwem.tables import Asked, closure
from hedgerow.algorithms.shared import expected_noise
from hedgerow.arrays import Floats
from hedgerow.privacy import Budget, Regime
from hedgerow.queries import NoiseKind, Workload

_FIRST_NOISE = 0.02
"""Noise of tables of single attributes, as total variation distance, that is small beside what these do not say."""

_FIRST_LEAST = 1e-3
"""Least share of a table of one attribute, as a part of the mean share: weights may be next to nothing."""

_FIRST_MOST = 0.4
"""Largest share of the budget for these tables."""

_MOSTLY_NOISE = 0.5
"""Mean noise of the wide tables that are asked for, as total variation distance, above which none is measured."""

_PAIR = 2


def annealed_candidates(
    config: MWEMSettings, workload: Workload, budget: Budget, amount: float, total: float
) -> Workload:
    """The candidates of annealed rounds: no wide tables where these would be mostly noise in a round.

    Measured on Adult and columns12 (docs/measurements.md): where the noise was below a quarter, triples left out cost
    2 to 4 % more error; from 0.9 on they saved 3 to 8 %, and more than half of the time. Boxes over more than two
    attributes keep their tables, which have levels.

    Args:
        config: The configuration.
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: Charge of all rounds together, epsilon or rho.
        total: Number of records (noisy), in counts.

    Example:
        >>> from hedgerow import Domain, IntegerRange, ZCDP
        >>> from hedgerow import MWEM
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 7) for name in "abcde"), 3)
        >>> found = [annealed_candidates(MWEM(), workload, ZCDP(rho), rho, 10_000.0) for rho in (1e-3, 1.0)]
        >>> [max(map(len, each.scopes)) for each in found]
        [2, 3]
    """
    below, domain = candidates_of(config, workload), workload.domain
    wide = [scope for scope in Asked(workload).tables if len(domain.base(scope)) > _PAIR]
    boxes = {scope for family in workload.families if family.ordered for scope in family.scopes}
    if below is workload or not wide or not boxes.isdisjoint(wide):
        return below
    charge = (1.0 - config.selecting(annealed=True)) * amount / annealed_rounds(config, workload, budget, amount, total)
    noise = expected_noise(Workload.marginals(domain, cliques=wide), budget, charge, config.noise)
    if 0.5 * float(noise.mean()) <= _MOSTLY_NOISE * total:
        return below
    return closure(workload, levels=True, widest=_PAIR) or closure(workload, widest=_PAIR) or below


def first_charges(
    workload: Workload,
    budget: Budget,
    names: Sequence[str],
    left: float,
    *,
    each: float,
    total: float,
    kind: NoiseKind | None = None,
) -> Floats:
    """The charges of the tables of single attributes, by what they are worth and by their cells.

    They grow until noise of tables is small, or `_FIRST_MOST` of the budget is spent. Shares are those for which the
    sum of the expected errors is least: proportional to (worth * cells)^(2/3), under Laplace noise to the root. None
    is so small that its noise could not be drawn. For ranges alone they are equal.

    Args:
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        names: The attributes.
        left: Charge of everything that is still to be measured.
        each: Charge of one table in a round; they get no less on average.
        total: Number of records (noisy), in counts.
        kind: Shape of the noise; the regime's own by default.

    Returns:
        Shape ``(len(names),)``.

    Example:
        >>> from hedgerow import Domain, IntegerRange, ZCDP
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 15)))
        >>> workload = Workload.marginals(domain, 2)
        >>> first_charges(workload, ZCDP(1.0), domain.names, 1.0, each=0.05, total=10_000.0).round(3)
        array([0.02, 0.08])
    """
    equal = np.full(len(names), min(each, _FIRST_MOST * left / max(1, len(names))))
    if not names or all(family.ordered for family in workload.families):
        return equal
    pure = budget.regime is Regime.PURE
    alone = Workload.marginals(workload.domain, cliques=[(name,) for name in names])
    shares = (Asked(workload).alone(names) * alone.lengths) ** (1.0 / 2.0 if pure else 2.0 / 3.0)
    shares = np.maximum(shares, _FIRST_LEAST * shares.mean())
    noise = float(np.mean(0.5 * expected_noise(alone, budget, each, kind))) / total
    needed = equal.sum() * (noise / _FIRST_NOISE) ** (1.0 if pure else 2.0)
    return np.asarray(shares / shares.sum() * max(equal.sum(), min(needed, _FIRST_MOST * left)))
