"""The candidates that a run of MWEM may select: a function of public quantities alone.

Beside the marginals of a workload, the marginals below them can be worth measuring: a pair of attributes has few cells,
so its noise is small, and it says something about every triple that contains it. Candidates that would make the
hypothesis too large are left out, by a rule that looks at the domain, at the measurements so far and at the share of
the budget that is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from hedgerow.algorithms.mwem.tables import MOST_BELOW
from hedgerow.arrays import Bools
from hedgerow.domain import Clique
from hedgerow.errors import CandidatesTooLargeError, ConfigError, MarginalTooLargeError
from hedgerow.models import Growth, JunctionTree, has_room, usable_bytes
from hedgerow.models.choice import domain_of_classes, may_be_dense, wants_classes
from hedgerow.models.trees.markov import cells_bytes, check_tree_fits
from hedgerow.privacy import Budget, additive_noise
from hedgerow.queries import Workload

_CELLS_PER_RECORD = 64.0
"""Cells of trees that pay for each record that stands out from the noise of the whole budget."""

_LEAST_CELLS = float(1 << 16)
"""Cells of trees that cost next to nothing."""

_SMALLEST_SHARE = 1.0 / 16.0
"""Part of the largest tree that may be filled before anything is spent."""

_ANSWER_BYTES = 48
"""Per query: exact answers, those of the hypothesis, and what scores are computed with."""


def attributes_of(workload: Workload) -> Clique:
    """The attributes that a workload asks about, each at the finest level that it asks about.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> attributes_of(Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), cliques=["ac"]))
        ('a', 'c')
        >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("code", 0, 2**20 - 1)))
        >>> attributes_of(Workload.parse("marginals:sex*code.65536,code.4096", domain))
        ('sex', 'code.4096')
    """
    axes = workload.scope_axes
    variables = (
        workload.domain.variables if axes.max(initial=-1) >= len(workload.domain) else workload.domain.attributes
    )
    return workload.domain.reduced(variables[place].name for place in np.unique(axes[axes >= 0]).tolist())


def check_answers(workloads: Sequence[Workload]) -> None:
    """Refuse workloads whose answers do not fit into memory, before anything is counted or spent.

    Args:
        workloads: Workloads that a run asks about.

    Raises:
        MarginalTooLargeError: The answers do not fit.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> check_answers([Workload.marginals(Domain((IntegerRange("a", 0, 1),)), 1)])
    """
    required = _ANSWER_BYTES * sum(workload.n_queries for workload in workloads)
    if has_room(required):
        return
    domain, scopes = workloads[0].domain, workloads[0].scopes
    sizes = [math.prod(domain.shape_of(scope)) for scope in scopes]
    largest = max(range(len(scopes)), key=sizes.__getitem__)
    raise MarginalTooLargeError(
        attributes=scopes[largest],
        cells=sizes[largest],
        required_bytes=required,
        available_bytes=usable_bytes(),
        n_marginals=len(scopes),
    )


class Limit:
    """The limit on the size of a hypothesis, and the candidates that it leaves.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
        >>> limit = Limit(Workload.marginals(domain, cliques=[("x0", "x1"), ("x2", "x3", "x4", "x5")]), 5000)
        >>> limit.allows([], spent=1.0).tolist()
        [True, False]
    """

    def __init__(self, workload: Workload, largest_tree: int) -> None:
        """Note what may be measured.

        Args:
            workload: Workload whose candidates may be measured.
            largest_tree: Cells that the cliques of the junction trees may have once the whole budget is spent.
        """
        self.workload = workload
        self.largest_tree = largest_tree

    @property
    def binds(self) -> bool:
        """Whether anything can be too large: a histogram holds whatever is measured."""
        return self.in_classes or not may_be_dense(self.workload.domain)

    @cached_property
    def in_classes(self) -> bool:
        """Whether the hypothesis holds classes of values, which grow with what is measured."""
        return wants_classes(self.workload)

    def allows(
        self,
        measured: Sequence[Clique],
        spent: float,
        trees: Sequence[JunctionTree] | None = None,
        classes: Mapping[str, int] | None = None,
    ) -> Bools:
        """The candidates after whose measurement the hypothesis is no larger than allowed, shape ``(n_candidates,)``.

        Args:
            measured: Scopes of the measurements so far.
            spent: Share of the budget that is spent with this round, which the limit grows with.
            trees: Junction trees of the hypothesis, if it has any.
            classes: Number of classes of values of each attribute that it tells apart, if it holds classes.
        """
        if not self.binds:
            return np.ones(self.workload.n_candidates, dtype=np.bool_)
        share = min(1.0, max(spent, _SMALLEST_SHARE))
        growth = self._growth
        if self.in_classes:
            growth = Growth(domain_of_classes(self.workload, classes or {}), self.workload.scope_axes)
        within = growth.within(share * self.largest_tree, measured, trees)
        return np.ones(self.workload.n_candidates, dtype=np.bool_) if within.all() else within[self.workload.scope_of]

    def worth(self, budget: Budget, amount: float, total: float) -> Limit:
        """The limit on what a budget can tell about: larger trees take longer and know no more.

        A function of public numbers and of the noisy number of records. Where larger trees were allowed than 64 cells
        for each record that stands out from the noise, errors were the same (docs/measurements.md).

        Args:
            budget: Budget of the run; its regime matters.
            amount: Charge of all rounds together.
            total: Number of records (noisy), in counts.

        Returns:
            This limit where nothing could be measured otherwise.

        Example:
            >>> from hedgerow import Domain, IntegerRange, ZCDP
            >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
            >>> limit = Limit(Workload.marginals(domain, 2), 4_000_000)
            >>> [limit.worth(ZCDP(rho), rho, 10_000.0).largest_tree for rho in (1e-4, 0.02, 0.5)]
            [65836, 128299, 640300]
        """
        most = float(budget.neighbours.records)
        noise = additive_noise(budget.regime, amount, l1=most, l2=most, step=1.0, kind=None).std
        alone = sum(self.workload.domain[name].size for name in attributes_of(self.workload))
        visible = total / noise if noise > 0.0 else math.inf
        cells = min(float(self.largest_tree), max(_LEAST_CELLS, _CELLS_PER_RECORD * visible) + alone)
        found = Limit(self.workload, int(cells))
        return found if found.allows([], spent=1.0).any() else self

    def check(self, alone: Clique = ()) -> None:
        """Refuse a workload none of whose candidates could ever be measured, and trees that do not fit into memory.

        Args:
            alone: Attributes that are measured one by one before anything is selected.

        Raises:
            CandidatesTooLargeError: They are all too large; with the smallest of them as the estimate.
            ConfigError: Attributes alone leave room for nothing else.
            ModelTooLargeError: The trees may outgrow the memory.
        """
        if self.allows([], spent=1.0).any():
            self._check_alone(alone)
            check_tree_fits(self.largest_cells)
            return
        sizes = {scope: math.prod(self.workload.domain.shape_of(scope)) for scope in self.workload.scopes}
        least = min(sizes, key=lambda scope: sizes[scope])
        raise CandidatesTooLargeError(
            attributes=least,
            cells=sizes[least],
            largest_cells=self.largest_tree,
            required_bytes=cells_bytes(sizes[least]),
            available_bytes=usable_bytes(),
        )

    def _check_alone(self, alone: Clique) -> None:
        sizes = {name: self.workload.domain[name].size for name in alone}
        if not self.binds or not sizes:
            return
        few = sum(sizes.values()) <= self.largest_tree
        if not (few and self.allows([(name,) for name in alone], spent=1.0, classes=sizes).any()):
            raise ConfigError(
                f"marginals of single attributes, {sum(sizes.values()):,} cells in all, leave room for nothing else",
                remedy=f"start uniform, or allow more than the {self.largest_tree:,} cells of largest_tree",
            )

    def allows_all(self, held: Iterable[Clique] = ()) -> bool:
        """Whether every candidate can be measured in one run.

        Args:
            held: Scopes that the hypothesis connects from the start.
        """
        return not self.binds or self._cells_with(held) <= self.largest_tree

    @property
    def largest_cells(self) -> int:
        """Cells that the junction trees can come to have; an upper bound for very many candidates."""
        few = len(self.workload.scope_axes) <= MOST_BELOW
        return min(self.largest_tree, self._all_cells) if few else self.largest_tree

    @cached_property
    def _all_cells(self) -> int:
        return self._cells_with(())

    def _cells_with(self, held: Iterable[Clique]) -> int:
        """Cells of the trees over everything that may be measured, and what is held."""
        workload = self.workload
        domain = domain_of_classes(workload, {}, workload.n_candidates) if self.in_classes else workload.domain
        return JunctionTree.of(domain, [*held, *workload.scopes]).cells

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self.workload.domain, self.workload.scope_axes)
