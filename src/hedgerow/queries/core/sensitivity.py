"""The neighbouring relation and the sensitivity table of theory.md section 0.

All sensitivities are in counts. Model "add-remove" is the column with a fixed public total: the hypothesis
has mass n-hat, which was released with noise, so that it does not move when a record is added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import final


class Neighbours(StrEnum):
    """Neighbouring relation: the pairs of tables that the guarantee makes indistinguishable.

    ``ADD_REMOVE``: one has one record more (the number of records is private). ``REPLACE``: they differ in one
    record (the number of records is public). ``REPLACE_FILTERED``: the rows that pass a filter, of two whole tables
    that differ in one record. The number of records is public for the whole tables; how many pass is private, because
    the record that is replaced may pass in one table and not in the other.

    Example:
        >>> Neighbours("replace") is Neighbours.REPLACE
        True
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"
    REPLACE_FILTERED = "replace-then-filter"

    @property
    def public_total(self) -> bool:
        """Whether neighbours have the same number of records, so that it may be used exactly."""
        return self is Neighbours.REPLACE

    @property
    def filtered(self) -> Neighbours:
        """The relation between the filtered tables of neighbours, where each row is kept or left out by itself.

        Example:
            >>> Neighbours.REPLACE.filtered.value, Neighbours.ADD_REMOVE.filtered.value
            ('replace-then-filter', 'add-remove')
        """
        return Neighbours.REPLACE_FILTERED if self is Neighbours.REPLACE else self

    @property
    def unfiltered(self) -> Neighbours:
        """The relation between the whole tables; guarantees under it add up, whatever filters were applied.

        Example:
            >>> Neighbours.REPLACE_FILTERED.unfiltered.value
            'replace'
        """
        return Neighbours.REPLACE if self is Neighbours.REPLACE_FILTERED else self


@final
@dataclass(frozen=True)
class Sensitivity:
    """Largest change of an answer or a vector of answers between neighbouring tables, in counts.

    Attributes:
        l1: Largest L1 distance between the answers on neighbouring tables.
        l2: Largest L2 distance.
    """

    l1: float
    l2: float


def of_query(low: float, high: float, neighbours: Neighbours) -> Sensitivity:
    """Sensitivity of one linear query with values in ``[low, high]`` (theory.md section 0).

    Its score ``|q(A) - q(B)|`` against a hypothesis A that is fixed has the same sensitivity.

    Example:
        >>> of_query(-1, 1, Neighbours.REPLACE).l1
        2
        >>> of_query(2, 3, Neighbours.REPLACE).l1, of_query(2, 3, Neighbours.REPLACE_FILTERED).l1
        (1, 3)
    """
    one, other = max(abs(low), abs(high)), high - low
    bound = {
        Neighbours.ADD_REMOVE: one,
        Neighbours.REPLACE: other,
        Neighbours.REPLACE_FILTERED: max(one, other),  # the record enters, leaves, or is another one
    }[neighbours]
    return Sensitivity(bound, bound)


def of_marginal(neighbours: Neighbours) -> Sensitivity:
    """Sensitivity of all cells of one marginal together (theory.md section 0).

    Its score, the L1 distance to the cells of a fixed hypothesis, has sensitivity ``l1``.

    Example:
        >>> of_marginal(Neighbours.ADD_REMOVE)
        Sensitivity(l1=1.0, l2=1.0)
    """
    return Sensitivity(1.0, 1.0) if neighbours is Neighbours.ADD_REMOVE else Sensitivity(2.0, 2.0**0.5)
