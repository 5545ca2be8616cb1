"""Linked tables released from one budget: a table of parents, their children beside them, and what is below these.

The unit of privacy is the parent with all of its children, and with theirs. One that comes or goes changes one record
of the parents' table and at most m of the children's, m times m' of the next, so each table is released under its own
part of the budget, and the parts add up (theory.md section 0): epsilons, rhos or the mu^2 / 2 of Gaussian differential
privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
"""Share of the budget for the parents' table: their noise is smaller, and children need the rest, in equal parts."""

PARENTS_WEIGHT = 8.0
"""Weight of an error in a pair of the parents' own columns, relative to one with a column of the first child."""

_LEAST = 1e-9
"""Share of the budget that is left for the last table, at least."""

SMALL_NOISE = 0.1
"""Expected noise in a table of three children in a row up to which it is measured unasked, as a share of children."""


def release_linked(
    algorithm: Algorithm,
    tables: Sequence[Any],  # CountSources; that name lives in data/, which algorithms do not import
    linked: Linked,
    budget: Budget,
    *,
    share: float | Sequence[float] = PARENTS_SHARE,
    workloads: Sequence[Workload | None] | None = None,
    noise: NoiseSource | None = None,
    progress: ProgressCallback | None = None,
    register: Register | None = None,
    name: str = "",
) -> LinkedRelease:
    """Release linked tables from one budget.

    Args:
        algorithm: Runs once for each table: over the parents, then over the children beside them, and so on.
        tables: The tables, as ``read_linked`` gives them.
        linked: Their description.
        budget: Budget of all together, between tables that differ in one parent with all children.
        share: Share of the parents, the rest is divided equally; or that of each table but the last.
        workloads: Queries that you need to be accurate, for each table, or None for some. By default all pairs of
            columns: those of the parents and the number of children from the parents' table, all others from the
            children's.
        noise: See ``Algorithm.run``.
        progress: See ``Algorithm.run``; called for one run after the other.
        register: See ``Algorithm.run``; charged for each table, the whole in all.
        name: Name of the releases in the register.

    Raises:
        ConfigError: A workload of children, over columns of the second order that are not settled; more tables,
            workloads or shares than are linked, or fewer; or see ``split_budget``, and ``Algorithm.run``, which lists
            all other errors too.

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
    asked = workloads or [None] * len(tables)
    if not len(linked.links) + 1 == len(tables) == len(asked):
        message = f"{len(linked.links) + 1} linked tables, {len(tables)} that were read and {len(asked)} workloads"
        raise ConfigError(message, remedy="give what read_linked gives, and a workload or None for each table")
    if any(link.tentative and each is not None for link, each in zip(linked.links, asked[1:], strict=True)):
        message = "a workload of the children, and it is not settled which of their columns are of the second order"
        raise ConfigError(message, remedy="name the columns, or leave the workload out")
    parts = budgets_of(linked, budget, share)
    if register is not None:  # no part must be refused when the first is spent
        relation = parts[-1].neighbours
        register.check(budget if isinstance(budget, Subsampled) else replace(budget, neighbours=relation))
    run = partial(algorithm.run, noise=noise, progress=progress, register=register, name=name)
    return in_turn(run, tables, linked, asked, parts)


def in_turn(
    run: Callable[[Any, Workload, Budget], Release],
    tables: Sequence[Any],
    linked: Linked,
    workloads: Sequence[Workload | None],
    budgets: Sequence[Budget],
) -> LinkedRelease:
    """Release tables one after the other, each after that of its parents.

    Args:
        run: Releases a table.
        tables: The tables, as ``read_linked`` gives them.
        linked: Their description.
        workloads: See ``release_linked``.
        budgets: Budget of each table; see ``budgets_of``.
    """
    pairs = workloads[0] or all_pairs(linked)
    links, made = [*linked.links], [run(tables[0].over(pairs.domain), pairs, budgets[0])]
    for place, (link, table, budget) in enumerate(zip(linked.links, tables[1:], budgets[1:], strict=True), 1):
        links[place - 1], source = settled(link, table, made[link.above], budget)
        made.append(run(source, workloads[place] or pairs_of_children(links[place - 1]), budget))
    return LinkedRelease.of(made[0], made[1], replace(links[0], more=tuple(links[1:])), made[2:])


def settled(linked: Linked, children: Any, parents: Release, budget: Budget) -> tuple[Linked, Any]:
    """A table of children and its description, where it is settled which columns are of the second order.

    One that is tentatively is if the noise in its table with itself in the two children before is expected to be
    small, were this measured with an equal part of the budget: up to `SMALL_NOISE` of the children in total variation
    distance. How many there are is told by the parents' release, so nothing is looked at that is not released.

    Args:
        linked: Its description.
        children: The table, as ``read_linked`` gives it.
        parents: Release of the table of parents.
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


