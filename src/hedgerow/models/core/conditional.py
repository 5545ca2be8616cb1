"""One link of a chain of conditional distributions, which together are a hypothesis; records are drawn link by link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain, places_in


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
        return math.prod(self.domain.shape_of(self.given))

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
