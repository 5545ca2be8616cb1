"""Records completed: the codes of some variables are given, row by row, the others are drawn.

A hypothesis is a chain of conditional distributions (`Conditional`), each given one separator, along which records are
drawn. What a row says of the
variables behind a separator changes the odds of its codes: these *messages* are passed from the last conditional to the
first, and records are drawn from the first to the last (Koller and Friedman, "Probabilistic Graphical Models" (2009),
section 10.3.3). Rows that say the same of all that is behind a separator share the message, and those that agree in
the separator too share the conditional.

The law: given its row each record has exactly the conditional law of the hypothesis. *Independent*: by itself.
*Systematic*: the records of one block that share a conditional get its cells as often as expected, rounded up or down.

Messages are logarithms, so that rows of whatever small probability are completed; a row that no record of the domain
has is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hedgerow.arrays import Bools, Floats, Ints, Words
from hedgerow.domain import Clique, Domain, codes_at, places_in
from hedgerow.errors import ImpossibleRowError
from hedgerow.models.core import sampling_kernels as compiled
from hedgerow.models.core.conditions import Columns
from hedgerow.models.core.records import SamplingMethod, new_state


@dataclass(frozen=True, eq=False)
class Conditional:
    """The cells of a clique, to be drawn given the variables that were drawn before: one link of a chain.

    Attributes:
        domain: The domain.
        clique: Its variables that are in the table, in the order of the cells.
        given: Variables that were drawn before and say all that the clique shares with them.
        parent: The position of an earlier step that knows them; None where there are none.
        cells: Weights, flat, in any unit for each combination of given codes.
        logs: Logarithms of the weights in one unit, -inf where no record can be; None for those of the cells.
        follows: Further variables, which the clique determines and a later step is given.
    """

    domain: Domain
    clique: Clique
    given: Clique
    parent: int | None
    cells: Floats
    logs: Floats | None = None
    follows: Clique = ()

    @cached_property
    def rest(self) -> Clique:
        """The variables to be drawn; of a clique that determines what is given, all."""
        return tuple(name for name in self.clique if name not in self.given) if self.plain else self.clique

    @cached_property
    def plain(self) -> bool:
        """Whether the given variables are axes of the table."""
        return set(self.given) <= set(self.clique)

    @cached_property
    def runs(self) -> tuple[Ints, Ints]:
        """The cells of each combination of given codes, one after the other, and where each begins."""
        return runs_of(places_in(self.domain, self.clique, self.given).reshape(-1), self.groups)

    @cached_property
    def groups(self) -> int:
        """Combinations of codes of the given variables."""
        return self.domain.cells(self.given)

    def places(self, names: Clique, inside: Clique) -> Ints:
        """Position in a table of each combination of codes of some variables; all others have code 0."""
        strides = dict(zip(inside, strides_of(self.domain, inside).tolist(), strict=True))
        numbers = np.zeros(1, dtype=np.int64)
        for name in names:
            numbers = np.add.outer(numbers, strides.get(name, 0) * np.arange(self.domain[name].size)).reshape(-1)
        return numbers

    @property
    def kind(self) -> np.dtype[Any]:
        """The smallest compiled type that holds places of the table, and of the records of a block."""
        return np.dtype(np.int32 if max(self.cells.size, self.groups) < 2**31 else np.int64)


def runs_of(groups: Ints, count: int) -> tuple[Ints, Ints]:
    """Positions, group by group, and where each group begins and the last one ends.

    Args:
        groups: The group of each position; -1 for none.
        count: Number of groups.

    Example:
        >>> [each.tolist() for each in runs_of(np.array([1, 0, -1, 1]), 3)]
        [[1, 0, 3], [0, 1, 3, 3]]
    """
    short = count < 2**15  # sorted in a few passes
    order = np.argsort(groups.astype(np.int16) if short else groups, kind="stable")
    ends = np.cumsum(np.bincount(groups + 1, minlength=count + 1))
    return order[ends[0] :], ends - ends[0]


def strides_of(domain: Domain, names: Clique) -> Ints:
    """Cells from one code of each variable to the next in a flat table.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> strides_of(Domain(IntegerRange(name, 0, 9) for name in "abc"), ("a", "c"))
        array([10,  1])
    """
    return np.cumprod((1, *domain.shape_of(names)[::-1]), dtype=np.int64)[-2::-1].copy()


_EXPANDED = 1 << 22
"""Cells that are weighed together."""


class Completion:
    """Draws what rows do not say.

    Example:
        >>> from hedgerow.domain import IntegerRange
        >>> domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 1)))
        >>> pair = Conditional(domain, ("a", "b"), (), None, np.array([0.0, 1.0, 3.0, 0.0]))
        >>> columns = {"b": np.array([1, 0, 0])}
        >>> complete = Completion(domain, [pair], ("b",)).complete
        >>> complete(columns, 3, np.random.default_rng(0), SamplingMethod.INDEPENDENT)["a"].tolist()
        [0, 1, 1]
    """

    def __init__(self, domain: Domain, conditionals: Sequence[Conditional], names: Clique) -> None:
        """Look at what the given variables say of each conditional.

        Args:
            domain: The domain.
            conditionals: Parents first.
            names: The given variables. What a function of several attributes says is seen where one conditional
                determines it.
        """
        self._domain = domain
        self._names = names
        self._links: list[_Link] = []
        children: list[list[_Link]] = [[] for _ in conditionals]
        for place in reversed(range(len(conditionals))):
            link = _Link(conditionals[place], names, children[place])
            parent = conditionals[place].parent
            if parent is not None and link.told:
                children[parent].append(link)
            self._links.append(link)
        self._links.reverse()

    def complete(self, columns: Columns, rows: int, draw: np.random.Generator, method: SamplingMethod) -> Columns:
        """Add the codes of the variables that are not given.

        Args:
            columns: Codes of the given variables, shape ``(rows,)`` each; those of all conditionals are added.
            rows: Number of rows.
            draw: Source of randomness.
            method: Systematic or independent, as the module describes them.

        Raises:
            ImpossibleRowError: No record has the values of a row; the first such row.
        """
        state, refused = new_state(draw), np.zeros(rows, dtype=np.bool_)
        for name in self._names:  # which contradict others that are given
            others = {other: columns[other] for other in self._names if other != name}
            if self._domain.determines(others, name):
                refused |= codes_at(self._domain, name, others) != columns[name]
        for link in reversed(self._links):
            refused |= link.look_at(columns, rows)
        if refused.any():
            raise ImpossibleRowError(int(refused.argmax()) + 1)
        for link in self._links:
            link.draw(columns, state, method)
        return columns


class _Link:
    """A conditional with what the given variables say of it and, by messages, of what is behind it.

    Attributes:
        told: Whether they say anything.
    """

    def __init__(self, conditional: Conditional, names: Clique, children: Sequence[_Link]) -> None:
        domain, clique, given = conditional.domain, conditional.clique, conditional.given
        self._conditional, self._children = conditional, children
        self.separator: Clique = given
        beside = dict.fromkeys((*names, *clique, *(name for child in children for name in child.separator)))
        seen = [name for name in beside if domain.determines(clique, name) and domain.determines(names, name)]
        self._evidence = domain.clique(seen)
        self.told: bool = bool(self._evidence or children)
        self._drawn = any(name not in self._evidence for name in clique)
        shared = tuple(name for name in self._evidence if domain.determines(given, name))
        self._shared = shared
        # the separator's codes that agree with what the rows say of it
        self._agreeing, self._begins = runs_of(_places(domain, given, shared), domain.cells(shared))
        self._rank = np.zeros(domain.cells(given), dtype=np.int64)
        self._rank[self._agreeing] = np.arange(len(self._agreeing)) - np.repeat(
            self._begins[:-1], np.diff(self._begins)
        )
        # the cells that agree with both
        groups = _places(domain, clique, given)
        keys = np.where(groups < 0, -1, groups * domain.cells(self._evidence) + _places(domain, clique, self._evidence))
        order = np.argsort(keys, kind="stable")
        order = order[np.searchsorted(keys[order], 0) :]
        self._cells = order
        self._keys, firsts = np.unique(keys[order], return_index=True)
        self._ends = np.append(firsts, len(order))
        self._seen_by = [_places(domain, clique, child.separator) for child in children]
        self._total = _log_sums(self._logs(order), groups[order], domain.cells(given))

    def _logs(self, cells: Ints) -> Floats:
        logs = self._conditional.logs
        if logs is not None:
            return logs[cells]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._conditional.cells[cells]))

    def look_at(self, columns: Columns, rows: int) -> Bools:
        """Sort rows by all that they say from here on, and weigh the separator's codes; children first.

        Returns:
            Whether there is no record for a row, as far as can be told here, shape ``(rows,)``.
        """
        domain = self._conditional.domain
        said = _flat(domain, self._evidence, columns, rows)
        _, firsts, self._pattern = np.unique(said, return_index=True, return_inverse=True)
        for child in self._children:
            combined = self._pattern * (int(child.pattern.max(initial=0)) + 1) + child.pattern
            _, firsts, self._pattern = np.unique(combined, return_index=True, return_inverse=True)
        self._said = said[firsts]
        self._behind = [child.pattern[firsts] for child in self._children]
        run = _flat(domain, self._shared, columns, rows)[firsts]
        lengths = self._begins[run + 1] - self._begins[run]
        self._offsets = np.cumsum(lengths) - lengths
        if not self.told:
            return np.zeros(rows, dtype=np.bool_)
        codes = self._agreeing[_ranges(self._begins[run], lengths)]
        self._message = self._weigh(np.repeat(np.arange(len(firsts)), lengths), codes)
        hopeless = np.ones(len(firsts), dtype=np.bool_)
        hopeless[np.repeat(np.arange(len(firsts)), lengths)[self._message > -np.inf]] = False
        return np.asarray(hopeless[self._pattern])

    @property
    def pattern(self) -> Ints:
        """The number of what each row says from here on."""
        return self._pattern

    def message(self, patterns: Ints, codes: Ints) -> Floats:
        """The logarithm of the odds of codes of the separator, by what is said from here on."""
        return np.asarray(self._message.take(self._offsets[patterns] + self._rank[codes], mode="clip"))

    def _weigh(self, patterns: Ints, codes: Ints) -> Floats:
        """Logarithms of the probabilities of what is said, given codes of the separator."""
        log_weights = np.full(len(patterns), -np.inf)
        for first, stop in self._pieces(patterns, codes):
            _, logs, begins = self._expanded(patterns[first:stop], codes[first:stop])
            owners = np.repeat(np.arange(stop - first), np.diff(begins))
            log_weights[first:stop] = _log_sums(logs, owners, stop - first)
        totals = self._total[codes]
        return np.asarray(
            np.subtract(log_weights, totals, out=np.full(len(log_weights), -np.inf), where=totals > -np.inf)
        )

    def _pieces(self, patterns: Ints, codes: Ints) -> Iterator[tuple[int, int]]:
        """Runs of pairs with a bounded number of cells."""
        sizes = np.cumsum(self._run(patterns, codes)[1])
        first = 0
        while first < len(sizes):
            before = sizes[first - 1] if first else 0
            stop = max(first + 1, int(np.searchsorted(sizes, before + _EXPANDED, side="right")))
            yield first, stop
            first = stop

    def _run(self, patterns: Ints, codes: Ints) -> tuple[Ints, Ints]:
        """First of the cells that agree with what is said and with a code of the separator, and their number."""
        wanted = codes * self._conditional.domain.cells(self._evidence) + self._said[patterns]
        places = np.searchsorted(self._keys, wanted)
        there = self._keys.take(places, mode="clip") == wanted if len(self._keys) else np.zeros(len(wanted), np.bool_)
        starts = self._ends[np.where(there, places, 0)]
        return starts, np.where(there, self._ends.take(places + 1, mode="clip") - starts, 0)

    def _expanded(self, patterns: Ints, codes: Ints) -> tuple[Ints, Floats, Ints]:
        """The cells of each pair one after the other, their logarithms, and where each pair's begin."""
        starts, lengths = self._run(patterns, codes)
        cells = self._cells[_ranges(starts, lengths)]
        logs = self._logs(cells)
        for child, seen, behind in zip(self._children, self._seen_by, self._behind, strict=True):
            logs = logs + child.message(np.repeat(behind[patterns], lengths), seen[cells])
        return cells, logs, np.append(0, np.cumsum(lengths))

    def draw(self, columns: Columns, state: Words, method: SamplingMethod) -> None:
        """Draw a cell for every row, given the codes of the separator."""
        conditional = self._conditional
        domain, clique = conditional.domain, conditional.clique
        if not self._drawn:
            columns.update({name: codes_at(domain, name, columns) for name in clique})
            return
        codes = _flat(domain, conditional.given, columns, len(self._pattern))
        count = domain.cells(conditional.given)
        _, firsts, group = np.unique(self._pattern * count + codes, return_index=True, return_inverse=True)
        patterns, codes = self._pattern[firsts], codes[firsts]
        order = np.argsort(group, kind="stable")
        ends = np.append(0, np.cumsum(np.bincount(group, minlength=len(firsts))))
        found = np.empty(len(group), dtype=np.int64)
        for first, stop in self._pieces(patterns, codes):
            cells, logs, begins = self._expanded(patterns[first:stop], codes[first:stop])
            rows = order[ends[first] : ends[stop]]
            found[rows] = cells[drawn(_weights(logs, begins), begins, group[rows] - first, state, method)]
        columns.update(zip(clique, np.unravel_index(found, domain.shape_of(clique)), strict=True))


