"""The neighbouring relation and the sensitivity table of theory.md section 0.

All sensitivities are in counts. Model "add-remove" is the column with a fixed public total: the hypothesis
has mass n-hat, which was released with noise, so that it does not move when a record is added or removed.

Where persons have several records, of which at most m are counted, neighbours are m single steps apart: records that
come and go one by one, or take each other's place. So what a single step moves by s, in any norm, a person moves by at
most m s (theory.md section 15). A record of weight w counts as w equal records: then m is at most the number of records
of a person times the largest weight (section 15.2).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Final, Literal

from hedgerow.errors import ConfigError
from hedgerow.queries.core.persons import Persons, Weight


class Relation(StrEnum):
    """The change between neighbouring tables.

    ``ADD_REMOVE``: one has one record more (the number of records is private). ``REPLACE``: they differ in one
    record (the number of records is public). ``REPLACE_FILTERED``: the rows that pass a filter, of two whole tables
    that differ in one record. The number of records is public for the whole tables; how many pass is private, because
    the record that is replaced may pass in one table and not in the other.

    Example:
        >>> Relation("replace") is Relation.REPLACE
        True
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"
    REPLACE_FILTERED = "replace-then-filter"


_OF_PERSONS = re.compile(r"([a-z-]+)(?: of persons \((.+?)\)(?:, at most ([0-9]{1,7}) records?)?)?", re.DOTALL)
_OF_WEIGHT = re.compile(
    r"(.+?)(?:, each| of records) of weight \(([^()]+)\) up to ([0-9]{1,7})( in 1/1024)?", re.DOTALL
)


@dataclass(frozen=True)
class Neighbours:
    """Neighbouring relation: the pairs of tables that the guarantee makes indistinguishable.

    It is between records, or between persons with up to m records each, weighted or not; all sensitivities follow from
    it.

    Attributes:
        relation: The change.
        persons: The persons who change with all of their records, as often as these count; None if single records do.

    Example:
        >>> Neighbours.of("replace") is Neighbours.REPLACE
        True
        >>> Neighbours.ADD_REMOVE.between(Persons("patient", 5)).value
        'add-remove of persons (patient), at most 5 records'
        >>> Neighbours.ADD_REMOVE.between(Persons("patient", 5, Weight("w", 40))).records
        200
    """

    relation: Relation
    persons: Persons | None = None

    ADD_REMOVE: ClassVar[Neighbours]
    REPLACE: ClassVar[Neighbours]
    REPLACE_FILTERED: ClassVar[Neighbours]
    OF_RECORDS: ClassVar[tuple[Neighbours, ...]]
    """The three relations between single records."""

    @classmethod
    def of(cls, text: Neighbours | str) -> Neighbours:
        """Read what `value` gives.

        Raises:
            ValueError: There is no such relation.

        Example:
            >>> Neighbours.of("add-remove of persons (id), at most 5 records").records
            5
        """
        if isinstance(text, Neighbours):
            return text
        for relation in cls.OF_RECORDS:  # which nearly all events of a ledger name
            if text == relation.relation:
                return relation
        weighted = _OF_WEIGHT.fullmatch(text)
        matched = _OF_PERSONS.fullmatch(text if weighted is None else weighted[1])
        if matched is None or matched[1] not in list(Relation):
            raise ValueError(f"there is no neighbouring relation {text!r}")
        change, column, most = matched.groups()
        neighbours = _OF_RECORDS[Relation(change)]
        try:
            weight = None if weighted is None else Weight(weighted[2], int(weighted[3]), weighted[4] is not None)
            if column is not None:
                neighbours = neighbours.between(Persons(column, None if most is None else int(most), weight))
            elif weight is not None:
                neighbours = neighbours.between(Persons(None, 1, weight))
        except ConfigError as error:
            raise ValueError(str(error)) from error
        if neighbours.value != text:
            raise ValueError(f"{text!r} is not how a neighbouring relation is written")
        return neighbours

    @property
    def value(self) -> str:
        """The relation as files and ledgers have it."""
        return self.relation.value if self.persons is None else f"{self.relation.value} of {self.persons.text}"

    def __str__(self) -> str:
        """The same."""
        return self.value

    @property
    def records(self) -> int:
        """Number of records that one person counts for at most: m; 1 if neighbours differ in a record.

        Raises:
            ConfigError: It is not known, because the relation is between whole tables.
        """
        return 1 if self.persons is None else self.persons.records

    @property
    def grain(self) -> float:
        """What counts of records are whole multiples of: 1, or less where weights are fractions."""
        return 1.0 if self.persons is None or self.persons.weight is None else self.persons.weight.grain

    @property
    def step(self) -> Relation:
        """The change of a single step, of which a person makes up to `records`.

        Persons who are replaced have different numbers of records, or weights, unless all of them have one of weight 1.
        """
        several = self.persons is not None and (self.persons.at_most != 1 or self.persons.weight is not None)
        return Relation.REPLACE_FILTERED if several and self.relation is Relation.REPLACE else self.relation

    @property
    def single(self) -> Neighbours:
        """The relation between tables that are a single step apart."""
        return _OF_RECORDS[self.step]

    @property
    def public_total(self) -> bool:
        """Whether neighbours have the same number of records, so that it may be used exactly."""
        return self.step is Relation.REPLACE

    @property
    def filtered(self) -> Neighbours:
        """The relation between the filtered tables of neighbours, where each row is kept or left out by itself.

        Example:
            >>> Neighbours.REPLACE.filtered.value, Neighbours.ADD_REMOVE.filtered.value
            ('replace-then-filter', 'add-remove')
        """
        return self._as(Relation.REPLACE_FILTERED) if self.relation is Relation.REPLACE else self

    @property
    def unfiltered(self) -> Neighbours:
        """The relation between the whole tables; guarantees under it add up, whatever filters were applied.

        That a bounded number of records of each person is counted, so often as their weights say, is a filter too.

        Example:
            >>> Neighbours.REPLACE_FILTERED.unfiltered.value
            'replace'
            >>> Neighbours.of("add-remove of persons (id), at most 5 records").unfiltered.value
            'add-remove of persons (id)'
            >>> Neighbours.of("add-remove of records of weight (w) up to 40").unfiltered.value
            'add-remove'
        """
        whole = self._as(Relation.REPLACE) if self.relation is Relation.REPLACE_FILTERED else self
        return whole if self.persons is None else whole.between(self.persons.unbounded)

    def between(self, persons: Persons | None) -> Neighbours:
        """The same change, of persons with all of their records; of single records for None."""
        return _OF_RECORDS[self.relation] if persons is None else replace(self, persons=persons)

    def _as(self, relation: Relation) -> Neighbours:
        return _OF_RECORDS[relation].between(self.persons)


