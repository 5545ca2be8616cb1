"""Records from junction trees: a clique at a time, given the variables that were drawn before.

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

A level may be drawn before its attribute: the attribute is then one more step, given the level, and of an attribute of
which no clique holds more than a level all codes inside are as likely (systematic: a group of records with one level
is spread over these codes evenly). Where the attribute comes first, its levels follow from it. Cells of probability 0
get no record, by either method.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints, Words
from hedgerow.domain import Clique, Domain, codes_at, places_in
from hedgerow.models.core import (
    Codes,
    Columns,
    Complete,
    Completion,
    Conditional,
    SamplingMethod,
    block_rows,
    code_type,
    new_state,
    sampling_kernels as compiled,
    strides_of,
)
from hedgerow.models.trees.beliefs import Beliefs

_TABLED = 1 << 20
"""Codes of an attribute in no part of the model that are still counted one by one."""
_TINY = 1e-290
"""Groups of less probability, relative to the largest cell, have their conditionals from logarithms."""


def sample_trees(
    parts: Sequence[Beliefs], domain: Domain, n: int, draw: np.random.Generator, method: SamplingMethod
) -> Iterator[Codes]:
    """Draw records from a product of parts, uniform over the attributes of none, block by block.

    The counts of an attribute in no part with more than a million codes are within one of their expectation in each
    block, not in all together.

    Args:
        parts: Parts over different variables of the domain; they may change while blocks are drawn.
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
    tables = conditionals(parts, domain)
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


def completing(parts: Sequence[Beliefs], domain: Domain, names: Clique) -> Complete:
    """The function that completes rows of codes of some variables; ``models/core/completion.py`` states the law.

    Args:
        parts: Parts over different variables; they must stay as they are as long as the function is used. One of them
            holds what a given function of several attributes depends on.
        domain: The domain.
        names: The given variables.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 3)))
        >>> complete = completing([], domain, ("a",))
        >>> rows = complete({"a": np.array([1, 1, 0, 0])}, 4, np.random.default_rng(1), SamplingMethod.SYSTEMATIC)
        >>> sorted(rows["b"].tolist())
        [0, 1, 2, 3]
    """
    links = conditionals(parts, domain)
    wide = [name for name in _free(parts, domain) if domain[name].size > _TABLED and name not in names]
    for name in domain.base(names):
        if name in wide:  # a level of it is given
            links.append(Conditional(domain, (name,), (), None, np.ones(domain[name].size)))
            wide.remove(name)
    completion = Completion(domain, links, names)

    def complete(columns: Columns, rows: int, draw: np.random.Generator, method: SamplingMethod) -> Columns:
        completion.complete(columns, rows, draw, method)
        codes = np.empty((len(domain), rows), dtype=np.uint64)
        for name in wide:
            _Wide(domain, name, draw, method).fill(codes)
            columns[name] = codes[domain.index(name)]
        return columns

    return complete


def _blocks(columns: Sequence[_FromTable | _Wide], domain: Domain, n: int) -> Iterator[Codes]:
    """Blocks; inside, derived variables that were drawn have columns after those of the attributes."""
    variables = {*domain.names, *(name for column in columns for name in column.drawn)}
    height = 1 + max(domain.axes([*variables]))
    kind = np.result_type(*(np.min_scalar_type(size - 1) for size in domain.shape_of([*variables])))
    rows = block_rows(domain, sum(column.passed_over for column in columns))
    for start in range(0, n, rows):
        codes: Codes = np.empty((height, min(rows, n - start)), dtype=kind)
        for column in columns:
            column.fill(codes)
        yield codes[: len(domain)].T.astype(code_type(domain), copy=False)


def _free(parts: Sequence[Beliefs], domain: Domain) -> list[str]:
    """Attributes that no part knows anything of."""
    drawn = {name for part in parts for clique in part.tree.cliques for name in clique}
    known = {*drawn, *domain.base(drawn)} if drawn - {*domain.names} else drawn
    return [name for name in domain.names if name not in known]


