"""The choice of the form of a hypothesis that costs least, and its cells and memory before it is made.

All forms are the same distribution. A histogram costs one pass over the domain per step, whatever was measured; a tree
costs a pass over cliques that are as large as what was measured makes them; conditions on attributes of very many
values are held over classes of these. All of this depends on public quantities alone: not on how much memory is free
either, which the size of the private table shows in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain import Clique, Derived, Domain, IntegerRange
from hedgerow.models.classes import ValueClasses
from hedgerow.models.core import check_cells, required_bytes
from hedgerow.models.dense import Histogram
from hedgerow.models.fit import LARGEST_TRANSFORM
from hedgerow.models.overlays import (
    LARGEST_BELOW,
    LARGEST_OVERLAY,
    can_hold,
    can_hold_table,
    overlay_bytes,
    table_cells,
)
from hedgerow.models.trees import JunctionTree, Markov, cells_bytes, markov_bytes
from hedgerow.quantities import human
from hedgerow.queries import Conjunctions, Marginals, Measurable, Parities, Parity, Workload

SMALL_CELLS = 1 << 12
"""Domains of at most this many cells are histograms, whatever is measured."""

LARGEST_DENSE = 1 << 26
"""Larger domains are trees, whatever is measured: a pass over the cells would take a tenth of a second and more.

