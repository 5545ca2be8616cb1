"""Records from junction trees: a clique at a time, given the attributes that were drawn before.

The law. *Systematic*: before any record is drawn, the whole table of n records is rounded. The first clique's cells
get whole counts by systematic rounding of n times their probability: with the cells in a row and n equally spaced
positions on it, moved by one uniform offset, a cell gets the positions that fall into it. A later clique is rounded in
the same way, separately for each group of records that agree in its separator: the size of the group times the
probability of the rest of the clique given the separator, with an offset of its own. So every count is its expectation
given the counts before it, rounded up or down, and right on average; groups are independent of each other given these.

Then the counts are dealt out, block by block of records. A block takes from each group what it needs, evenly over what
is left (systematically once more: a block is itself a low-variance sample, and all blocks together have exactly the
counts above). Inside the block every record of a group is equally likely to get any of what the group took, whatever
its other attributes. So each single record has exactly the law of the model, and inside a block the order is uniformly
random.

*Independent*: every record draws each clique by itself, given its separator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints, Words
from hedgerow.domain import Clique, Domain
from hedgerow.models.core import Codes, SamplingMethod, block_rows, code_type, new_state, sampling_kernels as compiled
from hedgerow.models.trees.beliefs import Beliefs

_TABLED = 1 << 20
"""Codes of an attribute in no part of the model that are still counted one by one."""
_TINY = 1e-290
"""A group of less probability, relative to the largest cell, has no conditional that floating point can tell."""


def sample_trees(
    parts: Sequence[Beliefs], domain: Domain, n: int, draw: np.random.Generator, method: SamplingMethod
) -> Iterator[Codes]:
    """Draw records from a product of parts, uniform over the attributes of none, block by block.

    The counts of an attribute in no part with more than a million codes are within one of their expectation in each
    block, not in all together.

    Args:
        parts: Parts over different attributes of the domain; they may change while blocks are drawn.
        domain: The domain.
        n: Number of records.
        draw: Source of randomness.
        method: Systematic or independent, as the module describes them.

    Returns:
        Blocks of codes, n in all, columns in the order of the domain.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain, draw = Domain((IntegerRange("a", 0, 1),)), np.random.default_rng(1)
        >>> blocks = sample_trees([], domain, 4, draw, SamplingMethod.SYSTEMATIC)
        >>> [sorted(block[:, 0].tolist()) for block in blocks]
        [[0, 0, 1, 1]]
    """
    state = new_state(draw)
    tables = list(_tables(parts, domain))
    columns: list[_FromTable | _Wide] = []
    if method is SamplingMethod.SYSTEMATIC:
        rounded: list[_Rounded] = []
        for table in tables:
            sizes = np.array([n]) if table.parent is None else rounded[table.parent].counted(table.given)
            rounded.append(_Rounded(table, sizes, state))
        columns += rounded
    else:
        columns += [_Independent(table, state) for table in tables]
    wide = [name for name in _free(parts, domain) if domain[name].size > _TABLED]
    columns += [_Wide(domain, name, draw, method) for name in wide]
    return _blocks(columns, domain, n)


def _blocks(columns: Sequence[_FromTable | _Wide], domain: Domain, n: int) -> Iterator[Codes]:
    rows = block_rows(domain, sum(each.passed_over for each in columns))
    for start in range(0, n, rows):
        codes: Codes = np.empty((len(domain), min(rows, n - start)), dtype=code_type(domain))
        for each in columns:
            each.fill(codes)
        yield codes.T


def _free(parts: Sequence[Beliefs], domain: Domain) -> list[str]:
    held = {name for part in parts for clique in part.tree.cliques for name in clique}
    return [name for name in domain.names if name not in held]


@final
@dataclass(frozen=True, eq=False)
class _Table:
    """The cells of a clique as rows: one for each combination of codes of the attributes that were drawn before.

    Attributes:
        domain: The domain.
        clique: Its attributes, in the order of the cells.
        given: Those that were drawn before.
        parent: The position of an earlier table that holds them; None where there are none.
        cells: In any unit, flat.
    """

    domain: Domain
    clique: Clique
    given: Clique
    parent: int | None
    cells: Floats

    @cached_property
    def rest(self) -> Clique:
        """The attributes to be drawn."""
        return tuple(name for name in self.clique if name not in self.given)

    def places(self, names: Clique, inside: Clique) -> Ints:
        """Position in a table of each combination of codes of some attributes; all others have code 0."""
        strides = dict(zip(inside, _strides(self.domain, inside).tolist(), strict=True))
        found = np.zeros(1, dtype=np.int64)
        for name in names:
            found = np.add.outer(found, strides.get(name, 0) * np.arange(self.domain[name].size)).reshape(-1)
        return found

    @property
    def kind(self) -> np.dtype[Any]:
        """The smallest compiled type that holds places of the table, and of the records of a block."""
        return np.dtype(np.int32 if self.cells.size < 2**31 else np.int64)


def _tables(parts: Sequence[Beliefs], domain: Domain) -> Iterator[_Table]:
    """Each after its parent in the tree: what a clique shares with all before it is the separator between the two."""
    count = 0
    for part in parts:
        tree, numbers = part.tree, dict[int, int]()
        for node in tree.ordered:
            parent = next((i for i in tree.neighbours[node] if i in numbers), None)
            given = () if parent is None else tree.separator(node, parent)
            clique = tree.cliques[node]
            cells = part.sums(node, clique).reshape(-1)
            yield _Table(domain, clique, given, None if parent is None else numbers[parent], cells)
            numbers[node] = count
            count += 1
    for name in _free(parts, domain):
        if domain[name].size <= _TABLED:
            yield _Table(domain, (name,), (), None, np.ones(domain[name].size))


def _strides(domain: Domain, names: Clique) -> Ints:
    """Cells from one code of each attribute to the next in a flat table."""
    return np.cumprod((1, *domain.shape_of(names)[::-1]), dtype=np.int64)[-2::-1].copy()


class _FromTable(ABC):
    """Columns of the rest of a table, drawn given the columns that were drawn before.

    Attributes:
        passed_over: Number of cells that are passed over for each block.
    """

    passed_over = 0

    def __init__(self, table: _Table, groups: int, state: Words) -> None:
        domain = table.domain
        self._given = np.array(domain.axes(table.given), dtype=np.int64)
        self._strides = _strides(domain, table.given)
        self._rest = np.array(domain.axes(table.rest), dtype=np.int64)
        self._shape = np.array(domain.shape_of(table.rest), dtype=np.int64)
        self._kind = table.kind
        self._sizes = np.empty(groups, dtype=np.int64)
        self._state = state

    def fill(self, codes: Codes) -> None:
        """Draw these columns of a block, shape ``(attributes, records)``."""
        groups, found = np.empty((2, codes.shape[1]), dtype=self._kind)
        compiled.group(codes, self._given, self._strides, groups, self._sizes)
        self._choose(groups, found)
        compiled.unravel(found, self._rest, self._shape, codes)

    @abstractmethod
    def _choose(self, groups: NDArray[Any], found: NDArray[Any]) -> None:
        """A cell of the rest for every record, from its group's row."""