def conditionals(parts: Sequence[Beliefs], domain: Domain) -> list[Conditional]:
    """The steps of drawing, each after its parent: what a clique shares with all before it is one separator."""
    steps: list[Conditional] = []
    holder: dict[str, int] = {}
    finest = _finest(parts, domain)
    for part in parts:
        tree, numbers = part.tree, dict[int, int]()
        asked = {name for i, j in tree.edges for name in tree.stored_separator(i, j)} | {*finest.values()}
        for node in tree.ordered:
            parent = next((i for i in tree.neighbours[node] if i in numbers), None)
            given = () if parent is None else tree.stored_separator(node, parent)
            clique = tree.stored[node]
            new = [name for name in tree.cliques[node] if name not in holder]
            follows = tuple(name for name in new if name in asked and name not in clique)
            cells, logs = _lifted(part, node, given).reshape(-1), part.logs(node).reshape(-1)
            before = None if parent is None else numbers[parent]
            steps.append(Conditional(domain, clique, given, before, cells, logs, follows))
            numbers[node] = len(steps) - 1
            holder.update(dict.fromkeys(new, numbers[node]))
    free = _free(parts, domain)
    for name in domain.names:
        if name in finest:
            level = finest[name]
            steps.append(Conditional(domain, (name,), (level,), holder[level], np.ones(domain[name].size)))
        elif name in free and domain[name].size <= _TABLED:
            steps.append(Conditional(domain, (name,), (), None, np.ones(domain[name].size)))
    return steps


def _finest(parts: Sequence[Beliefs], domain: Domain) -> dict[str, str]:
    """For each attribute of which no clique holds more than a coarser variable the one that says most."""
    in_trees = {name for part in parts for clique in part.tree.cliques for name in clique}
    finest: dict[str, str] = {}
    for name in sorted(in_trees - {*domain.names}, key=domain.index):
        function = domain.function(name)
        if function is not None and len(function.sources) == 1 and function.sources[0] not in in_trees:
            (source,) = function.sources
            if source not in finest or domain.lookup(name, finest[source]) is not None:
                finest[source] = name
    return finest


def _lifted(part: Beliefs, node: int, given: Clique) -> Floats:
    """The marginal of a clique, where groups that are next to impossible have cells in a unit of their own."""
    clique, domain = part.tree.stored[node], part.tree.domain
    cells = part.sums(node, clique)
    tiny = part.sums(node, given).reshape(-1) < _TINY
    if not tiny.any():
        return cells
    logs, groups = part.logs(node), places_in(domain, clique, given)
    inside = (groups >= 0) & tiny[groups] & (logs > -np.inf)
    tops = np.full(tiny.size, -np.inf)
    np.maximum.at(tops, groups[inside], logs[inside])
    lifted = cells.copy()
    lifted[inside] = np.exp(logs[inside] - tops[groups[inside]])
    return lifted


class _FromTable(ABC):
    """Columns of a step, drawn given the columns that were drawn before.

    Attributes:
        drawn: The variables whose columns are filled.
        passed_over: Number of cells that are passed over for each block.
    """

    passed_over = 0

    def __init__(self, step: Conditional, groups: int, state: Words) -> None:
        self.drawn = (*step.rest, *step.follows)
        self._step = step
        self._given = np.array(step.domain.axes(step.given), dtype=np.int64)
        self._strides = strides_of(step.domain, step.given)
        self._rest = np.array(step.domain.axes(step.rest), dtype=np.int64)
        self._shape = np.array(step.domain.shape_of(step.rest), dtype=np.int64)
        self._sizes = np.empty(groups, dtype=np.int64)
        self._state = state

    def fill(self, codes: Codes) -> None:
        """Draw these columns of a block, shape ``(variables, records)``."""
        step = self._step
        groups, found = np.empty((2, codes.shape[1]), dtype=step.kind)
        compiled.group(codes, self._given, self._strides, groups, self._sizes)
        self._choose(groups, found)
        compiled.unravel(found, self._rest, self._shape, codes)
        for name in step.follows:
            known = dict(zip(step.clique, codes[step.domain.axes(step.clique), :], strict=True))
            codes[step.domain.index(name)] = codes_at(step.domain, name, known)

    @abstractmethod
    def _choose(self, groups: NDArray[Any], found: NDArray[Any]) -> None:
        """A cell of the rest for every record, from its group's row."""