Up to twice as large ones are histograms too where a table of all their cells is asked for: no tree has fewer.
"""

LARGEST_TREE = 1 << 22
"""Cells of the largest junction trees that a run may fill unless told otherwise."""

LARGE_ATTRIBUTE = 1 << 16
"""An attribute of more codes is not held code by code where conditions alone ask about it."""

_KEPT = 8
"""Lists of scopes of which it is kept whether a tree holds them: plans and runs ask several times."""

Hypothesis = Histogram | Markov | ValueClasses


def may_be_dense(domain: Domain, scopes: Iterable[Clique] = ()) -> bool:
    """Whether a histogram of the domain is small enough to work with: then nothing that is measured is too large.

    Args:
        domain: The domain.
        scopes: Variables of tables that are asked for.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> may_be_dense(Domain(IntegerRange(name, 0, 9) for name in "abcd"))
        True
        >>> may_be_dense(Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30)))
        False
    """
    if domain.size <= LARGEST_DENSE:
        return True
    return domain.size <= 2 * LARGEST_DENSE and any(domain.cells(scope) == domain.size for scope in scopes)


def is_dense(domain: Domain, scopes: Iterable[Clique]) -> bool:
    """Whether a histogram costs less than trees over some scopes.

    Args:
        domain: The domain.
        scopes: Attributes that updates connect.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abcdef")
        >>> is_dense(domain, [("a", "b"), ("b", "c")]), is_dense(domain, [domain.names])
        (False, True)
    """
    scopes = list(scopes)
    return may_be_dense(domain, scopes) and cheaper_trees(domain, scopes) is None


def cheaper_trees(domain: Domain, scopes: Iterable[Clique]) -> JunctionTree | None:
    """The trees over some scopes where they cost less than a histogram, or where there is to be none.

    Args:
        domain: The domain.
        scopes: Variables that updates connect.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
        >>> trees = cheaper_trees(domain, [("x0", "x1")])
        >>> trees and trees.cells
        100
    """
    if domain.size <= SMALL_CELLS:
        return None
    scopes = list(scopes)
    trees = trees_of(domain, scopes)
    return None if may_be_dense(domain, scopes) and domain.size <= trees.cells else trees


def trees_of(domain: Domain, scopes: Iterable[Clique]) -> JunctionTree:
    """The trees that ``Markov`` holds, which have the scopes of constraints from the start.

    Args:
        domain: The domain.
        scopes: Variables that updates connect.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> trees_of(Domain(IntegerRange(name, 0, 9) for name in "abc"), [("a", "b")]).cells
        100
    """
    return JunctionTree.of(domain, [*(scope for scope, _ in domain.zeros), *scopes])


def hypothesis(domain: Domain, total: float, scopes: Iterable[Clique] = (), *, classes: bool = False) -> Hypothesis:
    """A uniform hypothesis in the form that costs less.

    Args:
        domain: The domain.
        total: Mass in counts, positive.
        scopes: Attributes that updates will connect, as far as they are known.
        classes: Whether values are held in classes (see ``wants_classes``).

    Raises:
        ConfigError: The total is not positive.
        ModelTooLargeError: Neither form fits into memory; nothing was allocated.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
        >>> type(hypothesis(domain, 100.0)).__name__
        'Markov'
    """
    if classes:
        return ValueClasses(domain, total)
    known = tuple(scopes)
    return Histogram(domain, total) if is_dense(domain, known) else Markov(domain, total, known)


def hypothesis_for(workload: Workload, total: float) -> Hypothesis:
    """A uniform hypothesis for answers to all candidates of a workload.

    Args:
        workload: The workload whose candidates are measured.
        total: Mass in counts, positive.

    Raises:
        ConfigError: The total is not positive.
        ModelTooLargeError: It does not fit into memory; nothing was allocated.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
        >>> type(hypothesis_for(Workload.conjunctions(domain, ["ip < 1000 and hour = 3"]), 100.0)).__name__
        'ValueClasses'
    """
    return hypothesis(workload.domain, total, workload.scopes, classes=wants_classes(workload))


def suited(model: Hypothesis, targets: Sequence[Measurable]) -> Hypothesis:
    """The same hypothesis in the form that costs less once it is fitted to measurements of some targets.

    Parities alone are fitted best where all cells are held (see ``Newton``).

    Args:
        model: The hypothesis; a histogram with a base of its own stays one, and so do classes of values.
        targets: All measured targets.

    Returns:
        The model itself, or a new one in the same state.

    Raises:
        ModelTooLargeError: The other form does not fit into memory.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.queries import Marginal
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abcdef")
        >>> model = hypothesis(domain, 100.0)
        >>> pair, everything = Marginal(domain, ("a", "b")), Marginal(domain, domain.names)
        >>> type(suited(model, [pair])).__name__, type(suited(model, [everything])).__name__
        ('Markov', 'Histogram')
    """
    if isinstance(model, ValueClasses):
        return model
    parities = model.domain.size <= LARGEST_TRANSFORM and all(isinstance(target, Parity) for target in targets)
    dense = parities or is_dense(model.domain, dict.fromkeys(target.scope for target in targets))
    form = Histogram if dense else Markov
    if isinstance(model, form):
        return model
    state = model.potentials()
    return model if state.base is not None else form.from_potentials(model.domain, model.total, state)


def wants_classes(workload: Workload) -> bool:
    """Whether a workload asks about an attribute whose values are too many to be held one by one.

    That is so if conditions or boxes name an attribute or a level of more than ``LARGE_ATTRIBUTE`` codes, and no
    marginal does.

    Args:
        workload: The workload.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
        >>> wants_classes(Workload.conjunctions(domain, ["ip < 1000", "ip > 50 and hour < 8"]))
        True
        >>> wants_classes(Workload.prefixes(domain, "hour"))
        False
    """
    large = {variable.name for variable in workload.domain.variables if variable.size > LARGE_ATTRIBUTE}
    named = [family for family in workload.families if any(not large.isdisjoint(scope) for scope in family.scopes)]
    return bool(named) and all(family.conjunctive and not family.tabular for family in named)


def over_tables(
    domain: Domain, targets: Iterable[Measurable], largest_tree: int = LARGEST_TREE, trees: Sequence[JunctionTree] = ()
) -> bool:
    """Whether what was measured is held as consistent tables over a tree: no tree of the size holds it all.

    A function of what was measured alone, not of any answer.

    Args:
        domain: The domain.
        targets: All measured targets.
        largest_tree: Most cells of a tree.
        trees: Trees that are held already.

    Example:
        >>> from itertools import combinations
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.queries import Marginal
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(40))
        >>> pairs = [Marginal(domain, pair) for pair in combinations(domain.names, 2)]
        >>> over_tables(domain, pairs), over_tables(domain, pairs[:39])
        (True, False)
    """
    holdable: dict[Clique, None] = {}
    others: dict[Clique, None] = {}
    for target in targets:
        (holdable if can_hold(target) else others)[target.scope] = None
    if not holdable or all(any(tree.find(scope) is not None for tree in trees) for scope in [*holdable, *others]):
        return False
    return _tables_over_tree(domain, tuple(holdable), tuple(others), largest_tree)


def scopes_over_tree(domain: Domain, scopes: Iterable[Clique], largest_tree: int = LARGEST_TREE) -> bool:
    """The same of whole marginals or parities, by their scopes.

    Args:
        domain: The domain.
        scopes: Scopes of all that is measured, each once.
        largest_tree: Most cells of a tree.

    Example:
        >>> from itertools import combinations
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(40))
        >>> scopes_over_tree(domain, combinations(domain.names, 2)), scopes_over_tree(domain, [("x0",)])
        (True, False)
    """
    held, others = list[Clique](), list[Clique]()
    for scope in scopes:
        (held if can_hold_table(domain, scope) else others).append(scope)
    return _tables_over_tree(domain, tuple(held), tuple(others), largest_tree)


@lru_cache(maxsize=_KEPT)
def _tables_over_tree(domain: Domain, held: tuple[Clique, ...], others: tuple[Clique, ...], largest_tree: int) -> bool:
    trees = cheaper_trees(domain, [*held, *others])
    if not held or trees is None or trees.cells <= largest_tree or table_cells(domain, held) > LARGEST_OVERLAY:
        return False
    below = trees_of(domain, [*others, *{(name,) for scope in held for name in scope}])
    return below.cells <= min(largest_tree, LARGEST_BELOW)


def domain_of_classes(workload: Workload, classes: Mapping[str, int], measured: int = 1) -> Domain:
    """The domain with as many codes as classes at most, once more was measured: public, for estimates of cells.

    Args:
        workload: The workload whose candidates are measured.
        classes: Number of classes of each attribute that has more than one already.
        measured: Number of candidates still to be measured.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("ip", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
        >>> domain_of_classes(Workload.conjunctions(domain, ["ip < 1000"]), {"ip": 5}).shape
        (7, 24)
    """
    conditions = (query for family in workload.families if isinstance(family, Conjunctions) for query in family.queries)
    cuts = max((len(codes.cuts) for query in conditions for codes in query.codes), default=2)
    large = [attribute for attribute in workload.domain if attribute.size > LARGE_ATTRIBUTE]
    return domain_of_sizes(
        workload.domain, {each.name: classes.get(each.name, 1) + max(2, cuts) * measured for each in large}
    )


def domain_of_sizes(domain: Domain, sizes: Mapping[str, int]) -> Domain:
    """The domain with fewer codes, and functions of as many values at most: public, for estimates of cells.

    Args:
        domain: The domain.
        sizes: For some attributes how many codes are left, if they have more; two stay, and as many as constraints
            tell apart.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)))
        >>> fewer = domain_of_sizes(domain, {"age": 3})
        >>> fewer.shape, fewer["age.10"].size
        ((3, 2), 3)
    """
    kept = {a.name: _kept_codes(domain, a.name, sizes[a.name]) for a in domain if a.name in sizes}
    left = {a.name: len(kept[a.name]) if a.name in kept else a.size for a in domain}
    whole = {attribute.name for attribute in domain if left[attribute.name] == attribute.size}
    return Domain(
        [a if a.name in whole else IntegerRange(a.name, 0, left[a.name] - 1) for a in domain],
        [function if whole.issuperset(function.sources) else _cut(function, left) for function in domain.derived],
        [c if whole.issuperset(c.scope) else c.among(kept) for c in domain.constraints],
        domain.names,
    )


def _kept_codes(domain: Domain, name: str, size: int) -> Ints:
    """Codes of an attribute, two at least and one of each class that constraints tell apart."""
    size = max(size, 2)
    if size >= domain[name].size:
        return np.arange(domain[name].size)
    grain = next((grain for grain in domain.grains if grain.sources == (name,)), None)
    if grain is None:
        constrained = any(name in constraint.scope for constraint in domain.constraints)
        return np.arange(domain[name].size if constrained else size)
    return np.resize(np.unique(grain.codes, return_index=True)[1], max(size, grain.attribute.size))


def _cut(derived: Derived, sizes: Mapping[str, int]) -> Derived:
    """A function of attributes of fewer codes that has as many values, if they have."""
    codes = derived.codes[tuple(slice(sizes[name]) for name in derived.sources)]
    size = min(derived.attribute.size, codes.size)
    return Derived(
        IntegerRange(derived.name, 0, size - 1), derived.sources, np.arange(codes.size).reshape(codes.shape) % size
    )


@dataclass(frozen=True)
class Footprint:
    """Cells and memory of a hypothesis in the form that costs less.

    Attributes:
        cells: Cells of the domain.
        tree_cells: Cells that the cliques of junction trees may have, or None where a histogram holds the domain.
        required_bytes: Memory of the hypothesis and the work on it.
        table_cells: Cells of the consistent tables above the trees; 0 where there are none.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
        >>> Footprint.of(domain, [("x0", "x1"), ("x1", "x2")]).words
        'junction trees of up to 200 cells; the domain has about 10^30'
    """

    cells: int
    tree_cells: int | None
    required_bytes: int
    table_cells: int = 0

    @classmethod
    def of(cls, domain: Domain, scopes: Iterable[Clique]) -> Footprint:
        """The footprint of a hypothesis whose updates connect some scopes.

        Args:
            domain: The domain.
            scopes: All scopes that updates connect.
        """
        trees = cheaper_trees(domain, scopes)
        return cls.up_to(domain, None) if trees is None else cls._trees(domain, trees)

    @classmethod
    def of_workload(cls, workload: Workload) -> Footprint:
        """The footprint of a hypothesis for all candidates of a workload, also over classes of values."""
        if not wants_classes(workload):
            return cls.of(workload.domain, workload.scopes)
        coarse = domain_of_classes(workload, {}, workload.n_candidates)
        return cls._trees(workload.domain, trees_of(coarse, workload.scopes))

    @classmethod
    def of_fit(cls, workload: Workload, largest_tree: int = LARGEST_TREE) -> Footprint:
        """The footprint of the fit of all candidates of a workload at once: of tables over a tree where that is needed.

        Args:
            workload: The workload whose candidates are measured.
            largest_tree: Most cells of a tree.

        Example:
            >>> from hedgerow.domain import IntegerRange
            >>> workload = Workload.marginals(Domain(IntegerRange(f"x{i}", 0, 1) for i in range(100)), 2)
            >>> Footprint.of_fit(workload).words
            'consistent tables of 19,800 cells over junction trees of up to 65,536 cells; the domain has about 10^30'
        """
        domain = workload.domain
        cliques: dict[Clique, None] = {}
        others: dict[Clique, None] = {}
        for family in workload.families:
            whole = isinstance(family, Marginals | Parities)
            for scope in family.scopes:
                (cliques if whole and can_hold_table(domain, scope) else others)[scope] = None
        if wants_classes(workload) or not _tables_over_tree(domain, tuple(cliques), tuple(others), largest_tree):
            return cls.of_workload(workload)
        tables, below = table_cells(domain, cliques), min(largest_tree, LARGEST_BELOW)
        return cls(domain.size, below, cells_bytes(below) + overlay_bytes(tables), tables)

    @classmethod
    def up_to(cls, domain: Domain, tree_cells: int | None, copies: int = 2) -> Footprint:
        """The footprint of a hypothesis that is kept below a number of cells, whatever it will be asked.

        Args:
            domain: The domain.
            tree_cells: Most cells of all cliques together; None for a histogram.
            copies: Arrays over all cells that are held at once, where it is a histogram.
        """
        if tree_cells is None:
            return cls(domain.size, None, required_bytes(domain, copies))
        return cls(domain.size, tree_cells, cells_bytes(tree_cells))

    @classmethod
    def _trees(cls, domain: Domain, trees: JunctionTree) -> Footprint:
        return cls(domain.size, trees.cells, markov_bytes([trees]))

    @property
    def words(self) -> str:
        """The form and its cells, in words."""
        if self.tree_cells is None:
            return f"{human(self.cells)} cells"
        trees = f"junction trees of up to {human(self.tree_cells)} cells; the domain has {human(self.cells)}"
        return f"consistent tables of {human(self.table_cells)} cells over {trees}" if self.table_cells else trees

    def check(self) -> None:
        """Refuse what does not fit, before anything is allocated.

        Raises:
            ModelTooLargeError: More than may be used is required.
        """
        cells = self.cells if self.tree_cells is None else self.tree_cells + self.table_cells
        check_cells(cells, self.required_bytes, tree=self.tree_cells is not None)