@final
class _Rounded(_FromTable):
    """Whole counts of all cells, and how many of them are not yet dealt out."""

    def __init__(self, table: _Table, sizes: Ints, state: Words) -> None:
        """Round the cells of each row.

        Args:
            table: The cells to round.
            sizes: Number of records for each row.
            state: State of the compiled generator.
        """
        super().__init__(table, len(sizes), state)
        self._table = table
        self._left = sizes
        room = min(table.cells.size, int(sizes.sum()))
        starts, cells = np.empty(len(sizes) + 1, dtype=np.int64), np.empty(room, dtype=self._kind)
        counts = np.empty(room, dtype=np.int64)
        rows, inside = table.places(table.given, table.clique), table.places(table.rest, table.clique)
        found = compiled.round_rows(table.cells, rows, inside, sizes, _TINY, state, (starts, cells, counts))
        self.passed_over = found
        self._entries = starts, cells[:found].copy(), counts[:found].copy()
        self._firsts = np.empty_like(sizes)

    def counted(self, names: Clique) -> Ints:
        """Number of records with each combination of codes of some of the table's attributes."""
        table = self._table
        rows, inside = table.places(table.given, names), table.places(table.rest, names)
        sums = np.zeros(np.prod(table.domain.shape_of(names), dtype=np.int64), dtype=np.int64)
        compiled.add_entries(self._entries, rows, inside, sums)
        return sums

    def _choose(self, groups: NDArray[Any], found: NDArray[Any]) -> None:
        slots = np.empty_like(found)
        compiled.take(self._sizes, self._entries, self._left, self._state, self._firsts, slots)
        compiled.deal(groups, self._sizes, self._firsts, slots, self._state, found)


@final
class _Independent(_FromTable):
    """Cumulative sums of the rows of a table."""

    def __init__(self, table: _Table, state: Words) -> None:
        axes = [table.clique.index(name) for name in (*table.given, *table.rest)]
        shape = table.domain.shape_of(table.clique)
        count = int(np.prod(table.domain.shape_of(table.given), dtype=np.int64))
        super().__init__(table, count, state)
        rows = table.cells.reshape(shape).transpose(axes).reshape(count, -1)
        self._ends = np.cumsum(rows, axis=1)
        self._ends[self._ends[:, -1] < _TINY] = np.arange(1.0, rows.shape[1] + 1.0)

    def _choose(self, groups: NDArray[Any], found: NDArray[Any]) -> None:
        compiled.draw_rows(self._ends, groups, self._state, found)


@final
class _Wide:
    """An attribute with a great many codes, all as likely; in whole numbers, so that none is left out."""

    passed_over = 0

    def __init__(self, domain: Domain, name: str, draw: np.random.Generator, method: SamplingMethod) -> None:
        self._column, self._size = domain.index(name), domain[name].size
        self._draw, self._systematic = draw, method is SamplingMethod.SYSTEMATIC

    def fill(self, codes: Codes) -> None:
        count = codes.shape[1]
        if not self._systematic:
            codes[self._column] = self._draw.integers(self._size, size=count, dtype=np.uint64)
            return
        # floor((j * size + offset) / count) for each record j, without products that leave 64 bits
        offset = int(self._draw.integers(self._size, dtype=np.uint64))
        (whole, part), j = divmod(self._size, count), self._draw.permutation(count).astype(np.uint64)
        high, low = np.uint64(offset // count), np.uint64(offset % count)
        codes[self._column] = j * np.uint64(whole) + high + (j * np.uint64(part) + low) // np.uint64(count)
