"""Measurements that are stepped together, so that fewer passes over the cells are needed.

All measurements whose scopes lie in a small set of attributes can be stepped on the marginal over this set: their
factors move it exactly as they move the whole. One pass takes the marginal, any number of steps are made there, and
one pass, which takes the marginal of the next group too, brings the factors back. The steps are the same.

A fit to one table of a dense hypothesis takes all its steps on the table, and brings them back in one pass. The steps
are those of ``steps.implicit``, compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain
from hedgerow.models.core import Model
from hedgerow.models.core.steps import Phase, can_be
from hedgerow.models.dense import Histogram
from hedgerow.queries import Conjunction, Marginal, Measurement

LARGE_CELLS = 2**18
"""Smaller models are passed over so fast that groups do not pay."""
TABLE_CELLS = 2**18
"""Largest table of a group, as it is spread over the rows of the model; it should stay in the cache."""
_PASSES_OF_A_SLICE = 4.0
"""Time of a step over all cells by slices, in passes: two, by one thread instead of two."""


@dataclass(eq=False)
class Group:
    """Some measurements and the attributes whose marginal they are stepped on.

    Attributes:
        members: Positions of the measurements, in the order of their steps.
        scope: Attributes, levels among them, that tell all their scopes; None to step on the model itself.
    """

    members: list[int]
    scope: Clique | None = None
    _marginal: Histogram | None = field(default=None, repr=False)

    def run(self, model: Model, steps: Callable[[Model], None]) -> None:
        """Take steps on the marginal of the group and bring them back to the model."""
        if self.scope is None or not isinstance(model, Histogram):
            steps(model)
            return
        (table,) = model.marginals([self.scope])
        if self._marginal is None:
            self._marginal = Histogram(model.domain.project(self.scope), model.total, table)
        else:
            self._marginal.restart(table)
        steps(self._marginal)
        factors = self._marginal.potentials()
        all_told = self._marginal.domain.clique(name for scope in factors.scopes for name in scope) == self.scope
        model.reweigh_all(factors, self._marginal.log_factors() if all_told else None)


def grouped(model: Model, measurements: Sequence[Measurement], *, ordered: bool) -> list[Group]:
    """Cut measurements into groups.

    Args:
        model: The model that takes the steps.
        measurements: Measurements over the domain of the model.
        ordered: Whether the order of the steps must be kept.
    """
    if not isinstance(model, Histogram) or model.domain.size < LARGE_CELLS:
        return [Group(list(range(len(measurements))))]
    scopes = [measured.target.scope for measured in measurements]
    groups = _consecutive(model, scopes) if ordered else _covering(model, scopes)
    for group in groups:
        passes = _PASSES_OF_A_SLICE * sum(_share(measurements[i]) for i in group.members)
        if len(group.members) == 1 or not group.scope or passes < 1.0:
            group.scope = None  # steps over the model itself, by slices, are as fast
    return groups


def _share(measured: Measurement) -> float:
    """Share of the cells that a step touches."""
    query = measured.target
    if not isinstance(query, Conjunction):
        return 1.0
    sizes = zip(query.codes, query.domain.shape_of(query.scope), strict=True)
    return math.prod(len(codes) / size for codes, size in sizes)


def _fits(model: Histogram, names: set[str]) -> bool:
    cells = model.table_cells(_joint(model.domain, names))
    return cells <= min(TABLE_CELLS, model.domain.size // 8)


def _joint(domain: Domain, names: Iterable[str]) -> Clique:
    """The variables on whose marginal measurements over some others can be stepped: attributes where levels nest."""
    clique = domain.clique(names)
    return clique if domain.reduced(clique) == clique else domain.base(clique)


def _consecutive(model: Histogram, scopes: Sequence[Clique]) -> list[Group]:
    groups: list[Group] = []
    names: set[str] = set()
    for i, scope in enumerate(scopes):
        if groups and _fits(model, names | set(scope)):
            groups[-1].members.append(i)
            names |= set(scope)
        else:
            groups.append(Group([i]))
            names = set(scope)
        groups[-1].scope = _joint(model.domain, names)
    return groups


def _covering(model: Histogram, scopes: Sequence[Clique]) -> list[Group]:
    """Greedy: grow the scope of the first measurement left by the attributes that cover most others."""
    left = list(range(len(scopes)))
    groups: list[Group] = []
    while left:
        names = _grown(model, set(scopes[left[0]]), [set(scopes[i]) for i in left])
        members = [i for i in left if names.issuperset(scopes[i])]
        used = _joint(model.domain, (name for i in members for name in scopes[i]))
        groups.append(Group(members, used))
        left = [i for i in left if not names.issuperset(scopes[i])]
    return groups


def _grown(model: Histogram, held: set[str], scopes: Sequence[set[str]]) -> set[str]:
    def worth(names: set[str]) -> tuple[int, int]:
        """Measurements covered; then how much of them is, so that later attributes cover more."""
        return sum(scope <= names for scope in scopes), sum(len(scope & names) for scope in scopes)

    candidates = model.domain.clique({*model.domain.names, *chain.from_iterable(scopes)})
    while True:
        wider = [held | {name} for name in candidates if name not in held and _fits(model, held | {name})]
        if not wider:
            return held
        held = max(wider, key=worth)


_ROOM = 6
"""Rows of scratch that a compiled step needs."""


def fitted_alone(model: Histogram, target: Marginal, phases: Sequence[Phase]) -> bool:
    """Take implicit steps towards a table, in place.

    Args:
        model: The hypothesis.
        target: The only measured table.
        phases: Steps of the kinds "implicit" and "joint", which are the same where nothing else is measured.

    Returns:
        Whether no cell was lost to underflow; if one was, the hypothesis is as before.
    """
    from hedgerow.models.tree_fit.sweep_kernels import implicit_marginal

    clique, cells = target.scope, can_be(target)
    (table,) = model.marginals([clique])
    some = slice(None) if cells is None else cells
    p: Floats = table.reshape(-1)[some] / model.total
    moved, room = np.zeros(p.size), np.empty((_ROOM, p.size))
    for phase in phases:
        values = phase.targets[some]
        for share in phase.shares.tolist():
            if not implicit_marginal(p, values, share * float(phase.rates[0]), moved, room):
                return False
    steps = np.zeros(table.size)
    steps[some] = moved
    model.reweigh(clique, steps.reshape(table.shape))
    return True
