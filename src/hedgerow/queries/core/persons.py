"""The bounds on what a person counts for: the number of records that are counted, and their weights."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.errors import ConfigError

MOST_OF_ONE = 2**20
"""A person may not count more often than this: the noise is proportional to it."""


GRAIN = 2.0**-10
"""Fractional weights are rounded to multiples of this, on which counts, noise and errors are exact."""


@dataclass(frozen=True)
class Weight:
    """The column that says how often a record counts.

    Attributes:
        column: Name of the column; the domain does not have it.
        largest: The largest weight: a record with a larger one counts as often as this.
        fractional: Whether weights may be fractions, each of which is rounded to a multiple of `GRAIN`.

    Example:
        >>> Weight("PWGTP", 200).text
        'of weight (PWGTP) up to 200'
        >>> Weight("PWGTP", 200).capped
        'of the weights (PWGTP) capped at 200'
    """

    column: str
    largest: int
    fractional: bool = False

    def __post_init__(self) -> None:
        """Check name and number.

        Raises:
            ConfigError: The column has no name or one with parentheses, or the number is not a whole number from 1 to
                2^20.
        """
        if not isinstance(self.column, str) or not self.column or set(self.column) & {"(", ")"}:
            raise ConfigError(
                f"{self.column!r} names no column of weights",
                remedy="give the name of a column, without parentheses: the text of the guarantee sets it in these",
            )
        if not _is_bound(self.largest):
            raise ConfigError(
                f"a record cannot count up to {self.largest!r} times",
                remedy=f"give a whole number from 1 to {MOST_OF_ONE:,}: a weight that few records pass",
            )

    @property
    def text(self) -> str:
        """The weights in words."""
        return f"of weight ({self.column}) up to {self.largest}{f' in 1/{1 / GRAIN:.0f}' * self.fractional}"

    @property
    def capped(self) -> str:
        """What a number is about that rests on them."""
        rounded = f", in parts of 1/{1 / GRAIN:,.0f}" * self.fractional
        return f"of the weights ({self.column}) capped at {self.largest}{rounded}"

    @property
    def grain(self) -> float:
        """What counts are whole multiples of: 1, or `GRAIN` where weights are fractions."""
        return GRAIN if self.fractional else 1.0


@dataclass(frozen=True)
class Persons:
    """Persons who can change more than one record that counts: they have several, or one counts several times.

    Attributes:
        column: Name of the column that says who a record belongs to, which the domain does not have; None where each
            record is a person of its own, and has a weight.
        at_most: Maximum records counted per person; None for the persons of a whole table, before
            any of their records are left out.
        weight: Weight of each of these records; None if they count once.

    Example:
        >>> Persons("patient", 5).text
        'persons (patient), at most 5 records'
        >>> Persons(None, 1, Weight("PWGTP", 200)).text
        'records of weight (PWGTP) up to 200'
    """

    column: str | None
    at_most: int | None = None
    weight: Weight | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: The column has no name; the number is not a whole number from 1 to 2^20, or is too large
                together with the weight; or there is nothing by which the records differ from those of single persons.
        """
        named = self.column is None or (isinstance(self.column, str) and self.column)
        if not named or (self.column is None and (self.weight is None or self.at_most != 1)):
            raise ConfigError(f"{self.column!r} names no column", remedy="name the column that tells persons apart")
        if self.at_most is not None and not _is_bound(self.at_most):
            raise ConfigError(
                f"a person cannot have at most {self.at_most!r} records",
                remedy=f"give a whole number from 1 to {MOST_OF_ONE:,}: a number that few persons pass",
            )
        if self.weight is not None and not (self.at_most is not None and self.records <= MOST_OF_ONE):
            raise ConfigError(
                f"nothing bounds how often a person counts, or not by {MOST_OF_ONE:,} ({self.text})",
                remedy="give a smaller number of records of a person, at_most, or a smaller largest_weight",
            )

    @property
    def records(self) -> int:
        """The number of records that a person counts for at most: m, or m times the largest weight.

        Raises:
            ConfigError: Nothing bounds it.
        """
        if self.at_most is None:
            raise ConfigError(
                f"nothing bounds how many records a person has ({self.text})",
                remedy="read the table with person='...', at_most=...",
            )
        return self.at_most * (1 if self.weight is None else self.weight.largest)

    @property
    def unbounded(self) -> Persons | None:
        """The persons of the whole table, before records are left out or weighted; None for single records."""
        return None if self.column is None else Persons(self.column)

    @property
    def text(self) -> str:
        """The persons in words, without a doubt about where the name of a column ends."""
        if self.column is None:
            return f"records {self.weight.text}" if self.weight is not None else "records"
        words = f"persons ({self.column})"
        if self.at_most is not None:
            words += f", at most {self.at_most} record{'s' if self.at_most > 1 else ''}"
        return words if self.weight is None else f"{words}, each {self.weight.text}"


def _is_bound(most: object) -> bool:
    """Whether it is a whole number by which records or weights can be bounded."""
    return isinstance(most, int) and not isinstance(most, bool) and 1 <= most <= MOST_OF_ONE


def persons_of(
    person: str | None,
    at_most: int | None,
    weight: str | None = None,
    largest_weight: int | None = None,
    *,
    fractional: bool = False,
) -> Persons | None:
    """The persons that options name in pairs; None if none is given.

    Args:
        person: Column that says who a record belongs to.
        at_most: Maximum records counted per person.
        weight: Column that says how often a record counts.
        largest_weight: The largest weight; a record with a larger one counts as often as this.
        fractional: Whether weights may be fractions.

    Raises:
        ConfigError: One of a pair is given without the other, or a number is not a whole number from 1.

    Example:
        >>> persons_of("patient", 5).text, persons_of(None, None)
        ('persons (patient), at most 5 records', None)
        >>> persons_of(None, None, "PWGTP", 200).text
        'records of weight (PWGTP) up to 200'
    """
    _check_pair(
        {"person": person, "at_most": at_most},
        "name the column that tells persons apart, and the largest number of records of one that count",
    )
    _check_pair(
        {"weight": weight, "largest_weight": largest_weight},
        "name the column that says how often a record counts, and the largest weight: noise is proportional to it",
    )
    if fractional and weight is None:
        raise ConfigError("fractional weights, and no column of weights", remedy="name it, and the largest weight")
    weighing = None if weight is None or largest_weight is None else Weight(weight, largest_weight, fractional)
    if person is None:
        return None if weighing is None else Persons(None, 1, weighing)
    return Persons(person, at_most, weighing)


def _check_pair(options: dict[str, str | int | None], remedy: str) -> None:
    given = [name for name, value in options.items() if value is not None]
    if len(given) == 1:
        (other,) = set(options) - set(given)
        raise ConfigError(f"{given[0]} is given, and {other} is not", remedy=remedy)