def drawn(weights: Floats, begins: Ints, groups: Ints, state: Words, method: SamplingMethod) -> Ints:
    """A position for every record, from the weights of its group.

    Args:
        weights: Group by group.
        begins: Start of the weights of each group, and the end of the last ones.
        groups: The group of each record.
        state: State of the compiled generator.
        method: Systematic: the records of a group share its weights, each rounded up or down; or independent.

    Returns:
        Positions of weights, shape of the groups.

    Example:
        >>> weights, begins, groups = np.array([1.0, 0.0, 1.0, 1.0]), np.array([0, 2, 4]), np.array([1, 0, 1])
        >>> drawn(weights, begins, groups, np.zeros(1, np.uint64), SamplingMethod.SYSTEMATIC).tolist()[1]
        0
    """
    places = np.empty(len(groups), dtype=np.int64)
    if method is SamplingMethod.INDEPENDENT:
        ends = weights.copy()
        compiled.add_up(ends, begins)
        compiled.draw_runs(ends, np.arange(len(weights)), begins, groups, state, places)
        return places
    sizes = np.bincount(groups, minlength=len(begins) - 1)
    starts, cells, counts = np.empty(len(begins), dtype=np.int64), np.empty_like(places), np.empty_like(places)
    order = np.arange(len(weights))
    entries = compiled.round_runs(weights, order, begins, sizes, 0.0, state, (starts, cells, counts))
    slots = np.repeat(cells[:entries], counts[:entries])
    compiled.deal(groups, sizes.copy(), np.cumsum(sizes) - sizes, slots, state, places)
    return places


