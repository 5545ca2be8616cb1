"""Neighbouring relations: what each means in words, and how far one record moves an answer under it.

| answer | add-remove | replace | replace, then filter |
|---|---|---|---|
| number of records | 1 | public | 1 |
| count of those who meet a condition | 1 | 1 | 1 |
| marginal, all cells, L1 / L2 | 1 / 1 | 2 / sqrt 2 | 2 / sqrt 2 |
| parity | 1 | 2 | 2 |
| values from low to high | max(-low, high) | high - low | the larger of the two |

One that is replaced before a filter is replaced, added or removed after it: the largest of each counts.
"""

from fractions import Fraction

ADD_REMOVE = "add-remove"
REPLACE = "replace"
REPLACE_FILTERED = "replace-then-filter"

IN_WORDS = {
    ADD_REMOVE: "one person's record is added or left out",
    REPLACE: "one person's record is replaced by any other (the number of records is public)",
    REPLACE_FILTERED: "one person's record in the whole table is replaced by any other, before the filter chooses rows "
    "(the number of records in the whole table is public, how many pass the filter is not)",
}


def of_whole_tables(relation: str) -> str:
    """The relation between whole tables, before any filter: amounts under the same one add up.

    Example:
        >>> of_whole_tables("replace-then-filter")
        'replace'
    """
    return REPLACE if relation == REPLACE_FILTERED else relation


def check_relation(relation: object) -> str:
    """The relation itself, if it is one of those known.

    Raises:
        ValueError: There is no such relation.

    Example:
        >>> check_relation("replace")
        'replace'
    """
    if not isinstance(relation, str) or relation not in IN_WORDS:
        raise ValueError(f"there is no neighbouring relation {relation!r}")
    return relation


def squared_of_marginal(relation: str, *, gaussian: bool) -> Fraction:
    """The square of how far one record moves all cells of a marginal: in L2 for Gaussian noise, else in L1.

    Example:
        >>> squared_of_marginal("replace", gaussian=True)
        Fraction(2, 1)
    """
    if relation == ADD_REMOVE:
        return Fraction(1)
    return Fraction(2) if gaussian else Fraction(4)


def squared_of_values(relation: str, low: Fraction, high: Fraction) -> Fraction:
    """The square of how far one record moves a sum of values between two limits.

    Example:
        >>> [squared_of_values(relation, Fraction(-1), Fraction(1)) for relation in ("add-remove", "replace")]
        [Fraction(1, 1), Fraction(4, 1)]
    """
    one, other = max(-low, high), high - low
    if relation == ADD_REMOVE:
        return one * one
    return other * other if relation == REPLACE else max(one, other) ** 2