class _Rounded(_FromTable):
    """Whole counts of all cells, and how many of them are not yet dealt out."""

    def __init__(self, step: Conditional, sizes: Ints, state: Words) -> None:
        """Round the cells of each row.

        Args:
            step: The cells to round.
            sizes: Number of records for each row.
            state: State of the compiled generator.
        """
        super().__init__(step, len(sizes), state)
        self._left = sizes
        room = min(step.cells.size, int(sizes.sum()))
        starts, cells = np.empty(len(sizes) + 1, dtype=np.int64), np.empty(room, dtype=step.kind)
        entries = starts, cells, np.empty(room, dtype=np.int64)
        if step.plain:
            rows, inside = step.places(step.given, step.clique), step.places(step.rest, step.clique)
            found = compiled.round_rows(step.cells, rows, inside, sizes, _TINY, state, entries)
        else:
            found = compiled.round_runs(step.cells, *step.runs, sizes, _TINY, state, entries)
        self.passed_over = found
        self._entries = starts, cells[:found].copy(), entries[2][:found].copy()
        self._firsts = np.empty_like(sizes)

    def counted(self, names: Clique) -> Ints:
        """Number of records with each combination of codes of variables that the step knows."""
        step = self._step
        sums = np.zeros(step.domain.cells(names), dtype=np.int64)
        if step.plain and set(names) <= set(step.clique):
            rows, inside = step.places(step.given, names), step.places(step.rest, names)
            compiled.add_entries(self._entries, rows, inside, sums)
        else:
            _, cells, counts = self._entries
            columns = self._columns(cells)
            known = [codes_at(step.domain, name, columns) for name in names]
            np.add.at(sums, np.ravel_multi_index(known, step.domain.shape_of(names)), counts)
        return sums

    def _columns(self, cells: NDArray[Any]) -> dict[str, Ints]:
        """The codes of each entry."""
        step = self._step
        places = cells.astype(np.int64)
        if step.plain:
            starts = self._entries[0]
            rows = step.places(step.given, step.clique)
            places = np.repeat(rows, np.diff(starts)) + step.places(step.rest, step.clique)[cells]
        codes = np.unravel_index(places, step.domain.shape_of(step.clique))
        return dict(zip(step.clique, codes, strict=True))

    def _choose(self, groups: NDArray[Any], found: NDArray[Any]) -> None:
        slots = np.empty_like(found)
        compiled.take(self._sizes, self._entries, self._left, self._state, self._firsts, slots)
        compiled.deal(groups, self._sizes, self._firsts, slots, self._state, found)


class _Independent(_FromTable):
    """Cumulative sums of the rows of a table."""

    def __init__(self, step: Conditional, state: Words) -> None:
        super().__init__(step, step.groups, state)
        if step.plain:
            axes = [step.clique.index(name) for name in (*step.given, *step.rest)]
            shape = step.domain.shape_of(step.clique)
            rows = step.cells.reshape(shape).transpose(axes).reshape(step.groups, -1)
            self._ends = np.cumsum(rows, axis=1)
        else:
            order, begins = step.runs
            self._ends = step.cells[order]
            compiled.add_up(self._ends, begins)

    def _choose(self, groups: NDArray[Any], found: NDArray[Any]) -> None:
        if self._step.plain:
            compiled.draw_rows(self._ends, groups, self._state, found)
        else:
            compiled.draw_runs(self._ends, *self._step.runs, groups, self._state, found)


class _Wide:
    """An attribute with a great many codes, all as likely; in whole numbers, so that none is left out."""

    passed_over = 0

    def __init__(self, domain: Domain, name: str, draw: np.random.Generator, method: SamplingMethod) -> None:
        self.drawn = (name,)
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