def _weights(logs: Floats, begins: Ints) -> Floats:
    """Exponentials, those of each run in a unit of its own."""
    lengths = np.diff(begins)
    tops = np.maximum.reduceat(logs, begins[:-1][lengths > 0])
    return np.asarray(np.exp(logs - np.repeat(tops, lengths[lengths > 0])))


def _log_sums(logs: Floats, groups: Ints, count: int) -> Floats:
    """Logarithms of the sums of exponentials, by group."""
    tops = np.full(count, -np.inf)
    np.maximum.at(tops, groups, logs)
    scale = np.where(tops > -np.inf, tops, 0.0)
    sums = np.bincount(groups, np.exp(logs - scale[groups]), count)
    return np.asarray(scale + np.log(sums, out=np.full(count, -np.inf), where=sums > 0.0))


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers from each start on, one run after the other."""
    ends = np.cumsum(lengths)
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - (ends - lengths), lengths))


def _places(domain: Domain, clique: Clique, wanted: Clique) -> Ints:
    return places_in(domain, clique, wanted).reshape(-1)


def _flat(domain: Domain, names: Clique, columns: Mapping[str, Ints], rows: int) -> Ints:
    """The cell of each row in the table of variables that its codes determine."""
    places = np.zeros(rows, dtype=np.int64)
    for name in names:
        places = places * domain[name].size + codes_at(domain, name, columns)
    return places
