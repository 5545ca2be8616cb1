"""Two linked tables released from one budget: a table of parents, and their children beside them.

The unit of privacy is the parent with all of its children. One that comes or goes changes one record of the parents'
table and at most m of the children's, so each table is released under its own part of the budget, and the parts add
up (theory.md section 0): epsilons, rhos or the mu^2 / 2 of Gaussian differential privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

from hedgerow.algorithms.shared.algorithm import Algorithm, ProgressCallback
from hedgerow.domain import Linked
from hedgerow.errors import ConfigError
from hedgerow.privacy import GDP, ZCDP, Budget, NoiseSource, PureDP, Regime, Register, Subsampled
from hedgerow.queries import Workload
from hedgerow.release import LinkedRelease

PARENTS_SHARE = 0.3
"""Share of the budget for the parents' table: their noise is smaller, and children need the rest."""


def release_linked(
    algorithm: Algorithm,
    tables: tuple[Any, Any],  # two CountSources; that name lives in data/, which algorithms do not import
    linked: Linked,
    budget: Budget,
    *,
    share: float = PARENTS_SHARE,
    workloads: tuple[Workload | None, Workload | None] = (None, None),
    noise: NoiseSource | None = None,
    progress: ProgressCallback | None = None,
    register: Register | None = None,
    name: str = "",
) -> LinkedRelease:
    """Release two linked tables from one budget.

    Args:
        algorithm: Runs twice: over the parents, then over the children beside them.
        tables: The two tables, as ``read_linked`` gives them.
        linked: Their description.
        budget: Budget of both together, between tables that differ in one parent with all children.
        share: Share of the parents.
        workloads: Queries that should come out right. By default all pairs of columns: those of the parents and the
            number of children from the parents' table, all others from the children's.
        noise: See ``Algorithm.run``.
        progress: See ``Algorithm.run``; called for one run after the other.
        register: See ``Algorithm.run``; charged twice, the whole in all.
        name: Name of the releases in the register.

    Raises:
        ConfigError: See ``parts_of``, and ``Algorithm.run``, which lists all other errors too.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow import MWEM, Domain, IntegerRange, SeededNoise, read_linked
        >>> linked = Linked.of(Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)]), key="k", at_most=2)
        >>> homes = pa.table({"k": range(100), "a": [0, 1] * 50})
        >>> tables = read_linked(homes, pa.table({"k": range(100), "b": [0, 1] * 50}), linked)
        >>> both = release_linked(MWEM(), tables, linked, PureDP(20.0), noise=SeededNoise(0))
        >>> both.parents.budget.limit + both.children.budget.limit
        20.0
        >>> [len(records) for records in both.sample(10, seed=0)]
        [10, 10]
    """
    asked = zip(workloads, (all_pairs(linked), pairs_of_children(linked)), strict=True)
    homes, people = (
        algorithm.run(table, workload or pairs, part, noise=noise, progress=progress, register=register, name=name)
        for table, (workload, pairs), part in zip(tables, asked, parts_of(budget, share), strict=True)
    )
    return LinkedRelease.of(homes, people, linked)


def all_pairs(linked: Linked) -> Workload:
    """All pairs of columns of a parent, the number of children among them."""
    return Workload.marginals(linked.counted, min(2, len(linked.counted)))


def pairs_of_children(linked: Linked) -> Workload:
    """All pairs of columns of a child and its parent, but those of the parents alone, which are released with these.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> homes, people = Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)])
        >>> linked = Linked.of(homes, people, key="k", at_most=3)
        >>> pairs_of_children(linked).spec
        'marginals:a*b,children*b'
    """
    pairs = combinations(linked.joined.names, 2)
    return Workload.marginals(linked.joined, cliques=[pair for pair in pairs if not {*pair} <= {*linked.counted.names}])


def parts_of(budget: Budget, share: float) -> tuple[Budget, Budget]:
    """Two budgets that add up to one, as it is counted.

    Args:
        budget: The whole; an (epsilon, delta) budget is divided as the rho, mu^2 / 2 or epsilon that it stands for.
        share: Share of the first, between 0 and 1.

    Raises:
        ConfigError: The share is not between 0 and 1, or the budget is for a sample of the records.

    Example:
        >>> [part.limit for part in parts_of(PureDP(1.0), 0.25)]
        [0.25, 0.75]
    """
    if not 0.0 < share < 1.0:
        raise ConfigError(f"a share of {share!r}", remedy="give a number between 0 and 1")
    if isinstance(budget, Subsampled):
        raise ConfigError("a budget for a sample of the records is not divided", remedy="give one for all records")
    first = budget.limit * share
    second = budget.limit - first
    if Fraction(first) + Fraction(second) > Fraction(budget.limit):
        second = math.nextafter(second, 0.0)
    return _part(budget, first), _part(budget, second)


def _part(budget: Budget, amount: float) -> Budget:
    match budget.regime:
        case Regime.PURE:
            return PureDP(amount, budget.neighbours)
        case Regime.ZCDP:
            return ZCDP(amount, budget.neighbours)
        case Regime.GDP:
            return GDP(math.nextafter(math.sqrt(2.0 * amount), 0.0), budget.neighbours)
