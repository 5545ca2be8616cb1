"""Which form of the hypothesis costs less: every cell in one histogram, or cliques in junction trees.

Both are the same distribution. A histogram costs one pass over the domain per step, whatever was measured; a tree costs
a pass over cliques that are as large as what was measured makes them. All of this depends on public quantities alone:
not on how much memory is free either, which the size of the private table shows in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hedgerow.domain import Clique, Domain
from hedgerow.models.classes import ValueClasses, wants_classes
from hedgerow.models.dense import Histogram
from hedgerow.models.fit import LARGEST_TRANSFORM
from hedgerow.models.trees import JunctionTree, Markov
from hedgerow.queries import Measurable, Parity, Workload

SMALL_CELLS = 1 << 12
"""Domains of so many cells are histograms, whatever is measured."""

LARGEST_HISTOGRAM = 1 << 26
"""Larger domains are trees, whatever is measured: a pass over the cells would take a tenth of a second and more."""

Hypothesis = Histogram | Markov | ValueClasses


def may_be_dense(domain: Domain) -> bool:
    """Whether a histogram of the domain is small enough to work with: then nothing that is measured is too large.

    Args:
        domain: The domain.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> may_be_dense(Domain(IntegerRange(name, 0, 9) for name in "abcd"))
        True
        >>> may_be_dense(Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30)))
        False
    """
    return domain.size <= LARGEST_HISTOGRAM


def is_dense(domain: Domain, scopes: Iterable[Clique]) -> bool:
    """Whether a histogram costs less than trees over some scopes.

    Args:
        domain: The domain.
        scopes: Attributes that updates connect.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 9) for name in "abcdef")
        >>> is_dense(domain, [("a", "b"), ("b", "c")]), is_dense(domain, [domain.names])
        (False, True)
    """
    return may_be_dense(domain) and cheaper_trees(domain, scopes) is None


def cheaper_trees(domain: Domain, scopes: Iterable[Clique]) -> JunctionTree | None:
    """The trees over some scopes where they cost less than a histogram, or where there is to be none.

    Args:
        domain: The domain.
        scopes: Attributes that updates connect.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 9) for i in range(30))
        >>> trees = cheaper_trees(domain, [("x0", "x1")])
        >>> trees and trees.cells
        100
    """
    if domain.size <= SMALL_CELLS:
        return None
    trees = JunctionTree.of(domain, scopes)
    return None if may_be_dense(domain) and domain.size <= trees.cells else trees


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
        >>> from hedgerow.domain.attribute import IntegerRange
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
        workload: Whose candidates are measured.
        total: Mass in counts, positive.

    Raises:
        ConfigError: The total is not positive.
        ModelTooLargeError: It does not fit into memory; nothing was allocated.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
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
        targets: What was measured, all of it.

    Returns:
        The model itself, or a new one in the same state.

    Raises:
        ModelTooLargeError: The other form does not fit into memory.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> from hedgerow.queries.core.query import Marginal
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


LARGEST_TREE = 1 << 22
"""Cells of the largest junction trees that a run may fill unless told otherwise."""
