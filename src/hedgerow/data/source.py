"""The questions that the curator asks of private data: number of records, and exact counts."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hedgerow.arrays import Ints
from hedgerow.data.options import Violations
from hedgerow.queries import Persons, Tables, Workload


@runtime_checkable
class CountSource(Tables, Protocol):
    """Private records that can be counted. Only ``privacy/`` may hold one.

    The tables of ``marginals`` and the sums of ``conjunctions`` are exact whole numbers, as float64: of records, or of
    ``grain`` of them where weights are fractions, and so is the total (`Neighbours.grain`).

    Example:
        >>> import numpy as np
        >>> from hedgerow import Domain, IntegerRange, Table
        >>> isinstance(Table(Domain([IntegerRange("a", 0, 1)]), [np.array([0, 1, 1])]), CountSource)
        True
    """

    @property
    def filtered(self) -> bool:
        """Whether rows were left out by what they hold.

        Then how many records there are is private, even where neighbours replace records.
        """
        ...

    def total(self) -> int:
        """Number of records (the sum of the weights, where there are weights)."""
        ...


@runtime_checkable
class RuledSource(CountSource, Protocol):
    """Private records that say what became of those that broke a rule of their domain; so do all of this package.

    Who leaves such records out has them ``filtered``.
    """

    @property
    def violations(self) -> Violations:
        """Whether they were refused, or left out one by one."""
        ...


@runtime_checkable
class PersonSource(CountSource, Protocol):
    """Private records that say whether they hold a bounded number of those of each person; so do all of this package.

    Which records of a person are left out depends on that person's records alone, and so does how often they count
    (theory.md section 15).
    """

    @property
    def persons(self) -> Persons | None:
        """The persons, the bound and the weights; None where each record is somebody's own, and counts once."""
        ...


@runtime_checkable
class PreparedSource(CountSource, Protocol):
    """Private records that are counted in passes, and can be told beforehand what will be asked."""

    def prepare(self, workload: Workload) -> None:
        """Have the answers to a workload counted in the next pass; nothing is read."""
        ...


@runtime_checkable
class RecordSource(CountSource, Protocol):
    """Private records one by one, of which some can be taken."""

    def part(self, positions: Ints) -> CountSource:
        """The records of some numbers, from 0 to ``total() - 1``, increasing and each once; private too."""
        ...