def budgets_of(linked: Linked, budget: Budget, share: float | Sequence[float] = PARENTS_SHARE) -> list[Budget]:
    """The budgets of the tables, each between tables that differ in one parent of the root.

    Args:
        linked: The tables.
        budget: Budget of all together.
        share: Share of the parents, or of each table but the last.

    Raises:
        ConfigError: There are more shares than tables but the last, or fewer, or they leave nothing for the last; or
            see ``split_budget``.

    Example:
        >>> from hedgerow import Domain, IntegerRange, PureDP
        >>> linked = Linked.of(Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)]), key="k", at_most=2)
        >>> [(part.limit, part.neighbours.records) for part in budgets_of(linked, PureDP(1.0), 0.25)]
        [(0.25, 1), (0.75, 2)]
    """
    below = len(linked.links)
    shares = [*share] if isinstance(share, Sequence) else [share, *[(1.0 - share) / below] * (below - 1)]
    if len(shares) != below:
        raise ConfigError(f"{len(shares)} shares of {below + 1} tables", remedy="give that of each but the last")
    if below > 1 and math.fsum(shares) > 1.0 - _LEAST:  # the last would fail
        raise ConfigError(f"shares of {math.fsum(shares):.12g} together", remedy="leave some of 1 for the last table")
    first, second = split_budget(budget, shares[0])
    parts, left = [first, second], 1.0 - shares[0]
    for each in shares[1:]:
        parts[-1:] = split_budget(parts[-1], each / left)
        left -= each
    relations = (budget.neighbours.between(Persons(linked.key, most)) for most in linked.bounds)
    return [
        replace(part, neighbours=relation if not place else relation.filtered)  # parents may have no child
        for place, (part, relation) in enumerate(zip(parts, relations, strict=True))
    ]


def all_pairs(linked: Linked) -> Workload:
    """All pairs of columns of a parent, the numbers of children among them.

    Pairs with a column of the first child weigh less: what parents have is in the tables of all children too.

    Example:
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> homes, people = Domain([IntegerRange("a", 0, 1)]), Domain([IntegerRange("b", 0, 1)])
        >>> all_pairs(Linked.of(homes, people, key="k", at_most=3, order="b")).spec
        'marginals:a*children @ 8.0; marginals:a*first.b,children*first.b'
    """
    domain, counted = linked.opened, {*linked.counted.names}
    pairs = Workload.marginals(domain, cliques=[*combinations(linked.counted.names, min(2, len(counted)))])
    others = [pair for pair in combinations(domain.names, 2) if not {*pair} <= counted]
    return pairs.weighted(PARENTS_WEIGHT) + Workload.marginals(domain, cliques=others) if others else pairs


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


def default_workloads(linked: Linked) -> list[Workload]:
    """The workload of each table where none is given and no column is of the second order unasked."""
    return [all_pairs(linked), *(pairs_of_children(link.settled(())) for link in linked.links)]
