"""The candidates that a run of MWEM may select: a function of public quantities alone.

Beside the marginals of a workload, the marginals below them can be worth measuring: a pair of attributes has few cells,
so its noise is small, and it says something about every triple that contains it. Candidates that would make the
hypothesis too large are left out, by a rule that looks at the domain, at the measurements so far and at the share of
the budget that is spent.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, product
from typing import final

import numpy as np

from hedgerow.arrays import Bools
from hedgerow.domain import Clique, Domain
from hedgerow.errors import CandidatesTooLargeError, ConfigError, MarginalTooLargeError
from hedgerow.models import LARGEST_TREE, Growth, JunctionTree, has_room, usable_bytes
from hedgerow.models.choice import domain_of_classes, may_be_dense, wants_classes
from hedgerow.models.trees.markov import cells_bytes, check_tree_fits
from hedgerow.queries import Marginals, Workload

Weighted = tuple[Clique, float]

MOST_BELOW = 1 << 12
"""Largest number of marginals that a closure may have."""

_SMALLEST_SHARE = 1.0 / 16.0
"""Part of the largest tree that may be filled before anything is spent."""

_ANSWER_BYTES = 48
"""Per query: exact answers, those of the hypothesis, and what scores are computed with."""


def closure(workload: Workload, *, levels: bool = False) -> Workload | None:
    """The marginals of a workload and all marginals below them, weighted by their overlap with the workload.

    The weight of a marginal is the number of attributes that it shares with a marginal of the workload, summed over
    these, each times its own weight (McKenna, Mullins, Sheldon and Miklau, "AIM", VLDB 2022, section 4.1). Ranges are
    answered from the marginals of their attributes, at every level of these.

    Args:
        workload: Queries whose marginals are wanted.
        levels: Whether marginals over levels are below whole marginals too.

    Returns:
        None where the workload does not consist of whole marginals and ranges, or where there would be too many.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> closure(Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)).spec
        'marginals:1 @ 2.0; marginals:2 @ 4.0'
        >>> closure(Workload.prefixes(Domain((IntegerRange("age", 0, 99),)), "age")).spec
        'marginals:1 @levels'
    """
    if not all(family.whole or family.ordered for family in workload.families):
        return None
    domain, scopes, found = workload.domain, list(_weighted_scopes(workload)), set[Clique]()
    for family in workload.families:
        for scope in family.scopes:
            if family.ordered and not all(_is_small(domain, (name,)) for name in scope):
                return None  # values that no table can hold one by one
            grains = [(name, *(domain.coarser(name) if levels or family.ordered else ())) for name in scope]
            if len(found) + math.prod(1.0 + len(each) for each in grains) > 8.0 * MOST_BELOW:
                return None
            found.update(each for each in _below(domain, grains) if not family.ordered or _is_small(domain, each))
    below = sorted(found, key=lambda each: (len(each), each))
    if not 0 < len(below) <= MOST_BELOW:
        return None
    groups: dict[float, list[Clique]] = {}
    for clique, weight in zip(below, _overlaps(workload, below, scopes), strict=True):
        groups.setdefault(weight, []).append(clique)
    return Workload([Marginals(workload.domain, each) for each in groups.values()], groups)


def _is_small(domain: Domain, clique: Clique) -> bool:
    return math.prod(domain.shape_of(clique)) <= LARGEST_TREE


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


@final
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

    def allows_all(self) -> bool:
        """Whether every candidate can be measured in one run."""
        return not self.binds or self._all_cells <= self.largest_tree

    @property
    def largest_cells(self) -> int:
        """Cells that the junction trees can come to have; an upper bound for very many candidates."""
        few = len(self.workload.scope_axes) <= MOST_BELOW
        return min(self.largest_tree, self._all_cells) if few else self.largest_tree

    @cached_property
    def _all_cells(self) -> int:
        """Cells of the trees over everything that may be measured."""
        workload = self.workload
        domain = domain_of_classes(workload, {}, workload.n_candidates) if self.in_classes else workload.domain
        return JunctionTree.of(domain, workload.scopes).cells

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self.workload.domain, self.workload.scope_axes)


def _weighted_scopes(workload: Workload) -> Iterator[Weighted]:
    """The scopes of the families of a workload, with their weights."""
    for family, weight in zip(workload.families, workload.weights, strict=True):
        yield from ((scope, weight) for scope in family.scopes)


def _below(domain: Domain, grains: Sequence[Clique]) -> Iterator[Clique]:
    """Every subset of some attributes, each at every level that is given for it."""
    subsets = chain.from_iterable(combinations(grains, size) for size in range(1, len(grains) + 1))
    return (domain.clique(each) for each in chain.from_iterable(product(*subset) for subset in subsets))


def _overlaps(workload: Workload, below: Sequence[Clique], scopes: Sequence[Weighted]) -> list[float]:
    """For each marginal, the number of attributes that it shares with those of the workload, weighted."""
    domain = workload.domain
    shares = dict.fromkeys(domain.names, 0.0)
    for scope, weight in scopes:
        for name in domain.base(scope):
            shares[name] += weight
    return [sum(shares[name] for name in domain.base(scope)) for scope in below]
