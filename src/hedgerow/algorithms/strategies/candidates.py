"""The candidates that a run of MWEM may select: a function of public quantities alone.

A workload may ask for whole marginals, cells, parities, ranges or conditions. All of them are read off tables, and a
table costs one look, whatever is read off it: so tables are the candidates, and the workload says what each is worth.
Where a table would have far more cells than the queries that are read off it, these are candidates one by one. The
marginals below a table can be worth measuring too: a pair of attributes has few cells, so its noise is small, and it
says something about every triple that contains it.

Candidates that would make the hypothesis too large are left out (`Limit`), by a rule that looks at the domain, at the
measurements so far and at the share of the budget that is spent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, product

import numpy as np

from hedgerow.arrays import Bools, Floats
from hedgerow.domain import Clique, Domain
from hedgerow.errors import CandidatesTooLargeError, ConfigError, MarginalTooLargeError
from hedgerow.models import LARGEST_TREE, Growth, JunctionTree, has_room, usable_bytes, wants_classes
from hedgerow.models.choice import domain_of_classes, may_be_dense
from hedgerow.models.trees.markov import cells_bytes, check_tree_fits
from hedgerow.privacy import Budget, additive_noise
from hedgerow.queries import Family, Marginals, Workload

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
    sizes = [domain.cells(scope) for scope in scopes]
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
        return self.in_classes or not may_be_dense(self.workload.domain, self.workload.scopes)

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
        sizes = {scope: self.workload.domain.cells(scope) for scope in self.workload.scopes}
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

    @cached_property
    def largest_cells(self) -> int:
        """Cells that the junction trees can come to have; an upper bound for very many candidates."""
        few = len(self.workload.scope_axes) <= MOST_BELOW
        return min(self.largest_tree, self._cells_with(())) if few else self.largest_tree

    def _cells_with(self, held: Iterable[Clique]) -> int:
        """Cells of the trees over everything that may be measured, and what is held."""
        workload = self.workload
        domain = domain_of_classes(workload, {}, workload.n_candidates) if self.in_classes else workload.domain
        return JunctionTree.of(domain, [*held, *workload.scopes]).cells

    @cached_property
    def _growth(self) -> Growth:
        return Growth(self.workload.domain, self.workload.scope_axes)


MOST_BELOW = 1 << 13
"""Largest number of tables that a closure may have."""

_FEW_CELLS = 16
"""Cells of a table that is measured even for the sake of one query."""

_CELLS_PER_QUERY = 4
"""Cells that a table may have for each query that is read off it: with more, noise on the queries would be smaller."""


class QueryWeights:
    """The tables that the queries of a workload are read off, with what they are worth, and all other queries.

    The worth of a table is the error of the workload per count of its own error: 1 for a whole marginal. Single errors
    count twice, as shares of the records beside total variation distances, and are as much smaller than that of the
    table as their `Family.spread` says.

    Attributes:
        tables: Worth by scope.
        others: Families of queries that are measured one by one, with weights in the same unit.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 2) for name in "abc")
        >>> QueryWeights(Workload.parse("marginals:a*b; prefixes:a", domain)).tables
        {('a', 'b'): 1.0, ('a',): 0.75}
    """

    def __init__(self, workload: Workload) -> None:
        """Look at the families."""
        self.domain = workload.domain
        self._least = min(workload.weights)
        self.others: list[tuple[Family, float]] = []
        in_classes = wants_classes(workload) and not _is_one_table(workload)
        tables: Counter[Clique] = Counter()
        for family, weight in zip(workload.families, workload.weights, strict=True):
            if in_classes or not _in_tables(workload, family):
                self.others.append((family, 2.0 * weight))
            else:
                tables.update(_worth(family, weight))
        self.tables = dict(tables)

    def candidates(self, weights: Mapping[Clique, float]) -> Workload:
        """Some tables, those of nearly equal weights as one family, and all other queries.

        Ratios of weights matter alone. None is below the least of the workload: an audit knows that one, and that no
        choice is less sensitive.
        """
        groups: dict[float, list[Clique]] = {}
        for clique, weight in weights.items():
            groups.setdefault(float(f"{weight:.2g}"), []).append(clique)
        families = [*(Marginals(self.domain, g) for g in groups.values()), *(family for family, _ in self.others)]
        found = [*groups, *(weight for _, weight in self.others)]
        scale = max(1.0, self._least / min(found))
        return Workload(families, [scale * weight for weight in found])

    def alone(self, names: Sequence[str]) -> Floats:
        """The worth of tables of single attributes: equal parts of that of each table they are below.

        Args:
            names: Attributes, or levels of these.

        Returns:
            Positive, shape ``(len(names),)``.

        Example:
            >>> from hedgerow import IntegerRange
            >>> domain = Domain((IntegerRange("sex", 0, 1), IntegerRange("age", 0, 63)))
            >>> QueryWeights(Workload.parse("marginals:2; prefixes:age", domain)).alone(["sex", "age"])
            array([ 0.5, 16.5])
        """
        parts = dict.fromkeys(self.domain.names, 0.0)
        others = (scopes for family, weight in self.others for scopes in _worth(family, weight / 2.0).items())
        for scope, value in chain(self.tables.items(), others):
            base = self.domain.base(scope)
            for name in base:
                parts[name] += value / len(base)
        return np.array([sum(parts[base] for base in self.domain.base((name,))) for name in names])

    def overlaps(self, below: Sequence[Clique]) -> Mapping[Clique, float]:
        """For each table, the number of attributes that it shares with those that are asked for, weighted by worth.

        McKenna, Mullins, Sheldon and Miklau, "AIM", VLDB 2022, section 4.1. Tables of single attributes are measured
        before anything is selected, so those that are asked for do not count, unless nothing else is.

        Args:
            below: Tables below those that are asked for.
        """
        wide = {scope: value for scope, value in self.tables.items() if len(self.domain.base(scope)) > 1}
        shares = dict.fromkeys(self.domain.names, 0.0)
        for scope, value in (wide or self.tables).items():
            for name in self.domain.base(scope):
                shares[name] += value
        least = min(value for value in shares.values() if value > 0.0)
        return {each: sum(shares[name] for name in self.domain.base(each)) or least for each in below}


def tables_of(workload: Workload) -> Workload | None:
    """The tables that a workload is answered from, weighted by worth, and queries that are better asked one by one.

    Returns:
        None where there are no such tables.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "abcde")
        >>> text = "parities:a*b,c; where: a = 0 and b = 0 and c = 0 and d = 0 and e = 0"
        >>> tables_of(Workload.parse(text, domain)).spec
        'marginals:a*b,c; where: a = 0 and b = 0 and c = 0 and d = 0 and e = 0 @ 8.0'
    """
    asked = QueryWeights(workload)
    return asked.candidates(asked.tables) if asked.tables else None


def closure(workload: Workload, *, levels: bool = False, widest: int | None = None) -> Workload | None:
    """The tables that a workload is answered from and all tables below them, weighted by their overlap with it.

    Queries that are better asked one by one stay as they are. Ranges are answered from the marginals of their
    attributes, at every level of these.

    Args:
        workload: Queries whose tables are wanted.
        levels: Whether tables over levels are below the others too.
        widest: Largest number of attributes of a table; any number by default.

    Returns:
        None where there are no such tables, or too many.

    Example:
        >>> from hedgerow import IntegerRange
        >>> closure(Workload.marginals(Domain(IntegerRange(name, 0, 2) for name in "abc"), 2)).spec
        'marginals:1 @ 2.0; marginals:2 @ 4.0'
        >>> closure(Workload.prefixes(Domain((IntegerRange("age", 0, 99),)), "age")).families[0].spec
        'marginals:1 @levels'
    """
    asked, domain, found = QueryWeights(workload), workload.domain, set[Clique]()
    ordered = {scope for family in workload.families if family.ordered for scope in family.scopes}
    if sum(scope not in ordered and len(scope) <= (widest or len(scope)) for scope in asked.tables) > MOST_BELOW:
        return None
    for scope in asked.tables:
        grains = [(name, *(domain.coarser(name) if levels or scope in ordered else ())) for name in scope]
        size = len(scope) if widest is None else min(widest, len(scope))
        if len(found) + _number_below(grains, size) > 8.0 * MOST_BELOW:
            return None
        below = _below(domain, grains, size)
        found.update(each for each in below if scope not in ordered or domain.cells(each) <= LARGEST_TREE)
    if not 0 < len(found) <= MOST_BELOW:
        return None
    return asked.candidates(asked.overlaps(sorted(found, key=lambda each: (len(each), each))))


def _worth(family: Family, weight: float) -> dict[Clique, float]:
    """The worth of the tables of a family."""
    each = np.ones(family.n_candidates) if family.whole else np.ones(family.n_candidates) / family.spread
    sums = np.bincount(family.scope_of, weights=weight * each, minlength=len(family.scopes))
    return {scope: value for scope, value in zip(family.scopes, sums.tolist(), strict=True) if scope}


def _in_tables(workload: Workload, family: Family) -> bool:
    """Whether the queries of a family are better read off whole tables than measured one by one."""
    domain = workload.domain
    if family.whole or family.tabular:
        return True
    if family.ordered:
        return all(domain.cells((name,)) <= LARGEST_TREE for scope in family.scopes for name in scope)
    numbers = np.bincount(family.scope_of, minlength=len(family.scopes)).tolist()
    sizes = [domain.cells(scope) for scope in family.scopes]
    return all(
        bool(scope) and (size <= max(_FEW_CELLS, _CELLS_PER_QUERY * number) or workload.covers(scope))
        for scope, size, number in zip(family.scopes, sizes, numbers, strict=True)
    )


def _is_one_table(workload: Workload) -> bool:
    """Whether it asks for boxes of one table, however many values its attributes have."""
    boxes = all(family.ordered for family in workload.families) and len(set(workload.scopes)) == 1
    return boxes and workload.domain.cells(workload.scopes[0]) <= LARGEST_TREE


def _number_below(grains: Sequence[Clique], widest: int) -> float:
    """Number of subsets of some attributes with all their grains."""
    of_size = [1.0, *[0.0] * widest]
    for grain in grains:
        for size in range(widest, 0, -1):
            of_size[size] += len(grain) * of_size[size - 1]
    return sum(of_size)


def _below(domain: Domain, grains: Sequence[Clique], widest: int) -> Iterator[Clique]:
    """Every subset of some attributes, each at every level that is given for it."""
    subsets = chain.from_iterable(combinations(grains, size) for size in range(1, widest + 1))
    return (domain.clique(each) for each in chain.from_iterable(product(*subset) for subset in subsets))