_OF_RECORDS: Final = {relation: Neighbours(relation) for relation in Relation}
Neighbours.ADD_REMOVE = _OF_RECORDS[Relation.ADD_REMOVE]
Neighbours.REPLACE = _OF_RECORDS[Relation.REPLACE]
Neighbours.REPLACE_FILTERED = _OF_RECORDS[Relation.REPLACE_FILTERED]
Neighbours.OF_RECORDS = tuple(_OF_RECORDS.values())


@dataclass(frozen=True)
class Sensitivity:
    """Largest change of an answer or a vector of answers between neighbouring tables, in counts.

    Attributes:
        l1: Largest L1 distance between the answers on neighbouring tables.
        l2: Largest L2 distance.
        bound: ``"halves"`` where two answers move at most, each by half of ``l1``; ``"parities"`` where each moves by 2
            at most; else None.
    """

    l1: float
    l2: float
    bound: Literal["halves", "parities"] | None = field(default=None, repr=False)


def of_query(low: float, high: float, neighbours: Neighbours) -> Sensitivity:
    """Sensitivity of one linear query with values in ``[low, high]`` (theory.md section 0).

    Its score ``|q(A) - q(B)|`` against a hypothesis A that is fixed has the same sensitivity.

    Example:
        >>> of_query(-1, 1, Neighbours.REPLACE).l1
        2
        >>> of_query(2, 3, Neighbours.REPLACE).l1, of_query(2, 3, Neighbours.REPLACE_FILTERED).l1
        (1, 3)
        >>> of_query(-1, 1, Neighbours.ADD_REMOVE.between(Persons("id", 5))).l1
        5
    """
    one, other = max(abs(low), abs(high)), high - low
    bound = (
        neighbours.records
        * {
            Relation.ADD_REMOVE: one,
            Relation.REPLACE: other,
            Relation.REPLACE_FILTERED: max(one, other),  # the record enters, leaves, or is another one
        }[neighbours.step]
    )
    return Sensitivity(bound, bound)


def of_marginal(neighbours: Neighbours) -> Sensitivity:
    """Sensitivity of all cells of one marginal together (theory.md sections 0 and 15).

    Its score, the L1 distance to the cells of a fixed hypothesis, has sensitivity ``l1``. The records of a person may
    all be in one cell, so that the L2 distance is m times that of one record too. One record that is replaced leaves a
    cell and enters another.

    Example:
        >>> of_marginal(Neighbours.ADD_REMOVE)
        Sensitivity(l1=1.0, l2=1.0)
        >>> of_marginal(Neighbours.ADD_REMOVE.between(Persons("id", 5)))
        Sensitivity(l1=5.0, l2=5.0)
    """
    m = float(neighbours.records)
    if neighbours.step is Relation.ADD_REMOVE:
        return Sensitivity(m, m)
    if m == 1.0:
        return Sensitivity(2.0, 2.0**0.5, "halves")
    return Sensitivity(2.0 * m, math.nextafter(2.0**0.5 * m, math.inf))  # not rounded down
