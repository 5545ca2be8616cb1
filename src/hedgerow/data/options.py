"""How a private table is read, in one object: what `read_table`, `scan_table` and the command line take as options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from hedgerow.errors import ConfigError
from hedgerow.queries import Persons, persons_of

if TYPE_CHECKING:
    from hedgerow.domain import Domain

ExtraColumns = Literal["error", "ignore"]
"""Columns that the domain does not declare: the table is refused, or they are left alone."""
Violations = Literal["refuse", "drop"]
"""Records that break a rule of their domain: the table is refused, or they are left out one by one."""


@dataclass(frozen=True)
class ReadOptions:
    """How a private table is read; public.

    Attributes:
        count_column: Column that says how many records a row stands for.
        columns: Names of the columns to read, in this order; None for all of the domain. A text is one name.
        extra_columns: Whether a column that the domain does not declare is an error; with ``columns`` it is not.
        coded: Whether the table holds codes already, in place of values.
        show_values: Whether errors may show offending values.
        where: A SQL condition: only rows for which it holds are records.
        violations: Whether records that break a rule of the domain are an error, or are left out.
        person: Column that says who a record belongs to.
        at_most: Maximum records counted per person.
        named: Column that names each record, for the records of another table that belong to it.
        weight: Column that says how often a record counts.
        largest_weight: The largest weight; a record with a larger one counts as often as this.
        fractional_weights: Whether weights may be fractions, each of which is rounded to a multiple of 1/1,024.

    Raises:
        ConfigError: ``extra_columns`` or ``violations`` is neither of its values, or ``person`` and ``at_most``, or
            ``weight`` and ``largest_weight``, do not go together.

    Example:
        >>> ReadOptions(person="patient", at_most=5).persons.text
        'persons (patient), at most 5 records'
    """

    count_column: str | None = None
    columns: Iterable[str] | None = None
    extra_columns: ExtraColumns = "error"
    coded: bool = False
    show_values: bool = False
    where: str | None = None
    violations: Violations = "refuse"
    person: str | None = None
    at_most: int | None = None
    weight: str | None = None
    largest_weight: int | None = None
    fractional_weights: bool = False
    named: str | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on the table."""
        if self.extra_columns not in get_args(ExtraColumns):
            raise ConfigError(f"extra_columns is {self.extra_columns!r}", remedy="give 'error' or 'ignore'")
        check_violations(self.violations)
        _ = self.persons

    @classmethod
    def from_mapping(cls, described: Mapping[str, Any]) -> Self:
        """The options in a mapping that may hold other things too; None stands for a default.

        Example:
            >>> ReadOptions.from_mapping({"place": "people.csv", "coded": True}) == ReadOptions(coded=True)
            True
        """
        return cls(**{field.name: found for field in fields(cls) if (found := described.get(field.name)) is not None})

    @property
    def persons(self) -> Persons | None:
        """The persons with several records, of which a bounded number is counted, or with weights.

        None if each record is somebody's own, and counts once.
        """
        fractional = self.fractional_weights
        return persons_of(self.person, self.at_most, self.weight, self.largest_weight, fractional=fractional)

    @property
    def apart(self) -> tuple[str, ...]:
        """The columns that say something of rows, and are no attributes."""
        return tuple(name for name in (self.count_column, self.weight, self.person, self.named) if name is not None)

    def filters(self, domain: Domain) -> bool:
        """Whether rows may be left out by what they hold: by a condition, or because they break a rule of the domain.

        Args:
            domain: Domain of the records.
        """
        return self.where is not None or (self.violations == "drop" and domain.has_rules)


def check_violations(violations: str) -> None:
    """Refuse what is no way of dealing with rows that break a rule.

    Raises:
        ConfigError: It is none.

    Example:
        >>> check_violations("drop")
    """
    if violations not in get_args(Violations):
        raise ConfigError(f"violations is {violations!r}", remedy="give 'refuse' or 'drop'")
