"""What annealed rounds open with, and the tables that they choose among.

They open with tables of single attributes, and with small tables that everybody asks for. They choose among tables
that are not mostly noise: a table of three attributes costs one look, as a pair does, and a budget that is small beside
its cells learns nothing from it. Wide tables then only stand in the way of others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat

import numpy as np

from hedgerow.algorithms.mwem.settings import MWEMSettings, annealed_rounds, candidates_of
from hedgerow.algorithms.shared import expected_noise
from hedgerow.algorithms.strategies.candidates import QueryWeights, closure
from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.privacy import Budget, Regime, noise_of
from hedgerow.queries import Marginal, Measurable, NoiseKind, Workload

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
    wide = [scope for scope in QueryWeights(workload).tables if len(domain.base(scope)) > _PAIR]
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
    shares = (QueryWeights(workload).alone(names) * alone.lengths) ** (1.0 / 2.0 if pure else 2.0 / 3.0)
    shares = np.maximum(shares, _FIRST_LEAST * shares.mean())
    noise = float(np.mean(0.5 * expected_noise(alone, budget, each, kind))) / total
    needed = equal.sum() * (noise / _FIRST_NOISE) ** (1.0 if pure else 2.0)
    return np.asarray(shares / shares.sum() * max(equal.sum(), min(needed, _FIRST_MOST * left)))


_SMALL = 256
"""Cells of the largest table that is measured before rounds adapt, whatever it may show."""

_MOST_SMALL = 512
"""Most tables of a workload that small ones are measured of: of more, each would get next to nothing."""

_SMALL_SHARE = 0.05
"""Largest share of what is left that goes to all of these."""

_FEWER_CELLS = -0.25
"""Power of the cells that charges of small tables are proportional to: people ask for the smallest ones most."""

_OF_LEVELS = 0.25
"""Charge of a table that stands over coarser levels for one that has more cells, beside others."""

_TELLING = 0.25
"""Largest noise of such a table, as total variation distance: beyond that its intervals would say little."""


def small_tables(
    workload: Workload, budget: Budget, amount: float, total: float, kind: NoiseKind | None = None
) -> list[tuple[Measurable, float]]:
    """Small tables of a workload that are measured before rounds adapt, with their charges.

    Rounds choose by the L1 error of whole tables, which one of four cells never wins; so what everybody asks for would
    have no interval. Of a larger table one over coarser levels of its widest attributes is measured. All of them
    together take a small share of the budget, and less where the noise of a count would be below half the root of the
    records, which samples of as many records have. A table that would be mostly noise is made coarser, or left out.
    None is measured of a workload of more than 512 tables.

    Args:
        workload: Queries that the release should answer well.
        budget: Budget of the run; its regime and neighbours matter.
        amount: Charge of everything that is still to be measured.
        total: Number of records (noisy), in counts.
        kind: Shape of the noise; the regime's own by default.

    Example:
        >>> from hedgerow import Domain, IntegerRange, ZCDP
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("smokes", 0, 1), IntegerRange("age", 0, 200)))
        >>> [(target.text, round(charge, 6)) for target, charge in small_tables(
        ...     Workload.marginals(domain, 2), ZCDP(0.01), 0.01, 10_000.0)]
        [('sex * smokes', 0.000382), ('sex * age.15', 5.9e-05), ('smokes * age.15', 5.9e-05)]
    """
    domain, pure = workload.domain, budget.regime is Regime.PURE
    worth = {scope: each for scope, each in QueryWeights(workload).tables.items() if len(domain.base(scope)) > 1}
    if len(worth) > _MOST_SMALL:
        return []
    least = _FIRST_LEAST * sum(worth.values()) / max(1, len(worth))
    weights = dict[Clique, float]()
    for scope, each in worth.items():
        coarse = coarsened(domain, scope, _SMALL)
        if coarse:
            share = max(each, least) ** (0.5 if pure else 2.0 / 3.0) * (1.0 if coarse == scope else _OF_LEVELS)
            weights[coarse] = max(weights.get(coarse, 0.0), share)
    while weights:
        sizes = np.array([math.prod(domain.shape_of(scope)) for scope in weights])
        shares = np.array(list(weights.values())) * sizes**_FEWER_CELLS
        charges = _SMALL_SHARE * amount * shares / shares.sum()
        place = int(sizes.argmax())
        largest = list(weights)[place]
        noise = noise_of(Marginal(domain, largest), budget, float(charges[place]), kind)
        if 0.5 * noise.expected_abs * sizes[place] <= _TELLING * total:
            targets = [Marginal(domain, scope) for scope in weights]
            stds = [noise_of(*each).std for each in zip(targets, repeat(budget), charges.tolist(), repeat(kind))]
            enough = (float(np.mean(stds)) / (0.5 * math.sqrt(total))) ** (1.0 if pure else 2.0)
            return list(zip(targets, (min(1.0, max(_FIRST_LEAST, enough)) * charges).tolist(), strict=True))
        share = weights.pop(largest) * (_OF_LEVELS if largest in worth else 1.0)
        coarse = coarsened(domain, largest, int(sizes[place]) - 1)
        if coarse:
            weights.setdefault(coarse, share)
    return []


def coarsened(domain: Domain, scope: Clique, most: int) -> Clique:
    """The names of a table, the widest by coarser levels until it has at most so many cells; none if it cannot.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 199)))
        >>> coarsened(domain, ("sex", "age"), 256), coarsened(domain, ("sex", "age"), 16)
        (('sex', 'age.15'), ())
    """
    names = list(scope)
    while math.prod(domain.shape_of(names)) > most:
        wide = [(domain[name].size, place) for place, name in enumerate(names) if domain.coarser(name)]
        if not wide:
            return ()
        _, place = max(wide)
        names[place] = domain.coarser(names[place])[0]
    return domain.clique(names)
