"""A known table: numbers of records, or what weights add up to, in each cell of a table, public before a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hedgerow.arrays import Ints
from hedgerow.domain.derived import Clique
from hedgerow.errors import DomainError

MOST_RECORDS = 1 << 31
"""Known totals are below this, as tables are."""


@dataclass(frozen=True, eq=False)
class KnownTable:
    """The number of records in each cell of a table, or the population that weighted records stand for, public.

    Attributes:
        names: Columns and levels, in the order of their domain; none for the number alone.
        counts: The numbers, shape ``(cells,)``, in the order of the cells.
        population: Whether they are of the population that records with weights stand for, and not of records.

    Example:
        >>> KnownTable(("sex",), [30, 20]).total
        50
    """

    names: Clique
    counts: Ints = field(repr=False)
    population: bool = False

    def __init__(self, names: Iterable[str], counts: Iterable[int] | Ints, *, population: bool = False) -> None:
        """Take the numbers.

        Raises:
            DomainError: A number is negative or not whole, or there are no records or too many.
        """
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "population", population)
        given = np.asarray(counts if isinstance(counts, np.ndarray) else list(counts))
        if given.dtype.kind not in "iu" or given.ndim != 1 or given.min(initial=0) < 0:
            raise DomainError(f"{self.text} has a count that is no whole number from 0 on", remedy="correct it")
        object.__setattr__(self, "counts", given.astype(np.int64))
        if not 0 < self.total < MOST_RECORDS:
            raise DomainError(f"{self.text} is of {self.total:,} records", remedy="give counts of 1 to 2^31 records")
        self.counts.setflags(write=False)

    @property
    def text(self) -> str:
        """What it is called in sentences."""
        if self.population:
            return f"the known population{' by ' * bool(self.names)}{' * '.join(self.names)}"
        return f"the known table of {' * '.join(self.names)}" if self.names else "the known number of records"

    @cached_property
    def total(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    def over(self, shape: tuple[int, ...]) -> Ints:
        """The counts with an axis for each name.

        Args:
            shape: Number of codes of each name.
        """
        return self.counts.reshape(shape)

    def among(self, shape: tuple[int, ...], names: Clique) -> KnownTable:
        """The sums over all but some of its names.

        Args:
            shape: Number of codes of each of its names.
            names: Those that stay, in their new order.

        Example:
            >>> KnownTable(("a", "b"), [1, 2, 3, 4]).among((2, 2), ("b",)).counts
            array([4, 6])
        """
        kept = [name for name in self.names if name in names]
        beside = tuple(axis for axis, name in enumerate(self.names) if name not in names)
        table = self.over(shape).sum(axis=beside)
        flat = table.transpose([kept.index(name) for name in names]).reshape(-1)
        return KnownTable(names, flat, population=self.population)

    def __eq__(self, other: object) -> bool:
        """Whether both say the same."""
        if not isinstance(other, KnownTable) or hash(self) != hash(other):
            return False
        return self.names == other.names and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        """A hash of names and counts, computed once."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.names, self.counts.tobytes(), self.population))
