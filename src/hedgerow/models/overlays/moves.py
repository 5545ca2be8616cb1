"""Records of a tree, moved until they have the tables that the tree does not hold (theory.md, section 19).

The law. n records of the tree's law P have the counts N in the cells of all tables, and are to have m = n p. They are
drawn in proportion to ``P(x_1) ... P(x_n) exp(sum over cells of gain * (N m - N (N - 1) / 2))`` by heat baths: every
code of every record is drawn anew given all others, which leaves this law as it is. The exponent is ``-gain / 2`` times
the square of ``N - m``, each record's distance from itself left out. For large gains it is the law of records of the
tree *given that their tables are p*, under which each has nearly the law that is nearest to P in relative entropy among
those with the tables p (I. Csiszar, "Sanov Property, Generalized I-Projection and a Conditional Limit Theorem", Annals
of Probability 1984). A record sees the others through log-weights alone: each record in a cell beyond its target
multiplies the weight of the cell by ``exp(-gain)``, which is an update of multiplicative weights.

Gains grow from pass to pass. With ``g / m`` the count of a cell has the variance ``m / (1 + g)`` instead of ``m``: at
first records follow slowly, from where they are, and in the end the error of drawing them is gone too.

Records that must not depend on each other, or some of whose codes are given, are moved by log-weights that were fitted
once and stay: each by itself, by the same heat baths.

All of it is a function of the hypothesis, so it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations, islice
from typing import Self

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain, spread_over
from hedgerow.models.core import Codes, Factored
from hedgerow.models.fit.residual_basis import largest
from hedgerow.models.overlays.moves_kernels import Layout, count, sweep
from hedgerow.queries import LinearQuery
from hedgerow.system import generator, in_slices, usable_cores

LARGEST_MOVED = 1 << 22
"""Cells of the tables that records are moved by, at most."""
MOST_READ = 1 << 16
"""Cells that a pass reads for each record, at most: a core then moves a thousand records a second."""
_MOST_CORES, _HELD = 16, 1 << 24
"""Cores that move blocks at a time, and cells that these hold together, at most: each has weights of its own."""
_TRUST = (1.0, 10.0, 100.0)
"""The gains of each pass over records that are moved together, in units of 1 over the expected count."""
_LEAST = 2.0
"""Gains are at most 1 over this: larger ones freeze records where they are."""
_FITTED_ROWS, _FITTED_READ = 1 << 17, 1 << 28
"""Records that log-weights are fitted on, and cells that a pass over them reads, at most."""
_SETTLING = (*(1.0,) * 4, *(0.3,) * 8)
"""Gains of the passes in which log-weights are fitted; the mean of those after the fourth is taken."""
_BURNT = 4
_APART = 3
"""Passes over records that are moved by themselves."""

Factor = tuple[Clique, Floats]
Move = Callable[[Ints, np.random.Generator], None]


class Moves:
    """The log-weights of a tree as sums over small tables, and the tables that its records are to have.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.models import Markov
        >>> tree = Markov(Domain(IntegerRange(name, 0, 1) for name in "ab"), 1.0)  # all four cells alike
        >>> moves = Moves.of(tree, {("a", "b"): np.array([[0.5, 0.0], [0.0, 0.5]])})
        >>> (block,) = moves.together(tree.sample_blocks(1000, 1), np.random.default_rng(1))
        >>> bool((block[:, 0] == block[:, 1]).mean() > 0.98)
        True
    """

    def __init__(self, tree: Factored, tables: Mapping[Clique, Floats], factors: Sequence[Factor]) -> None:
        """Lay all tables out, one after the other.

        Args:
            tree: The law that records are drawn from.
            tables: For sets of attributes the tables, of sum 1, that they are to have.
            factors: The log-weights to start from, over any variables; the constraints of the domain are added.
        """
        self._tree = tree
        self._domain = domain = tree.domain
        factors = [*factors, *((scope, np.where(kept, 0.0, -np.inf)) for scope, kept in domain.zeros)]
        holders = _holders(domain, tables, [scope for scope, _ in factors])
        self._scopes = tuple(dict.fromkeys([*tables, *holders]))
        names = domain.clique({name for scope in self._scopes for name in scope})
        self._axes, self._sizes = (
            np.array(each, dtype=np.int64) for each in (domain.axes(names), domain.shape_of(names))
        )
        self._layout, size = _layout(domain, self._scopes, names)
        self._targets, self._logs = np.zeros(size), np.zeros(size)
        for scope, table in tables.items():
            self._cells(self._targets, scope)[...] = table
        for (scope, table), holder in zip(factors, holders, strict=True):
            inside = self._cells(self._logs, holder)
            inside += spread_over(domain, table, scope, holder)
        self._read = _read([domain.shape_of(scope) for scope in self._scopes])
        self._aimed = sum(map(domain.cells, tables))

    @classmethod
    def of(
        cls, tree: Factored, tables: Mapping[Clique, Floats], factors: Sequence[Factor] | None = None
    ) -> Self | None:
        """Moves of the records of a tree or a histogram; None where each would read too many cells.

        Args:
            tree: The law that records are drawn from.
            tables: For sets of attributes, none of which lies in another, the tables that they are to have.
            factors: The log-weights to start from; those of the tree by default.
        """
        domain, state = tree.domain, tree.potentials()
        base = [] if state.base is None else [(domain.names, np.log(state.base))]
        scopes = [scope for scope, _ in base] + state.scopes if factors is None else [scope for scope, _ in factors]
        holders = _holders(domain, tables, [*scopes, *(scope for scope, _ in domain.zeros)])
        if not _are_few(domain, dict.fromkeys([*tables, *holders])):
            return None
        if factors is None:
            factors = [
                *base,
                *state.tables.items(),
                *((each.scope, step * each.values()) for each, step in state.steps.items()),
            ]
        return cls(tree, tables, factors)

    def together(self, blocks: Iterator[Codes], draw: np.random.Generator, fixed: Clique = ()) -> Iterator[Codes]:
        """Move the records of each block until all of them together have the tables.

        Args:
            blocks: Blocks of records of the tree.
            draw: Source of randomness: in the same state it gives the same records, on any number of cores.
            fixed: Variables that stay as they are, and all attributes that they are functions of.
        """
        free = self._free(fixed)

        def move(codes: Ints, rng: np.random.Generator) -> None:
            for trust in _TRUST:
                missing, gains = self._missing(codes, trust)
                self._pass(codes, rng, free, self._logs + gains * missing, gains)

        return self._each(blocks, draw, move)

    def apart(self, blocks: Iterator[Codes], draw: np.random.Generator, fixed: Clique = ()) -> Iterator[Codes]:
        """Move each record by itself, by the log-weights as they are.

        Args:
            blocks: Blocks of records that exist.
            draw: Source of randomness.
            fixed: Variables that stay as they are, and all attributes that they are functions of.
        """
        free = self._free(fixed)

        def move(codes: Ints, rng: np.random.Generator) -> None:
            logs, gains = self._logs.copy(), np.zeros_like(self._logs)
            for _ in range(_APART):
                self._pass(codes, rng, free, logs, gains)

        return self._each(blocks, draw, move)

    @cached_property
    def settled(self) -> Moves:
        """The log-weights under which records have nearly the tables: those that records of their own moved to."""
        rng = generator(0)
        rows = max(1, min(_FITTED_ROWS, _FITTED_READ // self._read))
        codes = self._taken(self._tree.sample(rows, rng))
        logs, taken = self._logs.copy(), np.zeros_like(self._logs)
        for number, trust in enumerate(_SETTLING):
            missing, gains = self._missing(codes, trust)
            self._pass(codes, rng, np.arange(len(codes)), logs + gains * missing, gains)
            logs += gains * self._missing(codes, trust)[0]
            if number >= _BURNT:
                taken += logs / (len(_SETTLING) - _BURNT)
        return Moves(self._tree, {}, [(scope, self._cells(taken, scope)) for scope in self._scopes])

    def given(self, condition: LinearQuery) -> Moves | None:
        """The same log-weights where all records meet a condition; None where it takes too many cells."""
        factors = [(scope, self._cells(self._logs, scope)) for scope in self._scopes]
        return Moves.of(self._tree.meeting(condition), {}, factors)

    def _each(self, blocks: Iterator[Codes], draw: np.random.Generator, move: Move) -> Iterator[Codes]:
        """Blocks with a seed each, one on every core at a time."""
        cores = max(1, min(usable_cores(), _MOST_CORES, _HELD // max(1, self._logs.size)))
        seeded = ((block, int(draw.integers(2**62))) for block in blocks)

        def moved(block: Codes, seed: int) -> Codes:
            codes, found = self._taken(block), block.copy(order="K")
            move(codes, generator(seed))
            found[:, self._axes] = codes.T
            return found

        while held := list(islice(seeded, cores)):
            parts = in_slices(lambda first, stop: [moved(*each) for each in held[first:stop]], len(held), len(held))
            yield from chain.from_iterable(parts)

    def _free(self, fixed: Clique) -> Ints:
        """Places of the codes that may be drawn anew."""
        return np.flatnonzero(~np.isin(self._axes, self._domain.axes(self._domain.base(fixed))))

    def _missing(self, codes: Ints, trust: float) -> tuple[Floats, Floats]:
        """Numbers of records that cells lack, and the gains."""
        counts = np.zeros_like(self._targets)
        count(codes, self._layout, counts)
        expected = codes.shape[1] * self._targets
        gains, known = np.zeros_like(counts), counts + expected > 0.0
        known[self._aimed :] = False
        there = (counts + expected)[known] / 2.0
        gains[known] = 1.0 / (there / trust + _LEAST)
        return expected - counts, gains

    def _pass(self, codes: Ints, rng: np.random.Generator, free: Ints, logs: Floats, gains: Floats) -> None:
        uniforms = rng.random((codes.shape[1], len(free)))
        places, sums = np.empty(len(self._scopes), dtype=np.int64), np.empty(int(self._sizes.max(initial=0)))
        sweep(codes, self._sizes, free, self._layout, logs, gains, uniforms, places, sums)

    def _taken(self, block: Codes) -> Ints:
        return np.ascontiguousarray(block.T[self._axes], dtype=np.int64)

    def _cells(self, flat: Floats, scope: Clique) -> Floats:
        """The cells of one table among those of all, not copied."""
        first, shape = self._layout[0][self._scopes.index(scope)], self._domain.shape_of(scope)
        return flat[first : first + math.prod(shape)].reshape(shape)


def can_move(domain: Domain, scopes: Sequence[Clique]) -> bool:
    """Whether records can be moved towards tables: whether a pass reads few enough cells for each.

    Args:
        domain: The domain.
        scopes: Attributes of the tables.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(100))
        >>> [can_move(domain, list(combinations(domain.names[:columns], 2))) for columns in (3, 100)]
        [True, True]
        >>> can_move(domain, list(combinations(domain.names, 3)))
        False
    """
    distinct = {*scopes}
    widest = max(
        map(len, distinct), default=0
    )  # none of these lies in another, and an attribute has two codes at least
    if 3 * widest * sum(len(scope) == widest for scope in distinct) > MOST_READ:
        return False
    return _are_few(domain, largest(distinct))


def cells_read(domain: Domain, scopes: Iterable[Clique]) -> int:
    """Cells that a pass reads for each record that is moved towards tables, or towards as many of them as it can be.

    Args:
        domain: The domain.
        scopes: Attributes of the tables.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(300))
        >>> [cells_read(domain, list(combinations(domain.names[:columns], 2))) for columns in (3, 300)]
        [18, 65536]
    """
    each = (_read([domain.shape_of(scope)]) for scope in scopes)
    return min(MOST_READ, sum(cells for cells in each if cells <= MOST_READ))


def _are_few(domain: Domain, scopes: Iterable[Clique]) -> bool:
    shapes = [domain.shape_of(scope) for scope in scopes]
    return _read(shapes) <= MOST_READ and sum(map(math.prod, shapes)) <= LARGEST_MOVED


def as_many(tree: Factored, scopes: Iterable[Clique]) -> list[Clique]:
    """As many of some tables as records of a tree can be moved towards.

    Args:
        tree: The law that records are drawn from.
        scopes: Attributes of the tables, the most important ones first.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> from hedgerow.models import Markov
        >>> tree = Markov(Domain(IntegerRange(f"x{i:03}", 0, 3) for i in range(200)), 1.0)
        >>> len(as_many(tree, combinations(tree.domain.names, 2)))
        6553
    """
    domain, found = tree.domain, list[Clique]()
    own = [
        domain.shape_of(domain.base(scope))
        for scope in (*tree.potentials().scopes, *(each for each, _ in domain.zeros))
    ]
    left, cells = MOST_READ - _read(own), LARGEST_MOVED - sum(map(math.prod, own))
    for scope in scopes:
        shape = domain.shape_of(scope)
        left, cells = left - _read([shape]), cells - math.prod(shape)
        if min(left, cells) < 0:
            break
        found.append(scope)
    return found


def _holders(domain: Domain, tables: Mapping[Clique, Floats], scopes: Sequence[Clique]) -> list[Clique]:
    """For each scope the attributes of the table that its log-factors are added to."""
    holder = {part: scope for scope in tables for size in range(len(scope)) for part in combinations(scope, size + 1)}
    bases = [domain.base(scope) for scope in scopes]
    return [holder.get(base, base) for base in bases]


def _read(shapes: Sequence[tuple[int, ...]]) -> int:
    """Cells that a pass reads for each record: those of its codes, and of all others that each may become."""
    return sum(len(each) + sum(each) for each in shapes)


def _layout(domain: Domain, scopes: Sequence[Clique], names: Clique) -> tuple[Layout, int]:
    """The places of all tables and columns, and the number of cells."""
    shapes = [domain.shape_of(scope) for scope in scopes]
    ends = np.cumsum([0, *map(math.prod, shapes)])
    begins = np.cumsum([0, *map(len, scopes)])
    place = {name: column for column, name in enumerate(names)}
    columns = np.array([place[name] for scope in scopes for name in scope], dtype=np.int64)
    strides = np.array([math.prod(shape[i + 1 :]) for shape in shapes for i in range(len(shape))], dtype=np.int64)
    order = np.argsort(columns, kind="stable")
    owner = np.repeat(np.arange(len(scopes)), np.diff(begins))
    firsts = np.searchsorted(columns[order], np.arange(len(names) + 1))
    return (ends[:-1], begins, columns, strides, firsts, owner[order], strides[order]), int(ends[-1])
