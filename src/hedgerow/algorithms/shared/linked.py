"""Two linked tables released from one budget: a table of parents, and their children beside them.

The unit of privacy is the parent with all of its children. One that comes or goes changes one record of the parents'
table and at most m of the children's, so each table is released under its own part of the budget, and the parts add
up (theory.md section 0): epsilons, rhos or the mu^2 / 2 of Gaussian differential privacy.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from hedgerow.algorithms.shared.algorithm import Algorithm, ProgressCallback
from hedgerow.domain import Linked
from hedgerow.errors import ConfigError
from hedgerow.privacy import Budget, NoiseSource, Register, Subsampled, noise_of, split_budget
from hedgerow.queries import Marginal, Persons, Workload
from hedgerow.release import LinkedRelease, Release

PARENTS_SHARE = 0.3
"""Share of the budget for the parents' table: their noise is smaller, and children need the rest."""

SMALL_NOISE = 0.1
"""Expected noise in a table of three children in a row up to which it is measured unasked, as a share of children."""


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
        workloads: Queries that you need to be accurate. By default all pairs of columns: those of the parents and the
            number of children from the parents' table, all others from the children's.
        noise: See ``Algorithm.run``.
        progress: See ``Algorithm.run``; called for one run after the other.
        register: See ``Algorithm.run``; charged twice, the whole in all.
        name: Name of the releases in the register.

    Raises:
        ConfigError: A workload of the children, over columns of the second order that are not settled; or see
            ``split_budget``, and ``Algorithm.run``, which lists all other errors too.

    Example:
        >>> import pyarrow as pa
        >>> from hedgerow import MWEM, Domain, IntegerRange, PureDP, SeededNoise, read_linked
        >>> linked = Linked.of(Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)]), key="k", at_most=2)
        >>> homes = pa.table({"k": range(100), "a": [0, 1] * 50})
        >>> tables = read_linked(homes, pa.table({"k": range(100), "b": [0, 1] * 50}), linked)
        >>> both = release_linked(MWEM(), tables, linked, PureDP(20.0), noise=SeededNoise(0))
        >>> both.parents.budget.limit + both.children.budget.limit
        20.0
        >>> [len(records) for records in both.sample(10, seed=0)]
        [10, 10]
    """
    if linked.tentative and workloads[1] is not None:
        message = "a workload of the children, and it is not settled which of their columns are of the second order"
        raise ConfigError(message, remedy="name the columns, or leave the workload out")
    parts = budgets_of(linked, budget, share)
    if register is not None:  # the second part must not be refused when the first is spent
        relation = parts[1].neighbours
        register.check(budget if isinstance(budget, Subsampled) else replace(budget, neighbours=relation))
    parents, children = tables
    run = partial(algorithm.run, noise=noise, progress=progress, register=register, name=name)
    homes = run(parents, workloads[0] or all_pairs(linked), parts[0])
    linked, children = settled(linked, children, homes, parts[1])
    return LinkedRelease.of(homes, run(children, workloads[1] or pairs_of_children(linked), parts[1]), linked)


def settled(linked: Linked, children: Any, parents: Release, budget: Budget) -> tuple[Linked, Any]:
    """Two linked tables, and that of the children, where it is settled which columns are of the second order.

    One that is tentatively is if the noise in its table with itself in the two children before is expected to be
    small, were this measured with an equal part of the budget: up to `SMALL_NOISE` of the children in total variation
    distance. How many there are is told by the parents' release, so nothing is looked at that is not released.

    Args:
        linked: The two tables.
        children: The second of them, as ``read_linked`` gives it.
        parents: Release of the first one.
        budget: Budget of the children.
    """
    if not linked.tentative:
        return linked, children
    numbers = parents.model.marginals([(linked.number,)])[0]
    total = max(1.0, float(numbers @ np.arange(len(numbers))))
    kept = [
        runs[-1] for runs in linked.runs_of_three if _noise_in(linked.settled(runs[-1:]), budget) <= SMALL_NOISE * total
    ]
    found = linked.settled(kept)
    return found, children.over(found.joined)


def _noise_in(linked: Linked, budget: Budget) -> float:
    """Total variation distance, in counts, that noise is expected to make in the one table of a run of three."""
    (runs,) = linked.runs_of_three
    table = Marginal(linked.joined, runs)
    part = budget.limit / len(pairs_of_children(linked).scopes)
    return 0.5 * table.size * noise_of(table, budget, part, None).expected_abs


def budgets_of(linked: Linked, budget: Budget, share: float = PARENTS_SHARE) -> tuple[Budget, Budget]:
    """The budgets of the two tables, each between tables that differ in one parent.

    Args:
        linked: The two tables.
        budget: Budget of both together.
        share: Share of the parents.

    Raises:
        ConfigError: See ``split_budget``.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> linked = Linked.of(Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)]), key="k", at_most=2)
        >>> [(part.limit, part.neighbours.records) for part in budgets_of(linked, PureDP(1.0), 0.25)]
        [(0.25, 1), (0.75, 2)]
    """
    first, second = split_budget(budget, share)
    one, many = (budget.neighbours.between(Persons(linked.key, most)) for most in (1, linked.at_most))
    return replace(first, neighbours=one), replace(second, neighbours=many.filtered)  # parents may have no child


def all_pairs(linked: Linked) -> Workload:
    """All pairs of columns of a parent, the number of children among them."""
    return Workload.marginals(linked.counted, min(2, len(linked.counted)))


def pairs_of_children(linked: Linked) -> Workload:
    """All pairs of columns of a child and its parent, but those of the parents alone, which are released with these.

    A column of the second order has one table with itself in the two children before, and no other with the first of
    these: pairs would tell little of it, and their noise costs transitions more (theory.md section 15.3).

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> homes, people = Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)])
        >>> linked = Linked.of(homes, people, key="k", at_most=3)
        >>> pairs_of_children(linked).spec
        'marginals:a*b,children*b'
    """
    parents, runs = {*linked.counted.names}, linked.runs_of_three
    names = [name for name in linked.joined.names if name not in {three[0] for three in runs}]
    pairs = [pair for pair in combinations(names, 2) if not {*pair} <= parents]
    return Workload.marginals(linked.joined, cliques=[*pairs, *runs])
